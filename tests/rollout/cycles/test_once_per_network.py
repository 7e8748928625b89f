"""What is found of a network is found once, and does not keep the network alive."""

import gc
import weakref

from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import indexed_network, once_per_network
from neuromap.rollout.cycles.sequential_values import first_sequential_values
from neuromap.rollout.pattern import RolloutPattern


def ring():
    return Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])


def test_every_network_is_looked_at_once():
    calls = []
    names = once_per_network(lambda network: calls.append(network) or tuple(network.nodes))
    one, other = ring(), ring()
    assert names(one) == names(one) == names(other) == ("I", "A", "B")
    assert len(calls) == 2
    assert calls[0] is one
    assert calls[1] is other


def test_patterns_of_one_network_share_its_graph():
    net = ring()
    assert RolloutPattern.streaming(net).indexed.graph is RolloutPattern.sequential(net).indexed.graph
    assert cycle_structure(net) is cycle_structure(net)


def test_a_network_that_nobody_holds_is_forgotten():
    net = ring()
    for find in (indexed_network, cycle_structure, first_sequential_values):
        find(net)
    graph, gone = weakref.ref(indexed_network(net)), weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None
    assert graph() is None
