"""How a trace lies in its files: names of arrays and groups; ``docs/simulation.md`` describes both files."""

from __future__ import annotations

from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NotSupportedError

__all__ = [
    "CHECKED_VERSION", "DTYPES", "EVENTS", "EXACT_IN_FLOAT", "FORMAT", "HDF5_SUFFIXES", "HDF5_VERSIONS", "NEURONS",
    "PLACES", "POTENTIAL_PLACES", "REPORT", "SPIKES", "VERSIONS", "import_h5py",
]  # fmt: skip

FORMAT = "neuromap trace"
VERSIONS = ("1", "2", "3")
"""Versions of safetensors files, the one that is written last."""
HDF5_VERSIONS = ("2", "3")
"""The same of HDF5 files. Both have a checksum from version 3 on."""
CHECKED_VERSION = "3"
HDF5_SUFFIXES = (".h5", ".hdf5")

EVENTS = ("tick", "node", "index", "core", "neuron")
"""Arrays with a value for every recorded spike."""
PLACES = ("core", "neuron", "node", "index")
"""Columns of the table of a :class:`~neuromap.simulation.trace.readout.Readout`."""
POTENTIAL_PLACES = ("potential_core", "potential_neuron", "potential_node", "potential_index")
"""The same of the neurons whose potentials are kept."""
DTYPES = ReadOnlyMapping({
    "tick": "int64", "node": "int32", "index": "int32", "core": "int32", "neuron": "int32", "counts": "int64",
    "potentials": "int32", "potential_core": "int32", "potential_neuron": "int32", "potential_node": "int32",
    "potential_index": "int32",
})  # fmt: skip

SPIKES, REPORT, NEURONS = "spikes/neurons", "report/potentials", "neurons"
"""HDF5 groups of spikes, of potentials, and the table of the neurons whose spikes are kept."""
EXACT_IN_FLOAT = 2**24
"""SONATA's potentials are 32-bit floats, which hold integers up to this size; larger ones are written as int32."""


def import_h5py() -> Any:
    """Import h5py."""
    try:
        import h5py
    except ImportError:
        raise NotSupportedError(
            "HDF5: needs h5py, which is not installed; pip install 'neuromap-rollouts[hdf5]', or choose a name that "
            "does not end in .h5"
        ) from None
    return h5py
