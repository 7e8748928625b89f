"""Take tiles apart into neurons, and put neurons together again into tiles that share cores.

Neurons of different tiles share an axon where its key agrees. For that to happen often, types are renamed so that tiles
agree on them (``shared_types.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.partition.axon_keys import AxonKeys, ranks
from neuromap.mapping.partition.core_layout import CoreLayout
from neuromap.mapping.partition.loose_neurons import LooseNeurons
from neuromap.mapping.partition.signals import BIAS_SIGNAL, FROM_CHIP, Signals
from neuromap.mapping.tile.tile import Tile

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def take_apart(
    network: Legalised, tiles: Sequence[Tile], signals: Signals, model: CoreModel, pinned: Collection[int] = ()
) -> LooseNeurons:
    """Take tiles apart."""
    members = _Members(network, tiles)
    types = shared_types(tiles, signals, model)
    axon_keys = AxonKeys(model.axon_types, model.axons)
    row, key, column = _synapses(tiles, signals, types, axon_keys)
    distinct, axon = np.unique(key, return_inverse=True)
    home, from_replica = members.sources(signals, axon_keys.signal(distinct))
    stay = members.is_replica | np.isin(members.population, list(pinned))
    stay[row[from_replica[axon]]] = True  # readers of replicas stay
    own_copies = np.concatenate([p.own_copies for p in network.populations])
    order = np.lexsort((axon, row))
    return LooseNeurons(
        tile=members.tile,
        population=members.population,
        neuron=members.neuron,
        # one that stays keeps its whole tile
        fixed=np.bincount(members.tile, stay, minlength=len(tiles)).astype(bool)[members.tile],
        own_copies=np.where(members.is_replica, members.copies, own_copies[members.everywhere]),
        weights=np.concatenate([_weights(t.plan, named, model) for t, named in zip(tiles, types, strict=True)]),
        leak=np.concatenate([t.plan.leak for t in tiles]),
        alpha=np.concatenate([t.plan.alpha for t in tiles]),
        first_needed=np.searchsorted(row[order], np.arange(len(members.tile) + 1)),
        needed=axon[order],
        columns=column[order],
        axon_type=axon_keys.axon_type(distinct),
        home=home,
    )


class _Members:
    """The neurons of all tiles in one row (U of them), and which of them sends a signal."""

    def __init__(self, network: Legalised, tiles: Sequence[Tile]) -> None:
        sizes = [len(tile.neurons) for tile in tiles]
        self.tile = np.repeat(np.arange(len(tiles)), sizes)
        self.population = np.repeat(np.array([t.population for t in tiles], np.int64), sizes)
        self.neuron = np.concatenate([t.neurons for t in tiles])
        self.copies = np.concatenate([t.copies for t in tiles])
        self._first = np.cumsum([0, *(len(p.neurons) for p in network.populations)])
        self.everywhere = everywhere = self._first[self.population] + self.neuron  # all populations in one row
        self._replicas = np.bincount(everywhere, minlength=self._first[-1]) > 1
        self.is_replica: Bools = self._replicas[everywhere]
        self._member = np.full(self._first[-1], -1)
        self._member[everywhere] = np.arange(len(everywhere))
        self._member[self._replicas] = -1

    def sources(self, signals: Signals, carried: Ints) -> tuple[Ints, Bools]:
        """Tell which neuron sends each signal, -1 for the host and replicas, and whether replicas do."""
        from_chip = signals.kind[carried] == FROM_CHIP
        population = np.where(from_chip, signals.source[carried], 0)  # a host signal's source is a port, no population
        everywhere = np.where(from_chip, self._first[population] + signals.neuron[carried], 0)
        return np.where(from_chip, self._member[everywhere], -1), from_chip & self._replicas[everywhere]


def _synapses(
    tiles: Sequence[Tile], signals: Signals, types: Sequence[Ints], axon_keys: AxonKeys
) -> tuple[Ints, Ints, Ints]:
    """List all synapses: neuron among those of all tiles, key of the axon, and column that feeds it (or ``BIAS``)."""
    rows, keys, columns = [], [], []
    start = 0
    for tile, named, signal in zip(tiles, types, signals.of_axon, strict=True):
        plan = tile.plan
        key = axon_keys.encode(signal, named, ranks(signal, named))
        column = np.full(plan.n_axons, BIAS)
        column[plan.source != BIAS] = tile.columns[plan.source[plan.source != BIAS]]
        axon, row = np.nonzero(plan.synapses)
        rows.append(start + row)
        keys.append(key[axon])
        columns.append(column[axon])
        start += len(tile.neurons)
    return np.concatenate(rows), np.concatenate(keys), np.concatenate(columns)


def _weights(plan: AxonPlan, named: Ints, model: CoreModel) -> Ints:
    """Weights of a plan for the new names of its types; shape (n, axon_types)."""
    weights = np.zeros((plan.weights.shape[0], model.axon_types), np.int64)
    axon, row = np.nonzero(plan.synapses)
    weights[row, named[axon]] = plan.weights[row, plan.axon_type[axon]]
    return weights


def put_together(loose: LooseNeurons, core_of: Ints, model: CoreModel) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Put neurons together again: one tile for every population of a core."""
    # shapes: core_of (U,)
    copies = loose.copies(core_of)
    types = np.arange(model.axon_types)
    tiles: list[Tile] = []
    layouts = []
    order = np.lexsort((loose.neuron, loose.population, core_of))
    for members in _split_where_it_changes(order, core_of):
        made = [_tile(loose, part, copies) for part in _split_where_it_changes(members, loose.population)]
        in_use = np.unique(np.concatenate([needed for _, needed in made]))
        numbers = tuple(range(len(tiles), len(tiles) + len(made)))
        axon_of = tuple(np.searchsorted(in_use, needed) for _, needed in made)
        layouts.append(CoreLayout(numbers, axon_of, (types,) * len(made), len(in_use)))
        tiles += [tile for tile, _ in made]
    return tiles, tuple(layouts)


def _split_where_it_changes(members: Ints, label: Ints) -> list[Ints]:
    """Cut a row of neurons into runs of one label."""
    return np.split(members, np.flatnonzero(np.diff(label[members])) + 1)


def _tile(loose: LooseNeurons, part: Ints, copies: Ints) -> tuple[Tile, Ints]:
    """Make a tile of neurons of one population; return it and the numbers of its axons, ascending."""
    lengths = loose.first_needed[part + 1] - loose.first_needed[part]
    at = ragged_ranges(loose.first_needed[part], lengths)
    needed, where, axon = np.unique(loose.needed[at], return_index=True, return_inverse=True)
    synapses = np.zeros((len(needed), len(part)), bool)
    synapses[axon, np.repeat(np.arange(len(part)), lengths)] = True
    column = loose.columns[at[where]]
    columns = np.unique(column[column != BIAS])
    source = np.where(column == BIAS, BIAS, np.searchsorted(columns, column))
    plan = AxonPlan(source, loose.axon_type[needed], loose.weights[part], synapses, loose.leak[part], loose.alpha[part])
    return Tile(int(loose.population[part[0]]), loose.neuron[part], copies[part], columns, plan), needed


# Types that tiles agree on, so that the axons of different tiles may be one axon of a core.
#
# The types of a tile are numbers without a meaning to others. Where every axon of a tile has one weight, they are
# renamed by what stands behind them: the signal, or the weight. Other tiles keep theirs, as good as any: neurons have
# weights of their own, so an axon serves all that read its signal by its type.


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
