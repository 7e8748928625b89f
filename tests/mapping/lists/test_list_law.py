"""The law on synapse-list cores: frame networks and spiking ones compute there what their rollout defines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.proof.prove import prove

pytestmark = pytest.mark.law
EXECUTIONS = ["windowed", "pipelined", "pipelined:9"]


def map_or_none(rollout, chip):
    try:
        return nm.map_rollout(rollout, chip, placer="row-major")
    except DoesNotFitError as error:
        event(f"does not fit: {error.infeasibility.limit}")
        return None


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_frame_networks_compute_their_rollout(networks, patterns, list_chips, data):
    thetas = st.one_of(st.integers(-3, 6), st.sampled_from([0, 1, 300, -300]))
    network = data.draw(networks(weights=st.integers(-3, 3), thresholds=thetas))
    execution = data.draw(st.sampled_from(EXECUTIONS))
    rollout = nm.Rollout(network, data.draw(patterns(network)), execution)
    program = map_or_none(rollout, data.draw(list_chips))
    if program is not None:
        event(f"cores: {min(program.n_cores, 3)}")
        found = nm.verify(rollout, program, n_frames=12, seed=1, threads=1)
        assert found.verified, found.message
        assert prove(rollout, program).proven


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_spiking_networks_compute_their_neurons(spiking_networks, list_chips, data):
    rollout = nm.Rollout(data.draw(spiking_networks), "streaming")
    program = map_or_none(rollout, data.draw(list_chips))
    if program is not None:
        event(f"cores: {min(program.n_cores, 3)}")
        event(f"relays: {bool(program.is_relay.any())}")
        event(f"joined: {program.neurons.joined is not None}")
        found = nm.verify(rollout, program, n_frames=160, seed=1, threads=1)
        assert found.verified, found.message
        assert prove(rollout, program).proven


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_spiking_networks_with_resets_floors_and_wrapping_sums_compute_their_neurons(optional_networks, data):
    network, chip = data.draw(optional_networks)
    rollout = nm.Rollout(network, "streaming")
    program = map_or_none(rollout, chip)
    if program is not None:
        event(f"relays: {bool(program.is_relay.any())}")
        event(f"joined: {program.neurons.joined is not None}")
        assert nm.check_program(program) == []
        found = nm.verify(rollout, program, n_frames=160, seed=1, threads=1)
        assert found.verified, found.message
        assert prove(rollout, program).proven


def test_a_program_from_a_file_runs_the_same(spiking_networks, optional_networks, list_chip, tmp_path):
    @given(st.data())
    @settings(deadline=None, max_examples=9)
    def check(data):
        network, chip = data.draw(st.one_of(st.tuples(spiking_networks, st.just(list_chip())), optional_networks))
        network.save(tmp_path / "net.toml")
        rollout = nm.Rollout(network, "streaming")
        again = nm.Rollout(nm.load_network(tmp_path / "net.toml"), "streaming")
        program = map_or_none(again, replace(chip, neurons=12))
        if program is None:
            return
        program.save(tmp_path / "program.nmap")
        found = nm.verify(rollout, nm.load_program(tmp_path / "program.nmap"), n_frames=80, threads=1)
        assert found.verified, found.message

    check()


def test_predicted_responses_of_spiking_networks_are_paths_of_delays(spiking_networks):
    @given(network=spiking_networks)
    @settings(deadline=None, max_examples=30)
    def check(network):
        import networkx as nx

        graph = nx.DiGraph()
        for (u, v), edge in network.edges.items():
            graph.add_edge(u, v, delay=min(term.delay for term in edge.terms))
        output = network.outputs[0]
        paths = nx.multi_source_dijkstra_path_length(graph, set(network.inputs), weight="delay")
        for execution in EXECUTIONS[:2]:
            rollout = nm.Rollout(network, "streaming", execution)
            assert rollout.frame_period == 1
            assert rollout.first_response(output) == paths[output]

    check()


def test_all_cores_hold_what_they_may(spiking_networks, list_chip):
    """The checker says so too; here neurons, axons and output axons are counted from the tables of the program."""

    @given(network=spiking_networks, neurons=st.integers(4, 20))
    @settings(deadline=None, max_examples=20)
    def check(network, neurons):
        chip = list_chip(neurons=neurons, axons=60, output_axons=30)
        program = map_or_none(nm.Rollout(network, "streaming"), chip)
        if program is not None:
            assert nm.check_program(program) == []
            assert program.axon_counts.max() <= 60
            wires = program.wires
            pairs = np.unique(np.stack([wires.core, wires.neuron, wires.target_core]), axis=1)
            assert pairs.shape[1] == len(wires.core)  # a core is sent a spike once
            assert np.bincount(wires.core).max(initial=0) <= 30

    check()
