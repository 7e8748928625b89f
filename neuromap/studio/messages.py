"""What travels to a browser: parts that changed, layouts of pictures, and what is to be seen now."""

from __future__ import annotations

from typing import Any

from neuromap.forms.numbers import seconds
from neuromap.studio.parts import PartsWriter
from neuromap.studio.player.commands import picture_shape
from neuromap.studio.player.look import CHIP_TICKS, board, look_at, raster_rows
from neuromap.studio.player.played_run import PlayedRun
from neuromap.studio.player.session import Session
from neuromap.studio.scene.shown import Shown

__all__ = ["Viewer"]


class Viewer:
    """What one browser has been told of a session; gives what it does not know yet."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = (-1, -1)
        self._writer = PartsWriter(session)
        self._parts: dict[str, str] = {}
        self._runs: tuple[PlayedRun, ...] = ()
        self._since: int = 0
        self._shown: Shown | None = None
        self._told: dict[str, Any] = {}

    def news(self) -> list[dict[str, Any]]:
        """Give messages for all that is new; none where nothing is."""
        session = self._session
        with session.lock, session.stage.lock:
            found: list[dict[str, Any]] = []
            version = (session.version, session.stage.turns)
            if version != self._version:
                self._version = version
                found += self._changed_parts()
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

    def _changed_parts(self) -> list[dict[str, Any]]:
        parts = self._writer.parts()
        changed = {name: part for name, part in parts.items() if self._parts.get(name) != part}
        self._parts = parts
        scene = self._session.stage.scene
        title = f"{scene.network.name} on {scene.chip.name}"
        second = scene.chip.tick_seconds or 1e-3
        head = {"kind": "parts", "title": title, "runs": len(scene.runs), "tick": seconds(second), "parts": changed}
        return [head]

    def _layout(self, k: int) -> dict[str, Any]:
        program = self._runs[k].program
        rows = raster_rows(program)
        names = {"names": rows.names, "rows": rows.rows, "sizes": rows.sizes}
        return {"board": board(program), "raster": names, "chip_ticks": CHIP_TICKS, "classes": self._classes(k)}

    def _classes(self, k: int) -> list[str] | None:
        """Give the names of the classes that outputs vote for, where the images fit the outputs of this network."""
        images, network = self._session.offer.images, self._session.stage.scene.network
        if images is None or not any(self._session.stage.takes(name, images.shape) for name in network.inputs):
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
            "kind": "look", "tick": stage.now, "time": seconds(stage.now * (stage.scene_tick_seconds)),
            "playing": session.is_playing, "ready": stage.is_ready, "speed": session.speed, "status": status,
            "line": session.line,
        }  # fmt: skip

    def _with_runs(self, look: dict[str, Any]) -> dict[str, Any]:
        classes = [self._classes(k) for k in range(len(self._runs))]
        looks = [
            look_at(run, raster_rows(run.program), self._since, None if known is None else len(known))
            for run, known in zip(self._runs, classes, strict=True)
        ]
        runs = [
            {
                "cores": seen.cores, "nodes": seen.nodes, "last": seen.last_nodes, "columns": seen.columns,
                "outputs": seen.outputs, "strays": seen.strays,
            }
            for seen in looks
        ]  # fmt: skip
        self._since = self._session.stage.now
        return {**look, "runs": runs, "sampled": self._sampled()}

    def _sampled(self) -> dict[str, Any] | None:
        """Give the bits that the first run sampled last, of its first input with a shape."""
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
