"""Phases for a chip: those of the rollout, or those whose delays cost fewest neurons."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.value import Value
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_segments import fewest_ticks_per_step, segments_of_delay
from neuromap.mapping.legalise.legalise import NO_SUMS
from neuromap.mapping.legalise.legalised import PartialSums
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import require_weights
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.schedule.cheapest_phases import DelayCost, cheapest_phases, move_ranges
from neuromap.rollout.schedule.fastest_phases import fastest_phases
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class PhaseChoice(Value):
    """What a search for phases at least cost came to."""

    # neurons, neurons_before: neurons that the delays take at least with these phases, and with those that the rollout
    # had
    neurons: int
    neurons_before: int
    # whether no phases with the same period and responses take fewer; false where the search was cut off
    is_proven: bool
    # whether the rollout was mapped with them: readers that would share an axon may not share a core
    is_taken: bool = False

    @property
    def statement(self) -> str:
        """What came of it, in one line."""
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
    """Give a rollout the phases whose delays cost fewest neurons of a chip."""
    # Period, ticks per step and the times of inputs and outputs stay, and every delay is one that the chip can give.
    # gives the same rollout where none is cheaper; ``None`` where no node can move
    rollout, step = timed.rollout, timed.ticks_per_step
    leads = {node: of_node.lead for node, of_node in sums.items()}
    least = _least_delays(timed, chip, split, leads)
    if any(rollout.delays[edge] < ticks for edge, ticks in least.items()):
        return timed, None  # legalising will say which delay cannot be given
    if all(low == high for low, high in move_ranges(rollout, least).values()):
        return timed, None
    costs = delay_costs(rollout, chip, step, split, leads, keep)
    found = cheapest_phases(rollout, costs, least, seconds=seconds)
    if not _is_legal(found.rollout, timed, chip, leads):
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
    """Give a rollout the phases whose first responses, over all inputs and outputs, have the least sum."""
    # where intervals are unequal, or the chip cannot give a delay that these ask for, the rollout keeps its own
    rollout, leads = timed.rollout, {node: of_node.lead for node, of_node in sums.items()}
    least = _least_delays(timed, chip, split, leads)
    if rollout.network.is_spiking or not isinstance(rollout.frame_period, int):
        return timed
    if any(rollout.delays[edge] < ticks for edge, ticks in least.items()):
        return timed  # legalising will say which delay cannot be given
    found = fastest_phases(rollout, least=least).rollout
    return TimedRollout(found, timed.ticks_per_step) if _is_legal(found, timed, chip, leads) else timed


def _least_delays(
    timed: TimedRollout, chip: ChipSpec, split: frozenset[EdgeKey], leads: Mapping[str, int]
) -> dict[EdgeKey, int]:
    """Units of delay that edges on the chip take: a leg, or two with a splitter, and what their target's sums take."""
    inputs = timed.rollout.network.inputs
    return {
        (u, v): -(-((2 if (u, v) in split else 1) * chip.delay[0] + leads.get(v, 0)) // timed.ticks_per_step)
        for u, v in timed.rollout.network.edges
        if u not in inputs
    }


def _is_legal(rollout: Rollout, timed: TimedRollout, chip: ChipSpec, leads: Mapping[str, int]) -> bool:
    inputs = rollout.network.inputs
    return all(
        segments_of_delay(delay * timed.ticks_per_step - leads.get(v, 0), *chip.delay)
        for (u, v), delay in rollout.delays.items()
        if u not in inputs
    )


# What the delays of a rollout cost on a chip: relays, and on crossbar cores a copy for every distinct delay.
#
# A neuron of a crossbar core feeds one axon at one delay. So a neuron whose spikes are read at k delays takes k
# neurons of the chip at least, and one more for every relay; readers that share a core, and the delay, share its
# axon. Where a neuron has many targets, relays alone cost something.
def delay_costs(
    rollout: Rollout,
    chip: ChipSpec,
    ticks_per_step: int,
    split: frozenset[EdgeKey],
    leads: Mapping[str, int],
    keep: Collection[str] = (),
) -> list[DelayCost]:
    """Say what the delays of every node on the chip cost."""
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
    """Count the neurons of a node that are read over the same of some edges; those that nobody reads are left out."""
    reads = [_is_read(rollout, edge) for edge in edges]
    group = np.zeros(len(reads[0]), np.int64)
    for is_read in reads:  # split the groups so far in two each
        group = np.unique(group * 2 + is_read, return_inverse=True)[1]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    for neuron, count in zip(first.tolist(), counts.tolist(), strict=True):
        over = tuple(edge for edge, is_read in zip(edges, reads, strict=True) if is_read[neuron])
        if over:
            yield over, count


def _is_read(rollout: Rollout, edge: EdgeKey) -> NDArray[np.bool_]:
    matrix = rollout.network.edges[edge].matrix()
    read = np.zeros(matrix.shape[1], bool)
    read[matrix.indices] = True
    return read


def cheap_phases(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, budget: Budget
) -> tuple[Rollout, MappingOptions, PhaseChoice | None]:
    """Give a rollout the phases that are asked for: its own, or those with fewest relays, or shortest responses."""
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


# Edges over which something reaches a neuron that is computed: only there a splitter has anything to carry.
def edges_in_use(network: Network, keep: Collection[str] = ()) -> frozenset[EdgeKey]:
    """Find the edges with weights into neurons that an output depends on, or that are kept."""
    reads = {edge: value.matrix() for edge, value in network.edges.items()}
    computed: dict[str, NDArray[np.bool_]] = {
        name: np.full(node.size, name in network.outputs or name in keep or "all" in keep)
        for name, node in network.nodes.items()
    }
    waiting = {name for name, mine in computed.items() if mine.any()}
    while waiting:
        reader = waiting.pop()
        for (source, target), matrix in reads.items():
            if target == reader:
                read = matrix[np.flatnonzero(computed[reader])].indices
                if not computed[source][read].all():
                    computed[source][read] = True
                    waiting.add(source)
    return frozenset(edge for edge, matrix in reads.items() if np.diff(matrix.indptr)[computed[edge[1]]].any())


# The schedule that splitters and partial sums ask for: as it is where they fit into it, else made anew in ticks.


@dataclass(frozen=True)
class TimedRollout:
    """A rollout, and how long a unit of its delays takes on the chip."""

    rollout: Rollout  # in update steps, or in ticks
    ticks_per_step: int  # ticks of a unit of its delays: 1 where it is in ticks


def ticks_of_step(rollout: Rollout, chip: ChipSpec, fixed: int | None) -> int:
    """Find the ticks that a unit of a rollout's delays takes."""
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
    # gives in steps where the rollout is, no node is summed in parts, and every split edge has room for two legs; else
    # in ticks, as short as the chip, splitters, sums, the rollout's own latencies and the fixed steps allow
    step = ticks_of_step(rollout, chip, fixed)
    has_room = all(rollout.delays[e] * step >= 2 * chip.delay[0] for e in split)
    if not rollout.is_tick_level and not sums and has_room:
        return TimedRollout(rollout, step)
    return TimedRollout(_InTicks(rollout, split, chip, 1 if fixed is None else fixed, sums).schedule(), 1)


class _InTicks:
    """Makes a schedule anew in ticks; no edge is quicker than ``floor``, a step that the user fixes."""

    def __init__(
        self, rollout: Rollout, split: frozenset[EdgeKey], chip: ChipSpec, floor: int, sums: Mapping[str, PartialSums]
    ) -> None:
        self._rollout, self._split, self._chip, self._floor = rollout, split, chip, floor
        self._lead = {node: of_node.lead for node, of_node in sums.items()}
        self._busy = max([rollout.least_period, *(of_node.busy for of_node in sums.values())])
        self._inputs = frozenset(rollout.network.inputs)

    def schedule(self) -> Rollout:
        """Make the schedule with legs as short as possible."""
        # Some delays cannot be made of legs of, say, 4 or 5 ticks; then longer ones are tried, up to twice the
        # shortest: they make every edge as slow as one over a splitter, and longer ones would make the schedule slower
        # still. If none will do, the schedule of the shortest is returned: legalising refuses it, and names the delay
        # that cannot be made.
        least, greatest = self._chip.delay
        for segment in range(least, 2 * least + 1):
            found = self._with_segments(segment)
            ways = (d - self._lead.get(v, 0) for (u, v), d in found.delays.items() if u not in self._inputs)
            if all(segments_of_delay(way, least, greatest) for way in ways):
                return found
        return self._with_segments(least)

    def _with_segments(self, segment: int) -> Rollout:
        rollout = self._rollout
        latencies = {
            e: max(latency, self._floor, self._latency(e, segment)) for e, latency in rollout.latencies.items()
        }
        if latencies == dict(rollout.latencies) and self._busy == rollout.least_period:
            return rollout
        return rollout.with_latencies(latencies, self._busy)

    def _latency(self, edge: EdgeKey, segment: int) -> int:
        """Count the ticks of an edge: one leg on the chip, or two with a splitter, and what its target's sums take."""
        lead = self._lead.get(edge[1], 0)
        if edge[0] in self._inputs:
            return lead + 1
        return lead + (2 if edge in self._split else 1) * segment
