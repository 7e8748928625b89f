"""Many stimuli through one program, in parallel on threads that share read-only data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.errors import InputError, StimulusError
from neuromap.files.argument_checks import needs, refuse_swapped
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import BlockEngine, Engine, FeedPlan, HostEvents, Messages, Sent, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import HostFeed, ticks_to_run
from neuromap.simulation.stimulus import check_stimuli
from neuromap.simulation.trace.recording import Readout, Recording, readout_of
from neuromap.simulation.trace.trace import Batch, FrameClock, labels_of

if TYPE_CHECKING:
    from neuromap.simulation.engine.bit_sliced.side_by_side import SideBySide

# Numbers of stimuli side by side, and of their ticks in total, below which bit slicing does not pay off.
_FEW_STIMULI, _FEW_TICKS = 96, 1024
# Fraction of bit-sliced cores below which the other cores take nearly all of the time.
_LEAST_SHARE = 0.25
# Most input values of stimuli side by side.
_BLOCK_VALUES = 2**26


_Forked = TypeVar("_Forked", Engine, "SideBySide")


@contextmanager
def _lent(free: SimpleQueue[_Forked], first: _Forked) -> Iterator[_Forked]:
    """Lend one engine, or a fork of it only if all are lent, so that few stimuli take little memory."""
    try:
        one = free.get_nowait()
    except Empty:
        one = first.fork()
    try:
        yield one
    finally:
        free.put(one)


class Chips:
    """Engines for the threads, each used by one thread at a time."""

    # noise_seed: seed of the first stimulus

    def __init__(self, program: ChipProgram, choice: EngineChoice) -> None:
        self.noise_seed = choice.noise_seed
        self._program = program
        self._side_by_side = (
            getattr(program.chip.kind.engines, "side_by_side", None) if choice.engine == "fast" else None
        )
        self._bit_slicing = choice.bit_slicing
        self._block: SideBySide | None = None
        self._blocks: SimpleQueue[SideBySide] = SimpleQueue()
        self._engine = make_engine(program, replace(choice, threads=1))
        self._engines: SimpleQueue[Engine] = SimpleQueue()
        # compile everything here: in the main thread, an interrupt does not wait for it
        self._engine.run(HostEvents.none(1))
        self._engines.put(self._engine)

    def take(self) -> AbstractContextManager[Engine]:
        """Lend an engine."""
        return _lent(self._engines, self._engine)

    def stimuli_at_once(self, n_stimuli: int, n_ticks: int, n_values: int) -> int:
        """Choose the number of stimuli to run side by side, one bit each; 0 for none."""
        # the first call with a nonzero result makes and compiles the engine: call it in the main thread
        if self._side_by_side is None or self._bit_slicing is False or n_ticks == 0:
            return 0
        at_once, least = min(n_stimuli, _BLOCK_VALUES // max(1, n_values)), 1 if self._bit_slicing else _FEW_STIMULI
        if at_once < least or (not self._bit_slicing and n_stimuli * n_ticks < _FEW_TICKS):
            return 0
        if self._block is None:
            block = self._side_by_side(self._program)
            share = block.bit_sliced.mean()
            if block.lanes < least or share == 0 or (not self._bit_slicing and share < _LEAST_SHARE):
                self._side_by_side = None
                return 0
            block.compile()
            self._block = block
            self._blocks.put(block)
        at_once = min(at_once, self._block.lanes)
        return at_once if at_once >= least else 0

    def take_block(self) -> AbstractContextManager[SideBySide]:
        """Lend an engine for stimuli side by side; only after :meth:`stimuli_at_once` has returned a nonzero number."""
        assert self._block is not None
        return _lent(self._blocks, self._block)


# Most memory for the recorded frames of a batch.
_MAX_BYTES = 2**31


def simulate_batch(
    program: ChipProgram,
    stimuli: Mapping[str, ArrayLike] | Iterable[Mapping[str, ArrayLike]],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    keep: str = "frames",
    progress: Callable[[int, int], object] | None = None,
    bit_slicing: bool | None = None,
) -> Batch:
    """Run many stimuli through a program, each from the program's initial state.

    Stimulus s gives exactly the result of ``simulate(program, stimulus, noise_seed=noise_seed + s)``, for every
    number of threads.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    stimuli : mapping of str to array_like, shape (S, n_frames, size), or iterable of such mappings
        Input frames for every input node, Boolean or 0 and 1; for graded nodes, values in the range. An iterable yields
        portions with any number of stimuli each; they are taken when needed and released when done.
    engine : {"fast", "numpy"}
        Engine that runs the ticks; the result is the same.
    threads : int, optional
        Number of threads, each with stimuli of its own; by default one per usable core of the machine.
    noise_seed : int
        Seed of the neurons' stochastic modes for the first stimulus; the others take the following numbers (0 after
        2**64 - 1).
    record : Recording, optional
        Nodes whose frames are kept; by default the outputs. A batch keeps no cores, potentials or counts of all
        neurons.
    keep : {"frames", "counts"}
        Whether to keep frames, one byte (four for values) per stimulus, frame and neuron, or only the number of frames
        in which each neuron spiked or sent a value.
    progress : callable, optional
        Called as ``progress(stimuli_done, stimuli_known_so_far)``.
    bit_slicing : bool, optional
        Whether the fast engine runs stimuli side by side, one bit each, on cores that allow it
        (``docs/fast-engine.md``); by default if that is faster. The result is the same.

    Returns
    -------
    Batch
        Stimuli in the order given.

    Raises
    ------
    StimulusError
        If stimuli do not match the program's input nodes, differ in their number of frames, or there are none.
    InputError
        If an engine or node does not exist, a number is out of range, the recording includes more than nodes, or the
        frames would take more than 2 GiB.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    refuse_swapped("simulate_batch(program, stimuli)", program, ChipProgram, stimuli)
    needs("simulate_batch", program, ChipProgram)
    if record is not None:
        needs("simulate_batch: record", record, Recording)
    if not isinstance(stimuli, Iterable):
        raise StimulusError(f"stimuli: found {type(stimuli).__name__}; give a mapping or a sequence of mappings")
    choice = EngineChoice(engine, threads, noise_seed, bit_slicing)
    if keep not in ("frames", "counts"):
        raise InputError(f"keep {keep!r}: must be 'frames' or 'counts'")
    job = BatchJob.of(program, Recording() if record is None else record, keep == "frames")
    chips = Chips(program, choice)
    portions = [stimuli] if isinstance(stimuli, Mapping) else stimuli

    found: list[BatchPart] = []
    n_bytes = done = n_frames = 0
    for part, known, n_frames in run_parts(job, chips, portions, choice.n_threads):  # noqa: B007
        found.append(part)
        done += len(part.counts)
        n_bytes += 0 if part.frames is None else part.frames.nbytes
        if n_bytes > _MAX_BYTES:
            raise InputError(
                f"batch: frames of {counted(done, 'stimulus', 'stimuli')} take {n_bytes / 2**30:.1f} GiB; at "
                f"most {_MAX_BYTES >> 30} are held "
                'in memory, give fewer stimuli at once or keep="counts"'
            )
        if progress is not None:
            progress(done, known)
    kept = [part.frames for part in found if part.frames is not None]
    return Batch(
        **labels_of(program, job.neurons.nodes, n_frames, job.n_ticks(n_frames)),
        spikes_by_frame=np.concatenate(kept) if kept else None,
        spike_counts=np.concatenate([part.counts for part in found]),
        stray_counts=np.concatenate([part.strays for part in found]),
    )


# The threads of a batch: portions of stimuli in, parts of the result out, in order.
# Most recorded values in a part, and most host rows times ticks laid out at once.
_PART_VALUES = 2**22
# Most stimuli in a part, if they are long and if they are short.
_LONG_STIMULI, _PART_STIMULI = 32, 256
# Cores times ticks above which a part has fewer stimuli, so that progress is reported.
_PART_VISITS = 2**20
# Number of input values side by side that take as much memory as one recorded value.
_RECORDED = 8
# Ticks between two checks for an interrupt.
_TICKS_AT_ONCE = 512


def run_parts(
    job: BatchJob, chips: Chips, portions: Iterable[Mapping[str, ArrayLike]], n_threads: int
) -> Iterator[tuple[BatchPart, int, int]]:
    """Run all stimuli on separate threads, which have ended when the iteration ends, however it ends."""
    # yields results in the order of the stimuli, the number of stimuli known so far, and their number of frames
    known = n_frames = 0
    plan: FeedPlan | None = None
    ahead: deque[Future[BatchPart]] = deque()
    stopped = Event()
    executor = ThreadPoolExecutor(n_threads, thread_name_prefix="neuromap-batch")
    try:
        for portion in portions:
            frames, n_stimuli, n_frames = check_stimuli(portion, job.program, n_frames or None)
            each, n_ticks = _side_by_side(job, chips, n_stimuli, n_frames, n_threads), job.n_ticks(n_frames)
            if each and plan is None:
                plan = job.feed.plan(job.program.nodes, n_frames, n_ticks)
            planned = plan if each else None
            visits = max(_LONG_STIMULI, _PART_VISITS // (max(1, n_ticks) * job.program.n_cores))
            values = _PART_VALUES // max(n_frames * job.n_columns, n_ticks * len(job.feed), 1)
            each = each or max(1, min(_PART_STIMULI, visits, values, n_stimuli // (4 * n_threads)))
            for start in range(0, n_stimuli, each):
                some = {name: rows[start : start + each] for name, rows in frames.items()}
                ahead.append(executor.submit(_run_part, job, chips, some, known + start, planned, stopped))
                if len(ahead) > 2 * n_threads:  # so that results and portions do not pile up
                    yield ahead.popleft().result(), known + n_stimuli, n_frames
            known += n_stimuli
        if known == 0:
            raise StimulusError("stimuli: none given; give at least one")
        while ahead:
            yield ahead.popleft().result(), known, n_frames
    finally:  # an error or an interrupt leaves no thread behind
        stopped.set()
        executor.shutdown(wait=True, cancel_futures=True)


def _side_by_side(job: BatchJob, chips: Chips, n_stimuli: int, n_frames: int, n_threads: int) -> int:
    """Choose the number of stimuli in a part if they run side by side; else 0."""
    n_inputs = sum(port.size for port in job.program.nodes if port.kind == "input")
    n_values = n_frames * max(n_inputs, len(job.feed), _RECORDED * job.n_columns)
    most = chips.stimuli_at_once(-(-n_stimuli // n_threads), job.n_ticks(n_frames), n_values)
    # parts of equal size, equally many for every thread
    return most and -(-n_stimuli // (-(-n_stimuli // (most * n_threads)) * n_threads))


def _run_part(
    job: BatchJob,
    chips: Chips,
    frames: Mapping[str, NDArray[Any]],
    first: int,
    plan: FeedPlan | None,
    stopped: Event,
) -> BatchPart:
    """Run some stimuli, from number ``first`` on: side by side if there is a plan, else one after the other."""
    n_stimuli, n_frames = next(iter(frames.values())).shape[:2]
    seed = (chips.noise_seed + first) % 2**64
    if plan is not None:
        values = [rows.reshape(n_stimuli, -1).astype(np.bool_, copy=False) for rows in frames.values()]
        with chips.take_block() as block:
            spikes = [block.run(plan, np.concatenate(values, axis=1), job.watched, seed, stopped.is_set)]
        return job.part(spikes, n_stimuli, n_frames)
    n_ticks = job.n_ticks(n_frames)
    stimuli = {name: rows.astype(job.dtype, copy=False) for name, rows in frames.items()}
    with chips.take() as chip:
        if isinstance(chip, BlockEngine) and n_stimuli * n_ticks * len(job.feed) <= _PART_VALUES:
            events = job.feed.events(stimuli, n_frames, 0, n_ticks)
            return job.part([chip.run_each(events, n_stimuli, job.watched, seed, stopped.is_set)], n_stimuli, n_frames)
        parts = []
        for number in range(n_stimuli):
            stimulus = {name: values[number : number + 1] for name, values in stimuli.items()}
            chip.reset((seed + number) % 2**64)
            for some in _in_pieces(job, chip, stimulus, n_frames, stopped):
                parts.append(some._replace(ticks=some.ticks + number * n_ticks))
    return job.part(parts, n_stimuli, n_frames)


def _in_pieces(
    job: BatchJob, chip: Engine, stimulus: Mapping[str, NDArray[Any]], n_frames: int, stopped: Event
) -> Iterator[Sent]:
    """Run one stimulus, some ticks at a time."""
    n_ticks = job.n_ticks(n_frames)
    at_once = max(1, min(_TICKS_AT_ONCE, _PART_VALUES // max(1, len(job.feed))))
    for tick in range(0, n_ticks, at_once):
        if stopped.is_set():
            return
        yield chip.run(job.feed.events(stimulus, n_frames, tick, min(at_once, n_ticks - tick)), job.watched)


# Data that all stimuli of a batch share, and conversion of their spikes into frames and counts.


class BatchPart(NamedTuple):
    """Results of consecutive stimuli: the arrays of :class:`~neuromap.simulation.trace.trace.Batch` for them."""

    frames: NDArray[Any] | None
    counts: NDArray[np.int64]
    strays: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BatchJob(ReadOnly, Value):
    """Data that all stimuli share: made once, only read by the threads."""

    program: ChipProgram  # the program to run
    feed: HostFeed  # its host table
    neurons: Readout  # the K neurons whose spikes are kept
    row_of: NDArray[np.int32]  # (C, N): row of every neuron in ``neurons``; -1 for the others
    watched: NDArray[np.bool_]  # (C, N): whether a neuron is one of them
    column: NDArray[np.int64]  # (K,): column of each in the nodes' frames side by side
    keep_frames: bool  # whether frames are kept, or only counts

    @classmethod
    def of(cls, program: ChipProgram, record: Recording, keep_frames: bool) -> Self:
        """Prepare a program for many stimuli."""
        neurons = readout_of(program, _node_words(program, record))
        row_of = neurons.rows(program)
        offset = np.cumsum(np.array([0, *(port.size for port in neurons.nodes)], dtype=np.int64))
        return cls(
            program=program,
            feed=HostFeed(program),
            neurons=neurons,
            row_of=row_of,
            watched=row_of >= 0,
            column=offset[neurons.node] + neurons.index,
            keep_frames=keep_frames,
        )

    @property
    def n_columns(self) -> int:
        """Number of neurons in the recorded nodes."""
        return sum(port.size for port in self.neurons.nodes)

    def n_ticks(self, n_frames: int) -> int:
        """Count the ticks of a stimulus, through the last frame of the slowest node that is read out or recorded."""
        return ticks_to_run(self.program, n_frames, self.neurons.nodes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of frames: bool, or int32 if nodes send values."""
        return np.dtype(np.bool_ if self.program.value_ranges is None else np.int32)

    def part(self, spikes: Sequence[Sent], n_stimuli: int, n_frames: int) -> BatchPart:
        """Convert the spikes of the watched neurons into frames and counts."""
        nothing = np.zeros(0, dtype=np.int64)
        tick = np.concatenate([nothing, *(some.ticks for some in spikes)])
        owner, tick = np.divmod(tick, max(1, self.n_ticks(n_frames)))
        row = np.concatenate([nothing, *(self.row_of[some.cores, some.neurons] for some in spikes)])
        node, column = self.neurons.node[row], self.column[row]
        clock = FrameClock.of(self.neurons.nodes, self.program.period, n_frames)
        frame, is_inside, is_stray = clock.frames_of(tick, node)
        # as in a trace: output spikes count only as long as without other recorded nodes
        is_stray &= (tick < ticks_to_run(self.program, n_frames)) | ~self.neurons.is_output[row]

        table = np.zeros((n_stimuli, n_frames, self.n_columns), self.dtype)
        values = [some.values for some in spikes if isinstance(some, Messages)]
        if values:  # the first copy counts, as in a trace: it is assigned last
            inside = np.flatnonzero(is_inside)[::-1]
            table[owner[inside], frame[inside], column[inside]] = np.concatenate(values)[inside]
        else:
            table[owner[is_inside], frame[is_inside], column[is_inside]] = True
        strays = np.zeros((n_stimuli, len(self.neurons.nodes)), dtype=np.int64)
        places = np.stack([numbers[is_stray] for numbers in (owner, node, column, tick)], axis=1)
        places = np.unique(places, axis=0)  # copies of a neuron count as one
        np.add.at(strays, (places[:, 0], places[:, 1]), 1)
        return BatchPart(table if self.keep_frames else None, np.count_nonzero(table, axis=1), strays)


def _node_words(program: ChipProgram, record: Recording) -> list[str]:
    """Words of a recording, expanded to nodes; refuses anything but nodes."""
    words: list[str] = []
    for word in record.spikes:
        if word == "all":
            left_out = program.left_out
            inside = [port.name for port in program.nodes if port.kind != "input"]
            words += [f"node:{name}" for name in inside if name not in left_out]
        else:
            words.append(word)
    wrong = [word for word in words if word.startswith("core:")]
    if wrong or record.potentials or record.counts:
        what = wrong[0] if wrong else "of potentials" if record.potentials else "of counts"
        raise InputError(f"recording {what}: a batch keeps frames of nodes only; simulate single stimuli for more")
    return words
