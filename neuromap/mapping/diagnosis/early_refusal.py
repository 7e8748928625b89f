"""Early refusal, before any tiling, of networks whose lower bound on cores exceeds the board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import Legalised, join_sources
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.mapping.options.pins_file import check_pins
from neuromap.mapping.parts import Parts, parts_of
from neuromap.mapping.place.place import place
from neuromap.mapping.tile.tilings import MappingContext

# Share of the time limit that the bound may take.
EARLY = 0.15


def refuse_early(request: Request) -> DoesNotFitError | None:
    """Make the refusal of a network that no mapping can fit on the board."""
    # returns ``None`` where only the mapper can tell: also where a delay or a neuron does not fit, which it explains
    # better, and where splitters, chosen or pinned, or other phases may change the schedule, on which the bound depends
    chip, options = request.chip, request.options
    if may_change_schedule(request):
        return None
    network = legalised(request)
    if network is None or not is_held(demands_of(network, chip), chip):
        return None
    budget = Budget(None if options.seconds is None else EARLY * options.seconds)
    bound = core_bound(network, chip, proven=True, budget=budget)
    room = chip.n_usable_cores
    if bound.total <= room:
        return None
    alike = (c for c in list_chips() if c.kind is chip.kind and c.name != chip.name)
    enough = [c for c in alike if c.n_usable_cores >= bound.total]
    remedies = [
        Remedy("chip", c.name, f"chip {c.name} has {count_cores(c.n_usable_cores)}")
        for c in sorted(enough, key=lambda c: (c.n_cores, c.name))[:1]
    ]
    remedies.append(Remedy("chip.cores", None, f"a chip or board of {count_cores(bound.total)} at least is needed"))
    text = f"any mapping of the network needs at least {count_cores(bound.total)}, for its {bound.by}, {chip.name} has"
    return refuse("cores", None, bound.total, room, f"{text} {room}", remedies)


def legalised(request: Request) -> Legalised | None:
    """Legalise the rollout of a request without splitters; ``None`` if a delay does not fit."""
    try:
        return legalise(request.rollout, request.chip, ticks_per_step=request.options.ticks_per_step)
    except DoesNotFitError:
        return None


def may_change_schedule(request: Request) -> bool:
    """Whether the mapper may change the schedule: for splitters, chosen or pinned, for phases, or if in ticks."""
    options = request.options
    splits = "splitters" in request.chip.kind.structure.OPTIONS and (
        options.splitters == "anywhere" or options.pins.splitters
    )
    return bool(splits) or options.phases != "least" or request.rollout.is_tick_level


def is_held(nodes: Iterable[NodeDemand], chip: ChipSpec) -> bool:
    """Whether a core has enough axons for each single neuron of these nodes; else a bound on cores means nothing."""
    return all(node.axons is not None and node.axons <= chip.axons for node in nodes)


# Demand of every node: sources, axons, copies, relays, splitters, cores.
@dataclass(frozen=True)
class NodeDemand:
    """What a node needs of the chip.

    Attributes
    ----------
    node : str
        Name.
    neurons : int
        Neurons of the node, copies not counted.
    sources : int
        Greatest number of distinct sources of any neuron.
    axons : int or None
        Greatest number of axons that one neuron needs, bias axons included, among those with most sources; ``None`` if
        no number of
        axons suffices.
    copies : int or None
        Greatest number of copies that one neuron needs; ``None`` if the network does not fit.
    relays, splitters : int
        Neurons that pass its spikes on.
    cores : int or None
        Cores that hold some of its neurons, relays and splitters excluded; ``None`` if the network does not fit.
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


def demands_of(network: Legalised, chip: ChipSpec, found: Parts | None = None) -> list[NodeDemand]:
    """Collect the demand of every node, whether or not it fits."""
    partition = None if found is None else found.partition
    sources = join_sources(network)
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        parts = sum(len(p.neurons) for p in carriers if p.is_part)
        relays = sum(len(p.neurons) for p in carriers) - splitters - parts
        matrix = sources[index].matrix
        copies, cores = (None, None) if partition is None else partition.held(index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=chip.kind.mapper.most_axons(sources[index], population, chip, parts > 0),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
                parts=parts,
            )
        )
    return demands


# Mapping as far as it takes to know that a network fits: no placement is refined and no program written.


def map_in_outline(request: Request, progress: Progress | None = None) -> Parts:
    """Map just far enough to know that a network fits."""
    # Cores are placed along a Hilbert curve, and by the requested placer only if that breaks a limit of the board.
    chip, options = request.chip, request.options
    check_pins(options.pins, request.rollout.network, chip)
    context = MappingContext.of(options, progress)
    parts = parts_of(request.rollout, chip, context)
    given = (parts.n_cores, parts.wires, chip)
    try:
        place(*given, "hilbert", regions=parts.regions, seed=options.seed)
    except DoesNotFitError:
        seconds = None if options.seconds is None else context.budget.left_s("placement")
        place(*given, options.placer, regions=parts.regions, seed=options.seed, seconds=seconds)
    return parts
