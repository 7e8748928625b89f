"""Spectral layout: the smoothest two functions on the graph become coordinates, and those become places.

Hall (1970): the eigenvectors of the Laplacian with the least eigenvalues above 0 minimise the weighted squares of all
differences. Divided by the degrees (Koren 2005) they do not let loosely wired cores take all the room.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.place.board import Board
from neuromap.mapping.place.curves import box, row_by_row
from neuromap.mapping.place.wiring import Wiring

__all__ = ["spectral_layout"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DENSE_CORES = 400
"""Cores up to which eigenvectors are computed from a dense matrix."""
_ASSIGNED_CORES = 1500
"""Cores up to which places are assigned so that the sum of squared distances is least."""
_TIE = 1e-6
"""Wires between cores that follow each other, where the mean of a pair is 1."""
_ITERATIONS = 200
_MOST_WORK = 2e9
"""Entries of the matrix times iterations."""


def spectral_layout(wiring: Wiring, board: Board) -> Ints:
    """Place cores by the eigenvectors of their graph's Laplacian."""
    # shapes: returns (n_cores, 2)
    n = wiring.n_cores
    if n < 3:
        return row_by_row(n, board)[:n]
    u, v = _coordinates(wiring).T
    places = row_by_row(n, board)
    width, height = box(n, board)
    inside = places[(places[:, 0] < width) & (places[:, 1] < height)]
    ranks = np.empty((n, 2))
    for axis, (values, size) in enumerate(((u, width), (v, height))):
        ranks[np.argsort(values, kind="stable"), axis] = (np.arange(n) + 0.5) / n * size - 0.5
    if n <= _ASSIGNED_CORES:
        from scipy.optimize import linear_sum_assignment  # slow to import

        away = ((ranks[:, None, :] - inside[None, :, :]) ** 2).sum(axis=2)
        return inside[linear_sum_assignment(away)[1]]
    return _by_columns(ranks, inside)


def _by_columns(ranks: Floats, places: Ints) -> Ints:
    """Fill column after column in the order of the first coordinate, each in the order of the second."""
    n = len(ranks)
    places = places[np.lexsort((places[:, 1], places[:, 0]))]
    # spread what is not needed evenly, so that the layout has no ragged end
    places = places[np.arange(n) * len(places) // n]
    order = np.argsort(ranks[:, 0], kind="stable")
    by_column = np.lexsort((ranks[order, 1], places[:, 0]))
    where = np.empty((n, 2), np.int64)
    where[order[by_column]] = places
    return where


def _coordinates(wiring: Wiring) -> Floats:
    """Two eigenvectors of the generalised problem L v = lambda D v, shape (n_cores, 2)."""
    weights = _tied(wiring)
    root = np.sqrt(np.asarray(weights.sum(axis=1)).ravel())
    # symmetric form: D^-1/2 L D^-1/2, whose first eigenvector is the root of the degrees
    scale = sparse.diags_array(1 / root)
    smooth = sparse.eye_array(wiring.n_cores) - scale @ weights @ scale
    found = _second_and_third_vector(smooth, root, weights.nnz)
    return np.asarray(found / root[:, None])


def _tied(wiring: Wiring) -> Any:
    """Tie cores that follow each other weakly."""
    # So that the graph is connected and their order counts if nothing else.
    # shapes: returns (n_cores, n_cores)
    n = wiring.n_cores
    tie = _TIE * (float(wiring.weight.mean()) if len(wiring.weight) else 1.0)
    first, last = np.arange(n - 1), np.arange(1, n)
    chain = sparse.coo_array((np.full(n - 1, tie), (first, last)), shape=(n, n))
    return (wiring.matrix() + chain + chain.T).tocsr()


def _second_and_third_vector(smooth: Any, root: Floats, entries: int) -> Floats:
    """Those of the second and third least eigenvalue of a matrix whose first eigenvector is ``root``; shape (n, 2)."""
    from scipy import linalg  # slow to import, both

    n = len(root)
    if n <= _DENSE_CORES:
        _, vectors = linalg.eigh(smooth.toarray(), subset_by_index=[0, 2])
        return np.asarray(vectors[:, 1:])
    from scipy.sparse.linalg import lobpcg

    t = (np.arange(n) + 0.5) / n
    guess = np.stack([np.cos(np.pi * k * t) * root for k in (1, 2, 3, 4)], axis=1)
    rounds = int(np.clip(_MOST_WORK / entries, 20, _ITERATIONS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not yet exact is good enough for a layout
        _, vectors = lobpcg(smooth.tocsr(), guess, Y=root[:, None], largest=False, maxiter=rounds, tol=1e-5)
    return np.asarray(vectors[:, :2])
