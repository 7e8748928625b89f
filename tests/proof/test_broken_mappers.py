"""Bugs that a mapper could have, made by hand: a proof finds each, and says where and for which input.

``verify`` runs 32 random frames by default. It sees a bias that is there from frame 0 on (a spike too early), a relay
that is a tick short (spikes outside the ticks of frames; the rules of the chip see it, too) and two axons that are
swapped (any frame in which the two sources differ). It misses what only few inputs show, where weights, labels and
clocks keep all rules of the chip:

- a threshold clipped one too far makes a neuron that is never 1 spike for the one input in 2^24 that sets all sources
  of positive weight and none of negative weight;
- a digit that is dropped from the weight of one source is felt only where the sum meets the threshold exactly, for one
  input in 2^12.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

import neuromap as nm
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core import core_model
from neuromap.mapping.legalise import legalise
from neuromap.proof.counterexample import find_counterexample
from neuromap.proof.explanations import explain


def rollout_of(nodes, edges, pattern="streaming"):
    nodes = {name: ((1, 1, size), theta) for name, (size, theta) in nodes.items()}
    return nm.Rollout(nm.build_network(nodes, edges), pattern)


def is_caught(rollout, program, words):
    """Not proven, for a reason with these words, and an input shows it."""
    proof = nm.prove(rollout, program)
    assert not proof.proven
    told = explain(program, proof)
    assert any(words in line for line in told), told
    found = find_counterexample(rollout, program, proof).counterexample
    assert found is not None
    assert not nm.verify(rollout, program, found.frames).verified
    assert found.n_frames <= 4
    return found


def test_a_threshold_clipped_one_too_far(monkeypatch):
    """Verify misses it."""
    right = legalise.clip_thresholds

    def clip(theta, matrices):
        matrices = list(matrices)
        most = sum((np.asarray(m.maximum(0).sum(axis=1)) for m in matrices), np.zeros(len(theta), np.int64))
        return np.minimum(right(theta, matrices), np.maximum(most, 1))

    weights = np.ones((2, 24), int)
    weights[0, 12:] = weights[1, 1::2] = -1
    rollout = rollout_of({"I": (24, None), "O": (2, [13, 1])}, {("I", "O"): weights})
    assert nm.prove(rollout, nm.map_rollout(rollout, "truenorth")).proven
    monkeypatch.setattr(legalise, "clip_thresholds", clip)
    broken = nm.map_rollout(rollout, "truenorth")
    assert nm.verify(rollout, broken).verified
    found = is_caught(rollout, broken, "spikes from a sum of 12 on, O[0] from 13 on")
    assert found.frames["I"].sum() == 12


def test_a_digit_dropped_from_the_weight_of_one_source(monkeypatch):
    """Verify misses it."""
    right = core_model._digits

    def digits(values, base):
        counts = right(values, base)
        counts[values == 257, base.index(1)] -= 1
        return counts

    weights = np.array([[1 << k for k in range(11)] + [257], [0] * 11 + [1]])
    weights[0, 8] = 512  # so that 257 with others makes every sum in one way
    weights[0, 9:11] = 1024, 2048
    theta = 257 + 1024 + 64 + 8
    rollout = rollout_of({"I": (12, None), "O": (2, [theta, 1])}, {("I", "O"): weights})
    assert nm.prove(rollout, nm.map_rollout(rollout, "truenorth")).proven
    monkeypatch.setattr(core_model, "_digits", digits)
    monkeypatch.setattr(core_model, "_all_digits", core_model._all_digits.__wrapped__)  # which keeps the right ones
    broken = nm.map_rollout(rollout, "truenorth")
    assert nm.verify(rollout, broken).verified
    found = is_caught(rollout, broken, "weight 256 for 257 from I[11], 1 frame before")
    assert (found.chip, found.network) == (False, True)


def test_a_bias_from_frame_0_on():
    rollout = rollout_of({"I": (4, None), "O": (2, [0, -1])}, {("I", "O"): -np.ones((2, 4), int)})
    program = nm.map_rollout(rollout, "truenorth")
    assert nm.prove(rollout, program).proven
    is_bias = program.host.node == BIAS
    assert is_bias.any()
    first = np.where(is_bias, 0, program.host.first_frame).astype(np.int8)
    broken = replace(program, host=replace(program.host, first_frame=first))
    assert not nm.verify(rollout, broken).verified
    found = is_caught(rollout, broken, "the host's spike of every frame from frame 0 on, not from frame 1")
    assert found.frame is None


def test_a_relay_one_tick_short_for_one_neuron():
    names = ["I", *(f"H{k}" for k in range(18)), "O"]
    edges = dict.fromkeys([*pairwise(names), ("H0", "O")], np.eye(3, dtype=int))
    nodes = {name: (3, None if name == "I" else 2 if name == "O" else 1) for name in names}
    rollout = rollout_of(nodes, edges, "sequential")
    program = nm.map_rollout(rollout, "truenorth")
    assert nm.prove(rollout, program).proven
    core, n = np.argwhere(program.is_relay)[0]
    delay = program.delay.copy()
    delay[core, n] -= 1
    broken = replace(program, delay=delay)
    assert not nm.verify(rollout, broken).verified
    is_caught(rollout, broken, "reads a spike outside the ticks of its frames")


def test_two_axons_swapped_whose_rows_differ_for_one_neuron():
    weights = np.ones((6, 8), int)
    weights[5, 3] = 0
    rollout = rollout_of({"I": (8, None), "O": (6, [1, 2, 3, 4, 5, 6])}, {("I", "O"): weights})
    program = nm.map_rollout(rollout, "truenorth")
    assert nm.prove(rollout, program).proven
    rows = {bytes(row): k for k, row in enumerate(program.crossbar[0, :8])}
    assert len(rows) == 2
    bits = program.crossbar.copy()
    bits[0, list(rows.values())] = bits[0, list(rows.values())[::-1]]
    broken = replace(program, crossbar=bits)
    assert not nm.verify(rollout, broken).verified
    is_caught(rollout, broken, "weight 1 for 0 from I[3], 1 frame before")
