"""Cores from the best prices that can be found: columns are cores, prices are what they do not outweigh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.mixtures.mixture import Mixture
from neuromap.mapping.bounds.mixtures.worth import Core, MixedCores, Prices

__all__ = ["cores_by_prices"]

Floats = NDArray[np.float64]
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
