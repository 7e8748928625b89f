"""What one mapping reached, counted from the program alone, by other code than the report's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.program import Program

__all__ = ["Figures", "figures_of"]


@dataclass(frozen=True)
class Figures:
    """Counts of a program.

    Attributes
    ----------
    cores : int
        Cores in use.
    neurons : float
        Neurons in use, as a fraction of those of the cores in use.
    axons : float
        Axons that a neuron or the host feeds, likewise.
    deliveries : int
        Distinct pairs of source neuron and target core; inputs count too, relays and splitters as their source.
    copies : int
        Neurons beyond the first of every source neuron, relays and splitters left out.
    relays : int
        Relays and splitters.
    weighted_hops : int
        Columns plus rows between every neuron and its target, summed.
    """

    cores: int
    neurons: float
    axons: float
    deliveries: int
    copies: int
    relays: int
    weighted_hops: int


def figures_of(program: Program) -> Figures:
    """Count a program; core by core, so that a board of 65,536 cores needs little memory."""
    start = np.concatenate([[0], np.cumsum([port.size for port in program.nodes])]).astype(np.int64)
    pairs: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    kinds: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    fed = np.zeros(program.axon_types.shape, np.bool_)
    in_use = relays = hops = 0
    place = program.coordinates.astype(np.int64)
    for core in range(program.n_cores):
        labelled = np.flatnonzero(program.neuron_node[core] >= 0)
        source = start[program.neuron_node[core, labelled]] + program.neuron_index[core, labelled]
        target = program.target_core[core, labelled]
        sends = target >= 0
        in_use += len(labelled)
        relayed = program.is_relay[core, labelled]
        relays += int(relayed.sum())
        kinds.append(source[~relayed])
        pairs.append(source[sends] * program.n_cores + target[sends])
        fed[target[sends], program.target_axon[core, labelled[sends]]] = True
        hops += int(np.abs(place[target[sends]] - place[core]).sum())
    host, given = program.host, program.host.node >= 0
    fed[host.core, host.axon] = True
    pairs.append((start[host.node[given]] + host.index[given]) * program.n_cores + host.core[given])
    return Figures(
        cores=program.n_cores,
        neurons=in_use / max(1, program.n_cores * program.chip.neurons),
        axons=int(fed.sum()) / max(1, program.n_cores * program.chip.axons),
        deliveries=len(np.unique(np.concatenate(pairs))),
        copies=in_use - relays - len(np.unique(np.concatenate(kinds))),
        relays=relays,
        weighted_hops=hops,
    )
