"""The networks on which the mapper is measured: each a function of its size and seed.

The convolution benchmark is that of the published partitioners (docs/mapping-benchmarks.md); the others are its
ten-fold, an irregular random network, and a network that fills a board of 16 chips.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.network import Network, build_network
from neuromap.network.edge import EdgeKey
from neuromap.network.transforms import Conv, Identity, Pool
from neuromap.network.weights import StoredWeights

__all__ = ["Signs", "board_network", "convolution_network", "count_neurons", "count_synapses", "irregular_network"]

Signs = Literal["sign-fixed", "ternary", "ternary with zeros"]
Shape = tuple[int, int, int]
_CHANNELS = 8
"""Input channels of a group in the convolution benchmark."""


def count_neurons(network: Network) -> int:
    """Neurons of all nodes, inputs included."""
    return sum(node.size for node in network.nodes.values())


def count_synapses(network: Network) -> int:
    """Entries of all matrices that are not zero."""
    return sum(edge.matrix().nnz for edge in network.edges.values())


def convolution_network(signs: Signs = "sign-fixed", *, side: int = 48, seed: int = 1) -> Network:
    """Build the convolution benchmark: five 3x3 convolutions of 8 input channels per group over a square image.

    Parameters
    ----------
    signs : {"sign-fixed", "ternary", "ternary with zeros"}
        Sign-fixed: every source feature has one sign in all of its weights. Ternary: every weight draws its own sign;
        with zeros, a third of them is 0, and the network has a third fewer synapses.
    side : int
        Rows and columns of the input, a multiple of 4. 48 is the benchmark itself: 129,024 neurons with the input,
        6,344,960 synapses. 152 is its ten-fold.
    seed : int
        Of the weights.

    Returns
    -------
    Network
        Nodes I, C1 to C5. Its strided windows begin at the edge and run over the far edge by one cell ("same" of
        the network file); with a padding of 1 on each side they would run over the near edge: the mirror image.
    """
    shapes = [(side, side, 16), (side, side, 16)]
    for scale, features in ((2, 32), (4, 64)):
        shapes += [(side // scale, side // scale, features)] * 2
    names = ["I", *(f"C{i}" for i in range(1, len(shapes)))]
    draw = np.random.Generator(np.random.Philox(key=seed))
    edges: dict[EdgeKey, Conv] = {}
    for (u, source), (v, target) in pairwise(zip(names, shapes, strict=True)):
        stride = source[0] // target[0]
        groups = source[2] // _CHANNELS
        weights = _kernel(draw, signs, groups, target[2])
        edges[u, v] = Conv(source, target, (3, 3), (stride, stride), groups=groups, weights=StoredWeights(weights))
    thresholds = dict.fromkeys(names[1:], 2)
    nodes = {n: (shape, thresholds.get(n)) for n, shape in zip(names, shapes, strict=True)}
    return build_network(nodes, edges, name=f"convolution {side} {signs}")


def _kernel(draw: np.random.Generator, signs: Signs, groups: int, features: int) -> NDArray[np.int64]:
    """Draw a tensor of shape (3, 3, channels, features)."""
    shape = (3, 3, _CHANNELS, features)
    if signs == "sign-fixed":
        of_source = draw.choice([-1, 1], (groups, _CHANNELS))
        of_source[of_source.sum(axis=1) == -_CHANNELS, 0] = 1  # a group that only inhibits would never spike
        return np.broadcast_to(np.repeat(of_source.T, features // groups, axis=1), shape).astype(np.int64)
    return draw.choice([-1, 1] if signs == "ternary" else [-1, 0, 1], shape).astype(np.int64)


def irregular_network(nodes: int = 32, *, seed: int = 1) -> Network:
    """Build a random network without layers or windows, for partitioners that know none.

    Its nodes have sizes drawn log-uniformly from 32 to 1024 and least fan-ins drawn log-uniformly from 2 to 64; the
    neurons of a node lie on a ring. A neuron's fan-in follows a power law (density exponent 3) from its node's least
    to 192; a tenth of it comes from anywhere, the rest from near the neuron's own place: distances are Laplacian with
    scale 0.02 of the ring. A node reads the node before it and, each with odds of 1 in 8, any other non-input node,
    itself included, so that there are cycles. Every source neuron has one sign (4 of 5 excite) and one magnitude, 1
    or 2.

    Parameters
    ----------
    nodes : int
        Nodes besides the input, 2 or more.
    seed : int
        Of everything that is drawn.

    Returns
    -------
    Network
        Nodes I (1024 neurons) and N1 to Nn; the last is read out.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    names = ["I", *(f"N{i}" for i in range(1, nodes + 1))]
    size = {"I": 1024, **{n: int(2 ** draw.uniform(5, 10)) for n in names[1:]}}
    sign = {n: np.where(draw.random(size[n]) < 0.8, 1, -1) * draw.integers(1, 3, size[n]) for n in names}
    edges: dict[EdgeKey, NDArray[np.int64] | sparse.csr_array] = {}
    for before, name in pairwise(names):
        sources = [before, *(u for u in names[1:] if u != before and draw.random() < 1 / 8)]
        least = 2 ** draw.uniform(1, 6)
        fan_in = np.minimum(least * (1 + draw.pareto(2.0, size[name])), 192).astype(np.int64)
        reader = np.repeat(np.arange(size[name]), fan_in)
        of_edge = draw.integers(0, len(sources), len(reader))
        place = (reader + 0.5) / size[name] + draw.laplace(0.0, 0.02, len(reader))
        place = np.where(draw.random(len(reader)) < 0.1, draw.random(len(reader)), place) % 1.0
        for number, source in enumerate(sources):
            here = of_edge == number
            column = (place[here] * size[source]).astype(np.int64)
            pairs = np.unique(reader[here] * size[source] + column)  # a pair that is drawn twice is one synapse
            rows, columns = np.divmod(pairs, size[source])
            edges[source, name] = sparse.csr_array(
                (sign[source][columns], (rows, columns)), shape=(size[name], size[source])
            )
    specs = {n: ((1, 1, size[n]), None if n == "I" else 2) for n in names}
    return build_network(specs, edges, outputs=(names[-1],), name=f"irregular {nodes}")


def board_network(rows: int = 592, columns: int = 512, *, seed: int = 1) -> Network:
    """Build a network for 16 chips: depthwise convolutions, residual skips and pools over a large image.

    Parameters
    ----------
    rows, columns : int
        Of the input image, multiples of 4; it has 4 features.
    seed : int
        Of the kernels: 3x3 of 0 and 1, the centre never 0.

    Returns
    -------
    Network
        Nodes I, A1 to A4 at full size, PB and B1 to B4 at half, PC and C1 to C4 at a quarter. Each of A1 to C4 is a
        depthwise convolution of the node before it plus an identity from the node before that one within
        its size; PB and PC are 2x2 pools. A neuron has 10 synapses at most.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    shape: Shape = (rows, columns, 4)
    nodes: dict[str, tuple[Shape, int | NDArray[np.int64] | None]] = {"I": (shape, None)}
    edges: dict[EdgeKey, Conv | Identity | Pool] = {}
    before, last = "", "I"
    for size in "ABC":
        if last != "I":
            half = (shape[0] // 2, shape[1] // 2, shape[2])
            pool = f"P{size}"
            edges[last, pool] = Pool(shape, half, (2, 2))
            nodes[pool] = (half, 1)
            before, last, shape = "", pool, half
        for i in range(1, 5):
            name = f"{size}{i}"
            kernel = draw.integers(0, 2, (3, 3, 1, shape[2]))
            kernel[1, 1] = 1
            edges[last, name] = Conv(shape, shape, (3, 3), groups=shape[2], weights=StoredWeights(kernel))
            if before:
                edges[before, name] = Identity(shape, shape)
            # half of what can come in; more before a pool, which fires if any of its four cells does
            nodes[name] = (shape, kernel.sum(axis=(0, 1, 2)) // 2 + (1 if i < 4 else 2))
            before, last = last, name
    return build_network(nodes, edges, name=f"board {rows}x{columns}")
