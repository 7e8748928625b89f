"""Traces as HDF5 files, written chunk by chunk, in the layout of SONATA.

Source of the layout: the SONATA data format of the Allen Institute and the Blue Brain Project (Dai et al., PLoS
Comput. Biol. 16(2), 2020), its spike file and its report of elements. ``docs/simulation.md`` lists what is in a file.
Nothing is compressed: the wheels of libsonata, the format's own reader, come without the filters.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.whole_file import check_target
from neuromap.simulation.trace.hdf5_stream import Hdf5Stream
from neuromap.simulation.trace.recording import Chunk, Readout
from neuromap.simulation.trace.trace import Trace, trace_labels

if TYPE_CHECKING:
    import h5py

__all__ = ["HDF5_SUFFIXES", "hdf5_writer", "is_hdf5", "load_hdf5", "save_hdf5"]

HDF5_SUFFIXES = (".h5", ".hdf5")
_FORMAT, _VERSION = "neuromap trace", "2"
_SPIKES, _REPORT, _NEURONS = "spikes/neurons", "report/potentials", "neurons"
"""Groups of spikes, of potentials, and the table of the neurons whose spikes are kept."""
_SONATA_MAGIC = 0x0A7A
_SORTING = {"none": 0, "by_id": 1, "by_time": 2}
_EVENTS_IN_BLOCK = 1 << 16
_TICKS_IN_BLOCK = 64
_NEURONS_IN_BLOCK = 1024
_MAX_BYTES = 2**32
_PLACES = ("core", "neuron", "node", "index")
_SPIKE_BYTES = 40
"""Of a spike while it is read: its tick, its row, its place, and what makes one of them from another."""

EXACT_IN_FLOAT = 2**24
"""SONATA's potentials are 32-bit floats, which hold integers up to this size; larger ones are written as int32."""

Writer = Callable[[Trace, Readout, Readout, Iterable[Chunk], NDArray[np.int64] | None, int], None]


def is_hdf5(head: bytes) -> bool:
    """Tell whether a file that starts with these 8 bytes is an HDF5 file."""
    return head == b"\x89HDF\r\n\x1a\n"


@contextmanager
def hdf5_writer(path: str | Path) -> Iterator[Writer]:
    """Open a file beside ``path`` that takes its place when the block ends well, and is gone when it does not.

    Parameters
    ----------
    path : str or Path
        The file to be.

    Yields
    ------
    callable
        ``write(header, neurons, potential_neurons, chunks, counts, peak)``: writes the chunks as they come, then what
        is in ``counts`` by then. ``header`` is the trace without its arrays, ``peak`` the largest potential, of
        either sign, that may occur.

    Raises
    ------
    InputError
        If the file cannot be written, or is no regular file.
    NotSupportedError
        If h5py is not installed.
    """
    h5py = _h5py()
    target = check_target(path)
    if target is None:
        raise InputError(f"{path}: is a device or pipe; HDF5 needs the name of a file")
    temporary = target.with_name(f".neuromap-{os.urandom(8).hex()}")
    stream = None
    # A thread of its own calls HDF5: the next ticks run meanwhile, and an interrupt, which Python hands to the main
    # thread only, is not lost in one of the callbacks of h5py, where exceptions are ignored.
    executor = ThreadPoolExecutor(1, thread_name_prefix="neuromap-hdf5")
    try:
        with _named(path):
            stream = Hdf5Stream(temporary)
            file = executor.submit(h5py.File, stream, "w", rdcc_nbytes=2**26).result()
        try:
            yield lambda *what: _write(executor, file, stream, path, *what)
        finally:
            with _named(path, stream):
                executor.submit(file.close).result()
                stream.close()
        with _named(path):
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            temporary.replace(target)
    finally:
        executor.shutdown()
        if stream is not None:
            stream.abandon()
        temporary.unlink(missing_ok=True)


def save_hdf5(trace: Trace, path: str | Path) -> None:
    """Write a trace that is in memory.

    Raises
    ------
    InputError
        If the file cannot be written.
    NotSupportedError
        If h5py is not installed, or the trace does not know the places of its spikes and the length of a tick.
    """
    if trace.core is None or trace.neuron is None or trace.tick_seconds is None:
        raise NotSupportedError(
            f"{path}: a trace of version 1 lacks the places of its spikes, which HDF5 needs; simulate again"
        )
    places = np.stack([trace.node, trace.index, trace.core, trace.neuron], axis=1)
    rows, row = np.unique(places, axis=0, return_inverse=True)
    node, index, core, neuron = (np.ascontiguousarray(column) for column in rows.T)
    nobody = np.zeros(0, dtype=np.int32)
    neurons, table = Readout(trace.nodes, core, neuron, node, index), trace.potential_table
    chunk = Chunk(
        trace.tick, row.reshape(-1), np.zeros((trace.n_ticks, 0), np.int32) if table is None else table.values
    )
    with hdf5_writer(path) as write:
        watched = Readout((), nobody, nobody, nobody, nobody) if table is None else table.neurons
        write(
            trace,
            neurons,
            watched,
            [chunk],
            trace.counts,
            int(np.abs(chunk.potentials.astype(np.int64)).max(initial=0)),
        )


def load_hdf5(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read labels and arrays of a trace, under the names that they have in a safetensors file.

    Raises
    ------
    InputError
        If the file is damaged, no trace, or too large for the memory.
    NotSupportedError
        If h5py is not installed.
    """
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            if (file.attrs.get("format"), file.attrs.get("format_version")) != (_FORMAT, _VERSION):
                raise InputError(f"{path}: not a trace of version {_VERSION}; save one with simulate")
            found = _datasets(file)
            n_bytes = sum(data.nbytes for data in found.values()) + _SPIKE_BYTES * found["tick"].size
            if n_bytes > _MAX_BYTES:
                raise InputError(
                    f"{path}: takes {n_bytes / 2**30:.1f} GiB of memory; at most {_MAX_BYTES >> 30} are read at once, "
                    "read parts of it with h5py (docs/simulation.md)"
                )
            return _read(file.attrs["trace"], found)
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: a damaged trace ({' '.join(str(error).split())})") from None


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise NotSupportedError(
            "HDF5: needs h5py, which is not installed; pip install 'neuromap[hdf5]', or choose a name that does not "
            "end in .h5"
        ) from None
    return h5py


@contextmanager
def _named(path: str | Path, stream: Hdf5Stream | None = None) -> Iterator[None]:
    """Turn what HDF5 says of a file, whose name is not that of the user, into one line on the user's."""
    try:
        yield
    except (KeyError, OSError, RuntimeError, ValueError) as found:
        error = found if stream is None or stream.error is None else stream.error  # what came first
        raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _write(
    executor: ThreadPoolExecutor,
    file: h5py.File,
    stream: Hdf5Stream,
    path: str | Path,
    header: Trace,
    neurons: Readout,
    potential_neurons: Readout,
    chunks: Iterable[Chunk],
    counts: NDArray[np.int64] | None,
    peak: int,
) -> None:
    """Write a chunk while the next one is made."""
    ahead = executor.submit(_start, file, header, neurons, potential_neurons, peak)
    for chunk in chunks:
        with _named(path, stream):
            ahead.result()
            stream.check()
        ahead = executor.submit(_append_chunk, file, chunk, 1000 * (header.tick_seconds or 0))
    with _named(path, stream):
        ahead.result()
        if counts is not None:
            executor.submit(file.create_dataset, "counts", data=counts).result()
        stream.check()


def _start(file: h5py.File, header: Trace, neurons: Readout, potential_neurons: Readout, peak: int) -> None:
    """Write all but the chunks."""
    _write_labels(file, header, neurons, potential_neurons)
    spikes = file.create_group(_SPIKES)
    _write_sorting(spikes)
    for name, dtype in (("timestamps", "f8"), ("node_ids", "u8"), ("ticks", "i8")):
        spikes.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(_EVENTS_IN_BLOCK,))
    spikes["timestamps"].attrs["units"] = "ms"
    if len(potential_neurons):
        milliseconds = 1000 * (header.tick_seconds or 0)
        dtype = "f4" if peak <= EXACT_IN_FLOAT else "i4"
        _start_report(file, potential_neurons, dtype, header.n_ticks * milliseconds, milliseconds)


def _append_chunk(file: h5py.File, chunk: Chunk, milliseconds: float) -> None:
    spikes = file[_SPIKES]
    _append(spikes["timestamps"], chunk.tick * milliseconds)
    _append(spikes["node_ids"], chunk.row)
    _append(spikes["ticks"], chunk.tick)
    if chunk.potentials.shape[1]:
        _append(file[_REPORT]["data"], chunk.potentials)


def _write_labels(file: h5py.File, header: Trace, neurons: Readout, potential_neurons: Readout) -> None:
    labels = {**trace_labels(header), "potential_nodes": [vars(port) for port in potential_neurons.nodes]}
    file.attrs["magic"] = np.uint32(_SONATA_MAGIC)
    file.attrs["version"] = np.array([0, 1], dtype=np.uint32)
    file.attrs["format"] = _FORMAT
    file.attrs["format_version"] = _VERSION
    file.attrs["trace"] = json.dumps(labels)
    _write_table(file.create_group(_NEURONS), neurons)


def _write_table(group: h5py.Group, neurons: Readout) -> None:
    for name in _PLACES:
        group[name] = getattr(neurons, name)


def _write_sorting(spikes: h5py.Group) -> None:
    import h5py

    spikes.attrs.create("sorting", _SORTING["by_time"], dtype=h5py.enum_dtype(_SORTING, basetype="u1"))


def _start_report(file: h5py.File, neurons: Readout, dtype: str, stop: float, step: float) -> None:
    group = file.create_group(_REPORT)
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


def _datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Find what is read of a file, under the names of a safetensors file; nothing outside the file is touched."""
    names = {"tick": f"{_SPIKES}/ticks", "row": f"{_SPIKES}/node_ids"}
    names |= {name: f"{_NEURONS}/{name}" for name in _PLACES}
    if "counts" in file:
        names["counts"] = "counts"
    if _REPORT in file:
        names["potentials"] = f"{_REPORT}/data"
        names |= {f"potential_{name}": f"{_REPORT}/mapping/{name}" for name in _PLACES}
    found = {name: _dataset(file, path) for name, path in names.items()}
    if found["row"].shape != found["tick"].shape:
        raise ValueError("ticks and node_ids must be of the same length")
    if len({found[name].shape for name in _PLACES}) > 1:
        raise ValueError("the columns of the table of neurons differ in length")
    return found


def _dataset(file: h5py.File, path: str) -> h5py.Dataset:
    import h5py

    names = path.split("/")
    links = (file.get("/".join(names[: k + 1]), getlink=True) for k in range(len(names)))
    if not all(isinstance(link, h5py.HardLink) for link in links):
        raise ValueError(f"{path} is missing, or a link to another place")
    data = file[path]
    if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "iuf" or data.shape is None:
        raise ValueError(f"{path} is no dataset of numbers")
    if data.is_virtual or data.external:
        raise ValueError(f"{path} lies in another file")
    return data


def _read(text: Any, found: dict[str, h5py.Dataset]) -> tuple[Any, dict[str, NDArray[Any]]]:
    row = found["row"][:]
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise ValueError("node_ids must be a row of integers")
    if len(row) and not 0 <= row.min() <= row.max() < found["core"].size:
        raise ValueError("a spike names a neuron that is not in the table of neurons")
    tensors: dict[str, NDArray[Any]] = {}
    for name, data in found.items():
        if name in _PLACES:
            tensors[name] = data[:][row]
        elif name == "potentials":
            tensors[name] = _whole(data)
        elif name != "row":
            tensors[name] = data[:]
    return json.loads(text), tensors


def _whole(data: h5py.Dataset) -> NDArray[np.int32]:
    """Read potentials, which may be floats, some rows at a time."""
    values = np.empty(data.shape, dtype=np.int32)
    rows = max(1, 2**24 // max(1, math.prod(data.shape[1:])))
    for start in range(0, len(values), rows):
        part = data[start : start + rows]
        if part.dtype.kind == "f" and not (np.abs(part) <= EXACT_IN_FLOAT).all():  # nor NaN
            raise ValueError(f"a potential is no number, or beyond {EXACT_IN_FLOAT}, where floats are inexact")
        values[start : start + rows] = part
        if (values[start : start + rows] != part).any():
            raise ValueError("a potential is no integer of 32 bits")
    return values
