"""Placement as a quadratic assignment problem, by SciPy: for comparison, and for few cores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.mapping.place.board import Board
from neuromap.mapping.place.wiring import Wiring

__all__ = ["ASSIGNED_CORES", "assignment_layout"]

Ints = NDArray[np.int64]

ASSIGNED_CORES = 1500
"""Cores up to which matrices of all pairs are affordable."""
_REFINED_CORES = 128
"""SciPy's 2-opt runs in Python: minutes for hundreds of cores."""


def assignment_layout(places: Ints, wiring: Wiring, board: Board) -> Ints:
    """Give cores to as many places by the fast approximate method (Vogelstein et al. 2015), few ones by 2-opt too."""
    # shapes: places (places, 2); returns (n_cores, 2)
    from scipy.optimize import quadratic_assignment  # slow to import

    n = wiring.n_cores
    if n > ASSIGNED_CORES:
        raise InputError(f"placer 'assignment': found {n} cores; at most {ASSIGNED_CORES} are allowed; take 'exchange'")
    places = places[:n]
    if n < 2:
        return places
    x, y = board.along_x[places[:, 0]], board.along_y[places[:, 1]]
    way = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    flow = wiring.matrix().toarray()
    found = quadratic_assignment(flow, way, method="faq", options={"rng": np.random.default_rng(0)}).col_ind
    if n <= _REFINED_CORES:
        guess = np.stack([np.arange(n), found], axis=1)
        found = quadratic_assignment(
            flow, way, method="2opt", options={"partial_guess": guess, "rng": np.random.default_rng(0)}
        ).col_ind
    return places[found]
