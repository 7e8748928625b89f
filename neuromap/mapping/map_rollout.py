"""The mapper: from a rollout to a program, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import did_you_mean
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import Progress, Stage
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.options.pins_file import check_pins
from neuromap.mapping.partition.partition_rollout import PhaseChoice
from neuromap.mapping.place.emit import Routes
from neuromap.mapping.place.place import place
from neuromap.mapping.tile.tile import key_of
from neuromap.mapping.tile.tilings import MappingContext, Tilings
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import CurrentNeuron, GradedNeuron, LeakNeuron
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class MappedRollout(Card):
    """A mapped rollout, with the result of every stage.

    Attributes
    ----------
    rollout : Rollout
        Schedule that was mapped: in ticks where splitters stand on edges without slack or sums are computed in parts,
        else the given rollout, possibly with other phases.
    split : frozenset of (str, str)
        Edges whose spikes go over splitters.
    partition : Partition or another
        Assignment of neurons to cores (tiles on crossbar cores); ``partition.network`` is the legalised network.
    routes : Routes or None
        Copies and their targets; ``None`` for many-target cores, where nothing is copied.
    program : Program or ListProgram
        Program for the chip; its type depends on the kind of core.
    cut_short : tuple of {"tiling", "splitters", "packing", "filling", "placement"}
        Stages whose search hit the time limit ``MappingOptions.seconds``; each kept its best result so far.
    phases : PhaseChoice or None
        Result of the search for phases at least cost; ``None`` if not requested or if no node can move.
    """

    rollout: Rollout
    split: frozenset[EdgeKey]
    partition: CorePartition
    routes: Routes | None
    program: ChipProgram
    cut_short: tuple[Stage, ...] = ()
    phases: PhaseChoice | None = None

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.rollout.network.name,
            "pattern": self.rollout.pattern.name,
            "execution": self.rollout.execution,
            "chip": self.program.chip.name,
            "cores": f"{self.program.n_cores} of {self.program.chip.n_usable_cores}",
            **({"left out": ", ".join(self.left_out)} if self.left_out else {}),
            **({"cut short": ", ".join(self.cut_short)} if self.cut_short else {}),
            "splitters on": ", ".join(f"{u} -> {v}" for u, v in sorted(self.split)) or "no edge",
        }

    @property
    def left_out(self) -> dict[str, int]:
        """Number of hidden neurons per node that lead to no output and are not mapped; see ``Program.left_out``."""
        return self.program.left_out

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        return self.partition.network


def map_with_stages(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    options: MappingOptions | None = None,
    progress: Progress | None = None,
    tilings: Tilings | None = None,
) -> MappedRollout:
    """Map a rolled-out network onto a chip and return the result of every stage.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    options : MappingOptions, optional
        Strategies, limits and pins.
    progress : callable, optional
        Called with the number of parts done, the total, and the name of the last part.
    tilings : Tilings, optional
        Cached tilings, to which new ones are added; share them when mapping several rollouts of one network onto one
        chip with the same options.

    Returns
    -------
    MappedRollout
        Its program is legal for the chip.

    Raises
    ------
    NetworkError, ChipError, InputError, DoesNotFitError
        As :func:`map_rollout`.
    """
    needs("map_rollout", rollout, Rollout)
    options = MappingOptions() if options is None else options
    needs("map_rollout: options", options, MappingOptions)
    spec = load_chip(chip)
    options.require_meant_for(spec)
    context = MappingContext.of(options, progress, tilings)
    parts = parts_of(rollout, spec, context)
    where = _placed(parts, spec, context)
    program = spec.kind.mapper.emit(rollout, parts, where, spec)
    require_legal(program)  # the checker shares no code with the mapper
    cut = context.budget.cut
    return MappedRollout(parts.rollout, parts.split, parts.partition, parts.routes, program, cut, parts.phases)


def _placed(parts: Parts, chip: ChipSpec, context: MappingContext) -> Ints:
    """Place cores, or reuse the cached placement of a partition with the same wires."""
    options, budget = context.options, context.budget
    known = {} if budget.is_limited else context.tilings.places
    by_tiles = options.objective != "deliveries"
    name = key_of((parts.n_cores, parts.regions, options.placer, options.seed, by_tiles), *parts.wires)
    if name not in known:
        seconds = None if options.seconds is None else budget.left_s("placement")
        where = place(
            parts.n_cores,
            parts.wires,
            chip,
            options.placer,
            regions=parts.regions,
            seed=options.seed,
            seconds=seconds,
            progress=context.progress,
            by_tiles=by_tiles,
        )
        known[name] = where
        budget.is_over("placement")  # then it is told among the stages that were cut
    return known[name]


def map_rollout(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    *,
    progress: Progress | None = None,
    options: MappingOptions | None = None,
    **choices: Any,
) -> ChipProgram:
    """Map a rolled-out network onto a chip.

    Frame by frame, the program computes the same values as :func:`neuromap.reference` does without a chip;
    :func:`neuromap.verify` checks this (docs/mapping.md).

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    progress : callable, optional
        Called with the number of parts done, the total, and the name of the last part.
    options : MappingOptions, optional
        Strategies, limits and pins.
    **choices
        Fields of :class:`~neuromap.mapping.options.options.MappingOptions` that override those of ``options``:
        ``placer``, ``splitters``, ``packing``, ``partitioner``, ``pins``, ``seed``, ``seconds``, ``ticks_per_step``,
        ``keep``, ``phases``, ``wide``, ``wide_ticks``, ``objective``, ``max_cores``, ``activity``.

    Returns
    -------
    Program or ListProgram
        Legal for the chip; the type depends on its kind of core.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    ChipError
        If the chip is unknown or its file malformed.
    InputError
        If an option is unknown or out of range.
    DoesNotFitError
        If the network does not fit; ``error.infeasibility`` names node, demand, bound, gap and remedies.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/digits/sr.toml")
    >>> program = nm.map_rollout(nm.Rollout(net, "streaming"), chip="truenorth")
    >>> program.period
    1
    """
    options = MappingOptions() if options is None else options
    needs("map_rollout: options", options, MappingOptions)
    known = [field.name for field in fields(MappingOptions)]
    for name in choices:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(f"map_rollout: option {name} is not known; options are {', '.join(known)}{near}")
    return map_with_stages(rollout, chip, replace(options, **choices), progress).program


# A rollout's neurons assigned to cores of any kind, before placement.


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
    check_pins(pins, rollout.network, chip)
    asked = chip.kind.structure.OPTIONS
    known = [f.name for f in fields(pins) if f"pins.{f.name}" in asked or ("pins" in asked and f.name != "neurons")]
    wrong = [f.name for f in fields(pins) if getattr(pins, f.name) and f.name not in known]
    if wrong:
        raise InputError(
            f"pins: {', '.join(wrong)} are pinned, which the {chip.core_model} cores of {chip.name} have not; "
            f"pins that they have: {', '.join(known) or 'none'}"
        )
    objective, why = context.options.objective, ""
    if "objective" not in asked:
        why = f"neurons of its {chip.core_model} cores are packed for few cores and copies, which sets energy, too"
    elif not chip.is_timed:
        why = (
            'its ticks are of fixed length, so few deliveries take least energy; one with ticks = "timed" has a choice'
        )
    if objective != "deliveries" and why:
        raise InputError(f"objective = {objective}: has no meaning on {chip.name}: {why}; leave it out")
    require_neurons(rollout.network, chip)
    return chip.kind.mapper.partition(rollout, chip, context)


def map_in_outline(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, progress: Progress | None = None
) -> Parts:
    """Map just far enough to know that a network fits: no placement is refined and no program written."""
    # Cores are placed along a Hilbert curve, and by the requested placer only if that breaks a limit of the board.
    context = MappingContext.of(options, progress)
    parts = parts_of(rollout, chip, context)
    given = (parts.n_cores, parts.wires, chip)
    try:
        place(*given, "hilbert", regions=parts.regions, seed=options.seed)
    except DoesNotFitError:
        seconds = None if options.seconds is None else context.budget.left_s("placement")
        place(*given, options.placer, regions=parts.regions, seed=options.seed, seconds=seconds)
    return parts


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
