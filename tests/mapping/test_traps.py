"""The traps of the mapping rules, each by name: what breaks the law where a rule is missing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import neuromap as nm
from neuromap.hardware.chip.chip_spec import NeuronRules

EXECUTIONS = pytest.mark.parametrize("execution", ["windowed", "pipelined"])


@EXECUTIONS
def test_input_frame_0_does_not_travel_sequential_edges(agrees, chip, chain, execution):
    """I -0-> A -1-> B would otherwise show A[0] = 1 in B[1]."""
    net = chain({"I": (1, None), "A": (1, 1), "B": (1, 1)}, {("I", "A"): [[1]], ("A", "B"): [[1]]})
    pattern = nm.RolloutPattern.from_streaming_edges(net, [("A", "B")])
    agrees(net, pattern, execution, chip())
    rollout = nm.Rollout(net, pattern, execution=execution)
    trace = nm.simulate(nm.map_rollout(rollout, chip()), {"I": np.ones((4, 1), bool)})
    assert trace.frames("B")[:, 0].tolist() == [False, False, True, True]


@EXECUTIONS
def test_an_input_with_both_kinds_of_edges(agrees, chip, chain, execution):
    net = chain(
        {"I": (3, None), "A": (3, 1), "B": (3, 2)},
        {("I", "A"): np.eye(3, dtype=int), ("I", "B"): np.eye(3, dtype=int), ("A", "B"): np.eye(3, dtype=int)},
    )
    for streaming in ([("I", "A")], [("I", "B")], [("A", "B"), ("I", "A")]):
        agrees(net, nm.RolloutPattern.from_streaming_edges(net, streaming), execution, chip())


@EXECUTIONS
def test_inputs_with_different_phases(agrees, chip, chain, execution):
    net = chain(
        {"I": (2, None), "J": (2, None), "A": (2, 1), "B": (2, 1), "C": (2, 2)},
        {("I", "A"): np.eye(2, dtype=int), ("A", "B"): np.eye(2, dtype=int)}
        | {("B", "C"): np.eye(2, dtype=int), ("J", "C"): np.eye(2, dtype=int)},
    )
    rollout = nm.Rollout(net, nm.RolloutPattern.sequential(net), execution=execution)
    assert rollout.phases["I"] != rollout.phases["J"]
    agrees(net, rollout.pattern, execution, chip())


@EXECUTIONS
@pytest.mark.parametrize("theta", [-300, -1, 0, 1, 2, 255, 256, 257, 511, 600])
def test_thresholds_at_the_leak_s_limits(agrees, chip, chain, theta, execution):
    """Negative, zero and beyond the leak: bias axons, and silence in every phase that is not the node's own."""
    net = chain(
        {"I": (5, None), "A": (3, theta), "B": (3, [theta, 1, 0])},
        {
            ("I", "A"): [[255, 255, 90, 0, 0], [200, 56, -255, 1, 0], [0, -255, -45, 0, 2]],
            ("A", "B"): [[1, 1, 1], [255, 1, 0], [0, 0, -200]],
            ("B", "B"): [[1, 0, 0], [0, -1, 0], [0, 0, 1]],
        },
        outputs=["A", "B"],
    )
    for values in ([1, 1, 1], [0, 0, 1], [0, 1, 1]):
        agrees(net, nm.RolloutPattern.from_values(net, values), execution, chip(), n_frames=16)


@EXECUTIONS
@pytest.mark.parametrize("comparison", ["<", "<="])
def test_a_full_core_holds_the_threshold_behind_the_leak(agrees, chip, chain, execution, comparison):
    """All 256 axons carry inputs, so theta = 256 has leak -255 and alpha 1: an AND that forgets every tick."""
    weights = np.ones((2, 256), int)
    net = chain({"I": (256, None), "A": (2, [256, 255])}, {("I", "A"): weights})
    rollout = nm.Rollout(net, nm.RolloutPattern.streaming(net), execution=execution)
    program = nm.map_rollout(rollout, chip(rules=NeuronRules(negative_comparison=comparison)))
    assert program.n_cores == 1
    frames = np.ones((8, 256), bool)
    frames[[1, 4, 5], [0, 17, 255]] = False
    trace = nm.simulate(program, {"I": frames})
    np.testing.assert_array_equal(trace.frames("A"), nm.reference(rollout, {"I": frames})["A"])
    assert trace.frames("A")[:, 1].sum() > trace.frames("A")[:, 0].sum() > 0


def test_a_neuron_that_always_spikes_is_silent_before_frame_1_and_between_frames(chip, chain):
    net = chain({"I": (1, None), "A": (1, 0), "B": (1, 1)}, {("I", "A"): [[1]], ("A", "B"): [[1]]}, outputs=["A", "B"])
    rollout = nm.Rollout(net, nm.RolloutPattern.sequential(net))
    program = nm.map_rollout(rollout, chip())
    assert program.period == 2
    trace = nm.simulate(program, {"I": np.zeros((5, 1), bool)})
    assert trace.frames("A")[:, 0].tolist() == [False, True, True, True, True]
    assert len(trace.strays("A")) == 0


def test_bias_at_two_phases(agrees, chip, chain):
    net = chain(
        {"I": (2, None), "A": (2, -3), "B": (2, -4), "C": (2, 300)},
        {
            ("I", "A"): [[1, -5], [-4, 1]],
            ("A", "B"): [[-9, 1], [2, -9]],
            ("B", "C"): [[200, 200], [255, 45]],
        },
        outputs=["A", "B", "C"],
    )
    agrees(net, nm.RolloutPattern.sequential(net), "windowed", chip(), n_frames=20)


def test_pipelined_with_negative_phases(agrees, chip, chain):
    eye = np.eye(2, dtype=int)
    net = chain(
        {"I": (2, None), "A": (2, 1), "B": (2, 1), "C": (2, 1)},
        {("I", "A"): eye, ("A", "B"): eye, ("B", "C"): eye, ("C", "A"): -eye},
        outputs=["C"],
    )
    pattern = nm.RolloutPattern.from_streaming_edges(net, [("I", "A"), ("A", "B")])
    rollout = nm.Rollout(net, pattern, execution="pipelined")
    assert min(rollout.phases[n] for n in "ABC") < 0
    program = agrees(net, pattern, "pipelined", chip(), n_frames=20)
    assert min(port.sample_tick + program.period for port in program.nodes if port.kind != "input") == 0


@EXECUTIONS
def test_networks_without_default_outputs(agrees, chip, chain, execution):
    """A cycle without an end: every node that is not an input is read out."""
    eye = np.eye(2, dtype=int)
    net = chain({"I": (2, None), "A": (2, 1), "B": (2, 1)}, {("I", "A"): eye, ("A", "B"): eye, ("B", "A"): -eye})
    assert net.outputs == ("A", "B")
    agrees(net, nm.RolloutPattern.sequential(net), execution, chip())


@EXECUTIONS
@pytest.mark.parametrize("greatest", [1, 2, 3, 5])
def test_relays_delay_exactly(agrees, chip, chain, execution, greatest):
    """A skip of five steps past a chain of six: what one neuron cannot give, relays add."""
    eye = np.eye(2, dtype=int)
    names = ["A", "B", "C", "D", "E", "F"]
    edges = dict.fromkeys([("I", "A"), *itertools.pairwise(names), ("A", "F"), ("A", "E"), ("F", "F")], eye)
    net = chain({"I": (2, None)} | dict.fromkeys(names, (2, 1)), edges, outputs=["F"])
    pattern = nm.RolloutPattern.from_streaming_edges(net, [("F", "F")])
    program = agrees(net, pattern, execution, chip(delay=(1, greatest)))
    delays = nm.Rollout(net, pattern, execution=execution).delays
    assert program.is_relay.any() == (max(d for (u, _), d in delays.items() if u != "I") > greatest)
    assert program.delay.max() <= greatest
