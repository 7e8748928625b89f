"""Mapping choices: chip, place of splitters and ticks per step, with the table of their rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError, InputError
from neuromap.explorer.answer.limits import CORES, ENERGY, OBJECTIVES, Candidate, Limits, Objective, objective_named
from neuromap.explorer.candidates.named_patterns import LeastResponses
from neuromap.explorer.candidates.options import MAX_PERIOD, ExploreOptions
from neuromap.explorer.candidates.pattern_space import PatternSpace, RowTable, row_table
from neuromap.explorer.candidates.schedules import RowKeys, core_weights, schedules_of, sharing_of
from neuromap.hardware.chip.chip_document import ENERGY_TERM_KEYS
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec, tick_costs
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.bounds.neuron_capacity import readers_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import segments_of_delay
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.class_numbers import ClassNumbers
from neuromap.rollout.indexed_pattern import walks_along
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import chosen_period, listed_executions
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.energy import Counts, energy_of, updates_all

_CHUNK = 1 << 16


class RowTimes(NamedTuple):
    """Times of rows in ticks; all of one shape."""

    # first, full, reaction: first response, full response, worst-case reaction
    first: Ints
    full: Ints
    reaction: Ints
    # period, frames: frame period as a fraction in lowest terms: ``frames`` frames in every ``period`` ticks
    period: Ints
    frames: Ints

    @classmethod
    def of(cls, first: Ints, slowest: Ints, full: Ints, period: Ints, frames: Ints) -> Self:
        """Compute the worst-case reaction: the largest gap between frames, then the input that is answered last."""
        common = np.gcd(period, frames)
        return cls(first, full, slowest - (-period // frames) - 1, period // common, frames // common)


@dataclass(frozen=True, eq=False)
class MappingChoice(ReadOnly, Value):
    """Chip, place of splitters and ticks per step with which all rows of a table are mapped."""

    chip: ChipSpec  # the chip
    options: MappingOptions  # splitters, ticks of an update step as asked for, wide nodes, phases
    table: RowTable  # the distinct schedules
    step_ticks: Ints  # (rows,): ticks of an update step, row by row
    # core_bound, neuron_bound: lower bounds on the cores and neurons of any mapping of any row; neurons are for chips
    # with synapse lists
    core_bound: int
    neuron_bound: int
    class_bound: int  # lower bound on the cores of any mapping of any row of the given pattern's class
    least: LeastResponses  # lower bounds on the responses of all rows
    # seconds of a tick: the chip's, or a lower bound over all rows if ticks last as long as their work
    tick_seconds: float

    @property
    def may_change_schedule(self) -> bool:
        """Whether splitters or partial sums may lengthen delays, so that only bounds on times are known."""
        return _may_change_schedule(self.options)

    @property
    def knows_times(self) -> bool:
        """Whether the schedules in update steps determine the times of all rows; else only bounds are known."""
        return not self.may_change_schedule and self.options.phases != "fastest"

    @property
    def knows_frames(self) -> bool:
        """Whether it is known how many frames a row has by a deadline: not if ticks are timed, which mapping tells."""
        return self.knows_times and not self.chip.is_timed

    def maps_like(self, other: MappingChoice) -> bool:
        """Whether another choice for the same chip gives the same programs for all rows."""
        # Choosing as many ticks per step as the delays need anyway changes nothing, unless splitters may use them.
        return (
            replace(self.options, ticks_per_step=None) == replace(other.options, ticks_per_step=None)
            and (self.options.ticks_per_step == other.options.ticks_per_step or not self.may_change_schedule)
            and np.array_equal(self.step_ticks, other.step_ticks)
        )

    def energy_bound(self, period_ticks: Time, cores: int) -> float | None:
        """Lower bound on the energy per frame of rows with this frame period on ``cores`` cores."""
        return energy_bound(self.chip, period_ticks, cores, self.neuron_bound, self.tick_seconds)

    def exact_times(self, rows: int | slice) -> RowTimes:
        """Compute the times of rows in ticks, from their schedules."""
        table, step = self.table, self.step_ticks[rows]
        period, frames = table.period[rows] * step, table.frames[rows].astype(np.int64)
        first, slowest, full = (steps[rows] * step for steps in (table.first, table.slowest, table.full))
        return RowTimes.of(first, slowest, full, period, frames)

    def optimistic(self) -> RowTimes:
        """Lower bounds on the times of all rows, in ticks."""
        # These are the times of the schedule, unless splitters may change it. Then every delay is still at least the
        # ticks per step that the user chose, or else one tick; and a cycle ratio of more than P - 1 steps is one of
        # more than (P - 1) times as many ticks (docs/theorems/exact-fronts.md).
        if not self.may_change_schedule:
            return self.exact_times(slice(None))
        table = self.table
        # every edge asks for the user's ticks per step; without them a tick-level edge asks for one tick
        least = np.full(len(table), self.options.ticks_per_step or 1)
        chosen = np.array([chosen_period(execution) is not None for execution in table.executions])[table.execution]
        # a frame period chosen by the user is in the unit of the resulting schedule
        period = np.where(chosen, table.period, (table.period - 1) * least + 1)
        first, slowest, full = (steps * least for steps in self.least)
        return RowTimes.of(first, slowest, full, period, np.maximum(table.frames.astype(np.int64), 1))


def mapping_choices(
    space: PatternSpace, given: RolloutPattern, asked: Asked, numbers: ClassNumbers, budget: Budget = NO_LIMIT
) -> list[MappingChoice]:
    """Make the tables of rows, and every choice that gives programs of its own."""
    network = space.graph.network
    streaming = Rollout(network, RolloutPattern.streaming(network))
    least = LeastResponses.of(streaming)
    tables = _tables(space, given, asked, numbers)
    choices: list[MappingChoice] = []
    for chip in asked.chips:
        wides = {options.wide for options in asked.options}
        bounds = {wide: core_bound_of_all(network, chip, wide, budget) for wide in wides}
        of_chip: list[MappingChoice] = []
        for asked_options in asked.options:
            # a short tick is meaningless with ticks of fixed length: search such a chip as usual
            fixed = replace(asked_options, objective="deliveries", max_cores=None)
            options = asked_options if chip.is_timed else fixed
            table = tables[_may_change_schedule(options), options.phases]
            if not len(table):  # no phases answer earlier than the least phases
                continue
            steps, bound = step_ticks(table, chip, options.ticks_per_step), bounds[options.wide]
            in_class = bound.total
            if not _may_change_schedule(options) and CORES in asked.objectives:
                in_class = core_bound_of_class(given, chip, bound.total, budget)
            tick = least_tick(chip, bound.total, bound.neurons, options.max_cores)
            choice = MappingChoice(chip, options, table, steps, bound.total, bound.neurons, in_class, least, tick)
            if not any(choice.maps_like(other) for other in of_chip):
                of_chip.append(choice)
        choices += of_chip
    return choices


def _may_change_schedule(options: MappingOptions) -> bool:
    return options.splitters == "anywhere" or options.wide != "refuse"


def _tables(
    space: PatternSpace, given: RolloutPattern, asked: Asked, numbers: ClassNumbers
) -> dict[tuple[bool, str], RowTable]:
    """Make the tables needed, by whether schedules may change (then every pattern is a row) and by phases."""
    graph, chips = space.graph, asked.chips
    number = {name: k for k, name in enumerate(graph.network.nodes)}
    populations = legalise(Rollout(graph.network, RolloutPattern.streaming(graph.network)), chips[0]).populations
    sharing = sharing_of(graph, {number[p.name]: p.threshold for p in populations if not p.is_relay}, chips)
    moved = replace(sharing, over_delays=True)  # distances between phases determine those after moves
    weights = core_weights(graph, chips[0])
    own = np.array(given.values, np.uint8)
    known = {options.phases for options in asked.options}
    found: dict[tuple[bool, str], RowTable] = {}
    for options in asked.options:
        by_pattern, phases = _may_change_schedule(options), options.phases
        if (by_pattern, phases) not in found:
            soonest = phases == "fastest" and not by_pattern
            keys = RowKeys(
                graph,
                sharing if phases == "least" else moved,
                asked.executions,
                by_pattern,
                soonest=soonest,
                only_gains=soonest and "least" in known,  # without a gain the least phases stay: the same rows
            )
            found[by_pattern, phases] = row_table(space, keys, own, weights, numbers)
    return found


def step_ticks(table: RowTable, chip: ChipSpec, ticks_per_step: int | None) -> Ints:
    """Ticks of an update step for every row: those chosen, or as few as its delays need."""
    # shapes: returns (rows,)
    least, _ = chip.delay
    if ticks_per_step is not None or least == 1:
        return np.full(len(table), ticks_per_step or 1, np.int64)
    graph = table.graph
    inner = [e for e, source in enumerate(graph.indexed.sources) if source not in graph.indexed.inputs]
    found = np.full(len(table), least, np.int64)
    for start in range(0, len(table), _CHUNK):
        part = slice(start, start + _CHUNK)
        values = np.unpackbits(table.values[part], axis=1, count=graph.n_edges)
        for number, execution in enumerate(table.executions):
            mine = np.flatnonzero(table.execution[part] == number)
            if len(mine):
                delays = schedules_of(graph, values[mine], execution).delays[:, inner]
                found[start + mine] = _fewest_ticks(delays, chip.delay)
    return found


def _fewest_ticks(delays: Ints, delay_range: tuple[int, int]) -> Ints:
    """Find the fewest ticks per step with which neurons can realise all delays of a row, given in steps."""
    least, greatest = delay_range
    fewest = np.full(len(delays), least, np.int64)  # with these every delay can be realised
    for ticks in range(least - 1, 0, -1):
        legal = np.array(
            [d > 0 and segments_of_delay(d * ticks, least, greatest) is not None
             for d in range(int(delays.max(initial=0)) + 1)]
        )  # fmt: skip
        fewest[legal[delays].all(axis=1)] = ticks
    return fewest


# What to search: executions and mapping choices, checked.


FEW_TICKS: tuple[int | None, ...] = (None, 64, 16, 4)
"""Default ticks of partial sums to try: all that they count, then 64 and fewer by factors of four."""


@dataclass(frozen=True)
class Asked:
    """What a search covers."""

    chips: tuple[ChipSpec, ...]  # chips, each name once; without energies if these are sums of different terms
    executions: tuple[str, ...]  # executions
    options: tuple[MappingOptions, ...]  # with a chip, a mapping choice each
    within: str  # "all" patterns, or "class": those of the given one's behaviour class
    objectives: tuple[Objective, ...] = OBJECTIVES  # axes of the front, in their usual order

    @property
    def is_about_times(self) -> bool:
        """Whether all objectives are times, which are known (or bounded) before anything is mapped."""
        return all(objective.bound is None for objective in self.objectives)


def asked_for(search: ExploreOptions) -> Asked:
    """Check what the user asks to search; single values stand for lists of one."""
    if search.chips is not None and search.chip is not None:
        raise InputError("explore: both chips and chip are given; they are the same, give one of them")
    chips = search.chips if search.chip is None else search.chip
    specs, wanted = _chips("truenorth" if chips is None else chips), listed_executions(search.executions, MAX_PERIOD)
    spreads = [{"objective": "tick", "max_cores": n} for n in dict.fromkeys(_listed(search.spread))] or [{}]
    if search.spread and not any(chip.is_timed for chip in specs):
        raise InputError(
            f"spread: has no meaning on {specs[0].name}, whose ticks are of fixed length; name a chip of timed ticks"
        )
    options = [
        MappingOptions(splitters=s, ticks_per_step=t, wide=w, wide_ticks=k, phases=phases, **spread)  # type: ignore[arg-type]
        for s in dict.fromkeys(_listed(search.splitters))
        for t in dict.fromkeys(_listed(search.ticks_per_step))
        for w, k in dict.fromkeys(_wide(_listed(search.wide)))
        for phases in dict.fromkeys(_listed(search.phases))
        for spread in spreads
    ]
    if search.within not in ("all", "class"):
        raise InputError(f"within {search.within!r}: unknown; choose 'all' or 'class'")
    axes = read_objectives(search.objectives)
    terms = {frozenset(chip.energy) & set(ENERGY_TERM_KEYS) for chip in specs if chip.energy}
    # energies that are not asked for are not measured; sums of different terms cannot be compared
    if ENERGY not in axes or len(terms) > 1:
        specs = [replace(chip, energy={}, energy_included=()) for chip in specs]
    return Asked(tuple(specs), tuple(dict.fromkeys(wanted)), tuple(options), search.within, axes)


def read_objectives(objectives: Any, option: str = "objectives") -> tuple[Objective, ...]:
    """Read the axes of the front by name; ``"times"`` stands for all times."""
    # objectives: ``None`` for all
    if objectives is None:
        return OBJECTIVES
    named: set[Objective] = set()
    for name in _listed(objectives):
        times = {objective for objective in OBJECTIVES if objective.bound is None}
        named |= times if name == "times" else {objective_named(str(name), option)}
    if not named:
        raise InputError(f"{option}: none given; choose times, {CORES.title} or another objective")
    return tuple(objective for objective in OBJECTIVES if objective in named)


def check_are_axes(axes: Collection[Objective], limits: Any, best: Objective | None = None) -> None:
    """Refuse limits on figures that are not axes, and a best row in one: rows that satisfy them may be left out."""
    for objective in OBJECTIVES:
        asked = objective == best or (isinstance(limits, Limits) and getattr(limits, objective.name) is not None)
        if asked and objective not in axes:
            titles = ", ".join(axis.title for axis in axes)
            raise InputError(
                f"{objective.title}: is bounded or to be best, but none of the objectives, {titles}; make it one"
            )


def _wide(given: list[Any]) -> list[tuple[str, int | None]]:
    """Read the choice for wide nodes: a strategy, or ticks of partial sums."""
    found: list[tuple[str, int | None]] = []
    for value in given:
        if value == "partial-sums":
            found += [("partial-sums", ticks) for ticks in FEW_TICKS]
        else:
            found.append((value, None) if isinstance(value, str) else ("partial-sums", value))
    return found


def _listed(values: Any) -> list[Any]:
    return [values] if values is None or isinstance(values, (str, int)) else list(values)


def _chips(chips: Any) -> list[ChipSpec]:
    wanted = list(chips) if isinstance(chips, Iterable) and not isinstance(chips, str) else [chips]
    if not wanted:
        raise InputError("chips: none given; name at least one, such as truenorth")
    found: dict[str, ChipSpec] = {}
    for chip in map(load_chip, wanted):
        if chip.name in found and found[chip.name] != chip:
            raise InputError(f"chips: two have the name {chip.name}; give one of them another name")
        found[chip.name] = chip
    return list(found.values())


# Proven lower bounds on the cores and energy of any mapping, for rows that are not mapped.


_FEMTO = 15
"""Decimal places of a second to which ticks are timed."""


def core_bound_of_all(network: Network, chip: ChipSpec, wide: str = "refuse", budget: Budget = NO_LIMIT) -> CoreBound:
    """Lower bound on the cores and neurons of any mapping of any pattern in any execution."""
    rollout = Rollout(network, RolloutPattern.streaming(network))
    network_in_ticks = legalise(rollout, chip)
    if wide == "refuse":
        return core_bound(network_in_ticks, chip, proven=True, budget=budget)
    neurons = sum(len(reader.neurons) for reader in readers_of(network_in_ticks))
    return CoreBound(max(1, -(-neurons // chip.neurons)), "neurons", neurons, 0, ())


def core_bound_of_class(given: RolloutPattern, chip: ChipSpec, least: int, budget: Budget = NO_LIMIT) -> int:
    """Lower bound on the cores of any mapping of any pattern of a behaviour class, in any execution."""
    # Edges that leave one node and have different delays under all patterns of the class carry different signals. The
    # bound is that of the streaming rollout with these signals distinguished.
    if budget.is_over("bounds"):
        return least
    network = given.network
    signals = _signals(given)
    first = 2 * chip.delay[0]  # from here on a delay does not tell what passes a spike on
    if chip.kind.structure.DELAYS_BEHIND_AXONS or first + max(signals.values(), default=0) > chip.delay[1]:
        return least
    legal = legalise(Rollout(network, RolloutPattern.streaming(network)), chip)
    names = [population.name for population in legal.populations]
    if any(population.is_relay for population in legal.populations):
        return least
    links = tuple(replace(link, delay=first + signals[names[link.source], names[link.target]]) for link in legal.links)
    return max(least, core_bound(replace(legal, links=links), chip, proven=True, budget=budget).total)


def _signals(given: RolloutPattern) -> dict[EdgeKey, int]:
    """Assign numbers to edges: two that leave one node differ if their delays do under all patterns of the class."""
    # An edge to w has a longer delay than one to v if a walk from v to w takes no more frames than their R differ by.
    # Edges of which this is not known in either order are one signal; a self-edge may equal any other.
    network = given.network
    edges = [(source, target, r) for (source, target), r in given.items()]
    found: dict[EdgeKey, int] = {}
    for u in network.nodes:
        targets = [v for (source, v) in network.edges if source == u]
        reach = {v: walks_along([v], edges) for v in targets}  # frames
        alike: nx.Graph[str] = nx.Graph()
        alike.add_nodes_from(targets)
        for v, w in combinations(targets, 2):
            apart = given[u, w] - given[u, v]
            differ = reach[v].get(w, math.inf) <= apart or reach[w].get(v, math.inf) <= -apart
            if u in (v, w) or not differ:
                alike.add_edge(v, w)
        for number, members in enumerate(nx.connected_components(alike)):
            found |= {(u, v): number for v in members}
    return found


def core_bound_of_row(network: Network, chip: ChipSpec, candidate: Candidate, least: int) -> int:
    """Lower bound on the cores of any mapping of a candidate."""
    if candidate.splitters == "anywhere" or candidate.wide != "refuse" or candidate.phases != "least":
        return least
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    try:
        legal = legalise(rollout, chip, ticks_per_step=candidate.ticks_per_step)
    except DoesNotFitError:
        return least
    return max(least, core_bound(legal, chip, proven=True).total)


def least_tick(chip: ChipSpec, cores: int, neurons: int, most_cores: int | None = None) -> float:
    """Lower bound on the seconds of a tick in any mapping; with timed ticks, access to the neurons in use."""
    # cores, neurons: cores and neurons in use, or lower bounds on them. Neurons are spread over as many tiles as cost
    # least, barrier included. Times are in whole femtoseconds, as ticks are timed.
    costs = tick_costs(chip)
    if costs is None:
        return chip.tick_seconds
    in_use = _least_in_use(chip, neurons)
    area, most = math.prod(chip.tile), min(most_cores or chip.n_usable_cores, chip.n_usable_cores)
    firsts = [tiles for tiles, _ in costs.barrier] or [1]
    ends = [*(area * (first - 1) for first in firsts[1:]), most]  # most cores within each step of the barrier
    steps = [(first, min(end, most)) for first, end in zip(firsts, ends, strict=True)]
    found = [
        round(costs.access, _FEMTO) * -(-in_use // end) + round(costs.barrier_of(first), _FEMTO)
        for first, end in steps
        if end >= cores
    ]
    return max(min(found, default=0.0), 10.0**-_FEMTO)


def _least_in_use(chip: ChipSpec, neurons: int) -> int:
    return 0 if chip.kind.structure.UPDATES_ALL else neurons  # axons may take neurons of crossbars that do nothing


def energy_bound(
    chip: ChipSpec, period_ticks: Time, cores: int, neurons: int, tick_seconds: float | None = None
) -> float | None:
    """Lower bound on the energy per frame of any mapping: that of a silent chip in one frame period."""
    # period_ticks: frame period, or a lower bound on it
    # cores, neurons: cores and neurons in use, or lower bounds on them. A crossbar core updates all its neurons, a
    # synapse-list core those in use
    # tick_seconds: lower bound on the length of a tick, if ticks are timed
    # returns joules; ``None`` if the chip has no figures
    chips, ticks, frames = math.prod(chip.chips), period_ticks.numerator, period_ticks.denominator
    updates = (cores * chip.neurons if updates_all(chip) else _least_in_use(chip, neurons)) * ticks
    counts = Counts(ticks=ticks, chips=chips, neuron_updates=updates, seconds=ticks * (tick_seconds or 0.0))
    joules = energy_of(chip, counts).joules
    return None if joules is None else joules / frames
