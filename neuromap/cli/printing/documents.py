"""Descriptions of JSON documents that commands print with ``--json``, other than values of the library."""

from __future__ import annotations

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.usage import NodeCopies, Usage
from neuromap.mapping.bounds.lower_bounds import PopulationBound
from neuromap.mapping.options.infeasibility import INFEASIBILITY
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
from neuromap.render.numbers import intervals
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
MAP = document(
    "map",
    _LABELS | members(Usage),
    core_bound=define(
        "bound",
        any_of(
            record(
                total=COUNT,
                by=TEXT,
                neurons=COUNT.optional,
                axons=COUNT.optional,
                populations=each(_POPULATION).optional,
            ),
            NULL,
        ),
    ),
    frame_period_ticks=PERIOD,
    intervals=GAPS,
    ticks_per_step=COUNT,
    sampling_frequency_hz=NUMBER.or_null,
    nodes_on_chip=each(record_of(NodeCopies)),
    schedule=enum("steps", "ticks"),
    split_edges=each(TEXT),
    left_out=by_name(COUNT),
    cut_short=each(TEXT),
    phases=record(neurons=COUNT, neurons_before=COUNT, is_proven=FLAG, is_taken=FLAG).or_null,
    file=FILE,
)
_TIMES = record(
    frame_period=NUMBER,
    delays=by_name(NUMBER),
    first_response=by_name(NUMBER),
    full_response=by_name(NUMBER),
    full_response_is_exact=by_name(FLAG),
    worst_case_reaction=by_name(NUMBER),
    best_input_reaction=by_name(NUMBER).added,
    first_inputs=by_name(each(TEXT)).added,
).or_null
_PATTERN = record(
    name=TEXT,
    streaming_edges=each(TEXT),
    bridging_edges=by_name(INTEGER).optional,
    valid=FLAG,
    cycle=each(TEXT),
    inference_factor=NUMBER.or_null,
    equally_model_parallel_to_streaming=FLAG,
    behaviour_class=COUNT.or_null,
    equivalent_to_streaming=FLAG.or_null,
    shift_from_streaming=by_name(INTEGER).or_null,
    executions=record(windowed=_TIMES, pipelined=_TIMES),
)
_COUNTED = kind("integer", "string", "null")
_COUNTS = ("forward_bound", "cycle_bound", "upper_bound", "most_sequential", "behaviour_classes")
ROLLOUTS = document(
    "rollouts",
    network=TEXT,
    nodes=COUNT,
    inputs=each(TEXT),
    outputs=each(TEXT),
    counts=record(
        {"edges": COUNT, "self_edges": COUNT, "valid": _COUNTED, "valid_log2": NUMBER.or_null},
        **{key: part for name in _COUNTS for key, part in ((name, _COUNTED), (f"{name}_log2", NUMBER.or_null))},
    ),
    proven=record(valid=FLAG, cycle_bound=FLAG, most_sequential=FLAG, behaviour_classes=FLAG),
    listed=COUNT,
    complete=FLAG,
    class_numbers_are_of_network=FLAG,
    patterns=each(define("pattern", _PATTERN)),
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
CHIPS = document(
    "chips",
    any_of(record(chips=each(_CHIP)), _CHIP),
)
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
