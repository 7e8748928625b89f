"""Phases with the shortest first responses of several outputs to several inputs jointly.

With R(i, o) the fewest streaming edges on a path from input i to output o, the first response of the pair is phi(o) -
phi(i) + P R(i, o). So deadlines of pairs are difference constraints on phases, as are delays of edges, and minimising a
weighted sum of responses is the dual of a minimum-cost flow, whose optimum is integral. Proofs:
``docs/theorems/several-outputs.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import networkx as nx

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.argument_checks import mapping_given, needs, whole_number
from neuromap.network.edge import EdgeKey
from neuromap.render.value import Card
from neuromap.rollout.indexed_pattern import walks_along
from neuromap.rollout.schedule.rollout import Rollout

Pair: TypeAlias = tuple[str, str]
MOST_WEIGHT = 10**6
"""Greatest weight of a response: keeps sums within 64 bits."""
_NOTHING: Mapping[EdgeKey, int] = ReadOnlyMapping({})


class Difference(NamedTuple):
    """A constraint: ``phi(later) - phi(earlier)`` is at least a number of update steps, or ticks."""

    earlier: str
    later: str
    least: int


@dataclass(frozen=True, eq=False)
class FastestPhases(Card):
    """Phases, and the flow that proves them.

    Attributes
    ----------
    rollout : Rollout
        The same network, pattern and period with these phases.
    weights : mapping of (input, output) to int
        Weight of every first response.
    total : int
        Weighted sum of the first responses, in update steps or ticks; least over all phases with this period that keep
        the deadlines.
    differences : tuple of Difference
        Constraints on phases: delays of edges, then deadlines.
    flow : tuple of int
        One multiplier per difference, 0 or more; together they prove ``total`` (:func:`is_least`).
    """

    rollout: Rollout
    weights: Mapping[Pair, int]
    total: int
    differences: tuple[Difference, ...]
    flow: tuple[int, ...]

    def _facts(self) -> dict[str, object]:
        return {"network": self.rollout.network.name, "pairs": len(self.weights), "total": self.total}


def fastest_phases(
    rollout: Rollout,
    *,
    weights: Mapping[Pair, int] | None = None,
    deadlines: Mapping[Pair, int] | None = None,
    least: Mapping[EdgeKey, int] = _NOTHING,
) -> FastestPhases:
    """Find phases with the least weighted sum of first responses, over all pairs of an input and an output.

    Parameters
    ----------
    rollout : Rollout
        Provides network, pattern, frame period and the least delay of every edge.
    weights : mapping of (input, output) to int, optional
        0 to 10**6; by default 1 for every pair. Pairs not named have weight 0.
    deadlines : mapping of (input, output) to int, optional
        Greatest first response of pairs, in the rollout's unit. By default no pair answers later than in ``rollout``;
        an empty mapping sets none.
    least : mapping of (source, target) to int
        Greater least delays of some edges.

    Returns
    -------
    FastestPhases
        Of several optima, the one whose nodes move least from their phases in ``rollout``, relative to the first
        input, which stays where it is; so optimal phases are kept.

    Raises
    ------
    InputError
        If a pair is not an input and an output that it reaches, a weight is out of range, the deadlines cannot be
        kept together, or the frame period is no whole number.
    """
    needs("fastest_phases", rollout, Rollout)
    period = rollout.frame_period
    if not isinstance(period, int):
        raise InputError(
            f"execution {rollout.execution}: its mean frame period is {period}; phases are found for whole ones, give "
            f"pipelined:{rollout.largest_gap}"
        )
    responses = responses_of_pairs(rollout)
    # R(i, o) times P: the part of a response that phases do not change
    fixed = {(i, o): steps - (rollout.phases[o] - rollout.phases[i]) for (i, o), steps in responses.items()}
    counted = _checked("weights", dict.fromkeys(responses, 1) if weights is None else weights, responses, MOST_WEIGHT)
    bounds = _checked("deadlines", responses if deadlines is None else deadlines, responses, None)
    edges = delay_differences(rollout, least)
    differences = (*edges, *(Difference(o, i, int(fixed[i, o]) - bound) for (i, o), bound in bounds.items()))
    _require_possible(differences, bounds, rollout)
    nodes, first = rollout.network.nodes, rollout.network.inputs[0]
    flow = dearest_flow(differences, _balance(counted), nodes)
    # as moves, which depend on delays only: patterns that are shifts of each other are moved alike
    own = rollout.phases
    moves = tight_phases(tuple(Difference(u, v, n - int(own[v] - own[u])) for u, v, n in differences), flow, nodes)
    phases = {name: int(own[name]) + move - moves[first] for name, move in moves.items()}
    found = rollout.with_phases(phases)
    total = sum(weight * int(fixed[i, o] + phases[o] - phases[i]) for (i, o), weight in counted.items())
    result = FastestPhases(found, ReadOnlyMapping(counted), total, differences, flow)
    if not is_least(result):
        raise AssertionError(f"network {rollout.network.name}: the flow does not prove {total}")
    return result


def soonest_responses(rollout: Rollout) -> dict[Pair, int]:
    """Find the least first response of every pair of an input and an output, each in the phases best for it alone.

    Parameters
    ----------
    rollout : Rollout
        Provides network, pattern, frame period and the least delay of every edge.

    Returns
    -------
    mapping of (input, output) to int
        In update steps or ticks, for outputs that the input reaches; no phases with this period undercut any of them.

    Examples
    --------
    >>> from neuromap.network import Network
    >>> net = Network.from_edges([("I1", "A"), ("A", "B"), ("B", "O"), ("I2", "C"), ("C", "O")])
    >>> r = Rollout(net, "sequential", "windowed")
    >>> r.answers["I2"], soonest_responses(r)["I2", "O"]
    (3, 2)
    """
    # the ends of a walk may move closer by the slack of its delays
    spare = [(u, v, delay - rollout.latencies[u, v]) for (u, v), delay in rollout.delays.items()]
    gains = {i: walks_along([i], spare) for i in rollout.network.inputs}
    return {(i, o): steps - gains[i][o] for (i, o), steps in responses_of_pairs(rollout).items()}


def responses_of_pairs(rollout: Rollout) -> dict[Pair, int]:
    """First response of every pair of an input and an output that it reaches."""
    return {(i, o): steps for i, of_input in rollout.responses_of_inputs.items() for o, steps in of_input.items()}


def delay_differences(rollout: Rollout, least: Mapping[EdgeKey, int] = _NOTHING) -> list[Difference]:
    """Write the least delays of edges as differences of phases."""
    return [
        Difference(u, v, max(rollout.latencies[u, v], least.get((u, v), 0)) - int(r * rollout.frame_period))
        for (u, v), r in rollout.pattern.items()
    ]


def is_least(found: FastestPhases) -> bool:
    """Check from the numbers alone that no phases have a smaller total: weak duality, in integers.

    Parameters
    ----------
    found : FastestPhases
        Any claim.

    Returns
    -------
    bool
        Whether its phases keep all differences, its flow is 0 or more and balances the weights at every node, and both
        have the same value.
    """
    return is_optimal(found.differences, found.flow, _balance(found.weights), found.rollout.phases)


def _balance(weights: Mapping[Pair, int]) -> dict[str, int]:
    """Coefficient of each phase in a weighted sum of responses."""
    balance: dict[str, int] = {}
    for (i, o), weight in weights.items():
        balance[o] = balance.get(o, 0) + weight
        balance[i] = balance.get(i, 0) - weight
    return balance


def _checked(name: str, given: Mapping[Pair, int], responses: Mapping[Pair, int], most: int | None) -> dict[Pair, int]:
    mapping_given(f"fastest_phases: {name}", given, "{('I', 'O'): 1}", InputError)
    for pair, number in given.items():
        if pair not in responses:
            known = ", ".join(f"{i} -> {o}" for i, o in responses)
            raise InputError(f"{name}: {pair!r:.60} is not an input and an output that it reaches; pairs are {known}")
        whole_number(f"{name}: {pair[0]} -> {pair[1]}", number)
        if most is not None and not 0 <= number <= most:
            raise InputError(f"{name}: {pair[0]} -> {pair[1]}: found {number}; allowed are 0 to {most}")
    return dict(given)


def _require_possible(differences: Iterable[Difference], bounds: Mapping[Pair, int], rollout: Rollout) -> None:
    """Refuse deadlines that contradict a path through the network or each other."""
    value = dict.fromkeys(rollout.network.nodes, 0)
    parent: dict[str, Difference] = {}
    raised = ""
    for _ in range(len(value) + 1):
        raised = ""
        for one in differences:
            if value[one.earlier] + one.least > value[one.later]:
                value[one.later] = value[one.earlier] + one.least
                parent[one.later] = one
                raised = one.later
        if not raised:
            return
    for _ in value:  # after that many steps back it is on the cycle
        raised = parent[raised].earlier
    cycle, here = [parent[raised]], parent[raised].earlier
    while here != raised:
        cycle.append(parent[here])
        here = parent[here].earlier
    named = [(one.later, one.earlier) for one in cycle if (one.later, one.earlier) in bounds]
    excess = sum(one.least for one in cycle)
    text = " and ".join(f"{i} -> {o} by {bounds[i, o]}" for i, o in named)
    raise InputError(
        f"deadlines: {text}: cannot be kept{' together' if len(named) > 1 else ''}, {excess} too few in all; give "
        "later ones, or a longer frame period"
    )


def dearest_flow(
    differences: tuple[Difference, ...], balance: Mapping[str, int], nodes: Iterable[str]
) -> tuple[int, ...]:
    """Find the flow that maximises the sum of amount times difference, for given inflow minus outflow."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for name in nodes:
        graph.add_node(name, demand=balance.get(name, 0))
    for key, one in enumerate(differences):
        graph.add_edge(one.earlier, one.later, key, weight=-one.least)
    _, flow = nx.network_simplex(graph)
    return tuple(flow[one.earlier][one.later][key] for key, one in enumerate(differences))


def tight_phases(differences: tuple[Difference, ...], flow: tuple[int, ...], nodes: Iterable[str]) -> dict[str, int]:
    """Find the least phases >= 0 that keep all differences, with no slack in those that an optimal flow uses."""
    tight = [Difference(v, u, -least) for (u, v, least), amount in zip(differences, flow, strict=True) if amount]
    value = dict.fromkeys(nodes, 0)
    changed = True
    while changed:  # an optimal flow leaves no cycle that could raise phases for ever
        changed = False
        for u, v, least in (*differences, *tight):
            if value[u] + least > value[v]:
                value[v] = value[u] + least
                changed = True
    return value


def is_optimal(
    differences: Iterable[Difference], flow: Iterable[int], balance: Mapping[str, int], phases: Mapping[str, Time]
) -> bool:
    """Check, in integers, that no phases that keep all differences have a smaller sum of balance times phase."""
    left, proven = dict(balance), 0
    for (u, v, least), amount in zip(differences, flow, strict=True):
        if amount < 0 or phases[v] - phases[u] < least:
            return False
        left[v] = left.get(v, 0) - amount
        left[u] = left.get(u, 0) + amount
        proven += amount * least
    return not any(left.values()) and sum(need * phases[v] for v, need in balance.items()) == proven
