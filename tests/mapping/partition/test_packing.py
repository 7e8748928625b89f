"""Packing: cores shared between populations keep every limit, need no more cores, and compute the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import HostLink
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions, Pins
from neuromap.mapping.partition import partition as packing
from neuromap.mapping.partition.partition import Partition
from neuromap.network import Conv, build_network

EXAMPLES = Path(__file__).parents[3] / "examples"
EVERYDAY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def networks(draw: st.DrawFn) -> nm.Network:
    """Chains of up to five nodes with skips and cycles, up to four inputs, any weights and thresholds."""
    inputs = [f"I{k}" for k in range(draw(st.integers(1, 4)))]
    inner = [f"H{k}" for k in range(draw(st.integers(2, 5)))]
    edges = {((inputs + inner[:k])[draw(st.integers(0, len(inputs) + k - 1))], v) for k, v in enumerate(inner)}
    edges |= {(u, draw(st.sampled_from(inner))) for u in inputs}
    edges |= set(draw(st.lists(st.tuples(st.sampled_from(inputs + inner), st.sampled_from(inner)), max_size=5)))
    size = {n: draw(st.integers(1, 9)) for n in inputs + inner}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = {"sign-fixed": (0, 1), "ternary": (-1, 0, 1), "wide": tuple(range(-9, 10))}
    matrices = {}
    for u, v in sorted(edges):
        values = kinds[draw(st.sampled_from(sorted(kinds)))]
        matrices[u, v] = rng.choice(values, (size[v], size[u])) * rng.choice([0, 1, 1], (size[v], size[u]))
    far = st.sampled_from([0, 1, 255, 256, 300, -5, -300])
    thresholds = {n: draw(st.lists(st.integers(-3, 5) | far, min_size=size[n], max_size=size[n])) for n in inner}
    nodes = {n: ((1, 1, size[n]), thresholds.get(n)) for n in inputs + inner}
    return build_network(nodes, matrices, outputs=draw(st.lists(st.sampled_from(inner), unique=True)))


def carried(parts: Partition, tile: int, axon: int) -> tuple[object, ...]:
    """What an axon carries, read from the network's links alone: (where from, neuron, tick, first frame)."""
    of = parts.tiles[tile]
    if of.plan.source[axon] == BIAS:
        return ("bias", parts.network.populations[of.population].sample_tick)
    sources = parts.sources[of.population]
    column = of.columns[of.plan.source[axon]]
    link, neuron = sources.links[sources.link_of[column]], int(sources.neuron_of[column])
    if isinstance(link, HostLink):
        return ("host", link.node, neuron, link.arrival, link.first_frame)
    return ("chip", link.source, neuron, link.delay)


def broken_rules(parts: Partition, chip: nm.ChipSpec) -> list[str]:
    """Everything that cores must keep, counted again axon by axon in plain dicts."""
    broken = []
    homes = Counter(tile for core in parts.cores for tile in core.tiles)
    if homes != Counter(range(len(parts.tiles))):
        broken.append("a tile is not in exactly one core")
    wanted: Counter[tuple[int, int]] = Counter()
    for core in parts.cores:
        content: dict[int, tuple[object, ...]] = {}
        for tile, axon_of, type_of in zip(core.tiles, core.axon_of, core.type_of, strict=True):
            if sorted(type_of.tolist()) != list(range(chip.axon_types)):
                broken.append("types are not permuted")
            if len(set(axon_of.tolist())) != len(axon_of):
                broken.append("two axons of a tile meet: a neuron may need both")
            for axon, there in enumerate(axon_of.tolist()):
                kind = int(type_of[parts.tiles[tile].plan.axon_type[axon]])
                if content.setdefault(there, (*carried(parts, tile, axon), kind)) != (
                    *carried(parts, tile, axon),
                    kind,
                ):
                    broken.append("two signals or types on one axon")
        if sorted(content) != list(range(core.n_axons)) or core.n_axons > chip.axons:
            broken.append("axons of a core")
        wanted.update((w[1], w[2]) for w in content.values() if w[0] == "chip")  # type: ignore[misc]
        if sum(int(parts.tiles[tile].copies.sum()) for tile in core.tiles) > chip.neurons:
            broken.append("neurons of a core")
    offered: Counter[tuple[int, int]] = Counter()
    for tile in parts.tiles:
        for neuron, copies in zip(tile.neurons.tolist(), tile.copies.tolist(), strict=True):
            offered[tile.population, neuron] += copies
    for (population, neuron), copies in offered.items():
        if copies < wanted[population, neuron] + parts.network.populations[population].is_output:
            broken.append("copies are missing")
    if wanted.keys() - offered.keys():
        broken.append("a source is missing")
    return broken


def both(net: nm.Network, pattern: nm.RolloutPattern, execution: str, spec: nm.ChipSpec) -> tuple[object, object]:
    rollout = nm.Rollout(net, pattern, execution=execution)
    plain = map_with_stages(rollout, spec, MappingOptions(packing=False, splitters="never"))
    return plain, map_with_stages(rollout, spec, MappingOptions(splitters="never"))


def assert_same(net: nm.Network, mapping, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = {i: rng.random((8, net.nodes[i].size)) < rng.random() for i in net.inputs}
    expected, trace = nm.reference(mapping.rollout, frames), nm.simulate(mapping.program, frames)
    for output in net.outputs:
        np.testing.assert_array_equal(trace.frames(output), expected[output])
        assert len(trace.strays(output)) == 0


@pytest.mark.law
@settings(EVERYDAY, max_examples=30)
@given(data=st.data(), net=networks(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_packed_cores_keep_the_rules_and_the_law(valid_pattern, chip, data, net, execution):
    """Bias at several phases, host rows of both R, cycles, any weights; cores so small that packing is busy."""
    spec = chip(
        cores=(40, 40),
        axons=data.draw(st.sampled_from([24, 32, 48])),
        neurons=data.draw(st.sampled_from([6, 12, 24])),
        axon_types=data.draw(st.integers(2, 5)),
        delay=(1, data.draw(st.integers(1, 5))),
    )
    pattern = valid_pattern(data.draw, net)
    try:
        plain, packed = both(net, pattern, execution, spec)
    except DoesNotFitError as refusal:
        event(f"refused: {refusal.infeasibility.limit}")
        return
    assert broken_rules(packed.partition, spec) == []
    assert nm.check_program(packed.program) == []
    saved = plain.program.n_cores - packed.program.n_cores
    event("fewer cores" if saved else "as many cores")
    assert saved >= 0
    assert_same(net, packed, data.draw(st.integers(0, 99)))


def irregular(seed: int, signs: str, n_nodes: int = 6) -> nm.Network:
    """Sparse random edges with a skip into every other node and one self-edge."""
    rng = np.random.default_rng(seed)
    names = ["I", *(f"N{k}" for k in range(n_nodes))]
    size = {n: int(rng.integers(20, 90)) for n in names}
    edges = {}
    for k, name in enumerate(names[1:], 1):
        for source in {names[k - 1], names[int(rng.integers(0, k))], *([name] if k == 3 else [])}:
            fan = int(rng.integers(2, 7))
            matrix = np.zeros((size[name], size[source]), int)
            for row in matrix:
                row[rng.choice(size[source], fan, replace=False)] = 1
            sign = (1, size[source]) if signs == "sign-fixed" else matrix.shape
            edges[source, name] = matrix * rng.choice([-1, 1], sign)
    nodes = {n: ((1, 1, size[n]), None if n == "I" else rng.integers(-2, 4, size[n])) for n in names}
    return build_network(nodes, edges, outputs=(names[-1], names[2]))


@pytest.mark.parametrize("signs", ["sign-fixed", pytest.param("ternary", marks=pytest.mark.thorough)])
def test_irregular_networks_need_a_tenth_fewer_cores(chip, signs):
    spec = chip(axons=64, neurons=64)
    cores = np.zeros(2)
    for seed in range(3):
        net = irregular(seed, signs)
        plain, packed = both(net, nm.RolloutPattern.streaming(net), "windowed", spec)
        assert broken_rules(packed.partition, spec) == []
        assert nm.check_program(packed.program) == []
        assert_same(net, packed, seed)
        cores += plain.program.n_cores, packed.program.n_cores
    assert cores[1] <= 0.9 * cores[0]


def test_populations_that_read_the_same_share_their_axons(chip):
    """B and C read all of A, with opposite weights: one core, one axon per neuron of A, one copy of each."""
    rng = np.random.default_rng(0)
    w = np.ones((20, 40), int)
    size = {"I": 40, "A": 40, "B": 20, "C": 20}
    net = build_network(
        {n: ((1, 1, s), None if n == "I" else 1) for n, s in size.items()},
        {("I", "A"): np.eye(40, dtype=int), ("A", "B"): w, ("A", "C"): -w * rng.integers(1, 2, w.shape)},
        outputs=("B", "C"),
    )
    spec = chip(axons=48, neurons=48)
    plain, packed = both(net, nm.RolloutPattern.streaming(net), "windowed", spec)
    # A needs two copies of each without packing (80 neurons: two cores), one with it
    assert (plain.program.n_cores, packed.program.n_cores) == (4, 2)
    assert sum(int(t.copies.sum()) for t in packed.partition.tiles if t.population == 0) == 40


def test_replicas_stay_whole(chip):
    """A neuron that feeds more axons than a core has neurons is in several tiles, each with its own copies."""
    rng = np.random.default_rng(1)
    size = {"I": 6, "A": 6, "B": 120}
    net = build_network(
        {n: ((1, 1, s), None if n == "I" else 1) for n, s in size.items()},
        {("I", "A"): np.eye(6, dtype=int), ("A", "B"): rng.integers(0, 2, (120, 6))},
        outputs=("B",),
    )
    spec = chip(axons=12, neurons=8)
    plain, packed = both(net, nm.RolloutPattern.streaming(net), "windowed", spec)
    homes = Counter(n for t in plain.partition.tiles if t.population == 0 for n in t.neurons.tolist())
    assert max(homes.values()) > 1
    assert broken_rules(packed.partition, spec) == []
    assert packed.program.n_cores <= plain.program.n_cores
    assert_same(net, packed, 0)


def test_pinned_nodes_are_not_taken_apart(chip):
    net = irregular(0, "sign-fixed")
    spec = chip(axons=64, neurons=64)
    options = MappingOptions(splitters="never", pins=Pins(cores={"N2": 9}))
    parts = map_with_stages(nm.Rollout(net, nm.RolloutPattern.streaming(net)), spec, options).partition
    node = [p.name for p in parts.network.ports].index("N2")
    own = [t for t in parts.tiles if parts.network.populations[t.population].node == node]
    sizes = [len(t.neurons) for t in own]
    assert len(own) >= 9
    assert max(sizes) - min(sizes) <= 1
    assert broken_rules(parts, spec) == []


def test_the_same_input_gives_the_same_cores(chip):
    net = irregular(1, "ternary")
    spec = chip(axons=64, neurons=64)
    first, second = (both(net, nm.RolloutPattern.streaming(net), "windowed", spec)[1].program for _ in range(2))
    np.testing.assert_array_equal(first.neuron_index, second.neuron_index)
    np.testing.assert_array_equal(first.target_core, second.target_core)


@pytest.mark.parametrize("neurons", [3, 16])
def test_more_inputs_than_populations(chip, neurons):
    """Signals of the host have a port as source, and ports may outnumber populations."""
    rng = np.random.default_rng(0)
    nodes = {f"I{k}": ((1, 1, 6), None) for k in range(3)} | {"O": ((1, 1, 6), [1] * 6)}
    net = build_network(nodes, {(f"I{k}", "O"): rng.integers(0, 2, (6, 6)) for k in range(3)}, outputs=["O"])
    spec = chip(axons=16, neurons=neurons)
    plain, packed = both(net, nm.RolloutPattern.streaming(net), "windowed", spec)
    assert packed.program.n_cores <= plain.program.n_cores
    assert_same(net, packed, 0)


@pytest.mark.thorough
def test_cores_of_long_chains_of_relays_are_shared_in_one_way(monkeypatch):
    ways = []
    fill = packing.fill
    monkeypatch.setattr(packing, "fill", lambda *given: ways.append(given[-1]) or fill(*given))
    net = nm.load_network(EXAMPLES / "digits" / "sr.toml")
    program = nm.map_rollout(nm.Rollout(net, "streaming"), options=MappingOptions(ticks_per_step=1024))
    assert program.n_cores == 45  # 44 or more
    assert len(set(ways)) == 1


def test_a_node_that_reads_what_a_self_edge_reads_takes_no_core_of_its_own():
    """Cores of A have an axon for all that B reads at the same places; tiles alone fill the cores' axons."""
    shape = (8, 8, 4)
    conv = Conv(shape, shape, (3, 3), weights=np.ones((3, 3, 4, 4), int))
    nodes = {"I": (shape, None), "A": (shape, 2), "B": (shape, 2)}
    edges = {("I", "A"): conv, ("A", "A"): conv, ("A", "B"): conv}
    apart = nm.map_rollout(nm.Rollout(build_network(nodes, edges), "streaming"), packing=False).n_cores
    both = nm.map_rollout(nm.Rollout(build_network(nodes, edges), "streaming")).n_cores
    del nodes["B"], edges["A", "B"]
    assert both == nm.map_rollout(nm.Rollout(build_network(nodes, edges, outputs=["A"]), "streaming")).n_cores < apart
