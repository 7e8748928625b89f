"""The latency report as one self-contained HTML page: findings, pictures, and folded tables.

Style, drawings, data and scripts are in the page; it loads nothing, can be read without its scripts, and reads well on
paper, on a light and on a dark screen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from neuromap.accuracy.accuracy import moment_text
from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_document import ENERGY_TERM_KEYS
from neuromap.hardware.program.usage import NodeCopies, Usage
from neuromap.mapping.bounds.lower_bounds import BOUND
from neuromap.network.edge import EdgeKey
from neuromap.network.network import RESERVED_PATTERNS, Network
from neuromap.render import document as doc
from neuromap.render.numbers import joules, mean_period_lines, percent, plain, seconds
from neuromap.render.page import page_script, render_page, saved_forms
from neuromap.render.table import Column, Table, csv_text, data_frame, sentence
from neuromap.render.value import form
from neuromap.report import text
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_network import MOST_EDGES, WINDOW, draw_network, layout, window_of
from neuromap.report.drawings.draw_timeline import draw_overview, draw_timeline
from neuromap.report.figure_files import draw_row
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import (
    EnergyFigures,
    EnergyTermFigures,
    LateFigures,
    LinkFigure,
    MeshFigures,
    NodeTimeFigures,
    OutputResponses,
    ReportRow,
    Responses,
    TickTimeFigures,
    WorkFigures,
)
from neuromap.report.findings import Finding, findings
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import time_axes, time_axis
from neuromap.simulation.choose_frames import describe_frames
from neuromap.simulation.cost.energy import OF_SOME_CHIPS
from neuromap.simulation.cost.steady_figures import Spread
from neuromap.verification.verdict import Mismatch, Stray, Verification

if TYPE_CHECKING:
    from pandas import DataFrame

_REAL = {"float": doc.AMOUNT}
_SECONDS = doc.AMOUNT.or_null
_OPTIONAL_COUNT, _AT_LEAST_1 = doc.COUNT.or_null, doc.POSITIVE.or_null
# Terms that not every report has; hops are one term, or one along x and one along y.
_OF_SOME_CHIPS = {*OF_SOME_CHIPS, "hop_joules", "hop_x_joules", "hop_y_joules"}
_RESPONSES = doc.define(
    "responses",
    doc.record_of(Responses, first_response_ticks=doc.INTEGER.or_null, full_response_ticks=doc.INTEGER.or_null),
)
_OBSERVED = doc.COUNT.or_null
_OUTPUT = doc.define(
    "output",
    doc.record_of(
        OutputResponses,
        predicted=_RESPONSES,
        measured=_RESPONSES,
        observed_first_difference_ticks=_OBSERVED,
        best_input_reaction_ticks=doc.COUNT.or_null.added,
        reaction_ticks_by_input=doc.by_name(doc.COUNT).added,
    ),
)
_VERIFICATION = doc.define(
    "verification",
    doc.record_of(
        Verification,
        n_frames=doc.INTEGER(minimum=2),
        first_mismatch=doc.any_of(
            doc.NULL,
            doc.record_of(
                Mismatch, frame=doc.INTEGER, neuron=doc.INTEGER, tick=doc.INTEGER, chip=doc.SENT, reference=doc.SENT
            ),
        ),
        first_stray=doc.any_of(doc.NULL, doc.record_of(Stray, tick=doc.INTEGER, neuron=doc.INTEGER)),
        frame_period_ticks=doc.NUMBER(minimum=1),
        rollout_period_ticks=doc.NUMBER.or_null(minimum=1),
        is_graded=doc.GRADED,
        message=doc.TEXT,
    ),
)
_LINK = doc.any_of(
    doc.define("link", doc.record_of(LinkFigure, direction=doc.enum("east", "west", "north", "south", "in", "out"))),
    doc.NULL,
)
_LATE = doc.define("late", doc.record_of(LateFigures))
_NETWORK_ON_CHIP = doc.record_of(
    MeshFigures,
    (),
    _REAL,
    n_ticks=doc.POSITIVE,
    n_frames=doc.POSITIVE,
    busiest_link=_LINK,
    busiest_core_link=_LINK,
    hop_cycles=doc.POSITIVE,
    late=doc.any_of(_LATE, doc.NULL),
)
_WORK = doc.record_of(WorkFigures, (), _REAL)
_TERM = doc.define("energy_term", doc.record_of(EnergyTermFigures, (), _REAL, included_in=doc.enum("fit", None)))
_SPREAD = doc.record_of(Spread, (), _REAL, n=doc.POSITIVE)
_ENERGY = doc.record_of(
    EnergyFigures,
    (),
    _REAL,
    joules_per_frame_spread=_SPREAD.or_null,
    terms=doc.record({key: _TERM.added if key in _OF_SOME_CHIPS else _TERM for key in ENERGY_TERM_KEYS}).by(
        lambda terms: {key: _TERM.write(term) for key, term in terms.items()}
    ),
    absent=doc.each(doc.enum(*ENERGY_TERM_KEYS), uniqueItems=True),
    average_joules_per_synaptic_event=doc.AMOUNT.or_null,
)
_NODE_TIMES = doc.record_of(
    NodeTimeFigures,
    (),
    _REAL,
    nodes=doc.by_name(doc.record(synaptic_events=doc.COUNT(at="events"), arrival_cycles=doc.COUNT, seconds=_SECONDS)),
)
_TICK_TIMES = doc.record_of(
    TickTimeFigures,
    ("slowest_core",),
    _REAL,
    frame_period_seconds=_SPREAD,
    slowest_node=doc.TEXT.or_null,
    slowest_core=doc.pair(doc.INTEGER),
)


def _run(name: str, shape: doc.Shape) -> doc.Shape:
    return doc.any_of(doc.define(name, shape), doc.NULL)(at=f"figures.{name}")


_RUN = {
    "network_on_chip": _run("network_on_chip", _NETWORK_ON_CHIP),
    "work": _run("work", _WORK),
    "energy": _run("energy", _ENERGY),
    "node_times": _run("node_times", _NODE_TIMES),
    "tick_times": _run("tick_times", _TICK_TIMES).added,
}


_SHARE = {"neuron_utilisation": doc.PART, "axon_utilisation": doc.PART, "synapse_memory_utilisation": doc.PART.or_null}
_LATER = {"parts": doc.POSITIVE.or_null.added, "compartments": doc.COUNT.or_null.added}
# What a row uses of its chip; the head of the report describes the chip.
_USED = {
    key: (shape if "null" in shape.rules["type"] else shape.or_null)(at=f"usage.{key}")
    for key, shape in doc.members(Usage, ("cores_of_chip", "usable_cores"), _REAL, **_SHARE, **_LATER).items()
}

_ROW = doc.record(
    pattern=doc.TEXT,
    execution=doc.TEXT(pattern="^(windowed|pipelined(:([1-9][0-9]{0,6}|best))?)$"),
    status=doc.enum("mapped", "invalid", "does not fit"),
    message=doc.TEXT.or_null(at=lambda row: row.message or None),
    cycle=doc.each(doc.TEXT, minItems=1).or_null(at=lambda row: row.cycle or None),
    infeasibility=doc.any_of(
        doc.NULL,
        doc.record(
            limit=doc.TEXT,
            node=doc.TEXT.or_null,
            demand=doc.INTEGER,
            bound=doc.INTEGER,
            gap=doc.INTEGER,
            message=doc.TEXT,
            remedies=doc.each(doc.OBJECT),
        )(additionalProperties=None).by(lambda found: found.to_dict()),
    )(at=lambda row: row.infeasibility if hasattr(row.infeasibility, "to_dict") else None),
    streaming_edges=doc.each(doc.pair(doc.TEXT)),
    bridging_edges=doc.each(doc.record(edge=doc.pair(doc.TEXT)(at=0), frames=doc.INTEGER(minimum=2, at=1)))(
        at=lambda row: row.bridging_edges or None
    ).optional,
    behaviour_class=_AT_LEAST_1,
    inference_factor=_AT_LEAST_1,
    schedule=doc.enum("steps", "ticks"),
    frame_period_steps=doc.NUMBER.or_null(minimum=1),
    frame_period_ticks=doc.NUMBER.or_null(minimum=1),
    intervals=doc.INTERVALS,
    ticks_per_step=_AT_LEAST_1,
    sampling_frequency_hz=doc.NUMBER.or_null(exclusiveMinimum=0),
    predicted=_RESPONSES,
    measured=_RESPONSES,
    observed_first_difference_ticks=_OBSERVED,
    worst_case_reaction_ticks=doc.COUNT.or_null,
    worst_case_reaction_seconds=_SECONDS,
    full_response_exact=doc.FLAG.or_null,
    outputs=doc.by_name(_OUTPUT),
    nodes_on_chip=doc.each(doc.record_of(NodeCopies, parts=doc.COUNT.added))(at="copies"),
    left_out=doc.by_name(doc.POSITIVE).or_null(at=lambda row: row.left_out if row.usage else None),
    core_bound=doc.any_of(doc.define("core_bound", BOUND), doc.NULL),
    **_USED,
    **_RUN,
    accuracy=doc.record(
        data=doc.TEXT,
        part=doc.TEXT(enum=["train", "validation", "test"]),
        images=doc.POSITIVE(at="n_images"),
        ticks=doc.each(doc.COUNT)(at=lambda found: [frame.tick for frame in found.frames]),
        fraction=doc.each(doc.PART)(at=lambda found: [frame.accuracy for frame in found.frames]),
    ).or_null,
    verified=doc.FLAG.or_null,
    proven=doc.FLAG.or_null.added,
    verification=doc.any_of(doc.NULL, _VERIFICATION),
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
_REPORT = doc.record(
    format=doc.enum(_FORMAT, _FORMAT_WITH_FAULTS)(
        at=lambda report: _FORMAT if report.faults is None else _FORMAT_WITH_FAULTS
    ),
    neuromap_version=doc.TEXT(at="version"),
    network=doc.NETWORK,
    chip=doc.CHIP,
    stimulus=doc.STIMULUS,
    time_axis=doc.TIME_AXIS(at=lambda report: time_axes(row.execution for row in report.rows)).by(dict),
    most_sequential_patterns=doc.BIG_COUNT.or_null(at="most_sequential"),
    most_sequential_proven=doc.FLAG.or_null,
    class_numbers_are_of_network=doc.FLAG(at="classes_are_of_network"),
    verified=doc.FLAG,
    rows=doc.each(doc.define("row", _ROW)),
    faults=doc.another(
        "neuromap-faults-1",
        "Output error, first response and accuracy over fault rates: a document with a schema of its own, "
        "faults.schema.json.",
    )
    .by(lambda study: form(study, "dict"))
    .optional,
)
DOCUMENT = doc.document(
    "report",
    _REPORT.where(
        {"properties": {"format": {"const": _FORMAT_WITH_FAULTS}}},
        {"required": ["faults"]},
        {"properties": {"faults": False}},
    ),
)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every report follows.

    Returns
    -------
    dict
        The schema.
    """
    return DOCUMENT.schema()


def to_dict(report: LatencyReport) -> dict[str, Any]:
    """Convert a report to plain values, ready for JSON.

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
    return doc.json_text(to_dict(report))


# The rows as CSV, or as a table of pandas: one line per pattern and execution.
_LEFT_OUT = frozenset({"infeasibility", "verification", "outputs", "core_bound", "nodes_on_chip"})
# Members that are objects or null: if null, their columns are empty, and none has the member's own name.
_OBJECTS = frozenset(
    {*_RUN, "accuracy", "left_out", "busiest_link", "busiest_core_link", "late", "joules_per_frame_spread"}
)


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
    """Make a pandas DataFrame of a report: the columns that people plot, or all of :func:`to_csv`."""
    return data_frame(_lines(report), only=() if full else _PLOTTED)


def _lines(report: LatencyReport) -> list[dict[str, Any]]:
    head = {
        "network": report.network.name,
        "chip": report.chip.name,
        "tick_seconds": None if report.chip.is_timed else report.chip.tick_seconds,
        "neuromap_version": report.version,
    }
    lines = []
    for row in to_dict(report)["rows"]:
        line = dict(head)
        for key, value in row.items():
            if key not in _LEFT_OUT:
                line.update(_flat(key, value))
            elif key == "core_bound" and value is not None:  # populations are in the JSON form only
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


# Most characters of all pictures of chips and spikes on a page; the others are left to files.
MOST_PICTURES = 3_000_000
# Most nodes whose times are a table.
_MOST_NODES = 16
# Width in pixels above which a drawing that does not fit scrolls instead of shrinking.
_LONG = 1100
# Width in pixels up to which a drawing shrunk to a phone can still be read.
_SHRUNK = 430
# Most layers of a network beside its rollout window.
_BESIDE = 5


def to_html(report: LatencyReport) -> str:
    """Write a report as one HTML page.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        The page, UTF-8; all names are escaped.
    """
    difference, rows = text.difference_line(report) or "", text.distinct_rows(report)
    periods = [row.frame_period_ticks for row in report.rows]
    figures = next(iter(report.figures), None)
    energy = {} if figures is None else figures.energy.terms
    timed = [] if figures is None else list(figures.node_times.nodes)
    return render_page(
        "neuromap.report",
        "report.html.jinja",
        {
            "at_least": text.at_least,
            "how": _how,
            "finding": partial(_finding, names={row.pattern for row in report.rows}),
        },
        report=report,
        version=report.version,
        script=page_script("cones", "steps", "tables", "saves"),
        data=saved_forms("report", to_dict(report), to_csv(report), "all rows"),
        findings=_by_execution(findings(report)),
        axes={name: time_axis(name) for name in dict.fromkeys(row.execution for row in report.rows)},
        means=list(filter(None, [*mean_period_lines(periods), text.reaction_line(report)])),
        frames=describe_frames(report.stimulus),
        summary=_summary(report, rows),
        rows=rows,
        overview=draw_overview(report),
        narrow_overview=draw_overview(report, narrow=True),
        accuracy=draw_accuracy(rows),
        narrow_accuracy=draw_accuracy(rows, narrow=True),
        accuracy_table=text.accuracy_table(report),
        accuracy_line=text.accuracy_line(report),
        accuracy_title=text.accuracy_title(report),
        sections=_sections(report, rows),
        is_wide=max(layout(report.network).layer.values()) >= _BESIDE,
        names=json.dumps(list(report.network.nodes)),
        faults=None if report.faults is None else form(report.faults, "section"),
        run_table=text.run_table(report),
        terms=[key for key, term in energy.items() if term.joules_each is not None],
        timed=timed if len(timed) <= _MOST_NODES else [],
        notes=list(filter(None, [sentence(difference), text.sequential_line(report), text.class_line(report)])),
        copies=text.most_copies_line(report),
        left_out=text.left_out_lines(report),
        multiple=len(report.network.outputs) > 1,
        window=WINDOW,
    )


def _by_execution(found: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Group findings by execution; executions with the same findings are one group."""
    groups: dict[str, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.execution, []).append(finding)
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, said in groups.items():
        alike.setdefault(tuple((finding.text, finding.kind) for finding in said), []).append(name)
    return {" and ".join(names): groups[names[0]] for names in alike.values()}


def _summary(report: LatencyReport, rows: Sequence[ReportRow]) -> Table[ReportRow]:
    """Make the table that most readers look for: a line for every row, in words that need no definition."""
    tick = report.chip.tick_seconds

    def ticks(count: Time | None, measured: float | None) -> str:
        if count is None:
            return plain(None)
        return f"{counted(count, 'tick')} ({seconds(count * tick if measured is None else measured)})"

    def first(row: ReportRow) -> str:
        found = row.predicted if row.measured.first_response_ticks is None else row.measured
        return ticks(found.first_response_ticks, found.first_response_seconds)

    def period(row: ReportRow) -> str:
        return ticks(row.frame_period_ticks, 1 / row.sampling_frequency_hz if row.sampling_frequency_hz else None)

    def energy(row: ReportRow) -> str:
        share = None if row.figures is None else row.figures.energy.static_share
        part = "" if share is None else f", {percent(math.floor(1000 * share + 1e-9) / 1000)} static"
        return f"{joules(row.joules_per_frame)}{part}"

    def best(row: ReportRow) -> str:
        if row.accuracy is None:
            return plain(None)
        found = max(row.accuracy.frames, key=lambda frame: frame.accuracy)
        when = moment_text(found.moment, is_timed=found.seconds is not None)
        return f"{100 * found.accuracy:.1f} % {when}"

    columns: list[Column[ReportRow]] = [
        Column("pattern", lambda row: row.pattern, left=True),
        Column("execution", lambda row: row.execution, left=True),
        Column("first response [after stimulus onset]", first),
        Column(
            "worst-case reaction [to an event]",
            lambda row: ticks(row.worst_case_reaction_ticks, row.worst_case_reaction_seconds),
        ),
        Column("a frame every", period),
        Column("cores", lambda row: plain(None if row.usage is None else row.usage.cores)),
    ]
    if any(row.joules_per_frame is not None for row in rows):
        columns.append(Column("energy [per frame]", energy))
    if any(row.accuracy is not None for row in rows):
        columns.append(Column("best accuracy", best))
    columns.append(Column("verified", text.verdict, left=True, mark=lambda row: "yes" if row.verified else "no"))
    return Table(columns, rows, "Summary")


def _finding(text: str, names: Collection[str]) -> str:
    """Capitalise the first letter, unless that would change a name that somebody gave."""
    first = text.split(maxsplit=1)[0].rstrip(",")
    is_name = first in names and first not in RESERVED_PATTERNS
    return text if is_name else sentence(text)


def _how(svg: str) -> str:
    """Return the CSS class of a drawing that may not fit: narrow ones shrink, long ones scroll."""
    width = float(svg.partition(' width="')[2].partition('"')[0])
    return " long" if width > _LONG else " fit" if width <= _SHRUNK else ""


def _sections(report: LatencyReport, every: Sequence[ReportRow]) -> list[dict[str, Any]]:
    """Draw the section of every pattern; ``edges`` are as the script ``cones`` reads them."""
    groups: dict[tuple[str, tuple[EdgeKey, ...], tuple[tuple[EdgeKey, int], ...]], list[ReportRow]] = {}
    for row in every:
        groups.setdefault((row.pattern, row.streaming_edges, row.bridging_edges), []).append(row)
    network = report.network
    is_drawn = len(network.edges) <= MOST_EDGES
    sections = []
    room, numbers = MOST_PICTURES, count()  # a number identifies a row on the page
    for rows in groups.values():
        pattern = rows[0].pattern_of(network)
        drawn = []
        for row in rows:
            timeline = draw_timeline(row, report.chip) if is_drawn and not network.is_spiking else None
            figures, narrow = draw_row(row), draw_row(row, narrow=True)
            room -= sum(map(len, (*figures.values(), *narrow.values())))
            if room < 0:
                figures, narrow = {}, {}
            drawn.append(
                {"number": next(numbers), "row": row, "timeline": timeline, "figures": figures, "narrow": narrow}
            )
        sections.append(
            {
                "row": rows[0],
                "network": draw_network(network, pattern) if is_drawn else None,
                "narrow_network": draw_network(network, pattern, down=True) if is_drawn else None,
                "window": window_of(pattern) if is_drawn else None,
                "edges": _edges(network, pattern),
                "rows": drawn,
            }
        )
    return sections


def _edges(network: Network, pattern: RolloutPattern) -> str:
    position = {name: k for k, name in enumerate(network.nodes)}
    return json.dumps([[position[u], position[v], r] for (u, v), r in pattern.items()], separators=(",", ":"))
