"""The latency report as one self-contained HTML page: findings, pictures, and folded tables.

Style, drawings, data and scripts are in the page; it loads nothing, can be read without its scripts, and reads well on
paper, on a light and on a dark screen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from neuromap.accuracy.accuracy import moment_text
from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.network.edge import EdgeKey
from neuromap.network.network import RESERVED_PATTERNS, Network
from neuromap.render.numbers import joules, mean_period_lines, percent, plain, seconds
from neuromap.render.page import data_block, page_script, render_page, sentence
from neuromap.render.table import Column, Table
from neuromap.render.value import form
from neuromap.report.document import to_csv, to_dict
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_network import MOST_EDGES, draw_network, layout
from neuromap.report.drawings.draw_overview import draw_narrow_overview, draw_overview
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.drawings.draw_window import WINDOW, draw_window
from neuromap.report.figure_files import RowFigures, draw_row, row_pattern
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.findings import Finding, findings
from neuromap.report.text import (
    accuracy_line,
    accuracy_table,
    accuracy_title,
    at_least,
    class_line,
    difference_line,
    distinct_rows,
    left_out_lines,
    most_copies_line,
    reaction_line,
    run_table,
    sequential_line,
    verdict,
)
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import time_axis
from neuromap.simulation.choose_frames import describe_frames

MOST_PICTURES = 3_000_000
"""Characters that all pictures of chips and spikes of a page may take; the others are left to files."""
_MOST_NODES = 16
"""Nodes up to which their times are a table."""
_LONG = 1100
"""Pixels from which on a drawing scrolls where it does not fit, in place of being shrunk."""
_SHRUNK = 430
"""Pixels up to which a drawing is shrunk to a telephone and can still be read."""
_BESIDE = 5
"""Layers up to which the network stands beside its rollout window."""


@dataclass(frozen=True)
class _Drawn:
    """A row with its drawings; ``number`` tells it from others on the page."""

    number: int
    row: ReportRow
    timeline: str | None
    figures: RowFigures | None
    narrow: RowFigures | None  # for telephones


@dataclass(frozen=True)
class _Section:
    """What the page shows of one pattern; ``edges`` are as the script of cones reads them."""

    name: str
    streaming: tuple[str, ...]
    n_edges: int
    behaviour_class: int | None
    inference_factor: int | None
    cycle: tuple[str, ...]
    network: str | None
    narrow_network: str | None
    wide: bool
    window: str | None
    edges: str
    rows: tuple[_Drawn, ...]


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
    difference, overview, rows = difference_line(report), draw_overview(report), distinct_rows(report)
    return render_page(
        "neuromap.report",
        "report.html.jinja",
        {
            "at_least": at_least,
            "how": _how,
            "finding": partial(_finding, names={row.pattern for row in report.rows}),
        },
        report=report,
        version=report.version,
        script=page_script("cones", "steps", "tables", "saves"),
        data=[
            data_block("report.json", "the data as JSON", to_dict(report)),
            data_block("report.csv", "all rows as CSV", to_csv(report)),
        ],
        findings=_by_execution(findings(report)),
        axes={name: time_axis(name) for name in dict.fromkeys(row.execution for row in report.rows)},
        means=[
            *mean_period_lines(row.frame_period_ticks for row in report.rows),
            *filter(None, [reaction_line(report)]),
        ],
        frames=describe_frames(report.stimulus),
        summary=_summary(report, rows),
        rows=rows,
        overview=overview,
        narrow_overview=None if overview is None else draw_narrow_overview(report),
        accuracy=draw_accuracy(rows),
        narrow_accuracy=draw_accuracy(rows, narrow=True),
        accuracy_table=accuracy_table(report),
        accuracy_line=accuracy_line(report),
        accuracy_title=accuracy_title(report),
        sections=_sections(report, rows),
        names=json.dumps(list(report.network.nodes)),
        faults=None if report.faults is None else form(report.faults, "section"),
        run_table=run_table(report),
        terms=_terms(report),
        timed=_timed_nodes(report),
        notes=[
            *([sentence(difference)] if difference else []),
            *filter(None, [sequential_line(report), class_line(report)]),
        ],
        copies=most_copies_line(report),
        left_out=left_out_lines(report),
        multiple=len(report.network.outputs) > 1,
        window=WINDOW,
    )


def _by_execution(found: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Group findings by their execution; executions of which the same is said are one group."""
    groups: dict[str, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.execution, []).append(finding)
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, said in groups.items():
        alike.setdefault(tuple((finding.text, finding.kind) for finding in said), []).append(name)
    return {" and ".join(names): groups[names[0]] for names in alike.values()}


def _summary(report: LatencyReport, rows: Sequence[ReportRow]) -> Table[ReportRow]:
    """Give what most readers look for: a line for every row, in words that need no definition."""
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
        found = None if row.figures is None else row.figures.energy
        share = None if found is None else found.static_share
        part = "" if share is None else f", {percent(math.floor(1000 * share + 1e-9) / 1000)} static"
        return f"{joules(None if found is None else found.joules_per_frame)}{part}"

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
    if any(row.figures is not None and row.figures.energy.joules_per_frame is not None for row in rows):
        columns.append(Column("energy [per frame]", energy))
    if any(row.accuracy is not None for row in rows):
        columns.append(Column("best accuracy", best))
    columns.append(Column("verified", verdict, left=True, mark=lambda row: "yes" if row.verified else "no"))
    return Table(columns, rows, "Summary")


def _finding(text: str, names: Collection[str]) -> str:
    """Begin with a capital letter, unless that would change a name that somebody gave."""
    first = text.split(maxsplit=1)[0].rstrip(",")
    is_name = first in names and first not in RESERVED_PATTERNS
    return text if is_name else sentence(text)


def _how(svg: str) -> str:
    """Say how a drawing is shown where it does not fit: one that is little too wide is shrunk, a long one scrolls."""
    width = float(svg.partition(' width="')[2].partition('"')[0])
    return " long" if width > _LONG else " fit" if width <= _SHRUNK else ""


def _layers(network: Network) -> int:
    return max(layout(network).layer.values()) + 1


def _sections(report: LatencyReport, every: Sequence[ReportRow]) -> list[_Section]:
    groups: dict[tuple[str, tuple[EdgeKey, ...], tuple[tuple[EdgeKey, int], ...]], list[ReportRow]] = {}
    for row in every:
        groups.setdefault((row.pattern, row.streaming_edges, row.bridging_edges), []).append(row)
    network = report.network
    is_drawn = len(network.edges) <= MOST_EDGES
    sections = []
    room, number = MOST_PICTURES, 0
    for (name, streaming, _), rows in groups.items():
        pattern = row_pattern(report, rows[0])
        shows_window = pattern.is_valid and not network.is_spiking  # whose edges bridge as many frames as their delays
        drawn = []
        for row in rows:
            timeline = draw_timeline(row, report.chip) if is_drawn and not network.is_spiking else None
            figures, narrow = draw_row(row), draw_row(row, narrow=True)
            room -= sum(map(len, (*(figures or ()), *(narrow or ()))))
            drawn.append(_Drawn(number, row, timeline, *((figures, narrow) if room >= 0 else (None, None))))
            number += 1
        sections.append(
            _Section(
                name=name,
                streaming=tuple(f"{u} → {v}" for u, v in streaming),
                n_edges=len(network.edges),
                behaviour_class=rows[0].behaviour_class,
                inference_factor=rows[0].inference_factor,
                cycle=rows[0].cycle,
                network=draw_network(network, pattern) if is_drawn else None,
                narrow_network=draw_network(network, pattern, down=True) if is_drawn else None,
                wide=_layers(network) > _BESIDE,
                window=draw_window(network, pattern, WINDOW) if is_drawn and shows_window else None,
                edges=_edges(network, pattern),
                rows=tuple(drawn),
            )
        )
    return sections


def _edges(network: Network, pattern: RolloutPattern) -> str:
    position = {name: k for k, name in enumerate(network.nodes)}
    return json.dumps([[position[u], position[v], r] for (u, v), r in pattern.items()], separators=(",", ":"))


def _terms(report: LatencyReport) -> list[str]:
    """Keys of the energy terms that the chip file has figures of."""
    figures = next((row.figures for row in report.rows if row.figures is not None), None)
    if figures is None:
        return []
    return [key for key, term in figures.energy.terms.items() if term.joules_each is not None]


def _timed_nodes(report: LatencyReport) -> list[str]:
    """Nodes of the table of node times; none where there are too many."""
    figures = next((row.figures for row in report.rows if row.figures is not None), None)
    nodes = [] if figures is None else list(figures.node_times.nodes)
    return nodes if len(nodes) <= _MOST_NODES else []
