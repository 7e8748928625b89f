"""Results kept in a file: nothing is done twice, even after an interruption.

One JSON object per line; the first names the format. Lines are only appended, each in one write; a truncated line is
not JSON and is ignored, so that its job is done again. Every line but the first ends with a checksum of the rest, so
that a line changed by hand or by a failing disk is refused. The key of a line is a fingerprint of everything that the
result depends on, so a file may hold results of several runs, and two of them may write to it; if both start it, the
first line is there twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.whole_file import check_target
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network


class Fingerprint:
    """Digest of everything that was added, in order."""

    def __init__(self, text: str) -> None:
        self._digest = sha256(text.encode())

    def add_network(self, network: Network) -> None:
        """Add all that determines what a network computes: shapes, thresholds or neurons, weights, outputs."""
        for name, node in network.nodes.items():
            self._add(name, node.shape)
            if node.threshold is not None:
                self._add_array(node.threshold.astype(np.int64))
            if node.neuron is not None:
                neuron = node.neuron
                stated = [(key, value) for key, value in neuron.stated.items() if key in neuron.options]
                others = (getattr(neuron, name) for name in neuron.settings if name not in neuron.options)
                arrays = [name for name in neuron.arrays if name in neuron.options]
                self._add("neuron", neuron.model, *others, *stated, *arrays)
                for array in neuron.arrays.values():
                    self._add_array(array)
        for (u, v), edge in network.edges.items():
            for k, term in enumerate(edge.terms):
                matrix = term.matrix.astype(np.int64)
                self._add(u, v, getattr(edge.transform, "groups", None), matrix.shape)
                for part in (matrix.indptr, matrix.indices):
                    self._add_array(part.astype(np.int64))
                self._add_array(matrix.data)
                if k or (term.delay, term.current) != (1, 0):
                    self._add("term", term.delay, term.current)
        self._digest.update(repr(network.outputs).encode())

    def add_frames(self, frames: Mapping[str, NDArray[np.bool_]]) -> None:
        """Add input frames, one array of shape (n_frames, size) per input node."""
        for name, rows in frames.items():
            self._add(name, rows.shape)
            self._add_array(np.packbits(rows))

    def text(self) -> str:
        """Return the digest of everything added so far, as 64 hexadecimal digits."""
        return self._digest.hexdigest()

    def _add(self, *values: object) -> None:
        self._digest.update(repr(values).encode())

    def _add_array(self, array: NDArray[Any]) -> None:
        self._digest.update(np.ascontiguousarray(array).tobytes())


def fingerprint_of_chip(chip: ChipSpec) -> str:
    """Return the digest of all fields of a chip, as 64 hexadecimal digits."""
    parts = []
    for field in fields(chip):
        value = getattr(chip, field.name)
        name = field.name
        if name == "core_figures":
            if value is None:
                continue  # newer than the other fields: chips without it keep their digests
            name = f"{value.kind.replace('-', '_')}s"  # name of the field when only one kind had any
        parts.append((name, sorted(value.items()) if isinstance(value, Mapping) else _plain(value)))
    return sha256(repr(parts).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Convert a value to a form whose repr is always the same: sets have no order of their own."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    if hasattr(value, "__dataclass_fields__"):
        return [(f.name, _plain(getattr(value, f.name))) for f in fields(value)]
    return value


Result = TypeVar("Result")

_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class ResultKind(Generic[Result]):
    """A kind of results: how they are written to a file and read back."""

    format: str  # name of the format, which the first line gives
    title: str  # what messages call the results, such as ``"explorer results"``
    to_record: Callable[[Result], Mapping[str, Any]]  # result -> members of its JSON object, all but ``"key"``
    # JSON object -> result; ``None`` if it is wrong in any way
    from_record: Callable[[Mapping[str, Any]], Result | None]

    @property
    def first_line(self) -> str:
        """First line of a file."""
        return _line({"format": self.format})


class ResultsFile(Generic[Result]):
    """Results by fingerprint, kept in memory and, if there is a path, in a file."""

    # path: read if it exists, else created with the first result; ``None`` for memory only

    def __init__(self, path: str | Path | None, kind: ResultKind[Result]) -> None:
        self._path = None if path is None else Path(path)
        self._kind = kind
        self._known: dict[str, Result] = {}
        self._torn: tuple[int, int] | None = None  # sizes of a file with a truncated last line, and of its whole lines
        if self._path is not None:
            if check_target(self._path) is None:
                raise InputError(f"results {self._path}: is not a regular file; give the name of a file")
            if self._path.exists():
                self._read(self._path)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, fingerprint: str) -> Result | None:
        """Look up a result by the fingerprint of what it depends on; ``None`` if unknown."""
        return self._known.get(fingerprint)

    def add(self, fingerprint: str, result: Result) -> None:
        """Keep a result, in the file too: it is on disk when the call returns."""
        self._known[fingerprint] = result
        if self._path is None:
            return
        line = _line(with_checksum({"key": fingerprint, **self._kind.to_record(result)}))
        try:
            self._append(self._path, line)
        except OSError as error:
            raise InputError(f"results {self._path}: cannot be written ({error.strerror or error})") from None

    def _append(self, path: Path, line: str) -> None:
        with path.open("ab") as file:
            size = file.seek(0, os.SEEK_END)
            if self._torn is not None and size == self._torn[0]:
                size = file.truncate(self._torn[1])
            self._torn = None
            if size == 0:
                line = self._kind.first_line + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path) -> None:
        data = _bytes_of(path)
        whole, _, torn = data.rpartition(b"\n")
        if not whole and not self._kind.first_line.encode().startswith(torn):
            raise self._foreign(path)
        for number, line in enumerate(whole.split(b"\n") if whole else []):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                if number == 0:
                    raise self._foreign(path) from None
                continue  # truncated, maybe joined with the next line
            if number == 0:
                if not isinstance(entry, dict) or entry.get("format") != self._kind.format:
                    raise self._foreign(path)
            elif entry != {"format": self._kind.format}:  # else two writers started the file at the same moment
                self._take_up(entry, f"results {path}: line {number + 1}")
        if torn:
            self._torn = (len(data), len(data) - len(torn))

    def _take_up(self, entry: Any, where: str) -> None:
        if isinstance(entry, dict) and entry.get("checksum") != with_checksum(entry)["checksum"]:
            raise InputError(f"{where} was changed since it was written (its checksum differs); remove it")
        fingerprint = result = None
        with suppress(Exception):  # a line with a right checksum may hold anything, and no kind can foresee it all
            fingerprint, result = entry["key"], self._kind.from_record(entry)
        if result is None or not isinstance(fingerprint, str):
            raise InputError(f"{where} is damaged; remove it or name a new file")
        self._known[fingerprint] = result

    def _foreign(self, path: Path) -> InputError:
        kind = self._kind
        return InputError(f"results {path}: is not a file of {kind.title} ({kind.format}); name a new file")


def with_checksum(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a line with a checksum of all others as the last."""
    # ``"checksum"``: the first 16 hexadecimal digits of the SHA-256 of the rest, sorted by name
    rest = {name: value for name, value in members.items() if name != "checksum"}
    return {**rest, "checksum": sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]}


def _line(members: Mapping[str, Any]) -> str:
    return json.dumps(members, allow_nan=False) + "\n"


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"results {path}: has more than {_MOST_BYTES} bytes; name a new file")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"results {path}: cannot be read ({error.strerror or error})") from None
