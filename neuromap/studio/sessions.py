"""Open sessions: found by name, saved as they change, freed when no tab shows them."""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, RLock, Thread

from neuromap.errors import InputError, NeuromapError, prefixed
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import show_name
from neuromap.files.whole_file import write_whole
from neuromap.studio.scene.commands import Offer, Session
from neuromap.studio.scene.scene import Scene
from neuromap.studio.scene.scene_file import MOST_BYTES, SCENE_HEAD, read_scene, scene_bytes

# Most sessions open at the same time.
MOST_OPEN = 16
# Most tabs that show a session at the same time.
MOST_TABS = 32
# Seconds for which a session waits for a tab to be reloaded.
_GRACE = 3.0
_SAVE_EVERY = 1.0
# Seconds after which a session is saved if only ticks have passed.
_TICKS_EVERY = 5.0
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
        """Draw an unguessable name."""
        return secrets.token_urlsafe(18)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the open sessions."""
        with self._lock:
            return tuple(self._open)

    @contextmanager
    def looked_at(self, name: str, *, begins: bool = False) -> Iterator[Session]:
        """Hold a session open within the context: the running one, the saved one, or a new one if it ``begins``."""
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
        try:
            yield found.session
        finally:
            with self._lock:
                found.viewers -= 1
                found.empty_since = time.monotonic()

    def _keep(self) -> None:
        while not self._ended.wait(_SAVE_EVERY):
            self.sweep(time.monotonic())

    def sweep(self, now: float) -> None:
        """Save changed sessions, and free those not shown for a while."""
        with self._lock:
            entries = list(self._open.items())
        for name, entry in entries:
            if entry.session.version != entry.saved[0] or now - entry.saved_at > _TICKS_EVERY:
                self._save(name, entry)
            if self._is_left(entry, now):
                self._save(name, entry)  # first, so that a returning user finds everything
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
        if entry.saved == (-1, -1) and _is_untouched(scene, self._first, self._offer.plays):
            return  # an untouched session can be recreated, and must not displace an older one
        entry.saved, entry.saved_at = state, time.monotonic()
        try:
            self._kept.save(name, scene_bytes(scene))
        except (NeuromapError, OSError) as error:  # a full disk must not end a session
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


def _is_untouched(scene: Scene, first: Scene, plays: bool) -> bool:
    """Whether a scene is as it began; if it ``plays`` by itself, ticks do not count as a change."""
    whole = scene.network is first.network and scene.stimulus is first.stimulus and scene.chip == first.chip
    return (
        whole and (scene.runs, scene.changes) == (first.runs, first.changes) and (plays or scene.ticks == first.ticks)
    )


# Sessions on disk, one scene file each, so that a restarted server resumes them.


# Most sessions kept on disk; the oldest are removed first.
MOST_SESSIONS = 40
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


def default_folder() -> Path:
    """Return the folder of the user's sessions (XDG state)."""
    state = os.environ.get("XDG_STATE_HOME")
    return Path(state if state else Path.home() / ".local" / "state") / "neuromap" / "studio"


class KeptSessions:
    """A folder of sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InputError(
                f"{folder}: cannot keep sessions there ({error.strerror}); give --sessions FOLDER"
            ) from None

    @staticmethod
    def is_name(name: str) -> bool:
        """Whether a string is a valid session name; only those are mapped to files."""
        return _ID.fullmatch(name) is not None

    def _path(self, name: str) -> Path:
        if not self.is_name(name):
            raise InputError(f"session {name[:20]!r}: is not a name of one; open the studio's first page")
        return self._folder / f"{name}.json"

    def load(self, name: str) -> bytes | None:
        """Return the saved bytes of a session; None if it was never saved."""
        path = self._path(name)
        if _is_free(path):
            return None
        _require_own(path)
        head = _head(name)
        with prefixed(f"session {name[:8]!r}: its file ", InputError):
            data = read_bytes(path, "session", MOST_BYTES + len(head) + len(_TAIL), InputError)
        return data[len(head) :].removesuffix(_TAIL) if data.startswith(head) else data

    def save(self, name: str, data: bytes) -> None:
        """Save a session atomically, and remove the oldest ones beyond the limit."""
        path = self._path(name)
        is_new = _is_free(path)
        if not is_new:
            _require_own(path)
        write_whole(path, _head(name) + data + _TAIL)
        if is_new:
            path.chmod(0o600)
            self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        """Remove the oldest sessions beyond the limit; other files in the folder are left alone."""
        found = [(time, path) for path in self._folder.glob("*.json") if (time := _kept_at(path)) is not None]
        found.sort(key=lambda entry: entry[0], reverse=True)
        for _, old in found[MOST_SESSIONS:]:
            old.unlink(missing_ok=True)


_TAIL = b"}\n"


def _head(name: str) -> bytes:
    """Return the head of a session's file: a mark that scenes do not have, and the session's name."""
    # This distinguishes kept sessions from scenes that users saved, and from renamed session files.
    return f'{{"format": "neuromap studio session", "version": 1, "name": "{name}", "scene": '.encode()


def _is_free(path: Path) -> bool:
    return not path.is_symlink() and not path.exists()


def _begins(path: Path, n_bytes: int) -> tuple[float, bytes]:
    """Return a regular file's modification time and first bytes, not following links; (0.0, b"") for anything else."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return 0.0, b""
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
            return os.fstat(stream.fileno()).st_mtime, stream.read(n_bytes)
    except OSError:
        return 0.0, b""


def _kept_at(path: Path) -> float | None:
    """Return the time at which a session was saved; None if the file is not a kept session."""
    if not KeptSessions.is_name(path.stem):
        return None
    head = _head(path.stem)
    time, found = _begins(path, len(head))
    return time if found == head else None


def _require_own(path: Path) -> None:
    """Refuse to save a session to a path where it would overwrite more than itself, in any version."""
    head = _head(path.stem)
    _, found = _begins(path, max(len(head), len(SCENE_HEAD)))
    if not found.startswith((head, SCENE_HEAD)):
        raise InputError(
            f"session {path.stem[:8]!r}: {path.name} in the folder of sessions is none that the studio kept; move it "
            "away, or give --sessions FOLDER"
        )
