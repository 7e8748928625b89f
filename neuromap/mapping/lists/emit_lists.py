"""The stage "emit" of many-target cores: write the program of a placed partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.list_program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.ports import HostTable, OutputTable
from neuromap.mapping.emit.arrivals_in_ticks import arrivals_in_ticks
from neuromap.mapping.lists.fill_cores import ListPartition
from neuromap.network.neurons.current_neuron import PARAMETERS
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["emit_lists"]

Ints = NDArray[np.int64]
_DTYPES = {"refractory": np.uint8}


def emit_lists(rollout: Rollout, parts: ListPartition, where: Ints, chip: ChipSpec) -> ListProgram:
    """Write the program of a placed partition."""
    # Neurons that nobody uses get parameters with which they never spike.
    # shapes: where (n_cores, 2)
    lists, network = parts.lists, parts.lists.network
    target = lists.target
    order = np.lexsort((parts.slot[target], lists.delay, lists.signal, parts.core[target]))
    pair, first = np.unique(parts.core[target[order]] * lists.n_signals + lists.signal[order], return_index=True)
    list_core, list_signal = np.divmod(pair, max(1, lists.n_signals))
    axons = np.searchsorted(list_core, np.arange(parts.n_cores + 1))
    axon = np.arange(len(pair)) - axons[list_core]
    labels = _Labels(parts, chip.neurons)
    return ListProgram(
        name=rollout.network.name,
        chip=chip,
        coordinates=where.astype(np.int32),
        neuron_node=labels.node,
        neuron_index=labels.index,
        is_relay=labels.is_relay,
        nodes=network.ports,
        period=network.period,
        ticks_per_step=network.ticks_per_step,
        host=_host_table(parts, list_core, list_signal, axon),
        outputs=labels.outputs(parts),
        pattern=rollout.pattern.name or "unnamed",
        execution=rollout.execution,
        synapses=SynapseTable(
            axons=axons.astype(np.int64),
            lists=np.append(first, len(order)).astype(np.int64),
            neuron=parts.slot[target[order]].astype(np.int32),
            weight=lists.weight[order].astype(np.int32),
            delay=lists.delay[order].astype(np.uint8),
        ),
        neurons=_current_table(parts, chip),
        targets=_targets(parts, list_core, list_signal, axon, chip.neurons),
    )


class _Labels:
    """Labels of all neurons of all cores, shape (C, N); -1, 0 and False where there is none."""

    def __init__(self, parts: ListPartition, n_neurons: int) -> None:
        shape = (parts.n_cores, n_neurons)
        self.node, self.index = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
        self.is_relay = np.zeros(shape, np.bool_)
        populations, lists = parts.lists.network.populations, parts.lists
        sizes = [len(p.neurons) for p in populations]
        mine = lists.is_computed[: lists.n_somas]
        at = (parts.core[: lists.n_somas][mine], parts.slot[: lists.n_somas][mine])
        self.node[at] = np.repeat([p.node for p in populations], sizes)[mine]
        self.index[at] = np.concatenate([p.neurons for p in populations])[mine]
        self.is_relay[at] = np.repeat([p.is_relay for p in populations], sizes)[mine]
        self._is_output = np.repeat([p.is_output for p in populations], sizes)

    def outputs(self, parts: ListPartition) -> OutputTable:
        """Make the table of the neurons that are read out."""
        read = np.flatnonzero(self._is_output & parts.lists.is_computed[: parts.lists.n_somas])
        core, slot = parts.core[read], parts.slot[read]
        order = np.lexsort((slot, core))
        core, slot = core[order], slot[order]
        node, index = self.node[core, slot], self.index[core, slot]
        return OutputTable(node=node, index=index, core=core.astype(np.int32), neuron=slot.astype(np.int32))


def _current_table(parts: ListPartition, chip: ChipSpec) -> CurrentTable:
    shape, lists = (parts.n_cores, chip.neurons), parts.lists
    forget = 1 << chip.lists.decay_bits
    silent = {"current_decay": forget, "voltage_decay": forget}
    somas = np.flatnonzero(lists.is_computed[: lists.n_somas])
    tables = {}
    for name in PARAMETERS:
        values = np.concatenate([getattr(n.neuron, name) for n in lists.neurons])
        table = np.full(shape, silent.get(name, 0), _DTYPES.get(name, np.int32))
        table[parts.core[somas], parts.slot[somas]] = values[somas]
        tables[name] = table
    more = np.flatnonzero(lists.is_computed[lists.n_somas :]) + lists.n_somas
    if not len(more):
        return CurrentTable(**tables)
    tables["current_decay"][parts.core[more], parts.slot[more]] = lists.decay[more]
    joined = np.full(shape, -1, np.int32)
    joined[parts.core[more], parts.slot[more]] = parts.slot[lists.soma[more]]
    return CurrentTable(**tables, joined=joined)


def _host_table(parts: ListPartition, list_core: Ints, list_signal: Ints, axon: Ints) -> HostTable:
    host, n_neurons = parts.lists.host, parts.lists.n_neurons
    fed = list_signal >= n_neurons
    signal = list_signal[fed] - n_neurons
    return HostTable(
        node=host.node[signal].astype(np.int32),
        index=host.neuron[signal].astype(np.int32),
        core=list_core[fed].astype(np.int32),
        axon=axon[fed].astype(np.int32),
        **arrivals_in_ticks(host.arrival[signal], parts.lists.network.period),
        first_frame=host.first_frame[signal].astype(np.int8),
    )


def _targets(parts: ListPartition, list_core: Ints, list_signal: Ints, axon: Ints, n_neurons: int) -> TargetTable:
    sent = list_signal < parts.lists.n_neurons
    source, core, axon = list_signal[sent], list_core[sent], axon[sent]
    place = parts.core[source] * n_neurons + parts.slot[source]
    order = np.lexsort((core, place))
    start = np.searchsorted(place[order], np.arange(parts.n_cores * n_neurons + 1))
    return TargetTable(start.astype(np.int64), core[order].astype(np.int32), axon[order].astype(np.int32))
