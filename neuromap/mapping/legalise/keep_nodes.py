"""Nodes that are kept although no output depends on them, so that they can be recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean
from neuromap.hardware.program.ports import NodePort
from neuromap.mapping.legalise.legalised import Legalised, Link

__all__ = ["keep_nodes"]

Bools = NDArray[np.bool_]


def keep_nodes(network: Legalised, names: Sequence[str]) -> Legalised:
    """Give a copy of their own to those neurons of some nodes that nobody else asks for.

    Tiling starts at what is read out and goes on to what that reads; the rest is left out. A neuron that is read has
    copies for that, and needs no other one to be recorded.

    Parameters
    ----------
    network : Legalised
        In ticks.
    names : sequence of str
        Hidden or output nodes; ``"all"`` is every node.

    Returns
    -------
    Legalised
        The network itself where nothing is to be kept.

    Raises
    ------
    InputError
        If there is no such node, or it is an input.
    """
    if not names:
        return network
    kept = _numbers(network.ports, names)
    populations = network.populations
    whole = [not p.is_relay and p.node in kept for p in populations]
    read = _read(network, [np.full(len(p.neurons), p.is_output or w) for p, w in zip(populations, whole, strict=True)])
    return replace(
        network,
        populations=tuple(
            replace(p, kept=~read[i]) if whole[i] and not p.is_output else p for i, p in enumerate(populations)
        ),
    )


def _numbers(ports: Sequence[NodePort], names: Sequence[str]) -> set[int]:
    """Positions of the nodes in the network."""
    on_chip = [port.name for port in ports if port.kind != "input"]
    for name in names:
        if name != "all" and name not in on_chip:
            is_input = any(port.name == name for port in ports)
            why = "is an input, whose spikes are the stimulus" if is_input else "is unknown"
            hint = "" if is_input else did_you_mean(name, on_chip)
            raise InputError(f"keep {name}: {why}; allowed are all, {', '.join(on_chip)}{hint}")
    return {k for k, port in enumerate(ports) if port.kind != "input" and ("all" in names or port.name in names)}


def _read(network: Legalised, computed: list[Bools]) -> list[Bools]:
    """Mark the neurons that are read by those that are computed, or by those that are computed for these."""
    into: dict[int, list[Link]] = {}
    for link in network.links:
        into.setdefault(link.target, []).append(link)
    read = [np.zeros(len(p.neurons), bool) for p in network.populations]
    waiting = {i for i, mine in enumerate(computed) if mine.any()}
    while waiting:
        reader = waiting.pop()
        for link in into.get(reader, []):
            read[link.source][link.matrix[np.flatnonzero(computed[reader])].indices] = True
            if (read[link.source] & ~computed[link.source]).any():
                computed[link.source] |= read[link.source]
                waiting.add(link.source)
    return read
