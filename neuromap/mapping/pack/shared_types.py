"""Types that tiles agree on, so that the axons of different tiles may be one axon of a core.

The types of a tile are numbers without a meaning to others. Where every axon of a tile has one weight, they are renamed
by what stands behind them: the signal, or the weight. Other tiles keep theirs, as good as any: neurons have weights of
their own, so an axon serves all that read its signal by its type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.pack.signals import BIAS_SIGNAL, Signals
from neuromap.mapping.tile.tile import Tile

__all__ = ["shared_types"]

Ints = NDArray[np.int64]
UNSEEN = 2**31
"""Beyond any weight."""


def shared_types(tiles: Sequence[Tile], signals: Signals, model: CoreModel) -> list[Ints]:
    """Rename the types of tiles so that they agree, by signal or by weight, whichever more tiles can do."""
    # shapes: returns (axons of the tile,)
    values = [_axon_values(tile.plan) for tile in tiles]
    ways = (_by_signal(tiles, signals, values, model), _by_weight(tiles, values, model))
    best = max(ways, key=lambda types: sum(given is not None for given in types))
    return [tile.plan.axon_type if given is None else given for tile, given in zip(tiles, best, strict=True)]


def _axon_values(plan: AxonPlan) -> Ints | None:
    """Weight of every axon (0 for bias); ``None`` where an axon has several."""
    drive = plan.weights.T[plan.axon_type] * plan.synapses
    value: Ints = drive.max(axis=1, initial=0) + drive.min(axis=1, initial=0)
    bias = plan.source == BIAS
    same = (~plan.synapses | (drive == value[:, None])).all(axis=1) | bias
    return np.where(bias, 0, value) if same.all() else None


def _by_signal(
    tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None], model: CoreModel
) -> list[Ints | None]:
    """Give every signal one type on the whole chip, so that populations with opposite weights still share its axons."""
    type_of = _types_of_signals(tiles, signals, values, model.axon_types)
    given: list[Ints | None] = []
    for tile, value, signal in zip(tiles, values, signals.of_axon, strict=True):
        carries = tile.plan.source != BIAS
        mine = type_of[signal]
        single = len(np.unique(signal[carries])) == np.count_nonzero(carries)
        if value is None or not single or (mine[carries] < 0).any():
            given.append(None)
        else:
            given.append(_with_bias_types(tile.plan, mine, np.setdiff1d(np.arange(model.axon_types), mine[carries])))
    return given


def _types_of_signals(tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None], n_types: int) -> Ints:
    """Give signals types, -1 for those without: two that have one type have equal weights in all that read both."""
    # Signals with the same weights everywhere are one class; classes are coloured greedily, the largest first.
    weights, clear = _weights_of_signals(tiles, signals, values)
    classes, of_signal, size = np.unique(weights, axis=0, return_inverse=True, return_counts=True)
    colour = np.full(len(classes), -1)
    for number in np.argsort(-size, kind="stable").tolist():
        mine = classes[number]
        conflict = ((classes != mine) & (classes != 0) & (mine != 0)).any(axis=1)
        free = np.setdiff1d(np.arange(n_types), colour[conflict])
        if len(free):
            colour[number] = free[0]
    return np.where(clear, colour[of_signal.reshape(-1)], -1)


def _weights_of_signals(
    tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Weight of every signal in every population, 0 where it is not read; and whether each population has one only."""
    populations = 1 + max((tile.population for tile in tiles), default=0)
    low, high = (np.full((len(signals), populations), beyond) for beyond in (UNSEEN, -UNSEEN))
    for tile, value, signal in zip(tiles, values, signals.of_axon, strict=True):
        if value is not None:
            np.minimum.at(low[:, tile.population], signal, value)
            np.maximum.at(high[:, tile.population], signal, value)
    read = low <= high
    clear = (~read | (low == high)).all(axis=1) & (signals.kind != BIAS_SIGNAL)
    return np.where(read, low, 0), clear


def _by_weight(tiles: Sequence[Tile], values: Sequence[Ints | None], model: CoreModel) -> list[Ints | None]:
    """Give every weight a type, the commonest first."""
    weights = [v[tile.plan.source != BIAS] for tile, v in zip(tiles, values, strict=True) if v is not None]
    found, times = np.unique(np.concatenate([np.zeros(0, np.int64), *weights]), return_counts=True)
    chosen = np.sort(found[np.argsort(-times, kind="stable")[: model.axon_types]])
    for_bias = np.arange(len(chosen), model.axon_types)
    given: list[Ints | None] = []
    for tile, value in zip(tiles, values, strict=True):
        if value is None or not np.isin(value[tile.plan.source != BIAS], chosen).all():
            given.append(None)
        else:
            given.append(_with_bias_types(tile.plan, np.searchsorted(chosen, value), for_bias))
    return given


def _with_bias_types(plan: AxonPlan, types: Ints, free: Ints) -> Ints | None:
    """Give bias axons types of those that are free, as many as they have now; ``None`` where these are too few."""
    bias = plan.source == BIAS
    kinds = np.unique(plan.axon_type[bias])
    if len(kinds) > len(free):
        return None
    types[bias] = free[np.searchsorted(kinds, plan.axon_type[bias])]
    return types
