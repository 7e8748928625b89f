"""What the host feeds in the tick that runs next, without an end of the stimulus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.parts_of_ticks import frames_until, in_parts, ticks_of_frames
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.live.sources import FrameSource, InputFrame, checked_frame
from neuromap.simulation.stimulus.stimulus import input_sizes

__all__ = ["LiveFeed"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of the host table that share node, arrival and first frame."""

    node: str | None
    """None on bias rows, which spike in every frame."""
    index: NDArray[np.int32]
    core: NDArray[np.int32]
    axon: NDArray[np.int32]


class LiveFeed:
    """The host of a live run: samples frames as their ticks come, and keeps them until all their axons were fed."""

    # The same events as those of :class:`neuromap.simulation.run.host_feed.FedFrames`, tick by tick, but for their
    # order within a tick; bias rows never end.

    def __init__(self, program: ChipProgram, source: FrameSource | None) -> None:
        host, self._period, self._source = program.host, program.period, source
        self._sizes = input_sizes(program)
        start = host.exact_arrival(program.period)
        keys = np.stack([host.node.astype(np.int64), start, host.first_frame.astype(np.int64)], axis=1)
        found, of_group = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(of_group.reshape(-1), kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(of_group.reshape(-1), minlength=len(found)))[:-1])
        self._start, self._first = found[:, 1], found[:, 2]
        self._of_input = found[:, 0] != BIAS
        self._rows = [
            _Rows(
                None if node == BIAS else program.nodes[node].name, host.index[part], host.core[part], host.axon[part]
            )
            for node, part in zip(found[:, 0].tolist(), parts[: len(found)], strict=True)
        ]
        sampled = [port.sample_tick for port in program.nodes if port.kind == "input"]
        self._sampled = int(in_parts(sampled, program.period).min()) if sampled else None
        self._frames: dict[int, InputFrame] = {}
        self._next = 0

    @property
    def latest(self) -> InputFrame | None:
        """The frame that was sampled last, of those that are still fed."""
        return self._frames.get(self._next - 1)

    @property
    def latest_number(self) -> int:
        """Number of the frame that was sampled last; -1 before the first."""
        return self._next - 1

    def events(self, tick: int) -> HostEvents:
        """Lay out what is fed in a tick; ticks are asked for in order."""
        frame = frames_until(self._start, self._period, tick)
        due = (ticks_of_frames(self._start, self._period, frame) == tick) & (frame >= self._first)
        self._sample(tick, int(frame[due & self._of_input].max(initial=-1)))
        cores, axons = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for k in np.flatnonzero(due).tolist():
            rows = self._rows[k]
            fed = slice(None) if rows.node is None else self._frames[int(frame[k])][rows.node][rows.index]
            cores.append(rows.core[fed])
            axons.append(rows.axon[fed])
        self._forget(int(frame[self._of_input].min(initial=self._next - 1)))
        core, axon = np.concatenate(cores), np.concatenate(axons)
        return HostEvents(np.array([0, len(core)]), core, axon)

    def _sample(self, tick: int, fed: int) -> None:
        """Ask for all frames up to one that is fed now, or that is sampled by this tick."""
        if self._sampled is None or self._source is None:
            return
        last = max(fed, int(frames_until(np.array([self._sampled]), self._period, tick)[0]))
        while self._next <= last:
            self._frames[self._next] = checked_frame(self._source(self._next), self._sizes)
            self._next += 1

    def _forget(self, fed: int) -> None:
        """Keep the frames that come after the one that every axon was fed, and always the latest."""
        for frame in [frame for frame in self._frames if frame <= min(fed, self._next - 2)]:
            del self._frames[frame]
