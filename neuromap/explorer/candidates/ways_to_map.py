"""Ways to map: a chip, where splitters may stand, and ticks per step; with the table of the rows that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.explorer.candidates.row_table import RowTable
from neuromap.explorer.candidates.schedules import schedules_of
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.rollout.schedule.execution import chosen_period

__all__ = ["Way", "stretches"]

Ints = NDArray[np.int64]
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Way:
    """One way to map all rows of a table.

    Attributes
    ----------
    chip : ChipSpec
        The chip.
    splitters : str
        Where splitters may stand.
    ticks_per_step : int or None
        As asked for.
    table : RowTable
        The distinct schedules.
    stretch : ndarray of int64, shape (rows,)
        Ticks of an update step, row by row.
    core_bound : int
        Cores that no mapping of any row can do without.
    least_first, least_full : int
        Least first and full response of any pattern in update steps: those of the streaming pattern.
    """

    chip: ChipSpec
    splitters: str
    ticks_per_step: int | None
    table: RowTable
    stretch: Ints
    core_bound: int
    least_first: int
    least_full: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def may_change_schedule(self) -> bool:
        """Whether splitters may lengthen delays, so that the times of a row are known by bounds only."""
        return self.splitters == "anywhere"

    def optimistic(self) -> tuple[Ints, Ints, Ints, Ints]:
        """First response, full response, worst-case reaction and frame period in ticks: what a row has at least.

        They are exact but where splitters may change the schedule. There, every delay is still at least as many ticks
        as a step has where the user says how many, and one else; and a cycle ratio of more than P - 1 steps is one of
        more than (P - 1) times as many ticks (docs/explorer.md).
        """
        table, step = self.table, self.stretch
        if not self.may_change_schedule:
            first, full, period = table.first * step, table.full * step, table.period * step
            return first, full, first + period - step, period
        # the user's ticks per step are asked of every edge; without them a tick-level edge asks for one tick
        least = np.full(len(table), self.ticks_per_step or 1)
        chosen = np.array([chosen_period(execution) is not None for execution in table.executions])[table.execution]
        # a frame period of the user's own counts in the unit of the schedule that is made
        period = np.where(chosen, table.period, (table.period - 1) * least + 1)
        first = self.least_first * least
        return first, np.maximum(self.least_full * least, first), first + period - 1, period


def stretches(table: RowTable, chip: ChipSpec, ticks_per_step: int | None) -> Ints:
    """Ticks of an update step for every row: those asked for, or as few as its delays need.

    Parameters
    ----------
    table : RowTable
        The rows.
    chip : ChipSpec
        Gives the range of delays.
    ticks_per_step : int or None
        As asked for.

    Returns
    -------
    ndarray of int64, shape (rows,)
        As :func:`neuromap.mapping.legalise.ticks_per_step.fewest_ticks_per_step` finds for each.
    """
    least, greatest = chip.delay
    if ticks_per_step is not None or least == 1:
        return np.full(len(table), ticks_per_step or 1, np.int64)
    graph = table.graph
    inner = [e for e in range(graph.n_edges) if graph.sources[e] not in graph.inputs]
    found = np.full(len(table), least, np.int64)
    for start in range(0, len(table), _CHUNK):
        part = slice(start, start + _CHUNK)
        values = np.unpackbits(table.values[part], axis=1, count=graph.n_edges)
        for number, execution in enumerate(table.executions):
            mine = np.flatnonzero(table.execution[part] == number)
            if not len(mine):
                continue
            delays = schedules_of(graph, values[mine], execution).delays[:, inner]
            for stretch in range(least - 1, 0, -1):
                legal = np.array(
                    [d > 0 and legs_of_delay(d * stretch, least, greatest) is not None
                     for d in range(int(delays.max(initial=0)) + 1)]
                )  # fmt: skip
                found[start + mine[legal[delays].all(axis=1)]] = stretch
    return found
