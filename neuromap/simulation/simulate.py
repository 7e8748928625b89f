"""Run a program on input frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError, ProgramError
from neuromap.hardware.program import Program
from neuromap.simulation.host_feed import HostFeed
from neuromap.simulation.numpy_engine import NumpyEngine
from neuromap.simulation.stimulus import check_frames
from neuromap.simulation.trace import Trace

__all__ = ["simulate"]

_ENGINES = {"numpy": NumpyEngine}


def simulate(
    program: Program,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "numpy",
    progress: Callable[[int, int], object] | None = None,
) -> Trace:
    """Run a program on input frames until the slowest output has shown the last frame.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames for every input node, Boolean or 0 and 1; row 0 is frame 0.
    engine : {"numpy"}
        What runs the ticks.
    progress : callable, optional
        Called as ``progress(ticks done, ticks in all)`` after every tick.

    Returns
    -------
    Trace
        Every spike of the neurons that are read out.

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If there is no such engine.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    if engine not in _ENGINES:
        raise InputError(f"engine {engine}: is not known; engines are {', '.join(_ENGINES)}")
    checked = check_frames(frames, program)
    chip = _ENGINES[engine](program)  # refuses indices that point nowhere
    feed = HostFeed(program, checked)
    outputs = program.outputs
    row_of_neuron = np.full(program.target_core.shape, -1, dtype=np.int64)  # -1: not read out
    row_of_neuron[outputs.core, outputs.neuron] = np.arange(len(outputs))

    n_ticks = _ticks_to_run(program, feed.n_frames)
    ticks, rows = [], [np.zeros(0, dtype=np.int64)]
    for tick in range(n_ticks):
        row = row_of_neuron[chip.step(*feed.at(tick))]
        row = row[row >= 0]
        ticks.append(np.full(len(row), tick, dtype=np.int64))
        rows.append(row)
        if progress is not None:
            progress(tick + 1, n_ticks)
    return _trace(program, feed.n_frames, n_ticks, np.concatenate([rows[0], *ticks]), np.concatenate(rows))


def _ticks_to_run(program: Program, n_frames: int) -> int:
    """Ticks up to and with the last frame of the slowest output; 0 if that lies before tick 0."""
    last = [port.sample_tick + (n_frames - 1) * program.period for port in program.nodes if port.kind == "output"]
    if not last:
        raise ProgramError(f"program {program.name}: has no output node to read out; run it with run_events")
    return max(0, max(last) + 1)


def _trace(program: Program, n_frames: int, n_ticks: int, tick: NDArray[np.int64], row: NDArray[np.int64]) -> Trace:
    position = np.cumsum([port.kind == "output" for port in program.nodes]) - 1  # in nodes -> among outputs
    node = position[program.outputs.node[row]].astype(np.int32)
    index = program.outputs.index[row]
    order = np.lexsort((index, node, tick))
    return Trace(
        name=program.name,
        pattern=program.pattern,
        execution=program.execution,
        nodes=tuple(port for port in program.nodes if port.kind == "output"),
        period=program.period,
        n_frames=n_frames,
        n_ticks=n_ticks,
        tick=tick[order],
        node=node[order],
        index=index[order],
    )
