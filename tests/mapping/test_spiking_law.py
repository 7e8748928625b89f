"""The law for integrate-and-fire networks on crossbars: the chip computes their neurons, spike for spike."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.proof.prove import prove


@st.composite
def leak_networks(draw):
    """Cycles, self-edges, several terms, delays beyond one neuron's; resets of both kinds, leaks of either sign."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inner = [f"N{k}" for k in range(draw(st.integers(1, 4)))]
    pairs = {(str(rng.choice(["I", *inner[:k]])), v) for k, v in enumerate(inner)} | {("I", inner[0])}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.3}
    sizes = {name: int(rng.integers(1, 9)) for name in ["I", *inner]}
    nodes = {"I": Node("I", (1, 1, sizes["I"]))}
    for name in inner:
        size, subtract = sizes[name], int(rng.random() < 0.3)
        threshold, floor = rng.integers(1, 40, size) + 300 * subtract, rng.integers(0, 30, size)
        neuron = LeakNeuron(
            threshold=threshold, leak=rng.integers(-3, 6, size), floor=floor, subtract=subtract,
            potential=rng.integers(-floor, threshold),
        )  # fmt: skip
        nodes[name] = Node(name, (1, 1, size), neuron=neuron)

    def term(u, v):
        weights = StoredWeights(rng.choice([-7, -2, 0, 0, 3, 5], (sizes[v], sizes[u])))
        return Dense(nodes[u].shape, nodes[v].shape, weights=weights), int(rng.choice([1, 1, 2, 5, 15, 16, 40]))

    edges = {
        (u, v): Edge(u, v, *term(u, v), also=tuple(EdgeTerm(*term(u, v)) for _ in range(rng.integers(0, 2))))
        for u, v in sorted(pairs)
    }
    return Network("random", nodes, edges, outputs=(inner[-1],))


@pytest.mark.law
@given(network=leak_networks(), cores=st.sampled_from([(64, 24), (128, 100), (256, 256)]))
@settings(deadline=None, max_examples=36)
def test_the_chip_computes_the_neurons(chip, network, cores):
    rollout = nm.Rollout(network, "streaming")
    small = chip(axons=cores[0], neurons=cores[1], delay=(1, 15))
    try:
        program = nm.map_rollout(rollout, small, placer="row-major")
    except DoesNotFitError as error:
        event(f"does not fit: {error.infeasibility.limit}")
        return
    event(f"cores: {min(program.n_cores, 3)}")
    event(f"relays: {bool(program.is_relay.any())}")
    found = nm.verify(rollout, program, n_frames=120, seed=1, threads=1)
    assert found.verified, found.message
    assert prove(rollout, program).proven


def one_neuron(weights, **neuron):
    shapes = (1, 1, len(weights)), (1, 1, 1)
    nodes = {"I": Node("I", shapes[0]), "O": Node("O", shapes[1], neuron=LeakNeuron(**neuron))}
    transform = Dense(*shapes, weights=StoredWeights(np.array([weights])))
    return nm.Rollout(Network("net", nodes, {("I", "O"): Edge("I", "O", transform)}), "streaming")


@pytest.mark.parametrize(
    ("weights", "neuron", "text"),
    [
        ([1], {"threshold": 300000}, "node O: its threshold is 300000, tiny holds 262143"),
        ([1], {"threshold": 5, "leak": -256}, "node O: its negative leak is 256, tiny holds 255"),
        ([1], {"threshold": 5, "floor": 300000}, "node O: its floor is 300000, tiny holds 262143"),
        ([250] * 200, {"threshold": 10, "subtract": 1}, "a tick may add 50000 to it, more than its threshold of 10"),
    ],
)
def test_what_the_widths_do_not_hold_is_refused(chip, weights, neuron, text):
    with pytest.raises(DoesNotFitError) as refused:
        nm.map_rollout(one_neuron(weights, **neuron), chip())
    assert text in str(refused.value)
    assert refused.value.infeasibility.demand > refused.value.infeasibility.bound


def test_synapse_lists_name_the_chip_that_would_do():
    with pytest.raises(DoesNotFitError, match=r"constant leak, V := V \+ leak.*; truenorth computes it"):
        nm.map_rollout(one_neuron([1], threshold=3), "loihi1")


@pytest.mark.parametrize(("delay", "least", "needed"), [(1, 2, 2), (2, 3, 3), (5, 4, 8)])
def test_a_delay_shorter_than_the_chips_names_the_edge_and_no_option(chip, delay, least, needed):
    one = (1, 1, 1)
    nodes = {"I": Node("I", one)} | {n: Node(n, one, neuron=LeakNeuron(1)) for n in ("A", "B")}
    edges = {
        (u, v): Edge(u, v, Dense(one, one, weights=StoredWeights(np.array([[1]]))), delay=by)
        for u, v, by in (("I", "A", 1), ("A", "B", delay))
    }
    rollout = nm.Rollout(Network("net", nodes, edges, outputs=("B",)), "streaming")
    with pytest.raises(DoesNotFitError) as refused:
        nm.map_rollout(rollout, chip(delay=(least, least)))
    ticks = f"{delay} tick{'s' * (delay > 1)}"
    text = f"edge A -> B has a delay of {ticks}, a tiny neuron delays its spikes by {least} to {least}"
    assert text in str(refused.value)
    assert "ticks_per_step" not in str(refused.value)
    found = refused.value.infeasibility
    assert (found.limit, found.node, found.demand, found.remedies[0].value) == ("delay", "B", needed, needed)
