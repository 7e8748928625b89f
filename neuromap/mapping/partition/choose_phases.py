"""Phases for a chip: those of the rollout, or those whose delays cost fewest neurons."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from neuromap.arrays.value import Value
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.mapping.legalise.legalise import NO_SUMS
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.partition.delay_costs import delay_costs
from neuromap.mapping.partition.schedule import TimedRollout
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.cheapest_phases import cheapest_phases, move_ranges
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["PhaseChoice", "choose_phases"]


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
        legs_of_delay(delay * timed.ticks_per_step - leads.get(v, 0), *chip.delay)
        for (u, v), delay in rollout.delays.items()
        if u not in inputs
    )
