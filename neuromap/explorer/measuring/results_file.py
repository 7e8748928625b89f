"""Results of a search in a file: what was mapped once is not mapped again, also after an interruption.

One JSON object per line, the first of which names the format. Lines are only ever appended, each in one write; a line
that was cut off is no JSON and is ignored, so that its result is mapped again. The key of a line is a digest of
everything that the result depends on, so a file may hold results of several networks, chips and stimuli, and two
searches may write to it; where both begin it, the first line is there twice.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.explorer.measuring.evaluate import Measured, Setting
from neuromap.files.whole_file import check_target
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.version import __version__

__all__ = ["FORMAT", "ResultsFile", "digest_of_chip", "digest_of_setting"]

FORMAT = "neuromap-explorer-results-1"
_MOST_BYTES = 1 << 30
_LARGEST = 1 << 53
"""Larger whole numbers are not exact as floating-point numbers, and no figure of a chip."""
_LONGEST_MESSAGE = 2000
_WHOLE = ("frame_period_ticks", "first_response_ticks", "full_response_ticks", "worst_case_reaction_ticks", "cores")
_FIGURES = (*_WHOLE, "full_response_exact", "energy_joules", "verified")


def digest_of_setting(setting: Setting) -> str:
    """Digest of network, frames and noise seed: everything but chip and candidate.

    Engine and threads make no difference to any spike.
    """
    digest = sha256(f"{FORMAT} {__version__} {setting.engine.noise_seed}".encode())
    network: Network = setting.network
    for name, node in network.nodes.items():
        digest.update(repr((name, node.shape)).encode())
        if node.threshold is not None:
            _add(digest, node.threshold.astype(np.int64))
    for (u, v), edge in network.edges.items():
        matrix = edge.matrix().astype(np.int64)
        digest.update(repr((u, v, getattr(edge.transform, "groups", None), matrix.shape)).encode())
        for part in (matrix.indptr, matrix.indices):
            _add(digest, part.astype(np.int64))
        _add(digest, matrix.data)
    digest.update(repr(network.outputs).encode())
    for name, rows in setting.frames.items():
        digest.update(repr((name, rows.shape)).encode())
        _add(digest, np.packbits(rows))
    return digest.hexdigest()


def digest_of_chip(chip: ChipSpec) -> str:
    """Digest of everything that a chip is."""
    parts = []
    for field in fields(chip):
        value = getattr(chip, field.name)
        parts.append((field.name, sorted(value.items()) if isinstance(value, Mapping) else _plain(value)))
    return sha256(repr(parts).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Give a value in a form that is shown the same way every time: sets have no order of their own."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    if hasattr(value, "__dataclass_fields__"):
        return [(f.name, _plain(getattr(value, f.name))) for f in fields(value)]
    return value


def _add(digest: Any, array: NDArray[Any]) -> None:
    digest.update(np.ascontiguousarray(array).tobytes())


class ResultsFile:
    """Results by key, kept in memory and, if there is a path, in a file.

    Parameters
    ----------
    path : str, path or None
        Read if it exists; else made with the first result. ``None`` for memory only.

    Raises
    ------
    InputError
        If the file is no file of results, or cannot be read or written.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Measured] = {}
        self._torn: tuple[int, int] | None = None  # size of a file whose last line was cut off, and of its whole lines
        if self._path is not None:
            if check_target(self._path) is None:
                raise InputError(f"results {self._path}: is no regular file; give the name of a file")
            if self._path.exists():
                self._read(self._path)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str, *, verified: bool) -> Measured | None:
        """Look up a result; ``None`` where there is none, or it was not verified and shall be.

        Parameters
        ----------
        key : str
            Digest of what the result depends on.
        verified : bool
            Whether it must have been held against the reference.

        Returns
        -------
        Measured or None
        """
        found = self._known.get(key)
        if found is not None and verified and found.status == "mapped" and found.verified is None:
            return None
        return found

    def add(self, key: str, result: Measured) -> None:
        """Keep a result, in the file too: it is there when the call returns.

        Parameters
        ----------
        key : str
            Digest of what the result depends on.
        result : Measured
            The result.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        self._known[key] = result
        if self._path is None:
            return
        line = json.dumps({"key": key, **asdict(result)}, allow_nan=False) + "\n"
        try:
            with self._path.open("ab") as file:
                size = file.seek(0, os.SEEK_END)
                if self._torn is not None and size == self._torn[0]:
                    size = file.truncate(self._torn[1])
                self._torn = None
                if size == 0:
                    line = json.dumps({"format": FORMAT}) + "\n" + line
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"results {self._path}: cannot be written ({error.strerror or error})") from None

    def _read(self, path: Path) -> None:
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise InputError(f"results {path}: has more than {_MOST_BYTES} bytes; name a new file")
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"results {path}: cannot be read ({error.strerror or error})") from None
        foreign = InputError(f"results {path}: is no file of explorer results ({FORMAT}); name a new file")
        whole, _, torn = data.rpartition(b"\n")
        if not whole and not (json.dumps({"format": FORMAT}) + "\n").encode().startswith(torn):
            raise foreign
        lines = whole.split(b"\n") if whole else []
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                if number == 0:
                    raise foreign from None
                continue  # cut off, maybe with the next line behind it
            if number == 0:
                if not isinstance(entry, dict) or entry.get("format") != FORMAT:
                    raise foreign
                continue
            if entry == {"format": FORMAT}:  # of two processes that began the file at the same moment
                continue
            key = entry.get("key") if isinstance(entry, dict) else None
            result = _measured(entry) if isinstance(key, str) else None
            if result is None or not isinstance(key, str):
                raise InputError(f"results {path}: line {number + 1} is damaged; remove it or name a new file")
            self._known[key] = result
        if torn:
            self._torn = (len(data), len(data) - len(torn))


def _measured(entry: Mapping[str, Any]) -> Measured | None:
    """Check a line's result: every figure where it was mapped, none where it does not fit; ``None`` if it is wrong."""
    found = {field.name: entry[field.name] for field in fields(Measured) if field.name in entry}
    if len(found) != len(fields(Measured)) or not isinstance(found["message"], str):
        return None
    if found["schedule"] not in ("steps", "ticks"):
        return None
    message = _one_line(found["message"])
    if found["status"] == "does not fit":
        plain = Measured("does not fit", message=message, schedule=found["schedule"])
        return plain if message and all(found[name] is None for name in _FIGURES) else None
    if found["status"] != "mapped" or not all(_is_count(found[name]) for name in _WHOLE):
        return None
    energy = found["energy_joules"]
    if energy is not None:
        if not (type(energy) is float and math.isfinite(energy) and energy >= 0) and not _is_whole(energy):
            return None
        energy = float(energy)
    if not isinstance(found["full_response_exact"], bool) or not isinstance(found["verified"], bool | None):
        return None
    return Measured(**{**found, "message": message, "energy_joules": energy})


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value > 0


def _one_line(text: str) -> str:
    """Make a message fit for one line of a terminal: messages in a file can hold anything."""
    joined = " ".join(text[: 2 * _LONGEST_MESSAGE].split())[:_LONGEST_MESSAGE]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
