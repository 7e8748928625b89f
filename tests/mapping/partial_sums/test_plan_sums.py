"""Sums in parts, held against an independent reference that knows nothing of networks, cores and axons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.mapping.bounds.lower_bounds import counted_cores
from neuromap.mapping.core.planned_sums import plan_sums, wide_node
from neuromap.mapping.legalise.legalised import PartialSums
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import build_network
from neuromap.network.transforms import Conv
from neuromap.verification import measure


def spikes(sums: PartialSums, inputs: np.ndarray, frames: int) -> np.ndarray:
    """Step the parts as their equations say, tick by tick, one spike a tick each; shape (frames, n)."""
    slices = sums.layers[0]
    layers = [layer.matrix.toarray() for layer in sums.layers]
    v = [-layer.offset.copy() for layer in sums.layers]
    gather, theta = sums.gather.toarray(), sums.threshold
    found = []
    for x in inputs[:frames]:
        total = np.zeros(gather.shape[0], np.int64)
        v[0] += layers[0] @ x
        if sums.lift is None:  # all in one tick: slices forget
            found.append(gather @ (v[0] >= 1) >= theta)
            v[0] = -slices.offset.copy()
            continue
        for tick in range(sums.window):
            arriving = np.zeros(0, np.int64)
            for k, matrix in enumerate(layers):
                if k:
                    v[k] += matrix @ arriving
                if k == 0 and tick >= sums.ticks:  # emptied
                    arriving = np.zeros(len(v[0]), np.int64)
                    continue
                arriving = (v[k] >= 1).astype(np.int64)
                v[k] -= arriving
            total += gather @ arriving
            assert (sums.lift.total + total >= 0).all()
            assert (sums.lift.total + total < sums.alpha).all()
        assert all((rest <= 0).all() for rest in v[1:])
        found.append(2 * sums.lift.total + total >= sums.alpha)
        v[0] = -slices.offset.copy()
    return np.array(found)


@settings(deadline=None, max_examples=120)
@given(st.data())
def test_parts_count_what_the_node_sums(chip, data):
    axons = data.draw(st.sampled_from([12, 20, 64]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, s = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 20 * axons))
    most = data.draw(st.sampled_from([1, 3, 300]))
    weights = rng.integers(-most, most + 1, (n, s))
    theta = rng.integers(-most * s // 2, most * s // 2 + 1, n)
    net = build_network({"I": ((1, 1, s), None), "O": ((1, 1, n), theta)}, {("I", "O"): weights}, outputs=["O"])
    ticks = data.draw(st.one_of(st.none(), st.integers(1, 2 * most * axons)))
    try:
        sums = plan_sums(wide_node(net, "O"), chip(axons=axons), ticks)
    except DoesNotFitError as refusal:
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    x = rng.random((3, s)) < rng.random((3, 1))
    np.testing.assert_array_equal(spikes(sums, x.astype(np.int64), 3), x @ weights.T >= theta)


def test_parts_that_share_no_core_read_one_input_each(chip):
    """No core takes an input for the parts of both neurons together, but by itself each part fits."""
    weights, theta = np.array([[276, 288], [154, 238]]), np.array([276, 239])
    net = build_network({"I": ((1, 1, 2), None), "O": ((1, 1, 2), theta)}, {("I", "O"): weights}, outputs=["O"])
    sums = plan_sums(wide_node(net, "O"), chip(axons=20))
    assert (sums.most_inputs, sums.runs) == (1, 2)
    x = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(spikes(sums, x, 4), x @ weights.T >= theta)


def test_more_ticks_take_fewer_cores_and_answer_later(chip):
    """One frontier between cores and ticks: every step along it wins on one side what it loses on the other."""
    rng = np.random.default_rng(0)
    net = build_network(
        {"I": ((1, 1, 300), None), "H": ((1, 1, 20), 2), "O": ((1, 1, 4), 1)},
        {("I", "H"): rng.integers(-1, 2, (20, 300)), ("H", "O"): rng.integers(-1, 2, (4, 20))}, outputs=["O"],
    )  # fmt: skip
    found = []
    for ticks in (4, 8, 16, 48):
        rollout = nm.Rollout(net, "sequential")
        mapped = map_with_stages(rollout, chip(axons=96), MappingOptions(wide="partial-sums", wide_ticks=ticks))
        first = mapped.rollout.first_response("O")
        assert measure(mapped.program)["O"].first_response_ticks == first
        assert measure(mapped.program)["O"].full_response_ticks == mapped.rollout.full_response("O")
        assert 1 <= counted_cores(mapped.network, mapped.program.chip).total <= mapped.program.n_cores
        found.append((first, -mapped.program.n_cores))
    assert found == sorted(found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
def test_convolutions_with_shared_windows_and_a_self_edge(agrees, chip, pattern, execution):
    rng = np.random.default_rng(1)

    def conv(source, target, kernel):
        weights = rng.choice([-1, 0, 1], (*kernel, source[2], target[2]))
        return Conv(source, target, kernel, weights=weights)

    i, h = (6, 6, 8), (6, 6, 6)
    edges = {("I", "H"): conv(i, h, (3, 3)), ("H", "H"): conv(h, h, (3, 3)), ("H", "O"): rng.integers(-1, 2, (5, 216))}
    net = build_network({"I": (i, None), "H": (h, 3), "O": ((1, 1, 5), 2)}, edges, outputs=["O"])
    named = nm.RolloutPattern.named(net, pattern)
    program = agrees(net, named, execution, chip(axons=64, neurons=64), wide="partial-sums", wide_ticks=8)
    assert program.is_part.any()


def test_a_network_that_fits_is_not_cut(chip):
    net = build_network(
        {"I": ((1, 1, 60), None), "O": ((1, 1, 3), 1)}, {("I", "O"): np.ones((3, 60), int)}, outputs=["O"]
    )
    rollout = nm.Rollout(net, "streaming")
    cut, plain = (nm.map_rollout(rollout, chip(axons=64), wide=wide) for wide in ("partial-sums", "refuse"))
    assert cut.is_part is None
    assert program_bytes(cut) == program_bytes(plain)


def test_the_refusal_offers_sums_in_parts(chip):
    net = build_network(
        {"I": ((1, 1, 60), None), "O": ((1, 1, 3), 1)}, {("I", "O"): np.ones((3, 60), int)}, outputs=["O"]
    )
    with pytest.raises(DoesNotFitError, match="partial-sums") as refused:
        nm.map_rollout(nm.Rollout(net, "streaming"), chip(axons=32))
    assert "wide" in [remedy.lever for remedy in refused.value.infeasibility.remedies]
    with pytest.raises(DoesNotFitError, match="threshold_bits"):
        nm.map_rollout(nm.Rollout(net, "streaming"), chip(axons=32, threshold_bits=3), wide="partial-sums")


def test_one_neuron_of_one_sign_does_not_hide_another_of_both(chip):
    """The neuron with most wires has one sign; joining wires must leave room for both signs of the other."""
    weights = np.zeros((2, 40), int)
    weights[0], weights[1, :3], weights[1, 3:5] = 1, 1, -1
    net = build_network({"I": (40, None), "O": (2, 2)}, {("I", "O"): weights}, outputs=["O"])
    with pytest.raises(DoesNotFitError, match="a neuron needs 5 axons"):
        plan_sums(wide_node(net, "O"), chip(axons=4, neurons=16))
    assert plan_sums(wide_node(net, "O"), chip(axons=5, neurons=16)).window == 20


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"axon_types": 1}, "axon_types = 1 .*; 2 axon types would do"),
        ({"potential_bits": 9}, "potential_bits = 9 .*; potential_bits = 10 would do"),
        ({"threshold_bits": 8}, "threshold_bits = 8 .*; threshold_bits = 9 would do"),
        ({"weight_bits": 3}, "needs 203 axons"),
    ],
)
def test_refusals_name_the_figure_that_is_short(chip, figures, says):
    weights = np.random.default_rng(0).integers(-1, 2, (5, 400))
    net = build_network({"I": (400, None), "O": (5, 2)}, {("I", "O"): weights}, outputs=["O"])
    with pytest.raises(DoesNotFitError, match=says):
        nm.map_rollout(nm.Rollout(net, "streaming"), chip(axons=64, **figures), wide="partial-sums")


def test_a_part_that_feeds_another_neuron_breaks_a_rule(chip):
    net = build_network(
        {"I": (40, None), "A": (3, 1), "O": (2, 1)},
        {("I", "A"): np.ones((3, 40), int), ("A", "O"): np.ones((2, 3), int)}, outputs=["O"],
    )  # fmt: skip
    program = nm.map_rollout(nm.Rollout(net, "streaming"), chip(axons=24), wide="partial-sums")
    assert nm.check_program(program) == []
    neighbours = np.where(program.neuron_node == 1, (program.neuron_index + program.is_part) % 3, program.neuron_index)
    wrong = replace(program, neuron_index=neighbours.astype(np.int32))
    assert "part-target" in {violation.rule for violation in nm.check_program(wrong)}
