"""How long every node of a program takes in its busiest tick: in synaptic events, and in seconds where they are known.

A core works through the events of a tick one after the other, all cores at the same time. So a node takes as long
as that core which has most to do for it; then its spikes are on their way, for as long as the load of the links makes
them wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.simulation.cost.work import Work
from neuromap.simulation.noc.traffic import Traffic

__all__ = ["NodeTime", "node_times"]


class NodeTime(NamedTuple):
    """What a node takes in the tick that is its busiest.

    Attributes
    ----------
    events : int
        Synaptic events that the busiest core does for the node.
    seconds : float or None
        The same in time, with the updates of the node's neurons on that core and the arrival of its spikes; ``None``
        where the chip file lacks one of the figures ``synaptic_event_seconds`` and ``neuron_update_seconds``, or
        traffic is given and the router's figures are absent.
    arrival_cycles : int or None
        Router cycles within which the node's spikes arrive in any tick of the run, a bound; ``None`` where no traffic
        is given.
    """

    events: int
    seconds: float | None
    arrival_cycles: int | None = None


def node_times(work: Work, chip: ChipSpec, traffic: Traffic | None = None) -> dict[str, NodeTime]:
    """Say how long every node takes, as a run has shown.

    Parameters
    ----------
    work : Work
        Of a run that drives the network as hard as it will be driven: nodes take what that run made them take.
    chip : ChipSpec
        Its figures of time, if it has any.
    traffic : Traffic, optional
        Of the same run: then the way of a node's spikes is part of its time.

    Returns
    -------
    dict of str to NodeTime
        For every node but the inputs. Relays and splitters are left out: they take ticks of their own. Where nodes
        share a core each is counted alone.
    """
    arrivals = {name: None if traffic is None else traffic.node_arrivals[name] for name in work.node_peak}
    event, update = (chip.timing.get(key) for key in ("synaptic_event_seconds", "neuron_update_seconds"))
    cycle = 0.0 if traffic is None else traffic.clock.cycle_seconds
    if event is None or update is None or cycle is None:
        return {name: NodeTime(events, None, arrivals[name]) for name, events in work.node_peak.items()}
    shares = work.shares
    seconds = shares.peak_events * event + shares.neurons * update
    slowest = np.zeros(len(work.nodes))
    labelled = ~shares.is_relay & (shares.node >= 0)
    np.maximum.at(slowest, shares.node[labelled], seconds[labelled])
    by_name = dict(zip(work.nodes, slowest.tolist(), strict=True))
    return {
        name: NodeTime(events, by_name[name] + (arrivals[name] or 0) * cycle, arrivals[name])
        for name, events in work.node_peak.items()
    }
