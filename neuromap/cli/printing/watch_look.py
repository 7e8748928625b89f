"""What a watcher sees of a live run: numbers of nodes, cores and outputs after its last tick."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.decision import decide, votes_of
from neuromap.arrays.times import largest_gap
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.run.live_run import LiveRun, OutputFrame
from neuromap.simulation.run.tick_run import TickSpikes
from neuromap.simulation.trace.recording import node_labels

__all__ = ["CoreSeen", "Look", "NodeSeen", "OutputSeen", "Watcher", "output_seen"]

_FRAMES_KEPT = 32
"""Frames of every output that a look has, the last one first."""


class NodeSeen(NamedTuple):
    """A node."""

    # name, kind: the node, and whether it is an input, hidden or an output
    name: str
    kind: str
    size: int  # its neurons
    spikes: int  # of the last frame period; of an input those of the frame that was sampled last
    mean: float | None  # spikes of a frame period, over the ticks that are remembered; None of inputs


class CoreSeen(NamedTuple):
    """A core."""

    core: int  # its row in the program
    # x, y: its place on the board
    x: int
    y: int
    spikes: float  # of a tick, over the ticks that are remembered


class OutputSeen(NamedTuple):
    """A frame of an output."""

    node: str  # the output
    # frame, tick: which frame it is, and when it was shown
    frame: int
    tick: int
    neurons: NDArray[np.int64]  # those that spiked
    named: int | None  # the class with the most votes, where classes are asked for
    votes: int  # for that class


class _Counted(NamedTuple):
    """Spikes of a tick, by node and by core."""

    tick: int
    nodes: NDArray[np.int64]
    cores: NDArray[np.int64]


class Look(NamedTuple):
    """A live run after a tick."""

    n_ticks: int  # ticks that were run
    n_frames: int  # the last frame that an output showed
    n_remembered: int  # ticks that means are over
    nodes: list[NodeSeen]  # inputs first, then as the program has them
    cores: list[CoreSeen]  # the busiest first; those that did not spike are left out
    outputs: list[OutputSeen]  # the last ones, the latest first
    n_strays: int  # spikes of outputs that belonged to no frame


class Watcher:
    """Looks at a live run again and again; counts every tick once, as long as the run remembers it."""

    # remembered: ticks that means are over, at most

    def __init__(self, program: ChipProgram, classes: int | None = None, remembered: int = 256) -> None:
        self._program, self._classes = program, classes
        node, index = node_labels(program)
        sizes = np.array([port.size for port in program.nodes], np.int64)
        starts = np.append(np.cumsum(sizes) - sizes, sizes.sum())  # the last place is that of neurons of no node
        self._place = starts[node] + np.where(node >= 0, index, 0)
        self._node_of = np.repeat(np.arange(len(sizes) + 1), np.append(sizes, 1))
        self._spiked = np.zeros(len(self._node_of), np.bool_)
        self._counted: deque[_Counted] = deque(maxlen=remembered)

    def look(self, run: LiveRun) -> Look:
        """Look at a run after any number of ticks."""
        last = self._counted[-1].tick if self._counted else -1
        self._counted.extend(self._count(sent) for sent in run.history if sent.tick > last)
        shown = [output_seen(one, self._classes) for one in run.outputs[: -_FRAMES_KEPT - 1 : -1]]
        return Look(
            n_ticks=run.now,
            n_frames=max((one.frame for one in shown), default=0),
            n_remembered=len(self._counted),
            nodes=self._nodes(run),
            cores=self._cores(),
            outputs=shown,
            n_strays=run.n_strays,
        )

    def _count(self, sent: TickSpikes) -> _Counted:
        """Count the spikes of a tick: of nodes without copies, relays and parts of sums, of cores all."""
        self._spiked[:] = False
        self._spiked[self._place[sent.cores, sent.neurons]] = True
        nodes = np.bincount(self._node_of[self._spiked], minlength=len(self._program.nodes) + 1)[:-1]
        return _Counted(sent.tick, nodes, np.bincount(sent.cores, minlength=self._program.n_cores))

    def _nodes(self, run: LiveRun) -> list[NodeSeen]:
        period, counted = self._program.period, list(self._counted)
        none = np.zeros(len(self._program.nodes), np.int64)
        last = sum((one.nodes for one in counted[-largest_gap(period) :]), none)
        mean = sum((one.nodes for one in counted), none) * (float(period) / max(1, len(counted)))
        fed = run.input_frame or {}
        found = [
            NodeSeen(port.name, port.kind, port.size, int(np.count_nonzero(fed.get(port.name, ()))), None)
            if port.kind == "input"
            else NodeSeen(port.name, port.kind, port.size, int(last[k]), float(mean[k]))
            for k, port in enumerate(self._program.nodes)
        ]
        return sorted(found, key=lambda node: node.kind != "input")

    def _cores(self) -> list[CoreSeen]:
        spikes = sum((one.cores for one in self._counted), np.zeros(self._program.n_cores, np.int64))
        busy = np.argsort(-spikes, kind="stable")[: np.count_nonzero(spikes)]
        places = self._program.coordinates
        return [
            CoreSeen(int(c), int(places[c, 0]), int(places[c, 1]), float(spikes[c]) / len(self._counted)) for c in busy
        ]


def output_seen(shown: OutputFrame, classes: int | None) -> OutputSeen:
    """Say what an output showed, and which class it named."""
    neurons = np.flatnonzero(shown.spikes)
    if classes is None:
        return OutputSeen(shown.node, shown.frame, shown.tick, neurons, None, 0)
    named = int(decide(shown.spikes, classes))
    votes = int(votes_of(shown.spikes, classes)[named])
    return OutputSeen(shown.node, shown.frame, shown.tick, neurons, named, votes)
