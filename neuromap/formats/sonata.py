"""SONATA's spike files: populations with the times and neurons of their spikes.

Source: the SONATA data format of the Allen Institute and the Blue Brain Project (Dai et al., PLoS Comput. Biol. 16(2),
2020), section on spikes. Nothing is compressed: the wheels of libsonata, the format's own reader, come without the
filters.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.registry import require_package

if TYPE_CHECKING:
    import h5py

_MAGIC = 0x0A7A
_VERSION = (0, 1)
_SORTING = {"none": 0, "by_id": 1, "by_time": 2}


class Population(NamedTuple):
    """Spikes of a population, n of them.

    Attributes
    ----------
    name : str
        Name of the population; not dots alone, no slash.
    milliseconds : ndarray of float64, shape (n,)
        Times, ascending.
    neuron : ndarray of int, shape (n,)
        Neuron of each spike, from 0 on.
    """

    name: str
    milliseconds: NDArray[np.float64]
    neuron: NDArray[np.int64]


def mark_file(file: h5py.File) -> None:
    """Write the attributes that identify every SONATA file."""
    file.attrs["magic"] = np.uint32(_MAGIC)
    file.attrs["version"] = np.array(_VERSION, dtype=np.uint32)


def mark_sorting(group: h5py.Group) -> None:
    """Mark the spikes of a population as sorted by time."""
    import h5py

    group.attrs.create("sorting", _SORTING["by_time"], dtype=h5py.enum_dtype(_SORTING, basetype="u1"))


def spike_bytes(populations: Iterable[Population]) -> bytes:
    """Make a spike file.

    Parameters
    ----------
    populations : iterable of Population
        With distinct names.

    Returns
    -------
    bytes
        The content of an HDF5 file.

    Raises
    ------
    NotSupportedError
        If h5py is not installed.
    """
    require_package("SONATA", "h5py", "hdf5")
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        mark_file(file)
        spikes = file.create_group("spikes")
        for population in populations:
            group = spikes.create_group(population.name)
            mark_sorting(group)
            group.create_dataset("timestamps", data=population.milliseconds.astype(np.float64))
            group["timestamps"].attrs["units"] = "ms"
            group.create_dataset("node_ids", data=population.neuron.astype(np.uint64))
    return buffer.getvalue()
