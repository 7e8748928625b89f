"""Cores from the best prices that can be found: columns are cores, prices are what they do not outweigh."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Floats
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lp_bounds import Mixture

ROUNDS = 20
"""Of better prices, at most."""
PARTS = 12
"""Parts up to which prices are sought."""
DEAR = 10.0
"""Cores that are paid for a whole core's worth of what no core so far holds, so that prices stay within bounds."""
CLOSE = 1.002
"""Of the best that all columns so far allow, over the bound: near enough to stop."""
BETTER, IDLE = 1.002, 4
"""So many rounds in a row without a bound that is better by this factor end the search."""
STEP = 0.5
"""Of the way from the best prices so far to those that the columns ask for (Wentges 1997)."""
ROUNDING = 1e-5
"""On numbers that a solver may give a little too high, relative."""


def cores_by_prices(mixture: Mixture, chip: ChipSpec, known: int = 0) -> int:
    """Bound the cores of every mapping."""
    # Every core's contents obey the mixture. Let prices be such that no core is worth more than one; then there are at
    # least as many cores as all demands are worth. Better prices are sought by column generation (Gilmore and Gomory
    # 1961); whatever prices it ends with, the bound holds.
    # gives 0 where it would take too long, or where no more than what is known can come of it
    if not len(mixture.population_of) or len(mixture.population_of) > PARTS:
        return 0
    if any(group.together[0] > chip.axons for group in mixture.groups):
        return 0  # a neuron that fits no core: the mapper refuses the network
    cores = MixedCores(mixture, chip)
    demand = _demand(mixture)
    columns = _pure_cores(mixture, chip)
    best, best_prices = 0.0, _first_prices(mixture)
    idle = 0
    for _ in range(ROUNDS):
        wished, value = _best_prices(columns, demand, chip)
        if wished is None or value <= max(known, best * CLOSE) or idle == IDLE:
            break
        prices = STEP * wished + (1 - STEP) * best_prices if best else best_prices
        found = cores.most_worth(_split(prices, cores))
        if found is None:
            break
        bound = float(prices @ demand) / max(found.worth, ROUNDING)
        idle = 0 if bound > best * BETTER else idle + 1
        if bound > best:
            best, best_prices = bound, prices / max(found.worth, ROUNDING)
        columns.append(_column(found, mixture))
    return int(np.ceil(best * (1 - ROUNDING) - ROUNDING))


def _pure_cores(mixture: Mixture, chip: ChipSpec) -> list[Floats]:
    """List cores of one part, at every level, to start with; they guide the search, and no bound rests on them."""
    found = []
    n_populations = int(mixture.population_of.max()) + 1
    for group in mixture.groups:
        for n, axons, together in zip(group.neurons, group.axons, group.together, strict=True):
            neurons, places = np.zeros(len(mixture.population_of)), np.zeros(n_populations + 1)
            neurons[group.parts[0]] = min(n, chip.neurons / mixture.copies_of[group.parts[0]])
            places[group.population] = chip.neurons
            copies = np.minimum(places[:-1], n * mixture.most_copies)
            taken = axons.astype(np.float64)
            taken[group.feeds[0]] += together - axons.sum()
            found.append(_column(Core(1.0, neurons, taken, copies, places), mixture))
    return found


def _demand(mixture: Mixture) -> Floats:
    demand = mixture.demand
    return np.concatenate([demand.neurons, demand.copies, demand.axons, [demand.more_copies]]).astype(np.float64)


def _first_prices(mixture: Mixture) -> Floats:
    """One over the neurons that a core of one part holds, and nothing for copies and axons."""
    prices = np.zeros(len(_demand(mixture)))
    for group in mixture.groups:
        if len(group.parts) == 1:
            prices[group.parts[0]] = 1 / group.neurons[-1]
    return prices


def _split(prices: Floats, cores: MixedCores) -> Prices:
    ends = np.cumsum([cores.parts, cores.populations, cores.feeds])
    neurons, copies, axons, copy = np.split(prices, ends)
    return Prices(neurons, copies, axons, float(copy[0]))


def _column(core: Core, mixture: Mixture) -> Floats:
    """Say what a core adds to every demand."""
    spare = core.places.sum() - core.axons[mixture.from_chip].sum()
    return np.concatenate([core.neurons, core.copies, core.axons, [spare]])


def _best_prices(columns: list[Floats], demand: Floats, chip: ChipSpec) -> tuple[Floats | None, float]:
    """Find the prices at which all demands are worth most and no column is worth more than one."""
    from scipy.optimize import linprog  # slow to import

    most = DEAR / min(chip.axons, chip.neurons)
    found: Any = linprog(-demand, A_ub=np.stack(columns), b_ub=np.ones(len(columns)), bounds=(0, most))
    return (found.x, -float(found.fun)) if found.status == 0 else (None, 0.0)


# The core that is worth most at given prices: an integer program of levels.


NODES = 50
"""Of the search for the core that is worth most; where it ends early, its bound is looser."""


class Prices(NamedTuple):
    """What a core gets; all 0 or more."""

    neurons: Floats
    """For a neuron of every part."""
    copies: Floats
    """For a copy of a neuron of every population."""
    axons: Floats
    """For an axon of every feed."""
    copy: float
    """For any neuron of a core, to be paid for an axon that some neuron feeds."""


class Core(NamedTuple):
    """What the core that is worth most holds."""

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

    # Its variables are the levels of all groups (0 or 1), neurons of parts, axons of feeds, copies that count of every
    # population, and the places that its neurons and those of relays take.

    def __init__(self, mixture: Mixture, chip: ChipSpec) -> None:
        self.mixture = mixture
        self._n_levels = sum(len(group.neurons) for group in mixture.groups)
        self.parts, self.feeds = len(mixture.population_of), len(mixture.from_chip)
        self.populations = int(mixture.population_of.max()) + 1
        self._rows: list[tuple[dict[int, float], float]] = []
        self._add_groups()
        self._add_core(chip)
        self._upper = np.concatenate(
            [np.ones(self._n_levels), np.full(self.parts, chip.neurons), np.full(self.feeds, chip.axons)]
            + [np.full(2 * self.populations + 1, chip.neurons)]
        ).astype(np.float64)

    def most_worth(self, prices: Prices) -> Core | None:
        """Find the core that is worth most."""
        # gives its worth is the solver's bound, in floating point and not certified; ``None`` where it found none in
        # time
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

        gain = self._gain(prices)
        integer = np.zeros(len(gain), np.int64)
        integer[: self._n_levels] = 1
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

    def _gain(self, prices: Prices) -> Floats:
        of_axons = prices.axons - prices.copy * self.mixture.from_chip
        of_places = np.full(self.populations + 1, prices.copy)
        return np.concatenate([np.zeros(self._n_levels), prices.neurons, of_axons, prices.copies, of_places])

    def _matrix(self) -> Any:
        entries = [(k, column, value) for k, (row, _) in enumerate(self._rows) for column, value in row.items()]
        row, column, value = (np.array(part) for part in zip(*entries, strict=True))
        return sparse.csr_array((value, (row, column)), shape=(len(self._rows), len(self._upper)))

    def _add_groups(self) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        at = 0
        for group in self.mixture.groups:
            levels = range(at, at + len(group.neurons))
            at += len(group.neurons)
            self._rows.append((dict.fromkeys(levels, 1.0), 1.0))
            held = {level: -float(n) for level, n in zip(levels, group.neurons, strict=True)}
            self._rows.append((held | {parts + part: 1.0 for part in group.parts}, 0.0))
            for feed in np.flatnonzero(group.axons.any(axis=0)).tolist():
                taken = {level: float(n) for level, n in zip(levels, group.axons[:, feed], strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0}, 0.0))
            if (group.together > group.axons.sum(axis=1)).any():
                taken = {level: float(n) for level, n in zip(levels, group.together, strict=True)}
                self._rows.append((taken | {feeds + feed: -1.0 for feed in group.feeds}, 0.0))

    def _add_core(self, chip: ChipSpec) -> None:
        parts, feeds = self._n_levels, self._n_levels + self.parts
        copies = feeds + self.feeds
        places = copies + self.populations
        self._rows.append(({feeds + feed: 1.0 for feed in range(self.feeds)}, float(chip.axons)))
        self._rows.append(({places + k: 1.0 for k in range(self.populations + 1)}, float(chip.neurons)))
        at, first = 0, np.flatnonzero(np.diff(self.mixture.population_of, prepend=-1)).tolist()
        counted: dict[int, dict[int, float]] = {k: {copies + k: 1.0} for k in range(self.populations)}
        held: dict[int, dict[int, float]] = {k: {places + k: 1.0} for k in range(self.populations)}
        for group in self.mixture.groups:
            k = group.population
            for level, neurons in enumerate(group.neurons.tolist(), at):
                held[k][level] = -float(chip.neurons)
                if group.parts[0] == first[k]:
                    counted[k][level] = -float(neurons * self.mixture.most_copies[k])
            at += len(group.neurons)
        self._rows += [(row, 0.0) for row in (*counted.values(), *held.values())]
        for k in range(self.populations):
            mine = np.flatnonzero(self.mixture.population_of == k).tolist()
            least = {parts + part: float(self.mixture.copies_of[part]) for part in mine}
            self._rows.append((least | {places + k: -1.0}, 0.0))
            self._rows.append(({copies + k: 1.0, places + k: -1.0}, 0.0))
