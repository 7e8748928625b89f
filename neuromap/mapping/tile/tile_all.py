"""Tile all populations of a network, from the outputs backwards; on cycles, until the copies suffice.

A source needs one copy per axon that it feeds, so the tiling of a population depends on the tiles of its readers. On
cycles the copies are iterated: tiled anew a few times, then only split where a core is too full, then refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_model import CrossbarCore
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import Legalised, Link, Sources
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.mapping.tile.tile import Planner, Tile, pinned_populations
from neuromap.mapping.tile.tilings import MappingContext


def refuse_growth(network: Legalised, growth: CycleGrowth) -> DoesNotFitError:
    """Refuse a cycle on which every core asks for more copies than it holds, however it is tiled."""
    node = _node_of(network, growth.worst)
    demand = max(math.ceil(growth.asked), growth.room + 1)  # as many as it holds, and one to be read
    of_each = growth.asked >= growth.room
    each, has = ("every core asks", "has") if of_each else ("cores ask, on balance,", "have")
    text = (
        f"copies cannot settle: on its cycle {each} for {demand} copies or more and {has} room for "
        f"{growth.room}, so that no number of cores is enough"
    )
    return refuse("copies", node, demand, growth.room, text, [_smaller(node)])


def refuse_cores(
    network: Legalised, used: Mapping[int, int], chip: ChipSpec, *, given_up: bool = False
) -> DoesNotFitError:
    """Refuse a network that takes more cores than there are."""
    largest = max(used, key=lambda i: used[i])
    needed = sum(used.values())
    part = f"{used[largest]} for its largest part, {network.populations[largest].name}"
    more = "more than " if given_up else ""
    text = f"the network needs {more}{count_cores(needed)} ({part}), {chip.name} has {chip.n_usable_cores}"
    value = None if given_up else needed
    remedy = Remedy("chip.cores", value, f"a chip or board of {more}{count_cores(needed)} would do")
    return refuse("cores", _node_of(network, largest), needed, chip.n_usable_cores, text, [remedy])


def _smaller(node: str) -> Remedy:
    return Remedy("size", None, f"fewer neurons or edges around {node}, or larger cores, may fit")


def _node_of(network: Legalised, population: int) -> str:
    """Name the node that a population belongs to; for relays and splitters, the one whose spikes they carry."""
    return network.ports[network.populations[population].node].name


# Whether copies on a cycle can settle at all, and a lower bound on their cores: found before they are iterated.
#
# Let a tile of population q, whichever its neurons are, read p of the same cycle with ``A[q, p]`` axons at least.
# Then T[q] tiles ask p for ``sum_q T[q] A[q, p]`` copies or more, besides those that p owes elsewhere. It holds ``N
# T[p]``, with N neurons in a core. So ``N T >= own + A' T``: the spectral radius of A is below N (else the
# eigenvector of A that is not negative weighs more copies asked for than held), and then T is at least ``(N - A')^-1
# own`` (docs/mapping.md).


# Maximum number of neurons of a cycle that are each planned alone; with more, a source counts as one axon.
MOST_PLANNED = 512
# Spectral radius, as a share of a core's neurons, from which the neurons of a cycle are examined one by one.
NEAR = 0.5
# Margin for floating-point error in a spectral radius or a sum of cores.
ROUNDING = 1e-6


class CycleGrowth(NamedTuple):
    """How copies grow on a cycle."""

    worst: int  # the population whose cores ask for most copies
    asked: float  # copies that a core on the cycle asks for at least, on balance: the spectral radius
    room: int  # neurons of a core
    cores: float  # cores' worth of copies that the cycle takes at least; infinite where copies cannot settle

    @property
    def settles(self) -> bool:
        """Whether copies may settle."""
        return bool(np.isfinite(self.cores))


def cycle_growth(
    network: Legalised,
    sources: Sequence[Sources],
    copies: Mapping[int, Ints],
    own: Mapping[int, Ints],
    core: CrossbarCore,
) -> CycleGrowth:
    """Bound the copies that a cycle asks of itself."""
    # copies: fewest copies of the neurons of every population of the cycle; those with 0 are left out
    # shapes: copies (n,); own (n,)
    members = [i for i, needed in copies.items() if needed.any()]
    alone = sum(int(np.count_nonzero(copies[i])) for i in members) <= MOST_PLANNED
    planned_on = core if alone else None
    rows = [
        _least_axons(sources[i], network.populations[i].threshold, np.flatnonzero(copies[i]), members, planned_on)
        for i in members
    ]
    asked = np.array(rows, np.float64).reshape(len(members), len(members))
    radius = float(np.abs(np.linalg.eigvals(asked)).max(initial=0.0))
    worst = members[int(np.argmax(asked.sum(axis=1)))]
    if radius > core.neurons + ROUNDING or (len(members) == 1 and radius >= core.neurons):
        return CycleGrowth(worst, radius, core.neurons, np.inf)
    if radius >= core.neurons - ROUNDING:  # too close to tell
        return CycleGrowth(worst, radius, core.neurons, 0.0)
    owed = np.array([own[i].sum() for i in members], np.float64)
    tiles = np.linalg.solve(core.neurons * np.eye(len(members)) - asked.T, owed)
    cores = float(tiles.sum()) * (1 - ROUNDING)
    if alone and radius >= NEAR * core.neurons:
        needed = {i: copies[i] for i in members}
        cores = max(cores, least_cores_of_neurons(sources, needed, own, core))
    return CycleGrowth(worst, radius, core.neurons, cores)


def _least_axons(
    sources: Sources, threshold: Ints, neurons: Ints, members: Sequence[int], core: CrossbarCore | None
) -> Ints:
    """Bound the axons by which a tile of a population reads each member of its cycle: the least over its neurons."""
    # core: on which each neuron is planned alone, where its weights may take several axons
    member_of_link = _by_source(sources, {population: k for k, population in enumerate(members)})
    counts = []
    for n in neurons.tolist():
        span = slice(sources.matrix.indptr[n], sources.matrix.indptr[n + 1])
        columns, weights = sources.matrix.indices[span], sources.matrix.data[span]
        if core is not None and not core.has_axon_per_weight(np.unique(weights)):
            plan = core.plan(weights.astype(np.int64)[None, :], threshold[[n]])
            if plan is not None:
                columns = columns[plan.source[plan.source != BIAS]]
        member = member_of_link[sources.link_of[columns]]
        counts.append(np.bincount(member[member >= 0], minlength=len(members)))
    least: Ints = np.min(counts, axis=0)
    return least


def _by_source(sources: Sources, numbers: Mapping[int, int]) -> Ints:
    """Return the number of the population that each link comes from, -1 for others and for the host."""
    return np.array([numbers.get(k.source, -1) if isinstance(k, Link) else -1 for k in sources.links], np.int64)


# Whether copies on a cycle can settle, neuron by neuron: sharper than by populations, where neurons differ.
#
# Let C[n] be the copies of neuron n of the cycle, and N the neurons of a core. A tile asks for at least as many axons
# as each of its neurons takes alone, hence for their mean, weighted by copies: neuron m accounts for ``a[m] C[m] /
# N`` axons of tiles that hold it, and for ``C[m] / N`` of each source that it reads. So the copies of all neurons are
# at least those owed elsewhere and ``sum_m a[m] C[m] / N``, and those of n at least its own and ``C[m] / N`` summed
# over its readers m. The least sum C that does both is a linear program; where it has no solution, copies never
# settle.
#
# A solver (HiGHS, in floating point) proposes multipliers y >= 0 of these demands, and whole numbers decide: N times
# the program has whole coefficients A, and with demands b all copies are at least b'y where A'y <= N for every
# neuron; where A'y <= 0 and b'y > 0, no number is enough. Multipliers that do not pass prove nothing, and no bound is
# reported.
# Maximum number of synapses on the cycle for which the program is solved; takes some seconds.
MOST_READS = 60_000
# Multipliers are multiples of the greatest divided by this, so that their sums fit 64 bits.
_SCALE = 1 << 30


def least_cores_of_neurons(
    sources: Sequence[Sources], copies: Mapping[int, Ints], own: Mapping[int, Ints], core: CrossbarCore
) -> float:
    """Bound the cores of a cycle from below."""
    # returns cores' worth of copies; infinite if no number is enough, 0 if the cycle has too many synapses to tell
    # shapes: copies (n,); own (n,)
    from scipy.optimize import linprog  # slow to import

    reads = _reads_on_cycle(sources, copies)
    if reads.nnz > MOST_READS:
        return 0.0
    axons = np.array([_axons_alone(weights, core) for weights in np.split(reads.data, reads.indptr[1:-1])], np.int64)
    n = reads.shape[0]
    owed = np.concatenate([own[i] for i in copies]).astype(np.int64)
    demand = np.append(owed, owed.sum())
    held = core.neurons * np.vstack([np.eye(n, dtype=np.int64), np.ones((1, n), np.int64)])
    np.subtract.at(held, (reads.indices, np.repeat(np.arange(n), np.diff(reads.indptr))), 1)
    held[n] -= axons  # of every neuron, and of all together, for each copy; times the neurons of a core
    found: Any = linprog(np.ones(n), A_ub=-held / core.neurons, b_ub=-demand)
    if found.status == 2:  # infeasible, says the solver
        # the multipliers that say so, each with room for rounding: demand' y > 0, held' y below 0 by a part of y
        room = held.T + ROUNDING * core.neurons * np.hstack([np.eye(n), np.ones((n, 1))])
        ray: Any = linprog(-demand.astype(np.float64), A_ub=room, b_ub=np.zeros(n), bounds=(0, 1))
        is_proof = ray.status == 0 and _copies(held, demand, ray.x, 0) > 0
        return float(np.inf) if is_proof else 0.0
    if found.status != 0:
        return 0.0
    multipliers = np.maximum(-found.ineqlin.marginals, 0) * (1 - ROUNDING)
    return float(_copies(held, demand, multipliers, core.neurons) / core.neurons)


def _copies(held: Ints, demand: Ints, multipliers: Floats, price: int) -> Fraction:
    """Count the copies that multipliers prove, in whole numbers; 0 if they take more than ``price`` of a neuron."""
    greatest = Fraction(float(multipliers.max(initial=0.0)))
    if not greatest:
        return Fraction(0)
    whole = np.floor(np.maximum(multipliers, 0) / float(greatest) * _SCALE).astype(np.int64)
    taken = held.T @ whole  # at most 2^30 times a core's neurons and axons, and those times sources of a neuron
    part = greatest / _SCALE
    if int(taken.max(initial=0)) * part > price:
        return Fraction(0)
    return sum((int(d) * int(y) for d, y in zip(demand, whole, strict=True)), 0) * part


def _reads_on_cycle(sources: Sequence[Sources], copies: Mapping[int, Ints]) -> sparse.csr_array:
    """Return the weights from all neurons of a cycle to those of them that are needed; shape (n, n)."""
    *starts, n = np.cumsum([0, *(len(c) for c in copies.values())]).tolist()
    first = dict(zip(copies, starts, strict=True))
    rows = []
    for index, needed in copies.items():
        mine, start = sources[index], _by_source(sources[index], first)
        entries = mine.matrix.tocoo()
        at = start[mine.link_of[entries.col]]
        kept = (at >= 0) & (needed[entries.row] > 0)
        column = at[kept] + mine.neuron_of[entries.col[kept]]
        rows.append((entries.row[kept] + first[index], column, entries.data[kept]))
    row, column, weight = (np.concatenate(part) for part in zip(*rows, strict=True))
    order = np.lexsort((column, row))  # a source that is read at two delays takes an axon for each
    return sparse.csr_array((weight[order], column[order], np.searchsorted(row[order], np.arange(n + 1))), shape=(n, n))


def _axons_alone(weights: Ints, core: CrossbarCore) -> int:
    """Count the axons that weights take at least, each or several together."""
    if not len(weights) or core.has_axon_per_weight(np.unique(weights)):
        return len(weights)
    plan = core.plan(weights.astype(np.int64)[None, :], np.ones(1, np.int64))
    return len(weights) if plan is None else plan.n_axons


# Maximum number of rounds in which the copies of a cycle may settle.
ROUNDS = 40
# Rounds in which the nodes of a cycle are tiled anew; later, overfull tiles are split where possible.
ANEW = 4
# Successive rounds, each adding more copies than the one before, after which growth is extrapolated.
GROWING = 6
# One neuron of a core in this many is left free in the last round of ``ANEW``, and when a node is tiled anew later.
MARGIN = 16
# Multiple of the chip's cores at which tiling stops; below it, tiling goes on, so that a refusal can say how many would
# do.
HOPELESS = 2
# Cores below which tiling is fast enough to go on: packing may still reduce them a lot.
MANY = 4096


def tile_all(
    network: Legalised, sources: tuple[Sources, ...], chip: ChipSpec, context: MappingContext
) -> dict[int, list[Tile]]:
    """Tile every population so that all tiles are legal and hold the copies that their readers ask for."""
    tiler = _Tiler(network, sources, chip, context)
    count, done = len(network.populations), 0
    for members, is_cycle in _readers_first(network):
        for index in tiler.settle(members, is_cycle=is_cycle):
            context.tell(done, count, network.populations[index].name)
        done += len(members)
        context.tell(done, count, network.populations[members[-1]].name)
    return tiler.tiles


def _readers_first(network: Legalised) -> Iterator[tuple[list[int], bool]]:
    """Yield groups of populations on common cycles, readers before their sources, and whether each is a cycle."""
    graph = nx.DiGraph([(link.source, link.target) for link in network.links])
    graph.add_nodes_from(range(len(network.populations)))
    condensed = nx.condensation(graph)
    for group in reversed(list(nx.topological_sort(condensed))):
        members = sorted(condensed.nodes[group]["members"], reverse=True)
        yield members, bool(graph.subgraph(members).edges)


class _Tiler:
    """The tiles so far, and the copies asked of them."""

    def __init__(
        self, network: Legalised, sources: tuple[Sources, ...], chip: ChipSpec, context: MappingContext
    ) -> None:
        self.tiles: dict[int, list[Tile]] = {}
        options, self._tilings, self._budget = context.options, context.tilings, context.budget
        self._network, self._sources, self._chip, self._core = network, sources, chip, core_of(chip)
        self._pinned, self._packing = pinned_populations(network, options.pins), options.packing
        self._links_from: dict[int, list[Link]] = {}
        for link in network.links:
            self._links_from.setdefault(link.source, []).append(link)
        self._copies: dict[int, Ints] = {}  # the most asked for so far: these only grow, so that the iteration ends
        self._size: dict[int, float] = {}  # cores
        self._planners: dict[int, Planner] = {}  # of populations that are split; they cache the plans of earlier rounds
        self._hopeless = HOPELESS * (max(chip.n_cores, MANY) if options.packing else chip.n_cores)

    def settle(self, members: Sequence[int], *, is_cycle: bool) -> Iterator[int]:
        """Tile populations until all hold the copies asked of them; yield each one when it is done."""
        asked: list[int] = []
        for earlier_rounds in range(ROUNDS):
            settled = True
            for index in members:
                kept = self._tile(index, earlier_rounds)
                settled = settled and kept
                self._require_hope(index)
                yield index
            if settled or not is_cycle:
                return
            if earlier_rounds == 0:
                self._require_end(members)
            if earlier_rounds >= ANEW:
                asked.append(sum(int(self._copies[i].sum()) for i in members))
            growth = _extrapolated(asked, ROUNDS - 1 - earlier_rounds)
            # with single neurons in all tiles, nothing is left but to settle alone
            are_alone = all(len(tile.neurons) == 1 for i in members for tile in self.tiles[i])
            if (are_alone and self._pinned.isdisjoint(members)) or growth > self._hopeless * self._core.neurons:
                break
        if not self._settle_alone(members):
            raise self._refuse_circle(members, earlier_rounds + 1)

    def _settle_alone(self, members: Sequence[int]) -> bool:
        """Tile populations neuron by neuron, if their copies settle so and nothing is pinned."""
        if not self._pinned.isdisjoint(members):
            return False
        planners, own = {i: self._planner(i) for i in members}, {i: self._asked(i, members) for i in members}
        found = tile_alone(self._network, self._sources, planners, own, self._hopeless)
        if found is None:
            return False
        self.tiles |= found
        for index in members:
            self._copies[index] = self._asked(index)
            self._require_hope(index)
        return True

    def _tile(self, index: int, earlier_rounds: int) -> bool:
        """Update the tiles of a population in a round; return whether those that it had could be kept."""
        asked = self._asked(index)
        copies = np.maximum(asked, self._copies[index]) if index in self._copies else asked
        self._copies[index] = copies
        kept = _with_copies(self.tiles[index], copies, self._core) if index in self.tiles else None
        if kept is not None:
            self.tiles[index] = kept
            return True
        tiles = None
        if earlier_rounds >= ANEW and index not in self._pinned:
            tiles = split_overfull(self.tiles[index], copies, self._planner(index))
        if tiles is None:
            core = self._core
            if earlier_rounds >= ANEW - 1:  # this may be the last time
                core = replace(core, neurons=core.neurons - core.neurons // MARGIN)
            tiles = self._tilings.tile(self._network, index, self._sources[index], copies, core, self._budget)
        self.tiles[index] = tiles
        return False

    def _asked(self, index: int, but_for: Sequence[int] = ()) -> Ints:
        """Count the copies that are asked of every neuron: one where it is read out or kept, one per axon fed."""
        # but_for: readers that are left out
        copies = self._network.populations[index].own_copies
        for link in self._links_from.get(index, []):
            if link.target in but_for:
                continue
            if link.target in self.tiles:
                copies += axons_fed(link, self._sources[link.target], self.tiles[link.target])
            else:
                copies[np.unique(link.matrix.indices)] += 1
        return copies

    def _planner(self, index: int) -> Planner:
        if index not in self._planners:
            population, matrix = self._network.populations[index], self._sources[index].matrix
            self._planners[index] = Planner(index, population, matrix, self._core, self._tilings.alone)
        return self._planners[index]

    def _require_hope(self, index: int) -> None:
        """Raise the refusal of a network that takes far more cores than there are."""
        tiles = self.tiles[index]
        shares = self._packing and index not in self._pinned
        room = (self._core.axons, self._core.neurons)  # a tile takes a share of each, the greater of which counts
        fills = (max(tile.plan.n_axons / room[0], float(tile.copies.sum()) / room[1]) for tile in tiles)
        self._size[index] = sum(fills) if shares else len(tiles)
        if sum(self._size.values()) > self._hopeless:
            so_far = {i: math.ceil(size) for i, size in self._size.items()}
            raise refuse_cores(self._network, so_far, self._chip, given_up=True)

    def _require_end(self, members: Sequence[int]) -> None:
        """Raise the refusal of a cycle whose copies cannot settle, or only in far more cores than there are."""
        own = {i: self._asked(i, members) for i in members}
        copies = {i: self._copies[i] for i in members}
        growth = cycle_growth(self._network, self._sources, copies, own, self._core)
        if not growth.settles:
            raise refuse_growth(self._network, growth)
        if growth.cores > self._hopeless:
            least = {**{i: math.ceil(size) for i, size in self._size.items()}, growth.worst: math.ceil(growth.cores)}
            raise refuse_cores(self._network, least, self._chip, given_up=True)

    def _refuse_circle(self, members: Sequence[int], rounds: int) -> DoesNotFitError:
        """Refuse a cycle on which copies, axons and cores drive each other up."""
        asked = {i: int(self._asked(i).sum()) for i in members}
        held = {i: sum(int(tile.copies.sum()) for tile in self.tiles[i]) for i in members}
        worst = max(members, key=lambda i: asked[i] - held[i])
        node = _node_of(self._network, worst)
        demand = max(asked[worst], held[worst] + 1)  # else the next round would have settled it
        text = (
            f"copies did not settle in {rounds} rounds: its readers ask for {demand}, its cores hold {held[worst]}, "
            "and on its cycle every core more asks for more"
        )
        return refuse("copies", node, demand, held[worst], text, [_smaller(node)])


def _extrapolated(copies: Sequence[int], rounds: int) -> float:
    """Extrapolate copies over ``rounds`` rounds if each of the last added more than the one before; else 0."""
    added = np.diff(copies)[-GROWING - 1 :].astype(np.float64)
    if len(added) <= GROWING or not (np.diff(added) > 0).all() or added[0] <= 0:
        return 0.0
    growth = (added[-1] / added[0]) ** (1 / GROWING)
    return copies[-1] + float(added[-1] * (growth ** np.arange(1, rounds + 1)).sum())


def _with_copies(tiles: list[Tile], copies: Ints, core: CrossbarCore) -> list[Tile] | None:
    """Give tiles new copies; ``None`` if a core is too small for them or a neuron is missing."""
    missing = copies.copy()
    kept = []
    for tile in tiles:
        kept.append(take_copies(tile, missing, core.neurons))
        if kept[-1].copies.sum() > core.neurons:
            return None
    return kept if not missing.any() else None


# Split tiles whose neurons need more copies than their core holds, and leave all others as they are.
def split_overfull(tiles: Sequence[Tile], copies: Ints, planner: Planner) -> list[Tile] | None:
    """Give every neuron its copies, splitting tiles evenly into as many parts as that takes."""
    # returns ``None`` if a neuron has more copies than a core has neurons, is in two tiles or in none, or a part cannot
    # be planned
    # shapes: copies (n,)
    room = planner.core.neurons
    places = np.zeros(len(copies), np.int64)
    for tile in tiles:
        places[tile.neurons] += 1
    if (places > 1).any() or (places[copies > 0] == 0).any() or copies.max(initial=0) > room:
        return None
    found: list[Tile] = []
    for tile in tiles:
        share = copies[tile.neurons]
        parts = -(-int(share.sum()) // room)
        if parts <= 1:
            found.append(replace(tile, copies=share))
            continue
        pieces = _parts(tile.neurons, share, parts, room)
        for piece in pieces:
            part = planner.tile(piece, copies[piece])
            if part is None:
                return None
            found.append(part)
    return found


def _parts(neurons: Ints, share: Ints, parts: int, most: int) -> list[Ints]:
    """Cut a run of neurons into parts of about even load, none above ``most``."""
    even = int(share.sum()) / parts
    pieces, start, load = [], 0, 0
    for n, copies in enumerate(share.tolist()):
        if load + copies > most or load >= even:
            pieces.append(neurons[start:n])
            start, load = n, 0
        load += copies
    return [*pieces, neurons[start:]]


# The last resort on cycles: every neuron alone in cores of its own, in as many as its copies take.
#
# Tiles that shrink from round to round need more axons in total, hence more copies, and may seem to grow without end.
# They cannot shrink below single neurons, whose demand is soon known.
def tile_alone(
    network: Legalised,
    sources: Sequence[Sources],
    planners: Mapping[int, Planner],
    own: Mapping[int, Ints],
    most: float,
) -> dict[int, list[Tile]] | None:
    """Tile the populations of a cycle neuron by neuron."""
    # returns ``None`` if some neuron fits no core, or more than ``most`` cores are needed for the copies
    # shapes: own (n,)
    one = np.ones(1, np.int64)
    alone: dict[int, list[Tile]] = {}
    for i, planner in planners.items():
        tiles = (planner.tile(np.array([n]), one) for n in range(len(planner.population.neurons)))
        alone[i] = [tile for tile in tiles if tile is not None]
        if len(alone[i]) < len(planner.population.neurons):
            return None
    links = [link for link in network.links if link.source in planners and link.target in planners]
    # axons that every neuron of a link's source feeds in every tile, shape (tiles, n_source)
    fed: list[sparse.csr_array] = [
        sparse.csr_array(np.stack([axons_fed(link, sources[link.target], [tile]) for tile in alone[link.target]]))
        for link in links
    ]
    room = {i: planner.core.neurons for i, planner in planners.items()}
    cores = {i: np.zeros(len(tiles), np.int64) for i, tiles in alone.items()}  # of every neuron
    while True:
        copies = {i: own[i].copy() for i in planners}
        for link, axons in zip(links, fed, strict=True):
            copies[link.source] += axons.T @ cores[link.target]
        more = {i: -(-copies[i] // room[i]) for i in planners}
        if sum(int(number.sum()) for number in more.values()) > most:
            return None
        if all((more[i] == cores[i]).all() for i in planners):
            return {  # none where nothing asks for it; taking copies lowers those that are missing
                i: [
                    take_copies(tile, copies[i], room[i])
                    for tile, n in zip(alone[i], cores[i].tolist(), strict=True)
                    for _ in range(n)
                ]
                for i in planners
            }
        cores = more


def axons_fed(link: Link, reader: Sources, tiles: Iterable[Tile]) -> Ints:
    """Count the axons that every neuron of a link's source feeds."""
    # shapes: returns (n_source,)
    axons = np.zeros(link.matrix.shape[1], np.int64)
    place = reader.links.index(link)
    for tile in tiles:
        columns = tile.columns[tile.plan.source[tile.plan.source != BIAS]]
        np.add.at(axons, reader.neuron_of[columns[reader.link_of[columns] == place]], 1)
    return axons


def take_copies(tile: Tile, missing: Ints, most: Ints | int) -> Tile:
    """Set a tile's copies to the missing copies of its neurons, at most ``most``, and deduct them from ``missing``."""
    # shapes: missing (n,); most (neurons of the tile,)
    taken = np.minimum(most, missing[tile.neurons])
    missing[tile.neurons] -= taken
    return replace(tile, copies=taken)
