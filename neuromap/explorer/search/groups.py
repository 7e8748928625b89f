"""Groups of rows: one mapping choice, equal times; a bound that excludes one by its times excludes all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.arrays.times import Time, whole
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.mapping_choices import MappingChoice
from neuromap.explorer.candidates.row_bounds import energy_bound
from neuromap.explorer.search.deadline_accuracy import DeadlineAccuracy
from neuromap.explorer.search.figures import Figures, nan_of

__all__ = ["Group", "RowPlace", "groups_of"]

_MOST_FRAMES = 1 << 12
"""More frames than any period has, and few enough that a float of a period tells it."""

Ints = NDArray[np.int64]


class RowPlace(NamedTuple):
    """Where a row is."""

    group: int  # number of its group
    row: int  # its position in the table of the group's mapping choice


@dataclass(frozen=True, eq=False)
class Group(Value):
    """Rows of one mapping choice that have equal times and are of the given pattern's class all, or none."""

    choice: MappingChoice  # chip, splitters and ticks per step
    rows: Ints  # (n,): positions in the choice's table, the cheapest by estimate first
    is_given_class: bool  # whether they are of the given pattern's class
    bounds: Figures  # proven bounds of what any of them can reach

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def first_ticks(self) -> int:
        """First response in ticks, or what it is at least."""
        return round(self.bounds.first_response / self.choice.chip.tick_seconds)

    @property
    def period_ticks(self) -> Time:
        """Frame period in ticks, or what it is at least."""
        ticks = self.bounds.frame_period / self.choice.chip.tick_seconds
        if math.isclose(ticks, whole_ticks := round(ticks)):
            return whole_ticks
        return Fraction(ticks).limit_denominator(_MOST_FRAMES)

    @property
    def core_bound(self) -> int:
        """Cores that no mapping of any of the rows can do without."""
        return int(self.bounds.cores)

    @property
    def cheapest_estimate(self) -> float:
        """Estimate of the cheapest row."""
        return float(self.choice.table.estimate[self.rows[0]])


def groups_of(choice: MappingChoice, accuracy: DeadlineAccuracy | None = None) -> list[Group]:
    """Group the rows of a mapping choice by their times and by whether they are of the given pattern's class."""
    table, chip = choice.table, choice.chip
    columns = (~table.needs_retraining, *choice.optimistic())
    order = adopted(np.lexsort((table.estimate, *columns[::-1])))  # so that the groups keep parts of it
    ranked = np.stack([column[order] for column in columns], axis=1)
    starts = np.flatnonzero(run_heads(ranked))
    groups = []
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        period = _period(ranked[start])
        times = (ticks * chip.tick_seconds for ticks in (*ranked[start, 1:4].tolist(), period))
        error = (
            math.nan if accuracy is None else 1 - _accuracy_bound(accuracy, choice, int(order[start]), ranked[start])
        )
        cores = choice.class_bound if ranked[start, 0] else choice.core_bound
        energy = energy_bound(chip, period, cores, choice.neuron_bound)
        bounds = Figures._make((*times, error, float(cores), nan_of(energy)))
        groups.append(Group(choice, order[start:stop], bool(ranked[start, 0]), bounds))
    return groups


def _period(ranked: Ints) -> Time:
    return whole(Fraction(int(ranked[4]), int(ranked[5])))


def _accuracy_bound(accuracy: DeadlineAccuracy, choice: MappingChoice, row: int, ranked: Ints) -> float:
    """Accuracy that no row of a group exceeds; one of its rows stands for all, which have equal times."""
    n_frames = accuracy.n_frames(int(ranked[1]), _period(ranked), choice.chip.tick_seconds)
    network, values = choice.table.graph.network, choice.table.pattern(row)
    return accuracy.class_at_most(network, values, n_frames, exact=not choice.may_change_schedule)
