"""What engines of graded cores have in common: values that the host feeds, and what is under way between two ticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Ints
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.program import pending_rows, synapses_of
from neuromap.errors import StimulusError
from neuromap.simulation.engine.engine import CurrentState, EngineState, HostEvents, Totals


def events_of_tick(cores: ArrayLike, axons: ArrayLike, values: ArrayLike | None) -> HostEvents:
    """Make the events of one tick."""
    events = HostEvents.of_tick(cores, axons)
    if values is None:
        return events
    given = np.broadcast_to(np.asarray(values, np.int64), events.cores.shape)
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max  # what is beyond is refused as beyond the axon
    return replace(events, values=given.clip(least, most).astype(np.int32))


def checked_values(program: GradedProgram, events: HostEvents, bounds: tuple[Ints, Ints]) -> Ints:
    """Give the value of every event, 1 where none is said; refuse what the source of its axon never sends."""
    if events.values is None:
        return np.ones(len(events.cores), np.int64)
    if events.values.shape != events.cores.shape:
        raise StimulusError(f"events: {len(events.values)} values for {len(events.cores)} axons; give one for each")
    lists = program.synapses.axons[events.cores] + events.axons
    low, high = bounds[0][lists], bounds[1][lists]
    wrong = np.flatnonzero((events.values < low) | (events.values > high))
    if len(wrong):
        one = int(wrong[0])
        raise StimulusError(
            f"events: event {one} carries {events.values[one]}; its axon takes {low[one]} to {high[one]}"
        )
    return events.values.astype(np.int64)


def twice_fed(tick: int) -> StimulusError:
    """Make the refusal of a second value on one axon."""
    return StimulusError(f"events: an axon is fed twice in tick {tick}; it carries one value in a tick")


def amounts_under_way(program: GradedProgram, tick: int, carried: Ints, due: Ints) -> Ints:
    """Sum what will be added to totals; values that have not reached their axons yet are followed through."""
    # shapes: carried (D + 1, L), due (slots, C, N), both rings; returns (D + slots, C, N)
    slots, turns, table = len(due), len(carried), program.synapses
    amounts = np.zeros((turns + slots - 1, *program.shape), np.int64)
    amounts[:slots] = due[(tick + np.arange(slots)) % slots]
    for ahead in range(turns):
        values = carried[(tick + ahead) % turns]
        lists = np.flatnonzero(values)
        synapses, core = synapses_of(program, lists)
        products = table.weight[synapses] * np.repeat(values[lists], np.diff(table.lists)[lists])
        np.add.at(amounts, (ahead + table.delay[synapses].astype(np.int64), core, table.neuron[synapses]), products)
    return amounts


def graded_state(
    program: GradedProgram, tick: int, totals: Ints, carried: Ints, due: Ints, activity: Totals
) -> EngineState:
    """Make the state that every engine of graded cores gives; arguments as :func:`amounts_under_way`."""
    amounts = due[(tick + np.arange(len(due))) % len(due)]
    ahead, number = np.nonzero(carried[(tick + np.arange(len(carried))) % len(carried)])
    core = np.searchsorted(program.synapses.axons, number, side="right") - 1
    spikes = np.stack([tick + ahead, core, number - program.synapses.axons[core]], axis=1).astype(np.int64)
    values = carried[(tick + ahead) % len(carried), number]
    nothing = np.zeros(program.shape, np.int64)
    currents = CurrentState(nothing, nothing, pending_rows(amounts, tick), amounts[amounts != 0])
    return EngineState(tick, totals, spikes, activity, currents, values.astype(np.int64))
