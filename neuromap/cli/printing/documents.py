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
from neuromap.render import document as doc
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
_LABELS = {"network": doc.TEXT, "chip": doc.TEXT, "pattern": doc.PATTERN, "execution": doc.EXECUTION}
_POPULATION = doc.record_of(PopulationBound)
ERROR = doc.document(
    "error",
    error=doc.record(
        kind=doc.TEXT,
        message=doc.TEXT,
        exit_code=doc.INTEGER(minimum=1, maximum=255),
        infeasibility=INFEASIBILITY.optional,
        cycle=doc.each(doc.TEXT).optional,
    ),
)
_BOUND = doc.record(
    total=doc.COUNT,
    by=doc.TEXT,
    neurons=doc.COUNT.optional,
    axons=doc.COUNT.optional,
    populations=doc.each(_POPULATION).optional,
).by(BOUND.write)
_PROGRAM = {
    "network": doc.TEXT(at="program.name"),
    "chip": doc.TEXT(at="program.chip.name"),
    "pattern": doc.PATTERN(at="program.pattern"),
    "execution": doc.EXECUTION(at="program.execution"),
    **doc.members(Usage),
    "core_bound": doc.define("bound", doc.any_of(_BOUND, doc.NULL)),
    "frame_period_ticks": doc.PERIOD(at="program.period"),
    "intervals": doc.GAPS(at=lambda of: intervals(of["program"].period).get("intervals")),
    "ticks_per_step": doc.COUNT(at="program.ticks_per_step"),
    "sampling_frequency_hz": doc.NUMBER.or_null(at=lambda of: sampling_frequency(of["program"])),
}
# A program's use of its chip: from the members of ``Usage``, the program and a bound on its cores.
PROGRAM = doc.record(_PROGRAM)
MAP = doc.document(
    "map",
    _PROGRAM,
    nodes_on_chip=doc.each(doc.record_of(NodeCopies)),
    schedule=doc.enum("steps", "ticks"),
    split_edges=doc.each(doc.TEXT),
    left_out=doc.by_name(doc.COUNT),
    cut_short=doc.each(doc.TEXT),
    phases=doc.record(neurons=doc.COUNT, neurons_before=doc.COUNT, is_proven=doc.FLAG, is_taken=doc.FLAG).or_null,
    file=doc.FILE,
)


def _by_edge(values: Mapping[EdgeKey, Any]) -> dict[str, Any]:
    return {" -> ".join(key): value for key, value in values.items()}


def _of_outputs(shape: doc.Shape, of: Callable[[Rollout, str], Any]) -> doc.Shape:
    """Describe a figure of every output of a rollout."""
    return doc.by_name(shape)(at=lambda rollout: {name: of(rollout, name) for name in rollout.network.outputs})


_TIMES = doc.record(
    frame_period=doc.NUMBER,
    delays=doc.by_name(doc.NUMBER)(at=lambda rollout: _by_edge(rollout.delays)),
    first_response=_of_outputs(doc.NUMBER, Rollout.first_response),
    full_response=_of_outputs(doc.NUMBER, Rollout.full_response),
    full_response_is_exact=_of_outputs(doc.FLAG, Rollout.full_response_is_exact),
    worst_case_reaction=_of_outputs(doc.NUMBER, Rollout.worst_case_reaction),
    best_input_reaction=_of_outputs(doc.NUMBER, Rollout.best_input_reaction).added,
    first_inputs=_of_outputs(doc.each(doc.TEXT), Rollout.first_inputs).added,
).or_null
# Of a pattern, streaming and the shift between them, its behaviour class, and its rollouts by execution.
PATTERN_FIGURES = doc.record(
    name=doc.TEXT(at="pattern.name"),
    streaming_edges=doc.each(doc.TEXT.by(" -> ".join))(at="pattern.streaming_edges"),
    bridging_edges=doc.by_name(doc.INTEGER).optional(at=lambda of: _by_edge(of["pattern"].bridging_edges) or None),
    valid=doc.FLAG(at="pattern.is_valid"),
    cycle=doc.each(doc.TEXT)(at="pattern.cycle"),
    inference_factor=doc.NUMBER.or_null(
        at=lambda of: of["pattern"].inference_factor if of["pattern"].is_valid else None
    ),
    equally_model_parallel_to_streaming=doc.FLAG(at=lambda of: of["pattern"].equally_model_parallel(of["streaming"])),
    behaviour_class=doc.COUNT.or_null,
    equivalent_to_streaming=doc.FLAG.or_null(at=lambda of: of["shift"] is not None if of["pattern"].is_valid else None),
    shift_from_streaming=doc.by_name(doc.INTEGER).or_null(at="shift"),
    executions=doc.record(windowed=_TIMES, pipelined=_TIMES),
)
_COUNTED = doc.kind("integer", "string", "null").by(json_count)
_LOG2 = doc.NUMBER.or_null.by(lambda number: math.log2(number) if number else None)


def count_members(name: str, at: str) -> dict[str, doc.Shape]:
    """Describe a count, a decimal string from 2^53 on, and its logarithm; ``None`` if it was not counted."""
    return {name: _COUNTED(at=at), f"{name}_log2": _LOG2(at=at)}


_NETWORK_COUNTS = {
    "network": doc.TEXT(at="network.name"),
    "nodes": doc.COUNT(at=lambda of: len(of["network"].nodes)),
    "inputs": doc.each(doc.TEXT)(at="network.inputs"),
    "outputs": doc.each(doc.TEXT)(at="network.outputs"),
    "counts": doc.record(
        edges=doc.COUNT(at=lambda of: len(of["network"].edges)),
        self_edges=doc.COUNT(at=lambda of: len(of["network"].self_edges)),
        **count_members("valid", "valid.value"),
        **count_members("forward_bound", "bounds.forward_bound"),
        **count_members("cycle_bound", "bounds.cycle_bound"),
        **count_members("upper_bound", "bounds.upper_bound"),
        **count_members("most_sequential", "sequential.count"),
        **count_members("behaviour_classes", "classes"),
    )(at=lambda of: of),
    "proven": doc.record(
        valid=doc.FLAG(at="valid.proven"),
        cycle_bound=doc.FLAG(at="bounds.cycle_bound_proven"),
        most_sequential=doc.FLAG(at="sequential.proven"),
        behaviour_classes=doc.FLAG(at=lambda of: of["classes"] is not None),
    )(at=lambda of: of),
}
# Of a network and what was counted of its patterns.
NETWORK_COUNTS = doc.record(_NETWORK_COUNTS)
ROLLOUTS = doc.document(
    "rollouts",
    _NETWORK_COUNTS,
    listed=doc.COUNT,
    complete=doc.FLAG,
    class_numbers_are_of_network=doc.FLAG,
    patterns=doc.each(doc.define("pattern", PATTERN_FIGURES)),
    work_per_tick=doc.COUNT.optional,
    seconds=SECONDS.optional,
)
_RANGE = doc.pair(doc.INTEGER)
_CHIP = doc.define(
    "chip",
    doc.record(
        format=doc.const(1),
        name=doc.TEXT,
        grid=doc.record(cores=_RANGE, chips=_RANGE, reach=doc.pair(doc.INTEGER.or_null).optional)(
            additionalProperties=True
        ),
        core=doc.by_name(doc.kind("integer", "number", "string", "boolean", "array"))(
            required=["axons", "neurons", "weight_bits"]  # all others depend on the kind of core
        ),
        time=doc.record(
            tick_seconds=doc.NUMBER,
            delay=_RANGE,
            ticks=doc.const("timed").optional,
            barrier_seconds=doc.each(doc.pair(doc.NUMBER)).optional,
        )(additionalProperties=doc.NUMBER),
        derived=doc.record(
            n_cores=doc.COUNT,
            weight_range=_RANGE,
            leak_range=_RANGE.optional,
            threshold_range=_RANGE.optional,
            potential_range=_RANGE.optional,
        ),
        description=doc.TEXT.optional,
        source=doc.TEXT.optional,
        neuron=doc.OBJECT.optional,
        router=doc.by_name(doc.NUMBER).optional,
        energy=doc.by_name(doc.kind("number", "array")).optional,
        defects=doc.OBJECT.optional,
    ),
)
CHIPS = doc.document("chips", doc.any_of(doc.record(chips=doc.each(_CHIP)), _CHIP))
_RUN = doc.define(
    "run",
    doc.record(
        size=doc.COUNT,
        spikes=doc.COUNT,
        spikes_per_frame=doc.each(doc.COUNT),
        spiking_neurons_per_frame=doc.each(doc.each(doc.COUNT)).or_null,
        values_per_frame=doc.each(doc.each(doc.INTEGER)).optional,
        stray_spikes=doc.COUNT,
        frame_0_tick=doc.INTEGER,
    ),
)
_BATCH = doc.define(
    "batch",
    doc.record(
        size=doc.COUNT,
        spikes=doc.COUNT,
        spikes_per_neuron=doc.each(doc.each(doc.COUNT)),
        stray_spikes=doc.each(doc.COUNT),
    ),
)
_SHOWN = _LABELS | {
    "frame_period_ticks": doc.PERIOD,
    "intervals": doc.GAPS,
    "tick_seconds": doc.NUMBER.or_null,
    "frames": doc.COUNT,
    "ticks": doc.COUNT,
    "file": doc.FILE,
}
PROVE = doc.document(
    "prove",
    _LABELS,
    proven=doc.FLAG,
    lemmas=doc.by_name(doc.COUNT),
    n_faults=doc.COUNT,
    explanations=doc.each(doc.TEXT),
    counterexample=doc.record(
        node=doc.TEXT,
        frame=doc.COUNT.or_null,
        index=doc.COUNT,
        core=doc.COUNT.or_null,
        neuron=doc.COUNT.or_null,
        tick=doc.INTEGER,
        chip=doc.FLAG,
        network=doc.FLAG,
        n_frames=doc.COUNT,
        spikes=doc.by_name(doc.each(doc.pair(doc.COUNT))),
        frames=doc.FILE,
    ).or_null,
    certificate=doc.FILE,
    n_sequences=doc.COUNT,
    why=doc.TEXT,
    message=doc.TEXT,
)
SIMULATE = doc.document(
    "simulate",
    doc.any_of(
        doc.record(_SHOWN, outputs=doc.by_name(_RUN), hidden=doc.by_name(_RUN), recorded_spikes=doc.COUNT),
        doc.record(_SHOWN, outputs=doc.by_name(_BATCH), hidden=doc.by_name(_BATCH), stimuli=doc.COUNT),
    ),
)
SWEEP = doc.document(
    "sweep",
    doc.any_of(
        doc.record(name=doc.TEXT, runs=doc.COUNT, left=doc.COUNT, store=doc.TEXT.or_null),
        doc.record(store=doc.TEXT, runs=doc.COUNT, counts=doc.by_name(doc.COUNT), verified=doc.COUNT),
    ),
)
_VERIFICATION = doc.members(
    Verification,
    first_mismatch=doc.record_of(Mismatch, chip=doc.SENT, reference=doc.SENT, tick=doc.INTEGER).or_null,
    first_stray=doc.record_of(Stray).or_null,
    frame_period_ticks=doc.PERIOD,
    is_graded=doc.GRADED,
    intervals=doc.GAPS(at=lambda found: intervals(found.frame_period_ticks).get("intervals")),
    message=doc.TEXT,
)
VERIFICATION = doc.record(_VERIFICATION)
VERIFY = doc.document("verify", _LABELS | _VERIFICATION)
