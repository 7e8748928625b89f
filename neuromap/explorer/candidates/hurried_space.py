"""Fewer patterns, where the schedules of all of them take longer than there is time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.schedules import schedules_of
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["hurried_space"]

TIMED = 2
"""Patterns whose schedules are timed, each alone; the quickest tells how many there is time for."""


def hurried_space(
    space: PatternSpace, named: Sequence[RolloutPattern], executions: Sequence[str], seconds: float
) -> PatternSpace:
    """Keep as many patterns as there is time for."""
    # Networks whose only cycles are self-edges keep all: their schedules are computed together, in no time.
    if space.graph.is_ordered or space.sample is None or space.n_patterns <= len(named):
        return space
    first = dict.fromkeys(pattern.values for pattern in named)
    most = max(len(first), int(seconds / max(1e-6, _seconds_of_one(space, executions, seconds))))
    if most >= space.n_patterns:
        return space
    kept = list(dict.fromkeys([*first, *map(tuple, space.sample[: most + len(first)].tolist())]))[:most]
    return PatternSpace(space.graph, space.n_valid, len(kept), np.array(kept, np.uint8), is_complete=False)


def _seconds_of_one(space: PatternSpace, executions: Sequence[str], enough: float) -> float:
    """Time the schedules of one pattern in all executions; of one only where it takes longer than there is time."""
    assert space.sample is not None, "only listed patterns are timed"
    took = []
    for values in space.sample[:TIMED]:
        began = time.monotonic()
        for execution in executions:
            schedules_of(space.graph, values[None, :], execution)
        took.append(time.monotonic() - began)
        if took[-1] >= enough:
            break
    return min(took)
