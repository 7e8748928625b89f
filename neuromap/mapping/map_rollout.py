"""The mapper: from a rollout to a program, stage by stage."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.given import needs
from neuromap.files.messages import did_you_mean
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.core.refuse_spiking import require_no_currents
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import Budget, Progress, Stage
from neuromap.mapping.options.infeasible import Remedy, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.options.pins_file import check_pins
from neuromap.mapping.partition.choose_phases import PhaseChoice
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.place.emit import Routes, emit, route
from neuromap.mapping.place.place import place
from neuromap.mapping.synapse_list.fill_cores import ListPartition
from neuromap.mapping.synapse_list.map_lists import map_lists, phases_for_lists
from neuromap.mapping.tile.tilings import Tilings
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.neurons.spiking_neuron import LeakNeuron
from neuromap.network.node import Node
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MappedRollout(Card):
    """What every stage of the mapper made of a rollout.

    Attributes
    ----------
    rollout : Rollout
        The schedule that was mapped. Where splitters stand on edges without slack it is a tick-level one, else
        the rollout that was asked for, or the same with phases that cost less.
    split : frozenset of (str, str)
        Edges whose spikes go over splitters.
    partition : Partition or ListPartition
        Tiles and cores, or neurons in many-target cores; ``partition.network`` is the legalised network.
    routes : Routes or None
        Copies and their targets; ``None`` for many-target cores, where nothing is copied.
    program : Program or ListProgram
        What is loaded onto the chip, by its kind of core.
    cut_short : tuple of {"tiling", "splitters", "packing", "filling", "placement"}
        Stages whose search ended because ``MappingOptions.seconds`` were over; each kept the best that it had found.
    phases : PhaseChoice or None
        What the search for phases at least cost came to; ``None`` where it was not asked for, or no node can move.
    """

    rollout: Rollout
    split: frozenset[EdgeKey]
    partition: Partition | ListPartition
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
        """Neurons of hidden nodes that lead to no output and are not mapped, by node; ``Program.left_out``."""
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
    """Map a rolled-out network onto a chip and keep what every stage made.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    options : MappingOptions, optional
        Strategies, limits and pins.
    progress : callable, optional
        Called with parts done, parts in all, and the name of the last.
    tilings : Tilings, optional
        For who maps several rollouts of one network onto one chip with the same options: tilings that were found
        before, to which new ones are added.

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
    check_pins(options.pins, rollout.network, spec)
    mapped = _MAPPERS[spec.core_model](rollout, spec, options, progress, tilings)
    require_legal(mapped.program)  # the checker shares no code with the mapper
    return mapped


def _map_crossbars(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, progress: Progress | None, tilings: Tilings | None
) -> MappedRollout:
    if rollout.network.is_spiking:
        require_no_currents(rollout.network, chip)
        require_leak_widths(rollout.network, chip)
        options = replace(options, splitters="never", pins=replace(options.pins, splitters=frozenset()))
    budget = Budget(options.seconds, progress)
    found = partition_rollout(rollout, chip, options, progress, tilings, budget)
    parts = found.partition
    routes = route(parts)
    where = _placed(parts, routes.wires, chip, options, progress, tilings, budget)
    pattern = rollout.pattern.name or "unnamed"
    program = emit(rollout.network.name, pattern, rollout.execution, parts, routes, where, chip)
    return MappedRollout(found.rollout, found.split, parts, routes, program, budget.cut, found.phases)


def _placed(
    parts: Partition,
    wires: tuple[Ints, Ints],
    chip: ChipSpec,
    options: MappingOptions,
    progress: Progress | None,
    tilings: Tilings | None,
    budget: Budget,
) -> Ints:
    """Place cores, or find the places of others that are wired alike."""
    regions = parts.regions(options.pins) if options.pins.regions else None
    known = {} if tilings is None or budget.is_limited else tilings.later
    facts = repr((len(parts.cores), regions, options.placer, options.seed)).encode()
    name = hashlib.sha256(facts + b"".join(ends.tobytes() for ends in wires)).digest()
    if name not in known:
        seconds = None if options.seconds is None else budget.left_s("placement")
        where = place(
            len(parts.cores),
            wires,
            chip,
            options.placer,
            regions=regions,
            seed=options.seed,
            seconds=seconds,
            progress=progress,
        )
        known[name] = where
        budget.is_over("placement")
    found: Ints = known[name]
    return found


def _map_lists(
    rollout: Rollout, chip: ChipSpec, options: MappingOptions, progress: Progress | None, tilings: Tilings | None
) -> MappedRollout:
    budget = Budget(options.seconds, progress)
    rollout, options, choice = phases_for_lists(rollout, chip, options, budget)
    mapped = map_lists(rollout, chip, options, progress, budget)
    return MappedRollout(rollout, frozenset(), mapped.partition, None, mapped.program, budget.cut, choice)


_MAPPERS: Mapping[CoreKind, Callable[..., MappedRollout]] = ReadOnlyMapping(
    {"crossbar": _map_crossbars, "synapse-list": _map_lists}
)
"""The stages from a rollout to a program, by the kind of core."""


def map_rollout(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    *,
    progress: Progress | None = None,
    options: MappingOptions | None = None,
    **choices: Any,
) -> ChipProgram:
    """Map a rolled-out network onto a chip.

    The program computes, frame by frame, what :func:`neuromap.reference` computes without a chip;
    :func:`neuromap.verify` shows it (docs/mapping.md).

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    progress : callable, optional
        Called with parts done, parts in all, and the name of the last.
    options : MappingOptions, optional
        Strategies, limits and pins.
    **choices
        Fields of :class:`~neuromap.mapping.options.options.MappingOptions` by name, in place of those of ``options``:
        ``placer``, ``splitters``, ``packing``, ``partitioner``, ``pins``, ``seed``, ``seconds``, ``ticks_per_step``,
        ``keep``, ``phases``, ``wide``, ``wide_ticks``.

    Returns
    -------
    Program or ListProgram
        Legal for the chip, by its kind of core.

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
    _check_choices(choices)
    return map_with_stages(rollout, chip, replace(options, **choices), progress).program


def _check_choices(choices: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(MappingOptions)]
    for name in choices:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(f"map_rollout: option {name} is not known; options are {', '.join(known)}{near}")


# Whether a crossbar core holds integrate-and-fire neurons: their thresholds, leaks, and potentials of any tick.


_SCALE = Remedy("neuron", None, "scale or round weights, thresholds and leaks of the node alike")


def require_leak_widths(network: Network, chip: ChipSpec) -> None:
    """Refuse neurons that the chip's widths cannot hold exactly, whatever arrives."""
    # Between ticks a potential lies from -floor to below the threshold, so in a tick it can go so far beyond as all its
    # positive, or negative, weights and the leak take it. Inside the rails the order of events does not matter.
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
