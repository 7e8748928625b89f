"""The theory of rollouts: patterns, windows, counting, bounds, behaviour classes and schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Count": "patterns.counting",
    "Lemma1Bounds": "patterns.lemma1",
    "MostSequential": "patterns.sequential",
    "Rollout": "schedule.rollout",
    "RolloutPattern": "patterns.pattern",
    "RolloutWindow": "patterns.theorem1",
    "Theorem1": "patterns.theorem1",
    "behaviour_classes": "patterns.behaviour",
    "best_in_class": "schedule.best_in_class",
    "check_theorem1": "patterns.theorem1",
    "count_behaviour_classes": "patterns.behaviour",
    "count_valid": "patterns.counting",
    "count_valid_patterns": "patterns.counting",
    "enumerate_most_sequential": "patterns.sequential",
    "enumerate_valid": "patterns.counting",
    "equivalent": "patterns.behaviour",
    "first_most_sequential": "patterns.sequential",
    "frame_time": "schedule.node_times",
    "latencies_of": "schedule.node_times",
    "lemma1_bounds": "patterns.lemma1",
    "maximum_cycle_ratio": "schedule.cycle_ratio",
    "most_sequential": "patterns.sequential",
    "most_sequential_summary": "patterns.sequential",
}

if TYPE_CHECKING:
    from neuromap.rollout.patterns.behaviour import behaviour_classes as behaviour_classes
    from neuromap.rollout.patterns.behaviour import count_behaviour_classes as count_behaviour_classes
    from neuromap.rollout.patterns.behaviour import equivalent as equivalent
    from neuromap.rollout.patterns.counting import Count as Count
    from neuromap.rollout.patterns.counting import count_valid as count_valid
    from neuromap.rollout.patterns.counting import count_valid_patterns as count_valid_patterns
    from neuromap.rollout.patterns.counting import enumerate_valid as enumerate_valid
    from neuromap.rollout.patterns.lemma1 import Lemma1Bounds as Lemma1Bounds
    from neuromap.rollout.patterns.lemma1 import lemma1_bounds as lemma1_bounds
    from neuromap.rollout.patterns.pattern import RolloutPattern as RolloutPattern
    from neuromap.rollout.patterns.sequential import MostSequential as MostSequential
    from neuromap.rollout.patterns.sequential import enumerate_most_sequential as enumerate_most_sequential
    from neuromap.rollout.patterns.sequential import first_most_sequential as first_most_sequential
    from neuromap.rollout.patterns.sequential import most_sequential as most_sequential
    from neuromap.rollout.patterns.sequential import most_sequential_summary as most_sequential_summary
    from neuromap.rollout.patterns.theorem1 import RolloutWindow as RolloutWindow
    from neuromap.rollout.patterns.theorem1 import Theorem1 as Theorem1
    from neuromap.rollout.patterns.theorem1 import check_theorem1 as check_theorem1
    from neuromap.rollout.schedule.best_in_class import best_in_class as best_in_class
    from neuromap.rollout.schedule.cycle_ratio import maximum_cycle_ratio as maximum_cycle_ratio
    from neuromap.rollout.schedule.node_times import frame_time as frame_time
    from neuromap.rollout.schedule.node_times import latencies_of as latencies_of
    from neuromap.rollout.schedule.rollout import Rollout as Rollout

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
