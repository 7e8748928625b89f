"""Partition a rollout: legalise, tile and pack it, and choose how spikes fan out.

They fan out by copies, which take neurons, or by splitters, which take a leg of the delay. Copies of a neuron crowd
its core. Every core more that its node takes reads the node's sources anew, so they need more copies in turn. A
splitter ends that: the node keeps one copy, and identity neurons elsewhere carry the rest. On an edge whose delay has
room for two legs it costs no tick; on any other, the schedule is made anew in ticks, with a latency of two legs on
that edge.

The choice is a search over the real cost: nodes are ranked by what splitting their edges would save, were all else
left as it is; the best proposals are mapped in full, and kept if they need fewer cores.

So are phases at least cost, where these are asked for: what they take at least is an estimate, as readers share an axon
only where they share a core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.budget import NO_LIMIT, Budget, OverBudget
from neuromap.mapping.asked.options import MappingOptions, Splitters
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.core.core_model import Cores
from neuromap.mapping.partition.partition import Partition, with_shared_cores
from neuromap.mapping.partition.split_trials import PartitionedRollout, Split, Trials
from neuromap.mapping.partition.splitter_proposals import propose_splits
from neuromap.mapping.tile.refuse_tiling import refuse_cores
from neuromap.mapping.tile.tilings import Tilings
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["partition_rollout"]

MAY_STAND_ANYWHERE: dict[Splitters, tuple[bool, ...]] = {"never": (), "slack": (False,), "anywhere": (False, True)}
"""Searches for splitters: on edges with slack first, where they cost no tick."""


def partition_rollout(
    rollout: Rollout,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Progress | None = None,
    tilings: Tilings | None = None,
    budget: Budget = NO_LIMIT,
) -> PartitionedRollout:
    """Partition a rollout, with splitters where they save cores."""
    # gives with cores shared, and no more of them than the chip has
    trials = Trials(rollout, chip, options, progress, tilings, budget)
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
            found += _with_cheapest_phases(trials, split, needed=best is None)
    if not found:
        assert refusal is not None, "a partition was refused, or it is the best"
        raise refusal
    shared = [_with_shared_cores(trials, one) for one in found]
    smallest = min(shared, key=_size)
    if len(smallest.partition.cores) > trials.cores.usable:
        raise _refuse_cores(smallest.partition, trials.cores)
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


def _with_cheapest_phases(trials: Trials, split: Split, *, needed: bool) -> list[PartitionedRollout]:
    """Partition with phases at least cost, where that is legal and in time; it is if nothing else was."""
    if not needed and trials.budget.is_over("splitters"):
        return []
    try:
        return [trials.partition(split, may_be_cut=not needed, phases="cheapest")]
    except (DoesNotFitError, OverBudget):
        return []


def _with_shared_cores(trials: Trials, one: PartitionedRollout) -> PartitionedRollout:
    shared = with_shared_cores(one.partition, trials.cores.model, trials.options, trials.tilings, trials.budget)
    return replace(one, partition=shared)


def _size(one: PartitionedRollout) -> tuple[int, int]:
    """Cores, and neurons in use."""
    return len(one.partition.cores), sum(int(tile.copies.sum()) for tile in one.partition.tiles)


def _with_better_splitters(
    trials: Trials, best: PartitionedRollout | None, *, anywhere: bool
) -> PartitionedRollout | None:
    """Try the splitters that are proposed for the best so far; return what takes fewest cores, the first of equals."""
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
    """Pass proposals on until their time is over; one that is needed for a first mapping is always tried."""
    while needed or budget.left_s("splitters") > 0:
        split = next(splits, None)
        if split is None:
            return
        yield split
    budget.is_over("splitters")


def _refuse_cores(parts: Partition, cores: Cores) -> DoesNotFitError:
    """Refuse more cores than there are; each counts for the population that takes most of its neurons."""

    def load(tile: int) -> int:
        return int(parts.tiles[tile].copies.sum())

    held = Counter(parts.tiles[max(core.tiles, key=load)].population for core in parts.cores)
    return refuse_cores(parts.network, held, cores)
