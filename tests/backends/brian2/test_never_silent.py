"""What a script changes, switches off or moves is computed as Brian2 computes it, or refused: never left out."""

from importlib.util import find_spec

import brian2 as b2
import numpy as np
import pytest
from brian2 import ms

from neuromap.backends.brian2 import device
from neuromap.errors import NotSupportedError

LEAK = "dv/dt = El / (10*ms) : 1 (unless refractory)\nEl : 1"
MEMBRANE = "dv/dt = (El - v) / (10*ms) : 1\nEl : 1"


@pytest.fixture(autouse=True)
def _neuromap():
    b2.set_device("neuromap", chip="loihi1")
    b2.defaultclock.dt = 1 * ms
    yield
    b2.defaultclock.dt = 0.1 * ms


def made(equations=LEAK, threshold="v > 1", delay=0 * ms, method="euler", **more):
    """Make three neurons, driven by spikes of the host in every fourth step, and a monitor."""
    source = b2.SpikeGeneratorGroup(2, np.arange(20) % 2, np.arange(20) * 4 * ms, name="I")
    group = b2.NeuronGroup(3, equations, threshold=threshold, reset="v = 0", method=method, name="A", **more)
    group.El = [0.31, 0.21, 0.13]
    synapses = b2.Synapses(source, group, "w : 1", on_pre="v += w", delay=delay, name="S")
    synapses.connect(i=[0, 1, 0], j=[0, 1, 2])
    synapses.w = 0.4
    monitor = b2.SpikeMonitor(group, name="M")
    return b2.Network(source, group, synapses, monitor), group, synapses, monitor


def refused(net, told, time=5 * ms):
    with pytest.raises(NotSupportedError, match=told):
        net.run(time)


def test_synapses_that_change_regularly():
    net, _, synapses, _ = made()
    synapses.run_regularly("w = -w", dt=2 * ms)
    refused(net, "S: run_regularly 'w = -w': nothing changes neurons of the chip from outside")


def test_another_dt_between_runs():
    net, *_ = made()
    net.run(8 * ms)
    b2.defaultclock.dt = 0.5 * ms
    refused(net, "dt: was changed from 0.001 to 0.0005 between two runs.*restore a state")


def test_synapses_replaced_between_runs():
    net, _, old, _ = made()
    net.run(8 * ms)
    new = b2.Synapses(old.source, old.target, "w : 1", on_pre="v += w", delay=0 * ms, name="S")
    new.connect(i=[0, 1, 0], j=[1, 2, 0])
    new.w = 0.4
    net.remove(old)
    net.add(new)
    refused(net, "S: was replaced by another object between two runs")


def test_synapses_connected_between_runs():
    net, _, synapses, _ = made()
    net.run(8 * ms)
    synapses.connect(i=1, j=0)
    refused(net, r"S\.pre: source_neuron: was changed between two runs")


@pytest.mark.parametrize("first", [False, True])
def test_synapses_that_are_off(first):
    """Those that are off from the beginning are left out; a switch between runs is refused."""
    net, _, synapses, monitor = made()
    synapses.active = first
    net.run(80 * ms)
    b2.set_device("runtime")
    own, _, mine, by_brian2 = made()
    mine.active = first
    own.run(80 * ms)
    assert monitor.num_spikes > 2
    assert np.array_equal(monitor.i, by_brian2.i)
    assert np.array_equal(monitor.t, by_brian2.t)
    b2.set_device("neuromap", chip="loihi1")
    synapses.active = not first
    refused(net, "S: active: was changed between two runs")


@pytest.mark.parametrize("part", ["group", "thresholder", "resetter", "state_updater"])
@pytest.mark.parametrize("ran", [False, True])
def test_neurons_that_are_off(part, ran):
    net, group, *_ = made()
    if ran:
        net.run(4 * ms)
    found = {"group": group, "state_updater": group.state_updater}
    found |= {"thresholder": group.thresholder["spike"], "resetter": group.resetter["spike"]}
    found[part].active = False
    refused(net, rf"A: ({part}\.)?active = False: all neurons of the chip run; set it True")


def test_a_restored_state_comes_back_onto_its_own_chip():
    """Between store and restore another chip is loaded, with other initial values, from t = 0."""
    net, group, _, monitor = made()
    group.v = [0.9, 0.5, 0.1]
    net.store("begin")
    net.run(9 * ms)
    net.store("middle")
    net.run(30 * ms)
    wanted, chip = (np.array(monitor.i), np.array(monitor.t)), device.chip
    net.restore("begin")
    group.v = [0, 0.1, 0.2]
    net.run(9 * ms)
    assert device.chip is not chip
    net.restore("middle")
    net.run(30 * ms)
    assert device.chip is chip
    assert device.report().is_exact
    assert np.array_equal(monitor.i, wanted[0])
    assert np.array_equal(monitor.t, wanted[1])


def test_values_set_before_a_state_is_stored():
    """The chip did not hear of them, so the state that comes back is not that of the chip."""
    net, group, *_ = made()
    net.run(5 * ms)
    group.v = 0.5
    net.store()
    net.restore()
    refused(net, r"A\.v: was changed between two runs")


def test_a_threshold_that_is_reached():
    net, *_ = made(threshold="v >= 1")
    refused(net, "A: threshold 'v >= 1': neurons of the chip spike above their threshold.*write v >")


@pytest.mark.parametrize("threshold", ["1 <= v", "v >= El + 0.5"])
def test_a_threshold_that_is_reached_written_otherwise(threshold):
    net, *_ = made(threshold=threshold)
    refused(net, "neurons of the chip spike above their threshold")


def test_what_monitors_of_spikes_record():
    """Brian2 records before the reset, the chip shows what is after it; parameters are the same."""
    net, group, *_ = made()
    net.add(parameters := b2.SpikeMonitor(group, variables="El", name="E"))
    net.run(20 * ms)
    assert parameters.num_spikes
    assert np.array_equal(parameters.El, np.array(group.El)[parameters.i])
    net.add(b2.SpikeMonitor(group, variables="v", name="V"))
    refused(net, "V: variables='v': the chip shows what its neurons hold after the reset.*record v with a StateMonitor")


def test_another_chip_between_runs():
    net, *_ = made()
    net.run(8 * ms)
    b2.set_device("neuromap", chip="truenorth")
    refused(net, "set_device: chip: was changed from 'loihi1' to 'truenorth' between two runs")
    b2.set_device("neuromap", chip="loihi1")
    net.run(8 * ms)


def test_a_run_that_is_interrupted_leaves_no_state():
    net, *_ = made()
    net.run(8 * ms)
    net.store()

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        net.run(
            8 * ms, report=lambda elapsed, completed, start, duration: completed and interrupted(), report_period=0 * ms
        )
    refused(net, "no chip has come to this state, as a run was interrupted")
    net.restore()
    net.run(8 * ms)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda group, synapses: setattr(group.thresholder["spike"], "order", 2), r"A: thresholder\.order = 2"),
        (lambda group, synapses: setattr(group.resetter["spike"], "when", "end"), r"A: resetter\.when = 'end'"),
        (lambda group, synapses: setattr(group.state_updater, "when", "end"), r"A: state_updater\.when = 'end'"),
        (lambda group, synapses: setattr(synapses.pre, "when", "start"), r"S: pre\.when = 'start'"),
        (lambda group, synapses: setattr(synapses.source, "order", 3), r"I: when = 'thresholds', order = 3"),
        (lambda group, synapses: group.contained_objects.remove(group.resetter["spike"]), "A: resetter Resetter"),
        (lambda group, synapses: group.contained_objects.append(b2.NetworkOperation(print)), "NetworkOperation"),
        (lambda group, synapses: group[:2].run_regularly("v += 1"), r"run_regularly 'v \+= 1'"),
    ],
)
def test_parts_that_are_not_as_brian2_makes_them(change, told):
    net, group, synapses, _ = made()
    change(group, synapses)
    refused(net, told)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"equations": MEMBRANE}, "A: method='euler': the chip follows the exact solution of the equations"),
        ({"equations": MEMBRANE, "method": ("rk4", "exact")}, "A: method='rk4'"),
        ({"refractory": "El > 0.2"}, "A: refractory=El > 0.2: it is not a constant time"),
        ({"refractory": "El"}, "A: refractory=El: it is not a constant time"),
        (
            {"equations": LEAK + "\nx = v + 1 : 1 (constant over dt)"},
            r"A: 'x = v\+1' \(constant over dt\)|A: 'x = v \+ 1'",
        ),
    ],
)
def test_models_that_only_look_alike(more, told):
    net, *_ = made(**more)
    refused(net, told)


def test_synapses_connected_after_the_state_was_stored():
    net, _, synapses, _ = made(delay=None)
    net.store()
    synapses.connect(i=1, j=0)
    net.restore()
    refused(net, "S: 3 synapses: delay has 4 values, which restore leaves so")


def test_neurons_that_rest_at_the_beginning():
    net, group, *_ = made(refractory=5 * ms)
    group.lastspike = -2 * ms
    refused(net, "A: lastspike: a neuron rests at t = 0, those of the chip begin free")


def test_another_order_of_a_step():
    net, *_ = made()
    net.schedule = ["start", "synapses", "groups", "thresholds", "resets", "end"]
    refused(net, "schedule .*a tick of the chip updates, compares, delivers and resets in this order")


@pytest.mark.parametrize("delay", [0.4, 0.5, 1.5, 2.5])
def test_delays_of_half_a_step_are_those_of_brian2(delay):
    if find_spec("brian2.synapses.cythonspikequeue") is None and delay in (0.5, 2.5):
        pytest.skip("Brian2 without its compiled queue rounds half a step to the even one")
    seen = []
    for name in ("runtime", "neuromap"):
        b2.set_device(name)
        net, group, _, monitor = made(delay=delay * ms)
        group.El = [0, 0, 0]
        net.run(30 * ms)
        seen.append((np.array(monitor.i), np.array(monitor.t)))
    assert len(seen[0][0])
    assert np.array_equal(seen[0], seen[1])


def test_a_run_of_no_time_changes_nothing():
    net, group, _, monitor = made()
    group.v = [0.9, 0.5, 0.1]
    net.run(0 * ms)
    np.testing.assert_array_equal(group.v[:], [0.9, 0.5, 0.1])
    net.run(8 * ms)
    once, other, _, watched = made()
    other.v = [0.9, 0.5, 0.1]
    once.run(8 * ms)
    assert monitor.i[:].tolist() == watched.i[:].tolist()
    assert monitor.t[:].tolist() == watched.t[:].tolist()


def test_a_last_spike_that_is_still_to_come():
    net, group, *_ = made(refractory=0 * ms)
    group.lastspike = 3 * ms
    refused(net, "A: lastspike: a neuron rests at t = 0")


def test_synapses_hidden_in_a_subgroup_of_a_source():
    source = b2.PoissonGroup(4, 100 * b2.Hz, name="P")
    group = b2.NeuronGroup(2, LEAK, threshold="v > 1", reset="v = 0", method="euler", name="A")
    part = source[:2]
    synapses = b2.Synapses(part, group, "w : 1", on_pre="v += w", name="S")
    synapses.connect()
    synapses.run_regularly("w = w", dt=1 * ms)
    part.run_regularly("rates = rates", dt=1 * ms)
    refused(b2.Network(source, group), "run_regularly 'w = w'")


def test_a_part_with_a_clock_of_its_own():
    net, _, synapses, _ = made()
    synapses.pre._clock = b2.Clock(5 * ms)
    refused(net, r"S: pre.clock.dt = .*: all parts of the chip tick together")


def test_numbers_of_neurons_within_a_subgroup():
    source = b2.PoissonGroup(4, 100 * b2.Hz, name="P")
    group = b2.NeuronGroup(4, LEAK, threshold="v > 1", reset="v = 0", method="euler", name="A")
    synapses = b2.Synapses(source[2:], group[1:], on_pre="v += (i + 2 * j) * 0.4", name="S")
    synapses.connect()
    refused(b2.Network(source, group, synapses), "S: .*counts within a subgroup")
