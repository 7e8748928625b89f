"""From runs to planes and back: tables of bits, transposed 64 by 64."""

from __future__ import annotations

from typing import Any

from numba import njit, uint64

from neuromap.simulation.engine.bit_sliced.sliced_layout import LANES, WORDS
from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.words import get, nonzero_bytes, put, trailing_zeros

inlined = njit(**INLINED)

_TILE = 64
_CHUNKS = LANES // _TILE


@njit(**CALLED)
def make_planes(bytes_: Any, stride: int, n_runs: int, n_columns: int, planes: Any, tile: Any) -> None:
    """Fill planes, as uint64, from one byte per run and column."""
    # That of a run r and a column c at ``r * stride + c``.
    # 64 bytes are read at once, so rows and the last of them may be read a bit beyond.
    for chunk in range(_CHUNKS):
        for first in range(0, n_columns, _TILE):
            for k in range(_TILE):
                run = chunk * _TILE + k
                put(tile, k, nonzero_bytes(bytes_, run * stride + first) if run < n_runs else uint64(0))
            _transpose(tile)
            for k in range(min(_TILE, n_columns - first)):
                put(planes, (first + k) * WORDS + chunk, get(tile, k))


@njit(**CALLED)
def list_planes(planes: Any, n_planes: int, n_runs: int, rows: Any, tile: Any, runs: Any, numbers: Any) -> int:
    """List runs and numbers of planes of all bits that are set, run by run; how many there are."""
    # ``n_planes`` is a multiple of 64; ``rows`` has room for as many words, ``runs`` and ``numbers`` for all bits.
    n = 0
    n_tiles = n_planes // _TILE
    for chunk in range((n_runs + _TILE - 1) // _TILE):
        n_here = min(_TILE, n_runs - chunk * _TILE)
        for t in range(n_tiles):
            for k in range(_TILE):
                put(tile, k, get(planes, (t * _TILE + k) * WORDS + chunk))
            _transpose(tile)
            for k in range(n_here):
                put(rows, k * n_tiles + t, get(tile, k))
        for k in range(n_here * n_tiles):
            word = get(rows, k)
            while word != uint64(0):
                put(runs, n, chunk * _TILE + k // n_tiles)
                put(numbers, n, k % n_tiles * _TILE + trailing_zeros(word))
                n += 1
                word &= word - uint64(1)
    return n


@inlined
def _transpose(tile: Any) -> None:
    """Let bit c of word r be bit r of word c."""
    half, mask = 32, uint64(0xFFFFFFFF)
    while half:
        shift = uint64(half)
        for pair in range(32):
            k = (pair & ~(half - 1)) << 1 | pair & (half - 1)
            low, high = get(tile, k), get(tile, k + half)
            swap = (low >> shift ^ high) & mask
            put(tile, k, low ^ swap << shift)
            put(tile, k + half, high ^ swap)
        half >>= 1
        mask ^= mask << uint64(half)
