"""Programs as networks in ticks: what the reference makes of the network is what the chip does, spike for spike."""

import json
import os
import tarfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.crossbar.program import NeuronTable
from neuromap.errors import DoesNotFitError, NotSupportedError, ProgramError, StimulusError
from neuromap.formats.ranc import read_vectors
from neuromap.formats.truenorth import read_model
from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.hardware.program.chip_program import host_spikes
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.network.build import build_network
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.simulation.run.simulate import run_events

HERE = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("NEUROMAP_DATA", HERE / ".." / "shared" / "data")) / "ranc"


def network_of(lifted):
    return nm.Rollout(lifted.network, "streaming")


def assert_equal(lifted, program, inputs, events, n_ticks):
    """Every output of the network in frame t + 1 is the chip's in tick t."""
    tick, core, neuron = run_events(program, *events, n_ticks, engine="numpy")
    fired = np.zeros((n_ticks, *program.shape), np.bool_)
    fired[tick, core, neuron] = True
    found = nm.reference(network_of(lifted), inputs)
    for row, (node, index) in enumerate(lifted.outputs):
        chip = fired[:, program.outputs.core[row], program.outputs.neuron[row]]
        assert np.array_equal(found[node][1:, index], chip), (row, node, index)
    return int(fired[:, program.outputs.core, program.outputs.neuron].sum())


def assert_equal_on_frames(lifted, program, n_frames, seed=1):
    """The same for frames of its input nodes, all but the last two, which a bias no longer comes with."""
    rng, n_ticks = np.random.default_rng(seed), int((n_frames - 2) * program.period)
    frames = {port.name: rng.random((n_frames, port.size)) < 0.4 for port in program.nodes if port.kind == "input"}
    spikes, host = host_spikes(program, frames, n_ticks), program.host
    events = spikes.tick, host.core[spikes.row], host.axon[spikes.row]
    return assert_equal(lifted, program, lifted.frames(frames, n_ticks), events, n_ticks)


def neurons_in_cone(network):
    """Neurons on which an output depends, counted from the matrices."""
    reads = {}
    for (u, v), edge in network.edges.items():
        for term in edge.terms:
            for row, column in zip(*term.matrix.nonzero(), strict=True):
                reads.setdefault((v, int(row)), set()).add((u, int(column)))
    front = [(name, k) for name in network.outputs for k in range(network.nodes[name].size)]
    cone = set(front)
    while front:
        front = [one for at in front for one in reads.get(at, ()) if one not in cone and not cone.add(one)]
    return sum(name not in network.inputs for name, _ in cone)


# Mapped programs.


@st.composite
def spiking_networks(draw, neurons):
    """Cycles, self-edges and skips; terms with delays that take relays, readers in many cores, which take copies."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inner = [f"N{k}" for k in range(draw(st.integers(1, 4)))]
    pairs = {(str(rng.choice(["I", *inner[:k]])), v) for k, v in enumerate(inner)} | {("I", inner[0])}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.3}
    sizes = {name: int(rng.integers(1, 9)) for name in ["I", *inner]}
    made = {name: neurons(rng, sizes[name]) for name in inner}
    step = 64 if any(isinstance(neuron, CurrentNeuron) for neuron in made.values()) else 1

    def term(u, v):
        weights = rng.choice([-7, -2, 0, 0, 3, 5], (sizes[v], sizes[u])) * step
        return MatrixTransform(weights), int(rng.choice([1, 1, 2, 5, 16, 40])), int(rng.integers(made[v].n_currents))

    edges = {
        (u, v): Edge(u, v, *term(u, v), also=[EdgeTerm(*term(u, v))] * (rng.random() < 0.4)) for u, v in sorted(pairs)
    }
    nodes = {name: Node(name, (1, 1, size), neuron=made.get(name)) for name, size in sizes.items()}
    return Network("random", nodes, edges, outputs=(inner[-1],))


def leak_neurons(rng, size):
    subtract = int(rng.random() < 0.3)
    threshold, floor = rng.integers(1, 40, size) + 300 * subtract, rng.integers(0, 30, size)
    start = rng.integers(-floor, threshold)
    return LeakNeuron(threshold, leak=rng.integers(-3, 6, size), floor=floor, potential=start, subtract=subtract)


def current_neurons(rng, size):
    decay = [np.where(rng.random(size) < 0.3, 4096, rng.integers(0, 4097, size)) for _ in range(3)]
    return CurrentNeuron(
        threshold=rng.integers(0, 20, size) * 64, current_decay=decay[0], voltage_decay=decay[1],
        bias=rng.integers(-200, 300, size), refractory=rng.integers(0, 4, size),
        more_current_decays=decay[2:] * (rng.random() < 0.5),
    )  # fmt: skip


SMALL = [
    ("truenorth", {"axons": 64, "neurons": 24}),
    ("truenorth", {}),
    ("loihi1", {"neurons": 9}),
    ("loihi1", {"delay": (1, 4)}),
]


@pytest.mark.law
@given(data=st.data(), of=st.sampled_from(SMALL))
@settings(deadline=None, max_examples=10)
def test_a_mapped_network_comes_back(data, of):
    chip = replace(nm.load_chip(of[0]), name="small", **of[1])
    network = data.draw(spiking_networks(leak_neurons if of[0] == "truenorth" else current_neurons))
    try:
        program = nm.map_rollout(nm.Rollout(network, "streaming"), chip)
    except DoesNotFitError:
        return
    lifted = nm.lift(program)
    event(f"contracted {lifted.counts['contracted'] > 0}, merged {lifted.counts['merged'] > 0}")
    assert_equal_on_frames(lifted, program, 50)
    assert lifted.counts["left"] == neurons_in_cone(network)
    for name in lifted.network.nodes.keys() - {"host"}:  # where no input reaches an output
        assert lifted.network.nodes[name].size == network.nodes[name].size
    again = nm.map_rollout(network_of(lifted), chip)
    assert nm.verify(network_of(lifted), again, n_frames=40, threads=1).verified


@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
@pytest.mark.parametrize("chip", ["truenorth", "loihi1"])
def test_a_frame_program_becomes_a_network_whose_inputs_come_at_their_ticks(chip, pattern):
    rollout = nm.Rollout(nm.load_network(HERE / "examples" / "digits" / "sr.toml"), pattern)
    program = nm.map_rollout(rollout, chip)
    lifted = nm.lift(program)
    assert assert_equal_on_frames(lifted, program, 12) > 10
    assert lifted.counts["left"] == 200
    assert {name: node.size for name, node in lifted.network.nodes.items()} == {
        name: node.size for name, node in rollout.network.nodes.items()
    }
    again = nm.map_rollout(network_of(lifted), chip)
    assert nm.verify(network_of(lifted), again, n_frames=20, threads=1).verified


@pytest.mark.parametrize("chip", ["truenorth", "loihi1"])
def test_frames_at_unequal_intervals_are_frames_of_the_lifted_inputs(chip):
    """Two frames every three ticks."""
    eye, node = np.eye(3, dtype=int), ((1, 1, 3), 1)
    edges = dict.fromkeys([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O"), ("b", "O")], eye)
    network = build_network({"I": ((1, 1, 3), None), **dict.fromkeys("abcO", node)}, edges)
    pattern = nm.RolloutPattern.from_streaming_edges(network, [("a", "b"), ("b", "c"), ("b", "O")])
    program = nm.map_rollout(nm.Rollout(network, pattern, "pipelined:best"), chip)
    assert program.period == Fraction(3, 2)
    assert assert_equal_on_frames(nm.lift(program), program, 40) > 10


def test_a_bias_of_every_tick_is_part_of_the_leak_and_other_clocks_are_refused():
    """On the axon beside input 0: from frame 1 on, which is tick 0."""
    program = by_hand(
        neurons={(0, 0): {"threshold": 3}}, synapses=[(0, 0, 0, 1), (0, 1, 0, 2)], outputs=[(0, 0)],
        host=[(0, 0, 0, 0, 0, 0), (-1, 0, 0, 1, -1, 1)],
    )  # fmt: skip
    lifted = nm.lift(program)
    assert lifted.network.nodes["out"].neuron.leak.tolist()[0] == 2
    assert assert_equal_on_frames(lifted, program, 30) > 10
    for changed, told in (({"arrival": [0, 0]}, "from tick 1 on every 1 tick"), ({}, "from tick 1 on every 2 ticks")):
        host = replace(program.host, **{name: np.array(value, np.int64) for name, value in changed.items()})
        with pytest.raises(NotSupportedError, match=rf"core 0, axon 1: the host feeds a clock, {told}"):
            nm.lift(replace(program, host=host, period=1 if changed else 2))


# Programs by hand.

KINDS = {
    "threshold": 1, "leak": 0, "negative_threshold": 0, "reset": 0, "reset_mode": 0, "saturate_negative": True,
    "leak_reversal": False, "potential": 0,
}  # fmt: skip
"""Parameters of a neuron, those of one that is not told about."""
TYPES = {
    "leak": np.int16, "leak_reversal": np.bool_, "threshold": np.int32, "negative_threshold": np.int32,
    "reset": np.int32, "reset_mode": np.uint8, "saturate_negative": np.bool_, "potential": np.int32,
}  # fmt: skip
AXONS, NEURONS = 4, 6


def by_hand(neurons, synapses, outputs, targets=(), host=(), n_cores=1, **changes):
    """Crossbars of 4 axons, each of its own type.

    neurons: (core, neuron) -> parameters; synapses: (core, axon, neuron, weight); outputs: (core, neuron), read as
    neurons of "out"; targets: (core, neuron, core, axon, delay); host: (node, index, core, axon, arrival, first frame).
    """
    chip = replace(nm.load_chip("truenorth"), name="hand", axons=AXONS, neurons=NEURONS, **changes)
    shape = (n_cores, NEURONS)
    tables = {name: np.full(shape, KINDS[name], dtype) for name, dtype in TYPES.items()}
    for place, told in neurons.items():
        for name, value in told.items():
            tables[name][place] = value
    weights, crossbar = np.zeros((*shape, 4), np.int16), np.zeros((n_cores, AXONS, NEURONS), np.uint8)
    for core, axon, neuron, weight in synapses:
        weights[core, neuron, axon], crossbar[core, axon, neuron] = weight, 1
    core, axon, delay = np.full(shape, -1, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.uint8)
    for c, n, *target in targets:
        core[c, n], axon[c, n], delay[c, n] = target
    columns = np.array(host, np.int64).reshape(-1, 6).T
    types = (np.int32,) * 4 + (np.int64, np.int8)
    outputs = np.array(outputs, np.int32).reshape(-1, 2)
    ports = (NodePort("out", max(1, len(outputs)), "output", 0), NodePort("in", 3, "input", 0))
    node = np.where(columns[0] < 0, -1, 1)
    return nm.Program(
        name="by hand", chip=chip, coordinates=np.array([[k, 0] for k in range(n_cores)], np.int32),
        axon_types=np.tile(np.arange(AXONS, dtype=np.uint8), (n_cores, 1)),
        crossbar=np.packbits(crossbar, axis=2, bitorder="little"), neurons=NeuronTable(weights=weights, **tables),
        target_core=core, target_axon=axon, delay=delay, neuron_node=np.full(shape, -1, np.int32),
        neuron_index=np.zeros(shape, np.int32), is_relay=np.zeros(shape, np.bool_), nodes=ports, period=1,
        ticks_per_step=1,
        host=HostTable(*(column.astype(t) for column, t in zip((node, *columns[1:]), types, strict=True))),
        outputs=OutputTable(np.zeros(len(outputs), np.int32), np.arange(len(outputs), dtype=np.int32), *outputs.T),
    )  # fmt: skip


@st.composite
def programs_by_hand(draw):
    """Anything: axons that several neurons feed, rings, all modes that do not draw at random, rails that are near."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_cores, tame = draw(st.integers(1, 3)), draw(st.sampled_from([0.6, 0.95, 1, 1, 1]))
    neurons, synapses, targets = {}, [], []
    outputs = [(int(rng.integers(n_cores)), n) for n in range(2)]
    for place in np.ndindex(n_cores, NEURONS):
        if rng.random() < tame:
            mode = rng.choice(["forgets", "hands on", "leaks"])
            told = {"threshold": int(rng.integers(1, 4))}
            told |= {"forgets": {"leak": 1 - told["threshold"], "threshold": 1}, "hands on": {"threshold": 1}}.get(
                mode, {}
            )
            if mode == "leaks":
                told |= {"leak": int(rng.integers(-2, 3)), "negative_threshold": int(rng.integers(0, 9))}
                told |= {"reset_mode": int(rng.integers(2)), "threshold": int(rng.integers(9, 20))}
        else:
            told = {name: int(rng.integers(-3, 4)) for name in ("leak", "reset", "potential")}
            told |= {name: int(rng.integers(0, 5)) for name in ("threshold", "negative_threshold")}
            told |= {name: bool(rng.integers(2)) for name in ("saturate_negative", "leak_reversal")}
            told |= {"reset_mode": int(rng.integers(3))}
        neurons[place] = told
        read = rng.permutation(AXONS)[: int(rng.choice([1, 1, 2, 3]))]
        synapses += [(place[0], int(axon), place[1], int(rng.choice([-2, -1, 1, 2, 3]))) for axon in read]
        if place not in outputs and rng.random() < 0.8:
            to = int(rng.integers(n_cores)), int(rng.integers(AXONS)), int(rng.choice([1, 2, 2, 3]))
            targets.append((*place, *to))
    rules = NeuronRules(
        negative_comparison=draw(st.sampled_from(["<", "<="])), overflow=draw(st.sampled_from(["saturate", "wrap"]))
    )
    host = ()
    if draw(st.booleans()):
        host = [
            (0, int(rng.integers(3)), int(rng.integers(n_cores)), a, int(rng.integers(0, 3)), int(rng.integers(2)))
            for a in range(3)
        ]
        host += [(-1, 0, int(rng.integers(n_cores)), 3, -1, 1)] * (rng.random() < 0.5)
    return by_hand(
        neurons, synapses, outputs, targets, host, n_cores, rules=rules, potential_bits=draw(st.sampled_from([6, 20]))
    )


@given(program=programs_by_hand(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=200)
def test_what_is_lifted_of_a_program_by_hand_is_what_it_does_and_the_rest_is_one_line(program, seed):
    told = ""
    try:
        lifted = nm.lift(program)
    except (NotSupportedError, ProgramError) as error:
        told = str(error)
    if told:
        event(told.split(": ")[2][:30])
        assert told.startswith("lift ")
        assert "\n" not in told
        return
    event(f"joined {lifted.counts['joined'] > 0}, contracted {lifted.counts['contracted'] > 0}")
    if len(program.host):
        assert_equal_on_frames(lifted, program, 40, seed)
        return
    rng = np.random.default_rng(seed)
    tick, core, axon = np.argwhere(rng.random((40, program.n_cores, AXONS)) < 0.4).T
    shut = (lifted.closed[:, None] == np.stack([core, axon], axis=1)).all(axis=2).any(axis=0)
    events = tick[~shut], core[~shut], axon[~shut]
    assert_equal(lifted, program, lifted.events(*events, 40), events, 40)


def test_relays_and_copies_go_and_their_delays_stay():
    """Neuron 1 hands neuron 0 on, 2 hands 1 on; 3 and 4 are copies, of which 5 reads both: 3 + 2 + 1 ticks later."""
    weak = {"threshold": 4, "negative_threshold": 3}
    program = by_hand(
        neurons={(0, 0): {"threshold": 2}, (0, 3): weak, (0, 4): weak, (1, 0): {"threshold": 5}},
        synapses=[(0, 0, 0, 2), (0, 1, 1, 1), (0, 2, 2, 3), (0, 3, 3, 2), (0, 3, 4, 2), (1, 0, 0, 2), (1, 1, 0, 3)],
        targets=[(0, 0, 0, 1, 3), (0, 1, 0, 2, 2), (0, 2, 0, 3, 1), (0, 3, 1, 0, 2), (0, 4, 1, 1, 2)],
        outputs=[(1, 0)], n_cores=2,
    )  # fmt: skip
    lifted = nm.lift(program)
    assert lifted.counts == {"read": 6, "contracted": 2, "merged": 1, "silent": 0, "joined": 0, "left": 3}
    assert lifted.network.edges["core0", "core0"].delay == 6
    assert lifted.network.edges["core0", "out"].matrix().toarray().tolist() == [[0, 5]]
    ticks = np.arange(40)
    events = ticks, 0 * ticks, 0 * ticks
    assert assert_equal(lifted, program, lifted.events(*events, 40), events, 40) > 5
    kept = nm.lift(
        replace(program, outputs=OutputTable(*(column[:0] for column in vars(program.outputs).values()))), keep=True
    )
    assert kept.counts["left"] == 3


def test_a_lone_neuron_that_nothing_feeds_hangs_on_an_input_of_one_neuron():
    lifted = nm.lift(by_hand({}, [], [(0, 0)]))
    assert {name: node.size for name, node in lifted.network.nodes.items()} == {"host": 1, "out": 1}
    assert lifted.network.inputs == ("host",)
    assert not lifted.network.edges["host", "out"].matrix().nnz


def test_an_axon_of_several_neurons_is_a_neuron_where_no_tick_changes():
    """Two spikes in one tick count as one; a delay of 1 leaves no tick for a neuron of its own."""
    synapses = [(0, 0, 0, 1), (0, 1, 1, 1), (1, 0, 0, 1)]
    program = by_hand({}, synapses, [(1, 0)], [(0, 0, 1, 0, 2), (0, 1, 1, 0, 3)], n_cores=2)
    lifted = nm.lift(program)
    assert (lifted.counts["joined"], lifted.counts["contracted"]) == (1, 2)
    events = np.array([3, 2, 8]), np.zeros(3, int), np.array([0, 1, 0])  # the first two meet
    assert assert_equal(lifted, program, lifted.events(*events, 20), events, 20) == 2
    with pytest.raises(StimulusError, match="one is on core 1, axon 0, which neurons feed"):
        lifted.events([0], [1], [0], 20)
    near = replace(program, delay=np.where(program.delay == 2, 1, program.delay).astype(np.uint8))
    assert nm.lift(near).counts["joined"] == 1  # the host's spike takes a tick to the neuron that hands it on
    told = by_hand(
        {(0, 0): {"threshold": 9, "leak": 1}}, synapses, [(1, 0)], [(0, 0, 1, 0, 1), (0, 1, 1, 0, 3)], n_cores=2
    )
    with pytest.raises(NotSupportedError, match=r"core 1, axon 0: 2 sources feed it.* give them delays of 2 and more"):
        nm.lift(told)


def test_a_ring_of_relays_is_never_1():
    program = by_hand(
        {}, [(0, 0, 0, 1), (0, 1, 1, 1), (0, 1, 2, 1), (0, 2, 2, 1)], [(0, 2)], [(0, 0, 0, 1, 2), (0, 1, 0, 0, 1)]
    )
    assert list(nm.lift(program).network.edges) == [("axons0", "out")]


LONG = {"threshold": 9, "negative_threshold": 5}
"""A neuron that remembers."""


@pytest.mark.parametrize(
    ("neuron", "told"),
    [
        (LONG | {"saturate_negative": False}, r"leaves its negative threshold again \(kappa 0\)"),
        (LONG | {"leak_reversal": True, "leak": -1}, "its leak takes the sign of its potential"),
        (LONG | {"reset_mode": 2}, r"keeps its potential when it spikes \(gamma 2\)"),
        (LONG | {"reset": -2}, "spikes set its potential to a value other than 0"),
        (LONG | {"threshold": 0, "leak": -1}, "its threshold is below 1"),
        (LONG | {"negative_threshold": 40000}, "may meet the rails of its potential"),
        (LONG | {"potential": -6}, "starts outside of what a tick leaves"),
    ],
)
def test_neurons_that_no_network_has_are_counted_in_one_line(neuron, told):
    synapses = [(0, 0, 0, 2), (0, 1, 0, -3), (0, 0, 1, 2), (0, 1, 1, -3)]
    program = by_hand({(0, 0): neuron, (0, 1): neuron}, synapses, [(0, 0), (0, 1)], potential_bits=16)
    with pytest.raises(
        NotSupportedError, match=rf"^lift by hand: core 0, neuron 0: .*{told}.*; of 2 neurons 2 are none"
    ):
        nm.lift(program)
    noisy = replace(program, neurons=replace(program.neurons, noise_bits=np.full((1, NEURONS), 2, np.uint8)))
    with pytest.raises(NotSupportedError, match=r"draws at random \(2\)"):
        nm.lift(noisy)


def test_damaged_programs_and_such_without_outputs_are_refused():
    program = by_hand({}, [(0, 0, 0, 1)], [(0, 0)])
    with pytest.raises(ProgramError, match="rule target-exists"):
        nm.lift(replace(program, target_core=np.where(program.target_core < 0, 7, 0).astype(np.int32)))
    with pytest.raises(ProgramError, match=r"reads no neuron out; lift all with keep=True \(--keep\)"):
        nm.lift(by_hand({}, [(0, 0, 0, 1)], []))


def test_a_wrong_label_gives_another_name_and_the_same_network():
    """Two neurons of one label that compute different things are two neurons."""
    synapses = [(0, 0, 0, 1), (0, 1, 1, 1), (0, 2, 2, 1), (0, 3, 2, 1)]
    program = by_hand({(0, 2): {"threshold": 2}}, synapses, [(0, 2)], [(0, 0, 0, 2, 1), (0, 1, 0, 3, 2)])
    label = np.full((1, NEURONS), -1, np.int32)
    label[0, :2] = 2
    nodes = (*program.nodes, NodePort("A", 1, "hidden", 0))
    lifted = nm.lift(replace(program, neuron_node=label, nodes=nodes))
    assert {"A", "A.2"} < set(lifted.network.nodes)
    events = np.array([0, 3, 3, 4]), np.zeros(4, int), np.array([0, 0, 1, 0])
    assert assert_equal(lifted, program, lifted.events(*events, 20), events, 20) == 2


def test_neurons_that_are_labelled_as_an_input_are_none_of_it():
    draw = np.random.default_rng(3)
    edges = {(u, v): draw.integers(-2, 4, (6, 6)) for u, v in ("IH", "HH", "HO")}
    nodes = {name: ((1, 1, 6), None if name == "I" else 2) for name in "IHO"}
    program = nm.map_rollout(nm.Rollout(build_network(nodes, edges, outputs=["O"]), "streaming"))
    ports = {port.name: k for k, port in enumerate(program.nodes)}
    label = np.where(program.neuron_node == ports["H"], ports["I"], program.neuron_node).astype(np.int32)
    lifted = nm.lift(replace(program, neuron_node=label))
    assert lifted.network.inputs == ("I",)
    assert {"I", "O"} < set(lifted.network.nodes)
    assert assert_equal_on_frames(lifted, program, 12) > 5


# Files of other tools.


@pytest.mark.parametrize("name", ["128", "256"])
def test_hardware_vectors_become_networks_with_the_same_answers(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"no {DATA / name}: it is memory_files/tea/{name} of github.com/UA-RCL/RANC")
    columns, bus = {"128": (8, (0, 3)), "256": (4, (0, 2))}[name]
    case = read_vectors(DATA / name, columns=columns, output_bus=bus)
    lifted, n_ticks = nm.lift(case.program), len(case.expected) + 2
    events = case.ticks, case.cores, case.axons
    assert assert_equal(lifted, case.program, lifted.events(*events, n_ticks), events, n_ticks) > 300
    assert lifted.counts["left"] == lifted.counts["read"] > 500
    again = nm.map_rollout(network_of(lifted), "truenorth")
    assert nm.verify(network_of(lifted), again, n_frames=8, threads=1).verified


def test_hardware_vectors_whose_potentials_have_no_floor_are_refused(tmp_path):
    with tarfile.open(HERE / "tests" / "formats" / "ranc_vmm.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    case = read_vectors(tmp_path / "vmm", columns=3, output_bus=(2, 2))
    with pytest.raises(
        NotSupportedError, match=r"of 112 neurons 112 are none: .*\(kappa 0\) \(80\); may meet .* \(32\)"
    ):
        nm.lift(case.program)


def identity_of(**changes):
    """A model of two cores: 256 lines through both, the second one's neurons of a kind of their own."""
    kind = {f"{name}{g}": value for g in range(4) for name, value in (("sigma", 1), ("s", int(g == 0)), ("b", False))}
    kind |= {"sigma_lambda": 1, "lambda": 0, "c_lambda": False, "epsilon": False, "alpha": 1, "beta": 0, "TM": 0}
    kind |= {"gamma": 0, "kappa": True, "sigma_VR": 1, "VR": 0, "V": 0}
    rows = [{"type": "S0", "synapses": row.tobytes().hex()} for row in np.packbits(np.eye(256, dtype=np.uint8), axis=1)]
    about = {"neuronclass": "NeuronGeneral", "crossbarclass": "CrossbarBinary", "crossbarSize": 256}
    parts = [("model", about), ("crossbarTypes", [{"name": "one", "crossbar": {"rows": rows}}])]
    parts.append(("neuronTypes", [{"name": "N00000001", **kind}, {"name": "N00000002", **kind, **changes}]))
    for number, (to, delay) in enumerate((("1x256", "4x256"), ("-32x256", "1x256"))):
        ways = {"destCores": [to], "destAxons": ["255:-1:0"], "destDelays": [delay]}
        neurons = {"dendrites": ["0:255"], "types": [f"{number + 1}x256"], **ways}
        parts.append(("core", {"id": number, "neurons": neurons, "crossbar": {"name": "one"}}))
    return "{" + ",".join(f'"{key}": {json.dumps(value)}' for key, value in parts) + "}"


def test_a_truenorth_model_becomes_a_network(tmp_path):
    """Lines pass the first core, whose neurons are relays, and come up to three times before the second one fires."""
    (tmp_path / "model.json").write_text(identity_of(alpha=3, beta=2))
    lifted = nm.lift(program := read_model(tmp_path / "model.json"))
    assert lifted.counts == {"read": 512, "contracted": 256, "merged": 0, "silent": 0, "joined": 0, "left": 256}
    assert lifted.network.outputs == ("port_-32",)
    assert lifted.network.edges["axons0", "port_-32"].delay == 5
    tick, axon = np.argwhere(np.random.default_rng(1).random((30, 256)) < 0.3).T
    events = tick, 0 * tick, axon
    assert assert_equal(lifted, program, lifted.events(*events, 40), events, 40) > 100
    (tmp_path / "model.json").write_text(identity_of(TM=4))
    with pytest.raises(NotSupportedError, match=r"core 1, neuron 0: draws at random.*draws at random \(256\)"):
        nm.lift(read_model(tmp_path / "model.json"))


def test_the_network_file_of_a_lifted_program_is_the_network(tmp_path):
    program = by_hand({(0, 1): LONG}, [(0, 0, 0, 1), (0, 1, 1, 2)], [(0, 1)], [(0, 0, 0, 1, 3)])
    lifted = nm.lift(program)
    lifted.network.save(tmp_path / "net.toml")
    loaded = nm.load_network(tmp_path / "net.toml")
    frames = lifted.events(*np.array([[t, 0, 0] for t in range(30)]).T, 30)
    found, wanted = (nm.reference(nm.Rollout(n, "streaming"), frames) for n in (loaded, lifted.network))
    assert found["out"].sum() > 3
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    assert "2 nodes, 1 neuron\n" in str(lifted)
