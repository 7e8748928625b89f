"""The host: which axons it feeds in which tick, from the host table and the input frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program import BIAS, Program

__all__ = ["HostFeed"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the host table that share node, arrival and first frame."""

    arrival: int
    first_frame: int
    spikes: NDArray[np.bool_] | None
    """Frames of the rows' node, shape (n_frames, size); None on bias rows, which spike in every frame."""
    index: NDArray[np.int32]
    core: NDArray[np.int32]
    axon: NDArray[np.int32]


class HostFeed:
    """Spikes from the host, tick by tick.

    Nothing is laid out beforehand, so memory does not grow with the number of frames.

    Parameters
    ----------
    program : Program
        ``host``, ``period`` and ``nodes`` are used; its indices are checked (engines do that).
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        Checked input frames.
    """

    def __init__(self, program: Program, frames: Mapping[str, NDArray[np.bool_]]) -> None:
        self.period = program.period
        self.n_frames = len(next(iter(frames.values()))) if frames else 0
        host = program.host
        clock = np.stack([host.node, host.arrival, host.first_frame], axis=1).astype(np.int64)
        kinds, kind_of_row = np.unique(clock, axis=0, return_inverse=True)
        self._rows = []
        for number, (node, arrival, first_frame) in enumerate(kinds.tolist()):
            rows = np.flatnonzero(kind_of_row.reshape(-1) == number)
            spikes = None if node == BIAS else frames[program.nodes[node].name]
            self._rows.append(_Rows(arrival, first_frame, spikes, host.index[rows], host.core[rows], host.axon[rows]))

    def at(self, tick: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Axons that are fed in a tick.

        Parameters
        ----------
        tick : int
            The tick.

        Returns
        -------
        cores, axons : ndarray of int32, shape (n,)
            In no particular order; an axon may occur twice.
        """
        cores, axons = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        for rows in self._rows:
            frame, between = divmod(tick - rows.arrival, self.period)
            if between or not rows.first_frame <= frame < self.n_frames:
                continue
            active = slice(None) if rows.spikes is None else rows.spikes[frame, rows.index]
            cores.append(rows.core[active])
            axons.append(rows.axon[active])
        return np.concatenate(cores), np.concatenate(axons)
