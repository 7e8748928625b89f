"""When output spikes really differ: a run with a stimulus beside one without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import StimulusError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.record_run import record_run
from neuromap.simulation.stimulus import check_frames, frame_count
from neuromap.simulation.trace.trace import Trace


def first_difference(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    onset_frame: int,
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> dict[str, int | None]:
    """Ticks from stimulus onset to the first output spike, or value, that is there with or without the stimulus only.

    For every input in turn, the frames from ``onset_frame`` on are delivered in one run and are silent in the
    other. Each input has its own onset, the tick at which it is sampled; the least over the inputs is returned.
    It is never less than the first response, and more where thresholds keep the difference from the output.

    Parameters
    ----------
    program : ChipProgram
        What is run.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames with the stimulus; row 0 is frame 0.
    onset_frame : int
        First frame of the stimulus, at least 1.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    dict of str to int or None
        Ticks by output node; ``None`` where the two runs do not differ.

    Raises
    ------
    StimulusError
        If the frames do not fit the input nodes, or the onset is none of them.
    """
    return difference_of_runs(program, frames, onset_frame, EngineChoice(engine, threads, noise_seed))


def difference_of_runs(
    program: ChipProgram, frames: Mapping[str, ArrayLike], onset_frame: int, choice: EngineChoice
) -> dict[str, int | None]:
    """Compare runs with and without a stimulus; see :func:`first_difference`."""
    checked = check_frames(frames, program)
    n_frames = frame_count(checked)
    if not 1 <= onset_frame < n_frames:
        raise StimulusError(f"onset frame {onset_frame}: must be at least 1 and less than the {n_frames} frames given")
    shown = record_run(program, checked, choice)
    found: dict[str, int | None] = {port.name: None for port in shown.nodes}
    for port in program.nodes:
        if port.kind != "input" or not checked[port.name][onset_frame:].any():
            continue
        quiet = checked[port.name].copy()
        quiet[onset_frame:] = 0
        silent = record_run(program, {**checked, port.name: quiet}, choice)
        onset = port.tick(program.period, onset_frame)
        for name, tick in _first_ticks(shown, silent).items():
            before = found[name]
            found[name] = tick - onset if before is None else min(before, tick - onset)
    return found


def _first_ticks(one: Trace, other: Trace) -> dict[str, int]:
    """Earliest tick at which two traces differ, by output; outputs that do not differ are absent."""
    columns: list[list[NDArray[Any]]] = [
        [t.tick, t.node, t.index, *([] if t.value is None else [t.value])] for t in (one, other)
    ]
    events = [np.stack([column.astype(np.int64) for column in some], axis=1) for some in columns]
    rows, counts = np.unique(np.concatenate(events), axis=0, return_counts=True)
    lonely = rows[counts == 1]  # a neuron sends at most once in a tick
    return {
        port.name: int(lonely[lonely[:, 1] == k, 0].min())
        for k, port in enumerate(one.nodes)
        if (lonely[:, 1] == k).any()
    }


def extend_frames(frames: Mapping[str, NDArray[Any]], n_frames: int) -> dict[str, NDArray[Any]]:
    """Repeat or cut input frames to a number of frames."""
    # shapes: frames (any, size); returns (n_frames, size)
    return {name: rows[np.arange(n_frames) % len(rows)] for name, rows in frames.items()}
