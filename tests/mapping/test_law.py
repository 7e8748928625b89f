"""The law of the project: the simulated chip computes exactly what the rollout defines, spike for spike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import PHASES, PLACERS, SPLITTERS, MappingOptions, Pins
from neuromap.network import build_network

pytestmark = pytest.mark.law

THETAS = st.one_of(st.integers(-3, 6), st.sampled_from([0, 1, 255, 256, 257, 700, -5, -300]))
SIZES = st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 3))
# Axons and neurons, short of the one, of the other, or of both; few shapes of kernels (tests/plugins/compile_all.py).
CORES = [(48, 24), (64, 10), (48, 64), (20, 40), (128, 100), (70, 128), (256, 256), (200, 250)]
SMALL_CORES = [(64, 4), (64, 10), (64, 24), (60, 60), (256, 256)]


def weights(kind: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "sign-fixed":
        return rng.integers(0, 2, shape) * rng.choice([-1, 1], (1, shape[1]))
    if kind == "ternary":
        return rng.integers(-1, 2, shape)
    if kind == "four-bit":
        return rng.integers(-8, 8, shape)
    return rng.integers(-300, 300, shape) * (rng.random(shape) < 0.3)


@st.composite
def networks(draw: st.DrawFn) -> nm.Network:
    """Cycles, skips, self-edges, one or two inputs, any outputs, thresholds of either sign and beyond the leak."""
    inputs = [f"I{k}" for k in range(draw(st.integers(1, 2)))]
    inner = [f"H{k}" for k in range(draw(st.integers(1, 5)))]
    edges = {(draw(st.sampled_from(inputs + inner[:k])), v) for k, v in enumerate(inner)}
    edges |= {(u, draw(st.sampled_from(inner))) for u in inputs}
    edges |= set(draw(st.lists(st.tuples(st.sampled_from(inputs + inner), st.sampled_from(inner)), max_size=6)))
    shapes = {n: draw(SIZES) for n in inputs + inner}
    size = {n: int(np.prod(s)) for n, s in shapes.items()}
    nodes = {n: (shapes[n], None) for n in inputs}
    nodes |= {n: (shapes[n], draw(st.lists(THETAS, min_size=size[n], max_size=size[n]))) for n in inner}
    kinds = st.sampled_from(["sign-fixed", "ternary", "four-bit", "wide"])
    matrices = {
        (u, v): weights(draw(kinds), (size[v], size[u]), draw(st.integers(0, 2**32 - 1))) for u, v in sorted(edges)
    }
    outputs = draw(st.lists(st.sampled_from(inner), unique=True))
    return build_network(nodes, matrices, outputs=outputs)


@st.composite
def chips(draw: st.DrawFn, make: Callable[..., nm.ChipSpec]) -> nm.ChipSpec:
    """Small chips with every width and every reading of the neuron drawn."""
    least = draw(st.integers(1, 3))
    axons, neurons = draw(st.sampled_from(CORES))
    rules = NeuronRules(
        number_format=draw(st.sampled_from(["sign_magnitude", "twos_complement"])),
        overflow=draw(st.sampled_from(["saturate", "wrap"])),
        negative_comparison=draw(st.sampled_from(["<", "<="])),
        signed_threshold=draw(st.booleans()),
    )
    return make(
        cores=draw(st.sampled_from([(16, 16), (3, 40), (8, 8)])),
        chips=draw(st.sampled_from([(1, 1), (2, 1)])),
        axons=axons,
        neurons=neurons,
        axon_types=draw(st.integers(1, 5)),
        weight_bits=draw(st.integers(2, 9)),
        leak_bits=draw(st.integers(2, 9)),
        potential_bits=draw(st.integers(10, 20)),
        delay=(least, draw(st.integers(least, 6))),
        rules=rules,
    )


@st.composite
def choices(draw: st.DrawFn, net: nm.Network) -> MappingOptions:
    """Every strategy of every stage, and splitters pinned to any edges."""
    inner = [e for e in net.edges if e[0] not in net.inputs]
    return MappingOptions(
        placer=draw(st.sampled_from(["auto", "row-major", "hilbert", "spectral", "exchange"])),
        splitters=draw(st.sampled_from(SPLITTERS)),
        packing=draw(st.booleans()),
        partitioner=draw(st.sampled_from(["auto", "blocks", "overlap"])),
        pins=Pins(splitters=frozenset(draw(st.sets(st.sampled_from(inner))) if inner else ())),
        seed=draw(st.integers(0, 3)),
        phases=draw(st.sampled_from(PHASES)),
    )


def with_own_phases(draw: st.DrawFn, rollout: nm.Rollout) -> nm.Rollout:
    """Let nodes between inputs and outputs come later or earlier, one after the other, as far as they can."""
    net, period = rollout.network, rollout.frame_period
    for v in net.nodes:
        into = [d - 1 for (u, w), d in rollout.delays.items() if w == v != u]
        out = [d - 1 for (u, w), d in rollout.delays.items() if u == v != w]
        if v not in net.inputs and v not in net.outputs:
            move = draw(st.integers(-min(into, default=0), min([*out, 2 * period])))
            rollout = rollout.with_phases({v: rollout.phases[v] + move})
    return rollout


def carrying(net: nm.Network) -> set[tuple[str, str]]:
    """Edges with a weight into a neuron that leads to an output."""
    wires: nx.DiGraph[tuple[str, int]] = nx.DiGraph()
    wires.add_nodes_from((v, i) for v in net.nodes for i in range(net.nodes[v].size))
    for (u, v), edge in net.edges.items():
        wires.add_edges_from(((u, int(j)), (v, int(i))) for i, j in zip(*edge.matrix().nonzero(), strict=True))
    ends = [(v, i) for v in net.outputs for i in range(net.nodes[v].size)]
    led = set(ends).union(*(nx.ancestors(wires, end) for end in ends)) if ends else set()
    return {(u, v) for (u, _), (v, i) in wires.edges if (v, i) in led}


EVERYDAY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(EVERYDAY, max_examples=90)
@given(data=st.data(), net=networks(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_chip_equals_reference(valid_pattern, agrees, chip, data, net, execution):
    """TrueNorth, and the same with short delays, refuse none of these networks."""
    least = data.draw(st.integers(1, 3))
    short = chip(delay=(least, data.draw(st.integers(least, 6))))
    spec = data.draw(st.sampled_from([nm.load_chip("truenorth"), short]))
    seed = data.draw(st.integers(0, 99))
    program = agrees(net, valid_pattern(data.draw, net), execution, spec, seed=seed)
    event(f"relays: {bool(program.is_relay.any())}")


@settings(EVERYDAY, max_examples=45)
@given(data=st.data(), net=networks(), more=st.integers(1, 3))
def test_chip_equals_reference_at_a_chosen_frame_period(valid_pattern, agrees, data, net, more):
    pattern = valid_pattern(data.draw, net)
    period = nm.Rollout(net, pattern, "pipelined").frame_period + more
    program = agrees(net, pattern, f"pipelined:{period}", nm.load_chip("truenorth"), seed=data.draw(st.integers(0, 99)))
    assert program.period == period * program.ticks_per_step
    event(f"relays: {bool(program.is_relay.any())}")


@settings(EVERYDAY, max_examples=90)
@given(data=st.data(), net=networks(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_chip_equals_reference_or_the_refusal_has_a_gap(valid_pattern, agrees, chip, data, net, execution):
    spec = data.draw(chips(chip))
    try:
        agrees(net, valid_pattern(data.draw, net), execution, spec, seed=data.draw(st.integers(0, 99)))
    except DoesNotFitError as refusal:
        event(f"refused: {refusal.infeasibility.limit}")
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
    else:
        event("mapped")


@settings(EVERYDAY, max_examples=30)
@given(data=st.data(), net=networks())
def test_the_law_does_not_depend_on_the_placer(valid_pattern, chip, data, net):
    rollout = nm.Rollout(net, valid_pattern(data.draw, net))
    rng = np.random.default_rng(0)
    frames = {i: rng.random((6, net.nodes[i].size)) < 0.5 for i in net.inputs}
    traces = [nm.simulate(nm.map_rollout(rollout, chip(), placer=placer), frames) for placer in PLACERS]
    for output in net.outputs:
        for trace in traces[1:]:
            np.testing.assert_array_equal(trace.frames(output), traces[0].frames(output))


@settings(EVERYDAY, max_examples=90)
@given(data=st.data(), net=networks(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_the_law_holds_for_every_strategy(valid_pattern, computes, chip, data, net, execution):
    """Cores are small, so that packing, replicas and splitters are busy; edges without slack are timed in ticks.

    So it does at whatever phases.
    """
    least = data.draw(st.integers(1, 3))
    axons, neurons = data.draw(st.sampled_from(SMALL_CORES))
    spec = chip(axons=axons, neurons=neurons, delay=(least, data.draw(st.integers(max(2, least), 15))))
    rollout = nm.Rollout(net, valid_pattern(data.draw, net), execution)
    timing = data.draw(st.sampled_from(["steps", "own phases", "ticks"]))
    if timing == "own phases":
        rollout = with_own_phases(data.draw, rollout)
    elif timing == "ticks":
        slow = st.dictionaries(st.sampled_from(list(net.edges)), st.integers(2, 20), min_size=1, max_size=2)
        rollout = rollout.with_latencies(data.draw(slow))
    options = data.draw(choices(net))
    try:
        mapping = map_with_stages(rollout, spec, options)
    except DoesNotFitError as refusal:
        event(f"refused: {refusal.infeasibility.limit}")
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    assert options.pins.splitters & carrying(net) <= mapping.split <= set(net.edges)
    event(f"splitters: {mapping.program.is_splitter is not None}; tick-level: {mapping.rollout is not rollout}")
    event(f"phases at least cost: {mapping.phases is not None and mapping.phases.is_taken}")
    event(f"cores shared by tiles: {any(len(core.tiles) > 1 for core in mapping.partition.cores)}")
    computes(rollout, mapping.program)


@settings(EVERYDAY, max_examples=18)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined", "pipelined:best"]))
def test_the_law_holds_for_all_that_bears_on_time_at_once(valid_pattern, interleaved, computes, chip, data, execution):
    """Unequal intervals, edges that bridge frames, latencies, phases at least cost, sums in parts, splitters."""
    if execution == "pipelined:best" and data.draw(st.booleans()):
        net, pattern = data.draw(interleaved(longest=3))
    else:
        net = data.draw(networks())
        pattern = valid_pattern(data.draw, net)
    rollout = nm.Rollout(net, pattern, execution)
    if data.draw(st.booleans()):
        rollout = rollout.with_latencies({edge: data.draw(st.integers(1, 4)) for edge in net.edges})
    axons, neurons = data.draw(st.sampled_from(CORES))
    delay = data.draw(st.sampled_from([(1, 15), (1, 2), (2, 3)]))
    spec = chip(axons=axons, neurons=neurons, delay=delay, cores=(40, 40))
    options = dataclasses.replace(data.draw(choices(net)), wide=data.draw(st.sampled_from(["refuse", "partial-sums"])))
    try:
        mapping = map_with_stages(rollout, spec, options)
    except DoesNotFitError as refusal:
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    program = mapping.program
    event(f"{execution}, parts: {program.is_part is not None}, unequal: {program.period.denominator > 1}")
    computes(mapping.rollout, program)


@pytest.mark.smoke
@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
@pytest.mark.parametrize("kind", ["sign-fixed", "ternary"])
def test_populations_over_several_cores(agrees, chip, kind, execution):
    """Tiles, copies and relays at once: small cores, a dense skip and a self-edge."""
    size = {"I": 30, "A": 40, "B": 40, "C": 12}
    nodes = {n: ((1, 1, s), None if n == "I" else 1) for n, s in size.items()}
    edges = [("I", "A"), ("A", "B"), ("B", "C"), ("A", "C"), ("B", "B")]
    rng = np.random.default_rng(3)
    sparse = {e: rng.random((size[e[1]], size[e[0]])) < 0.25 for e in edges}
    net = build_network(
        nodes, {e: weights(kind, sparse[e].shape, k) * sparse[e] for k, e in enumerate(edges)}, outputs=["C", "B"]
    )
    spec = chip(axons=64, neurons=64, delay=(1, 2))
    for values in ([1, 1, 1, 1, 1], [0, 0, 0, 0, 1], [1, 0, 1, 0, 1], [0, 0, 0, 1, 1]):
        program = agrees(net, nm.RolloutPattern.from_values(net, values), execution, spec)
        assert program.n_cores >= 4
