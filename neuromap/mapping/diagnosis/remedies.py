"""Tested remedies: each is applied and the network mapped anew, to report what would fit and on how many cores.

A remedy lifts one limit, and another may be hit next. The first remedy that hits one is followed: the remedies of the
next refusal are tried on top of it, and so on until the network maps or nothing helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import networkx as nx

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec, Defects
from neuromap.mapping.diagnosis.apply_remedy import Request, apply_remedy, hidden_sources, pooled_sources, shape_of
from neuromap.mapping.map_rollout import map_in_outline
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasibility import Infeasibility, Remedy, count_cores
from neuromap.mapping.partition.partition_rollout import partition_rollout
from neuromap.mapping.tile.tilings import MappingContext, Tilings
from neuromap.network.network import Network

# Maximum number of successive refusals for which remedies are tried.
ROUNDS = 8
# Levers that change what is computed; reported only if the network then maps.
OTHER_NETWORKS = ("pool", "source_features", "features")


@dataclass(frozen=True, eq=False)
class Answer:
    """Successive refusals of a mapping, and whether remedies clear them.

    Attributes
    ----------
    problems : tuple of Infeasibility
        The refusal, then those met after applying the first remedy of each before. Remedies found to map come first.
    cores : int or None
        Number of cores with the first remedy of every problem applied; ``None`` if no remedies were found that map
        together.
    """

    problems: tuple[Infeasibility, ...]
    cores: int | None


def try_remedies(
    request: Request, refusal: Infeasibility, seconds: float | None = None, progress: Progress | None = None
) -> Infeasibility:
    """Try the remedies of a refusal and report which of them let the network map.

    Parameters
    ----------
    request : Request
        What was refused.
    refusal : Infeasibility
        Why.
    seconds : float, optional
        Time after which no more remedies are tried; by default all are tried.
    progress : callable, optional
        As for :func:`neuromap.mapping.map_rollout.map_in_outline`.

    Returns
    -------
    Infeasibility
        The same refusal with sorted remedies: those that map, those computed but not found to map by themselves, then
        advice. Remedies that do not even lift the limit are left out.
    """
    return what_would_fit(request, refusal, seconds, progress).problems[0]


def what_would_fit(
    request: Request, refusal: Infeasibility, seconds: float | None = None, progress: Progress | None = None
) -> Answer:
    """Try the remedies of a refusal, and of the refusals that follow it.

    Parameters
    ----------
    request, refusal, seconds, progress
        As for :func:`try_remedies`.

    Returns
    -------
    Answer
    """
    # a stage that ends with all of the time
    return _answer(request, refusal, Budget(seconds).watched("bounds", progress, OutOfTime), ROUNDS)


def _answer(request: Request, refusal: Infeasibility, watch: Progress, rounds: int) -> Answer:
    """Try the remedies of a refusal; follow the first that meets another refusal before trying the rest."""
    outcomes: list[_Outcome] = []

    def is_settled(lever: str) -> bool:
        return any(known.maps and known.remedy.lever == lever for known in outcomes)

    for remedy in offers(request, refusal, is_settled, watch):
        if any((known.remedy.lever, known.remedy.value) == (remedy.lever, remedy.value) for known in outcomes):
            continue
        try:
            outcome = _try(request, refusal, remedy, watch)
        except OutOfTime:  # what was computed is worth reporting, a mere guess is not
            outcome = _Outcome(remedy) if remedy in refusal.remedies else None
        if outcome is not None:
            is_first = not any(known.maps or known.behind for known in outcomes)
            if outcome.request and outcome.refusal and is_first and not outcome.is_imagined and rounds > 1:
                outcome = replace(outcome, behind=_answer(outcome.request, outcome.refusal, watch, rounds - 1))
            outcomes.append(outcome)
    outcomes.sort(key=lambda outcome: outcome.rank)
    found = replace(refusal, remedies=tuple(outcome.shown for outcome in outcomes))
    if not outcomes:
        return Answer((found,), None)
    behind = outcomes[0].behind
    if behind is not None:
        return Answer((found, *behind.problems), behind.cores)
    return Answer((found,), outcomes[0].remedy.cores)


def _short(problem: Infeasibility) -> str:
    remedy = problem.remedies[0]
    where = f" for {problem.node}" if remedy.lever in ("groups", "weights", *OTHER_NETWORKS) else ""
    return f"{remedy.lever} = {remedy.value}{where}"


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A remedy, the changed request (``None`` if not tried), and the refusal that followed."""

    # ``behind`` is the answer to that refusal, if it was sought.

    remedy: Remedy
    request: Request | None = None
    refusal: Infeasibility | None = None
    behind: Answer | None = None

    @property
    def maps(self) -> bool:
        """Whether the network mapped with it."""
        return self.request is not None and self.refusal is None

    @property
    def is_imagined(self) -> bool:
        """Whether it needs a hypothetical chip."""
        return self.remedy.lever.startswith("chip.")

    @property
    def rank(self) -> int:
        """Sort key: maps on an available chip, maps at all, hits another limit, was not tried, is advice."""
        if self.maps or (self.behind is not None and self.behind.cores is not None):
            return int(self.is_imagined)
        if self.refusal is not None:
            return 2 if self.behind is not None else 3
        return 5 if self.remedy.value is None else 4

    @property
    def shown(self) -> Remedy:
        """The remedy as it is reported."""
        if self.refusal is None:
            return self.remedy
        if self.behind is not None and self.behind.cores is not None:
            others = ", ".join(_short(problem) for problem in self.behind.problems)
            return replace(self.remedy, text=f"{self.remedy.text}, with {others}", tried=True, cores=self.behind.cores)
        where = f" of {self.refusal.node}" if self.refusal.node else ""
        return replace(self.remedy, text=f"{self.remedy.text}, then {self.refusal.limit}{where} run short")


def _try(request: Request, refusal: Infeasibility, remedy: Remedy, watch: Progress) -> _Outcome | None:
    """Apply a remedy; ``None`` if it does not lift the limit."""
    if remedy.value is None:
        return _Outcome(remedy)
    watch(0, 1, remedy.text)
    try:
        applied = apply_remedy(request, refusal, remedy)
        found = map_in_outline(applied.rollout, applied.chip, applied.options, watch)
    except InputError:  # the network, the chip or the pins do not allow it
        return _Outcome(remedy) if remedy in refusal.remedies else None
    except DoesNotFitError as error:
        if remedy.lever in OTHER_NETWORKS:
            return None
        then: Infeasibility = error.infeasibility
        if (then.limit, then.node) == (refusal.limit, refusal.node):
            return None
        if remedy.lever == "wide" and then.node == refusal.node:  # nor can its sums be computed in parts
            return None
        return _Outcome(remedy, applied, then)
    if remedy.lever in ("wide", *OTHER_NETWORKS):
        period = counted(found.network.period, "tick")
        remedy = replace(remedy, text=f"{remedy.text}, a frame every {period}")
    return _Outcome(replace(remedy, tried=True, cores=found.n_cores), applied)


# Candidate remedies for a refusal, in the order in which to try them.


# Columns and rows of the board on which the cores of an oversized network are counted.
BOUNDLESS = 1024
# Times that the neurons of a core are doubled where copies run out.
DOUBLINGS = 5
# Numbers of features to try, each half of the one before.
HALVINGS = 3
# Rows and columns of windows over which sources are pooled.
KERNELS = (2, 3, 4)
# Figure of a chip, or of its kind of core, that is short, by limit.
_FIGURES: Mapping[str, str] = ReadOnlyMapping(
    {
        "axons": "axons",
        "axon_types": "axon_types",
        "copies": "neurons",
        "potential": "potential_bits",
        "weights": "weight_bits",
        "output_axons": "output_axons",
        "synapse_memory": "synapse_memory_bits",
    }
)


class OutOfTime(Exception):
    """The time for trying remedies is over."""


def offers(
    request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool], watch: Progress
) -> Iterator[Remedy]:
    """Offer remedies: those of the refusal, larger cores, other chips, splitters, smaller networks, then advice."""
    computed = [remedy for remedy in refusal.remedies if remedy.value is not None]
    if not request.chip.kind.structure.ONE_TARGET:  # nothing is copied, split or packed there
        yield from computed
        yield from _packaged(request, refusal, is_settled)
        yield from (remedy for remedy in refusal.remedies if remedy.value is None)
        return
    graph, node = request.rollout.network.graph, refusal.node
    is_circle = node is not None and any(node in nx.descendants(graph, v) or v == node for v in graph.successors(node))
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
        if request.options.splitters == "never":
            yield Remedy("splitters", "slack", 'splitters = "slack" would cost no tick')
        if request.options.splitters != "anywhere":
            yield Remedy("splitters", "anywhere", 'splitters = "anywhere" would cost ticks')
    yield from _smaller_networks(request, refusal, is_settled)
    yield from (remedy for remedy in refusal.remedies if remedy.value is None)


def _smaller_networks(request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool]) -> Iterator[Remedy]:
    """Offer smaller networks, which compute something else: pooled sources, and fewer features, most first."""
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
    """Offer as many features as would fit in proportion, then half of them, and so on."""
    now = max((shape_of(network, node)[2] for node in nodes), default=1)
    features = min(now - 1, now * refusal.bound // refusal.demand)
    for _ in range(HALVINGS):
        if features < 1 or is_settled(lever):
            return
        yield Remedy(
            lever, features, f"another network, with {features} instead of {now} features in {whose}, would do"
        )
        features //= 2


def _more_cores(request: Request, is_settled: Callable[[str], bool], watch: Progress) -> Iterator[Remedy]:
    """Offer the number of cores that the network takes on a practically unlimited board."""
    boundless = replace(request.chip, cores=(BOUNDLESS, BOUNDLESS), chips=(1, 1), reach=None, defects=Defects())
    # on a smaller board the choice of splitters may go another way; without a choice it cannot
    for options in (request.options, replace(request.options, splitters="never")):
        if is_settled("chip.cores"):
            return
        context = MappingContext(options, Tilings(options), progress=watch)
        try:
            needed = len(partition_rollout(request.rollout, boundless, context).partition.cores)
        except (DoesNotFitError, OutOfTime):
            return
        yield Remedy("chip.cores", needed, f"a chip or board of {count_cores(needed)} would do")


def _packaged(request: Request, refusal: Infeasibility, is_settled: Callable[[str], bool]) -> Iterator[Remedy]:
    """Offer packaged chips that have more of the missing resource, smallest first."""
    if refusal.limit == "delay":
        return
    for chip in sorted(list_chips(), key=lambda chip: (chip.n_cores, chip.name)):
        if is_settled("chip"):
            return  # larger ones would do as well
        if chip.name == request.chip.name or chip.kind is not request.chip.kind:
            continue
        if _has_more(chip, request.chip, refusal):
            yield Remedy("chip", chip.name, f"chip {chip.name} would do")


def _has_more(chip: ChipSpec, than: ChipSpec, refusal: Infeasibility) -> bool:
    if refusal.limit == "cores":
        return chip.n_usable_cores > than.n_usable_cores
    if refusal.limit in ("reach", "routes"):
        return True
    name = _FIGURES.get(refusal.limit, "")
    more, had = (getattr(c if hasattr(c, name) else c.core_figures, name, 0) for c in (chip, than))
    return bool(more > had)
