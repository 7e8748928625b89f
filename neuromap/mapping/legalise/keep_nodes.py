"""Nodes that are kept although no output depends on them, so that they can be recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean
from neuromap.hardware.program.ports import NodePort
from neuromap.mapping.legalise.legalised import Legalised, Link

Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]


def keep_nodes(network: Legalised, names: Sequence[str]) -> Legalised:
    """Give a copy of their own to those neurons of some nodes that nobody else asks for."""
    # Tiling starts at what is read out and goes on to what that reads; the rest is left out. A neuron that is read has
    # copies for that, and needs no other one to be recorded; of neurons that only read one another, one gets it.
    if not names:
        return network
    kept = _numbers(network.ports, names)
    populations = network.populations
    whole = [np.full(len(p.neurons), not p.is_relay and p.node in kept) for p in populations]
    outputs = [np.full(len(p.neurons), p.is_output) for p in populations]
    read, _ = _read(network, _either(outputs, whole))
    unread = [mine & ~others for mine, others in zip(whole, read, strict=True)]
    _, computed = _read(network, _either(outputs, unread))
    on_cycles = _one_of_every_cycle(network, [mine & ~seen for mine, seen in zip(whole, computed, strict=True)])
    own = _either(unread, on_cycles)
    return replace(
        network,
        populations=tuple(
            replace(p, kept=own[i]) if whole[i].any() and not p.is_output else p for i, p in enumerate(populations)
        ),
    )


def _either(some: Sequence[Bools], others: Sequence[Bools]) -> list[Bools]:
    return [mine | yours for mine, yours in zip(some, others, strict=True)]


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


def _read(network: Legalised, wanted: Sequence[Bools]) -> tuple[list[Bools], list[Bools]]:
    """Mark the neurons that are read by those wanted, or by those computed for these; and all that are computed."""
    into: dict[int, list[Link]] = {}
    for link in network.links:
        into.setdefault(link.target, []).append(link)
    computed = [mine.copy() for mine in wanted]
    read = [np.zeros(len(p.neurons), bool) for p in network.populations]
    waiting = {i for i, mine in enumerate(computed) if mine.any()}
    while waiting:
        reader = waiting.pop()
        for link in into.get(reader, []):
            read[link.source][link.matrix[np.flatnonzero(computed[reader])].indices] = True
            if (read[link.source] & ~computed[link.source]).any():
                computed[link.source] |= read[link.source]
                waiting.add(link.source)
    return read, computed


def _one_of_every_cycle(network: Legalised, wanted: list[Bools]) -> list[Bools]:
    """Choose wanted neurons from which all others are computed, where each is read by another one that is wanted."""
    # Neurons that read one another, directly or over others, are computed as soon as one of them is. So one is chosen
    # of every such set that nothing outside of it reads.
    if not any(mine.any() for mine in wanted):
        return wanted
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components  # slow to import, and hardly ever needed

    _, computed = _read(network, wanted)
    first = np.cumsum([0, *(len(mine) for mine in computed)])
    edges = [
        (first[link.target] + matrix.row, first[link.source] + matrix.col)
        for link in network.links
        for matrix in [link.matrix.tocoo()]
    ]
    readers, sources = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    among = np.concatenate(computed)[readers]
    graph = coo_array((np.ones(among.sum(), bool), (readers[among], sources[among])), shape=(first[-1], first[-1]))
    n_sets, in_set = connected_components(graph, directed=True, connection="strong")
    is_read = np.zeros(n_sets, bool)
    outside = in_set[graph.row] != in_set[graph.col]
    is_read[in_set[graph.col[outside]]] = True
    candidates = np.flatnonzero(np.concatenate(wanted))
    candidates = candidates[~is_read[in_set[candidates]]]
    _, chosen = np.unique(in_set[candidates], return_index=True)
    own = np.zeros(first[-1], bool)
    own[candidates[chosen]] = True
    return np.split(own, first[1:-1])


def computed_neurons(network: Legalised, offset: Ints, target: Ints, source: Ints) -> Bools:
    """Mark the neurons that are read out or kept, and those that they depend on; numbered over all populations."""
    # target, source: ends of the synapses between neurons of the chip
    found: Bools = np.concatenate([p.own_copies > 0 for p in network.populations])
    order = np.argsort(target, kind="stable")
    read, start = source[order], np.searchsorted(target[order], np.arange(int(offset[-1]) + 1))
    front = np.flatnonzero(found)
    while len(front):
        sources = np.unique(np.concatenate([read[start[n] : start[n + 1]] for n in front.tolist()]))
        front = sources[~found[sources]]
        found[front] = True
    return found
