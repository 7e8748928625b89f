"""The mapper of many-target cores: from a rollout to a program, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.list_program import ListProgram
from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.legalise.keep_nodes import keep_nodes
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.mapping.lists.emit_lists import emit_lists
from neuromap.mapping.lists.fill_cores import ListPartition, fill_cores, ways
from neuromap.mapping.lists.list_network import ListNetwork, list_network
from neuromap.mapping.lists.list_weights import require_weights_held
from neuromap.mapping.partition.choose_phases import PhaseChoice, choose_phases
from neuromap.mapping.partition.schedule import TimedRollout
from neuromap.mapping.place.place import place
from neuromap.network.complete import require_weights
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["MappedLists", "map_lists", "partition_lists", "phases_for_lists"]


@dataclass(frozen=True, eq=False)
class MappedLists(Value):
    """What the stages of the mapper made of a rollout on many-target cores."""

    partition: ListPartition  # neurons in cores
    program: ListProgram  # what is loaded onto the chip; not checked yet


def map_lists(
    rollout: Rollout,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Progress | None = None,
    budget: Budget | None = None,
) -> MappedLists:
    """Map a rolled-out network onto a chip with synapse-list cores."""
    # options: placer, seed, seconds, ticks per step and kept nodes; splitters and pins of tiles have no meaning here
    # budget: in place of one made of the options' seconds
    budget = Budget(options.seconds, progress) if budget is None else budget
    parts = partition_lists(rollout, chip, options, budget)
    source, target = ways(parts)
    where = place(
        parts.n_cores,
        (parts.core[source], target),
        chip,
        options.placer,
        seed=options.seed,
        seconds=None if options.seconds is None else budget.left_s("placement"),
        progress=progress,
    )
    budget.is_over("placement")
    return MappedLists(parts, emit_lists(rollout, parts, where, chip))


def phases_for_lists(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, budget: Budget
) -> tuple[Rollout, MappingOptions, PhaseChoice | None]:
    """Give a rollout the phases that are asked for: its own, or those that take fewest relays."""
    if options.phases == "least":
        return rollout, options, None
    require_weights(rollout.network)
    step = options.ticks_per_step or fewest_ticks_per_step(rollout, chip)
    timed, choice = choose_phases(
        TimedRollout(rollout, step), chip, seconds=budget.left_s("placement"), keep=options.keep
    )
    if choice is None:
        return rollout, options, None
    return timed.rollout, replace(options, ticks_per_step=step), replace(choice, is_taken=timed.rollout is not rollout)


def partition_lists(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, budget: Budget = NO_LIMIT
) -> ListPartition:
    """Put the neurons of a rolled-out network into synapse-list cores."""
    _refuse_pins(options, chip)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    return _partition(list_network(network, chip), chip, budget)


def _refuse_pins(options: MappingOptions, chip: ChipSpec) -> None:
    pinned = [field.name for field in fields(options.pins) if getattr(options.pins, field.name)]
    if pinned:
        raise InputError(
            f"pins: {', '.join(pinned)} are pinned; neurons of the synapse-list cores of {chip.name} share cores by "
            "what they read, so leave pins out"
        )


def _partition(lists: ListNetwork, chip: ChipSpec, budget: Budget) -> ListPartition:
    """Put neurons into cores; in their own order where neurons that share a core otherwise have no common weights."""
    parts = fill_cores(lists, chip, budget=budget)
    try:
        require_weights_held(parts, chip)
    except DoesNotFitError:
        parts = fill_cores(lists, chip, by_number=True)
        require_weights_held(parts, chip)
    return parts
