"""Bounds on mixed cores (crowds, their feeds, and copies), by linear programs with levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.neuron_capacity import Crowd
from neuromap.mapping.bounds.readers import ChipKey, Key
from neuromap.mapping.bounds.window_axons import areas
from neuromap.rollout.cycles.sequential_values import quiet_solver

# Approximate number of levels of all groups together.
LEVELS = 300


@dataclass(frozen=True, eq=False)
class Part(ReadOnly, Value):
    """Neurons of a population that are bounded together in a core: all, or some of which more is known."""

    population: int  # index among the mixture's populations
    rows: int  # number of these neurons
    copies: int  # fewest core neurons that one of them takes
    neurons: Ints  # (levels,): most neurons of each level
    axons: Ints  # (levels, feeds): fewest axons of every feed in a core of this level
    feeds: tuple[int, ...]  # feeds that the neurons read
    together: Ints  # (levels,): fewest axons of all of these in a core of this level


@dataclass(frozen=True, eq=False)
class Mixture(ReadOnly, Value):
    """All known constraints on a core's contents, and what all cores together need."""

    parts: tuple[Part, ...]  # population by population
    from_chip: Bools  # (feeds,): whether neurons feed the axons
    # (populations,): most copies of one neuron that count towards the demand; those of the population's first part
    # count
    most_copies: Ints
    # neurons of every part, copies of every population as far as they are spread evenly, axons of every feed, and the
    # neurons of cores beyond those that feed axons; columns and prices have the same order
    demand: Floats


def mixture_of(crowds: list[list[Crowd]], fed: FedAxons, read_out: int, chip: ChipSpec) -> Mixture:
    """Combine the bounds on all readers."""
    # fed: axons that are fed at least
    crowds = [some for some in crowds if some[0].need]
    keys = list(fed.of_feeds)
    levels = max(6, LEVELS // max(1, 2 * len(crowds)))
    parts = [
        _part(k, crowd, _least_copies(crowd, fed, chip), keys, levels)
        for k, some in enumerate(crowds)
        for crowd in _parts_of(some)
    ]
    even = [even_copies(_parts_of(some)[0], crowds, chip) for some in crowds]
    demand = [
        *(part.rows for part in parts),
        *(found.copies for found in even),
        *(fed.of_feeds[key] for key in keys),
        read_out + fed.relayed,
    ]
    return Mixture(
        tuple(parts),
        np.array([isinstance(key, ChipKey) for key in keys], bool),
        np.array([found.most for found in even], np.int64),
        np.array(demand, np.float64),
    )


def _parts_of(crowds: list[Crowd]) -> list[Crowd]:
    """Split a population into the neurons of which more is known, and all others."""
    is_apart = len(crowds) > 2 and crowds[-2].rows + crowds[-1].rows == crowds[0].rows
    return crowds[-2:] if is_apart else crowds[:1]


def _part(population: int, crowd: Crowd, copies: int, keys: list[Key], levels: int) -> Part:
    """Cut the curves into levels: each takes the axons of its first neuron and counts the neurons of its last."""
    nothing = np.zeros(crowd.room + 1, np.int64)
    axons = np.stack([crowd.need.get(key, nothing)[: crowd.room + 1] for key in keys], axis=1)
    both = np.column_stack([axons, crowd.together[: crowd.room + 1]])
    last = np.flatnonzero(np.append((np.diff(both[1:], axis=0) != 0).any(axis=1), True)) + 1
    if len(last) > levels:
        last = last[np.unique(np.linspace(0, len(last) - 1, levels).astype(np.int64))]
    first = np.concatenate([[1], last[:-1] + 1])
    feeds = tuple(k for k, key in enumerate(keys) if key in crowd.need)
    return Part(population, crowd.rows, copies, last, axons[first], feeds, crowd.together[first])


def _least_copies(crowd: Crowd, fed: FedAxons, chip: ChipSpec) -> int:
    """Count the axons of other cores that one of the neurons feeds by itself, at least; one or more."""
    population = crowd.reader.population
    copies = np.zeros(crowd.rows, np.int64)
    neurons = crowd.reader.neurons[crowd.which]
    for key, reads in fed.of_columns.items():
        if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
            copies += reads[neurons]
    return max(1, int(copies.min()))


# Copies that whole windows ask for, counted so that a few neurons with many copies cannot stand for all.
# Margin for a number that floating point may give slightly too high.
ROUNDING = 1e-6


class EvenCopies(NamedTuple):
    """Copies of all neurons of a population, counting at most ``most`` of each."""

    copies: int
    most: int


def even_copies(hosts: Crowd, crowds: list[list[Crowd]], chip: ChipSpec) -> EvenCopies:
    """Bound the copies that some neurons of a population have for axons that relays cannot feed."""
    # For every delay, at most as many copies of a neuron count as windows meet in it. docs/lower-bounds.md has the
    # proof.
    best: dict[Key, EvenCopies] = {}
    population = hosts.reader.population
    for crowd in (crowd for some in crowds for crowd in some):
        for key in crowd.windows:
            if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
                found = _of_crowd(hosts, crowd, key, chip)
                best[key] = max(best.get(key, found), found)
    return EvenCopies(sum(found.copies for found in best.values()), sum(found.most for found in best.values()))


def _of_crowd(hosts: Crowd, crowd: Crowd, key: Key, chip: ChipSpec) -> EvenCopies:
    """Take the best ratio of sources to positions that a core allows, less what others than the hosts may give."""
    windows = crowd.windows[key]
    most = min(chip.neurons, crowd.rows)
    together = np.sum([found.channels * areas(found, most) for found in crowd.windows.values()], axis=0)
    positions = max(1, int(np.flatnonzero(together <= chip.axons)[-1]))
    p = np.arange(1, positions + 1)
    rate = (windows.channels * areas(windows, most)[1 : positions + 1] / (p * windows.features)).min()
    matrix = next(feed.matrix for feed in crowd.reader.feeds if feed.key == key)[np.flatnonzero(crowd.which)]
    readers = np.bincount(matrix.indices, minlength=matrix.shape[1])
    others = readers.sum() - readers[hosts.reader.neurons[hosts.which]].sum()
    copies = crowd.rows * rate - others / windows.features
    return EvenCopies(max(0, int(np.ceil(copies - ROUNDING))), windows.overlap)


# Reads: how many axons are fed at least, since every source is read in so many cores, and by how many neurons.


class FedAxons(NamedTuple):
    """Least number of axons fed, bias axons not counted."""

    of_feeds: dict[Key, int]
    of_columns: dict[Key, Ints]
    """Least number of cores that read each column of a feed."""
    relayed: int
    """Axons on paths longer than a neuron's delay, beyond those that readers use."""

    @property
    def total(self) -> int:
        """Total number of axons fed."""
        return sum(self.of_feeds.values()) + self.relayed

    @property
    def by_neurons(self) -> int:
        """Number of axons that neurons feed; those that the host feeds take no neuron."""
        return sum(count for key, count in self.of_feeds.items() if isinstance(key, ChipKey)) + self.relayed


def fed_axons(crowds: list[list[Crowd]], chip: ChipSpec, two_hops: Mapping[Key, Ints]) -> FedAxons:
    """Bound the number of axons fed from below."""
    # Readers of one signal may share its axons, so the greatest of their demands counts, not the sum.
    # two_hops: fewest cores that read each column of a feed, by what all of its readers read
    of_columns: dict[Key, Ints] = dict(two_hops)
    of_feed: dict[Key, int] = {}  # axons of all columns together
    for crowd in (crowd for some in crowds for crowd in some):
        for key, least in crowd.need.items():
            of_feed[key] = max(of_feed.get(key, 0), _axons_in_all_cores(crowd, least))
            reads = crowd.reads[key]
            of_columns[key] = np.maximum(of_columns[key], reads) if key in of_columns else reads
    axons = {key: max(of_feed.get(key, 0), int(reads.sum())) for key, reads in of_columns.items()}
    return FedAxons(axons, of_columns, _relay_axons(of_columns, chip))


def _axons_in_all_cores(crowd: Crowd, least: Ints) -> int:
    """Bound the axons of a feed: c cores that hold n_1 + ... + n_c = rows read at least sum of least[n_i]."""
    sizes = np.arange(1, crowd.room + 1)
    rate = float((least[1 : crowd.room + 1] / sizes).min())
    return int(np.ceil(crowd.rows * rate - ROUNDING))


def _relay_axons(reads: dict[Key, Ints], chip: ChipSpec) -> int:
    """Count the axons on paths longer than a neuron's delay, beyond those counted as reads."""
    # A path passes an axon at least once per longest delay; those that other readers use anyway may be among them, so
    # only the gaps between the times at which a neuron is read need more.
    at: dict[int, list[tuple[int, Bools]]] = {}
    for key in sorted(key for key in reads if isinstance(key, ChipKey)):
        at.setdefault(key.population, []).append((key.delay, reads[key] > 0))
    more = 0
    for times in at.values():
        last = np.zeros(len(times[0][1]), np.int64)
        for delay, read in times:
            more += int((-(-(delay - last[read]) // chip.delay[1]) - 1).sum())
            last[read] = delay
    return more


# Maximum number of rounds of improving prices.
ROUNDS = 20
# Maximum number of parts for which prices are searched.
PARTS = 12
# Upper bound on the price, in cores, of a whole core's axons or neurons, so that prices stay finite.
DEAR = 10.0
# Ratio of the best value that the columns so far allow to the bound, at which the search stops.
CLOSE = 1.002
# The search ends after ``IDLE`` rounds in a row without a bound better by the factor ``BETTER``.
BETTER, IDLE = 1.002, 4
# Step from the best prices so far towards those of the columns (Wentges 1997).
STEP = 0.5
# Relative margin for numbers that a solver may give slightly too high.
PRICE_ROUNDING = 1e-5


def cores_by_prices(mixture: Mixture, chip: ChipSpec, known: int = 0) -> int:
    """Bound the cores of every mapping."""
    # Every core's contents obey the mixture. Let prices be such that no core is worth more than one; then there are at
    # least as many cores as all demands are worth. Better prices are found by column generation (Gilmore and Gomory
    # 1961); whatever prices it ends with, the bound holds.
    # returns 0 if it would take too long, or if it cannot exceed ``known``
    if not 0 < len(mixture.parts) <= PARTS:
        return 0
    if any(part.together[0] > chip.axons for part in mixture.parts):
        return 0  # a neuron that fits no core: the mapper refuses the network
    cores, demand = MixedCores(mixture, chip), mixture.demand
    columns = _pure_cores(mixture, chip)
    best, best_prices = 0.0, np.zeros(len(demand))
    for k, part in enumerate(mixture.parts):  # one over the neurons that a core of one part holds, 0 for all else
        best_prices[k] = 1 / part.neurons[-1]
    idle = 0
    for _ in range(ROUNDS):
        wished, value = _best_prices(columns, demand, chip)
        if wished is None or value <= max(known, best * CLOSE) or idle == IDLE:
            break
        prices = STEP * wished + (1 - STEP) * best_prices if best else best_prices
        found = cores.most_worth(prices)
        if found is None:
            break
        bound = float(prices @ demand) / max(found.worth, PRICE_ROUNDING)
        idle = 0 if bound > best * BETTER else idle + 1
        if bound > best:
            best, best_prices = bound, prices / max(found.worth, PRICE_ROUNDING)
        columns.append(_column(found, mixture))
    return int(np.ceil(best * (1 - PRICE_ROUNDING) - PRICE_ROUNDING))


def _pure_cores(mixture: Mixture, chip: ChipSpec) -> list[Floats]:
    """List cores of one part, at every level, to start with; they guide the search, and no bound rests on them."""
    found = []
    for k, part in enumerate(mixture.parts):
        for n, axons, together in zip(part.neurons, part.axons, part.together, strict=True):
            neurons, places = np.zeros(len(mixture.parts)), np.zeros(len(mixture.most_copies) + 1)
            neurons[k] = min(n, chip.neurons / part.copies)
            places[part.population] = chip.neurons
            copies = np.minimum(places[:-1], n * mixture.most_copies)
            taken = axons.astype(np.float64)
            taken[part.feeds[0]] += together - axons.sum()
            found.append(_column(Core(1.0, neurons, taken, copies, places), mixture))
    return found


def _column(core: Core, mixture: Mixture) -> Floats:
    """Return the contribution of a core to every demand."""
    spare = core.places.sum() - core.axons[mixture.from_chip].sum()
    return np.concatenate([core.neurons, core.copies, core.axons, [spare]])


def _best_prices(columns: list[Floats], demand: Floats, chip: ChipSpec) -> tuple[Floats | None, float]:
    """Find the prices at which all demands are worth most and no column is worth more than one."""
    from scipy.optimize import linprog  # slow to import

    most = DEAR / min(chip.axons, chip.neurons)
    found: Any = linprog(-demand, A_ub=np.stack(columns), b_ub=np.ones(len(columns)), bounds=(0, most))
    return (found.x, -float(found.fun)) if found.status == 0 else (None, 0.0)


# The most valuable core at given prices: an integer program of levels.


# Maximum number of nodes in the search for the most valuable core; if it ends early, its bound is looser.
NODES = 50


class Core(NamedTuple):
    """Contents of the most valuable core."""

    worth: float
    """No core is worth more."""
    neurons: Floats
    axons: Floats
    copies: Floats
    """Neurons of every population that count as copies."""
    places: Floats
    """Neurons of every population, then those of relays."""


class MixedCores:
    """The cores that a mixture allows, as the feasible points of an integer program."""

    # Its variables are the levels of all parts (0 or 1), neurons of parts, axons of feeds, copies that count of every
    # population, and the places that its neurons and those of relays take.

    def __init__(self, mixture: Mixture, chip: ChipSpec) -> None:
        self.mixture = mixture
        self._n_levels = sum(len(part.neurons) for part in mixture.parts)
        self.parts, self.feeds = len(mixture.parts), len(mixture.from_chip)
        self.populations = len(mixture.most_copies)
        self._rows: list[tuple[dict[int, float], float]] = []
        self._add_parts()
        self._add_core(chip)
        self._upper = np.concatenate(
            [np.ones(self._n_levels), np.full(self.parts, chip.neurons), np.full(self.feeds, chip.axons)]
            + [np.full(2 * self.populations + 1, chip.neurons)]
        ).astype(np.float64)

    def most_worth(self, prices: Floats) -> Core | None:
        """Find the most valuable core at given prices of all demands, each 0 or more."""
        # returns a core whose worth is the solver's bound, in floating point and not certified; ``None`` if none was
        # found in time
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

        gain = self._gain(prices)
        integer = np.zeros(len(gain), np.int64)
        integer[: self._n_levels] = 1
        with quiet_solver():
            found: Any = milp(
                -gain,
                integrality=integer,
                bounds=Bounds(0, self._upper),
                constraints=LinearConstraint(self._matrix(), ub=[limit for _, limit in self._rows]),
                options={"node_limit": NODES, "mip_rel_gap": 1e-3, "presolve": False},
            )
        if found.x is None or found.mip_dual_bound is None:
            return None
        ends = np.cumsum([self.parts, self.feeds, self.populations])
        return Core(-float(found.mip_dual_bound), *np.split(found.x[self._n_levels :], ends))

    def _gain(self, prices: Floats) -> Floats:
        ends = np.cumsum([self.parts, self.populations, self.feeds])
        neurons, copies, axons, place = np.split(prices, ends)
        # any neuron of a core is paid for, less one for every axon that a neuron feeds
        of_axons, of_places = axons - place * self.mixture.from_chip, np.repeat(place, self.populations + 1)
        return np.concatenate([np.zeros(self._n_levels), neurons, of_axons, copies, of_places])

    def _matrix(self) -> Any:
        entries = [(k, column, value) for k, (row, _) in enumerate(self._rows) for column, value in row.items()]
        row, column, value = (np.array(part) for part in zip(*entries, strict=True))
        return sparse.csr_array((value, (row, column)), shape=(len(self._rows), len(self._upper)))

    def _add_parts(self) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        at = 0
        for k, part in enumerate(self.mixture.parts):
            levels = range(at, at + len(part.neurons))
            at += len(part.neurons)
            self._rows.append((dict.fromkeys(levels, 1.0), 1.0))
            held = {level: -float(n) for level, n in zip(levels, part.neurons, strict=True)}
            self._rows.append((held | {parts + k: 1.0}, 0.0))
            for feed in np.flatnonzero(part.axons.any(axis=0)).tolist():
                taken = {level: float(n) for level, n in zip(levels, part.axons[:, feed], strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0}, 0.0))
            if (part.together > part.axons.sum(axis=1)).any():
                taken = {level: float(n) for level, n in zip(levels, part.together, strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0 for feed in part.feeds}, 0.0))

    def _add_core(self, chip: ChipSpec) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        copies = feeds + self.feeds
        places = copies + self.populations
        self._rows.append(({feeds + feed: 1.0 for feed in range(self.feeds)}, float(chip.axons)))
        self._rows.append(({places + k: 1.0 for k in range(self.populations + 1)}, float(chip.neurons)))
        at = 0
        counted: dict[int, dict[int, float]] = {}
        held: dict[int, dict[int, float]] = {k: {places + k: 1.0} for k in range(self.populations)}
        least: dict[int, dict[int, float]] = {k: {} for k in range(self.populations)}
        for number, part in enumerate(self.mixture.parts):
            k, is_first = part.population, part.population not in counted
            counted.setdefault(k, {copies + k: 1.0})
            least[k][parts + number] = float(part.copies)
            for level, neurons in enumerate(part.neurons.tolist(), at):
                held[k][level] = -float(chip.neurons)
                if is_first:
                    counted[k][level] = -float(neurons * self.mixture.most_copies[k])
            at += len(part.neurons)
        self._rows += [(row, 0.0) for row in (*counted.values(), *held.values())]
        for k in range(self.populations):
            self._rows.append((least[k] | {places + k: -1.0}, 0.0))
            self._rows.append(({copies + k: 1.0, places + k: -1.0}, 0.0))
