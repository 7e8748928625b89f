"""The placers by name: each lays cores out on usable places within their regions; reach is not looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.mapping.place.assignment import assignment_layout
from neuromap.mapping.place.board import Board
from neuromap.mapping.place.curves import along_hilbert, row_by_row, star_layout
from neuromap.mapping.place.deadline import Deadline
from neuromap.mapping.place.exchange import exchange
from neuromap.mapping.place.layout_cost import cost
from neuromap.mapping.place.regions import within_regions
from neuromap.mapping.place.spectral import spectral_layout
from neuromap.mapping.place.wiring import Wiring

__all__ = ["STRATEGIES", "Strategy", "hilbert", "row_major"]

Ints = NDArray[np.int64]
ONE_START = 8
"""Cores up to which exchanges end at the same cost from any start; the other one takes longer to import than to use."""
Strategy = Callable[[Wiring, Board, int, Deadline], Ints]
"""From graph, board, seed and deadline to x and y of every core, shape (n_cores, 2)."""


def row_major(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Fill a nearly square box row by row; seed and deadline do not matter."""
    return within_regions(row_by_row(graph.n_cores, board)[: graph.n_cores], board)


def hilbert(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Fill a nearly square box along a Hilbert curve; seed and deadline do not matter."""
    return within_regions(along_hilbert(graph.n_cores, board)[: graph.n_cores], board)


def _spectral(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    return within_regions(spectral_layout(graph, board), board)


def _assignment(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    return within_regions(assignment_layout(along_hilbert(graph.n_cores, board), graph, board), board)


def _exchange(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Improve the better of two layouts; if no time is left, or cores are few, the one that is made at once."""
    # A layout that is proven to be the best is not improved.
    if graph.n_cores > ONE_START and (proven := star_layout(graph, board)) is not None:
        return proven
    starts = [hilbert(graph, board, seed, deadline)]
    if graph.n_cores > ONE_START and not deadline.is_over:
        starts.append(_spectral(graph, board, seed, deadline))
    start = min(starts, key=lambda where: cost(where, graph, board))
    return exchange(start, graph, board, seed=seed, deadline=deadline)


STRATEGIES: Mapping[str, Strategy] = ReadOnlyMapping(
    {
        "auto": _exchange,
        "row-major": row_major,
        "hilbert": hilbert,
        "spectral": _spectral,
        "assignment": _assignment,
        "exchange": _exchange,
    }
)
"""One for every name in :data:`neuromap.mapping.asked.options.PLACERS`."""
