"""``Parts``: a rollout's neurons assigned to cores of any kind, before placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.partition.partition_rollout import PhaseChoice
from neuromap.mapping.place.emit import Routes
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import CurrentNeuron, GradedNeuron, LeakNeuron
from neuromap.rollout.schedule.rollout import Rollout


class CorePartition(Protocol):
    """Assignment of neurons to cores, in the form of one kind of core."""

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""

    def held(self, population: int) -> tuple[int, int]:
        """Return the most copies of any neuron of a population, and the number of cores that hold some of it."""


@dataclass(frozen=True, eq=False)
class Parts(ReadOnly, Value):
    """A mapping before placement."""

    rollout: Rollout  # schedule: as requested, with other phases, or made anew in ticks
    partition: Any  # a :class:`CorePartition`
    n_cores: int  # cores in use
    wires: tuple[Ints, Ints]  # (w,): source and target core of every spike route; placement keeps routes short
    split: frozenset[EdgeKey] = frozenset()  # edges whose spikes go over splitters
    routes: Routes | None = None  # copies and their targets; ``None`` where nothing is copied
    regions: list[tuple[int, int, int, int] | None] | None = None  # of each core on the board; ``None`` for anywhere
    # result of the search for phases at least cost; ``None`` if not requested or if no node can move
    phases: PhaseChoice | None = None

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        found: Legalised = self.partition.network
        return found


def parts_of(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Assign the neurons of a rollout to cores."""
    pins = context.options.pins
    asked = chip.kind.structure.OPTIONS
    known = [f.name for f in fields(pins) if f"pins.{f.name}" in asked or ("pins" in asked and f.name != "neurons")]
    wrong = [f.name for f in fields(pins) if getattr(pins, f.name) and f.name not in known]
    if wrong:
        raise InputError(
            f"pins: {', '.join(wrong)} are pinned, which the {chip.core_model} cores of {chip.name} have not; "
            f"pins that they have: {', '.join(known) or 'none'}"
        )
    _require_objective(context.options, chip)
    require_neurons(rollout.network, chip)
    return chip.kind.mapper.partition(rollout, chip, context)


def _require_objective(options: MappingOptions, chip: ChipSpec) -> None:
    """Refuse time and energy objectives on chips where no partition changes the length of a tick."""
    if options.objective == "deliveries":
        return
    if "objective" not in chip.kind.structure.OPTIONS:
        why = f"neurons of its {chip.core_model} cores are packed for few cores and copies, which sets energy, too"
    elif not chip.is_timed:
        why = (
            'its ticks are of fixed length, so few deliveries take least energy; one with ticks = "timed" has a choice'
        )
    else:
        return
    raise InputError(f"objective = {options.objective}: has no meaning on {chip.name}: {why}; leave it out")


def program_labels(rollout: Rollout, network: Legalised, where: Ints, chip: ChipSpec) -> dict[str, Any]:
    """Return the fields common to programs of all core kinds; ``where`` has shape (cores, 2)."""
    return {
        "name": rollout.network.name,
        "chip": chip,
        "coordinates": where.astype(np.int32),
        "nodes": network.ports,
        "period": network.period,
        "ticks_per_step": network.ticks_per_step,
        "pattern": rollout.pattern.name or "unnamed",
        "execution": rollout.execution,
    }


def require_neurons(network: Network, chip: ChipSpec) -> None:
    """Refuse nodes whose neuron model the chip does not compute, naming the equation that rules it out."""
    for node in network.nodes.values():
        if chip.kind.computes(GradedNeuron) and node.graded is None:
            text = f"it sends spikes; neurons of {chip.name} send values"
            advice = Remedy("chip", "truenorth", "a chip whose cores send spikes, such as truenorth, computes it")
            raise refuse("neuron", node.name, 1, 0, text, [advice])
        if node.neuron is None or chip.kind.computes(type(node.neuron)):
            continue
        if isinstance(node.neuron, CurrentNeuron):
            one = f"2^{node.neuron.decay_bits}"
            text = f"its neurons decay, u := u ({one} - current_decay) / {one} + input; "
            advice = Remedy("chip", "loihi1", "a chip with synapse-list cores, such as loihi1, computes it")
        elif isinstance(node.neuron, GradedNeuron):
            text = "its neurons are graded, they send values; "
            said = "a chip with graded cores computes it, give --chip loihi2"
            if chip.kind.computes(LeakNeuron) or chip.kind.computes(CurrentNeuron):
                said += f"; neuromap import rates NET --chip {chip.name} --data SOURCE makes rates of its values"
            advice = Remedy("chip", "loihi2", said)
        else:
            text = "its neurons have a constant leak, V := V + leak, and a floor; "
            advice = Remedy("chip", "truenorth", "truenorth computes it")
        theirs = next((said for kind, said in _OTHERS.items() if chip.kind.computes(kind)), "those of {} forget")
        if isinstance(node.neuron, GradedNeuron):
            theirs = "those of {} send spikes only"
        raise refuse("neuron", node.name, 1, 0, text + theirs.format(chip.name), [advice])


# What a chip's neurons do, by the neuron class that they compute.
_OTHERS: Mapping[type, str] = ReadOnlyMapping(
    {LeakNeuron: "a neuron of {} adds a constant leak, V := V + leak", CurrentNeuron: "those of {} decay"}
)
