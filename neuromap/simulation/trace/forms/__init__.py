"""Files of what is kept of a run: safetensors, and HDF5 in the layout of SONATA."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Batch": {"file": "batch_file.save_batch"},
        "Trace": {"file": "trace_file.save_trace"},
    }
)
