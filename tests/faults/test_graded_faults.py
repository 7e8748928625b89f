"""Faults of graded cores: bits of payloads, stuck values, lost messages; edits of their programs."""

import numpy as np
import pytest
from graded_networks import graded_network, small_graded_chip

import neuromap as nm
from neuromap.errors import InputError
from neuromap.faults import Faults, strike, struck_frames, study_faults
from neuromap.faults.edited_program import LossyChip, ThresholdEdit, WeightEdit, apply_edits
from neuromap.simulation.choose_frames import RandomFrames
from neuromap.simulation.engine.engine import make_engine, values_of
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import FedFrames

NUMPY = EngineChoice("numpy", threads=1)


@pytest.fixture(scope="module")
def mapped():
    rollout = nm.Rollout(graded_network(1), "streaming", "windowed")
    program = nm.map_rollout(rollout, chip=small_graded_chip())
    return rollout, program, nm.random_frames(rollout.network, 7, seed=3)


def test_without_faults_every_message_is_that_of_the_engine(mapped):
    _, program, frames = mapped
    events = FedFrames(program, frames).events(0, 9)
    expected = make_engine(program, NUMPY).run(events)
    found = LossyChip(program, Faults({"flipped-payloads": 0.0, "dropped-spikes": 0.0}), NUMPY).run(events)
    assert all(np.array_equal(a, b) for a, b in zip(found.spikes, expected, strict=True))
    assert found.flipped == (0, len(program.sent_by(expected.cores, expected.neurons).spike))


def test_one_bit_of_a_payload_is_the_other(mapped):
    _, program, frames = mapped
    chip = LossyChip(program, Faults({"flipped-payloads": 1.0}, seed=2), NUMPY)
    sent = make_engine(program, NUMPY).run(FedFrames(program, frames).events(0, 9))
    way = np.arange(len(sent.cores))
    values = values_of(sent)
    low, high = (bound[sent.cores, sent.neurons] for bound in (program.units.low, program.units.high))
    ranges = zip(low.tolist(), high.tolist(), strict=True)
    n_bits = np.array([max(most, -1 - least).bit_length() + (least < 0) for least, most in ranges])
    seen = set()
    for drawn in np.linspace(0, 0.999, 20):
        other = chip._flipped(sent, way, values, np.full(len(way), drawn))
        assert ((other >= low) & (other <= high)).all()
        # where the range ends, the value stops; elsewhere numbers in two's complement differ in one bit
        inside = (other > low) & (other < high)
        differing = ((values ^ other) & ((1 << n_bits) - 1))[inside]
        assert (np.bitwise_count(differing) == 1).all()
        seen |= set(differing.tolist())
    assert len(seen) > 4


def test_a_study_of_payloads_counts_values_that_changed(mapped):
    rollout, _, _ = mapped
    study = study_faults(
        [rollout], chip=small_graded_chip(), kinds=["flipped-payloads", "silent-neurons"], rates=[0, 1], seeds=1,
        stimuli=RandomFrames(9), n_stimuli=1, choice=NUMPY,
    )  # fmt: skip
    by_name = {(run.kind, run.rate): run for run in study.runs}
    flipped, silent = by_name["flipped-payloads", 1.0], by_name["silent-neurons", 1.0]
    assert by_name["flipped-payloads", 0.0].error == 0
    assert flipped.struck == flipped.at_risk > 0
    assert flipped.changed > 0
    assert flipped.error == (flipped.changed + flipped.lost + flipped.added) / flipped.bits
    assert (silent.changed, silent.added) == (0, 0)
    assert silent.lost > 0
    assert silent.first_response_ticks is None


def test_a_stuck_neuron_sends_nothing_or_its_greatest_value(mapped):
    _, program, frames = mapped
    silent = struck_frames(program, Faults({"silent-neurons": 1.0}), {"I": frames["I"][None]}, NUMPY)
    assert not silent.frames["O"].any()
    for choice in (NUMPY, EngineChoice("fast", threads=1)):  # in every tick, though nothing is fed
        nothing = {"I": np.zeros((1, 7, 36), np.int32)}
        firing = struck_frames(program, Faults({"firing-neurons": 1.0}), nothing, choice)
        assert (firing.frames["O"][:, 1:] == program.value_ranges["O"][1]).all()


def test_a_synapse_that_flips_has_the_other_sign(mapped):
    _, program, _ = mapped
    struck = strike(program, Faults({"flipped-synapses": 1.0}))
    assert np.array_equal(struck.program.synapses.weight, -program.synapses.weight)
    assert struck.counts["flipped-synapses"] == (program.n_synapses, program.n_synapses)


def test_weights_are_edited_and_thresholds_are_refused(mapped):
    rollout, program, frames = mapped
    edited = apply_edits(program, [WeightEdit("I", 0, "O", 1, 100)])
    found = nm.simulate(edited, frames, engine="numpy").frames("O")
    edges = dict(rollout.network.edges)
    matrix = edges["I", "O"].matrix().toarray()
    matrix[1, 0] = 100
    nodes = {name: (node.shape or node.size, node.neuron) for name, node in rollout.network.nodes.items()}
    weights = {key: matrix if key == ("I", "O") else edge.matrix().toarray() for key, edge in edges.items()}
    other = nm.build_network(nodes, weights, outputs=["O"])
    assert np.array_equal(found, nm.reference(nm.Rollout(other, "streaming"), frames)["O"])
    with pytest.raises(InputError, match="graded neurons have no threshold; change a weight"):
        apply_edits(program, [ThresholdEdit("H", 1)])


def test_spikes_have_no_payload():
    net = nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    program = nm.map_rollout(nm.Rollout(net, "sequential"), chip="truenorth")
    with pytest.raises(InputError, match="sends spikes, which carry nothing; choose of dead-cores"):
        struck_frames(program, Faults({"flipped-payloads": 0.1}), {"I": np.ones((1, 3, 2), bool)}, NUMPY)
