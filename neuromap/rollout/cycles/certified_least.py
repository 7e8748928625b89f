"""Whether an integer program costs at least so much: a solver proposes multipliers, integers decide.

HiGHS computes with floating-point numbers, and has called a set of 4 the smallest where there is one of 3. So nothing
is called proven on its word. For any multipliers y, z >= 0 of rows ``low <= a x <= high`` and any x of a box that keeps
them,

    c x  >=  sum of (y low - z high)  +  the least of (c - y a + z a) x over the box,

which is a sum of integers once y and z are rounded (weak duality; as the box is bounded, every rounding is good). Where
the bound is not enough the box is cut in two. What comes of it is a proof, or no answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

Row = tuple[dict[int, int], float, float]
"""Factors of variables, and what their sum must be between; whole numbers, or infinite."""
_SCALE = 1 << 24
"""Multipliers are whole numbers of this part of 1."""
_NEAR = 1e-6


def is_least(
    price: Sequence[int],
    rows: Sequence[Row],
    box: Sequence[tuple[int, int]],
    least: int,
    most_boxes: int,
    seconds: float = math.inf,
) -> tuple[bool, int]:
    """Try to prove that no whole numbers in a box that keep all rows cost less than ``least``."""
    # most_boxes: boxes that are looked at, at most
    relaxed = _Relaxed(price, rows, least)
    boxes = [list(box)]
    looked, until = 0, time.monotonic() + seconds
    while boxes:
        here = boxes.pop()
        if looked == most_boxes or time.monotonic() > until:
            return False, looked
        looked += 1
        x, multipliers = relaxed.solve(here)
        if x is None:
            return False, looked
        if _bound(price, rows, here, multipliers) > (least - 1) * _SCALE:
            continue
        open_ = [j for j, (low, high) in enumerate(here) if low < high]
        if not open_:
            return False, looked
        j = max(open_, key=lambda j: (round(abs(x[j] - round(x[j])), 6), here[j][1] - here[j][0]))
        at = min(max(math.floor(x[j] + _NEAR), here[j][0]), here[j][1] - 1)
        for part in ((here[j][0], at), (at + 1, here[j][1])):
            boxes.append([*here[:j], part, *here[j + 1 :]])
    return True, looked


class _Relaxed:
    """The linear program of a box, rows kept at a price: it always has a solution, and multipliers come with it."""

    def __init__(self, price: Sequence[int], rows: Sequence[Row], least: int) -> None:
        from scipy import sparse

        sided = [(terms, 1, low) for terms, low, _ in rows if math.isfinite(low)]
        sided += [(terms, -1, -high) for terms, _, high in rows if math.isfinite(high)]
        entries = [(k, j, sign * f) for k, (terms, sign, _) in enumerate(sided) for j, f in terms.items()]
        n, m = len(price), len(sided)
        dear = 4.0 * (abs(least) + sum(map(abs, price)) + 1)
        row, column, factor = (np.array(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
        kept = sparse.csr_array((np.asarray(factor, float), (row, column)), shape=(m, n))
        self._rows = sparse.hstack([-kept, -sparse.eye_array(m)], format="csr") if m else None
        self._limits = -np.array([limit for _, _, limit in sided], float)
        self._price = np.concatenate([np.array(price, float), np.full(m, dear)])

    def solve(self, box: Sequence[tuple[int, int]]) -> tuple[Any, list[int]]:
        """Return a solution and a whole multiplier of every side of every row; None where the solver gave up."""
        from scipy.optimize import linprog

        bounds = [*box, *[(0, None)] * len(self._limits)]
        found: Any = linprog(
            self._price, A_ub=self._rows, b_ub=self._limits if len(self._limits) else None, bounds=bounds
        )
        if found.status != 0:
            return None, []
        marginals = found.ineqlin.marginals if len(self._limits) else ()
        return found.x, [max(0, round(-float(y) * _SCALE)) for y in marginals]


def _bound(
    price: Sequence[int], rows: Sequence[Row], box: Sequence[tuple[int, int]], multipliers: Sequence[int]
) -> int:
    """Bound the cost in a box from below, times ``_SCALE``; in whole numbers throughout."""
    left = [c * _SCALE for c in price]
    bound = 0
    sides = iter(multipliers)
    for sign, limits in ((1, [(t, low) for t, low, _ in rows]), (-1, [(t, high) for t, _, high in rows])):
        for terms, limit in limits:
            if math.isfinite(limit) and (y := next(sides)):
                bound += sign * y * int(limit)
                for j, factor in terms.items():
                    left[j] -= sign * y * factor
    return bound + sum(min(c * low, c * high) for c, (low, high) in zip(left, box, strict=True))
