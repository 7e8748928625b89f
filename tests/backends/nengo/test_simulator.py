"""What Nengo's simulator shows of the chip is what the chip's network defines."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.hardware.program.usage import count_usage

nengo = pytest.importorskip("nengo", reason="Nengo is an extra: pip install 'neuromap-rollouts[nengo]'")


@pytest.mark.parametrize("ticks_per_step", [1, 2])
def test_the_chip_spikes_as_the_reference_of_the_network_that_was_built(loop, simulator, ticks_per_step):
    with simulator(loop, ticks_per_step=ticks_per_step) as sim:
        sim.run_steps(60)
    frames, network = sim.chip_frames, sim.mapped.built.network
    expected = nm.reference(nm.Rollout(network, "streaming"), {name: frames[name] for name in network.inputs})
    for name, rows in expected.items():
        assert np.array_equal(rows, frames[name]), name
    b = frames["E1.b"]
    assert b.any()
    counts = b[1:].reshape(60, ticks_per_step, -1).sum(axis=1)
    assert np.array_equal(sim.data[loop.probes_of_b[1]], counts * 1000)


def test_the_engines_give_the_same_data(loop, simulator):
    found = []
    for engine in ("numpy", "fast"):
        with simulator(loop, engine=engine) as sim:
            sim.run_steps(40)
        found.append([sim.data[probe] for probe in loop.probes_of_b])
    for numpy_rows, fast_rows in zip(*found, strict=True):
        assert np.array_equal(numpy_rows, fast_rows)


def test_a_reset_begins_anew_and_a_seed_decides(loop, simulator):
    with simulator(loop) as sim:
        sim.run_steps(30)
        first = sim.data[loop.probes_of_b[0]].copy()
        sim.reset()
        assert sim.n_steps == 0
        assert len(sim.chip_frames["E1.b"]) == 1
        sim.run_steps(30)
        assert np.array_equal(sim.data[loop.probes_of_b[0]], first)
    loop.seed = 4
    with simulator(loop) as other:
        other.run_steps(30)
    assert not np.array_equal(other.data[loop.probes_of_b[0]], first)


@pytest.mark.parametrize("chip", ["loihi1", "truenorth"])
def test_the_report_counts_what_the_program_takes(simulator, chip):
    """A current that no synapse feeds takes no compartment; a copy of a crossbar's neuron takes synapses too."""
    with nengo.Network(seed=1) as network:
        network.config[nengo.Ensemble].neuron_type = nengo.SpikingRectifiedLinear()
        a, b = nengo.Ensemble(9, 1), nengo.Ensemble(9, 1)
        nengo.Connection(a, b)
        if chip == "loihi1":
            nengo.Connection(a.neurons, b.neurons, transform=nengo.Sparse((9, 9), indices=[[0, 1]]), synapse=0.1)
    with simulator(network, chip=chip) as sim:
        sim.run_steps(2)
        report, usage = sim.report().chip, count_usage(sim.mapped.program)
    assert report.compartments == (usage.compartments or usage.neurons)
    assert report.synapses == usage.synapses


def test_without_the_chip_it_is_nengos_simulator(loop, simulator):
    from neuromap.backends.nengo import add_params

    add_params(loop)
    loop.config[nengo.Ensemble].on_chip = False
    with simulator(loop) as sim, nengo.Simulator(loop, progress_bar=False) as theirs:
        sim.run_steps(50)
        theirs.run_steps(50)
    assert sim.mapped is None
    assert {placed.why for placed in sim.placement if isinstance(placed.object, nengo.Ensemble)} == {"on_chip = False"}
    for probe in loop.probes_of_b:
        assert np.array_equal(sim.data[probe], theirs.data[probe])


def test_rates_are_those_of_the_integer_neurons(simulator):
    """Constant input, no noise: neurons fire as often as the curve that their decoders are solved on says."""
    with nengo.Network(seed=1) as network:
        ensemble = nengo.Ensemble(40, 1)
        nengo.Connection(nengo.Node(0.4), ensemble, synapse=None)
        probe = nengo.Probe(ensemble.neurons)
    with simulator(network) as sim:
        sim.run_steps(600)
    built, neuron = sim.data[ensemble], sim.mapped.plan.ensembles[0].neuron
    expected = neuron.rates(built.gain * (built.encoders[:, 0] * 0.4) + built.bias)
    found = sim.data[probe][100:].mean(axis=0)
    assert expected.max() > 100
    # at whole numbers of ticks a rounded weight may make one more; a spike more or less at the ends
    assert np.quantile(np.abs(found - expected), 0.9) < 4


def spikes_of_two(simulator, connect):
    """Run two neurons that feed three others over a connection; give the spikes of the three."""
    with nengo.Network(seed=1) as network:
        ones = {size: {"gain": np.ones(size), "encoders": np.ones((size, 1))} for size in (2, 3)}
        a, b = nengo.Ensemble(2, 1, bias=[3, 2], **ones[2]), nengo.Ensemble(3, 1, bias=np.full(3, 0.5), **ones[3])
        connect(a.neurons, b.neurons)
        probe = nengo.Probe(b.neurons)
    with simulator(network) as sim:
        sim.run_steps(200)
    return sim.data[probe]


@pytest.mark.parametrize(
    ("target", "transform"),
    [
        ([0, 0], 0.02),
        ([-3, 0], nengo.transforms.NoTransform(2)),
        ([0, 1], nengo.Sparse((2, 2), indices=[[0, 0], [0, 1], [0, 1]], init=[0.02, 0.01, 0.01])),
    ],
)
def test_what_a_connection_sends_to_one_neuron_twice_adds_up(simulator, target, transform):
    twice = spikes_of_two(simulator, lambda a, b: nengo.Connection(a, b[target], transform=transform, synapse=0.01))
    weight = 1 if isinstance(transform, nengo.transforms.NoTransform) else 0.02
    once = spikes_of_two(simulator, lambda a, b: nengo.Connection(a, b[0], transform=[[weight] * 2], synapse=0.01))
    assert once[:, 0].sum() > once[:, 1].sum()
    assert np.array_equal(twice, once)


def test_inputs_beyond_all_bounds_are_clipped_and_no_current_wraps(simulator):
    """The network with wider currents, which do not wrap, spikes the same."""
    with nengo.Network(seed=2) as network:
        a, b = nengo.Ensemble(30, 2), nengo.Ensemble(30, 1)
        nengo.Connection(nengo.Node(lambda t: [30 * np.sin(60 * t), -20]), a, synapse=None)
        nengo.Connection(nengo.Node(lambda t: -1e6 * (t > 0.03)), b.neurons[:20], transform=np.ones((20, 1)))
        nengo.Connection(a, b, function=lambda x: 3 * x[0], synapse=0.01)
    with simulator(network) as sim:
        sim.run_steps(60)
        assert sim.report().chip.clipped_values > 60
    built, frames = sim.mapped.built.network, sim.chip_frames
    nodes = {
        name: node if node.neuron is None else replace(node, neuron=replace(node.neuron, current_bits=32))
        for name, node in built.nodes.items()
    }
    wide = nm.Rollout(replace(built, nodes=nodes), "streaming")
    expected = nm.reference(wide, {name: frames[name] for name in built.inputs})
    assert all(np.array_equal(rows, frames[name]) for name, rows in expected.items())
    late = frames["E1"][-30:]
    assert not late[:, :20].any()
    assert late[:, 20:].any()


def test_the_report_counts_what_ran(loop, simulator):
    with simulator(loop) as sim:
        sim.run_steps(20)
        report = sim.report()
    frames = sim.chip_frames
    assert report.steps == 20
    assert report.chip.activity.work.spikes == frames["E0.a"].sum() + frames["E1.b"].sum()
    assert report.chip.activity.work.n_ticks == 40
    assert report.chip.energy.joules > 0
    assert "1 step" in str(report)
    assert "chip  a -> b[1:2]\n" in str(report)
