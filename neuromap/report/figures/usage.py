"""What a program takes of its chip: cores, neurons, copies, relays, axons, and the ways that its spikes travel."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.render.value import Card

__all__ = ["Usage"]


@dataclass(frozen=True)
class Usage(Card):
    """Resources of a program.

    A *target* is an axon that a neuron feeds: one at most on crossbar cores, none where the neuron is read out; any
    number on cores with synapse lists. A *source* is a neuron of the network, told by
    node and index; its copies, relays and splitters carry its label.

    Attributes
    ----------
    cores : int
        Cores in use.
    cores_of_chip, usable_cores : int
        Cores that the chip has, and those of them that are not dead.
    shared_cores : int
        Cores that hold neurons of more than one node.
    neurons : int
        Neurons in use: copies, splitters and relays included; on cores with synapse lists one for all of its
        compartments.
    copies : int
        Neurons that repeat another one for more fan-out: those beyond the first with the same node and index,
        relays, splitters and parts not counted. Neurons of the network that were mapped are neurons less copies,
        splitters, relays and parts.
    replicas : int
        Neurons of the network whose copies lie in more than one core.
    splitters : int
        Relays that are there to fan out, their own copies included.
    relays : int
        Neurons that only lengthen a delay, their own copies included, splitters and parts not.
    axons : int
        Axons that a neuron or the host feeds.
    bias_axons : int
        Those of them that carry a constant.
    synapses : int
        Crossbar bits that are set, or synapses in lists.
    neuron_utilisation, axon_utilisation : float
        Neurons (compartments, where cores have them) and axons in use, as a fraction of those of the cores in use.
    deliveries : int
        Distinct pairs of a source (inputs included) and a core that it is delivered to.
    mean_fan_out : float
        Cores that a source is delivered to, mean over the sources that are delivered anywhere.
    largest_fan_out : int
        The most of them.
    weighted_hops : int
        Hops from every neuron to its targets, summed: columns plus rows between their cores.
    mean_hops : float
        The same per target.
    longest_way : int
        Hops to the farthest target.
    chip_crossings : int
        Boundaries between chips of the board on these ways, summed.
    output_axons : int or None
        Pairs of a neuron and a core that it feeds, of cores with synapse lists; ``None`` on crossbar cores.
    synapse_memory_utilisation : float or None
        Memory that their lists take, as a fraction of that of the cores in use; ``None`` on crossbar cores.
    compartments : int or None
        Compartments in use, one for every current of a neuron, of cores with synapse lists; ``None`` on crossbar cores.
    parts : int or None
        Neurons that hold parts of sums that are wider than a core; ``None`` where there are none.
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
