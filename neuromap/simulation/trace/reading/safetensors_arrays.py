"""What a safetensors file holds of a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from neuromap.errors import InputError
from neuromap.simulation.trace.forms.checksum import checksum
from neuromap.simulation.trace.forms.file_layout import CHECKED_VERSION, FORMAT, VERSIONS

__all__ = ["read_safetensors"]


def read_safetensors(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read labels and arrays of a trace."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: not a readable safetensors file; a trace is one, or an HDF5 file") from None
    if metadata.get("format") != FORMAT or metadata.get("version") not in VERSIONS:
        raise InputError(f"{path}: not a trace of version {', '.join(VERSIONS)}; save one with simulate")
    try:
        has_checksum = metadata["version"] == CHECKED_VERSION
        if metadata.get("checksum") != (checksum(metadata["trace"], tensors) if has_checksum else None):
            raise ValueError("its content does not fit its checksum")
        return json.loads(metadata["trace"]), tensors
    except (KeyError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: a damaged trace ({error})") from None
