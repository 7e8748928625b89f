"""The dependency wave on programs by hand, against hand computation and against a literal walk, tick by tick."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.hardware.program.ports import OutputTable
from neuromap.verification.wave import measure

NODES = [("I", 1, "input", 4), ("A", 1, "hidden", 7), ("O", 1, "output", 12)]


def chain(by_hand, **changes):
    """I -> A -> O on one core: arrival 3 ticks after sampling, then a delay of 5."""
    parts = {
        "nodes": NODES,
        "neurons": {(0, 0): (1, 0, False, (0, 1, 5)), (0, 1): (2, 0, False, None)},
        "axons": 4,
        "synapses": [(0, 0, 0, 1), (0, 1, 1, 1)],
        "host": [(0, 0, 0, 0, 7, 1)],
    }
    return by_hand(**{**parts, **changes})


def both(program, output="O"):
    found = measure(program)[output]
    return found.first_response_ticks, found.full_response_ticks


def edited(program, **arrays):
    """The program with entries of its arrays changed: name -> {place: value}."""
    changed = {}
    for name, entries in arrays.items():
        array = getattr(program, name).copy()
        for place, value in entries.items():
            array[place] = value
        changed[name] = array
    return replace(program, **changed)


def test_chain(by_hand):
    assert both(chain(by_hand)) == (8, 8)


def test_a_changed_delay_shows(by_hand):
    assert both(edited(chain(by_hand), delay={(0, 0): 6})) == (9, 9)


def test_a_changed_arrival_shows_even_before_sampling(by_hand):
    assert both(chain(by_hand, host=[(0, 0, 0, 0, -10, 1)])) == (-9, -9)


def test_neurons_of_two_nodes_on_one_axon(by_hand):
    """A and O both feed O's axon: what O sends itself holds no full response up, what A sends does."""
    program = chain(
        by_hand, neurons={(0, 0): (1, 0, False, (0, 1, 5)), (0, 1): (2, 0, False, (0, 1, 5))},
        host=[(0, 0, 0, 0, 7, 1)],
    )  # fmt: skip
    row = np.array([2], np.int32), np.array([0], np.int32), np.array([0], np.int32), np.array([1], np.int32)
    assert both(replace(program, outputs=OutputTable(*row))) == (8, 8)


def test_two_ways_first_takes_the_shorter_and_full_the_longer(by_hand):
    program = chain(
        by_hand, host=[(0, 0, 0, 0, 7, 1), (0, 0, 0, 2, 5, 0)], synapses=[(0, 0, 0, 1), (0, 1, 1, 1), (0, 2, 1, 1)]
    )
    assert both(program) == (1, 8)


def test_a_synapse_of_weight_zero_is_none(by_hand):
    program = chain(
        by_hand, host=[(0, 0, 0, 0, 7, 1), (0, 0, 0, 2, 5, 0)], synapses=[(0, 0, 0, 1), (0, 1, 1, 1), (0, 2, 1, 1)]
    )
    weights = program.neurons.weights.copy()
    weights[0, 1, 1] = 0
    types = program.axon_types.copy()
    types[0, 2] = 1  # the short way's axon is now of a type that O's weight table has at 0
    program = replace(program, neurons=replace(program.neurons, weights=weights), axon_types=types)
    assert both(program) == (8, 8)


def test_each_input_has_its_own_onset(by_hand):
    nodes = [*NODES, ("J", 1, "input", 10)]
    program = chain(by_hand, nodes=nodes, host=[(0, 0, 0, 0, 7, 1), (3, 0, 0, 1, 12, 0)])
    assert both(program) == (2, 8)


def test_bias_axons_start_no_wave(by_hand):
    program = chain(by_hand, host=[(0, 0, 0, 0, 7, 1), (-1, 0, 0, 1, 0, 1)])
    assert both(program) == (8, 8)
    assert both(chain(by_hand, host=[(-1, 0, 0, 0, 7, 1)])) == (None, None)


def test_an_output_that_nothing_reaches(by_hand):
    assert both(chain(by_hand, synapses=[(0, 0, 0, 1)])) == (None, None)


def test_a_self_edge_is_masked_also_through_relays(by_hand):
    neurons = {
        (0, 0): (1, 0, False, (0, 1, 5)),
        (0, 1): (2, 0, False, None),
        (0, 2): (1, 0, False, (0, 2, 2)),  # a copy of A that feeds A's relay
        (0, 3): (1, 0, True, (0, 3, 4)),  # which feeds A again
    }
    synapses = [(0, 0, 0, 1), (0, 0, 2, 1), (0, 1, 1, 1), (0, 2, 3, 1), (0, 3, 0, 1), (0, 3, 2, 1)]
    program = chain(by_hand, neurons=neurons, synapses=synapses)
    assert both(program) == (8, 8)
    # the relay also feeds O: that way is no self-edge
    assert both(chain(by_hand, neurons=neurons, synapses=[*synapses, (0, 3, 1, 1)])) == (8, 3 + 2 + 4)


def test_a_cycle_of_two_nodes_leaves_the_full_response_open(by_hand):
    nodes = [*NODES[:2], ("B", 1, "hidden", 0), ("O", 1, "output", 12)]
    neurons = {
        (0, 0): (1, 0, False, (0, 1, 5)),
        (0, 1): (3, 0, False, None),
        (0, 2): (2, 0, False, (0, 2, 1)),
    }
    synapses = [(0, 0, 0, 1), (0, 1, 1, 1), (0, 1, 2, 1), (0, 2, 0, 1)]
    program = chain(by_hand, nodes=nodes, neurons=neurons, synapses=synapses)
    assert both(program) == (8, None)


@pytest.mark.parametrize("node", [1, -1])
def test_circles_of_relays_or_of_neurons_without_label_end(by_hand, node):
    neurons = {
        (0, 0): (1, 0, False, (0, 1, 5)),
        (0, 1): (2, 0, False, None),
        (0, 2): (node, 0, node >= 0, (0, 2, 1)),
    }
    synapses = [(0, 0, 0, 1), (0, 1, 1, 1), (0, 0, 2, 1), (0, 2, 2, 1), (0, 2, 1, 1)]
    assert both(chain(by_hand, neurons=neurons, synapses=synapses)) == (3 + 1, None)


def test_a_circle_behind_one_input_leaves_the_full_response_open_for_all(by_hand):
    nodes = [*NODES, ("J", 1, "input", 4)]
    neurons = {
        (0, 0): (1, 0, False, (0, 1, 5)),
        (0, 1): (2, 0, False, None),
        (0, 2): (1, 0, True, (0, 2, 1)),
    }
    synapses = [(0, 0, 0, 1), (0, 1, 1, 1), (0, 3, 2, 1), (0, 2, 2, 1), (0, 2, 1, 1)]
    host = [(0, 0, 0, 0, 7, 1), (3, 0, 0, 3, 7, 1)]
    assert both(chain(by_hand, nodes=nodes, neurons=neurons, synapses=synapses, host=host)) == (4, None)


def test_an_axon_fed_by_two_nodes_is_not_masked(by_hand):
    nodes = [*NODES[:2], ("O", 1, "output", 12), ("B", 1, "hidden", 0)]
    neurons = {
        (0, 0): (3, 0, False, (0, 1, 5)),
        (0, 1): (2, 0, False, None),
        (0, 2): (1, 0, False, (0, 2, 1)),
        (0, 3): (3, 1, False, (0, 2, 1)),  # A's axon is fed by A and, with the last word, by B
    }
    synapses = [(0, 0, 2, 1), (0, 2, 0, 1), (0, 1, 1, 1)]
    assert both(chain(by_hand, nodes=nodes, neurons=neurons, synapses=synapses)) == (9, 9)


# Against a literal walk.


@st.composite
def programs(draw, by_hand):
    """Random programs of up to three cores; node labels rise along synapses or stay equal, as in a DAG."""
    n_cores, axons, size = draw(st.integers(1, 3)), 4, 5
    period = draw(st.integers(1, 4))
    nodes = [("I", 2, "input", draw(st.integers(-3, 5))), ("J", 1, "input", draw(st.integers(-3, 5)))]
    nodes += [("A", 9, "hidden", 0), ("B", 9, "hidden", 0), ("O", 9, "output", 0)]
    places = [(c, n) for c in range(n_cores) for n in range(size)]
    neurons, fed = {}, {}
    free = [(c, a) for c in range(n_cores) for a in range(axons)]
    host = []
    for _ in range(draw(st.integers(1, 3))):
        core, axon = free.pop(draw(st.integers(0, len(free) - 1)))
        node = draw(st.integers(0, 1))
        host.append((node, 0, core, axon, nodes[node][3] + draw(st.integers(1, 4)), draw(st.integers(0, 1))))
        fed[core, axon] = -1
    for k, place in enumerate(places):
        node = draw(st.integers(2, 4))
        target = None
        if node < 4 and free and draw(st.booleans()):
            target = free.pop(draw(st.integers(0, len(free) - 1)))
            fed[target] = node
            target = (*target, draw(st.integers(1, 4)))
        neurons[place] = (node, k, False, target)
    synapses = [
        (core, axon, neuron, 1)
        for (core, axon), source in fed.items()
        for neuron in range(size)
        if neurons[core, neuron][0] >= source and draw(st.booleans())
    ]
    return by_hand(nodes, neurons, axons, synapses, host, period=period, n_cores=n_cores)


def literal(program):
    """Both responses of O by walking tick by tick: sets of axons, nothing pruned, all frames before the onset."""
    bits = np.unpackbits(program.crossbar, axis=-1, count=program.neuron_node.shape[1], bitorder="little")
    feeder = {}
    for core, neuron in np.argwhere(program.target_core >= 0).tolist():
        axon = (int(program.target_core[core, neuron]), int(program.target_axon[core, neuron]))
        feeder[axon] = int(program.neuron_node[core, neuron])
    read = set(zip(program.outputs.core.tolist(), program.outputs.neuron.tolist(), strict=True))
    first, full = [], []
    for node in (0, 1):
        rows = [k for k in range(len(program.host)) if program.host.node[k] == node]
        onset_frame = 40
        onset = program.nodes[node].sample_tick + onset_frame * program.period
        for masked, frames, found in ((False, [onset_frame], first), (True, range(1, onset_frame), full)):
            due, hits = {}, []
            for k in rows:
                for i in frames:
                    tick = int(program.host.arrival[k]) + i * program.period
                    due.setdefault(tick, set()).add((int(program.host.core[k]), int(program.host.axon[k])))
            while due and (tick := min(due)) < onset + 200:
                for core, axon in due.pop(tick):
                    for neuron in np.flatnonzero(bits[core, axon]).tolist():
                        if masked and feeder.get((core, axon)) == program.neuron_node[core, neuron]:
                            continue
                        if (core, neuron) in read:
                            hits.append(tick)
                        if program.target_core[core, neuron] >= 0:
                            target = (int(program.target_core[core, neuron]), int(program.target_axon[core, neuron]))
                            due.setdefault(tick + int(program.delay[core, neuron]), set()).add(target)
            if hits:
                found.append(max(hits) + program.period - onset if masked else min(hits) - onset)
    return min(first, default=None), max(full, default=None)


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_the_wave_equals_a_literal_walk_that_starts_from_all_frames(by_hand, data):
    program = data.draw(programs(by_hand))
    assert both(program) == literal(program)


@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
@pytest.mark.parametrize("seed", range(4))
def test_on_cores_of_lists_the_wave_takes_as_long_as_the_schedule_says(pattern, seed):
    """Skips and self-edges, whose shortest and longest ways differ; every other time each by one synapse a neuron."""
    draw = np.random.default_rng(seed)
    names = ["I", "A", "B", "C", "O"]
    keys = [(u, v) for k, u in enumerate(names) for v in names[k + 1 :] if names[k + 1] == v or draw.random() < 0.4]
    keys += [("A", "A"), ("C", "C")]
    nodes = {name: (6, None if name == "I" else 2) for name in names}
    signs = [-1, 1]
    few = {key: np.eye(6, dtype=int)[draw.permutation(6)] * draw.choice(signs, (6, 1)) for key in keys}
    edges = few if seed % 2 else {key: draw.integers(1, 4, (6, 6)) for key in keys}
    net = nm.build_network({n: ((1, 1, size), t) for n, (size, t) in nodes.items()}, edges, name="lists", outputs=["O"])
    rollout = nm.Rollout(net, pattern)
    program = nm.map_rollout(rollout, "loihi1")
    ticks = program.ticks_per_step
    first, full = rollout.first_response("O"), rollout.full_response("O")
    assert first < full or pattern == "sequential"
    assert both(program) == (first * ticks, full * ticks)


def test_on_cores_of_lists_a_synapse_of_weight_zero_is_none():
    edges = {("I", "A"): [[1]], ("A", "O"): [[1]], ("I", "O"): [[2]]}
    nodes = {name: ((1, 1, 1), None if name == "I" else 1) for name in "IAO"}
    program = nm.map_rollout(nm.Rollout(nm.build_network(nodes, edges, outputs=["O"]), "streaming"), "loihi1")
    assert both(program) == (1, 2)
    weight = program.synapses.weight.copy()
    weight[weight == weight.max()] = 0
    assert both(replace(program, synapses=replace(program.synapses, weight=weight))) == (2, 2)
