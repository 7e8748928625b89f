"""Unpack tiles into neurons, and reassemble neurons into tiles that share cores.

Neurons of different tiles share an axon if its keys agree. To make that frequent, types are renamed so that tiles agree
on them (:func:`shared_types`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run, run_heads
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_model import AxonPlan, CrossbarCore
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Sources
from neuromap.mapping.partition.occupancy import LooseNeurons
from neuromap.mapping.tile.tile import Tile


def unpack_tiles(
    network: Legalised, tiles: Sequence[Tile], signals: Signals, model: CrossbarCore, pinned: Collection[int] = ()
) -> LooseNeurons:
    """Unpack tiles into loose neurons."""
    # the neurons of all tiles, numbered consecutively (U of them), and which of them sends a signal
    sizes = [len(tile.neurons) for tile in tiles]
    tile_of = np.repeat(np.arange(len(tiles)), sizes)
    population = np.repeat(np.array([t.population for t in tiles], np.int64), sizes)
    neuron = np.concatenate([t.neurons for t in tiles])
    first = np.cumsum([0, *(len(p.neurons) for p in network.populations)])
    everywhere = first[population] + neuron  # all populations in one row
    replicas = np.bincount(everywhere, minlength=first[-1]) > 1
    is_replica: Bools = replicas[everywhere]
    member = np.full(first[-1], -1)
    member[everywhere] = np.arange(len(everywhere))
    member[replicas] = -1
    types = shared_types(tiles, signals, model)
    axon_keys = AxonKeys(model.axon_types, model.axons)
    row, key, column = _synapses(tiles, signals, types, axon_keys)
    distinct, axon = np.unique(key, return_inverse=True)
    carried = axon_keys.signal(distinct)
    from_chip = signals.kind[carried] == FROM_CHIP
    source = np.where(from_chip, signals.source[carried], 0)  # a host signal's source is a port, no population
    sender = np.where(from_chip, first[source] + signals.neuron[carried], 0)
    stay = is_replica | np.isin(population, list(pinned))
    stay[row[(from_chip & replicas[sender])[axon]]] = True  # readers of replicas stay
    own_copies = np.concatenate([p.own_copies for p in network.populations])
    order = np.lexsort((axon, row))
    return LooseNeurons(
        tile=tile_of,
        population=population,
        neuron=neuron,
        # one that stays keeps its whole tile
        fixed=np.bincount(tile_of, stay, minlength=len(tiles)).astype(bool)[tile_of],
        own_copies=np.where(is_replica, np.concatenate([t.copies for t in tiles]), own_copies[everywhere]),
        weights=np.concatenate([_weights(t.plan, named, model) for t, named in zip(tiles, types, strict=True)]),
        leak=np.concatenate([t.plan.leak for t in tiles]),
        alpha=np.concatenate([t.plan.alpha for t in tiles]),
        first_needed=np.searchsorted(row[order], np.arange(len(tile_of) + 1)),
        needed=axon[order],
        columns=column[order],
        axon_type=axon_keys.axon_type(distinct),
        home=np.where(from_chip, member[sender], -1),
    )


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


def _weights(plan: AxonPlan, named: Ints, model: CrossbarCore) -> Ints:
    """Weights of a plan by its renamed types; shape (n, axon_types)."""
    weights = np.zeros((plan.weights.shape[0], model.axon_types), np.int64)
    axon, row = np.nonzero(plan.synapses)
    weights[row, named[axon]] = plan.weights[row, plan.axon_type[axon]]
    return weights


def put_together(loose: LooseNeurons, core_of: Ints, model: CrossbarCore) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Reassemble neurons: one tile for every population of a core."""
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
    """Cut a sequence of neurons into runs of one label."""
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


# Common axon types, so that the axons of different tiles may be one axon of a core.
#
# The types of a tile are arbitrary numbers. Where every axon of a tile has one weight, they are renamed by signal or by
# weight. Other tiles keep theirs, as good as any: neurons have weights of their own, so an axon serves all that read
# its signal by its type.
# Beyond any weight.
UNSEEN = 2**31


def shared_types(tiles: Sequence[Tile], signals: Signals, model: CrossbarCore) -> list[Ints]:
    """Rename the types of tiles so that they agree, by signal or by weight, whichever works for more tiles."""
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
    tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None], model: CrossbarCore
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
    """Assign types to signals, -1 for none: two signals of one type have equal weights in all that read both."""
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


def _weights_of_signals(tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None]) -> tuple[Ints, Bools]:
    """Weight of every signal in every population, 0 if unread; and whether each population has only one for it."""
    populations = 1 + max((tile.population for tile in tiles), default=0)
    low, high = (np.full((len(signals), populations), beyond) for beyond in (UNSEEN, -UNSEEN))
    for tile, value, signal in zip(tiles, values, signals.of_axon, strict=True):
        if value is not None:
            np.minimum.at(low[:, tile.population], signal, value)
            np.maximum.at(high[:, tile.population], signal, value)
    read = low <= high
    clear = (~read | (low == high)).all(axis=1) & (signals.kind != BIAS_SIGNAL)
    return np.where(read, low, 0), clear


def _by_weight(tiles: Sequence[Tile], values: Sequence[Ints | None], model: CrossbarCore) -> list[Ints | None]:
    """Give the commonest weights a type each."""
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
    """Give bias axons as many of the free types as they have types now; ``None`` if these are too few."""
    bias = plan.source == BIAS
    kinds = np.unique(plan.axon_type[bias])
    if len(kinds) > len(free):
        return None
    types[bias] = free[np.searchsorted(kinds, plan.axon_type[bias])]
    return types


# Axon keys: the identity of an axon within a core as one number, so that sets of axons are compared as sorted arrays.
class AxonKeys(NamedTuple):
    """Integer keys that encode signal, type and rank of an axon, sorted in this order."""

    # Axons of different tiles may be one axon of a core iff their keys are equal. The *rank* distinguishes a tile's
    # axons of one signal and type.

    n_types: int  # axon types
    n_ranks: int  # more than any rank: the axons of a core

    def encode(self, signal: Ints, axon_type: Ints, rank: Ints) -> Ints:
        """Return the key of every axon."""
        return (signal * self.n_types + axon_type) * self.n_ranks + rank

    def first_of(self, signal: Ints) -> Ints:
        """Return the least key that an axon of a signal can have."""
        return signal * (self.n_types * self.n_ranks)

    def signal(self, keys: Ints) -> Ints:
        """Return the signal that every axon carries."""
        return keys // (self.n_types * self.n_ranks)

    def axon_type(self, keys: Ints) -> Ints:
        """Return the type of every axon."""
        return keys // self.n_ranks % self.n_types


def ranks(signal: Ints, types: Ints) -> Ints:
    """Rank of every axon of a tile among those with its signal and type."""
    # shapes: signal, types (axons,); returns (axons,)
    order = np.lexsort((types, signal))
    rank = np.empty(len(order), np.int64)
    rank[order] = rank_in_run(signal[order], types[order])
    return rank


# How tiles share a core: which axon of the core each of their axons is, and how their types are renamed.
@dataclass(frozen=True, eq=False)
class CoreLayout(ReadOnly, Value):
    """Tiles that share a core."""

    tiles: tuple[int, ...]  # positions in ``Partition.tiles``
    # (axons of the tile,): axon of the core for every axon of each tile; tiles meet on an axon only if it carries one
    # signal
    axon_of: tuple[Ints, ...]
    type_of: tuple[Ints, ...]  # (axon_types,): axon type of the core for every type of each tile, a permutation
    n_axons: int  # axons in use


def layout_alone(number: int, tile: Tile, model: CrossbarCore) -> CoreLayout:
    """Give tile ``number`` a core of its own."""
    n_axons = tile.plan.n_axons
    return CoreLayout((number,), (np.arange(n_axons),), (np.arange(model.axon_types),), n_axons)


# Signals: what an axon carries, so that tiles in one core can share the axons that carry the same.


FROM_CHIP, FROM_HOST, BIAS_SIGNAL = 0, 1, 2
# Fields of a signal: the columns of tables here, by whose order signals are numbered.
FIELDS = ("kind", "source", "neuron", "tick", "first_frame")


@dataclass(frozen=True, eq=False)
class Signals(ReadOnly, Value):
    """The distinct signals of a partition (S of them), and which one every axon of every tile carries."""

    # Two axons with one signal get the same spikes at the same ticks.

    kind: Ints  # (S,): ``FROM_CHIP``, ``FROM_HOST`` or ``BIAS_SIGNAL``
    source: Ints  # (S,): population, input node (position in ``Legalised.ports``), or -1
    neuron: Ints  # (S,): neuron within the source; 0 for bias
    # (S,): delay of a neuron's spike in ticks, or when the host's frame 0 arrives, in parts of a tick
    # (``arrays/times.py``)
    tick: Ints
    first_frame: Ints  # (S,): first frame that the host delivers; 0 for signals from the chip
    of_axon: tuple[Ints, ...]  # (axons of the tile,): signal of every axon, tile by tile

    def __len__(self) -> int:
        return len(self.kind)


def signals_of(network: Legalised, sources: Sequence[Sources], tiles: Sequence[Tile]) -> Signals:
    """Find what every axon carries and number the distinct signals."""
    by_column = [_signals_of_columns(network.period, joined) for joined in sources]
    tables = [np.zeros((0, len(FIELDS)), np.int64), *(_signals_of_axons(network, by_column, tile) for tile in tiles)]
    wanted = np.concatenate(tables)
    order = np.lexsort(wanted.T[::-1])
    ranked = wanted[order]
    new = run_heads(ranked)
    number = np.empty(len(ranked), np.int64)
    number[order] = np.cumsum(new) - 1
    ends = np.cumsum([len(table) for table in tables])
    of_axon = tuple(piece.copy() for piece in np.split(number, ends[:-1])[1:])
    columns = {name: column.copy() for name, column in zip(FIELDS, ranked[new].T, strict=True)}
    return Signals(**columns, of_axon=of_axon)


def _signals_of_axons(network: Legalised, by_column: Sequence[Ints], tile: Tile) -> Ints:
    """Table of the signals that the axons of a tile carry; shape (axons, fields)."""
    table = np.empty((tile.plan.n_axons, len(FIELDS)), np.int64)
    bias = tile.plan.source == BIAS
    table[~bias] = by_column[tile.population][tile.columns[tile.plan.source[~bias]]]
    (computed,) = in_parts([network.populations[tile.population].sample_tick], network.period)
    table[bias] = (BIAS_SIGNAL, -1, 0, computed, 1)
    return table


def _signals_of_columns(period: Time, joined: Sources) -> Ints:
    """Table of the signals that the columns of a population's joined matrix carry; shape (columns, fields)."""
    table = np.zeros((len(joined.link_of), len(FIELDS)), np.int64)
    for number, link in enumerate(joined.links):
        here = joined.link_of == number
        neuron = joined.neuron_of[here]
        row: tuple[int | Ints, ...]
        if isinstance(link, HostLink) and link.node == BIAS:
            row = (BIAS_SIGNAL, -1, 0, in_parts([link.arrival], period), link.first_frame)
        elif isinstance(link, HostLink):
            row = (FROM_HOST, link.node, neuron, in_parts([link.arrival], period), link.first_frame)
        else:
            row = (FROM_CHIP, link.source, neuron, link.delay, 0)
        table[here] = np.stack(np.broadcast_arrays(*row, neuron)[: len(FIELDS)], axis=1)
    return table
