"""Populations and links of nodes whose sums are computed in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.times import Time
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import HostLink, Link, Matrix, Population
from neuromap.mapping.legalise.partial_sums import Clock, Layer, PartialSums
from neuromap.network.edge import EdgeKey
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["Summed", "columns_of_edges", "gathering", "sum_in_parts"]

Ints = NDArray[np.int64]


def columns_of_edges(matrices: Mapping[EdgeKey, Matrix], sums: Mapping[str, PartialSums]) -> dict[EdgeKey, Matrix]:
    """Cut what the slices of every wide node read into what they read over each edge."""
    cut: dict[EdgeKey, Matrix] = {}
    start = dict.fromkeys(sums, 0)
    for (u, v), matrix in matrices.items():
        if v in sums:
            end = start[v] + matrix.shape[1]
            cut[u, v] = sparse.csr_array(sums[v].layers[0].matrix[:, start[v] : end])
            start[v] = end
    return cut


def gathering(population: Population, sums: PartialSums) -> Population:
    """Make the population of a wide node one that gathers parts of its sums."""
    if sums.lift is None:
        return replace(population, threshold=sums.threshold)
    size = len(population.neurons)
    return replace(population, threshold=np.ones(size, np.int64), neuron=LeakNeuron(sums.alpha).spread(size))


class Summed(NamedTuple):
    """What computes the parts of one node's sums: populations, the links between them, and spikes of the host."""

    populations: list[Population]
    links: list[Link]
    clocks: list[HostLink]


def sum_in_parts(node: Population, number: int, sums: PartialSums, first: int) -> Summed:
    """Lay out the parts of a node's sums."""
    begin = node.sample_tick - sums.lead  # tick in which the inputs of frame 0 arrive
    delay = sums.spike_delay
    populations, links = [], []
    clocks: list[HostLink] = []
    for step, layer in enumerate(sums.layers):
        populations.append(_parts(node, layer, step, begin + step * delay))
        is_last = step + 1 == len(sums.layers)
        matrix = sums.gather if is_last else sums.layers[step + 1].matrix
        links.append(Link(first + step, number if is_last else first + step + 1, matrix, delay))

    def tick(clock: Clock | None, target: int, size: int, arrival: Time) -> None:
        if clock is not None:
            clocks.append(HostLink(BIAS, target, _columns(clock, size), arrival, 1))

    n_slices, size = len(sums.layers[0].of_neuron), len(node.neurons)
    tick(sums.clear_parts, first, n_slices, begin + sums.ticks)
    tick(sums.lift, number, size, node.sample_tick - sums.window + 1)
    tick(sums.lift, number, size, node.sample_tick)
    tick(sums.clear, number, size, node.sample_tick + 1)
    return Summed(populations, links, clocks)


def _parts(node: Population, layer: Layer, step: int, arrival: Time) -> Population:
    size = len(layer.of_neuron)
    in_a_tick = step == 0 and layer.window == 1
    one = np.ones(size, np.int64)
    neuron = None if in_a_tick else LeakNeuron(one, floor=layer.offset, potential=-layer.offset, subtract=1)
    return Population(
        name=f"{node.name} part" if step == 0 else f"{node.name} merger {step}",
        node=node.node,
        neurons=node.neurons[layer.of_neuron],
        shape=None,
        threshold=layer.offset + 1 if in_a_tick else one,
        is_relay=True,
        is_output=False,
        sample_tick=arrival,
        neuron=None if neuron is None else neuron.spread(size),
        is_part=True,
    )


def _columns(clock: Clock, size: int) -> Matrix:
    rows = np.repeat(clock.neurons, clock.axons)
    columns = np.tile(np.arange(clock.axons), len(clock.neurons))
    weights = np.full(len(rows), clock.weight, np.int64)
    return sparse.csr_array((weights, (rows, columns)), shape=(size, clock.axons))
