"""The rows of a search, with their times and bounds, and with accuracy at a deadline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import whole
from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Deadline, TrainedClass
from neuromap.explorer.answer.rows import Candidate, ExploredRow
from neuromap.explorer.candidates.asked import MappingChoice
from neuromap.explorer.candidates.named_patterns import NamedPatterns, named_patterns
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.row_bounds import core_bound_of_row
from neuromap.explorer.candidates.trained_spaces import TrainedNetwork, trained_networks, untrained_classes
from neuromap.explorer.search.deadline_accuracy import DeadlineAccuracy, Group, RowPlace, groups_of
from neuromap.explorer.search.measured import Measured
from neuromap.jobs.results_file import fingerprint_of_chip
from neuromap.network.network import Network
from neuromap.render.quantities import with_unit
from neuromap.rollout.behaviour import class_key, count_behaviour_classes
from neuromap.rollout.class_numbers import ClassNumbers
from neuromap.rollout.pattern import RolloutPattern


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
    titled = zip(mine, weights, strict=True)
    return Deadline(
        seconds=accuracy.seconds,
        data=images.name,
        part=images.part,
        n_images=len(images.images),
        classes=len(images.classes),
        seed=accuracy.seed,
        trained=tuple(
            TrainedClass(number, names.name_of(one.pattern.values), one.network.name, one.file)
            for number, one in titled
        ),
        n_untrained=None if n_classes is None else n_classes - len(mine),
        untrained=untrained_classes(space, numbers, names, mine),
    )


def check_deadline(rows: SearchRows) -> None:
    """Refuse a deadline before any response."""
    if rows.accuracy is None or not rows.groups:
        return
    earliest = min((group for group in rows.groups), key=lambda group: group.bounds.first_response)
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
        asked = choice.options
        options = (asked.splitters, asked.ticks_per_step, asked.wide, asked.wide_ticks, asked.phases, asked.max_cores)
        return Candidate(values, execution, choice.chip.name, *options)

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

    def frames_by_deadline(self, place: RowPlace, measured: Measured) -> int | None:
        """Frames of a row known by the deadline; ``None`` if it was not mapped, and without a deadline."""
        return None if self.accuracy is None else self.accuracy.n_frames(measured, self.groups[place.group].choice.chip)

    def accuracy_of(self, place: RowPlace, measured: Measured) -> float | None:
        """Accuracy of a row's representative pattern at the deadline; ``None`` as for :meth:`frames_by_deadline`."""
        n_frames = self.frames_by_deadline(place, measured)
        if self.accuracy is None or n_frames is None:
            return None
        network = self.groups[place.group].choice.table.graph.network
        return self.accuracy.of(network, self.candidate(place).values, n_frames)

    def describe(self, place: RowPlace, measured: Measured | None = None) -> ExploredRow:
        """Describe a row, with the result of mapping it if there is one."""
        known = self._before_mapping(place, bounded=measured is None)
        if measured is None:
            return known
        found = {field.name: getattr(measured, field.name) for field in fields(Measured)}
        # figures that mapping does not give, as the row does not fit or was not verified, stay as they were
        known = replace(known, **{name: value for name, value in found.items() if value is not None})
        accuracy, n_frames = self.accuracy_of(place, measured), self.frames_by_deadline(place, measured)
        return replace(known, accuracy_at_deadline=accuracy, frames_by_deadline=n_frames)

    def _before_mapping(self, place: RowPlace, *, bounded: bool) -> ExploredRow:
        """Describe a row by its schedule, or by bounds if splitters or other phases may change it."""
        group, row = self.groups[place.group], place.row
        choice, candidate = group.choice, self.candidate(place)
        table = choice.table
        bounded = bounded and not choice.knows_times
        # a schedule in ticks may be shorter than the one in steps
        if bounded:
            first, full, reaction, period = group.ticks
        else:
            first, full, reaction, ticks, frames = map(int, choice.exact_times(row))
            period = whole(Fraction(ticks, frames))
        return ExploredRow(
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


def search_rows(
    choices: Sequence[MappingChoice],
    names: NamedPatterns,
    setting: Callable[[Network], str],
    accuracy: DeadlineAccuracy | None = None,
) -> SearchRows:
    """Group the rows of all mapping choices, and find those of the named patterns."""
    groups = [group for choice in choices for group in groups_of(choice, accuracy)]
    named = _named_rows(choices, groups, names)
    network_of = {choice: choice.table.graph.network for choice in choices}
    settings = {network: setting(network) for network in dict.fromkeys(network_of.values())}
    prints = {choice: f"{settings[network_of[choice]]} {fingerprint_of_chip(choice.chip)}" for choice in choices}
    return SearchRows(tuple(groups), tuple(named), names, ReadOnlyMapping(named), ReadOnlyMapping(prints), accuracy)


def _named_rows(
    choices: Sequence[MappingChoice], groups: Sequence[Group], names: NamedPatterns
) -> dict[RowPlace, tuple[tuple[int, ...], str]]:
    """Find the rows of the named patterns; of several in one row, the first represents it."""
    group_of_row = {choice: np.zeros(len(choice.table), np.int32) for choice in choices}
    for number, group in enumerate(groups):
        group_of_row[group.choice][group.rows] = number
    found: dict[RowPlace, tuple[tuple[int, ...], str]] = {}
    for pattern in names.patterns:
        for choice in choices:
            for execution in choice.table.executions:
                row = choice.table.row_of(pattern.values, execution)
                if row >= 0:
                    found.setdefault(RowPlace(int(group_of_row[choice][row]), row), (pattern.values, execution))
    return found
