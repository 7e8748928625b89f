"""Read traces from files, safetensors or HDF5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.foreign import foreign_boundary
from neuromap.files.given import path_given
from neuromap.simulation.trace.reading.checked_trace import checked_trace
from neuromap.simulation.trace.reading.hdf5_arrays import read_hdf5
from neuromap.simulation.trace.reading.safetensors_arrays import read_safetensors
from neuromap.simulation.trace.trace import Trace

__all__ = ["load_trace"]

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first 8 bytes of an HDF5 file."""


def load_trace(path: str | Path) -> Trace:
    """Read a trace that :meth:`Trace.save` or :func:`~neuromap.simulation.run.simulate.simulate_to_file` wrote.

    Parameters
    ----------
    path : str or Path
        The file, HDF5 or safetensors; its content tells which.

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    InputError
        If the file cannot be read, or is no trace, or is truncated, or holds more than the memory is meant to (4 GiB):
        ``docs/simulation.md`` shows how to read a part of it.
    NotSupportedError
        If it is an HDF5 file and h5py is not installed.
    """
    path = path_given("load_trace", path)
    try:
        with path.open("rb") as stream:
            head = stream.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    with foreign_boundary("a trace", where=str(path)):
        try:
            return checked_trace(*(_hdf5_content(path) if head == _HDF5_SIGNATURE else read_safetensors(path)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: a damaged trace ({error})") from None
        except MemoryError:
            raise InputError(
                f"{path}: takes more memory than there is; read parts of it (docs/simulation.md)"
            ) from None


def _hdf5_content(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    text, arrays = read_hdf5(path)
    return json.loads(text), arrays
