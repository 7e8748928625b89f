"""A plan on the chip: its network, its program, and where the host meets it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.backends.nengo.crossbar.crossbar_network import as_crossbar_network
from neuromap.backends.nengo.crossbar.crossbar_plan import CrossbarPlan
from neuromap.backends.nengo.crossbar.value_lines import LineGroup
from neuromap.backends.nengo.list_network import as_chip_network
from neuromap.backends.nengo.plan.chip_network import ChipNetwork
from neuromap.backends.nengo.plan.chip_plan import ChipPlan, EnsembleOnChip
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.map_rollout import map_rollout
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["MappedPlan", "map_plan"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MappedPlan(Card):
    """What is loaded onto the chip."""

    plan: ChipPlan | CrossbarPlan  # in units of Nengo
    built: ChipNetwork  # in integers
    program: ChipProgram  # on the chip
    first_input: Mapping[str, int]  # number of neuron 0 of every input node, among the neurons of all input nodes
    n_inputs: int  # their number
    # host_input, host_core, host_axon: (K,): axons that a neuron of the input nodes feeds
    host_input: Ints
    host_core: Ints
    host_axon: Ints
    # (C, N): number of a neuron among those of all ensembles, in their order; -1 where there is none that is read out
    place: Ints
    # neuron_core, neuron_slot: (n,): the other way round
    neuron_core: Ints
    neuron_slot: Ints
    lines: tuple[LineGroup, ...] = ()  # what carries decoded values on crossbar cores; empty for other chips

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def ensembles(self) -> tuple[EnsembleOnChip, ...]:
        """Ensembles of the plan."""
        return self.plan.ensembles


def map_plan(plan: ChipPlan | CrossbarPlan, chip: ChipSpec) -> MappedPlan:
    """Put a plan onto a chip."""
    lines: tuple[LineGroup, ...] = ()
    if isinstance(plan, CrossbarPlan):
        built, lines = as_crossbar_network(plan, chip)
    else:
        built = as_chip_network(plan, chip)
    network = built.network
    program = map_rollout(Rollout(network, "streaming"), chip=chip, options=MappingOptions(placer="hilbert"))
    names = [port.name for port in program.nodes]
    first_input, n_inputs = _first(network.inputs, {n: network.nodes[n].size for n in names})
    first, total = _first([e.name for e in plan.ensembles], {n: network.nodes[n].size for n in names})
    start = np.array([first.get(name, 0) for name in names])
    read = program.outputs
    place = np.full(program.shape, -1, np.int64)
    place[read.core, read.neuron] = start[read.node] + read.index
    order = np.argsort(place[read.core, read.neuron])
    host = program.host
    start = np.array([first_input.get(name, 0) for name in names])
    assert total == len(order)
    assert not host.arrival.any()
    assert (host.node >= 0).all()
    return MappedPlan(
        plan,
        built,
        program,
        ReadOnlyMapping(first_input),
        n_inputs,
        (start[host.node] + host.index).astype(np.int64),
        host.core.astype(np.int64),
        host.axon.astype(np.int64),
        place,
        read.core[order].astype(np.int64),
        read.neuron[order].astype(np.int64),
        lines,
    )


def _first(names: Iterable[str], sizes: dict[str, int]) -> tuple[dict[str, int], int]:
    """Give the number of neuron 0 of every node where all are numbered through, and how many there are."""
    first, total = {}, 0
    for name in names:
        first[name] = total
        total += sizes[name]
    return first, total
