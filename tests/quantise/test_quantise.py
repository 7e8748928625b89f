"""Float networks in integers: what the chip computes is the integers' meaning, and the price is the one told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, FloatSynapses
from neuromap.quantise.float_steps import float_reference
from neuromap.quantise.list_integers import round_weights
from neuromap.quantise.quantise_network import quantise

DT = 1e-3


def random_network(seed, size=8, taus=(5e-3, 10e-3), tau=20e-3, resting=0.8):
    rng = np.random.default_rng(seed)
    neuron = FloatNeuron(
        size,
        threshold=1.0,
        reset=rng.uniform(-0.5, 0, size),
        rest=resting,
        tau=tau * rng.uniform(0.5, 2, size),
        refractory=rng.choice([0, 3e-3]),
        synapse_taus=taus,
        gains=[1 / tau if t else 1.0 for t in taus],
        voltage=rng.uniform(-0.5, 0.9, size),
    )
    parts = [
        FloatSynapses.of_matrix("I", "A", rng.uniform(0.5, 3, (size, 4)) / (1 if taus[0] else 6)),
        FloatSynapses("A", "A", *rng.integers(0, size, (2, 20)), rng.normal(0, 0.3, 20), rng.integers(0, 9, 20) * DT),
    ]
    if len(taus) > 1:
        parts.append(FloatSynapses("A", "A", *rng.integers(0, size, (2, 10)), -rng.uniform(0, 1, 10), current=1))
    return FloatNetwork("random", DT, {"I": 4}, {"A": neuron}, parts)


def frames(network, steps, seed=0):
    spikes = np.random.default_rng(seed).random((steps, 4)) < 0.1
    return {"I": spikes}, {"I": np.vstack([np.zeros((1, 4), bool), spikes])}


@pytest.mark.law
@given(seed=st.integers(0, 2**32 - 1), pulses=st.booleans(), wraps=st.booleans())
@settings(max_examples=6, deadline=None)
def test_chip_computes_what_the_integers_mean(seed, pulses, wraps):
    network = random_network(seed, taus=(0.0,) if pulses else (5e-3, 10e-3))
    chip = nm.load_chip("loihi1")
    sums = {"accumulator_bits": 22, "sum_wraps": True} if wraps else {}
    chip = replace(chip, core_figures=replace(chip.lists, **sums))
    found = quantise(network, chip)
    _, given_frames = frames(network, 60, seed)
    mapped = nm.map_rollout(nm.Rollout(found.network, "streaming"), chip=chip)
    wanted = nm.reference(nm.Rollout(found.network, "streaming"), given_frames)["A"]
    got = nm.simulate(mapped, given_frames, engine="numpy").frames("A")
    assert np.array_equal(got, wanted)


def test_finer_integers_come_closer():
    """Spikes so far on coarse and fine chips against the float original, without feedback that would amplify them."""
    loihi = nm.load_chip("loihi1")
    chips = [
        replace(loihi, core_figures=replace(loihi.lists, decay_bits=bits), weight_bits=weights)
        for bits, weights in ((7, 4), (12, 9), (16, 16))
    ]
    wrong = np.zeros(len(chips))
    for seed in range(4):
        network = random_network(seed)
        network = replace(network, synapses=network.synapses[:1])
        spikes, given_frames = frames(network, 150, seed)
        original = float_reference(network, spikes, 150)["A"]
        assert original.sum() > 40
        for k, chip in enumerate(chips):
            rollout = nm.Rollout(quantise(network, chip).network, "streaming")
            got = nm.reference(rollout, given_frames)["A"][1:]
            wrong[k] += np.abs(np.cumsum(got, 0) - np.cumsum(original, 0)).mean()
    assert wrong[0] > 2 * wrong[1] > 4 * wrong[2], wrong


def test_errors_are_those_of_the_values():
    network = random_network(3)
    found = quantise(network)
    neuron, (errors,) = found.network.nodes["A"].neuron, found.quantisation.nodes
    float_neuron = network.nodes["A"]
    taus = -DT / np.log(1 - neuron.voltage_decay / 4096)
    assert errors.tau_error == pytest.approx(np.abs(taus / float_neuron.tau - 1).max())
    wanted = (float_neuron.threshold - float_neuron.reset) * errors.scale
    assert errors.threshold_error == pytest.approx(np.abs(neuron.threshold / wanted - 1).max())
    assert errors.current_headroom > 1
    resting = neuron.bias / neuron.voltage_decay * 4096 / errors.scale + float_neuron.reset
    assert resting == pytest.approx(np.full(8, 0.8), rel=1e-3)
    assert {edge.edge: edge.synapses for edge in found.quantisation.edges}["I -> A"] == 32
    assert all(0 < edge.weight_error < 0.02 for edge in found.quantisation.edges)


@pytest.mark.parametrize(("tau", "error"), [(1e-4, 1.0), (1e-3 / 64, 0.0)])
def test_a_time_constant_that_vanishes_is_an_error_of_all_of_it(tau, error):
    """exp(-10) of a value is nothing in parts of 4096: the chip forgets it, as it should where exp(-64) is left."""
    neuron = FloatNeuron(1, threshold=1.0, tau=20e-3, synapse_taus=[tau], gains=[50.0])
    synapses = FloatSynapses.of_matrix("I", "A", np.array([[1.0]]))
    found = quantise(FloatNetwork("short", 1e-3, {"I": 1}, {"A": neuron}, (synapses,)), "loihi1")
    assert found.network.nodes["A"].neuron.current_decay.tolist() == [4096]
    assert found.quantisation.nodes[0].synapse_tau_errors == (error,)


@given(seed=st.integers(0, 2**32 - 1))
def test_weights_of_a_source_are_mantissas_times_one_power(seed):
    chip, rng = nm.load_chip("loihi1"), np.random.default_rng(seed)
    source, weights = rng.integers(0, 3, 12), rng.normal(0, 10.0 ** rng.uniform(0, 5.5), 12)
    rounded = round_weights(weights, source, 3, chip)
    for k in range(3):
        mine, wanted = rounded[source == k], weights[source == k]
        if not mine.any():
            continue
        mixed = (wanted > 0).any() and (wanted < 0).any()
        unit = np.gcd.reduce(np.abs(mine[mine != 0]))
        unit = (unit & -unit) // (2 if mixed else 1)
        assert unit >= 1
        assert np.abs(mine).max() // unit <= 255
        assert np.abs(mine - wanted).max() <= max(1, np.abs(wanted).max() / 120)


def leaking(seed, n_values):
    """A network that crossbar cores can take: a constant leak, pulses, weights of few values or of any."""
    rng = np.random.default_rng(seed)
    neuron = FloatNeuron(8, threshold=1.0, drive=rng.uniform(-20, 60, 8), voltage=rng.uniform(0, 0.9, 8))
    values = rng.uniform(0.1, 0.6, n_values)
    first, second = rng.choice(values, (8, 4)), rng.choice([-values[0], 0, values[-1]], (8, 8))
    parts = [FloatSynapses.of_matrix("I", "A", first), FloatSynapses.of_matrix("A", "A", second / 4)]
    return FloatNetwork("leaking", DT, {"I": 4}, {"A": neuron}, parts)


@pytest.mark.law
@given(seed=st.integers(0, 2**32 - 1), n_values=st.sampled_from([1, 40]))
@settings(max_examples=6, deadline=None)
def test_crossbar_cores_compute_what_the_integers_mean_and_almost_what_loihi_does(seed, n_values):
    network = leaking(seed, n_values)
    found = quantise(network, "truenorth")
    _, given_frames = frames(network, 80, seed)
    mapped = nm.map_rollout(nm.Rollout(found.network, "streaming"), chip="truenorth")
    wanted = nm.reference(nm.Rollout(found.network, "streaming"), given_frames)["A"]
    assert np.array_equal(nm.simulate(mapped, given_frames, engine="numpy").frames("A"), wanted)
    note = found.quantisation.notes[-1]
    if n_values > 1:
        assert "weights as sums of at most" in note
        return
    on_loihi = nm.reference(nm.Rollout(quantise(network).network, "streaming"), given_frames)["A"]
    assert abs(int(wanted.sum()) - int(on_loihi.sum())) <= 0.05 * on_loihi.sum() + 3
    assert "weights as they are" in note
    assert max(edge.weight_error for edge in found.quantisation.edges) <= 0.02


def test_crossbar_chips_refuse_a_rest():
    network = leaking(0, 1)
    nodes = {"A": replace(network.nodes["A"], refractory=5e-3)}
    with pytest.raises(NotSupportedError, match=r"node A: rests 4 ticks.*loihi1 computes it"):
        quantise(replace(network, nodes=nodes), "truenorth")


def test_crossbar_chips_are_refused_with_the_equation():
    with pytest.raises(NotSupportedError, match=r"node A: dv/dt = \(rest - v\) / tau \+ I, .*loihi1"):
        quantise(random_network(0), "truenorth")


def test_forms_tell_scale_search_and_errors():
    found = quantise(random_network(1)).quantisation
    text, document = str(found), found.to_dict()
    assert "scale: 64 scales" in text
    assert "I -> A" in text
    assert document["nodes"][0]["scale"] == found.nodes[0].scale
