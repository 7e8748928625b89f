"""Unfolding: copies that take frames in turn compute what the network computes, at the cycle ratio on average."""

import re
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NotSupportedError
from neuromap.network import CurrentNeuron, GradedNeuron, Network, build_network
from neuromap.rollout import Rollout, RolloutPattern, maximum_cycle_ratio, period_curve, unfold
from neuromap.verification import verify


def weighted(net, graded, rng):
    """The structure with a few neurons a node and random weights."""
    size = {name: int(rng.integers(1, 4)) for name in net.nodes}
    inner = {name: GradedNeuron(-7, 7, 3, 2, int(rng.integers(-3, 4))) if graded else 1 for name in net.nodes}
    nodes = {
        n: (size[n], (GradedNeuron(-7, 7) if graded else None) if n in net.inputs else inner[n]) for n in net.nodes
    }
    edges = {(u, v): rng.integers(-2, 3, (size[v], size[u])) for u, v in net.edges}
    return build_network(nodes, edges, outputs=net.outputs)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), copies=st.integers(1, 4), graded=st.booleans())
def test_copies_compute_what_the_network_computes(rollouts, with_outputs, data, copies, graded):
    structure, pattern = data.draw(with_outputs(rollouts(max_nodes=5, max_extra=5)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    net = weighted(structure, graded, rng)
    pattern = RolloutPattern(net, pattern.values)
    frames = nm.random_frames(net, 1 + copies * 3, seed=5)
    found = unfold(net, pattern, copies)
    turns = nm.reference(Rollout(found.network, found.pattern), found.turns(frames))
    expected = nm.reference(Rollout(net, pattern), frames)
    for name, rows in found.frames(turns).items():
        assert (rows == expected[name]).all()


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), copies=st.integers(1, 4))
def test_a_turn_takes_the_cycle_ratio_times_copies(rollouts, data, copies):
    net, pattern = data.draw(rollouts(max_nodes=5, max_extra=5))
    ratio = maximum_cycle_ratio(pattern)
    found = unfold(net, pattern, copies)
    turn = Rollout(found.network, found.pattern, "pipelined").frame_period
    assert turn == (1 if ratio is None else ceil(copies * ratio))


@pytest.mark.law
@pytest.mark.parametrize("chip", ["truenorth", "loihi1"])
def test_two_copies_reach_three_halves_on_the_chip(chip):
    rng = np.random.default_rng(0)
    edges = [("I", "A"), ("A", "B"), ("B", "C"), ("C", "A")]
    net = build_network(
        {n: (4, None if n == "I" else 1) for n in "IABC"},
        {e: rng.integers(-1, 3, (4, 4)) for e in edges},
        outputs=["C"],
    )
    pattern = RolloutPattern(net, (0, 1, 1, 0))
    found = unfold(net, pattern, 2)
    assert Rollout(net, pattern, "pipelined").frame_period == 2
    rollout = Rollout(found.network, found.pattern, "pipelined")
    program = nm.map_rollout(rollout, chip)
    assert Fraction(program.period, found.copies) == Fraction(3, 2)
    frames = found.turns(nm.random_frames(net, 21, seed=1))
    assert verify(rollout, program, frames).verified


def test_what_cannot_take_turns_is_refused():
    net = Network.from_edges([("I", "O")])
    with pytest.raises(InputError, match="copies = 0: must be 1 to 1024"):
        unfold(net, "streaming", 0)
    spiking = build_network({"I": (1, None), "O": (1, CurrentNeuron(5))}, {("I", "O"): [[1]]})
    with pytest.raises(NotSupportedError, match="remember from tick to tick and cannot take turns"):
        unfold(spiking, "streaming", 2)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "theorems" / "unfolding.md"
ROWS = [re.split(r" *\| *", line)[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if " | s" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_copies_of_the_papers_networks_hold_what_the_page_says(row):
    name, pattern, *held, rates = row
    net = nm.load_network(f"examples/structures/{name.lower()}.toml")
    for copies, (neurons, rate) in enumerate(zip(held, rates.split(", "), strict=True), 1):
        found = unfold(net, pattern, copies)
        period = nm.Rollout(found.network, found.pattern, "pipelined").frame_period
        (point,) = period_curve(found.network, found.pattern, [period])
        assert f"{point.held:,}" == neurons
        assert copies == int(rate) * period
