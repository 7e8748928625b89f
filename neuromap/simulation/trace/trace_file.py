"""Traces as files: safetensors for what fits into memory, HDF5 where the name asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.files.sealed import canonical_bytes
from neuromap.files.whole_file import write_whole
from neuromap.simulation.trace.checksum import checksum
from neuromap.simulation.trace.file_layout import EVENTS, FORMAT, HDF5_SUFFIXES, POTENTIAL_PLACES, VERSIONS
from neuromap.simulation.trace.hdf5_file import save_hdf5
from neuromap.simulation.trace.labels import trace_text
from neuromap.simulation.trace.trace import Trace

__all__ = ["save_trace"]


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace; see :meth:`Trace.save`."""
    if Path(path).suffix.lower() in HDF5_SUFFIXES:
        save_hdf5(trace, path)
        return
    tensors: dict[str, NDArray[Any] | None] = {name: getattr(trace, name) for name in (*EVENTS, "counts")}
    if (table := trace.potential_table) is not None:
        tensors["potentials"] = table.values
        tensors |= {name: getattr(table.neurons, name.removeprefix("potential_")) for name in POTENTIAL_PLACES}
    present = {name: np.ascontiguousarray(array) for name, array in tensors.items() if array is not None}
    labels = trace_text(trace, () if table is None else table.neurons.nodes)
    metadata = {"format": FORMAT, "version": VERSIONS[-1], "trace": labels, "checksum": checksum(labels, present)}
    write_whole(path, canonical_bytes(present, metadata))
