"""Patterns under which one set of weights is trained: those of the rollouts that are given, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.errors import InputError
from neuromap.files.argument_checks import needs
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout


def patterns_of(called: str, given: Rollout | Sequence[Rollout]) -> tuple[RolloutPattern, ...]:
    """Give the patterns of one rollout or of several."""
    rollouts = [given] if isinstance(given, Rollout) or not isinstance(given, Sequence) else list(given)
    if not rollouts:
        raise InputError(f"{called}: no rollout is given; give one for every pattern that is to be trained")
    for rollout in rollouts:
        needs(f"{called}: rollout", rollout, Rollout)
        if rollout.network is not rollouts[0].network:
            raise InputError(
                f"{called}: rollouts are of several networks ({rollouts[0].network.name}, {rollout.network.name}); one "
                "set of weights is of one network, make all rollouts of it"
            )
    patterns = tuple(rollout.pattern for rollout in rollouts)
    for pattern in patterns:
        pattern.require_binary(called)
    for number, pattern in enumerate(patterns):
        for other in patterns[:number]:
            if pattern == other:
                one, two = call_pattern(other), call_pattern(pattern)
                told = f"pattern {one} is given twice" if one == two else f"patterns {one} and {two} are the same"
                raise InputError(f"{called}: {told}; each has its turn, give each once")
    return patterns


def call_pattern(pattern: RolloutPattern) -> str:
    """Call a pattern by its name, or by its values where it has none."""
    return pattern.name or pattern.digits
