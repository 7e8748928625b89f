"""The structure files against the paper's tables: nodes, edges, path lengths, numbers of parameters."""

import itertools
import math
from pathlib import Path

import networkx as nx
import pytest

from neuromap.errors import NetworkError
from neuromap.network import Conv, Dense, load_network, require_weights

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "structures"

# file: nodes, edges, shortest path, longest path, parameters (poster, table of networks)
PAPER = {
    "ff": (4, 3, 3, 3, 102570),
    "s": (4, 4, 2, 3, 110410),
    "sr": (4, 5, 2, 3, 112714),
    "dsr0": (5, 5, 4, 4, 407498),
    "dsr1": (6, 7, 4, 5, 435178),
    "dsr2": (7, 9, 4, 6, 767018),
    "dsr3": (8, 12, 4, 7, 803914),
    "dsr4": (9, 15, 4, 8, 1172618),
    "dsr5": (10, 19, 4, 9, 1218730),
    "dsr6": (11, 23, 4, 10, 1624298),
    "dsr4_gtsrb": (9, 14, 4, 8, 1433771),
}


def load(name):
    return load_network(FOLDER / f"{name}.toml")


def parameters(net):
    """Count weights, and one bias per feature of every node but the inputs."""
    weights = sum(math.prod(edge.transform.weight_shape) for edge in net.edges.values())
    return weights + sum(node.shape[2] for name, node in net.nodes.items() if name not in net.inputs)


@pytest.mark.parametrize("name", PAPER)
def test_figures_of_the_paper(name):
    net = load(name)
    lengths = [len(path) - 1 for path in nx.all_simple_paths(net.graph, "I", "O")]
    assert (len(net.nodes), len(net.edges), min(lengths), max(lengths), parameters(net)) == PAPER[name]
    assert net.inputs == ("I",)
    assert net.outputs == ("O",)


def test_there_is_a_test_for_every_structure_file():
    assert {path.stem for path in FOLDER.glob("*.toml")} == {*PAPER, "poster"}


@pytest.mark.parametrize("name", PAPER)
def test_shapes_load_without_weights(name):
    net = load(name)
    assert all(node.shape for node in net.nodes.values())
    assert all(isinstance(edge.transform, Conv | Dense) for edge in net.edges.values())
    with pytest.raises(NetworkError, match=r"edge I -> H1 has no weights; train them"):
        require_weights(net)


def test_mnist_networks_grow_by_one_edge():
    ff, s, sr = (list(load(name).edges) for name in ("ff", "s", "sr"))
    assert ff == [("I", "H1"), ("H1", "H2"), ("H2", "O")]
    assert s == [*ff, ("H1", "O")]
    assert sr == [*s, ("H1", "H1")]
    assert load("sr").patterns["hybrid"] == (("H1", "H1"), ("H1", "O"), ("H2", "O"))


def test_cifar_networks_grow_by_one_node():
    nodes = [set(load(f"dsr{k}").nodes) for k in range(7)]
    edges = [set(load(f"dsr{k}").edges) for k in range(7)]
    assert [(b - a).pop() for a, b in itertools.pairwise(nodes)] == ["H11", "H21", "H12", "H22", "H13", "H23"]
    assert all(a < b for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("k", range(7))
def test_dense_skips_within_a_block_and_to_the_next(k):
    net = load(f"dsr{k}")
    block = {n: 1 if n.startswith("H1") else 2 for n in net.nodes if n not in ("I", "HD", "O")}
    expected = {("I", "H1"), ("H1", "H1"), ("HD", "O")}
    expected |= {(u, v) for u, v in itertools.combinations(sorted(block), 2) if block[u] == block[v]}
    expected |= {(u, "H2" if b == 1 else "HD") for u, b in block.items()}
    assert set(net.edges) == expected


def test_gtsrb_is_dsr4_without_its_self_edge():
    dsr4, gtsrb = load("dsr4"), load("dsr4_gtsrb")
    assert set(gtsrb.edges) == set(dsr4.edges) - {("H1", "H1")}
    assert gtsrb.nodes["O"].shape == (1, 1, 43)


def test_poster_network_is_structure_only():
    net = load("poster")
    assert list(net.edges) == [("u", "v"), ("v", "w"), ("v", "v"), ("u", "w"), ("w", "v")]
    assert net.inputs == ("u",)
    assert net.outputs == ("v", "w")
    assert not any(node.shape for node in net.nodes.values())
