"""From a rollout to crossbars: tiles in cores, copies and their targets, the program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import crossbar_core_bound
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import Population, Sources
from neuromap.mapping.map_rollout import Parts, program_labels
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.place.emit import emit as emit_crossbars
from neuromap.mapping.place.emit import route
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.rollout.schedule.rollout import Rollout

core_bound = crossbar_core_bound


def partition(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Partition the neurons of a rollout into cores, with copies or splitters where they feed several axons."""
    if rollout.network.is_spiking:
        require_leak_widths(rollout.network, chip)
        pins = replace(context.options.pins, splitters=frozenset())
        context = replace(context, options=replace(context.options, splitters="never", pins=pins))
    found = partition_rollout(rollout, chip, context)
    parts, pins = found.partition, context.options.pins
    routes = route(parts)
    regions = parts.regions(pins) if pins.regions else None
    return Parts(found.rollout, parts, len(parts.cores), routes.wires, found.split, routes, regions, found.phases)


def emit(rollout: Rollout, parts: Parts, where: Ints, chip: ChipSpec) -> Program:
    """Write the program of placed cores."""
    assert parts.routes is not None
    return emit_crossbars(program_labels(rollout, parts.network, where, chip), parts.partition, parts.routes, chip)


def most_axons(sources: Sources, population: Population, chip: ChipSpec, gathers: bool) -> int | None:
    """Return the most axons that any single neuron needs, on a core with unlimited axons."""
    if population.neuron is not None and not gathers:
        return None
    core = core_of(chip)
    most = 0
    for n in sources.busiest:
        axons = core.axons_alone(sources.weights_of(n), population.threshold[[n]])
        if axons is None:
            return None
        most = max(most, axons)
    return most


_SCALE = Remedy("neuron", None, "scale or round weights, thresholds and leaks of the node alike")


def require_leak_widths(network: Network, chip: ChipSpec) -> None:
    """Refuse neurons that the chip's widths cannot hold exactly for every input."""
    # Between ticks a potential lies from -floor to below the threshold; in a tick, all its positive, or negative,
    # weights and the leak can take it beyond. Inside the rails the order of events does not matter.
    for node in network.nodes.values():
        if isinstance(node.neuron, LeakNeuron):
            _require(network, node, node.neuron, chip)


def _require(network: Network, node: Node, neuron: LeakNeuron, chip: ChipSpec) -> None:
    rise, fall = np.maximum(neuron.leak, 0), np.minimum(neuron.leak, 0)
    for (_, v), edge in network.edges.items():
        if v == node.name:
            for term in edge.terms:
                rise = rise + np.asarray(term.matrix.maximum(0).sum(axis=1))
                fall = fall + np.asarray(term.matrix.minimum(0).sum(axis=1))
    low, high = chip.potential_range
    limits = [
        (int(neuron.threshold.max()), chip.threshold_range[1], "its threshold"),
        (int(neuron.floor.max()), chip.threshold_range[1], "its floor"),
        (int(neuron.leak.max()), chip.leak_range[1], "its leak"),
        (int(-neuron.leak.min()), -chip.leak_range[0], "its negative leak"),
        (int((neuron.threshold - 1 + rise).max()), high, "the potential that a tick may reach"),
        (int((neuron.floor - fall).max()), -low, "the negative potential that a tick may reach"),
    ]
    for demand, bound, what in limits:
        if demand > bound:
            text = f"{what} is {demand}, {chip.name} holds {bound}"
            raise refuse("potential", node.name, demand, bound, text, [_SCALE])
    over = np.flatnonzero(rise > neuron.threshold) if neuron.subtract else np.zeros(0, np.int64)
    if len(over):
        demand, bound = int(rise[over[0]]), int(neuron.threshold[over[0]])
        text = f"a tick may add {demand} to it, more than its threshold of {bound}, which a spike takes off"
        raise refuse(
            "potential", node.name, demand, bound, text, [_SCALE, Remedy("neuron", 0, "subtract = 0 would do")]
        )
