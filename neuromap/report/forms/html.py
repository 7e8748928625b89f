"""The latency report as one self-contained HTML page: table, networks, rollout windows, timelines.

Style and drawings are in the page; it loads nothing, runs no script, and reads well on a light and a dark screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuromap.forms.formed import form
from neuromap.forms.numbers import joules, mean_period_lines, plain, seconds
from neuromap.forms.page import page_environment
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.drawings.draw_overview import draw_overview
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.drawings.draw_window import draw_window
from neuromap.report.drawings.layers import layout
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.forms.accuracy_text import accuracy_cells, accuracy_line, accuracy_ticks
from neuromap.report.forms.notes import (
    class_line,
    difference_line,
    left_out_lines,
    most_copies_line,
    sequential_line,
)
from neuromap.report.forms.pictures import RowPictures, draw_row
from neuromap.report.forms.run_text import run_columns, run_lines
from neuromap.report.forms.text import at_least
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import time_axis
from neuromap.simulation.stimulus.choose_frames import describe_frames

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["MOST_EDGES", "MOST_PICTURES", "to_html"]

MOST_EDGES = 150
"""Networks with more edges are not drawn: nobody could read it."""

MOST_PICTURES = 3_000_000
"""Characters that all chip maps and link loads of a page may take; the others are left to files."""

_MOST_NODES = 16
"""Nodes up to which their times are a table."""

_WINDOW = 3
_BESIDE = 5
"""Layers up to which the network stands beside its rollout window."""


@dataclass(frozen=True)
class _Drawn:
    """A row with its drawings; ``…_as`` is the execution whose picture is the same and shown already."""

    row: ReportRow
    timeline: str | None
    chip: str | None = None
    links: str | None = None
    chip_as: str | None = None
    links_as: str | None = None


@dataclass(frozen=True)
class _Section:
    """What the page shows of one pattern."""

    name: str
    streaming: tuple[str, ...]
    n_edges: int
    behaviour_class: int | None
    inference_factor: int | None
    cycle: tuple[str, ...]
    network: str | None
    wide: bool
    window: str | None
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
    from markupsafe import Markup

    page = _environment().get_template("report.html.jinja")
    overview, accuracy = draw_overview(report), draw_accuracy(report)
    return page.render(
        report=report,
        axes={name: time_axis(name) for name in dict.fromkeys(row.execution for row in report.rows)},
        means=mean_period_lines(row.frame_period_ticks for row in report.rows),
        frames=describe_frames(report.stimulus),
        overview=None if overview is None else Markup(overview),
        accuracy=None if accuracy is None else Markup(accuracy),
        accuracy_ticks=accuracy_ticks(report),
        accuracy_cells=accuracy_cells(report),
        accuracy_line=accuracy_line(report),
        sections=_sections(report),
        faults=None if report.faults is None else Markup(form(report.faults, "section")),
        run_columns=run_columns(report),
        run_lines=run_lines(report),
        terms=_terms(report),
        timed=_timed_nodes(report),
        sequential=sequential_line(report),
        difference=difference_line(report),
        classes=class_line(report),
        copies=most_copies_line(report),
        left_out=left_out_lines(report),
        multiple=len(report.network.outputs) > 1,
        bounds=any(row.full_response_exact is False for row in report.rows),
        window=_WINDOW,
    )


def _environment() -> Environment:
    from markupsafe import Markup

    environment = page_environment("neuromap.report.forms")
    environment.filters.update(plain=plain, seconds=seconds, joules=joules, markup=Markup, at_least=at_least)
    return environment


def _layers(network: Network) -> int:
    return max(layout(network).layer.values()) + 1


def _sections(report: LatencyReport) -> list[_Section]:
    groups: dict[tuple[str, tuple[EdgeKey, ...], tuple[tuple[EdgeKey, int], ...]], list[ReportRow]] = {}
    for row in report.rows:
        groups.setdefault((row.pattern, row.streaming_edges, row.bridging_edges), []).append(row)
    network = report.network
    drawn = len(network.edges) <= MOST_EDGES
    sections = []
    room = MOST_PICTURES
    for (name, streaming, bridging), rows in groups.items():
        pattern = RolloutPattern.from_streaming_edges(network, streaming, name, bridging=dict(bridging))
        shows_window = pattern.is_valid and not network.is_spiking  # whose edges bridge as many frames as their delays
        drawn_rows: list[_Drawn] = []
        shown: dict[str, str] = {}
        for row in rows:
            pictures = draw_row(row)
            if pictures is not None:
                room -= sum(map(len, pictures))
            timeline = draw_timeline(row, report.chip.tick_seconds) if drawn and not network.is_spiking else None
            drawn_rows.append(_drawn(row, timeline, pictures if room >= 0 else None, shown))
        sections.append(
            _Section(
                name=name,
                streaming=tuple(f"{u} → {v}" for u, v in streaming),
                n_edges=len(network.edges),
                behaviour_class=rows[0].behaviour_class,
                inference_factor=rows[0].inference_factor,
                cycle=rows[0].cycle,
                network=draw_network(network, pattern) if drawn else None,
                wide=_layers(network) > _BESIDE,
                window=draw_window(network, pattern, _WINDOW) if drawn and shows_window else None,
                rows=tuple(drawn_rows),
            )
        )
    return sections


def _drawn(row: ReportRow, timeline: str | None, pictures: RowPictures | None, shown: dict[str, str]) -> _Drawn:
    """Join a row and its drawings; ``shown`` holds the pictures of the section so far."""
    if pictures is None:
        return _Drawn(row, timeline)
    chip_as, links_as = (shown.get(picture) for picture in pictures)
    for picture in pictures:
        shown.setdefault(picture, row.execution)
    chip, links = None if chip_as else pictures.chip, None if links_as else pictures.links
    return _Drawn(row, timeline, chip, links, chip_as, links_as)


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
