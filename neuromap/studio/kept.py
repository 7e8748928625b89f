"""Sessions on disk: a scene file each, so that a server that was killed goes on with what was saved."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.regular_file import read_bytes
from neuromap.files.whole_file import write_whole
from neuromap.studio.scene.scene_file import MOST_BYTES, SCENE_HEAD

__all__ = ["MOST_SESSIONS", "KeptSessions", "default_folder"]

MOST_SESSIONS = 40
"""Sessions that are kept; the oldest go first."""
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


def default_folder() -> Path:
    """Give the folder of the user's sessions (XDG state)."""
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
        """Whether that can be the name of a session; no other leads to a file."""
        return _ID.fullmatch(name) is not None

    def _path(self, name: str) -> Path:
        if not self.is_name(name):
            raise InputError(f"session {name[:20]!r}: is no name of one; open the studio's first page")
        return self._folder / f"{name}.json"

    def load(self, name: str) -> bytes | None:
        """Give what was saved of a session; None where nothing was."""
        path = self._path(name)
        if _is_free(path):
            return None
        if not _is_written_over(path):
            raise InputError(_foreign(path))
        head = _head(name)
        try:
            data = read_bytes(path, "session", MOST_BYTES + len(head) + len(_TAIL), InputError)
        except InputError as error:
            raise InputError(f"session {name[:8]!r}: its file {error}") from None
        return data[len(head) :].removesuffix(_TAIL) if data.startswith(head) else data

    def save(self, name: str, data: bytes) -> None:
        """Save a session, whole or not at all, and forget the oldest beyond the most that are kept."""
        path = self._path(name)
        is_new = _is_free(path)
        if not is_new and not _is_written_over(path):
            raise InputError(_foreign(path))
        write_whole(path, _head(name) + data + _TAIL)
        if is_new:
            path.chmod(0o600)
            self._forget_the_oldest()

    def _forget_the_oldest(self) -> None:
        """Remove sessions beyond the most that are kept; whatever else lies in the folder is somebody's own."""
        found = [(time, path) for path in self._folder.glob("*.json") if (time := _kept_at(path)) is not None]
        found.sort(key=lambda entry: entry[0], reverse=True)
        for _, old in found[MOST_SESSIONS:]:
            old.unlink(missing_ok=True)


_TAIL = b"}\n"


def _head(name: str) -> bytes:
    """Give what the file of a session begins with: a mark that no scene has, and the name that the file has."""
    # So a scene that somebody saved, or a session under a name that somebody gave it, is told from a kept session.
    return f'{{"format": "neuromap studio session", "version": 1, "name": "{name}", "scene": '.encode()


def _is_free(path: Path) -> bool:
    return not path.is_symlink() and not path.exists()


def _begins(path: Path, n_bytes: int) -> tuple[float, bytes]:
    """Give when a regular file was written and its first bytes, links not followed; nothing of anything else."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return 0.0, b""
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
            return os.fstat(stream.fileno()).st_mtime, stream.read(n_bytes)
    except OSError:
        return 0.0, b""


def _kept_at(path: Path) -> float | None:
    """Say when a session was kept; None for a file that is none."""
    if not KeptSessions.is_name(path.stem):
        return None
    head = _head(path.stem)
    time, found = _begins(path, len(head))
    return time if found == head else None


def _is_written_over(path: Path) -> bool:
    """Whether a session that goes on under that name may be saved there: over itself, of whatever version."""
    head = _head(path.stem)
    _, found = _begins(path, max(len(head), len(SCENE_HEAD)))
    return found.startswith((head, SCENE_HEAD))


def _foreign(path: Path) -> str:
    return (
        f"session {path.stem[:8]!r}: {path.name} in the folder of sessions is none that the studio kept; move it away, "
        "or give --sessions FOLDER"
    )
