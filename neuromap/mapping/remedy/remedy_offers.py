"""What could help against a refusal: remedies to be tried, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.chip.defects import Defects
from neuromap.hardware.chip.synapse_lists import SynapseLists
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.refused.infeasible import Infeasibility, Remedy, count_cores
from neuromap.mapping.remedy.apply_remedy import Request
from neuromap.mapping.remedy.smaller_networks import hidden_sources, pooled_sources, shape_of
from neuromap.network.network import Network

__all__ = ["OutOfTime", "Watch", "offers"]

BOUNDLESS = 1024
"""Columns and rows of the board on which the cores of a network too large are counted."""
DOUBLINGS = 5
"""Times that the neurons of a core are doubled where copies run out."""
HALVINGS = 3
"""Numbers of features that are tried, each half of the one before."""
KERNELS = (2, 3, 4)
"""Rows and columns of windows over which sources are pooled."""


_OF_LISTS: Mapping[str, Callable[[SynapseLists], int]] = ReadOnlyMapping(
    {"output_axons": lambda lists: lists.output_axons, "synapse_memory": lambda lists: lists.synapse_memory_bits}
)
"""Figures of synapse-list cores that a refusal may lack, by its limit."""


class OutOfTime(Exception):
    """The time for trying remedies is over."""


class Watch:
    """Passes progress on, and ends the search when its time is over."""

    def __init__(self, seconds: float | None, progress: Progress | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._progress = progress

    def __call__(self, done: int, total: int, name: str) -> None:
        """Take note of progress."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
        if self._progress is not None:
            self._progress(done, total, name)


def offers(
    request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool], watch: Watch
) -> Iterator[Remedy]:
    """Offer remedies: those of the refusal, larger cores, other chips, choices of the mapper that take longest."""
    computed = [remedy for remedy in refusal.remedies if remedy.value is not None]
    if request.chip.core_model == "synapse-list":  # nothing is copied, split or packed there
        yield from computed
        yield from _packaged(request, refusal, is_settled)
        yield from (remedy for remedy in refusal.remedies if remedy.value is None)
        return
    is_circle = _is_on_cycle(request, refusal.node)
    if refusal.limit == "cores" and is_circle and (refusal.demand > 2 * refusal.bound):
        computed = []  # copies that drive each other up end at no number of cores
    if refusal.limit in ("copies", "cores") and not request.options.packing:
        yield Remedy("packing", True, "packing = true would share cores")
    yield from computed
    if refusal.limit == "copies" or (refusal.limit == "cores" and is_circle):
        for doubling in range(1, DOUBLINGS + 1):
            if is_settled("chip.neurons"):
                break
            neurons = request.chip.neurons << doubling
            yield Remedy("chip.neurons", neurons, f"cores of {neurons} neurons would do")
    if refusal.limit == "cores" and not is_circle:
        yield from _more_cores(request, is_settled, watch)
    yield from _packaged(request, refusal, is_settled)
    if refusal.limit in ("copies", "cores"):
        yield from _splitters(request)
    yield from _smaller_networks(request, refusal, is_settled)
    yield from (remedy for remedy in refusal.remedies if remedy.value is None)


def _smaller_networks(request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool]) -> Iterator[Remedy]:
    """Offer networks that ask for less and compute something else: pooled sources, and fewer features, most first."""
    network, node = request.rollout.network, refusal.node
    if network.is_spiking or node is None or node not in network.nodes:
        return
    if refusal.limit == "axons":
        for kernel in KERNELS:
            if pooled_sources(network, node, kernel) and not is_settled("pool"):
                text = f"another network, with {kernel} x {kernel} OR-pooling of what {node} reads, would do"
                yield Remedy("pool", kernel, text)
        sources, whose = hidden_sources(network, node), f"hidden nodes that {node} reads"
        yield from _fewer_features(network, sources, "source_features", whose, refusal, is_settled)
    if refusal.limit in ("cores", "copies") and node not in {*network.inputs, *network.outputs}:
        yield from _fewer_features(network, [node], "features", node, refusal, is_settled)


def _fewer_features(
    network: Network,
    nodes: Sequence[str],
    lever: str,
    whose: str,
    refusal: Infeasibility,
    is_settled: Callable[[str], bool],
) -> Iterator[Remedy]:
    """Offer as many features as there would be room for in proportion, then half of them, and so on."""
    now = max((shape_of(network, node)[2] for node in nodes), default=1)
    features = min(now - 1, now * refusal.bound // refusal.demand)
    for _ in range(HALVINGS):
        if features < 1 or is_settled(lever):
            return
        yield Remedy(
            lever, features, f"another network, with {features} instead of {now} features in {whose}, would do"
        )
        features //= 2


def _is_on_cycle(request: Request, node: str | None) -> bool:
    graph = request.rollout.network.graph
    return node is not None and any(node in nx.descendants(graph, v) or v == node for v in graph.successors(node))


def _splitters(request: Request) -> Iterator[Remedy]:
    if request.options.splitters == "never":
        yield Remedy("splitters", "slack", 'splitters = "slack" would cost no tick')
    if request.options.splitters != "anywhere":
        yield Remedy("splitters", "anywhere", 'splitters = "anywhere" would cost ticks')


def _more_cores(request: Request, is_settled: Callable[[str], bool], watch: Watch) -> Iterator[Remedy]:
    """Offer the number of cores that a network takes where there is no end of them."""
    boundless = replace(request.chip, cores=(BOUNDLESS, BOUNDLESS), chips=(1, 1), reach=None, defects=Defects())
    # on a smaller board the choice of splitters may go another way; without a choice it cannot
    for options in (request.options, replace(request.options, splitters="never")):
        if is_settled("chip.cores"):
            return
        try:
            needed = len(partition_rollout(request.rollout, boundless, options, watch).partition.cores)
        except (DoesNotFitError, OutOfTime):
            return
        yield Remedy("chip.cores", needed, f"a chip or board of {count_cores(needed)} would do")


def _packaged(request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool]) -> Iterator[Remedy]:
    """Offer the chips that come with neuromap, smallest first, where they have more of what is short."""
    if refusal.limit == "delay":
        return
    for chip in sorted(list_chips(), key=lambda chip: (chip.n_cores, chip.name)):
        if is_settled("chip"):
            return  # larger ones would do as well
        if chip.name == request.chip.name or chip.core_model != request.chip.core_model:
            continue
        if _has_more(chip, request.chip, refusal):
            yield Remedy("chip", chip.name, f"chip {chip.name} would do")


def _has_more(chip: ChipSpec, than: ChipSpec, refusal: Infeasibility) -> bool:
    if refusal.limit == "cores":
        return chip.n_usable_cores > than.n_usable_cores
    if refusal.limit in ("reach", "routes"):
        return True
    if refusal.limit in _OF_LISTS:
        return _OF_LISTS[refusal.limit](chip.lists) > _OF_LISTS[refusal.limit](than.lists)
    figures = {"axons": "axons", "axon_types": "axon_types", "copies": "neurons", "potential": "potential_bits"}
    figures |= {"weights": "weight_bits"}
    name = figures.get(refusal.limit)
    return name is not None and bool(getattr(chip, name) > getattr(than, name))
