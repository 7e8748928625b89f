"""The reference against a dense loop that follows the definition word by word."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import NetworkError, PatternError, StimulusError
from neuromap.network import MatrixTransform
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.stimulus import random_frames

pytestmark = pytest.mark.law


def make_network(edges, sizes, *, weights=None, thetas=None, rng=None, outputs=()):
    """A network of explicit matrices; what is not given is random."""
    inputs = set(sizes) - {v for _, v in edges}
    matrices = {
        (u, v): rng.integers(-2, 3, (sizes[v], sizes[u])) if weights is None else np.array(weights[u, v])
        for u, v in edges
    }

    def theta(name):
        if name in inputs:
            return None
        return rng.integers(-1, 4, sizes[name]) if thetas is None else np.full(sizes[name], thetas[name])

    return Network(
        name="net",
        nodes={name: Node(name, (1, 1, size), theta(name)) for name, size in sizes.items()},
        edges={(u, v): Edge(u, v, MatrixTransform(matrices[u, v])) for u, v in edges},
        outputs=outputs,
    )


def by_definition(network, pattern, frames):
    """One neuron at a time; recursion follows the edges, so no order of nodes is needed."""
    known = {}
    matrices = {key: edge.matrix().toarray() for key, edge in network.edges.items()}

    def x(name, i, k):
        if name in network.inputs:
            return int(frames[name][i][k]) if i >= 0 else 0
        if i <= 0:
            return 0
        if (name, i, k) not in known:
            total = 0
            for (u, v), matrix in matrices.items():
                if v == name:
                    for j in range(network.nodes[u].size):
                        if matrix[k, j]:
                            total += int(matrix[k, j]) * x(u, i - pattern[u, v], j)
            known[name, i, k] = int(total >= network.nodes[name].threshold[k])
        return known[name, i, k]

    n_frames = len(next(iter(frames.values())))
    return {
        name: [[x(name, i, k) for k in range(node.size)] for i in range(n_frames)]
        for name, node in network.nodes.items()
    }


@given(
    seed=st.integers(0, 2**32 - 1),
    n_nodes=st.integers(2, 5),
    n_frames=st.integers(2, 6),
    execution=st.sampled_from(["windowed", "pipelined"]),
)
@settings(deadline=None, max_examples=80)
def test_reference_follows_the_definition(seed, n_nodes, n_frames, execution):
    rng = np.random.default_rng(seed)
    names = [f"N{k}" for k in range(n_nodes)]
    n_inputs = int(rng.integers(1, n_nodes))
    reached = {(names[int(rng.integers(v))], names[v]) for v in range(n_inputs, n_nodes)}
    used = {(name, names[int(rng.integers(n_inputs, n_nodes))]) for name in names[:n_inputs]}
    drawn = {pair for pair in itertools.product(names, names[n_inputs:]) if rng.random() < 0.5}
    pairs = sorted(reached | used | drawn)
    network = make_network(pairs, {name: int(rng.integers(1, 5)) for name in names}, rng=rng)
    rank = dict(zip(names, rng.permutation(n_nodes).tolist(), strict=True))
    bits = rng.random(len(pairs)) < 0.5
    values = [int(bit or rank[u] >= rank[v]) for (u, v), bit in zip(network.edges, bits, strict=True)]
    bridged = rng.choice([1, 1, 2, 4], len(values)).tolist()
    pattern = RolloutPattern.from_values(network, [r * more for r, more in zip(values, bridged, strict=True)])
    frames = random_frames(network, n_frames, seed=seed)
    result = reference(Rollout(network, pattern, execution=execution), frames)
    assert list(result) == list(network.nodes)
    assert all(rows.dtype == bool for rows in result.values())
    assert {name: rows.astype(int).tolist() for name, rows in result.items()} == by_definition(network, pattern, frames)


CHAIN = [("I", "A"), ("A", "B")]
ONES = {("I", "A"): [[1]], ("A", "B"): [[1]]}


@pytest.mark.parametrize(
    ("streaming", "a", "b"),
    [
        ([], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0]),
        ([("I", "A")], [0, 1, 0, 1, 1], [0, 1, 0, 1, 1]),
        ([("A", "B")], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]),
        (CHAIN, [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]),
    ],
)
def test_a_streaming_edge_hands_its_value_to_the_next_frame(streaming, a, b):
    network = make_network(CHAIN, {"I": 1, "A": 1, "B": 1}, weights=ONES, thetas={"A": 1, "B": 1})
    pattern = RolloutPattern.from_streaming_edges(network, streaming)
    frames = {"I": np.array([[1], [0], [1], [1], [0]], dtype=bool)}
    result = reference(Rollout(network, pattern), frames)
    assert result["I"].astype(int).reshape(-1).tolist() == [1, 0, 1, 1, 0]
    assert result["A"].astype(int).reshape(-1).tolist() == a
    assert result["B"].astype(int).reshape(-1).tolist() == b


def test_a_threshold_of_zero_fires_from_frame_one_on():
    network = make_network(CHAIN, {"I": 1, "A": 1, "B": 1}, weights=ONES, thetas={"A": 0, "B": 1})
    pattern = RolloutPattern.streaming(network)
    result = reference(Rollout(network, pattern), {"I": np.zeros((4, 1), dtype=bool)})
    assert result["A"].astype(int).reshape(-1).tolist() == [0, 1, 1, 1]
    assert result["B"].astype(int).reshape(-1).tolist() == [0, 0, 1, 1]


def test_sums_beyond_32_bits_are_exact():
    big = 2**31 - 1
    network = make_network(
        [("I", "A")], {"I": 3, "A": 1}, weights={("I", "A"): [[big, big, big]]}, thetas={"A": 3 * big}
    )
    frames = {"I": np.array([[0, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=np.uint8)}
    result = reference(Rollout(network, RolloutPattern.from_values(network, [0])), frames)
    assert result["A"].reshape(-1).tolist() == [False, False, True]


def test_a_self_edge_remembers():
    edges = [("I", "A"), ("A", "A")]
    network = make_network(
        edges, {"I": 1, "A": 1}, weights={edges[0]: [[1]], edges[1]: [[1]]}, thetas={"A": 1}, outputs=["A"]
    )
    frames = {"I": np.array([[0], [0], [1], [0], [0]], dtype=bool)}
    result = reference(Rollout(network, RolloutPattern.from_streaming_edges(network, [("A", "A")])), frames)
    assert result["A"].astype(int).reshape(-1).tolist() == [0, 0, 1, 1, 1]


def test_incomplete_networks_wrong_frames_and_invalid_patterns_are_refused():
    bare = Network.from_edges(CHAIN)
    with pytest.raises(NetworkError, match="has no shape"):
        reference(Rollout(bare, RolloutPattern.streaming(bare)), {"I": np.zeros((2, 1), dtype=bool)})
    network = make_network(CHAIN, {"I": 1, "A": 1, "B": 1}, weights=ONES, thetas={"A": 1, "B": 1})
    rollout = Rollout(network, RolloutPattern.streaming(network))
    with pytest.raises(StimulusError, match="input node I is missing"):
        reference(rollout, {})
    without = dataclasses.replace(network, nodes={**network.nodes, "B": Node("B", (1, 1, 1))})
    with pytest.raises(NetworkError, match="node B has no threshold"):
        reference(Rollout(without, RolloutPattern.streaming(without)), {"I": np.zeros((2, 1), dtype=bool)})
    loop = make_network(
        [("I", "A"), ("A", "A")], {"I": 1, "A": 1}, weights={("I", "A"): [[1]], ("A", "A"): [[1]]}, thetas={"A": 1}
    )
    with pytest.raises(PatternError, match="A"):
        reference(Rollout(loop, RolloutPattern.from_values(loop, [0, 0])), {"I": np.zeros((2, 1), dtype=bool)})
