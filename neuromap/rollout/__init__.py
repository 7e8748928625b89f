"""The theory of rollouts: patterns, windows, counting, bounds, behaviour classes and schedules.

Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "RolloutPattern": "pattern",
    "RolloutWindow": "window",
    "Count": "counting",
    "count_valid": "counting",
    "count_valid_patterns": "counting",
    "enumerate_valid": "counting",
    "MostSequential": "sequential",
    "first_most_sequential": "sequential",
    "enumerate_most_sequential": "sequential",
    "most_sequential": "sequential",
    "most_sequential_summary": "sequential",
    "Lemma1Bounds": "bounds",
    "lemma1_bounds": "bounds",
    "Theorem1": "theorem1",
    "check_theorem1": "theorem1",
    "equivalent": "behaviour",
    "behaviour_classes": "behaviour",
    "count_behaviour_classes": "behaviour",
    "Rollout": "schedule",
    "maximum_cycle_ratio": "cycle_ratio",
    "frame_time": "node_times",
}

__all__ = [
    "Count",
    "Lemma1Bounds",
    "MostSequential",
    "Rollout",
    "RolloutPattern",
    "RolloutWindow",
    "Theorem1",
    "behaviour_classes",
    "check_theorem1",
    "count_behaviour_classes",
    "count_valid",
    "count_valid_patterns",
    "enumerate_most_sequential",
    "enumerate_valid",
    "equivalent",
    "first_most_sequential",
    "frame_time",
    "lemma1_bounds",
    "maximum_cycle_ratio",
    "most_sequential",
    "most_sequential_summary",
]

if TYPE_CHECKING:
    from neuromap.rollout.behaviour import behaviour_classes, count_behaviour_classes, equivalent
    from neuromap.rollout.bounds import Lemma1Bounds, lemma1_bounds
    from neuromap.rollout.counting import Count, count_valid, count_valid_patterns, enumerate_valid
    from neuromap.rollout.cycle_ratio import maximum_cycle_ratio
    from neuromap.rollout.node_times import frame_time
    from neuromap.rollout.pattern import RolloutPattern
    from neuromap.rollout.schedule import Rollout
    from neuromap.rollout.sequential import (
        MostSequential,
        enumerate_most_sequential,
        first_most_sequential,
        most_sequential,
        most_sequential_summary,
    )
    from neuromap.rollout.theorem1 import Theorem1, check_theorem1
    from neuromap.rollout.window import RolloutWindow


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
