"""Gates: mixes are rollouts at 0 and 1, every draw is a valid pattern, and gates learn what a brute force finds."""

import math
from itertools import islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.rollout.behaviour import class_key, enumerate_valid


@pytest.fixture(scope="module")
def torch(one_thread):
    return one_thread


@pytest.fixture(scope="module")
def gates_of(torch):
    from neuromap.training.torch.gates import PatternGates

    def make(network, logits=0.0, seed=0):
        gates = PatternGates(network)
        generator = torch.Generator().manual_seed(seed)
        for parameter in (gates.logits, gates.potentials):
            parameter.data.normal_(0, 3, generator=generator).add_(logits)
        return gates

    return make


def support_of(pattern):
    """Another valid pattern that is sequential wherever this one is, on more edges if there are any."""
    order = {name: k for k, name in enumerate(pattern.node_order)}
    return nm.RolloutPattern(pattern.network, tuple(int(order[u] >= order[v]) for u, v in pattern.network.edges))


def test_mixed_frames_are_the_reference_of_every_pattern_where_gates_are_0_and_1(torch, rolled):
    """All valid patterns of a small network side by side, an image each."""
    from neuromap.training.torch.frame_model import FrameModel, to_network

    @settings(max_examples=20, deadline=None)
    @given(rolled, st.integers(0, 100))
    def check(drawn, seed):
        network, _ = drawn
        model = FrameModel(network, seed=seed).eval()
        exported = to_network(model)
        generator = torch.Generator().manual_seed(seed)
        for pattern in islice(enumerate_valid(network), 12):
            support = support_of(pattern)
            shown = {
                name: torch.randint(0, 2, (4, 1, *network.nodes[name].shape), generator=generator).float()
                for name in network.inputs
            }
            gates = {key: torch.tensor([float(pattern[key])]) for key in support.sequential_edges}
            mixed = model.window(support, shown, gates)
            expected = nm.reference(
                nm.Rollout(exported, nm.RolloutPattern(exported, pattern.values)),
                {name: x[:, 0].flatten(1).numpy().astype(bool) for name, x in shown.items()},
            )
            for name in model.settings:
                assert np.array_equal(mixed[name][:, 0].flatten(1).numpy() > 0, expected[name]), (pattern.digits, name)

    check()


def test_images_with_patterns_of_their_own_are_those_of_one_pattern_each(torch, rolled):
    from neuromap.training.torch.rollout_model import RolloutModel

    @settings(max_examples=20, deadline=None)
    @given(rolled, st.data())
    def check(drawn, data):
        network, pattern = drawn
        model, support = RolloutModel(network, 1).double(), support_of(pattern)
        bits = data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * len(support.values)), min_size=3, max_size=3))
        values = np.maximum(np.array(bits), support.values)
        shown = {name: torch.rand((5, 3, *network.nodes[name].shape), dtype=torch.float64) for name in network.inputs}
        gates = {
            key: torch.from_numpy(values[:, e]).double() for e, key in enumerate(network.edges) if not support.values[e]
        }
        mixed = model.window(support, shown, gates)
        for k, row in enumerate(values.tolist()):
            alone = model.window(nm.RolloutPattern(network, tuple(row)), {n: x[:, k : k + 1] for n, x in shown.items()})
            for name in network.nodes:
                torch.testing.assert_close(mixed[name][:, k], alone[name][:, 0])

    check()


def test_every_draw_and_the_most_likely_pattern_are_valid_whatever_gates_and_potentials_are(torch, gates_of, networks):
    @settings(max_examples=60, deadline=None)
    @given(networks(), st.integers(0, 1000), st.floats(-6, 6), st.sampled_from([1.0, 0.2]))
    def check(network, seed, logits, temperature):
        gates = gates_of(network, logits, seed)
        assert gates.most_likely().is_valid
        draw = gates.draw(4, temperature, torch.Generator().manual_seed(seed))
        assert draw.support.is_valid
        for row in draw.values:
            assert nm.RolloutPattern(network, tuple(row.tolist())).is_valid
        assert bool((draw.likely <= 0).all())
        assert float(draw.order_likely.detach()) <= 1e-6

    check()


def test_every_class_of_a_network_is_drawn(torch, gates_of, networks):
    @settings(max_examples=15, deadline=None)
    @given(networks(), st.integers(0, 1000))
    def check(network, seed):
        patterns = list(islice(enumerate_valid(network), 65))
        assume(len(patterns) <= 64)
        gates = gates_of(network)
        for parameter in gates.parameters():
            parameter.data.zero_()
        drawn = set()
        generator = torch.Generator().manual_seed(seed)
        for _ in range(150):
            values = gates.draw(16, 1.0, generator).values
            drawn |= {class_key(nm.RolloutPattern(network, tuple(row.tolist()))) for row in values}
        assert drawn == {class_key(pattern) for pattern in patterns}

    check()


def test_the_probability_of_a_draw_is_how_often_it_is_drawn(torch, gates_of):
    """Two nodes that feed each other, and a triangle: an order, gates inside it and gates outside."""
    network = nm.Network.from_edges([("I", "A"), ("A", "B"), ("B", "A"), ("B", "O"), ("A", "O")])
    gates = gates_of(network, seed=3)
    gates.logits.data.clamp_(-1, 1)
    gates.potentials.data.clamp_(-0.5, 0.5)
    found, told, n = {}, {}, 4000
    generator = torch.Generator().manual_seed(0)
    for _ in range(n):
        draw = gates.draw(1, 1.0, generator)
        key = draw.support.values, tuple(draw.values[0].tolist())
        found[key] = found.get(key, 0) + 1
        told[key] = math.exp(float((draw.likely[0] + draw.order_likely).detach()))
    assert sum(told.values()) == pytest.approx(1, abs=1e-5)
    for key, times in found.items():
        assert times / n == pytest.approx(told[key], abs=5 * math.sqrt(told[key] / n))


def test_gates_find_the_pattern_that_costs_least(torch):
    """With no weights to train: the score function alone, against all patterns."""
    from neuromap.training.torch.gates import PatternGates

    network = nm.Network.from_edges(
        [("I", "A"), ("A", "B"), ("B", "A"), ("B", "C"), ("C", "O"), ("A", "O"), ("A", "A"), ("I", "C")]
    )
    rng = np.random.default_rng(5)
    costs = {pattern.values: float(rng.normal()) for pattern in enumerate_valid(network)}
    by_class = {}
    for values in costs:
        by_class.setdefault(class_key(nm.RolloutPattern(network, values)), []).append(costs[values])
    gates = PatternGates(network)
    optimiser = torch.optim.Adam(gates.parameters(), 0.05)
    generator = torch.Generator().manual_seed(0)
    usual = 0.0
    for step in range(800):
        draw = gates.draw(32, 0.2 ** (step / 800), generator)
        told = torch.tensor([costs[tuple(row.tolist())] for row in draw.values])
        loss = ((told - told.mean()) * draw.likely).mean() + (told.mean() - usual) * draw.order_likely
        usual += 0.05 * (float(told.mean()) - usual)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    reachable = sorted(costs[values] for values in costs)
    assert costs[gates.most_likely().values] <= reachable[len(reachable) // 10]


def test_edges_that_change_no_class_have_no_gate(torch, gates_of, networks):
    @settings(max_examples=40, deadline=None)
    @given(networks(), st.integers(0, 100))
    def check(network, seed):
        gates = gates_of(network, seed=seed)
        without = set(range(len(network.edges))) - set(gates.gated.tolist())
        pattern = nm.RolloutPattern(network, tuple(gates.draw(1, 1.0, torch.Generator()).values[0].tolist()))
        for e in without:
            values = list(pattern.values)
            values[e] = 1 - values[e]
            other = nm.RolloutPattern(network, tuple(values))
            if other.is_valid:
                assert class_key(other) == class_key(pattern)
        components = [c for c in nx.strongly_connected_components(network.graph) if len(c) > 1]
        assert len(gates.potentials) <= sum(map(len, components))

    check()
