"""How a program lies in memory for the kernels: shapes, the header of a core, the arrays.

Everything that the kernels read is an :class:`Image`, everything that they change a :class:`State`; both are
flat arrays, core after core. C cores have A axons (padded to ``2 ** axon_bits``), G axon types and N neurons
(padded to whole groups of 32 lanes, ``n_groups`` of them).
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Longest loops that are compiled for their length: 2048 neurons, 4096 axons.
LONGEST = 64


def as_extent(n: int) -> tuple[int, ...] | int:
    """Give a size in the form that the kernels are compiled for."""
    return (0,) * n if n <= LONGEST else n


def extent(size: tuple[int, ...] | int) -> int:
    """Give a size as an integer; compiled code has this function too."""
    return size if isinstance(size, int) else len(size)


_CACHE_LINE, _HUGE_PAGE = 64, 1 << 21
# Bytes from which huge pages are asked for.
_LARGE = 1 << 19

# int32 values in the header of a core: one cache line.
HEADER = 16

# Positions in the header. A parameter has two: its value, and where its plane lies if the neurons differ in it
# (-1 if they share the value, 2 k for plane k of Image.planes8, 2 k + 1 for plane k of Image.planes16).
# PEAK_WEIGHT, GROWTH, FLOOR bound potentials of narrow cores (memory_layout.py); ON_SPIKE, ON_BELOW are what their
# resets set or add, LOW is below what they fall.
FLAGS, PEAK_WEIGHT, GROWTH, FLOOR, WEIGHTS = range(5)
LEAK, THRESHOLD, ON_SPIKE, LOW, ON_BELOW = 6, 8, 10, 12, 14


class Flag:
    """Bits of ``header[FLAGS]``."""

    # ``UNIFORM`` and ``BYTES`` tell how the weights are kept: one value per axon type for all neurons, int8 planes, or
    # (neither) int16 planes. ``WIDE_ONLY`` cores never take the narrow path. ``CAN_FALL``: some neuron can get below
    # its negative threshold while the core is narrow. ``STEP_UP``, ``STEP_DOWN``: resets add a value instead of setting
    # one, after a spike and below the negative threshold. ``RESTLESS`` cores draw noise in every tick. ``NOISE`` cores
    # have any stochastic mode, ``NOISY_WEIGHTS`` cores a stochastic synapse.

    UNIFORM = 1
    BYTES = 2
    WIDE_ONLY = 4
    CAN_FALL = 8
    STEP_UP = 16
    STEP_DOWN = 32
    RESTLESS = 64
    NOISE = 128
    NOISY_WEIGHTS = 256


class Shape(NamedTuple):
    """Sizes, equal for all cores."""

    # ``groups`` and ``words`` are tuples whose lengths count: the length of a tuple is part of its type, so the kernels
    # are compiled for it. Beyond a length they are plain integers, and the kernels have loops
    # instead. Read both with ``extent`` of that file.

    n_cores: int
    n_axons: int
    axon_bits: int
    n_types: int
    type_bits: int
    groups: tuple[int, ...] | int
    """One per 32 neurons."""
    words: tuple[int, ...] | int
    """One per 64 axons, a power of two."""
    slot_bits: int
    """The ring has ``2 ** slot_bits`` slots, more than the longest delay."""
    low: int
    high: int
    """Rails of the potential."""
    limit: int
    """Largest magnitude of a potential on the narrow path."""
    wrap: int
    at_most: int
    """1 where the negative comparison is <=."""
    is_vast: int
    """1 where rows of the crossbar are asked for one level of the caches farther: see ``prefetch_next``."""


class Image(NamedTuple):
    """What is only read; shared by all threads and forks. Flat arrays."""

    shape: Shape
    crossbar: NDArray[np.uint32]
    """(C, A, n_groups) rows of synapse bits."""
    axon_types: NDArray[np.uint8]
    """(C, A * type_bits / 8), packed."""
    header: NDArray[np.int32]
    """(C, HEADER)."""
    uniform_weights: NDArray[np.int16]
    """(C, G)."""
    weights8: NDArray[np.int8]
    """(rows, G, N), row ``header[WEIGHTS]``."""
    weights16: NDArray[np.int16]
    """(rows, G, N), row ``header[WEIGHTS]``."""
    planes8: NDArray[np.int8]
    planes16: NDArray[np.int16]
    """(planes, N): parameters that differ between the neurons of a core."""
    target: NDArray[Any]
    """(C, N) of uint32 or uint64: (core and axon) << slot_bits | delay; 0 without a target."""
    leak: NDArray[np.int16]
    threshold: NDArray[np.int32]
    negative_threshold: NDArray[np.int32]
    reset: NDArray[np.int32]
    """(C, N): parameters as the program has them, for the wide path."""
    masks: NDArray[np.uint32]
    """(C, 4, n_groups): leak reversal, gamma 0, gamma 1, kappa."""
    noisy_weight: NDArray[np.uint32]
    """(C, G, n_groups), or empty."""
    noisy_leak: NDArray[np.uint32]
    """(C, n_groups), or empty."""
    noise_mask: NDArray[np.uint8]
    """(C, N): M of the threshold noise, or empty."""
    place: NDArray[np.uint64]
    """(C,): number of the core on the board, for the noise."""


class State(NamedTuple):
    """What the ticks change. Flat arrays."""

    narrow: NDArray[np.int16]
    """(C, N): potentials of narrow cores."""
    wide: NDArray[Any]
    """(C, N) of int32 or int64: potentials of wide cores."""
    is_wide: NDArray[np.uint8]
    """(C,)."""
    bound: NDArray[np.int32]
    """(C,): no potential of the core is larger in magnitude, and it is FLOOR or more (narrow cores only)."""
    ring: NDArray[np.uint64]
    """(slots, C, words): axons that are due, one bit each."""
    busy: NDArray[np.uint8]
    """(slots, blocks, 64): 1 for cores with a due axon. A block of 64 cores is one cache line."""
    awake: NDArray[np.uint8]
    """(blocks, 64): 1 for cores that may change without events."""


def aligned_empty(size: int, dtype: Any) -> NDArray[Any]:
    """Uninitialised flat array that starts on a cache line, in huge pages where it is large and they are to be had."""
    # A tick jumps through all of it; with pages of 4 KiB half of its time would go into looking up addresses.
    dtype = np.dtype(dtype)
    n_bytes, to = size * dtype.itemsize, _CACHE_LINE
    raw: NDArray[np.uint8]
    if n_bytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        to = _HUGE_PAGE
        memory = mmap.mmap(-1, n_bytes + to, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared ones get small pages
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(memory, np.uint8)
    else:
        raw = np.empty(n_bytes + 2 * to, np.uint8)  # nothing else lies on its last line
    start = -raw.ctypes.data % to
    return raw[start : start + n_bytes].view(dtype)
