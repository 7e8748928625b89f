"""Why a network cannot be mapped: fan-in, axon types, potential, copies, cores; and what would help."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.axon_types import plan_axons
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Matrix, Population
from neuromap.mapping.refused.infeasible import Remedy, count_cores, refuse

__all__ = ["refuse_circle", "refuse_cores", "refuse_neuron"]

Ints = NDArray[np.int64]
AMPLE = 2**20
"""Axons of the imagined core on which a neuron's demand is counted."""
WIDE = 63
"""Potential bits of the imagined core that has no rails."""
MOST_AXONS, MOST_POTENTIAL_BITS = 65536, 32
"""What a chip file may hold; remedies beyond it are none."""
LOOKED_AT = 64
"""Neurons of a population among which the one with the greatest demand is named."""


def refuse_circle(
    network: Legalised, worst: int, demand: int, rounds: int, chip: ChipSpec, held: int | None = None
) -> DoesNotFitError:
    """Refuse a cycle on which copies, axons and cores drive each other up.

    Parameters
    ----------
    network : Legalised
        The network.
    worst : int
        The population on the cycle that lacks most copies.
    demand : int
        Copies that its readers asked for in the last round.
    rounds : int
        How many there were.
    chip : ChipSpec
        The chip.
    held : int, optional
        Copies that its cores held; by default those of one core.

    Returns
    -------
    DoesNotFitError
        For the caller to raise: limit ``copies``.
    """
    node = _node_of(network, network.populations[worst])
    bound = chip.neurons if held is None else held
    demand = max(demand, bound + 1)  # else the next round would have settled it
    text = (
        f"copies did not settle in {rounds} rounds: its readers ask for {demand}, its cores hold {bound}, and on its "
        "cycle every core more asks for more"
    )
    remedies = [Remedy("size", None, f"fewer neurons or edges around {node}, or larger cores, may fit")]
    return refuse("copies", node, demand, bound, text, remedies)


def refuse_cores(
    network: Legalised, cores: Mapping[int, int], chip: ChipSpec, *, given_up: bool = False
) -> DoesNotFitError:
    """Refuse a network that takes more cores than there are.

    Parameters
    ----------
    network : Legalised
        The network.
    cores : mapping of int to int
        Cores of each population.
    chip : ChipSpec
        The chip.
    given_up : bool
        Whether these are cores so far: the network is not tiled to its end, and no number is known that would do.

    Returns
    -------
    DoesNotFitError
        For the caller to raise: limit ``cores``.
    """
    largest = max(cores, key=lambda i: cores[i])
    population, bound, used = network.populations[largest], chip.n_usable_cores, sum(cores.values())
    part = f"{cores[largest]} for its largest part, {population.name}"
    more = "more than " if given_up else ""
    text = f"the network needs {more}{count_cores(used)} ({part}), {chip.name} has {bound}"
    remedy = Remedy("chip.cores", None if given_up else used, f"a chip or board of {more}{count_cores(used)} would do")
    return refuse("cores", _node_of(network, population), used, bound, text, [remedy])


def refuse_neuron(
    network: Legalised,
    population: Population,
    links: Sequence[Link | HostLink],
    matrix: Matrix,
    stuck: int,
    chip: ChipSpec,
) -> DoesNotFitError:
    """Refuse a population of which neuron ``stuck`` does not fit a core even alone.

    Of the neurons with most synapses the one with the greatest demand is named, so that its remedies serve all.

    Parameters
    ----------
    network : Legalised
        The network.
    population : Population
        The population.
    links : sequence of Link or HostLink
        What leads into it, in the order of the columns.
    matrix : csr_array of int64, shape (n, s)
        Their weights, joined.
    stuck : int
        A neuron that does not fit; position within the population.
    chip : ChipSpec
        The chip.

    Returns
    -------
    DoesNotFitError
        For the caller to raise: limit ``axons``, ``axon_types`` or ``potential``.
    """
    busiest = np.argsort(-np.diff(matrix.indptr), kind="stable")[:LOOKED_AT]
    refusals = []
    worst, demand = stuck, 0
    for n in dict.fromkeys([stuck, *busiest.tolist()]):
        weights, theta = _row(matrix, n), population.threshold[[n]]
        refusal = _too_heavy(population, n, weights, chip)
        if refusal is None:
            plan = plan_axons(weights, theta, replace(chip, axons=AMPLE))
            if plan is None:
                refusal = _refuse_width(population, n, weights, theta, chip)
            elif plan.n_axons > demand:
                worst, demand = n, plan.n_axons
        if refusal is not None:
            refusals.append(refusal)
    if refusals:
        return max(refusals, key=lambda refusal: refusal.infeasibility.gap)
    remedies = _fewer_axons(network, population, links, matrix, worst, chip)
    if demand <= MOST_AXONS:
        remedies.append(Remedy("chip.axons", demand, f"a core with at least {demand} axons would hold it"))
    return _refuse_axons(population, demand, remedies, chip)


def _refuse_axons(population: Population, demand: int, remedies: list[Remedy], chip: ChipSpec) -> DoesNotFitError:
    text = f"one neuron needs {demand} axons, a {chip.name} core has {chip.axons}"
    return refuse("axons", population.name, demand, chip.axons, text, remedies)


def _node_of(network: Legalised, population: Population) -> str:
    """Name the node that a population belongs to; of relays and splitters the one whose spikes they carry."""
    return network.ports[population.node].name


def _row(matrix: Matrix, neuron: int) -> Ints:
    """Nonzero weights of one neuron, shape (1, s)."""
    data: Ints = matrix[[neuron]].data.astype(np.int64)[None, :]
    return data


def _fewer_axons(
    network: Legalised,
    population: Population,
    links: Sequence[Link | HostLink],
    matrix: Matrix,
    neuron: int,
    chip: ChipSpec,
) -> list[Remedy]:
    """Try more groups, then weights of one sign and magnitude, on the neuron itself."""
    remedies = []
    groups = {link.groups for link in links}
    if len(groups) == 1 and (now := groups.pop()) is not None and population.shape is not None:
        features = [_features(network, link) for link in links]
        common = math.gcd(population.shape[2], *features)
        for more in range(2, common // now + 1):
            if common % (now * more) == 0:
                kept = _first_features(links, features, matrix, neuron, more)
                plan = plan_axons(kept, population.threshold[[neuron]], chip)
                if plan is not None:
                    text = f"groups = {now * more} would need {plan.n_axons}"
                    remedies.append(Remedy("groups", now * more, text))
                    break
    alike = np.ones((1, int(np.diff(matrix.indptr)[neuron])), np.int64)
    plan = plan_axons(alike, np.clip(population.threshold[[neuron]], 0, alike.size + 1), chip)
    if plan is not None:
        text = f"weights of one sign and magnitude per source would need {plan.n_axons}"
        remedies.append(Remedy("weights", 1, text))
    return remedies


def _features(network: Legalised, link: Link | HostLink) -> int:
    node = link.node if isinstance(link, HostLink) else network.populations[link.source].node
    return network.shapes[node][2]


def _first_features(
    links: Sequence[Link | HostLink], features: Sequence[int], matrix: Matrix, neuron: int, more: int
) -> Ints:
    """Weights that a neuron keeps if its groups are split: those from the first of its source features."""
    row = matrix[[neuron]]
    kept, start = [], 0
    for link, n_features in zip(links, features, strict=True):
        width = link.matrix.shape[1]
        here = (row.indices >= start) & (row.indices < start + width)
        feature = (row.indices[here] - start) % n_features
        own = np.unique(feature)
        kept.append(row.data[here][np.isin(feature, own[: max(1, len(own) // more)])])
        start += width
    weights: Ints = np.concatenate(kept).astype(np.int64)[None, :]
    return weights


def _too_heavy(population: Population, neuron: int, weights: Ints, chip: ChipSpec) -> DoesNotFitError | None:
    """Refuse by arithmetic alone what no encoding could hold, before anything of that size is laid out."""
    widest = chip.weight_range[1]
    swing = int(max(np.maximum(weights, 0).sum(), -np.minimum(weights, 0).sum()))
    if swing > chip.potential_range[1]:
        return _refuse_potential(population, neuron, swing, chip)
    axons = int((-(-np.abs(weights) // widest)).sum())
    if axons > AMPLE // 2:
        remedies = [Remedy("weights", None, f"smaller weights; {widest} takes one axon")]
        return _refuse_axons(population, axons, remedies, chip)
    return None


def _refuse_potential(population: Population, neuron: int, swing: int, chip: ChipSpec) -> DoesNotFitError:
    bound, bits = chip.potential_range[1], swing.bit_length() + 1
    text = (
        f"neuron {neuron} needs a potential of up to {swing} (weights and threshold as sums over axons), "
        f"a {chip.name} potential of {chip.potential_bits} bits ends at {bound}"
    )
    remedies = [Remedy("weights", None, "smaller weights would help")]
    if bits <= MOST_POTENTIAL_BITS:
        remedies.insert(0, Remedy("chip.potential_bits", bits, f"a potential of {bits} bits would hold it"))
    return refuse("potential", population.name, swing, bound, text, remedies)


def _refuse_width(population: Population, neuron: int, weights: Ints, theta: Ints, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a neuron that no number of axons helps: a potential that is too narrow, or too few axon types."""
    ample = replace(chip, potential_bits=WIDE, axons=AMPLE)
    plan = plan_axons(weights, theta, ample)
    if plan is not None:
        return _refuse_potential(population, neuron, int(plan.swing.max()), chip)
    # a type per sign and one for bias axons express everything; what is left then is a matter of axons
    for types in range(chip.axon_types + 1, max(chip.axon_types, 3) + 1):
        if plan_axons(weights, theta, replace(ample, axon_types=types)) is not None:
            text = (
                f"neuron {neuron} needs {types} axon types for its weights and threshold, "
                f"a {chip.name} core has {chip.axon_types}"
            )
            remedies = [Remedy("chip.axon_types", types, f"{types} axon types would fit")]
            return refuse("axon_types", population.name, types, chip.axon_types, text, remedies)
    return _refuse_axons(population, AMPLE + 1, [Remedy("weights", None, "smaller weights or thresholds")], chip)
