"""Base classes of readable engines: runs as a sequence of ticks, and pending spikes.

They are the oracles of the compiled engines, so each writes a core's computation like its neuron's equations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.hardware.checker import require_legal
from neuromap.simulation.engine.engine import EngineState, HostEvents, Spikes, Totals, check_run, check_state, joined
from neuromap.simulation.engine.engine_choice import check_seed


class ReadableEngine(ABC):
    """State of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`."""

    # program: as given
    # tick: the tick that :meth:`step` will run next; the first is 0

    program: Any
    tick: int
    _kind: Any = Spikes  # of what neurons send
    _totals: Totals
    _potentials: Ints

    def __init__(self, program: Any, *, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        self.program = program
        self._prepare()
        self.reset(noise_seed)

    def _prepare(self) -> None:  # noqa: B027 - not every engine has something
        """Make the data that is only read while it runs."""

    @abstractmethod
    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""

    @abstractmethod
    def _tick(self, cores: NDArray[np.integer], axons: NDArray[np.integer], values: Any) -> tuple[Ints, ...]:
        """Run one tick on axons fed by the host; return cores, neurons and values of what is sent, in order."""

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares read-only data and noise with this one."""
        other = copy(self)
        other.reset()  # gives it its own state
        return other

    @property
    def potentials(self) -> Ints:
        """Copy of all potentials (voltages, for neurons with currents) after the last tick, shape (C, N)."""
        return self._potentials.copy()

    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials of some cores, in this order, shape (n, N)."""
        return self._potentials[cores]

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, taken from any engine."""
        check_state(self.program, state)
        self.reset()
        self.tick, self._totals = state.tick, Totals(*state.totals)
        self._potentials = state.potentials.copy()

    @property
    def totals(self) -> Totals:
        """Activity since tick 0; axon events and their synapses count in the tick that reaches the axon."""
        return self._totals

    def _count(self, n_spikes: int, n_axons: int, n_synapses: int) -> None:
        spikes, axon_events, synaptic_events = self._totals
        self._totals = Totals(spikes + n_spikes, axon_events + n_axons, synaptic_events + n_synapses)

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick.

        Parameters
        ----------
        host_cores, host_axons : array_like of int, shape (n,)
            Axons that the host feeds; they are integrated in this tick. Two spikes on one axon
            in one tick count as one.

        Returns
        -------
        cores, neurons : ndarray of int64, shape (m,)
            The neurons that fired, ordered by core, then neuron.
        """
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: Bools | None = None) -> Any:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        events = self._checked(events, watched)
        n, parts = len(self._kind._fields), [self._kind(*np.zeros((len(self._kind._fields), 0), np.int64))]
        for start, end in pairwise(events.start.tolist()):
            fed = None if events.values is None else events.values[start:end]
            sent = self._tick(events.cores[start:end], events.axons[start:end], fed)
            if watched is not None:
                kept = watched[sent[0], sent[1]]
                sent = tuple(column[kept] for column in sent)
            parts.append(self._kind(np.full(len(sent[0]), self.tick - 1, dtype=np.int64), *sent[: n - 1]))
        return joined(parts)

    def _checked(self, events: HostEvents, watched: Bools | None) -> HostEvents:
        """Refuse events that do not fit."""
        check_run(self.program, events, watched)
        return events


class AxonRing(ReadableEngine):
    """A readable engine of cores without synaptic delays: only spikes to axons are pending."""

    @abstractmethod
    def _potentials_before(self) -> Ints:
        """Potentials before tick 0, shape (C, N)."""

    @abstractmethod
    def _compute(self, cores: Ints, axons: Ints) -> tuple[Ints, Ints, int]:
        """Compute a tick of all cores from the reached axons; return the neurons that fire and the synaptic events."""

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0."""
        check_seed(0 if noise_seed is None else noise_seed)
        program = self.program
        self.tick, self._totals, self._potentials = 0, Totals(0, 0, 0), self._potentials_before()
        shape = (program.greatest_delay + 1, program.n_cores, int(program.axon_counts.max(initial=0)))
        self._due = np.zeros(shape, np.bool_)

    def _tick(self, cores: NDArray[np.integer], axons: NDArray[np.integer], values: Any) -> tuple[Ints, ...]:
        due = self._due[self.tick % len(self._due)]
        due[cores, axons] = True
        reached = np.nonzero(due)
        due[reached] = False  # free the slot for spikes due one turn of the ring later
        fired_cores, fired, n_synapses = self._compute(*reached)
        sent = self.program.sent_by(fired_cores, fired)
        self._due[(self.tick + sent.delay) % len(self._due), sent.core, sent.axon] = True
        self._count(len(fired), len(reached[0]), n_synapses)
        self.tick += 1
        return fired_cores, fired

    @property
    def pending(self) -> Ints:
        """Pending spikes as sorted rows (due tick, core, axon), shape (n, 3)."""
        ahead, core, axon = np.nonzero(np.roll(self._due, -(self.tick % len(self._due)), axis=0))
        return np.stack([self.tick + ahead, core, axon], axis=1).astype(np.int64)

    @property
    def state(self) -> EngineState:
        """Copy of everything that future ticks depend on, except the noise seed."""
        return EngineState(self.tick, self._potentials, self.pending, self._totals)

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, taken from any engine."""
        super().restore(state)
        due, core, axon = state.spikes.T
        self._due[due % len(self._due), core, axon] = True
