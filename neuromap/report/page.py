"""The latency report as one self-contained HTML page: findings, pictures, and folded tables.

Style, drawings, data and scripts are in the page; it loads nothing, can be read without its scripts, and reads well on
paper, on a light and on a dark screen.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from neuromap.network.edge import EdgeKey
from neuromap.network.network import RESERVED_PATTERNS, Network
from neuromap.render.numbers import mean_period_lines
from neuromap.render.page import data_block, page_script, render_page, sentence
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
    at_least,
    class_line,
    difference_line,
    left_out_lines,
    most_copies_line,
    reaction_line,
    run_table,
    sequential_line,
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
_BESIDE = 5
"""Layers up to which the network stands beside its rollout window."""


@dataclass(frozen=True)
class _Drawn:
    """A row with its drawings; ``number`` tells it from others on the page."""

    number: int
    row: ReportRow
    timeline: str | None
    figures: RowFigures | None


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
    difference, overview = difference_line(report), draw_overview(report)
    return render_page(
        "neuromap.report",
        "report.html.jinja",
        {
            "at_least": at_least,
            "is_long": _is_long,
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
        overview=overview,
        narrow_overview=None if overview is None else draw_narrow_overview(report),
        accuracy=draw_accuracy(report),
        accuracy_table=accuracy_table(report),
        accuracy_line=accuracy_line(report),
        sections=_sections(report),
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
    groups: dict[str, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.execution, []).append(finding)
    return groups


def _finding(text: str, names: Collection[str]) -> str:
    """Begin with a capital letter, unless that would change a name that somebody gave."""
    first = text.split(maxsplit=1)[0].rstrip(",")
    is_name = first in names and first not in RESERVED_PATTERNS
    return text if is_name else sentence(text)


def _is_long(svg: str) -> bool:
    """Whether a drawing is so wide that it cannot be read where it is shrunk to half a page."""
    return float(svg.partition(' width="')[2].partition('"')[0]) > _LONG


def _layers(network: Network) -> int:
    return max(layout(network).layer.values()) + 1


def _sections(report: LatencyReport) -> list[_Section]:
    groups: dict[tuple[str, tuple[EdgeKey, ...], tuple[tuple[EdgeKey, int], ...]], list[ReportRow]] = {}
    for row in report.rows:
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
            figures = draw_row(row)
            room -= sum(map(len, figures or ()))
            timeline = draw_timeline(row, report.chip) if is_drawn and not network.is_spiking else None
            drawn.append(_Drawn(number, row, timeline, figures if room >= 0 else None))
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
