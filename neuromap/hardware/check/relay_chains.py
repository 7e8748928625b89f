"""Which neuron feeds which axon, and the ticks of relays, followed back to the neurons whose spikes they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.value import Value
from neuromap.hardware.program.program import Program

__all__ = ["ANOTHER_LABEL", "ANOTHER_TICK", "IN_A_RING", "UNKNOWN", "RelayChains", "relay_chains"]

Ints = NDArray[np.int64]

UNKNOWN = int(np.iinfo(np.int64).min)
"""Tick of what has none: neurons without a node, relays that no neuron feeds."""

ANOTHER_LABEL, ANOTHER_TICK, IN_A_RING = 1, 2, 3
"""What may be wrong with an axon that a relay reads."""

_SYNAPSES_AT_ONCE = 2**24
"""Synapses of relays that are looked at together."""


@dataclass(frozen=True, eq=False)
class RelayChains(Value):
    """Sources of axons and ticks of neurons; a neuron's number is its core times neurons per core plus its place."""

    source: Ints  # (C, A): number of the neuron that feeds the axon (one of them, if there are several), or -1
    # (C * N,): when frame 0 of a neuron is computed, of a relay handed on, in parts of a tick (``arrays/times.py``); or
    # UNKNOWN
    tick: Ints
    # relay, axon: (p,): pairs of a relay (its number) and an axon of its core that it reads with a weight other than 0
    relay: Ints
    axon: Ints
    fault: Ints  # (p,): 0, or what is wrong with the pair

    def __post_init__(self) -> None:
        freeze_arrays(self)


def relay_chains(program: Program) -> RelayChains:
    """Follow all relays back to neurons that are none."""
    n_cores, n_axons, n_neurons = program.n_cores, program.chip.axons, program.chip.neurons
    core, axon = program.target_core.reshape(-1), program.target_axon.reshape(-1)
    sending = np.flatnonzero((core >= 0) & (core < n_cores) & (axon >= 0) & (axon < n_axons))
    source = np.full((n_cores, n_axons), -1, np.int64)
    source[core[sending], axon[sending]] = sending
    host = program.host
    rows = (host.core >= 0) & (host.core < n_cores) & (host.axon >= 0) & (host.axon < n_axons)
    fed_by_host = np.zeros((n_cores, n_axons), bool)
    fed_by_host[host.core[rows], host.axon[rows]] = True

    node, index = program.neuron_node.reshape(-1), program.neuron_index.reshape(-1)
    labelled = (node >= 0) & (node < len(program.nodes))
    is_relay = program.is_relay.reshape(-1)
    if program.is_part is not None:
        is_relay = is_relay & ~program.is_part.reshape(-1)  # parts of sums read others, at ticks of their own
    sample = np.append(in_parts((port.sample_tick for port in program.nodes), program.period), UNKNOWN)
    delays = program.delay.reshape(-1).astype(np.int64) * program.period.denominator
    computes = labelled & ~program.is_relay.reshape(-1)
    tick = sample[np.where(computes, node, len(program.nodes))]

    relays = np.flatnonzero(is_relay & labelled)
    relay, read = _axons_of(program, relays)
    feeder = source[relay // n_neurons, read]
    is_fed = feeder >= 0
    own = is_fed & (node[feeder] == node[relay]) & (index[feeder] == index[relay])
    fault = np.where(own | ~(is_fed | fed_by_host[relay // n_neurons, read]), 0, ANOTHER_LABEL)

    in_ring = np.zeros(len(tick), bool)
    in_ring[_follow(tick, relays, relay[own], feeder[own], delays)] = True
    arrival = np.where(tick[feeder] == UNKNOWN, UNKNOWN, tick[feeder] + delays[feeder])
    fault[own & in_ring[relay]] = IN_A_RING
    known = own & (tick[relay] != UNKNOWN) & (arrival != UNKNOWN)
    fault[known & (arrival != tick[relay])] = ANOTHER_TICK
    return RelayChains(source, tick, relay, read, fault)


def _axons_of(program: Program, relays: Ints) -> tuple[Ints, Ints]:
    """Pairs of relay and axon that are joined by a synapse with a weight."""
    n_axons, n_neurons, types = program.chip.axons, program.chip.neurons, program.chip.axon_types
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    step = max(1, _SYNAPSES_AT_ONCE // n_axons)
    for start in range(0, len(relays), step):
        some = relays[start : start + step]
        core, neuron = np.divmod(some, n_neurons)
        synapses = program.crossbar[core, :, neuron // 8] >> (neuron % 8)[:, None].astype(np.uint8) & 1
        row, axon = np.nonzero(synapses)
        axon_type = np.minimum(program.axon_types[core[row], axon], types - 1)
        heavy = program.neurons.weights[core[row], neuron[row], axon_type] != 0
        pairs.append((some[row[heavy]], axon[heavy].astype(np.int64)))
    relay, axon = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return relay, axon


def _follow(tick: Ints, relays: Ints, relay: Ints, feeder: Ints, delay: Ints) -> Ints:
    """Write the ticks of relays: those of the neurons at the beginning plus all delays. Return relays behind a ring."""
    # Every relay points to the relay before it; pointers double in length from round to round, so chains of any length
    # end in a few rounds, and rings are what never ends.
    number, first = np.unique(relay, return_index=True)
    before = feeder[first]
    mine = np.searchsorted(relays, number)
    n = len(relays)
    pointer, ticks = np.arange(n), np.zeros(n, np.int64)
    start = np.full(n, UNKNOWN)
    place = np.minimum(np.searchsorted(relays, before), max(n - 1, 0))
    chained = relays[place] == before
    pointer[mine[chained]], ticks[mine[chained]] = place[chained], delay[before[chained]]
    begins = mine[~chained]
    start[begins] = tick[before[~chained]] + delay[before[~chained]]
    is_end = pointer == np.arange(n)
    is_end[mine[chained]] = False  # a relay that reads itself is a ring
    for _ in range(n.bit_length() + 1):
        ticks += ticks[pointer]
        pointer = pointer[pointer]
    known = is_end[pointer] & (start[pointer] != UNKNOWN)
    tick[relays[known]] = start[pointer[known]] + ticks[known]
    return np.asarray(relays[~is_end[pointer]])
