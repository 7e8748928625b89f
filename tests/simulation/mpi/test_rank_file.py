"""Ranks and one file: rank 0 checks all of it, and who finds another one is told."""

from dataclasses import replace

import numpy as np
import pytest
from local_ranks import run_local

from neuromap.errors import ProgramError
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi.simulate_on_ranks import RankEngine
from neuromap.simulation.mpi.start_ranks import load_on_ranks


@pytest.fixture
def program(make_chip, random_program):
    return random_program(np.random.default_rng(3), make_chip(), 6)


def test_a_file_on_ranks_is_the_program(tmp_path, program):
    program.save(tmp_path / "p.nmp")

    def work(exchange):
        engine = RankEngine(load_on_ranks(tmp_path / "p.nmp", exchange), exchange, EngineChoice(threads=1))
        engine.run(HostEvents.none(20))
        return engine.state

    whole = make_engine(program, EngineChoice("numpy"))
    whole.run(HostEvents.none(20))
    found = run_local(3, work)[0]
    assert np.array_equal(found.potentials, whole.state.potentials)
    assert found.totals == whole.state.totals


def test_rank_0_refuses_what_is_wrong_with_cores_of_others(tmp_path, program):
    weights = program.neurons.weights.copy()
    weights[-1, -1, -1] = 20_000
    replace(program, neurons=replace(program.neurons, weights=weights)).save(tmp_path / "p.nmp")
    with pytest.raises(ProgramError, match="weight is 20000"):
        run_local(2, lambda exchange: load_on_ranks(tmp_path / "p.nmp", exchange))


def test_another_file_is_refused(tmp_path, program, make_chip, random_program):
    for rank, found in enumerate([program, random_program(np.random.default_rng(4), make_chip(), 6)]):
        found.save(tmp_path / f"rank{rank}.nmp")
    with pytest.raises(ProgramError, match=r"rank1\.nmp: is another program than on rank 0"):
        run_local(2, lambda exchange: load_on_ranks(tmp_path / f"rank{exchange.rank}.nmp", exchange))
