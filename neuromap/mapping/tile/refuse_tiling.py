"""Why a network cannot be tiled although every neuron fits a core: copies on cycles, cores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import DoesNotFitError
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_of import Cores, CrossbarCore
from neuromap.mapping.legalise.legalised import Legalised, Link, Population, Sources
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse


def refuse_circle(network: Legalised, worst: int, demand: int, held: int, rounds: int) -> DoesNotFitError:
    """Refuse a cycle on which copies, axons and cores drive each other up."""
    node = _node_of(network, network.populations[worst])
    demand = max(demand, held + 1)  # else the next round would have settled it
    text = (
        f"copies did not settle in {rounds} rounds: its readers ask for {demand}, its cores hold {held}, and on its "
        "cycle every core more asks for more"
    )
    return refuse("copies", node, demand, held, text, [_smaller(node)])


def refuse_growth(network: Legalised, growth: CycleGrowth) -> DoesNotFitError:
    """Refuse a cycle on which every core asks for more copies than it holds, however it is tiled."""
    node = _node_of(network, network.populations[growth.worst])
    demand = max(math.ceil(growth.asked), growth.room + 1)  # as many as it holds, and one to be read
    of_each = growth.asked >= growth.room
    each, has = ("every core asks", "has") if of_each else ("cores ask, on balance,", "have")
    text = (
        f"copies cannot settle: on its cycle {each} for {demand} copies or more and {has} room for "
        f"{growth.room}, so that no number of cores is enough"
    )
    return refuse("copies", node, demand, growth.room, text, [_smaller(node)])


def refuse_cores(
    network: Legalised, used: Mapping[int, int], cores: Cores, *, given_up: bool = False
) -> DoesNotFitError:
    """Refuse a network that takes more cores than there are."""
    largest = max(used, key=lambda i: used[i])
    population, needed = network.populations[largest], sum(used.values())
    part = f"{used[largest]} for its largest part, {population.name}"
    more = "more than " if given_up else ""
    text = f"the network needs {more}{count_cores(needed)} ({part}), {cores.model.name} has {cores.usable}"
    value = None if given_up else needed
    remedy = Remedy("chip.cores", value, f"a chip or board of {more}{count_cores(needed)} would do")
    return refuse("cores", _node_of(network, population), needed, cores.usable, text, [remedy])


def _smaller(node: str) -> Remedy:
    return Remedy("size", None, f"fewer neurons or edges around {node}, or larger cores, may fit")


def _node_of(network: Legalised, population: Population) -> str:
    """Name the node that a population belongs to; of relays and splitters the one whose spikes they carry."""
    return network.ports[population.node].name


# Whether copies on a cycle can settle at all, and in how many cores at least: found before they are iterated.
#
# Let a tile of population q, whichever its neurons are, read p of the same cycle with ``A[q, p]`` axons at least.
# Then T[q] tiles ask p for ``sum_q T[q] A[q, p]`` copies or more, besides those that p owes elsewhere. It holds ``N
# T[p]``, with N neurons in a core. So ``N T >= own + A' T``: the spectral radius of A is below N (else the
# eigenvector of A that is not negative weighs more copies asked for than held), and then T is at least ``(N - A')^-1
# own`` (docs/mapping.md).


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
    core: CrossbarCore,
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
    core: CrossbarCore,
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
    sources: Sources, neuron: int, threshold: Ints, member_of_link: Ints, n_members: int, core: CrossbarCore | None
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
# neuron; where A'y <= 0 and b'y > 0, no number is enough. Multipliers that do not pass prove nothing, and none is
# said.
MOST_READS = 60_000
"""Synapses on the cycle up to which the program is solved; some seconds."""
_SCALE = 1 << 30
"""Multipliers are whole numbers of this part of the greatest, so that their sums fit 64 bits."""


def least_cores_of_neurons(
    sources: Sequence[Sources], copies: Mapping[int, Ints], own: Mapping[int, Ints], core: CrossbarCore
) -> float:
    """Bound the cores of a cycle from below."""
    # gives cores' worth of copies; infinite where no number is enough, 0 where the cycle has too many synapses to tell
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
    """Count the copies that multipliers prove, in whole numbers; 0 where they take more than ``price`` of a neuron."""
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
    """Give the weights from all neurons of a cycle to all of them that are needed; shape (n, n)."""
    first = dict(zip(copies, np.cumsum([0, *(len(c) for c in copies.values())]).tolist(), strict=False))
    rows = []
    for index, needed in copies.items():
        mine = sources[index]
        start = np.array([first.get(k.source, -1) if isinstance(k, Link) else -1 for k in mine.links], np.int64)
        entries = mine.matrix.tocoo()
        at = start[mine.link_of[entries.col]]
        kept = (at >= 0) & (needed[entries.row] > 0)
        column = at[kept] + mine.neuron_of[entries.col[kept]]
        rows.append((entries.row[kept] + first[index], column, entries.data[kept]))
    row, column, weight = (np.concatenate(part) for part in zip(*rows, strict=True))
    n = sum(len(c) for c in copies.values())
    order = np.lexsort((column, row))  # a source that is read at two delays takes an axon for each
    return sparse.csr_array((weight[order], column[order], np.searchsorted(row[order], np.arange(n + 1))), shape=(n, n))


def _axons_alone(weights: Ints, core: CrossbarCore) -> int:
    """Count the axons that weights take at least, each or several together."""
    if not len(weights) or core.has_axon_per_weight(np.unique(weights)):
        return len(weights)
    plan = core.plan(weights.astype(np.int64)[None, :], np.ones(1, np.int64))
    return len(weights) if plan is None else plan.n_axons
