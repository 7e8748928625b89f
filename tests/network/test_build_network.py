"""Networks from matrices, and the graph rules that hold for every network."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import neuromap.network
from neuromap.errors import NetworkError
from neuromap.network import Dense, Identity, Network, Node, Pool, build_network, require_weights
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.transforms import MatrixTransform


def test_thresholds_and_matrices_of_all_kinds():
    eye = np.eye(4, dtype=np.int8)
    net = build_network(
        {
            "I": (4, None),
            "A": ((2, 2, 1), -1),
            "B": ((1, 2, 2), np.array([3, 300], dtype=np.uint16)),
            "O": (4, range(4)),
        },
        {
            ("I", "A"): eye,
            ("A", "B"): csr_array(eye),
            ("B", "O"): eye.tolist(),
            ("A", "A"): Identity((2, 2, 1), (2, 2, 1)),
            ("I", "O"): Dense((1, 1, 4), (1, 1, 4), weights=eye),
        },
        outputs=["B"],
        patterns={"p": [("A", "A")]},
        name="x",
    )
    assert (net.name, net.outputs, dict(net.patterns)) == ("x", ("B",), {"p": (("A", "A"),)})
    assert [node.shape for node in net.nodes.values()] == [(1, 1, 4), (2, 2, 1), (1, 2, 2), (1, 1, 4)]
    assert net.nodes["I"].threshold is None
    assert [net.nodes[n].threshold.tolist() for n in "ABO"] == [[-1] * 4, [3, 300, 3, 300], [0, 1, 2, 3]]
    for edge in net.edges.values():
        np.testing.assert_array_equal(edge.matrix().toarray(), eye)
    require_weights(net)


def test_names_of_numpy_become_plain_ones():
    i, o = np.array(["I", "O"])
    net = build_network({i: (1, None), o: (1, 1)}, {(i, o): [[1]]}, outputs=[o])
    assert {type(name) for name in (*net.nodes, *net.outputs, *(node.name for node in net.nodes.values()))} == {str}


@pytest.mark.parametrize("name", ["streaming", "sequential"])
def test_reserved_pattern_names_are_refused_as_in_a_file(name):
    with pytest.raises(NetworkError, match=f"rollout {name}: every network has the pattern {name} of its own"):
        build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]}, patterns={name: [("I", "O")]})


def test_a_nodes_threshold_is_its_own():
    threshold = np.array([1, 2])
    net = build_network({"I": (1, None), "O": (2, threshold)}, {("I", "O"): [[1], [1]]})
    node = Node("O", (1, 1, 2), threshold)
    threshold[:] = 9
    assert net.nodes["O"].threshold.tolist() == node.threshold.tolist() == [1, 2]


class NeedsGradients:
    """As a tensor of PyTorch that requires gradients answers NumPy."""

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __repr__(self):
        return "a tensor"


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ({"I": (2, 1), "O": (1, 1)}, {("I", "O"): [[1, 1]]}, "node I: threshold: input nodes take none"),
        ({"I": (2, None), "O": (1, 1.5)}, {("I", "O"): [[1, 1]]}, "node O: threshold: found float64"),
        (
            {"I": (2, None), "O": (1, [1, 2])},
            {("I", "O"): [[1, 1]]},
            "node O: threshold: found shape [2]; allowed are [1]",
        ),
        ({"I": (2, None), "O": (1, 2**31)}, {("I", "O"): [[1, 1]]}, "node O: threshold: found the value 2147483648"),
        ({"I": (2, None), "O": 1}, {("I", "O"): [[1, 1]]}, "node O: found 1; allowed is a pair (shape, threshold)"),
        ({"I": (2, None), "O": (0, 1)}, {("I", "O"): [[1, 1]]}, "node O: shape: found 0"),
        ({"I": (2, None), "O": (10**9, 1)}, {("I", "O"): [[1, 1]]}, "node O: shape: [1, 1, 1000000000] is 1000000000"),
        (
            {"I": (2, None), "O": (1, 1)},
            {("I", "O"): [[1], [1]]},
            "edge I -> O: weights: found shape [2, 1]; allowed is",
        ),
        ({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 0.5]]}, "edge I -> O: weights: found float64"),
        (
            {"I": (2, None), "O": (1, 1)},
            {("I", "O"): np.ones((1, 2), "m8[s]")},
            "edge I -> O: weights: found dtype timedelta64[s]; only integers",
        ),
        ({"I": (2, None), "O": (1, NeedsGradients())}, {("I", "O"): [[1, 1]]}, "node O: threshold: found a tensor;"),
        ({"I": (2, None), "O": (1, 1)}, {("I", "O"): NeedsGradients()}, "edge I -> O: weights: found a tensor;"),
        ({"I": (2, None), "O": (1, 1)}, {("I", "X"): [[1, 1]]}, "edge I -> X: node X does not exist; nodes are I, O"),
        (
            {"I": (2, None), "O": (1, 1)},
            {("I", "O"): Dense((2, 1, 1), (1, 1, 1))},
            "edge I -> O: source shape [2, 1, 1] of the transform is not node I's [1, 1, 2]",
        ),
        (
            {"I": ((2, 2, 1), None), "O": (1, 2)},
            {("I", "O"): Pool((2, 2, 1), (1, 1, 1), (2, 2))},
            "node O: threshold 2 after edge I -> O, a pool and its only edge",
        ),
    ],
)
def test_faults_name_their_node_or_edge(nodes, edges, message):
    with pytest.raises(NetworkError) as caught:
        build_network(nodes, edges)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "outputs", "message"),
    [
        ([], (), "network network: has no edges"),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], (), "network network: has no input node"),
        ([("I", "A"), ("B", "B")], (), r"node B: no input node \(I\) reaches it;"),
        ([("I", "A"), ("B", "C"), ("C", "B")], (), r"node B: no input node \(I\) reaches it, nor 1 more;"),
        ([("I", "A"), ("I", "A")], (), "edge I -> A: given 2 times; no parallel edges"),
        ([("I", "A")], ["B"], "outputs: node B does not exist"),
        ([("I", "A")], ["I"], "outputs: node I is an input node"),
        ([("I", "A")], ["A", "A"], "outputs: node A is named twice"),
    ],
)
def test_graphs_that_are_no_networks(edges, outputs, message):
    with pytest.raises(NetworkError, match=message):
        Network.from_edges(edges, outputs=outputs)


@pytest.mark.parametrize(
    ("edges", "outputs"),
    [
        ([("I", "A"), ("A", "B")], ("B",)),
        ([("I", "A"), ("A", "A"), ("I", "B")], ("A", "B")),  # a self-edge does not keep a node from being an output
        ([("I", "A"), ("A", "B"), ("B", "A")], ("A", "B")),
    ],
)
def test_default_outputs(edges, outputs):
    assert Network.from_edges(edges).outputs == outputs


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12, unique=True))
def test_a_graph_is_a_network_iff_inputs_reach_every_node(edges):
    graph = nx.DiGraph(edges)
    inputs = {n for n in graph if not any(v == n for _, v in edges)}
    reached = inputs.union(*(nx.descendants(graph, n) for n in inputs))
    if inputs and reached == set(graph):
        net = Network.from_edges(edges)
        assert list(net.edges) == [(str(u), str(v)) for u, v in edges]
        assert set(net.inputs) == {str(n) for n in inputs}
    else:
        with pytest.raises(NetworkError):
            Network.from_edges(edges)


def test_incomplete_networks_are_refused_by_name():
    with pytest.raises(NetworkError, match="node I has no shape"):
        require_weights(Network.from_edges([("I", "O")]))
    with pytest.raises(NetworkError, match="node O has no threshold; add threshold = 1"):
        require_weights(build_network({"I": (1, None), "O": (1, None)}, {("I", "O"): [[1]]}))
    with pytest.raises(NetworkError, match=r"edge I -> O has no weights; train them .*only, add weights = \{ seed = 1"):
        require_weights(build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): Dense((1, 1, 1), (1, 1, 1))}))


def test_public_names_are_there():
    for name in neuromap.network.__all__:
        assert getattr(neuromap.network, name).__name__ == name
    assert set(neuromap.network.__all__) == set(dir(neuromap.network))
    with pytest.raises(AttributeError, match="no attribute 'Convolution'"):
        _ = neuromap.network.Convolution


def test_delays_and_currents_may_be_integers_of_numpy():
    one = np.ones((1, 1), int)
    also = (EdgeTerm(MatrixTransform(one), np.int32(5)),)
    edge = Edge("I", "O", MatrixTransform(one), np.int64(3), np.uint8(1), also)
    assert (edge.delays, type(edge.delay), type(edge.current), type(edge.also[0].delay)) == ((3, 5), int, int, int)
    for wrong in (np.int64(0), np.float64(3), np.bool_(True), 2.0, "3"):
        with pytest.raises(NetworkError, match="edge I -> O: delay: found"):
            Edge("I", "O", MatrixTransform(one), wrong)
