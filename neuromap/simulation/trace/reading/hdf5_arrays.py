"""What an HDF5 file holds of a trace; nothing outside the file is touched."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.simulation.trace.forms.file_layout import (
    EXACT_IN_FLOAT,
    FORMAT,
    HDF5_VERSION,
    NEURONS,
    PLACES,
    REPORT,
    SPIKES,
    import_h5py,
)

if TYPE_CHECKING:
    import h5py

__all__ = ["read_hdf5"]

_MAX_BYTES = 2**32
"""Memory that a trace may take while it is read."""
_SPIKE_BYTES = 40
"""Of a spike while it is read: its tick, its row, its place, and what makes one of them from another."""


def read_hdf5(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read labels and arrays of a trace, under the names that they have in a safetensors file.

    Raises
    ------
    InputError
        If the file is damaged, no trace, or too large for the memory.
    NotSupportedError
        If h5py is not installed.
    """
    h5py = import_h5py()
    try:
        with h5py.File(path, "r") as file:
            if (file.attrs.get("format"), file.attrs.get("format_version")) != (FORMAT, HDF5_VERSION):
                raise InputError(f"{path}: not a trace of version {HDF5_VERSION}; save one with simulate")
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


def _datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Find what is read of a file, under the names of a safetensors file; nothing outside the file is touched."""
    names = {"tick": f"{SPIKES}/ticks", "row": f"{SPIKES}/node_ids"}
    names |= {name: f"{NEURONS}/{name}" for name in PLACES}
    if "counts" in file:
        names["counts"] = "counts"
    if REPORT in file:
        names["potentials"] = f"{REPORT}/data"
        names |= {f"potential_{name}": f"{REPORT}/mapping/{name}" for name in PLACES}
    found = {name: _dataset(file, path) for name, path in names.items()}
    if found["row"].shape != found["tick"].shape:
        raise ValueError("ticks and node_ids must be of the same length")
    if len({found[name].shape for name in PLACES}) > 1:
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
        if name in PLACES:
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
