"""Arrays as the kernels want them: flat, on cache lines of their own, padded to whole vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.layout import aligned_empty


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array onto cache lines of its own, flat."""
    flat = aligned_empty(array.size, array.dtype)
    flat[:] = array.reshape(-1)
    return flat


def joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Copy arrays one behind the other onto cache lines of their own, flat."""
    flat = aligned_empty(sum(part.size for part in parts), dtype)
    position = 0
    for part in parts:
        flat[position : position + part.size] = part.reshape(-1)
        position += part.size
    return flat


def padded_lanes(array: NDArray[Any], lanes: int, padding: int) -> NDArray[Any]:
    """(C, N) padded to (C, lanes), flat; the program's own array where nothing is to be padded."""
    if array.shape[1] == lanes and array.flags.c_contiguous:
        return array.reshape(-1)
    padded = np.full((len(array), lanes), padding, array.dtype)
    padded[:, : array.shape[1]] = array
    return padded.reshape(-1)


def packed_bits(flags: NDArray[np.bool_], lanes: int) -> NDArray[np.uint32]:
    """(..., N) as words of 32 bits, padded to ``lanes``, flat."""
    padded = np.zeros((*flags.shape[:-1], lanes // 8), np.uint8)
    bytes_ = np.packbits(flags, axis=-1, bitorder="little")
    padded[..., : bytes_.shape[-1]] = bytes_
    return padded.reshape(-1).view(np.uint32)
