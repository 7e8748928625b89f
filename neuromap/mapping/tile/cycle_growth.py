"""Whether copies on a cycle can settle at all, and in how many cores at least: found before they are iterated.

Let a tile of population q, whichever its neurons are, read p of the same cycle with ``A[q, p]`` axons at least. Then
T[q] tiles ask p for ``sum_q T[q] A[q, p]`` copies or more, besides those that p owes elsewhere. It holds ``N T[p]``,
with N neurons in a core. So ``N T >= own + A' T``: the spectral radius of A is below N (else the eigenvector of A that
is not negative weighs more copies asked for than held), and then T is at least ``(N - A')^-1 own`` (docs/mapping.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised, Link
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.neuron_growth import least_cores_of_neurons

__all__ = ["CycleGrowth", "cycle_growth"]

Ints = NDArray[np.int64]
MOST_PLANNED = 512
"""Neurons of a cycle of which each is planned alone; of more, a source counts for one axon."""
NEAR = 0.5
"""Part of a core that its tiles ask for at least, from which on the neurons of a cycle are looked at one by one."""
ROUNDING = 1e-6
"""What floating point may add to a spectral radius or to a sum of cores."""


@dataclass(frozen=True)
class CycleGrowth:
    """How copies grow on a cycle."""

    worst: int  # the population of which a core asks for most copies
    asked: float  # copies that a core on the cycle asks for at least, on balance: the spectral radius
    room: int  # neurons of a core
    cores: float  # cores' worth of copies that the cycle takes at least; infinite where copies cannot settle

    @property
    def settles(self) -> bool:
        """Whether there may be an end to it."""
        return bool(np.isfinite(self.cores))


def cycle_growth(
    network: Legalised,
    sources: Sequence[Sources],
    copies: Mapping[int, Ints],
    own: Mapping[int, Ints],
    core: CoreModel,
) -> CycleGrowth:
    """Bound what a cycle asks of itself."""
    # copies: the populations of the cycle, with copies that their neurons need at least; those with 0 are left out
    # shapes: copies (n,); own (n,)
    members = [i for i, needed in copies.items() if needed.any()]
    alone = sum(int(np.count_nonzero(copies[i])) for i in members) <= MOST_PLANNED
    rows = [_least_axons(network, sources[i], i, np.flatnonzero(copies[i]), members, core, alone) for i in members]
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
    network: Legalised,
    sources: Sources,
    index: int,
    neurons: Ints,
    members: Sequence[int],
    core: CoreModel,
    alone: bool,
) -> Ints:
    """Count the axons that any tile of a population feeds from each member of its cycle: the least of its neurons'."""
    place = {population: k for k, population in enumerate(members)}
    member_of_link = np.array(
        [place.get(link.source, -1) if isinstance(link, Link) else -1 for link in sources.links], np.int64
    )
    threshold = network.populations[index].threshold
    counts = [
        _of_neuron(sources, int(n), threshold[[n]], member_of_link, len(members), core if alone else None)
        for n in neurons
    ]
    least: Ints = np.min(counts, axis=0)
    return least


def _of_neuron(
    sources: Sources, neuron: int, threshold: Ints, member_of_link: Ints, n_members: int, core: CoreModel | None
) -> Ints:
    """Count the axons of one neuron by the population that feeds them; planned alone where weights may take several."""
    span = slice(sources.matrix.indptr[neuron], sources.matrix.indptr[neuron + 1])
    columns, weights = sources.matrix.indices[span], sources.matrix.data[span]
    fed = np.arange(len(columns))
    if core is not None and not core.has_axon_per_weight(np.unique(weights)):
        plan = core.plan(weights.astype(np.int64)[None, :], threshold)
        if plan is not None:
            fed = plan.source[plan.source != BIAS]
    member = member_of_link[sources.link_of[columns[fed]]]
    return np.bincount(member[member >= 0], minlength=n_members).astype(np.int64)
