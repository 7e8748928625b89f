"""Parts of the page that change, as HTML: each by the id of the element that holds it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from neuromap.arrays.times import Time
from neuromap.errors import NeuromapError
from neuromap.faults.links_in_use import links_in_use
from neuromap.forms.numbers import plain, seconds
from neuromap.forms.page import page_environment
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.drawings.draw_window import draw_window
from neuromap.studio.player.commands import picture_shape
from neuromap.studio.player.figures import ChipFigures, ScheduleFigures, schedule_figures, timeline_row
from neuromap.studio.player.session import SPEEDS, Session
from neuromap.studio.player.stage import EXECUTIONS
from neuromap.studio.scene.scene import SceneRun

SHEETS = ("colours.css", "style.css", "drawing.css", "studio.css")
_MOST_LINKS = 500
_MOST_DRAWN = 60
"""Nodes up to which networks and windows are drawn."""


@cache
def _templates() -> Any:
    found = page_environment("neuromap.studio")
    found.globals["rows"] = ROWS
    return found


def page_html(name: str) -> str:
    """Write the page of a session; its parts come over the socket."""
    page: str = _templates().get_template("page.html.jinja").render(name=name, sheets=SHEETS, speeds=SPEEDS)
    return page


class PartsWriter:
    """Writes every part of a session's page; what only mapping changes is drawn once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._drawn: dict[int, tuple[tuple[Any, ...], dict[str, str]]] = {}

    def parts(self) -> dict[str, str]:
        """Write all parts: HTML by the id of its element."""
        session = self._session
        scene, macros = session.stage.scene, _templates().get_template("parts.html.jinja").module
        names = list(session.offer.networks)
        chips = [chip.name for chip in list_chips()]
        parts = {
            "setup": macros.setup(names, _chosen(session), chips, scene.chip.name, len(scene.runs) > 1),
            "input": _input(session, macros),
        }
        for k, run in enumerate(scene.runs):
            parts |= self._of_mapping(k, run, macros)
            parts[f"edits-{k}"] = _edits(session, k, macros)
        return {name: str(part) for name, part in parts.items()}

    def _of_mapping(self, k: int, run: SceneRun, macros: Any) -> dict[str, str]:
        """Write what depends on the rollout and what became of it on the chip."""
        stage = self._session.stage
        kinds = tuple(dict.fromkeys((*EXECUTIONS, run.execution)))
        played = stage.runs[k] if k < len(stage.runs) else None
        key = (run, played, *(stage.mapped.get((k, kind)) for kind in kinds))
        if k not in self._drawn or self._drawn[k][0] != key:
            names = stage.scene.network.pattern_names
            parts = {f"pattern-{k}": macros.pattern(k, "AB"[k], names, run.pattern.name, run.execution, kinds)}
            parts |= _drawings(self._session, k, run)
            parts[f"figures-{k}"] = _figures(self._session, k, run, macros)
            parts[f"forms-{k}"] = _forms(self._session, k, macros)
            self._drawn[k] = key, parts
        return self._drawn[k][1]


def _chosen(session: Session) -> str:
    """Give the name under which the network was chosen, or its own."""
    network = session.stage.scene.network
    return next((name for name, known in session.offer.networks.items() if known is network), network.name)


def _input(session: Session, macros: Any) -> str:
    shown, images, network = session.stage.shown, session.offer.images, session.stage.scene.network
    image = None
    if images is not None and any(session.stage.takes(name, images.shape) for name in network.inputs):
        found = shown.label.partition(" image ")[2].partition(",")[0]
        last = len(images.images) - 1
        number = min(last, int(found)) if found.isascii() and found.isdigit() else 0
        name = f"image of {images.name}, {images.part} part"
        image = {"name": name, "last": last, "number": number, "next": min(last, number + 1) if found else 0}
    draws = any(picture_shape(session, name) for name in network.inputs)
    has_stimulus = session.stage.scene.stimulus is not None
    found_input: str = macros.input(shown.label, shown.kind, shown.noise, shown.density, image, has_stimulus, draws)
    return found_input


def _drawings(session: Session, k: int, run: SceneRun) -> dict[str, str]:
    network, pattern = session.stage.scene.network, run.pattern
    if len(network.nodes) > _MOST_DRAWN:
        line = f"<p>{len(network.nodes)} nodes: more than {_MOST_DRAWN}, which is the most that is drawn</p>"
        return {f"network-{k}": line, f"window-{k}": line, f"timeline-{k}": line}
    drawn = draw_network(network, pattern).replace('role="img"', 'role="group"', 1)
    found = {f"network-{k}": drawn, f"window-{k}": "<p>An invalid pattern has no tableau.</p>"}
    if pattern.is_valid:
        found[f"window-{k}"] = draw_window(network, pattern)
    mapped = session.stage.mapped.get((k, run.execution))
    line = "<p>It is drawn when the network is mapped.</p>"
    if mapped is not None and mapped.program is not None and mapped.rollout is not None:
        second = mapped.program.chip.tick_seconds or 1e-3
        line = draw_timeline(timeline_row(mapped.rollout, mapped.program), second) or "<p>Too long to be drawn.</p>"
    return {**found, f"timeline-{k}": line}


def _figures(session: Session, k: int, run: SceneRun, macros: Any) -> str:
    columns, problems = [], []
    for execution in dict.fromkeys((*EXECUTIONS, run.execution)):
        schedule, mapped = schedule_figures(run.pattern, execution), session.stage.mapped.get((k, execution))
        waiting = "mapping…" if mapped is None and not schedule.problem else "–"
        columns.append(figure_texts(schedule, None if mapped is None else mapped.figures, waiting))
        if mapped is not None and mapped.problem and not schedule.problem:
            problems.append(f"{execution}: {mapped.problem}")
    pattern = run.pattern
    if pattern.is_valid:
        text = f"valid: {len(pattern.streaming_edges)} of {len(pattern.network.edges)} edges stream"
    else:
        cycle = (*pattern.cycle, *pattern.cycle[:1])
        text = f"invalid: the sequential edges {' -> '.join(cycle)} form a cycle"
    figures: str = macros.figures(k, columns, run.execution, text, pattern.is_valid, problems)
    return figures


def _edits(session: Session, k: int, macros: Any) -> str:
    runs = session.stage.runs
    if k >= len(runs):
        return '<p class="soft">Nothing runs yet.</p>'
    listed: str = macros.edits(k, [edit.what for edit in runs[k].edits])
    return listed


def _forms(session: Session, k: int, macros: Any) -> str:
    if k >= len(session.stage.runs):
        return ""
    program = session.stage.runs[k].program
    inside = [port.name for port in program.nodes if port.kind != "input"]
    sources = [port.name for port in program.nodes]
    links: list[tuple[str, str]] = []
    try:
        used = links_in_use(program)
        for x, y, up in np.stack(used, axis=1)[:_MOST_LINKS].tolist():
            links.append((f"{x},{y},{up}", f"({x}, {y}) and ({x + 1 - up}, {y + up})"))
    except (NeuromapError, IndexError):  # cores beyond the board have no ways
        links = []
    forms: str = macros.forms(k, inside, sources, program.n_cores, links)
    return forms


# Figures of runs as text, each with its unit and its time axis.


ROWS = (
    ("factor", "inference factor F [update steps]"),
    ("period", "frame period [update steps]"),
    ("period_ticks", "frame period [ticks]"),
    ("first", "first response [update steps]"),
    ("first_ticks", "first response [ticks]"),
    ("full", "full response [update steps]"),
    ("full_ticks", "full response [ticks]"),
    ("sampling", "sampling frequency [frames/s]"),
    ("cores", "cores in use"),
)
"""Figures of a run: key and what it is."""


def figure_texts(schedule: ScheduleFigures, chip: ChipFigures | None, waiting: str) -> dict[str, str]:
    """Write the figures of one execution."""
    bound = "" if schedule.is_exact else "at most "
    texts = {
        "name": schedule.execution,
        "factor": _number(schedule.inference_factor),
        "period": _number(schedule.frame_period),
        "first": _number(schedule.first_response),
        "full": bound + _number(schedule.full_response) if schedule.full_response is not None else "–",
    }
    if chip is None:
        return {**{key: waiting for key, _ in ROWS}, **texts}
    second = chip.tick_seconds
    return {
        **texts,
        "period_ticks": f"{_number(chip.frame_period)} ({seconds(float(chip.frame_period) * second)})",
        "first_ticks": f"{chip.first_response} ({seconds(chip.first_response * second)})",
        "full_ticks": f"{bound}{chip.full_response} ({seconds(chip.full_response * second)})",
        "sampling": f"{chip.sampling_hz:.4g}",
        "cores": str(chip.cores),
    }


def _number(value: Time | None) -> str:
    return "–" if value is None else plain(value)
