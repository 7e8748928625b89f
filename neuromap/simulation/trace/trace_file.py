"""Trace files: HDF5 if the file name says so, else safetensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.argument_checks import path_given
from neuromap.files.sealed import canonical_bytes
from neuromap.files.whole_file import check_target, keep_names, keep_on_disk, sweep, unfinished_name, write_whole
from neuromap.formats.sonata import mark_file, mark_sorting
from neuromap.registry import require_package
from neuromap.simulation.trace.recording import Readout
from neuromap.simulation.trace.trace import Trace, trace_text

if TYPE_CHECKING:
    import h5py

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


def _digests(run: RecordedRun) -> dict[str, _ArrayDigest]:
    """Digests of the arrays of a run before its first chunk; memory does not grow with the number of chunks."""
    arrays: dict[str, NDArray[Any]] = {"tick": np.zeros(0, np.int64), "row": np.zeros(0, np.uint64)}
    arrays |= {name: getattr(run.neurons, name) for name in PLACES}
    if run.header.value is not None:
        arrays["value"] = run.header.value[:0]
    if n_potentials := len(run.potential_neurons):
        arrays["potentials"] = np.zeros((0, n_potentials), np.int32)
        arrays |= {f"potential_{name}": getattr(run.potential_neurons, name) for name in PLACES}
    return {name: _ArrayDigest(array) for name, array in arrays.items()}


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


_SIGN = b"\nneuromap blake2b-128:"
_LENGTH = len(_SIGN) + 2 * _BYTES + 1
_PORTION = 2**20


def fits_its_digest(path: Path) -> bool:
    """Whether a file fits the digest at its end; also true if there is none."""
    size = path.stat().st_size - _LENGTH
    if size < 0:
        return True
    with path.open("rb") as stream:
        stream.seek(size)
        found = stream.read()
    return not found.startswith(_SIGN) or found == _digest(path, size)


def _digest(path: Path, size: int) -> bytes:
    """Trailer with the digest of the first ``size`` bytes of a file."""
    made = blake2b(digest_size=_BYTES)
    with path.open("rb") as stream:
        while size > 0 and (part := stream.read(min(size, _PORTION))):
            made.update(part)
            size -= len(part)
    return _SIGN + made.hexdigest().encode() + b"\n"


def to_file(trace: Trace, path: str | Path) -> None:
    """Write a trace; see :meth:`Trace.save`."""
    if path_given("save", path).suffix.lower() in HDF5_SUFFIXES:
        save_hdf5(trace, path)
        return
    tensors: dict[str, NDArray[Any] | None] = {name: getattr(trace, name) for name in (*EVENTS, "value", "counts")}
    if (table := trace.potential_table) is not None:
        tensors["potentials"] = table.values
        tensors |= {name: getattr(table.neurons, name.removeprefix("potential_")) for name in POTENTIAL_PLACES}
    present = {name: np.ascontiguousarray(array) for name, array in tensors.items() if array is not None}
    labels = trace_text(trace, () if table is None else table.neurons.nodes)
    metadata = {"format": FORMAT, "version": version_of(trace), "trace": labels, "checksum": checksum(labels, present)}
    write_whole(path, canonical_bytes(present, metadata))


# Traces as HDF5 files, written chunk by chunk during the run; below is their SONATA layout.


@contextmanager
def hdf5_writer(path: str | Path) -> Iterator[Callable[[RecordedRun], None]]:
    """Open a file beside ``path`` that replaces it if the block succeeds, and is removed if it fails."""
    h5py = import_h5py()
    target = check_target(path)
    if target is None:
        raise InputError(f"{path}: is a device or pipe; HDF5 needs the name of a file")
    sweep(target.parent)
    temporary = target.with_name(unfinished_name())
    stream = None
    # A separate thread calls HDF5: the next ticks run meanwhile, and an interrupt, which Python delivers only to the
    # main thread, is not lost in one of h5py's callbacks, where exceptions are ignored.
    executor = ThreadPoolExecutor(1, thread_name_prefix="neuromap-hdf5")
    try:
        with _named(path):
            stream = Hdf5Stream(temporary, "x+")
            file = executor.submit(h5py.File, stream, "w", rdcc_nbytes=2**26).result()
        try:
            yield lambda run: _write(executor, file, stream, path, run)
        finally:
            with _named(path, stream):
                executor.submit(file.close).result()
                stream.check()
                stream.close()
        with _named(path):
            digest = _digest(temporary, temporary.stat().st_size)
            with temporary.open("ab") as end:
                end.write(digest)
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            keep_on_disk([temporary])
            temporary.replace(target)
            keep_names([target.parent])
    finally:
        executor.shutdown()
        if stream is not None:
            with suppress(OSError):
                stream.close()
        temporary.unlink(missing_ok=True)


def save_hdf5(trace: Trace, path: str | Path) -> None:
    """Write a trace in memory as HDF5."""
    if trace.core is None or trace.neuron is None or trace.tick_seconds is None:
        raise NotSupportedError(
            f"{path}: a trace of version 1 lacks the places of its spikes, which HDF5 needs; simulate again"
        )
    places = np.stack([trace.node, trace.index, trace.core, trace.neuron], axis=1)
    rows, row = np.unique(places, axis=0, return_inverse=True)
    node, index, core, neuron = (np.ascontiguousarray(column) for column in rows.T)
    table = trace.potential_table
    potentials = np.zeros((trace.n_ticks, 0), np.int32) if table is None else table.values
    run = RecordedRun(
        header=trace,
        neurons=Readout(trace.nodes, core, neuron, node, index),
        potential_neurons=Readout.none() if table is None else table.neurons,
        counts=trace.counts,
        chunks=[Chunk(trace.tick, row.reshape(-1), potentials, trace.value)],
        peak=int(np.abs(potentials.astype(np.int64)).max(initial=0)),
    )
    with hdf5_writer(path) as write:
        write(run)


@contextmanager
def _named(path: str | Path, stream: Hdf5Stream | None = None) -> Iterator[None]:
    """Turn errors of HDF5 on the temporary file into one line about the user's file."""
    try:
        yield
    except (KeyError, OSError, RuntimeError, ValueError) as found:
        error = found if stream is None or stream.error is None else stream.error  # the first error
        raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _write(
    executor: ThreadPoolExecutor, file: h5py.File, stream: Hdf5Stream, path: str | Path, run: RecordedRun
) -> None:
    """Write a run's chunks, each while the next one is computed."""
    labels = trace_text(run.header, run.potential_neurons.nodes)
    digests = _digests(run)

    def append(chunk: Chunk) -> None:
        append_chunk(file, chunk, 1000 * (run.header.tick_seconds or 0))
        columns = chunk._replace(row=chunk.row.astype(np.uint64))._asdict()
        for name in columns.keys() & digests:
            digests[name].add(columns[name])

    ahead = executor.submit(start_file, file, run, labels)
    for chunk in run.chunks:
        with _named(path, stream):
            ahead.result()
            stream.check()
        ahead = executor.submit(append, chunk)
    with _named(path, stream):
        ahead.result()
        if run.counts is not None:
            executor.submit(file.create_dataset, "counts", data=run.counts).result()
            digests["counts"] = _ArrayDigest(run.counts)
        executor.submit(file.attrs.__setitem__, "checksum", _joined(labels, digests)).result()
        stream.check()


# The file that HDF5 writes into, which never reports a failure to HDF5.
class Hdf5Stream(FileIO):
    """File for HDF5 whose writes never fail."""

    # HDF5 ends the process if it cannot write its buffers when a file is closed. So the first error, such as a full
    # disk, is kept, and all later writes are dropped.

    error: OSError | None = None  # the first error

    def check(self) -> None:
        """Raise the first error, if any."""
        if self.error is not None:
            raise self.error

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer, with zeros for data whose writing was dropped."""
        done = 0
        while done < len(buffer) and (n := super().readinto(buffer[done:])):
            done += n
        buffer[done:] = bytes(len(buffer) - done)
        return len(buffer)

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        """Write all of the data, or drop it."""
        done = 0
        try:
            while done < len(data) and self.error is None:
                done += super().write(data[done:])
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int) -> int:  # type: ignore[override]
        """Set the size of the file."""
        try:
            super().truncate(size)
        except OSError as error:
            self.error = self.error or error
        return size


# Content of a trace's HDF5 file: the SONATA layout, extended by data that SONATA has no place for.
#
# Source of the layout: the SONATA data format of the Allen Institute and the Blue Brain Project (Dai et al., PLoS
# Comput. Biol. 16(2), 2020), its spike file and its report of elements. ``docs/simulation.md`` lists what is in a
# file. Nothing is compressed: the wheels of libsonata, the format's own reader, come without the filters.
_EVENTS_IN_BLOCK = 1 << 13
_TICKS_IN_BLOCK = 64
_NEURONS_IN_BLOCK = 1024
# Milliseconds before the stop from which on libsonata reads no row; it refuses shorter steps.
_NO_ROW_MS = 1e-6


def start_file(file: h5py.File, run: RecordedRun, labels: str) -> None:
    """Write all but the chunks of a run, its counts and the checksum."""
    mark_file(file)
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = version_of(run.header)
    file.attrs["trace"] = labels
    _write_table(file.create_group(NEURONS), run.neurons)
    spikes = file.create_group(SPIKES)
    mark_sorting(spikes)
    columns = [("timestamps", "f8"), ("node_ids", "u8"), ("ticks", "i8")]
    for name, dtype in columns if run.header.value is None else [*columns, ("values", "i4")]:
        spikes.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(_EVENTS_IN_BLOCK,))
    spikes["timestamps"].attrs["units"] = "ms"
    if len(run.potential_neurons):
        milliseconds = 1000 * (run.header.tick_seconds or 0)
        dtype = "f4" if run.peak <= EXACT_IN_FLOAT else "i4"
        stop = run.header.n_ticks * milliseconds + max(0.0, _NO_ROW_MS - milliseconds / 2)
        _start_report(file, run.potential_neurons, dtype, stop, milliseconds)


def append_chunk(file: h5py.File, chunk: Chunk, milliseconds: float) -> None:
    """Append a chunk; ``milliseconds`` is the length of a tick."""
    spikes = file[SPIKES]
    _append(spikes["timestamps"], chunk.tick * milliseconds)
    _append(spikes["node_ids"], chunk.row)
    _append(spikes["ticks"], chunk.tick)
    if chunk.value is not None:
        _append(spikes["values"], chunk.value)
    if chunk.potentials.shape[1]:
        _append(file[REPORT]["data"], chunk.potentials)


def _write_table(group: h5py.Group, neurons: Readout) -> None:
    for name in PLACES:
        group[name] = getattr(neurons, name)


def _start_report(file: h5py.File, neurons: Readout, dtype: str, stop: float, step: float) -> None:
    group = file.create_group(REPORT)
    blocks = (_TICKS_IN_BLOCK, min(_NEURONS_IN_BLOCK, len(neurons)))
    data = group.create_dataset("data", (0, len(neurons)), dtype, maxshape=(None, len(neurons)), chunks=blocks)
    data.attrs["units"] = "1"
    mapping = group.create_group("mapping")
    _write_table(mapping, neurons)
    mapping["node_ids"] = np.arange(len(neurons), dtype=np.uint64)
    mapping["index_pointers"] = np.arange(len(neurons) + 1, dtype=np.uint64)
    mapping["element_ids"] = np.zeros(len(neurons), dtype=np.uint32)
    mapping["time"] = np.array([0.0, stop, step])
    mapping["time"].attrs["units"] = "ms"


def _append(dataset: h5py.Dataset, rows: NDArray[Any]) -> None:
    if len(rows):
        before = len(dataset)
        dataset.resize(before + len(rows), axis=0)
        dataset[before:] = rows
