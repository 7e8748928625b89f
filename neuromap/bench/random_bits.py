"""Random bits that are the same on every machine and NumPy version, and rows of bits with an exact sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RandomBits", "set_bits"]


class RandomBits:
    """A stream of random bits: the raw numbers of a PCG64, whose order NumPy does not change."""

    def __init__(self, seed: int, stream: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, stream]))

    def words(self, n: int) -> NDArray[np.uint64]:
        """Draw n words of 64 bits."""
        return np.asarray(self._bits.random_raw(n), dtype=np.uint64)

    def octets(self, n: int) -> NDArray[np.uint8]:
        """Draw n bytes."""
        return self.words(-(-n // 8)).astype("<u8", copy=False).view(np.uint8)[:n]

    def below(self, bound: int, n: int) -> NDArray[np.int64]:
        """Draw n integers from 0 to ``bound - 1``; ``bound`` far below 2**32, or some values are favoured."""
        halves = self.words(-(-n // 2)).astype("<u8", copy=False).view("<u4")[:n]
        return ((halves.astype(np.uint64) * np.uint64(bound)) >> np.uint64(32)).astype(np.int64)


def set_bits(rows: NDArray[np.uint8], width: int, n_set: int, bits: RandomBits) -> None:
    """Set exactly ``n_set`` of ``width`` bits in every row, all choices being equally likely."""
    # First every bit is set with a probability near ``n_set / width``; then random bits are set or cleared where there
    # are too few or too many. Neither step favours a place, so the outcome favours none.
    # shapes: rows (n, ceil(width / 8))
    part = round(256 * n_set / width)
    part = 0 if part < 32 else 256 if part > 224 else part  # far from a half, counting from one end is quicker
    if part == 256:
        rows[:] = 255
    started = False
    for place in range(8):  # the binary digits of part / 256: AND halves a probability p, OR makes it (1 + p) / 2
        digit = bool(part >> place & 1)
        started |= digit
        if started:
            noise = bits.octets(rows.size).reshape(rows.shape)
            np.bitwise_or(rows, noise, out=rows) if digit else np.bitwise_and(rows, noise, out=rows)
    if width % 8:
        rows[:, -1] &= (1 << width % 8) - 1

    surplus = np.bitwise_count(rows).sum(axis=1, dtype=np.int64) - n_set
    todo = np.flatnonzero(surplus)
    while len(todo):
        place_of = bits.below(width, len(todo))
        bit = np.left_shift(1, place_of & 7).astype(np.uint8)
        is_set = (rows[todo, place_of >> 3] & bit) != 0
        hit = is_set == (surplus[todo] > 0)
        rows[todo[hit], place_of[hit] >> 3] ^= bit[hit]
        surplus[todo[hit]] -= np.where(is_set[hit], 1, -1)
        todo = todo[surplus[todo] != 0]
