"""Neurons one by one, with the axons that each needs in whatever core it sits: what packing moves about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.tile.apart import rows_apart

__all__ = ["LooseNeurons"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LooseNeurons(Value):
    """The neurons of all tiles (U of them, tile by tile) and the axons that they need (K of them)."""

    # tile, population, neuron: (U,): tile and population that a neuron belongs to, and its position in the population
    tile: Ints
    population: Ints
    neuron: Ints
    # (U,): neurons that stay where they are: pinned ones, replicas, those that read replicas, and all others of their
    # tiles
    fixed: Bools
    # (U,): copies that do not depend on where the others sit: one if the neuron is read out or kept; all of a replica
    own_copies: Ints
    weights: Ints  # (U, axon_types): weight of every neuron for every type of its axons
    # leak, alpha: (U,): negative leak, and threshold on the chip
    leak: Ints
    alpha: Ints
    first_needed: Ints  # (U + 1,): where the axons of a neuron begin in ``needed``
    # needed, columns: (nnz,): axon of each neuron's synapses as a number below K, ascending, and the column of the
    # population's joined matrix (or ``BIAS``)
    needed: Ints
    columns: Ints
    axon_type: Ints  # (K,): type of an axon
    home: Ints  # (K,): the neuron whose spikes the axon carries; -1 where they come from the host or a replica

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.tile)

    def copies(self, core_of: Ints) -> Ints:
        """Count the copies that each neuron needs when ``core_of`` says where all of them sit; shape (U,)."""
        _, axons = self._axons_in_use(core_of)
        home = self.home[axons]
        return self.own_copies + np.bincount(home[home >= 0], minlength=len(self)).astype(np.int64)

    def axons(self, core_of: Ints, n_cores: int) -> Ints:
        """Count the axons in use of every core; shape (n_cores,)."""
        core, _ = self._axons_in_use(core_of)
        return np.bincount(core, minlength=n_cores).astype(np.int64)

    def least_cores(self, n_axons: int, n_neurons: int) -> int:
        """Count the cores of so many axons and neurons that no packing can do without."""
        # Tiles of fixed neurons keep a core each. The others need at least a place and every one of their axons once,
        # and a core each where no two of them fit one.
        free = ~self.fixed
        lengths = np.diff(self.first_needed)
        needed = self.needed[np.repeat(free, lengths)]
        in_use = np.zeros(len(self.axon_type), bool)
        in_use[needed] = True
        indptr = np.append(0, np.cumsum(lengths[free]))
        apart = len(rows_apart(indptr, needed, len(self.axon_type), n_axons))
        of_others = max(-(-int(free.sum()) // n_neurons), -(-int(in_use.sum()) // n_axons), apart)
        return len(np.unique(self.tile[self.fixed])) + of_others

    def _axons_in_use(self, core_of: Ints) -> tuple[Ints, Ints]:
        """List the axons in use as pairs of core and axon, each once."""
        n_axons = max(1, len(self.axon_type))
        core = np.repeat(core_of, np.diff(self.first_needed))
        pairs = np.unique(core * n_axons + self.needed)
        return pairs // n_axons, pairs % n_axons
