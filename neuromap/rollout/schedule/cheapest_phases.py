"""Phases at least cost: of all schedules with the same period and responses, one whose delays cost least.

Inputs and outputs keep their phases, so every path between them keeps the sum of its delays
(``docs/theorems/cheapest-phases.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.network.edge import EdgeKey
from neuromap.rollout.paths.shortest_walks import shortest_walks
from neuromap.rollout.schedule.delay_cost import DelayCost, cost_of
from neuromap.rollout.schedule.phase_program import PhaseProgram
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["CheapestPhases", "cheapest_phases", "move_ranges"]

MAX_VARIABLES = 3000
"""Variables of the largest program that is searched."""
MAX_SEARCH_NODES = 2000
"""Where the search ends: a count, so that the answer does not depend on the machine."""

NOTHING: Mapping[EdgeKey, int] = ReadOnlyMapping({})


@dataclass(frozen=True, eq=False)
class CheapestPhases(Value):
    """A rollout with phases that cost no more than those that it had."""

    rollout: Rollout  # the one that was given where nothing cheaper was found
    # cost, cost_before: what the delays cost, and did before, in neurons
    cost: int
    cost_before: int
    # whether no phases with this period, and inputs and outputs at the same times, cost less; false where the search
    # was cut off or not begun
    is_proven: bool


def cheapest_phases(
    rollout: Rollout,
    costs: Sequence[DelayCost],
    least_delays: Mapping[EdgeKey, int] = NOTHING,
    *,
    most_nodes: int = MAX_SEARCH_NODES,
    most_variables: int = MAX_VARIABLES,
    seconds: float = math.inf,
) -> CheapestPhases:
    """Find the phases whose delays cost least, inputs and outputs staying where they are."""
    before = cost_of(rollout.delays, costs)
    ranges = {name: limits for name, limits in move_ranges(rollout, least_delays).items() if limits[0] < limits[1]}
    if not ranges:
        return CheapestPhases(rollout, before, before, is_proven=True)
    slacks = _slacks(rollout, least_delays)
    program = PhaseProgram(ranges)
    for edge, slack in slacks.items():
        program.keep(edge, slack)
    moves_only = len(program)
    for cost in costs:
        program.charge(cost, rollout.delays)
    if len(program) == moves_only:
        return CheapestPhases(rollout, before, before, is_proven=True)
    found = program.solve(most_nodes, seconds) if len(program) <= most_variables else None
    if found is None or not _are_possible(found[0], slacks):
        return CheapestPhases(rollout, before, before, is_proven=False)
    moves, is_proven = found
    moved = rollout.with_phases({name: rollout.phases[name] + move for name, move in moves.items()})
    after = cost_of(moved.delays, costs)
    if after >= before:
        return CheapestPhases(rollout, before, before, is_proven)
    return CheapestPhases(moved, after, before, is_proven)


def move_ranges(rollout: Rollout, least_delays: Mapping[EdgeKey, int] = NOTHING) -> dict[str, tuple[int, int]]:
    """Find by how much each phase could change if inputs and outputs stay where they are."""
    network = rollout.network
    nodes = tuple(network.nodes)
    if network.is_spiking:
        return dict.fromkeys(nodes, (0, 0))
    slacks = _slacks(rollout, least_delays)
    fixed = {*network.inputs, *network.outputs}
    earlier = _distances(fixed, ((u, v, slack) for (u, v), slack in slacks.items()))
    later = _distances(fixed, ((v, u, slack) for (u, v), slack in slacks.items()))
    farthest = len(nodes) * max(rollout.delays.values())
    return {name: (-earlier[name], later.get(name, farthest)) for name in nodes}


def _are_possible(moves: Mapping[str, int], slacks: Mapping[EdgeKey, int]) -> bool:
    """Whether no delay becomes too short: the solver computes with floats, so it is not believed."""
    return all(slack + moves.get(v, 0) - moves.get(u, 0) >= 0 for (u, v), slack in slacks.items())


def _slacks(rollout: Rollout, least_delays: Mapping[EdgeKey, int]) -> dict[EdgeKey, int]:
    """By how much the delay of every edge may become shorter."""
    least = rollout.latencies
    return {edge: delay - max(least[edge], least_delays.get(edge, 1)) for edge, delay in rollout.delays.items()}


def _distances(starts: Iterable[str], edges: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Shortest ways from any of some nodes to each that can be reached."""
    leaving: dict[str, list[tuple[str, int]]] = {}
    for u, v, length in edges:
        leaving.setdefault(u, []).append((v, length))
    return shortest_walks(dict.fromkeys(starts, 0), lambda u: leaving.get(u, ()))
