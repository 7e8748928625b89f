"""Partition a rollout: legalise, tile and pack it, and choose how spikes fan out.

Spikes fan out by copies, which take neurons, or by splitters, which take a leg of the delay. Copies of a neuron crowd
its core. Every further core of its node reads the node's sources again, so these need more copies in turn. A
splitter ends that: the node keeps one copy, and identity neurons elsewhere carry the rest. On an edge whose delay has
room for two legs it costs no tick; on any other, the schedule is made anew in ticks, with a latency of two legs on
that edge.

The search goes by real cost: nodes are ranked by what splitting their edges would save with all else unchanged; the
best proposals are mapped in full, and kept if they need fewer cores.

So are phases at least cost, if requested: their predicted cost is an estimate, as readers share an axon only where they
share a core.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.core.planned_sums import PlannedSums
from neuromap.mapping.legalise.legalise import NO_SUMS, keep_nodes, legalise
from neuromap.mapping.legalise.legalised import PartialSums, fewest_ticks_per_step, needed_for, segments_of_delay
from neuromap.mapping.options.budget import Budget, OverBudget
from neuromap.mapping.options.options import MappingOptions, Phases, Splitters
from neuromap.mapping.partition.partition import Partition, partition, with_shared_cores
from neuromap.mapping.tile.tile import Tile
from neuromap.mapping.tile.tile_all import axons_fed, refuse_cores
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.build import require_weights
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.schedule.cheapest_phases import DelayCost, cheapest_phases, move_ranges
from neuromap.rollout.schedule.fastest_phases import fastest_phases
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class PhaseChoice(Value):
    """Result of a search for phases at least cost."""

    # neurons, neurons_before: fewest neurons that the delays take with these phases, and with the rollout's own
    neurons: int
    neurons_before: int
    # whether no phases with the same period and responses take fewer; false where the search was cut off
    is_proven: bool
    # whether the rollout was mapped with them: readers that would share an axon may not share a core
    is_taken: bool = False

    @property
    def statement(self) -> str:
        """The outcome in one line."""
        saved = self.neurons_before - self.neurons
        if not saved:
            why = "no others take fewer neurons" if self.is_proven else "that no others take fewer is not proven"
            return f"phases: the least; {why}"
        proven = "no others take fewer" if self.is_proven else "that no others take fewer is not proven"
        estimate = (
            f"phases at least cost: delays take at least {counted(self.neurons, 'neuron')}, {saved} fewer; {proven}"
        )
        return estimate if self.is_taken else f"{estimate}; mapped with the least, which take no more cores"


def choose_phases(
    timed: TimedRollout,
    chip: ChipSpec,
    split: frozenset[EdgeKey] = frozenset(),
    sums: Mapping[str, PartialSums] = NO_SUMS,
    seconds: float = math.inf,
    keep: Collection[str] = (),
) -> tuple[TimedRollout, PhaseChoice | None]:
    """Choose the phases of a rollout whose delays cost fewest neurons of a chip."""
    # Period, ticks per step and the times of inputs and outputs stay, and every delay is one that the chip can give.
    # returns the same rollout if none is cheaper; ``None`` if no node can move
    rollout, step, leads = timed.rollout, timed.ticks_per_step, _leads(sums)
    least = _least_delays(timed, chip, split, leads)
    if any(rollout.delays[edge] < ticks for edge, ticks in least.items()):
        return timed, None  # legalising will say which delay cannot be given
    if all(low == high for low, high in move_ranges(rollout, least).values()):
        return timed, None
    costs = delay_costs(rollout, chip, step, split, leads, keep)
    found = cheapest_phases(rollout, costs, least, seconds=seconds)
    if not _is_legal(found.rollout, step, chip, leads):
        return timed, PhaseChoice(found.cost_before, found.cost_before, is_proven=False)
    # where legs have a least length, relays may be shared less than is charged
    is_proven = found.is_proven and chip.delay[0] == 1
    return TimedRollout(found.rollout, step), PhaseChoice(found.cost, found.cost_before, is_proven)


def fastest(
    timed: TimedRollout,
    chip: ChipSpec,
    split: frozenset[EdgeKey] = frozenset(),
    sums: Mapping[str, PartialSums] = NO_SUMS,
) -> TimedRollout:
    """Choose the phases of a rollout with the least sum of first responses over all inputs and outputs."""
    # if intervals are unequal, or the chip cannot give a delay that these need, the rollout keeps its own
    rollout, step, leads = timed.rollout, timed.ticks_per_step, _leads(sums)
    least = _least_delays(timed, chip, split, leads)
    if rollout.network.is_spiking or not isinstance(rollout.frame_period, int):
        return timed
    if any(rollout.delays[edge] < ticks for edge, ticks in least.items()):
        return timed  # legalising will say which delay cannot be given
    found = fastest_phases(rollout, least=least).rollout
    return TimedRollout(found, step) if _is_legal(found, step, chip, leads) else timed


def _least_delays(
    timed: TimedRollout, chip: ChipSpec, split: frozenset[EdgeKey], leads: Mapping[str, int]
) -> dict[EdgeKey, int]:
    """Least delay units of edges on the chip: a leg, or two with a splitter, plus the lead of the target's sums."""
    inputs = timed.rollout.network.inputs
    return {
        (u, v): -(-((2 if (u, v) in split else 1) * chip.delay[0] + leads.get(v, 0)) // timed.ticks_per_step)
        for u, v in timed.rollout.network.edges
        if u not in inputs
    }


def _leads(sums: Mapping[str, PartialSums]) -> dict[str, int]:
    """Ticks by which the inputs of nodes summed in parts arrive before the node's own tick."""
    return {node: of_node.lead for node, of_node in sums.items()}


def _is_legal(rollout: Rollout, ticks_per_step: int, chip: ChipSpec, leads: Mapping[str, int]) -> bool:
    """Whether legs can give every delay on the chip."""
    inputs = rollout.network.inputs
    return all(
        segments_of_delay(delay * ticks_per_step - leads.get(v, 0), *chip.delay)
        for (u, v), delay in rollout.delays.items()
        if u not in inputs
    )


# What the delays of a rollout cost on a chip: relays, and on crossbar cores a copy for every distinct delay.
#
# A neuron of a crossbar core feeds one axon at one delay. So a neuron whose spikes are read at k delays takes at least
# k neurons of the chip, and one more for every relay; readers that share a core and the delay share its axon. Where a
# neuron has many targets, only relays cost neurons.
def delay_costs(
    rollout: Rollout,
    chip: ChipSpec,
    ticks_per_step: int,
    split: frozenset[EdgeKey],
    leads: Mapping[str, int],
    keep: Collection[str] = (),
) -> list[DelayCost]:
    """List the delay costs of every node on the chip."""
    network = rollout.network
    in_use = edges_in_use(network, keep)
    leaving: dict[tuple[str, bool], list[EdgeKey]] = {}
    for edge in network.edges:
        if edge[0] not in network.inputs and edge in in_use:
            leaving.setdefault((edge[0], edge in split), []).append(edge)
    return [
        DelayCost(
            edges=read,
            neurons=neurons,
            free_ticks=chip.delay[1],
            is_per_delay=chip.kind.structure.ONE_TARGET,
            ticks_per_step=ticks_per_step,
            leads=tuple(leads.get(v, 0) for _, v in read),
        )
        for edges in leaving.values()
        for read, neurons in _read_alike(rollout, edges)
    ]


def _read_alike(rollout: Rollout, edges: list[EdgeKey]) -> Iterator[tuple[tuple[EdgeKey, ...], int]]:
    """Count the neurons of a node by the edges over which they are read; unread neurons are left out."""
    matrices = [rollout.network.edges[edge].matrix() for edge in edges]
    reads = [np.bincount(matrix.indices, minlength=matrix.shape[1]) > 0 for matrix in matrices]
    group = np.zeros(len(reads[0]), np.int64)
    for is_read in reads:  # split every group in two
        group = np.unique(group * 2 + is_read, return_inverse=True)[1]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    for neuron, count in zip(first.tolist(), counts.tolist(), strict=True):
        over = tuple(edge for edge, is_read in zip(edges, reads, strict=True) if is_read[neuron])
        if over:
            yield over, count


def cheap_phases(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, budget: Budget
) -> tuple[Rollout, MappingOptions, PhaseChoice | None]:
    """Give a rollout the requested phases: its own, those with fewest relays, or those with shortest responses."""
    if options.phases == "least":
        return rollout, options, None
    require_weights(rollout.network)
    step = options.ticks_per_step or fewest_ticks_per_step(rollout, chip)
    timed = TimedRollout(rollout, step)
    if options.phases == "fastest":
        return fastest(timed, chip).rollout, replace(options, ticks_per_step=step), None
    timed, choice = choose_phases(timed, chip, seconds=budget.left_s("placement"), keep=options.keep)
    if choice is None:
        return rollout, options, None
    return timed.rollout, replace(options, ticks_per_step=step), replace(choice, is_taken=timed.rollout is not rollout)


# Edges with weights into neurons that are computed: only there does a splitter have anything to carry.
def edges_in_use(network: Network, keep: Collection[str] = ()) -> frozenset[EdgeKey]:
    """Find the edges with weights into neurons that an output depends on, or that are kept."""
    reads = {edge: value.matrix() for edge, value in network.edges.items()}
    wanted = {
        name: np.full(node.size, name in network.outputs or name in keep or "all" in keep)
        for name, node in network.nodes.items()
    }
    computed = needed_for(wanted, ((*edge, matrix) for edge, matrix in reads.items()))
    return frozenset(edge for edge, matrix in reads.items() if np.diff(matrix.indptr)[computed[edge[1]]].any())


# The schedule for splitters and partial sums: unchanged where they fit into it, else made anew in ticks.


class TimedRollout(NamedTuple):
    """A rollout, and the length of a unit of its delays on the chip."""

    rollout: Rollout  # in update steps, or in ticks
    ticks_per_step: int  # ticks of a unit of its delays: 1 where it is in ticks


def ticks_of_step(rollout: Rollout, chip: ChipSpec, fixed: int | None) -> int:
    """Return the ticks per unit of a rollout's delays."""
    # rollout: in update steps, or in ticks
    if rollout.is_tick_level:
        return 1
    return fewest_ticks_per_step(rollout, chip) if fixed is None else fixed


def schedule_on_chip(
    rollout: Rollout,
    split: frozenset[EdgeKey],
    chip: ChipSpec,
    fixed: int | None,
    sums: Mapping[str, PartialSums],
) -> TimedRollout:
    """Find the schedule of a rollout with splitters on some of its edges, and some nodes summed in parts."""
    # returns one in steps if the rollout is, no node is summed in parts, and every split edge has room for two legs;
    # else in ticks, as short as the chip, splitters, sums, the rollout's own latencies and the fixed steps allow
    step = ticks_of_step(rollout, chip, fixed)
    has_room = all(rollout.delays[e] * step >= 2 * chip.delay[0] for e in split)
    if not rollout.is_tick_level and not sums and has_room:
        return TimedRollout(rollout, step)
    return TimedRollout(_in_ticks(rollout, split, chip, 1 if fixed is None else fixed, sums), 1)


def _in_ticks(
    rollout: Rollout, split: frozenset[EdgeKey], chip: ChipSpec, floor: int, sums: Mapping[str, PartialSums]
) -> Rollout:
    """Make a schedule anew in ticks, with legs as short as possible; no edge is faster than a fixed step."""
    # Some delays cannot be made of legs of, say, 4 or 5 ticks; then longer ones are tried, up to twice the shortest:
    # they make every edge as slow as one over a splitter, and longer ones would make the schedule slower still. If none
    # will do, the schedule of the shortest is returned: legalising refuses it, and names the delay that cannot be made.
    leads, inputs, least = _leads(sums), rollout.network.inputs, chip.delay[0]
    busy = max([rollout.least_period, *(of_node.busy for of_node in sums.values())])

    def with_legs(leg: int) -> Rollout:
        # an edge takes one leg on the chip, or two with a splitter, and what its target's sums take
        latencies = {}
        for (u, v), latency in rollout.latencies.items():
            legs = 2 if (u, v) in split else 1
            way = 1 if u in inputs else legs * leg
            latencies[u, v] = max(latency, floor, leads.get(v, 0) + way)
        is_same = latencies == dict(rollout.latencies) and busy == rollout.least_period
        return rollout if is_same else rollout.with_latencies(latencies, busy)

    for leg in range(least, 2 * least + 1):
        found = with_legs(leg)
        if _is_legal(found, 1, chip, leads):
            return found
    return with_legs(least)


# Searches for splitters: on edges with slack first, where they cost no tick.
MAY_STAND_ANYWHERE: dict[Splitters, tuple[bool, ...]] = {"never": (), "slack": (False,), "anywhere": (False, True)}


def partition_rollout(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> PartitionedRollout:
    """Partition a rollout, with splitters where they save cores."""
    # returns a partition with shared cores, no more of them than the chip has
    trials, options = SplitterSearch(rollout, chip, context), context.options
    refusal: DoesNotFitError | None = None
    best: PartitionedRollout | None = None
    try:
        best = trials.partition(options.pins.splitters)
    except DoesNotFitError as error:
        if not _may_be_helped(error, options):
            raise
        refusal = error
    for anywhere in MAY_STAND_ANYWHERE[options.splitters]:
        best = _with_better_splitters(trials, best, anywhere=anywhere)
    found = [] if best is None else [best]
    choice = None
    if options.phases == "cheapest":
        split = options.pins.splitters if best is None else best.split
        _, choice = trials.choose_phases(split)
        if choice is not None and choice.neurons < choice.neurons_before:
            # without time limit if it is needed as first mapping
            with suppress(DoesNotFitError, OverBudget):
                if best is None or not trials.budget.is_over("splitters"):
                    found.append(trials.partition(split, may_be_cut=best is not None, phases="cheapest"))
    if not found:
        assert refusal is not None, "a partition was refused, or it is the best"
        raise refusal
    shared = [replace(one, partition=with_shared_cores(one.partition, trials.core, context)) for one in found]
    smallest = min(shared, key=_size)
    if len(smallest.partition.cores) > chip.n_usable_cores:
        raise _refuse_cores(smallest.partition, chip)
    if choice is None:
        return smallest
    return replace(smallest, phases=replace(choice, is_taken=smallest is shared[-1] and found[-1] is not best))


def _may_be_helped(refusal: DoesNotFitError, options: MappingOptions) -> bool:
    """Whether splitters or other phases may make room for what was refused."""
    limit = refusal.infeasibility.limit
    is_crowded = limit in ("copies", "cores")
    return (is_crowded and options.splitters != "never") or (
        options.phases == "cheapest" and (is_crowded or limit == "delay")
    )


def _size(one: PartitionedRollout) -> tuple[int, int]:
    """Cores, and neurons in use."""
    return len(one.partition.cores), sum(int(tile.copies.sum()) for tile in one.partition.tiles)


def _with_better_splitters(
    trials: SplitterSearch, best: PartitionedRollout | None, *, anywhere: bool
) -> PartitionedRollout | None:
    """Try the splitters proposed for the best so far; return the partition with fewest cores, the first of equals."""
    for split in _in_time(propose_splits(trials, best, anywhere=anywhere), trials.budget, needed=best is None):
        try:
            found = trials.partition(split, may_be_cut=best is not None)
        except DoesNotFitError:
            continue
        except OverBudget:
            break
        if best is None or len(found.partition.cores) < len(best.partition.cores):
            best = found
    return best


def _in_time(splits: Iterator[Split], budget: Budget, *, needed: bool) -> Iterator[Split]:
    """Yield proposals until their time is over; those needed for a first mapping are always tried."""
    while needed or budget.left_s("splitters") > 0:
        split = next(splits, None)
        if split is None:
            return
        yield split
    budget.is_over("splitters")  # then it is told among the stages that were cut


def _refuse_cores(parts: Partition, chip: ChipSpec) -> DoesNotFitError:
    """Refuse more cores than the chip has; each counts for the population that takes most of its neurons."""

    def load(tile: int) -> int:
        return int(parts.tiles[tile].copies.sum())

    held = Counter(parts.tiles[max(core.tiles, key=load)].population for core in parts.cores)
    return refuse_cores(parts.network, held, chip)


# Where splitters may pay: nodes are ranked by the cores that splitting their edges would save.
# Cores that splitting a node's edges must promise to save.
WORTHWHILE = 0.5


def propose_splits(trials: SplitterSearch, best: PartitionedRollout | None, *, anywhere: bool) -> Iterator[Split]:
    """Propose sets of edges to split: all that pay by themselves, then fewer; all allowed if nothing is mapped yet."""
    delays, inputs = trials.rollout.delays, trials.rollout.network.inputs
    allowed = {e for e in delays if e[0] not in inputs}
    if not anywhere:  # only edges whose delay is one leg now and has room for two
        least, greatest = trials.chip.delay
        step = ticks_of_step(trials.rollout, trials.chip, trials.options.ticks_per_step)
        allowed = {e for e in allowed if 2 * least <= delays[e] * step <= greatest}
    if best is None:
        if allowed:
            yield frozenset(allowed) | trials.options.pins.splitters
        return
    gains = {u: gain for u in {e[0] for e in allowed} if (gain := _gain(u, best, allowed, trials)) > WORTHWHILE}
    ranked = sorted(gains, key=lambda u: (-gains[u], u))
    seen = {best.split}
    for count in (len(ranked), -(-len(ranked) // 2), 1):
        split = best.split | {e for e in allowed if e[0] in ranked[:count]}
        if split not in seen:
            seen.add(split)
            yield split


def _gain(node: str, best: PartitionedRollout, allowed: set[EdgeKey], trials: SplitterSearch) -> float:
    """Estimate the cores that splitting a node's edges saves, copies of its own sources included."""
    parts = best.partition
    network, core = parts.network, trials.core
    index = next(i for i, p in enumerate(network.populations) if p.name == node and not p.is_relay)
    # copies of its neurons that stay, and those that new splitters would take over
    kept = network.populations[index].own_copies
    moved = np.zeros_like(kept)
    for link in network.links:
        if link.source == index:
            reader = network.populations[link.target]
            edge = (node, network.ports[reader.node].name)
            tiles = [tile for tile in parts.tiles if tile.population == link.target]
            way = moved if not reader.is_relay and edge in allowed and edge not in best.split else kept
            way += axons_fed(link, parts.sources[link.target], tiles)
    if moved.max(initial=0) < 2:
        return 0.0
    own = [tile for tile in parts.tiles if tile.population == index]
    try:
        split = trials.tilings.tile(network, index, parts.sources[index], kept + (moved > 0), core, trials.budget)
    except DoesNotFitError:
        return 0.0
    splitters = max(moved.sum() / core.neurons, (moved > 0).sum() / core.axons)
    if not trials.options.packing:
        splitters = float(np.ceil(splitters))
    return _cost(own, parts, core.neurons) - _cost(split, parts, core.neurons) - float(splitters)


def _cost(tiles: Sequence[Tile], parts: Partition, neurons: int) -> float:
    """Cores of a population's tiles, plus those taken by the copies that feed its axons."""
    axons = sum(
        int(parts.sources[t.population].fed_by_chip[t.columns[t.plan.source[t.plan.source >= 0]]].sum()) for t in tiles
    )
    return len(tiles) + axons / neurons


# Trials: a rollout partitioned with splitters on various sets of edges.


Split = frozenset[EdgeKey]


@dataclass(frozen=True, eq=False)
class PartitionedRollout:
    """A partition, and the schedule and splitters that it is made for."""

    rollout: Rollout  # tick-level where an edge without slack has a splitter, or a node is summed in parts
    partition: Partition  # tiles and cores
    split: Split  # edges whose spikes go over splitters
    # result of the search for phases at least cost; ``None`` if not requested or if no node can move
    phases: PhaseChoice | None = None


class SplitterSearch:
    """Partitions one rollout with splitters on various edges."""

    # sums: nodes known so far to be summed in parts

    def __init__(self, rollout: Rollout, chip: ChipSpec, context: MappingContext) -> None:
        self.rollout, self.chip, self.context = rollout, chip, context
        self.options, self.tilings, self.budget = context.options, context.tilings, context.budget
        self.core = core_of(chip)
        self.sums = PlannedSums(rollout.network, chip, context.options)
        self._chosen: tuple[Split, Mapping[str, PartialSums], tuple[TimedRollout, PhaseChoice | None]] | None = None

    def partition(self, split: Split, *, may_be_cut: bool = False, phases: Phases = "least") -> PartitionedRollout:
        """Partition with splitters on the given edges, with a schedule in ticks if one of them has no slack."""
        # Edges that lead to no computed neuron get none: they would lengthen the schedule for nothing. With
        # ``may_be_cut`` the trial ends when the time for choosing splitters is over. Neurons wider than a core are
        # summed in parts if allowed, from then on in every trial. ``phases`` selects the phases of the schedule.
        split = split & self._edges_in_use if split else split
        while True:
            try:
                sums = self.sums.planned
                timed, choice = self.choose_phases(split) if phases == "cheapest" else (self._timed(split), None)
                step, keep = timed.ticks_per_step, self.options.keep
                network = legalise(timed.rollout, self.chip, ticks_per_step=step, split=split, sums=sums)
                progress = self.context.progress
                watched = self.budget.watched("splitters", progress) if may_be_cut else progress
                context = replace(self.context, progress=watched)
                parts = partition(keep_nodes(network, keep), self.chip, context)
                return PartitionedRollout(timed.rollout, parts, split, choice)
            except DoesNotFitError as refusal:
                if not self.sums.take_up(refusal.infeasibility):
                    raise

    @cached_property
    def _edges_in_use(self) -> Split:
        return edges_in_use(self.rollout.network, self.options.keep)

    def choose_phases(self, split: Split) -> tuple[TimedRollout, PhaseChoice | None]:
        """Find the phases that take fewest neurons, with splitters on the given edges and the sums known so far."""
        # The last result is cached: it is used once to see what it promises, and once to map with it.
        sums, split = self.sums.planned, split & self._edges_in_use
        if self._chosen is None or self._chosen[0] != split or self._chosen[1] is not sums:
            seconds = self.budget.left_s("splitters")
            found = choose_phases(self._timed(split), self.chip, split, sums, seconds, self.options.keep)
            self._chosen = split, sums, found
        return self._chosen[2]

    def _timed(self, split: Split) -> TimedRollout:
        sums = self.sums.planned
        timed = schedule_on_chip(self.rollout, split, self.chip, self.options.ticks_per_step, sums)
        return fastest(timed, self.chip, split, sums) if self.options.phases == "fastest" else timed
