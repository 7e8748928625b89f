"""Common parts of engines for graded cores: values that the host feeds, and pending input between two ticks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.program import InputUnderWay
from neuromap.errors import StimulusError
from neuromap.simulation.engine.engine import CurrentState, EngineState, HostEvents, Messages, Totals


class GradedSteps(InputUnderWay):
    """Steps of one tick, and the state between two."""

    program: GradedProgram

    @abstractmethod
    def run(self, events: HostEvents, watched: Bools | None = None) -> Messages:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""

    def step(
        self, host_cores: ArrayLike = (), host_axons: ArrayLike = (), host_values: ArrayLike | None = None
    ) -> tuple[Ints, Ints]:
        """Run one tick; the host feeds axons, each with a value, 1 by default. Return cores and neurons that send."""
        events = HostEvents.of_tick(host_cores, host_axons)
        if host_values is not None:
            given = np.broadcast_to(np.asarray(host_values, np.int64), events.cores.shape)
            least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max  # values beyond are out of the axon's range
            events = replace(events, values=given.clip(least, most).astype(np.int32))
        sent = self.run(events)
        return sent.cores, sent.neurons

    def _state_of(self, totals: Ints, activity: Totals) -> EngineState:
        """Return everything that future ticks depend on, given the neurons' totals of the last tick."""
        due, amounts, spikes, values = self._under_way()
        nothing = np.zeros(self.program.shape, np.int64)
        currents = CurrentState(nothing, nothing, due, amounts)
        return EngineState(self.tick, totals, spikes, activity, currents, values.astype(np.int64))


def checked_values(program: GradedProgram, events: HostEvents, bounds: tuple[Ints, Ints]) -> Ints:
    """Return the value of every event, 1 by default; refuse values that the source of its axon never sends."""
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
    """Return the error for a second value on one axon."""
    return StimulusError(f"events: an axon is fed twice in tick {tick}; it carries one value in a tick")
