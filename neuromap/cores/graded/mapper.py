"""The mapper of graded cores: that of synapse lists, with values that must fit the chip's widths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.graded.program import GradedProgram, UnitTable
from neuromap.cores.synapse_list.fill_cores import ListPartition, fill_cores, wires_of
from neuromap.cores.synapse_list.list_network import ListNetwork, list_network
from neuromap.cores.synapse_list.mapper import core_bound, listed, most_axons, regions_of
from neuromap.cores.synapse_list.pinned import fixed_by
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalise import keep_nodes, legalise
from neuromap.mapping.partition.choose_phases import cheap_phases
from neuromap.mapping.parts import Parts
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.network import Network
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["core_bound", "emit", "most_axons", "partition"]
Ints = NDArray[np.int64]


def partition(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Put the neurons of a rollout into cores."""
    rollout, options, phases = cheap_phases(rollout, chip, context.options, context.budget)
    network = keep_nodes(legalise(rollout, chip, ticks_per_step=options.ticks_per_step), options.keep)
    lists = list_network(network, chip)
    require_values_held(lists, rollout.network, chip)
    lists = cut_weights(lists, chip)
    fixed = fixed_by(options.pins, lists, chip)
    parts = fill_cores(lists, chip, budget=context.budget, fixed=fixed)
    regions = None if fixed is None else regions_of(parts, fixed)
    return Parts(rollout, parts, parts.n_cores, wires_of(parts), regions=regions, phases=phases)


def emit(rollout: Rollout, given: Parts, where: Ints, chip: ChipSpec) -> GradedProgram:
    """Write the program of placed cores."""
    parts: ListPartition = given.partition
    program = listed(rollout, parts, where, chip)
    return GradedProgram(**program, units=_unit_table(parts, chip), ranges=_ranges(rollout.network))


def _ranges(network: Network) -> NDArray[np.int32]:
    """Give the least and greatest value of every node."""
    ranges = [node.graded.value_range for node in network.nodes.values() if node.graded is not None]
    return np.array(ranges, np.int32).reshape(-1, 2)


def _unit_table(parts: ListPartition, chip: ChipSpec) -> UnitTable:
    """Write what neurons compute; those that nobody uses, and compartments that are joined, send nothing."""
    shape, lists = (parts.n_cores, chip.neurons), parts.lists
    somas = np.flatnonzero(lists.is_computed[: lists.n_somas])
    at = parts.core[somas], parts.slot[somas]
    tables = {}
    for name, dtype in (("multiplier", np.int32), ("shift", np.uint8), ("low", np.int32), ("high", np.int32)):
        pairs = zip(lists.neurons, np.diff(lists.offset).tolist(), strict=True)
        values = np.concatenate([np.broadcast_to(getattr(n.neuron, name), size) for n, size in pairs])
        tables[name] = np.zeros(shape, dtype)
        tables[name][at] = values[somas]
    more = np.flatnonzero(lists.is_computed[lists.n_somas :]) + lists.n_somas
    if not len(more):
        return UnitTable(**tables)
    joined = np.full(shape, -1, np.int32)
    joined[parts.core[more], parts.slot[more]] = parts.slot[lists.soma[more]]
    return UnitTable(**tables, joined=joined)


def cut_weights(lists: ListNetwork, chip: ChipSpec) -> ListNetwork:
    return lists


def require_values_held(lists: ListNetwork, network: Network, chip: ChipSpec) -> None:
    pass
