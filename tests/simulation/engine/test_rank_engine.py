"""Ranks are one chip: any number of them runs any program as one engine does, tick by tick and bit by bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_ranks import run_local

from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine
from neuromap.simulation.mpi.simulate_on_ranks import RankEngine

CORE = {"axons": 64, "neurons": 32, "axon_types": 2}
MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")
ENGINES = st.sampled_from([EngineChoice("numpy"), EngineChoice("fast", threads=1), EngineChoice("fast", threads=2)])


def told(engine, spikes):
    """All that an engine says after a run; ranks take part in each question."""
    cores = np.arange(engine.program.n_cores)[::-3]
    return [*spikes, engine.potentials, engine.pending, engine.totals, engine.tick, engine.potentials_of(cores)]


def run_parts(engine, parts, state=None):
    if state is not None:
        engine.restore(state)
    return [told(engine, engine.run(events, watched)) for events, watched in parts], engine.state


@pytest.mark.law
@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), n_cores=st.integers(1, 9),
    modes=st.sets(st.sampled_from(MODES)), noise_seed=st.integers(0, 9), shortest=st.sampled_from([1, 1, 2, 3, 7]),
)  # fmt: skip
@settings(deadline=None, max_examples=36)
def test_ranks_run_every_program_as_one_engine(
    chips, torture_program, random_events, parts_of, data, seed, n_cores, modes, noise_seed, shortest
):
    rng = np.random.default_rng(seed)
    chip = data.draw(chips((9, 20, 40), **CORE, cores=(16, 16)))
    program = torture_program(rng, chip, n_cores, modes=modes)
    program = with_delays_from(program, min(shortest, chip.delay[1]))
    parts = [
        (part, None if rng.random() < 0.5 else rng.random(program.shape) < 0.1)
        for part in parts_of(random_events(rng, program, 30), rng.integers(1, 30, 3).tolist())
    ]
    cut = data.draw(st.integers(0, len(parts)))
    whole, _ = run_parts(NumpyEngine(program, noise_seed=noise_seed), parts)
    state, found = None, []
    for some in (parts[:cut], parts[cut:]):  # the second half goes on from the state of the first, elsewhere
        choice, n_ranks = data.draw(ENGINES), data.draw(st.integers(1, min(4, n_cores)))
        choice = EngineChoice(choice.engine, choice.threads, noise_seed)

        def work(exchange, choice=choice, some=some, state=state):
            return run_parts(RankEngine(program, exchange, choice), some, state)

        told_of_half, state = run_local(n_ranks, work, shares=data.draw(st.booleans()))[0]
        found += told_of_half
    for one, other in zip(found, whole, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def with_delays_from(program, least):
    """The program with no delay shorter: then ranks have slack, and exchange spikes while they compute."""
    delay = np.where(program.target_core >= 0, np.maximum(program.delay, least), 0)
    return replace(program, delay=delay.astype(np.uint8))


@pytest.mark.parametrize("shortest", [1, 2, 6])
def test_threads_of_ranks_share_memory(make_chip, random_program, random_events, shortest):
    """Three ranks of 200 cores, on one to three threads each: blocks of 64 cores, the last ones not full."""
    rng = np.random.default_rng(shortest)
    program = with_delays_from(random_program(rng, make_chip(axons=9, neurons=8, cores=(25, 8)), 200), shortest)
    events, nobody = random_events(rng, program, 90), np.zeros(program.shape, bool)
    whole = make_engine(program, EngineChoice("numpy"))
    expected = told(whole, whole.run(events)), told(whole, whole.run(events, nobody))

    def work(exchange):
        engine = RankEngine(program, exchange, EngineChoice(threads=1 + exchange.rank))
        return told(engine, engine.run(events)), told(engine, engine.run(events, nobody))

    for found, right in zip(run_local(3, work)[0], expected, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(found, right, strict=True))
    assert len(expected[0][0]) > 1000


@pytest.mark.parametrize("choice", [EngineChoice("numpy"), EngineChoice("fast", threads=1)], ids=["numpy", "fast"])
def test_a_rank_engine_forgets_forks_and_steps(make_chip, random_program, random_events, choice):
    rng = np.random.default_rng(5)
    program = random_program(rng, make_chip(), 6)
    events = random_events(rng, program, 12)
    whole = make_engine(program, EngineChoice("numpy", noise_seed=4))
    expected = told(whole, whole.run(events))
    after = whole.step([1, 3], [2, 2])

    def work(exchange):
        first = RankEngine(program, exchange, choice)
        first.run(events)
        other = first.fork()
        first.reset(4)
        other.reset(4)
        return told(first, first.run(events)), told(other, other.run(events)), first.step([1, 3], [2, 2])

    for found in run_local(3, work)[:1]:
        for one in found[:2]:
            assert all(np.array_equal(a, b) for a, b in zip(one, expected, strict=True))
        assert np.array_equal(found[2], after)
