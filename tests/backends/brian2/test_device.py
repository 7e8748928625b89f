"""Brian2's device neuromap: chip equals integer reference, translation equals Brian2, runs go on, states come back."""

import brian2 as b2
import numpy as np
import pytest
from brian2 import ms, mV

import neuromap as nm
from neuromap.backends.brian2 import device
from neuromap.errors import NotSupportedError
from neuromap.quantise.float_steps import float_reference

DT, STEPS = 0.5e-3, 120
CURRENTS = """
dv/dt = (ge + gi - (v - El)) / tau : volt (unless refractory)
dge/dt = -ge / (5*ms) : volt
dgi/dt = -gi / (10*ms) : volt
El : volt
tau : second
"""
PULSES = """
dv/dt = -v / (20*ms) + drive : 1 (unless refractory)
drive : Hz
"""
CONSTANT_LEAK = "dv/dt = 30*Hz : 1"


def network(kind, seed):
    """Make a network with inputs that the host sends, weights and delays of their own; its objects are returned."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(STEPS, 60)) * DT
    keys = np.unique(np.stack([rng.integers(0, 3, 60), np.rint(times / DT).astype(int)]), axis=1)
    source = b2.SpikeGeneratorGroup(3, keys[0], keys[1] * DT * b2.second, dt=DT * b2.second, name="I")
    if kind == "currents":
        group = b2.NeuronGroup(
            6, CURRENTS, threshold="v > -50*mV", reset="v = -60*mV", refractory=4 * ms, method="exact", name="A"
        )
        group.El, group.tau = rng.uniform(-54, -49.5, 6) * mV, rng.uniform(10, 30, 6) * ms
        group.v, group.ge = rng.uniform(-60, -50, 6) * mV, rng.uniform(0, 9, 6) * mV
        first = b2.Synapses(source, group, "w : volt", on_pre="ge_post += w", name="S")
        second = b2.Synapses(group, group, "w : 1", on_pre="gi -= w * 3 * mV", delay=1.5 * ms, name="T")
        unit = 20 * mV
    else:
        text, method = (PULSES, "exact") if kind == "pulses" else (CONSTANT_LEAK, "euler")
        group = b2.NeuronGroup(6, text, threshold="v > 1", reset="v = 0", method=method, name="A")
        if kind == "pulses":
            group.drive = rng.uniform(0, 60, 6) * b2.Hz
        group.v = rng.uniform(0, 0.9, 6)
        first = b2.Synapses(source, group, "w : 1", on_pre="v += w", name="S")
        second = b2.Synapses(group, group, "w : 1", on_pre="v += 0.1 * w", name="T")
        unit = 0.3
    first.connect(p=0.7)
    first.w = rng.uniform(0.3, 1, len(first)) * unit
    first.delay = rng.integers(0, 6, len(first)) * DT * b2.second
    second.connect("i != j", p=0.4)
    second.w = rng.uniform(-1, 1, len(second))
    return b2.Network(source, group, first, second, monitor := b2.SpikeMonitor(group)), group, monitor


@pytest.fixture(autouse=True)
def _clock():
    b2.defaultclock.dt = DT * b2.second
    yield
    b2.defaultclock.dt = 0.1 * ms


@pytest.mark.law
@pytest.mark.parametrize(
    ("kind", "seed", "name", "most"),
    [
        ("currents", 1, "loihi1", 0.5),
        ("pulses", 3, "loihi1", 0.5),
        ("constant leak", 4, "loihi1", 0.5),
        ("constant leak", 4, "truenorth", 1.0),  # weights are sums of few digits
    ],
)
def test_chip_equals_integers_and_translation_equals_brian2(kind, seed, name, most, spikes_of):
    b2.seed(seed)
    own, _, monitor = network(kind, seed)
    own.run(STEPS * DT * b2.second)
    by_brian2 = spikes_of(monitor, STEPS, DT)
    assert by_brian2.any()

    b2.set_device("neuromap", chip=name)
    b2.seed(seed)
    net, _, monitor = network(kind, seed)
    net.run(STEPS * DT * b2.second)
    chip = device.chip
    on_chip = spikes_of(monitor, STEPS, DT)
    assert np.array_equal(on_chip, nm.reference(chip.rollout, chip.frames)["A"][1:])
    original = float_reference(chip.translated.network, {"I": chip.frames["I"][1:]}, STEPS)["A"]
    assert np.array_equal(original, by_brian2)
    assert np.abs(np.cumsum(on_chip, 0) - np.cumsum(by_brian2, 0)).mean() < most
    report = device.report()
    assert report.is_exact
    assert report.spikes == on_chip.sum()  # copies that a core sends to itself are no spikes of the script's neurons
    assert report.compartments == chip.program.neurons_in_use.sum()


def test_subexpressions_are_worth_what_they_stand_for():
    def integers(model, on_pre, reset):
        """Map a script, and give the network file's text."""
        b2.device.reinit()
        b2.set_device("neuromap", engine="numpy")
        text = PULSES + "low = -drive * ms : 1\nlower = 2 * low : 1"
        group = b2.NeuronGroup(3, text, threshold="v > 1", reset=reset, method="exact", name="A")
        group.drive = [10, 20, 30] * b2.Hz
        synapses = b2.Synapses(group, group, model, on_pre=on_pre, name="S")
        synapses.connect("i != j")
        synapses.w = "0.1 * (i + 1)"
        b2.Network(group, synapses).run(DT * b2.second)
        return device.chip.translated

    named = integers("w : 1\nu = w + drive_post * ms : 1\nuu = 2 * u : 1", "v += uu", "v = lower")
    plain = integers("w : 1", "v += 2 * (w + drive_post * ms)", "v = -2 * drive * ms")
    assert np.allclose(named.network.synapses[0].weight, plain.network.synapses[0].weight)
    assert np.allclose(named.models["A"].given["reset"], [-0.02, -0.04, -0.06])


def test_states_are_brian2s_and_come_back(spikes_of):
    """Voltages and currents stay close to Brian2's; two runs are one; a state that is restored goes on alike."""
    traces = []
    for name in ("runtime", "neuromap"):
        b2.set_device(name)
        b2.seed(5)
        net, group, monitor = network("currents", 5)
        net.add(states := b2.StateMonitor(group, ("v", "ge", "gi"), record=True))
        net.run(10 * ms)
        net.store()
        net.run(30 * ms)
        traces.append([np.array(states.v), np.array(states.ge), np.array(states.gi)])
    own, on_chip = traces
    assert np.abs(own[0] - on_chip[0])[:, :20].max() < 0.2e-3
    for c in (1, 2):  # currents of the chip are those that the step's voltage has taken
        assert np.abs(own[c][:, :19] - on_chip[c][:, 1:20]).max() < 0.2e-3
        assert np.abs(own[c]).max() > 2e-3

    first = spikes_of(monitor, 80, DT)
    net.restore()
    net.run(30 * ms)
    assert np.array_equal(spikes_of(monitor, 80, DT), first)
    assert np.array_equal(first, nm.reference(device.chip.rollout, device.chip.frames)["A"][1:])

    group.v = -55 * mV
    with pytest.raises(NotSupportedError, match=r"A\.v: was changed between two runs"):
        net.run(1 * ms)


def test_report_tells_what_ran():
    b2.set_device("neuromap")
    b2.seed(6)
    net, _, monitor = network("currents", 6)
    net.run(20 * ms)
    report = device.report()
    assert report.is_exact
    assert (report.spikes, report.ticks, report.cores) == (monitor.num_spikes, 40, 1)
    assert report.joules > 0
    assert {row.node: row.ticks for row in report.latencies} == {"A": 1}
    text = str(report)
    assert f"{report.spikes} spikes, equal to the integer reference" in text
    assert report.to_dict()["quantisation"]["nodes"][0]["node"] == "A"
