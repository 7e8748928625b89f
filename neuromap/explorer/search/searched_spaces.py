"""Which patterns a search lists: a few that may settle it, else all, else a sample around the few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neuromap.arrays.value import Value
from neuromap.explorer.candidates.asked import Asked
from neuromap.explorer.candidates.class_curve import patterns_on_curve
from neuromap.explorer.candidates.graph import Graph
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.pattern_space import PatternSpace, few_patterns, pattern_space
from neuromap.rollout.patterns.behaviour import class_key
from neuromap.rollout.patterns.class_numbers import ClassNumbers, all_class_numbers, class_numbers
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.best_in_class import best_in_class

__all__ = ["Searched", "promising_patterns", "searched_spaces"]


@dataclass(frozen=True, eq=False)
class Searched(Value):
    """Patterns that are listed, and the numbers of their classes."""

    space: PatternSpace  # the patterns
    numbers: ClassNumbers  # in which the class of each of them has a number
    few: tuple[RolloutPattern, ...]  # those of the patterns that stay where there is no time for all
    is_last: bool  # whether no larger space comes after it


def searched_spaces(graph: Graph, names: NamedPatterns, asked: Asked, seed: int) -> Iterator[Searched]:
    """Give what to search, one after the other until the fronts are exact."""
    # Where all objectives are times the best patterns of the classes of patterns with names come first: mostly they
    # settle the fronts, however many patterns there are. All patterns come after them if they can be listed.
    network, few = graph.network, promising_patterns(names)
    if not asked.is_about_times:
        space = pattern_space(graph, few, seed=seed)
        numbers = all_class_numbers(network)
        yield Searched(space, numbers if space.sample is None else numbers.met(space.sample), tuple(few), is_last=True)
        return
    space = few_patterns(graph, few)
    every = None if space.is_complete else pattern_space(graph, [], seed=seed, most_sampled=0)
    is_last = every is None or not every.is_complete
    yield Searched(space, class_numbers(network, few), tuple(few), is_last)
    if every is not None and every.is_complete:
        yield Searched(every, all_class_numbers(network), tuple(few), is_last=True)


def promising_patterns(names: NamedPatterns) -> list[RolloutPattern]:
    """List patterns with names, the best of their classes, and those of the given class that answer earliest."""
    one_of_each = {class_key(pattern): pattern for pattern in names.patterns}
    best = [best_in_class(pattern) for pattern in one_of_each.values()]
    early = patterns_on_curve(names.given, names.curve)
    return list(dict.fromkeys([*names.patterns, *best, *early]))
