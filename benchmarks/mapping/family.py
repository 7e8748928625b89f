"""A family of random convolution networks, each drawn from its seed: what proven bounds on cores are measured on.

What is drawn was fixed before anything was mapped, and no seed was left out.

python -m benchmarks.mapping.family        maps all, some minutes, and writes benchmarks/results/bounds.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import neuromap as nm
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import Network, build_network
from neuromap.network.edge import EdgeKey
from neuromap.network.transforms.kinds import Conv
from neuromap.network.transforms.weights import StoredWeights

__all__ = ["RESULTS", "SEEDS", "family_network", "measure"]

RESULTS = Path(__file__).resolve().parents[1] / "results" / "bounds.json"
"""What the table is made of."""
SEEDS = range(1, 21)
"""The twenty networks of the table in docs/mapping-benchmarks.md."""


def family_network(seed: int) -> Network:
    """Draw a network of two to four convolutions over a square image.

    The side is 16, 24 or 32; a layer has 1 to 3 groups of 4 to 8 features, the same in all layers, so that every layer
    can read every other of its size; kernels are 3x3 or (one in four) 5x5 with up to 4 channels per group; one layer
    in four halves the image. One layer in four has a self-edge, one in four reads the layer two before it too, where
    that has its size. Two networks in three are sign-fixed (all weights of a source feature are -1 or 1), one in three
    is ternary (each weight is).

    Parameters
    ----------
    seed : int
        Of everything that is drawn.

    Returns
    -------
    Network
        Nodes I, C1, C2, ...; the last is read out.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    side, groups, channels = (int(draw.choice(some)) for some in ([16, 24, 32], [1, 2, 3], [4, 6, 8]))
    is_fixed = bool(draw.random() < 2 / 3)
    features = groups * channels
    shapes, names = [(side, side, features)], ["I"]
    edges: dict[EdgeKey, Conv] = {}

    def add(u: int, v: int, size: int) -> None:
        stride = shapes[u][0] // shapes[v][0]
        weights = StoredWeights(_kernel(draw, is_fixed, size, groups, channels))
        edges[names[u], names[v]] = Conv(
            shapes[u], shapes[v], (size, size), (stride, stride), groups=groups, weights=weights
        )

    for layer in range(1, int(draw.integers(2, 5)) + 1):
        scale = 2 if draw.random() < 1 / 4 and shapes[-1][0] > 8 else 1
        size = 5 if draw.random() < 1 / 4 and channels <= 4 else 3
        shapes.append((shapes[-1][0] // scale, shapes[-1][1] // scale, features))
        names.append(f"C{layer}")
        add(layer - 1, layer, size)
        if draw.random() < 1 / 4:
            add(layer, layer, 3)
        if draw.random() < 1 / 4 and layer > 1 and shapes[layer - 2] == shapes[layer]:
            add(layer - 2, layer, 3)
    specs = {name: (shape, None if name == "I" else 2) for name, shape in zip(names, shapes, strict=True)}
    return build_network(specs, edges, outputs=(names[-1],), name=f"family {seed}")


def _kernel(draw: np.random.Generator, is_fixed: bool, size: int, groups: int, channels: int) -> NDArray[np.int64]:
    shape = (size, size, channels, groups * channels)
    if not is_fixed:
        return draw.choice([-1, 1], shape).astype(np.int64)
    of_source = draw.choice([-1, 1], (groups, channels))
    of_source[of_source.sum(axis=1) == -channels, 0] = 1  # a group that only inhibits would never spike
    return np.broadcast_to(np.repeat(of_source.T, channels, axis=1), shape).astype(np.int64)


def measure(seed: int) -> dict[str, Any]:
    """Map a network of the family and bound its cores.

    Returns
    -------
    dict
        ``network``, ``found`` and ``after``, the cores that are proven.
    """
    chip = load_chip("truenorth")
    mapping = map_with_stages(nm.Rollout(family_network(seed), "streaming"), chip, MappingOptions(placer="hilbert"))
    proven = core_bound(mapping.network, chip, priced=True).total
    return {"network": f"family {seed}", "found": mapping.program.n_cores, "after": proven}


def main() -> int:
    """Measure all and write them into the table's file; what was proven before stays as it is there."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    for seed in SEEDS:
        found = measure(seed)
        row = next(row for row in rows if row["network"] == found["network"])
        row |= found
        print(found, file=sys.stderr, flush=True)
        write_whole(RESULTS, (json.dumps(rows, indent=1) + "\n").encode())  # what is finished stays
    return 0


if __name__ == "__main__":
    sys.exit(main())
