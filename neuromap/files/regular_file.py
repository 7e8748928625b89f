"""Read files, and nothing but files."""

from __future__ import annotations

import stat
from pathlib import Path

from neuromap.errors import InputError

__all__ = ["read_bytes"]


def read_bytes(path: Path, kind: str, largest: int, error: type[InputError]) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        What it should be, for messages, such as ``program file``.
    largest : int
        Bytes that it may have.
    error : type of InputError
        What is raised.

    Returns
    -------
    bytes
        All of it.

    Raises
    ------
    InputError
        If it is missing, too large, or anything but a regular file: a pipe may never end.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise error(f"is a folder; expected a {kind}")
        if not stat.S_ISREG(found.st_mode):
            raise error(f"is no regular file; expected a {kind}")
        if found.st_size > largest:
            raise error(f"is larger than {largest // 2**20} MiB; expected a {kind}")
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"does not exist; give the path of a {kind}") from None
    except OSError as reason:
        raise error(f"cannot be read ({reason.strerror or reason})") from None
    except ValueError:  # a path with a null character
        raise error("is no path") from None
