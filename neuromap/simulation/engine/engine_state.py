"""What an engine holds between two ticks, as a value: any engine can go on from the state of another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["CurrentState", "EngineState", "check_state", "state_of_cores"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CurrentState(Value):
    """What synapse-list cores hold beside voltages."""

    current: Ints  # (C, N): u of every neuron
    resting: Ints  # (C, N): ticks that a neuron rests yet
    # (m, 3): neurons to whose currents synapses of axons that were reached will add something, as sorted rows (tick,
    # core, neuron)
    due: Ints
    amounts: Ints  # (m,): what is added, wrapped into the width of currents; never 0

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class EngineState(Value):
    """A chip between two ticks; equal for all engines, numbers of threads and numbers of ranks."""

    tick: int  # the tick that runs next
    potentials: Ints  # (C, N): after the last tick; voltages where there are currents
    # (n, 3): spikes that have not reached their axons, as sorted rows (tick at which it is due, core, axon)
    spikes: Ints
    totals: tuple[int, int, int]  # the fields of :class:`~neuromap.simulation.engine.engine.Totals`
    currents: CurrentState | None = None  # of synapse-list cores

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "totals", tuple(self.totals))


def check_state(program: ChipProgram, state: EngineState) -> None:
    """Refuse the state of another program, or one that no run leads to."""
    low, high = program.chip.potential_range
    tables = [state.potentials]
    if state.currents is not None:
        tables += [state.currents.current, state.currents.resting]
    if any(table.shape != program.shape for table in tables):
        found = next(table.shape for table in tables if table.shape != program.shape)
        raise InputError(f"state: found values of shape {found}; program {program.name} needs {program.shape}")
    if (state.currents is None) != (program.chip.core_model == "crossbar"):
        raise InputError(f"state: is not one of {program.chip.core_model} cores; restore that of the same program")
    if state.tick < 0 or state.potentials.min(initial=0) < low or state.potentials.max(initial=0) > high:
        raise InputError(f"state: holds potentials outside {low} to {high}, or a tick below 0; simulate from tick 0")
    _check_under_way(state.spikes, state.tick, int(program.wires.delay.max(initial=0)), program.axon_counts)
    if state.currents is not None:
        n_neurons = np.full(program.n_cores, program.chip.neurons)
        _check_under_way(state.currents.due, state.tick, program.greatest_delay - program.chip.delay[0], n_neurons)


def _check_under_way(rows: Ints, tick: int, delay: int, places: Ints) -> None:
    due, core, place = rows.T
    inside = (due >= tick) & (due < tick + delay) & (core >= 0) & (core < len(places)) & (place >= 0)
    inside[inside] &= place[inside] < places[core[inside]]
    if not inside.all():
        first = rows[np.argmin(inside)].tolist()
        raise InputError(
            f"state: what is under way (such as tick {first[0]}, core {first[1]}, place {first[2]}) lies outside the "
            "program; restore the state of the same program"
        )


def state_of_cores(state: EngineState, cores: Ints, totals: tuple[int, int, int]) -> EngineState:
    """Take some cores out of a state, renumbered from 0."""
    # shapes: cores (n,)
    part = EngineState(state.tick, state.potentials[cores], _rows_of(state.spikes, cores), totals)
    whole = state.currents
    if whole is None:
        return part
    due, amounts = _rows_of(whole.due, cores), whole.amounts[np.isin(whole.due[:, 1], cores)]
    return replace(part, currents=CurrentState(whole.current[cores], whole.resting[cores], due, amounts))


def _rows_of(rows: Ints, cores: Ints) -> Ints:
    some = rows[np.isin(rows[:, 1], cores)]
    some[:, 1] = np.searchsorted(cores, some[:, 1])
    return some
