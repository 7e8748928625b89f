"""Link loads of many spikes, against walks over their ways."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.simulation.noc.traffic import Flow, LinkName, Mesh, link_loads, port_spikes


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_loads_are_what_a_walk_counts_and_sum_to_hops(meshes, ways_on, brute, data):
    mesh = data.draw(meshes())
    ways = data.draw(ways_on(mesh))
    counted = np.zeros(mesh.shape, np.int64)
    for way in brute.each(ways):
        for link in brute.links_of(way):
            counted[brute.number(mesh, link)] += 1
    loads = link_loads(mesh, ways)
    assert np.array_equal(loads, counted)
    assert loads[:4].sum() == ways.hops.sum()
    assert loads[4].sum() == loads[5].sum() == len(ways.x)


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_ports_carry_every_spike_that_leaves_or_enters(meshes, ways_on, clocks, brute, data):
    mesh, _clock = data.draw(meshes(largest_chip=3)), data.draw(clocks())
    ways = data.draw(ways_on(mesh))
    counted = np.zeros(mesh.chips, np.int64)
    crossings = []
    for way in brute.each(ways):
        chips = [(y // mesh.chip_rows, x // mesh.chip_columns) for _, x, y in brute.links_of(way)]
        pairs = [(one, other) for one, other in itertools.pairwise(chips) if one != other]
        crossings.append(len(pairs))
        for pair in pairs:
            for chip in pair:
                counted[chip] += 1
    assert np.array_equal(port_spikes(mesh, link_loads(mesh, ways)), counted)
    assert mesh.crossings(ways).tolist() == crossings


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_flows_of_parts_add_up(meshes, ways_on, data):
    mesh = data.draw(meshes())
    ways = data.draw(ways_on(mesh))
    cut = data.draw(st.integers(0, len(ways.x)))
    both = Flow.of(mesh, ways.part(slice(cut))) + Flow.of(mesh, ways.part(slice(cut, None)))
    assert np.array_equal(both.loads, link_loads(mesh, ways))


@pytest.mark.parametrize(("number", "name"), [((0, 1, 2), "east"), ((3, 0, 4), "south"), ((5, 2, 0), "out")])
def test_links_have_names(number, name):
    mesh = Mesh(5, 3, 5, 3)
    link = mesh.link(int(np.ravel_multi_index(number, mesh.shape)))
    assert link == LinkName(number[2], number[1], name)
    assert str(link) == f"link {name} of router ({number[2]}, {number[1]})"


def test_the_mesh_is_that_of_the_whole_board(make_chip):
    chip: ChipSpec = make_chip(cores=(4, 3), chips=(2, 5))
    mesh = Mesh.of(chip)
    assert mesh.shape == (6, 15, 8)
    assert mesh.chips == (5, 2)
