"""Options of neurons: what does nothing is as if it were not given, what does something is told everywhere."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import NetworkError
from neuromap.jobs.results_file import Fingerprint
from neuromap.network import Network, Node
from neuromap.network.edge import Edge
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense

IDLE = {"reset": 0, "floor": 2**31 - 1, "subtract": 0, "accumulator_bits": 32, "sum_wraps": 0}
STATED = {"reset": 3, "floor": 4000, "subtract": 1, "accumulator_bits": 22, "sum_wraps": 1}
SHAPE = (1, 1, 2)


def network(**options):
    nodes = {"I": Node("I", SHAPE), "A": Node("A", SHAPE, neuron=CurrentNeuron(64, **options))}
    return Network("net", nodes, {("I", "A"): Edge("I", "A", Dense(SHAPE, SHAPE, weights=np.ones((2, 2), np.int64)))})


def said(net, folder):
    """The network's file, its fingerprint, the neuron's bytes and facts."""
    net.save(folder / "net.toml")
    fingerprint = Fingerprint("")
    fingerprint.add_network(net)
    neuron = net.nodes["A"].neuron
    return (folder / "net.toml").read_text(), fingerprint.text(), neuron.as_bytes(), repr(neuron)


@pytest.mark.parametrize("name", IDLE)
def test_options_that_do_nothing_are_left_out(name, tmp_path):
    without = said(network(), tmp_path)
    assert said(network(**{name: IDLE[name]}), tmp_path) == without
    assert f"{name} =" not in without[0]
    if name in CurrentNeuron.parameters:
        assert said(network(**{name: np.full(2, IDLE[name])}), tmp_path) == without


@pytest.mark.parametrize("name", STATED)
def test_options_that_do_something_are_told_and_come_back(name, tmp_path):
    without, found = said(network(), tmp_path), said(network(**{name: STATED[name]}), tmp_path)
    assert all(one != other for one, other in zip(found, without, strict=True))
    again = nm.load_network(tmp_path / "net.toml").nodes["A"].neuron
    assert np.array_equal(getattr(again, name), np.full(np.shape(getattr(again, name)), STATED[name]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floor": 5, "voltage": -6}, "voltage: lies below -floor in 2 of 2 neurons; give them a lower floor"),
        ({"floor": [5, 9], "reset": -6}, "reset: lies below -floor in 1 of 2 neurons"),
        ({"subtract": 1, "reset": [0, 7]}, "reset: found 0 to 7, but subtract = 1 takes the threshold off"),
    ],
)
def test_values_that_do_not_go_together_are_refused_before_a_run(options, message):
    rollout = nm.Rollout(network(**options), "streaming")
    with pytest.raises(NetworkError, match=f"network net: node A: neuron: {message}"):
        nm.reference(rollout, {"I": np.zeros((3, 2), bool)})


INT32 = 2**31 - 1
NEEDED = {LeakNeuron: {"threshold": 1}, CurrentNeuron: {"current_decay": 0, "voltage_decay": 0, "threshold": 1}}
LIMITS = {  # as docstrings and the format of networks state them
    LeakNeuron: {
        "threshold": (1, INT32),
        "leak": (-INT32, INT32),
        "floor": (0, INT32),
        "potential": (-INT32, INT32),
        "subtract": (0, 1),
    },
    CurrentNeuron: {
        **dict.fromkeys(("current_decay", "voltage_decay"), (0, 2**16)),
        **dict.fromkeys(("threshold", "floor"), (0, INT32)),
        **dict.fromkeys(("bias", "current", "voltage", "reset"), (-INT32 - 1, INT32)),
        "refractory": (0, 255),
        "decay_bits": (1, 16),
        **dict.fromkeys(("current_bits", "voltage_bits", "accumulator_bits"), (2, 32)),
        **dict.fromkeys(("subtract", "sum_wraps"), (0, 1)),
    },
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, limits in LIMITS.items() for name in limits])
def test_numbers_of_neurons_have_their_limits(kind, name):
    least, greatest = LIMITS[kind][name]
    for wrong in (least - 1, greatest + 1):
        with pytest.raises(NetworkError, match=rf"{name}: .*{wrong}; allowed are"):
            kind(**NEEDED[kind] | {name: wrong})
    assert (kind.parameters.get(name) or kind.settings[name]) == (least, greatest)


@pytest.mark.parametrize("dtype", [np.int64, np.longlong, np.int32])
def test_who_writes_to_an_array_later_changes_no_neuron(dtype):
    given = np.array([5, 6], dtype)
    neuron = LeakNeuron(threshold=given)
    given[:] = 99
    assert neuron.threshold.tolist() == [5, 6]


def test_what_is_not_said_of_a_neuron_is_zero():
    neuron = LeakNeuron(threshold=3)
    assert {name: int(getattr(neuron, name)) for name in ("leak", "floor", "potential", "subtract")} == {
        "leak": 0,
        "floor": 0,
        "potential": 0,
        "subtract": 0,
    }
