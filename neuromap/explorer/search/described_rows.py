"""Rows as people see them: which candidate stands for a row, what it is called, what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from neuromap.explorer.answer.exploration import Candidate, ExploredRow
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.row_keys import Keys
from neuromap.explorer.candidates.schedules import schedules_of
from neuromap.explorer.measuring.evaluate import Measured
from neuromap.explorer.measuring.results_file import digest_of_chip
from neuromap.explorer.search.best_first import Group, Search
from neuromap.explorer.search.front import front_of
from neuromap.explorer.search.row_bounds import energy_bound

__all__ = ["MOST_ROWS", "DescribedRows", "listed_rows"]

MOST_ROWS = 300
"""Rows that were not mapped and are listed, at most."""


class DescribedRows:
    """Says of every row which candidate stands for it, what it is called and under which key its result is kept.

    Parameters
    ----------
    groups : sequence of Group
        All rows of a search.
    keys : mapping of bool to Keys
        Keys of the tables; the key says whether splitters may change schedules.
    names : NamedPatterns
        Patterns with names: those stand for their rows, the given one before all others.
    digest : str
        Of network, frames and ways of simulation.

    Attributes
    ----------
    seeds : list of (int, int)
        Group and row of the patterns with names.
    """

    def __init__(self, groups: Sequence[Group], keys: Mapping[bool, Keys], names: NamedPatterns, digest: str) -> None:
        self._groups, self._names, self._digest = groups, names, digest
        self._chips = {id(group.way): digest_of_chip(group.way.chip) for group in groups}
        self._standing: dict[tuple[int, int], tuple[tuple[int, ...], str]] = {}
        place_of = {
            (id(group.way), int(row)): number
            for number, group in enumerate(groups)
            for row in (group.rows if len(group.rows) < 1000 else ())
        }
        ways = list({id(group.way): group.way for group in groups}.values())
        self.seeds: list[tuple[int, int]] = []
        for pattern in names.patterns:
            values = np.array([pattern.values], np.uint8)
            for way in ways:
                key_maker = keys[way.may_change_schedule]
                for execution in way.table.executions:
                    schedules = schedules_of(way.table.graph, values, execution)
                    if not schedules.period[0]:  # shorter than the pattern's cycles allow
                        continue
                    row = way.table.find(key_maker.of(values, schedules, execution)[0])
                    if row < 0:
                        continue
                    if (id(way), row) not in self._standing:
                        self._standing[id(way), row] = (pattern.values, execution)
                        number = place_of.get((id(way), row), -1)
                        if number < 0:
                            number = next(
                                k for k, group in enumerate(groups) if group.way is way and (group.rows == row).any()
                            )
                        self.seeds.append((number, row))

    def candidate(self, group: int, row: int) -> Candidate:
        """Candidate that stands for a row."""
        way = self._groups[group].way
        standing = self._standing.get((id(way), row))
        if standing is None:
            standing = (way.table.pattern(row), way.table.executions[way.table.execution[row]])
        return Candidate(*standing, way.chip.name, way.splitters, way.ticks_per_step)

    def key(self, group: int, row: int) -> str:
        """Digest of all that the result of a row depends on."""
        way = self._groups[group].way
        text = (
            f"{self._digest} {self._chips[id(way)]} {way.splitters} {way.stretch[row]} "
            f"{way.ticks_per_step if way.may_change_schedule else ''} {way.table.key_text(row)}"
        )
        return sha256(text.encode()).hexdigest()

    def describe(self, group: int, row: int, measured: Measured | None) -> ExploredRow:
        """Say what is known of a row, with what came of mapping it or ``None``."""
        way = self._groups[group].way
        table, candidate = way.table, self.candidate(group, row)
        step = int(way.stretch[row])
        first, full, period = (int(column[row]) * step for column in (table.first, table.full, table.period))
        reaction = first + period - step
        bounded = measured is None and way.may_change_schedule
        if bounded:  # a schedule in ticks may be shorter than the one in steps
            tick = way.chip.tick_seconds
            first, full, reaction, period = (round(t / tick) for t in self._groups[group].vector[:4])
        plain = ExploredRow(
            candidate=candidate,
            pattern=self._names.name_of(candidate.values),
            n_patterns=int(table.n_patterns[row]),
            behaviour_class=int(table.behaviour_class[row]),
            status="not mapped",
            frame_period_ticks=period,
            first_response_ticks=first,
            full_response_ticks=full,
            worst_case_reaction_ticks=reaction,
            full_response_exact=bounded or bool(table.exact[row]),
            times_are_bounds=bounded,
            tick_seconds=way.chip.tick_seconds,
            core_bound=way.core_bound,
            energy_bound=energy_bound(
                way.chip, round(self._groups[group].vector[3] / way.chip.tick_seconds), way.core_bound
            ),
        )
        if measured is None:
            return plain
        changed = {
            name: getattr(measured, name)
            for name in (
                "frame_period_ticks", "first_response_ticks", "full_response_ticks", "worst_case_reaction_ticks",
                "full_response_exact",
            )
            if getattr(measured, name) is not None
        }  # fmt: skip
        return replace(
            plain,
            status=measured.status,
            message=measured.message,
            schedule=measured.schedule,
            cores=measured.cores,
            energy_joules=measured.energy_joules,
            verified=measured.verified,
            **changed,
        )


def listed_rows(search: Search, rows: DescribedRows) -> tuple[ExploredRow, ...]:
    """Make the rows of the result: all that were mapped or refused, and some that were not.

    Parameters
    ----------
    search : Search
        Has ended.
    rows : DescribedRows
        Of the same groups.

    Returns
    -------
    tuple of ExploredRow
        Those of the front first.
    """
    found = [
        replace(rows.describe(f.group, f.row, f.measured), core_bound=search.bound_of((f.group, f.row)))
        for f in search.found
    ]
    mapped = [k for k, row in enumerate(found) if row.status == "mapped"]
    figures = np.array([search.found[k].figures for k in mapped], np.float64).reshape(-1, 6)
    overall = front_of(figures)
    classes = np.array([found[k].behaviour_class for k in mapped], np.int64)
    own = np.zeros(len(mapped), np.bool_)
    for number in np.unique(classes):
        own[classes == number] = front_of(figures[classes == number])
    for place, k in enumerate(mapped):
        found[k] = replace(found[k], on_front=bool(overall[place]), on_class_front=bool(own[place]))
    found += search.others(MOST_ROWS)
    return tuple(sorted(found, key=_order))


def _order(row: ExploredRow) -> tuple[Any, ...]:
    return (
        not row.on_front,
        not (row.on_class_front and not row.needs_retraining),
        ("mapped", "does not fit", "not mapped", "excluded").index(row.status),
        row.first_response_seconds,
        row.frame_period_ticks * row.tick_seconds,
        row.core_bound if row.cores is None else row.cores,
        row.behaviour_class,
        row.candidate.values,
        row.candidate.execution,
        row.candidate.chip,
        row.candidate.splitters,
        row.candidate.ticks_per_step or 0,
    )
