"""What stands in an HDF5 file of a trace: the layout of SONATA, with what SONATA has no place for.

Source of the layout: the SONATA data format of the Allen Institute and the Blue Brain Project (Dai et al., PLoS
Comput. Biol. 16(2), 2020), its spike file and its report of elements. ``docs/simulation.md`` lists what is in a file.
Nothing is compressed: the wheels of libsonata, the format's own reader, come without the filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.sonata.spike_file import mark_file, mark_sorting
from neuromap.simulation.trace.forms.file_layout import (
    EXACT_IN_FLOAT,
    FORMAT,
    HDF5_VERSIONS,
    NEURONS,
    PLACES,
    REPORT,
    SPIKES,
)
from neuromap.simulation.trace.readout import Readout
from neuromap.simulation.trace.recorded_run import Chunk, RecordedRun

if TYPE_CHECKING:
    import h5py

__all__ = ["append_chunk", "start_file"]

_EVENTS_IN_BLOCK = 1 << 16
_TICKS_IN_BLOCK = 64
_NEURONS_IN_BLOCK = 1024


def start_file(file: h5py.File, run: RecordedRun, labels: str) -> None:
    """Write all but the chunks of a run, its counts and the checksum."""
    _write_labels(file, labels)
    _write_table(file.create_group(NEURONS), run.neurons)
    spikes = file.create_group(SPIKES)
    mark_sorting(spikes)
    for name, dtype in (("timestamps", "f8"), ("node_ids", "u8"), ("ticks", "i8")):
        spikes.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(_EVENTS_IN_BLOCK,))
    spikes["timestamps"].attrs["units"] = "ms"
    if len(run.potential_neurons):
        milliseconds = 1000 * (run.header.tick_seconds or 0)
        dtype = "f4" if run.peak <= EXACT_IN_FLOAT else "i4"
        _start_report(file, run.potential_neurons, dtype, run.header.n_ticks * milliseconds, milliseconds)


def append_chunk(file: h5py.File, chunk: Chunk, milliseconds: float) -> None:
    """Write a chunk behind those before it; ``milliseconds`` is the length of a tick."""
    spikes = file[SPIKES]
    _append(spikes["timestamps"], chunk.tick * milliseconds)
    _append(spikes["node_ids"], chunk.row)
    _append(spikes["ticks"], chunk.tick)
    if chunk.potentials.shape[1]:
        _append(file[REPORT]["data"], chunk.potentials)


def _write_labels(file: h5py.File, labels: str) -> None:
    mark_file(file)
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = HDF5_VERSIONS[-1]
    file.attrs["trace"] = labels


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
