"""Refuse before anything is tiled: where even the lower bound on cores exceeds the board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.core.refuse_spiking import require_no_currents
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Population, Sources, join_sources
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasible import Remedy, count_cores, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.options.pins_file import check_pins
from neuromap.mapping.partition.partition import Partition
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.place.emit import route
from neuromap.mapping.place.place import place
from neuromap.mapping.synapse_list.fill_cores import ListPartition, ways
from neuromap.mapping.synapse_list.map_lists import partition_lists, phases_for_lists
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

EARLY = 0.15
"""Part of the seconds asked for that the bound may take."""


def refuse_early(request: Request) -> DoesNotFitError | None:
    """Make the refusal of a network that no mapping brings onto the board."""
    # gives ``None`` where only the mapper can tell: also where a delay or a neuron does not fit, which it says better,
    # and where splitters, chosen or pinned, or other phases may change the schedule, on which the bound depends
    chip, options = request.chip, request.options
    if may_change_schedule(request):
        return None
    try:
        network = legalise(request.rollout, chip, ticks_per_step=options.ticks_per_step)
    except DoesNotFitError:
        return None
    if not is_held(demands_of(network, chip), chip):
        return None
    budget = Budget(None if options.seconds is None else EARLY * options.seconds)
    bound = core_bound(network, chip, proven=True, budget=budget)
    room = chip.n_usable_cores
    if bound.total <= room:
        return None
    alike = (c for c in list_chips() if c.core_model == chip.core_model and c.name != chip.name)
    enough = [c for c in alike if c.n_usable_cores >= bound.total]
    remedies = [
        Remedy("chip", c.name, f"chip {c.name} has {count_cores(c.n_usable_cores)}")
        for c in sorted(enough, key=lambda c: (c.n_cores, c.name))[:1]
    ]
    remedies.append(Remedy("chip.cores", None, f"a chip or board of {count_cores(bound.total)} at least is needed"))
    text = f"any mapping of the network needs at least {count_cores(bound.total)}, for its {bound.by}, {chip.name} has"
    return refuse("cores", None, bound.total, room, f"{text} {room}", remedies)


def may_change_schedule(request: Request) -> bool:
    """Whether the mapper may change the schedule: for splitters, chosen or pinned, for phases, or as it is in ticks."""
    options = request.options
    splits = request.chip.core_model == "crossbar" and (options.splitters == "anywhere" or options.pins.splitters)
    return bool(splits) or options.phases != "least" or request.rollout.is_tick_level


def is_held(nodes: Iterable[NodeDemand], chip: ChipSpec) -> bool:
    """Whether a core has the axons for each single neuron of these nodes: only then a bound on cores says something."""
    return all(node.axons is not None and node.axons <= chip.axons for node in nodes)


# What every node asks of a chip: sources, axons, copies, relays, splitters, cores.
@dataclass(frozen=True)
class NodeDemand:
    """What a node asks of the chip.

    Attributes
    ----------
    node : str
        Name.
    neurons : int
        Of the network, copies not counted.
    sources : int
        Distinct sources of the neuron that has most.
    axons : int or None
        Axons that one neuron needs at most, bias axons included, among those with most sources; ``None`` where no
        number of axons serves it.
    copies : int or None
        Copies that one neuron needs at most; ``None`` where the network does not fit.
    relays, splitters : int
        Neurons that carry its spikes on.
    cores : int or None
        Cores that hold some of its neurons, relays and splitters left out; ``None`` where the network does not fit.
    parts : int
        Neurons that hold parts of its sums; then sources and axons are those of a neuron that gathers them.
    """

    node: str
    neurons: int
    sources: int
    axons: int | None
    copies: int | None
    relays: int
    splitters: int
    cores: int | None
    parts: int = 0


def demands_of(network: Legalised, chip: ChipSpec, found: Outline | None = None) -> list[NodeDemand]:
    """Collect what every node asks for, whether or not it fits."""
    partition = None if found is None else found.partition
    sources = partition.sources if isinstance(partition, Partition) else join_sources(network)
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        parts = sum(len(p.neurons) for p in carriers if p.is_part)
        relays = sum(len(p.neurons) for p in carriers) - splitters - parts
        matrix = sources[index].matrix
        copies, cores = (None, None) if partition is None else _held(partition, index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=_most_axons(sources[index], population, chip, gathers=parts > 0),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
                parts=parts,
            )
        )
    return demands


def _most_axons(sources: Sources, population: Population, chip: ChipSpec, *, gathers: bool) -> int | None:
    """Count the axons that the neediest neuron takes alone, on a core with as many as one could wish for."""
    if chip.core_model == "synapse-list":
        return _most_lists(sources, population)
    if population.neuron is not None and not gathers:
        return None
    core: CoreModel = core_of(chip)
    most = 0
    for n in sources.busiest:
        axons = core.axons_alone(sources.weights_of(n), population.threshold[[n]])
        if axons is None:
            return None
        most = max(most, axons)
    return most


def _most_lists(sources: Sources, population: Population) -> int:
    """Count the signals of the neediest neuron: its sources, each once, and the constant of a frame neuron."""
    span = int(sources.neuron_of.max(initial=0)) + 1
    key_of_link = np.unique([_signal(link) for link in sources.links], axis=0, return_inverse=True)[1].ravel()
    key = key_of_link[sources.link_of] * span + sources.neuron_of if len(sources.links) else sources.neuron_of
    columns, start = sources.matrix.indices, sources.matrix.indptr
    needs_bias = (population.threshold < 1) & (population.neuron is None)
    distinct = [len(np.unique(key[columns[start[n] : start[n + 1]]])) + int(needs_bias[n]) for n in sources.busiest]
    return max(distinct, default=0)


def _signal(link: Link | HostLink) -> tuple[int, int]:
    """Tell apart what one axon cannot carry, whatever the delays of its synapses: population, or input and frame 0."""
    return (link.source, -1) if isinstance(link, Link) else (link.node, link.first_frame)


def _held(parts: Partition | ListPartition, index: int) -> tuple[int, int]:
    """Count the copies of the neuron that has most, and cores that hold some of the population."""
    if isinstance(parts, ListPartition):
        start, stop = parts.lists.offset[index : index + 2]
        cores_of = parts.core[start:stop]
        cores_of = np.unique(cores_of[cores_of >= 0])
        return int(len(cores_of) > 0), len(cores_of)
    copies = np.zeros(len(parts.network.populations[index].neurons), np.int64)
    for tile in parts.tiles:
        if tile.population == index:
            np.add.at(copies, tile.neurons, tile.copies)
    cores = sum(any(parts.tiles[t].population == index for t in core.tiles) for core in parts.cores)
    return int(copies.max(initial=0)), cores


# Mapping as far as it takes to know that a network fits: no placement is refined and no program written.


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
