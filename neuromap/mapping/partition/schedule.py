"""The schedule that splitters and partial sums ask for: as it is where they fit into it, else made anew in ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["TimedRollout", "schedule_on_chip", "ticks_of_step"]


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
        for leg in range(least, 2 * least + 1):
            found = self._with_legs(leg)
            ways = (d - self._lead.get(v, 0) for (u, v), d in found.delays.items() if u not in self._inputs)
            if all(legs_of_delay(way, least, greatest) for way in ways):
                return found
        return self._with_legs(least)

    def _with_legs(self, leg: int) -> Rollout:
        rollout = self._rollout
        latencies = {e: max(latency, self._floor, self._latency(e, leg)) for e, latency in rollout.latencies.items()}
        if latencies == dict(rollout.latencies) and self._busy == rollout.least_period:
            return rollout
        return rollout.with_latencies(latencies, self._busy)

    def _latency(self, edge: EdgeKey, leg: int) -> int:
        """Count the ticks of an edge: one leg on the chip, or two with a splitter, and what its target's sums take."""
        lead = self._lead.get(edge[1], 0)
        if edge[0] in self._inputs:
            return lead + 1
        return lead + (2 if edge in self._split else 1) * leg
