"""Random networks whose frames fall into several streams, so that they come closer at unequal intervals."""

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.network.build import build_network
from neuromap.rollout.pattern import RolloutPattern


@st.composite
def _interleaved_edges(draw, most_streams=3, longest=2):
    """Edges with their R: a ring in g stretches, chords that keep the streams apart, inputs and outputs.

    Node k of the ring is in stretch c(k), and R(u, v) = c(v) - c(u) modulo g on all edges among nodes that hang
    together by more than one path, so that g divides the sum of R around every undirected cycle.
    """
    streams = draw(st.integers(2, most_streams))
    stretch = [c for c in range(streams) for _ in range(draw(st.integers(1, longest)))]
    ring, n = [f"r{k}" for k in range(len(stretch))], len(stretch)
    edges = {(ring[k], ring[(k + 1) % n]): (stretch[(k + 1) % n] - stretch[k]) % streams for k in range(n)}
    chords = [
        (ring[u], ring[v], (stretch[v] - stretch[u]) % streams)
        for u in range(n)
        for v in range(n)
        if (u < v and stretch[u] == stretch[v]) or (stretch[v] - stretch[u]) % streams == 1
    ]
    for u, v, r in draw(st.lists(st.sampled_from(chords), max_size=3)):
        edges[u, v] = r
    for name in ("I", "J")[: draw(st.integers(1, 2))]:
        edges[name, draw(st.sampled_from(ring))] = draw(st.integers(0, 1))
        if draw(st.booleans()):
            edges |= _second_edge(draw, name, ring, stretch, streams, edges)
    for name in ("O", "Q")[: draw(st.integers(1, 2))]:
        edges[draw(st.sampled_from(ring)), name] = draw(st.integers(0, 1))
    return edges


def _second_edge(draw, name, ring, stretch, streams, edges):
    """Another edge of an input, onto a node with which its streams stay apart."""
    (first,) = (v for u, v in edges if u == name)
    before = stretch[ring.index(first)] - edges[name, first]
    fits = [(v, (stretch[k] - before) % streams) for k, v in enumerate(ring) if v != first]
    fits = [(v, r) for v, r in fits if r <= 1]
    if not fits:
        return {}
    v, r = draw(st.sampled_from(fits))
    return {(name, v): r}


SIZES = st.integers(1, 3)


@st.composite
def _interleaved(draw, sizes=SIZES, **shape):
    """A network with weights other than 0 and its pattern; two frames or more in every period."""
    values = draw(_interleaved_edges(**shape))
    names = list(dict.fromkeys(v for edge in values for v in edge))
    size = {name: draw(sizes) for name in names}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes = {name: ((1, 1, n), None if name in ("I", "J") else rng.integers(-2, n + 2, n)) for name, n in size.items()}
    matrices = {(u, v): rng.choice([-2, -1, 1, 2], (size[v], size[u])) for u, v in values}
    network = build_network(nodes, matrices, outputs=[name for name in names if name in ("O", "Q")])
    return network, RolloutPattern(network, tuple(values[edge] for edge in network.edges))


@pytest.fixture(scope="session")
def interleaved_edges():
    """The strategy of edges with their R: ``data.draw(interleaved_edges(longest=3))``."""
    return _interleaved_edges


@pytest.fixture(scope="session")
def interleaved():
    """The strategy of (network, pattern): ``data.draw(interleaved())``."""
    return _interleaved
