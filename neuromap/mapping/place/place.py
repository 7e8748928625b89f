"""Placement of cores on the board with short spike routes: the placers, the checks common to all, and refusals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.budget import Progress
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.options.options import PLACERS, SEEDS
from neuromap.mapping.place.board import (
    Board,
    Deadline,
    Faults,
    Region,
    Wiring,
    best_reached,
    board_for,
    cost,
    exchange,
    faults,
    repair,
    wiring,
)

# Up to this many cores, exchanges end at the same cost from any start; the spectral layout takes longer to import than
# to run.
ONE_START = 8
# Maps graph, board, seed and deadline to x and y of every core, shape (n_cores, 2).
Strategy = Callable[[Wiring, Board, int, Deadline], Ints]


def row_major(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Fill a nearly square box row by row; ignores seed and deadline."""
    return within_regions(row_by_row(graph.n_cores, board)[: graph.n_cores], board)


def hilbert(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Fill a nearly square box along a Hilbert curve; ignores seed and deadline."""
    return within_regions(along_hilbert(graph.n_cores, board)[: graph.n_cores], board)


def improved(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Improve the cheaper of the Hilbert and spectral layouts; only the former if cores are few or time is over."""
    # A layout proven optimal is not improved.
    if graph.n_cores > ONE_START and (proven := star_layout(graph, board)) is not None:
        return proven
    starts = [hilbert(graph, board, seed, deadline)]
    if graph.n_cores > ONE_START and not deadline.is_over:
        starts.append(spectral(graph, board, seed, deadline))
    start = min(starts, key=lambda where: cost(where, graph, board))
    return exchange(start, graph, board, seed=seed, deadline=deadline)


# Placement as a quadratic assignment problem, by SciPy: for comparison, and for few cores.
# Maximum number of cores for which matrices of all pairs are affordable.
ASSIGNED_CORES = 1500
# SciPy's 2-opt runs in Python: minutes for hundreds of cores.
_REFINED_CORES = 128


def assignment(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Place few cores by solving the quadratic assignment problem; ignores seed and deadline."""
    # fast approximate method (Vogelstein et al. 2015), for few cores refined by 2-opt
    from scipy.optimize import quadratic_assignment  # slow to import

    n = graph.n_cores
    if n > ASSIGNED_CORES:
        raise InputError(f"placer 'assignment': found {n} cores; at most {ASSIGNED_CORES} are allowed; take 'exchange'")
    places = along_hilbert(n, board)[:n]
    if n < 2:
        return within_regions(places, board)
    x, y = board.along_x[places[:, 0]], board.along_y[places[:, 1]]
    way = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    flow = graph.matrix().toarray()
    found = quadratic_assignment(flow, way, method="faq", options={"rng": np.random.default_rng(0)}).col_ind
    if n <= _REFINED_CORES:
        guess = np.stack([np.arange(n), found], axis=1)
        found = quadratic_assignment(
            flow, way, method="2opt", options={"partial_guess": guess, "rng": np.random.default_rng(0)}
        ).col_ind
    return within_regions(places[found], board)


# Cores pinned to rectangles: find a layout that respects these, close to the wanted one.
def within_regions(wanted: Ints, board: Board) -> Ints:
    """Move cores so that each lies in its region."""
    # shapes: wanted (n_cores, 2); returns (n_cores, 2)
    low, high = board.regions[:, :2], board.regions[:, 2:]
    if ((low <= wanted) & (wanted <= high)).all():
        return wanted
    pinned = np.flatnonzero(board.is_pinned)
    regions, region_of = np.unique(board.regions[pinned], axis=0, return_inverse=True)
    demand = np.bincount(region_of, minlength=len(regions))
    owner = _share_out(regions, demand, board)
    where = wanted.copy()
    for number in range(len(regions)):
        rows, columns = np.nonzero(owner == number)
        cores = pinned[region_of == number]
        places = np.stack([columns, rows], axis=1)  # these and the cores in the same row-major order
        where[cores[np.lexsort(wanted[cores].T)]] = places[np.lexsort(places.T)]
    taken = np.zeros_like(board.usable)
    taken[where[pinned, 1], where[pinned, 0]] = True
    return _give_way(where, np.flatnonzero(~board.is_pinned), taken, board)


def _share_out(regions: Ints, demand: Ints, board: Board) -> Ints:
    """Assign every region as many of its usable places as it has cores; shape (rows, columns), -1 for unassigned."""
    # A greedy choice, the tightest region first, takes compact places; where regions overlap it may fail, and then a
    # maximum flow from regions to places decides.
    owner = np.full(board.usable.shape, -1, np.int64)
    room = np.array([board.usable[y0 : y1 + 1, x0 : x1 + 1].sum() for x0, y0, x1, y1 in regions])
    for number in np.argsort(room - demand, kind="stable"):
        x0, y0, x1, y1 = regions[number]
        y, x = np.nonzero((board.usable & (owner < 0))[y0 : y1 + 1, x0 : x1 + 1])
        if len(x) < demand[number]:
            return _by_flow(regions, demand, board)
        side = int(np.ceil(np.sqrt(demand[number])))
        order = np.lexsort((x, y, np.maximum(x // side, y // side)))[: demand[number]]
        owner[y0 + y[order], x0 + x[order]] = number
    return owner


def _by_flow(regions: Ints, demand: Ints, board: Board) -> Ints:
    from scipy.sparse.csgraph import maximum_flow  # slow to import

    rows, columns = board.usable.shape
    n, sink = len(regions), len(regions) + rows * columns + 1
    edges = [np.stack([np.zeros(n, np.int64), 1 + np.arange(n), demand])]  # the source is 0
    for number, (x0, y0, x1, y1) in enumerate(regions):
        y, x = np.nonzero(board.usable[y0 : y1 + 1, x0 : x1 + 1])
        place = 1 + n + (y0 + y) * columns + x0 + x
        edges.append(np.stack([np.full(len(place), 1 + number), place, np.ones_like(place)]))
    place = 1 + n + np.flatnonzero(board.usable.ravel())
    edges.append(np.stack([place, np.full(len(place), sink), np.ones_like(place)]))
    start, end, capacity = np.concatenate(edges, axis=1)
    graph = sparse.csr_array((capacity.astype(np.int32), (start, end)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, 0, sink)
    total = int(demand.sum())
    if found.flow_value < total:
        text = f"{total} cores must lie in regions whose usable places hold {int(found.flow_value)} of them"
        advice = Remedy("pins.regions", None, "larger regions, or regions that overlap less, may hold them")
        raise refuse("cores", None, total, int(found.flow_value), text, [advice])
    flow = found.flow.tocoo()
    used = (flow.data > 0) & (flow.row >= 1) & (flow.row <= n)
    owner = np.full(rows * columns, -1, np.int64)
    owner[flow.col[used] - 1 - n] = flow.row[used] - 1
    return owner.reshape(rows, columns)


def _give_way(where: Ints, cores: Ints, taken: Bools, board: Board) -> Ints:
    """Move cores whose places are taken to the nearest vacant ones, one at a time."""
    stays = ~taken[where[cores, 1], where[cores, 0]]
    taken = taken.copy()
    taken[where[cores[stays], 1], where[cores[stays], 0]] = True
    y, x = np.nonzero(board.usable & ~taken)
    vacant = np.stack([x, y], axis=1)
    is_vacant = np.ones(len(vacant), bool)
    for core in cores[~stays]:
        way = np.abs(vacant - where[core]).sum(axis=1)
        nearest = int(np.argmin(np.where(is_vacant, way, np.iinfo(np.int64).max)))
        is_vacant[nearest] = False
        where[core] = vacant[nearest]
    return where


# Spectral layout: the two smoothest functions on the graph become coordinates, and these become places.
#
# Hall (1970): the eigenvectors of the smallest positive eigenvalues of the Laplacian minimise the weighted sum of
# squared differences. Normalised by the degrees (Koren 2005), they do not let loosely wired cores take all the room.
# Maximum number of cores for which eigenvectors are computed from a dense matrix.
_DENSE_CORES = 400
# Maximum number of cores for which places are assigned with the least sum of squared distances.
_ASSIGNED_CORES = 1500
# Weight that ties successive cores, relative to the mean weight of a pair.
_TIE = 1e-6
_ITERATIONS = 200
# Maximum of matrix entries times iterations.
_MOST_WORK = 2e9


def spectral(graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Place cores by the eigenvectors of their graph's Laplacian; ignores seed and deadline."""
    n = graph.n_cores
    places = row_by_row(n, board)
    if n < 3:
        return within_regions(places[:n], board)
    u, v = _coordinates(graph).T
    width, height = box(n, board)
    inside = places[(places[:, 0] < width) & (places[:, 1] < height)]
    ranks = np.empty((n, 2))
    for axis, (values, size) in enumerate(((u, width), (v, height))):
        ranks[np.argsort(values, kind="stable"), axis] = (np.arange(n) + 0.5) / n * size - 0.5
    if n <= _ASSIGNED_CORES:
        from scipy.optimize import linear_sum_assignment  # slow to import

        away = ((ranks[:, None, :] - inside[None, :, :]) ** 2).sum(axis=2)
        return within_regions(inside[linear_sum_assignment(away)[1]], board)
    return within_regions(_by_columns(ranks, inside), board)


def _by_columns(ranks: Floats, places: Ints) -> Ints:
    """Fill columns in the order of the first coordinate, and each column in the order of the second."""
    n = len(ranks)
    places = places[np.lexsort((places[:, 1], places[:, 0]))]
    # spread spare places evenly, so that the layout has no ragged end
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
    """Make the weight matrix, with weak ties between successive cores."""
    # The ties connect the graph, and make the order of cores count where nothing else does.
    # shapes: returns (n_cores, n_cores)
    n = wiring.n_cores
    tie = _TIE * (float(wiring.weight.mean()) if len(wiring.weight) else 1.0)
    first, last = np.arange(n - 1), np.arange(1, n)
    chain = sparse.coo_array((np.full(n - 1, tie), (first, last)), shape=(n, n))
    return (wiring.matrix() + chain + chain.T).tocsr()


def _second_and_third_vector(smooth: Any, root: Floats, entries: int) -> Floats:
    """Eigenvectors of the second and third smallest eigenvalues, given the first eigenvector ``root``; shape (n, 2)."""
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
        warnings.simplefilter("ignore")  # a rough solution is good enough for a layout
        _, vectors = lobpcg(smooth.tocsr(), guess, Y=root[:, None], largest=False, maxiter=rounds, tol=1e-5)
    return np.asarray(vectors[:, :2])


# Orders in which places are filled: row by row, along a Hilbert curve, or around one core.
#
# Neighbours along the first two lie close together. The last is for stars, whose wires all meet in one core: the others
# surround it, those with most wires nearest. No layout on any board is cheaper (the rearrangement inequality, with the
# distances of an unbounded grid), so no search is needed.


def hilbert_curve(order: int) -> Ints:
    """Return the points of the Hilbert curve that fills a square of side ``2**order``; shape (4**order, 2)."""
    points = np.zeros((1, 2), np.int64)
    for k in range(order):
        side = 2**k
        flipped = points[:, ::-1]
        points = np.concatenate(
            [
                flipped,
                points + [0, side],
                points + [side, side],
                np.array([2 * side - 1, side - 1]) - flipped,
            ]
        )
    return points


def row_by_row(n_cores: int, board: Board) -> Ints:
    """Return usable places of a nearly square box, row by row, then those beyond it; shape (places, 2)."""
    width, height = box(n_cores, board)
    y, x = np.nonzero(board.usable)
    outside = np.maximum(x // width, y // height)
    order = np.lexsort((x, y, outside))
    return np.asarray(np.stack([x, y], axis=1)[order], np.int64)


def along_hilbert(n_cores: int, board: Board) -> Ints:
    """Return usable places of a nearly square box along a Hilbert curve, then those beyond; shape (places, 2)."""
    width, height = box(n_cores, board)
    curve = hilbert_curve(max(1, int(np.ceil(np.log2(max(board.columns, board.rows))))))
    curve = curve[(curve[:, 0] < board.columns) & (curve[:, 1] < board.rows)]
    curve = curve[board.usable[curve[:, 1], curve[:, 0]]]
    outside = (curve[:, 0] >= width) | (curve[:, 1] >= height)
    return np.asarray(curve[np.argsort(outside, kind="stable")], np.int64)


def box(n_cores: int, board: Board) -> tuple[int, int]:
    """Choose width and height of a nearly square box from (0, 0) with enough usable places, if possible."""
    width = min(board.columns, max(1, int(np.ceil(np.sqrt(n_cores)))))
    height = min(board.rows, max(1, -(-n_cores // width)))
    width = max(width, min(board.columns, -(-n_cores // height)))
    while int(board.usable[:height, :width].sum()) < n_cores and (width, height) != (board.columns, board.rows):
        if height < board.rows and (height <= width or width == board.columns):
            height += 1
        else:
            width += 1
    return width, height


def star_layout(wiring: Wiring, board: Board) -> Ints | None:
    """Lay out a star: one core is wired to all other wired cores."""
    # returns a layout proven to cost least; ``None`` if wires do not all meet in one core, cores have regions, the
    # board is strict, or it has no room for a whole diamond around that core
    # shapes: returns (n_cores, 2)
    degree = np.diff(wiring.start)
    hub = int(degree.argmax())
    if not degree[hub] or 2 * degree[hub] != len(wiring.neighbour) or board.is_pinned.any() or board.is_strict:
        return None
    around = slice(wiring.start[hub], wiring.start[hub + 1])
    leaves = wiring.neighbour[around][np.argsort(-wiring.weight[around], kind="stable")]
    # the least radius of a diamond with enough places besides its centre
    radius = next(r for r in count() if 2 * r * (r + 1) >= len(leaves))
    if 2 * radius >= min(board.columns, board.rows):
        return None
    places = _diamond(radius)[: len(leaves) + 1]
    steps = np.diff(board.along_x[: 2 * radius + 1]), np.diff(board.along_y[: 2 * radius + 1])
    if any((step != 1).any() for step in steps) or not board.usable[places[:, 1], places[:, 0]].all():
        return None
    where = np.full((wiring.n_cores, 2), -1, np.int64)
    where[[hub, *leaves]] = places
    apart = np.flatnonzero(where[:, 0] < 0)  # these are not wired
    if len(apart):
        taken = np.zeros_like(board.usable)
        taken[places[:, 1], places[:, 0]] = True
        free = row_by_row(wiring.n_cores, board)
        where[apart] = free[~taken[free[:, 1], free[:, 0]]][: len(apart)]
    return where


def _diamond(radius: int) -> Ints:
    """List the places of a diamond that touches both axes, nearest to its centre first; shape (places, 2)."""
    y, x = np.mgrid[: 2 * radius + 1, : 2 * radius + 1]
    away = np.abs(x - radius) + np.abs(y - radius)
    order = np.lexsort((x.ravel(), y.ravel(), away.ravel()))
    order = order[away.ravel()[order] <= radius]
    return np.stack([x.ravel()[order], y.ravel()[order]], axis=1).astype(np.int64)


def place(
    n_cores: int,
    wires: tuple[Ints, Ints],
    chip: ChipSpec,
    placer: str = "auto",
    *,
    regions: Sequence[Region | None] | None = None,
    seed: int = 0,
    seconds: float | None = None,
    progress: Progress | None = None,
    by_tiles: bool = False,
) -> Ints:
    """Place every core of a partition on the board."""
    # A route costs its hops plus the router's ``boundary_hops`` for every chip boundary that it crosses. No core is
    # placed where the chip is dead; if a target is out of reach, or a dead router or link lies on its x-then-y route,
    # cores are exchanged until no such fault is left, whatever the placer.
    # regions: rectangle in which each core must lie, corners included; ``None`` for the whole board
    # seed: of the annealing; without ``seconds`` the same seed gives the same layout on every machine
    # by_tiles: as for ``board.board_for``
    # shapes: returns (n_cores, 2)
    strategy = PLACERS.find(placer)
    for name, value in (("boundary_hops", chip.router.get("boundary_hops")), ("seconds", seconds)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name}: found {value}; allowed are numbers from 0")
    if not 0 <= seed < SEEDS:
        raise InputError(f"seed: found {seed}; allowed are integers from 0 to {SEEDS - 1}")
    deadline = Deadline.after(seconds, progress)
    board = board_for(n_cores, chip, regions, by_tiles=by_tiles)
    room = int(board.usable.sum())
    if n_cores > room:
        text = f"{n_cores} cores are needed, {chip.name} has {room} that work"
        raise refuse(
            "cores", None, n_cores, room, text, [Remedy("chip.cores", n_cores, f"{counted(n_cores, 'core')} would do")]
        )
    graph = wiring(n_cores, wires)
    first = strategy(graph, board, seed, deadline)
    if placer not in PLACERS.ours:
        _require_places(placer, first, board)
    where = _legal(first, graph, board, seed, deadline)
    if not board.is_strict:
        return where
    wrong = faults(where, graph, board)
    if wrong:
        if wrong.too_far:
            raise _refuse_reach(wrong, first, graph, board, chip, seed)
        raise _refuse_routes(wrong, where, graph, board)
    return where


def _require_places(placer: str, found: Any, board: Board) -> None:
    """Refuse the result of another package's placer if it is not a valid layout."""
    is_layout = isinstance(found, np.ndarray) and found.shape == board.regions[:, :2].shape and found.dtype == np.int64
    if is_layout:
        inside = ((board.regions[:, :2] <= found) & (found <= board.regions[:, 2:])).all()
        is_layout = bool(inside and board.usable[*found.T[::-1]].all() and len(np.unique(found, axis=0)) == len(found))
    if not is_layout:
        raise InputError(
            f"placer {placer}: gave no layout, which is x and y of every core (int64), each on a working place of its "
            "own within its region; choose another placer"
        )


def _legal(where: Ints, graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Ints:
    """Repair a layout, or else others; return the first without faults, or the one with the fewest."""
    if not board.is_strict or not faults(where, graph, board):
        return where
    best, least = where, math.inf
    for start, part in _starts(where, graph, board, seed, deadline):
        for tried in (start, repair(start, graph, part, seed=seed, deadline=deadline)):
            wrong = faults(tried, graph, board)
            if not wrong:
                return tried
            if wrong.too_far + wrong.blocked < least:
                best, least = tried, wrong.too_far + wrong.blocked
    return best


def _starts(where: Ints, graph: Wiring, board: Board, seed: int, deadline: Deadline) -> Iterator[tuple[Ints, Board]]:
    """Yield layouts to repair, each with the part of the board to which its cores are confined."""
    yield where, board
    side = _side(graph, board)
    if side is not None:
        yield row_major(graph, side, seed, deadline), side
    for strategy in (row_major, hilbert):
        yield strategy(graph, board, seed, deadline), board


def _side(graph: Wiring, board: Board) -> Board | None:
    """On a board cut apart by defects, keep the places reachable from one place, if they are enough."""
    reached = None if board.is_pinned.any() else best_reached(board)
    if reached is None or not graph.n_cores <= int(reached.sum()) < int(board.usable.sum()):
        return None
    return replace(board, usable=reached)


def _refuse_routes(wrong: Faults, where: Ints, graph: Wiring, board: Board) -> DoesNotFitError:
    """Refuse the best layout found: how many cores are cut off, and how many places any one place reaches."""
    cut_off = np.unique(graph.target[board.blocked(where[graph.source], where[graph.target])])
    text = (
        f"the routes of {counted(wrong.blocked, 'pair')} of cores meet dead routers or links in the best layout found, "
        f"so that {len(cut_off)} of {counted(len(where), 'core')} cannot be reached by all that feed them"
    )
    room, reached = int(board.usable.sum()), best_reached(board)
    if reached is not None and not reached[board.usable].all():
        text += f"; of {room} cores of the board that work, none reaches more than {reached.sum()}, itself included"
    advice = Remedy("chip.defects", None, "a board with fewer defects, or a network on fewer cores, may fit")
    return refuse("routes", None, wrong.blocked, 0, text, [advice])


def _refuse_reach(
    wrong: Faults, first: Ints, graph: Wiring, board: Board, chip: ChipSpec, seed: int
) -> DoesNotFitError:
    """Refuse the distances of the best layout found; a wider reach is a remedy only if a layout was found for it."""
    axis = int(wrong.far[1] > board.reach[1] and wrong.far[0] <= board.reach[0])
    way, bound = wrong.far[axis], int(board.reach[axis])
    text = f"a target lies {counted(way, 'core')} away along {'xy'[axis]}, a {chip.name} spike reaches {bound}"
    remedies = [Remedy("cores", None, "a network on fewer cores may fit")]
    for enough in (max(wrong.far), max(faults(first, graph, board).far)):
        wider = replace(board, reach=np.maximum(board.reach, enough))
        if not faults(_legal(first, graph, wider, seed, Deadline()), graph, wider):
            remedies.insert(0, Remedy("chip.reach", enough, f"a reach of {enough} along x and y would do"))
            break
    return refuse("reach", None, way, bound, text, remedies)
