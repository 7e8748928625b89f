"""Successive halving: how a budget of epochs is divided into rungs, and which classes survive each.

The trunk trains the weights that all classes of a network start from. Every rung then divides an equal part of the rest
among the surviving classes: epochs per class grow as classes are dropped, and the budget is never exceeded. A class is
dropped only if other classes beat all its rows at all moments beyond a margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neuromap.arrays.array_types import Floats
from neuromap.errors import InputError
from neuromap.files.messages import counted

SHARE = 4
"""The default budget is that of all full trainings divided by this number."""


class Plan(NamedTuple):
    """Division of a budget of epochs, for each seed."""

    budget: int
    trunk: int  # epochs of the weights that all classes of a network start from
    rungs: tuple[int, ...]  # epochs of every rung, for all classes together
    full: int  # epochs of a full training; no rung gives a class more

    def epochs(self, rung: int, n_live: int, left_over: int) -> int:
        """Epochs of every class in a rung, with those left over from earlier rungs."""
        return min(self.full, (self.rungs[rung] + left_over) // n_live)


def default_budget(n_classes: int, full: int, trunks: int = 1) -> int:
    """Default budget of a search; for one class at least a full training."""
    return max(full if n_classes == 1 else full // 2, -(-n_classes * full // SHARE), _least(n_classes, trunks))


def _n_rungs(n_classes: int) -> int:
    return max(1, math.ceil(math.log2(n_classes) / 2))


def _least(n_classes: int, trunks: int) -> int:
    """Least budget: one epoch for every trunk, and one for every class in every rung."""
    return trunks + _n_rungs(n_classes) * n_classes


def full_plan(n_classes: int, full: int) -> Plan:
    """Plan that trains every class fully."""
    return Plan(n_classes * full, 0, (n_classes * full,), full)


def plan_of(budget: int, n_classes: int, full: int, trunks: int = 1) -> Plan:
    """Divide a budget: two fifths for the trunks, each at most a full training; the rest equally over rungs."""
    n_rungs, least = _n_rungs(n_classes), _least(n_classes, trunks)
    if budget < least:
        shared = f" and {trunks} trunks" if trunks > 1 else ""
        raise InputError(
            f"budget {budget}: {n_classes} behaviour classes in {counted(n_rungs, 'rung')}{shared} take {least} epochs "
            "or more; give as many, or search fewer classes (--sample)"
        )
    trunk = max(1, min(full, 2 * budget // 5 // trunks, (budget - n_rungs * n_classes) // trunks))
    each, more = divmod(budget - trunk * trunks, n_rungs)
    return Plan(budget, trunk, tuple(each + (more if k == n_rungs - 1 else 0) for k in range(n_rungs)), full)


class Standing(NamedTuple):
    """Accuracies and costs of the rows of a class at a rung."""

    accuracy: Floats  # (rows, moments); NaN if a row has no answer yet
    costs: Floats  # (rows, costs), less is better


def standard_error(accuracy: float, n_images: int) -> float:
    """Compute the standard error of an accuracy on ``n_images`` images, with the accuracy clipped away from 0 and 1."""
    part = min(max(accuracy, 1 / (n_images + 1)), n_images / (n_images + 1))
    return math.sqrt(part * (1 - part) / n_images)


def beaten_by(standings: Sequence[Standing], margin: float, n_images: int) -> list[int | None]:
    """For every class whose rows are beaten at all moments, the class that beats its last one; else ``None``."""
    # margin: in standard errors of the beaten accuracy
    return [_beaten(k, standings, margin, n_images) for k in range(len(standings))]


def _beaten(k: int, standings: Sequence[Standing], margin: float, n_images: int) -> int | None:
    mine, found = standings[k], None
    for row, costs in zip(mine.accuracy, mine.costs, strict=True):
        for moment in np.flatnonzero(np.isfinite(row)):
            wanted = row[moment] + margin * standard_error(float(row[moment]), n_images)
            for found, its in enumerate(standings):
                accuracy = its.accuracy[:, moment]
                with np.errstate(invalid="ignore"):
                    better = (accuracy >= wanted) & (accuracy > row[moment])
                if found != k and (better & (its.costs <= costs).all(axis=1)).any():
                    break
            else:
                return None
    return found
