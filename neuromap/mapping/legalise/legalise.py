"""Legalise a rollout: from update steps to ticks, from long delays to relays, from fan-out to splitters."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import whole
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import NodePort
from neuromap.mapping.legalise.clip_thresholds import clip_thresholds
from neuromap.mapping.legalise.edge_legs import legs_of_edges
from neuromap.mapping.legalise.legalise_spiking import legalise_spiking
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Matrix, Population
from neuromap.mapping.legalise.node_ports import node_ports
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.legalise.relays import LinkBuilder, read_over_relays
from neuromap.mapping.legalise.sum_in_parts import columns_of_edges, gathering, sum_in_parts
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.network.complete import require_weights
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["NO_SUMS", "legalise"]

NO_SUMS: Mapping[str, PartialSums] = ReadOnlyMapping({})
"""Where no node is wider than a core."""


def legalise(
    rollout: Rollout,
    chip: ChipSpec,
    *,
    ticks_per_step: int | None = None,
    split: frozenset[EdgeKey] = frozenset(),
    sums: Mapping[str, PartialSums] = NO_SUMS,
) -> Legalised:
    """Turn a rollout's schedule into ticks and legal delays."""
    # split: edges whose spikes go over splitters. Their delay must have room for two legs
    # sums: nodes whose sums are computed in parts; the delays of edges into them must have room for that
    # gives populations in the order of the network's nodes, then parts of sums, then relays and splitters
    network = rollout.network
    require_weights(network)
    if network.is_spiking:
        if ticks_per_step not in (None, 1):
            raise InputError(
                f"ticks_per_step = {ticks_per_step}: a step of a spiking network is one tick; leave it out"
            )
        return legalise_spiking(rollout, chip)
    if ticks_per_step is None:
        ticks_per_step = fewest_ticks_per_step(rollout, chip)
    period = whole(rollout.frame_period * ticks_per_step)
    inner = [n for n in network.nodes if n not in network.inputs]
    leads = {n: sums[n].lead if n in sums else 0 for n in inner}
    # so that no phase is negative, and no tick in which parts of sums begin
    origin = max(0, *(leads[n] - floor(rollout.phases[n] * ticks_per_step) for n in inner))
    phases = {n: whole(phase * ticks_per_step + origin) for n, phase in rollout.phases.items()}
    ports = node_ports(network, {n: whole(phase - period) for n, phase in phases.items()})
    position = {n: i for i, n in enumerate(network.nodes)}
    number = {n: i for i, n in enumerate(inner)}
    matrices = {edge: value.matrix().astype(np.int64, copy=False) for edge, value in network.edges.items()}
    legs = legs_of_edges(rollout, chip, ticks_per_step, split, matrices, leads)
    read = read_over_relays((number[edge[0]], matrices[edge], of_edge) for edge, of_edge in legs.items())
    nodes = [gathering(p, sums[p.name]) if p.name in sums else p for p in _whole_nodes(network, ports, matrices)]
    builder = LinkBuilder(nodes, read)
    host_links: list[HostLink] = []
    reader = dict(number)
    for v, of_node in sums.items():
        reader[v] = len(builder.populations)
        summed = sum_in_parts(nodes[number[v]], number[v], of_node, reader[v])
        builder.populations += summed.populations
        builder.links += summed.links
        host_links += summed.clocks
    read_by_parts = columns_of_edges(matrices, sums)
    for (u, v), weights in matrices.items():
        matrix = read_by_parts.get((u, v), weights)
        groups = getattr(network.edges[u, v].transform, "groups", None)
        if u in network.inputs:
            r = rollout.pattern[u, v]
            arrival = whole(phases[v] - leads[v] + (r - 1) * period)  # of frame 0, which nobody reads where R = 0
            host_links.append(HostLink(position[u], reader[v], matrix, arrival, int(r == 0), groups))
        elif (u, v) in legs:
            is_splitter = (u, v) in split
            builder.connect(number[u], reader[v], matrix, legs[u, v], groups, is_splitter=is_splitter)
    shapes = tuple(node.shape for node in network.nodes.values() if node.shape is not None)
    links = tuple(builder.links)
    return Legalised(ports, shapes, tuple(builder.populations), links, tuple(host_links), period, ticks_per_step)


def _whole_nodes(network: Network, ports: tuple[NodePort, ...], matrices: Mapping[EdgeKey, Matrix]) -> list[Population]:
    """Make a population of every node that is not an input."""
    into: dict[str, list[Matrix]] = {}
    for (_, v), matrix in matrices.items():
        into.setdefault(v, []).append(matrix)
    populations = []
    for position, (port, node) in enumerate(zip(ports, network.nodes.values(), strict=True)):
        if port.kind != "input":
            assert node.threshold is not None, "require_weights saw to it"
            populations.append(
                Population(
                    name=port.name,
                    node=position,
                    neurons=np.arange(node.size),
                    shape=node.shape,
                    threshold=clip_thresholds(node.threshold.astype(np.int64), into.get(port.name, [])),
                    is_relay=False,
                    is_output=port.kind == "output",
                    sample_tick=port.sample_tick,
                )
            )
    return populations
