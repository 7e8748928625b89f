"""The benchmark of many-target cores: its networks are what they say, and its counter counts."""

import numpy as np
import pytest

_REASON = "benchmarks/ is not here: it is not part of the wheel"
hypergraphs = pytest.importorskip("benchmarks.mapping.hypergraphs", reason=_REASON, exc_type=ModuleNotFoundError)
many_targets = pytest.importorskip("benchmarks.mapping.many_targets", reason=_REASON, exc_type=ModuleNotFoundError)
Family, Hypergraph = hypergraphs.Family, hypergraphs.Hypergraph
convolution_hypergraph, random_hypergraph = hypergraphs.convolution_hypergraph, hypergraphs.random_hypergraph
count, map_family = many_targets.count, many_targets.map_family


def test_random_networks_reach_as_many_others_as_they_say_mostly_near_ones():
    graph = random_hypergraph(1000, 40, 5)
    target = np.repeat(np.arange(1000), np.diff(graph.start))
    assert len(np.unique(graph.source * 1000 + target)) == len(target)
    assert not (graph.source == target).any()
    fan_out = np.bincount(graph.source, minlength=1000)
    assert abs(fan_out.mean() - 40) < 1
    assert np.median(np.abs(graph.source - target)) < 100  # half of exp(-d / 100) lies below 70


def test_layers_read_windows_of_the_layer_before():
    graph = convolution_hypergraph(
        [(4, 4, 2), (4, 4, 3), (2, 2, 3), (1, 1, 5)], [(3, 1, False), (2, 2, True), (0, 1, False)]
    )
    counts = np.diff(graph.start)
    assert counts[:32].sum() == 0
    assert counts[32:80].max() == 18
    assert (counts[80:92] == 4).all()
    assert (counts[92:] == 12).all()


def test_deliveries_and_hops_of_three_neurons():
    """Neuron 0 reaches 1 and 2, neuron 1 reaches 2; cores hold one neuron, or 1 and 2 share one."""
    graph = Hypergraph(np.array([0, 0, 1, 3]), np.array([0, 0, 1]))
    where = np.array([[0, 0], [0, 2], [1, 2]])
    found = count(graph, Family("", 1, 2, side=3), np.array([0, 1, 2]), where)
    assert found == {"cores": 3, "deliveries": 3, "between": 3, "hops": 2 + 3 + 1, "legal": True}
    found = count(graph, Family("", 2, 1, side=3), np.array([0, 1, 1]), where[:2])
    assert found == {"cores": 2, "deliveries": 2, "between": 1, "hops": 2, "legal": False}


def test_a_small_network_is_mapped_within_its_limits():
    assert map_family(Family("small", 16, 60, side=8), random_hypergraph(200, 6, 1))["legal"]
