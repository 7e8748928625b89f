"""The neuron of synapse lists: every engine follows its equations, bit by bit, on any program."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_ranks import run_local

from neuromap.errors import InputError, StimulusError
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice
from neuromap.simulation.mpi.simulate_on_ranks import RankEngine

CHOICES = [EngineChoice("numpy", threads=1), EngineChoice("fast", threads=1), EngineChoice("fast", threads=2)]


def amounts_of(engine):
    """What is under way: {(tick, core, neuron): amount}."""
    found = engine.pending_amounts
    places = np.argwhere(found)
    return {(engine.tick + a, c, n): int(found[a, c, n]) for a, c, n in places.tolist()}


def assert_same_state(engine, plain):
    assert engine.tick == plain.tick
    assert engine.potentials.tolist() == plain.v
    assert engine.currents.tolist() == plain.u
    assert tuple(engine.totals) == tuple(plain.counts)
    assert amounts_of(engine) == plain.pending()
    assert list(map(tuple, engine.pending.tolist())) == sorted(plain.pending())


def test_every_kind_of_engine_is_compared():
    assert {choice.engine for choice in CHOICES} == set(ENGINES)


@pytest.mark.law
@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), n_cores=st.sampled_from([1, 2, 5]),
    share=st.sampled_from([0, 0.1, 0.6]),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_every_engine_follows_the_equations(
    list_chips, list_program, fed_axons, plain_loop, data, seed, n_cores, share
):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), n_cores)
    plain, engines = plain_loop(program), [make_engine(program, choice) for choice in CHOICES]
    for tick in range(20):
        fed = fed_axons(rng, program, share if tick < 12 else 0)
        spikes = plain.step(map(tuple, fed.tolist()))
        for engine in engines:
            cores, neurons = engine.step(fed[:, 0], fed[:, 1])
            assert list(zip(cores.tolist(), neurons.tolist(), strict=True)) == spikes
        if tick % 7 == 0 or tick == 19:
            for engine in engines:
                assert_same_state(engine, plain)


@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), n_runs=st.integers(1, 9), n_ticks=st.sampled_from([1, 7, 16, 17]),
    threads=st.sampled_from([1, 3]),
)  # fmt: skip
@settings(deadline=None, max_examples=30)
def test_runs_in_one_call_are_runs_one_by_one(
    list_chips, list_program, assert_runs_in_one_call, data, seed, n_runs, n_ticks, threads
):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), int(rng.choice([1, 5])))
    assert_runs_in_one_call(rng, program, n_runs, n_ticks, 2**64 - 1, threads)


def moved_lists(rng, program):
    """Lists that are a few models, moved by neurons and ticks, some with a synapse that differs; most neurons rest."""
    n, n_axons = program.chip.neurons, int(program.synapses.axons[-1])
    models = [rng.integers((0, -99, 0), (9, 99, 3), (rng.integers(0, 12), 3)) for _ in range(3)]
    rows = [models[k] + (int(rng.integers(n - 12)), 0, int(rng.integers(3))) for k in rng.integers(3, size=n_axons)]
    for row in rows:
        if len(row) and rng.random() < 0.3:
            row[rng.integers(len(row)), rng.integers(3)] += 1
    neuron, weight, delay = np.concatenate(rows).T
    lists = np.append(0, np.cumsum([len(row) for row in rows]))
    table = replace(
        program.synapses, lists=lists, neuron=neuron.astype(np.int32), weight=weight.astype(np.int32),
        delay=delay.astype(np.uint8),
    )  # fmt: skip
    moves = rng.random(program.shape) < rng.choice([0, 0.01], (program.n_cores, 1))
    values = {
        name: np.where(moves, getattr(program.neurons, name), 0).astype(np.int32)
        for name in ("bias", "current", "voltage")
    }
    fires = rng.random(program.shape) < rng.choice([0, 0.01], (program.n_cores, 1))  # at a voltage of 0
    threshold = np.where(fires, -1, rng.integers(0, 300, program.shape))
    neurons = replace(program.neurons, threshold=threshold.astype(np.int32), **values)
    return replace(program, synapses=table, neurons=neurons)


@pytest.mark.law
@given(seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([1, 2]), cut=st.integers(0, 19))
@settings(deadline=None, max_examples=40)
def test_shared_lists_and_words_at_rest_change_nothing(list_program, fed_axons, loihi_like, seed, threads, cut):
    rng = np.random.default_rng(seed)
    chip = replace(loihi_like, neurons=int(rng.choice([20, 150, 256])))
    program = moved_lists(rng, list_program(rng, chip, 4, 100))
    plain, fast = (make_engine(program, EngineChoice(name, threads=threads)) for name in ("numpy", "fast"))
    for tick in range(30):
        if tick == cut:  # to a state of any values, with which neurons no longer rest
            state = plain.state
            voltage, current = (np.where(rng.random(program.shape) < 0.002, 50, 0) for _ in range(2))
            currents = replace(state.currents, current=state.currents.current + current)
            state = replace(state, potentials=state.potentials + voltage, currents=currents)
            plain.restore(state)
            fast.restore(state)
        fed = fed_axons(rng, program, 0.2 if tick < 20 else 0).T
        expected = [part.tolist() for part in plain.step(*fed)]
        assert [part.tolist() for part in fast.step(*fed)] == expected
        if tick % 7 == 0 or tick == 29:
            assert np.array_equal(fast.potentials, plain.potentials)
            assert np.array_equal(fast.currents, plain.currents)
            assert np.array_equal(fast.pending_amounts, plain.pending_amounts)
            assert fast.totals == plain.totals


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=20)
def test_what_neurons_hold_is_told_for_many_ticks_at_once(list_chips, list_program, fed_axons, data, seed, threads):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), 3)
    plain, fast = (make_engine(program, EngineChoice(name, threads=threads)) for name in ("numpy", "fast"))
    for n_ticks in (3, 0, 40):  # more than the first call of a kernel
        fed = [fed_axons(rng, program, 0.2) for _ in range(n_ticks)]
        start = np.append(0, np.cumsum([len(axons) for axons in fed])).astype(np.int64)
        cores, axons = np.concatenate([np.zeros((0, 2), np.int64), *fed]).T.astype(np.int32)
        spikes, held = fast.run_holding(HostEvents(start, cores, axons))
        holding, found = [], []
        for one in fed:
            holding.append(plain.potentials != 0)
            found += [(plain.tick - 1, c, n) for c, n in zip(*plain.step(*one.T), strict=True)]
        assert held.shape == (n_ticks, *program.shape)
        assert held.tolist() == [table.tolist() for table in holding]
        assert [*zip(*(part.tolist() for part in spikes), strict=True)] == found
    assert fast.run(HostEvents.none(2)).ticks.tolist() == plain.run(HostEvents.none(2)).ticks.tolist()


@given(seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([2, 3, 8]))
@settings(deadline=None, max_examples=10)
def test_threads_change_nothing(list_program, fed_axons, loihi_like, seed, threads):
    rng = np.random.default_rng(seed)
    program = list_program(rng, loihi_like, 256)  # in the first 16 ticks so many visits that threads are started
    fed = fed_axons(rng, program, 0.2).astype(np.int32)
    n_ticks = 20
    events = HostEvents(np.append(np.zeros(4, np.int64), np.full(n_ticks - 3, len(fed))), *fed.T.copy())
    engines = [make_engine(program, choice) for choice in (CHOICES[0], EngineChoice("fast", threads=threads))]
    oracle, found = ((engine.run(events), engine) for engine in engines)
    for column, expected in zip(found[0], oracle[0], strict=True):
        assert column.tolist() == expected.tolist()
    assert np.array_equal(found[1].potentials, oracle[1].potentials)
    assert np.array_equal(found[1].pending_amounts, oracle[1].pending_amounts)
    assert found[1].totals == oracle[1].totals
    alone = make_engine(program, CHOICES[1])
    alone.run(events)
    assert found[1].visits == alone.visits > 0


def test_cores_at_rest_are_not_visited(list_program, loihi_like):
    program = list_program(np.random.default_rng(3), loihi_like, 4)
    silent = {name: np.zeros_like(program.neurons.bias) for name in ("bias", "current", "voltage", "reset")}
    threshold = np.full(program.shape, 100, np.int32)
    engine = make_engine(replace(program, neurons=replace(program.neurons, threshold=threshold, **silent)), CHOICES[1])
    engine.run(HostEvents.none(50))
    assert engine.visits == program.n_cores  # each once, to find that nothing changes
    engine.step([2], [0])
    assert engine.visits == program.n_cores + 1


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_runs_resets_and_forks_are_the_same_ticks(list_chips, list_program, fed_axons, data, seed):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), 3)
    fed = [fed_axons(rng, program, 0.2) for _ in range(12)]
    start = np.append(0, np.cumsum([len(rows) for rows in fed]))
    rows = np.concatenate(fed).astype(np.int32)
    watched = rng.random(program.shape) < 0.5
    oracle = make_engine(program, CHOICES[0])
    expected = oracle.run(HostEvents(start, rows[:, 0].copy(), rows[:, 1].copy()))
    kept = watched[expected.cores, expected.neurons]
    for choice in CHOICES:
        used = make_engine(program, choice)
        used.run(HostEvents.none(5))
        fork = used.fork()
        used.reset(noise_seed=3)
        cut = int(rng.integers(0, 12))
        for engine in (used, fork):
            found = [
                engine.run(HostEvents(start[a : b + 1] - start[a], *rows[start[a] : start[b]].T.copy()), watched)
                for a, b in ((0, cut), (cut, 12))
            ]
            for column, whole in zip(zip(*found, strict=True), expected, strict=True):
                assert np.concatenate(column).tolist() == whole[kept].tolist()
            assert engine.potentials.tolist() == oracle.potentials.tolist()
            assert engine.potentials_of(np.array([2, 0])).tolist() == oracle.potentials[[2, 0]].tolist()
            assert engine.pending_amounts.tolist() == oracle.pending_amounts.tolist()
            assert engine.totals == oracle.totals


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
@settings(deadline=None, max_examples=3)
def test_what_points_outside_is_refused(list_chips, list_program, engine, data):
    program = list_program(np.random.default_rng(1), data.draw(list_chips), 2)
    chip = make_engine(program, EngineChoice(engine, threads=1))
    n = int(program.axon_counts[1])
    with pytest.raises(StimulusError, match=f"event 0 is at axon {n}; allowed is {f'0 to {n - 1}' if n else 'none'}"):
        chip.step([1], [n])
    with pytest.raises(StimulusError, match="event 0 is at core 2; allowed is 0 to 1"):
        chip.step([2], [0])
    with pytest.raises(InputError, match="watched"):
        chip.run(HostEvents.none(1), np.ones((1, 1), np.bool_))
    with pytest.raises(InputError, match="seed"):
        chip.reset(noise_seed=-1)


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 19))
@settings(deadline=None, max_examples=40)
def test_any_engine_goes_on_from_the_state_of_any_other(list_chips, list_program, fed_axons, data, seed, cut):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), 3)
    whole = make_engine(program, EngineChoice("numpy"))
    first, second = (make_engine(program, data.draw(st.sampled_from(CHOICES))) for _ in range(2))
    for tick in range(20):
        fed = fed_axons(rng, program, 0.1).T
        expected = whole.step(*fed)
        if tick == cut:
            second.restore(first.state)
        engine = first if tick < cut else second
        assert [part.tolist() for part in engine.step(*fed)] == [part.tolist() for part in expected]
    assert np.array_equal(second.pending_amounts, whole.pending_amounts)
    assert np.array_equal(second.currents, whole.currents)
    assert (second.tick, second.totals) == (whole.tick, whole.totals)


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 19))
@settings(deadline=None, max_examples=30)
def test_any_number_of_ranks_is_one_engine(list_chips, list_program, fed_axons, data, seed, cut):
    rng = np.random.default_rng(seed)
    program = list_program(rng, data.draw(list_chips), 4)
    fed = [fed_axons(rng, program, 0.1).T for _ in range(20)]
    whole = make_engine(program, EngineChoice("numpy"))
    expected = [[part.tolist() for part in whole.step(*axons)] for axons in fed]

    def work(exchange, choice, ticks, state):
        engine = RankEngine(program, exchange, choice)
        if state is not None:
            engine.restore(state)
        spikes = [[part.tolist() for part in engine.step(*axons)] for axons in ticks]
        return spikes, engine.state, engine.pending, engine.totals

    state, found = None, []
    for ticks in (fed[:cut], fed[cut:]):
        choice, n_ranks = data.draw(st.sampled_from(CHOICES)), data.draw(st.integers(1, 4))
        given = functools.partial(work, choice=choice, ticks=ticks, state=state)
        spikes, state, pending, totals = run_local(n_ranks, given, shares=data.draw(st.booleans()))[0]
        found += spikes
    assert found == expected
    assert np.array_equal(pending, whole.pending)
    assert totals == whole.totals
    assert np.array_equal(state.potentials, whole.potentials)
    assert np.array_equal(state.currents.current, whole.currents)
