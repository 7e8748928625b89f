"""An engine in NumPy: runs a program tick by tick, event-driven.

A tick has two phases. First every core takes the axons that are due, integrates, leaks and fires; then
every spike is sent to its axon, due ``delay`` ticks later. No core sees a spike of its own tick, so the order
of the cores never matters. Mutable state lives only in :class:`NumpyEngine`.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.packed_rows import run_heads
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import EngineState, HostEvents, Spikes, Totals, check_run, check_state
from neuromap.simulation.engine.neuron import Parameters, Width, by_chance, fire, integrate, leak
from neuromap.simulation.engine.noise import LEAK, THRESHOLD, Noise

__all__ = ["NumpyEngine"]

_LANE = 255
"""Largest number of synapse bits that one byte can count."""
_ROWS = 1 << 13
"""Crossbar rows that are unpacked at once: bounds the memory of a busy tick (a few MiB at 256 neurons)."""
_DRAWS = 1 << 10
"""Crossbar rows whose stochastic synapses are drawn at once, for the same reason: their numbers are wider."""


class NumpyEngine:
    """State of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`.

    Parameters
    ----------
    program : Program
        What is loaded; not changed.
    noise_seed : int
        Seed of the stochastic modes, 0 to 2**64 - 1.

    Attributes
    ----------
    program : Program
        As given.
    tick : int
        The tick that :meth:`step` will run next; the first is 0.

    Raises
    ------
    ProgramError
        If the program is not well formed, or breaks a rule about indices (``docs/program-file.md``).
    InputError
        If there is no such seed.
    """

    def __init__(self, program: Program, *, noise_seed: int = 0) -> None:
        require_legal(program, mapped=False, indices_only=True)
        self.program = program
        self._width = Width.of(program.chip)
        self._comparison = program.chip.rules.negative_comparison
        self._noise = Noise(program, noise_seed)
        neurons = program.neurons
        steps, fixed = np.abs(neurons.weights.astype(np.int64)), neurons.weights
        draws: NDArray[np.bool_] = np.zeros(program.n_cores, dtype=np.bool_)
        if neurons.stochastic_weight is not None:
            steps = np.where(neurons.stochastic_weight, np.minimum(steps, 1), steps)
            fixed = np.where(neurons.stochastic_weight, np.int16(0), fixed)
            draws |= neurons.stochastic_weight.any(axis=(1, 2))
        self._draws_events = draws
        self._peak_step = steps.max(axis=2, initial=0)
        self._fixed_weights = np.ascontiguousarray(fixed.transpose(0, 2, 1))
        self._n_synapses = np.bitwise_count(program.crossbar).sum(axis=2, dtype=np.int32)
        self._restless = np.zeros(program.n_cores, dtype=np.bool_)  # cores that no tick leaves as they are
        for table in (neurons.stochastic_leak, neurons.noise_bits):
            if table is not None:
                self._restless |= table.any(axis=1)
        self.reset()

    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""
        program = self.program
        if noise_seed is not None:
            self._noise = Noise(program, noise_seed)
        self.tick = 0
        self._totals = Totals(0, 0, 0)
        self._potentials = program.neurons.potential.astype(np.int64)
        slots = int(program.delay.max(initial=0)) + 1
        self._due = np.zeros((slots, *program.axon_types.shape), dtype=np.bool_)
        self._at_rest = np.zeros(program.n_cores, dtype=np.bool_)

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares what is only read with this one, its noise too."""
        other = copy(self)
        other.reset()  # makes state of its own
        return other

    @property
    def state(self) -> EngineState:
        """All that the ticks to come depend on, a copy."""
        return EngineState(self.tick, self._potentials, self.pending, self._totals)

    def restore(self, state: EngineState) -> None:
        """Go on from a state of this program, whatever engine it comes from."""
        check_state(self.program, state)
        self.reset()
        self.tick, self._totals = state.tick, Totals(*state.totals)
        self._potentials = state.potentials.copy()
        due, core, axon = state.spikes.T
        self._due[due % len(self._due), core, axon] = True

    @property
    def potentials(self) -> NDArray[np.int64]:
        """Potentials V of all neurons after the last tick, a copy, shape (C, N)."""
        return self._potentials.copy()

    def potentials_of(self, cores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Potentials V of some cores, in this order, a copy, shape (n, N)."""
        return self._potentials[cores]

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""
        return self._totals

    @property
    def pending(self) -> NDArray[np.int64]:
        """Spikes under way as sorted rows (tick at which it is due, core, axon), shape (n, 3)."""
        slots = len(self._due)
        ahead, core, axon = np.nonzero(np.roll(self._due, -(self.tick % slots), axis=0))
        return np.stack([self.tick + ahead, core, axon], axis=1).astype(np.int64)

    def step(
        self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Run one tick.

        Parameters
        ----------
        host_cores, host_axons : array_like of int, shape (n,)
            Axons that the host feeds in this tick; they are integrated in this tick. Two spikes on one axon
            in one tick are one.

        Returns
        -------
        cores, neurons : ndarray of int64, shape (m,)
            The neurons that fired, ordered by core, then neuron.
        """
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def _tick(
        self, host_cores: NDArray[np.int32], host_axons: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        due = self._due[self.tick % len(self._due)]
        due[host_cores, host_axons] = True
        event_cores, event_axons = np.nonzero(due)
        due[event_cores, event_axons] = False  # the slot is free for spikes due one turn of the ring later

        cores, neurons = self._run_cores(event_cores, event_axons)
        self._send(cores, neurons)
        self._count(len(cores), event_cores, event_axons)
        self.tick += 1
        return cores, neurons

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        check_run(self.program, events, watched)
        nothing = np.zeros(0, dtype=np.int64)
        fired = [(nothing, nothing, nothing)]
        for start, end in pairwise(events.start.tolist()):
            cores, neurons = self._tick(events.cores[start:end], events.axons[start:end])
            if watched is not None:
                kept = watched[cores, neurons]
                cores, neurons = cores[kept], neurons[kept]
            fired.append((np.full(len(cores), self.tick - 1, dtype=np.int64), cores, neurons))
        return Spikes(*(np.concatenate(column) for column in zip(*fired, strict=True)))

    def _run_cores(
        self, event_cores: NDArray[np.int64], event_axons: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Phase one: integrate, leak and fire on every core that is not at rest."""
        has_events = np.zeros(self.program.n_cores, dtype=np.bool_)
        has_events[event_cores] = True
        awake = np.flatnonzero(has_events | ~self._at_rest)
        table = self.program.neurons
        neurons = table if len(awake) == self.program.n_cores else Parameters.of(table, awake)
        leak_rho = 0 if neurons.stochastic_leak is None else self._noise.draw(self.tick, awake, LEAK)
        threshold_rho = 0 if neurons.noise_bits is None else self._noise.draw(self.tick, awake, THRESHOLD)
        before = self._potentials[awake]

        position = np.cumsum(has_events | ~self._at_rest) - 1  # core -> its row among the awake ones
        potential = self._integrate(before, awake, position[event_cores], event_axons)
        potential = leak(potential, neurons, self._width, leak_rho)
        potential, spikes = fire(potential, neurons, self._width, self._comparison, threshold_rho)

        self._potentials[awake] = potential
        # Without events and noise a tick is a function of the potentials alone: what left them unchanged and
        # silent once does so until the next event.
        unchanged = (potential == before).all(axis=1) & ~spikes.any(axis=1)
        self._at_rest[awake] = unchanged & ~has_events[awake] & ~self._restless[awake]
        rows, fired = np.nonzero(spikes)
        return awake[rows], fired

    def _integrate(
        self,
        potential: NDArray[np.int64],
        awake: NDArray[np.int64],
        rows: NDArray[np.int64],
        axons: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Step 1 for all awake cores; ``rows`` and ``axons`` list the events, sorted."""
        if len(rows) == 0:
            return potential
        n_events = np.bincount(rows, minlength=len(awake))[:, None]
        drive = np.zeros_like(potential)
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            self._add_fixed(drive, awake, rows[part], axons[part])
        if self._draws_events.any():
            self._add_drawn(drive, awake, rows, axons)
        if self._width.wrap:
            # Wrapping once or after every event is the same; without events nothing is fitted.
            return np.where(n_events > 0, self._width.fit(potential + drive), potential)

        # The sum may replace the single events wherever no order of them can leave the range.
        bound = np.abs(potential) + self._peak_step[awake] * n_events
        safe = bound <= min(self._width.high, -self._width.low)
        result = potential + drive
        for row in np.flatnonzero(~safe.all(axis=1)):
            unsafe = np.flatnonzero(~safe[row])
            mine = np.flatnonzero(rows == row)
            events = self._single_events(awake[rows[mine]], axons[mine], unsafe)
            result[row, unsafe] = integrate(potential[row, unsafe], events, self._width)
        return result

    def _add_fixed(
        self,
        drive: NDArray[np.int64],
        awake: NDArray[np.int64],
        rows: NDArray[np.int64],
        axons: NDArray[np.int64],
    ) -> None:
        """Add to ``drive`` the fixed weights of all events: synapses counted per axon type, times the weight."""
        program = self.program
        cores = awake[rows]
        n_neurons, n_types = program.neurons.weights.shape[1:]
        types = program.axon_types[cores, axons].astype(np.int64)
        # Group rows of one core and type, at most 255 in a group, so that a byte can hold each count.
        blocks = -(-program.axon_types.shape[1] // _LANE)
        key = (rows * n_types + types) * blocks + axons // _LANE
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(run_heads(key[order]))
        bits = np.unpackbits(program.crossbar[cores[order], axons[order]], axis=1, bitorder="little")
        # Eight counters at once: bytes of a 64-bit word never carry into their neighbours.
        counts = np.add.reduceat(bits.view(np.uint64), starts, axis=0).view(np.uint8)[:, :n_neurons]

        first = order[starts]
        sums = counts * self._fixed_weights[cores[first], types[first]].astype(np.int64)
        of_core = np.flatnonzero(run_heads(rows[first]))
        drive[rows[first][of_core]] += np.add.reduceat(sums, of_core, axis=0)

    def _add_drawn(
        self,
        drive: NDArray[np.int64],
        awake: NDArray[np.int64],
        rows: NDArray[np.int64],
        axons: NDArray[np.int64],
    ) -> None:
        """Add to ``drive`` what the stochastic synapses of all events draw."""
        drawing = np.flatnonzero(self._draws_events[awake[rows]])
        rows, axons = rows[drawing], axons[drawing]
        every = np.arange(drive.shape[1])
        for start in range(0, len(rows), _DRAWS):
            row = rows[start : start + _DRAWS]
            drawn = self._single_events(awake[row], axons[start : start + _DRAWS], every, drawn_only=True)
            of_row = np.flatnonzero(run_heads(row))
            drive[row[of_row]] += np.add.reduceat(drawn, of_row, axis=0)

    def _single_events(
        self,
        cores: NDArray[np.int64],
        axons: NDArray[np.int64],
        neurons: NDArray[np.int64],
        *,
        drawn_only: bool = False,
    ) -> NDArray[np.int64]:
        """List what each event adds to each of ``neurons`` of its core, shape (events, neurons)."""
        # With ``drawn_only`` fixed weights count as 0. A synapse that is asked twice in a tick draws the same number.
        program, table = self.program, self.program.neurons
        bits = np.unpackbits(program.crossbar[cores, axons], axis=1, bitorder="little")[:, neurons]
        types = program.axon_types[cores, axons]
        weights = table.weights[cores, :, types][:, neurons].astype(np.int64)
        if table.stochastic_weight is not None:
            drawn = by_chance(weights, self._noise.draw(self.tick, cores, axons, neurons))
            stochastic = table.stochastic_weight[cores, :, types][:, neurons]
            weights = np.where(stochastic, drawn, 0 if drawn_only else weights)
        return np.where(bits, weights, 0)

    def _count(self, n_spikes: int, event_cores: NDArray[np.int64], event_axons: NDArray[np.int64]) -> None:
        """Add the activity of one tick to the totals."""
        spikes, axon_events, synaptic_events = self._totals
        synapses = int(self._n_synapses[event_cores, event_axons].sum(dtype=np.int64))
        self._totals = Totals(spikes + n_spikes, axon_events + len(event_cores), synaptic_events + synapses)

    def _send(self, cores: NDArray[np.int64], neurons: NDArray[np.int64]) -> None:
        """Phase two: every spike to its axon, ``delay`` ticks from now."""
        program = self.program
        target = program.target_core[cores, neurons]
        sent = target >= 0
        cores, neurons = cores[sent], neurons[sent]
        slot = (self.tick + program.delay[cores, neurons].astype(np.int64)) % len(self._due)
        self._due[slot, target[sent], program.target_axon[cores, neurons]] = True
