"""The theory of rollouts: patterns, windows, counting, bounds, behaviour classes and schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Best": "schedule.tick_seconds",
    "Count": "behaviour",
    "Crossing": "schedule.tick_seconds",
    "FastestPhases": "schedule.fastest_phases",
    "Lemma1Bounds": "lemma1",
    "PeriodPoint": "schedule.period_curve",
    "MostSequential": "sequential",
    "Rollout": "schedule.rollout",
    "RolloutPattern": "pattern",
    "RolloutWindow": "theorem1",
    "Seconds": "schedule.tick_seconds",
    "Theorem1": "theorem1",
    "Unfolded": "unfolding",
    "TickWork": "schedule.tick_seconds",
    "behaviour_classes": "behaviour",
    "best_in_class": "schedule.phases",
    "best_over_cores": "schedule.tick_seconds",
    "check_theorem1": "theorem1",
    "count_behaviour_classes": "behaviour",
    "count_valid": "behaviour",
    "count_valid_patterns": "behaviour",
    "crossing": "schedule.tick_seconds",
    "enumerate_most_sequential": "sequential",
    "enumerate_valid": "behaviour",
    "equivalent": "behaviour",
    "fastest_phases": "schedule.fastest_phases",
    "first_most_sequential": "sequential",
    "is_least": "schedule.fastest_phases",
    "frame_time": "schedule.node_times",
    "latencies_of": "schedule.node_times",
    "least_first_response": "schedule.tick_seconds",
    "lemma1_bounds": "lemma1",
    "maximum_cycle_ratio": "schedule.node_times",
    "most_sequential": "sequential",
    "most_sequential_summary": "sequential",
    "path_first": "schedule.tick_seconds",
    "period_curve": "schedule.period_curve",
    "seconds_of_ticks": "schedule.tick_seconds",
    "seconds_on_cores": "schedule.tick_seconds",
    "soonest_responses": "schedule.fastest_phases",
    "tick_seconds": "schedule.tick_seconds",
    "unfold": "unfolding",
}

if TYPE_CHECKING:
    from neuromap.rollout.behaviour import Count as Count
    from neuromap.rollout.behaviour import behaviour_classes as behaviour_classes
    from neuromap.rollout.behaviour import count_behaviour_classes as count_behaviour_classes
    from neuromap.rollout.behaviour import count_valid as count_valid
    from neuromap.rollout.behaviour import count_valid_patterns as count_valid_patterns
    from neuromap.rollout.behaviour import enumerate_valid as enumerate_valid
    from neuromap.rollout.behaviour import equivalent as equivalent
    from neuromap.rollout.lemma1 import Lemma1Bounds as Lemma1Bounds
    from neuromap.rollout.lemma1 import lemma1_bounds as lemma1_bounds
    from neuromap.rollout.pattern import RolloutPattern as RolloutPattern
    from neuromap.rollout.schedule.fastest_phases import FastestPhases as FastestPhases
    from neuromap.rollout.schedule.fastest_phases import fastest_phases as fastest_phases
    from neuromap.rollout.schedule.fastest_phases import is_least as is_least
    from neuromap.rollout.schedule.fastest_phases import soonest_responses as soonest_responses
    from neuromap.rollout.schedule.node_times import frame_time as frame_time
    from neuromap.rollout.schedule.node_times import latencies_of as latencies_of
    from neuromap.rollout.schedule.node_times import maximum_cycle_ratio as maximum_cycle_ratio
    from neuromap.rollout.schedule.period_curve import PeriodPoint as PeriodPoint
    from neuromap.rollout.schedule.period_curve import period_curve as period_curve
    from neuromap.rollout.schedule.phases import best_in_class as best_in_class
    from neuromap.rollout.schedule.rollout import Rollout as Rollout
    from neuromap.rollout.schedule.tick_seconds import Best as Best
    from neuromap.rollout.schedule.tick_seconds import Crossing as Crossing
    from neuromap.rollout.schedule.tick_seconds import Seconds as Seconds
    from neuromap.rollout.schedule.tick_seconds import TickWork as TickWork
    from neuromap.rollout.schedule.tick_seconds import best_over_cores as best_over_cores
    from neuromap.rollout.schedule.tick_seconds import crossing as crossing
    from neuromap.rollout.schedule.tick_seconds import least_first_response as least_first_response
    from neuromap.rollout.schedule.tick_seconds import path_first as path_first
    from neuromap.rollout.schedule.tick_seconds import seconds_of_ticks as seconds_of_ticks
    from neuromap.rollout.schedule.tick_seconds import seconds_on_cores as seconds_on_cores
    from neuromap.rollout.schedule.tick_seconds import tick_seconds as tick_seconds
    from neuromap.rollout.sequential import MostSequential as MostSequential
    from neuromap.rollout.sequential import enumerate_most_sequential as enumerate_most_sequential
    from neuromap.rollout.sequential import first_most_sequential as first_most_sequential
    from neuromap.rollout.sequential import most_sequential as most_sequential
    from neuromap.rollout.sequential import most_sequential_summary as most_sequential_summary
    from neuromap.rollout.theorem1 import RolloutWindow as RolloutWindow
    from neuromap.rollout.theorem1 import Theorem1 as Theorem1
    from neuromap.rollout.theorem1 import check_theorem1 as check_theorem1
    from neuromap.rollout.unfolding import Unfolded as Unfolded
    from neuromap.rollout.unfolding import unfold as unfold

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
