"""Sessions on disk: a scene file each, so that a server that was killed goes on with what was saved."""

from __future__ import annotations

import os
import re
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.regular_file import read_bytes
from neuromap.files.whole_file import write_whole
from neuromap.studio.scene.scene_file import MOST_BYTES

__all__ = ["MOST_SESSIONS", "KeptSessions", "default_folder"]

MOST_SESSIONS = 40
"""Sessions that are kept; the oldest go first."""
_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")


def default_folder() -> Path:
    """Give the folder of the user's sessions (XDG state)."""
    state = os.environ.get("XDG_STATE_HOME")
    return Path(state if state else Path.home() / ".local" / "state") / "neuromap" / "studio"


class KeptSessions:
    """A folder of sessions.

    Parameters
    ----------
    folder : Path
        Made where it is missing, for its owner only.

    Raises
    ------
    InputError
        If it cannot be made.
    """

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
        """Give what was saved of a session; None where nothing was.

        Raises
        ------
        InputError
            If the name is none, or the file cannot be read.
        """
        path = self._path(name)
        return read_bytes(path, "session", MOST_BYTES, InputError) if path.exists() else None

    def save(self, name: str, data: bytes) -> None:
        """Save a session, whole or not at all, and forget the oldest beyond the most that are kept.

        Raises
        ------
        InputError
            If the name is none, or the file cannot be written.
        """
        path = self._path(name)
        is_new = not path.exists()
        write_whole(path, data)
        if is_new:
            path.chmod(0o600)
            found = sorted(self._folder.glob("*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
            for old in found[MOST_SESSIONS:]:
                old.unlink(missing_ok=True)
