"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from neuromap.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: str | Path, data: bytes | str) -> None:
    """Write ``data`` beside ``path``, then rename it over ``path``.

    An error or an interrupt leaves what was there before. Text is written as UTF-8.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    path = Path(path)
    payload = data.encode() if isinstance(data, str) else data
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
