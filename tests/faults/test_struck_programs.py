"""A program with faults is another program: what it computes is what is left of the network."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.faults import KINDS, Faults, strike
from neuromap.faults.edited_program import Links, cut_ways, draws, links_in_use
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.network.build import build_network
from neuromap.simulation.engine.numpy_engine import core_numbers
from neuromap.simulation.run.simulate import run_events

OF_PROGRAMS = [kind for kind in KINDS if kind != "dropped-spikes"]
RATES = st.floats(0, 1)
SEEDS = st.integers(0, 2**64 - 1)


def one_core_dead(program, seed):
    """Faults by which the core of the least draw dies and no other, and that core."""
    found = draws(seed, "dead-cores", core_numbers(program))
    least = int(found.argmin())
    return Faults({"dead-cores": min(float(np.nextafter(found[least], 1)), 1.0)}, seed), least


def without_neurons(network, gone):
    """The network without some neurons of its inner nodes: nothing reaches them, and they need a spike to fire."""
    nodes, edges = {}, {}
    for name, node in network.nodes.items():
        threshold = None if node.threshold is None else np.broadcast_to(node.threshold, node.size).copy()
        if threshold is not None:
            threshold[gone.get(name, [])] = 1
        nodes[name] = (node.size, threshold)
    for (u, v), edge in network.edges.items():
        edges[u, v] = edge.matrix().toarray()
        edges[u, v][gone.get(v, [])] = 0
    return build_network(nodes, edges, outputs=network.outputs)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_dead_core_is_the_reference_without_its_neurons(mapped, data):
    rollout, program = data.draw(mapped())
    faults, core = one_core_dead(program, data.draw(SEEDS))
    mine, relay = program.neuron_node >= 0, program.is_relay
    assume(not (mine & relay)[core].any())  # a relay's source lives on, for those that it feeds elsewhere
    labels = np.stack([program.neuron_node, program.neuron_index], axis=-1)
    gone = {tuple(label) for label in labels[core][mine[core]]}
    elsewhere = mine & ~relay
    elsewhere[core] = False
    assume(not gone & {tuple(label) for label in labels[elsewhere]})  # copies elsewhere live on too
    by_node = {}
    for node, index in gone:
        by_node.setdefault(program.nodes[node].name, []).append(int(index))

    struck, counts = strike(program, faults)
    assert counts == {"dead-cores": (1, program.n_cores)}
    frames = nm.random_frames(rollout.network, 8, density=0.6, seed=data.draw(st.integers(0, 99)))
    left = without_neurons(rollout.network, by_node)
    expected = nm.reference(nm.Rollout(left, nm.RolloutPattern(left, rollout.pattern.values)), frames)
    found = nm.simulate(struck, frames, engine="numpy")
    for name in rollout.network.outputs:
        assert (found.frames(name)[1:] == expected[name][1:]).all()
        assert len(found.strays(name)) == 0


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_nothing_fails_at_rate_0(mapped, data):
    _, program = data.draw(mapped())
    struck, counts = strike(program, Faults(dict.fromkeys(KINDS, 0.0), data.draw(SEEDS)))
    assert struck is program
    assert set(counts) == set(OF_PROGRAMS)
    assert all(count.struck == 0 for count in counts.values())


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_all_that_is_at_risk_fails_at_rate_1(mapped, data):
    rollout, program = data.draw(mapped())
    for kind in OF_PROGRAMS:
        counts = strike(program, Faults({kind: 1.0})).counts
        assert counts[kind].struck == counts[kind].at_risk
    dead = strike(program, Faults({"dead-cores": 1.0, "firing-neurons": 1.0})).program  # a dead core fires no more
    found = nm.simulate(dead, nm.random_frames(rollout.network, 5), engine="numpy", record=nm.Recording("all"))
    assert len(found.tick) == 0


@given(st.data(), st.sampled_from(["silent-neurons", "firing-neurons"]), SEEDS, RATES, RATES)
@settings(deadline=None, max_examples=60)
def test_faults_at_a_rate_are_among_those_at_a_higher_one(mapped, data, kind, seed, one, other):
    _, program = data.draw(mapped(lists=False))
    less, more = (strike(program, Faults({kind: rate}, seed)) for rate in sorted((one, other)))

    def stuck(found):
        return (found.program.neurons.threshold != program.neurons.threshold) | (
            found.program.neurons.weights != program.neurons.weights
        ).any(axis=2)

    assert less.counts[kind].struck <= more.counts[kind].struck
    assert not (stuck(less) & ~stuck(more)).any()


@given(st.data(), SEEDS, RATES, RATES)
@settings(deadline=None, max_examples=30)
def test_flipped_bits_at_a_rate_are_among_those_at_a_higher_one(mapped, data, seed, one, other):
    _, program = data.draw(mapped(lists=False))
    less, more = (strike(program, Faults({"flipped-synapses": rate}, seed)) for rate in sorted((one, other)))
    flips = [found.program.crossbar ^ program.crossbar for found in (less, more)]
    assert not (flips[0] & ~flips[1]).any()
    for found, bits in zip((less, more), flips, strict=True):
        assert np.bitwise_count(bits).sum() == found.counts["flipped-synapses"].struck
    assert (
        not np.unpackbits(flips[1], axis=2, count=program.shape[1], bitorder="little")
        .any(axis=1)[~program.neurons_in_use]
        .any()
    )


@given(st.data(), SEEDS)
@settings(deadline=None, max_examples=30)
def test_flipped_synapses_of_lists_have_the_other_sign(mapped, data, seed):
    _, program = data.draw(mapped(lists=True))
    struck, counts = strike(program, Faults({"flipped-synapses": 0.5}, seed))
    before, now = program.synapses.weight, struck.synapses.weight
    assert (np.abs(now) == np.abs(before)).all()
    assert ((now != before) & (before != 0)).sum() <= counts["flipped-synapses"].struck <= len(before)


@given(st.data(), SEEDS)
@settings(deadline=None, max_examples=40)
def test_stuck_neurons_fire_in_every_tick_or_never(mapped, data, seed):
    _, program = data.draw(mapped())
    rng = np.random.default_rng(seed)
    if hasattr(program, "synapses"):
        chip = program.chip
        figures = replace(chip.lists, soft_reset=True, reset_values=True, floors="any")
        options = {"reset": rng.integers(-99, 99, program.shape).astype(np.int32)}
        options["floor"] = rng.integers(99, 999, program.shape).astype(np.int32)
        options["subtract"] = rng.integers(0, 2, program.shape).astype(np.uint8)
        keeps = np.zeros(program.shape, np.int32)  # what a spike leaves counts in the next tick
        changed = replace(program.neurons, voltage_decay=keeps, **options)
        program = replace(program, chip=replace(chip, core_figures=figures), neurons=changed)
    n_ticks = 9
    core = rng.integers(0, program.n_cores, 40)
    axon = rng.integers(0, np.maximum(program.axon_counts[core], 1))
    has = program.axon_counts[core] > 0
    events = (rng.integers(0, n_ticks, 40)[has], core[has], axon[has])
    used = program.neurons_in_use
    where = np.nonzero(used)
    places = core_numbers(program)[where[0]]
    for kind, times in (("firing-neurons", n_ticks), ("silent-neurons", 0)):
        struck = strike(program, Faults({kind: 0.4}, seed)).program
        spikes = run_events(struck, *events, n_ticks, engine="numpy")
        fired = np.zeros(program.shape, int)
        np.add.at(fired, (spikes.cores, spikes.neurons), 1)
        stuck = draws(seed, kind, places, where[1]) < 0.4
        assert (fired[where][stuck] == times).all()


def mesh_path(start, end):
    """Links from router to router along x, then along y, as networkx finds them on a line each."""
    (x, y), (to_x, to_y) = start, end
    row = nx.shortest_path(nx.path_graph(8), x, to_x)
    column = nx.shortest_path(nx.path_graph(8), y, to_y)
    places = [(k, y) for k in row] + [(to_x, k) for k in column[1:]]
    return {frozenset(pair) for pair in pairwise(places)}


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_dead_links_cut_the_ways_that_cross_them(by_hand, data):
    cores = st.integers(0, 63)
    pairs = data.draw(st.lists(st.tuples(cores, cores), min_size=1, max_size=8, unique_by=lambda pair: pair[0]))
    neurons = {(a, 0): (-1, 0, False, (b, 0, 1)) for a, b in pairs}
    program = by_hand([], neurons, 1, [], [], n_cores=64)
    ways = [mesh_path((a % 8, a // 8), (b % 8, b // 8)) for a, b in sorted(pairs)]
    links = links_in_use(program)
    ends = [frozenset([(x, y), (x + 1 - up, y + up)]) for x, y, up in zip(*(c.tolist() for c in links), strict=True)]
    assert len(set(ends)) == len(ends)
    assert set(ends) == set().union(*ways)
    dead = np.array(data.draw(st.lists(st.booleans(), min_size=len(ends), max_size=len(ends))), bool)
    cut = cut_ways(program, Links(*(column[dead] for column in links)))
    gone = {end for end, is_dead in zip(ends, dead, strict=True) if is_dead}
    assert cut.tolist() == [bool(way & gone) for way in ways]

    faults = Faults({"dead-links": 0.5}, data.draw(SEEDS))
    struck = strike(program, faults).program
    drawn = draws(faults.seed, "dead-links", *links) < 0.5
    gone = {end for end, is_dead in zip(ends, drawn, strict=True) if is_dead}
    alive = {a for (a, _), way in zip(sorted(pairs), ways, strict=True) if not way & gone}
    assert set(struck.wires.core.tolist()) == alive


def test_a_chip_with_defects_keeps_them(by_hand):
    """Defects that the mapper knows are no faults: ways are asked about faults only."""
    program = by_hand([], {(0, 0): (-1, 0, False, (2, 0, 1))}, 1, [], [], n_cores=3)
    chip = program.chip.with_defects(replace(program.chip.defects, cores=((5, 5),)))
    struck = strike(replace(program, chip=chip), Faults({"dead-links": 1.0})).program
    assert struck.chip is chip
    assert len(struck.wires.core) == 0


def test_the_same_seed_gives_the_same_program(by_hand):
    program = by_hand([], {(a, 0): (-1, 0, False, (9 - a, 0, 1)) for a in range(10)}, 1, [], [], n_cores=10)
    faults = Faults(dict.fromkeys(OF_PROGRAMS, 0.3), 7)
    one, other = (program_bytes(strike(program, faults).program) for _ in range(2))
    assert one == other != program_bytes(strike(program, replace(faults, seed=8)).program)


@pytest.mark.parametrize(
    ("rates", "seed", "words"),
    [
        ({"broken-cores": 0.1}, 0, "faults: kind 'broken-cores': is not known; choose of dead-cores, dead-links"),
        ({"dead-cores": 1.5}, 0, "faults: rate of dead-cores 1.5: must be a part from 0 to 1, such as 0.01 for 1 %"),
        ({"dead-cores": float("nan")}, 0, "faults: rate of dead-cores nan: must be"),
        ({"dead-cores": 0.1}, -1, "faults: seed = -1: must be 0 to"),
        (0.1, 0, "faults: rates"),
    ],
)
def test_wrong_faults_are_refused_in_one_line(rates, seed, words):
    with pytest.raises(InputError) as refusal:
        Faults(rates, seed)
    assert str(refusal.value).startswith(words)
    assert "\n" not in str(refusal.value)
