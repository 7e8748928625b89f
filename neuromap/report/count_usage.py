"""What a program takes of its chip, counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import run_heads
from neuromap.hardware.program.chip_program import ChipProgram, Wires
from neuromap.report.figures.usage import Usage

__all__ = ["count_usage", "sampling_frequency"]

Ints = NDArray[np.int64]


def count_usage(program: ChipProgram) -> Usage:
    """Count what a program uses."""
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


def sampling_frequency(program: ChipProgram) -> float:
    """Input frames that a program takes in per second; of its own period, whatever the schedule says."""
    return 1.0 / (program.period * program.chip.tick_seconds)


def _n_axons(program: ChipProgram, cores: Sequence[NDArray[np.integer]], axons: Sequence[NDArray[np.integer]]) -> int:
    """Count distinct axons."""
    fed = np.zeros((program.n_cores, int(program.axon_counts.max(initial=0))), np.bool_)
    for core, axon in zip(cores, axons, strict=True):
        fed[core, axon] = True
    return int(fed.sum())


def _source(node: NDArray[np.int32], index: NDArray[np.int32], program: ChipProgram) -> Ints:
    """Give equal numbers to equal node and index."""
    span = max(int(program.neuron_index.max(initial=0)), int(program.host.index.max(initial=0))) + 1
    return node.astype(np.int64) * span + index


def _runs(ascending: Ints) -> tuple[Ints, Ints]:
    """Give the distinct values of a sorted array, and how often each occurs; much faster than ``np.unique``."""
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
    """Count deliveries, their sources, and the cores of the source that has most."""
    host, given, sender = program.host, program.host.node >= 0, (wires.core, wires.neuron)
    source = np.concatenate(
        [
            _source(program.neuron_node[sender], program.neuron_index[sender], program),
            _source(host.node[given], host.index[given], program),
        ]
    )
    core = np.concatenate([wires.target_core, host.core[given]])
    first = source.min(initial=0)  # neurons by hand may send without a label
    pairs = _runs(np.sort((source - first) * program.n_cores + core))[0]
    cores_of = _runs(pairs // max(1, program.n_cores))[1]
    return len(pairs), len(cores_of), int(cores_of.max(initial=0))


def _ways(program: ChipProgram, wires: Wires) -> tuple[Ints, int]:
    """Give the hops to every target, and the chip boundaries crossed by all."""
    source, target = wires.core, wires.target_core
    hops, crossings = np.zeros(len(source), np.int64), 0
    for axis, cores in enumerate(program.chip.cores):
        place = program.coordinates[:, axis].astype(np.int64)
        chip = place // cores
        hops += np.abs(place[source] - place[target])
        crossings += int(np.abs(chip[source] - chip[target]).sum())
    return hops, crossings
