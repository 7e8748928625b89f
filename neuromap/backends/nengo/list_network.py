"""A plan for synapse lists as the network of integers that runs on the chip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.backends.nengo.chip_integers import (
    as_current_neuron,
    feed_integers,
    filters_of,
    held_weights,
    link_factor,
    neuron_scales,
)
from neuromap.backends.nengo.plan.chip_network import ChipNetwork, FedNode
from neuromap.backends.nengo.plan.chip_plan import ChipPlan
from neuromap.backends.nengo.value_code import BINARY
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.terms import EdgeTerm
from neuromap.network.transforms.matrices import MatrixTransform

__all__ = ["as_chip_network"]

Ints = NDArray[np.int64]
SILENT = "silent"
"""Input node without spikes, for ensembles that only have a bias."""


def as_chip_network(plan: ChipPlan, chip: ChipSpec) -> ChipNetwork:
    """Write a plan in integers."""
    scales = tuple(neuron_scales(plan, i, chip) for i in range(len(plan.ensembles)))
    decays = tuple(_decays(plan, i, chip) for i in range(len(plan.ensembles)))
    nodes: dict[str, Node] = {}
    edges: dict[EdgeKey, Edge] = {}
    fed: list[FedNode | None] = []
    for i, ensemble in enumerate(plan.ensembles):
        name, n = ensemble.name, len(ensemble.bias)
        if ensemble.feed is None:
            source = SILENT
            weights, node = np.zeros((n, 1), np.int64), None
        else:
            source = f"{name}.feed"
            weights, unit = feed_integers(ensemble, ensemble.feed, scales[i], chip)
            node = FedNode(source, unit, BINARY)
        fed.append(node)
        nodes[source] = Node(source, (1, 1, weights.shape[1]))
        neuron = as_current_neuron(ensemble, scales[i], decays[i], chip)
        nodes[name] = Node(name, (1, 1, n), neuron=neuron)
        edges[source, name] = Edge(source, name, _transform(weights), current=int(node is not None))
    terms, delay = _terms(plan, scales, decays, chip), plan.ticks_per_step
    for (u, v), (first, *more) in terms.items():
        also = tuple(EdgeTerm(_transform(weights), delay, current) for weights, current in more)
        edges[u, v] = Edge(u, v, _transform(first[0]), delay, first[1], also)
    network = Network(plan.name, nodes, edges, outputs=tuple(e.name for e in plan.ensembles))
    return ChipNetwork(network, tuple(fed), scales)


def _transform(weights: Ints) -> MatrixTransform:
    return MatrixTransform(csr_array(weights))


def _decays(plan: ChipPlan, number: int, chip: ChipSpec) -> list[int]:
    """List the decays of an ensemble's currents after that of the bias: what the host feeds is forgotten at once."""
    found = set(filters_of(0, plan.dt, chip)) if plan.ensembles[number].feed is not None else set()
    for link in plan.links:
        if link.target == number:
            found |= set(filters_of(link.tau, plan.dt, chip))
    return sorted({part.decay for part in found}, reverse=True)


def _terms(
    plan: ChipPlan, scales: tuple[Ints, ...], decays: tuple[list[int], ...], chip: ChipSpec
) -> dict[EdgeKey, list[tuple[Ints, int]]]:
    """Write all links in integers, with their currents; those of one source together, as they share lists."""
    terms: dict[EdgeKey, list[tuple[Ints, int]]] = {}
    for source, sender in enumerate(plan.ensembles):
        mine = [
            (link, part) for link in plan.links if link.source == source for part in filters_of(link.tau, plan.dt, chip)
        ]
        if not mine:
            continue
        floats = [
            link.weights * (scales[link.target] * link_factor(plan, link, part, chip))[:, None] for link, part in mine
        ]
        rows = np.cumsum([len(weights) for weights in floats])[:-1]
        held = np.split(held_weights(np.concatenate(floats), chip), rows)
        for (link, part), weights in zip(mine, held, strict=True):
            current = 1 + decays[link.target].index(part.decay)
            terms.setdefault((sender.name, plan.ensembles[link.target].name), []).append((weights, current))
    return terms
