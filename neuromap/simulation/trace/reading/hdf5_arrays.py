"""What an HDF5 file holds of a trace; nothing outside the file is touched.

A process of its own reads it: where the bookkeeping of a file is damaged, the HDF5 library may end the process that it
runs in, or keep it busy for ever.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.confined import confined
from neuromap.files.unpacked import most_unpacked
from neuromap.simulation.trace.forms.checksum import checksum
from neuromap.simulation.trace.forms.file_digest import fits_its_digest
from neuromap.simulation.trace.forms.file_layout import (
    CHECKED_VERSION,
    EXACT_IN_FLOAT,
    FORMAT,
    HDF5_VERSIONS,
    NEURONS,
    PLACES,
    REPORT,
    SPIKES,
    import_h5py,
)

if TYPE_CHECKING:
    import h5py

__all__ = ["read_hdf5", "trace_content"]

_MAX_BYTES = 2**32
"""Memory that a trace may take while it is read."""
_SPIKE_BYTES = 40
"""Of a spike while it is read: its tick, its row, its place, and what makes one of them from another."""
_BESIDE = 2**28
"""Bytes that the library and its caches may take beside the trace."""
_SECONDS, _BYTES_A_SECOND = 5.0, 2 * 10**7
"""Work to read a small file, ten times what it takes, and the pace of others, a twentieth of what it is."""


def read_hdf5(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    """Read labels, as the text of the file, and arrays of a trace, under their names in a safetensors file."""
    import_h5py()
    try:
        size = path.stat().st_size
        if not fits_its_digest(path):
            raise InputError("a damaged trace (its bytes do not fit the digest behind them)")
        most = most_unpacked(size, _MAX_BYTES)
        found: tuple[str, dict[str, NDArray[Any]]] = confined(
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
    return found


def trace_content(path: str, most: int) -> tuple[str, dict[str, NDArray[Any]]]:
    """Read a file by h5py, in the process that :func:`read_hdf5` begins."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            version = file.attrs.get("format_version")
            if file.attrs.get("format") != FORMAT or version not in HDF5_VERSIONS:
                raise InputError(f"not a trace of version {', '.join(HDF5_VERSIONS)}; save one with simulate")
            found = _datasets(file)
            n_bytes = sum(data.nbytes for data in found.values()) + _SPIKE_BYTES * found["tick"].size
            if n_bytes > most:
                raise InputError(
                    f"takes {n_bytes / 2**30:.1f} GiB of memory; at most {most / 2**30:.3g} are read at once of a file "
                    "of its size, read parts of it with h5py (docs/simulation.md)"
                )
            text, content = file.attrs["trace"], _read(found)
            if file.attrs.get("checksum") != (checksum(text, content) if version == CHECKED_VERSION else None):
                raise ValueError("its content does not fit its checksum")
            if not isinstance(text, str):
                raise ValueError("its labels are no text")
            return text, _by_spike(content)
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a damaged trace ({' '.join(str(error).split())})") from None


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


def _read(found: dict[str, h5py.Dataset]) -> dict[str, NDArray[Any]]:
    return {name: _whole(data) if name == "potentials" else data[:] for name, data in found.items()}


def _by_spike(content: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Give every spike its own place, in place of a row of the table of neurons."""
    row = content["row"]
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise ValueError("node_ids must be a row of integers")
    if len(row) and not 0 <= row.min() <= row.max() < content["core"].size:
        raise ValueError("a spike names a neuron that is not in the table of neurons")
    return {name: array[row] if name in PLACES else array for name, array in content.items() if name != "row"}


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
