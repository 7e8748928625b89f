"""Fewest cores of one layer are edges parted into triangles, or items in bins: the reductions on small cases."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.legalise.legalise import legalise


def chip_of(axons, neurons):
    return ChipSpec(
        name="small", cores=(8, 8), chips=(1, 1), axons=axons, neurons=neurons, axon_types=4, weight_bits=9,
        leak_bits=9, threshold_bits=18, potential_bits=20,
    )  # fmt: skip


def layer(sources):
    """One layer of neurons that read some neurons of the host's each, with weights 1."""
    width = 1 + max(max(mine) for mine in sources)
    matrix = np.array([[int(k in mine) for k in range(width)] for mine in sources])
    return nm.build_network({"I": ((1, 1, width), None), "O": ((1, 1, len(sources)), 1)}, {("I", "O"): matrix})


def fewest_cores(sources, axons, neurons):
    """Over all partitions of neurons, each the set of its sources."""
    least = len(sources)

    def fill(k, cores):
        nonlocal least
        if len(cores) >= least:
            return
        if k == len(sources):
            least = len(cores)
            return
        for j, (read, n) in enumerate(cores):
            if n < neurons and len(read | sources[k]) <= axons:
                fill(k + 1, [*cores[:j], (read | sources[k], n + 1), *cores[j + 1 :]])
        fill(k + 1, [*cores, (sources[k], 1)])

    fill(0, [])
    return least


def parts_into_triangles(edges):
    """Whether edges can be parted into triangles: the triangle of the first edge is tried in all ways."""
    if not edges:
        return True
    u, v = min(edges)
    thirds = {w for edge in edges for w in edge} - {u, v}
    triangles = ({(u, v), tuple(sorted((u, w))), tuple(sorted((v, w)))} for w in thirds)
    return any(mine <= edges and parts_into_triangles(edges - mine) for mine in triangles)


def of_graph(edges, axons):
    """Sources of the neurons that stand for edges: a third of a core's axons for every vertex, and common ones."""
    each, common = axons // 3, set(range(axons % 3))
    return [common | {axons % 3 + each * v + k for v in edge for k in range(each)} for edge in edges]


def check_bounds(sources, axons, neurons, least):
    """What the mapper proves is no more than the fewest cores, and what it maps no fewer."""
    net, chip = layer(sources), chip_of(axons, neurons)
    rollout = nm.Rollout(net, "streaming")
    assert core_bound(legalise(rollout, chip), chip, proven=True).total <= least
    assert nm.map_rollout(rollout, chip).n_cores >= least


@st.composite
def graphs(draw):
    """Some triangles on six vertices that share no edge, or any few edges."""
    triangles = draw(st.lists(st.sampled_from(list(combinations(range(6), 3))), min_size=1, max_size=3))
    edges = set()
    for a, b, c in triangles:
        mine = {(a, b), (a, c), (b, c)}
        edges |= mine if not mine & edges else set()
    for edge in draw(st.lists(st.sampled_from(list(combinations(range(6), 2))), max_size=3)):
        edges ^= {edge}
    return edges


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(edges=graphs(), axons=st.integers(3, 11), neurons=st.integers(3, 6), maps=st.integers(0, 5))
def test_edges_take_a_third_of_their_number_in_cores_iff_they_are_triangles(edges, axons, neurons, maps):
    if not edges:
        return
    sources = of_graph(sorted(edges), axons)
    least = fewest_cores(sources, axons, neurons)
    is_parted = parts_into_triangles(edges)
    assert (3 * least == len(edges)) == is_parted
    assert 3 * least >= len(edges)
    event("triangles" if is_parted else "no triangles")
    if not maps:
        check_bounds(sources, axons, neurons, least)


@pytest.mark.theorem
@settings(deadline=None, max_examples=300)
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=7), axons=st.integers(7, 12))
def test_sources_of_one_s_own_are_bin_packing(sizes, axons):
    ends = np.cumsum(sizes).tolist()
    sources = [set(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    bins = next(
        n for n in range(1, len(sizes) + 1) if fits(sorted(sizes, reverse=True), [axons] * n)
    )  # the same by another search: item by item into bins that are open
    assert fewest_cores(sources, axons, len(sizes)) == bins


def fits(items, rooms):
    if not items:
        return True
    first, *rest = items
    for k, room in enumerate(rooms):
        if first <= room and room not in rooms[:k] and fits(rest, [*rooms[:k], room - first, *rooms[k + 1 :]]):
            return True
    return False
