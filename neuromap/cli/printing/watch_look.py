"""What a watcher sees of a live run: numbers of nodes, cores and outputs after its last tick."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.decision import decide, votes_of
from neuromap.arrays.times import largest_gap
from neuromap.simulation.live.counted import SpikeLabels, spikes_by_core
from neuromap.simulation.live.live_run import LiveRun, OutputFrame

__all__ = ["CoreSeen", "Look", "NodeSeen", "OutputSeen", "look_at", "output_seen"]

_FRAMES_KEPT = 32
"""Frames of every output that a look has, the last one first."""


class NodeSeen(NamedTuple):
    """A node.

    Attributes
    ----------
    name, kind : str
        The node, and whether it is an input, hidden or an output.
    size : int
        Its neurons.
    spikes : int
        Of the last frame period; of an input those of the frame that was sampled last.
    mean : float or None
        Spikes of a frame period, over the ticks that are remembered; None of inputs.
    """

    name: str
    kind: str
    size: int
    spikes: int
    mean: float | None


class CoreSeen(NamedTuple):
    """A core.

    Attributes
    ----------
    core : int
        Its row in the program.
    x, y : int
        Its place on the board.
    spikes : float
        Of a tick, over the ticks that are remembered.
    """

    core: int
    x: int
    y: int
    spikes: float


class OutputSeen(NamedTuple):
    """A frame of an output.

    Attributes
    ----------
    node : str
        The output.
    frame, tick : int
        Which frame it is, and when it was shown.
    neurons : ndarray of int64
        Those that spiked.
    named : int or None
        The class with the most votes, where classes are asked for.
    votes : int
        For that class.
    """

    node: str
    frame: int
    tick: int
    neurons: NDArray[np.int64]
    named: int | None
    votes: int


class Look(NamedTuple):
    """A live run after a tick.

    Attributes
    ----------
    n_ticks : int
        Ticks that were run.
    n_frames : int
        The last frame that an output showed.
    n_remembered : int
        Ticks that means are over.
    nodes : list of NodeSeen
        Inputs first, then as the program has them.
    cores : list of CoreSeen
        The busiest first; those that did not spike are left out.
    outputs : list of OutputSeen
        The last ones, the latest first.
    n_strays : int
        Spikes of outputs that belonged to no frame.
    """

    n_ticks: int
    n_frames: int
    n_remembered: int
    nodes: list[NodeSeen]
    cores: list[CoreSeen]
    outputs: list[OutputSeen]
    n_strays: int


def look_at(run: LiveRun, labels: SpikeLabels, classes: int | None) -> Look:
    """Look at a run.

    Parameters
    ----------
    run : LiveRun
        After any number of ticks.
    labels : SpikeLabels
        Of its program.
    classes : int, optional
        Of the outputs; each names the class with the most spikes.
    """
    shown = [output_seen(one, classes) for one in run.outputs[: -_FRAMES_KEPT - 1 : -1]]
    return Look(
        n_ticks=run.now,
        n_frames=max((one.frame for one in shown), default=0),
        n_remembered=len(run.history),
        nodes=_nodes(run, labels),
        cores=_cores(run),
        outputs=shown,
        n_strays=run.n_strays,
    )


def output_seen(shown: OutputFrame, classes: int | None) -> OutputSeen:
    """Say what an output showed, and which class it named."""
    neurons = np.flatnonzero(shown.spikes)
    if classes is None:
        return OutputSeen(shown.node, shown.frame, shown.tick, neurons, None, 0)
    named = int(decide(shown.spikes, classes))
    votes = int(votes_of(shown.spikes, classes)[named])
    return OutputSeen(shown.node, shown.frame, shown.tick, neurons, named, votes)


def _nodes(run: LiveRun, labels: SpikeLabels) -> list[NodeSeen]:
    period = run.program.period
    last = labels.by_node(run.history[-largest_gap(period) :])
    mean = labels.by_node(run.history) * (float(period) / max(1, len(run.history)))
    fed = run.input_frame or {}
    found = [
        NodeSeen(port.name, port.kind, port.size, int(np.count_nonzero(fed.get(port.name, ()))), None)
        if port.kind == "input"
        else NodeSeen(port.name, port.kind, port.size, int(last[k]), float(mean[k]))
        for k, port in enumerate(run.program.nodes)
    ]
    return sorted(found, key=lambda node: node.kind != "input")


def _cores(run: LiveRun) -> list[CoreSeen]:
    if not run.history:
        return []
    spikes = spikes_by_core(run.program, run.history)
    order = np.argsort(-spikes, kind="stable")
    places = run.program.coordinates
    return [
        CoreSeen(int(c), int(places[c, 0]), int(places[c, 1]), float(spikes[c]) / len(run.history))
        for c in order[: np.count_nonzero(spikes)]
    ]
