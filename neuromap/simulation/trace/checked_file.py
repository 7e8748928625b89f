"""The files of a checkpoint: safetensors with a format, a text and a checksum over both text and tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from neuromap.errors import InputError
from neuromap.files.regular_file import read_bytes
from neuromap.files.sealed import canonical_bytes, metadata_of
from neuromap.files.whole_file import write_whole
from neuromap.simulation.trace.checksum import checksum

__all__ = ["MOST_BYTES", "read_checked", "write_checked"]

_FORMAT = "neuromap run checkpoint 1"
MOST_BYTES = 2**36
"""Of a file that is read, at most."""

Arrays = Mapping[str, NDArray[Any]]


def write_checked(path: Path, about: Mapping[str, Any], arrays: Arrays) -> str:
    """Write a file whole or not at all."""
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(about, sort_keys=True)
    found = checksum(text, tensors)
    write_whole(path, canonical_bytes(tensors, {"format": _FORMAT, "about": text, "checksum": found}))
    return found


def read_checked(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """Read a file of a checkpoint."""
    # kind: what its text must say that it is, ``"state"`` or ``"part"``
    try:
        data = read_bytes(path, "checkpoint", MOST_BYTES, InputError)
    except InputError as error:
        raise InputError(f"checkpoint {path}: {error}") from None
    try:
        arrays = load_tensors(data)
        metadata = metadata_of(data)
        text = metadata["about"]
        about = json.loads(text)
        if metadata["format"] != _FORMAT or about["kind"] != kind:
            raise ValueError
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        raise InputError(
            f"checkpoint {path}: is no checkpoint of a run; give the file that --checkpoint has written"
        ) from None
    found = checksum(text, arrays)
    if metadata.get("checksum") != found:
        raise InputError(f"checkpoint {path}: is damaged, it does not fit its checksum; simulate from tick 0")
    return about, arrays, found
