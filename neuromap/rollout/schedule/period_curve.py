"""Frame period against buffers: the fewest neurons that hold values in transit, for every frame period of a pattern.

A value that is read after delays d(e) must be held in every update step until the last read. If it moves on by one
neuron per step, node u takes n(u) max d(e) neurons, its own included. With one more variable per node, the step until
which it is read, this is a difference of two variables; so the minimum is the dual of a flow, as for weighted responses
(``fastest_phases.py``). Proofs: ``docs/theorems/period-curve.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.argument_checks import needs, whole_number
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.cheapest_phases import DelayCost, cost_of
from neuromap.rollout.schedule.fastest_phases import (
    Difference,
    dearest_flow,
    delay_differences,
    is_optimal,
    tight_phases,
)
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class PeriodPoint(Card):
    """Neurons that one frame period takes.

    Attributes
    ----------
    period : int
        P, in update steps between frames.
    held : int
        Fewest values of neurons held in every update step, including the step in which they are computed; proven by a
        flow.
    bound : int
        Lower bound on the neurons that the delays take if a spike can wait ``reach`` steps by itself.
    neurons : int
        Neurons that they take with these phases; no phases take fewer than ``bound``.
    rollout : Rollout
        Rollout with the phases that attain ``held``.
    """

    period: int
    held: int
    bound: int
    neurons: int
    rollout: Rollout

    def _facts(self) -> dict[str, object]:
        return {"period": self.period, "held": self.held, "neurons": f"{self.neurons}, of at least {self.bound}"}


def period_curve(
    network: Network,
    pattern: RolloutPattern | str,
    periods: Iterable[int] | None = None,
    *,
    reach: int = 1,
) -> tuple[PeriodPoint, ...]:
    """Find the fewest neurons that hold values, for every frame period of a pattern.

    Parameters
    ----------
    network : Network
        Nodes without a shape count as one neuron.
    pattern : RolloutPattern or str
        A valid pattern of it.
    periods : iterable of int, optional
        In update steps; by default all from the least that the cycles allow up to that of windowed execution.
    reach : int
        L, the update steps that a spike can wait by itself: 15 on TrueNorth at one tick per step.

    Returns
    -------
    tuple of PeriodPoint
        In order of period. ``held`` is a convex function of it.

    Raises
    ------
    InputError
        If a period is shorter than the cycles of the network allow, or ``reach`` is below 1.
    PatternError
        If the pattern is invalid.
    """
    needs("period_curve", network, Network)
    if whole_number("period_curve: reach", reach) < 1:
        raise InputError(f"period_curve: reach = {reach}: must be 1 update step or more")
    if periods is None:
        ends = (Rollout(network, pattern, execution).frame_period for execution in ("pipelined", "windowed"))
        first, last = (int(end) for end in ends)
        periods = range(first, last + 1)
    rollouts = [Rollout(network, pattern, f"pipelined:{period}") for period in sorted(set(periods))]
    return tuple(_point(rollout, reach) for rollout in rollouts)


def _point(rollout: Rollout, reach: int) -> PeriodPoint:
    network, period = rollout.network, rollout.largest_gap
    read = _read_edges(rollout)
    until = {u: f"{u} until" for u in read}  # no node name has a blank
    differences = (
        *delay_differences(rollout),
        *(Difference(v, until[u], int(rollout.pattern[u, v] * period)) for u, edges in read.items() for u, v in edges),
    )
    balance: dict[str, int] = {}
    for u, step in until.items():
        balance[step] = _size(network, u)
        balance[u] = balance.get(u, 0) - _size(network, u)
    names = (*network.nodes, *until.values())
    flow = dearest_flow(differences, balance, names)
    phases = tight_phases(differences, flow, names)
    if not is_optimal(differences, flow, balance, phases):
        raise AssertionError(f"network {network.name}: the flow does not prove the buffers of period {period}")
    held = sum(need * phases[name] for name, need in balance.items())
    found = rollout.with_phases({name: phases[name] for name in network.nodes})
    costs = [DelayCost(edges, _size(network, u), reach) for u, edges in read.items()]
    # each neuron holds a value for at most ``reach`` steps, and every node has its own
    bound = max(-(-held // reach), sum(_size(network, u) for u in read))
    return PeriodPoint(period, held, bound, cost_of(found.delays, costs), found)


def _read_edges(rollout: Rollout) -> Mapping[str, tuple[EdgeKey, ...]]:
    """Outgoing edges on a path to an output, by node on the chip; inputs are held by the host."""
    keys, graph = tuple(rollout.network.edges), rollout.pattern.indexed.graph
    found: dict[str, tuple[EdgeKey, ...]] = {}
    for e in graph.seen:
        if keys[e][0] not in rollout.network.inputs:
            found[keys[e][0]] = (*found.get(keys[e][0], ()), keys[e])
    return ReadOnlyMapping(found)


def _size(network: Network, name: str) -> int:
    node = network.nodes[name]
    return 1 if node.shape is None else node.size
