"""Quality of the fronts of a search: exact, or how far from a proven bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from neuromap.arrays.array_types import Floats
from neuromap.explorer.answer.advice import most_frequent_refusal
from neuromap.explorer.answer.exploration import Gap
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.search.deadline_accuracy import Group
from neuromap.explorer.search.front import OpenRows, Unlisted
from neuromap.explorer.search.measured import N_TIMES, Figures
from neuromap.files.messages import counted
from neuromap.render.numbers import percent


def gap_of(
    ended: OpenRows, space: PatternSpace, complete: bool, limited: bool, unlisted: Sequence[Unlisted] | None = None
) -> Gap:
    """Compute the gap of a finished search."""
    # unlisted: proven bounds on all rows of the unlisted patterns; ``None`` if nothing is proven
    fits = any(found.measured.status == "mapped" for found in ended.found.values())
    beyond = None if unlisted is None else [rows for rows in unlisted if not ended.is_matched(rows)]
    is_covered = space.is_complete or beyond == []
    is_complete = complete and ended.n_open() == 0 and is_covered and not _cut_short(ended)
    is_exact = is_complete and fits
    cores = [found.measured.cores for found in ended.found.values() if found.measured.cores is not None]
    gap = Gap(
        is_exact=is_exact,
        open_rows=ended.n_open(),
        cores_factor=_cores_factor(ended, beyond or ()),
        least_cores=min(cores, default=None),
        core_bound=min((group.choice.core_bound for group in ended.all_rows.groups), default=0),
        statement="",
        nothing_fits=is_complete and not fits,
    )
    where = " within the limits" if limited else ""
    if is_exact:
        parts = [f"exact: every row{where} that could be on a front was mapped"]
        if not space.is_complete:
            parts.append(f"no pattern but the {space.n_patterns:,} that were searched can be better")
    elif gap.nothing_fits:
        why = most_frequent_refusal(found.measured.message for found in ended.found.values())
        return replace(gap, statement=f"no row fits{where}: {why}" if why else f"no row is{where}")
    else:
        parts = ["not exact: " + "; ".join(_shortcomings(gap, ended, space, beyond, where))]
    if any(group.choice.chip.energy for group in ended.all_rows.groups):
        parts.append(f"energies within {percent(ended.tolerance)} count as equal")
    return replace(gap, statement="; ".join(parts))


def _cores_factor(ended: OpenRows, beyond: Sequence[Unlisted]) -> float:
    """Find the factor of cores within which a mapped row matches every unknown row in all times."""
    tables = {given: _times_and_cores(ended.rivals[given]) for given in (False, True)}
    factor = 1.0
    still_open: list[Group | Unlisted] = [ended.all_rows.groups[number] for number, _ in ended.open_groups()]
    for rows in [*still_open, *beyond]:
        times, cores = tables[rows.is_given_class]
        # ticks of different chips are not binary fractions: equal times may differ in their last bits
        as_good = (times <= np.array(rows.bounds.times) * (1 + 1e-12)).all(axis=1)
        factor = max(factor, float(cores[as_good].min(initial=math.inf)) / max(1.0, rows.bounds.cores))
    return factor


def _matched(gap: Gap) -> str:
    cores = f"{gap.cores_factor:.2f} times the cores that any mapping of it needs"
    return f"is matched in every time by a mapped row with at most {cores}"


def _times_and_cores(rows: Sequence[Figures]) -> tuple[Floats, Floats]:
    times = np.array([figures.times for figures in rows], np.float64).reshape(-1, N_TIMES)
    return times, np.array([figures.cores for figures in rows], np.float64)


def _cut_short(ended: OpenRows) -> list[tuple[str, ...]]:
    """Stages that were cut short, for every row with such stages."""
    return [found.measured.cut_short for found in ended.found.values() if found.measured.cut_short]


def _shortcomings(
    gap: Gap, ended: OpenRows, space: PatternSpace, beyond: Sequence[Unlisted] | None, where: str
) -> Iterator[str]:
    """Phrases on why the fronts are not exact, and what is known nevertheless."""
    if not space.is_complete and beyond != []:
        total = "not counted" if space.n_valid is None else f"{space.n_valid:,}"
        yield f"only {space.n_patterns:,} patterns of {total} valid ones were searched"
        if beyond and gap.least_cores is not None and math.isfinite(gap.cores_factor):
            yield f"any other one {_matched(gap)}"
    if hurried := _cut_short(ended):
        stages = ", ".join(dict.fromkeys(stage for stages in hurried for stage in stages))
        yield f"{counted(len(hurried), 'row')} ran out of time in {stages}: more of it may find better figures"
    if ended.found and gap.least_cores is None:
        why = most_frequent_refusal(found.measured.message for found in ended.found.values())
        yield f"none of the {len(ended.found):,} rows that were tried fits: {why}"
    if gap.open_rows:
        n_tried = len(ended.found)
        yield f"{gap.open_rows:,} rows{where} might still be on a front and were not mapped ({n_tried:,} were tried)"
        if gap.least_cores is None:
            return
        if math.isfinite(gap.cores_factor):
            yield f"each of them {_matched(gap)}"
        else:
            yield "some of them are better in some time than every mapped row that could take their place"
        only_cores = sum(count for number, count in ended.open_groups() if ended.only_cores_open(number))
        if only_cores:
            yield f"{only_cores:,} of them could be better in nothing but cores"
    else:
        yield "every row among them that could be on a front was mapped"
    if gap.least_cores is not None:
        yield f"fewest cores found {gap.least_cores:,}, proven bound for every pattern {gap.core_bound:,}"
