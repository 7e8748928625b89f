"""What the memory of RANC's FPGA design has room for (``hardware/IP/RANCNetwork``), beside its simulator's integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.ranc.image import RancImage

__all__ = ["MOST_CORES", "N_WEIGHTS", "SIGNED_FIELDS", "TYPE_BITS", "beyond_hardware", "memory_fields"]

TYPE_BITS = 2
N_WEIGHTS = 2**TYPE_BITS
_BITS = 9
_TICK_BITS = 4

MOST_CORES = 1000
"""Cores of a grid: their numbers have three digits in the names of files."""
SIGNED_FIELDS = ("potential", "reset", "leak", "positive_threshold", "negative_threshold", "dx", "dy")
"""Numbers of a neuron with a sign, beside its weights."""


def memory_fields(n_axons: int) -> dict[str, int]:
    """Give the fields of a neuron's row of memory after its connections, and their bits, in order."""
    return {
        "potential": _BITS,
        "reset": _BITS,
        **{f"weight{g}": _BITS for g in range(N_WEIGHTS)},
        "leak": _BITS,
        "positive_threshold": _BITS,
        "negative_threshold": _BITS,
        "reset_mode": 1,
        "dx": _BITS,
        "dy": _BITS,
        "axon": (n_axons - 1).bit_length(),
        "tick": _TICK_BITS,
    }


def beyond_hardware(image: RancImage) -> str:
    """Say what the FPGA design's memory has no room for."""
    cores = image.cores
    n_axons = cores.connections.shape[2]
    low, high = -(2 ** (_BITS - 1)), 2 ** (_BITS - 1) - 1
    values: list[tuple[str, NDArray[np.int64], int, int]] = [
        ("weight", cores.weights, low, high),
        *((name.replace("_", " "), cores.parameters[name], low, high) for name in SIGNED_FIELDS),
        ("potential", np.array(image.potentials), low, high),
        ("destination tick", cores.parameters["tick"], 0, 2**_TICK_BITS - 2),
    ]
    if cores.weights.shape[2] != N_WEIGHTS:
        return f"{cores.weights.shape[2]} weights of a neuron (it has {N_WEIGHTS})"
    if n_axons & (n_axons - 1):
        return f"{n_axons} axons of a core (a power of 2)"
    if image.n_outputs > n_axons:
        return f"{image.n_outputs} outputs (at most {n_axons}, as axons of a core)"
    if image.inclusive:
        return "a reset at the negative threshold itself (below it only)"
    for what, array, least, greatest in values:
        wrong = array[(array < least) | (array > greatest)]
        if len(wrong):
            return f"a {what} of {wrong[0]} ({least} to {greatest})"
    return ""
