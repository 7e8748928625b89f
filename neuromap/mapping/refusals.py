"""Why a population cannot be tiled: fan-in, axon types, potential, copies; and what would help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.axon_types import plan_axons
from neuromap.mapping.infeasible import Remedy, refuse
from neuromap.mapping.legalise import HostLink, Legalised, Link, Matrix, Population

__all__ = ["refuse_copies", "refuse_neuron"]

Ints = NDArray[np.int64]
AMPLE = 2**20  # axons: more than a fan-in that the potential's width admits
WIDE = 63  # potential bits: no rail


def refuse_copies(population: Population, copies: Ints, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a neuron that needs more copies than a core has neurons."""
    demand = int(copies.max())
    remedies = [
        Remedy("chip.neurons", demand, f"a core with at least {demand} neurons would hold them"),
        Remedy(
            "fan_out",
            chip.neurons,
            "fewer readers, or readers in fewer cores (groups, smaller layers), would fit",
        ),
    ]
    text = (
        f"one neuron needs {demand} copies for the axons that it feeds, a {chip.name} core has {chip.neurons} neurons"
    )
    return refuse("copies", population.name, demand, chip.neurons, text, remedies)


def refuse_neuron(
    network: Legalised,
    population: Population,
    links: Sequence[Link | HostLink],
    matrix: Matrix,
    copies: Ints,
    chip: ChipSpec,
) -> DoesNotFitError:
    """Refuse a population of which one neuron alone does not fit a core; the worst neuron is named."""
    fan_in = np.diff(matrix.indptr)
    ample = replace(chip, axons=AMPLE)
    alive = np.flatnonzero(copies)
    worst = -1
    demand = 0
    for n in alive[np.argsort(-fan_in[alive], kind="stable")][:64]:
        weights = matrix[[n]].toarray().astype(np.int64)
        weights = weights[:, weights[0] != 0]
        theta = population.threshold[[n]]
        plan = plan_axons(weights, theta, ample)
        if plan is None:
            return _refuse_width(population, int(n), weights, theta, chip)
        if plan.n_axons > demand:
            worst, demand = int(n), plan.n_axons
    remedies = _fewer_axons(network, links, matrix, worst, demand, chip)
    remedies.append(Remedy("chip.axons", demand, f"a core with at least {demand} axons would hold it"))
    text = f"one neuron needs {demand} axons, a {chip.name} core has {chip.axons}"
    return refuse("axons", population.name, demand, chip.axons, text, remedies)


def _fewer_axons(
    network: Legalised,
    links: Sequence[Link | HostLink],
    matrix: Matrix,
    neuron: int,
    demand: int,
    chip: ChipSpec,
) -> list[Remedy]:
    """Try groups: with g groups a neuron reads 1/g of the features of its sources."""
    sources = int(np.diff(matrix.indptr)[neuron])
    remedies = []
    features = [link_features(network, link) for link in links]
    common = math.gcd(*[math.gcd(*pair) for pair in features]) if features else 1
    for groups in range(2, common + 1):
        if common % groups == 0 and -(-demand // groups) <= chip.axons:
            need = -(-demand // groups)
            remedies.append(Remedy("groups", groups, f"groups = {groups} would need {need}"))
            break
    if demand > sources and sources <= chip.axons:
        remedies.append(
            Remedy("weights", sources, f"weights of one sign and magnitude per source would need {sources}")
        )
    return remedies


def link_features(network: Legalised, link: Link | HostLink) -> tuple[int, int]:
    """Features of a link's source and target node; (1, 1) where a relay hides them."""
    target = network.populations[link.target]
    if target.shape is None:
        return (1, 1)
    if isinstance(link, HostLink):
        shape = network.shapes[link.node]
    else:
        shape = network.shapes[network.populations[link.source].node]
    return (shape[2], target.shape[2])


def _refuse_width(population: Population, neuron: int, weights: Ints, theta: Ints, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a neuron that no number of axons helps: a potential that is too narrow, or too few axon types."""
    name, who = population.name, f"neuron {neuron}"
    plan = plan_axons(weights, theta, replace(chip, potential_bits=WIDE, axons=AMPLE))
    if plan is not None:
        swing, bound = int(plan.swing.max()), chip.potential_range[1]
        text = (
            f"{who} needs a potential of up to {swing} (its weights and threshold as sums over axons), "
            f"a {chip.name} potential of {chip.potential_bits} bits ends at {bound}"
        )
        bits = swing.bit_length() + 1
        remedy = Remedy("chip.potential_bits", bits, f"smaller weights, or a potential of {bits} bits, would fit")
        return refuse("potential", name, swing, bound, text, [remedy])
    types = next(
        t
        for t in range(chip.axon_types + 1, chip.axon_types + 4)
        if plan_axons(weights, theta, replace(chip, axon_types=t, potential_bits=WIDE, axons=AMPLE)) is not None
    )
    text = f"{who} needs {types} axon types for its weights and threshold, a {chip.name} core has {chip.axon_types}"
    remedy = Remedy("chip.axon_types", types, f"{types} axon types would fit")
    return refuse("axon_types", name, types, chip.axon_types, text, [remedy])
