"""Batches: every stimulus as if it were simulated alone, in order, whatever the number of threads."""

import json
import os
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from neuromap.errors import InputError, StimulusError
from neuromap.files.sealed import Seal, metadata_of, seal_of
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice, thread_count
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.simulate_batch import Chips, simulate_batch
from neuromap.simulation.trace.recording import Recording

pytestmark = pytest.mark.law


def stimuli_of(rng, n, n_frames):
    return {"I": rng.random((n, n_frames, 3)) < 0.4, "J": rng.random((n, n_frames, 2)) < 0.4}


def without_memory(program, cores):
    """Let neurons of some cores be at 0 after every tick."""
    neurons = program.neurons
    given = {"threshold": 1, "negative_threshold": 0, "reset_mode": 0, "saturate_negative": False}
    changed = {name: getattr(neurons, name).copy() for name in given}
    for name, value in given.items():
        changed[name][list(cores)] = value
    return replace(program, neurons=replace(neurons, **changed))


@given(
    seed=st.integers(0, 2**32 - 1),
    period=st.integers(1, 4),
    n=st.integers(1, 9),
    n_frames=st.integers(2, 6),
    threads=st.integers(1, 4),
    words=st.sampled_from(["outputs", "node:H,outputs", "node:P", "all"]),
    bit_slicing=st.sampled_from([None, True]),
    forgetful=st.sets(st.integers(0, 1)),
)
@settings(deadline=None, max_examples=60)
def test_a_batch_is_its_stimuli_one_by_one(mixer, seed, period, n, n_frames, threads, words, bit_slicing, forgetful):
    program, rng = without_memory(mixer(seed, period), forgetful), np.random.default_rng(seed)
    stimuli = stimuli_of(rng, n, n_frames)
    record = Recording(words)
    batch = simulate_batch(program, stimuli, threads=threads, record=record, bit_slicing=bit_slicing)
    counted = simulate_batch(program, stimuli, threads=threads, record=record, engine="numpy", keep="counts")
    assert len(batch) == len(counted) == n
    for s in range(n):
        alone = simulate(program, {name: rows[s] for name, rows in stimuli.items()}, engine="numpy", record=record)
        assert alone.nodes == batch.nodes == counted.nodes
        assert (alone.n_ticks, alone.n_frames) == (batch.n_ticks, batch.n_frames)
        for port in alone.nodes:
            assert (batch.frames(port.name)[s] == alone.frames(port.name)).all()
            assert (batch.counts(port.name)[s] == alone.frames(port.name).sum(axis=0)).all()
            assert (counted.counts(port.name)[s] == batch.counts(port.name)[s]).all()
            assert batch.strays(port.name)[s] == len(alone.strays(port.name))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("noise_seed", [0, 40, 2**64 - 2])
def test_every_stimulus_has_noise_of_its_own(mixer, noise_seed, threads):
    plain = mixer(11, 1)
    shape = plain.target_core.shape
    program = replace(
        plain,
        neurons=replace(plain.neurons, stochastic_leak=np.ones(shape, bool), noise_bits=np.full(shape, 2, np.uint8)),
    )
    one = stimuli_of(np.random.default_rng(4), 1, 30)
    stimuli = {name: np.repeat(rows, 6, axis=0) for name, rows in one.items()}
    batch = simulate_batch(program, stimuli, threads=threads, noise_seed=noise_seed, record=Recording("all"))
    alone = [
        simulate(
            program, {k: v[0] for k, v in one.items()}, noise_seed=(noise_seed + s) % 2**64, record=Recording("all")
        )
        for s in range(6)
    ]
    for name in "OPH":
        assert (batch.frames(name) == [trace.frames(name) for trace in alone]).all()
    assert len({rows.tobytes() for rows in batch.spikes_by_frame}) > 1  # same frames, other noise


@given(cuts=st.lists(st.integers(0, 7), max_size=4), threads=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_stimuli_may_come_in_portions(mixer, cuts, threads):
    program = mixer(5, 2)
    stimuli = stimuli_of(np.random.default_rng(1), 7, 4)
    bounds = [0, *sorted(cuts), 7]
    portions = ({name: rows[a:b] for name, rows in stimuli.items()} for a, b in pairwise(bounds))
    told = []
    found = simulate_batch(
        program, portions, threads=threads, engine="numpy", progress=lambda done, known: told.append((done, known))
    )
    whole = simulate_batch(program, stimuli, engine="numpy")
    assert (found.spikes_by_frame == whole.spikes_by_frame).all()
    assert (found.stray_counts == whole.stray_counts).all()
    assert told[-1] == (7, 7)
    assert all(done <= known for done, known in told)


def test_portions_are_taken_when_they_are_needed(mixer):
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield stimuli_of(np.random.default_rng(taken), 1, 2)

    class Enough(Exception):
        pass

    def stop(done, _):
        if done == 20:
            raise Enough

    with pytest.raises(Enough):
        simulate_batch(mixer(1, 1), endless(), threads=2, engine="numpy", progress=stop)
    assert taken < 40


@pytest.mark.parametrize(("engine", "bit_slicing"), [*((engine, None) for engine in ENGINES), ("fast", True)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_leaves_no_thread(mixer, error, engine, bit_slicing):
    def interrupt(done, known):
        raise error

    before = set(threading.enumerate())
    with pytest.raises(error):
        simulate_batch(
            without_memory(mixer(1, 1), [0]), stimuli_of(np.random.default_rng(0), 400, 5), threads=3, engine=engine,
            bit_slicing=bit_slicing, progress=interrupt,
        )  # fmt: skip
    assert set(threading.enumerate()) == before


def test_a_batch_is_read_only(mixer):
    batch = simulate_batch(mixer(1, 1), stimuli_of(np.random.default_rng(0), 2, 3), engine="numpy")
    for array in (batch.frames("O"), batch.counts("O"), batch.strays("O")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("keep", ["frames", "counts"])
def test_a_batch_is_saved_with_what_it_kept(mixer, tmp_path, keep):
    stimuli = stimuli_of(np.random.default_rng(0), 5, 9)
    batch = simulate_batch(mixer(3, 2), stimuli, engine="numpy", keep=keep)
    batch.save(tmp_path / "batch.safetensors")
    with safe_open(tmp_path / "batch.safetensors", framework="numpy") as file:
        labels = json.loads(file.metadata()["batch"])
        for name in ("O", "P"):
            kept = batch.frames(name) if keep == "frames" else batch.counts(name)
            assert (file.get_tensor(name) == kept).all()
            assert labels["strays"][name] == batch.strays(name).tolist()
    assert (labels["period"], labels["n_frames"], labels["n_ticks"]) == (2, 9, batch.n_ticks)
    data = (tmp_path / "batch.safetensors").read_bytes()
    assert seal_of(data, metadata_of(data)) is Seal.WHOLE
    batch.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == data


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say which cores are to be used")
def test_as_many_threads_as_cores_that_may_be_used():
    assert thread_count() == len(os.sched_getaffinity(0))
    assert thread_count(7) == 7


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"J": np.zeros((3, 4, 2))}, "dtype float64"),
        ({"J": np.zeros((3, 4, 3), int)}, r"shape \(3, 4, 3\); must be \(S, n_frames, 2\)"),
        ({"J": np.zeros((4, 2), int)}, r"shape \(4, 2\); must be \(S, n_frames, 2\)"),
        ({"J": np.zeros((2, 4, 2), int)}, "2 of 4 frames, where 3 of 4 are expected"),
        ({"J": np.zeros((3, 5, 2), int)}, "3 of 5 frames, where 3 of 4 are expected"),
        ({"J": np.full((3, 4, 2), 2)}, "value 2 at stimulus 0, frame 0, neuron 0"),
        ({"K": np.zeros((3, 4, 2), int)}, "node K is not an input node"),
        ({"I": np.zeros((3, 1, 3), int)}, "1 frame; at least 2"),
        ({"J": [[1], [2, 3]]}, "must be"),
    ],
)
def test_wrong_stimuli_are_refused(mixer, change, found):
    stimuli = {"I": np.zeros((3, 4, 3), bool), "J": np.zeros((3, 4, 2), bool), **change}
    with pytest.raises(StimulusError, match=found):
        simulate_batch(mixer(1, 1), stimuli)


def test_numbers_of_numpy_are_numbers(mixer):
    program, stimuli = mixer(1, 1), stimuli_of(np.random.default_rng(0), 2, 3)
    batch = simulate_batch(program, stimuli, threads=np.int64(1), noise_seed=np.int64(3), bit_slicing=np.False_)
    same = simulate_batch(program, stimuli, threads=1, noise_seed=3, bit_slicing=False)
    np.testing.assert_array_equal(batch.spike_counts, same.spike_counts)


def test_wrong_requests_are_refused(mixer):
    program, stimuli = mixer(1, 1), stimuli_of(np.random.default_rng(0), 2, 3)
    with pytest.raises(StimulusError, match="input node J is missing"):
        simulate_batch(program, {"I": stimuli["I"]})
    with pytest.raises(StimulusError, match="none given"):
        simulate_batch(program, [])
    with pytest.raises(StimulusError, match="found int"):
        simulate_batch(program, [3])
    with pytest.raises(StimulusError, match="1 of 4 frames, where 1 of 3"):
        simulate_batch(
            program, [stimuli_of(np.random.default_rng(0), 1, 3), stimuli_of(np.random.default_rng(0), 1, 4)]
        )
    with pytest.raises(InputError, match="threads 0: must be a whole number from 1 to 1024"):
        simulate_batch(program, stimuli, threads=0)
    with pytest.raises(InputError, match="bit_slicing = 'no': must be True or False"):
        simulate_batch(program, stimuli, bit_slicing="no")
    with pytest.raises(InputError, match="keep 'all': must be"):
        simulate_batch(program, stimuli, keep="all")
    for record in (Recording("core:0"), Recording(potentials="node:H"), Recording(counts=True)):
        with pytest.raises(InputError, match="a batch keeps frames of nodes only"):
            simulate_batch(program, stimuli, record=record)
    with pytest.raises(InputError, match="frames of O were not kept"):
        simulate_batch(program, stimuli, keep="counts").frames("O")
    with pytest.raises(InputError, match="node H was not recorded; recorded nodes are O, P"):
        simulate_batch(program, stimuli).counts("H")


def test_engines_are_made_as_they_are_needed(mixer):
    chips = Chips(mixer(1, 1), EngineChoice("numpy"))
    with chips.take() as one:
        with chips.take() as two:
            assert one is not two
        with chips.take() as again:
            assert again is two


def test_stimuli_run_side_by_side_where_that_is_quicker(mixer):
    program = mixer(1, 1)
    forgetful = without_memory(program, [1])
    many = (300, 10, 50)
    assert Chips(forgetful, EngineChoice()).stimuli_at_once(*many) == 300
    assert Chips(forgetful, EngineChoice()).stimuli_at_once(2000, 10, 50) == 512
    assert Chips(forgetful, EngineChoice(bit_slicing=True)).stimuli_at_once(5, 1, 50) == 5
    for chips, asked in [
        (Chips(forgetful, EngineChoice()), (5, 10, 50)),
        (Chips(forgetful, EngineChoice()), (300, 10, 2**20)),
        (Chips(forgetful, EngineChoice()), (300, 0, 50)),
        (Chips(forgetful, EngineChoice(bit_slicing=False)), many),
        (Chips(forgetful, EngineChoice("numpy", bit_slicing=True)), many),
        (Chips(program, EngineChoice(bit_slicing=True)), many),
    ]:
        assert chips.stimuli_at_once(*asked) == 0
