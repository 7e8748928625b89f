"""The latency report as one self-contained HTML page: findings, pictures, and folded tables.

Style, drawings, data and scripts are in the page; it loads nothing, can be read without its scripts, and reads well on
paper, on a light and on a dark screen.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.documents import csv_text, data_frame
from neuromap.forms.formed import form
from neuromap.forms.numbers import joules, mean_period_lines, plain, seconds
from neuromap.forms.page import Definition, data_block, page_environment, page_script
from neuromap.network.edge import EdgeKey
from neuromap.network.network import RESERVED_PATTERNS, Network
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_network import draw_network, layout
from neuromap.report.drawings.draw_overview import draw_narrow_overview, draw_overview
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.drawings.draw_window import draw_window
from neuromap.report.figure_files import MOST_EDGES, WINDOW, RowFigures, draw_row, row_pattern
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.findings import Finding, accuracy_cells, accuracy_line, accuracy_ticks, findings
from neuromap.report.json_report import RUN_KEYS, to_dict
from neuromap.report.run_text import run_columns, run_lines
from neuromap.report.text import (
    at_least,
    class_line,
    difference_line,
    left_out_lines,
    most_copies_line,
    reaction_line,
    sequential_line,
)
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import time_axis
from neuromap.simulation.choose_frames import describe_frames

if TYPE_CHECKING:
    from jinja2 import Environment
    from pandas import DataFrame

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
    from markupsafe import Markup

    environment = _environment()
    environment.filters["sentence"] = partial(_sentence, names={row.pattern for row in report.rows})
    page = environment.get_template("report.html.jinja")
    overview, narrow, accuracy = draw_overview(report), draw_narrow_overview(report), draw_accuracy(report)
    return page.render(
        report=report,
        script=page_script("cones", "steps", "tables", "saves"),
        data=[
            data_block("report.json", "the data as JSON", to_dict(report)),
            data_block("report.csv", "all rows as CSV", to_csv(report)),
        ],
        findings=_by_execution(findings(report)),
        definitions=DEFINITIONS,
        axes={name: time_axis(name) for name in dict.fromkeys(row.execution for row in report.rows)},
        means=[
            *mean_period_lines(row.frame_period_ticks for row in report.rows),
            *filter(None, [reaction_line(report)]),
        ],
        frames=describe_frames(report.stimulus),
        overview=None if overview is None else Markup(overview),
        narrow_overview=None if narrow is None else Markup(narrow),
        accuracy=None if accuracy is None else Markup(accuracy),
        accuracy_ticks=accuracy_ticks(report),
        accuracy_cells=accuracy_cells(report),
        accuracy_line=accuracy_line(report),
        sections=_sections(report),
        names=json.dumps(list(report.network.nodes)),
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
        window=WINDOW,
    )


def _by_execution(found: Iterable[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.execution, []).append(finding)
    return groups


def _environment() -> Environment:
    from markupsafe import Markup

    environment = page_environment("neuromap.report")
    environment.filters.update(plain=plain, seconds=seconds, joules=joules, markup=Markup, at_least=at_least)
    environment.filters.update(is_long=_is_long)
    return environment


def _sentence(text: str, names: Collection[str]) -> str:
    """Begin with a capital letter, unless that would change a name that somebody gave."""
    first = text.split(maxsplit=1)[0].rstrip(",")
    is_name = first in names and first not in RESERVED_PATTERNS
    return text if is_name else text[:1].upper() + text[1:]


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
            timeline = draw_timeline(row, report.chip.tick_seconds) if is_drawn and not network.is_spiking else None
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


# The latency report as CSV, or as a table of pandas: one line per pattern and execution.
_LEFT_OUT = frozenset({"infeasibility", "verification", "outputs", "core_bound", "nodes_on_chip"})
_OBJECTS = frozenset(
    {*RUN_KEYS, "accuracy", "left_out", "busiest_link", "busiest_core_link", "late", "joules_per_frame_spread"}
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


def to_pandas(report: LatencyReport) -> DataFrame:
    """Make a table of pandas of a report: rows, columns and their names as in :func:`to_csv`."""
    return data_frame(_lines(report))


def _lines(report: LatencyReport) -> list[dict[str, Any]]:
    document = to_dict(report)
    head = {
        "network": document["network"]["name"],
        "chip": document["chip"]["name"],
        "tick_seconds": document["chip"]["tick_seconds"],
        "neuromap_version": document["neuromap_version"],
    }
    lines = []
    for row in document["rows"]:
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


# What the figures of a report mean: name, unit and time axis, and a definition, for the page.


_AXIS = "ticks from stimulus onset, on the time axis of the row’s execution"
DEFINITIONS: Mapping[str, Definition] = ReadOnlyMapping(
    {
        "pattern": Definition(
            "Pattern",
            "",
            "Which edges hand their value to the next frame (streaming, R = 1) and which work inside a frame "
            "(sequential, R = 0). It is valid if every cycle has a streaming edge (Theorem 1).",
        ),
        "execution": Definition(
            "Execution",
            "",
            "Windowed: windows of size 1 one after the other, frame period F. Pipelined: frames follow each "
            "other as closely as the network’s cycles allow. Each is a time axis of its own.",
        ),
        "inference-factor": Definition(
            "Inference factor F",
            "update steps",
            "The greatest update step in the tableau of the rollout window of size 1.",
        ),
        "frame-period": Definition(
            "Frame period",
            "ticks",
            "Between two frames of one node; the mean, where intervals are unequal.",
        ),
        "sampling-frequency": Definition(
            "Sampling frequency",
            "Hz (frames per second at the chip’s tick)",
            "1 / (frame period × length of a tick).",
        ),
        "first-response": Definition(
            "First response",
            _AXIS,
            "When an output can first differ with the stimulus. Predicted: least sum of delays from an input to "
            "an output, from the schedule. Measured: by a walk through the finished program.",
        ),
        "full-response": Definition(
            "Full response",
            _AXIS,
            "When an output depends on the stimulus along every path that visits no node twice. “≤” marks an "
            "upper bound: the search for the longest path was cut off.",
        ),
        "worst-case-reaction": Definition(
            "Worst-case reaction",
            _AXIS,
            "First response plus frame period minus one tick: for an event that just missed a sample, at the input "
            "that is answered first; with several inputs, an event at another may take longer.",
        ),
        "cores": Definition(
            "Cores",
            "cores",
            "In use. “≥” is a lower bound on the cores of any mapping of the row’s schedule.",
        ),
        "neurons": Definition(
            "Neurons",
            "neurons",
            "In use, with copies, splitters and relays.",
        ),
        "copies": Definition(
            "Copies",
            "neurons",
            "That repeat another one, since a neuron of the chip sends to one axon only.",
        ),
        "splitters": Definition(
            "Splitters",
            "neurons",
            "Relays that are there to send to more axons.",
        ),
        "relays": Definition(
            "Relays",
            "neurons",
            "That only pass spikes on, to make a delay longer.",
        ),
        "axons": Definition(
            "Axons",
            "axons",
            "That a neuron or the host feeds.",
        ),
        "verified": Definition(
            "Verified",
            "",
            "The simulated chip gave exactly the reference’s frames and no spike outside them, and the program "
            "keeps the rules of the chip.",
        ),
        "utilisation": Definition(
            "In use",
            "%",
            "Of what the cores in use have.",
        ),
        "deliveries": Definition(
            "Deliveries",
            "pairs",
            "Of a source and a core that reads it: spikes that must be sent for each of its spikes.",
        ),
        "hops": Definition(
            "Weighted hops",
            "links",
            "Links between routers on all ways, summed over targets.",
        ),
        "accuracy": Definition(
            "Accuracy",
            "fraction of images, at ticks since the onset of the image",
            "How many of the images the last frame of the output that is known at a tick names rightly, alone. "
            "The class with most spikes is named, the lowest of equals.",
        ),
        "energy": Definition(
            "Energy",
            "J per frame in steady operation",
            "Of the whole board, idle chips included, from the figures of the chip file.",
        ),
    }
)
"""Figures by the end of their anchor, ``def-…``."""
