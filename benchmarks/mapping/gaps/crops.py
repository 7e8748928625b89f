"""Crops of the benchmark's kinds of layers on small cores: cores that are found, proven, and the fewest there are.

python -m benchmarks.mapping.gaps.crops        some minutes; writes benchmarks/results/crops.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import neuromap as nm
from benchmarks.mapping.gaps.fewest_cores import fits
from benchmarks.mapping.gaps.fewest_tiles import fewest_tiles, places_of
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import Network, build_network
from neuromap.network.edge import EdgeKey
from neuromap.network.transforms import Conv, Identity
from neuromap.network.weights import StoredWeights

__all__ = ["CROPS", "RESULTS", "Crop", "measure"]

RESULTS = Path(__file__).resolve().parents[2] / "results" / "crops.json"
SECONDS = 120
"""For every number of cores that is tried."""
ROUNDING = 1e-6
"""On a number of cores that floating point may give a little too high."""


@dataclass(frozen=True)
class Crop:
    """A small layer and the axons of the core that it is cut for; the other figures are TrueNorth's.

    Attributes
    ----------
    title : str
        Name in the table.
    network : callable
        Builds it. Its nodes read inputs alone.
    axons : int
        Of a core.
    """

    title: str
    network: Callable[[], Network]
    axons: int


def _layer(signs: str, side: tuple[int, int], channels: int, features: int, inputs: int = 1) -> Network:
    """Convolve inputs, 3x3, without edges: positions over so many rows and columns."""
    draw = np.random.Generator(np.random.Philox(key=1))
    source, target = (side[0] + 2, side[1] + 2, channels), (*side, features)
    edges: dict[EdgeKey, Conv] = {}
    for name in "IJ"[:inputs]:
        weights = StoredWeights(_kernel(draw, signs, channels, features))
        edges[name, "O"] = Conv(source, target, (3, 3), padding="valid", weights=weights)
    return build_network({**{u: (source, None) for u, _ in edges}, "O": (target, 1)}, edges)


def _kernel(draw: np.random.Generator, signs: str, channels: int, features: int) -> NDArray[np.int64]:
    shape = (3, 3, channels, features)
    of_source = np.broadcast_to(draw.choice([-1, 1], (channels, 1)), shape)
    if signs == "sign-fixed":
        return of_source.astype(np.int64)
    if signs == "sign-fixed with zeros":
        return of_source * draw.integers(0, 2, shape)
    return draw.choice([-1, 1] if signs == "ternary" else [-1, 0, 1], shape).astype(np.int64)


def _skip() -> Network:
    """Let two nodes read one input: a convolution and a skip that adds to another's, as on the board."""
    shape, inner = (6, 6, 1), (6, 6, 1)
    conv = Conv(shape, inner, (3, 3), weights=StoredWeights(np.ones((3, 3, 1, 1), np.int64)))
    edges: dict[EdgeKey, Conv | Identity] = {("I", "A"): conv, ("I", "B"): Identity(shape, inner), ("J", "B"): conv}
    return build_network({"I": (shape, None), "J": (shape, None), "A": (inner, 1), "B": (inner, 1)}, edges)


def _irregular() -> Network:
    """Draw 24 neurons that read 8 of 48 sources each: mostly near ones, as the irregular network does."""
    draw = np.random.Generator(np.random.Philox(key=1))
    weights = np.zeros((24, 48), np.int64)
    for reader in range(24):
        near = (2 * reader + np.rint(draw.laplace(0, 3, 7)).astype(np.int64)) % 48
        weights[reader, near] = weights[reader, draw.integers(48)] = 1
    return build_network({"I": ((1, 1, 48), None), "O": ((1, 1, 24), 2)}, {("I", "O"): weights})


CROPS: Mapping[str, Crop] = {
    crop.title: crop
    for crop in (
        Crop("sign-fixed", lambda: _layer("sign-fixed", (4, 5), 2, 2), 32),
        Crop("sign-fixed with zeros", lambda: _layer("sign-fixed with zeros", (3, 4), 1, 4), 16),
        Crop("ternary, one channel", lambda: _layer("ternary", (3, 3), 1, 6), 32),
        Crop("ternary, two channels", lambda: _layer("ternary", (2, 4), 2, 4), 48),
        Crop("ternary with zeros", lambda: _layer("ternary with zeros", (3, 3), 1, 6), 32),
        Crop("ternary, two inputs", lambda: _layer("ternary", (2, 2), 1, 6, inputs=2), 32),
        Crop("skip", _skip, 32),
        Crop("irregular", _irregular, 24),
    )
}


def measure(title: str) -> dict[str, Any]:
    """Map a crop, bound it, and seek the fewest cores by integer programs, of one axon a source by sets of neurons too.

    Returns
    -------
    dict
        ``found``, ``proven``, ``least``: below it no mapping is, shown by the solver, and ``most``: it has a mapping.
    """
    crop = CROPS[title]
    chip = replace(load_chip("truenorth"), axons=crop.axons)
    network = crop.network()
    mapping = map_with_stages(nm.Rollout(network, "streaming"), chip)
    found, proven = mapping.program.n_cores, core_bound(mapping.network, chip, priced=True).total
    least, most = _fewest(_weights(network), (crop.axons, chip.neurons, chip.axon_types), proven, found)
    return {"crop": title, "axons": crop.axons, "found": found, "proven": proven, "least": least, "most": most}


def _fewest(weights: NDArray[np.int64], core: tuple[int, int, int], proven: int, found: int) -> tuple[int, int]:
    """Narrow the fewest cores down from below and from above, as far as the solver comes in time."""
    least, most = proven, found
    if not ((weights > 0).any(axis=0) & (weights < 0).any(axis=0)).any():  # every source has one axon
        places = places_of(weights != 0, np.ones(len(weights), np.int64))
        in_tiles = fewest_tiles(places, core[:2], list(np.eye(len(weights), dtype=bool)))[0]
        least = max(least, int(np.ceil(in_tiles - ROUNDING)))
    while least < most and fits(weights, core, least, SECONDS, legal=False) is False:
        least += 1
    while most > least and fits(weights, core, most - 1, SECONDS, legal=True):
        most -= 1
    return least, most


def _weights(network: Network) -> NDArray[np.int64]:
    """Weights of all neurons from all inputs; shape (neurons, sources)."""
    inputs = [name for name, node in network.nodes.items() if node.threshold is None]
    rows = []
    for v in (name for name in network.nodes if name not in inputs):
        parts = [
            network.edges[u, v].matrix().toarray()
            if (u, v) in network.edges
            else np.zeros((network.nodes[v].size, network.nodes[u].size), np.int64)
            for u in inputs
        ]
        rows.append(np.concatenate(parts, axis=1))
    return np.concatenate(rows)


def main() -> int:
    """Measure what is named, or all; what was measured before stays."""
    asked = sys.argv[1:] or list(CROPS)
    rows = {row["crop"]: row for row in (json.loads(RESULTS.read_text()) if RESULTS.exists() else [])}
    for title in asked:
        rows[title] = measure(title)
        print(rows[title], file=sys.stderr, flush=True)
        write_whole(RESULTS, (json.dumps([rows[t] for t in CROPS if t in rows], indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
