"""What a program takes of its chip: cores, neurons, copies, relays, axons; and how often it samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuromap.hardware.program import Program

__all__ = ["Usage", "sampling_frequency", "usage"]


@dataclass(frozen=True)
class Usage:
    """Resources of a program.

    Attributes
    ----------
    cores : int
        Cores in use.
    cores_of_chip : int
        Cores that the chip has.
    neurons : int
        Neurons in use, copies and relays included.
    copies : int
        Neurons that repeat another one for more fan-out: those beyond the first with the same node and index,
        relays not counted. Neurons of the network that were mapped = neurons - copies - relays.
    relays : int
        Neurons that only lengthen a delay, their own copies included.
    axons : int
        Axons that a neuron or the host feeds.
    bias_axons : int
        Those of them that carry a constant.
    synapses : int
        Crossbar bits that are set.
    neuron_utilisation, axon_utilisation : float
        Neurons and axons in use, as a fraction of those of the cores in use.
    """

    cores: int
    cores_of_chip: int
    neurons: int
    copies: int
    relays: int
    axons: int
    bias_axons: int
    synapses: int
    neuron_utilisation: float
    axon_utilisation: float


def usage(program: Program) -> Usage:
    """Count what a program uses.

    Parameters
    ----------
    program : Program
        Mapped or written by hand; copies and relays are told from its labels.

    Returns
    -------
    Usage
        The counts.
    """
    used = (program.neuron_node >= 0) | _has_synapse(program) | (program.target_core >= 0)
    fed = np.zeros(program.axon_types.shape, dtype=np.bool_)
    sends = program.target_core >= 0
    fed[program.target_core[sends], program.target_axon[sends]] = True
    fed[program.host.core, program.host.axon] = True
    bias = np.zeros_like(fed)
    bias[program.host.core[program.host.node < 0], program.host.axon[program.host.node < 0]] = True
    neurons, axons = int(used.sum()), int(fed.sum())
    n_cores = program.n_cores
    return Usage(
        cores=n_cores,
        cores_of_chip=program.chip.n_cores,
        neurons=neurons,
        copies=_copies(program),
        relays=int(program.is_relay.sum()),
        axons=axons,
        bias_axons=int(bias.sum()),
        synapses=int(np.bitwise_count(program.crossbar).sum()),
        neuron_utilisation=neurons / max(1, n_cores * program.chip.neurons),
        axon_utilisation=axons / max(1, n_cores * program.chip.axons),
    )


def sampling_frequency(program: Program) -> float:
    """Input frames that a program takes in per second; of its own period, whatever the schedule says."""
    return 1.0 / (program.period * program.chip.tick_seconds)


def _has_synapse(program: Program) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    columns = np.bitwise_or.reduce(program.crossbar, axis=1)
    n_neurons = program.neuron_node.shape[1]
    return np.unpackbits(columns, axis=-1, count=n_neurons, bitorder="little").astype(np.bool_)


def _copies(program: Program) -> int:
    labelled = (program.neuron_node >= 0) & ~program.is_relay
    keys = np.stack([program.neuron_node[labelled], program.neuron_index[labelled]], axis=1)
    return len(keys) - len(np.unique(keys, axis=0))
