"""What the fronts of a search are worth: exact, or how far from a proven bound."""

from __future__ import annotations

import math

import numpy as np

from neuromap.explorer.answer.exploration import Gap
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.search.best_first import Search

__all__ = ["gap_of"]


def gap_of(search: Search, space: PatternSpace, complete: bool, limited: bool) -> Gap:
    """State the gap of a search that has ended.

    Parameters
    ----------
    search : Search
        The search.
    space : PatternSpace
        The patterns that it was over.
    complete : bool
        Whether no row is open.
    limited : bool
        Whether there were limits, beyond which nothing was mapped.

    Returns
    -------
    Gap
    """
    mapped = [found for found in search.found if found.measured.status == "mapped"]
    least = min((found.measured.cores for found in mapped if found.measured.cores is not None), default=None)
    bound = min((group.way.core_bound for group in search.groups), default=0)
    open_groups = search.open_groups()
    n_open = sum(count for _, count in open_groups)
    factor = 1.0
    times = np.array([found.figures[:4] for found in mapped], np.float64).reshape(-1, 4)
    cores = np.array([found.figures[4] for found in mapped], np.float64)
    given = np.array([search.groups[found.group].is_given_class for found in mapped], np.bool_)
    for number, _ in open_groups:
        group = search.groups[number]
        # ticks of different chips are no binary fractions: equal times may differ in their last bits
        as_good = (times <= np.array(group.vector[:4]) * (1 + 1e-12)).all(axis=1) & (given | (not group.is_given_class))
        factor = max(factor, float(cores[as_good].min(initial=math.inf)) / max(1.0, group.vector[4]))
    only_cores = sum(count for number, count in open_groups if search.only_cores_open(number))
    is_exact = complete and n_open == 0 and space.is_complete
    return Gap(
        is_exact,
        n_open,
        factor,
        least,
        bound,
        _statement(is_exact, n_open, factor, least, bound, space, limited, len(search.found), only_cores),
    )


def _statement(
    is_exact: bool,
    n_open: int,
    factor: float,
    least: int | None,
    bound: int,
    space: PatternSpace,
    limited: bool,
    n_mapped: int,
    only_cores: int,
) -> str:
    where = " within the limits" if limited else ""
    if is_exact:
        return f"exact: every row{where} that could be on a front was mapped"
    parts = []
    if not space.is_complete:
        total = "not counted" if space.n_valid is None else f"{space.n_valid:,}"
        parts.append(f"only {space.n_patterns:,} patterns of {total} valid ones were searched")
    if n_open:
        parts.append(f"{n_open:,} rows{where} might still be on a front and were not mapped ({n_mapped:,} were)")
        if math.isfinite(factor):
            parts.append(
                f"each of them is matched in every time by a mapped row with at most {factor:.2f} times the cores that "
                "any mapping of it needs"
            )
        else:
            parts.append("some of them are better in some time than every mapped row that could take their place")
        if only_cores:
            parts.append(f"{only_cores:,} of them could be better in nothing but cores")
    elif not is_exact:
        parts.append("every row among them that could be on a front was mapped")
    if least is not None:
        parts.append(f"fewest cores found {least:,}, proven bound for every pattern {bound:,}")
    return "not exact: " + "; ".join(parts)
