"""From a rollout to dense cores: neurons in their order, as many to a core as its neurons and axons last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import grouped_by
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS, HostTable, OutputTable
from neuromap.mapping.bounds.lower_bounds import CoreBound, counted_cores
from neuromap.mapping.legalise.legalise import computed_neurons, keep_nodes, legalise
from neuromap.mapping.legalise.legalised import Legalised, Population, Sources
from neuromap.mapping.map_rollout import Parts, program_labels
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.infeasibility import Remedy, refuse, refuse_core_count
from neuromap.mapping.partition.partition_rollout import cheap_phases
from neuromap.mapping.place.emit import arrivals_in_ticks
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.rollout.schedule.rollout import Rollout
from neuromap_dense.program import DenseProgram

Ints = NDArray[np.int64]
CHIP = -2
"""Origin of signals that neurons send; others come from an input node or are the bias."""


@dataclass(frozen=True, eq=False)
class DensePartition(Value):
    """Where every neuron is, and what it reads."""

    network: Legalised
    offset: Ints  # (populations + 1,): number of the first neuron of each population
    # (n,): core and place of every neuron; -1 where no output depends on it
    core: Ints
    slot: Ints
    # (s,): synapses: neuron, number of the signal, weight
    target: Ints
    signal: Ints
    weight: Ints
    signals: Ints  # (k, 4): what an axon can carry: origin, neuron, delay or arrival in parts of a tick, first frame

    def held(self, index: int) -> tuple[int, int]:
        """Copies of a population's neurons, and cores that hold some."""
        mine = self.core[self.offset[index] : self.offset[index + 1]]
        cores = np.unique(mine[mine >= 0])
        return int(len(cores) > 0), len(cores)


def partition(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Put the neurons of a rolled-out network into cores."""
    rollout, options, phases = cheap_phases(rollout, chip, context.options, context.budget)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    offset = np.cumsum([0, *(len(p.neurons) for p in network.populations)])
    target, weight, signals, signal = _synapses(network, offset, chip)
    sent = signals[signal, 0] == CHIP
    start, source = grouped_by(target[sent], signals[signal[sent], 1], int(offset[-1]))
    computed = computed_neurons(network, np.arange(int(offset[-1])), start, source)
    kept = computed[target]
    target, weight, signal = target[kept], weight[kept], signal[kept]
    _require_held(network, offset, target, weight, chip)
    core, slot = _fill(network, offset, computed, target, signal, chip)
    parts = DensePartition(network, offset, core, slot, target, signal, weight, signals)
    sent = signals[signal, 0] == CHIP
    ways = np.unique(np.stack([core[signals[signal[sent], 1]], core[target[sent]]]), axis=1)
    return Parts(rollout, parts, int(core.max(initial=-1)) + 1, (ways[0], ways[1]), phases=phases)


def _synapses(network: Legalised, offset: Ints, chip: ChipSpec) -> tuple[Ints, Ints, Ints, Ints]:
    """Targets and weights of all synapses, the signals that there are, and which of them each synapse reads."""
    rows = [np.zeros((0, 6), np.int64)]

    def add(target: Any, weight: Any, origin: int, index: Any, when: int, first: int) -> None:
        rows.append(np.stack(np.broadcast_arrays(target, weight, origin, index, when, first), axis=1).astype(np.int64))

    def parts(time: Time) -> int:
        return int(in_parts([time], network.period)[0])

    for link in network.links:
        m = link.matrix.tocoo()
        add(m.row + offset[link.target], m.data, CHIP, m.col + offset[link.source], link.delay, 0)
    for given in network.host_links:
        m = given.matrix.tocoo()
        add(m.row + offset[given.target], m.data, given.node, m.col, parts(given.arrival), given.first_frame)
    most = chip.weight_range[1]
    for begin, population in zip(offset.tolist(), network.populations, strict=False):
        lacking = np.maximum(1 - population.threshold, 0)  # else it would fire unasked, in frames of nobody
        for k in range(-(-int(lacking.max(initial=0)) // most)):
            share = np.clip(lacking - k * most, 0, most)
            at = np.flatnonzero(share)
            add(at + begin, share[at], BIAS, k, parts(population.sample_tick), 1)
    table = np.concatenate(rows)
    signals, signal = np.unique(table[:, 2:], axis=0, return_inverse=True)
    return table[:, 0], table[:, 1], signals, signal.ravel()


def _require_held(network: Legalised, offset: Ints, target: Ints, weight: Ints, chip: ChipSpec) -> None:
    """Refuse weights and thresholds that the chip does not hold."""
    most, highest = chip.weight_range[1], chip.threshold_range[1]
    far = np.flatnonzero(np.abs(weight) > most)
    if len(far):
        node, demand = _node(network, offset, int(target[far[0]])), int(np.abs(weight[far[0]]))
        remedy = Remedy("weights", most, f"weights of at most {most} would do")
        raise refuse("weights", node, demand, most, f"it has a weight of {demand}, {chip.name} holds {most}", [remedy])
    for population in network.populations:
        if (demand := int(population.threshold.max(initial=0))) > highest:
            text = f"its threshold is {demand}, {chip.name} holds {highest}"
            remedy = Remedy("chip.threshold_bits", demand.bit_length(), "wider thresholds would do")
            raise refuse("potential", network.ports[population.node].name, demand, highest, text, [remedy])
    drive = np.bincount(target, np.abs(weight), minlength=1)
    if (demand := int(drive.max())) > (bound := chip.potential_range[1]):
        text = f"its weights sum up to {demand}, {chip.name} holds {bound}"
        remedy = Remedy("chip.potential_bits", demand.bit_length() + 1, "wider sums would do")
        raise refuse("potential", _node(network, offset, int(drive.argmax())), demand, bound, text, [remedy])


def _node(network: Legalised, offset: Ints, neuron: int) -> str:
    population = int(np.searchsorted(offset, neuron, side="right")) - 1
    return network.ports[network.populations[population].node].name


def _fill(
    network: Legalised, offset: Ints, computed: NDArray[np.bool_], target: Ints, signal: Ints, chip: ChipSpec
) -> tuple[Ints, Ints]:
    core, slot = np.full((2, len(computed)), -1, np.int64)
    order = np.argsort(target, kind="stable")
    start = np.searchsorted(target[order], np.arange(len(computed) + 1))
    axons, number, place = set[int](), -1, chip.neurons
    for neuron in np.flatnonzero(computed).tolist():
        reads = set(signal[order[start[neuron] : start[neuron + 1]]].tolist())
        if len(reads) > chip.axons:
            text = f"one neuron needs {len(reads)} axons, a {chip.name} core has {chip.axons}"
            remedy = Remedy("chip.axons", len(reads), f"a core with {len(reads)} axons would hold it")
            raise refuse("axons", _node(network, offset, neuron), len(reads), chip.axons, text, [remedy])
        if place == chip.neurons or len(axons | reads) > chip.axons:
            axons, number, place = set(), number + 1, 0
        axons |= reads
        core[neuron], slot[neuron] = number, place
        place += 1
    if number >= chip.n_usable_cores:
        raise refuse_core_count(number + 1, chip.n_usable_cores, chip.name)
    return core, slot


def emit(rollout: Rollout, parts: Parts, where: Ints, chip: ChipSpec) -> DenseProgram:
    """Write the program of a placed partition."""
    p: DensePartition = parts.partition
    network, shape = p.network, (parts.n_cores, chip.neurons)
    pair, at = np.unique(p.core[p.target] * max(1, len(p.signals)) + p.signal, return_inverse=True)
    core, signal = np.divmod(pair, max(1, len(p.signals)))
    axon = np.arange(len(pair)) - np.searchsorted(core, core)
    weights = np.zeros((parts.n_cores, chip.axons, chip.neurons), np.int8)
    weights[core[at], axon[at], p.slot[p.target]] = p.weight
    origin, index, when, first = p.signals[signal].T
    sent = np.flatnonzero(origin == CHIP)
    sender = p.core[index[sent]] * chip.neurons + p.slot[index[sent]]
    order = np.argsort(sender, kind="stable")
    sent = sent[order]
    fed = np.flatnonzero(origin != CHIP)
    labels = {name: np.full(shape, none) for name, none in (("node", -1), ("index", 0), ("relay", 0), ("read", 0))}
    threshold = np.ones(shape, np.int32)
    for begin, population in zip(p.offset.tolist(), network.populations, strict=False):
        mine = np.flatnonzero(p.core[begin : begin + len(population.neurons)] >= 0)
        here = (p.core[begin + mine], p.slot[begin + mine])
        labels["node"][here], labels["index"][here] = population.node, population.neurons[mine]
        labels["relay"][here], labels["read"][here] = population.is_relay, population.is_output
        threshold[here] = np.maximum(population.threshold[mine], 1)
    node, neuron = labels["node"].astype(np.int32), labels["index"].astype(np.int32)
    read = np.nonzero(labels["read"])
    return DenseProgram(
        **program_labels(rollout, network, where, chip),
        neuron_node=node,
        neuron_index=neuron,
        is_relay=labels["relay"].astype(np.bool_),
        host=HostTable(
            node=origin[fed].astype(np.int32),
            index=np.where(origin[fed] == BIAS, 0, index[fed]).astype(np.int32),
            core=core[fed].astype(np.int32),
            axon=axon[fed].astype(np.int32),
            **arrivals_in_ticks(when[fed], network.period),
            first_frame=first[fed].astype(np.int8),
        ),
        outputs=OutputTable(node[read], neuron[read], *(column.astype(np.int32) for column in read)),
        weights=weights,
        threshold=threshold,
        start=np.searchsorted(sender[order], np.arange(shape[0] * shape[1] + 1)),
        target_core=core[sent].astype(np.int32),
        target_axon=axon[sent].astype(np.int32),
        delay=when[sent].astype(np.uint8),
    )


def core_bound(network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
    """Cores that no mapping can do without: neurons and different sources, counted."""
    return counted_cores(network, chip)


def most_axons(sources: Sources, population: Population, chip: ChipSpec, gathers: bool) -> int:
    """Axons of the neediest neuron: one for every source and delay, and those of the bias."""
    bias = -(-int(np.maximum(1 - population.threshold, 0).max(initial=0)) // chip.weight_range[1])
    return int(np.diff(sources.matrix.indptr).max(initial=0)) + bias
