"""Read files, and nothing but files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from neuromap.errors import InputError


def read_bytes(path: Path, kind: str, largest: int, error: type[InputError]) -> bytes:
    """Read a regular file."""
    if check_regular(path, kind, error).st_size > largest:
        raise error(f"is larger than {largest // 2**20} MiB; expected a {kind}")
    try:
        return path.read_bytes()
    except OSError as reason:
        raise error(f"cannot be read ({reason.strerror or reason})") from None


def check_regular(path: Path, kind: str, error: type[InputError]) -> os.stat_result:
    """Refuse what is no regular file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise error(f"does not exist; give the path of a {kind}") from None
    except OSError as reason:
        raise error(f"cannot be read ({reason.strerror or reason})") from None
    except ValueError:  # a path with a null character
        raise error("is no path") from None
    if stat.S_ISDIR(found.st_mode):
        raise error(f"is a folder; expected a {kind}")
    if not stat.S_ISREG(found.st_mode):
        raise error(f"is no regular file; expected a {kind}")
    return found
