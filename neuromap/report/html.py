"""The latency report as one self-contained HTML page: table, networks, rollout windows, timelines.

Style and drawings are in the page; it loads nothing, runs no script, and reads well on a light and a dark screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuromap.network.network import Network
from neuromap.report.draw_network import draw_network
from neuromap.report.draw_overview import draw_overview
from neuromap.report.draw_timeline import draw_timeline
from neuromap.report.draw_window import draw_window
from neuromap.report.frames import describe_frames
from neuromap.report.latency import TIME_AXIS, LatencyReport
from neuromap.report.layers import layout
from neuromap.report.numbers import plain, seconds
from neuromap.report.row import ReportRow
from neuromap.report.text import at_least, sequential_line
from neuromap.rollout.pattern import RolloutPattern

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["MOST_EDGES", "to_html"]

MOST_EDGES = 150
"""Networks with more edges are not drawn: nobody could read it."""

_WINDOW = 3
_BESIDE = 5
"""Layers up to which the network stands beside its rollout window."""


@dataclass(frozen=True)
class _Section:
    """What the page shows of one pattern."""

    name: str
    streaming: tuple[str, ...]
    n_edges: int
    inference_factor: int | None
    cycle: tuple[str, ...]
    network: str | None
    wide: bool
    window: str | None
    rows: tuple[tuple[ReportRow, str | None], ...]


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
    overview = draw_overview(report)
    return page.render(
        report=report,
        axes={name: TIME_AXIS[name] for name in dict.fromkeys(row.execution for row in report.rows)},
        frames=describe_frames(report.stimulus),
        overview=None if overview is None else Markup(overview),
        sections=_sections(report),
        sequential=sequential_line(report),
        multiple=len(report.network.outputs) > 1,
        bounds=any(row.full_response_exact is False for row in report.rows),
        window=_WINDOW,
    )


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("neuromap.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=plain, seconds=seconds, markup=Markup, at_least=at_least)
    return environment


def _layers(network: Network) -> int:
    return max(layout(network).layer.values()) + 1


def _sections(report: LatencyReport) -> list[_Section]:
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[ReportRow]] = {}
    for row in report.rows:
        groups.setdefault((row.pattern, row.streaming_edges), []).append(row)
    network = report.network
    drawn = len(network.edges) <= MOST_EDGES
    sections = []
    for (name, streaming), rows in groups.items():
        pattern = RolloutPattern.from_streaming_edges(network, streaming, name)
        sections.append(
            _Section(
                name=name,
                streaming=tuple(f"{u} → {v}" for u, v in streaming),
                n_edges=len(network.edges),
                inference_factor=rows[0].inference_factor,
                cycle=rows[0].cycle,
                network=draw_network(network, pattern) if drawn else None,
                wide=_layers(network) > _BESIDE,
                window=draw_window(network, pattern, _WINDOW) if drawn and pattern.is_valid else None,
                rows=tuple((row, draw_timeline(row, report.chip.tick_seconds) if drawn else None) for row in rows),
            )
        )
    return sections
