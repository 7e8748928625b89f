"""``Session``: a stage with a clock: it maps beside everything else, plays at a speed, says when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, RLock, Thread

from neuromap.errors import InputError, NeuromapError
from neuromap.studio.player.offer import Offer
from neuromap.studio.player.stage import Stage
from neuromap.studio.scene.scene import Scene

__all__ = ["SPEEDS", "Session", "line_of"]

SPEEDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Ticks of the chip in a second of the clock on the wall."""
_BEAT = 0.05
_CATCH_UP = 200
"""Ticks that are replayed between two looks."""


class Session:
    """One session: what one person looks at, in one or more tabs."""

    # stage: use it under :attr:`lock` wherever more than one call belongs together
    # version: grows with every change but the passing of ticks
    # line: what went wrong last, in one line; empty where nothing did
    # speed: of ``SPEEDS``

    def __init__(self, name: str, scene: Scene, offer: Offer | None = None) -> None:
        self.name, self.offer = name, offer or Offer()
        self.stage = Stage(scene)
        self.lock = RLock()
        self.version, self.line, self.speed = 0, "", 10
        self._is_playing = self._is_mapping = False
        self._wake, self._is_closed = Event(), False
        self._is_behind = scene.ticks > 0
        self._clock = Thread(target=self._run, name=f"studio {name[:8]}", daemon=True)
        self._mapper: Thread | None = None
        self._clock.start()
        self.map()

    @property
    def is_playing(self) -> bool:
        """Whether ticks run by the clock."""
        return self._is_playing

    @property
    def is_mapping(self) -> bool:
        """Whether a mapper is at work."""
        return self._is_mapping

    @property
    def is_closed(self) -> bool:
        """Whether nothing runs any more."""
        return self._is_closed

    def changed(self, line: str = "") -> None:
        """Say that something changed, or what went wrong."""
        with self.lock:
            self.version += 1
            self.line = line

    def set_scene(self, scene: Scene) -> None:
        """Put another scene on the stage, paused, and map it."""
        with self.lock:
            self._is_playing = False
            self.stage.set_scene(scene)
            self._is_behind = scene.ticks > 0
            self.changed()
            self.map()

    def map(self) -> None:
        """Map what is on the stage, on a thread of its own."""
        with self.lock:
            if self._is_mapping:
                return  # it looks again when it is done
            self._is_mapping = True
            self._mapper = Thread(target=self._map, name=f"mapping {self.name[:8]}", daemon=True)
            self._mapper.start()

    def _map(self) -> None:
        while not self._is_closed:
            try:
                is_done = self.stage.map(self._mapped_one)
            except Exception as error:  # the page waits for this thread: it ends with a line, whatever comes
                # a change of a scene file that does not fit is cut off; after a fault of ours nothing is tried again
                is_done = not isinstance(error, NeuromapError) or not self.stage.cut()
                self._is_behind = not is_done and self.stage.scene.ticks > 0
                self.changed(line_of(error))
            with self.lock:
                if is_done:
                    self._is_mapping = False
                    self.changed(self.line)
                    return

    def _mapped_one(self) -> None:
        """Say so; a scene that was saved in the midst of a run is played up to there first."""
        while self._is_behind and self.stage.is_ready and not self._is_closed:
            self._is_behind = not self.stage.catch_up(_CATCH_UP, _BEAT)
        self.changed(self.line)

    def play(self) -> None:
        """Let ticks run by the clock."""
        with self.lock:
            self._require_ready()
            self._is_playing = True
            self._wake.set()
            self.changed()

    def _require_ready(self) -> None:
        if not self.stage.is_ready:
            raise InputError("run: nothing runs yet; wait until the network is mapped, or choose a valid pattern")
        if self._is_behind:
            raise InputError("run: what was saved is played up to where it was; wait a moment")

    def pause(self) -> None:
        """Stop the clock."""
        with self.lock:
            self._is_playing = False
            self.changed()

    def step(self, n_ticks: int) -> None:
        """Run some ticks, paused."""
        with self.lock:
            self._require_ready()
            self._is_playing = False
            self.stage.advance(n_ticks)
            self.changed()

    def _run(self) -> None:
        due, last = 0.0, time.monotonic()
        while not self._is_closed:
            if not self._is_playing:
                self._wake.wait(1.0)
                self._wake.clear()
                due, last = 0.0, time.monotonic()
                continue
            now = time.monotonic()
            due, last = min(due + (now - last) * self.speed, self.speed * 4 * _BEAT + 1), now
            whole = int(due)
            due -= whole
            self._advance(whole)
            time.sleep(_BEAT)

    def _advance(self, n_ticks: int) -> None:
        try:
            was_replaying = self.stage.is_replaying
            self.stage.advance(n_ticks, _BEAT)
            if was_replaying and not self.stage.is_replaying:
                self.pause()
        except Exception as error:  # as above
            with self.lock:
                self._is_playing = False
                self.changed(line_of(error))

    def close(self, keep: Callable[[Scene], object] | None = None) -> None:
        """End all that runs and free what it held."""
        with self.lock:
            if self._is_closed:
                return
            self._is_playing, self._is_closed = False, True
            self._wake.set()
            if keep is not None:
                keep(self.stage.scene)
            self.stage.set_scene(self.stage.scene)  # lets go of programs and engines, and ends a mapper's work


def line_of(error: Exception) -> str:
    """Say an error in one line; one that is no error of the tree is a fault of neuromap's own."""
    if isinstance(error, NeuromapError):
        return " ".join(str(error).splitlines())
    text = str(error).splitlines()[0] if str(error) else "no message"
    return f"internal error, please report it: {type(error).__name__}: {text}"
