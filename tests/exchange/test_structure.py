"""Which operators are nodes: random graphs against a second definition, and small members of known families."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.find_structure import find_structure
from neuromap.exchange.layers.take_graph import take_graph
from neuromap.formats.layers import Operator, OperatorGraph, simplified
from neuromap.rollout.behaviour import count_behaviour_classes, count_valid_patterns

LINEAR = {"function": "plus"}
STARTS = ("conv", "max_pool", "multiply")


@st.composite
def graphs(draw):
    """Operators that read earlier tensors; outputs are all that nobody reads."""
    tensors, operators = ["x"], []
    for k in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["conv", "relu", "shift", "add", "max_pool", "concat", "multiply"]))
        n_reads = 2 if kind in ("add", "concat", "multiply") else 1
        reads = tuple(draw(st.sampled_from(tensors)) for _ in range(n_reads))
        name = {"relu": "function", "shift": "function"}.get(kind, kind)
        settings_ = LINEAR if kind == "shift" else {"function": "relu"} if kind == "relu" else {}
        settings_ = settings_ or ({"signs": (1, 1)} if kind == "add" else {})
        constants = (np.float32(1),) if kind == "shift" else ()
        operators.append(
            Operator(f"o{k}", name, reads, f"t{k}", (1, 2, 3, 3), 5 * (kind == "conv"), kind, settings_, constants)
        )
        tensors.append(f"t{k}")
    read = {tensor for one in operators for tensor in one.reads}
    outputs = tuple(one.gives for one in operators if one.gives not in read)
    return OperatorGraph("random", {"x": (1, 2, 3, 3)}, tuple(operators), outputs)


def by_contraction(graph):
    """The same by contracting a graph of operators: pairs of sets of operators, and how they are joined."""
    ops = {one.gives: one for one in graph.operators}
    readers = {tensor: sum(one.reads.count(tensor) for one in graph.operators) for tensor in (*graph.inputs, *ops)}
    for tensor in graph.outputs:
        readers[tensor] += 1
    joined = nx.Graph()
    starts = [t for t, one in ops.items() if one.kind in (*STARTS, "add")]
    joined.add_nodes_from(starts)
    is_sum = {}
    for tensor, one in ops.items():  # in an order in which they are computed
        source = one.reads[0]
        if one.kind in STARTS:
            is_sum[tensor] = one.kind == "conv"
        elif one.kind == "add":
            is_sum[tensor] = True
            joined.add_edges_from((tensor, r) for r in one.reads if r in joined and readers[r] == 1 and is_sum[r])
        elif one.kind == "function" and source in joined and readers[source] == 1:
            joined.add_edge(tensor, source)
            is_sum[tensor] = is_sum[source] and one.setting("function") == "plus"
    group = {tensor: frozenset(part) for part in nx.connected_components(joined) for tensor in part}
    edges = set()
    for tensor, one in ops.items():
        for read in one.reads:
            before = group.get(read)
            if tensor in group and before != group[tensor]:
                edges |= {(source, group[tensor]) for source in _holders(read, group, ops)}
    return set(group.values()), edges


def _holders(tensor, group, ops):
    if tensor in group or tensor not in ops:
        return {group.get(tensor, tensor)}
    return set().union(*(_holders(read, group, ops) for read in ops[tensor].reads))


@settings(deadline=None, max_examples=300)
@given(graph=graphs())
def test_nodes_and_edges_are_those_of_a_contraction(graph):
    graph = simplified(graph)
    structure = find_structure(graph)
    sets = {layer.name: frozenset(one.gives for one in layer.operators) for layer in structure.layers}
    sets |= dict(structure.inputs)
    edges = {(sets[source], sets[layer.name]) for layer in structure.layers for source in layer.ways}
    wanted, joins = by_contraction(graph)
    if all(tensor in {t for part in wanted for t in part} for tensor in graph.outputs):  # else an input is an output
        assert {sets[layer.name] for layer in structure.layers} == wanted
        assert edges == joins


@settings(deadline=None, max_examples=60)
@given(graph=graphs())
def test_what_is_taken_over_is_a_network_whose_work_is_that_of_the_operators(graph):
    found = take_graph(graph, format="onnx", source="random.onnx")
    assert sum(found.work.values()) == simplified(graph).work
    assert set(found.work) == set(found.network.nodes) - set(found.network.inputs)
    assert found.network.tables.get("work", {}) == (found.work if sum(found.work.values()) else {})


def conv(name, read, gives=None, work=9):
    return Operator(
        name, "conv", (read,), gives or name, (1, 2, 3, 3), work, "Conv", {"kernel": (1, 1), "stride": (1, 1)}
    )


def act(name, read):
    return Operator(name, "function", (read,), name, (1, 2, 3, 3), 0, "Relu", {"function": "relu"})


def join(name, kind, *reads):
    return Operator(name, kind, reads, name, (1, 2 * len(reads) if kind == "concat" else 2, 3, 3), 0, kind, {"axis": 1})


def network_of(*operators):
    graph = OperatorGraph("small", {"x": (1, 2, 3, 3)}, operators, (operators[-1].gives,))
    return take_graph(graph, format="onnx", source="small.onnx").network


def enumerated_counts(net):
    """Valid patterns and behaviour classes by trying every choice: a class is how paths to a node differ in frames."""
    edges = list(net.edges)
    paths = {
        node: [[edges.index(edge) for edge in itertools.pairwise(path)] for path in ways]
        for node, ways in ((node, nx.all_simple_paths(net.graph, "x", node)) for node in net.nodes)
    }
    valid, classes = 0, set()
    for values in itertools.product((0, 1), repeat=len(edges)):
        sequential = [edge for edge, value in zip(edges, values, strict=True) if not value]
        valid += nx.is_directed_acyclic_graph(nx.DiGraph(sequential))
        lags = [[sum(values[k] for k in path) for path in ways] for ways in paths.values() if len(ways) > 1]
        classes.add(tuple(tuple(lag - mine[0] for lag in mine) for mine in lags))
    return valid, len(classes)


def test_a_residual_block_is_two_nodes_the_second_of_which_reads_the_skip():
    net = network_of(
        conv("stem", "x"), act("r0", "stem"), conv("c1", "r0"), act("r1", "c1"), conv("c2", "r1"),
        join("add", "add", "c2", "r0"), act("r2", "add"),
    )  # fmt: skip
    assert set(net.edges) == {("x", "stem"), ("stem", "c1"), ("c1", "add"), ("stem", "add")}
    assert (count_valid_patterns(net).value, count_behaviour_classes(net)) == enumerated_counts(net)


def test_three_dense_layers_read_all_before_them():
    net = network_of(
        conv("a", "x"), conv("b", "a"), join("ab", "concat", "a", "b"), act("r", "ab"), conv("c", "r"),
        join("abc", "concat", "ab", "c"), act("s", "abc"), conv("d", "s"),
    )  # fmt: skip
    wanted = nx.DiGraph([("x", "a"), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")])
    assert set(net.edges) == set(wanted.edges)
    assert (count_valid_patterns(net).value, count_behaviour_classes(net)) == enumerated_counts(net)


def test_a_u_net_of_depth_two_joins_both_sides_of_it():
    pool = [Operator(f"p{k}", "max_pool", (f"e{k}",), f"p{k}", (1, 2, 3, 3), 0, "MaxPool") for k in (0, 1)]
    up = [
        Operator(f"u{k}", "conv_transpose", (r,), f"u{k}", (1, 2, 3, 3), 9, "ConvTranspose")
        for k, r in ((1, "m"), (0, "d1"))
    ]
    net = network_of(
        conv("e0", "x"), pool[0], conv("e1", "p0"), pool[1], conv("m", "p1"), up[0], join("j1", "concat", "e1", "u1"),
        conv("d1", "j1"), up[1], join("j0", "concat", "e0", "u0"), conv("d0", "j0"), conv("head", "d0"),
    )  # fmt: skip
    wanted = nx.DiGraph()
    nx.add_path(wanted, ["x", "e0", "p0", "e1", "p1", "m", "u1", "d1", "u0", "d0", "head"])
    wanted.add_edges_from([("e1", "d1"), ("e0", "d0")])
    assert set(net.edges) == set(wanted.edges)
    assert net.nodes["d1"].shape == (3, 3, 2)
    assert (count_valid_patterns(net).value, count_behaviour_classes(net)) == enumerated_counts(net)


def test_swish_is_a_function_of_its_node_and_a_gate_is_a_node():
    swish = [
        conv("c", "x"), Operator("s", "function", ("c",), "s", (1, 2, 3, 3), 0, "Sigmoid", {"function": "sigmoid"}),
        join("m", "multiply", "c", "s"), conv("d", "m"),
    ]  # fmt: skip
    assert set(network_of(*swish).edges) == {("x", "c"), ("c", "d")}
    gate = [conv("c", "x"), conv("g", "c"), join("m", "multiply", "c", "g"), conv("d", "m")]
    assert set(network_of(*gate).edges) == {("x", "c"), ("c", "g"), ("c", "m"), ("g", "m"), ("m", "d")}


def test_a_graph_without_nodes_is_refused_in_one_line():
    graph = OperatorGraph("none", {"x": (1, 2)}, (), ("x",))
    with pytest.raises(NotSupportedError, match="no output depends on an input") as refused:
        take_graph(graph, format="onnx", source="none.onnx")
    assert "\n" not in str(refused.value)
