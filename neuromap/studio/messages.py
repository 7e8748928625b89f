"""Messages to a browser: changed parts of the page, layouts of pictures, and the current state of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from neuromap.accuracy.accuracy import votes_of
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.times import Time
from neuromap.errors import NeuromapError
from neuromap.faults.edited_program import links_in_use
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.usage import sampling_frequency
from neuromap.render.numbers import plain, seconds
from neuromap.render.page import page_environment
from neuromap.render.value import Card
from neuromap.report.drawings.draw_network import draw_network, draw_window
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.figures.row import ReportRow
from neuromap.report.measure_row import core_map
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.run.live_run import OutputFrame
from neuromap.simulation.run.tick_run import TickSpikes, spikes_by_core
from neuromap.studio.scene.commands import SPEEDS, Session, picture_shape
from neuromap.studio.scene.player import EXECUTIONS, Mapped, PlayedRun
from neuromap.studio.scene.scene import SceneRun, Shown


class Viewer:
    """Tracks what one browser knows of a session, and makes messages for the rest."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = (-1, -1)
        self._drawn: dict[int, tuple[tuple[Any, ...], dict[str, str]]] = {}
        self._parts: dict[str, str] = {}
        self._runs: tuple[PlayedRun, ...] = ()
        self._since: int = 0
        self._shown: Shown | None = None
        self._told: dict[str, Any] = {}

    def news(self) -> list[dict[str, Any]]:
        """Return messages for everything new; empty if nothing is."""
        session = self._session
        with session.lock, session.stage.lock:
            found: list[dict[str, Any]] = []
            version = (session.version, session.stage.turns)
            if version != self._version:
                self._version = version
                found.append(self._changed_parts())
            if session.stage.runs != self._runs:
                self._runs, self._since, self._told = session.stage.runs, 0, {}
                found.append({"kind": "layout", "runs": [self._layout(k) for k in range(len(self._runs))]})
            if session.stage.shown is not self._shown:
                self._shown = session.stage.shown
                found.append(self._picture())
            look = self._look()
            if look != self._told:
                self._told = look
                found.append(self._with_runs(look))
            return found

    def _changed_parts(self) -> dict[str, Any]:
        parts = self._all_parts()
        changed = {name: part for name, part in parts.items() if self._parts.get(name) != part}
        self._parts = parts
        scene = self._session.stage.scene
        title = f"{scene.network.name} on {scene.chip.name}"
        tick = "as long as its work" if scene.chip.is_timed else seconds(scene.chip.tick_seconds)
        return {"kind": "parts", "title": title, "runs": len(scene.runs), "tick": tick, "parts": changed}

    def _all_parts(self) -> dict[str, str]:
        """Write all parts as HTML, by the id of their element; those that only mapping changes are cached."""
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
        """Write the parts that depend on a rollout and its mapping."""
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

    def _layout(self, k: int) -> dict[str, Any]:
        program = self._runs[k].program
        rows = raster_rows(program)
        names = {"names": rows.names, "rows": rows.rows, "sizes": rows.sizes}
        return {"board": board(program), "raster": names, "chip_ticks": CHIP_TICKS, "classes": self._classes(k)}

    def _classes(self, k: int) -> list[str] | None:
        """Return the names of the classes that outputs vote for; None if the images do not fit this network."""
        images = self._session.offer.images
        if images is None or not self._session.stage.world.takers(images.shape):
            return None
        sizes = [port.size for port in self._runs[k].program.nodes if port.kind == "output"]
        return list(images.classes) if all(size % len(images.classes) == 0 for size in sizes) else None

    def _picture(self) -> dict[str, Any]:
        session, shown = self._session, self._shown
        for node in session.stage.scene.network.inputs:
            shape = picture_shape(session, node)
            if shape is not None and shown is not None:
                pixels = shown.pictures[node].reshape(-1).tolist() if node in shown.pictures else None
                return {"kind": "picture", "node": node, "shape": shape, "pixels": pixels, "of": shown.kind}
        return {"kind": "picture", "node": None, "shape": None, "pixels": None, "of": ""}

    def _look(self) -> dict[str, Any]:
        session, stage = self._session, self._session.stage
        if session.is_mapping and not stage.is_ready:
            status = "mapping…"
        elif not stage.is_ready:
            status = "nothing runs: see what is written beneath the drawings"
        elif stage.is_replaying:
            status = f"replaying {stage.recorded} recorded ticks"
        elif stage.verdict is not None:
            status = f"replayed {stage.now} ticks: " + (
                "every spike as recorded" if stage.verdict else "NOT the spikes that were recorded"
            )
        else:
            status = ("playing" if session.is_playing else "paused") + ", recording"
        return {
            "kind": "look", "tick": stage.now, "time": stage.time_on_chip,
            "playing": session.is_playing, "ready": stage.is_ready, "speed": session.speed, "status": status,
            "line": session.line,
        }  # fmt: skip

    def _with_runs(self, look: dict[str, Any]) -> dict[str, Any]:
        classes = [self._classes(k) for k in range(len(self._runs))]
        runs = [
            look_at(run, raster_rows(run.program), self._since, None if known is None else len(known))
            for run, known in zip(self._runs, classes, strict=True)
        ]
        self._since = self._session.stage.now
        return {**look, "runs": runs, "sampled": self._sampled()}

    def _sampled(self) -> dict[str, Any] | None:
        """Return the last frame that the first run sampled, for its first input with a shape."""
        network = self._session.stage.scene.network
        frame = self._runs[0].live.input_frame if self._runs else None
        if frame is None:
            return None
        for node in network.inputs:
            shape = network.nodes[node].shape
            if shape is not None and node in frame:
                number = self._runs[0].live.input_number
                return {"node": node, "shape": shape, "on": frame[node].nonzero()[0].tolist(), "frame": number}
        return None


# Current state of a run: numbers for pictures, as plain values for a browser.
# Number of latest ticks over which spikes per core and node are averaged.
CHIP_TICKS = 10
# Most rows per node in the raster; neurons of larger nodes share rows.
_MOST_ROWS = 48
# Most neurons of an output shown individually if no classes are known.
_MOST_BARS = 64


@dataclass(frozen=True)
class RasterRows(Card):
    """Rows of a raster: nodes stacked vertically, each with a number of rows."""

    names: tuple[str, ...]  # nodes inside the chip, in the program's order
    positions: tuple[int, ...]  # their positions in the program's nodes
    sizes: tuple[int, ...]  # number of neurons
    rows: tuple[int, ...]  # number of rows of each


def raster_rows(program: ChipProgram) -> RasterRows:
    """Lay out the raster of a program."""
    inside = [(k, port) for k, port in enumerate(program.nodes) if port.kind != "input"]
    sizes = tuple(port.size for _, port in inside)
    return RasterRows(
        tuple(port.name for _, port in inside), tuple(k for k, _ in inside), sizes,
        tuple(min(size, _MOST_ROWS) for size in sizes),
    )  # fmt: skip


def look_at(run: PlayedRun, rows: RasterRows, since: int, classes: int | None) -> dict[str, Any]:
    """Return the current state of a run, as the browser reads it."""
    # run: must be paused meanwhile
    live, shown = run.live, list(rows.positions)
    last = live.history[-CHIP_TICKS:]
    ticks = max(1, len(last))
    return {
        "now": live.now,  # the tick that runs next
        # spikes per tick of every core, averaged over the last ``CHIP_TICKS`` ticks
        "cores": tuple(np.round(spikes_by_core(run.program, last) / ticks, 2).tolist()),
        # spikes per tick of every node of the raster, over the same ticks; copies of a neuron count once
        "nodes": tuple(np.round(run.labels.by_node(last)[shown] / ticks, 2).tolist()),
        # spikes of every node of the raster in the last tick
        "last": tuple(run.labels.by_node(last[-1:])[shown].tolist()),
        # ticks not seen yet, and the rows of the raster that spike in them
        "columns": _columns(run, rows, tuple(sent for sent in live.history if sent.tick >= since)),
        # output frames not seen yet: node, frame, tick, votes, whether these are values, and the predicted class
        "outputs": tuple(_output(out, classes) for out in live.outputs if out.tick >= since),
        "strays": live.n_strays,  # output spikes since tick 0 that belong to no frame
    }


def _columns(run: PlayedRun, rows: RasterRows, ticks: Sequence[TickSpikes]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the rows of the raster that spike in each tick; rows shared by neurons appear once."""
    spikes = run.labels.of(ticks)
    band_of = np.full(run.labels.n_nodes, -1)
    band_of[list(rows.positions)] = np.arange(len(rows.names))
    band = band_of[spikes.node]
    top, height, size = np.cumsum([0, *rows.rows[:-1]]), np.array(rows.rows), np.array(rows.sizes)
    row = top[band] + spikes.index * height[band] // size[band]
    is_first = run_heads(spikes.tick, row)
    tick, row = spikes.tick[is_first], row[is_first]
    bounds = [0, *np.searchsorted(tick, [sent.tick for sent in ticks], "right").tolist()]
    return tuple((sent.tick, tuple(row[slice(*bounds[k : k + 2])].tolist())) for k, sent in enumerate(ticks))


def _output(out: OutputFrame, classes: int | None) -> dict[str, Any]:
    """Describe an output frame: votes by class if there are classes, else its neurons; values for graded outputs."""
    told = {"node": out.node, "frame": out.frame, "tick": out.tick, "values": out.spikes.dtype != np.bool_}
    told["sent"] = int(np.count_nonzero(out.spikes))
    if not classes or len(out.spikes) % classes:
        return {**told, "votes": out.spikes[:_MOST_BARS].astype(np.int64).tolist(), "named": None}
    votes = votes_of(out.spikes, classes)
    return {**told, "votes": votes.tolist(), "named": int(votes.argmax()) if votes.any() else None}


def board(program: ChipProgram) -> dict[str, Any]:
    """Return the data for drawing a map of cores: coordinates, main node, node names and neurons."""
    found = core_map(program)
    x, y = program.coordinates.T.tolist()
    return {
        "x": x, "y": y, "node": found.main.tolist(), "names": list(found.names), "neurons": found.neurons.tolist(),
        "columns": program.chip.columns, "rows": program.chip.rows,
    }  # fmt: skip


# Parts of the page that change, as HTML, by the id of their element.


SHEETS = ("colours.css", "style.css", "drawing.css", "studio.css")
_MOST_LINKS = 500
# Most nodes for which networks and windows are drawn.
_MOST_DRAWN = 60


@cache
def _templates() -> Any:
    found = page_environment("neuromap.studio")
    found.globals["rows"] = ROWS
    return found


def page_html(name: str) -> str:
    """Write the page of a session; its parts arrive over the socket."""
    return str(_templates().get_template("page.html.jinja").render(name=name, sheets=SHEETS, speeds=SPEEDS))


def _chosen(session: Session) -> str:
    """Return the name under which the network was chosen, or its own."""
    network = session.stage.scene.network
    return next((name for name, known in session.offer.networks.items() if known is network), network.name)


def _input(session: Session, macros: Any) -> str:
    shown, images, network = session.stage.shown, session.offer.images, session.stage.scene.network
    image = None
    if images is not None and session.stage.world.takers(images.shape):
        found = shown.label.partition(" image ")[2].partition(",")[0]
        last = len(images.images) - 1
        number = min(last, int(found)) if found.isascii() and found.isdigit() else 0
        name = f"image of {images.name}, {images.part} part"
        image = {"name": name, "last": last, "number": number, "next": min(last, number + 1) if found else 0}
    draws = any(picture_shape(session, name) for name in network.inputs)
    has_stimulus = session.stage.scene.stimulus is not None
    return str(macros.input(shown.label, shown.kind, shown.noise, shown.density, image, has_stimulus, draws))


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
        rollout, program = mapped.rollout, mapped.program
        scheduled: dict[str, Any] = {"frame_period_ticks": program.period, "ports": program.nodes, "rollout": rollout}
        row = ReportRow.of(rollout.pattern, rollout.execution, **scheduled)
        line = draw_timeline(row, program.chip) or "<p>Too long to be drawn.</p>"
    return {**found, f"timeline-{k}": line}


def _figures(session: Session, k: int, run: SceneRun, macros: Any) -> str:
    columns, problems = [], []
    for execution in dict.fromkeys((*EXECUTIONS, run.execution)):
        mapped = session.stage.mapped.get((k, execution))
        texts, is_scheduled = figure_texts(run.pattern, execution, mapped)
        columns.append(texts)
        if mapped is not None and mapped.problem and is_scheduled:
            problems.append(f"{execution}: {mapped.problem}")
    pattern = run.pattern
    if pattern.is_valid:
        text = f"valid: {len(pattern.streaming_edges)} of {len(pattern.network.edges)} edges stream"
    else:
        cycle = (*pattern.cycle, *pattern.cycle[:1])
        text = f"invalid: the sequential edges {' -> '.join(cycle)} form a cycle"
    return str(macros.figures(k, columns, run.execution, text, pattern.is_valid, problems))


def _edits(session: Session, k: int, macros: Any) -> str:
    runs = session.stage.runs
    if k >= len(runs):
        return '<p class="soft">Nothing runs yet.</p>'
    return str(macros.edits(k, [edit.what for edit in runs[k].edits]))


def _forms(session: Session, k: int, macros: Any) -> str:
    if k >= len(session.stage.runs):
        return ""
    program = session.stage.runs[k].program
    inside = [port.name for port in program.nodes if port.kind != "input"]
    sources = [port.name for port in program.nodes]
    try:
        used = np.stack(links_in_use(program), axis=1)[:_MOST_LINKS].tolist()
    except (NeuromapError, IndexError):  # cores beyond the board have no routes
        used = []
    links = [(f"{x},{y},{up}", f"({x}, {y}) and ({x + 1 - up}, {y + up})") for x, y, up in used]
    return str(macros.forms(k, inside, sources, program.n_cores, links))


# Figures of runs as text, each with its unit and time axis.
# Figures of a run: key and description.
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


def figure_texts(pattern: RolloutPattern, execution: str, mapped: Mapped | None) -> tuple[dict[str, str], bool]:
    """Write the figures of one execution; also return whether the pattern can be scheduled in it."""
    bound, period, first, full = "", None, None, None
    try:
        rollout = Rollout(pattern.network, pattern, execution)
        bound = "" if all(found.is_exact for found in rollout.full_responses.values()) else "at most "
        period, (first, full) = rollout.frame_period, _responses(rollout)
    except NeuromapError:
        pass
    texts = dict.fromkeys(dict(ROWS), "mapping…" if mapped is None and period is not None else "–")
    texts |= {
        "name": execution,
        "factor": _number(pattern.inference_factor if pattern.is_valid else None),
        "period": _number(period),
        "first": _number(first),
        "full": bound + _number(full),
    }
    if mapped is not None and mapped.program is not None and mapped.rollout is not None:
        program, sampling = mapped.program, sampling_frequency(mapped.program)
        scale = 1 if mapped.rollout.is_tick_level else program.ticks_per_step
        first, full = (scale * steps for steps in _responses(mapped.rollout))
        texts |= {
            "period_ticks": _in_time(program.period, program.chip),
            "first_ticks": _in_time(first, program.chip),
            "full_ticks": bound + _in_time(full, program.chip),
            "sampling": "–" if sampling is None else f"{sampling:.4g}",
            "cores": str(program.n_cores),
        }
    return texts, period is not None


def _responses(rollout: Rollout) -> tuple[int, int]:
    """Return the least first and the greatest full response over outputs."""
    return min(rollout.first_responses.values()), max(full.steps for full in rollout.full_responses.values())


def _in_time(ticks: Time, chip: ChipSpec) -> str:
    return _number(ticks) + ("" if chip.is_timed else f" ({seconds(float(ticks) * chip.tick_seconds)})")


def _number(value: Time | None) -> str:
    return "–" if value is None else plain(value)
