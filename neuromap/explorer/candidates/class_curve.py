"""What windowed execution of any pattern of one behaviour class takes at least, without listing the class.

Windowed execution of a pattern with inference factor F is a schedule with frame period F, so in networks with one input
it answers no earlier than the class does pipelined with that period (``docs/theorems/chosen-period.md``). And no
pattern of the class has a smaller F than :func:`~neuromap.rollout.schedule.best_in_class.best_in_class` gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.errors import PatternError
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.best_in_class import best_in_class, pattern_with_factor
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["CurvePoint", "class_curve", "least_full_response", "patterns_on_curve"]


@dataclass(frozen=True)
class CurvePoint:
    """What windowed execution takes at least under patterns of a class with some inference factor."""

    period: int  # their inference factor F, in update steps
    # first, full: least first and full response over the outputs, in update steps
    first: int
    full: int


def class_curve(pattern: RolloutPattern) -> list[CurvePoint]:
    """Bound the times of windowed execution of all patterns of a class."""
    try:
        best = best_in_class(pattern)
    except PatternError:
        return []
    network, least = pattern.network, best.inference_factor
    most = len(network.nodes) - len(network.inputs)
    if len(network.inputs) > 1:  # each is sampled on its own, and no theorem is known
        streaming = Rollout(network, RolloutPattern.streaming(network))
        return [CurvePoint(least, min(streaming.first_responses.values()), least_full_response(streaming))]
    last = _point(best, most)
    points: list[CurvePoint] = []
    for period in range(least, most + 1):
        points.append(_point(best, period))
        if points[-1].first == last.first:  # from here on a longer period brings nothing
            break
    return points


def patterns_on_curve(pattern: RolloutPattern, points: list[CurvePoint]) -> list[RolloutPattern]:
    """Make the patterns of a class that may come as early as its bounds: those of least shifts for each F."""
    found = (pattern_with_factor(pattern, point.period) for point in points)
    return [one for one in found if one is not None]


def least_full_response(rollout: Rollout) -> int:
    """Greatest full response of a rollout over its outputs; where it is not exact, what it is at least."""
    responses = rollout.full_responses.values()
    if all(response.is_exact for response in responses):
        return max(response.steps for response in responses)
    return max(rollout.first_responses.values())


def _point(pattern: RolloutPattern, period: int) -> CurvePoint:
    rollout = Rollout(pattern.network, pattern, f"pipelined:{period}")
    return CurvePoint(period, min(rollout.first_responses.values()), least_full_response(rollout))
