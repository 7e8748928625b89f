"""What the host delivers on input frames, read off the host table row by row: for files of other simulators.

Engines have a feed of their own, laid out for speed; this one shares no code with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.parts_of_ticks import frames_until, ticks_of_frames
from neuromap.errors import StimulusError
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS

__all__ = ["HostSpikes", "host_spikes"]


@dataclass(frozen=True, eq=False)
class HostSpikes(Card):
    """Spikes from the host, ordered by tick, then row; n of them."""

    tick: NDArray[np.int64]  # (n,): when each is integrated
    row: NDArray[np.int64]  # (n,): row of the program's host table that it is for
    n_ticks: int  # ticks that they were asked for

    def __post_init__(self) -> None:
        freeze_arrays(self)


def host_spikes(program: ChipProgram, frames: Mapping[str, NDArray[np.bool_]], n_ticks: int) -> HostSpikes:
    """List what the host delivers in ticks 0 to ``n_ticks - 1``."""
    # gives bias rows end with the frames, as in a run; where there are parts of sums, which must be emptied, with the
    # ticks
    # shapes: frames (n_frames, size)
    host, period = program.host, program.period
    n_frames = max((len(rows) for rows in frames.values()), default=0)
    start = host.exact_arrival(period)
    found = [np.zeros((2, 0), np.int64)]
    for node in np.unique(host.node).tolist():
        rows = np.flatnonzero(host.node == node)
        if node == BIAS:
            last = n_frames - 1
            if program.is_part is not None and n_ticks:
                last = int(frames_until(start[rows], period, n_ticks - 1).max())
            fed = np.ones((max(last + 1, 0), len(rows)), np.bool_)
        else:
            fed = _frames_of(program, node, frames, n_frames)[:, host.index[rows]]
        frame, column = np.nonzero(fed)
        row = rows[column]
        tick = ticks_of_frames(start[row], period, frame)
        kept = (frame >= host.first_frame[row]) & (tick >= 0) & (tick < n_ticks)
        found.append(np.stack([tick[kept], row[kept]]))
    tick, row = np.concatenate(found, axis=1)
    order = np.lexsort((row, tick))
    return HostSpikes(tick[order], row[order], n_ticks)


def _frames_of(
    program: ChipProgram, node: int, frames: Mapping[str, NDArray[np.bool_]], n_frames: int
) -> NDArray[np.bool_]:
    port = program.nodes[node]
    given = frames.get(port.name)
    if given is None or given.shape != (n_frames, port.size):
        shape = "none" if given is None else f"shape {list(given.shape)}"
        raise StimulusError(f"frames of node {port.name}: found {shape}; needs shape [{n_frames}, {port.size}]")
    return np.asarray(given, np.bool_)
