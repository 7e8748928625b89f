"""The checksum of a trace: of what it holds, so that it can be made while a run is written chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.trace.file_layout import PLACES
from neuromap.simulation.trace.recorded_run import Chunk, RecordedRun

__all__ = ["RunDigest", "checksum"]

_BYTES = 16


class _ArrayDigest:
    """The digest of an array that comes in parts, along its first axis."""

    def __init__(self, first: NDArray[Any]) -> None:
        self._form = (first.dtype.name, *first.shape[1:])
        self._length = 0
        self._hash = blake2b(digest_size=_BYTES)
        self.add(first)

    def add(self, part: NDArray[Any]) -> None:
        """Add the rows that come next."""
        self._length += len(part)
        little = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
        if little.size:
            self._hash.update(little.reshape(-1).view(np.uint8).data)

    def told(self) -> tuple[Any, ...]:
        """Give dtype, shape but for the first axis, length of that, and digest."""
        return (*self._form, self._length, self._hash.hexdigest())


def checksum(labels: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Give the checksum of a trace."""
    return _joined(labels, {name: _ArrayDigest(array) for name, array in arrays.items()})


def _joined(labels: str, digests: Mapping[str, _ArrayDigest]) -> str:
    told = json.dumps([labels, *([name, *digests[name].told()] for name in sorted(digests))])
    return f"blake2b-128:{blake2b(told.encode(), digest_size=_BYTES).hexdigest()}"


class RunDigest:
    """The checksum of a run, made while its chunks come; memory does not grow with them."""

    def __init__(self, labels: str, run: RecordedRun) -> None:
        self._labels = labels
        arrays: dict[str, NDArray[Any]] = {"tick": np.zeros(0, np.int64), "row": np.zeros(0, np.uint64)}
        arrays |= {name: getattr(run.neurons, name) for name in PLACES}
        if n_potentials := len(run.potential_neurons):
            arrays["potentials"] = np.zeros((0, n_potentials), np.int32)
            arrays |= {f"potential_{name}": getattr(run.potential_neurons, name) for name in PLACES}
        self._digests = {name: _ArrayDigest(array) for name, array in arrays.items()}

    def add(self, chunk: Chunk) -> None:
        """Add the chunk that comes next."""
        self._digests["tick"].add(chunk.tick)
        self._digests["row"].add(chunk.row.astype(np.uint64))
        if "potentials" in self._digests:
            self._digests["potentials"].add(chunk.potentials)

    def result(self, counts: NDArray[np.int64] | None) -> str:
        """Give the checksum, with the counts at the end of the run."""
        of_counts = {} if counts is None else {"counts": _ArrayDigest(counts)}
        return _joined(self._labels, {**self._digests, **of_counts})
