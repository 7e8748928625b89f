"""The network file: what loads, and what it gives."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import NetworkError
from neuromap.network import Dense, Identity, Pool, SeededWeights, load_network, require_weights


def test_a_full_file(write, full_file):
    net = load_network(write(full_file))
    assert net.name == "all transforms"
    assert list(net.nodes) == ["I", "H1", "O", "A.b-c_1"]
    assert list(net.edges) == [("I", "H1"), ("H1", "O"), ("H1", "H1"), ("I", "A.b-c_1")]
    assert net.outputs == ("O", "A.b-c_1")
    assert dict(net.patterns) == {"hybrid": (("H1", "O"), ("H1", "H1")), "none": ()}
    assert net.nodes["I"].shape == (4, 4, 2)
    assert net.nodes["I"].threshold is None
    assert net.nodes["H1"].threshold.tolist() == [-3] * 16
    assert [e.transform.kind for e in net.edges.values()] == ["conv", "dense", "identity", "pool"]
    conv = net.edges["I", "H1"].transform
    assert (conv.kernel, conv.stride, conv.padding, conv.groups) == ((3, 3), (2, 2), "same", 2)
    assert conv.weights == SeededWeights(7, (-1, 0, 1))
    for (u, v), edge in net.edges.items():
        assert edge.matrix().shape == (net.nodes[v].size, net.nodes[u].size)
        assert np.shares_memory(edge.matrix().data, edge.matrix().data)  # built once
    assert all(node.shape for node in net.nodes.values())
    require_weights(net)


def test_defaults(write):
    net = load_network(
        write(
            "format = 1\nnodes.I.shape = [2, 2, 1]\nnodes.H.shape = [2, 2, 3]\nnodes.O.shape = [1, 1, 3]\n"
            'edges."I -> H" = { transform = "conv", kernel = [3, 3] }\n'
            'edges."H -> O" = { transform = "pool", kernel = [2, 2] }\n'
        )
    )
    assert (net.name, net.outputs, dict(net.patterns)) == ("net", ("O",), {})
    conv, pool = (edge.transform for edge in net.edges.values())
    assert (conv.stride, conv.padding, conv.groups) == ((1, 1), "same", 1)
    assert (pool.stride, pool.padding) == ((2, 2), "valid")


def test_structure_alone_needs_no_nodes(write):
    net = load_network(write('format = 1\n[edges]\n"I -> A" = {}\n"A->B" = {}\n"B -> A" = {}\n'))
    assert list(net.nodes) == ["I", "A", "B"]
    assert net.outputs == ("A", "B")
    assert not any(node.shape for node in net.nodes.values())
    with pytest.raises(NetworkError, match="node I has no shape"):
        require_weights(net)
    with pytest.raises(NetworkError, match="edge I -> A: has no transform"):
        net.edges["I", "A"].matrix()


def test_an_invalid_pattern_is_for_the_theory_to_report(write):
    net = load_network(write('format = 1\nedges."I -> A" = {}\nedges."A -> A" = {}\nrollouts.x.streaming = []\n'))
    assert dict(net.patterns) == {"x": ()}


def test_shapes_without_numbers_load_but_are_not_complete(write, full_file):
    text = full_file.replace("weights = { seed = 8, values = [-1, 1] }\n", "")
    net = load_network(write(text))
    with pytest.raises(NetworkError, match=r"^edge H1 -> O: dense has no weights; give a tensor \[3, 16\] .*training"):
        net.edges["H1", "O"].matrix()
    with pytest.raises(NetworkError, match=r"^network all transforms: edge H1 -> O has no weights; train them"):
        require_weights(net)
    net = load_network(write(full_file.replace("threshold = -3\n", "")))
    assert net.nodes["H1"].threshold is None
    with pytest.raises(NetworkError, match="node H1 has no threshold; add threshold = 1"):
        require_weights(net)


def test_one_number_for_all_thresholds_takes_no_memory(write):
    text = "format = 1\nnodes.I.shape = [1, 1, 1]\nnodes.O = { shape = [4096, 4096, 1], threshold = 3 }\n"
    net = load_network(write(text + 'edges."I -> O" = { transform = "dense" }\n'))
    threshold = net.nodes["O"].threshold
    assert (threshold.shape, threshold.strides, threshold[-1]) == ((2**24,), (0,), 3)
    assert not threshold.flags.writeable


def test_a_pool_beside_other_edges_takes_any_threshold(write):
    text = (
        "format = 1\nnodes.I.shape = [2, 2, 1]\nnodes.O = { shape = [1, 1, 1], threshold = 3 }\n"
        'edges."I -> O" = { transform = "pool", kernel = [2, 2] }\nedges."O -> O" = { transform = "identity" }\n'
    )
    net = load_network(write(text))
    require_weights(net)
    assert isinstance(net.edges["I", "O"].transform, Pool)
    assert isinstance(net.edges["O", "O"].transform, Identity)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_round_trip_of_random_networks(tmp_path_factory, data):
    """Write a random dense network as a file; nodes, edges, order and numbers come back."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    names = [f"n{i}" for i in range(rng.randint(2, 5))]
    keys = [(rng.choice(names[:i]), names[i]) for i in range(1, len(names))]
    extra = [(u, v) for u in names for v in names[1:] if (u, v) not in keys]
    keys += rng.sample(extra, rng.randint(0, len(extra)))
    rng.shuffle(keys)
    shapes = {n: [rng.randint(1, 3) for _ in range(3)] for n in names}
    seeds = {key: rng.randrange(2**63) for key in keys}
    thetas = {n: rng.randint(-(2**31), 2**31 - 1) for n in names[1:]}
    rng.shuffle(names)
    lines = ["format = 1"]
    for n in names:
        lines += [f"[nodes.{n}]", f"shape = {shapes[n]}", *([f"threshold = {thetas[n]}"] if n in thetas else [])]
    for u, v in keys:
        lines += [f'[edges."{u} -> {v}"]', 'transform = "dense"']
        lines += [f"weights = {{ seed = {seeds[u, v]}, values = [-3, 0, 3] }}"]
    lines += ["[rollouts.r]", "streaming = " + json.dumps([f"{u} -> {v}" for u, v in keys[::2]])]
    path = tmp_path_factory.mktemp("round") / "random.toml"
    path.write_text("\n".join(lines))
    net = load_network(path)
    assert (list(net.nodes), list(net.edges), net.patterns["r"]) == (names, keys, tuple(keys[::2]))
    for n, node in net.nodes.items():
        assert list(node.shape) == shapes[n]
        assert (node.threshold is None) if n not in thetas else set(node.threshold.tolist()) == {thetas[n]}
    for (u, v), edge in net.edges.items():
        expected = Dense(tuple(shapes[u]), tuple(shapes[v]), weights=SeededWeights(seeds[u, v], (-3, 0, 3)))
        np.testing.assert_array_equal(edge.matrix().toarray(), expected.matrix().toarray())


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_damaged_text_never_gives_another_error(tmp_path_factory, full_file, data):
    text = list(full_file)
    for at in data.draw(st.lists(st.integers(0, len(text) - 1), min_size=1, max_size=3)):
        text[at] = data.draw(st.sampled_from(['"', "[", "]", "{", "=", "\n", "-", "9", "x", ".", "", "é"]))
    path = tmp_path_factory.mktemp("damaged") / "net.toml"
    path.write_text("".join(text))
    try:
        net = load_network(path)
    except NetworkError:
        return
    assert net.nodes


def test_an_edge_of_another_kind_has_shapes_and_no_weights(write, tmp_path):
    text = 'format = 1\nnodes.I.shape = [2, 2, 1]\nnodes.O.shape = [1, 1, 3]\nedges."I -> O".transform = "other"\n'
    net = load_network(write(text + "work.O = 12\n"))
    assert net.edges["I", "O"].transform is None
    assert net.tables["work"] == {"O": 12}
    with pytest.raises(NetworkError, match="edge I -> O has no transform"):
        require_weights(net)
    net.save(tmp_path / "again.toml")
    again = load_network(tmp_path / "again.toml")
    assert again.nodes["O"].shape == (1, 1, 3)
    assert again.tables == net.tables
    with pytest.raises(NetworkError, match='kernel: unknown key with transform = "other"'):
        load_network(write(text + 'edges."I -> O".kernel = [1, 1]\n'))
    with pytest.raises(NetworkError, match='edge I -> O is transform = "other"'):
        load_network(write(text + '[weights]\nfile = "w.safetensors"\n'))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("work.I = 3", "work.I: 'I' is not a node that is computed"),
        ("work.Q = 3", "work.Q: 'Q' is not a node that is computed"),
        ("work.O = -1", "work.O: found -1; allowed is an integer"),
        ("work.O = 1.5", "work.O: found 1.5; allowed is an integer"),
        ("work = 3", "work: found 3"),
    ],
)
def test_work_is_of_computed_nodes_and_whole(line, words, write):
    with pytest.raises(NetworkError) as refused:
        load_network(write(f'format = 1\n{line}\nedges."I -> O" = {{}}\n'))
    assert words in str(refused.value)
