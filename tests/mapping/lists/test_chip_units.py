"""Networks in integers of their own on list cores: scaled by a power of two, their weights in lists that hold them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.checker import check_program
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Conv, Dense

OWN = {"current_bits": 18, "voltage_bits": 18}
"""Loihi's widths in units of its thresholds' step."""


def two_layers(seed, weights, **neuron):
    rng = np.random.default_rng(seed)
    size = len(weights)
    values = {"threshold": rng.integers(0, 400, size), "voltage_decay": rng.choice([0, 4096], size)}
    values |= {"bias": rng.integers(-40, 40, size), "refractory": rng.integers(0, 3, size), **OWN, **neuron}
    nodes = {"I": Node("I", (1, 1, weights.shape[1])), "O": Node("O", (1, 1, size), neuron=CurrentNeuron(**values))}
    return Network(
        "own", nodes, {("I", "O"): Edge("I", "O", Dense(nodes["I"].shape, nodes["O"].shape, weights=weights))}
    )


@given(seed=st.integers(0, 2**32 - 1), great=st.sampled_from([3, 255, 300, 510]))
@settings(deadline=None, max_examples=25)
def test_scaled_neurons_fire_as_their_own_integers_say(seed, great, list_chip):
    weights = np.random.default_rng(seed).integers(-great, great + 1, (6, 5))
    rollout = nm.Rollout(two_layers(seed, weights), "streaming")
    program = nm.map_rollout(rollout, list_chip(neurons=4), placer="row-major")
    assert program.scales == {"O": 6}
    found = nm.verify(rollout, program, n_frames=60, threads=1)
    assert found.verified, found.message


def test_rails_and_wrapping_scale_with_the_widths(list_chip):
    # up to 306,000 in a tick, where 18 bits wrap at 131,072 and voltages stop at 131,071
    weights = np.repeat([[-510], [255]], 600, axis=1)
    rollout = nm.Rollout(
        two_layers(0, weights, threshold=100, voltage_decay=0, bias=[30, 0], refractory=0), "streaming"
    )
    program = nm.map_rollout(rollout, list_chip())
    for engine in ("numpy", "fast"):
        found = nm.verify(rollout, program, n_frames=40, density=0.45, engine=engine, threads=1)
        assert found.verified, found.message
        assert found.n_spikes


def test_widths_of_the_chip_are_scaled_only_where_no_value_can_meet_a_rail(list_chip):
    free = {"current_bits": 24, "voltage_bits": 24, "voltage_decay": 4096, "threshold": 100}
    rollout = nm.Rollout(two_layers(1, np.array([[5, -7]]), **free), "streaming")
    program = nm.map_rollout(rollout, list_chip())
    assert program.neurons.threshold[0, 0] == 6400 // 4  # 100 is 25 * 4, so 2^4 is enough
    assert nm.verify(rollout, program, n_frames=60, threads=1).verified
    with pytest.raises(
        DoesNotFitError, match=r"might meet the chip's rails; current_bits = 20, voltage_bits = 20 would"
    ):
        nm.map_rollout(
            nm.Rollout(two_layers(1, np.array([[5, -7]]), **free | {"voltage_decay": 0}), "streaming"), list_chip()
        )


def test_a_floor_that_only_many_ticks_reach_is_asked_for_too(list_chip):
    """Drives downward add up, so that the chip's rail would stop what the network's floor does not yet."""
    chip = list_chip()
    chip = replace(chip, core_figures=replace(chip.lists, floors="any"))
    down = {"current_bits": 24, "voltage_bits": 24, "voltage_decay": 0, "threshold": 100, "bias": 0}
    for floor, fits in ((2**10, True), (2**21, False)):
        rollout = nm.Rollout(two_layers(1, np.array([[5, -7]]), **down, floor=floor), "streaming")
        if fits:
            assert nm.prove(rollout, nm.map_rollout(rollout, chip)).proven
        else:
            with pytest.raises(DoesNotFitError, match="might meet the chip's rails"):
                nm.map_rollout(rollout, chip)


@given(seed=st.integers(0, 2**32 - 1), subtract=st.booleans())
@settings(deadline=None, max_examples=15)
def test_resets_and_floors_scale_too(seed, subtract, list_chip):
    rng = np.random.default_rng(seed)
    chip = list_chip()
    chip = replace(chip, core_figures=replace(chip.lists, soft_reset=True, reset_values=True, floors="any"))
    floor = rng.integers(0, 300, 6)
    after = {"subtract": 1, "threshold": 400} if subtract else {"reset": rng.integers(-floor, 90)}
    weights = rng.integers(-70, 71, (6, 5))
    rollout = nm.Rollout(two_layers(seed, weights, floor=floor, **after), "streaming")
    found = nm.verify(rollout, nm.map_rollout(rollout, chip, placer="row-major"), n_frames=60, threads=1)
    assert found.verified, found.message


def test_thresholds_taken_off_are_scaled_only_below_the_rail(list_chip):
    chip = list_chip()
    chip = replace(chip, core_figures=replace(chip.lists, soft_reset=True))
    net = two_layers(0, np.full((1, 2), 90), subtract=1, threshold=100, bias=0, voltage_decay=0)
    with pytest.raises(DoesNotFitError, match="drives up to the threshold in a tick, or subtract = 0, would do"):
        nm.map_rollout(nm.Rollout(net, "streaming"), chip)


def test_decays_that_round_are_not_scaled(list_chip):
    net = two_layers(1, np.array([[5, -7]]), voltage_decay=100)
    with pytest.raises(DoesNotFitError, match="defined with current_bits = 18, those of tiny have 24"):
        nm.map_rollout(nm.Rollout(net, "streaming"), list_chip())


def test_lists_of_one_run_stay_as_they_are(list_chip):
    weights = np.array([[254], [-256 + 2]]) * 64
    own = {"current_bits": 24, "voltage_bits": 24, "threshold": 64}
    program = nm.map_rollout(nm.Rollout(two_layers(0, weights, **own), "streaming"), list_chip())
    assert program.neurons.scale is None
    assert program.synapses.weight.tolist() == weights.ravel().tolist()
    assert program.synapses.runs(program.chip).tolist() == [1]


def test_a_list_has_a_run_for_each_sign_and_wide_weights_are_two_synapses(list_chip):
    program = nm.map_rollout(nm.Rollout(two_layers(0, np.array([[261], [-3], [7]])), "streaming"), list_chip())
    assert sorted(program.synapses.weight.tolist()) == [-3 * 64, 6 * 64, 7 * 64, 255 * 64]
    assert program.synapses.runs(program.chip).tolist() == [2]
    lists = program.chip.lists
    assert program.synapses.bits(program.chip).tolist() == [2 * lists.list_bits + 4 * lists.synapse_bits]
    tight = replace(program.chip, core_figures=replace(lists, synapse_memory_bits=2 * lists.list_bits + 99))
    assert [v.rule for v in check_program(replace(program, chip=tight))] == ["synapse-memory"]


def kernels(memory, list_chip):
    """A convolution of 4 to 8 features over 12 x 12, on cores with so much memory."""
    rng = np.random.default_rng(3)
    neuron = CurrentNeuron(threshold=200, voltage_decay=0, bias=9, **OWN)
    nodes = {"S": Node("S", (12, 12, 4), neuron=neuron), "O": Node("O", (10, 10, 8), neuron=replace(neuron, bias=0))}
    conv = Conv((12, 12, 4), (10, 10, 8), (3, 3), (1, 1), "valid", weights=rng.integers(-200, 201, (3, 3, 4, 8)))
    net = Network("kernels", nodes, {("S", "O"): Edge("S", "O", conv)})
    return nm.Rollout(net, "streaming"), list_chip(synapse_memory_bits=memory)


def test_kernels_are_stored_once_per_core_and_the_checker_counts_them_again(list_chip):
    rollout, chip = kernels(200_000, list_chip)
    program = nm.map_rollout(rollout, chip)
    plain = nm.map_rollout(rollout, replace(chip, core_figures=replace(chip.lists, shares_lists=0)))
    assert program.n_cores < plain.n_cores / 2
    assert check_program(program) == []
    assert nm.verify(rollout, program, n_frames=60, threads=1).verified
    most = int(program.synapses.bits(chip).max())
    tight = replace(chip, core_figures=replace(chip.lists, synapse_memory_bits=most - 1))
    assert [v.rule for v in check_program(replace(program, chip=tight))] == ["synapse-memory"]
    exact = replace(chip, core_figures=replace(chip.lists, synapse_memory_bits=most))
    assert check_program(replace(program, chip=exact)) == []


def test_a_threshold_at_the_rail_is_not_scaled_to_where_the_chip_passes_it(list_chip):
    # the network's voltage stops at 131,071 and never passes it; the chip's stops at 131,071 * 64 + 63
    at_rail = {"threshold": 2**17 - 1, "voltage_decay": 0, "bias": 9000}
    with pytest.raises(DoesNotFitError, match="a threshold of 131071, its rail, which it never passes, might meet"):
        nm.map_rollout(nm.Rollout(two_layers(0, np.array([[3]]), **at_rail), "streaming"), list_chip())


def test_widths_too_near_the_chips_are_refused_with_the_threshold(list_chip):
    network = two_layers(0, np.array([[3]]), threshold=20, current_bits=22, voltage_bits=22)
    with pytest.raises(
        DoesNotFitError, match=r"threshold 20, times 4 as its widths say, is not a multiple of 64.*; 16 wou"
    ):
        nm.map_rollout(nm.Rollout(network, "streaming"), list_chip())


def test_a_neuron_whose_lists_fit_no_core_in_two_runs_is_refused(list_chip):
    # two neurons fit a core with a run a list, which their signs do not; with two runs no neuron fits one
    weights = np.where(np.arange(20)[:, None] % 2, 255, -253) * np.ones((1, 60), int)
    chip = list_chip(synapse_memory_bits=60 * (64 + 2 * 25))
    with pytest.raises(DoesNotFitError, match="weights of both signs up to"):
        nm.map_rollout(nm.Rollout(two_layers(0, weights), "streaming"), chip)
