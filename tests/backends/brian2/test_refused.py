"""What lies outside the supported class is refused, with its equation quoted and the object named."""

import brian2 as b2
import pytest
from brian2 import Hz, ms, mV

from neuromap.errors import InputError, NotSupportedError

LIF = "dv/dt = -v / (10*ms) : 1"


def group(equations=LIF, threshold="v > 1", reset="v = 0", **more):
    return b2.NeuronGroup(2, equations, threshold=threshold, reset=reset, method="euler", name="G", **more)


EQUATIONS = [
    ("dv/dt = v*v / (10*ms) : 1", r"G: dv/dt = v\*v / \(10\*ms\): it is not linear in v"),
    ("dv/dt = -v / (10*ms) + 0.1*xi*ms**-0.5 : 1", r"dv/dt = .*noise"),
    ("dv/dt = (sin(t*Hz) - v) / (10*ms) : 1", r"dv/dt = .*depends on the time t"),
    ("dv/dt = (x - v) / (10*ms) : 1\ndx/dt = (y - x) / ms : 1\ndy/dt = -y / ms : 1", r"dx/dt = .*depends on y"),
    ("dv/dt = -v / (10*ms) : 1\ndw/dt = -w / ms : 1", r"dw/dt = -w / ms: v does not depend on w"),
    ("dv/dt = g * (1 - v) / (10*ms) : 1\ndg/dt = -g / ms : 1", r"dv/dt = .*not linear"),
    ("dv/dt = v / (10*ms) : 1", r"v would grow by itself"),
    ("dv/dt = (int(v < 2) - v) / (10*ms) : 1", r"dv/dt = \(int\(v < 2\) - v\) / \(10\*ms\): it has a condition"),
    ("dv/dt = (u - v) / (10*ms) : 1\nu = int(v > 0 and v < 2) : 1", r"dv/dt = .*it has a condition"),
]


@pytest.mark.parametrize(("equations", "told"), EQUATIONS)
def test_equations(equations, told):
    b2.set_device("neuromap")
    with pytest.raises(NotSupportedError, match=told):
        b2.Network(group(equations)).run(1 * ms)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"threshold": "v > theta", "equations": LIF + "\ndtheta/dt = -theta / ms : 1"},
            r"threshold 'v > theta'|dtheta/dt",
        ),
        ({"threshold": "rand() < 0.1"}, r"threshold 'rand\(\) < 0.1'"),
        ({"reset": "v -= 1"}, r"reset 'v -= 1'"),
        ({"reset": "v = 0; a += 1", "equations": LIF + "\na : 1"}, r"reset 'v = 0; a \+= 1'"),
        ({"refractory": "v > 0.5"}, r"refractory=v > 0.5: it is not a constant time"),
        ({"refractory": 5 * ms}, r"unless refractory"),
    ],
)
def test_thresholds_and_resets(more, told):
    b2.set_device("neuromap")
    with pytest.raises(NotSupportedError, match=told):
        b2.Network(group(**more)).run(1 * ms)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"on_pre": "v *= 2"}, r"on_pre='v \*= 2'"),
        ({"on_pre": "v += v * 0.1"}, r"on_pre='v \+= v \* 0.1'.*v changes in a run"),
        ({"model": "w : 1", "on_pre": "v += w; w += 0.1"}, r"on_pre='w \+= 0.1'"),
        ({"model": "w : 1", "on_pre": "u = 2 * w; v += u"}, r"on_pre='u = 2 \* w': a spike adds a weight"),
        ({"model": "u = 2 * v_post : 1", "on_pre": "v += u"}, r"on_pre='v \+= u': v_post changes in a run"),
        ({"model": "w : 1", "on_pre": "v += w", "on_post": "w += 0.1"}, r"on_post='w \+= 0.1'"),
        ({"model": "dx/dt = -x / ms : 1 (event-driven)", "on_pre": "x += 1"}, r"dx/dt = -x / ms"),
    ],
)
def test_synapses(model, told):
    b2.set_device("neuromap")
    neurons = group()
    synapses = b2.Synapses(neurons, neurons, **model)
    synapses.connect()
    with pytest.raises(NotSupportedError, match=told):
        b2.Network(neurons, synapses).run(1 * ms)


def test_parameters_that_others_change():
    """Gap junctions and linked variables come in through parameters of the group."""
    b2.set_device("neuromap")
    neurons = group("dv/dt = (gap - v) / (10*ms) : 1\ngap : 1")
    synapses = b2.Synapses(neurons, neurons, "gap_post = 0.1 * (v_pre - v_post) : 1 (summed)")
    synapses.connect()
    with pytest.raises(NotSupportedError, match=r"gap_post = 0.1 \* \(v_pre - v_post\) \(summed\)"):
        b2.Network(neurons, synapses).run(1 * ms)
    other = b2.NeuronGroup(2, "dv/dt = (x - v) / (10*ms) : 1\nx : 1 (linked)", threshold="v > 1", reset="v = 0")
    other.x = b2.linked_var(neurons, "v")
    with pytest.raises(NotSupportedError, match="x changes in a run"):
        b2.Network(neurons, other).run(1 * ms)


def test_what_acts_beside_equations():
    b2.set_device("neuromap")
    neurons = group()
    neurons.run_regularly("v += 1", dt=1 * ms)
    with pytest.raises(NotSupportedError, match=r"run_regularly 'v \+= 1'"):
        b2.Network(neurons).run(1 * ms)
    neurons = b2.NeuronGroup(2, LIF, threshold="v > 1", reset="v = 0", method="euler")
    with pytest.raises(NotSupportedError, match=r"PoissonInput onto 'v'.*PoissonGroup"):
        b2.Network(neurons, b2.PoissonInput(neurons, "v", 10, 10 * Hz, 0.1)).run(1 * ms)


def test_exponential_leak_on_truenorth_names_the_chip_that_would_do():
    b2.set_device("neuromap", chip="truenorth")
    neurons = b2.NeuronGroup(1, "dv/dt = (-70*mV - v) / (10*ms) : volt", threshold="v > -50*mV", reset="v = -70*mV")
    with pytest.raises(NotSupportedError, match=r"dv/dt = .*truenorth adds a constant leak; loihi1 computes it"):
        b2.Network(neurons).run(1 * ms)
    assert neurons.v[0] == 0 * mV


def test_unknown_options():
    with pytest.raises(InputError, match="option 'chips' is unknown"):
        b2.set_device("neuromap", chips="loihi1")
