"""Resources that a program uses: cores, neurons, copies, relays, axons and routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import run_heads
from neuromap.hardware.program.chip_program import ChipProgram, Wires
from neuromap.render.value import Card


@dataclass(frozen=True)
class Usage(Card):
    """Resources of a program.

    A *target* is an axon that a neuron feeds: at most one on crossbar cores, none if the neuron is read out; any number
    on cores with synapse lists. A *source* is a neuron of the network, identified by node and index; its copies, relays
    and splitters carry its label.

    Attributes
    ----------
    cores : int
        Cores in use.
    cores_of_chip, usable_cores : int
        Cores of the chip, and those that are not dead.
    shared_cores : int
        Cores that hold neurons of more than one node.
    neurons : int
        Neurons in use, copies, splitters and relays included; on cores with synapse lists, a neuron with all its
        compartments counts once.
    copies : int
        Neurons that duplicate another one for more fan-out: those beyond the first with the same node and index, not
        counting relays, splitters and parts. The mapped neurons of the network are neurons minus copies, splitters,
        relays and parts.
    replicas : int
        Neurons of the network whose copies lie in more than one core.
    splitters : int
        Relays that fan out, their copies included.
    relays : int
        Neurons that only lengthen a delay, including their copies but not splitters and parts.
    axons : int
        Axons that a neuron or the host feeds.
    bias_axons : int
        Axons that carry a constant.
    synapses : int
        Crossbar bits that are set, or synapses in lists.
    neuron_utilisation, axon_utilisation : float
        Fraction in use of the neurons (compartments, where cores have them) and axons of the cores in use.
    deliveries : int
        Distinct pairs of a source (inputs included) and a core that receives its spikes.
    mean_fan_out : float
        Mean number of cores that receive the spikes of a source, over the sources with any.
    largest_fan_out : int
        Greatest number of cores that receive the spikes of a source.
    weighted_hops : int
        Hops from every neuron to its targets, summed: columns plus rows between their routers.
    mean_hops : float
        Mean hops per target.
    longest_way : int
        Hops to the farthest target.
    chip_crossings : int
        Chip boundaries crossed on these routes, summed.
    output_axons : int or None
        Pairs of a neuron and a core that it feeds, on cores with synapse lists; ``None`` on crossbar cores.
    synapse_memory_utilisation : float or None
        Fraction in use of the synapse memory of the cores in use; ``None`` on crossbar cores.
    compartments : int or None
        Compartments in use, one per current of a neuron, on cores with synapse lists; ``None`` on crossbar cores.
    parts : int or None
        Neurons that hold parts of sums wider than a core; ``None`` without any.
    """

    cores: int
    cores_of_chip: int
    usable_cores: int
    shared_cores: int
    neurons: int
    copies: int
    replicas: int
    splitters: int
    relays: int
    axons: int
    bias_axons: int
    synapses: int
    neuron_utilisation: float
    axon_utilisation: float
    deliveries: int
    mean_fan_out: float
    largest_fan_out: int
    weighted_hops: int
    mean_hops: float
    longest_way: int
    chip_crossings: int
    output_axons: int | None = None
    synapse_memory_utilisation: float | None = None
    parts: int | None = None
    compartments: int | None = None


def count_usage(program: ChipProgram) -> Usage:
    """Count the resources that a program uses."""
    wires, host = program.wires, program.host
    fed = _n_axons(program, [wires.target_core, host.core], [wires.target_axon, host.axon])
    constant = host.node < 0
    used, n_cores = program.neurons_in_use, program.n_cores
    neurons = int((used & ~program.further_compartments).sum())
    splitters = 0 if program.is_splitter is None else int(program.is_splitter.sum())
    parts = 0 if program.is_part is None else int(program.is_part.sum())
    copies, replicas = _copies_and_replicas(program)
    deliveries, sources, most = _deliveries(program, wires)
    hops, crossings = _ways(program, wires)
    return Usage(
        cores=n_cores,
        cores_of_chip=program.chip.n_cores,
        usable_cores=program.chip.n_usable_cores,
        shared_cores=_shared_cores(program),
        neurons=neurons,
        copies=copies,
        replicas=replicas,
        splitters=splitters,
        relays=int(program.is_relay.sum()) - splitters - parts,
        axons=fed,
        bias_axons=_n_axons(program, [host.core[constant]], [host.axon[constant]]),
        synapses=program.n_synapses,
        neuron_utilisation=int(used.sum()) / max(1, n_cores * program.chip.neurons),
        axon_utilisation=fed / max(1, n_cores * program.chip.axons),
        deliveries=deliveries,
        mean_fan_out=deliveries / max(1, sources),
        largest_fan_out=most,
        weighted_hops=int(hops.sum()),
        mean_hops=float(hops.sum() / max(1, len(hops))),
        longest_way=int(hops.max(initial=0)),
        chip_crossings=crossings,
        parts=parts or None,
        **program.memory_figures(),
    )


def sampling_frequency(program: ChipProgram) -> float | None:
    """Return input frames per second by the program's period; None if ticks last as long as their work."""
    return None if program.chip.is_timed else 1.0 / (program.period * program.chip.tick_seconds)


def _n_axons(program: ChipProgram, cores: Sequence[NDArray[np.integer]], axons: Sequence[NDArray[np.integer]]) -> int:
    """Count distinct axons."""
    fed = np.zeros((program.n_cores, int(program.axon_counts.max(initial=0))), np.bool_)
    for core, axon in zip(cores, axons, strict=True):
        fed[core, axon] = True
    return int(fed.sum())


def _source(node: NDArray[np.int32], index: NDArray[np.int32], program: ChipProgram) -> Ints:
    """Return the number of every source, equal for equal node and index."""
    span = max(int(program.neuron_index.max(initial=0)), int(program.host.index.max(initial=0))) + 1
    return node.astype(np.int64) * span + index


def _runs(ascending: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values of a sorted array and their counts; much faster than ``np.unique``."""
    start = np.flatnonzero(run_heads(ascending))
    return ascending[start], np.diff(start, append=len(ascending))


def _shared_cores(program: ChipProgram) -> int:
    core, neuron = np.nonzero(program.neuron_node >= 0)
    n_nodes = int(program.neuron_node.max(initial=0)) + 1
    pairs = _runs(np.sort(core * n_nodes + program.neuron_node[core, neuron]))[0]
    return int((np.bincount(pairs // n_nodes) > 1).sum())


def _copies_and_replicas(program: ChipProgram) -> tuple[int, int]:
    core, neuron = np.nonzero((program.neuron_node >= 0) & ~program.is_relay & ~program.further_compartments)
    source = _source(program.neuron_node[core, neuron], program.neuron_index[core, neuron], program)
    homes = _runs(np.sort(source * program.n_cores + core))[0]
    distinct, cores_of = _runs(homes // max(1, program.n_cores))
    return len(source) - len(distinct), int((cores_of > 1).sum())


def _deliveries(program: ChipProgram, wires: Wires) -> tuple[int, int, int]:
    """Count deliveries, their sources, and the cores of the source with the most."""
    host, given, sender = program.host, program.host.node >= 0, (wires.core, wires.neuron)
    source = np.concatenate(
        [
            _source(program.neuron_node[sender], program.neuron_index[sender], program),
            _source(host.node[given], host.index[given], program),
        ]
    )
    core = np.concatenate([wires.target_core, host.core[given]])
    first = source.min(initial=0)  # handwritten neurons may send without a label
    pairs = _runs(np.sort((source - first) * program.n_cores + core))[0]
    cores_of = _runs(pairs // max(1, program.n_cores))[1]
    return len(pairs), len(cores_of), int(cores_of.max(initial=0))


def _ways(program: ChipProgram, wires: Wires) -> tuple[Ints, int]:
    """Return the hops to every target, and the sum of chip boundaries crossed."""
    source, target = wires.core, wires.target_core
    hops, crossings = np.zeros(len(source), np.int64), 0
    for axis, cores in enumerate(program.chip.cores):
        place = program.coordinates[:, axis].astype(np.int64)
        chip, router = place // cores, place // program.chip.tile[axis]
        hops += np.abs(router[source] - router[target])
        crossings += int(np.abs(chip[source] - chip[target]).sum())
    return hops, crossings


# What the neurons of each node became on the chip, and why: copies for fan-out, relays for delays, splitters.

# Most nodes that a line names.
_NAMED = 3


@dataclass(frozen=True)
class NodeCopies:
    """Neurons of the chip that carry the label of one node."""

    # A neuron of a crossbar core sends to one axon, with one delay. So a neuron of the network has one copy for
    # every axon that it feeds, and one if it is read out. Neurons of cores with synapse lists send to any number of
    # axons and have no copies. Delays beyond the longest take relays, whatever the cores.

    node: str  # name of the node
    neurons: int  # neurons of the network that were mapped
    on_chip: int  # neurons of the chip that represent them; relays, splitters and parts of sums included
    copies: int  # those that duplicate another one
    # relays, splitters: those that only lengthen a delay, and those that fan out
    relays: int
    splitters: int
    most_cores: int  # most cores that one neuron of the network is sent to, by all that represent it
    most_delays: int  # most distinct delays with which it is sent, those of synapses not counted
    is_output: bool  # whether it is read out
    parts: int = 0  # those that hold parts of sums wider than a core


def copies_line(nodes: Sequence[NodeCopies]) -> str:
    """Describe which nodes take more neurons on the chip than in the network, the most first, and why."""
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


def count_copies(program: ChipProgram) -> tuple[NodeCopies, ...]:
    """Count the neurons that carry the label of each node, and where they send."""
    # In the order of the program's nodes; nodes without neurons on the chip, such as inputs, are left out.
    core, place = np.nonzero((program.neuron_node >= 0) & ~program.further_compartments)
    node = program.neuron_node[core, place].astype(np.int64)
    index, relay = program.neuron_index[core, place].astype(np.int64), program.is_relay[core, place]
    splitter, part = (
        np.zeros(len(core), np.bool_) if marks is None else marks[core, place]
        for marks in (program.is_splitter, program.is_part)
    )
    span = int(index.max(initial=0)) + 1
    source, n_nodes = node * span + index, len(program.nodes)
    sent = program.sent_by(core, place)
    cores, delays = (_most_per_node(source[sent.spike], what, span, n_nodes) for what in (sent.core, sent.delay))
    counted = (node >= 0, relay, splitter, part)
    on_chip, relays, splitters, parts = (np.bincount(node[which], minlength=n_nodes) for which in counted)
    neurons = np.bincount(np.unique(source[~relay]) // span, minlength=n_nodes)
    return tuple(
        NodeCopies(
            node=port.name,
            neurons=int(neurons[k]),
            on_chip=int(on_chip[k]),
            copies=int(on_chip[k] - neurons[k] - relays[k]),
            relays=int(relays[k] - splitters[k] - parts[k]),
            splitters=int(splitters[k]),
            most_cores=int(cores[k]),
            most_delays=int(delays[k]),
            is_output=port.kind == "output",
            parts=int(parts[k]),
        )
        for k, port in enumerate(program.nodes)
        if on_chip[k]
    )


def _most_per_node(source: Ints, what: Ints, span: int, n_nodes: int) -> Ints:
    """Return for every node the most distinct values of any of its sources."""
    width = int(what.max(initial=0)) + 1
    sources, counts = np.unique(np.unique(source * width + what) // width, return_counts=True)
    most = np.zeros(n_nodes, np.int64)
    np.maximum.at(most, sources // span, counts)
    return most
