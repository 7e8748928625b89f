"""Potentials of few bits: what is mapped is legal by the checker and computes the network, all else is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, NotSupportedError
from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.mapping.core.core_of import core_of
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights


def narrow_chip(rng, chip):
    """RANC, or a chip with few bits, types and axons and either arithmetic."""
    if rng.random() < 0.3:
        return nm.load_chip("ranc")
    bits = int(rng.integers(5, 12))
    wraps = rng.random() < 0.5
    return chip(
        axons=int(rng.choice([12, 40, 256])),
        neurons=int(rng.choice([4, 64])),
        axon_types=int(rng.integers(1, 5)),
        weight_bits=int(rng.integers(3, 10)),
        threshold_bits=bits,
        potential_bits=bits,
        delay=(1, 15),
        rules=NeuronRules(number_format="twos_complement", overflow="wrap") if wraps else NeuronRules(),
    )


def random_network(rng, spec, *, leaky):
    """Weights that together about fill the potential, or far less or more."""
    sizes = {"I": int(rng.integers(1, 13))} | {f"N{k}": int(rng.integers(1, 6)) for k in range(rng.integers(1, 3))}
    most = max(2, int(spec.potential_range[1] * rng.choice([0.1, 0.4, 0.6, 0.8])))
    nodes, edges = {"I": Node("I", (1, 1, sizes["I"]))}, {}
    names = list(sizes)
    for u, v in itertools.pairwise(names):
        size = sizes[v]
        span = max(1, 3 * most // sizes[u])
        weights = rng.integers(-span, span + 1, (size, sizes[u])) * (rng.random((size, sizes[u])) < 0.8)
        edges[u, v] = Edge(u, v, Dense((1, 1, sizes[u]), (1, 1, size), weights=StoredWeights(weights)))
        if not leaky:
            nodes[v] = Node(v, (1, 1, size), threshold=rng.integers(-span, 2 * span + 1, size))
            continue
        subtract, threshold = int(rng.random() < 0.3), rng.integers(1, span + 2, size)
        floor = rng.integers(0, span + 1, size)
        nodes[v] = Node(
            v,
            (1, 1, size),
            neuron=LeakNeuron(
                threshold=threshold + subtract * int(np.maximum(weights, 0).sum()),
                leak=rng.integers(-3, 4, size),
                floor=floor,
                potential=rng.integers(-floor, threshold),
                subtract=subtract,
            ),
        )
    return Network("random", nodes, edges, outputs=(names[-1],))


@pytest.mark.law
@given(seed=st.integers(0, 2**32 - 1), leaky=st.booleans())
@settings(deadline=None, max_examples=90)
def test_a_narrow_potential_is_kept_or_refused(chip, seed, leaky):
    rng = np.random.default_rng(seed)
    spec = narrow_chip(rng, chip)
    network = random_network(rng, spec, leaky=leaky)
    wide = "partial-sums" if not leaky and rng.random() < 0.5 else "refuse"
    rollout = nm.Rollout(network, "streaming")
    try:
        program = nm.map_rollout(rollout, spec, wide=wide, placer="row-major")
    except (DoesNotFitError, NotSupportedError) as refused:
        event(f"refused: {refused.infeasibility.limit if isinstance(refused, DoesNotFitError) else 'not supported'}")
        return
    event("mapped")
    assert nm.check_program(program) == []
    found = nm.verify(rollout, program, n_frames=30, seed=1, engine="numpy")
    assert found.verified, found.message


def one_neuron(weights, **neuron):
    shapes = (1, 1, len(weights)), (1, 1, 1)
    nodes = {"I": Node("I", shapes[0]), "O": Node("O", shapes[1], neuron=LeakNeuron(**neuron))}
    transform = Dense(*shapes, weights=StoredWeights(np.array([weights])))
    return nm.Rollout(Network("net", nodes, {("I", "O"): Edge("I", "O", transform)}), "streaming")


MIXED = [-12, -57, -60, -45, -59, 21]
"""As digits of both signs these take 23 axons and swing by 329, as digits of their own signs 44 axons and 242."""


def test_weights_that_swing_farther_in_parts_take_more_axons_instead():
    rollout = one_neuron(MIXED, threshold=2, floor=10)
    program = nm.map_rollout(rollout, "ranc")
    wider = nm.map_rollout(rollout, "truenorth")  # its potential of 20 bits takes the fewest axons
    assert (len(program.host.axon), len(wider.host.axon)) == (44, 23)
    assert nm.verify(rollout, program, n_frames=100, seed=1, engine="numpy").verified


def test_where_more_axons_are_not_there_the_refusal_is_data_and_a_report_has_its_row(chip):
    rollout = one_neuron(MIXED, threshold=2, floor=10)
    axons = len(nm.map_rollout(rollout, "ranc").host.axon)
    spec = chip(potential_bits=9, threshold_bits=9, axons=axons - 1)
    with pytest.raises(DoesNotFitError) as refused:
        nm.map_rollout(rollout, spec)
    found = refused.value.infeasibility
    assert (found.limit, found.node, found.demand, found.bound) == ("axons", "O", axons, axons - 1)
    assert found.remedies
    nm.map_rollout(rollout, chip(potential_bits=9, threshold_bits=9, axons=found.remedies[-1].value))
    (row,) = nm.latency_report(rollout.network, spec).rows
    assert row.status == "does not fit"
    assert found.statement in row.message


def test_the_bound_is_the_checkers(chip):
    """A bit less than a potential asks for is refused, however large its leak, floor and threshold are."""
    weights, neuron = [5, 6, -4, -9], {"threshold": 20, "leak": 3, "floor": 13}
    highest, lowest = 5 + 6 + 3 + 19, -4 - 9 - 13
    bits = max(highest, -lowest - 1).bit_length() + 1
    nm.map_rollout(one_neuron(weights, **neuron), chip(potential_bits=bits, threshold_bits=bits))
    with pytest.raises(DoesNotFitError, match=r"node O: .* is 33, tiny holds 31"):
        nm.map_rollout(one_neuron(weights, **neuron), chip(potential_bits=bits - 1, threshold_bits=bits))
    model, kept = core_of(chip(potential_bits=bits)), LeakNeuron(**neuron).spread(1)
    plan = model.plan(np.array([weights]), np.ones(1, np.int64), kept)
    assert plan.swing(kept).tolist() == [highest]
