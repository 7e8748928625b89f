"""Groups of rows with one mapping choice and equal times, and accuracy at a deadline."""

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
from neuromap.explorer.candidates.asked import MappingChoice
from neuromap.explorer.candidates.trained_spaces import TrainedNetwork
from neuromap.explorer.search.measured import Figures, Measured, nan_of
from neuromap.files.argument_checks import needs, real_number
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.render.quantities import with_unit
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout


class RowPlace(NamedTuple):
    """Position of a row."""

    group: int  # number of its group
    row: int  # its position in the table of the group's mapping choice


@dataclass(frozen=True, eq=False)
class Group(ReadOnly, Value):
    """Rows of one mapping choice with equal times, either all of the given pattern's class or none."""

    choice: MappingChoice  # chip, splitters and ticks per step
    rows: Ints  # (n,): positions in the choice's table, the cheapest by estimate first
    is_given_class: bool  # whether they are of the given pattern's class
    # first and full response, worst-case reaction and frame period in ticks, or lower bounds on them
    ticks: tuple[int, int, int, Time]
    bounds: Figures  # proven bounds on the figures of all of them

    @property
    def core_bound(self) -> int:
        """Proven lower bound on the cores of any mapping of any of the rows."""
        return int(self.bounds.cores)

    @property
    def cheapest_estimate(self) -> float:
        """Estimate of the cheapest row."""
        return float(self.choice.table.estimate[self.rows[0]])


def groups_of(choice: MappingChoice, accuracy: DeadlineAccuracy | None = None) -> list[Group]:
    """Group the rows of a mapping choice by their times and by membership of the given pattern's class."""
    table = choice.table
    columns = (~table.needs_retraining, *choice.optimistic())
    order = adopted(np.lexsort((table.estimate, *columns[::-1])))  # so that the groups keep parts of it
    ranked = np.stack([column[order] for column in columns], axis=1)
    starts = np.flatnonzero(run_heads(ranked))
    groups = []
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
        first, full, reaction, ticks_of_frames, frames = ranked[start, 1:].tolist()
        ticks = first, full, reaction, whole(Fraction(ticks_of_frames, frames))
        times = (count * choice.tick_seconds for count in ticks)
        error = math.nan
        if accuracy is not None:  # one row represents all, as their times are equal
            network, values = table.graph.network, table.pattern(int(order[start]))
            n_frames = accuracy.most_frames(choice, ticks)
            error = 1 - accuracy.class_at_most(network, values, n_frames, exact=choice.knows_frames)
        cores = choice.class_bound if ranked[start, 0] else choice.core_bound
        bounds = Figures._make((*times, error, float(cores), nan_of(choice.energy_bound(ticks[3], cores))))
        groups.append(Group(choice, order[start:stop], bool(ranked[start, 0]), ticks, bounds))
    return groups


# Accuracy at a deadline: accuracy of the last frame known by then, by the definition of a rollout.
#
# The stimulus is shown in every frame, each image from the initial state, as :mod:`neuromap.accuracy` does. The class
# that a frame names depends on weights and pattern alone, so it is known before a row is mapped; the row determines
# when it is known.
#
# Patterns share a curve of accuracy over frames if their curves are proven equal. With an image that is the same in
# every frame, a node that reads the input has the same sum in every frame from 1 on, whether the edge streams or not:
# so all edges that leave the input may be taken as sequential. Then nothing reads the input's frame 0, and if no node
# fires without spikes, initial frames match and patterns of one class give the same frames, counted from the first that
# depends on the stimulus (docs/theorems/one-row.md).


Values = tuple[int, ...]


class DeadlineAccuracy:
    """Accuracy of rows at a deadline; curves over frames are computed once."""

    # seconds: the deadline, in seconds from stimulus onset

    def __init__(self, seconds: float, images: ImageSet, trained: Sequence[TrainedNetwork], seed: int = 0) -> None:
        if not 0 < real_number("deadline", seconds) < math.inf:
            raise InputError(f"deadline = {seconds} s: must be above 0, and finite")
        needs("explore: images", images, ImageSet)
        if images.is_stream:  # the frames seen depend on the times of the mapped program
            raise InputError(
                f"explore: {images.name} are streams, whose accuracy depends on when a mapped program samples them; "
                "take stills, or measure each network with neuromap accuracy"
            )
        self.seconds, self.images, self.seed = float(seconds), images, seed
        self._by_network = {one.network: _Curves(one, images, seed) for one in trained}

    def most_frames(self, choice: MappingChoice, ticks: tuple[int, int, int, Time]) -> int:
        """Count the frames of a group known by the deadline, or bound them from above if ticks are timed."""
        if choice.chip.is_timed:  # rows with more frames than can be decided on are refused once measured
            return min(MOST_FRAMES, self._known(ticks[0], ticks[3], choice.tick_seconds))
        return self._checked(self._known(ticks[0], ticks[3], choice.tick_seconds))

    def n_frames(self, measured: Measured, chip: ChipSpec) -> int | None:
        """Count the frames of a row known by the deadline; ``None`` if it was not mapped, or not timed."""
        first, period = measured.first_response_ticks, measured.frame_period_ticks
        if first is None or period is None:
            return None
        if not chip.is_timed:
            return self._checked(self._known(first, period, chip.tick_seconds))
        if measured.seconds is None:
            return None
        left = self.seconds * (1 + 1e-9) - measured.seconds.first_response
        return self._checked(0 if left < 0 else math.floor(left / measured.seconds.frame_period) + 1)

    def _known(self, first: int, period: Time, tick_seconds: float) -> int:
        """Count the frames known by the deadline, with ticks of fixed length."""
        # first: first response in ticks
        # period: frame period in ticks; at unequal intervals, only frames known wherever the stimulus begins count
        ticks = math.floor(self.seconds / tick_seconds * (1 + 1e-9))  # 3 ms are 3 ticks of 1 ms
        return 0 if ticks < first else (ticks - first) // period + 1

    def _checked(self, found: int) -> int:
        if found > MOST_FRAMES:
            raise InputError(
                f"deadline {with_unit(self.seconds, 's')}: {found} frames are known by then; at most {MOST_FRAMES} are "
                "decided on, give an earlier one"
            )
        return found

    def of(self, network: Network, values: Values, n_frames: int) -> float:
        """Accuracy of the last of ``n_frames`` frames, as a fraction of the images; 0 without frames."""
        return self._by_network[network].first(values, n_frames)[-1] if n_frames else 0.0

    def at_most(self, network: Network, values: Values, n_frames: int, *, exact: bool = False) -> float:
        """Upper bound on the accuracy of a pattern if at most (or exactly) ``n_frames`` frames are known."""
        if exact:
            return self.of(network, values, n_frames)
        return max(self._by_network[network].first(values, n_frames), default=0.0)

    def class_at_most(self, network: Network, values: Values, n_frames: int, *, exact: bool) -> float:
        """Upper bound on the accuracy of all patterns of a behaviour class; see :meth:`at_most`."""
        if n_frames and not self._by_network[network].are_of_class:
            return 1.0
        return self.at_most(network, values, n_frames, exact=exact)


class _Curves:
    """Accuracy over frames of the patterns of one trained network."""

    def __init__(self, trained: TrainedNetwork, images: ImageSet, seed: int) -> None:
        self._network, self._images, self._seed = trained.network, images, seed
        shown = ImageFrames.of(Rollout(trained.network, trained.pattern), images, 1, seed)
        encoding = shown.encoding
        self._is_constant = encoding.is_constant
        nodes = (node for name, node in trained.network.nodes.items() if name not in trained.network.inputs)
        self._is_silent = all(node.threshold is not None and (node.threshold >= 1).all() for node in nodes)
        leaving = sum(source in trained.network.inputs for source, _ in trained.network.edges)
        self.are_of_class = self._is_constant and self._is_silent and leaving == 1
        self._known: dict[Values, tuple[float, ...]] = {}

    def first(self, values: Values, n_frames: int) -> tuple[float, ...]:
        """Accuracies of ``n_frames`` frames, from the first that depends on the stimulus on."""
        if not n_frames:
            return ()
        key = self._key(values)
        if len(self._known.get(key, ())) < n_frames:
            rollout = Rollout(self._network, RolloutPattern(self._network, values))
            n_more = min(MOST_FRAMES, 1 << (n_frames - 1).bit_length())  # rows with a few more may follow
            self._known[key] = accuracy_of_reference(rollout, self._images, n_more, seed=self._seed)
        return self._known[key][:n_frames]

    def _key(self, values: Values) -> Values:
        """Key of the curve: equal for patterns whose curves are proven equal."""
        if not self._is_constant:
            return values
        inputs = self._network.inputs
        held = tuple(0 if u in inputs else r for (u, _), r in zip(self._network.edges, values, strict=True))
        return class_key(RolloutPattern(self._network, held)) if self._is_silent else held
