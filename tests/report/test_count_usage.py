"""What a program takes: counts and ways, against loops that a reader can follow, and by hand."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.cores.synapse_list.program import ListProgram
from neuromap.hardware.chip.chip_spec import ChipSpec, Defects
from neuromap.hardware.program.usage import copies_line, count_copies, count_usage
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.rollout.schedule.rollout import Rollout


def targets_of(program, core, neuron):
    """Cores of all targets of a neuron."""
    if isinstance(program, ListProgram):
        start, stop = program.targets.start[core * program.chip.neurons + neuron :][:2].tolist()
        return program.targets.core[start:stop].tolist()
    return [t for t in [int(program.target_core[core, neuron])] if t >= 0]


def counted(program):
    """The oracle: neuron by neuron, with sets."""
    first_home, homes, nodes_of, cores_of = set(), {}, {}, {}
    pairs = set()
    copies = relays = splitters = parts = hops = longest = crossings = targets = 0
    n_cores, n = program.neuron_node.shape
    for core in range(n_cores):
        for neuron in range(n):
            node, index = int(program.neuron_node[core, neuron]), int(program.neuron_index[core, neuron])
            if node >= 0:
                nodes_of.setdefault(core, set()).add(node)
                if program.is_splitter is not None and program.is_splitter[core, neuron]:
                    splitters += 1
                elif program.is_part is not None and program.is_part[core, neuron]:
                    parts += 1
                elif program.is_relay[core, neuron]:
                    relays += 1
                else:
                    copies += (node, index) in first_home
                    first_home.add((node, index))
                    homes.setdefault((node, index), set()).add(core)
            for target in targets_of(program, core, neuron):
                targets += 1
                pairs.add((core, neuron, target))
                cores_of.setdefault((node, index), set()).add(target)
                (x, y), (u, v) = program.coordinates[core].tolist(), program.coordinates[target].tolist()
                way = abs(x - u) + abs(y - v)
                hops, longest = hops + way, max(longest, way)
                width, height = program.chip.cores
                crossings += abs(x // width - u // width) + abs(y // height - v // height)
    for node, index, core in zip(program.host.node, program.host.index, program.host.core, strict=True):
        if node >= 0:
            cores_of.setdefault((int(node), int(index)), set()).add(int(core))
    deliveries = sum(map(len, cores_of.values()))
    return {
        "cores": n_cores,
        "shared_cores": sum(len(nodes) > 1 for nodes in nodes_of.values()),
        "copies": copies,
        "replicas": sum(len(cores) > 1 for cores in homes.values()),
        "splitters": splitters,
        "relays": relays,
        "parts": parts or None,
        "deliveries": deliveries,
        "mean_fan_out": deliveries / max(1, len(cores_of)),
        "largest_fan_out": max(map(len, cores_of.values()), default=0),
        "weighted_hops": hops,
        "mean_hops": hops / max(1, targets),
        "longest_way": longest,
        "chip_crossings": crossings,
        "output_axons": len(pairs) if isinstance(program, ListProgram) else None,
    }


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_usage_is_what_loops_count(chip, list_chip, networks, patterns, data):
    net = data.draw(networks(largest=6))
    rollout = Rollout(net, data.draw(patterns(net)), data.draw(st.sampled_from(["windowed", "pipelined"])))
    board = {"cores": (2, 3), "chips": (4, 4)}
    chips = [chip(axons=24, neurons=24, **board), list_chip(neurons=5, **board)]
    program = map_rollout(rollout, data.draw(st.sampled_from(chips)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    places = rng.permutation(8 * 12)[: program.n_cores]
    program = replace(
        program,
        coordinates=np.stack([places % 8, places // 8], axis=1).astype(np.int32),
        is_splitter=(kinds := np.where(program.is_relay, rng.integers(1, 4, program.is_relay.shape), 0)) == 1,
        is_part=kinds == 2,
    )
    found = count_usage(program)
    for name, value in counted(program).items():
        assert getattr(found, name) == pytest.approx(value), name
    nodes = count_copies(program)
    for name in ("copies", "relays", "splitters", "parts"):
        assert sum(getattr(node, name) for node in nodes) == (getattr(found, name) or 0), name
    assert sum(node.on_chip for node in nodes) == found.neurons
    for node in nodes:
        assert node.on_chip == node.neurons + node.copies + node.relays + node.splitters + node.parts
        assert node.most_cores <= found.largest_fan_out
    assert bool(copies_line(nodes)) == (found.copies + found.relays + found.splitters + (found.parts or 0) > 0)
    # every neuron is one of these
    labelled = int((program.neuron_node >= 0).sum())
    assert found.neurons == labelled == found.copies + found.splitters + found.relays + (found.parts or 0) + len(
        {(a, b) for a, b, relay in zip(program.neuron_node.ravel().tolist(), program.neuron_index.ravel().tolist(),
                                       program.is_relay.ravel().tolist(), strict=True) if a >= 0 and not relay}
    )  # fmt: skip


def test_what_relays_hand_on_is_no_copy(chip):
    """A's spikes reach O after 3 ticks, B's after 2; the chip delays by 2 at most."""
    edges = {
        edge: np.eye(2, dtype=int) for edge in [("I", "A"), ("A", "B"), ("B", "C"), ("C", "O"), ("A", "O"), ("B", "O")]
    }
    net = build_network({name: (2, None if name == "I" else 1) for name in "IABCO"}, edges)
    program = map_rollout(Rollout(net, "sequential", "pipelined"), chip(axons=24, neurons=24, delay=(1, 2)))
    nodes = {node.node: node for node in count_copies(program)}
    assert {name: node.relays > 0 for name, node in nodes.items()} == {"A": True, "B": False, "C": False, "O": False}
    # one core holds all, so a neuron is copied where it has two delays
    assert [node.on_chip - node.neurons - node.relays for node in nodes.values()] == [
        node.copies for node in nodes.values()
    ]
    assert sum(node.relays for node in nodes.values()) == program.is_relay.sum()


def test_lists_take_memory(list_chip):
    """Three neurons read two inputs in one core: two lists of three synapses."""
    net = build_network({"I": (2, None), "O": (3, np.ones(3, int))}, {("I", "O"): np.ones((3, 2), int)})
    chip = list_chip(synapse_memory_bits=1000, synapse_bits=25, list_bits=64)
    found = count_usage(map_rollout(Rollout(net, "streaming"), chip))
    assert (found.neurons, found.axons, found.synapses, found.output_axons) == (3, 2, 6, 0)
    assert found.synapse_memory_utilisation == (2 * 64 + 6 * 25) / 1000


def test_a_neuron_with_two_currents_is_one_of_two_compartments(list_chip):
    neuron = CurrentNeuron(current_decay=0, voltage_decay=0, threshold=64, more_current_decays=(np.array(7),))
    one = MatrixTransform(np.ones((3, 2), int))
    edge = Edge("I", "O", one, also=(EdgeTerm(one, 1, 1),))
    net = Network("two", {"I": Node("I", (1, 1, 2)), "O": Node("O", (1, 1, 3), neuron=neuron)}, {("I", "O"): edge})
    program = map_rollout(Rollout(net, "streaming"), list_chip())
    found = count_usage(program)
    assert (found.neurons, found.compartments, found.copies) == (3, 6, 0)
    assert found.neuron_utilisation == 6 / program.chip.neurons
    assert [(node.neurons, node.on_chip, node.copies) for node in count_copies(program)] == [(3, 3, 0)]
    assert copies_line(count_copies(program)) == ""


@pytest.fixture
def two_cores(by_hand):
    """A[0] feeds both cores and a relay, the host delivers I[0] twice to one core."""
    program = by_hand(
        [("I", 2, "input", 0), ("A", 2, "hidden", 0), ("O", 1, "output", 0)],
        {(0, 0): (1, 0, False, (1, 0, 1)), (0, 1): (1, 0, False, (0, 4, 1)), (0, 2): (1, 0, True, (1, 2, 1)),
         (1, 0): (2, 0, False, None), (1, 1): (1, 0, False, (1, 3, 1))},
        8,
        [(0, 0, 0, 1), (0, 0, 1, 1), (0, 4, 2, 1), (1, 0, 0, 1), (1, 2, 0, 1)],
        [(0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 1, 0), (0, 1, 1, 4, 0, 0), (-1, 0, 1, 5, 0, 1)],
        n_cores=2,
    )  # fmt: skip
    wide = ChipSpec(**{f.name: getattr(program.chip, f.name) for f in fields(ChipSpec)} | {"chips": (2, 1)})
    return replace(program, chip=wide, coordinates=np.array([[1, 1], [9, 3]], np.int32))


def test_ways_and_deliveries_by_hand(two_cores):
    found = count_usage(two_cores)
    # I[0] to core 0 (two axons, one delivery), I[1] to 1; A[0] to 0 and 1, over copies, relay and replica alike
    assert (found.deliveries, found.mean_fan_out, found.largest_fan_out) == (4, 4 / 3, 2)
    # two ways of 8 columns and 2 rows cross one boundary each, two stay in their core
    assert (found.weighted_hops, found.mean_hops, found.longest_way, found.chip_crossings) == (20, 5.0, 10, 2)
    assert (found.shared_cores, found.replicas, found.copies, found.relays, found.splitters) == (1, 1, 2, 1, 0)


def test_a_splitter_is_not_counted_as_a_relay(two_cores):
    found = count_usage(replace(two_cores, is_splitter=two_cores.is_relay))
    assert (found.relays, found.splitters) == (0, 1)


def test_dead_cores_are_not_usable(two_cores):
    program = replace(two_cores, chip=two_cores.chip.with_defects(Defects(cores=((0, 0), (5, 5)))))
    assert (count_usage(program).cores_of_chip, count_usage(program).usable_cores) == (128, 126)


def test_a_program_without_targets_has_no_ways(by_hand):
    program = by_hand([("I", 1, "input", 0), ("O", 1, "output", 0)], {(0, 0): (1, 0, False, None)}, 2, [], [])
    found = count_usage(program)
    assert (found.deliveries, found.mean_fan_out, found.mean_hops, found.longest_way) == (0, 0.0, 0.0, 0)
