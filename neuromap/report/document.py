"""The latency report as JSON, with its published schema; its rows as CSV, and as a table of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuromap.hardware.program.usage import NodeCopies, Usage
from neuromap.mapping.bounds.lower_bounds import BOUND
from neuromap.render.document import (
    AMOUNT,
    BIG_COUNT,
    COUNT,
    FLAG,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    PART,
    POSITIVE,
    TEXT,
    Shape,
    any_of,
    by_name,
    define,
    document,
    each,
    enum,
    json_text,
    members,
    pair,
    record,
    record_of,
)
from neuromap.render.parts import CHIP, GRADED, INTERVALS, NETWORK, SENT, TIME_AXIS, another
from neuromap.render.table import csv_text, data_frame
from neuromap.render.value import form
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import OutputResponses, Responses
from neuromap.report.figures.run_figures import (
    EnergyFigures,
    EnergyTermFigures,
    LateFigures,
    LinkFigure,
    MeshFigures,
    NodeTimeFigures,
    TickTimeFigures,
    WorkFigures,
)
from neuromap.rollout.schedule.execution import time_axes
from neuromap.simulation.cost.steady_figures import Spread
from neuromap.verification.verdict import Mismatch, Stray, Verification

if TYPE_CHECKING:
    from pandas import DataFrame

_REAL = {"float": AMOUNT}
_SECONDS = AMOUNT.or_null
_OPTIONAL_COUNT, _AT_LEAST_1 = COUNT.or_null, POSITIVE.or_null
_TERMS = (
    "static_watts",
    "tick_joules",
    "synaptic_event_joules",
    "neuron_update_joules",
    "spike_joules",
    "hop_joules",
    "off_chip_bit_joules",
)
_RESPONSES = define(
    "responses", record_of(Responses, first_response_ticks=INTEGER.or_null, full_response_ticks=INTEGER.or_null)
)
_OBSERVED = COUNT.or_null
_OUTPUT = define(
    "output",
    record_of(
        OutputResponses,
        predicted=_RESPONSES,
        measured=_RESPONSES,
        observed_first_difference_ticks=_OBSERVED,
        best_input_reaction_ticks=COUNT.or_null.added,
        reaction_ticks_by_input=by_name(COUNT).added,
    ),
)
_VERIFICATION = define(
    "verification",
    record_of(
        Verification,
        n_frames=INTEGER(minimum=2),
        first_mismatch=any_of(
            NULL, record_of(Mismatch, frame=INTEGER, neuron=INTEGER, tick=INTEGER, chip=SENT, reference=SENT)
        ),
        first_stray=any_of(NULL, record_of(Stray, tick=INTEGER, neuron=INTEGER)),
        frame_period_ticks=NUMBER(minimum=1),
        rollout_period_ticks=NUMBER.or_null(minimum=1),
        is_graded=GRADED,
        message=TEXT,
    ),
)
_LINK = any_of(
    define("link", record_of(LinkFigure, direction=enum("east", "west", "north", "south", "in", "out"))), NULL
)
_LATE = define("late", record_of(LateFigures))
_NETWORK_ON_CHIP = record_of(
    MeshFigures,
    (),
    _REAL,
    n_ticks=POSITIVE,
    n_frames=POSITIVE,
    busiest_link=_LINK,
    busiest_core_link=_LINK,
    hop_cycles=POSITIVE,
    late=any_of(_LATE, NULL),
)
_WORK = record_of(WorkFigures, (), _REAL)
_TERM = define("energy_term", record_of(EnergyTermFigures, (), _REAL, included_in=enum("fit", None)))
_SPREAD = record_of(Spread, (), _REAL, n=POSITIVE)
_ENERGY = record_of(
    EnergyFigures,
    (),
    _REAL,
    joules_per_frame_spread=_SPREAD.or_null,
    terms=record(dict.fromkeys(_TERMS, _TERM)).by(
        lambda terms: {key: _TERM.write(term) for key, term in terms.items()}
    ),
    absent=each(enum(*_TERMS), uniqueItems=True),
    average_joules_per_synaptic_event=AMOUNT.or_null,
)
_NODE_TIMES = record_of(
    NodeTimeFigures,
    (),
    _REAL,
    nodes=by_name(record(synaptic_events=COUNT(at="events"), arrival_cycles=COUNT, seconds=_SECONDS)),
)
_TICK_TIMES = record_of(
    TickTimeFigures,
    ("slowest_core",),
    _REAL,
    frame_period_seconds=_SPREAD,
    slowest_node=TEXT.or_null,
    slowest_core=pair(INTEGER),
)


def _run(name: str, shape: Shape) -> Shape:
    return any_of(define(name, shape), NULL)(at=f"figures.{name}")


_RUN = {
    "network_on_chip": _run("network_on_chip", _NETWORK_ON_CHIP),
    "work": _run("work", _WORK),
    "energy": _run("energy", _ENERGY),
    "node_times": _run("node_times", _NODE_TIMES),
    "tick_times": _run("tick_times", _TICK_TIMES).added,
}


_SHARE = {"neuron_utilisation": PART, "axon_utilisation": PART, "synapse_memory_utilisation": PART.or_null}
_LATER = {"parts": POSITIVE.or_null.added, "compartments": COUNT.or_null.added}
_USED = {
    key: (shape if "null" in shape.rules["type"] else shape.or_null)(at=f"usage.{key}")
    for key, shape in members(Usage, ("cores_of_chip", "usable_cores"), _REAL, **_SHARE, **_LATER).items()
}
"""What a row takes of its chip; what the chip is like stands in the head of the report."""

_ROW = record(
    pattern=TEXT,
    execution=TEXT(pattern="^(windowed|pipelined(:([1-9][0-9]{0,6}|best))?)$"),
    status=enum("mapped", "invalid", "does not fit"),
    message=TEXT.or_null(at=lambda row: row.message or None),
    cycle=each(TEXT, minItems=1).or_null(at=lambda row: row.cycle or None),
    infeasibility=any_of(
        NULL,
        record(
            limit=TEXT,
            node=TEXT.or_null,
            demand=INTEGER,
            bound=INTEGER,
            gap=INTEGER,
            message=TEXT,
            remedies=each(OBJECT),
        )(additionalProperties=None).by(lambda found: found.to_dict()),
    )(at=lambda row: row.infeasibility if hasattr(row.infeasibility, "to_dict") else None),
    streaming_edges=each(pair(TEXT)),
    bridging_edges=each(record(edge=pair(TEXT)(at=0), frames=INTEGER(minimum=2, at=1)))(
        at=lambda row: row.bridging_edges or None
    ).optional,
    behaviour_class=_AT_LEAST_1,
    inference_factor=_AT_LEAST_1,
    schedule=enum("steps", "ticks"),
    frame_period_steps=NUMBER.or_null(minimum=1),
    frame_period_ticks=NUMBER.or_null(minimum=1),
    intervals=INTERVALS,
    ticks_per_step=_AT_LEAST_1,
    sampling_frequency_hz=NUMBER.or_null(exclusiveMinimum=0),
    predicted=_RESPONSES,
    measured=_RESPONSES,
    observed_first_difference_ticks=_OBSERVED,
    worst_case_reaction_ticks=COUNT.or_null,
    worst_case_reaction_seconds=_SECONDS,
    full_response_exact=FLAG.or_null,
    outputs=by_name(_OUTPUT),
    nodes_on_chip=each(record_of(NodeCopies, parts=COUNT.added))(at="copies"),
    left_out=by_name(POSITIVE).or_null(at=lambda row: row.left_out if row.usage else None),
    core_bound=any_of(define("core_bound", BOUND), NULL),
    **_USED,
    **_RUN,
    accuracy=record(
        data=TEXT,
        part=TEXT(enum=["train", "validation", "test"]),
        images=POSITIVE(at="n_images"),
        ticks=each(COUNT)(at=lambda found: [frame.tick for frame in found.frames]),
        fraction=each(PART)(at=lambda found: [frame.accuracy for frame in found.frames]),
    ).or_null,
    verified=FLAG.or_null,
    proven=FLAG.or_null.added,
    verification=any_of(NULL, _VERIFICATION),
)


def _are(type_: str, names: str) -> dict[str, Any]:
    return {name: {"type": type_} for name in names.split()}


_WHERE_MAPPED = {
    "properties": {
        **_are("integer", "inference_factor cores neurons copies relays axons shared_cores replicas splitters"),
        **_are("integer", "deliveries weighted_hops longest_way chip_crossings"),
        **_are("number", "frame_period_ticks sampling_frequency_hz"),
        **_are("boolean", "verified"),
        **_are("null", "message"),
    },
    "if": {"properties": {"schedule": {"const": "steps"}}},
    "then": {"properties": _are("number", "frame_period_steps") | _are("integer", "ticks_per_step")},
    "else": {"properties": _are("null", "frame_period_steps ticks_per_step")},
}
_WHERE_NOT = _are("null", "verified network_on_chip work energy node_times") | _are("string", "message")
_ROW = _ROW.where({"properties": {"status": {"const": "mapped"}}}, _WHERE_MAPPED, {"properties": _WHERE_NOT})

_FORMAT, _FORMAT_WITH_FAULTS = "neuromap-latency-report-7", "neuromap-latency-report-8"
_REPORT = record(
    format=enum(_FORMAT, _FORMAT_WITH_FAULTS)(
        at=lambda report: _FORMAT if report.faults is None else _FORMAT_WITH_FAULTS
    ),
    neuromap_version=TEXT(at="version"),
    network=NETWORK,
    chip=CHIP,
    stimulus=record(
        kind=enum("given", "random"),
        n_frames=INTEGER(minimum=2),
        seed=INTEGER.optional,
        density=NUMBER.or_null.optional,
        file=TEXT.optional,
        n_stimuli=POSITIVE(maximum=100),
    ).by(dict),
    time_axis=TIME_AXIS(at=lambda report: time_axes(row.execution for row in report.rows)).by(dict),
    most_sequential_patterns=BIG_COUNT.or_null(at="most_sequential"),
    most_sequential_proven=FLAG.or_null,
    class_numbers_are_of_network=FLAG(at="classes_are_of_network"),
    verified=FLAG,
    rows=each(define("row", _ROW)),
    faults=another(
        "neuromap-faults-1",
        "Output error, first response and accuracy over fault rates: a document with a schema of its own, "
        "faults.schema.json.",
    )
    .by(lambda study: form(study, "dict"))
    .optional,
)
DOCUMENT = document(
    "report",
    _REPORT.where(
        {"properties": {"format": {"const": _FORMAT_WITH_FAULTS}}},
        {"required": ["faults"]},
        {"properties": {"faults": False}},
    ),
)


def report_schema() -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) that every report follows.

    Returns
    -------
    dict
        The schema.
    """
    return DOCUMENT.schema()


def to_dict(report: LatencyReport) -> dict[str, Any]:
    """Make the JSON-ready form of a report.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    dict
        Plain values only; every key is explained in ``docs/report.md`` and in the schema.
    """
    return DOCUMENT.of(report)


def to_json(report: LatencyReport) -> str:
    """Write a report as JSON text.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        Indented, with a line feed at the end.
    """
    return json_text(to_dict(report))


# The rows as CSV, or as a table of pandas: one line per pattern and execution.
_LEFT_OUT = frozenset({"infeasibility", "verification", "outputs", "core_bound", "nodes_on_chip"})
_OBJECTS = frozenset(
    {*_RUN, "accuracy", "left_out", "busiest_link", "busiest_core_link", "late", "joules_per_frame_spread"}
)
"""Members that are objects or null: without one, its columns are empty, and there is none of its own name."""


def to_csv(report: LatencyReport) -> str:
    """Write a report as CSV text (RFC 4180, UTF-8).

    Columns are named as in the JSON form, levels joined with dots (``predicted.first_response_ticks``), and come
    in the same order; the figures of single outputs follow as ``outputs.NAME.…``. Lists are joined with
    semicolons, edges written ``H1 -> O``; what is not defined is empty.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        Header and rows.
    """
    return csv_text(_lines(report))


_PLOTTED = (
    *("pattern", "execution", "behaviour_class", "frame_period_ticks", "sampling_frequency_hz"),
    *("measured.first_response_ticks", "measured.full_response_ticks", "worst_case_reaction_ticks"),
    *("cores", "neurons", "energy.joules_per_frame", "verified"),
)


def to_pandas(report: LatencyReport, full: bool = False) -> DataFrame:
    """Make a table of pandas of a report: the columns that people plot, or all of :func:`to_csv`."""
    return data_frame(_lines(report), only=() if full else _PLOTTED)


def _lines(report: LatencyReport) -> list[dict[str, Any]]:
    head = {
        "network": report.network.name,
        "chip": report.chip.name,
        "tick_seconds": report.chip.tick_seconds,
        "neuromap_version": report.version,
    }
    lines = []
    for row in to_dict(report)["rows"]:
        line = dict(head)
        for key, value in row.items():
            if key not in _LEFT_OUT:
                line.update(_flat(key, value))
            elif key == "core_bound" and value is not None:  # population by population it is in the JSON form
                line.update(_flat(key, {name: part for name, part in value.items() if name != "populations"}))
        for name, responses in row["outputs"].items():
            line.update(_flat(f"outputs.{name}", responses))
        lines.append(line)
    return lines


def _flat(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for name, part in value.items() for k, v in _flat(f"{key}.{name}", part).items()}
    if value is None and key.rpartition(".")[2] in _OBJECTS:
        return {}
    if isinstance(value, list):
        return {key: "; ".join(" -> ".join(v) if isinstance(v, list) else str(v) for v in value)}
    return {key: value}
