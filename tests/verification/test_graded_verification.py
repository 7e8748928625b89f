"""Integers are compared exactly; responses are measured on programs that send values as on others."""

from dataclasses import replace
from functools import partial

import jsonschema
import numpy as np
import pytest
from graded_networks import graded_network, graded_rollouts, small_graded_chip

import neuromap as nm
from neuromap.errors import DoesNotFitError, NetworkError
from neuromap.network import Dense, GradedNeuron, build_network
from neuromap.simulation.reference_frames import reference, reference_batch
from neuromap.verification import first_difference, measure, verify


@pytest.fixture(scope="module")
def mapped():
    rollout = nm.Rollout(graded_network(2), "sequential", "pipelined")
    return rollout, nm.map_rollout(rollout, chip=small_graded_chip())


def test_a_value_that_is_off_by_one_is_told_with_both_values(mapped):
    rollout, program = mapped
    frames = nm.random_frames(rollout.network, 6)
    wanted = reference(rollout, frames)["O"]
    frame, neuron = (int(k) for k in np.argwhere(np.abs(wanted) > 1)[0])
    value = int(wanted[frame, neuron])
    row = np.flatnonzero(program.outputs.index == neuron)[0]
    place = program.outputs.core[row], program.outputs.neuron[row]
    bounds = {name: getattr(program.units, name).copy() for name in ("low", "high")}
    if value > 0:
        bounds["high"][place] = value - 1
    else:
        bounds["low"][place] = value + 1
    result = verify(rollout, replace(program, units=replace(program.units, **bounds)), frames, engine="numpy")
    chip = value - int(np.sign(value))
    assert not result.verified
    assert (result.first_mismatch.chip, result.first_mismatch.reference) == (chip, value)
    assert f"node O, frame {frame}, neuron {neuron}, tick" in result.message
    assert f"chip {chip}, reference {value}" in result.message


def test_a_verified_program_counts_messages(mapped):
    rollout, program = mapped
    frames = nm.random_frames(rollout.network, 6)
    result = verify(rollout, program, frames, engine="numpy")
    n_messages = np.count_nonzero(reference(rollout, frames)["O"][1:])
    assert result.verified
    assert result.n_spikes == n_messages > 0
    assert f"{n_messages} messages" in result.message
    quiet = verify(rollout, program, {"I": np.zeros((2, 36), int)}, engine="numpy")
    assert quiet.is_graded


def test_responses_are_measured_and_observed(mapped):
    rollout, program = mapped
    (found,) = measure(program).values()
    assert found.first_response_ticks == rollout.first_response("O") * program.ticks_per_step
    low, high = program.value_ranges["I"]
    frames = {"I": np.full((12, 36), high, np.int32)}
    frames["I"][:, ::2] = low
    seen = first_difference(program, frames, 6, engine="numpy")["O"]
    assert seen >= found.first_response_ticks


def test_a_report_of_a_graded_network_has_its_words(mapped):
    rollout, _ = mapped
    report = nm.latency_report(rollout.network, chip="loihi2", patterns=["sequential"], engine="numpy", n_frames=6)
    jsonschema.validate(report.to_dict(), nm.load_schema("report"))
    assert all(row.verification.is_graded for row in report.rows)
    assert "message" in report.to_text()
    assert "spike" not in report.to_text()
    for row in report.rows:
        (output,) = row.outputs.values()
        assert output.predicted.first_response_ticks == output.measured.first_response_ticks


@pytest.mark.parametrize("chip", ["truenorth", "loihi1", "spinnaker1"])
def test_chips_that_send_spikes_refuse_values(chip):
    with pytest.raises(DoesNotFitError, match="its neurons are graded, they send values; those of") as caught:
        nm.map_rollout(graded_rollouts(0)[0], chip=chip)
    assert "send spikes only; a chip with graded cores computes it, give --chip loihi2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_chip_that_sends_values_refuses_thresholds():
    net = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]})
    with pytest.raises(DoesNotFitError, match="node I: it sends spikes; neurons of loihi2 send values; a chip whose"):
        nm.map_rollout(nm.Rollout(net, "sequential"), chip="loihi2")


@pytest.mark.parametrize("dead", ["node", "neuron"])
def test_sums_that_no_output_depends_on_may_be_too_great(dead):
    """What leads to no output is not mapped, and the reference of the outputs does not compute it."""
    shape, unit, wide = (1, 1, 2), GradedNeuron(0, 255), 2**24
    dense = partial(Dense, shape, shape, 1)
    nodes = {"I": (shape, unit), "H": (shape, unit), "O": (shape, unit)}
    weights = np.array([[1, 0], [0, wide if dead == "neuron" else 1]])
    edges = {("I", "H"): dense(weights), ("H", "O"): dense(np.array([[1, 0], [2, 0]]))}
    if dead == "node":
        nodes["D"] = (shape, unit)
        edges["I", "D"] = dense(np.full((2, 2), wide))
    network = build_network(nodes, edges, outputs=["O"], name="dead")
    rollout = nm.Rollout(network, "streaming")
    frames = {"I": np.full((5, 2), 255)}
    assert verify(rollout, nm.map_rollout(rollout, chip="loihi2"), frames, engine="numpy").verified
    with pytest.raises(NetworkError, match=f"node {'D' if dead == 'node' else 'H'}: a sum of"):
        reference(rollout, frames)
    batch = reference_batch(rollout, {"I": np.full((3, 5, 2), 255)}, ["O"])["O"]
    assert (batch == reference(rollout, frames, ["O"])["O"]).all()
    assert batch[0, -1].tolist() == [255, 255]
