"""A recorded run, chunk by chunk, with its checksum and file layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.registry import require_package
from neuromap.simulation.trace.recording import Readout
from neuromap.simulation.trace.trace import Trace

_BYTES = 16


class _ArrayDigest:
    """Digest of an array that comes in parts along its first axis."""

    def __init__(self, first: NDArray[Any]) -> None:
        self._form = (first.dtype.name, *first.shape[1:])
        self._length = 0
        self._hash = blake2b(digest_size=_BYTES)
        self.add(first)

    def add(self, part: NDArray[Any]) -> None:
        """Add the next rows."""
        self._length += len(part)
        little = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
        if little.size:
            self._hash.update(little.reshape(-1).view(np.uint8).data)

    def told(self) -> tuple[Any, ...]:
        """Dtype, shape without the first axis, length of the first axis, and digest."""
        return (*self._form, self._length, self._hash.hexdigest())


def checksum(labels: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Checksum of a trace."""
    return _joined(labels, {name: _ArrayDigest(array) for name, array in arrays.items()})


def _joined(labels: str, digests: Mapping[str, _ArrayDigest]) -> str:
    told = json.dumps([labels, *([name, *digests[name].told()] for name in sorted(digests))])
    return f"blake2b-128:{blake2b(told.encode(), digest_size=_BYTES).hexdigest()}"


class RunDigest:
    """Incremental checksum of a run; memory does not grow with the number of chunks."""

    def __init__(self, labels: str, run: RecordedRun) -> None:
        self._labels = labels
        arrays: dict[str, NDArray[Any]] = {"tick": np.zeros(0, np.int64), "row": np.zeros(0, np.uint64)}
        arrays |= {name: getattr(run.neurons, name) for name in PLACES}
        if run.header.value is not None:
            arrays["value"] = run.header.value[:0]
        if n_potentials := len(run.potential_neurons):
            arrays["potentials"] = np.zeros((0, n_potentials), np.int32)
            arrays |= {f"potential_{name}": getattr(run.potential_neurons, name) for name in PLACES}
        self._digests = {name: _ArrayDigest(array) for name, array in arrays.items()}

    def add(self, chunk: Chunk) -> None:
        """Add the next chunk."""
        self._digests["tick"].add(chunk.tick)
        self._digests["row"].add(chunk.row.astype(np.uint64))
        if chunk.value is not None:
            self._digests["value"].add(chunk.value)
        if "potentials" in self._digests:
            self._digests["potentials"].add(chunk.potentials)

    def result(self, counts: NDArray[np.int64] | None) -> str:
        """Checksum of the run, including its final counts."""
        of_counts = {} if counts is None else {"counts": _ArrayDigest(counts)}
        return _joined(self._labels, {**self._digests, **of_counts})


# A run recorded while it runs: what is known before, and what comes chunk by chunk.
class Chunk(NamedTuple):
    """Recording of some consecutive ticks."""

    tick: NDArray[np.int64]  # (m,): tick of each spike; sorted by tick, then row
    row: NDArray[np.int64]  # (m,): row of the :class:`Readout` of spikes
    potentials: NDArray[np.int32]  # (ticks of the chunk, K): of the Readout of potentials; K may be 0
    value: NDArray[np.int32] | None = None  # (m,): value of each message; None for spikes


class RecordedRun(NamedTuple):
    """A run that proceeds, and is recorded, as its chunks are consumed."""

    header: Trace  # the trace without its spikes, potentials and counts
    # neurons, potential_neurons: neurons whose spikes, and whose potentials, are recorded
    neurons: Readout
    potential_neurons: Readout
    counts: NDArray[np.int64] | None  # (C, N): filled while the chunks are consumed
    chunks: Iterable[Chunk]  # all ticks in order; consumed once
    peak: int  # largest magnitude of a potential that may occur


# Layout of a trace in files: names of arrays and groups; ``docs/simulation.md`` describes both formats.


FORMAT = "neuromap trace"
# Versions of safetensors files: 3 is written for spikes, 4 for values, which readers of version 3 do not know.
VERSIONS = ("1", "2", "3", "4")
# Versions of HDF5 files. Both formats have a checksum from version 3 on.
HDF5_VERSIONS = ("2", "3", "4")
CHECKED_VERSIONS = ("3", "4")
HDF5_SUFFIXES = (".h5", ".hdf5")
# Arrays with a value for every recorded spike.
EVENTS = ("tick", "node", "index", "core", "neuron")
# Columns of the table of a :class:`~neuromap.simulation.trace.recording.Readout`.
PLACES = ("core", "neuron", "node", "index")
# The same columns for the neurons whose potentials are kept.
POTENTIAL_PLACES = ("potential_core", "potential_neuron", "potential_node", "potential_index")
DTYPES = ReadOnlyMapping({
    "tick": "int64", "node": "int32", "index": "int32", "core": "int32", "neuron": "int32", "value": "int32",
    "counts": "int64",
    "potentials": "int32", "potential_core": "int32", "potential_neuron": "int32", "potential_node": "int32",
    "potential_index": "int32",
})  # fmt: skip
# HDF5 groups of spikes, of potentials, and of the table of neurons whose spikes are kept.
SPIKES, REPORT, NEURONS = "spikes/neurons", "report/potentials", "neurons"
# SONATA's potentials are 32-bit floats, which hold integers up to this size; larger ones are written as int32.
EXACT_IN_FLOAT = 2**24


def version_of(trace: Trace) -> str:
    """File version in which a trace is written."""
    return VERSIONS[-2 if trace.value is None else -1]


def import_h5py() -> Any:
    """Import h5py."""
    require_package("HDF5", "h5py", "hdf5", instead="choose a name that does not end in .h5")
    import h5py

    return h5py
