"""Remedies put to the test: each is applied and the network mapped anew, to say what would fit and at how many cores.

A remedy lifts one limit; then another may be met. The first remedy that meets one is followed: the remedies of the
refusal behind it are tried on top of it, and so on until the network maps or nothing helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.messages import counted
from neuromap.mapping.asked.progress import Progress
from neuromap.mapping.refused.infeasible import Infeasibility, Remedy
from neuromap.mapping.remedy.apply_remedy import Request, apply_remedy
from neuromap.mapping.remedy.outline import map_in_outline
from neuromap.mapping.remedy.remedy_offers import OutOfTime, Watch, offers

__all__ = ["Answer", "try_remedies", "what_would_fit"]

ROUNDS = 8
"""Refusals in a row to which remedies are sought."""
OTHER_NETWORKS = ("pool", "source_features", "features")
"""Levers that change what is computed; said only where the network then maps."""


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
        As for :func:`neuromap.mapping.remedy.outline.map_in_outline`.

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
    watch = Watch(seconds, progress)
    return _answer(request, refusal, watch, ROUNDS)


def _answer(request: Request, refusal: Infeasibility, watch: Watch, rounds: int) -> Answer:
    """Try the remedies of a refusal; follow the first that meets another refusal before the rest is tried."""
    outcomes: list[_Outcome] = []

    def is_settled(lever: str) -> bool:
        return any(known.maps and known.remedy.lever == lever for known in outcomes)

    for remedy in offers(request, refusal, is_settled, watch):
        if any((known.remedy.lever, known.remedy.value) == (remedy.lever, remedy.value) for known in outcomes):
            continue
        try:
            outcome = _try(request, refusal, remedy, watch)
        except OutOfTime:  # what was computed is worth saying, what is only a guess is not
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
    """A remedy, what it makes of the request (``None`` where it was not tried), and the refusal that came then."""

    # ``behind`` is the answer to that refusal, where it was sought.

    remedy: Remedy
    request: Request | None = None
    refusal: Infeasibility | None = None
    behind: Answer | None = None

    @property
    def maps(self) -> bool:
        """Whether the network then mapped."""
        return self.request is not None and self.refusal is None

    @property
    def is_imagined(self) -> bool:
        """Whether it takes a chip that nobody has."""
        return self.remedy.lever.startswith("chip.")

    @property
    def rank(self) -> int:
        """What maps and can be had, what maps at all, what meets another limit, what was not tried, advice."""
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


def _try(request: Request, refusal: Infeasibility, remedy: Remedy, watch: Watch) -> _Outcome | None:
    """Apply a remedy; ``None`` where its limit stays."""
    if remedy.value is None:
        return _Outcome(remedy)
    watch(0, 1, remedy.text)
    try:
        applied = apply_remedy(request, refusal, remedy)
        found = map_in_outline(applied, watch)
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
