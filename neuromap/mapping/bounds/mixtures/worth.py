"""The core that is worth most at given prices: an integer program of levels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.mixtures.mixture import Mixture

__all__ = ["Core", "MixedCores", "Prices"]

Floats = NDArray[np.float64]
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
