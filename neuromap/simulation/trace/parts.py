"""What was recorded before a checkpoint, in files beside it: one more for every checkpoint, so none is written twice.

A run that goes on reads them one after the other, and hands them on as if their ticks were run again. So memory holds
one part at a time, and what a trace is written into (memory, HDF5) need not know of checkpoints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import InputError
from neuromap.files.regular_file import read_bytes
from neuromap.files.whole_file import write_whole
from neuromap.simulation.trace.checked_file import MOST_BYTES, read_checked, write_checked
from neuromap.simulation.trace.recorded_run import Chunk

__all__ = ["Parts", "is_part", "part_path", "read_parts"]

_KEPT_BYTES = 2**26
"""What is kept in memory before it becomes a part, whether a checkpoint is due or not."""


def part_path(path: Path, number: int) -> Path:
    """Give the file of a part: the checkpoint's name, ``.part`` and a number from 1; links to it are followed."""
    target = _followed(path)  # beside the checkpoint itself: it may be written by one name and read by another
    return target.with_name(f"{target.name}.part{number:06d}")


def is_part(file: str | Path, path: str | Path) -> bool:
    """Say whether a file has the name of a part of a checkpoint, be it there or not."""
    found, target = _followed(file), _followed(path)
    number = found.name.removeprefix(f"{target.name}.part")
    return found.parent == target.parent and number != found.name and number.isdecimal() and len(number) >= 6


def _followed(path: str | Path) -> Path:
    return Path(os.path.realpath(path))  # which bears with a loop of links, and whoever reads or writes it says so


class Parts:
    """Writes what is recorded into the parts of a checkpoint."""

    # checksums: of all parts

    def __init__(self, path: Path, checksums: tuple[str, ...] = ()) -> None:
        self._path = path
        self.checksums = list(checksums)
        self._chunks: list[Chunk] = []
        self._bytes = 0

    def keep(self, chunk: Chunk) -> None:
        """Take what was recorded next."""
        self._chunks.append(chunk)
        self._bytes += sum(array.nbytes for array in chunk)
        if self._bytes >= _KEPT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was taken since the last part."""
        if not self._chunks:
            return
        arrays = {
            name: np.concatenate(column)
            for name, column in zip(Chunk._fields, zip(*self._chunks, strict=True), strict=True)
        }
        number = len(self.checksums) + 1
        self.checksums.append(write_checked(part_path(self._path, number), {"kind": "part", "number": number}, arrays))
        self._chunks, self._bytes = [], 0

    def read(self, source: Path) -> Iterator[Chunk]:
        """Read the parts of the checkpoint that a run goes on from, and copy them where that is another one."""
        for number, chunk in enumerate(read_parts(source, tuple(self.checksums)), start=1):
            if source.resolve() != self._path.resolve():
                data = read_bytes(part_path(source, number), "part of a checkpoint", MOST_BYTES, InputError)
                write_whole(part_path(self._path, number), data)
            yield chunk


def read_parts(source: Path, checksums: tuple[str, ...]) -> Iterator[Chunk]:
    """Read the parts of a checkpoint, one at a time."""
    for number, wanted in enumerate(checksums, start=1):
        yield _read_part(source, number, wanted)


def _read_part(source: Path, number: int, wanted: str) -> Chunk:
    path = part_path(source, number)
    _, arrays, found = read_checked(path, "part")
    names: tuple[str, ...] = Chunk._fields
    if found != wanted or set(arrays) != set(names):
        raise InputError(f"checkpoint {source}: {path.name} is a part of another run; simulate from tick 0")
    values: list[Any] = [arrays[name] for name in names]
    return Chunk(*values)
