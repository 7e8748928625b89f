"""Phases at least cost: of all schedules with the same period and responses, one with the cheapest delays.

Inputs and outputs keep their phases, so every path between them keeps its total delay
(``docs/theorems/cheapest-phases.md``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.network.edge import EdgeKey
from neuromap.rollout.cycles.sequential_values import Relaxed, Row, solve_whole
from neuromap.rollout.indexed_pattern import walks_along
from neuromap.rollout.schedule.rollout import Rollout

MAX_VARIABLES = 3000
"""Most variables of a program that is solved."""
NOTHING: Mapping[EdgeKey, int] = ReadOnlyMapping({})


@dataclass(frozen=True, eq=False)
class CheapestPhases(Value):
    """A rollout with phases that cost no more than before."""

    rollout: Rollout  # the given one if nothing cheaper was found
    # cost, cost_before: cost of the delays in neurons, now and before
    cost: int
    cost_before: int
    # whether no phases with this period, and inputs and outputs at the same times, cost less; false if the search was
    # cut off or not begun
    is_proven: bool


def cheapest_phases(
    rollout: Rollout,
    costs: Sequence[DelayCost],
    least_delays: Mapping[EdgeKey, int] = NOTHING,
    *,
    most_variables: int = MAX_VARIABLES,
    seconds: float = math.inf,
) -> CheapestPhases:
    """Find the phases whose delays cost least, with inputs and outputs fixed."""
    before = cost_of(rollout.delays, costs)
    ranges = {name: limits for name, limits in move_ranges(rollout, least_delays).items() if limits[0] < limits[1]}
    if not ranges:
        return CheapestPhases(rollout, before, before, is_proven=True)
    slacks = _slacks(rollout, least_delays)
    schedules = Schedules(rollout.delays, slacks, costs)
    program = PhaseProgram(schedules, ranges)
    if program.is_constant:
        return CheapestPhases(rollout, before, before, is_proven=True)
    begin = time.monotonic()
    moves = program.solve(seconds) if len(program) <= most_variables else None
    # the solver computes with floats, so it is checked that no delay becomes too short
    if moves is None or any(slack + moves.get(v, 0) < moves.get(u, 0) for (u, v), slack in slacks.items()):
        return CheapestPhases(rollout, before, before, is_proven=False)
    moved = rollout.with_phases({name: rollout.phases[name] + move for name, move in moves.items()})
    after = min(before, cost_of(moved.delays, costs))
    is_proven = costs_at_least(schedules, ranges, after, seconds - (time.monotonic() - begin))
    return CheapestPhases(rollout if after == before else moved, after, before, is_proven)


def move_ranges(rollout: Rollout, least_delays: Mapping[EdgeKey, int] = NOTHING) -> dict[str, tuple[int, int]]:
    """Find the range of moves of each phase, with inputs and outputs fixed."""
    network = rollout.network
    nodes = tuple(network.nodes)
    if network.is_spiking:
        return dict.fromkeys(nodes, (0, 0))
    slacks = _slacks(rollout, least_delays)
    fixed = {*network.inputs, *network.outputs}
    earlier = walks_along(fixed, ((u, v, slack) for (u, v), slack in slacks.items()))
    later = walks_along(fixed, ((v, u, slack) for (u, v), slack in slacks.items()))
    farthest = len(nodes) * max(rollout.delays.values())
    return {name: (-earlier[name], later.get(name, farthest)) for name in nodes}


def _slacks(rollout: Rollout, least_delays: Mapping[EdgeKey, int]) -> dict[EdgeKey, int]:
    """Slack of every edge: how much shorter its delay may become."""
    least = rollout.latencies
    return {edge: delay - max(least[edge], least_delays.get(edge, 1)) for edge, delay in rollout.delays.items()}


# Phases as a mixed-integer program: moves of nodes, and the legs from each delay of a node to the next.
#
# A move shifts a node's phase, and delays are linear in the moves. If only relays cost something, their number at a
# node is the least integer that its longest delay allows. If axons do, each delay of a node equals another one, or is
# reached in a number of legs from an earlier one or from the node: binary variables choose which.
Terms = dict[int, int]
"""Coefficients of variables, by index."""


@dataclass(frozen=True)
class Schedules:
    """Delays of edges, their slacks and their costs."""

    delays: Mapping[EdgeKey, int]
    slacks: Mapping[EdgeKey, int]
    costs: Sequence[DelayCost]


@dataclass(frozen=True)
class Delay:
    """A delay as a linear function of moves."""

    constant: int  # its ticks if nothing moves
    terms: Terms  # ticks per unit of each move that it depends on
    # least, greatest: its range in ticks
    least: int
    greatest: int


class PhaseProgram:
    """The program of moves in a box, solved by HiGHS through SciPy; mutable."""

    def __init__(self, schedules: Schedules, box: Box) -> None:
        self._first = {name: low for name, (low, _) in box.items()}
        self.constant = 0  # cost of every solution besides the prices of its variables
        self._box: list[tuple[int, int]] = []
        self._price: list[int] = []
        self._rows: list[Row] = []
        self._number = {name: self._variable(0, high - low) for name, (low, high) in box.items() if low < high}
        for (u, v), slack in schedules.slacks.items():
            terms = self._moves((u, v))
            if terms:
                self._rows.append((terms, -self._moved((u, v), slack), math.inf))
        for cost in schedules.costs:
            self._charge(cost, {edge: self._moved(edge, schedules.delays[edge]) for edge in cost.edges})

    def __len__(self) -> int:
        return len(self._box)

    @property
    def is_constant(self) -> bool:
        """Whether all solutions cost the same."""
        return not any(self._price)

    def bound(self, cost: int) -> tuple[int, str | None]:
        """Lower bound on the cost in integers, and the node whose range to cut for a sharper bound."""
        # cost: the bound to reach
        if self.is_constant:
            return self.constant, None
        relaxed = Relaxed(self._price, self._rows, cost - self.constant)
        solution, bound = relaxed.bound(self._box)
        # the node whose move decides most of what the relaxation leaves fractional
        fractions = [abs(x - round(x)) * max(1, abs(c)) for x, c in zip(solution, self._price, strict=False)]
        open_to = dict.fromkeys(self._number.values(), 0.0)
        for terms, _, _ in self._rows:
            weight = sum(fractions[j] for j in terms if j not in open_to) if fractions else 0.0
            open_to |= {j: open_to[j] + weight for j in terms if j in open_to}
        name = max(self._number, key=lambda name: (open_to[self._number[name]], self._box[self._number[name]][1]))
        return self.constant + bound, name

    def _charge(self, cost: DelayCost, delays: Mapping[EdgeKey, int]) -> None:
        """Add the cost of a node's delays, given their values if nothing moves."""
        each = [self._delay(cost, k, delays[edge]) for k, edge in enumerate(cost.edges)]
        if not any(delay.terms for delay in each):
            self.constant += cost.of(delays)
        elif cost.is_per_delay:
            self._charge_axons(cost, each)
        else:
            self._charge_relays(cost, each)

    def solve(self, seconds: float) -> dict[str, int] | None:
        """Find the cheapest moves, as far as the solver can tell; ``None`` if it found none."""
        # rows scaled so that |coefficients| sum to 1: the solver's tolerances are then far below 1 in units of delay
        scale = [sum(map(abs, terms.values())) or 1 for terms, _, _ in self._rows]
        rows = [
            ({j: factor / k for j, factor in terms.items()}, low / k, high / k)
            for (terms, low, high), k in zip(self._rows, scale, strict=True)
        ]
        limit = {"time_limit": max(seconds, 0.01)} if math.isfinite(seconds) else {}
        found = solve_whole(self._price, rows, self._box, **limit)
        if found.x is None:
            return None
        return self._first | {name: self._first[name] + round(found.x[k]) for name, k in self._number.items()}

    def _variable(self, low: int, high: int, price: int = 0) -> int:
        self._box.append((low, high))
        self._price.append(price)
        return len(self._box) - 1

    def _moves(self, edge: EdgeKey) -> Terms:
        """Coefficients of the moves of its ends in the delay of an edge; none for a self-edge."""
        u, v = edge
        if u == v:
            return {}
        return {self._number[name]: sign for name, sign in ((v, 1), (u, -1)) if name in self._number}

    def _moved(self, edge: EdgeKey, delay: int) -> int:
        """Value of a delay, or a slack, with all nodes at the earliest of their allowed phases."""
        return delay + self._first.get(edge[1], 0) - self._first.get(edge[0], 0)

    def _delay(self, cost: DelayCost, k: int, delay: int) -> Delay:
        terms = {number: sign * cost.ticks_per_step for number, sign in self._moves(cost.edges[k]).items()}
        return self._bounded(delay * cost.ticks_per_step - cost.lead(k), terms)

    def _bounded(self, constant: int, terms: Terms) -> Delay:
        ends = [sorted(end * factor for end in self._box[i]) for i, factor in terms.items()]
        return Delay(constant, terms, constant + sum(e[0] for e in ends), constant + sum(e[1] for e in ends))

    def _gap(self, one: Delay, other: Delay) -> Delay:
        """Difference of two delays; moves common to both cancel."""
        terms = {i: one.terms.get(i, 0) - other.terms.get(i, 0) for i in {**one.terms, **other.terms}}
        return self._bounded(one.constant - other.constant, {i: factor for i, factor in terms.items() if factor})

    def _charge_relays(self, cost: DelayCost, delays: Sequence[Delay]) -> None:
        most, least = (cost.relays(max(ticks)) for ticks in zip(*((d.greatest, d.least) for d in delays), strict=True))
        self.constant += cost.neurons * least
        if most == least:
            return
        assert cost.free_ticks is not None
        relays = self._variable(0, most - least, cost.neurons)
        for delay in delays:
            terms = {relays: cost.free_ticks, **{i: -factor for i, factor in delay.terms.items()}}
            self._rows.append((terms, delay.constant - (least + 1) * cost.free_ticks, math.inf))

    def _charge_axons(self, cost: DelayCost, delays: Sequence[Delay]) -> None:
        """Add the cost of every delay: its legs from another delay of the node, or from the node itself."""
        # fixed ones come first; a delay costs nothing if it equals an earlier one
        each = {(bool(d.terms), d.constant, *sorted(d.terms.items())): d for d in delays}
        points = [Delay(0, {}, 0, 0), *(each[key] for key in sorted(each))]
        axons, fixed = Terms(), 0  # of all delays together
        for k, delay in enumerate(points[1:], start=1):
            gaps = {p: self._gap(delay, other) for p, other in enumerate(points) if p != k}
            most = min(cost.legs(gap.greatest) for p, gap in gaps.items() if p == 0 or gap.least >= 1)
            alike = [gaps[p] for p in range(1, k) if gaps[p].least <= 0 <= gaps[p].greatest]
            equal = [self._equal(gap, 0 if most > 1 else -cost.neurons) for gap in alike]
            if most > 1:
                axons[self._charge_legs(cost, delay, most, equal, [(points[p], gap) for p, gap in gaps.items()])] = 1
                continue
            self.constant += cost.neurons
            fixed += 1
            axons |= dict.fromkeys(equal, -1)
            if len(equal) > 1:
                self._rows.append((dict.fromkeys(equal, 1), 0, 1))
        leg = cost.free_ticks
        for delay in points:
            if leg is not None and delay.greatest > leg:  # implied by the other rows, but sharpens the bound
                terms = {**{i: f * leg for i, f in axons.items()}, **{i: -f for i, f in delay.terms.items()}}
                self._rows.append((terms, delay.constant - fixed * leg, math.inf))

    def _charge_legs(
        self, cost: DelayCost, delay: Delay, most: int, equal: list[int], gaps: Sequence[tuple[Delay, Delay]]
    ) -> int:
        """Add the cost of a delay's legs from an earlier one, unless it equals one; return the variable of the legs."""
        assert cost.free_ticks is not None
        leg = cost.free_ticks
        sure = [other for other, gap in gaps if gap.least >= 1]
        before = [
            (other, gap)
            for other, gap in gaps
            if gap.greatest >= 1 and not any(s.terms == other.terms and s.constant > other.constant for s in sure)
        ]
        legs = self._variable(0 if equal else 1, most, cost.neurons)
        if len(before) == 1 and not equal:
            gap = before[0][1]
            self._rows.append(({legs: leg, **{i: -f for i, f in gap.terms.items()}}, gap.constant, math.inf))
            return legs
        chosen = [self._variable(0, 1) for _ in before]
        self._rows.append((dict.fromkeys([*chosen, *equal], 1), 1, 1))
        self._rows.append((dict.fromkeys([legs, *equal], 1), 1, math.inf))
        farthest = dict.fromkeys(equal, delay.greatest)
        for choice, (other, gap) in zip(chosen, before, strict=True):
            farthest[choice] = other.greatest
            if gap.least < 1:
                self._rows.append(({**gap.terms, choice: gap.least - 1}, gap.least - gap.constant, math.inf))
            if gap.greatest > leg and other.terms:
                spare = gap.greatest - leg
                terms = {**gap.terms, legs: -leg, choice: spare, **dict.fromkeys(equal, -leg)}
                self._rows.append((terms, -math.inf, spare - gap.constant))
        terms = {legs: leg, **farthest, **{i: -factor for i, factor in delay.terms.items()}}
        self._rows.append((terms, delay.constant, math.inf))
        return legs

    def _equal(self, gap: Delay, price: int) -> int:
        """Make a binary variable that may be 1 only if two delays are equal."""
        equal = self._variable(0, 1, price)
        for widest, low, high in ((gap.greatest, -math.inf, gap.greatest), (gap.least, gap.least, math.inf)):
            self._rows.append(({**gap.terms, equal: widest}, low - gap.constant, high - gap.constant))
        return equal


# Whether no moves in a box cost less: its program proves it in integers, or the box is cut in two.
#
# The smaller the box, the sharper its program, as ranges of delays are its coefficients. In the end nothing moves.
Box = Mapping[str, tuple[int, int]]
"""Range of moves of every node."""
_MAX_CERTIFIED_BOXES, _MAX_CERTIFIED_SIZE = 300, 100_000
"""Limits of the proof that nothing costs less: boxes, and variables summed over boxes; a second or two."""


def costs_at_least(schedules: Schedules, box: Box, cost: int, seconds: float) -> bool:
    """Try to prove that no moves in a box cost less than ``cost``; a solver's result is no proof."""
    boxes, size, until = [box], 0, time.monotonic() + seconds
    for _ in range(_MAX_CERTIFIED_BOXES):
        if not boxes:
            break
        here = _narrowed(boxes.pop(), schedules.slacks)
        if here is None:
            continue
        program = PhaseProgram(schedules, here)
        size += len(program)
        if time.monotonic() > until or size > _MAX_CERTIFIED_SIZE:
            return False
        bound, name = program.bound(cost)
        if bound >= cost:
            continue
        if name is None:
            return False
        low, high = here[name]
        middle = (low + high) // 2
        boxes += [{**here, name: part} for part in ((low, middle), (middle + 1, high))]
    return not boxes


def _narrowed(box: Box, slacks: Mapping[EdgeKey, int]) -> Box | None:
    """Drop moves that make a delay too short whatever the other moves are; ``None`` if none are left."""
    found, before = dict(box), None
    while found != before:
        before = dict(found)
        for (u, v), slack in slacks.items():
            (first, last), (low, high) = (found.get(name, (0, 0)) for name in (u, v))
            if u in found:
                found[u] = (first, min(last, high + slack))
            if v in found:
                found[v] = (max(low, first - slack), high)
            if any(found[name][0] > found[name][1] for name in (u, v) if name in found):
                return None
    return found


# Cost of the delays of a schedule, independent of the kind of chip.


@dataclass(frozen=True)
class DelayCost:
    """Joint cost of the delays of edges that leave one node; in ticks, each is at least 1."""

    # Spikes of its neurons wait in chains of relays, each of which serves the edges of all longer delays. If
    # ``is_per_delay``, a neuron feeds one axon at one delay, which readers and relays share.

    edges: tuple[EdgeKey, ...]  # they leave one node
    # neurons of that node that all the edges read; each further relay, or axon, takes that many
    neurons: int
    # longest delay in ticks without a relay, and ticks that every relay adds; ``None`` if no delay needs one
    free_ticks: int | None
    is_per_delay: bool = True  # whether distinct delays cost something
    ticks_per_step: int = 1  # ticks per unit of delay
    leads: tuple[int, ...] = ()  # ticks subtracted from the delay of each edge; empty for none

    def lead(self, k: int) -> int:
        """Ticks subtracted from the delay of the k-th edge."""
        return self.leads[k] if self.leads else 0

    def of(self, delays: Mapping[EdgeKey, int]) -> int:
        """Cost in neurons of delays in the schedule's unit."""
        ticks = sorted({delays[e] * self.ticks_per_step - self.lead(k) for k, e in enumerate(self.edges)})
        if not self.is_per_delay:
            return self.neurons * self.relays(ticks[-1])
        return self.neurons * sum(self.legs(end - start) for start, end in pairwise([0, *ticks]))

    def legs(self, ticks: int) -> int:
        """Count the neurons of a chain that takes ``ticks`` ticks, 1 or more."""
        return 1 if self.free_ticks is None else -(-ticks // self.free_ticks)

    def relays(self, ticks: int) -> int:
        """Count the relays of a neuron whose longest delay is ``ticks`` ticks."""
        return max(0, self.legs(ticks) - 1)


def cost_of(delays: Mapping[EdgeKey, int], costs: Iterable[DelayCost]) -> int:
    """Total cost of delays, in neurons."""
    return sum(cost.of(delays) for cost in costs)
