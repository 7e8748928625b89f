"""Found and proven cores of all benchmark networks and of the family, and the figures that say where they part.

    python -m benchmarks.mapping.gaps                     all but the board of 16 chips
    python -m benchmarks.mapping.gaps "family 8" irregular        some of them
    python -m benchmarks.mapping.gaps "16 chips"          figures of its crop of 64x64; what is found and proven stays

It writes ``benchmarks/results/bounds.json``; what was proven before stays as it is there. The page is written by
``python -m benchmarks.mapping --from benchmarks/results/mapping.json``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import neuromap as nm
from benchmarks.mapping.cases import CASES
from benchmarks.mapping.family import SEEDS, family_network
from benchmarks.mapping.figures import figures_of
from benchmarks.mapping.networks import board_network
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.partition.partition import Partition

__all__ = ["measure"]

_BOARD = "16 chips"

_RESULTS = Path(__file__).resolve().parents[2] / "results" / "bounds.json"
_SHARPENED_BY_PRICES = 600_000
"""Neurons above which prices are left out: they see nothing on these, and take long."""


def measure(name: str) -> dict[str, Any]:
    """Map a network and bound its cores.

    Returns
    -------
    dict
        ``network``, ``found`` and ``after``, the cores that are proven; ``axons`` and ``neurons`` in use, as parts of
        the cores; ``copies`` as a part of the neurons in use; axons ``per_delivery``, and ``read`` for each that is
        proven to be; what nodes ``apart`` take at least; ``node``, ``holds`` and ``may_hold``: of the node that
        lacks most cores, neurons per core as tiled and as is not excluded.
    """
    rollout, chip_name = _rollout(name)
    chip = load_chip(chip_name)
    mapping = map_with_stages(rollout, chip, MappingOptions(placer="hilbert"))
    found = figures_of(mapping.program)
    large = sum(node.size for node in rollout.network.nodes.values()) > _SHARPENED_BY_PRICES
    bound = core_bound(mapping.network, chip, priced=not large)
    fed = found.axons * found.cores * chip.axons
    in_use = found.neurons * found.cores * chip.neurons
    return {
        "network": name,
        "found": found.cores,
        "after": bound.total,
        "axons": found.axons,
        "neurons": found.neurons,
        "copies": found.copies / in_use,
        "per_delivery": fed / found.deliveries,
        "read": fed / max(1, bound.axons),
        "apart": sum(population.cores for population in bound.populations),
        **_greediest(mapping, bound),
    }


def _rollout(name: str) -> tuple[nm.Rollout, str]:
    if name.startswith("family "):
        return nm.Rollout(family_network(int(name.split()[1])), "streaming"), "truenorth"
    if name == _BOARD:
        return nm.Rollout(board_network(64, 64), "streaming"), "truenorth"
    case = CASES[name]
    return nm.Rollout(case.network(), case.pattern), case.chip


def _greediest(mapping: MappedRollout, bound: CoreBound) -> dict[str, Any]:
    """Name the node whose tiles are most beyond what is proven of it, with neurons per core of both."""
    assert isinstance(mapping.partition, Partition)
    tiles = Counter(tile.population for tile in mapping.partition.apart)
    neurons = Counter(n for tile in mapping.partition.apart for n in [tile.population] * len(tile.neurons))
    names = {population.name: number for number, population in enumerate(mapping.network.populations)}
    worst = max(bound.populations, key=lambda population: tiles[names[population.name]] - population.cores)
    number = names[worst.name]
    return {
        "node": worst.name,
        "holds": neurons[number] / max(1, tiles[number]),
        "may_hold": neurons[number] / max(1, worst.cores),
    }


def main() -> int:
    """Measure what is named, or all, and write it into the table's file."""
    rows = json.loads(_RESULTS.read_text(encoding="utf-8"))
    small = [title for title, case in CASES.items() if not case.large]
    for name in sys.argv[1:] or [*small, *(f"family {seed}" for seed in SEEDS)]:
        found = measure(name)
        if name == _BOARD:
            found["crop"] = {"found": found.pop("found"), "after": found.pop("after")}
        row = next(row for row in rows if row["network"] == name)
        row |= found
        print(found, file=sys.stderr, flush=True)
        write_whole(_RESULTS, (json.dumps(rows, indent=1) + "\n").encode())  # what is finished stays
    return 0


if __name__ == "__main__":
    sys.exit(main())
