"""Named patterns: the given one, streaming, sequential, and those of the network's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.times import Time
from neuromap.errors import PatternError
from neuromap.files.argument_checks import needs
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.fastest_phases import responses_of_pairs, soonest_responses
from neuromap.rollout.schedule.phases import best_in_class, pattern_with_factor
from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True, eq=False)
class NamedPatterns(ReadOnly):
    """Named valid patterns, each once, the given one first."""

    given: RolloutPattern  # the pattern that the weights were trained for
    patterns: tuple[RolloutPattern, ...]  # all of them
    names: Mapping[tuple[int, ...], str]  # name by R of every edge

    @cached_property
    def curve(self) -> list[StepTimes]:
        """Lower bounds on the times of windowed execution under any pattern of the given one's class."""
        try:
            best = best_in_class(self.given)
        except PatternError:
            return []
        most = len(best.network.nodes) - len(best.network.inputs)
        last = _point(best, most)
        points: list[StepTimes] = []
        for period in range(best.inference_factor, most + 1):  # one F after the other
            points.append(_point(best, period))
            if points[-1].least[:2] == last.least[:2]:  # from here on a longer period gains nothing
                break
        return points

    def name_of(self, values: tuple[int, ...]) -> str:
        """Name of a pattern, or its streaming edges."""
        if values in self.names:
            return self.names[values]
        edges = [f"{u} -> {v}" for (u, v), r in zip(self.given.network.edges, values, strict=True) if r]
        return ", ".join(edges) or "no streaming edge"


def named_patterns(
    network: Network, given: RolloutPattern | str, others: Sequence[RolloutPattern] = ()
) -> NamedPatterns:
    """Collect the named patterns of a network."""
    pattern = RolloutPattern.named(network, given) if isinstance(given, str) else given
    needs("explore: given", pattern, RolloutPattern, PatternError)
    if tuple(pattern.network.edges) != tuple(network.edges):
        raise PatternError(
            f"pattern {pattern.name or '(unnamed)'}: belongs to network {pattern.network.name}, whose edges are not "
            f"those of {network.name}; make the pattern from the same network"
        )
    pattern = RolloutPattern(network, pattern.values, pattern.name)
    pattern.require_valid()
    pattern.require_binary("explore")
    every = (RolloutPattern.named(network, name) for name in network.pattern_names)
    known = [found for found in every if not found.bridging_edges]
    names: dict[tuple[int, ...], str] = {}
    for found in known:
        if found.is_valid:
            names.setdefault(found.values, found.name)
    for found in (pattern, *others):
        if found.name:
            names.setdefault(found.values, found.name)
    distinct = {found.values: found for found in (pattern, *others, *known) if found.is_valid}
    return NamedPatterns(pattern, tuple(distinct.values()), names)


# Lower bounds on windowed execution of any pattern of a behaviour class, without listing the class.
#
# Windowed execution of a pattern with inference factor F is a schedule with frame period F, so no pair of an input and
# an output answers earlier than it can in pipelined execution with that period, in the phases that are best for it
# (``docs/theorems/chosen-period.md``). And no pattern of the class has a smaller F than
# :func:`~neuromap.rollout.schedule.phases.best_in_class` finds.


class LeastResponses(NamedTuple):
    """Lower bounds on responses in update steps; with the frame period, they determine all times of a row."""

    # first, slowest: first response to the inputs that are answered first and last
    # full: greatest full response over the outputs; a lower bound if it is not exact
    first: int
    slowest: int
    full: int

    @classmethod
    def of(cls, rollout: Rollout) -> Self:
        """Responses of a rollout."""
        firsts, fulls = rollout.first_responses.values(), rollout.full_responses.values()
        full = max(one.steps for one in fulls) if all(one.is_exact for one in fulls) else max(firsts)
        return cls(min(firsts), rollout.slowest_response(), full)

    @classmethod
    def soonest(cls, rollout: Rollout) -> Self:
        """Least responses of every pair of an input and an output, over all phases with the same period."""
        own, best = responses_of_pairs(rollout), soonest_responses(rollout)
        answers: dict[str, int] = {}
        for (i, _), steps in best.items():
            answers[i] = min(steps, answers.get(i, steps))
        full = max(best.values())
        if all(one.is_exact for one in rollout.full_responses.values()):
            # the input with the longest path to an output is sped up by at most the greatest gain of any input
            gained = {o: max(own[pair] - best[pair] for pair in best if pair[1] == o) for _, o in best}
            full = max(one.steps - gained[o] for o, one in rollout.full_responses.items())
        return cls(min(best.values()), max(answers.values()), full)


@dataclass(frozen=True)
class StepTimes:
    """Lower bounds on the times of rows of one execution, in update steps."""

    execution: str  # the execution
    period: Time  # frame period; for windowed execution the inference factor F of its patterns
    least: LeastResponses


def patterns_on_curve(pattern: RolloutPattern, points: Sequence[StepTimes]) -> list[RolloutPattern]:
    """Make the patterns of a class that may attain its bounds: those with the least shifts for each F."""
    found = (pattern_with_factor(pattern, int(point.period)) for point in points)
    return [one for one in found if one is not None]


def _point(pattern: RolloutPattern, period: int) -> StepTimes:
    return StepTimes(
        "windowed", period, LeastResponses.soonest(Rollout(pattern.network, pattern, f"pipelined:{period}"))
    )
