"""An engine in NumPy: runs a program tick by tick, event-driven.

A tick has two phases. First every core takes the axons that are due, integrates, leaks and fires; then
every spike is sent to its axon, due ``delay`` ticks later. No core sees a spike of its own tick, so the order
of the cores never matters. Mutable state lives only in :class:`NumpyEngine`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.arrays.packed_rows import run_heads
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import check_seed
from neuromap.simulation.engine.neuron import Parameters, Width, by_chance, fire, integrate, leak
from neuromap.simulation.engine.readable_engine import AxonRing

# Purpose of the random numbers of the stochastic leak; purposes below are axons.
LEAK = 2**32

# Purpose of the random numbers of threshold noise.
THRESHOLD = 2**32 + 1


def mix(words: Words) -> Words:
    """Hash 64-bit words one by one: the finaliser of SplitMix64."""
    z = words.copy()
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def streams(seed: int, tick: int, cores: Ints) -> Words:
    """Noise stream of each core in one tick, as a word."""
    of_seed = mix(np.array([(seed + 0x9E3779B97F4A7C15) % 2**64], dtype=np.uint64))
    return mix(mix(of_seed ^ np.uint64(tick)) ^ cores.astype(np.uint64))


def keys(stream: Words, purposes: Ints) -> NDArray[np.uint32]:
    """Noise key of each stream for one purpose; shapes broadcast."""
    return (mix(stream ^ purposes.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


def rho(key: NDArray[np.uint32], neurons: Ints) -> NDArray[np.uint8]:
    """Draw the random bytes of neurons; shapes broadcast."""
    x = np.atleast_1d(key + neurons.astype(np.uint32) * np.uint32(0x9E3779B9))
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return (x >> np.uint32(24)).astype(np.uint8)


def core_numbers(program: ChipProgram) -> Ints:
    """Board positions of a program's cores, y * columns + x: independent of the order of rows."""
    # shapes: returns (C,)
    places: Ints = program.coordinates.astype(np.int64) @ np.array([1, program.chip.columns])
    return places


class Noise:
    """Random bytes for the cores of one program."""

    def __init__(self, program: Program, seed: int) -> None:
        self.seed = check_seed(seed)
        self._places = core_numbers(program)
        self._neurons = np.arange(program.chip.neurons, dtype=np.int64)

    def draw(self, tick: int, cores: Ints, purposes: Ints | int, neurons: Ints | None = None) -> NDArray[np.uint8]:
        """Draw rho for some cores, one purpose each."""
        # shapes: cores (k,); purposes (k,); neurons (n,); returns (k, n)
        key = keys(streams(self.seed, tick, self._places[cores]), np.asarray(purposes, dtype=np.int64))
        return rho(key[:, None], self._neurons if neurons is None else neurons)


# Largest number of synapse bits that one byte can count.
_LANE = 255
# Crossbar rows unpacked at once: bounds the memory of a busy tick (a few MiB at 256 neurons).
_ROWS = 1 << 13
# Crossbar rows whose stochastic synapses are drawn at once: fewer, as their numbers are wider.
_DRAWS = 1 << 10


class NumpyEngine(AxonRing):
    """State of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`.

    Parameters
    ----------
    program : Program
        The program to load; not changed.
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
        If the program is malformed, or breaks a rule about indices (``docs/program-file.md``).
    InputError
        If the seed is out of range.
    """

    program: Program

    def _prepare(self) -> None:
        program, neurons = self.program, self.program.neurons
        self._width = Width.of(program.chip)
        self._comparison = program.chip.rules.negative_comparison
        steps, fixed = np.abs(neurons.weights.astype(np.int64)), neurons.weights
        draws: Bools = np.zeros(program.n_cores, dtype=np.bool_)
        if neurons.stochastic_weight is not None:
            steps = np.where(neurons.stochastic_weight, np.minimum(steps, 1), steps)
            fixed = np.where(neurons.stochastic_weight, np.int16(0), fixed)
            draws |= neurons.stochastic_weight.any(axis=(1, 2))
        self._draws_events = draws
        self._peak_step = steps.max(axis=2, initial=0)
        self._fixed_weights = np.ascontiguousarray(fixed.transpose(0, 2, 1))
        self._n_synapses = np.bitwise_count(program.crossbar).sum(axis=2, dtype=np.int32)
        self._restless = np.zeros(program.n_cores, dtype=np.bool_)  # cores with noise in every tick, never at rest
        for table in (neurons.stochastic_leak, neurons.noise_bits):
            if table is not None:
                self._restless |= table.any(axis=1)

    def _potentials_before(self) -> Ints:
        return self.program.neurons.potential.astype(np.int64)

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""
        if noise_seed is not None:
            self._noise = Noise(self.program, noise_seed)
        super().reset(noise_seed)
        self._at_rest = np.zeros(self.program.n_cores, dtype=np.bool_)

    def _compute(self, cores: Ints, axons: Ints) -> tuple[Ints, Ints, int]:
        return (*self._run_cores(cores, axons), int(self._n_synapses[cores, axons].sum(dtype=np.int64)))

    def _run_cores(self, event_cores: Ints, event_axons: Ints) -> tuple[Ints, Ints]:
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
        # Without events and noise, a tick is a function of the potentials alone: a core that stayed unchanged and
        # silent once does so until the next event.
        unchanged = (potential == before).all(axis=1) & ~spikes.any(axis=1)
        self._at_rest[awake] = unchanged & ~has_events[awake] & ~self._restless[awake]
        rows, fired = np.nonzero(spikes)
        return awake[rows], fired

    def _integrate(self, potential: Ints, awake: Ints, rows: Ints, axons: Ints) -> Ints:
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
            # wrapping once or after every event is the same; without events nothing is wrapped
            return np.where(n_events > 0, self._width.fit(potential + drive), potential)

        # the sum may replace single events where no order of them can leave the range
        bound = np.abs(potential) + self._peak_step[awake] * n_events
        safe = bound <= min(self._width.high, -self._width.low)
        result = potential + drive
        for row in np.flatnonzero(~safe.all(axis=1)):
            unsafe = np.flatnonzero(~safe[row])
            mine = np.flatnonzero(rows == row)
            events = self._single_events(awake[rows[mine]], axons[mine], unsafe)
            result[row, unsafe] = integrate(potential[row, unsafe], events, self._width)
        return result

    def _add_fixed(self, drive: Ints, awake: Ints, rows: Ints, axons: Ints) -> None:
        """Add to ``drive`` the fixed weights of all events: synapses counted per axon type, times the weight."""
        program = self.program
        cores = awake[rows]
        n_neurons, n_types = program.neurons.weights.shape[1:]
        types = program.axon_types[cores, axons].astype(np.int64)
        # group rows by core and type, at most 255 per group, so that a byte holds each count
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

    def _add_drawn(self, drive: Ints, awake: Ints, rows: Ints, axons: Ints) -> None:
        """Add to ``drive`` the random steps of the stochastic synapses of all events."""
        drawing = np.flatnonzero(self._draws_events[awake[rows]])
        rows, axons = rows[drawing], axons[drawing]
        every = np.arange(drive.shape[1])
        for start in range(0, len(rows), _DRAWS):
            row = rows[start : start + _DRAWS]
            drawn = self._single_events(awake[row], axons[start : start + _DRAWS], every, drawn_only=True)
            of_row = np.flatnonzero(run_heads(row))
            drive[row[of_row]] += np.add.reduceat(drawn, of_row, axis=0)

    def _single_events(self, cores: Ints, axons: Ints, neurons: Ints, *, drawn_only: bool = False) -> Ints:
        """Contribution of each event to each of ``neurons`` of its core, shape (events, neurons)."""
        # With ``drawn_only``, fixed weights count as 0. A synapse queried twice in a tick draws the same number.
        program, table = self.program, self.program.neurons
        bits = np.unpackbits(program.crossbar[cores, axons], axis=1, bitorder="little")[:, neurons]
        types = program.axon_types[cores, axons]
        weights = table.weights[cores, :, types][:, neurons].astype(np.int64)
        if table.stochastic_weight is not None:
            drawn = by_chance(weights, self._noise.draw(self.tick, cores, axons, neurons))
            stochastic = table.stochastic_weight[cores, :, types][:, neurons]
            weights = np.where(stochastic, drawn, 0 if drawn_only else weights)
        return np.where(bits, weights, 0)
