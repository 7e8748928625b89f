"""Mapping as far as it takes to know that a network fits: no placement is refined and no program written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.mapping.core.refuse_spiking import require_no_currents
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.options.pins_file import check_pins
from neuromap.mapping.options.progress import Progress
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.place.place import place
from neuromap.mapping.place.route import route
from neuromap.mapping.synapse_list.fill_cores import ListPartition, ways
from neuromap.mapping.synapse_list.map_lists import partition_lists, phases_for_lists
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["Outline", "map_in_outline"]


@dataclass(frozen=True, eq=False)
class Outline(Value):
    """A mapping up to its cores."""

    rollout: Rollout  # the schedule: the one asked for, or one in ticks where splitters made it anew
    split: frozenset[EdgeKey]  # edges whose spikes go over splitters
    partition: Partition | ListPartition  # neurons in cores
    n_cores: int  # cores in use

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        return self.partition.network


def map_in_outline(request: Request, progress: Progress | None = None) -> Outline:
    """Map as far as it takes to know that a network fits."""
    # Cores are laid along a Hilbert curve, and by the placer asked for only where that breaks a limit of the board.
    chip, options = request.chip, request.options
    check_pins(options.pins, request.rollout.network, chip)
    return _OUTLINES[chip.core_model](request.rollout, chip, options, progress)


def _of_crossbars(rollout: Rollout, chip: ChipSpec, options: MappingOptions, progress: Progress | None) -> Outline:
    require_no_currents(rollout.network, chip)
    budget = Budget(options.seconds, progress)
    found = partition_rollout(rollout, chip, options, progress, budget=budget)
    parts = found.partition
    wires, n_cores = route(parts).wires, len(parts.cores)
    regions = parts.regions(options.pins) if options.pins.regions else None
    try:
        place(n_cores, wires, chip, "hilbert", regions=regions, seed=options.seed)
    except DoesNotFitError:
        seconds = None if options.seconds is None else budget.left_s("placement")
        place(n_cores, wires, chip, options.placer, regions=regions, seed=options.seed, seconds=seconds)
    return Outline(found.rollout, found.split, parts, n_cores)


def _of_lists(rollout: Rollout, chip: ChipSpec, options: MappingOptions, progress: Progress | None) -> Outline:
    budget = Budget(options.seconds, progress)
    rollout, options, _ = phases_for_lists(rollout, chip, options, budget)
    parts = partition_lists(rollout, chip, options, budget)
    source, target = ways(parts)
    wires = (parts.core[source], target)
    try:
        place(parts.n_cores, wires, chip, "hilbert", seed=options.seed)
    except DoesNotFitError:
        seconds = None if options.seconds is None else budget.left_s("placement")
        place(parts.n_cores, wires, chip, options.placer, seed=options.seed, seconds=seconds)
    return Outline(rollout, frozenset(), parts, parts.n_cores)


_OUTLINES: Mapping[CoreKind, Callable[..., Outline]] = ReadOnlyMapping(
    {"crossbar": _of_crossbars, "synapse-list": _of_lists}
)
"""The mapper's stages up to cores, by the kind of core."""
