"""Memory layout of a program for the kernels: shapes, the header of a core, the arrays.

The kernels read an :class:`Image` and change a :class:`State`; both consist of
flat arrays, core after core. C cores have A axons (padded to ``2 ** axon_bits``), G axon types and N neurons
(padded to ``n_groups`` whole groups of 32 lanes).
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Longest loops compiled for a fixed length: 2048 neurons, 4096 axons.
LONGEST = 64


def as_extent(n: int) -> tuple[int, ...] | int:
    """Convert a size to the form the kernels are compiled for."""
    return (0,) * n if n <= LONGEST else n


def extent(size: tuple[int, ...] | int) -> int:
    """Convert a size to an integer; compiled code has this function too."""
    return size if isinstance(size, int) else len(size)


_CACHE_LINE, _HUGE_PAGE = 64, 1 << 21
# Size in bytes from which huge pages are requested.
_LARGE = 1 << 19

# int32 values in the header of a core: one cache line.
HEADER = 16

# Positions in the header. A parameter has two: its value, and the position of its plane if the neurons differ in it
# (-1 if they share the value, 2 k for plane k of Image.planes8, 2 k + 1 for plane k of Image.planes16).
# PEAK_WEIGHT, GROWTH, FLOOR bound potentials of narrow cores (tick.py); ON_SPIKE, ON_BELOW are the values
# their resets set or add, LOW is the bound below which they fall.
FLAGS, PEAK_WEIGHT, GROWTH, FLOOR, WEIGHTS = range(5)
LEAK, THRESHOLD, ON_SPIKE, LOW, ON_BELOW = 6, 8, 10, 12, 14


# Bits of ``header[FLAGS]``.
# ``UNIFORM`` and ``BYTES`` tell how weights are stored: one value per axon type for all neurons, int8 planes, or
# (neither) int16 planes. ``WIDE_ONLY`` cores never take the narrow path. ``CAN_FALL``: some neuron can fall below
# its negative threshold while the core is narrow. ``STEP_UP``, ``STEP_DOWN``: resets add a value instead of setting
# one, after a spike and below the negative threshold. ``RESTLESS`` cores draw noise in every tick. ``NOISE`` cores
# have any stochastic mode, ``NOISY_WEIGHTS`` cores a stochastic synapse.
UNIFORM, BYTES, WIDE_ONLY, CAN_FALL, STEP_UP, STEP_DOWN, RESTLESS, NOISE, NOISY_WEIGHTS = (1 << k for k in range(9))


class Shape(NamedTuple):
    """Sizes, equal for all cores."""

    # ``groups``, ``width`` and ``words`` are tuples of which only the length matters: it is part of their type, so the
    # kernels are compiled for it. Above ``LONGEST`` they are plain integers, and the kernels loop instead. Read them
    # with :func:`extent`.

    n_cores: int
    n_axons: int
    axon_bits: int
    n_types: int
    type_bits: int
    groups: tuple[int, ...] | int
    """One per 32 neurons."""
    width: tuple[int, ...]
    """One per group that the narrow path processes at once."""
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
    """1 if the negative comparison is <=."""
    is_vast: int
    """1 if crossbar rows are prefetched one cache level farther: see ``prefetch_row``."""


class Image(NamedTuple):
    """Read-only data, shared by all threads and forks. Flat arrays."""

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
    """(C, N): parameters as in the program, for the wide path."""
    masks: NDArray[np.uint32]
    """(C, 4, n_groups): leak reversal, gamma 0, gamma 1, kappa."""
    noisy_weight: NDArray[np.uint32]
    """(C, G, n_groups), or empty."""
    noisy_leak: NDArray[np.uint32]
    """(C, n_groups), or empty."""
    noise_mask: NDArray[np.uint8]
    """(C, N): M of the threshold noise, or empty."""
    place: NDArray[np.uint64]
    """(C,): board position of the core, for the noise."""


class State(NamedTuple):
    """Data that ticks change. Flat arrays."""

    narrow: NDArray[np.int16]
    """(C, N): potentials of narrow cores."""
    wide: NDArray[Any]
    """(C, N) of int32 or int64: potentials of wide cores."""
    is_wide: NDArray[np.uint8]
    """(C,)."""
    bound: NDArray[np.int32]
    """(C,): no potential of the core is larger in magnitude, and it is FLOOR or more (narrow cores only)."""
    ring: NDArray[np.uint64]
    """(slots, C, words): due axons, one bit each."""
    busy: NDArray[np.uint8]
    """(slots, blocks, 64): 1 for cores with a due axon. A block of 64 cores is one cache line."""
    awake: NDArray[np.uint8]
    """(blocks, 64): 1 for cores that may change without events."""


def aligned_empty(size: int, dtype: Any) -> NDArray[Any]:
    """Uninitialised flat array aligned to a cache line; large ones in huge pages if available."""
    # A tick accesses all of it at random; with 4 KiB pages, half of its time would go into address translation.
    dtype = np.dtype(dtype)
    n_bytes, to = size * dtype.itemsize, _CACHE_LINE
    raw: NDArray[np.uint8]
    if n_bytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        to = _HUGE_PAGE
        memory = mmap.mmap(-1, n_bytes + to, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared mappings get small pages
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(memory, np.uint8)
    else:
        raw = np.empty(n_bytes + 2 * to, np.uint8)  # no other data on its last line
    start = -raw.ctypes.data % to
    return raw[start : start + n_bytes].view(dtype)


def aligned_full(size: int, dtype: Any, value: int = 0) -> NDArray[Any]:
    """Flat array of one value, on its own cache lines, so that no two threads write to one line."""
    array = aligned_empty(size, dtype)
    array[:] = value
    return array
