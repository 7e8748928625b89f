"""Figures per frame of a program in steady operation, over the windows of several stimuli."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice, pairwise
from math import gcd
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import tick_of_frame
from neuromap.errors import ProgramError, StimulusError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.numbers import joules, plain
from neuromap.render.value import Card
from neuromap.simulation.choose_frames import DEFAULT_FRAMES, DEFAULT_STIMULI, RandomFrames, choose_stimuli
from neuromap.simulation.cost.activity import Activity, RunCounter
from neuromap.simulation.cost.energy import Counts, Energy, energy_of
from neuromap.simulation.cost.tick_times import FrameSeconds, frame_seconds, input_samples
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.noc.measure_traffic import TrafficCounter
from neuromap.simulation.noc.traffic import WireCounts, WireSums
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks
from neuromap.simulation.stimulus import check_frames, frame_count

Stimuli = Sequence[Mapping[str, NDArray[np.bool_]]]


def measure_steady_activity(
    program: ChipProgram,
    stimuli: Mapping[str, ArrayLike] | str | Path | Sequence[Mapping[str, ArrayLike]] | None = None,
    *,
    n_stimuli: int = DEFAULT_STIMULI,
    n_frames: int = DEFAULT_FRAMES,
    seed: int = 0,
    density: float | None = None,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> SteadyActivity:
    """Measure a program's figures per frame in steady operation.

    The frames of every stimulus are fed cyclically; once everything depends on them, as many whole frame periods are
    counted as there are frames. The figures thus exclude start-up and do not depend on how a program labels its
    frames. Reports and explorations use these figures.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand, with input nodes.
    stimuli : mapping of str to array_like of shape (n_frames, size), path, or sequence of such mappings, optional
        Input frames of one stimulus, a file of them, or several stimuli of equal length; random ones by default.
    n_stimuli : int
        Number of random stimuli, 1 to 100, with seeds ``seed``, ``seed + 1``, ...
    n_frames, seed, density : int, int, float or None
        Number, first seed and density of the random frames; without a density, every frame draws its own.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    SteadyActivity
        Figures per frame over all stimuli with their spread, and traffic and work of the first stimulus.

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes, or stimuli differ in length.
    InputError
        If there is no such engine, or a number is out of range.
    ProgramError
        If the program has no input node, or its tables point outside it.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/digits/sr.toml")
    >>> windowed, pipelined = (nm.map_rollout(nm.Rollout(net, "streaming", e)) for e in ("windowed", "pipelined"))
    >>> figures = nm.measure_steady_activity(windowed, n_stimuli=2)
    >>> figures.joules_per_frame == nm.measure_steady_activity(pipelined, n_stimuli=2).joules_per_frame
    True
    """
    needs("measure_steady_activity", program, ChipProgram)
    choice = EngineChoice(engine, threads, noise_seed)
    if stimuli is None or isinstance(stimuli, (str, Path, Mapping)):
        chosen, _ = choose_stimuli(program, stimuli, RandomFrames(n_frames, seed, density), n_stimuli)
    else:
        chosen = tuple(check_frames(frames, program) for frames in stimuli)
    return count_steady_activity(program, chosen, choice)


def count_steady_activity(program: ChipProgram, stimuli: Stimuli, choice: EngineChoice) -> SteadyActivity:
    """Count over the windows of checked stimuli; see :func:`measure_steady_activity`."""
    stimuli, traffic = _whole(program, stimuli), TrafficCounter(program)
    counter = RunCounter(program, traffic)
    first = _count(program, stimuli[:1], choice, counter)
    activity = counter.activity(traffic)
    # arrivals take several times as long as the sums: figures of single ticks are those of the first stimulus
    counter.wires = traffic.wires
    figures = _figures(program, stimuli, counter, first + _count(program, stimuli[1:], choice, counter))
    return SteadyActivity(**vars(figures), activity=activity)


def steady_figures(program: ChipProgram, stimuli: Stimuli, choice: EngineChoice = DEFAULT_ENGINE) -> SteadyFigures:
    """Count only the figures of :func:`measure_steady_activity`, without link loads and arrivals of spikes."""
    # shapes: stimuli (n_frames, size)
    stimuli, counter = _whole(program, stimuli), RunCounter(program, WireSums(program))
    return _figures(program, stimuli, counter, _count(program, stimuli, choice, counter))


def _figures(program: ChipProgram, stimuli: Stimuli, counter: RunCounter, each: tuple[Counts, ...]) -> SteadyFigures:
    times = counter.times
    seconds = None if times is None else frame_seconds(program, times, len(stimuli), sum(_warm_up(program)))
    firing = counter.work.result().spikes
    return SteadyFigures(program.chip, frame_count(stimuli[0]), each, counter.wires.counts, firing, seconds)


def _count(program: ChipProgram, stimuli: Stimuli, choice: EngineChoice, counter: RunCounter) -> tuple[Counts, ...]:
    """Count the windows of the stimuli one after the other; return the counts of each."""
    sums = [counter.counts]
    for frames in stimuli:
        window = steady_window(program, frames, choice, sums[-1].ticks)
        counter.follow(window.before)
        for spikes in window.ticks:
            counter.add(spikes)
        sums.append(counter.counts)
    counted = ((asdict(before), asdict(after)) for before, after in pairwise(sums))
    chips = math.prod(program.chip.chips)
    return tuple(Counts(**{k: after[k] - before[k] for k in after} | {"chips": chips}) for before, after in counted)


def _whole(program: ChipProgram, stimuli: Stimuli) -> Stimuli:
    """Repeat the frames of every stimulus as :func:`whole_turns` does; refuse unequal numbers of frames."""
    stimuli = [whole_turns(program, frames) for frames in stimuli]
    lengths = sorted({frame_count(frames) for frames in stimuli})
    if len(lengths) != 1:
        found = "none given" if not lengths else f"of {lengths[0]} to {lengths[-1]} frames"
        raise StimulusError(f"stimuli: {found}; give one or more with as many frames each")
    return stimuli


# A program in steady operation: frames follow each other without end, and a window of whole frame periods is measured.
#
# The given frames are fed cyclically. After enough of them the window begins; it ends as many frame periods later as
# there are frames. So every input edge delivers every frame exactly once within it, wherever the program's clock
# begins: programs that are equal up to the labels of their frames do the same in it. (Networks with cycles may
# remember how they began; they begin in silence, which is the same for all whose thresholds are 1 or more.)
Frames = Mapping[str, NDArray[np.bool_]]


class SteadyWindow(NamedTuple):
    """Whole frame periods of a run, as many as there are frames."""

    # the ticks just before, as many as the longest delay (or all there are): their spikes may be pending as the window
    # begins
    before: tuple[TickSpikes, ...]
    ticks: Iterator[TickSpikes]  # the ticks of the window, renumbered; to be iterated once


def steady_window(
    program: ChipProgram, frames: Frames, choice: EngineChoice = DEFAULT_ENGINE, first_tick: int = 0
) -> SteadyWindow:
    """Run a program on cyclic frames until it is in steady operation, and return the window that follows."""
    # shapes: frames (n_frames, size)
    frames = whole_turns(program, frames)
    n_frames = frame_count(frames)
    if not n_frames:
        raise ProgramError(f"program {program.name}: has no input node, so no frames; count a run of ticks instead")
    # silence brings networks that stay silent into one state, whatever their first frame is called; then cyclic frames,
    # until everything depends on them
    silent, warm = _warm_up(program)
    fed = {}
    for name, rows in frames.items():  # rotated so that the first frame comes after ``warm`` of them
        circle = np.resize(np.roll(rows, warm, axis=0), (2 * (warm + n_frames), rows.shape[1]))
        fed[name] = np.concatenate([np.zeros((silent, rows.shape[1]), np.bool_), circle])
    begin = max(0, tick_of_frame(input_samples(program)[0], program.period, silent + warm))
    n_ticks, holding = begin + int(n_frames * program.period), program.chip.is_timed
    run = run_ticks(program, fed, n_ticks=n_ticks, choice=choice, holding=holding)
    before = deque(islice(run, begin), maxlen=max(1, program.greatest_delay))
    return SteadyWindow(tuple(before), (spikes._replace(tick=k) for k, spikes in enumerate(run, first_tick)))


def _warm_up(program: ChipProgram) -> tuple[int, int]:
    """Numbers of frames before the window: silent ones, then cyclic ones."""
    # No frame takes more periods along any path to any node: the delay of an edge from u to v is the difference of
    # their phases, plus a frame period if it streams, and a path of n nodes has n - 1 edges.
    ticks, n = [port.sample_tick for port in program.nodes], len(program.nodes)
    return n + 1, max(3 * n, -(-(max(ticks) - min(ticks)) // program.period) + n)


def whole_turns(program: ChipProgram, frames: Frames) -> Frames:
    """Repeat frames until they take a whole number of ticks: at equal intervals once is enough."""
    q = program.period.denominator
    times = q // gcd(q, frame_count(frames))
    return frames if times == 1 else {name: np.tile(rows, (times, 1)) for name, rows in frames.items()}


# Figures per frame in steady operation: integer counts over whole frame periods, summed first, divided once.
@dataclass(frozen=True, eq=False)
class SteadyFigures(Card):
    """Figures per frame of a program in steady operation, over several stimuli."""

    chip: ChipSpec  # the program's chip
    n_frames: int  # frames of every stimulus; each was counted once, over as many frame periods
    each: tuple[Counts, ...]  # energy counts of every stimulus
    wires: WireCounts  # spikes that left and entered the cores, over all stimuli
    firing: int  # neurons that fired, counted once per tick, over all stimuli
    seconds: FrameSeconds | None  # time of every tick, if ticks are timed

    def _facts(self) -> dict[str, object]:
        spread = self.joules_spread
        shown = "" if spread is None or spread.half_width is None else f" ± {joules(spread.half_width)}"
        return {
            "stimuli": f"{len(self.each)} of {counted(self.n_frames, 'frame')}",
            "energy per frame": f"{joules(self.joules_per_frame)}{shown}",
            "spikes per frame": plain(self.spikes_per_frame),
            "hops per frame": plain(self.hops_per_frame),
            "synaptic events per frame": plain(self.synaptic_events_per_frame),
        }

    @property
    def total_frames(self) -> int:
        """Number of frames of all stimuli."""
        return self.n_frames * len(self.each)

    @cached_property
    def counts(self) -> Counts:
        """Sum of the counts over all stimuli."""
        parts = [asdict(counts) for counts in self.each]
        summed = {name: sum(part[name] for part in parts) for name in parts[0]}
        return Counts(**{**summed, "chips": parts[0]["chips"]})

    @cached_property
    def energy(self) -> Energy:
        """Energy of all stimuli together, term by term."""
        return energy_of(self.chip, self.counts)

    @property
    def joules_per_frame(self) -> float | None:
        """Energy per frame in joules, mean over all stimuli; ``None`` if the chip file has no figures."""
        total = self.energy.joules
        return None if total is None else total / self.total_frames

    @cached_property
    def joules_spread(self) -> Spread | None:
        """Spread of the energy per frame over the stimuli; ``None`` if the chip file has no figures."""
        mean = self.joules_per_frame
        known = [energy_of(self.chip, counts).joules for counts in self.each]
        return (
            None if mean is None else spread_of([total / self.n_frames for total in known if total is not None], mean)
        )

    @property
    def spikes_per_frame(self) -> float:
        """Spikes that leave a core, including those read out."""
        return self.per_frame(self.counts.spikes)

    @property
    def hops_per_frame(self) -> float:
        """Mesh links that spikes cross."""
        return self.per_frame(self.counts.hops)

    @property
    def synaptic_events_per_frame(self) -> float:
        """Synapses on axons that are due."""
        return self.per_frame(self.counts.synaptic_events)

    @property
    def crossings_per_frame(self) -> float:
        """Chip boundaries that spikes cross."""
        return self.per_frame(self.counts.crossings)

    @property
    def host_spikes_per_frame(self) -> float:
        """Spikes between host and chip: fed, and read out."""
        return self.per_frame(self.counts.host_spikes)

    def per_frame(self, count: float) -> float:
        """Divide a count over all stimuli by the number of frames."""
        return count / self.total_frames


@dataclass(frozen=True, eq=False)
class SteadyActivity(SteadyFigures):
    """Steady figures with traffic and work, which tell what happens in single ticks.

    Attributes
    ----------
    chip, n_frames, each, wires, firing, seconds
        As in :class:`SteadyFigures`.
    activity : Activity
        Traffic and work of the first stimulus, over its frame periods.
    """

    activity: Activity


# Spread of a figure over several stimuli, and confidence of its mean.


# Level of the confidence intervals.
CONFIDENCE = 0.95
# Two-sided quantiles of Student's t at that level, by degrees of freedom: values of SciPy, which is slow to import.
QUANTILES: Mapping[int, float] = ReadOnlyMapping(
    {1: 12.706204736174694, 2: 4.302652729749462, 3: 3.1824463052837078, 4: 2.7764451051977934, 9: 2.262157162798205}
)


@dataclass(frozen=True)
class Spread:
    """Mean of a figure over stimuli, and its spread.

    Attributes
    ----------
    n : int
        Number of stimuli.
    mean : float
        Mean over the stimuli.
    deviation : float or None
        Sample standard deviation, with ``n - 1`` in its denominator; ``None`` for a single stimulus.
    half_width : float or None
        Half the width of the 95 % confidence interval of the mean, by Student's t; ``None`` for a single stimulus.
    """

    n: int
    mean: float
    deviation: float | None = None
    half_width: float | None = None


def spread_of(values: Sequence[float], mean: float) -> Spread:
    """Compute the spread of values around their mean."""
    # values: one per stimulus, at least one
    n = len(values)
    if n < 2:
        return Spread(n, mean)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Spread(n, mean, deviation, _quantile(n - 1) * deviation / math.sqrt(n))


def _quantile(freedom: int) -> float:
    """Two-sided quantile of Student's t at the confidence level."""
    if freedom in QUANTILES:
        return QUANTILES[freedom]
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
