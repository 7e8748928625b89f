"""Labels and clocks of a network's nodes, as a program carries them."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.times import Time
from neuromap.hardware.program.ports import NodePort
from neuromap.network.network import Network

__all__ = ["node_ports"]


def node_ports(network: Network, sample_ticks: Mapping[str, Time]) -> tuple[NodePort, ...]:
    """Make the port of every node."""
    # gives in the order of the nodes
    roles = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    return tuple(NodePort(n, node.size, roles.get(n, "hidden"), sample_ticks[n]) for n, node in network.nodes.items())
