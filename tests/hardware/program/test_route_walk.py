"""The checker of traffic: what it counts, and that it names what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import route_difference, walk_routes, xy_route


def hops_of(program):
    """Hops of one spike of every neuron, by coordinates; -1 without a target."""
    ends = program.coordinates[program.target_core]
    hops = np.abs(ends - program.coordinates[:, None]).sum(axis=2)
    return np.where(program.target_core >= 0, hops, -1)


@given(st.integers(0, 2**32), st.integers(0, 2**32))
@settings(deadline=None, max_examples=50)
def test_loads_sum_to_hops_and_right_figures_pass(random_program, seed, other):
    program = random_program(seed)
    rng = np.random.default_rng(other)
    fired = rng.integers(0, 4, program.target_core.shape)
    walk, hops = walk_routes(program, fired), hops_of(program)
    sends = program.target_core >= 0
    assert walk.spikes == fired[sends].sum() == walk.loads[4].sum() == walk.loads[5].sum()
    assert walk.hops == walk.loads[:4].sum() == (fired * hops)[sends].sum()
    assert route_difference(program, walk.loads, fired, hops=hops) is None
    assert route_difference(program, walk.loads, fired, hops=walk.hops) is None
    at = np.zeros((program.chip.rows, program.chip.columns), np.int64)
    for (x, y), count in zip(program.coordinates, (fired * sends).sum(axis=1), strict=True):
        at[y, x] = count
    assert np.array_equal(walk.loads[4], at)


@given(st.integers(0, 2**32), st.data())
@settings(deadline=None, max_examples=50)
def test_a_wrong_link_is_named(random_program, seed, data):
    program = random_program(seed)
    walk = walk_routes(program)
    place = tuple(data.draw(st.integers(0, size - 1)) for size in walk.loads.shape)
    loads = walk.loads.copy()
    loads[place] += data.draw(st.sampled_from([-1, 1, 100]))
    direction = ("east", "west", "north", "south", "in", "out")[place[0]]
    assert route_difference(program, loads) == (
        f"link {direction} of router ({place[2]}, {place[1]}): {loads[place]} spikes; "
        f"its routes carry {walk.loads[place]}"
    )
    assert route_difference(program, walk.loads, hops=walk.hops + 1) == (
        f"hops: {walk.hops + 1} in all; the routes have {walk.hops}"
    )


@given(st.integers(0, 2**32), st.integers(0, 2**32))
@settings(deadline=None, max_examples=50)
def test_a_spike_with_wrong_hops_is_named(random_program, seed, which):
    program = random_program(seed)
    sending = np.argwhere(program.target_core >= 0)
    if not len(sending):
        return
    core, neuron = sending[which % len(sending)].tolist()
    hops = hops_of(program)
    hops[core, neuron] += 1
    assert route_difference(program, walk_routes(program).loads, hops=hops) == (
        f"spike of core {core}, neuron {neuron}: {hops[core, neuron]} hops; its route has {hops[core, neuron] - 1}"
    )


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_another_placement_is_found_out(random_program, seed):
    """Traffic of one placement is not that of its mirror image, unless no spike leaves its router."""
    program = random_program(seed)
    loads = walk_routes(program).loads
    mirrored = program.coordinates * [-1, 1] + [program.chip.columns - 1, 0]
    other = replace(program, coordinates=mirrored.astype(np.int32))
    same = np.array_equal(walk_routes(other).loads, loads)
    assert (route_difference(other, loads) is None) == same
    assert walk_routes(other).hops == walk_routes(program).hops


def test_links_are_crossed_along_x_first(random_program):
    program = random_program(3)
    program = replace(
        program,
        chip=replace(program.chip, cores=(4, 4), chips=(1, 1), reach=None),
        coordinates=np.array([(0, 0), (2, 1)] + [(k, 3) for k in range(4)], np.int32)[: program.n_cores],
    )
    core = np.full(program.target_core.shape, -1, np.int32)
    core[0, 0] = 1
    walk = walk_routes(replace(program, target_core=core), np.full(core.shape, 2))
    assert {tuple(k): int(walk.loads[tuple(k)]) for k in np.argwhere(walk.loads)} == {
        (4, 0, 0): 2, (0, 0, 0): 2, (0, 0, 1): 2, (2, 0, 2): 2, (5, 1, 2): 2,
    }  # fmt: skip
    assert [*xy_route((0, 0), (2, 1))] == [(0, 0), (1, 0), (2, 0), (2, 1)]


def test_arrays_that_do_not_fit_are_refused(random_program):
    program = random_program(0)
    loads = walk_routes(program).loads
    with pytest.raises(InputError, match="fired: found"):
        walk_routes(program, np.ones((1, 1, 1), int))
    with pytest.raises(InputError, match="fired: found float64"):
        walk_routes(program, np.ones(program.target_core.shape))
    with pytest.raises(InputError, match="found -1; a neuron fires 0 times or more"):
        walk_routes(program, np.full(program.target_core.shape, -1))
    with pytest.raises(InputError, match="loads: found shape"):
        route_difference(program, loads[:4])
    with pytest.raises(InputError, match="hops: found shape"):
        route_difference(program, loads, hops=np.zeros((1, 1, 1), int))
