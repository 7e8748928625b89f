"""How long every node of a program takes in its busiest tick: in synaptic events, and in seconds where they are known.

A core works through the events of a tick one after the other, all cores at the same time. So a node takes as long
as that core which has most to do for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuromap.hardware.chip import ChipSpec
from neuromap.simulation.work import Work

__all__ = ["NodeTime", "node_times"]


class NodeTime(NamedTuple):
    """What a node takes in the tick that is its busiest.

    Attributes
    ----------
    events : int
        Synaptic events that the busiest core does for the node.
    seconds : float or None
        The same in time, with the updates of the node's neurons on that core; ``None`` where the chip file lacks one
        of the figures ``synaptic_event_seconds`` and ``neuron_update_seconds``.
    """

    events: int
    seconds: float | None


def node_times(work: Work, chip: ChipSpec) -> dict[str, NodeTime]:
    """Say how long every node takes, as a run has shown.

    Parameters
    ----------
    work : Work
        Of a run that drives the network as hard as it will be driven: nodes take what that run made them take.
    chip : ChipSpec
        Its figures of time, if it has any.

    Returns
    -------
    dict of str to NodeTime
        For every node but the inputs. Relays and splitters are left out: they take ticks of their own. Where nodes
        share a core each is counted alone.
    """
    event, update = (chip.timing.get(key) for key in ("synaptic_event_seconds", "neuron_update_seconds"))
    if event is None or update is None:
        return {name: NodeTime(events, None) for name, events in work.node_peak.items()}
    shares = work.shares
    seconds = shares.peak_events * event + shares.neurons * update
    slowest = np.zeros(len(work.nodes))
    labelled = ~shares.is_relay & (shares.node >= 0)
    np.maximum.at(slowest, shares.node[labelled], seconds[labelled])
    by_name = dict(zip(work.nodes, slowest.tolist(), strict=True))
    return {name: NodeTime(events, by_name[name]) for name, events in work.node_peak.items()}
