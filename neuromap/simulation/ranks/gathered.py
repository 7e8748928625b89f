"""Parts of ranks put together at rank 0; other ranks keep what is theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.engine_state import CurrentState, EngineState
from neuromap.simulation.ranks.exchange import Exchange

__all__ = ["gathered_rows", "gathered_state", "gathered_table"]

Ints = NDArray[np.int64]


def gathered_rows(exchange: Exchange, rows: Ints) -> Ints:
    """Put the rows of all ranks in order, by their first column, then the second, and so on; none on other ranks."""
    # shapes: rows (n, k)
    parts = exchange.gather(rows.ravel())
    whole = np.concatenate([*parts, np.zeros(0, np.int64)]).reshape(-1, rows.shape[1])
    ordered: Ints = whole[np.lexsort(whole.T[::-1])]
    return ordered


def gathered_table(exchange: Exchange, part: Ints, rows: Ints, shape: tuple[int, int]) -> Ints:
    """Put the rows of a table together."""
    # shapes: part (n, N); rows (n,)
    values, places = exchange.gather(part.ravel()), exchange.gather(rows)
    table = np.zeros(shape, np.int64)
    for value, place in zip(values or [part], places or [rows], strict=True):
        table[place] = value.reshape(-1, shape[1])
    return table


def gathered_state(exchange: Exchange, part: EngineState, cores: Ints, shape: tuple[int, int]) -> EngineState:
    """Put the state of a chip together."""
    # shapes: cores (n,)
    totals = exchange.gather(np.array(part.totals))
    return replace(
        part,
        potentials=gathered_table(exchange, part.potentials, cores, shape),
        spikes=gathered_rows(exchange, _renumbered(part.spikes, cores)),
        totals=tuple(np.sum(totals, axis=0).tolist()) if totals else part.totals,
        currents=None if part.currents is None else _currents(exchange, part.currents, cores, shape),
    )


def _currents(exchange: Exchange, part: CurrentState, cores: Ints, shape: tuple[int, int]) -> CurrentState:
    rows = np.append(_renumbered(part.due, cores), part.amounts[:, None], axis=1)
    rows = gathered_rows(exchange, rows)
    current, resting = (gathered_table(exchange, table, cores, shape) for table in (part.current, part.resting))
    return CurrentState(current, resting, rows[:, :3], rows[:, 3])


def _renumbered(rows: Ints, cores: Ints) -> Ints:
    renumbered: Ints = rows.copy()
    renumbered[:, 1] = cores[rows[:, 1]]
    return renumbered
