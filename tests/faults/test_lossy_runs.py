"""Dropped spikes: without losses a run is the engine's, with them a share of the spikes is gone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.faults import Faults, struck_frames
from neuromap.faults.edited_program import LossyChip, output_frames
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.simulate_batch import BatchJob
from neuromap.simulation.trace.recording import Recording

NUMPY = EngineChoice("numpy", threads=1)


def lossy(rate, seed=0):
    return Faults({"dropped-spikes": rate}, seed)


def events_of(program, frames, n_frames=9):
    job = BatchJob.of(program, Recording(), keep_frames=True)
    return job.feed.events({name: rows[None] for name, rows in frames.items()}, n_frames, 0, job.n_ticks(n_frames))


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_without_losses_every_spike_is_that_of_the_engine(mapped, data):
    rollout, program = data.draw(mapped())
    events = events_of(program, nm.random_frames(rollout.network, 9, seed=data.draw(st.integers(0, 99))))
    run = LossyChip(program, lossy(0.0), NUMPY).run(events)
    expected = make_engine(program, NUMPY).run(events)
    for found, right in zip(run.spikes, expected, strict=True):
        assert (found == right).all()
    assert run.dropped.struck == 0
    assert run.dropped.at_risk == len(program.sent_by(expected.cores, expected.neurons).spike)


@given(st.data())
@settings(deadline=None, max_examples=9)
def test_without_losses_noise_is_that_of_a_batch(by_hand, data):
    """Stochastic neurons draw what they draw in a batch, stimulus by stimulus."""
    program = by_hand(
        [("I", 1, "input", 0), ("O", 1, "output", 1)],
        {(0, 0): (-1, 0, False, (1, 0, 1)), (1, 0): (1, 0, False, None)}, 1, [(0, 0, 0, 2), (1, 0, 0, 2)],
        [(0, 0, 0, 0, 0, 0)], n_cores=2,
    )  # fmt: skip
    neurons = replace(program.neurons, noise_bits=np.full(program.shape, 2, np.uint8))
    rules = replace(program.chip.rules, stochastic=True)
    program = replace(program, neurons=neurons, chip=replace(program.chip, rules=rules))
    stimuli = {"I": np.random.default_rng(data.draw(st.integers(0, 99))).random((3, 30, 1)) < 0.7}
    choice = EngineChoice("numpy", threads=1, noise_seed=data.draw(st.integers(2**64 - 2, 2**64 - 1)))
    right = output_frames(program, stimuli, choice)["O"]
    job = BatchJob.of(program, Recording(), keep_frames=True)
    chip = LossyChip(program, lossy(0.0), choice)
    for k in range(3):
        run = chip.run(job.feed.events({"I": stimuli["I"][k : k + 1]}, 30, 0, job.n_ticks(30)), k)
        here = job.watched[run.spikes.cores, run.spikes.neurons]
        part = job.part([type(run.spikes)(*(c[here] for c in run.spikes))], 1, 30)
        assert (part.frames[0] == right[k]).all()
    assert right.any()
    hardly = struck_frames(program, lossy(1e-15), stimuli, choice)  # as good as none, but run tick by tick
    assert hardly.counts["dropped-spikes"].struck == 0
    assert (hardly.frames["O"] == right).all()


@pytest.fixture(scope="module")
def relay_line(by_hand):
    """One neuron that the host drives, and one that repeats it."""
    return by_hand(
        [("I", 1, "input", 0), ("O", 1, "output", 1)],
        {(0, 0): (-1, 0, False, (1, 0, 1)), (1, 0): (1, 0, False, None)}, 1, [(0, 0, 0, 1), (1, 0, 0, 1)],
        [(0, 0, 0, 0, 0, 0)], n_cores=2,
    )  # fmt: skip


@pytest.mark.parametrize(("rate", "low", "high"), [(0.0, 0, 0), (0.1, 10, 50), (0.5, 115, 185), (1.0, 300, 300)])
def test_the_share_of_lost_spikes_is_the_rate(relay_line, rate, low, high):
    """Of 300 spikes; the bounds are more than three standard deviations wide."""
    n = 300
    events = HostEvents(np.arange(n + 1), np.zeros(n, np.int32), np.zeros(n, np.int32))
    run = LossyChip(relay_line, lossy(rate), NUMPY).run(events)
    assert run.dropped.at_risk == n
    assert low <= run.dropped.struck <= high
    arrived = np.count_nonzero(run.spikes.cores == 1)
    assert arrived in (n - run.dropped.struck, n - run.dropped.struck - 1)  # the last one is under way yet


def test_what_is_lost_at_a_rate_is_lost_at_a_higher_one(relay_line):
    n = 150
    events = HostEvents(np.arange(n + 1), np.zeros(n, np.int32), np.zeros(n, np.int32))
    there = []
    for rate in (0.0, 0.1, 0.3, 0.8):
        spikes = LossyChip(relay_line, lossy(rate, 3), NUMPY).run(events).spikes
        there.append(set(spikes.ticks[spikes.cores == 1].tolist()))
    assert there[0] > there[1] > there[2] > there[3]


def test_stimuli_lose_spikes_of_their_own(relay_line):
    stimuli = {"I": np.ones((2, 200, 1), bool)}
    found = struck_frames(relay_line, lossy(0.5, 1), stimuli, NUMPY)
    assert (found.frames["O"][0] != found.frames["O"][1]).any()
    assert found.counts["dropped-spikes"].at_risk == pytest.approx(400, abs=4)


def test_engines_lose_the_same(digits):
    stimuli = {"I": np.random.default_rng(0).random((2, 6, 64)) < 0.4}
    one, other = (struck_frames(digits, lossy(0.1, 5), stimuli, EngineChoice(e, 1)) for e in ("numpy", "fast"))
    assert (one.frames["O"] == other.frames["O"]).all()
    assert one.counts == other.counts
    assert one.counts["dropped-spikes"].struck > 0
