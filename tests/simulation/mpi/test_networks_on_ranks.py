"""Mapped networks on ranks: the trace of one machine, in every execution, with and without noise and slack."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from local_ranks import run_local

import neuromap as nm
from neuromap.simulation.mpi.simulate_on_ranks import simulate_on_ranks

RECORD = nm.Recording("all", counts=True)


@pytest.fixture(scope="module")
def net():
    return nm.load_network(Path(__file__).parents[3] / "examples" / "digits" / "sr.toml")


def on_ranks(n_ranks, program, frames, **given):
    """Simulate on ranks; those that do not speak have no trace."""

    def work(exchange):
        return simulate_on_ranks(program, frames, exchange, record=RECORD, **given)

    found, *others = run_local(n_ranks, work)
    assert others == [None] * (n_ranks - 1)
    return found


@pytest.mark.parametrize("noise", [False, True], ids=["exact", "noisy"])
@pytest.mark.parametrize(
    ("pattern", "execution", "ticks_per_step"),
    [("streaming", "windowed", 1), ("sequential", "windowed", 4), ("hybrid", "pipelined", 1)],
)
def test_digits_give_the_trace_of_one_machine(net, assert_same_trace, pattern, execution, ticks_per_step, noise):
    rollout = nm.Rollout(net, pattern, execution=execution)
    program = nm.map_rollout(rollout, ticks_per_step=ticks_per_step, packing=False)
    if noise:
        bits = np.random.default_rng(2).integers(0, 4, program.shape).astype(np.uint8)
        program = replace(program, neurons=replace(program.neurons, noise_bits=bits))
    frames = nm.random_frames(net, n_frames=12, seed=1)
    whole = nm.simulate(program, frames, record=RECORD, noise_seed=3, threads=1)
    other_seed = nm.simulate(program, frames, record=RECORD, noise_seed=4, threads=1)
    assert np.array_equal(whole.counts, other_seed.counts) != noise
    for n_ranks in (1, 2, 3, 4):
        assert_same_trace(on_ranks(n_ranks, program, frames, noise_seed=3), whole)


def test_frames_at_unequal_intervals(assert_same_trace):
    weights, streaming = np.eye(3, dtype=int), [("a", "b"), ("b", "c"), ("b", "O")]
    edges = dict.fromkeys([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O"), ("b", "O")], weights)
    net = nm.build_network({"I": (3, None), **dict.fromkeys("abcO", (3, 1))}, edges)
    rollout = nm.Rollout(net, nm.RolloutPattern.from_streaming_edges(net, streaming), "pipelined:best")
    program = nm.map_rollout(rollout, packing=False)
    assert program.period.denominator > 1
    frames = nm.random_frames(net, n_frames=20, seed=1, density=0.8)
    whole = nm.simulate(program, frames, record=RECORD, threads=1)
    assert len(whole.tick) > 20
    assert_same_trace(on_ranks(3, program, frames), whole)
