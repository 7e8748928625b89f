"""Lower bounds on cores: never above what exists, by exhaustion or by the mapper, and sharp where they should be."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.bounds.neuron_capacity import by_degrees, by_expansion, sources_beyond_palette
from neuromap.mapping.bounds.window_axons import areas, axons_of_feeds, find_windows, single_axon_sources
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import build_network
from neuromap.network.transforms import Conv

NO_LIMIT = 4096  # axons of a core that never matter


def least_unions(matrix):
    """The oracle: fewest columns that any n rows read, by looking at all sets of rows."""
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in np.asarray(matrix)]
    return [min(len(frozenset().union(*some)) for some in combinations(rows, n)) for n in range(len(rows) + 1)]


def bound(net, chip, pattern="streaming", execution="windowed"):
    return core_bound(legalise(nm.Rollout(net, pattern, execution), chip), chip)


matrices = st.tuples(st.integers(1, 7), st.integers(1, 9), st.floats(0.1, 1), st.integers(0, 2**32)).map(
    lambda t: (np.random.default_rng(t[3]).random(t[:2]) < t[2]).astype(int)
)


@pytest.mark.theorem
@given(matrices, st.integers(1, 8))
@settings(deadline=None, max_examples=1000)
def test_rows_read_at_least_what_degrees_and_expansion_say(matrix, most):
    least = least_unions(matrix)
    for rule in (by_degrees, by_expansion):
        found = rule(sparse.csr_array(matrix), most)
        assert len(found) == min(most, len(matrix)) + 1
        assert all(found <= least[: len(found)])


def test_expansion_sees_what_degrees_cannot():
    # every row reads its own half of well mixed sources: two rows of a Hadamard matrix share a quarter of them
    hadamard = np.array([[1]])
    for _ in range(5):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    pattern = sparse.csr_array((hadamard[1:] > 0).astype(int))
    assert (by_degrees(pattern, 3)[1:] <= 17).all()
    assert by_expansion(pattern, 3)[3] >= 20


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
@settings(deadline=None, max_examples=40)
def test_windows_cover_at_least_what_their_area_says(extent, size, stride):
    shape = tuple((e - 1) * s + k for e, s, k in zip(extent, stride, size, strict=True))
    windows = np.zeros((*extent, *shape), int)
    for y, x in product(*map(range, extent)):
        windows[y, x, y * stride[0] : y * stride[0] + size[0], x * stride[1] : x * stride[1] + size[1]] = 1
    matrix = windows.reshape(extent[0] * extent[1], -1)
    found = find_windows(sparse.csr_array(matrix), np.arange(len(matrix)), (*extent, 1), (*shape, 1))
    assert found.rows.all()
    assert (found.size, found.channels, found.features, found.extent) == (size, 1, 1, extent)
    # exact, not only a bound, for a lone window and for all of them, and below the oracle between
    least, area = least_unions(matrix), areas(found, len(matrix))
    assert all(area <= least)
    assert area[1] == least[1]
    assert area[-1] == least[-1] == np.count_nonzero(matrix.any(axis=0))


@given(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.booleans())
@settings(deadline=None, max_examples=30)
def test_windows_of_a_convolution_are_those_away_from_its_edges(groups, channels, features, same):
    source = (3, 4, groups * channels)
    target = (3, 4, groups * features) if same else (2, 3, groups * features)
    weights = np.ones((2, 2, channels, groups * features), int)
    conv = Conv(source, target, (2, 2), padding="same" if same else "valid", groups=groups, weights=weights)
    matrix = sparse.csr_array(conv.matrix())
    found = find_windows(matrix, np.arange(matrix.shape[0]), target, source)
    assert (found.channels, found.features, found.extent) == (channels, features, (2, 3))
    assert found.rows.sum() == 2 * 3 * groups * features
    rows = matrix[np.flatnonzero(found.rows)].toarray()
    if len(rows) <= 12:
        one_each = np.full(features + 1, channels * 4)
        assert all(axons_of_feeds([found], len(rows), one_each, NO_LIMIT) <= least_unions(rows))


def least_axons(weights, types):
    """The oracle: fewest axons of a core that holds these rows; a source has one axon, of some type, or two."""
    read = weights[:, weights.any(axis=0)]
    columns = read.shape[1]
    clash = [[((u != 0) & (v != 0) & (u != v)).any() for v in read.T] for u in read.T]
    most = 0
    for kinds in product(range(types + 1), repeat=columns):  # the last kind: two axons
        single = [k for k in range(columns) if kinds[k] < types]
        if len(single) > most and not any(kinds[a] == kinds[b] and clash[a][b] for a, b in combinations(single, 2)):
            most = len(single)
    return 2 * columns - most


@given(
    st.sampled_from(
        [
            ((1, 3), (1, 2), (1, 1)),
            ((2, 2), (2, 1), (1, 1)),
            ((1, 2), (1, 3), (1, 2)),
            ((1, 1), (1, 5), (1, 1)),
            ((1, 2), (1, 4), (1, 0)),
        ]
    ),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=15)
def test_sources_with_one_axon_are_no_more_than_types_allow(layout, features, types, seed):
    extent, size, stride = layout
    shape = tuple((e - 1) * s + k for e, s, k in zip(extent, stride, size, strict=True))
    kernel = np.random.default_rng(seed).choice([-1, 1, 2], (features, *size))
    weights = np.zeros((*extent, features, *shape), int)
    for y, x in product(*map(range, extent)):
        weights[y, x, :, y * stride[0] : y * stride[0] + size[0], x * stride[1] : x * stride[1] + size[1]] = kernel
    weights = weights.reshape(-1, shape[0] * shape[1])
    matrix, neurons, target = sparse.csr_array(weights), np.arange(len(weights)), (*extent, features)
    found = find_windows(matrix, neurons, target, (*shape, 1))
    assert found.rows.all()
    single = single_axon_sources(matrix, neurons, [found], target, types)
    assert (np.diff(single) <= 0).all()
    bound = axons_of_feeds([found], len(weights), single, NO_LIMIT)
    for n in range(1, len(weights) + 1):
        assert bound[n] <= min(least_axons(weights[list(some)], types) for some in combinations(neurons.tolist(), n))
    # a position of all its features is exact
    assert single[features] == 2 * kernel[0].size - least_axons(kernel.reshape(features, -1), types)


def test_random_signs_cost_a_second_axon():
    # 60 columns of 40 random signs: no two agree in 36 or more, so 4 types serve 4 of them
    signs = np.random.default_rng(5).choice([-1, 1], (40, 60))
    matrix = sparse.csr_array(signs)
    found = find_windows(matrix, np.arange(40), (1, 1, 40), (1, 1, 60))
    single = single_axon_sources(matrix, np.arange(40), [found], (1, 1, 40), 4)
    assert single[36:].tolist() == [4] * 5
    assert axons_of_feeds([found], 40, single, NO_LIMIT)[40] == 2 * 60 - 4


def test_what_is_no_window_is_not_taken_for_one():
    assert find_windows(sparse.csr_array(1 - np.eye(4, dtype=int)), np.arange(4), (2, 2, 1), (2, 2, 1)) is None
    shuffled = sparse.csr_array(np.eye(9, dtype=int)[[0, 2, 1, 3, 4, 5, 6, 7, 8]])
    assert find_windows(shuffled, np.arange(9), (3, 3, 1), (3, 3, 1)) is None


def test_sources_beyond_the_palette_are_counted_by_hand():
    weights = sparse.csr_array([[1, 2, 3, 3, 0], [1, 1, 2, 2, 2], [5, 0, 0, 0, 0]])
    assert sources_beyond_palette(weights, 1).tolist() == [2, 2, 0]
    assert sources_beyond_palette(weights, 2).tolist() == [1, 0, 0]
    assert sources_beyond_palette(weights, 3).tolist() == [0, 0, 0]


# ---- whole networks ----


@pytest.mark.parametrize(("n_in", "n_out", "cores"), [(256, 256, 1), (256, 257, 2), (200, 600, 3), (10, 256, 1)])
def test_a_dense_layer_spreads_over_outputs(chain, chip, n_in, n_out, cores):
    net = chain({"I": (n_in, None), "O": (n_out, 1)}, {("I", "O"): np.ones((n_out, n_in), int)})
    assert bound(net, chip()).total == cores
    assert nm.map_rollout(nm.Rollout(net, "streaming"), chip()).n_cores == cores


def test_copies_are_counted_for_every_core_that_reads(chain, chip):
    # 100 neurons are read in three cores each: 300 neurons of cores and two read-outs of 300
    net = chain(
        {"I": (100, None), "H": (100, 1), "O": (300, 1)},
        {("I", "H"): np.eye(100, dtype=int), ("H", "O"): np.ones((300, 100), int)},
    )
    found = bound(net, chip(neurons=128))
    assert (found.neurons, found.axons) == (3 * 100 + 300, 100 + 3 * 100)
    assert (found.total, found.by) == (5, "neurons")
    assert found.per_population == (("H", 1, "neurons"), ("O", 3, "neurons"))


def test_tiles_of_a_convolution_are_bounded_by_their_halo(chip):
    # 12 positions take 5 x 6 sources of 8 channels: 240 axons; a 13th takes 33 sources and more than 256
    source, target = (14, 14, 8), (12, 12, 8)
    conv = Conv(source, target, (3, 3), padding="valid", weights=np.ones((3, 3, 8, 8), int))
    net = build_network({"I": (source, None), "O": (target, 1)}, {("I", "O"): conv})
    found = bound(net, chip())
    assert found.per_population == (("O", 12, "axons"),)
    assert nm.map_rollout(nm.Rollout(net, "streaming"), chip()).n_cores == found.total == 12


def test_only_what_reaches_an_output_counts(chain, chip):
    eye = np.eye(8, dtype=int)
    dead = np.zeros((8, 8), int)
    nodes = {"I": (8, None), "A": (8, 1), "B": (8, 1), "O": (8, 1)}
    edges = {("I", "A"): eye, ("A", "B"): eye, ("I", "O"): eye, ("B", "O"): dead}
    found = bound(chain(nodes, edges, outputs=["O"]), chip(neurons=8, axons=8))
    assert (found.total, found.per_population) == (1, (("O", 1, "neurons"),))


def test_relays_count_but_not_as_populations(chain, chip):
    one = np.ones((1, 1), int)
    nodes = {"I": (1, None), **{f"A{k}": (1, 1) for k in range(5)}}
    edges = {("I", "A0"): one, **{(f"A{k}", f"A{k + 1}"): one for k in range(4)}, ("A0", "A4"): one}
    net = chain(nodes, edges)
    # A0 -> A4 takes 4 steps: one hop, two, or four
    for longest, relays in ((15, 0), (2, 1), (1, 2)):
        found = bound(net, chip(delay=(1, longest)), "sequential", "pipelined")
        assert found.neurons == 4 + 1 + 1 + relays
        assert [name for name, *_ in found.per_population] == ["A0", "A1", "A2", "A3", "A4"]


def least_cores(network, chip):
    """The oracle: the fewest cores of all ways to part the neurons, each in one core with its copies; or None."""
    neurons, reads = [], {}
    for i, population in enumerate(network.populations):
        for n in range(len(population.neurons)):
            neurons.append((i, n))
            reads[i, n] = set()
    for link in network.links:
        for n, u in zip(*link.matrix.nonzero(), strict=True):
            reads[link.target, n].add((link.source, int(u), link.delay))
    for link in network.host_links:
        for n, u in zip(*link.matrix.nonzero(), strict=True):
            reads[link.target, n].add(("host", link.node, int(u), link.arrival, link.first_frame))

    def legal(parts):
        axons = [set().union(*(reads[v] for v in part)) for part in parts]
        if max(map(len, axons)) > chip.axons:
            return False
        for part in parts:
            fed = sum(sum(a[:2] == v for core in axons for a in core) for v in part)
            if fed + sum(network.populations[i].is_output for i, _ in part) > chip.neurons:
                return False
        return True

    best = None

    def place(k, parts):
        nonlocal best
        if best is not None and len(parts) >= best:
            return
        if k == len(neurons):
            if legal(parts):
                best = len(parts)
            return
        for part in [*parts, None]:
            if part is None:
                place(k + 1, [*parts, [neurons[k]]])
            elif len(part) < chip.neurons:
                part.append(neurons[k])
                place(k + 1, parts)
                part.pop()

    place(0, [])
    return best


@st.composite
def tiny_networks(draw, largest=3, n_nodes=3):
    sizes = [draw(st.integers(1, largest)) for _ in range(1 + draw(st.integers(1, n_nodes)))]
    names = ["I", "A", "B", "C", "D"][: len(sizes)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.4, 0.7, 1.0]))
    values = draw(st.sampled_from([[1], [-1, 1], [-3, -1, 2, 5, 7]]))
    edges = {}
    for k in range(1, len(names)):
        before = draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=2))
        for j in before | ({k} if draw(st.booleans()) else set()):
            mask = rng.random((sizes[k], sizes[j])) < density
            edges[names[j], names[k]] = np.where(mask, rng.choice(values, mask.shape), 0)
    if not any(u == "I" for u, _ in edges):
        edges["I", "A"] = np.ones((sizes[1], sizes[0]), int)
    nodes = {n: ((1, 1, size), None if n == "I" else 1) for n, size in zip(names, sizes, strict=True)}
    return build_network(nodes, edges, outputs=(names[-1],), name="tiny")


def rollout_of(data, net):
    values = [1 if u == v else data.draw(st.integers(0, 1)) for u, v in net.edges]
    return nm.Rollout(net, nm.RolloutPattern(net, tuple(values)), data.draw(st.sampled_from(["windowed", "pipelined"])))


@pytest.mark.theorem
@given(tiny_networks(), st.data(), st.integers(2, 6), st.integers(2, 5))
@settings(deadline=None, max_examples=1000)
def test_no_partition_has_fewer_cores(chip, net, data, axons, neurons):
    """With a type for every axon: the oracle does not look at types."""
    spec = chip(axons=axons, neurons=neurons, axon_types=axons)
    network = legalise(rollout_of(data, net), spec)
    assume(sum(len(p.neurons) for p in network.populations) <= 8)
    best = least_cores(network, spec)
    if best is not None:
        assert core_bound(network, spec).total <= best


@pytest.mark.theorem
@given(tiny_networks(largest=12, n_nodes=4), st.data(), st.integers(3, 24), st.integers(3, 24))
@settings(deadline=None, max_examples=1000)
def test_no_mapping_has_fewer_cores(chip, net, data, axons, neurons):
    delay, types = (1, data.draw(st.sampled_from([1, 2, 15]))), data.draw(st.integers(1, 4))
    spec = chip(axons=axons, neurons=neurons, delay=delay, axon_types=types)
    rollout = rollout_of(data, net)
    options = MappingOptions(
        packing=data.draw(st.booleans()), splitters=data.draw(st.sampled_from(["slack", "never", "anywhere"]))
    )
    try:
        mapping = map_with_stages(rollout, spec, options)
    except DoesNotFitError:
        return
    found = core_bound(mapping.network, spec)
    assert found.total <= mapping.program.n_cores
    assert found.neurons <= np.count_nonzero(mapping.program.neuron_node >= 0)
    fed = {
        (c, a)
        for c, a in zip(
            mapping.program.target_core[mapping.program.target_core >= 0].tolist(),
            mapping.program.target_axon[mapping.program.target_core >= 0].tolist(),
            strict=True,
        )
    }
    assert found.axons <= len(fed) + len(mapping.program.host)
    # relays and splitters do not matter: the bound is that of the rollout
    assert found == core_bound(legalise(mapping.rollout, spec), spec)


@given(st.integers(4, 7), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.booleans(), st.data())
@settings(deadline=None, max_examples=15)
def test_no_mapping_of_a_convolution_has_fewer_cores(chip, side, size, stride, groups, packing, data):
    source, middle = (side, side, 2 * groups), (-(-side // stride), -(-side // stride), 2 * groups)
    rng = np.random.default_rng(side)
    kernels = [rng.choice([-1, 1], (size, size, 2, 2 * groups)) for _ in range(2)]
    edges = {
        ("I", "A"): Conv(source, middle, (size, size), (stride, stride), groups=groups, weights=kernels[0]),
        ("A", "B"): Conv(middle, middle, (size, size), (1, 1), groups=groups, weights=kernels[1]),
    }
    net = build_network({"I": (source, None), "A": (middle, 1), "B": (middle, 1)}, edges)
    spec = chip(axons=data.draw(st.integers(12, 40)), neurons=32, axon_types=data.draw(st.integers(2, 4)))
    try:
        mapping = map_with_stages(nm.Rollout(net, "streaming"), spec, MappingOptions(packing=packing))
    except DoesNotFitError:
        return
    assert core_bound(mapping.network, spec).total <= mapping.program.n_cores


def test_a_chip_whose_cores_hold_no_neuron_has_a_bound_all_the_same(chip):
    """The mapper refuses the network; the bound must not fail before."""
    net = nm.load_network(Path(__file__).parents[3] / "examples" / "digits" / "sr.toml")
    tiny = chip(axons=1)
    assert core_bound(legalise(nm.Rollout(net, "streaming"), tiny), tiny).total >= 1
