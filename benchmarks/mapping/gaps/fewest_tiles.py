"""How few tiles a convolution can be cut into, whatever their shapes: all sets of places, or by column generation.

python -m benchmarks.mapping.gaps.fewest_tiles        some minutes; writes benchmarks/results/tiles.json

Sources have one axon each. Prices of places at which no set that fits a core is worth more than one core prove that
cores are at least the price of all places (Farley 1990); an integer program over the sets that were found shows tiles.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import neuromap as nm
from benchmarks.mapping.family import family_network
from benchmarks.mapping.gaps.tile_sets import Places, TileSets, all_sets, best_worth
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions

__all__ = ["NODES", "RESULTS", "fewest_tiles", "measure", "places_of"]

RESULTS = Path(__file__).resolve().parents[2] / "results" / "tiles.json"
NODES = ((1, "C1"), (5, "C2"), (9, "C2"), (17, "C1"), (19, "C1"), (20, "C1"))
"""Seed of a network of the family, and the node of it whose tiles are most beyond what is proven of it."""
ALL = 20_000
"""Sets that fit, up to which all are looked at."""
GROWN, TIMES = 1500, 80
"""Sets that are grown to begin with, and in every round."""
FEW = 3
"""New sets in a round, up to which the solver is asked for the best."""
SECONDS, ONE_PRICE = 240, 60
"""For a node, and for one set that is worth most."""
STEP = 8
"""Axons between two numbers of axons for which the best set is sought, where groups may share a core."""
ROUNDING = 1e-6
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def fewest_tiles(places: Places, room: tuple[int, int], begin: list[NDArray[np.bool_]]) -> tuple[float, int, Floats]:
    """Narrow the fewest tiles down.

    Parameters
    ----------
    places : Places
    room : (int, int)
        Axons and neurons of a core.
    begin : list of ndarray of bool
        Sets to begin with: the tiles that are known.

    Returns
    -------
    float
        Tiles that are proven; copies do not count.
    int
        Tiles that were found, which hold the copies.
    ndarray of float64, shape (places,)
        Prices that prove it.
    """
    n, end = len(places.reads), time.monotonic() + SECONDS
    pool = TileSets(places, room)
    for some in [*begin, *np.eye(n, dtype=bool)]:
        pool.add(some)
    for _ in range(GROWN):
        pool.add(pool.grow(np.ones(n), 0.5))
    proven, best = 0.0, np.zeros(n)
    every = all_sets(places, room[0], ALL)
    if every is not None:
        for some in every:
            pool.add(some)
        proven, best = _prices(every)
    while every is None and time.monotonic() < end:
        optimum, price = _prices(pool.sets)
        if pool.grow_worthy(price, TIMES) > FEW:
            continue
        tried = (price + best) / 2 if proven else price
        some, worth = best_worth(places, tried, room[0], ONE_PRICE)
        if tried.sum() / max(1.0, worth) > proven:
            best = tried / max(1.0, worth)
            proven = float(best.sum())
        if optimum - proven < 2e-2 or some is None or not (pool.add(some) or proven):
            break
    sets = np.array(pool.sets, np.float64)
    whole = milp(
        np.ones(len(sets)),
        integrality=np.ones(len(sets)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(sets.T, 1, np.inf),
        options={"time_limit": ONE_PRICE},
    )
    return proven, min(len(begin), round(whole.fun)) if whole.x is not None else len(begin), best


def _prices(sets: list[NDArray[np.bool_]]) -> tuple[float, Floats]:
    """Share tiles out over sets, and price places so that none of these sets is worth more than one."""
    table = np.array(sets, np.float64)
    found = linprog(np.ones(len(table)), A_ub=-table.T, b_ub=-np.ones(table.shape[1]), method="highs")
    price: Floats = -found.ineqlin.marginals
    price /= max(1.0, float((table @ price).max()))
    return float(price.sum()), price


def measure(seed: int, node: str) -> dict[str, Any]:
    """Narrow the tiles of a node down.

    Returns
    -------
    dict
        ``network``, ``node``; ``tiles`` of the mapper, ``proven`` cores of the bound; ``least``: no mapping has its
        neurons in fewer cores; ``most``: so many tiles exist that hold the copies which the mapper's tiles hold.
    """
    network, chip = family_network(seed), load_chip("truenorth")
    mapping = map_with_stages(nm.Rollout(network, "streaming"), chip, MappingOptions(placer="hilbert"))
    number = next(i for i, p in enumerate(mapping.network.populations) if p.name == node)
    tiles = [tile for tile in mapping.partition.apart if tile.population == number]
    bound = core_bound(mapping.network, chip)
    known = next(population.cores for population in bound.populations if population.name == node)
    rows, columns, features = network.nodes[node].shape
    reads = np.concatenate([e.matrix().toarray() != 0 for (_, v), e in network.edges.items() if v == node], axis=1)
    copies = np.zeros(rows * columns * features, np.int64)
    for tile in tiles:
        copies[tile.neurons] += tile.copies
    group = [f for f in range(features) if (reads[f] == reads[0]).all()]
    groups = features // len(group)
    places = places_of(reads[group[0] :: features], copies.reshape(-1, features)[:, group].sum(axis=1))
    mine = [tile.neurons[np.isin(tile.neurons % features, group)] // features for tile in tiles]
    begin = [np.isin(np.arange(rows * columns), some) for some in mine if len(some)]
    least, most, price = fewest_tiles(places, (chip.axons, chip.neurons), begin)
    least = groups * least / _worth_of_groups(places, price, chip.axons, groups)
    return {
        "network": f"family {seed}",
        "node": node,
        "tiles": len(tiles),
        "proven": known,
        "least": max(known, int(np.ceil(least - ROUNDING))),
        "most": min(len(tiles), groups * most),
    }


def places_of(reads: NDArray[np.bool_], copies: Ints) -> Places:
    """Join sources that the same places read.

    Parameters
    ----------
    reads : ndarray of bool, shape (places, sources)
    copies : ndarray of int64, shape (places,)
        Neurons of a core that each place takes.
    """
    sources, width = np.unique(reads[:, reads.any(axis=0)], axis=1, return_counts=True)
    return Places(sources, width.astype(np.int64), copies)


def _worth_of_groups(places: Places, price: Floats, axons: int, groups: int) -> float:
    """Bound the worth of a core that holds sets of several groups, which share no source: a knapsack of its axons."""
    if groups == 1:
        return 1.0
    sizes = range(STEP, axons + 1, STEP)
    worth = np.array([0.0, *(best_worth(places, price, size, ONE_PRICE)[1] for size in sizes)])
    total = (axons + groups * (STEP - 1)) // STEP  # of sizes rounded up
    best = np.zeros(total + 1)
    for _ in range(groups):
        more = [[best[k - j] + worth[j] for j in range(min(k, len(worth) - 1) + 1)] for k in range(total + 1)]
        best = np.array([max(some) for some in more])
    return max(1.0, float(best[-1]))


def main() -> int:
    """Measure what is named, as SEED:NODE, or all; what was measured before stays."""
    asked = [(int(seed), node) for seed, node in (word.split(":") for word in sys.argv[1:])] or NODES
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    rows = {(row["network"], row["node"]): row for row in old}
    for seed, node in asked:
        rows[f"family {seed}", node] = measure(seed, node)
        print(rows[f"family {seed}", node], file=sys.stderr, flush=True)
        found = [rows[key] for s, n in NODES if (key := (f"family {s}", n)) in rows]
        write_whole(RESULTS, (json.dumps(found, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
