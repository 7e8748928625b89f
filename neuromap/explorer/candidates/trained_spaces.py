"""The patterns that trained networks serve, and the classes for which there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neuromap.explorer.candidates.graph import graph_of
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.trained_networks import TrainedNetwork
from neuromap.rollout.class_numbers import ClassNumbers

__all__ = ["MOST_NAMED", "trained_spaces", "untrained_classes"]

MOST_NAMED = 4
"""Classes without trained weights that are named, at most."""


def trained_spaces(space: PatternSpace, trained: Sequence[TrainedNetwork]) -> list[PatternSpace]:
    """Give every trained network the patterns of its class."""
    return [replace(space.of_class(one.pattern), graph=graph_of(one.network)) for one in trained]


def untrained_classes(
    space: PatternSpace, numbers: ClassNumbers, names: NamedPatterns, trained: Sequence[int]
) -> tuple[tuple[int, str], ...]:
    """Name some classes without trained weights, those of patterns with names first."""
    found: dict[int, str] = {}
    for pattern, number in zip(names.patterns, numbers.of_patterns(names.patterns), strict=True):
        found.setdefault(number or 0, names.name_of(pattern.values))
    values = next(space.chunks())
    values = values[np.argsort(-values.sum(axis=1, dtype=np.int64), kind="stable")]
    of_all, first = np.unique(numbers.of(values), return_index=True)
    for number, k in zip(of_all.tolist(), first.tolist(), strict=True):
        found.setdefault(number, names.name_of(tuple(values[k].tolist())))
    return tuple((number, text) for number, text in found.items() if number and number not in trained)[:MOST_NAMED]
