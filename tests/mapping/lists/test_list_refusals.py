"""What synapse-list cores cannot hold is refused in one line: node, demand, bound, remedy."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError, NetworkError, PatternError
from neuromap.mapping.options.options import Pins
from neuromap.network import build_network
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights


def spiking(weights=((64, 64),), delay=1, **neuron):
    weights = np.array(weights)
    shapes = (1, 1, weights.shape[1]), (1, 1, weights.shape[0])
    nodes = {"I": Node("I", shapes[0]), "O": Node("O", shapes[1], neuron=CurrentNeuron(**({"threshold": 64} | neuron)))}
    transform = Dense(*shapes, weights=StoredWeights(weights))
    return Network("net", nodes, {("I", "O"): Edge("I", "O", transform, delay)})


CASES = {
    "axons": ({"axons": 1}, {}, "node O: one neuron needs 2 axons, a tiny core has 1"),
    "synapse_memory": ({"synapse_memory_bits": 100}, {}, "178 bits of synapses, a tiny core has 100"),
    "weights": (
        {},
        {"weights": ((513, 64),)},
        "weights up to 513, multiples of 1, lie in one list; tiny holds 8 bits and the sign",
    ),
    "potential": (
        {},
        {"bias": 100001},
        "takes 18 bits times one power of 2, 2^0 to 2^7; a neuron of tiny has 13",
    ),
    "neuron": ({}, {"decay_bits": 8, "current_decay": 0, "voltage_decay": 0}, "decay_bits = 8, those of tiny have 12"),
    "cores": ({"neurons": 1, "cores": (1, 1)}, {"weights": ((64,), (64,))}, "needs 2 cores, tiny has 1"),
}


@pytest.mark.parametrize("limit", CASES)
def test_every_limit_is_named_with_what_would_do(list_chip, limit):
    figures, changes, text = CASES[limit]
    with pytest.raises(DoesNotFitError) as refused:
        nm.map_rollout(nm.Rollout(spiking(**changes), "streaming"), list_chip(**figures))
    found = refused.value.infeasibility
    assert (found.limit, found.demand > found.bound) == (limit, True)
    assert text in str(refused.value)
    assert found.remedies
    assert "\n" not in str(refused.value)


OPTIONS = [
    ({}, {"subtract": 1}, "a spike takes its threshold off, which no neuron of tiny does; subtract = 0 would do"),
    ({}, {"reset": [-5]}, "a spike sets its voltage to -5, and those of tiny to 0; reset = 0 would do"),
    ({"floors": "none"}, {"floor": 100}, "its voltages have a floor of 100, those of tiny none; no floor would do"),
    ({}, {"floor": 100}, "a floor of 100 is no 2^k - 1, as tiny has them; 127 or 63 would do"),
    ({}, {"accumulator_bits": 22}, "accumulator_bits = 22, those of tiny have 32; accumulator_bits = 32 would do"),
    ({"accumulator_bits": 22}, {}, "accumulator_bits = 32, those of tiny have 22; accumulator_bits = 22 would do"),
    ({}, {"sum_wraps": 1}, "sum_wraps = 1, those of tiny have 0; sum_wraps = 0 would do"),
]


@pytest.mark.parametrize(("figures", "changes", "text"), OPTIONS)
def test_what_a_chips_neurons_do_not_do_is_named(list_chip, figures, changes, text):
    with pytest.raises(DoesNotFitError) as refused:
        nm.map_rollout(nm.Rollout(spiking(**changes), "streaming"), list_chip(**figures))
    assert refused.value.infeasibility.limit == "neuron"
    assert "node O: " in str(refused.value)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def two_floors(size):
    sizes = {"I": 1, "A": size, "B": 1}
    nodes = {"I": Node("I", (1, 1, 1))}
    nodes |= {v: Node(v, (1, 1, sizes[v]), neuron=CurrentNeuron(64, floor=floor)) for v, floor in (("A", 63), ("B", 7))}
    edges = {}
    for u, v in ("IA", "AB"):
        weights = StoredWeights(np.full((sizes[v], sizes[u]), 64))
        edges[u, v] = Edge(u, v, Dense((1, 1, sizes[u]), (1, 1, sizes[v]), weights=weights))
    return nm.Rollout(Network("net", nodes, edges), "streaming")


def test_neurons_of_different_floors_lie_in_different_cores_where_these_have_one(list_chip):
    rollout = two_floors(1)
    anywhere, apart = (nm.map_rollout(rollout, list_chip(floors=floors)) for floors in ("any", "shared"))
    assert (anywhere.n_cores, anywhere.neurons.floor.min()) == (1, 7)
    assert apart.n_cores == 2
    assert {tuple(np.unique(row)) for row in apart.neurons.floor} == {(7,), (63,)}
    assert nm.verify(rollout, apart, n_frames=40, threads=1).verified
    with pytest.raises(
        DoesNotFitError, match="node B: its voltages have a floor of 7 and others of its core one of 63"
    ):
        nm.map_rollout(rollout, list_chip(floors="shared"), pins=Pins(neurons={"A": [3], "B": [3]}))
    with pytest.raises(DoesNotFitError, match="its core needs 2 output axons, one of tiny has 1"):
        nm.map_rollout(two_floors(2), list_chip(floors="shared", output_axons=1))


def test_wider_accumulators_than_currents_do_nothing(list_chip):
    program = nm.map_rollout(nm.Rollout(spiking(accumulator_bits=24), "streaming"), list_chip())
    assert program.neurons.floor is None
    assert program.neurons.reset is None
    assert program.neurons.subtract is None


def test_thresholds_are_multiples_of_the_step(list_chip):
    with pytest.raises(
        DoesNotFitError, match=r"threshold 100 is not a multiple of 64, as tiny holds them.*; 64 would do"
    ):
        nm.map_rollout(nm.Rollout(spiking(threshold=100, voltage_decay=9), "streaming"), list_chip())
    with pytest.raises(DoesNotFitError, match="current_bits = 20, voltage_bits = 20 would do"):
        nm.map_rollout(nm.Rollout(spiking(((1, -1),), threshold=100, voltage_decay=0), "streaming"), list_chip())


def test_drives_that_reach_the_rails_are_refused(list_chip):
    net = build_network({"I": ((1, 1, 600), None), "O": ((1, 1, 1), [1])}, {("I", "O"): np.full((1, 600), 255)})
    with pytest.raises(DoesNotFitError, match="sum up to 9792000 in units of its current, which holds 8388607"):
        nm.map_rollout(nm.Rollout(net, "streaming"), list_chip())


def test_crossbars_refuse_decaying_neurons():
    with pytest.raises(DoesNotFitError, match=r"its neurons decay, u := u .*; a chip with synapse-list cores, such as"):
        nm.map_rollout(nm.Rollout(spiking(), "streaming"), "truenorth")


def test_spiking_networks_have_one_pattern():
    with pytest.raises(PatternError, match="edge I -> O is sequential, but nodes of network net are spiking"):
        nm.Rollout(spiking(), "sequential")


def neuron(**values):
    return CurrentNeuron(**({"threshold": 64} | values))


SHAPE = (1, 1, 2)
INPUT, SPIKES, FRAMES = (
    Node("I", SHAPE),
    Node("O", SHAPE, neuron=neuron()),
    Node("H", SHAPE, threshold=np.ones(2, np.int64)),
)
DENSE = Dense(SHAPE, SHAPE, weights=StoredWeights(np.ones((2, 2), np.int64)))
FAULTS = {
    "floor": (lambda: neuron(floor=-1), "neuron: floor: found -1; allowed are 0 to 2147483647"),
    "reset": (lambda: neuron(reset=2**23), "neuron: reset: found 8388608; allowed are -8388607 to 8388607"),
    "accumulator": (lambda: neuron(accumulator_bits=33), "neuron: accumulator_bits: found 33; allowed are 2 to 32"),
    "decay": (lambda: neuron(current_decay=4097), "neuron: current_decay: found 4097; allowed are 0 to 4096"),
    "float": (lambda: neuron(bias=0.5), "neuron: bias: found 0.5; allowed are integers"),
    "size": (lambda: Node("O", SHAPE, neuron=neuron(bias=[1, 2, 3])), r"node O: neuron: bias: found \[3\] values"),
    "both": (lambda: replace(FRAMES, neuron=neuron()), "node H: has a threshold and a neuron"),
    "delay": (lambda: Edge("I", "O", DENSE, 0), "edge I -> O: delay: found 0; allowed are 1 to 4096"),
    "mixed": (
        lambda: Network(
            "n", {"I": INPUT, "O": SPIKES, "H": FRAMES}, {key: Edge(*key, DENSE) for key in (("I", "O"), ("O", "H"))}
        ),
        "node H: has no neuron, while others have",
    ),
    "frames": (
        lambda: Network("n", {"I": INPUT, "H": FRAMES}, {("I", "H"): Edge("I", "H", DENSE, 2)}),
        "edge I -> H: has a delay, a current or further terms",
    ),
    "current": (
        lambda: Network(
            "n", {"I": INPUT, "O": SPIKES}, {("I", "O"): Edge("I", "O", DENSE, also=(EdgeTerm(DENSE, 1, 1),))}
        ),
        "edge I -> O: feeds current 1, but the neurons of O have 1",
    ),
    "input": (
        lambda: require_weights(
            Network(
                "n",
                {"I": Node("I", SHAPE, neuron=neuron()), "O": SPIKES},
                {("I", "O"): Edge("I", "O", dense(SHAPE, SHAPE))},
            )
        ),
        "node I: no edge feeds its neurons, and no bias or current or voltage drives them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_networks_that_cannot_be_are_refused_in_one_line(fault):
    make, text = FAULTS[fault]
    with pytest.raises(NetworkError, match=text) as refused:
        make()
    assert "\n" not in str(refused.value)


def dense(source, target):
    return Dense(source, target, weights=StoredWeights(np.full((target[2], source[2]), 64)))


def test_a_period_of_ones_own_and_ticks_of_a_step_are_refused(list_chip):
    with pytest.raises(InputError, match="execution pipelined:3: network net is spiking"):
        nm.Rollout(spiking(), "streaming", "pipelined:3")
    with pytest.raises(InputError, match="ticks_per_step = 4: a step of a spiking network is one tick"):
        nm.map_rollout(nm.Rollout(spiking(), "streaming"), list_chip(), ticks_per_step=4)


def test_transforms_of_other_shapes_are_refused(list_chip):
    also = (EdgeTerm(dense(SHAPE, (1, 1, 1))),)
    network = Network("n", {"I": INPUT, "O": SPIKES}, {("I", "O"): Edge("I", "O", DENSE, also=also)})
    with pytest.raises(NetworkError, match="edge I -> O: a transform from 2 to 1 neurons joins nodes of 2 and 2"):
        nm.map_rollout(nm.Rollout(network, "streaming"), list_chip())


def test_neurons_of_values_that_go_together_come_back_from_files(tmp_path):
    leak = LeakNeuron(threshold=[5, 9], potential=3, floor=7)
    network = Network("n", {"I": INPUT, "O": Node("O", SHAPE, neuron=leak)}, {("I", "O"): Edge("I", "O", DENSE)})
    network.save(tmp_path / "n.toml")
    again = nm.load_network(tmp_path / "n.toml")
    assert again.nodes["O"].neuron.threshold.tolist() == [5, 9]
    outside = Node("O", SHAPE, neuron=LeakNeuron(threshold=3, potential=7))
    with pytest.raises(NetworkError, match="node O: neuron: potential: lies outside -floor to threshold - 1 in 2 of 2"):
        nm.reference(
            nm.Rollout(Network("n", {"I": INPUT, "O": outside}, {("I", "O"): Edge("I", "O", DENSE)}), "streaming"),
            {"I": np.zeros((3, 2))},
        )


FILES = {
    "bias = 3\n": ("bias = 0.5\n", "nodes.O.neuron.bias: found 0.5; allowed are integers from"),
    'model = "current"': ('model = "lif"', "nodes.O.neuron.model: found 'lif'; allowed are \"current\""),
    "threshold = 64\n": ("", "nodes.O.neuron.threshold: missing"),
    "delay = 2\n": ("delay = 5000\n", "delay: found 5000; allowed are integers from 1 to 4096"),
    "decay_bits = 12": ("decay_bit = 12", "nodes.O.neuron.decay_bit: unknown key"),
}


@pytest.mark.parametrize("old", FILES)
def test_files_that_say_something_else_are_refused_with_their_key(tmp_path, old):
    path = tmp_path / "net.toml"
    spiking(delay=2, bias=3).save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, FILES[old][0]))
    with pytest.raises(NetworkError) as refused:
        nm.load_network(path)
    assert FILES[old][1] in str(refused.value)
