"""A run tick by tick: every spike that is sent, for whoever counts what a program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.run.host_feed import FedFrames
from neuromap.simulation.run.run_length import ticks_to_run
from neuromap.simulation.stimulus import check_frames

__all__ = ["TickSpikes", "run_ticks", "together"]

_CHUNK_VALUES = 2**24
"""Neurons and host rows times ticks that are run before anything is handed out."""


class TickSpikes(NamedTuple):
    """What is sent in one tick."""

    tick: int  # the tick, from 0
    # cores, neurons: (n,): neurons that fire, in order; those that are read out too, though they send no spike on the
    # chip
    cores: NDArray[np.int64]
    neurons: NDArray[np.int64]
    # host_cores, host_axons: (m,): axons that the host feeds, due in this very tick; an axon may occur twice
    host_cores: NDArray[np.int32]
    host_axons: NDArray[np.int32]


def together(ticks: Sequence[TickSpikes]) -> TickSpikes:
    """Put what is sent in one tick or more one after the other, for sums in which the tick does not count."""
    numbers, *columns = zip(*ticks, strict=True)
    return TickSpikes(numbers[0], *(np.concatenate(column) for column in columns))


def run_ticks(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    choice: EngineChoice = DEFAULT_ENGINE,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[TickSpikes]:
    """Run a program and hand out its spikes tick by tick; memory does not grow with the number of ticks."""
    # shapes: frames (n_frames, size)
    if frames is None and n_ticks is None:
        raise InputError("run: neither frames nor n_ticks is given; give one of them")
    if n_ticks is not None and n_ticks < 0:
        raise InputError(f"run: n_ticks = {n_ticks}; must be 0 or more")
    checked = {} if frames is None else check_frames(frames, program)
    chip = make_engine(program, choice)
    fed = FedFrames(program, checked)
    total = ticks_to_run(program, fed.n_frames) if n_ticks is None else n_ticks
    length = max(1, min(256, _CHUNK_VALUES // max(1, int(np.prod(program.shape)), fed.n_rows)))
    while chip.tick < total:
        first = chip.tick
        count = min(length, total - first)
        events = HostEvents.none(count) if frames is None else fed.events(first, count)
        yield from _by_tick(chip.run(events), events, first)
        if progress is not None:
            progress(chip.tick, total)


def _by_tick(spikes: Spikes, events: HostEvents, first: int) -> Iterator[TickSpikes]:
    """Cut a run of ticks from tick ``first`` on into single ones."""
    start = np.searchsorted(spikes.ticks, np.arange(first, first + events.n_ticks + 1))
    for k in range(events.n_ticks):
        mine, fed = slice(start[k], start[k + 1]), slice(events.start[k], events.start[k + 1])
        yield TickSpikes(first + k, spikes.cores[mine], spikes.neurons[mine], events.cores[fed], events.axons[fed])
