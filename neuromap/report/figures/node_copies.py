"""What the neurons of each node became on the chip, and why: copies for fan-out, relays for delays, splitters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["NodeCopies", "copies_line"]

_NAMED = 3
"""Nodes that a line names, at most."""


@dataclass(frozen=True)
class NodeCopies:
    """Neurons of the chip that carry the label of one node."""

    # A neuron of a crossbar core sends to one axon, with one delay. So a neuron of the network is there once for every
    # axon that it feeds, and once where it is read out. Neurons of cores with synapse lists send to any number of axons
    # and have no copies. Delays beyond the longest take relays, whatever the cores.

    node: str  # name of the node
    neurons: int  # neurons of the network that were mapped
    on_chip: int  # neurons of the chip that stand for them; relays, splitters and parts of sums included
    copies: int  # those that repeat another one
    # relays, splitters: those that only lengthen a delay, and those that fan out
    relays: int
    splitters: int
    most_cores: int  # cores that one neuron of the network is sent to, at most, by all that stand for it
    most_delays: int  # different delays with which it is sent, at most; those of synapses are not counted
    is_output: bool  # whether it is read out
    parts: int = 0  # those that hold parts of sums that are wider than a core


def copies_line(nodes: Sequence[NodeCopies]) -> str:
    """Say what neurons became how many, and why, for the nodes that take most."""
    neurons, on_chip = sum(node.neurons for node in nodes), sum(node.on_chip for node in nodes)
    if neurons == on_chip:
        return ""
    grown = sorted(
        (node for node in nodes if node.on_chip > node.neurons), key=lambda node: node.neurons - node.on_chip
    )
    named = "; ".join(map(_words, grown[:_NAMED]))
    more = f"; and other nodes ({len(grown) - _NAMED})" if len(grown) > _NAMED else ""
    fans_out = any(node.copies or node.splitters for node in nodes)
    why = "where a neuron sends to one axon with one delay" if fans_out else "where delays are longer than one can be"
    if any(node.parts for node in nodes):
        why += ", and sums that are wider than a core come in parts"
    return f"{neurons:,} neurons of the network became {on_chip:,} on the chip, {why}: {named}{more}."


def _words(node: NodeCopies) -> str:
    why = [f"sent to {_up_to(node.most_cores, 'core')}"]
    if node.most_delays > 1:
        why.append(f"with {_up_to(node.most_delays, 'delay')}")
    if node.is_output:
        why.append("and read out")
    parts = [(node.copies, "copies"), (node.relays, "relays"), (node.splitters, "splitters")]
    parts.append((node.parts, "parts of sums"))
    added = ", ".join(f"{number:,} {name}" for number, name in parts if number)
    return f"{node.node} {node.neurons:,} became {node.on_chip:,} ({added}; {' '.join(why)})"


def _up_to(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"up to {number:,} {what}s"
