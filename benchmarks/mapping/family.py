"""A family of random convolution networks, each drawn from its seed: what proven bounds on cores are measured on.

What is drawn was fixed before anything was mapped, and no seed was left out.

python -m benchmarks.mapping.gaps maps them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.network import Network, build_network
from neuromap.network.edge import EdgeKey
from neuromap.network.transforms import Conv
from neuromap.network.weights import StoredWeights

__all__ = ["SEEDS", "family_network"]

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
