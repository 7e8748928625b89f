"""What one rank runs: the program of its cores, and the wires that leave them for other ranks or come from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import ragged_ranges, rank_in_run
from neuromap.arrays.value import Value
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.program import Program

__all__ = ["FarWires", "far_wires", "program_of_cores", "rows_of_cores"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FarWires(Value):
    """Wires between the cores of one rank and those of others; R ranks, cores and neurons counted on their rank.

    Attributes
    ----------
    start : ndarray of int64, shape (C * N + 1,)
        Neuron n of core c has the wires ``start[c * N + n]`` to ``start[c * N + n + 1] - 1`` of those that leave.
    peer : ndarray of int64, shape (W,)
        Where every wire that leaves goes to.
    number : ndarray of int64, shape (W,)
        Its number among the wires from this rank to that one; both ends count alike.
    arrival_start : ndarray of int64, shape (R + 1,)
        Wires from rank r are ``arrival_start[r]`` to ``arrival_start[r + 1] - 1`` of those that arrive.
    core, axon : ndarray of int32, shape (V,)
        The axon of every wire that arrives.
    delay : ndarray of int64, shape (V,)
        Ticks from the spike to the axon.
    least_delay : int
        Of all wires between any two ranks, the same on every rank; 0 where there are none.
    """

    start: Ints
    peer: Ints
    number: Ints
    arrival_start: Ints
    core: NDArray[np.int32]
    axon: NDArray[np.int32]
    delay: Ints
    least_delay: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def post(self) -> tuple[Ints, Ints]:
        """What :class:`~neuromap.simulation.ranks.post_kernel.PostKernel` packs with: first wires, and wires."""
        wires = self.peer << 40 | self.number
        each = np.diff(self.start)
        if each.max(initial=0) > 1:
            return self.start, wires
        of_neuron = np.full(len(each), -1, np.int64)
        of_neuron[each > 0] = wires
        return np.zeros(0, np.int64), of_neuron

    @property
    def arrivals(self) -> Ints:
        """What it unpacks with: the axon and the delay of every wire that arrives."""
        return self.core.astype(np.int64) << 32 | self.axon.astype(np.int64) << 8 | self.delay

    @property
    def leaving(self) -> Ints:
        """Wires to every rank, shape (R,)."""
        return np.bincount(self.peer, minlength=len(self.arrival_start) - 1)

    @property
    def arriving(self) -> Ints:
        """Wires from every rank, shape (R,)."""
        return np.diff(self.arrival_start)


def far_wires(program: ChipProgram, rank_of: Ints, me: int) -> FarWires:
    """Find the wires between a rank and others.

    Parameters
    ----------
    program : ChipProgram
        The whole one.
    rank_of : ndarray of int64, shape (C,)
        Rank of every core.
    me : int
        The rank.
    """
    wires = program.wires
    source, sink = rank_of[wires.core], rank_of[wires.target_core]
    local, n_neurons = _numbers_on_ranks(rank_of), program.chip.neurons
    out = np.flatnonzero((source == me) & (sink != me))
    by_peer = np.argsort(sink[out], kind="stable")
    number = np.empty(len(out), np.int64)
    number[by_peer] = rank_in_run(sink[out][by_peer])
    neuron = local[wires.core[out]] * n_neurons + wires.neuron[out]  # ascending, as wires are
    n_cores = int(np.count_nonzero(rank_of == me))
    into = np.flatnonzero((source != me) & (sink == me))
    into = into[np.argsort(source[into], kind="stable")]
    n_ranks = int(rank_of.max(initial=0)) + 1
    delays = wires.delay[source != sink]
    return FarWires(
        start=np.searchsorted(neuron, np.arange(n_cores * n_neurons + 1)),
        peer=sink[out],
        number=number,
        arrival_start=np.searchsorted(source[into], np.arange(n_ranks + 1)),
        core=local[wires.target_core[into]].astype(np.int32),
        axon=wires.target_axon[into].astype(np.int32),
        delay=wires.delay[into],
        least_delay=int(delays.min()) if len(delays) else 0,
    )


def _numbers_on_ranks(rank_of: Ints) -> Ints:
    """Give every core its number among those of its rank, shape (C,)."""
    local = np.empty(len(rank_of), np.int64)
    order = np.argsort(rank_of, kind="stable")
    local[order] = rank_in_run(rank_of[order])
    return local


def program_of_cores(program: ChipProgram, cores: Ints) -> ChipProgram:
    """Take some cores out of a program, renumbered from 0; spikes to others go nowhere.

    Parameters
    ----------
    program : ChipProgram
    cores : ndarray of int64, shape (n,)
        Ascending. Their places on the board stay, and with them their noise.

    Returns
    -------
    ChipProgram
        Of the same kind, for the same chip.
    """
    local = np.full(program.n_cores + 1, -1, np.int64)  # the last one is that of neurons without a target
    local[cores] = np.arange(len(cores))
    tables: dict[str, Any] = {
        name: None if (table := getattr(program, name)) is None else table[cores]
        for name in ("coordinates", "neuron_node", "neuron_index", "is_relay", "is_splitter", "is_part")
    }
    tables["host"] = rows_of_cores(program.host, local)
    tables["outputs"] = rows_of_cores(program.outputs, local)
    neurons = program.neurons  # type: ignore[attr-defined]
    some = {name: table[cores] for name, table in vars(neurons).items() if isinstance(table, np.ndarray)}
    tables["neurons"] = replace(neurons, **some)
    more = _crossbars(program, cores, local) if isinstance(program, Program) else _lists(program, cores, local)
    return replace(program, **tables, **more)


def rows_of_cores(table: Any, local: Ints) -> Any:
    """Take the rows of a table of ports that lie in some cores, and renumber these; others have -1 in ``local``."""
    kept = local[table.core] >= 0
    columns = {name: column[kept] for name, column in vars(table).items() if isinstance(column, np.ndarray)}
    return replace(table, **columns | {"core": local[table.core[kept]].astype(np.int32)})


def _crossbars(program: Program, cores: Ints, local: Ints) -> dict[str, Any]:
    target = local[program.target_core[cores]].astype(np.int32)
    here = target >= 0
    return {
        "axon_types": program.axon_types[cores],
        "crossbar": program.crossbar[cores],
        "target_core": target,
        "target_axon": np.where(here, program.target_axon[cores], np.int32(0)),
        "delay": np.where(here, program.delay[cores], np.uint8(0)),
    }


def _lists(program: Any, cores: Ints, local: Ints) -> dict[str, Any]:
    whole: ListProgram = program
    synapses, targets, n = whole.synapses, whole.targets, whole.chip.neurons
    n_axons = whole.axon_counts[cores]
    lists = ragged_ranges(synapses.axons[cores], n_axons)
    length = np.diff(synapses.lists)[lists]
    synapse = ragged_ranges(synapses.lists[lists], length)
    neuron = (cores[:, None] * n + np.arange(n)).ravel()
    fan_out = np.diff(targets.start)[neuron]
    target = ragged_ranges(targets.start[neuron], fan_out)
    here = local[targets.core[target]] >= 0
    kept = np.append(0, np.cumsum(here))[np.append(0, np.cumsum(fan_out))]
    return {
        "synapses": SynapseTable(
            np.append(0, np.cumsum(n_axons)),
            np.append(0, np.cumsum(length)),
            synapses.neuron[synapse],
            synapses.weight[synapse],
            synapses.delay[synapse],
        ),
        "targets": TargetTable(kept, local[targets.core[target[here]]].astype(np.int32), targets.axon[target[here]]),
    }
