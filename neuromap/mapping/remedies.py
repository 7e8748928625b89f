"""Remedies put to the test: each is applied and the network mapped anew, to say what would fit and at how many cores.

A remedy lifts one limit; then another may be met. So remedies are tried in rounds: the best one of the first refusal is
kept, the next refusal's are tried on top of it, until the network maps or nothing helps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import networkx as nx

from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.chip_file import list_chips
from neuromap.hardware.defects import Defects
from neuromap.mapping.apply_remedy import Request, apply_remedy
from neuromap.mapping.emit import route
from neuromap.mapping.fan_out import FanOut, choose_fan_out
from neuromap.mapping.infeasible import Infeasibility, Remedy, count_cores
from neuromap.mapping.place import place

__all__ = ["Answer", "map_in_outline", "try_remedies", "what_would_fit"]

ROUNDS = 8
"""Refusals in a row to which remedies are sought."""
BOUNDLESS = 1024
"""Columns and rows of the board on which the cores of a network too large are counted."""
DOUBLINGS = 5
"""Times that the neurons of a core are doubled where copies run out."""

Progress = Callable[[int, int, str], None]


class OutOfTime(Exception):
    """The time for trying remedies is over."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What stands in the way of a mapping, one refusal after the other, and whether remedies clear it.

    Attributes
    ----------
    problems : tuple of Infeasibility
        The refusal, and those met once the first remedy of each before it is applied. Remedies that were tried and
        found to map come first.
    cores : int or None
        Cores with the first remedy of every problem applied; ``None`` where no remedies were found that map together.
    """

    problems: tuple[Infeasibility, ...]
    cores: int | None


def map_in_outline(request: Request, progress: Progress | None = None) -> FanOut:
    """Map as far as it takes to know that a network fits: no placement is refined and no program written.

    Cores are laid along a Hilbert curve, and by the placer asked for only where that breaks a limit of the board.

    Parameters
    ----------
    request : Request
        What should be mapped, how, and onto what.
    progress : callable, optional
        Called with parts tiled, parts in all, and the name of the last.

    Returns
    -------
    FanOut

    Raises
    ------
    DoesNotFitError
        As :func:`neuromap.mapping.map_rollout.map_network`.
    """
    chip, options = request.chip, request.options
    found = choose_fan_out(request.rollout, chip, options, progress)
    wires, n_cores = route(found.partition).wires, len(found.partition.cores)
    try:
        place(n_cores, wires, chip, "hilbert", seed=options.seed)
    except DoesNotFitError:
        place(n_cores, wires, chip, options.placer, seed=options.seed, seconds=options.seconds)
    return found


def try_remedies(
    request: Request, refusal: Infeasibility, seconds: float | None = None, progress: Progress | None = None
) -> Infeasibility:
    """Apply the remedies of a refusal and say which of them let the network map.

    Parameters
    ----------
    request : Request
        What was refused.
    refusal : Infeasibility
        Why.
    seconds : float, optional
        Time after which no more is tried; by default all are.
    progress : callable, optional
        As for :func:`map_in_outline`.

    Returns
    -------
    Infeasibility
        The same refusal. Its remedies that map come first, then those that were computed but not found to map by
        themselves, then advice; those that do not even lift the limit are left out.
    """
    return what_would_fit(request, refusal, seconds, progress).problems[0]


def what_would_fit(
    request: Request, refusal: Infeasibility, seconds: float | None = None, progress: Progress | None = None
) -> Answer:
    """Try the remedies of a refusal, and of those that come to light behind it.

    Parameters
    ----------
    request, refusal, seconds, progress
        As for :func:`try_remedies`.

    Returns
    -------
    Answer
    """
    watch = _Watch(None if seconds is None else time.monotonic() + seconds, progress)
    problems: list[Infeasibility] = []
    chosen: list[Remedy] = []
    for _ in range(ROUNDS):
        outcomes = _try_all(request, refusal, watch)
        problems.append(replace(refusal, remedies=tuple(outcome.remedy for outcome in outcomes)))
        if not outcomes or (best := outcomes[0]).request is None:
            return Answer(tuple(problems), None)
        chosen.append(best.remedy)
        if best.refusal is None:
            return Answer(tuple(_chained(problems, best.remedy.cores)), best.remedy.cores)
        request, refusal = best.request, best.refusal
    return Answer(tuple(problems), None)


def _chained(problems: list[Infeasibility], cores: int | None) -> Iterator[Infeasibility]:
    """Mark the first remedies of all problems: together they map."""
    for number, problem in enumerate(problems):
        first, *rest = problem.remedies
        if number < len(problems) - 1:
            others = ", ".join(_short(p) for p in problems[number + 1 :])
            first = replace(first, text=f"{first.text}, with {others}", tried=True, cores=cores)
        yield replace(problem, remedies=(first, *rest))


def _short(problem: Infeasibility) -> str:
    remedy = problem.remedies[0]
    where = f" for {problem.node}" if remedy.lever in ("groups", "weights") else ""
    return f"{remedy.lever} = {remedy.value}{where}"


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A remedy, what it makes of the request (``None`` where it was not tried), and the refusal that came then."""

    remedy: Remedy
    request: Request | None
    refusal: Infeasibility | None

    @property
    def rank(self) -> int:
        """Those that map, those that meet another limit, those not tried, advice."""
        if self.request is None:
            return 2 if self.remedy.value is not None else 3
        return 0 if self.refusal is None else 1


class _Watch:
    """Passes progress on, and ends the search when its time is over."""

    def __init__(self, deadline: float | None, progress: Progress | None) -> None:
        self._deadline, self._progress = deadline, progress

    def __call__(self, done: int, total: int, name: str) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
        if self._progress is not None:
            self._progress(done, total, name)


def _try_all(request: Request, refusal: Infeasibility, watch: _Watch) -> list[_Outcome]:
    """Try every remedy on offer, best first in the result; among equals the order of the offers holds."""
    outcomes: list[_Outcome] = []
    for remedy in _offers(request, refusal, outcomes, watch):
        if any((known.remedy.lever, known.remedy.value) == (remedy.lever, remedy.value) for known in outcomes):
            continue
        try:
            outcome = _try(request, refusal, remedy, watch)
        except OutOfTime:  # what was computed is worth saying, what is only a guess is not
            outcome = _Outcome(remedy, None, None) if remedy in refusal.remedies else None
        if outcome is not None:
            outcomes.append(outcome)
    return sorted(outcomes, key=lambda outcome: outcome.rank)


def _try(request: Request, refusal: Infeasibility, remedy: Remedy, watch: _Watch) -> _Outcome | None:
    """Apply a remedy; ``None`` where its limit stays."""
    if remedy.value is None:
        return _Outcome(remedy, None, None)
    watch(0, 1, remedy.text)
    try:
        applied = apply_remedy(request, refusal, remedy)
    except InputError:
        return None  # the network or the chip does not allow it
    try:
        found = map_in_outline(applied, watch)
    except DoesNotFitError as error:
        then: Infeasibility = error.infeasibility
        if (then.limit, then.node) == (refusal.limit, refusal.node):
            return None
        where = f" of {then.node}" if then.node else ""
        return _Outcome(replace(remedy, text=f"{remedy.text}, then {then.limit}{where} run short"), applied, then)
    return _Outcome(replace(remedy, tried=True, cores=len(found.partition.cores)), applied, None)


def _offers(request: Request, refusal: Infeasibility, outcomes: list[_Outcome], watch: _Watch) -> Iterator[Remedy]:
    """Offer remedies: those of the refusal, then choices of the mapper, then larger cores and other chips.

    Later offers look at the outcomes of earlier ones.
    """
    computed = [remedy for remedy in refusal.remedies if remedy.value is not None]
    is_circle = _is_on_cycle(request, refusal.node)
    if refusal.limit == "cores" and is_circle and (refusal.demand > 2 * refusal.bound):
        computed = []  # copies that drive each other up end at no number of cores
    yield from computed
    if refusal.limit == "copies" or (refusal.limit == "cores" and is_circle):
        for doubling in range(1, DOUBLINGS + 1):
            if any(outcome.remedy.lever == "chip.neurons" for outcome in outcomes):
                break
            neurons = request.chip.neurons << doubling
            yield Remedy("chip.neurons", neurons, f"cores of {neurons} neurons would do")
    if refusal.limit in ("copies", "cores"):
        yield from _choices(request)
    if refusal.limit == "cores" and not is_circle:
        yield from _more_cores(request, outcomes, watch)
    yield from _packaged(request, refusal)
    yield from (remedy for remedy in refusal.remedies if remedy.value is None)


def _is_on_cycle(request: Request, node: str | None) -> bool:
    graph = request.rollout.network.graph
    return node is not None and any(node in nx.descendants(graph, v) or v == node for v in graph.successors(node))


def _choices(request: Request) -> Iterator[Remedy]:
    options = request.options
    if not options.packing:
        yield Remedy("packing", True, "packing = true would share cores")
    if options.splitters == "never":
        yield Remedy("splitters", "slack", 'splitters = "slack" would cost no tick')
    if options.splitters != "anywhere":
        yield Remedy("splitters", "anywhere", 'splitters = "anywhere" would cost ticks')


def _more_cores(request: Request, outcomes: list[_Outcome], watch: _Watch) -> Iterator[Remedy]:
    """Offer the number of cores that a network takes where there is no end of them."""
    boundless = replace(request.chip, cores=(BOUNDLESS, BOUNDLESS), chips=(1, 1), reach=None, defects=Defects())
    # on a smaller board the choice of splitters may go another way; without a choice it cannot
    for options in (request.options, replace(request.options, splitters="never")):
        if any(outcome.remedy.lever == "chip.cores" for outcome in outcomes):
            return
        try:
            needed = len(choose_fan_out(request.rollout, boundless, options, watch).partition.cores)
        except (DoesNotFitError, OutOfTime):
            return
        yield Remedy("chip.cores", needed, f"a chip or board of {count_cores(needed)} would do")


def _packaged(request: Request, refusal: Infeasibility) -> Iterator[Remedy]:
    """Offer the chips that come with neuromap, smallest first, where they have more of what is short."""
    if refusal.limit == "delay":
        return
    for chip in sorted(list_chips(), key=lambda chip: (chip.n_cores, chip.name)):
        if chip.name != request.chip.name and _has_more(chip, request.chip, refusal):
            yield Remedy("chip", chip.name, f"chip {chip.name} would do")


def _has_more(chip: ChipSpec, than: ChipSpec, refusal: Infeasibility) -> bool:
    if refusal.limit == "cores":
        return chip.n_usable_cores > than.n_usable_cores
    if refusal.limit in ("reach", "routes"):
        return True
    figures = {"axons": "axons", "axon_types": "axon_types", "copies": "neurons", "potential": "potential_bits"}
    return bool(getattr(chip, figures[refusal.limit]) > getattr(than, figures[refusal.limit]))
