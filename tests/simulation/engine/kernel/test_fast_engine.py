"""What only the fast engine has: threads, two paths, cores at rest; it always equals the one in NumPy."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.workspace import VISITS
from neuromap.simulation.engine.numpy_engine import NumpyEngine

pytestmark = pytest.mark.law

ONE_GROUP = {"axons": 64, "neurons": 32, "axon_types": 2}  # of lanes: the least to compile
MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")


@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([2, 3]),
    modes=st.sets(st.sampled_from(MODES)), calm=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=12)
def test_threads_change_nothing(
    chips, torture_program, random_events, assert_same_state, assert_same_spikes,
    data, seed, threads, modes, calm,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    chip = data.draw(chips(**ONE_GROUP, cores=(20, 20)))
    program = torture_program(rng, chip, 320, modes=modes, calm=calm)  # five blocks of 64
    fast, oracle = FastEngine(program, threads=threads, noise_seed=seed), NumpyEngine(program, noise_seed=seed)
    assert_same_spikes(fast.step(), oracle.step())  # too little for threads: one alone begins
    events = random_events(rng, program, 80)
    assert_same_spikes(fast.run(events), oracle.run(events))
    assert_same_state(fast, oracle)
    team, scratches = fast._team
    assert team.n_threads == threads
    assert all(scratch.totals[VISITS] > 0 for scratch in scratches)  # all of them took part


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fork_and_a_reset_engine_start_anew(
    make_chip, torture_program, random_events, assert_same_state, assert_same_spikes, threads
):
    rng = np.random.default_rng(7)
    program = torture_program(rng, make_chip(**ONE_GROUP, cores=(20, 20)), 200)
    events = random_events(rng, program, 60)
    oracle, first = NumpyEngine(program, noise_seed=5), NumpyEngine(program, noise_seed=5)
    expected = oracle.run(events)
    fast = FastEngine(program, threads=threads, noise_seed=5)
    assert_same_spikes(fast.run(events), expected)
    fork = fast.fork()
    assert_same_state(fast, oracle)  # left alone
    assert_same_state(fork, first)
    assert_same_spikes(fork.run(events), expected)
    assert_same_state(fork, oracle)
    fast.reset()
    assert_same_state(fast, first)
    assert fast.visits == 0
    assert_same_spikes(fast.run(events), expected)
    assert_same_state(fast, oracle)


def test_forks_run_at_the_same_time(make_chip, torture_program, random_events, assert_same_state):
    # as many stimuli on one image do, one thread each
    rng = np.random.default_rng(8)
    program = torture_program(rng, make_chip(**ONE_GROUP, cores=(20, 20)), 100)
    events = [random_events(rng, program, 100) for _ in range(4)]
    first = FastEngine(program, noise_seed=5)
    forks = [first, *(first.fork() for _ in events[1:])]
    threads = [threading.Thread(target=fork.run, args=(run,)) for fork, run in zip(forks, events, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fork, run in zip(forks, events, strict=True):
        oracle = NumpyEngine(program, noise_seed=5)
        oracle.run(run)
        assert_same_state(fork, oracle)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_cores_drift_between_the_paths(make_chip, make_program, assert_same_state, sign, overflow):
    # Potentials climb (or fall) out of 16 bits, are reset after 44 to 133 ticks, and start again; every core at its own
    # pace. Events make the bound jump.
    chip = make_chip(**ONE_GROUP, overflow=overflow, cores=(16, 16))
    rng = np.random.default_rng(3)
    program = make_program(
        chip, rng.random((70, 64, 32)) < 0.5, axon_types=rng.integers(2, size=(70, 64)), weights=[250, -250],
        leak=sign * rng.integers(300, 900, (70, 1)), threshold=40_000, negative_threshold=40_000,
        potential=rng.integers(-1000, 1000, (70, 32)),
    )  # fmt: skip
    fast, oracle = FastEngine(program), NumpyEngine(program)
    was_wide = fast._state.is_wide != 0
    assert not was_wide.any()
    to_wide = to_narrow = np.zeros(70, bool)
    for tick in range(700):
        now = ([], []) if tick % 7 else np.nonzero(rng.random((70, 64)) < 0.02)
        assert np.array_equal(fast.step(*now), oracle.step(*now))
        assert_same_state(fast, oracle)
        is_wide = fast._state.is_wide != 0
        to_wide, to_narrow = to_wide | is_wide & ~was_wide, to_narrow | was_wide & ~is_wide
        was_wide = is_wide
    assert to_wide.all()
    assert to_narrow.mean() > 0.9  # they are asked every 64 ticks


@pytest.mark.parametrize("events", [0, 1, 64])
@pytest.mark.parametrize("weight", [1, -1, 255, -255])
@pytest.mark.parametrize("bits", [9, 16, 17])
def test_the_edge_of_the_narrow_path(make_chip, make_program, assert_same_state, bits, weight, events):
    # Every start around what 16 bits (or the rails) hold, so that a tick ends on, before and behind the edge.
    limit = 2 ** (min(bits, 16) - 1)
    edges = np.array([-limit, limit - 1])[:, None] - np.sign(weight) * abs(weight) * events
    around = np.clip(edges + np.arange(-8, 8), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1).reshape(32)
    chip = make_chip(**ONE_GROUP, potential_bits=bits)
    potential = np.tile(around, (17, 1))
    potential[1:] = np.tile(around[:16, None], 32)  # a core that is nowhere else
    program = make_program(
        chip, np.ones((17, 64, 32)), weights=weight, potential=potential, leak=np.arange(17)[:, None] - 8,
        threshold=200_000, negative_threshold=200_000,
    )  # fmt: skip
    fast, oracle = FastEngine(program), NumpyEngine(program)
    cores, axons = np.nonzero(np.ones((17, events)))
    for _ in range(3):
        fast.step(cores, axons)
        oracle.step(cores, axons)
        assert_same_state(fast, oracle)


def test_cores_at_rest_are_not_visited(make_chip, make_program, assert_same_state):
    chip = make_chip(**ONE_GROUP, cores=(16, 16))
    leak = np.where(np.arange(130) == 77, 1, 0)[:, None]
    program = make_program(chip, np.ones((130, 64, 32)), leak=leak, threshold=1000, negative_threshold=1000)
    fast, oracle = FastEngine(program), NumpyEngine(program)
    fast.run(HostEvents.none(1))
    assert fast.visits == 130
    fast.run(HostEvents.none(50))
    assert fast.visits == 130 + 50
    fast.step([3, 3, 129], [5, 5, 0])
    assert fast.visits == 130 + 50 + 3
    fast.run(HostEvents.none(2))  # once more, to see that they are at rest again
    assert fast.visits == 130 + 50 + 3 + 3 + 1
    oracle.run(HostEvents.none(51))
    oracle.step([3, 129], [5, 0])
    oracle.run(HostEvents.none(2))
    assert_same_state(fast, oracle)


def test_events_in_any_form(make_chip, torture_program, random_events, assert_same_state):
    rng = np.random.default_rng(4)
    program = torture_program(rng, make_chip(**ONE_GROUP), 10)
    events = random_events(rng, program, 20)
    table = np.stack([events.cores, events.axons], axis=1)
    table.flags.writeable = False
    forms = [
        HostEvents(events.start, events.cores.astype(np.int64), events.axons.astype(np.uint8)),
        HostEvents(events.start.astype(np.int32), table[:, 0], table[:, 1]),
    ]
    oracle = NumpyEngine(program)
    oracle.run(events)
    for form in forms:
        fast = FastEngine(program)
        fast.run(form)
        assert_same_state(fast, oracle)


def test_a_mask_that_was_changed_is_another_one(make_chip, make_program):
    program = make_program(make_chip(**ONE_GROUP), np.zeros((2, 64, 32)), leak=1)
    engine = FastEngine(program)
    watched = np.zeros((2, 32), bool)
    for core, neuron in ((0, 3), (1, 31)):
        watched[:] = False
        watched[core, neuron] = True
        spikes = engine.run(HostEvents.none(2), watched)
        assert (spikes.cores.tolist(), spikes.neurons.tolist()) == ([core] * 2, [neuron] * 2)


@pytest.mark.parametrize("n_ticks", [0, 3])
def test_a_program_without_cores(make_chip, make_program, assert_same_state, n_ticks):
    program = make_program(make_chip(**ONE_GROUP), np.zeros((0, 64, 32)))
    fast, oracle = FastEngine(program, threads=3), NumpyEngine(program)
    assert [len(x) for x in fast.run(HostEvents.none(n_ticks))] == [0, 0, 0]
    oracle.run(HostEvents.none(n_ticks))
    assert_same_state(fast, oracle)


def test_a_run_of_no_ticks(make_chip, make_program, assert_same_state):
    program = make_program(make_chip(**ONE_GROUP), np.zeros((3, 64, 32)), leak=1)
    fast = FastEngine(program)
    assert [(len(x), x.dtype) for x in fast.run(HostEvents.none(0))] == [(0, np.int64)] * 3
    assert_same_state(fast, NumpyEngine(program))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_bad_seeds_are_refused(make_chip, make_program, seed):
    program = make_program(make_chip(), np.zeros((1, 1, 1)))
    with pytest.raises(InputError, match="noise seed"):
        FastEngine(program, noise_seed=seed)


@pytest.mark.thorough  # ``test_engines.py`` has them on one thread, with cores that it compiles for in any case
def test_records_of_64_bits(make_chip, torture_program, random_events, assert_same_state):
    # Large programs need them for their targets; here a small one gets them, to see that they work as well.
    rng = np.random.default_rng(5)
    program = torture_program(rng, make_chip(**ONE_GROUP, cores=(20, 20)), 200)
    events = random_events(rng, program, 60)
    oracle = NumpyEngine(program)
    oracle.run(events)
    fast = FastEngine(program, threads=2)
    assert fast._image.target.dtype == np.uint32
    fast._start(fast._image._replace(target=fast._image.target.astype(np.uint64)), 2, 0)
    fast.run(events)
    assert_same_state(fast, oracle)


def test_nothing_of_the_program_is_changed(make_chip, torture_program, random_events):
    rng = np.random.default_rng(6)
    program = torture_program(rng, make_chip(axons=256, neurons=256, axon_types=4), 5)
    copies = replace(program.neurons), program.neurons.potential.copy(), program.crossbar.copy()
    engine = FastEngine(program)
    engine.run(random_events(rng, program, 10))
    engine.potentials[:] = 99
    assert (engine.potentials != 99).any()
    assert np.array_equal(program.neurons.potential, copies[1])
    assert np.array_equal(program.crossbar, copies[2])
