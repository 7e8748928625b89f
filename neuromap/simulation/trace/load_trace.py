"""Read traces from files, safetensors or HDF5."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given
from neuromap.files.confined import confined
from neuromap.files.foreign import check_regular, foreign_boundary
from neuromap.files.messages import show_name
from neuromap.files.unpacked import most_unpacked
from neuromap.files.whole_chunks import has_whole_chunks
from neuromap.hardware.program.ports import NodePort
from neuromap.hardware.program.program_bytes import FRAMES_KEY, PART_KEY, period_of_file, tick_of_file
from neuromap.simulation.trace import trace_file
from neuromap.simulation.trace.recording import Potentials, Readout
from neuromap.simulation.trace.trace import Trace

if TYPE_CHECKING:
    import h5py

# The first 8 bytes of an HDF5 file.
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def load_trace(path: str | Path) -> Trace:
    """Read a trace that :meth:`Trace.save` or :func:`~neuromap.simulation.run.simulate.simulate_to_file` wrote.

    Parameters
    ----------
    path : str or Path
        HDF5 or safetensors file, recognised by its content.

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    InputError
        If the file cannot be read, is not a trace, is truncated, or exceeds the memory limit (4 GiB):
        ``docs/simulation.md`` shows how to read a part of it.
    NotSupportedError
        If it is an HDF5 file and h5py is not installed.
    """
    path = path_given("load_trace", path)
    try:
        check_regular(path, "trace", InputError)
        with path.open("rb") as stream:
            head = stream.read(8)
    except InputError as error:
        raise InputError(f"{show_name(str(path))}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    with foreign_boundary("a trace", where=str(path)):
        try:
            return checked_trace(*(read_hdf5(path) if head == _HDF5_SIGNATURE else read_safetensors(path)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: a damaged trace ({error})") from None
        except MemoryError:
            raise InputError(
                f"{path}: takes more memory than there is; read parts of it (docs/simulation.md)"
            ) from None


# Traces in safetensors files.
def read_safetensors(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read labels and arrays of a trace."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: not a readable safetensors file; a trace is one, or an HDF5 file") from None
    if metadata.get("format") != trace_file.FORMAT or metadata.get("version") not in trace_file.VERSIONS:
        raise InputError(f"{path}: not a trace of version {', '.join(trace_file.VERSIONS)}; save one with simulate")
    try:
        has_checksum = metadata["version"] in trace_file.CHECKED_VERSIONS
        if metadata.get("checksum") != (trace_file.checksum(metadata["trace"], tensors) if has_checksum else None):
            raise ValueError("its content does not fit its checksum")
        return json.loads(metadata["trace"]), tensors
    except (KeyError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: a damaged trace ({error})") from None


# Make a trace from the content of a file, whatever that is.
# Ticks and frames must be below this, so that their sums fit 64 bits.
_MOST = 2**53


def checked_trace(labels: Any, arrays: dict[str, NDArray[Any]]) -> Trace:
    """Make a trace of labels and arrays, and refuse malformed ones."""
    labels = {"potential_nodes": [], "tick_seconds": None, "nodes_are_whole": False, **labels}
    _check_labels(labels)
    labels["period"] = period_of_file(labels)
    labels.pop(FRAMES_KEY, None)
    nodes, potential_nodes = (_ports(labels.pop(key), labels["period"]) for key in ("nodes", "potential_nodes"))
    for name, array in arrays.items():
        if name in trace_file.DTYPES and array.dtype.name != trace_file.DTYPES[name]:
            raise ValueError(f"tensor {name} must be {trace_file.DTYPES[name]}, is {array.dtype.name}")
    tick, node, index = (arrays[name] for name in trace_file.EVENTS[:3])
    core, neuron, value = (arrays.get(name) for name in (*trace_file.EVENTS[3:], "value"))
    if any(a.ndim != 1 or a.shape != tick.shape for a in (tick, node, index, core, neuron, value) if a is not None):
        raise ValueError("tick, node, index, core, neuron and value must be of the same length")
    if value is not None and not value.all():
        raise ValueError("a message carries 0, which is not sent")
    _check_places(node, index, nodes)
    if len(tick) and not (0 <= tick.min() <= tick.max() < labels["n_ticks"]):
        raise ValueError("a spike lies outside the ticks that were run")
    if len(tick) and (np.diff(tick) < 0).any():
        raise ValueError("spikes are not in the order of their ticks")
    for port in nodes:
        if port.kind == "output" and port.tick(labels["period"], labels["n_frames"] - 1) >= labels["n_ticks"]:
            raise ValueError(f"node {port.name} has frames after the ticks that were run")
    counts = arrays.get("counts")
    if counts is not None and counts.ndim != 2:
        raise ValueError("counts must be a table of cores and neurons")
    return Trace(
        **labels, nodes=nodes, tick=tick, node=node, index=index, core=core, neuron=neuron, value=value,
        counts=counts, potential_table=_potentials(arrays, potential_nodes, labels["n_ticks"]),
    )  # fmt: skip


def _check_labels(labels: dict[str, Any]) -> None:
    numbers = [labels[key] for key in ("period", "n_frames", "n_ticks")]
    if not all(type(number) is int and 0 <= number < _MOST for number in numbers) or labels["period"] < 1:
        raise ValueError(f"period, n_frames and n_ticks must be integers from 0 to {_MOST - 1}, the period 1 or more")
    if not all(isinstance(labels[key], str) for key in ("name", "pattern", "execution")):
        raise ValueError("name, pattern and execution must be text")
    for key in ("nodes_are_whole", "is_timed"):
        if type(labels.get(key, False)) is not bool:
            raise ValueError(f"{key} must be true or false")
    seconds = labels["tick_seconds"]
    if type(seconds) not in (float, int, NoneType) or (seconds is not None and not 0 < seconds < math.inf):
        raise ValueError("tick_seconds must be a number above 0")


def _potentials(arrays: dict[str, NDArray[Any]], nodes: tuple[NodePort, ...], n_ticks: int) -> Potentials | None:
    if "potentials" not in arrays:
        return None
    values = arrays["potentials"]
    core, neuron, node, index = (arrays[name] for name in trace_file.POTENTIAL_PLACES)
    if (
        values.ndim != 2
        or len(values) != n_ticks
        or any(a.shape != values.shape[1:] for a in (core, neuron, node, index))
    ):
        raise ValueError("potentials must be a table of ticks and neurons")
    _check_places(node, index, nodes)
    return Potentials(Readout(nodes, core, neuron, node, index), values)


def _ports(ports: list[dict[str, Any]], period: Time) -> tuple[NodePort, ...]:
    plain = [{key: value for key, value in port.items() if key != PART_KEY} for port in ports]
    found = tuple(
        NodePort(**{**without, "sample_tick": tick_of_file(port, period)})
        for without, port in zip(plain, ports, strict=True)
    )
    for port in found:
        if not (isinstance(port.name, str) and type(port.size) is int and type(port.sample_tick) in (int, Fraction)):
            raise ValueError(f"node {port.name} has a size or sample tick that is not an integer")
        if not (0 <= port.size < 2**31 and -_MOST < port.sample_tick < _MOST):
            raise ValueError(f"node {port.name} has a size or sample tick out of range")
    return found


def _check_places(node: NDArray[np.int32], index: NDArray[np.int32], nodes: tuple[NodePort, ...]) -> None:
    sizes = np.array([*(port.size for port in nodes), 0], dtype=np.int64)  # the last: neurons without a label
    if len(node) and (node.min() < -1 or node.max() >= len(nodes)):
        raise ValueError("a spike or potential names a node that does not exist")
    wrong = np.where(node < 0, index != -1, (index < 0) | (index >= sizes[node]))
    if wrong.any():
        raise ValueError("a spike or potential names a neuron that does not exist")


# Traces in HDF5 files; nothing outside the file is accessed.
#
# A separate process reads them: if a file's metadata is damaged, the HDF5 library may crash its process or loop
# forever.


# Most memory for a trace while it is read.
_MAX_BYTES = 2**32
# Bytes per spike while it is read: its tick, row and place, and temporary arrays.
_SPIKE_BYTES = 40
# Most bytes of the library and its caches beyond the trace.
_BESIDE = 2**28
# Allowed seconds for a small file, ten times the actual time, and pace for others, a twentieth of the actual one.
_SECONDS, _BYTES_A_SECOND = 5.0, 2 * 10**7


def read_hdf5(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read labels and arrays of a trace; arrays have the names of a safetensors file."""
    trace_file.import_h5py()
    try:
        size = path.stat().st_size
        if not trace_file.fits_its_digest(path):
            raise InputError("a damaged trace (its bytes do not fit the digest behind them)")
        most = most_unpacked(size, _MAX_BYTES)
        labels, arrays = confined(
            f"{__name__}:trace_content",
            {"path": str(path), "most": most},
            "trace",
            work=_SECONDS + size / _BYTES_A_SECOND,
            seconds=12 * (_SECONDS + size / _BYTES_A_SECOND),
            memory=most + _BESIDE,
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return json.loads(labels), arrays


def trace_content(path: str, most: int) -> tuple[str, dict[str, NDArray[Any]]]:
    """Read a file with h5py, in the process that :func:`read_hdf5` starts."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            version = file.attrs.get("format_version")
            if file.attrs.get("format") != trace_file.FORMAT or version not in trace_file.HDF5_VERSIONS:
                raise InputError(
                    f"not a trace of version {', '.join(trace_file.HDF5_VERSIONS)}; save one with simulate"
                )
            found = _datasets(file)
            n_bytes = sum(data.nbytes for data in found.values()) + _SPIKE_BYTES * found["tick"].size
            if n_bytes > most:
                raise InputError(
                    f"takes {n_bytes / 2**30:.1f} GiB of memory; at most {most / 2**30:.3g} are read at once of a file "
                    "of its size, read parts of it with h5py (docs/simulation.md)"
                )
            if version not in trace_file.CHECKED_VERSIONS and not all(map(has_whole_chunks, found.values())):
                raise ValueError("its chunks are not whole")
            text = file.attrs["trace"]
            content = {name: _whole(data) if name == "potentials" else data[:] for name, data in found.items()}
            if file.attrs.get("checksum") != (
                trace_file.checksum(text, content) if version in trace_file.CHECKED_VERSIONS else None
            ):
                raise ValueError("its content does not fit its checksum")
            if not isinstance(text, str):
                raise ValueError("its labels are not text")
            row = content.pop("row")
            if row.ndim != 1 or row.dtype.kind not in "iu":
                raise ValueError("node_ids must be a row of integers")
            if len(row) and not 0 <= row.min() <= row.max() < content["core"].size:
                raise ValueError("a spike names a neuron that is not in the table of neurons")
            return text, content | {name: content[name][row] for name in trace_file.PLACES}
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a damaged trace ({' '.join(str(error).split())})") from None


def _datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Find the datasets to read, under the names of a safetensors file; nothing outside the file is accessed."""
    names = {"tick": f"{trace_file.SPIKES}/ticks", "row": f"{trace_file.SPIKES}/node_ids"}
    names |= {name: f"{trace_file.NEURONS}/{name}" for name in trace_file.PLACES}
    if "counts" in file:
        names["counts"] = "counts"
    if f"{trace_file.SPIKES}/values" in file:
        names["value"] = f"{trace_file.SPIKES}/values"
    if trace_file.REPORT in file:
        names["potentials"] = f"{trace_file.REPORT}/data"
        names |= {f"potential_{name}": f"{trace_file.REPORT}/mapping/{name}" for name in trace_file.PLACES}
    found = {name: _dataset(file, path) for name, path in names.items()}
    if any(found[name].shape != found["tick"].shape for name in ("row", "value") if name in found):
        raise ValueError("ticks, node_ids and values must be of the same length")
    if len({found[name].shape for name in trace_file.PLACES}) > 1:
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
        raise ValueError(f"{path} is not a dataset of numbers")
    if data.is_virtual or data.external:
        raise ValueError(f"{path} lies in another file")
    return data


def _whole(data: h5py.Dataset) -> NDArray[np.int32]:
    """Read potentials, which may be floats, some rows at a time."""
    values = np.empty(data.shape, dtype=np.int32)
    rows = max(1, 2**24 // max(1, math.prod(data.shape[1:])))
    for start in range(0, len(values), rows):
        part = data[start : start + rows]
        if part.dtype.kind == "f" and not (np.abs(part) <= trace_file.EXACT_IN_FLOAT).all():  # nor NaN
            raise ValueError(
                f"a potential is not a number, or beyond {trace_file.EXACT_IN_FLOAT}, where floats are inexact"
            )
        values[start : start + rows] = part
        if (values[start : start + rows] != part).any():
            raise ValueError("a potential is not an integer of 32 bits")
    return values
