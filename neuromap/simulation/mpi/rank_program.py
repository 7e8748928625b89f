"""What one rank runs: the program of its cores, and the wires that leave them for other ranks or come from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import ragged_ranges, rank_in_run
from neuromap.arrays.value import Value
from neuromap.errors import ProgramError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.program import Program

__all__ = ["FarWires", "far_wires", "numbers_on_ranks", "program_of_cores", "rows_of_cores"]

Ints = NDArray[np.int64]
_AT_ONCE = 1024
"""Cores whose wires are looked at together: bounds the memory."""


@dataclass(frozen=True, eq=False)
class FarWires(Value):
    """The W wires that lead from the cores of one rank to those of others, by neuron."""

    neuron: Ints  # (W,): who sends: ``core * N + neuron``, with the core's number on this rank; ascending
    peer: Ints  # (W,): rank that the wire leads to
    core: Ints  # (W,): the core's number on that rank
    axon: Ints  # (W,)
    delay: Ints  # (W,): ticks from the spike to the axon

    def __post_init__(self) -> None:
        freeze_arrays(self)


def far_wires(program: ChipProgram, rank_of: Ints, me: int) -> FarWires:
    """Find the wires from a rank to others; nothing but the targets of its own cores is looked at."""
    # shapes: rank_of (C,)
    cores, local = np.flatnonzero(rank_of == me), numbers_on_ranks(rank_of)
    parts = [_far_wires(program, rank_of, local, cores[k : k + _AT_ONCE]) for k in range(0, len(cores), _AT_ONCE)]
    return FarWires(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _far_wires(program: ChipProgram, rank_of: Ints, local: Ints, cores: Ints) -> tuple[Ints, ...]:
    """Find those of some cores of a rank."""
    neurons, origin = program.chip.neurons, f"program {program.name}"
    sent = program.sent_by(np.repeat(cores, neurons), np.tile(np.arange(neurons), len(cores)))
    if sent.core.min(initial=0) < 0 or sent.core.max(initial=0) >= len(rank_of):
        raise ProgramError(f"{origin}: a target lies on a core that it does not have; load it with load_program")
    far = np.flatnonzero(rank_of[sent.core] != rank_of[cores[sent.spike // neurons]])
    core, axon, delay = sent.core[far], sent.axon[far], sent.delay[far]
    if (axon < 0).any() or (axon >= program.axon_counts[core]).any() or (delay < 1).any():
        raise ProgramError(f"{origin}: a target has an axon or a delay that there is not; load it with load_program")
    neuron = local[cores[sent.spike[far] // neurons]] * neurons + sent.spike[far] % neurons
    return neuron, rank_of[core], local[core], axon, delay


def numbers_on_ranks(rank_of: Ints) -> Ints:
    """Give every core its number among those of its rank, shape (C,)."""
    local = np.empty(len(rank_of), np.int64)
    order = np.argsort(rank_of, kind="stable")
    local[order] = rank_in_run(rank_of[order])
    return local


def program_of_cores(program: ChipProgram, cores: Ints) -> ChipProgram:
    """Take some cores out of a program, renumbered from 0; spikes to others go nowhere."""
    # shapes: cores (n,)
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
