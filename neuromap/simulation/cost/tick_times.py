"""Duration of a run's ticks, if a tick lasts as long as its slowest core plus a barrier.

In a tick, a core accesses its neurons in use one after the other, updates the active ones, and sends the spikes of
those that fire to every core that reads them; each spike departs at once. In parallel, the core processes incoming
spikes, first come first served: the work of a spike of tick t belongs to tick t, though neurons add it later. The
tick ends with the last core; then comes the barrier. ``docs/timed-ticks.md`` has the formulas and proves the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats, Ints, Words
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rank_in_run
from neuromap.arrays.times import Time, tick_of_frame
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import TickCosts, tick_costs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.numbers import seconds
from neuromap.render.value import Card
from neuromap.simulation.run.tick_run import TickSpikes

if TYPE_CHECKING:
    from neuromap.simulation.cost.tick_kernel import ClockState, ClockTables

_FEMTO = 1e-15


@dataclass(frozen=True, eq=False)
class TickTimes(ReadOnly, Card):
    """Seconds of every tick of a run (T ticks), and the load of its C cores.

    Attributes
    ----------
    seconds : ndarray of float64, shape (T,)
        Each tick in the event simulation, its barrier included.
    bound : ndarray of float64, shape (T,)
        Upper bound, from counts of what every block of neurons sends to every core; barrier included.
    least : ndarray of float64, shape (T,)
        Lower bound: the most that one core sends, or receives, and the barrier.
    barrier : float
        Seconds of the barrier, the same in every tick.
    sending, receiving : ndarray of float64, shape (C,)
        Seconds of work of every core, summed over the ticks.
    critical : ndarray of int64, shape (C,)
        Number of ticks in which each core was the last to finish.
    active, fired, arrivals : int
        Active neurons, neurons that fired, and spikes that entered a core, summed over the ticks.
    """

    seconds: Floats
    bound: Floats
    least: Floats
    barrier: float
    sending: Floats
    receiving: Floats
    critical: Ints
    active: int
    fired: int
    arrivals: int

    def __len__(self) -> int:
        return len(self.seconds)

    def _facts(self) -> dict[str, object]:
        if not len(self):
            return {"ticks": 0}
        return {
            "ticks": len(self),
            "mean tick": seconds(float(self.seconds.mean())),
            "longest tick": seconds(float(self.seconds.max())),
            "barrier": seconds(self.barrier),
            "bound": f"{self.bound.sum() / (self.seconds.sum() or 1.0) - bool(self.seconds.any()):.1%} above",
        }


def tick_clock(program: ChipProgram) -> TickClock | None:
    """Make the clock of a program's chip; None if ticks are of fixed length."""
    costs = tick_costs(program.chip)
    return None if costs is None else TickClock(program, costs)


class TickClock:
    """Times the ticks of a run, one by one."""

    def __init__(self, program: ChipProgram, costs: TickCosts) -> None:
        self._program = program
        whole = costs.whole(_FEMTO)
        unit = math.gcd(*whole) or 1
        whole = tuple(cost // unit for cost in whole)
        self._unit, self._costs = unit * _FEMTO, whole[:4]
        self._barrier = costs.barrier_of(len(np.unique(program.coordinates // np.array(program.chip.tile), axis=0)))
        self._first_axon = np.append(0, np.cumsum(program.axon_counts)).astype(np.int64)
        self._tables, self._neuron, self._axon = _tables(program, *whole[4:])
        self._state = _state(program, len(self._tables.in_use))
        self._tick = self._n_active = self._n_fired = self._n_arrivals = 0
        self._times: list[tuple[int, int, int]] = []

    def add(self, spikes: TickSpikes) -> None:
        """Time one tick."""
        from neuromap.simulation.cost.tick_kernel import clock_kernel  # Numba is slow to import

        if spikes.held is None:
            raise InputError("ticks: are timed of a run that hands out what neurons hold; run it with holding=True")
        numbers = spikes.cores * self._program.shape[1] + spikes.neurons
        host = self._axon[self._first_axon[spikes.host_cores] + spikes.host_axons]
        host = np.unique(host) if len(host) else host  # two spikes on one axon in one tick are one
        room = len(self._tables.target) + len(host)
        if room > len(self._state.to):
            to, work, when, latest, order, spare = np.zeros((6, room), np.int64)
            self._state = self._state._replace(to=to, work=work, when=when, latest=latest, order=order, spare=spare)
        held = _packed(spikes.held.ravel().take(self._neuron, mode="clip"))  # not "raise", which is twice as slow
        done, bound, least, active, sent = clock_kernel()(
            self._tables, self._state, held, numbers, host, self._tick, self._costs
        )
        self._tick += 1
        self._times.append((done, bound, least))
        self._n_active += active
        self._n_fired += len(numbers)
        self._n_arrivals += sent + len(host)

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks; spikes of the ticks ``before`` it are still pending but not counted."""
        self._state = _state(self._program, len(self._tables.in_use))
        kept = self._times, self._n_active, self._n_fired, self._n_arrivals
        self._times = []
        for spikes in before:
            self.add(spikes)
        self._state.sent[:] = self._state.received[:] = self._state.critical[:] = 0
        self._times, self._n_active, self._n_fired, self._n_arrivals = kept

    def result(self) -> TickTimes:
        """Return the times so far."""
        done, bound, least = np.array(self._times, np.int64).reshape(-1, 3).T * self._unit + self._barrier
        return TickTimes(
            done,
            bound,
            least,
            self._barrier,
            (self._state.sent * self._unit).astype(np.float64),
            (self._state.received * self._unit).astype(np.float64),
            self._state.critical.copy(),
            self._n_active,
            self._n_fired,
            self._n_arrivals,
        )


def _tables(program: ChipProgram, arrival: int, event: int, hop_x: int, hop_y: int) -> tuple[ClockTables, Ints, Ints]:
    """Lay out the tables; also return the neuron C * N + n of every bit (0 if none) and the numbers of all axons."""
    from neuromap.simulation.cost.tick_kernel import BLOCK, ClockTables

    n_cores, n_neurons = program.shape
    number = np.flatnonzero(program.neurons_in_use)
    in_core = np.bincount(number // n_neurons, minlength=n_cores)
    first = np.append(0, np.cumsum(-(-in_core // BLOCK))).astype(np.int64)
    n_words = int(first[-1])
    at = BLOCK * np.repeat(first[:-1], in_core) + rank_in_run(number // n_neurons)
    neuron, place = np.zeros(BLOCK * n_words, np.int64), np.full(n_cores * n_neurons, -1)
    neuron[at], place[number] = number, at

    wires, first_axon = program.wires, np.append(0, np.cumsum(program.axon_counts)).astype(np.int64)
    of_axon = np.repeat(np.arange(n_cores), program.axon_counts)
    reader = first_axon[wires.target_core] + wires.target_axon
    way = np.full(len(of_axon), len(reader))
    np.minimum.at(way, reader, np.arange(len(reader)))
    order = np.argsort(way, kind="stable")
    axon = np.empty(len(order), np.int64)
    axon[order] = np.arange(len(order))

    of_axon = of_axon[order]
    synapses = program.synapses_of(of_axon, order - first_axon[of_axon])
    reached = place[of_axon[synapses.row] * n_neurons + synapses.neuron]
    due = synapses.delay * np.int64(n_words) + reached // BLOCK
    # synapses onto one word form an entry; lists not sorted by delay and neuron have a few entries more
    is_first = np.append(True, (np.diff(synapses.row) != 0) | (np.diff(due) != 0))[: len(due)]
    entries = np.flatnonzero(is_first)
    bits = np.uint64(1) << (reached % BLOCK).astype(np.uint64)
    axons = np.arange(len(order) + 1)
    router = program.coordinates.astype(np.int64) // np.array(program.chip.tile)
    tables = ClockTables(
        first=first,
        in_use=_words(at, BLOCK * n_words),
        place=place,
        has_bias=_words(at[program.has_bias.ravel()[number]], BLOCK * n_words),
        way=np.searchsorted(place[wires.core * n_neurons + wires.neuron], np.arange(BLOCK * n_words + 1)),
        target=wires.target_core,
        axon=axon[reader],
        ticks=wires.delay,
        hops=abs(router[wires.core] - router[wires.target_core]) @ np.array((hop_x, hop_y)),
        axon_core=of_axon,
        work=arrival + event * np.diff(np.searchsorted(synapses.row, axons)),
        entry=np.searchsorted(synapses.row[entries], axons),
        due=due[entries],
        reached=np.bitwise_or.reduceat(bits, entries) if len(entries) else bits,
    )
    return tables, neuron, axon


def _words(places: Ints, n_bits: int) -> Words:
    bits = np.zeros(n_bits, np.bool_)
    bits[places] = True
    return _packed(bits)


def _packed(bits: NDArray[np.bool_]) -> Words:
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _state(program: ChipProgram, n_words: int) -> ClockState:
    from neuromap.simulation.cost.tick_kernel import ClockState

    touched, fired = (np.zeros(n * n_words, np.uint64) for n in (program.greatest_delay + 1, 1))
    room, cores = len(program.wires.core), program.n_cores
    return ClockState(touched, fired, *np.zeros((6, room), np.int64), *np.zeros((6, cores), np.int64))


Which = Literal["measured", "bound"]
# Femtoseconds in a second.
_FEMTOSECONDS = 1e15


@dataclass(frozen=True, eq=False)
class FrameSeconds(ReadOnly, Card):
    """Seconds from sample to response, and from sample to sample, over whole frame periods of S stimuli of W ticks.

    Frames are cyclic, so a span that leaves the window continues at its beginning. A frame is processed from the tick
    after its sample on: a response of r ticks takes the first to the r-th tick after it.

    Attributes
    ----------
    measured, bound : ndarray of float64, shape (S, W)
        Seconds of every tick, in the event simulation and by the bound from counts; see
        :class:`neuromap.simulation.cost.tick_times.TickTimes`.
    period : int or Fraction
        Ticks between two frames of a node.
    first_frame, first_tick : int
        The frame whose sample begins the window, and the tick of that sample.
    """

    measured: Floats
    bound: Floats
    period: Time
    first_frame: int
    first_tick: int

    @property
    def n_frames(self) -> int:
        """Number of frames in the window."""
        return int(self.measured.shape[1] / self.period)

    def frame_period(self, which: Which = "measured") -> Floats:
        """Mean seconds from sample to sample, shape (S,)."""
        return np.asarray(self._sums(which)[:, self.measured.shape[1]] / (self.n_frames * _FEMTOSECONDS))

    def _sums(self, which: Which) -> NDArray[np.int64]:
        """Sum the window twice over, shape (S, 2 W + 1), in whole femtoseconds: equal ticks give equal spans."""
        each: Floats = getattr(self, which)
        twice = np.rint(np.concatenate([np.zeros((len(each), 1)), each, each], axis=1) * _FEMTOSECONDS).astype(np.int64)
        return np.asarray(twice.cumsum(axis=1))

    def span(self, sample_tick: Time, ticks: Time, which: Which = "measured", early: Time = 0) -> Floats:
        """Seconds of a span, mean over the frames.

        Parameters
        ----------
        sample_tick : int or Fraction
            Tick at which the input's frame 0 is sampled.
        ticks : int or Fraction
            Ticks from there to the response.
        which : {"measured", "bound"}
            The event simulation, or the bound from counts.
        early : int or Fraction
            Ticks before the sample to include.

        Returns
        -------
        ndarray of float64, shape (S,)
            Seconds, stimulus by stimulus.
        """
        n_ticks = self.measured.shape[1]
        samples = np.array(
            [tick_of_frame(sample_tick, self.period, self.first_frame + k) for k in range(self.n_frames)], np.int64
        )
        begin = samples - self.first_tick + 1 - math.ceil(early)
        turns, rest = divmod(math.ceil(ticks) + math.ceil(early), n_ticks)
        sums = self._sums(which)
        begin %= n_ticks
        spans: Floats = (sums[:, begin + rest] - sums[:, begin]).mean(axis=1)
        return np.asarray((spans + turns * sums[:, n_ticks]) / _FEMTOSECONDS)

    def tick(self, number: int) -> float:
        """Mean seconds of tick ``number`` of the run and of its equivalents, whole frame periods apart."""
        turn = Fraction(self.period).numerator
        return float(self.measured[:, (number - self.first_tick) % turn :: turn].mean())

    def _facts(self) -> dict[str, object]:
        return {
            "stimuli": f"{len(self.measured)} of {self.n_frames} frames",
            "frame period": seconds(float(self.frame_period().mean())),
            "bound of it": seconds(float(self.frame_period("bound").mean())),
        }


class ResponseSeconds:
    """Converts responses in ticks into seconds, with ticks of fixed length or as timed."""

    def __init__(self, program: ChipProgram, frames: FrameSeconds | None) -> None:
        self._chip, self.frames = program.chip, frames
        self._sample_of = {port.name: port.sample_tick for port in program.nodes}

    def of(self, ticks: Time | None, output: str, which: Which = "measured") -> float | None:
        """Mean seconds of a response over frames and stimuli: of the ticks before one in which the output is computed.

        None if there is no response, or this chip's ticks are timed and nothing was run.
        """
        if ticks is None:
            return None
        if not self._chip.is_timed:
            return float(ticks * self._chip.tick_seconds)
        if self.frames is None:
            return None
        return float(self.frames.span(self._sample_of[output] - ticks, ticks, which).mean())

    def reaction(self, answers: Mapping[str, int], early: int, which: Which = "measured") -> float | None:
        """Mean seconds of the reaction to an event, at the input where it is slowest.

        Parameters
        ----------
        answers : mapping of str to int
            Ticks from a sample of every input to the first output that depends on it.
        early : int
            Ticks that the event waits for the sample.
        which : {"measured", "bound"}
            As in :meth:`FrameSeconds.span`.

        Returns
        -------
        float or None
            None as in :meth:`of`.
        """
        if not self._chip.is_timed:
            return float((max(answers.values()) + early) * self._chip.tick_seconds)
        if self.frames is None:
            return None
        spans = (self.frames.span(self._sample_of[u], ticks, which, early) for u, ticks in answers.items())
        return max(float(seconds.mean()) for seconds in spans)

    def frequency(self, period: Time, which: Which = "measured") -> float | None:
        """Frames sampled per second; None as in :meth:`of`, and if a frame takes no time."""
        if not self._chip.is_timed:
            return float(1 / (period * self._chip.tick_seconds))
        each = None if self.frames is None else float(self.frames.frame_period(which).mean())
        return 1 / each if each else None


def frame_seconds(program: ChipProgram, times: TickTimes, n_stimuli: int, first_frame: int) -> FrameSeconds:
    """Split the ticks of several stimuli, windows of equal length, by stimulus."""
    return FrameSeconds(
        times.seconds.reshape(n_stimuli, -1),
        times.bound.reshape(n_stimuli, -1),
        program.period,
        first_frame,
        tick_of_frame(input_samples(program)[0], program.period, first_frame),
    )


def input_samples(program: ChipProgram) -> list[Time]:
    """Sorted ticks in which the inputs' frame 0 is sampled; without inputs, those of all nodes."""
    ticks = {port.sample_tick for port in program.nodes if port.kind == "input"}
    return sorted(ticks or {port.sample_tick for port in program.nodes})
