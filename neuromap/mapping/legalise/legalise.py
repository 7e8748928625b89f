"""Legalise a rollout: from update steps to ticks, from long delays to relays, from fan-out to splitters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import floor

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, whole
from neuromap.errors import InputError
from neuromap.files.messages import counted, did_you_mean
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS, NodePort
from neuromap.mapping.legalise.legalised import (
    Clock,
    HostLink,
    Layer,
    Legalised,
    Link,
    Matrix,
    PartialSums,
    Population,
    clip_thresholds,
    fewest_ticks_per_step,
    needed_for,
    segments_of_delay,
    segments_of_edges,
    segments_of_sources,
)
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.network.build import require_weights
from neuromap.network.edge import EdgeKey, Term
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import GradedNeuron, LeakNeuron
from neuromap.rollout.schedule.rollout import Rollout

# Partial sums of networks in which no node is wider than a core.
NO_SUMS: Mapping[str, PartialSums] = ReadOnlyMapping({})


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
    # returns populations in the order of the network's nodes, then parts of sums, then relays and splitters
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
    # keeps phases, and the ticks in which parts of sums begin, from being negative
    origin = max(0, *(leads[n] - floor(rollout.phases[n] * ticks_per_step) for n in inner))
    phases = {n: whole(phase * ticks_per_step + origin) for n, phase in rollout.phases.items()}
    ports = node_ports(network, {n: whole(phase - period) for n, phase in phases.items()})
    position = {n: i for i, n in enumerate(network.nodes)}
    number = {n: i for i, n in enumerate(inner)}
    matrices = {edge: value.matrix().astype(np.int64, copy=False) for edge, value in network.edges.items()}
    segments = segments_of_edges(rollout, chip, ticks_per_step, split, matrices, leads)
    read = read_over_relays((number[edge[0]], matrices[edge], of_edge) for edge, of_edge in segments.items())
    nodes = [gathering(p, sums[p.name]) if p.name in sums else p for p in _whole_nodes(network, ports, matrices)]
    builder = LinkBuilder(nodes, read)
    host_links: list[HostLink] = []
    reader = dict(number)
    for v, of_node in sums.items():
        reader[v] = len(builder.populations)
        populations, links, clocks = sum_in_parts(nodes[number[v]], number[v], of_node, reader[v])
        builder.populations += populations
        builder.links += links
        host_links += clocks
    start = dict.fromkeys(sums, 0)  # of the columns of an edge among the inputs of a wide node's slices
    for (u, v), matrix in matrices.items():
        if v in sums:
            end = start[v] + matrix.shape[1]
            matrix, start[v] = sparse.csr_array(sums[v].layers[0].matrix[:, start[v] : end]), end
        groups = getattr(network.edges[u, v].transform, "groups", None)
        if u in network.inputs:
            r = rollout.pattern[u, v]
            arrival = whole(phases[v] - leads[v] + (r - 1) * period)  # of frame 0, which nobody reads where R = 0
            host_links.append(HostLink(position[u], reader[v], matrix, arrival, int(r == 0), groups))
        elif (u, v) in segments:
            is_splitter = (u, v) in split
            builder.connect(number[u], reader[v], matrix, segments[u, v], groups, is_splitter=is_splitter)
    return builder.legalised(network, ports, host_links, period, ticks_per_step)


def _whole_nodes(network: Network, ports: tuple[NodePort, ...], matrices: Mapping[EdgeKey, Matrix]) -> list[Population]:
    """Make a population of every node that is not an input."""
    into: dict[str, list[Matrix]] = {}
    for (_, v), matrix in matrices.items():
        into.setdefault(v, []).append(matrix)
    populations = []
    for position, (port, node) in enumerate(zip(ports, network.nodes.values(), strict=True)):
        if port.kind != "input":
            neuron, theta = node.neuron, np.ones(node.size, np.int64)  # what frame neurons have; others have their own
            if isinstance(neuron, GradedNeuron):
                neuron = neuron.of_features(node.shape).spread(node.size)
            elif neuron is None:
                assert node.threshold is not None, "require_weights saw to it"
                theta = clip_thresholds(node.threshold.astype(np.int64), into.get(port.name, []))
            populations.append(
                Population(
                    name=port.name,
                    node=position,
                    neurons=np.arange(node.size),
                    shape=node.shape,
                    threshold=theta,
                    is_relay=False,
                    is_output=port.kind == "output",
                    sample_tick=port.sample_tick,
                    neuron=neuron,
                )
            )
    return populations


# Legalise a spiking network: its delays are ticks already, long ones go over relays.
# Tick of frame 0: frame 1 is computed in tick 0, before which neurons have the state that they start with.
_BEFORE_TICK_0 = -1
Terms = list[tuple[EdgeKey, Term]]


def legalise_spiking(rollout: Rollout, chip: ChipSpec) -> Legalised:
    """Turn a spiking network into populations and links whose delays the chip can give."""
    # returns populations in the order of the network's nodes, then relays
    network = rollout.network
    position = {n: i for i, n in enumerate(network.nodes)}
    inner = [n for n in network.nodes if n not in network.inputs]
    number = {n: i for i, n in enumerate(inner)}
    terms = [(key, term) for key, edge in network.edges.items() for term in edge.terms]
    on_chip = [(key, term) for key, term in terms if key[0] not in network.inputs and term.matrix.nnz]
    segments = _segments(on_chip, chip)
    read = read_over_relays((number[u], term.matrix, segments[u, term.delay]) for (u, _), term in on_chip)
    ports = node_ports(network, dict.fromkeys(network.nodes, _BEFORE_TICK_0))
    builder = LinkBuilder(_whole_nodes(network, ports, {}), read)
    for (u, v), term in on_chip:
        way = segments[u, term.delay]
        builder.connect(number[u], number[v], term.matrix, way, None, is_splitter=False, current=term.current)
    host_links = [
        HostLink(position[u], number[v], term.matrix, term.delay + _BEFORE_TICK_0, 0, current=term.current)
        for (u, v), term in terms
        if u in network.inputs
    ]
    return builder.legalised(network, ports, host_links, 1, 1)


def _segments(on_chip: Terms, chip: ChipSpec) -> dict[tuple[str, int], tuple[int, ...]]:
    """Find the legs of every delay of every source, or refuse one that no legs can give."""
    least, greatest = chip.delay
    for (u, v), term in on_chip:
        if segments_of_delay(term.delay, least, greatest) is None:
            needed = -(-term.delay // greatest) * least
            text = (
                f"edge {u} -> {v} has a delay of {counted(term.delay, 'tick')}, a {chip.name} neuron delays its spikes "
                f"by {least} to {greatest}"
            )
            advice = f"a delay of {needed} would do, which the network computes otherwise, or a chip with shorter ones"
            raise refuse("delay", v, needed, term.delay, text, [Remedy("delay", needed, advice)])
    return segments_of_sources(((u, term.delay) for (u, _), term in on_chip), least, greatest)


# Labels and clocks of a network's nodes, as a program carries them.
def node_ports(network: Network, sample_ticks: Mapping[str, Time]) -> tuple[NodePort, ...]:
    """Make the ports of all nodes, in the order of the nodes."""
    roles = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    return tuple(NodePort(n, node.size, roles.get(n, "hidden"), sample_ticks[n]) for n, node in network.nodes.items())


# Links over relays and splitters, which are made on demand.
def read_over_relays(ways: Iterable[tuple[int, Matrix, tuple[int, ...]]]) -> dict[int, Ints]:
    """Find the neurons of every node that are read over relays or splitters."""
    # returns ascending neurons, by the number of the node
    read: dict[int, list[Ints]] = {}
    for source, matrix, segments in ways:
        if len(segments) > 1:
            read.setdefault(source, []).append(matrix.indices.astype(np.int64))
    return {source: np.unique(np.concatenate(neurons)) for source, neurons in read.items()}


class LinkBuilder:
    """Collects populations and links; relays of one source are shared by all delays that they serve."""

    # populations: the nodes, then relays and splitters
    # links: each with a delay of one leg

    def __init__(self, nodes: Sequence[Population], carried: Mapping[int, Ints]) -> None:
        self.populations = list(nodes)
        self.links: list[Link] = []
        self._carried = carried
        self._relays: dict[tuple[int, int], int] = {}  # by the population that they read, and the delay

    def legalised(
        self, network: Network, ports: tuple[NodePort, ...], host_links: list[HostLink], period: Time, step: int
    ) -> Legalised:
        """Return what was collected; a step takes ``step`` ticks."""
        shapes = tuple(node.shape for node in network.nodes.values() if node.shape is not None)
        return Legalised(ports, shapes, tuple(self.populations), tuple(self.links), tuple(host_links), period, step)

    def connect(
        self,
        source: int,
        target: int,
        matrix: Matrix,
        segments: tuple[int, ...],
        groups: int | None,
        *,
        is_splitter: bool,
        current: int = 0,
    ) -> None:
        """Link two populations in one or more legs; all but the last end in a relay or splitter."""
        reached = source
        for number, segment in enumerate(segments[:-1], start=1):
            reached = self._relay(source, reached, segment, number, is_splitter)
        if reached != source:
            matrix = sparse.csr_array(matrix[:, self.populations[reached].neurons])
        self.links.append(Link(reached, target, matrix, segments[-1], groups, current))

    def _relay(self, origin: int, before: int, segment: int, number: int, is_splitter: bool) -> int:
        """Return the relays one leg behind ``before``, made on first use."""
        if (before, segment) not in self._relays:
            source, neurons = self.populations[origin], self._carried[origin]
            size = len(neurons)
            relay = len(self.populations)
            self._relays[before, segment] = relay
            carries = source.neuron if isinstance(source.neuron, GradedNeuron) else None
            self.populations.append(
                Population(
                    name=f"{source.name} splitter" if is_splitter else f"{source.name} relay {number}",
                    node=source.node,
                    neurons=neurons,
                    shape=None,
                    threshold=np.ones(size, np.int64),
                    is_relay=True,
                    is_output=False,
                    sample_tick=self.populations[before].sample_tick + segment,
                    is_splitter=is_splitter,
                    # the identity hands on every value of its source
                    neuron=None if carries is None else GradedNeuron(*carries.value_range).spread(size),
                )
            )
            wires = neurons if before == origin else np.arange(size)
            matrix = sparse.csr_array(
                (np.ones(size, np.int64), (np.arange(size), wires)),
                shape=(size, len(self.populations[before].neurons)),
            )
            self.links.append(Link(before, relay, matrix, segment))
        return self._relays[before, segment]


# Populations and links of nodes whose sums are computed in parts.


def gathering(population: Population, sums: PartialSums) -> Population:
    """Turn the population of a wide node into one that gathers the parts of its sums."""
    if sums.lift is None:
        return replace(population, threshold=sums.threshold)
    size = len(population.neurons)
    return replace(population, threshold=np.ones(size, np.int64), neuron=LeakNeuron(sums.alpha).spread(size))


def sum_in_parts(
    node: Population, number: int, sums: PartialSums, first: int
) -> tuple[list[Population], list[Link], list[HostLink]]:
    """Lay out the parts of a node's sums: populations, the links between them, and host spikes."""
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
            rows = np.repeat(clock.neurons, clock.axons)
            columns = np.tile(np.arange(clock.axons), len(clock.neurons))
            weights = np.full(len(rows), clock.weight, np.int64)
            matrix = sparse.csr_array((weights, (rows, columns)), shape=(size, clock.axons))
            clocks.append(HostLink(BIAS, target, matrix, arrival, 1))

    n_slices, size = len(sums.layers[0].of_neuron), len(node.neurons)
    tick(sums.clear_parts, first, n_slices, begin + sums.ticks)
    tick(sums.lift, number, size, node.sample_tick - sums.window + 1)
    tick(sums.lift, number, size, node.sample_tick)
    tick(sums.clear, number, size, node.sample_tick + 1)
    return populations, links, clocks


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


# Nodes that are kept although no output depends on them, so that they can be recorded.


def keep_nodes(network: Legalised, names: Sequence[str]) -> Legalised:
    """Give neurons of some nodes a copy of their own if nothing else needs one."""
    # Tiling starts at neurons that are read out and follows what they read; the rest is left out. A neuron that is read
    # has copies for that, and needs no other to be recorded; of neurons that only read one another, one gets a copy.
    if not names:
        return network
    on_chip = [port.name for port in network.ports if port.kind != "input"]
    for name in names:
        if name != "all" and name not in on_chip:
            is_input = any(port.name == name for port in network.ports)
            why = "is an input, whose spikes are the stimulus" if is_input else "is unknown"
            hint = "" if is_input else did_you_mean(name, on_chip)
            raise InputError(f"keep {name}: {why}; allowed are all, {', '.join(on_chip)}{hint}")
    asked = set(on_chip if "all" in names else names)
    populations = network.populations
    whole = [np.full(len(p.neurons), not p.is_relay and network.ports[p.node].name in asked) for p in populations]
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


def _read(network: Legalised, wanted: Sequence[Bools]) -> tuple[list[Bools], list[Bools]]:
    """Mark the neurons read by those wanted, or by those computed for these; and all that are computed."""
    computed = needed_for(dict(enumerate(wanted)), ((k.source, k.target, k.matrix) for k in network.links))
    read = [np.zeros_like(mine) for mine in wanted]
    for link in network.links:
        read[link.source][link.matrix[np.flatnonzero(computed[link.target])].indices] = True
    return read, list(computed.values())


def _one_of_every_cycle(network: Legalised, wanted: list[Bools]) -> list[Bools]:
    """Choose wanted neurons whose computation takes in all others, where each is read by another wanted one."""
    # Neurons that read one another, directly or indirectly, are all computed as soon as one of them is. So one is
    # chosen from every such set that nothing outside it reads.
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


def computed_neurons(network: Legalised, soma: Ints, start: Ints, source: NDArray[np.integer]) -> Bools:
    """Mark the neurons that are read out or kept, and those that they depend on; numbered over all populations."""
    # soma: (rows,): neuron that a row of sources belongs to; source: higher numbers are no neurons of the chip
    found: Bools = np.concatenate([p.own_copies > 0 for p in network.populations])
    front, n = found, len(found)
    while front.any():
        is_read = np.zeros(max(n, int(source.max(initial=0)) + 1), np.bool_)
        is_read[source[np.repeat(front[soma], np.diff(start))]] = True
        front = is_read[:n] & ~found
        found = found | front
    return found
