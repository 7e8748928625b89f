"""The rows of a search, with their times and bounds, and with accuracy at a deadline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from neuromap.accuracy.measure import MOST_FRAMES, ImageFrames, accuracy_of_reference
from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, whole
from neuromap.arrays.value import Value
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Deadline, TrainedClass
from neuromap.explorer.answer.limits import CHOICES, Candidate, ExploredRow
from neuromap.explorer.candidates.asked import MappingChoice, core_bound_of_row
from neuromap.explorer.candidates.named_patterns import NamedPatterns, named_patterns
from neuromap.explorer.candidates.pattern_space import PatternSpace, TrainedNetwork, trained_networks, untrained_classes
from neuromap.explorer.search.measurements import Figures, Measured, Setting, fingerprint_of_setting, nan_of
from neuromap.files.argument_checks import needs, real_number
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.results_file import fingerprint_of_chip
from neuromap.network.network import Network
from neuromap.render.quantities import with_unit
from neuromap.rollout.behaviour import class_key, count_behaviour_classes
from neuromap.rollout.class_numbers import ClassNumbers
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


def groups_of(choice: MappingChoice, accuracy: DeadlineAccuracy | None) -> list[Group]:
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
        known = self._known(ticks[0], ticks[3], choice.tick_seconds)
        # rows with more frames than can be decided on are refused once measured
        return min(MOST_FRAMES, known) if choice.chip.is_timed else self._checked(known)

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
        frames = self._by_network[network].first(values, n_frames)
        return max(frames[-1:] if exact else frames, default=0.0)

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
        self._is_constant = shown.encoding.is_constant
        nodes = (node for name, node in trained.network.nodes.items() if name not in trained.network.inputs)
        self._is_silent = all(node.threshold is not None and (node.threshold >= 1).all() for node in nodes)
        leaving = sum(source in trained.network.inputs for source, _ in trained.network.edges)
        self.are_of_class = self._is_constant and self._is_silent and leaving == 1
        self._known: dict[Values, tuple[float, ...]] = {}

    def first(self, values: Values, n_frames: int) -> tuple[float, ...]:
        """Accuracies of ``n_frames`` frames, from the first that depends on the stimulus on."""
        if not n_frames:
            return ()
        # equal keys: patterns whose curves are proven equal
        key, inputs = values, self._network.inputs
        if self._is_constant:
            key = tuple(0 if u in inputs else r for (u, _), r in zip(self._network.edges, values, strict=True))
            key = class_key(RolloutPattern(self._network, key)) if self._is_silent else key
        if len(self._known.get(key, ())) < n_frames:
            rollout = Rollout(self._network, RolloutPattern(self._network, values))
            n_more = min(MOST_FRAMES, 1 << (n_frames - 1).bit_length())  # rows with a few more may follow
            self._known[key] = accuracy_of_reference(rollout, self._images, n_more, seed=self._seed)
        return self._known[key][:n_frames]


def asked_networks(network: Network, trained: Any, images: Any, deadline: Any) -> tuple[TrainedNetwork, ...]:
    """Read the trained networks; ``trained``, ``images`` and ``deadline`` must be given together or not at all."""
    given = {"trained": trained, "images": images, "deadline": deadline}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return ()
    if missing:
        there = next(name for name, value in given.items() if value is not None)
        raise InputError(
            f"explore: {there} is given and {missing[0]} is not; accuracy at a deadline takes trained, images and "
            "deadline"
        )
    return trained_networks(network, trained)


def names_with(network: Network, given: RolloutPattern | str, weights: Sequence[TrainedNetwork]) -> NamedPatterns:
    """Collect the named patterns, including those of trained networks, with a given pattern that has weights."""
    others = [RolloutPattern(network, one.pattern.values, one.pattern.name) for one in weights]
    names = named_patterns(network, given, others)
    keys = [class_key(other) for other in others]
    return names if not others or class_key(names.given) in keys else named_patterns(network, others[0], others)


def deadline_of(
    space: PatternSpace,
    numbers: ClassNumbers,
    names: NamedPatterns,
    accuracy: DeadlineAccuracy | None,
    weights: Sequence[TrainedNetwork],
) -> Deadline | None:
    """Describe what accuracies refer to, and which classes have none."""
    # returns ``None`` without a deadline
    if accuracy is None:
        return None
    mine = [number or 0 for number in numbers.of_patterns([one.pattern for one in weights])]
    n_classes, images = count_behaviour_classes(space.graph.network), accuracy.images
    return Deadline(
        seconds=accuracy.seconds,
        data=images.name,
        part=images.part,
        n_images=len(images.images),
        classes=len(images.classes),
        seed=accuracy.seed,
        trained=tuple(
            TrainedClass(number, names.name_of(one.pattern.values), one.network.name, one.file)
            for number, one in zip(mine, weights, strict=True)
        ),
        n_untrained=None if n_classes is None else n_classes - len(mine),
        untrained=untrained_classes(space, numbers, names, mine),
    )


def check_deadline(rows: SearchRows) -> None:
    """Refuse a deadline before any response."""
    if rows.accuracy is None or not rows.groups:
        return
    earliest = min(rows.groups, key=lambda group: group.bounds.first_response)
    if not rows.accuracy.most_frames(earliest.choice, earliest.ticks):
        wanted, least = (with_unit(s, "s") for s in (rows.accuracy.seconds, earliest.bounds.first_response))
        raise InputError(
            f"deadline {wanted}: is before the first response of every row, {least} at the earliest; give {least} or "
            "more"
        )


# The rows of a search: the representative candidate of each, the fingerprint of its result, what is known of it.


@dataclass(frozen=True, eq=False)
class SearchRows:
    """All rows of a search, in groups."""

    groups: tuple[Group, ...]  # all rows
    seeds: tuple[RowPlace, ...]  # rows of the named patterns, in their order
    names: NamedPatterns  # named patterns: they represent their rows, the given one before all others
    named: Mapping[RowPlace, tuple[tuple[int, ...], str]]  # pattern and execution that represent a row of ``seeds``
    fingerprints: Mapping[MappingChoice, str]  # of network, stimuli and noise seed, and of the choice's chip
    accuracy: DeadlineAccuracy | None = None  # if accuracy at a deadline is an objective

    def candidate(self, place: RowPlace) -> Candidate:
        """Candidate that represents a row."""
        choice, row = self.groups[place.group].choice, place.row
        table = choice.table
        values, execution = self.named.get(place) or (table.pattern(row), table.executions[table.execution[row]])
        chosen = (getattr(choice.options, name) for name in (*CHOICES, "max_cores"))
        return Candidate(values, execution, choice.chip.name, *chosen)

    def fingerprint(self, place: RowPlace) -> str:
        """Digest of everything that the result of a row depends on."""
        choice, row = self.groups[place.group].choice, place.row
        options = choice.options
        text = (
            f"{self.fingerprints[choice]} {options.splitters} {choice.step_ticks[row]} "
            f"{options.ticks_per_step if choice.may_change_schedule else ''} {choice.table.key_text(row)}"
        )
        if options.wide != "refuse":
            text += f" {options.wide} {options.wide_ticks}"
        if options.phases != "least":
            text += f" {options.phases} phases"
        if options.max_cores is not None:
            text += f" {options.objective} {options.max_cores}"
        return sha256(text.encode()).hexdigest()

    def core_bound(self, place: RowPlace) -> int:
        """Compute the proven lower bound on the cores of any mapping of a row."""
        group = self.groups[place.group]
        choice = group.choice
        return core_bound_of_row(choice.table.graph.network, choice.chip, self.candidate(place), group.core_bound)

    def accuracy_bound(self, place: RowPlace) -> float | None:
        """Upper bound on a row's accuracy at the deadline, from its own pattern; ``None`` without a deadline."""
        if self.accuracy is None:
            return None
        group = self.groups[place.group]
        choice, values = group.choice, self.candidate(place).values
        n_frames = self.accuracy.most_frames(choice, group.ticks)
        return self.accuracy.at_most(choice.table.graph.network, values, n_frames, exact=choice.knows_frames)

    def at_deadline(self, place: RowPlace, measured: Measured) -> tuple[float, int] | tuple[None, None]:
        """Accuracy of a row's pattern, and its known frames; ``None`` if it was not mapped, and without a deadline."""
        choice = self.groups[place.group].choice
        n_frames = None if self.accuracy is None else self.accuracy.n_frames(measured, choice.chip)
        if self.accuracy is None or n_frames is None:
            return None, None
        return self.accuracy.of(choice.table.graph.network, self.candidate(place).values, n_frames), n_frames

    def describe(self, place: RowPlace, measured: Measured | None = None) -> ExploredRow:
        """Describe a row, with the result of mapping it if there is one."""
        group, row = self.groups[place.group], place.row
        choice, candidate = group.choice, self.candidate(place)
        table = choice.table
        # before mapping known by its schedule, or by bounds if splitters or other phases may change that: a schedule in
        # ticks may be shorter than the one in steps
        bounded = measured is None and not choice.knows_times
        if bounded:
            first, full, reaction, period = group.ticks
        else:
            first, full, reaction, ticks, frames = map(int, choice.exact_times(row))
            period = whole(Fraction(ticks, frames))
        known = ExploredRow(
            candidate=candidate,
            pattern=self.names.name_of(candidate.values),
            n_patterns=int(table.n_patterns[row]),
            behaviour_class=int(table.behaviour_class[row]),
            needs_retraining=bool(table.needs_retraining[row]),
            status="not mapped",
            frame_period_ticks=period,
            first_response_ticks=first,
            full_response_ticks=full,
            worst_case_reaction_ticks=reaction,
            full_response_exact=bounded or bool(table.exact[row]),
            times_are_bounds=bounded,
            tick_seconds=choice.tick_seconds,
            is_timed=choice.chip.is_timed,
            core_bound=group.core_bound,
            energy_bound=choice.energy_bound(group.ticks[3], group.core_bound),
            accuracy_bound=None if self.accuracy is None else float(f"{1 - group.bounds.error:.12g}"),
        )
        if measured is None:
            return known
        found = {field.name: getattr(measured, field.name) for field in fields(Measured)}
        # figures that mapping does not give, as the row does not fit or was not verified, stay as they were
        known = replace(known, **{name: value for name, value in found.items() if value is not None})
        accuracy, n_frames = self.at_deadline(place, measured)
        return replace(known, accuracy_at_deadline=accuracy, frames_by_deadline=n_frames)


def search_rows(
    choices: Sequence[MappingChoice], names: NamedPatterns, setting: Setting, accuracy: DeadlineAccuracy | None
) -> SearchRows:
    """Group the rows of all mapping choices, and find those of the named patterns."""
    groups = [group for choice in choices for group in groups_of(choice, accuracy)]
    group_of_row = {choice: np.zeros(len(choice.table), np.int32) for choice in choices}
    for number, group in enumerate(groups):
        group_of_row[group.choice][group.rows] = number
    named: dict[RowPlace, tuple[tuple[int, ...], str]] = {}  # of several named patterns in one row the first counts
    for pattern in names.patterns:
        for choice in choices:
            for execution in choice.table.executions:
                row = choice.table.row_of(pattern.values, execution)
                if row >= 0:
                    named.setdefault(RowPlace(int(group_of_row[choice][row]), row), (pattern.values, execution))
    network_of = {choice: choice.table.graph.network for choice in choices}
    settings = {one: fingerprint_of_setting(setting.only(one)) for one in dict.fromkeys(network_of.values())}
    prints = {choice: f"{settings[network_of[choice]]} {fingerprint_of_chip(choice.chip)}" for choice in choices}
    return SearchRows(tuple(groups), tuple(named), names, ReadOnlyMapping(named), ReadOnlyMapping(prints), accuracy)
