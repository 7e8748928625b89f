"""Sessions that are open: found by name, counted by tabs, saved as they change, freed when nobody looks."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, RLock, Thread

from neuromap.errors import InputError, NeuromapError
from neuromap.files.messages import show_name
from neuromap.studio.kept import KeptSessions
from neuromap.studio.player.offer import Offer
from neuromap.studio.player.session import Session
from neuromap.studio.scene.scene import Scene
from neuromap.studio.scene.scene_file import read_scene, scene_bytes

__all__ = ["MOST_OPEN", "MOST_TABS", "Sessions"]

MOST_OPEN = 16
"""Sessions that are open at the same time."""
MOST_TABS = 32
"""Tabs that look at a session at the same time."""
_GRACE = 3.0
"""Seconds for which a session waits for a tab that is loaded anew."""
_SAVE_EVERY = 1.0
_TICKS_EVERY = 5.0
"""Seconds after which a session is saved of which nothing but ticks has passed."""
_LOG = logging.getLogger("neuromap.studio")


@dataclass
class _Open:
    session: Session
    viewers: int = 0
    empty_since: float = 0.0
    saved: tuple[int, int] = (-1, -1)
    saved_at: float = 0.0


class Sessions:
    """All sessions of a server."""

    def __init__(self, kept: KeptSessions, offer: Offer, first: Scene) -> None:
        self._kept, self._offer, self._first = kept, offer, first
        self._open: dict[str, _Open] = {}
        self._lock, self._ended = RLock(), Event()
        self._keeper = Thread(target=self._keep, name="studio keeper", daemon=True)
        self._keeper.start()

    @staticmethod
    def new_name() -> str:
        """Draw a name that nobody guesses."""
        return secrets.token_urlsafe(18)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sessions that are open."""
        with self._lock:
            return tuple(self._open)

    @contextmanager
    def looked_at(self, name: str, *, begins: bool = False) -> Iterator[Session]:
        """Open a session while somebody looks at it: the one that runs, the saved one, or a new one."""
        found = self._enter(name, begins)
        try:
            yield found.session
        finally:
            with self._lock:
                found.viewers -= 1
                found.empty_since = time.monotonic()

    def _enter(self, name: str, begins: bool) -> _Open:
        with self._lock:
            found = self._open.get(name)
            if found is None:
                if len(self._open) >= MOST_OPEN:
                    raise InputError(
                        f"studio: {MOST_OPEN} sessions are open, which is its most; close a tab of another"
                    )
                data = self._kept.load(name)
                if data is None and not begins:
                    raise InputError(f"session {name[:8]!r}: is not there; open the studio's first page")
                scene = self._first if data is None else read_scene(data, "saved session")
                try:
                    found = self._open[name] = _Open(Session(name, scene, self._offer))
                except NeuromapError as error:
                    raise type(error)(f"network {show_name(scene.network.name)}: cannot be shown: {error}") from None
            if begins and found.viewers >= MOST_TABS:
                raise InputError(
                    f"session {name[:8]!r}: {MOST_TABS} tabs show it, which is its most; close one of them, or open "
                    "the studio's first page for a session of your own"
                )
            found.viewers += 1
            return found

    def _keep(self) -> None:
        while not self._ended.wait(_SAVE_EVERY):
            self.sweep(time.monotonic())

    def sweep(self, now: float) -> None:
        """Save what has changed and free what nobody has looked at for a while."""
        with self._lock:
            entries = list(self._open.items())
        for name, entry in entries:
            if entry.session.version != entry.saved[0] or now - entry.saved_at > _TICKS_EVERY:
                self._save(name, entry)
            if self._is_left(entry, now):
                self._save(name, entry)  # before it goes, so that who comes back meanwhile finds all of it
                with self._lock:
                    is_freed = self._is_left(entry, now) and self._open.get(name) is entry
                    if is_freed:
                        del self._open[name]
                if is_freed:
                    entry.session.close()

    @staticmethod
    def _is_left(entry: _Open, now: float) -> bool:
        return not entry.viewers and now - entry.empty_since > _GRACE

    def _save(self, name: str, entry: _Open) -> None:
        session = entry.session
        with session.lock:
            state = (session.version, session.stage.now)
            if state == entry.saved or session.is_closed:
                return
            scene = session.stage.scene
        if entry.saved == (-1, -1) and _is_untouched(scene, self._first):
            return  # the same name begins the same again, and nobody's work has to go for it
        entry.saved, entry.saved_at = state, time.monotonic()
        try:
            self._kept.save(name, scene_bytes(scene))
        except (NeuromapError, OSError) as error:  # a full disk ends no session
            _LOG.warning("session %s is not saved: %s", name[:8], error)

    def close(self) -> None:
        """Save and end every session."""
        self._ended.set()
        self._keeper.join(5)
        with self._lock:
            entries, self._open = list(self._open.items()), {}
        for name, entry in entries:
            self._save(name, entry)
            entry.session.close()


def _is_untouched(scene: Scene, first: Scene) -> bool:
    """Whether nothing was done to a scene since it began."""
    whole = scene.network is first.network and scene.stimulus is first.stimulus and scene.chip == first.chip
    return whole and (scene.runs, scene.changes, scene.ticks) == (first.runs, first.changes, first.ticks)
