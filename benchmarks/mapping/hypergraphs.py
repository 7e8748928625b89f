"""The families of networks of a published mapper of many-target cores, as lists of what every neuron reads.

They are those of AxonFlow (Ronzani and Silvano, arXiv 2601.16118), drawn by code of our own: random networks whose
neurons reach mostly near ones, and convolution networks in the manner of LeNet and VGG. Inputs are neurons that read
nothing, as they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neuromap.network.transforms import Conv
from neuromap.network.weights import Padding, StoredWeights

__all__ = ["FAMILIES", "Family", "Hypergraph", "convolution_hypergraph", "random_hypergraph"]

Ints = NDArray[np.int64]
_GAP, _REACH, _SMOOTH = 0.3, 0.1, 0.05
"""AxonFlow's: how much more likely later neurons are than earlier ones, and two lengths as shares of all neurons."""


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Which neurons every neuron reads.

    Attributes
    ----------
    start : ndarray of int64, shape (n + 1,)
        Where the sources of a neuron begin.
    source : ndarray of int64, shape (s,)
        Neurons that it reads, ascending and each once.
    shapes : tuple of (int, int, int)
        Rows, columns and features of the layers, in the order of their neurons; empty where there are none.
    """

    start: Ints
    source: Ints
    shapes: tuple[tuple[int, int, int], ...] = ()

    @property
    def n_neurons(self) -> int:
        """Neurons, inputs included."""
        return len(self.start) - 1


@dataclass(frozen=True)
class Family:
    """A network and the limits of the cores that it is mapped onto.

    Attributes
    ----------
    name : str
        What it is called.
    neurons, axons : int
        Neurons and distinct sources of a core.
    side : int
        Rows and columns of the chip.
    """

    name: str
    neurons: int
    axons: int
    side: int = 64

    def graph(self) -> Hypergraph:
        """Make the network."""
        return _MAKE[self.name]()


def random_hypergraph(n: int, mean: float, deviation: float, *, seed: int = 192) -> Hypergraph:
    """Draw a random network with locality.

    Neuron s reaches a number of others drawn from a normal distribution, each drawn without replacement with a weight
    of exp(-|i - s| / (0.1 n)) (1 + 0.3 tanh((i - s) / (0.05 n))), as AxonFlow's generator does.

    Parameters
    ----------
    n : int
        Neurons.
    mean, deviation : float
        Of the neurons that one reaches.
    seed : int
        AxonFlow's own by default.
    """
    draw = np.random.default_rng(seed)
    fan_out = np.clip(draw.normal(mean, deviation, n).astype(np.int64), 1, n - 1)
    apart = np.arange(-n, n + 1)
    weight = np.exp(-np.abs(apart) / (_REACH * n)) * (1.0 + _GAP * np.tanh(apart / (_SMOOTH * n)))
    weight[n] = 0.0  # not itself
    below = np.concatenate([[0.0], np.cumsum(weight)])
    reached = [_distinct(draw, below[n - s : 2 * n - s + 1], int(fan_out[s])) for s in range(n)]
    target, source = np.concatenate(reached), np.repeat(np.arange(n), fan_out)
    return _by_target(n, target, source)


def _distinct(draw: np.random.Generator, below: NDArray[np.float64], wanted: int) -> Ints:
    """Draw positions by their cumulative weights until enough are different; the first ones count."""
    found = np.zeros(0, np.int64)
    while len(found) < wanted:
        points = below[0] + draw.random(2 * wanted) * (below[-1] - below[0])
        found = np.concatenate([found, np.searchsorted(below, points, side="right") - 1])
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)]
    return found[:wanted]


def convolution_hypergraph(
    shapes: Sequence[tuple[int, int, int]], windows: Sequence[tuple[int, int, bool]]
) -> Hypergraph:
    """Build a network of convolutions, pools and dense layers.

    Parameters
    ----------
    shapes : sequence of (int, int, int)
        Rows, columns, features of the input and of every layer.
    windows : sequence of (int, int, bool)
        Side and stride of the window of every layer, and whether a feature reads its own feature only (a pool). A
        side of 0 reads everything.
    """
    first = np.cumsum([0, *(r * c * f for r, c, f in shapes)])
    targets, sources = [], []
    for layer, ((before, after), (side, stride, pooled)) in enumerate(
        zip(pairwise(shapes), windows, strict=True), start=1
    ):
        row, column = _layer(before, after, side, stride, pooled=pooled)
        targets.append(row + first[layer])
        sources.append(column + first[layer - 1])
    return _by_target(int(first[-1]), np.concatenate(targets), np.concatenate(sources), tuple(shapes))


def _layer(
    before: tuple[int, int, int], after: tuple[int, int, int], side: int, stride: int, *, pooled: bool
) -> tuple[Ints, Ints]:
    sizes = int(np.prod(after)), int(np.prod(before))
    if not side:
        return np.repeat(np.arange(sizes[0]), sizes[1]), np.tile(np.arange(sizes[1]), sizes[0])
    groups = before[2] if pooled else 1
    weights = StoredWeights(np.ones((side, side, before[2] // groups, after[2]), np.int64))
    padding: Padding = "same" if after[0] * stride == before[0] else "valid"
    matrix = Conv(before, after, (side, side), (stride, stride), padding, groups=groups, weights=weights).matrix()
    row, column = matrix.tocoo().coords
    return row.astype(np.int64), column.astype(np.int64)


def _by_target(n: int, target: Ints, source: Ints, shapes: tuple[tuple[int, int, int], ...] = ()) -> Hypergraph:
    order = np.argsort(target * n + source, kind="stable")
    start = np.searchsorted(target[order], np.arange(n + 1))
    return Hypergraph(start.astype(np.int64), source[order], shapes)


def _lenet() -> Hypergraph:
    shapes = [(32, 32, 3), (28, 28, 6), (14, 14, 6), (10, 10, 16), (5, 5, 16), (1, 1, 120), (1, 1, 84), (1, 1, 10)]
    pool = (2, 2, True)
    return convolution_hypergraph(shapes, [(5, 1, False), pool, (5, 1, False), pool, *[(0, 1, False)] * 3])


def _vgg() -> Hypergraph:
    """VGG-11's convolutions for 32x32 images at a quarter of their width, strides in place of pools."""
    sides, features, shapes = (32, 16, 8, 8, 4, 4), (16, 32, 64, 64, 128, 128), [(32, 32, 3)]
    shapes += [(side, side, width) for side, width in zip(sides, features, strict=True)]
    strides = [before[0] // after[0] for before, after in pairwise(shapes)]
    return convolution_hypergraph([*shapes, (1, 1, 10)], [*((3, s, False) for s in strides), (0, 1, False)])


_MAKE: dict[str, Callable[[], Hypergraph]] = {
    "LeNet-like": _lenet,
    "VGG-like": _vgg,
    "random 4k": lambda: random_hypergraph(4 * 1024, 128, 32),
    "random 16k": lambda: random_hypergraph(16 * 1024, 256, 64),
    "random 64k": lambda: random_hypergraph(64 * 1024, 512, 128),
}
FAMILIES = (
    Family("LeNet-like", 256, 1024),
    Family("VGG-like", 1024, 4096),
    Family("random 4k", 96, 1024),
    Family("random 16k", 192, 2048),
    Family("random 64k", 384, 8192),
)
"""Limits of the random networks are those of AxonFlow's own study of their sizes (scalability_main.py), those of
LeNet its default (main.py), those of VGG Loihi's (model.py)."""
