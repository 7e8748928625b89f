"""Legalise a spiking network: its delays are ticks already, long ones go over relays."""

from __future__ import annotations

import numpy as np

from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay, shared_legs
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Population
from neuromap.mapping.legalise.node_ports import node_ports
from neuromap.mapping.legalise.relays import LinkBuilder, read_over_relays
from neuromap.mapping.refused.infeasible import Remedy, refuse
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.terms import Term
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["legalise_spiking"]

_BEFORE_TICK_0 = -1
"""Tick of frame 0: frame 1 is computed in tick 0, before which neurons have the state that they start with."""

Terms = list[tuple[EdgeKey, Term]]


def legalise_spiking(rollout: Rollout, chip: ChipSpec) -> Legalised:
    """Turn a spiking network into populations and links whose delays the chip can give."""
    # gives populations in the order of the network's nodes, then relays
    network = rollout.network
    position = {n: i for i, n in enumerate(network.nodes)}
    inner = [n for n in network.nodes if n not in network.inputs]
    number = {n: i for i, n in enumerate(inner)}
    terms = [(key, term) for key, edge in network.edges.items() for term in edge.terms]
    on_chip = [(key, term) for key, term in terms if key[0] not in network.inputs and term.matrix.nnz]
    legs = _legs(on_chip, chip)
    read = read_over_relays((number[u], term.matrix, legs[u, term.delay]) for (u, _), term in on_chip)
    builder = LinkBuilder(_populations(network, position), read)
    for (u, v), term in on_chip:
        way = legs[u, term.delay]
        builder.connect(number[u], number[v], term.matrix, way, None, is_splitter=False, current=term.current)
    host_links = tuple(
        HostLink(position[u], number[v], term.matrix, term.delay + _BEFORE_TICK_0, 0, current=term.current)
        for (u, v), term in terms
        if u in network.inputs
    )
    shapes = tuple(node.shape for node in network.nodes.values() if node.shape is not None)
    ports = node_ports(network, dict.fromkeys(network.nodes, _BEFORE_TICK_0))
    return Legalised(ports, shapes, tuple(builder.populations), tuple(builder.links), host_links, 1, 1)


def _legs(on_chip: Terms, chip: ChipSpec) -> dict[tuple[str, int], tuple[int, ...]]:
    """Find the legs of every delay of every source; long ones share as many as they can."""
    least, greatest = chip.delay
    delays: dict[str, set[int]] = {}
    for (u, v), term in on_chip:
        if legs_of_delay(term.delay, least, greatest) is None:
            needed = -(-term.delay // greatest) * least
            text = (
                f"edge {u} -> {v} has a delay of {counted(term.delay, 'tick')}, a {chip.name} neuron delays its spikes "
                f"by {least} to {greatest}"
            )
            advice = f"a delay of {needed} would do, which the network computes otherwise, or a chip with shorter ones"
            raise refuse("delay", v, needed, term.delay, text, [Remedy("delay", needed, advice)])
        delays.setdefault(u, set()).add(term.delay)
    legs: dict[tuple[str, int], tuple[int, ...]] = {}
    for u, some in delays.items():
        long = shared_legs([d for d in some if d > greatest], least, greatest)
        legs |= {(u, d): long.get(d, (d,)) for d in some}
    return legs


def _populations(network: Network, position: dict[str, int]) -> list[Population]:
    """Make a population of every node that is not an input."""
    return [
        Population(
            name=node.name,
            node=position[node.name],
            neurons=np.arange(node.size),
            shape=node.shape,
            threshold=np.ones(node.size, np.int64),  # what frame neurons have; its neuron has its own
            is_relay=False,
            is_output=node.name in network.outputs,
            sample_tick=_BEFORE_TICK_0,
            neuron=node.neuron,
        )
        for node in network.nodes.values()
        if node.neuron is not None
    ]
