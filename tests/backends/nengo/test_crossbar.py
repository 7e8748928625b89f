"""Nengo on crossbar cores: the chip computes the integers that were built, axons keep the bound."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NotSupportedError

nengo = pytest.importorskip("nengo", reason="Nengo is an extra: pip install 'neuromap-rollouts[nengo]'")


@pytest.fixture
def loop():
    """A sine into a, a into two dimensions of b over different filters, b into itself."""
    with nengo.Network(seed=3) as network:
        network.config[nengo.Ensemble].neuron_type = nengo.SpikingRectifiedLinear()
        sine = nengo.Node(lambda t: np.sin(20 * t), label="sine")
        network.a, network.b = nengo.Ensemble(20, 1, label="a"), nengo.Ensemble(90, 3, radius=1.5, label="b")
        nengo.Connection(sine, network.a)
        nengo.Connection(network.a, network.b[:2], transform=[[1], [-0.5]], synapse=None)
        nengo.Connection(network.b, network.b[2], function=lambda x: x[0] * x[1], synapse=0.03)
        network.probes_of_b = [nengo.Probe(network.b.neurons), nengo.Probe(network.b.neurons, "voltage")]
    return network


@pytest.fixture
def simulator():
    """The back end's simulator on TrueNorth, quiet."""
    from neuromap.backends.nengo import Simulator

    return partial(Simulator, progress_bar=False, engine="numpy", chip="truenorth")


@pytest.mark.parametrize("ticks_per_step", [1, 2])
def test_the_chip_spikes_as_the_reference_of_the_network_that_was_built(loop, simulator, ticks_per_step):
    with simulator(loop, ticks_per_step=ticks_per_step) as sim:
        sim.run_steps(100)
    assert {str(p.object) for p in sim.placement if p.where == "host" and isinstance(p.object, nengo.Ensemble)} == set()
    frames, network = sim.chip_frames, sim.mapped.built.network
    expected = nm.reference(nm.Rollout(network, "streaming"), {name: frames[name] for name in network.inputs})
    for name in ("E0.a", "E1.b"):
        assert np.array_equal(expected[name], frames[name])
    counts = frames["E1.b"][1:].reshape(100, ticks_per_step, -1).sum(axis=1)
    assert counts.any()
    assert np.array_equal(sim.data[loop.probes_of_b[0]], counts * 1000)
    potential = sim.data[loop.probes_of_b[1]]
    assert potential.min() >= 0
    assert 0 < potential.max() < 1


def test_a_reset_begins_anew(loop, simulator):
    with simulator(loop) as sim:
        sim.run_steps(60)
        first = sim.data[loop.probes_of_b[0]].copy()
        sim.reset()
        sim.run_steps(60)
    assert np.array_equal(sim.data[loop.probes_of_b[0]], first)


def test_a_value_crosses_the_chip(simulator):
    """Two dimensions, over a filter: at rest the second ensemble stands for what the first was told."""
    with nengo.Network(seed=1) as network:
        network.config[nengo.Ensemble].neuron_type = nengo.SpikingRectifiedLinear()
        a, b = nengo.Ensemble(120, 2), nengo.Ensemble(120, 2)
        nengo.Connection(nengo.Node([0.5, -0.7]), a, synapse=None)
        nengo.Connection(a, b, synapse=0.02)
        probe = nengo.Probe(b, synapse=0.05)
    with simulator(network) as sim:
        sim.run(0.3)
    assert np.allclose(sim.data[probe][-50:].mean(axis=0), [0.5, -0.7], atol=0.1)


def test_what_a_connection_sends_to_one_dimension_twice_adds_up(simulator):
    def links(target, transform):
        with nengo.Network(seed=1) as network:
            network.config[nengo.Ensemble].neuron_type = nengo.SpikingRectifiedLinear()
            a, b = nengo.Ensemble(20, 2), nengo.Ensemble(20, 2)
            nengo.Connection(a, b[target], transform=transform)
        with simulator(network) as sim:
            return sim.mapped.plan.links

    (twice,), (once,) = links([0, 0], 0.5), links([0], [[0.5, 0.5]])
    assert np.allclose(twice.decoders, once.decoders, rtol=1e-12, atol=0)


def test_spike_trains_are_nearer_to_nengos_than_silence(loop, simulator):
    pytest.importorskip("elephant", reason="Elephant is an extra: pip install 'neuromap-rollouts[distances]'")
    with loop:
        neurons = nengo.Probe(loop.a.neurons)
    with simulator(loop) as sim, nengo.Simulator(loop, progress_bar=False) as theirs:
        sim.run_steps(100)
        theirs.run_steps(100)
    found = sim.train_distance(loop.a, theirs.data[neurons])
    assert found.spikes == sim.chip_frames["E0.a"].sum()
    assert found.original == "Nengo"
    assert 0 < found.distance < 0.7 * found.of_silence
    assert sim.train_distance(loop.a, sim.data[neurons]).distance == 0


def test_lines_rest_before_the_first_spikes_arrive(simulator):
    """Delays are empty in the first tick; what the host sends in their place lets an integrator stay where it is."""
    with nengo.Network(seed=1) as network:
        network.config[nengo.Ensemble].neuron_type = nengo.SpikingRectifiedLinear()
        state = nengo.Ensemble(60, 1)
        nengo.Connection(state, state, synapse=0.1)
        probe = nengo.Probe(state, synapse=0.03)
    with simulator(network) as sim:
        sim.run(0.4)
    assert np.abs(sim.data[probe]).max() < 0.15


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.002, 0.02, 0.2]))
def test_axons_keep_the_bound_and_are_no_more_than_were_allowed(seed, bound):
    from neuromap.backends.nengo.crossbar_plan import find_axon_sums

    rng = np.random.default_rng(seed)
    activities, weights = rng.random((80, 12)), rng.normal(size=12)
    find = partial(find_axon_sums, weights, activities, types=4, most=255, greatest_scale=36)
    found, least = find(bound), find(0.0)
    wanted = activities @ weights
    error = np.linalg.norm(activities @ found.weights / found.scale - wanted) / np.linalg.norm(wanted)
    assert found.error == pytest.approx(error)
    assert found.error <= bound or found.error == least.error
    assert found.axons <= least.axons
    if found.axons == 1:
        assert len(set(found.weights) - {0}) <= 4
    else:
        most = [
            {sum(chosen) for chosen in itertools.combinations_with_replacement((0, 1, radix), found.axons)}
            for radix in (3, 4)
        ]
        assert any(set(np.abs(found.weights)) <= sums for sums in most)


def test_the_mapper_needs_no_more_axons_for_a_source_than_the_report_says(loop, simulator):
    with simulator(loop, decoder_error=0.05) as sim:
        found = sim.report().chip.decoded
    assert all(decoded.error <= 0.05 for decoded in found)
    of_b = next(decoded for decoded in found if decoded.link == "E1.b -> E1.b")
    wires, program = sim.mapped.program.wires, sim.mapped.program
    node = [port.name for port in program.nodes].index("E1.b")
    mine = program.neuron_node[wires.core, wires.neuron] == node
    ways = np.column_stack([program.neuron_index[wires.core, wires.neuron], wires.target_core])[mine]
    _, axons = np.unique(ways, axis=0, return_counts=True)
    assert axons.mean() <= of_b.axons
    assert str(of_b) in str(sim.report())


@given(st.floats(0.002, 0.2), st.integers(16, 64), st.sampled_from([1, 2]))
def test_delays_of_lines_have_the_mean_of_nengos_filter(tau, lines, ticks_per_step):
    from neuromap.backends.nengo.crossbar_plan import line_delays

    dt = 0.001 / ticks_per_step
    found = line_delays(tau, lines, dt, ticks_per_step)
    a = np.exp(-0.001 / tau)
    assert found.min() >= 1
    assert abs(found.mean() + 1 - ticks_per_step / (1 - a)) < 0.6


def why(network, thing):
    """Give the reason why something is not on TrueNorth."""
    from neuromap.backends.nengo.placement import place_network
    from neuromap.hardware.chip.chip_file import load_chip

    return place_network(network, 0.001, load_chip("truenorth")).places[thing].why


def test_a_leak_is_refused_with_its_equation_and_the_chip_that_computes_it(loop):
    from neuromap.backends.nengo import add_params

    loop.a.neuron_type = nengo.LIF()
    assert "tau_rc dv/dt = J - v; a neuron of truenorth adds a constant leak" in why(loop, loop.a)
    assert "loihi1" in why(loop, loop.a)
    add_params(loop)
    loop.config[loop.a].on_chip = True
    with pytest.raises(NotSupportedError, match=r"on_chip = True, but its neurons leak"):
        why(loop, loop.a)


def test_what_axons_do_not_carry_stays_on_the_host(loop):
    with loop:
        wide = nengo.Ensemble(50, 5)
        fed = nengo.Ensemble(50, 1)
        nengo.Connection(loop.a, fed.neurons, transform=np.ones((50, 1)))
        undecoded = nengo.Connection(loop.a.neurons, loop.b[0], transform=np.ones((1, 20)) / 1000)
        late = nengo.Connection(loop.a, loop.b[0], synapse=1.5)
    assert "5 dimensions" in why(loop, wide)
    assert "one by one" in why(loop, fed)
    assert "not decoded" in why(loop, undecoded)
    assert "1.5 s takes more than 1000 ticks" in why(loop, late)
