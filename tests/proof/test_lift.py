"""Programs as networks in ticks: what the reference makes of the network is what the chip does, spike for spike."""

import os
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.crossbar.program import NeuronTable
from neuromap.errors import DoesNotFitError, NotSupportedError, ProgramError, StimulusError
from neuromap.formats.ranc import read_vectors
from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.hardware.program.chip_program import host_spikes
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.simulation.run.run_events import run_events

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
@settings(deadline=None, max_examples=24)
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
    for name, node in lifted.network.nodes.items():
        assert node.size == network.nodes[name].size
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
    "leak": np.int16, "leak_reversal": np.bool_, "threshold": np.int32, "negative_threshold": np.int32, "reset": np.int32,
    "reset_mode": np.uint8, "saturate_negative": np.bool_, "potential": np.int32,
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
    try:
        lifted = nm.lift(program)
    except (NotSupportedError, ProgramError) as error:
        assert str(error).startswith("lift ")
        assert "\n" not in str(error)
        event(str(error).split(": ")[2][:30])
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
