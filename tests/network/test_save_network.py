"""A network that is saved and loaded is the same network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NetworkError
from neuromap.network import MatrixTransform, Network, Node


def same(one, other):
    assert (one.name, list(one.nodes), list(one.edges)) == (other.name, list(other.nodes), list(other.edges))
    assert (one.outputs, one.patterns, one.bridging) == (other.outputs, other.patterns, other.bridging)
    for before, after in zip(one.nodes.values(), other.nodes.values(), strict=True):
        assert before.shape == after.shape
        np.testing.assert_array_equal(before.threshold, after.threshold)
    for before, after in zip(one.edges.values(), other.edges.values(), strict=True):
        if not isinstance(before.transform, MatrixTransform):
            assert type(before.transform) is type(after.transform)
        if before.transform is not None:
            np.testing.assert_array_equal(before.matrix().toarray(), after.matrix().toarray())


INTEGERS = st.sampled_from([0, 1, -1, 127, -129, 40_000, 2**31 - 1, -(2**31)])


def arrays(shape):
    return st.lists(INTEGERS, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
        lambda values: np.array(values).reshape(shape)
    )


@st.composite
def networks(draw):
    """A conv, a pool, an identity, dense and matrix edges, weights stored or seeded, thresholds one or many."""

    def weights(shape):
        return draw(st.one_of(arrays(shape), st.just(nm.SeededWeights(7, (-1, 0, 1)))))

    image, maps, small = (4, 4, 2), (2, 2, 4), (2, 2, 4)
    conv = nm.Conv(image, maps, (3, 3), (2, 2), "same", groups=2, weights=weights((3, 3, 1, 4)))
    nodes = {
        "I": (image, None), "A.b-c_1": (maps, draw(st.one_of(INTEGERS, arrays(maps), arrays((4,))))),
        "P": ((1, 1, 4), 1), "O": (small, draw(INTEGERS)),
    }  # fmt: skip
    edges = {
        ("I", "A.b-c_1"): conv,
        ("A.b-c_1", "O"): nm.Identity(maps, small),
        ("A.b-c_1", "P"): nm.Pool(maps, (1, 1, 4), (2, 2)),
        ("O", "O"): nm.Dense(small, small, groups=2, weights=weights((2, 8, 8))),
        ("P", "O"): draw(arrays((16, 4))),
    }
    patterns = {"mine": draw(st.sets(st.sampled_from(list(edges))))}
    bridging = {"mine": draw(st.dictionaries(st.sampled_from(list(edges)), st.integers(2, 9)))}
    name = draw(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5))
    more = {"patterns": patterns, "bridging": bridging, "outputs": draw(st.sampled_from([(), ("P",)]))}
    return nm.build_network(nodes, edges, name=name, **more)


@settings(deadline=None, max_examples=30)
@given(network=networks())
def test_a_saved_network_comes_back(tmp_path_factory, network):
    path = tmp_path_factory.mktemp("saved") / "net.toml"
    network.save(path)
    same(network, nm.load_network(path))


def test_structure_and_seeds_need_no_weights_file(tmp_path):
    structure = Network.from_edges([("I", "A"), ("A", "A"), ("A", "O")], name="theory")
    seeded = nm.Dense((1, 1, 2), (1, 1, 2), weights=nm.SeededWeights(1, (-1, 1)))
    unknown = nm.Dense((1, 1, 2), (1, 1, 2))
    for k, network in enumerate((
        structure,
        nm.build_network({"I": (2, None), "O": (2, 1)}, {("I", "O"): seeded}),
        nm.build_network({"I": (2, None), "O": (2, None)}, {("I", "O"): unknown}),
    )):  # fmt: skip
        network.save(tmp_path / f"{k}.toml")
        again = nm.load_network(tmp_path / f"{k}.toml")
        assert (again.name, list(again.nodes), list(again.edges)) == (network.name, [*network.nodes], [*network.edges])
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".toml"] * 3


@pytest.mark.parametrize(
    ("nodes", "edges", "name", "message"),
    [
        ({"I": (2, None), "O": (2, None)}, {("I", "O"): np.eye(2, dtype=int)}, "n.toml", "node O: has no threshold"),
        ({"I": (2, None), "O!": (2, 1)}, {("I", "O!"): np.eye(2, dtype=int)}, "n.toml", "node: found the name 'O!'"),
        ({"I": (2, None), "O": (2, 1)}, {("I", "O"): np.eye(2, dtype=int)}, "n.safetensors", "choose .toml"),
    ],
)
def test_what_no_file_can_hold_is_refused_and_nothing_written(tmp_path, nodes, edges, name, message):
    with pytest.raises(NetworkError, match=message):
        nm.build_network(nodes, edges).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_weights_that_are_missing_beside_others_are_named(tmp_path):
    nodes = {"I": Node("I", (1, 1, 2)), "O": Node("O", (1, 1, 2), np.ones(2, int))}
    edges = {
        ("I", "O"): nm.network.Edge("I", "O", nm.Dense((1, 1, 2), (1, 1, 2))),
        ("O", "O"): nm.network.Edge("O", "O", nm.Dense((1, 1, 2), (1, 1, 2), weights=np.eye(2, dtype=int))),
    }
    with pytest.raises(NetworkError, match=r"^edge I -> O: has no weights, while others have"):
        Network("n", nodes, edges).save(tmp_path / "n.toml")
