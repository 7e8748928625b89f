"""Trials: a rollout partitioned with splitters on one set of edges or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.asked.options import MappingOptions, Phases
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.core.core_model import Cores
from neuromap.mapping.core.core_of import cores_of
from neuromap.mapping.legalise.keep_nodes import keep_nodes
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.partition.choose_phases import PhaseChoice, choose_phases
from neuromap.mapping.partition.edges_in_use import edges_in_use
from neuromap.mapping.partition.partition import Partition, partition
from neuromap.mapping.partition.schedule import TimedRollout, schedule_on_chip
from neuromap.mapping.tile.tilings import Tilings
from neuromap.mapping.wide.planned_sums import PlannedSums
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["PartitionedRollout", "Split", "Trials"]

Split = frozenset[EdgeKey]


@dataclass(frozen=True, eq=False)
class PartitionedRollout:
    """A partition, and the schedule and splitters that it is made for."""

    rollout: Rollout  # tick-level where an edge without slack has a splitter, or a node is summed in parts
    partition: Partition  # tiles and cores
    split: Split  # edges whose spikes go over splitters
    sums: Mapping[str, PartialSums]  # nodes whose sums are computed in parts
    # what the search for phases at least cost came to; ``None`` where it was not asked for, or no node can move
    phases: PhaseChoice | None = None


class Trials:
    """Partitions one rollout with splitters here or there."""

    # cores: those of the chip
    # tilings: shared by all trials
    # budget: as given
    # sums: nodes that are summed in parts, as far as they are known

    def __init__(
        self,
        rollout: Rollout,
        chip: ChipSpec,
        options: MappingOptions,
        progress: Progress | None = None,
        tilings: Tilings | None = None,
        budget: Budget = NO_LIMIT,
    ) -> None:
        self.rollout, self.chip, self.options = rollout, chip, options
        self.cores: Cores = cores_of(chip)
        self.tilings = Tilings(options) if tilings is None else tilings
        self.budget = budget
        self.sums = PlannedSums(rollout.network, chip, options)
        self._progress = progress
        self._chosen: tuple[Split, Mapping[str, PartialSums], tuple[TimedRollout, PhaseChoice | None]] | None = None

    def partition(self, split: Split, *, may_be_cut: bool = False, phases: Phases = "least") -> PartitionedRollout:
        """Partition with splitters on the edges named, their schedule in ticks where one of them has no slack."""
        # Edges that lead to no neuron that is computed get none: they would lengthen the schedule for nothing. With
        # ``may_be_cut`` it ends when the time for choosing splitters is over. Where neurons are wider than a core and
        # may be summed in parts, they are, from then on in every trial. ``phases`` says which ones the schedule has.
        split = split & self._edges_in_use if split else split
        while True:
            try:
                return self._partition(split, phases, may_be_cut=may_be_cut)
            except DoesNotFitError as refusal:
                if not self.sums.take_up(refusal.infeasibility):
                    raise

    @cached_property
    def _edges_in_use(self) -> Split:
        return edges_in_use(self.rollout.network, self.options.keep)

    def choose_phases(self, split: Split) -> tuple[TimedRollout, PhaseChoice | None]:
        """Find the phases that take fewest neurons with splitters on the edges named, and with sums as far as known."""
        # The last that were found are kept: they are asked for once to see what they promise, and once to map with
        # them.
        sums, split = self.sums.planned, split & self._edges_in_use
        if self._chosen is None or self._chosen[0] != split or self._chosen[1] is not sums:
            seconds = self.budget.left_s("splitters")
            found = choose_phases(self._timed(split), self.chip, split, sums, seconds, self.options.keep)
            self._chosen = split, sums, found
        return self._chosen[2]

    def _timed(self, split: Split) -> TimedRollout:
        return schedule_on_chip(self.rollout, split, self.chip, self.options.ticks_per_step, self.sums.planned)

    def _partition(self, split: Split, phases: Phases, *, may_be_cut: bool) -> PartitionedRollout:
        sums = self.sums.planned
        timed, choice = self.choose_phases(split) if phases == "cheapest" else (self._timed(split), None)
        network = legalise(timed.rollout, self.chip, ticks_per_step=timed.ticks_per_step, split=split, sums=sums)
        network = keep_nodes(network, self.options.keep)
        progress = self.budget.watched("splitters", self._progress) if may_be_cut else self._progress
        parts = partition(network, self.cores, self.tilings, progress, self.budget)
        return PartitionedRollout(timed.rollout, parts, split, sums, choice)
