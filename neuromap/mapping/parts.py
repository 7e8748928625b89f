"""Parts: a rollout's neurons in cores, whatever the kind of cores, before these have places on the board."""

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
    """Neurons in cores, as a kind of core keeps them."""

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""

    def held(self, population: int) -> tuple[int, int]:
        """Count the copies of the neuron that has most, and cores that hold some of a population."""


@dataclass(frozen=True, eq=False)
class Parts(ReadOnly, Value):
    """A mapping up to its cores."""

    rollout: Rollout  # the schedule: the one asked for, or one in ticks where splitters made it anew
    partition: Any  # a :class:`CorePartition`
    n_cores: int  # cores in use
    wires: tuple[Ints, Ints]  # (w,): source and target core of every way that a spike may take; placed close together
    split: frozenset[EdgeKey] = frozenset()  # edges whose spikes go over splitters
    routes: Routes | None = None  # copies and their targets; ``None`` where nothing is copied
    regions: list[tuple[int, int, int, int] | None] | None = None  # of the board, within which a core must lie
    # what the search for phases at least cost came to; ``None`` where it was not asked for, or no node can move
    phases: PhaseChoice | None = None

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        found: Legalised = self.partition.network
        return found


def parts_of(rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
    """Put the neurons of a rollout into cores."""
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
    """Refuse objectives of time and energy where no partition changes how long a tick takes."""
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
    """Give what every program says, whatever its cores are like; ``where`` has shape (cores, 2)."""
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
    """Refuse nodes whose neurons the chip's do not compute, with the equation that keeps them out."""
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


# What neurons of a chip do, by the class that they compute.
_OTHERS: Mapping[type, str] = ReadOnlyMapping(
    {LeakNeuron: "a neuron of {} adds a constant leak, V := V + leak", CurrentNeuron: "those of {} decay"}
)
