"""The mapper of many-target cores: from a rollout to a program, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass, fields

from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.list_program import ListProgram
from neuromap.mapping.asked.budget import Budget
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.legalise.keep_nodes import keep_nodes
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.lists.emit_lists import emit_lists
from neuromap.mapping.lists.fill_cores import ListPartition, fill_cores, ways
from neuromap.mapping.lists.list_network import ListNetwork, list_network
from neuromap.mapping.lists.list_weights import require_weights_held
from neuromap.mapping.place.place import place
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["MappedLists", "map_lists", "partition_lists"]


@dataclass(frozen=True, eq=False)
class MappedLists(Value):
    """What the stages of the mapper made of a rollout on many-target cores.

    Attributes
    ----------
    partition : ListPartition
        Neurons in cores.
    program : ListProgram
        What is loaded onto the chip; not checked yet.
    """

    partition: ListPartition
    program: ListProgram


def map_lists(
    rollout: Rollout,
    chip: ChipSpec,
    options: MappingOptions,
    progress: Progress | None = None,
    budget: Budget | None = None,
) -> MappedLists:
    """Map a rolled-out network onto a chip with synapse-list cores.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : ChipSpec
        With synapse-list cores.
    options : MappingOptions
        Placer, seed, seconds, ticks per step and kept nodes; splitters and pins of tiles have no meaning here.
    progress : callable, optional
        Called with parts done, parts in all, and the name of the last.
    budget : Budget, optional
        In place of one made of the options' seconds.

    Returns
    -------
    MappedLists

    Raises
    ------
    NetworkError, DoesNotFitError, InputError
        As :func:`neuromap.mapping.map_rollout.map_rollout`.
    """
    budget = Budget(options.seconds, progress) if budget is None else budget
    parts = partition_lists(rollout, chip, options)
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


def partition_lists(rollout: Rollout, chip: ChipSpec, options: MappingOptions) -> ListPartition:
    """Put the neurons of a rolled-out network into synapse-list cores.

    Parameters
    ----------
    rollout, chip, options
        As for :func:`map_lists`.

    Returns
    -------
    ListPartition

    Raises
    ------
    NetworkError, DoesNotFitError
        As :func:`neuromap.mapping.map_rollout.map_rollout`.
    InputError
        If tiles, cores, regions or splitters are pinned.
    """
    _refuse_pins(options, chip)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    return _partition(list_network(network, chip), chip)


def _refuse_pins(options: MappingOptions, chip: ChipSpec) -> None:
    pinned = [field.name for field in fields(options.pins) if getattr(options.pins, field.name)]
    if pinned:
        raise InputError(
            f"pins: {', '.join(pinned)} are pinned; neurons of the synapse-list cores of {chip.name} share cores by "
            "what they read, so leave pins out"
        )


def _partition(lists: ListNetwork, chip: ChipSpec) -> ListPartition:
    """Put neurons into cores; in their own order where neurons that share a core otherwise have no common weights."""
    parts = fill_cores(lists, chip)
    try:
        require_weights_held(parts, chip)
    except DoesNotFitError:
        parts = fill_cores(lists, chip, by_number=True)
        require_weights_held(parts, chip)
    return parts
