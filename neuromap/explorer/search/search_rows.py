"""The rows of a search: which candidate stands for each, under which fingerprint its result is kept, what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.explorer.answer.rows import Candidate, ExploredRow
from neuromap.explorer.candidates.mapping_choices import MappingChoice
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.row_bounds import core_bound_of_row, energy_bound
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.search.groups import Group, RowPlace, groups_of
from neuromap.jobs.fingerprint import fingerprint_of_chip

__all__ = ["SearchRows", "search_rows"]


@dataclass(frozen=True, eq=False)
class SearchRows:
    """All rows of a search, in groups.

    Attributes
    ----------
    groups : tuple of Group
        All rows.
    seeds : tuple of RowPlace
        The rows of the patterns with names, in their order.
    names : NamedPatterns
        Patterns with names: those stand for their rows, the given one before all others.
    named : mapping of RowPlace to (tuple of int, str)
        Pattern and execution that stand for a row of ``seeds``.
    fingerprints : mapping of MappingChoice to str
        Of network, stimuli and noise seed, and of the choice's chip.
    """

    groups: tuple[Group, ...]
    seeds: tuple[RowPlace, ...]
    names: NamedPatterns
    named: Mapping[RowPlace, tuple[tuple[int, ...], str]]
    fingerprints: Mapping[MappingChoice, str]

    def candidate(self, place: RowPlace) -> Candidate:
        """Candidate that stands for a row."""
        choice, row = self.groups[place.group].choice, place.row
        table = choice.table
        values, execution = self.named.get(place) or (table.pattern(row), table.executions[table.execution[row]])
        return Candidate(values, execution, choice.chip.name, choice.splitters, choice.ticks_per_step)

    def fingerprint(self, place: RowPlace) -> str:
        """Digest of all that the result of a row depends on."""
        choice, row = self.groups[place.group].choice, place.row
        text = (
            f"{self.fingerprints[choice]} {choice.splitters} {choice.step_ticks[row]} "
            f"{choice.ticks_per_step if choice.may_change_schedule else ''} {choice.table.key_text(row)}"
        )
        return sha256(text.encode()).hexdigest()

    def core_bound(self, place: RowPlace) -> int:
        """Compute the cores that no mapping of a row can do without."""
        choice = self.groups[place.group].choice
        return core_bound_of_row(choice.table.graph.network, choice.chip, self.candidate(place), choice.core_bound)

    def describe(self, place: RowPlace, measured: Measured | None = None) -> ExploredRow:
        """Say what is known of a row, with what came of mapping it or ``None``."""
        known = self._before_mapping(place, bounded=measured is None)
        if measured is None:
            return known
        found = {field.name: getattr(measured, field.name) for field in fields(Measured)}
        # what mapping does not tell, as the row does not fit or was not verified, stays as it was
        return replace(known, **{name: value for name, value in found.items() if value is not None})

    def _before_mapping(self, place: RowPlace, *, bounded: bool) -> ExploredRow:
        """Describe a row by its schedule, or by bounds where it may be changed by splitters."""
        group, row = self.groups[place.group], place.row
        choice, candidate = group.choice, self.candidate(place)
        table, tick = choice.table, choice.chip.tick_seconds
        bounded = bounded and choice.may_change_schedule
        # a schedule in ticks may be shorter than the one in steps
        times = [round(t / tick) for t in group.bounds.times] if bounded else map(int, choice.exact_times(row))
        first, full, reaction, period = times
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
            tick_seconds=tick,
            core_bound=choice.core_bound,
            energy_bound=energy_bound(choice.chip, group.period_ticks, choice.core_bound),
        )


def search_rows(choices: Sequence[MappingChoice], names: NamedPatterns, setting: str) -> SearchRows:
    """Group the rows of all mapping choices, and find those of the patterns with names.

    Parameters
    ----------
    choices : sequence of MappingChoice
        With their tables.
    names : NamedPatterns
        Patterns with names.
    setting : str
        Fingerprint of network, stimuli and noise seed.

    Returns
    -------
    SearchRows
    """
    groups = [group for choice in choices for group in groups_of(choice)]
    named = _named_rows(choices, groups, names)
    fingerprints = {choice: f"{setting} {fingerprint_of_chip(choice.chip)}" for choice in choices}
    return SearchRows(tuple(groups), tuple(named), names, ReadOnlyMapping(named), ReadOnlyMapping(fingerprints))


def _named_rows(
    choices: Sequence[MappingChoice], groups: Sequence[Group], names: NamedPatterns
) -> dict[RowPlace, tuple[tuple[int, ...], str]]:
    """Find the rows of the patterns with names; of several in one row the first stands for it."""
    group_of_row = _group_of_every_row(choices, groups)
    found: dict[RowPlace, tuple[tuple[int, ...], str]] = {}
    for pattern in names.patterns:
        for choice in choices:
            for execution in choice.table.executions:
                row = choice.table.row_of(pattern.values, execution)
                if row >= 0:
                    found.setdefault(RowPlace(int(group_of_row[choice][row]), row), (pattern.values, execution))
    return found


def _group_of_every_row(
    choices: Sequence[MappingChoice], groups: Sequence[Group]
) -> dict[MappingChoice, NDArray[np.int32]]:
    numbers = {choice: np.zeros(len(choice.table), np.int32) for choice in choices}
    for number, group in enumerate(groups):
        numbers[group.choice][group.rows] = number
    return numbers
