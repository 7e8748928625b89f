"""The networks that the mapper is measured on are those that the page says; figures agree with a second count."""

from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.hardware.program.usage import count_usage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def networks(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.mapping import networks

    return networks


@pytest.fixture
def figures(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.mapping import figures

    return figures


@pytest.mark.parametrize("signs", ["sign-fixed", "ternary"])
def test_the_convolution_benchmark_has_its_published_size(networks, signs):
    network = networks.convolution_network(signs)
    assert networks.count_neurons(network) == 129_024
    assert networks.count_synapses(network) == 6_344_960


def test_the_ten_fold_is_ten_times_as_large(networks):
    one, ten = (networks.count_neurons(networks.convolution_network(side=side)) for side in (48, 152))
    assert 10 <= ten / one < 10.1


def test_sign_fixed_sources_have_one_sign_and_ternary_ones_both(networks):
    for signs, both in (("sign-fixed", False), ("ternary", True), ("ternary with zeros", True)):
        for edge in networks.convolution_network(signs, side=16).edges.values():
            matrix = edge.matrix().tocsc()
            assert set(np.unique(matrix.data)) <= {-1, 1}
            mixed = (matrix.max(axis=0).toarray() > 0) & (matrix.min(axis=0).toarray() < 0)
            assert mixed.any() == both


def test_the_irregular_network_is_drawn_from_its_seed(networks):
    one, same, other = (networks.irregular_network(8, seed=seed) for seed in (1, 1, 2))
    assert list(one.edges) == list(same.edges)
    assert all((one.edges[k].matrix() != same.edges[k].matrix()).nnz == 0 for k in one.edges)
    assert [n.size for n in one.nodes.values()] != [n.size for n in other.nodes.values()]
    fan_in = sum(np.diff(e.matrix().indptr) for k, e in one.edges.items() if k[1] == "N3")
    assert fan_in.max() <= 192


@pytest.mark.parametrize("pattern", ["sequential", pytest.param("streaming", marks=pytest.mark.thorough)])
def test_small_samples_compute_what_the_reference_computes(networks, pattern):
    for network in (
        networks.convolution_network(side=8),
        networks.irregular_network(4),
        networks.board_network(16, 16),
    ):
        rollout = nm.Rollout(network, pattern)
        program = nm.map_rollout(rollout, "truenorth", placer="hilbert")
        found = nm.verify(rollout, program)
        assert found.verified, found.message


@pytest.mark.parametrize("packing", [True, False])
def test_figures_agree_with_the_count_of_the_report(networks, figures, packing):
    rollout = nm.Rollout(networks.irregular_network(6), "sequential")
    program = nm.map_rollout(rollout, "truenorth", placer="hilbert", packing=packing)
    ours, theirs = figures.figures_of(program), count_usage(program)
    assert (ours.cores, ours.deliveries, ours.copies, ours.weighted_hops) == (
        theirs.cores,
        theirs.deliveries,
        theirs.copies,
        theirs.weighted_hops,
    )
    assert ours.relays == theirs.relays + theirs.splitters
    assert ours.neurons == pytest.approx(theirs.neuron_utilisation)
    assert ours.axons == pytest.approx(theirs.axon_utilisation)


def test_parts_are_judged_by_sources_and_neurons(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    from scipy import sparse

    from benchmarks.mapping.partitioner import judge

    # 257 sources feed one neuron of part 1; part 0 holds the sources and is too large as well
    star = sparse.coo_array((np.ones(257), (np.full(257, 257), np.arange(257))), shape=(258, 258))
    part = np.zeros(258, np.int64)
    part[257] = 1
    found = judge(star, part)
    assert (found.parts, found.deliveries, found.illegal) == (2, 257, 2)
    part[0], part[1] = 1, 1
    assert judge(star, part).illegal == 1
