"""Files of what is kept of a run: safetensors, and HDF5 in the layout of SONATA."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "Batch": {"file": "batch_file.save_batch"},
        "Trace": {"file": "trace_file.save_trace"},
    }
)
