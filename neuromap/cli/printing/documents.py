"""Descriptions of JSON documents that commands print with ``--json``, other than values of the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.usage import NodeCopies, Usage, sampling_frequency
from neuromap.mapping.bounds.lower_bounds import BOUND, PopulationBound
from neuromap.mapping.options.infeasibility import INFEASIBILITY
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.render.document import (
    COUNT,
    EXECUTION,
    FILE,
    FLAG,
    GAPS,
    GRADED,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    PATTERN,
    PERIOD,
    SENT,
    TEXT,
    Shape,
    any_of,
    by_name,
    const,
    define,
    document,
    each,
    enum,
    kind,
    members,
    pair,
    record,
    record_of,
)
from neuromap.render.numbers import intervals, json_count
from neuromap.report.over_cores import SECONDS
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.verification.verdict import Mismatch, Stray, Verification


def labels_of(network: Network, rollout: Rollout, program: ChipProgram) -> dict[str, str]:
    """Return the labels of the compared network, rollout and program."""
    return {
        "network": network.name,
        "chip": program.chip.name,
        "pattern": rollout.pattern.name,
        "execution": rollout.execution,
    }


# These labels for people.
TITLE = "{network} ({pattern}, {execution}) on {chip}"
_LABELS = {"network": TEXT, "chip": TEXT, "pattern": PATTERN, "execution": EXECUTION}
_POPULATION = record_of(PopulationBound)
ERROR = document(
    "error",
    error=record(
        kind=TEXT,
        message=TEXT,
        exit_code=INTEGER(minimum=1, maximum=255),
        infeasibility=INFEASIBILITY.optional,
        cycle=each(TEXT).optional,
    ),
)
_BOUND = record(
    total=COUNT, by=TEXT, neurons=COUNT.optional, axons=COUNT.optional, populations=each(_POPULATION).optional
).by(BOUND.write)
_PROGRAM = {
    "network": TEXT(at="program.name"),
    "chip": TEXT(at="program.chip.name"),
    "pattern": PATTERN(at="program.pattern"),
    "execution": EXECUTION(at="program.execution"),
    **members(Usage),
    "core_bound": define("bound", any_of(_BOUND, NULL)),
    "frame_period_ticks": PERIOD(at="program.period"),
    "intervals": GAPS(at=lambda of: intervals(of["program"].period).get("intervals")),
    "ticks_per_step": COUNT(at="program.ticks_per_step"),
    "sampling_frequency_hz": NUMBER.or_null(at=lambda of: sampling_frequency(of["program"])),
}
# A program's use of its chip: from the members of ``Usage``, the program and a bound on its cores.
PROGRAM = record(_PROGRAM)
MAP = document(
    "map",
    _PROGRAM,
    nodes_on_chip=each(record_of(NodeCopies)),
    schedule=enum("steps", "ticks"),
    split_edges=each(TEXT),
    left_out=by_name(COUNT),
    cut_short=each(TEXT),
    phases=record(neurons=COUNT, neurons_before=COUNT, is_proven=FLAG, is_taken=FLAG).or_null,
    file=FILE,
)


def _by_edge(values: Mapping[EdgeKey, Any]) -> dict[str, Any]:
    return {" -> ".join(key): value for key, value in values.items()}


def _of_outputs(shape: Shape, of: Callable[[Rollout, str], Any]) -> Shape:
    """Describe a figure of every output of a rollout."""
    return by_name(shape)(at=lambda rollout: {name: of(rollout, name) for name in rollout.network.outputs})


_TIMES = record(
    frame_period=NUMBER,
    delays=by_name(NUMBER)(at=lambda rollout: _by_edge(rollout.delays)),
    first_response=_of_outputs(NUMBER, Rollout.first_response),
    full_response=_of_outputs(NUMBER, Rollout.full_response),
    full_response_is_exact=_of_outputs(FLAG, Rollout.full_response_is_exact),
    worst_case_reaction=_of_outputs(NUMBER, Rollout.worst_case_reaction),
    best_input_reaction=_of_outputs(NUMBER, Rollout.best_input_reaction).added,
    first_inputs=_of_outputs(each(TEXT), Rollout.first_inputs).added,
).or_null
# Of a pattern, streaming and the shift between them, its behaviour class, and its rollouts by execution.
PATTERN_FIGURES = record(
    name=TEXT(at="pattern.name"),
    streaming_edges=each(TEXT.by(" -> ".join))(at="pattern.streaming_edges"),
    bridging_edges=by_name(INTEGER).optional(at=lambda of: _by_edge(of["pattern"].bridging_edges) or None),
    valid=FLAG(at="pattern.is_valid"),
    cycle=each(TEXT)(at="pattern.cycle"),
    inference_factor=NUMBER.or_null(at=lambda of: of["pattern"].inference_factor if of["pattern"].is_valid else None),
    equally_model_parallel_to_streaming=FLAG(at=lambda of: of["pattern"].equally_model_parallel(of["streaming"])),
    behaviour_class=COUNT.or_null,
    equivalent_to_streaming=FLAG.or_null(at=lambda of: of["shift"] is not None if of["pattern"].is_valid else None),
    shift_from_streaming=by_name(INTEGER).or_null(at="shift"),
    executions=record(windowed=_TIMES, pipelined=_TIMES),
)
_COUNTED = kind("integer", "string", "null").by(json_count)
_LOG2 = NUMBER.or_null.by(lambda number: math.log2(number) if number else None)


def count_members(name: str, at: str) -> dict[str, Shape]:
    """Describe a count, a decimal string from 2^53 on, and its logarithm; ``None`` if it was not counted."""
    return {name: _COUNTED(at=at), f"{name}_log2": _LOG2(at=at)}


_NETWORK_COUNTS = {
    "network": TEXT(at="network.name"),
    "nodes": COUNT(at=lambda of: len(of["network"].nodes)),
    "inputs": each(TEXT)(at="network.inputs"),
    "outputs": each(TEXT)(at="network.outputs"),
    "counts": record(
        edges=COUNT(at=lambda of: len(of["network"].edges)),
        self_edges=COUNT(at=lambda of: len(of["network"].self_edges)),
        **count_members("valid", "valid.value"),
        **count_members("forward_bound", "bounds.forward_bound"),
        **count_members("cycle_bound", "bounds.cycle_bound"),
        **count_members("upper_bound", "bounds.upper_bound"),
        **count_members("most_sequential", "sequential.count"),
        **count_members("behaviour_classes", "classes"),
    )(at=lambda of: of),
    "proven": record(
        valid=FLAG(at="valid.proven"),
        cycle_bound=FLAG(at="bounds.cycle_bound_proven"),
        most_sequential=FLAG(at="sequential.proven"),
        behaviour_classes=FLAG(at=lambda of: of["classes"] is not None),
    )(at=lambda of: of),
}
# Of a network and what was counted of its patterns.
NETWORK_COUNTS = record(_NETWORK_COUNTS)
ROLLOUTS = document(
    "rollouts",
    _NETWORK_COUNTS,
    listed=COUNT,
    complete=FLAG,
    class_numbers_are_of_network=FLAG,
    patterns=each(define("pattern", PATTERN_FIGURES)),
    work_per_tick=COUNT.optional,
    seconds=SECONDS.optional,
)
_RANGE = pair(INTEGER)
_CHIP = define(
    "chip",
    record(
        format=const(1),
        name=TEXT,
        grid=record(cores=_RANGE, chips=_RANGE, reach=pair(INTEGER.or_null).optional)(additionalProperties=True),
        core=by_name(kind("integer", "number", "string", "boolean", "array"))(
            required=["axons", "neurons", "weight_bits"]  # all others depend on the kind of core
        ),
        time=record(
            tick_seconds=NUMBER,
            delay=_RANGE,
            ticks=const("timed").optional,
            barrier_seconds=each(pair(NUMBER)).optional,
        )(additionalProperties=NUMBER),
        derived=record(
            n_cores=COUNT,
            weight_range=_RANGE,
            leak_range=_RANGE.optional,
            threshold_range=_RANGE.optional,
            potential_range=_RANGE.optional,
        ),
        description=TEXT.optional,
        source=TEXT.optional,
        neuron=OBJECT.optional,
        router=by_name(NUMBER).optional,
        energy=by_name(kind("number", "array")).optional,
        defects=OBJECT.optional,
    ),
)
CHIPS = document("chips", any_of(record(chips=each(_CHIP)), _CHIP))
_RUN = define(
    "run",
    record(
        size=COUNT,
        spikes=COUNT,
        spikes_per_frame=each(COUNT),
        spiking_neurons_per_frame=each(each(COUNT)).or_null,
        values_per_frame=each(each(INTEGER)).optional,
        stray_spikes=COUNT,
        frame_0_tick=INTEGER,
    ),
)
_BATCH = define(
    "batch", record(size=COUNT, spikes=COUNT, spikes_per_neuron=each(each(COUNT)), stray_spikes=each(COUNT))
)
_SHOWN = _LABELS | {
    "frame_period_ticks": PERIOD,
    "intervals": GAPS,
    "tick_seconds": NUMBER.or_null,
    "frames": COUNT,
    "ticks": COUNT,
    "file": FILE,
}
PROVE = document(
    "prove",
    _LABELS,
    proven=FLAG,
    lemmas=by_name(COUNT),
    n_faults=COUNT,
    explanations=each(TEXT),
    counterexample=record(
        node=TEXT,
        frame=COUNT.or_null,
        index=COUNT,
        core=COUNT.or_null,
        neuron=COUNT.or_null,
        tick=INTEGER,
        chip=FLAG,
        network=FLAG,
        n_frames=COUNT,
        spikes=by_name(each(pair(COUNT))),
        frames=FILE,
    ).or_null,
    certificate=FILE,
    n_sequences=COUNT,
    why=TEXT,
    message=TEXT,
)
SIMULATE = document(
    "simulate",
    any_of(
        record(_SHOWN, outputs=by_name(_RUN), hidden=by_name(_RUN), recorded_spikes=COUNT),
        record(_SHOWN, outputs=by_name(_BATCH), hidden=by_name(_BATCH), stimuli=COUNT),
    ),
)
SWEEP = document(
    "sweep",
    any_of(
        record(name=TEXT, runs=COUNT, left=COUNT, store=TEXT.or_null),
        record(store=TEXT, runs=COUNT, counts=by_name(COUNT), verified=COUNT),
    ),
)
_VERIFICATION = members(
    Verification,
    first_mismatch=record_of(Mismatch, chip=SENT, reference=SENT, tick=INTEGER).or_null,
    first_stray=record_of(Stray).or_null,
    frame_period_ticks=PERIOD,
    is_graded=GRADED,
    intervals=GAPS(at=lambda found: intervals(found.frame_period_ticks).get("intervals")),
    message=TEXT,
)
VERIFICATION = record(_VERIFICATION)
VERIFY = document("verify", _LABELS | _VERIFICATION)
