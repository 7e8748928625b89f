"""Files of other programs: their kind, detected from the first bytes, and an error boundary around their readers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuromap.errors import InputError, NeuromapError

# Bytes that are inspected.
HEAD = 1024
_STARTS = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program of Linux"),
)
# Names of members at the beginning of a zip archive.
_IN_ARCHIVES = (
    (b"/data.pkl", "a PyTorch file"),
    (b".npy", "a NumPy archive"),
    (b"metadata.json", "a Keras file"),
    (b"[Content_Types].xml", "an Office document"),
)
# Lines of network files.
_OF_NETWORKS = (b"[nodes", b"[edges", b"[[nodes", b"[[edges")
# Metadata of this package's safetensors files.
_OWN = (
    (b'"neuromap":"program"', "a program file of neuromap"),
    (b'"neuromap trace"', "a trace of neuromap"),
    (b'"neuromap frames"', "a file of frames of neuromap"),
)


def file_kind(head: bytes) -> str | None:
    """Identify the kind of a file."""
    # head: its first bytes, up to ``HEAD``
    # returns the kind with its article; ``None`` where it could be text of any kind
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    if head.startswith(b"PK\x03\x04"):
        return next((kind for member, kind in _IN_ARCHIVES if member in head), "a zip archive")
    if head[8:9] == b"{" and 0 < int.from_bytes(head[:8], "little") < 2**40:
        return next((kind for sign, kind in _OWN if sign in head), "a safetensors file")
    if head[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    if head[:1] == b"\x08" and head[1:2] < b"\x20" and head[2:3] in (b"\x12", b"\x1a", b"\x3a", b"\x42"):
        return "an ONNX model"  # its fields: version, then producer, domain, graph or operators
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle, which is never read"
    return "a JSON file" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else None


def kind_of_any(head: bytes) -> str | None:
    """Identify the kind of a file as :func:`file_kind` does, but network files too."""
    kind = file_kind(head)
    if kind is None and any(head.startswith(sign) or b"\n" + sign in head for sign in _OF_NETWORKS):
        return "a network file"
    return kind


def refuse_foreign(path: Path, expected: str, error: type[InputError]) -> None:
    """Refuse a file known to be of another kind; an unreadable one is left to its reader."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as stream:
            kind = file_kind(stream.read(HEAD))
    except (OSError, ValueError):
        return
    if kind is not None:
        raise error(f"is {kind}; expected a {expected}")


@contextmanager
def foreign_boundary(
    kind: str, error: type[NeuromapError] = InputError, where: str = "", remedy: str = "it is damaged"
) -> Iterator[None]:
    """Let only errors of this package escape from a reader of foreign files."""
    # Readers word the faults that they expect themselves. Whatever neither they nor their libraries foresaw becomes
    # one line here, with its cause attached.
    start = f"{where}: " if where else ""
    try:
        yield
    except NeuromapError:
        raise
    except MemoryError as reason:
        raise error(f"{start}cannot be read as {kind}: it asks for more memory than there is") from reason
    except Exception as reason:
        words = " ".join(f"{type(reason).__name__}: {reason}".split())
        words = "".join(letter if letter.isprintable() else "?" for letter in words[:120])
        raise error(f"{start}cannot be read as {kind} ({words}); {remedy}") from reason


# Read regular files only.


def read_bytes(path: Path, kind: str, largest: int, error: type[InputError]) -> bytes:
    """Read a regular file."""
    if check_regular(path, kind, error).st_size > largest:
        raise error(f"is larger than {largest // 2**20} MiB; expected a {kind}")
    try:
        return path.read_bytes()
    except OSError as reason:
        raise error(f"cannot be read ({reason.strerror or reason})") from None


def check_regular(path: Path, kind: str, error: type[InputError]) -> os.stat_result:
    """Refuse a path that is not a regular file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise error(f"does not exist; give the path of a {kind}") from None
    except OSError as reason:
        raise error(f"cannot be read ({reason.strerror or reason})") from None
    except ValueError:  # a path with a null character
        raise error("is not a path") from None
    if stat.S_ISDIR(found.st_mode):
        raise error(f"is a folder; expected a {kind}")
    if not stat.S_ISREG(found.st_mode):
        raise error(f"is not a regular file; expected a {kind}")
    return found
