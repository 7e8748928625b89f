"""Cores are cut into ranks: each has some, as much work as others, and cuts go where few wires cross."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.simulation.mpi.rank_engine import program_of_cores, remote_wires
from neuromap.simulation.mpi.simulate_on_ranks import cut_cores


@given(seed=st.integers(0, 2**32 - 1), n_cores=st.integers(1, 12), data=st.data())
@settings(deadline=None, max_examples=60)
def test_every_wire_is_in_one_part_or_leads_from_one_to_another(make_chip, random_program, seed, n_cores, data):
    program = random_program(np.random.default_rng(seed), make_chip(), n_cores)
    rank_of = cut_cores(program, n_ranks := data.draw(st.integers(1, n_cores)))
    assert sorted(set(rank_of.tolist())) == list(range(n_ranks))
    found = []
    for rank in range(n_ranks):
        cores, remote = np.flatnonzero(rank_of == rank), remote_wires(program, rank_of, rank)
        wires = program_of_cores(program, cores).wires
        found += zip(cores[wires.core], wires.neuron, cores[wires.target_core], wires.target_axon, wires.delay)  # noqa: B905
        core, neuron = np.divmod(remote.neuron, program.chip.neurons)
        target = [np.flatnonzero(rank_of == peer)[there] for peer, there in zip(remote.peer, remote.core, strict=True)]
        assert (remote.peer != rank).all()
        found += zip(cores[core], neuron, target, remote.axon, remote.delay)  # noqa: B905
    assert sorted(map(tuple, np.array(found).reshape(-1, 5).tolist())) == sorted(
        map(tuple, np.stack(program.wires, axis=1).tolist())
    )


def test_cuts_go_where_few_wires_cross(make_chip, make_program):
    """Two crowds of cores side by side, with one wire from the left to the right: that is where the board is cut."""
    inside = [(a, n, b, n, 1) for crowd in ([0, 1, 4, 5], [2, 3, 6, 7]) for n, a in enumerate(crowd) for b in crowd]
    one_each = list(
        {(core, neuron): wire for core, neuron, *wire in inside for wire in [(core, neuron, *wire)]}.values()
    )
    program = make_program(make_chip(cores=(4, 2)), np.zeros((8, 10, 12)), targets=[*one_each, (5, 9, 6, 9, 1)])
    left, right = cut_cores(program, 2)[[0, 1, 4, 5]], cut_cores(program, 2)[[2, 3, 6, 7]]
    assert len(set(left.tolist())) == len(set(right.tolist())) == 1
    assert left[0] != right[0]


@pytest.mark.parametrize("n_ranks", [2, 3, 5, 8])
def test_ranks_have_equal_work(make_chip, random_program, n_ranks):
    program = random_program(np.random.default_rng(1), make_chip(), 64)
    program = replace(program, coordinates=program.coordinates[np.random.default_rng(2).permutation(64)])
    cores = np.bincount(cut_cores(program, n_ranks))
    assert cores.max() <= 64 / n_ranks * 1.1 + 1


def test_more_ranks_than_cores_are_refused(make_chip, random_program):
    program = random_program(np.random.default_rng(1), make_chip(), 3)
    with pytest.raises(InputError, match="ranks: 4 for the 3 cores"):
        cut_cores(program, 4)
