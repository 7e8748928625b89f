"""Neurons one by one, with the axons that each needs in whatever core it sits: what packing moves about.

An axon of a core is known by its *key*: signal, type, and rank among those that agree in both. Neurons of different
tiles share an axon where their keys agree. For that to happen often, types are named by the weight that they stand
for wherever every axon of a tile has one weight; the axons of other tiles stay their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import ragged_ranges
from neuromap.hardware.program.program import BIAS
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.pack.pack_tiles import CoreLayout, ranks
from neuromap.mapping.pack.signals import BIAS_SIGNAL, FROM_CHIP, Signals
from neuromap.mapping.tile.tile import Tile

__all__ = ["Units", "tiles_of_cores", "units_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Units:
    """The neurons of all tiles (U of them, tile by tile) and the keys of their axons (K).

    Attributes
    ----------
    tile, population, neuron : ndarray of int64, shape (U,)
        Tile and population that a neuron belongs to, and its position in the population.
    fixed : ndarray of bool, shape (U,)
        Neurons that stay where they are: pinned ones, replicas, those that read replicas, and all others of their
        tiles.
    own : ndarray of int64, shape (U,)
        Copies that do not depend on where the others sit: one if the neuron is read out; all of a replica.
    weights : ndarray of int64, shape (U, axon_types)
        Weight of every neuron for every type of its keys.
    leak : ndarray of int64, shape (U,)
        Negative leak.
    first_key : ndarray of int64, shape (U + 1,)
        Where the keys of a neuron begin in ``keys``.
    keys, columns : ndarray of int64, shape (nnz,)
        Keys of each neuron's synapses, ascending, and the column of the population's joined matrix (or ``BIAS``).
    key_type : ndarray of int64, shape (K,)
        Axon type of a key.
    home : ndarray of int64, shape (K,)
        The neuron whose spikes the axon carries; -1 where they come from the host or a replica.
    """

    tile: Ints
    population: Ints
    neuron: Ints
    fixed: Bools
    own: Ints
    weights: Ints
    leak: Ints
    first_key: Ints
    keys: Ints
    columns: Ints
    key_type: Ints
    home: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.tile)

    def copies(self, core_of: Ints) -> Ints:
        """Count the copies that each neuron needs when ``core_of`` says where all of them sit; shape (U,)."""
        n_keys = len(self.key_type)
        core = np.repeat(core_of, np.diff(self.first_key))
        fed = np.unique(core * n_keys + self.keys) % max(1, n_keys)
        home = self.home[fed]
        return self.own + np.bincount(home[home >= 0], minlength=len(self)).astype(np.int64)

    def axons(self, core_of: Ints, n_cores: int) -> Ints:
        """Count the axons in use of every core; shape (n_cores,)."""
        n_keys = max(1, len(self.key_type))
        core = np.repeat(core_of, np.diff(self.first_key))
        return np.bincount(np.unique(core * n_keys + self.keys) // n_keys, minlength=n_cores).astype(np.int64)


def units_of(
    network: Legalised, tiles: Sequence[Tile], signals: Signals, model: CoreModel, pinned: Collection[int] = ()
) -> Units:
    """Take tiles apart.

    Parameters
    ----------
    network : Legalised
        Says which populations are read out.
    tiles : sequence of Tile
        One or more, each legal alone.
    signals : Signals
        Of these tiles.
    model : CoreModel
        Axon types.
    pinned : collection of int
        Populations whose tiles stay as they are.

    Returns
    -------
    Units
        Tiles whose types cannot be named like those of others keep keys of their own.
    """
    first = np.cumsum([0, *(len(p.neurons) for p in network.populations)])
    sizes = [len(tile.neurons) for tile in tiles]
    tile_of = np.repeat(np.arange(len(tiles)), sizes)
    population = np.repeat(np.array([t.population for t in tiles], np.int64), sizes)
    neuron = np.concatenate([np.zeros(0, np.int64), *(t.neurons for t in tiles)])
    everywhere = first[population] + neuron
    replicas = np.bincount(everywhere, minlength=first[-1]) > 1
    replica = replicas[everywhere]
    copies = np.concatenate([np.zeros(0, np.int64), *(t.copies for t in tiles)])

    names = _name_types(tiles, signals, model)
    rows, keys, columns, weights = [], [], [], []
    start = 0
    for number, (tile, name) in enumerate(zip(tiles, names, strict=True)):
        plan, signal = tile.plan, signals.of_axon[number]
        own = name is None
        types = plan.axon_type if name is None else name
        axon, row = np.nonzero(plan.synapses)
        # private axons are set apart by their tile
        code = np.ravel_multi_index(
            (signal, types, ranks(signal, types)), (len(signals), model.axon_types, model.axons)
        )
        code = code * (len(tiles) + 1) + (number + 1 if own else 0)
        rows.append(start + row)
        keys.append(code[axon])
        column = np.where(plan.source == BIAS, BIAS, tile.columns[plan.source] if len(tile.columns) else BIAS)
        columns.append(column[axon])
        weights.append(plan.weights if name is None else _renamed(plan, name, model.axon_types))
        start += sizes[number]
    row, key, column = np.concatenate(rows), np.concatenate(keys), np.concatenate(columns)
    distinct, place = np.unique(key, return_inverse=True)
    order = np.lexsort((place, row))
    carried, key_type, _ = np.unravel_index(distinct // (len(tiles) + 1), (len(signals), model.axon_types, model.axons))
    unit_of = np.full(first[-1], -1)
    unit_of[everywhere] = np.arange(len(everywhere))
    unit_of[replicas] = -1
    from_chip = signals.kind[carried] == FROM_CHIP
    populations = np.where(from_chip, signals.source[carried], 0)  # a host signal's source is a port, no population
    source = np.where(from_chip, first[populations] + signals.neuron[carried], 0)
    home = np.where(from_chip, unit_of[source], -1)
    stay = replica | np.isin(population, list(pinned))
    reads_replica = from_chip & replicas[source]
    stay[row[reads_replica[place]]] = True
    fixed = np.bincount(tile_of, stay, minlength=len(tiles)).astype(bool)[tile_of]
    return Units(
        tile=tile_of,
        population=population,
        neuron=neuron,
        fixed=fixed,
        own=np.where(replica, copies, np.array([p.is_output for p in network.populations], bool)[population]),
        weights=np.concatenate(weights),
        leak=np.concatenate([t.plan.leak for t in tiles]),
        first_key=np.searchsorted(row[order], np.arange(len(tile_of) + 1)),
        keys=place[order],
        columns=column[order],
        key_type=key_type.astype(np.int64),
        home=home,
    )


def _name_types(tiles: Sequence[Tile], signals: Signals, model: CoreModel) -> list[Ints | None]:
    """Name the types of every tile such that tiles agree; ``None`` for tiles where that cannot be."""
    values = [_axon_values(tile.plan) for tile in tiles]
    names = (_types_by_source(tiles, signals, values, model), _types_by_weight(tiles, values, model))
    return max(names, key=lambda given: sum(name is not None for name in given))


def _axon_values(plan: AxonPlan) -> Ints | None:
    """Weight of every axon (0 for bias); ``None`` where an axon has several."""
    drive = plan.weights.T[plan.axon_type] * plan.synapses
    value: Ints = drive.max(axis=1, initial=0) + drive.min(axis=1, initial=0)
    bias = plan.source == BIAS
    same = (~plan.synapses | (drive == value[:, None])).all(axis=1) | bias
    return np.where(bias, 0, value) if same.all() else None


def _types_by_source(
    tiles: Sequence[Tile], signals: Signals, values: Sequence[Ints | None], model: CoreModel
) -> list[Ints | None]:
    """Give every signal one type on the whole chip: signals conflict where a population has other weights for them.

    Then populations with opposite weights for a source still share its axons.
    """
    populations = 1 + max((tile.population for tile in tiles), default=0)
    low, high = (np.full((len(signals), populations), fill) for fill in (2**31, -(2**31)))
    for tile, value, signal in zip(tiles, values, signals.of_axon, strict=True):
        if value is not None:
            np.minimum.at(low[:, tile.population], signal, value)
            np.maximum.at(high[:, tile.population], signal, value)
    read = low <= high
    clear = (~read | (low == high)).all(axis=1) & (signals.kind != BIAS_SIGNAL)
    table = np.where(read, low, 0)
    classes, of_signal, size = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    of_signal = of_signal.reshape(-1)
    colour = np.full(len(classes), -1)
    for number in np.argsort(-size, kind="stable").tolist():
        mine = classes[number]
        conflict = ((classes != mine) & (classes != 0) & (mine != 0)).any(axis=1)
        free = np.setdiff1d(np.arange(model.axon_types), colour[conflict])
        if len(free):
            colour[number] = free[0]
    type_of = np.where(clear, colour[of_signal], -1)
    names: list[Ints | None] = []
    for tile, value, signal in zip(tiles, values, signals.of_axon, strict=True):
        bias = tile.plan.source == BIAS
        name = type_of[signal]
        kinds = np.unique(tile.plan.axon_type[bias])
        free = np.setdiff1d(np.arange(model.axon_types), name[~bias])
        single = len(np.unique(signal[~bias])) == int((~bias).sum())
        if value is None or not single or (name[~bias] < 0).any() or len(kinds) > len(free):
            names.append(None)
        else:
            name[bias] = free[: len(kinds)][np.searchsorted(kinds, tile.plan.axon_type[bias])]
            names.append(name)
    return names


def _types_by_weight(tiles: Sequence[Tile], values: Sequence[Ints | None], model: CoreModel) -> list[Ints | None]:
    """Give every weight a type, the commonest first."""
    weights = [v[tile.plan.source != BIAS] for tile, v in zip(tiles, values, strict=True) if v is not None]
    found, times = np.unique(np.concatenate([np.zeros(0, np.int64), *weights]), return_counts=True)
    chosen = np.sort(found[np.argsort(-times, kind="stable")[: model.axon_types]])
    names: list[Ints | None] = []
    for tile, value in zip(tiles, values, strict=True):
        bias = tile.plan.source == BIAS
        kinds = np.unique(tile.plan.axon_type[bias])
        if value is None or not np.isin(value[~bias], chosen).all() or len(chosen) + len(kinds) > model.axon_types:
            names.append(None)
            continue
        name = np.searchsorted(chosen, value)
        name[bias] = len(chosen) + np.searchsorted(kinds, tile.plan.axon_type[bias])
        names.append(name)
    return names


def _renamed(plan: AxonPlan, name: Ints, types: int) -> Ints:
    """Weights of a plan for the new names of its types."""
    weights = np.zeros((plan.weights.shape[0], types), np.int64)
    axon, row = np.nonzero(plan.synapses)
    weights[row, name[axon]] = plan.weights[row, plan.axon_type[axon]]
    return weights


def tiles_of_cores(units: Units, core_of: Ints, model: CoreModel) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Put neurons together again: one tile for every population of a core.

    Parameters
    ----------
    units : Units
        All neurons.
    core_of : ndarray of int64, shape (U,)
        Core of every neuron; cores are numbered from 0 without gaps.
    model : CoreModel
        Axon types.

    Returns
    -------
    list of Tile
        By core, then population. Copies are those that ``core_of`` asks for.
    tuple of CoreLayout
        One per core.
    """
    copies = units.copies(core_of)
    tiles: list[Tile] = []
    layouts = []
    order = np.lexsort((units.neuron, units.population, core_of))
    for members in np.split(order, np.flatnonzero(np.diff(core_of[order])) + 1):
        parts = np.split(members, np.flatnonzero(np.diff(units.population[members])) + 1)
        made = [_tile(units, part, copies) for part in parts]
        here = np.unique(np.concatenate([keys for _, keys in made]))
        first = len(tiles)
        tiles += [tile for tile, _ in made]
        layouts.append(
            CoreLayout(
                tuple(range(first, len(tiles))),
                tuple(np.searchsorted(here, keys) for _, keys in made),
                tuple(np.arange(model.axon_types) for _ in made),
                len(here),
            )
        )
    return tiles, tuple(layouts)


def _tile(units: Units, part: Ints, copies: Ints) -> tuple[Tile, Ints]:
    lengths = units.first_key[part + 1] - units.first_key[part]
    at = ragged_ranges(units.first_key[part], lengths)
    keys, where, axon = np.unique(units.keys[at], return_index=True, return_inverse=True)
    synapses = np.zeros((len(keys), len(part)), bool)
    synapses[axon, np.repeat(np.arange(len(part)), lengths)] = True
    column = units.columns[at[where]]
    columns = np.unique(column[column != BIAS])
    source = np.where(column == BIAS, BIAS, np.searchsorted(columns, column))
    plan = AxonPlan(source, units.key_type[keys], units.weights[part], synapses, units.leak[part])
    return Tile(int(units.population[part[0]]), units.neuron[part], copies[part], columns, plan), keys
