"""What a proof rests on: questions about sums, against all choices; and networks that only a proof tells apart."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from graded_networks import graded_network, small_graded_chip
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.proof.checker import disagreement, reachable
from neuromap.proof.prove import prove

WEIGHTS = st.lists(st.integers(-9, 9), max_size=7)


@given(WEIGHTS, st.integers(-30, 30), st.integers(-30, 30))
def test_reachable_sums_are_those_of_all_choices(weights, low, high):
    sums = {
        sum(w for w, x in zip(weights, chosen, strict=True) if x) for chosen in product([0, 1], repeat=len(weights))
    }
    assert reachable(weights, low, high) == any(low <= s < high for s in sums)


@pytest.mark.theorem
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=7), st.integers(-20, 20), st.integers(-20, 20)
)
@settings(max_examples=1000, deadline=None)
def test_two_neurons_disagree_where_some_choice_does(weights, first, second):
    def differs(chosen):
        left, right = (sum(pair[k] for pair, x in zip(weights, chosen, strict=True) if x) for k in (0, 1))
        return left >= first and right < second

    found = disagreement(weights, first, second)
    if found is None:
        assert not any(differs(chosen) for chosen in product([0, 1], repeat=len(weights)))
    else:
        assert differs(found.tolist())


def line(*thetas, weights=None, outputs=()):
    """A chain of nodes with one neuron each, under weights 1 or given ones."""
    names = ["I", *(f"H{k}" for k in range(len(thetas)))]
    nodes = {n: ((1, 1, 1), t) for n, t in zip(names, [None, *thetas], strict=True)}
    pairs = list(pairwise(names))
    values = weights or [1] * len(pairs)
    return nm.build_network(
        nodes, {e: [[w]] for e, w in zip(pairs, values, strict=True)}, outputs=outputs or names[-1:]
    )


@pytest.mark.parametrize("chip", ["truenorth", "loihi1"])
@pytest.mark.parametrize("thetas", [(1,), (0, 1), (2,), (-3, 2), (1, 2, 1), (300, -300)])
def test_constant_neurons_and_those_that_are_never_1_are_proven(chip, thetas):
    rollout = nm.Rollout(line(*thetas), "sequential")
    proof = prove(rollout, nm.map_rollout(rollout, chip))
    assert proof.proven, proof.faults


def test_an_output_without_a_row_must_be_one_that_is_never_1():
    unheard, heard = (nm.Rollout(line(1, 1, weights=[1, w], outputs=["H1"]), "streaming") for w in (0, 1))
    program = nm.map_rollout(unheard, "truenorth")
    mute = replace(program, outputs=type(program.outputs)(*(np.zeros(0, np.int32) for _ in range(4))))
    assert prove(unheard, mute).proven
    assert prove(heard, mute).faults == ("node H1: 1 neurons are not read out and may be 1",)


def test_a_network_of_the_same_labels_is_told_apart_for_inputs_that_nobody_tried():
    """24 of 2^24 inputs differ: those in which all sources but one are 1, as the threshold is one off."""
    nodes = {"I": ((1, 1, 24), None), "O": ((1, 1, 1), 24)}
    right, wrong = (
        nm.Rollout(nm.build_network(nodes | {"O": ((1, 1, 1), t)}, {("I", "O"): np.ones((1, 24), int)}), "streaming")
        for t in (24, 23)
    )
    program = nm.map_rollout(wrong, "truenorth")
    assert nm.verify(right, program, n_frames=200, density=0.5).verified
    proof = prove(right, program)
    assert proof.faults == ("core 0, neuron 0: compares with another threshold",)
    assert prove(wrong, program).proven


def test_neurons_with_state_must_begin_with_their_first_frame():
    """Biases count from tick 0 on; a program whose frames all come one tick later is another one."""
    neuron = nm.network.spiking_neuron.CurrentNeuron(threshold=640, bias=64)
    nodes = {"I": nm.network.node.Node("I", (1, 1, 1)), "O": nm.network.node.Node("O", (1, 1, 1), neuron=neuron)}
    dense = nm.network.transforms.Dense
    stored = nm.network.weights.StoredWeights(np.array([[64]]))
    edge = nm.network.edge.Edge("I", "O", dense((1, 1, 1), (1, 1, 1), weights=stored))
    rollout = nm.Rollout(nm.network.network.Network("late", nodes, {("I", "O"): edge}), "streaming")
    program = nm.map_rollout(rollout, "loihi1")
    assert prove(rollout, program).proven
    later = replace(
        program,
        nodes=tuple(replace(port, sample_tick=port.sample_tick + 1) for port in program.nodes),
        host=replace(program.host, arrival=program.host.arrival + 1),
    )
    assert "remembers and has it later" in prove(rollout, later).faults[0]


def test_noise_is_refused_by_name():
    rollout = nm.Rollout(line(1), "streaming")
    program = nm.map_rollout(rollout, "truenorth")
    noisy = np.zeros(program.shape, np.uint8)
    noisy[0, 0] = 3
    proof = prove(rollout, replace(program, neurons=replace(program.neurons, noise_bits=noisy)))
    assert proof.faults == ("core 0, neuron 0: draws at random",)


def test_a_kind_of_core_without_a_proof_is_refused(monkeypatch):
    rollout = nm.Rollout(line(1), "streaming")
    program = nm.map_rollout(rollout, "truenorth")
    monkeypatch.setattr(program.chip.kind, "proof", None)
    with pytest.raises(NotSupportedError, match="no proof says what neurons of crossbar cores compute"):
        prove(rollout, program)


def test_graded_programs_are_refused_with_the_next_step():
    rollout = nm.Rollout(graded_network(1), "sequential", "pipelined")
    with pytest.raises(NotSupportedError, match="neurons of graded cores compute; neuromap verify compares") as met:
        prove(rollout, nm.map_rollout(rollout, small_graded_chip()))
    assert "\n" not in str(met.value)


@pytest.mark.parametrize("chip", ["truenorth", "loihi1"])
def test_a_relay_that_only_the_host_s_clock_feeds_hands_on_nothing(chip):
    rollout = nm.Rollout(line(1), "streaming")
    program = nm.map_rollout(rollout, chip)
    host = replace(program.host, node=np.full_like(program.host.node, -1))
    false = replace(program, host=host, is_relay=program.neuron_node >= 0, execution="")
    assert not nm.verify(rollout, false, {"I": np.zeros((5, 1), int)}).verified
    assert not prove(rollout, false).proven


def test_an_axon_of_weight_0_says_nothing_of_when_a_relay_hands_on():
    """An axon before the relay's gets a type of its own: the same weight for who reads it, 0 for the relay."""
    network = nm.build_network(
        {name: ((1, 1, 2), None if name == "I" else 1) for name in "IABCO"},
        {edge: np.eye(2, dtype=int) for edge in [("I", "A"), ("A", "B"), ("B", "C"), ("C", "O"), ("A", "O")]},
    )
    rollout = nm.Rollout(network, "sequential", "pipelined")
    program = nm.map_rollout(rollout, replace(nm.load_chip("truenorth"), name="near", delay=(1, 2)))
    (core, relay), *_ = np.argwhere(program.is_relay)
    types, weights, bits = program.axon_types.copy(), program.neurons.weights.copy(), program.crossbar.copy()
    axon = program.target_axon[program.target_core == core].min()
    assert axon < np.flatnonzero(bits[core, :, relay // 8] >> relay % 8 & 1)[0]
    types[core, axon], weights[core, :, 3] = 3, weights[core, :, types[core, axon]]
    weights[core, relay, 3] = 0
    bits[core, axon, relay // 8] |= 1 << relay % 8
    same = replace(program, axon_types=types, crossbar=bits, neurons=replace(program.neurons, weights=weights))
    assert prove(rollout, program).proven
    assert prove(rollout, same).proven


def test_voltages_go_down_to_their_floor_tick_by_tick():
    """A rail of the chip above the network's floor cuts what many ticks add up, though no single tick does."""
    dense = nm.network.transforms.Dense(
        (1, 1, 2), (1, 1, 1), weights=nm.network.weights.StoredWeights(np.array([[1, -1]]))
    )
    made = nm.network.spiking_neuron.CurrentNeuron

    def rollout_of(**more):
        neuron = made(threshold=64, current_decay=4096, voltage_decay=0, **more)
        nodes = {"I": nm.network.node.Node("I", (1, 1, 2)), "O": nm.network.node.Node("O", (1, 1, 1), neuron=neuron)}
        edges = {("I", "O"): nm.network.edge.Edge("I", "O", dense)}
        return nm.Rollout(nm.network.network.Network("down", nodes, edges), "streaming")

    rollout, program = rollout_of(floor=1000), nm.map_rollout(rollout_of(), "loihi1")
    narrow = replace(program, chip=replace(program.chip, potential_bits=10))
    frames = np.zeros((1330, 2), int)
    frames[:700, 1] = frames[700:, 0] = 1
    assert not nm.verify(rollout, narrow, {"I": frames}).verified
    assert not prove(rollout, narrow).proven


def test_weights_too_large_to_decide_are_no_proof_and_take_no_memory():
    nodes = {"I": ((1, 1, 3), None), "O": ((1, 1, 1), 2)}
    made, other = (nm.Rollout(nm.build_network(nodes, {("I", "O"): [[w, w, 1]]}), "streaming") for w in (1, 2**30))
    assert prove(other, nm.map_rollout(made, "truenorth")).faults == ("core 0, neuron 0: adds up other weights",)
