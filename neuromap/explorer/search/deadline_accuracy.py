"""Groups of rows: one mapping choice, equal times; a bound that excludes one by its times excludes all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from neuromap.accuracy.measure import MOST_FRAMES, ImageFrames, accuracy_of_reference
from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.times import Time, whole
from neuromap.arrays.value import Value
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.candidates.asked import MappingChoice
from neuromap.explorer.candidates.row_bounds import energy_bound
from neuromap.explorer.candidates.trained_spaces import TrainedNetwork
from neuromap.explorer.search.measured import Figures, nan_of
from neuromap.files.argument_checks import needs, real_number
from neuromap.network.network import Network
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

_MOST_FRAMES = 1 << 12
"""More frames than any period has, and few enough that a float of a period tells it."""


class RowPlace(NamedTuple):
    """Where a row is."""

    group: int  # number of its group
    row: int  # its position in the table of the group's mapping choice


@dataclass(frozen=True, eq=False)
class Group(ReadOnly, Value):
    """Rows of one mapping choice that have equal times and are of the given pattern's class all, or none."""

    choice: MappingChoice  # chip, splitters and ticks per step
    rows: Ints  # (n,): positions in the choice's table, the cheapest by estimate first
    is_given_class: bool  # whether they are of the given pattern's class
    bounds: Figures  # proven bounds of what any of them can reach

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


# Accuracy at a deadline: how often the last frame that is known by then is right, by the definition of a rollout.
#
# The stimulus is shown in every frame, each image from the initial state, as :mod:`neuromap.accuracy` does. What a
# frame names depends on weights and pattern alone, so it is known before a row is mapped; when it is known, the row
# says.
#
# Patterns share a curve of accuracy over frames where it is proven that theirs are equal. With an image that is the
# same in every frame, a node that reads the input has the same sum in every frame from 1 on, whether the edge streams
# or not: so all edges that leave the input may be taken as sequential. Then the input's frame 0 is read by nobody,
# and where no node fires without spikes, initial frames match and patterns of one class give the same frames, counted
# from the first that depends on the stimulus (docs/theorems/one-row.md).


Values = tuple[int, ...]


class DeadlineAccuracy:
    """Gives the accuracy of rows at a deadline; curves over frames are computed once."""

    # seconds: the deadline, in seconds from stimulus onset

    def __init__(self, seconds: float, images: ImageSet, trained: Sequence[TrainedNetwork], seed: int = 0) -> None:
        if not 0 < real_number("deadline", seconds) < math.inf:
            raise InputError(f"deadline = {seconds} s: must be above 0, and finite")
        needs("explore: images", images, ImageSet)
        self.seconds, self.images, self.seed = float(seconds), images, seed
        self._by_network = {one.network: _Curves(one, images, seed) for one in trained}

    def n_frames(self, first: int, period: Time, tick_seconds: float) -> int:
        """Count the frames that are known by the deadline."""
        # first: first response in ticks
        # period: frame period in ticks; at unequal intervals those are counted that are known wherever the stimulus
        # begins
        ticks = math.floor(self.seconds / tick_seconds * (1 + 1e-9))  # 3 ms are 3 ticks of 1 ms
        found = 0 if ticks < first else (ticks - first) // period + 1
        if found > MOST_FRAMES:
            raise InputError(
                f"deadline {with_unit(self.seconds, 's')}: {found} frames are known by then; at most {MOST_FRAMES} are "
                "decided on, give an earlier one"
            )
        return found

    def of(self, network: Network, values: Values, n_frames: int) -> float:
        """Accuracy of the last of so many frames, as a part of the images; 0 where there is none."""
        return self._curve(network, values, n_frames)[-1] if n_frames else 0.0

    def at_most(self, network: Network, values: Values, n_frames: int) -> float:
        """Accuracy that a pattern has at most where at most so many frames are known."""
        return max(self._curve(network, values, n_frames), default=0.0)

    def class_at_most(self, network: Network, values: Values, n_frames: int, *, exact: bool) -> float:
        """Accuracy that every pattern of a behaviour class has at most, with at most so many frames."""
        # Or just so many.
        if not n_frames:
            return 0.0
        if not self._by_network[network].are_of_class:
            return 1.0
        return self.of(network, values, n_frames) if exact else self.at_most(network, values, n_frames)

    def _curve(self, network: Network, values: Values, n_frames: int) -> tuple[float, ...]:
        return self._by_network[network].first(values, n_frames)


class _Curves:
    """Accuracy by frame of the patterns of one trained network."""

    def __init__(self, trained: TrainedNetwork, images: ImageSet, seed: int) -> None:
        self._network, self._images, self._seed = trained.network, images, seed
        shown = ImageFrames.of(Rollout(trained.network, trained.pattern), images, 1, seed)
        encoding = shown.encoding
        self._is_constant = encoding.code != "bernoulli" and not encoding.noise
        nodes = (node for name, node in trained.network.nodes.items() if name not in trained.network.inputs)
        self._is_silent = all(node.threshold is not None and (node.threshold >= 1).all() for node in nodes)
        leaving = sum(source in trained.network.inputs for source, _ in trained.network.edges)
        self.are_of_class = self._is_constant and self._is_silent and leaving == 1
        self._known: dict[Values, tuple[float, ...]] = {}

    def first(self, values: Values, n_frames: int) -> tuple[float, ...]:
        """Give the accuracies of the first frames, from the first that depends on the stimulus on."""
        if not n_frames:
            return ()
        key = self._key(values)
        if len(self._known.get(key, ())) < n_frames:
            rollout = Rollout(self._network, RolloutPattern(self._network, values))
            n_more = min(MOST_FRAMES, 1 << (n_frames - 1).bit_length())  # a row with a few more may follow
            self._known[key] = accuracy_of_reference(rollout, self._images, n_more, seed=self._seed)
        return self._known[key][:n_frames]

    def _key(self, values: Values) -> Values:
        """Say what the curve depends on: equal for patterns whose curves are proven to be equal."""
        if not self._is_constant:
            return values
        inputs = self._network.inputs
        held = tuple(0 if u in inputs else r for (u, _), r in zip(self._network.edges, values, strict=True))
        return class_key(RolloutPattern(self._network, held)) if self._is_silent else held
