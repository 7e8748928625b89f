"""Counting what a program takes per frame in steady operation, over the windows of several stimuli."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import StimulusError
from neuromap.files.given import needs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.activity import Activity, energy_counts
from neuromap.simulation.cost.energy import Counts
from neuromap.simulation.cost.steady_figures import SteadyActivity, SteadyFigures
from neuromap.simulation.cost.steady_run import steady_window, whole_turns
from neuromap.simulation.cost.work_counter import WorkCounter
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES, DEFAULT_STIMULI
from neuromap.simulation.noc.measure_traffic import TrafficCounter
from neuromap.simulation.noc.wires import WireCounts, WireSums
from neuromap.simulation.run.tick_run import TickSpikes
from neuromap.simulation.stimulus import check_frames, frame_count

__all__ = ["count_steady_activity", "measure_steady_activity", "steady_figures"]

Stimuli = Sequence[Mapping[str, NDArray[np.bool_]]]


class _Wires(Protocol):
    """What counts spikes on their ways: of all that happens to them, or the sums alone."""

    @property
    def counts(self) -> WireCounts: ...

    def add(self, spikes: TickSpikes) -> object: ...


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
    """Count what a program takes per frame in steady operation.

    The frames of every stimulus are fed in a circle; when everything depends on them, as many whole frame periods are
    counted as there are frames. So no start-up is in the figures, a program has the same ones however its frames are
    labelled, and reports and explorations have them from here.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand, with input nodes.
    stimuli : mapping of str to array_like of shape (n_frames, size), path, or sequence of such mappings, optional
        Input frames of one stimulus, a file of them, or of several stimuli that are as long; random ones by default.
    n_stimuli : int
        Random stimuli, 1 to 100, with the seeds ``seed``, ``seed + 1``, ...
    n_frames, seed, density : int, int, float or None
        Number, first seed and density of the random frames; without one every frame draws its own.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    SteadyActivity
        Figures per frame over all stimuli with their spread, and traffic and work of the first.

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
    stimuli = [whole_turns(program, frames) for frames in stimuli]
    n_frames, chips = _frames_each(stimuli), math.prod(program.chip.chips)
    traffic, work = TrafficCounter(program), WorkCounter(program)
    first = _count(program, stimuli[:1], choice, traffic, work)
    activity = Activity(traffic.result(), work.result(), chips)
    # arrivals take several times as long as the sums: what single ticks need is of the first stimulus
    wires = WireSums(program)
    others = _count(program, stimuli[1:], choice, wires, work)
    sums = WireCounts(*(a + b for a, b in zip(traffic.counts, wires.counts, strict=True)))
    return SteadyActivity(program.chip, n_frames, (*first, *others), sums, work.result().spikes, activity)


def steady_figures(program: ChipProgram, stimuli: Stimuli, choice: EngineChoice = DEFAULT_ENGINE) -> SteadyFigures:
    """Count the figures of :func:`measure_steady_activity` alone, without what happens to spikes on their ways."""
    # shapes: stimuli (n_frames, size)
    stimuli = [whole_turns(program, frames) for frames in stimuli]
    n_frames, wires, work = _frames_each(stimuli), WireSums(program), WorkCounter(program)
    each = _count(program, stimuli, choice, wires, work)
    return SteadyFigures(program.chip, n_frames, each, wires.counts, work.result().spikes)


def _count(
    program: ChipProgram, stimuli: Stimuli, choice: EngineChoice, wires: _Wires, work: WorkCounter
) -> tuple[Counts, ...]:
    """Count the windows of the stimuli one after the other; what each adds."""
    chips, done = math.prod(program.chip.chips), work.result()
    sums = [energy_counts(wires.counts, done, chips)]
    for frames in stimuli:
        window = steady_window(program, frames, choice, done.n_ticks)
        work.follow(window.before)
        for spikes in window.ticks:
            wires.add(spikes)
            work.add(spikes)
        done = work.result()
        sums.append(energy_counts(wires.counts, done, chips))
    return tuple(_less(after, before) for before, after in pairwise(sums))


def _less(after: Counts, before: Counts) -> Counts:
    added = {name: count - getattr(before, name) for name, count in asdict(after).items()}
    return Counts(**{**added, "chips": after.chips})


def _frames_each(stimuli: Stimuli) -> int:
    """Frames of every stimulus."""
    lengths = sorted({frame_count(frames) for frames in stimuli})
    if len(lengths) != 1:
        found = "none given" if not lengths else f"of {lengths[0]} to {lengths[-1]} frames"
        raise StimulusError(f"stimuli: {found}; give one or more with as many frames each")
    return lengths[0]
