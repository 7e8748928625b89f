"""Verification: what agrees, what differs, what is stray, and programs of other networks."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import ProgramError, StimulusError, VerificationError
from neuromap.hardware.checker import check_program
from neuromap.mapping.map_rollout import map_rollout, map_with_stages
from neuromap.mapping.options.options import MappingOptions, Pins
from neuromap.network.build import build_network
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import DEFAULT_FRAMES
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.stimulus import random_frames
from neuromap.verification.law import require_verified, verify
from neuromap.verification.verdict import Mismatch, Stray

pytestmark = pytest.mark.law


def identity(n=3, name="copy", threshold=1, nodes=("I", "A", "O")):
    eye = np.eye(n, dtype=int)
    edges = list(pairwise(nodes))
    sizes = {v: (n, threshold if k else None) for k, v in enumerate(nodes)}
    return build_network(sizes, dict.fromkeys(edges, eye), name=name)


@pytest.fixture
def mapped():
    rollout = Rollout(identity(), "sequential")
    return rollout, map_rollout(rollout, "truenorth")


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_mapped_programs_are_verified(networks, patterns, chip, data):
    network = data.draw(networks(weights=st.integers(-2, 2), thresholds=st.integers(-2, 4)))
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(["windowed", "pipelined"])))
    frames = random_frames(network, 9, seed=data.draw(st.integers(0, 9)))
    result = verify(rollout, map_rollout(rollout, chip(delay=(1, 4))), frames)
    assert result.verified, result.message
    expected = reference(rollout, frames)
    assert result.n_spikes == sum(int(expected[o][1:].sum()) for o in network.outputs)
    assert result.n_compared == sum(8 * network.nodes[o].size for o in network.outputs)
    require_verified(result)


def test_a_program_of_other_weights_differs(mapped):
    _, program = mapped
    rollout = Rollout(identity(threshold=2), "sequential")  # never spikes
    frames = np.zeros((4, 3), dtype=bool)
    frames[2, 1] = True
    result = verify(rollout, program, {"I": frames})
    port = next(port for port in program.nodes if port.name == "O")
    tick = port.sample_tick + 2 * program.period
    assert result.first_mismatch == Mismatch("O", 2, 1, True, False, tick)
    assert (result.n_mismatches, result.n_strays, result.n_compared) == (1, 0, 9)
    assert f"1 of 9 values differ, first node O, frame 2, neuron 1, tick {tick}: chip 1, reference 0" in result.message
    with pytest.raises(VerificationError, match="1 of 9 values differ"):
        require_verified(result)


def test_a_spike_between_frames_is_stray(mapped):
    rollout, program = mapped
    assert program.period == 2
    host = replace(program.host, arrival=program.host.arrival + 1)
    frames = np.zeros((4, 3), dtype=bool)
    frames[1, 2] = True
    result = verify(rollout, replace(program, host=host), {"I": frames})
    port = next(port for port in program.nodes if port.name == "O")
    assert result.n_strays == 1
    assert result.first_stray == Stray("O", port.sample_tick + program.period + 1, 2)
    assert result.n_mismatches == 1
    assert not result.verified


def test_a_stray_spike_alone_is_enough(mapped):
    rollout, program = mapped
    host = program.host
    twice = {name: np.concatenate([array, array]) for name, array in vars(host).items() if array is not None}
    twice["arrival"][len(host) :] += 1  # every input spike comes again in the tick after, between two frames
    frames = np.zeros((4, 3), dtype=bool)
    frames[1, 0] = True
    result = verify(rollout, replace(program, host=type(host)(**twice)), {"I": frames})
    assert (result.n_mismatches, result.n_strays, result.verified) == (0, 1, False)
    with pytest.raises(VerificationError, match="1 stray spike, first node O, neuron 0"):
        require_verified(result)


def with_weight(program, weight):
    """The program with one weight of a neuron that is in use changed, of an axon type that no axon has."""
    weights = program.neurons.weights.copy()
    weights[0, 0, 3] = weight
    assert not (program.axon_types == 3).any()
    return replace(program, neurons=replace(program.neurons, weights=weights))


def test_a_program_that_breaks_a_rule_of_its_chip_is_not_verified(mapped):
    rollout, program = mapped
    assert verify(rollout, program).n_violations == 0
    assert verify(rollout, program).first_violation is None
    assert verify(rollout, with_weight(program, 255)).verified

    illegal = with_weight(program, 256)
    result = verify(rollout, illegal)
    # it computes what it should, on a chip that cannot be built
    assert (result.n_mismatches, result.n_strays, result.n_violations) == (0, 0, 1)
    assert result.verified is False
    assert result.first_violation == check_program(illegal)[0].message
    assert "1 rule of the chip is broken, first core 0, neuron 0" in result.message
    assert "256" in result.message
    with pytest.raises(VerificationError, match="256"):
        require_verified(result)


@pytest.mark.parametrize(("field", "value"), [("target_axon", 256), ("target_core", 7), ("delay", 0), ("delay", 16)])
def test_a_program_whose_indices_lead_out_of_it_is_not_simulated(mapped, field, value):
    rollout, program = mapped
    array = getattr(program, field).copy()
    core, neuron = np.argwhere(program.target_core >= 0)[0]
    array[core, neuron] = value
    with pytest.raises(ProgramError, match=str(value)):
        verify(rollout, replace(program, **{field: array}))


def test_a_silent_comparison_says_so(mapped):
    rollout, program = mapped
    result = verify(rollout, program, {"I": np.zeros((4, 3), dtype=bool)})
    assert result.verified
    assert result.n_spikes == 0
    assert "no output neuron spikes" in result.message
    assert "(frames 1 to 3, 0 spikes" in result.message
    assert "no output neuron spikes" not in verify(rollout, program).message


def test_random_frames_follow_seed_density_and_number(mapped):
    rollout, program = mapped
    assert verify(rollout, program, density=0.0).n_spikes == 0
    assert verify(rollout, program, density=1.0, n_frames=6).n_spikes == 5 * 3
    assert verify(rollout, program).n_frames == DEFAULT_FRAMES
    assert verify(rollout, program, seed=1).n_spikes != verify(rollout, program, seed=2).n_spikes


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (identity(n=4), "node I has 3 neurons, in network copy 4"),
        (identity(nodes=("I", "B", "O")), "has no node B"),
        (identity(nodes=("I", "A")), "node A is hidden, in network copy output"),
    ],
)
def test_a_program_of_another_network_is_refused(mapped, network, words):
    with pytest.raises(ProgramError, match=words):
        verify(Rollout(network, "streaming"), mapped[1])


def test_a_program_with_a_node_too_many_is_refused(mapped):
    rollout, program = mapped
    more = replace(program, nodes=(*program.nodes, replace(program.nodes[1], name="X")))
    with pytest.raises(ProgramError, match="node X does not exist in network copy"):
        verify(rollout, more)


def test_frames_of_the_wrong_size_are_refused(mapped):
    with pytest.raises(StimulusError, match="shape"):
        verify(*mapped, {"I": np.zeros((4, 2), dtype=bool)})


def test_a_program_of_another_frame_period_is_not_verified():
    """Its frames are right, its worst-case reaction is not that of the rollout."""
    slow, fast = (Rollout(identity(), "streaming", f"pipelined:{period}") for period in (7, 2))
    program = map_rollout(slow, "truenorth")
    good, bad = verify(slow, program), verify(fast, program)
    assert good.verified
    assert (good.frame_period_ticks, good.rollout_period_ticks) == (7, 7)
    assert (bad.n_mismatches, bad.n_strays, bad.n_violations) == (0, 0, 0)
    assert not bad.verified
    assert (bad.frame_period_ticks, bad.rollout_period_ticks) == (7, 2)
    with pytest.raises(VerificationError, match="frame period of the program is 7 ticks, that of the rollout 2"):
        require_verified(bad)


def test_frame_periods_are_compared_in_ticks():
    rollout = Rollout(identity(), "sequential", "pipelined:2")
    program = map_rollout(rollout, "truenorth", ticks_per_step=3)
    assert program.period == 6
    assert verify(rollout, program).rollout_period_ticks == 6
    assert verify(rollout, program).verified
    assert not verify(rollout, replace(program, ticks_per_step=1)).verified


def test_splitters_that_lengthen_the_frame_period_leave_it_open():
    """A program file knows no latencies: held against the same rollout in steps, only its frames can be compared."""
    steps = Rollout(identity(), "streaming", "windowed")
    mapped = map_with_stages(steps, "truenorth", MappingOptions(pins=Pins(splitters=frozenset({("A", "O")}))))
    ticks, program = mapped.rollout, mapped.program
    assert ticks.is_tick_level
    assert ticks.frame_period == program.period > steps.frame_period
    assert verify(ticks, program).rollout_period_ticks == program.period
    found = verify(steps, program)
    assert found.verified
    assert found.rollout_period_ticks is None
    assert not verify(Rollout(identity(), "streaming", "pipelined"), program).verified  # the label says windowed
