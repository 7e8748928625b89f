"""Accuracy at the first sequential response, over networks: what streaming has by the time sequential first answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.experiments.experiment_result import CurvePoints, ExperimentResult

__all__ = ["FirstAnswer", "first_answers", "is_over_networks"]


@dataclass(frozen=True)
class FirstAnswer:
    """One curve at the update step of the first response of its network's sequential pattern."""

    network: str  # its name
    pattern: str  # of the curve
    step: int  # update steps since onset, windowed: the longest path of the network
    # fraction of test images that the frame known at this step names rightly, mean over the repetitions
    accuracy: float
    standard_error: float | None  # of that mean; ``None`` for one run
    published: float | None  # what the publication gives at this step


def first_answers(result: ExperimentResult) -> tuple[FirstAnswer, ...]:
    """Give the answers of all networks that were run under both patterns, network by network, streaming first."""
    # A network whose streaming curve has too few frames to reach that step is left out.
    of_network: dict[str, dict[str, CurvePoints]] = {}
    for curve in (c for c in result.curves if c.start is None):
        of_network.setdefault(curve.network, {})[curve.pattern] = curve
    found: list[FirstAnswer] = []
    for curves in of_network.values():
        found += _pair(curves)
    return tuple(found)


def is_over_networks(answers: tuple[FirstAnswer, ...]) -> bool:
    """Say whether there are several networks to compare."""
    return len({answer.network for answer in answers}) > 1


def _pair(curves: Mapping[str, CurvePoints]) -> list[FirstAnswer]:
    if not {"streaming", "sequential"} <= curves.keys():
        return []
    step = curves["sequential"].times.windowed[0]
    if step not in curves["streaming"].times.windowed:
        return []
    return [_at(curves[pattern], step) for pattern in ("streaming", "sequential")]


def _at(curve: CurvePoints, step: int) -> FirstAnswer:
    frame, told = curve.times.windowed.index(step), curve.published
    published = {} if told is None else dict(zip(told.steps, told.accuracy, strict=True))
    error = None if curve.standard_error is None else curve.standard_error[frame]
    return FirstAnswer(curve.network, curve.pattern, step, curve.accuracy[frame], error, published.get(step))
