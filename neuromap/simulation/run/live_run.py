"""``LiveRun``: an engine, its host and a clock, run tick by tick with a history of the last ticks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import adopted
from neuromap.arrays.parts_of_ticks import frames_until, in_parts
from neuromap.arrays.times import largest_gap
from neuromap.errors import InputError, StimulusError
from neuromap.files.argument_checks import needs, real_number, whole_number
from neuromap.files.messages import show
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import EngineState, HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.run.tick_run import HostFeed, TickSpikes, by_tick
from neuromap.simulation.stimulus import check_frames, frame_count, input_sizes, value_ranges
from neuromap.simulation.trace.recording import node_labels
from neuromap.simulation.trace.trace import FrameClock

# One frame of every input node, shape (size,): bool, or int32 if nodes send values.
InputFrame = Mapping[str, NDArray[Any]]


class FrameSource(Protocol):
    """Source of a run's input frames; called once per frame, in order from frame 0, when the chip samples it."""

    def __call__(self, frame: int) -> Mapping[str, ArrayLike]:
        """Return one frame of every input node, shape (size,)."""


class RandomSource:
    """Random frames with a density; a frame depends only on the seed and its number. Values are uniform.

    Parameters
    ----------
    program : ChipProgram
        Program whose input nodes are fed.
    density : float
        Probability that a neuron spikes, or has a value, in a frame, 0 to 1.
    seed : int
        0 or more.

    Raises
    ------
    StimulusError
        If density or seed is out of range.
    """

    def __init__(self, program: ChipProgram, density: float = 0.2, seed: int = 0) -> None:
        self._sizes, self._ranges = input_sizes(program), value_ranges(program)
        self.density, self.seed = float(real_number("density", density)), whole_number("seed", seed)
        if not 0 <= self.density <= 1:
            raise StimulusError(f"source: density = {self.density:g}; must be 0 to 1")
        if self.seed < 0:
            raise StimulusError(f"source: seed = {self.seed}; must be 0 or more")

    def __call__(self, frame: int) -> dict[str, NDArray[Any]]:
        """Draw a frame."""
        rng = np.random.default_rng((self.seed, frame))
        drawn: dict[str, NDArray[Any]] = {name: rng.random(size) < self.density for name, size in self._sizes.items()}
        for name, (low, high) in (self._ranges or {}).items():
            drawn[name] = drawn[name] * rng.integers(low, high, self._sizes[name], np.int32, endpoint=True)
        return drawn


class GivenFrames:
    """Frames of a stimulus: frame 0, then the others in a loop.

    Parameters
    ----------
    program : ChipProgram
        Program whose input nodes are fed.
    frames : mapping of str to array_like, shape (n_frames, size)
        As for :func:`neuromap.simulate`.

    Raises
    ------
    StimulusError
        If the frames do not match the input nodes.
    """

    def __init__(self, program: ChipProgram, frames: Mapping[str, ArrayLike]) -> None:
        self._frames = check_frames(frames, program)
        self.n_frames = frame_count(self._frames)

    def __call__(self, frame: int) -> dict[str, NDArray[Any]]:
        """Return a frame of the stimulus."""
        row = frame if frame < self.n_frames else 1 + (frame - 1) % (self.n_frames - 1)
        return {name: rows[row] for name, rows in self._frames.items()}


class HeldFrame:
    """One frame that is shown until it is replaced, such as a drawing.

    Parameters
    ----------
    program : ChipProgram
        Program whose input nodes are fed.
    frame : mapping of str to array_like, shape (size,), optional
        The frame; nodes that it lacks do not spike, nor does any node without it.

    Raises
    ------
    StimulusError
        If the frame does not match the input nodes.
    """

    def __init__(self, program: ChipProgram, frame: Mapping[str, ArrayLike] | None = None) -> None:
        self._sizes, self._ranges = input_sizes(program), value_ranges(program)
        self.hold(frame or {})

    def hold(self, frame: Mapping[str, ArrayLike]) -> None:
        """Show another frame from now on; nodes that it lacks do not spike."""
        silent = {name: np.zeros(size, np.bool_) for name, size in self._sizes.items()}
        self._held = checked_frame({**silent, **frame}, self._sizes, self._ranges)

    def __call__(self, frame: int) -> InputFrame:
        """Return the held frame, whatever its number."""
        return self._held


def checked_frame(
    frame: Mapping[str, ArrayLike], sizes: Mapping[str, int], ranges: Mapping[str, tuple[int, int]] | None
) -> InputFrame:
    """Check one frame against the input nodes."""
    # ranges: allowed values of inputs, from ``value_ranges``
    # returns read-only arrays in the order of ``sizes``
    # shapes: frame (size,)
    if not isinstance(frame, Mapping) or set(frame) != set(sizes):
        given = ", ".join(map(str, frame)) if isinstance(frame, Mapping) else show(frame)
        raise StimulusError(f"source: gives a frame of {given or 'no node'}; give one of {', '.join(sizes)}")
    return {name: _checked(name, frame[name], size, (ranges or {}).get(name)) for name, size in sizes.items()}


def _checked(name: str, values: ArrayLike, size: int, values_range: tuple[int, int] | None) -> NDArray[Any]:
    found = np.asarray(values)
    low, high = (0, 1) if values_range is None else values_range
    if found.shape != (size,):
        raise StimulusError(f"source: frame of node {name} has shape {found.shape}; must be ({size},)")
    wrong = np.zeros(0, np.int64)
    if found.dtype != np.bool_:
        is_whole = found.dtype.kind in "iu"
        wrong = np.flatnonzero((found < low) | (found > high)) if is_whole else np.arange(size)
    if len(wrong):
        allowed = "0 or 1" if values_range is None else f"an integer, {low} to {high}"
        raise StimulusError(f"source: frame of node {name} holds {show(found[wrong[0]])}; must be {allowed}")
    return adopted(found.astype(np.bool_ if values_range is None else np.int32))


# Most spikes that the history keeps (about 100 MB).
_MOST_SPIKES = 2**22
_MOST_FRAMES = 2**62


class OutputFrame(NamedTuple):
    """One frame of an output node.

    Attributes
    ----------
    node : str
        The output node.
    frame : int
        Number of the frame, 1 or more.
    tick : int
        Tick at which it was shown.
    spikes : ndarray of bool, shape (size,)
        Spikes of the node's neurons; int32 values for nodes that send values.
    """

    node: str
    frame: int
    tick: int
    spikes: NDArray[Any]


class LiveRun:
    """An open-ended run, tick by tick, with the spikes of :func:`neuromap.simulate` on the same frames.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    source : FrameSource, optional
        Source of the input frames; required if the program has input nodes.
    choice : EngineChoice
        Engine, threads and noise seed.
    history : int
        Number of last ticks whose spikes are kept, 1 or more; fewer if they hold more than 2**22 spikes.

    Raises
    ------
    InputError
        If there are input nodes but no source, or the history is out of range.
    ProgramError
        If the program's tables point outside it.

    Notes
    -----
    Not thread-safe: threads that share a run must take turns.
    """

    def __init__(
        self,
        program: ChipProgram,
        source: FrameSource | None = None,
        choice: EngineChoice = DEFAULT_ENGINE,
        *,
        history: int = 256,
    ) -> None:
        needs("live run", program, ChipProgram)
        inputs = input_sizes(program)
        if inputs and source is None:
            raise InputError(f"live run: no source for {', '.join(inputs)}; give one, such as RandomSource(program)")
        if whole_number("history", history) < 1:
            raise InputError(f"live run: history = {history}; must be 1 tick or more")
        self.choice = choice
        self._engine = make_engine(program, choice)
        self._feed = LiveFeed(program, source)
        self._history: deque[TickSpikes] = deque(maxlen=history)
        self._outputs: deque[OutputFrame] = deque(maxlen=history)
        self._n_kept = self._n_strays = 0
        self._under_way = self._engine.state.under_way[:0]
        self._dtype = np.bool_ if program.value_ranges is None else np.int32
        self._ports = {k: port for k, port in enumerate(program.nodes) if port.kind == "output"}
        self._clock = FrameClock.of(program.nodes, program.period, _MOST_FRAMES)
        self._labels = node_labels(program)

    @property
    def program(self) -> ChipProgram:
        """The program that runs now."""
        return self._engine.program

    @property
    def now(self) -> int:
        """The tick that runs next; the first is 0."""
        return self._engine.tick

    @property
    def state(self) -> EngineState:
        """State of the chip between the last tick and the next."""
        state = self._engine.state
        if not len(self._under_way):
            return state
        return state.with_under_way(np.unique(np.concatenate([state.under_way, self._under_way]), axis=0))

    @property
    def history(self) -> tuple[TickSpikes, ...]:
        """Spikes of the last ticks, oldest first."""
        return tuple(self._history)

    @property
    def outputs(self) -> tuple[OutputFrame, ...]:
        """Last frames of the outputs, ordered by tick."""
        return tuple(self._outputs)

    @property
    def n_strays(self) -> int:
        """Number of output spikes that belong to no frame, since tick 0; 0 for a mapped program without faults."""
        return self._n_strays

    @property
    def input_frame(self) -> InputFrame | None:
        """The last input frame sampled; None before the first, or without input nodes."""
        return self._feed.frames.get(self.input_number)

    @property
    def input_number(self) -> int:
        """Number of the last input frame sampled; -1 before the first."""
        return self._feed.next - 1

    def tick(self) -> TickSpikes:
        """Run one tick and return its spikes."""
        tick = self.now
        events = self._feed.events(tick)
        spikes = self._engine.run(self._with_spikes_under_way(events))
        (sent,) = by_tick(spikes, events, tick)
        self._keep(sent)
        return sent

    def ticks(self, n_ticks: int) -> tuple[TickSpikes, ...]:
        """Run some ticks and return the spikes of each."""
        return tuple(self.tick() for _ in range(n_ticks))

    def frame(self) -> tuple[TickSpikes, ...]:
        """Run until every output has shown another frame, or for one frame period if there are no outputs.

        Returns
        -------
        tuple of TickSpikes
            Spikes of each tick run, one or more ticks.
        """
        return self.ticks(self.ticks_to_frame)

    @property
    def ticks_to_frame(self) -> int:
        """Number of ticks that :meth:`frame` would run now."""
        period = self.program.period
        if not self._ports:
            return largest_gap(period)
        shown = np.maximum(frames_until(self._clock.start, period, self.now - 1), 0).tolist()
        due = [port.tick(period, shown[k] + 1) for k, port in self._ports.items()]
        return max(due) + 1 - self.now

    def put(self, program: ChipProgram, state: EngineState | None = None) -> None:
        """Continue with another program of the same shape, from the present state of the chip.

        Pending spikes still arrive, even those on removed wires.

        Parameters
        ----------
        program : ChipProgram
            May differ from the present one in parameters, synapses and targets.
        state : EngineState, optional
            New state of the chip, at the same tick; by default its present state.

        Raises
        ------
        InputError
            If shape, nodes, clocks or host table differ, or the state does not fit the program.
        ProgramError
            If the program's tables point outside it.
        """
        needs("live run: put", program, ChipProgram)
        before, now = self.program, self.state if state is None else state
        same_host = all(
            np.array_equal(getattr(program.host, name), getattr(before.host, name))
            for name in ("node", "index", "core", "axon", "arrival", "first_frame")
        )
        same_clock = (program.nodes, program.period, program.shape) == (before.nodes, before.period, before.shape)
        if not (same_host and same_clock):
            raise InputError(
                f"live run: program {program.name} has other cores, nodes, clocks or inputs than {before.name}; "
                "begin a run of its own"
            )
        if now.tick != self.now:
            raise InputError(f"live run: state is of tick {now.tick}; the run is at tick {self.now}")
        engine = make_engine(program, self.choice)
        late = now.spikes[:, 0] >= now.tick + int(program.wires.delay.max(initial=0))
        engine.restore(now.with_under_way(now.under_way[~late]))
        self._engine, self._under_way = engine, now.under_way[late]
        self._labels = node_labels(program)

    def _with_spikes_under_way(self, events: HostEvents) -> HostEvents:
        """Add spikes with longer delays than any in the program: those on wires removed by an edit."""
        # engines cannot tell a spike delivered by the host from one of their own
        if not len(self._under_way):
            return events
        due = self._under_way[:, 0] == self.now
        given = [column for column in (events.cores, events.axons, events.values) if column is not None]
        added = self._under_way[due, 1:].T
        self._under_way = self._under_way[~due]
        columns = [np.concatenate(pair).astype(np.int32) for pair in zip(given, added, strict=True)]
        return HostEvents.of_tick(*columns)

    def _keep(self, sent: TickSpikes) -> None:
        if len(self._history) == self._history.maxlen:
            self._n_kept -= len(self._history.popleft().cores)
        self._history.append(sent)
        self._n_kept += len(sent.cores)
        while self._n_kept > _MOST_SPIKES and len(self._history) > 1:
            self._n_kept -= len(self._history.popleft().cores)
        node, index = (table[sent.cores, sent.neurons] for table in self._labels)
        for k, port in self._ports.items():
            mine = node == k
            at = self._clock.frames_of(np.array([sent.tick]), k)
            if at.is_inside[0]:
                spikes: NDArray[Any] = np.zeros(port.size, self._dtype)
                spikes[index[mine]] = True if sent.values is None else sent.values[mine]
                spikes.setflags(write=False)
                self._outputs.append(OutputFrame(port.name, int(at.frame[0]), sent.tick, spikes))
            else:
                self._n_strays += int(np.count_nonzero(mine))


# Host events of the tick that runs next, for an endless stimulus.


class LiveFeed:
    """The host of a live run: samples frames at their ticks, and keeps them until all their axons have been fed."""

    # frames: the last ones sampled, by number
    # next: number of the next one

    def __init__(self, program: ChipProgram, source: FrameSource | None) -> None:
        self._feed, self._period, self._source = HostFeed(program), program.period, source
        self._sizes, self._ranges = input_sizes(program), value_ranges(program)
        sampled = [port.sample_tick for port in program.nodes if port.kind == "input"]
        self._sampled = in_parts(sampled, program.period).min(initial=_MOST_FRAMES)
        arrivals = program.host.exact_arrival(program.period)
        wait = arrivals.max(initial=0) - arrivals.min(initial=self._sampled)
        self._n_kept = 2 + max(0, int(wait)) // program.period.numerator
        self.frames: dict[int, InputFrame] = {}
        self.next = 0

    def events(self, tick: int) -> HostEvents:
        """Events that the host feeds in a tick; call it for all ticks in order."""
        self._sample(int(frames_until(self._sampled, self._period, tick)))
        return self._feed.events_of(self._read, 1, _MOST_FRAMES, tick, 1)

    def _read(self, node: str, some: slice) -> NDArray[Any]:
        self._sample(some.start)
        return self.frames[some.start][node][np.newaxis, np.newaxis]

    def _sample(self, last: int) -> None:
        """Get all frames up to one that is fed now or sampled by this tick; drop one that every axon has been fed."""
        while self._source is not None and self.next <= last:
            self.frames[self.next] = checked_frame(self._source(self.next), self._sizes, self._ranges)
            self.frames.pop(self.next - self._n_kept, None)
            self.next += 1
