"""The board and the wires between cores; layouts improved by exchanges; the deadline of a search."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rows_of_entries
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec, defect_map, meet_defects
from neuromap.mapping.options.budget import Progress

# Maximum number of cores for which compiling would take longer than it saves.
FEW_CORES = 64
# Maximum number of places considered: those nearest to the start layout.
_PLACES = 256
_MOST_KICKS = 80


def improve_few(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline, penalty: float) -> Ints:
    """Make the best exchange until none saves; then repeatedly perturb the layout and try again."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    layout = _FewCores(start, wiring, board, penalty if board.is_strict else 0.0)
    rng = np.random.default_rng(seed)
    least = layout.descend(deadline)
    best = layout.at.copy()
    near = 2 * wiring.n_cores  # places in the order of their distance from the start
    for _ in range(min(_MOST_KICKS, 12 * wiring.n_cores) if wiring.n_cores > 2 else 0):
        if deadline.is_over:
            break
        for core in rng.integers(0, wiring.n_cores, 3):
            places = layout.places_for(core)
            places = places[places < near]
            if len(places):
                layout.exchange(int(core), int(rng.choice(places)))
        found = layout.descend(deadline)
        if found < least - layout.tolerance:
            best, least = layout.at.copy(), found
        else:
            layout.go_to(best)
    return layout.places[best]


class _FewCores:
    """A layout being improved; a place is an index into ``places``."""

    def __init__(self, start: Ints, wiring: Wiring, board: Board, penalty: float) -> None:
        y, x = np.nonzero(board.usable)
        places = np.stack([x, y], axis=1).astype(np.int64)
        near = np.full(len(places), np.iinfo(np.int64).max)
        for place in start:  # core by core: a board may have a million places
            near = np.minimum(near, np.abs(places - place).sum(axis=1))
        nearest = np.argsort(near, kind="stable")[:_PLACES]
        self.places = places[nearest]  # those of the start come first, as they are at distance 0
        number = np.full((board.rows, board.columns), -1, np.int64)
        number[self.places[:, 1], self.places[:, 0]] = np.arange(len(self.places))
        self._penalty = penalty
        # 256 places at most: distances between all of them are looked up, not computed anew in every step
        along_x, along_y = board.along_x[self.places[:, 0]], board.along_y[self.places[:, 1]]
        self._apart: Floats = np.abs(along_x[:, None] - along_x) + np.abs(along_y[:, None] - along_y)
        self._weight: Floats = np.asarray(wiring.matrix().toarray(), np.float64)
        low, high = board.regions[:, None, :2], board.regions[:, None, 2:]
        self._wired = np.asarray(self._weight > 0, np.float64)
        inside: NDArray[np.bool_] = (low <= self.places) & (self.places <= high)
        forbidden = np.asarray(~inside.all(axis=2))
        self._forbidden = forbidden if forbidden.any() else None
        self._feeds = np.zeros(self._weight.shape)
        self._feeds[wiring.source, wiring.target] = 1.0
        if penalty:
            # whether the route between any two places is blocked, and by how many cores it exceeds the reach
            k = len(self.places)
            ways = np.repeat(self.places, k, axis=0), np.tile(self.places, (k, 1))
            self._blocked: Floats = board.blocked(*ways).reshape(k, k).astype(np.float64)
            excess = np.maximum(np.abs(ways[0] - ways[1]) - board.reach, 0).sum(axis=1)
            self._excess: Floats = excess.reshape(k, k).astype(np.float64)
        self._cores = np.arange(len(start))
        self.go_to(number[start[:, 1], start[:, 0]])
        self.tolerance = 1e-9 * (1.0 + float(self._weight.sum()))

    def go_to(self, at: Ints) -> None:
        """Switch to another layout, given as the place of every core."""
        self.at = at.copy()

    def places_for(self, core: int) -> Ints:
        """List the places a core may swap with."""
        possible = np.ones(len(self.places), np.bool_)
        possible[self.at[core]] = False
        if self._forbidden is not None:
            possible &= ~self._forbidden[core]
            possible[self.at[self._forbidden[:, self.at[core]]]] = False
        return np.flatnonzero(possible)

    def exchange(self, core: int, place: int) -> None:
        """Move a core to a place, and any core there to the first core's old place."""
        other = np.flatnonzero(self.at == place)
        self.at[other] = self.at[core]
        self.at[core] = place

    def descend(self, deadline: Deadline) -> float:
        """Take the best exchange while one saves; return the cost."""
        while True:
            changes = self.changes()
            best = int(changes.argmin())
            core, place = divmod(best, len(self.places))
            if not changes[core, place] < -self.tolerance or deadline.is_over:
                break
            self.exchange(core, place)
        return self.cost()

    def cost(self) -> float:
        """Cost of the layout."""
        return float(self._prices()[self._cores, self.at].sum() / 2)

    def changes(self) -> Floats:
        """Cost change of exchanging each core with each place, shape (n_cores, places); infinite if not allowed."""
        at, cores, forbidden = self.at, self._cores, self._forbidden
        prices = self._prices()
        there = prices[:, at]
        now: Floats = there.diagonal()
        change: Floats = prices - now[:, None]
        # an exchanged pair stays as far apart as it was, but its own routes reverse
        theirs: Floats = there.T - now + self._pairs()
        if forbidden is not None:
            theirs[forbidden[:, at].T] = np.inf
        theirs[cores, cores] = np.inf
        change[:, at] += theirs
        if forbidden is not None:
            change[forbidden] = np.inf
        return change

    def _prices(self) -> Floats:
        """Cost of every core at every place if the others stay, shape (n_cores, places)."""
        prices: Floats = self._weight @ self._apart[self.at]
        if self._penalty:
            faults = self._feeds @ self._blocked[:, self.at].T + self._feeds.T @ self._blocked[self.at]
            prices += self._penalty * (faults + self._wired @ self._excess[self.at])
        return prices

    def _pairs(self) -> Floats:
        """Cost of every pair of cores as placed plus with their places exchanged, shape (n_cores, n_cores)."""
        at = self.at
        price: Floats = 2 * self._weight * self._apart[at[:, None], at]
        if self._penalty:
            blocked = self._blocked[at[:, None], at]
            either_way = (self._feeds + self._feeds.T) * (blocked + blocked.T)
            price += self._penalty * (either_way + 2 * self._wired * self._excess[at[:, None], at])
        return price


# Time limit and progress reports of a placement.
@dataclass(frozen=True)
class Deadline:
    """Deadline and progress callback."""

    at: float | None = None  # reading of ``time.monotonic`` after which nothing new is begun; ``None`` for never
    progress: Progress | None = None  # called with parts done, parts in all (about), and what is being done

    @classmethod
    def after(cls, seconds: float | None, progress: Progress | None = None) -> Deadline:
        """Return the deadline ``seconds`` from now; no deadline if ``None``."""
        return cls(None if seconds is None else time.monotonic() + seconds, progress)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.at is not None and time.monotonic() >= self.at

    def left_s(self) -> float:
        """Seconds that are left; infinite without a deadline."""
        return np.inf if self.at is None else self.at - time.monotonic()

    def of_round(self, number: int, of: int, share: float) -> Deadline:
        """Return the deadline of one of several rounds, which reports its part of the progress."""

        def tell(done: int, total: int, text: str) -> None:
            self.tell(number * total + done, of * total, text)

        return Deadline.after(None if self.at is None else share * self.left_s(), tell)

    def tell(self, done: int, total: int, text: str) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(min(done, total), total, text)


# The graph to place: how many targets each core has in each other core.
FORWARD, BACKWARD = 1, 2


@dataclass(frozen=True, eq=False)
class Wiring(ReadOnly, Value):
    """Cores and the wired pairs of different cores, each pair once per direction."""

    n_cores: int
    # source, target: (pairs,): pairs of different cores with wires from the first to the second
    source: Ints
    target: Ints
    # (n_cores + 1,): row pointers: the neighbours of core c are entries ``start[c]`` to ``start[c + 1]`` of the next
    # three
    start: Ints
    neighbour: NDArray[np.int32]  # (entries,)
    weight: NDArray[np.float64]  # (entries,): wires between the core and its neighbour, both directions together
    # (entries,): ``FORWARD`` if wires lead to the neighbour, ``BACKWARD`` if they come from it, the sum of both for
    # both
    direction: NDArray[np.uint8]

    def matrix(self) -> sparse.csr_array:
        """Make the symmetric sparse array of all weights, shape (n_cores, n_cores)."""
        shape = (self.n_cores, self.n_cores)
        return sparse.csr_array((self.weight, self.neighbour, self.start), shape=shape)


def wiring(n_cores: int, wires: tuple[Ints, Ints]) -> Wiring:
    """Add up wires; those within a core cost nothing and are left out."""
    source, target = (np.asarray(ends) for ends in wires)
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(f"wires: found shapes {source.shape} and {target.shape}; needs one source and target per wire")
    for ends in (source, target):
        if len(ends) and not (ends.min() >= 0 and ends.max() < n_cores):
            wrong = int(ends.min() if ends.min() < 0 else ends.max())
            raise InputError(f"wires: found core {wrong}; allowed are 0 to {n_cores - 1}")
    ones = np.ones(len(source), np.float64)
    wires_32 = (source.astype(np.int32), target.astype(np.int32))
    directed = sparse.coo_array((ones, wires_32), shape=(n_cores, n_cores)).tocsr()
    directed.setdiag(0)
    directed.eliminate_zeros()
    pairs = directed.tocoo()
    flags = directed.copy()
    flags.data = np.full(flags.nnz, FORWARD, np.float64)
    both = (directed + directed.T).tocsr()
    flags = (flags + BACKWARD * flags.T).tocsr()
    both.sort_indices()
    flags.sort_indices()
    return Wiring(
        n_cores,
        pairs.row.astype(np.int64),
        pairs.col.astype(np.int64),
        both.indptr.astype(np.int64),
        both.indices.astype(np.int32),
        both.data.astype(np.float64),
        flags.data.astype(np.uint8),
    )


# The board: usable places, the distances between them, and blocked routes.


Region = tuple[int, int, int, int]
# Maximum number of pairs of places whose routes are all checked if a layout has blocked ones; takes a second or two.
MOST_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Board(ReadOnly, Value):
    """A board of chips as placement sees it."""

    usable: NDArray[np.bool_]  # (rows, columns): indexed ``[y, x]``
    # along_x, along_y: (columns,), (rows,): coordinates whose differences are route costs along the axis: one per hop,
    # plus the boundary cost for every chip boundary
    along_x: NDArray[np.float64]
    along_y: NDArray[np.float64]
    reach: Ints  # (2,): farthest target along x and y; the size of the board where unlimited
    regions: Ints  # (n_cores, 4): least x, least y, greatest x, greatest y of every core
    is_pinned: NDArray[np.bool_]  # (n_cores,): whether the region is smaller than the board
    # dead_along_x, dead_along_y: prefix sums of dead routers and links
    # (:class:`neuromap.hardware.chip.chip_spec.DefectMap`)
    dead_along_x: NDArray[np.int32]
    dead_along_y: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """Cores along y."""
        return int(self.usable.shape[0])

    @property
    def columns(self) -> int:
        """Cores along x."""
        return int(self.usable.shape[1])

    @property
    def is_strict(self) -> bool:
        """Whether some routes may be out of reach or blocked by defects."""
        blocked = bool(self.dead_along_x[:, -1].any() or self.dead_along_y[:, -1].any())
        return blocked or bool(self.reach[0] < self.columns - 1 or self.reach[1] < self.rows - 1)

    def blocked(self, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Mark the x-then-y routes between places of shape (k, 2) that meet a dead router or link."""
        return meet_defects(self.dead_along_x, self.dead_along_y, start, end)


def best_reached(board: Board) -> NDArray[np.bool_] | None:
    """Find the places reachable from the place that reaches most."""
    # returns usable places, the starting one included; ``None`` if no place is usable or there are more than
    # ``MOST_PAIRS`` pairs of places
    # shapes: returns (rows, columns)
    y, x = np.nonzero(board.usable)
    places = np.column_stack([x, y])
    if not 0 < len(places) ** 2 <= MOST_PAIRS:
        return None
    reached = (~board.blocked(np.broadcast_to(one, places.shape), places) for one in places)
    best = max(reached, key=lambda free: int(free.sum()))
    found = np.zeros_like(board.usable)
    found[y[best], x[best]] = True
    return found


def board_for(
    n_cores: int, chip: ChipSpec, regions: Sequence[Region | None] | None, *, by_tiles: bool = False
) -> Board:
    """Describe the board of a chip to the placers."""
    # by_tiles: count hops between tiles, and without regions use as few tiles as hold the cores
    columns, rows = chip.columns, chip.rows
    whole = (0, 0, columns - 1, rows - 1)
    bounds = np.tile(np.array(whole, np.int64), (n_cores, 1))
    if regions is not None:
        if len(regions) != n_cores:
            raise InputError(f"regions: found {len(regions)} for {n_cores} cores; needs one entry per core")
        for core, region in enumerate(regions):
            if region is None:
                continue
            fits = len(region) == 4 and all(isinstance(part, int | np.integer) for part in region)
            if not fits or not (0 <= region[0] <= region[2] < columns and 0 <= region[1] <= region[3] < rows):
                raise InputError(
                    f"region of core {core}: found {tuple(region)}; allowed is (x0, y0, x1, y1), both corners inside, "
                    f"with 0 <= x0 <= x1 <= {columns - 1} and 0 <= y0 <= y1 <= {rows - 1}"
                )
            bounds[core] = region
    defects, tile = defect_map(chip), chip.tile if by_tiles else (1, 1)
    boundary_cost = chip.router.get("boundary_hops", 0.0)
    usable = ~defects.unusable
    return Board(
        usable=few_tiles(usable, n_cores, chip) if by_tiles and regions is None else usable,
        along_x=_stretched(columns, chip.cores[0], tile[0], boundary_cost),
        along_y=_stretched(rows, chip.cores[1], tile[1], boundary_cost),
        reach=np.array(chip.reach if chip.reach is not None else (columns, rows), np.int64),
        regions=bounds,
        is_pinned=(bounds != whole).any(axis=1),
        dead_along_x=defects.along_x,
        dead_along_y=defects.along_y,
    )


def few_tiles(usable: NDArray[np.bool_], n_cores: int, chip: ChipSpec) -> NDArray[np.bool_]:
    """Keep the fewest tiles that hold the cores, near the middle of the board, as the tick barrier waits for each."""
    # shapes: usable, returns (rows, columns)
    y, x = np.nonzero(usable)
    columns, rows = chip.routers
    tile = (y // chip.tile[1]) * columns + x // chip.tile[0]
    size = np.bincount(tile, minlength=columns * rows)
    across, along = np.arange(columns) - (columns - 1) / 2, np.arange(rows) - (rows - 1) / 2
    distance = (np.abs(along)[:, None] + np.abs(across)).ravel()
    order = np.lexsort((distance, -size))
    enough = int(np.searchsorted(np.cumsum(size[order]), n_cores)) + 1
    kept = np.zeros_like(usable)
    mine = np.isin(tile, order[:enough])
    kept[y[mine], x[mine]] = True
    return kept


def _stretched(n: int, of_one_chip: int, of_one_tile: int, boundary_cost: float) -> NDArray[np.float64]:
    index = np.arange(n)
    return np.asarray(index // of_one_tile + boundary_cost * (index // of_one_chip), np.float64)


# Exchange cores until no exchange saves, or until every target can be reached.


# Starting temperatures, relative to the root mean square cost change of a random exchange, and shares of the work.
#
# A cold start keeps the large-scale structure of a good layout, a hot one loses it: which is better depends on the
# graph.
_ROUNDS = ((1 / 100, 0.25), (1 / 32, 0.5), (1 / 8, 1.0))
_LARGE_ROUNDS = ((1 / 32, 1.0),)
_REPAIR_HEAT, _REPAIR_SHARE = 1 / 32, 0.5
# With at most this many proposals per core and temperature, there is at most one round.
_FEW_PROPOSALS = 8
# With so few proposals, there is no round at all if more than this share of the pairs of cores is wired.
#
# A core wired to so many has no place much better than others: on 3,200 cores with two thirds of the pairs wired,
# annealing saves 0.3 % of the hops that a descent leaves, and takes three times as long.
_MOST_WIRED = 1 / 4


def exchange(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Improve a layout, ignoring reach and blocked routes."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    if not len(wiring.neighbour) or deadline.is_over:
        return start
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=0.0)
    per_core = proposals_per_core(wiring)
    rounds: tuple[tuple[float, float], ...] = _ROUNDS
    if per_core <= _FEW_PROPOSALS:
        rounds = () if len(wiring.neighbour) > _MOST_WIRED * wiring.n_cores**2 else _LARGE_ROUNDS
    best, least = start, cost(start, wiring, board) if rounds else 0.0
    for number, (heat, share) in enumerate(rounds):
        if deadline.is_over:
            break
        work_left = sum(later for _, later in rounds[number:])
        layout = ManyCores(start, wiring, board)
        layout.anneal(seed, deadline.of_round(number, len(rounds), share / work_left), heat, share * per_core)
        layout.descend(deadline)
        found = cost(layout.where, wiring, board)
        if found < least:
            best, least = layout.where, found
    if best is start:
        layout = ManyCores(start, wiring, board)
        layout.descend(deadline)
        best = layout.where
    return best


def repair(start: Ints, wiring: Wiring, board: Board, *, seed: int, deadline: Deadline) -> Ints:
    """Exchange cores so that every target is within reach and no route is blocked, as far as possible."""
    # shapes: start (n_cores, 2); returns (n_cores, 2)
    degree = np.add.reduceat(np.append(wiring.weight, 0.0), wiring.start[:-1])[np.diff(wiring.start) > 0]
    # one fault costs more than any exchange can save in route cost
    dear = 2.0 * float(degree.max()) * float(board.along_x[-1] + board.along_y[-1] + 1) + 1
    if wiring.n_cores <= FEW_CORES:
        return improve_few(start, wiring, board, seed=seed, deadline=deadline, penalty=dear)
    layout = ManyCores(start, wiring, board, dear)
    layout.descend(deadline)
    if faults(layout.where, wiring, board):
        # at so high a penalty nothing moves; one close to the route cost lets the layout cross a ridge
        layout = ManyCores(layout.where, wiring, board, float(degree.mean()))
        layout.anneal(seed, deadline, _REPAIR_HEAT, _REPAIR_SHARE * proposals_per_core(wiring))
        layout = ManyCores(layout.where, wiring, board, dear)
        layout.descend(deadline)
    return layout.where


# Exchanges of many cores, compiled: simulated annealing, and a descent to a local optimum.
#
# The annealing follows VPR (Betz and Rose, FPL 1997): the acceptance rate sets the cooling, and the range of proposed
# places shrinks so that this rate stays near 44 %. Some places are drawn near a neighbour of the core, where it is
# likely to fit well. Work grows with cores times their degree, not with the square of the cores.
Singles = NDArray[np.float32]
_WANTED_RATE = 0.44
# Lowest temperature, relative to the mean cost of a pair.
_COLDEST = 0.02
# Approximate number of temperatures of an annealing.
_STAGES = 85
# Approximate limit on the pair terms that an annealing computes; a minute or two on one thread.
_MOST_TERMS = 6e9
# Proposals per core and temperature.
_LEAST_PROPOSALS, _MOST_PROPOSALS = 2, 100
# Share of the remaining time that an annealing uses; the descent after it takes the rest.
_USABLE_TIME = 0.8
_MOST_SWEEPS = 200
# Maximum number of pairs of cores for which a table of all weights is kept: 128 MiB.
_MOST_TABLED = 2**25
# Share of wired pairs from which adding up all pairs is faster than looking up the wired ones.
_DENSE = 1 / 32
# 32-bit floats represent all whole numbers up to this.
_EXACT = 2**24


def proposals_per_core(wiring: Wiring) -> float:
    """Exchanges to propose per core at each temperature, which bounds the work of an annealing."""
    entries = max(wiring.n_cores, len(wiring.neighbour))
    return float(np.clip(_MOST_TERMS / (_STAGES * 2 * entries), _LEAST_PROPOSALS, _MOST_PROPOSALS))


class ManyCores:
    """A layout being improved, in the arrays of the compiled code."""

    # where: (n_cores, 2): x and y of every core

    def __init__(self, where: Ints, wiring: Wiring, board: Board, penalty: float = 0.0) -> None:
        from neuromap.compiling import announced
        from neuromap.mapping.place.exchange_kernel import UNUSABLE, VACANT, compiled

        self._kernels, self._announced = compiled(), announced
        self._wiring, self._board = wiring, board
        self.where = np.array(where, np.int64)
        along = np.stack([board.along_x[where[:, 0]], board.along_y[where[:, 1]]], axis=1)
        occupant = np.where(board.usable, VACANT, UNUSABLE)
        occupant[where[:, 1], where[:, 0]] = np.arange(len(where))
        graph = (wiring.start, wiring.neighbour, wiring.weight, wiring.direction)
        axes = (board.along_x, board.along_y)
        limits = (int(board.reach[0]), int(board.reach[1]), board.dead_along_x, board.dead_along_y)
        penalty = penalty if board.is_strict else 0.0
        self._table = _table(wiring, board) if not penalty else np.zeros((0, 0), np.float32)
        dense = (self._table, np.ascontiguousarray(along.T, np.float32))
        self._arrays = (graph, dense, axes, limits, penalty, self.where, along, occupant, board.regions)

    def anneal(self, seed: int, deadline: Deadline, heat: float, per_core: float) -> None:
        """Anneal, with ``per_core`` proposals per core and temperature; ``heat`` sets the first temperature."""
        wiring, n = self._wiring, self._wiring.n_cores
        text = f"placing {n} cores"
        state = np.array([seed], np.uint64)
        radius = max(self._board.columns, self._board.rows)
        proposals = max(1, round(per_core * n))
        possible, _, _, squares = self._propose(np.inf, radius, n, state)
        temperature = heat * np.sqrt(squares / max(1, possible))
        now = cost(self.where, wiring, self._board)
        reach, stage, begun = float(radius), 0, time.monotonic()
        while temperature > _COLDEST * now / (len(wiring.neighbour) / 2) and not deadline.is_over:
            deadline.tell(stage, _STAGES, text)
            possible, made, change, _ = self._propose(temperature, max(1, round(reach)), proposals, state)
            rate = made / max(1, possible)
            now, stage = now + change, stage + 1
            if stage == 1 and deadline.at is not None:
                took = time.monotonic() - begun
                proposals = max(1, int(proposals * min(1.0, _USABLE_TIME * deadline.left_s() / (_STAGES * took))))
            reach = min(max(1.0, reach * (1 - _WANTED_RATE + rate)), radius)
            temperature *= _cooling(rate, reach)
        deadline.tell(_STAGES, _STAGES, text)

    def _propose(self, temperature: float, radius: int, proposals: int, state: NDArray[np.uint64]) -> Any:
        with self._announced("the placement for this processor"):
            return self._kernels.anneal(*self._arrays, float(temperature), radius, proposals, state)

    def descend(self, deadline: Deadline) -> None:
        """Exchange cores until no exchange saves."""
        ways = np.zeros((2, max(self._board.columns, self._board.rows)))
        # every core at every column and every row; empty without a table
        n, axes = len(self._table), (self._board.along_x, self._board.along_y)
        prices = np.zeros((n, 2, max(len(axes[0]), len(axes[1]))), np.float32)
        for number, axis in enumerate(axes if n else ()):
            away = np.abs(axis[self.where[:, number], None] - axis).astype(np.float32)
            prices[:, number, : len(axis)] = self._table @ away
        tolerance = 1e-9 * (1.0 + cost(self.where, self._wiring, self._board) / self._wiring.n_cores)
        for sweep in range(_MOST_SWEEPS):
            deadline.tell(sweep, _MOST_SWEEPS, f"exchanging {self._wiring.n_cores} cores")
            with self._announced("the placement for this processor"):
                saved = self._kernels.descend(*self._arrays, prices, ways, tolerance)
            if not saved or deadline.is_over:
                break


def _table(wiring: Wiring, board: Board) -> Singles:
    """Weights of all pairs of cores, where that is quicker and exact; else empty."""
    n = wiring.n_cores
    whole = all((np.mod(values, 1.0) == 0.0).all() for values in (wiring.weight, board.along_x, board.along_y))
    if not whole or n * n > _MOST_TABLED or len(wiring.neighbour) < _DENSE * n * n:
        return np.zeros((0, 0), np.float32)
    degree = wiring.matrix().sum(axis=1).max()
    if 4 * degree * (board.along_x[-1] + board.along_y[-1]) >= _EXACT:
        return np.zeros((0, 0), np.float32)
    return np.asarray(wiring.matrix().astype(np.float32).toarray())


def _cooling(rate: float, reach: float) -> float:
    """Cooling factor, from the acceptance rate and the range of proposals."""
    if rate > 0.96:
        return 0.5
    if rate > 0.8:
        return 0.9
    return 0.95 if rate > 0.15 or reach > 1 else 0.9


# Cost of a layout: the length of its routes, and the pairs of cores left without a legal one.


@dataclass(frozen=True)
class Faults:
    """What makes a layout illegal."""

    far: tuple[int, int]  # greatest distance along x and y between wired cores
    too_far: int  # pairs of cores farther apart than a spike reaches
    blocked: int  # pairs of cores whose route meets a dead router or link

    def __bool__(self) -> bool:
        return bool(self.too_far or self.blocked)


def cost(where: Ints, wiring: Wiring, board: Board) -> float:
    """Add up the route cost of all wires: hops and chip boundaries."""
    # shapes: where (n_cores, 2)
    if not len(wiring.neighbour):
        return 0.0
    x, y = board.along_x[where[:, 0]], board.along_y[where[:, 1]]
    core = rows_of_entries(wiring.start)
    way = np.abs(x[core] - x[wiring.neighbour]) + np.abs(y[core] - y[wiring.neighbour])
    return float(wiring.weight @ way) / 2


def faults(where: Ints, wiring: Wiring, board: Board) -> Faults:
    """Count the pairs of cores that a layout cannot wire."""
    # shapes: where (n_cores, 2)
    if not len(wiring.source):
        return Faults((0, 0), 0, 0)
    start, end = where[wiring.source], where[wiring.target]
    way = np.abs(start - end)
    too_far = int((way > board.reach).any(axis=1).sum())
    blocked = int(board.blocked(start, end).sum())
    return Faults((int(way[:, 0].max()), int(way[:, 1].max())), too_far, blocked)
