"""Measured responses against a brute force over the ways between neurons, and delays edited by hand."""

from dataclasses import replace

import networkx as nx
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.verification.law import verify
from neuromap.verification.wave import measure

SPARSE = {"weights": st.sampled_from([-2, -1, 0, 0, 0, 0, 1, 2]), "thresholds": st.integers(-1, 3)}
EXECUTIONS = st.sampled_from(["windowed", "pipelined"])
DELAYS = st.sampled_from([(1, 15), (1, 3), (2, 4)])


# Which ways the weights leave open.


def neuron_graph(rollout, masked):
    """Neurons (node, index) and nonzero weights; an edge takes the update steps that the rollout gives it."""
    graph = nx.DiGraph()
    for name, node in rollout.network.nodes.items():
        graph.add_nodes_from((name, k) for k in range(node.size))
    for (u, v), edge in rollout.network.edges.items():
        if not (masked and u == v):
            for j, i in np.argwhere(edge.matrix().toarray() != 0).tolist():
                graph.add_edge((u, i), (v, j), steps=rollout.delays[u, v])
    return graph


def shortest(rollout, output):
    """Least sum of steps from any input neuron to any neuron of the output; ``None`` without a way."""
    graph = neuron_graph(rollout, masked=False)
    found = nx.multi_source_dijkstra_path_length(
        graph, {n for n in graph if n[0] in rollout.network.inputs}, None, "steps"
    )
    return min((steps for neuron, steps in found.items() if neuron[0] == output), default=None)


def longest(rollout, output):
    """Greatest sum over all ways, self-edges masked; ``None`` without a way."""
    graph = neuron_graph(rollout, masked=True)
    most = {}
    for neuron in nx.topological_sort(graph):
        sums = [most[u] + steps for u, _, steps in graph.in_edges(neuron, data="steps") if u in most]
        if neuron[0] in rollout.network.inputs:
            sums.append(0)
        if sums:
            most[neuron] = max(sums)
    return max((steps for neuron, steps in most.items() if neuron[0] == output), default=None)


def open_sums(rollout, output):
    """Sums of steps of the paths between nodes that a way between neurons goes along."""
    network = rollout.network
    nodes = nx.DiGraph([key for key in network.edges if key[0] != key[1]])
    sums = set()
    for start in network.inputs:
        for path in nx.all_simple_edge_paths(nodes, start, output):
            live = np.ones(network.nodes[start].size, dtype=bool)
            for key in path:
                live = (network.edges[key].matrix().toarray() != 0) @ live
            if live.any():
                sums.add(sum(rollout.delays[key] for key in path))
    return sums


def steps_to_ticks(steps, program):
    return None if steps is None else steps * program.ticks_per_step


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_measured_equals_the_ways_that_the_weights_leave_open(networks, patterns, chip, data):
    own = data.draw(st.booleans())  # cycles are self-edges only
    network = data.draw(networks(self_edges_only=own, **SPARSE))
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(EXECUTIONS))
    program = map_rollout(rollout, chip(delay=data.draw(DELAYS)))
    for name, found in measure(program).items():
        opened = open_sums(rollout, name)
        first = rollout.first_response(name)
        assert found.first_response_ticks == steps_to_ticks(shortest(rollout, name), program)
        if first in opened:
            assert found.first_response_ticks == first * program.ticks_per_step
        if own:
            full = rollout.full_response(name)
            assert found.full_response_ticks == steps_to_ticks(longest(rollout, name), program)
            assert (found.full_response_ticks == full * program.ticks_per_step) == (full in opened)


# Delays edited by hand.


@st.composite
def edits(draw, program):
    """The program with the delay of one neuron that has a target changed, and by how many ticks."""
    core, neuron = draw(st.sampled_from(np.argwhere(program.target_core >= 0).tolist()))
    least, most = program.chip.delay
    was = int(program.delay[core, neuron])
    delay = program.delay.copy()
    delay[core, neuron] = draw(st.sampled_from([d for d in range(least, most + 1) if d != was]))
    return replace(program, delay=delay), int(delay[core, neuron]) - was


def pulses(network, n_frames):
    """For every input neuron the frames in which it alone spikes, once, in frame 1."""
    for name in network.inputs:
        for k in range(network.nodes[name].size):
            frames = {u: np.zeros((n_frames, network.nodes[u].size), dtype=bool) for u in network.inputs}
            frames[name][1, k] = True
            yield name, k, frames


def arrivals(program, node, index, n_ticks):
    """Ticks at which output neurons are reached by one spike of an input neuron in frame 1, by walking all ways."""
    bits = np.unpackbits(program.crossbar, axis=-1, count=program.neuron_node.shape[1], bitorder="little")
    read = set(zip(program.outputs.core.tolist(), program.outputs.neuron.tolist(), strict=True))
    host, position = program.host, [port.name for port in program.nodes].index(node)
    rows = np.flatnonzero((host.node == position) & (host.index == index))
    todo = {(int(host.arrival[k]) + program.period, int(host.core[k]), int(host.axon[k])) for k in rows}
    done, found = set(), set()
    while todo:
        event = todo.pop()
        done.add(event)
        tick, core, axon = event
        for neuron in np.flatnonzero(bits[core, axon]).tolist():
            if (core, neuron) in read:
                found.add((tick, core, neuron))
            if program.target_core[core, neuron] >= 0:
                after = tick + int(program.delay[core, neuron])
                place = (after, int(program.target_core[core, neuron]), int(program.target_axon[core, neuron]))
                if after < n_ticks and place not in done:
                    todo.add(place)
    return found


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_an_edit_is_caught_where_it_changes_when_an_output_is_reached(networks, patterns, chip, data):
    """All weights and thresholds are 1: neurons spike where any way leads, so nothing else can hide an edit.

    What stays hidden: where ways not through the edited neuron reach the same outputs at the same ticks as those
    through it, before and after the edit (a self-edge that spikes for ever does so, for later ticks). The checker
    may know such a program by its clocks all the same, and then it is not verified either.
    """
    network = data.draw(networks())
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(EXECUTIONS))
    program = map_rollout(rollout, chip(delay=data.draw(DELAYS)))
    assume((program.target_core >= 0).any())
    changed, _ = data.draw(edits(program))
    caught = False
    for name, k, frames in pulses(network, 9):
        result = verify(rollout, changed, frames)
        ways = (arrivals(p, name, k, result.n_ticks) for p in (program, changed))
        moved = len({frozenset(w for w in way if w[0] < result.n_ticks) for way in ways}) == 2
        assert (result.n_mismatches + result.n_strays > 0) == moved
        assert result.verified == (not moved and result.n_violations == 0)
        caught |= moved
    before, after = measure(program), measure(changed)
    if any(before[o].first_response_ticks != after[o].first_response_ticks for o in network.outputs):
        assert caught


@st.composite
def trees(draw):
    """Networks in which one way leads to every neuron: every node has one source, matrices are permutations."""
    size, n_nodes = draw(st.integers(1, 3)), draw(st.integers(2, 5))
    names = ["I", *(f"N{k}" for k in range(n_nodes))]
    edges = [(names[draw(st.integers(0, k))], names[k + 1]) for k in range(n_nodes)]
    matrices = {key: np.eye(size, dtype=int)[draw(st.permutations(range(size)))] for key in edges}
    network = build_network({name: (size, 1 if name != "I" else None) for name in names}, matrices, name="tree")
    values = tuple(draw(st.integers(0, 1)) for _ in network.edges)
    return network, RolloutPattern(network, values, "drawn")


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_where_one_way_leads_to_every_neuron_every_edited_delay_is_caught(chip, data):
    network, pattern = data.draw(trees())
    rollout = Rollout(network, pattern, data.draw(EXECUTIONS))
    program = map_rollout(rollout, chip(delay=data.draw(DELAYS)))
    assume((program.target_core >= 0).any())
    changed, ticks = data.draw(edits(program))
    frames = {"I": np.zeros((9, network.nodes["I"].size), dtype=bool)}
    frames["I"][1] = True
    assert verify(rollout, program, frames).verified
    assert not verify(rollout, changed, frames).verified
    before, after = measure(program), measure(changed)
    moves = {
        (
            after[o].first_response_ticks - before[o].first_response_ticks,
            after[o].full_response_ticks - before[o].full_response_ticks,
        )
        for o in network.outputs
    }
    # the edit is one for all outputs behind it; the others, and neurons beside it, stay
    assert moves - {(0, 0)} in ([{(0, ticks)}, {(ticks, ticks)}] if ticks > 0 else [{(ticks, 0)}, {(ticks, ticks)}])
