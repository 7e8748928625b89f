"""Phases at least cost: of all schedules with the same period and responses, one whose delays cost least.

Inputs and outputs keep their phases, so every path between them keeps the sum of its delays
(``docs/theorems/cheapest-phases.md``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.network.edge import EdgeKey
from neuromap.rollout.cycles.sequential_values import is_least, quiet_solver
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.shortest_walks import shortest_walks

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


# Phases as a mixed-integer program: moves of nodes, relays, and delays of one node that are equal.
#
# A move shifts a node's phase. Delays are linear in the moves, the relays of a node are the least whole number that
# its longest delay allows, and a binary variable says that two of its delays are equal.
_MAX_CERTIFIED_BOXES, _MAX_CERTIFIED_SIZE = 100, 100_000
"""Of the proof that nothing costs less: boxes, and boxes times variables and rows; a second or two."""
Terms = dict[int, int]
"""Factors of variables, by their numbers."""


@dataclass(frozen=True)
class Delay:
    """A delay as a linear function of moves."""

    constant: int  # its ticks where nothing moves
    terms: Terms  # ticks per unit of each move that it depends on
    # least, greatest: between which ticks it may be
    least: int
    greatest: int


class PhaseProgram:
    """Builds the program and has HiGHS solve it, through SciPy; a mutable engine."""

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self._low: list[int] = []
        self._high: list[int] = []
        self._price: list[int] = []
        self._rows: list[tuple[Terms, float, float]] = []
        self._number = {name: self._variable(*limits) for name, limits in ranges.items()}

    def __len__(self) -> int:
        return len(self._low)

    def keep(self, edge: EdgeKey, slack: int) -> None:
        """Let the delay of an edge become at most so many units shorter."""
        terms = self._moves(edge)
        if terms:
            self._rows.append((terms, -slack, math.inf))

    def charge(self, cost: DelayCost, delays: Mapping[EdgeKey, int]) -> None:
        """Charge what the delays of a node cost, given what they are where nothing moves."""
        each = [self._delay(cost, k, delays[edge]) for k, edge in enumerate(cost.edges)]
        if not any(delay.terms for delay in each):
            return
        if cost.free_ticks is not None:
            self._charge_relays(cost, each)
        if cost.is_per_delay:
            self._charge_distinct(cost, each)

    def solve(self, most_nodes: int, seconds: float = math.inf) -> tuple[dict[str, int], bool] | None:
        """Find the moves that cost least."""
        # gives the best moves that were found, and whether they are proven best, in whole numbers; ``None`` where none
        # were found
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
        from scipy.sparse import csr_array

        size, begin = len(self), time.monotonic()
        # factors of 1 in all, so that the solver's tolerances are far below 1 in units of delay
        scale = [sum(map(abs, terms.values())) or 1 for terms, _, _ in self._rows]
        factors = [[f / k for f in terms.values()] for (terms, _, _), k in zip(self._rows, scale, strict=True)]
        columns = [list(terms) for terms, _, _ in self._rows]
        starts = np.cumsum([0, *map(len, columns)])
        matrix = csr_array((np.concatenate(factors), np.concatenate(columns), starts), shape=(len(columns), size))
        lows, highs = np.array([row[1:] for row in self._rows]).T / scale
        options: dict[str, Any] = {"node_limit": most_nodes, "mip_rel_gap": 0.0}
        if math.isfinite(seconds):
            options["time_limit"] = max(seconds, 0.01)
        with quiet_solver():
            found = milp(
                np.array(self._price, float),
                integrality=np.ones(size, np.int64),
                bounds=Bounds(self._low, self._high),
                constraints=LinearConstraint(matrix, lows, highs),
                options=options,  # type: ignore[arg-type] # its keys are those of HiGHS
            )
        if found.x is None:
            return None
        values = [round(x) for x in found.x]
        moves = {name: values[number] for name, number in self._number.items()}
        return moves, found.status == 0 and self._is_certified(values, seconds - (time.monotonic() - begin))

    def _is_certified(self, values: Sequence[int], seconds: float) -> bool:
        """Whether whole numbers prove that values keep all rows and none cost less; the solver's word is no proof."""
        for terms, low, high in self._rows:
            if not low <= sum(factor * values[j] for j, factor in terms.items()) <= high:
                return False
        box = list(zip(self._low, self._high, strict=True))
        if not all(low <= x <= high for x, (low, high) in zip(values, box, strict=True)):
            return False
        cost = sum(c * x for c, x in zip(self._price, values, strict=True))
        boxes = min(_MAX_CERTIFIED_BOXES, max(1, _MAX_CERTIFIED_SIZE // (len(box) + len(self._rows))))
        return is_least(self._price, self._rows, box, cost, boxes, seconds)[0]

    def _variable(self, low: int, high: int, price: int = 0) -> int:
        self._low.append(low)
        self._high.append(high)
        self._price.append(price)
        return len(self._low) - 1

    def _moves(self, edge: EdgeKey) -> Terms:
        """How the delay of an edge depends on the moves of its ends; it does not on that of both together."""
        u, v = edge
        if u == v:
            return {}
        return {self._number[name]: sign for name, sign in ((v, 1), (u, -1)) if name in self._number}

    def _delay(self, cost: DelayCost, k: int, delay: int) -> Delay:
        terms = {number: sign * cost.ticks_per_step for number, sign in self._moves(cost.edges[k]).items()}
        constant = delay * cost.ticks_per_step - cost.lead(k)
        ends = [sorted((self._low[i] * factor, self._high[i] * factor)) for i, factor in terms.items()]
        return Delay(constant, terms, constant + sum(e[0] for e in ends), constant + sum(e[1] for e in ends))

    def _charge_relays(self, cost: DelayCost, delays: Sequence[Delay]) -> None:
        most, least = (cost.relays(max(ticks)) for ticks in zip(*((d.greatest, d.least) for d in delays), strict=True))
        if most == least:
            return
        assert cost.free_ticks is not None
        relays = self._variable(least, most, cost.neurons)
        for delay in delays:
            terms = {relays: cost.free_ticks, **{i: -factor for i, factor in delay.terms.items()}}
            self._rows.append((terms, delay.constant - cost.free_ticks, math.inf))

    def _charge_distinct(self, cost: DelayCost, delays: Sequence[Delay]) -> None:
        """Take off what a delay costs where it is equal to one before it; those that cannot change come first."""
        fixed = {d.constant: d for d in delays if not d.terms}
        before = list(fixed.values())
        for delay in (d for d in delays if d.terms):
            equal = [self._equal(delay, other, cost.neurons) for other in before if _may_be_equal(delay, other)]
            if len(equal) > 1:
                self._rows.append((dict.fromkeys(equal, 1), 0, 1))
            before.append(delay)

    def _equal(self, one: Delay, other: Delay, gain: int) -> int:
        """Make a variable that may be 1 where two delays are equal, and is worth something then."""
        equal = self._variable(0, 1, -gain)
        apart = dict(one.terms)
        for number, factor in other.terms.items():
            apart[number] = apart.get(number, 0) - factor
        constant = one.constant - other.constant
        widest = (one.greatest - other.least, one.least - other.greatest)
        self._rows.append(({**apart, equal: widest[0]}, -math.inf, widest[0] - constant))
        self._rows.append(({**apart, equal: widest[1]}, widest[1] - constant, math.inf))
        return equal


def _may_be_equal(one: Delay, other: Delay) -> bool:
    return one.least <= other.greatest and other.least <= one.greatest


# What the delays of a schedule cost where it runs, with nothing said of what that is.


@dataclass(frozen=True)
class DelayCost:
    """What the delays of edges that leave one node cost together."""

    # Its neurons' spikes wait in chains of relays, each of which serves the edges of all delays beyond it. Where
    # ``is_per_delay``, a neuron of its own sends the spikes of every distinct delay.

    edges: tuple[EdgeKey, ...]  # they leave one node
    # neurons of that node that all the edges read; more relays, or more distinct delays, take so many each
    neurons: int
    # longest delay in ticks that takes no relay, and what every relay adds; ``None`` where no delay takes any
    free_ticks: int | None
    is_per_delay: bool = True  # whether distinct delays cost something
    ticks_per_step: int = 1  # ticks of a unit of delay
    leads: tuple[int, ...] = ()  # ticks that are taken off the delay of each edge; empty for none

    def lead(self, k: int) -> int:
        """Ticks that are taken off the delay of the k-th edge."""
        return self.leads[k] if self.leads else 0

    def of(self, delays: Mapping[EdgeKey, int]) -> int:
        """Count the neurons that delays, in the schedule's unit, cost."""
        ticks = {delays[e] * self.ticks_per_step - self.lead(k) for k, e in enumerate(self.edges)}
        return self.neurons * (self.relays(max(ticks)) + (len(ticks) if self.is_per_delay else 0))

    def relays(self, ticks: int) -> int:
        """Count the relays of a neuron whose longest delay has so many ticks."""
        return 0 if self.free_ticks is None else max(0, -(-ticks // self.free_ticks) - 1)


def cost_of(delays: Mapping[EdgeKey, int], costs: Iterable[DelayCost]) -> int:
    """Add up what delays cost, in neurons."""
    return sum(cost.of(delays) for cost in costs)
