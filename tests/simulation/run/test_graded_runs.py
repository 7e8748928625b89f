"""Values through runs: chip, reference, batch, live run and ranks say the same; files and checkpoints keep them."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from graded_networks import graded_rollouts, small_graded_chip
from hypothesis import given, settings
from hypothesis import strategies as st
from local_ranks import run_local

import neuromap as nm
from neuromap.errors import InputError, StimulusError
from neuromap.faults.edited_program import without_ways
from neuromap.hardware.program.chip_program import host_spikes
from neuromap.hardware.program.ports import BIAS
from neuromap.simulation import Checkpoints, run_events, simulate, simulate_batch, simulate_to_file
from neuromap.simulation.engine.engine import Messages, make_engine, values_of
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi.simulate_on_ranks import RankEngine, simulate_on_ranks
from neuromap.simulation.reference_frames import reference, reference_batch
from neuromap.simulation.run.live_run import GivenFrames, HeldFrame, LiveRun, RandomSource
from neuromap.simulation.run.tick_run import FedFrames

NUMPY = EngineChoice("numpy")
ALL = nm.Recording("all", "core:0", counts=True)


@cache
def mapped(seed, number):
    """A rollout, its program on several cores, and frames; of so many patterns and executions one is taken."""
    rollouts = graded_rollouts(seed)
    rollout = rollouts[number % len(rollouts)]
    program = nm.map_rollout(rollout, chip=small_graded_chip())
    return rollout, program, nm.random_frames(rollout.network, 8, seed=seed + 1)


drawn = given(seed=st.integers(0, 3), number=st.integers(0, 30))


@drawn
@settings(deadline=None, max_examples=18)
def test_the_chip_sends_the_values_of_the_reference(seed, number):
    rollout, program, frames = mapped(seed, number)
    assert program.n_cores > 1
    trace = simulate(program, frames, engine="numpy", record=ALL)
    expected = reference(rollout, frames)
    assert len(trace.strays("O")) == 0
    for port in trace.nodes:
        found = trace.frames(port.name)
        assert found.dtype == np.int32
        assert np.array_equal(found, expected[port.name])
    assert np.array_equal(trace.counts.sum(), len(trace.tick))
    assert np.abs(expected["O"]).max() > 1


@drawn
@settings(deadline=None, max_examples=12)
def test_many_stimuli_give_what_each_gives(seed, number):
    rollout, program, frames = mapped(seed, number)
    stimuli = np.stack([frames["I"], frames["I"][::-1], np.repeat(frames["I"][2:3], 8, axis=0)])
    batch = simulate_batch(program, {"I": stimuli}, engine="numpy", threads=2, record=nm.Recording("all"))
    counts = simulate_batch(program, {"I": stimuli}, engine="numpy", threads=1, keep="counts")
    many = reference_batch(rollout, {"I": stimuli}, rollout.network.nodes)
    for k, rows in enumerate(stimuli):
        expected = reference(rollout, {"I": rows})
        for name in rollout.network.nodes:
            assert np.array_equal(many[name][k], expected[name])
            if name != "I":
                assert np.array_equal(batch.frames(name)[k], expected[name])
        assert np.array_equal(counts.counts("O")[k], np.count_nonzero(expected["O"][1:], axis=0))
    assert not batch.strays("O").any()


@drawn
@settings(deadline=None, max_examples=9)
def test_a_live_run_shows_the_values_of_the_reference(seed, number):
    rollout, program, frames = mapped(seed, number)
    run = LiveRun(program, GivenFrames(program, frames), NUMPY)
    while len(run.outputs) < 5:
        run.tick()
    run.put(program, run.state)  # goes on from its own state
    while len(run.outputs) < 7:
        run.tick()
    expected = reference(rollout, frames)["O"]
    assert [out.spikes.tolist() for out in run.outputs] == [expected[out.frame].tolist() for out in run.outputs]
    assert run.n_strays == 0


def test_sources_give_values_of_the_range():
    _, program, frames = mapped(0, 0)
    low, high = program.value_ranges["I"]
    drawn = [RandomSource(program, 0.5, seed=1)(k)["I"] for k in range(40)]
    assert min(map(np.min, drawn)) >= low < 0 < high <= 255
    assert np.mean([np.mean(frame != 0) for frame in drawn]) == pytest.approx(0.5, abs=0.05)
    with pytest.raises(StimulusError, match=f"must be an integer, {low} to {high}"):
        HeldFrame(program, {"I": np.full(36, 300)})
    assert HeldFrame(program, {"I": frames["I"][1]})(0)["I"].tolist() == frames["I"][1].tolist()
    wrong = np.zeros((1, 3, 36), int)
    wrong[0, 1, 3] = 256
    with pytest.raises(StimulusError, match=f"value 256 at stimulus 0, frame 1, neuron 3; must be {low} to {high}"):
        simulate_batch(program, {"I": wrong}, engine="numpy")


@drawn
@settings(deadline=None, max_examples=12)
def test_the_host_feeds_frames_and_constants(seed, number):
    _, program, frames = mapped(seed, number)
    n_ticks = 9
    events = FedFrames(program, frames).events(0, n_ticks)
    listed = host_spikes(program, frames, n_ticks)
    tick = np.repeat(np.arange(n_ticks), np.diff(events.start))
    told = sorted(zip(tick.tolist(), events.cores.tolist(), events.axons.tolist(), events.values.tolist(), strict=True))
    host = program.host
    rows = zip(listed.tick, host.core[listed.row], host.axon[listed.row], listed.value, strict=True)
    assert sorted(tuple(map(int, row)) for row in rows) == told
    assert (events.values != 0).all()
    assert {1} <= set(host.constants[host.node == BIAS].tolist()) <= {1, 128}


@pytest.mark.parametrize("suffix", ["trace", "h5"])
def test_a_trace_file_keeps_values(tmp_path, assert_same_trace, suffix):
    if suffix == "h5":
        pytest.importorskip("h5py")
    _, program, frames = mapped(1, 1)
    trace, path = simulate(program, frames, engine="numpy", record=ALL), tmp_path / f"one.{suffix}"
    if suffix == "h5":
        counts = simulate_to_file(path, program, frames, engine="numpy", record=ALL)
        assert counts.spikes.sum() == sum(np.count_nonzero(trace.frames(port.name)) for port in trace.nodes)
    else:
        trace.save(path)
    assert_same_trace(nm.load_trace(path), trace)
    assert "messages of O" in repr(trace)
    wrong = np.zeros_like(trace.value) if suffix == "h5" else trace.value[1:]
    replace(trace, value=wrong).save(path)
    with pytest.raises(InputError, match="a message carries 0" if suffix == "h5" else "value must be of the same len"):
        nm.load_trace(path)


def test_a_batch_file_keeps_values(tmp_path):
    from safetensors.numpy import load_file

    _, program, frames = mapped(1, 1)
    batch = simulate_batch(program, {"I": frames["I"][None]}, engine="numpy")
    batch.save(tmp_path / "batch")
    assert np.array_equal(load_file(tmp_path / "batch")["O"], batch.frames("O"))


class Stopped(Exception):
    pass


@given(seed=st.integers(0, 3), number=st.integers(0, 30), stop=st.integers(1, 7), ranks=st.integers(0, 3))
@settings(deadline=None, max_examples=12)
def test_a_run_goes_on_from_its_checkpoint(tmp_path_factory, assert_same_trace, seed, number, stop, ranks):
    _, program, frames = mapped(seed, number)
    whole = simulate(program, frames, engine="numpy", record=ALL)
    path = tmp_path_factory.mktemp("run") / "checkpoint"

    def progress(done, _):
        if done >= stop:
            raise Stopped

    with pytest.raises(Stopped):
        simulate(program, frames, engine="numpy", record=ALL, progress=progress, checkpoints=Checkpoints(path, every=1))
    if not path.exists():  # stopped before the first was due
        return
    how = {"engine": "numpy", "record": ALL, "checkpoints": Checkpoints(resume=path)}
    if ranks:
        n_ranks = min(ranks, program.n_cores)
        found = run_local(n_ranks, lambda exchange: simulate_on_ranks(program, frames, exchange, **how), shares=False)
        assert_same_trace(found[0], whole)
    else:
        assert_same_trace(simulate(program, frames, **how), whole)
    with pytest.raises(InputError, match="belongs to other input frames"):
        simulate(program, {"I": frames["I"][::-1]}, **how)


def told(engine, sent):
    return [*sent, engine.potentials, engine.totals, engine.tick]


@given(
    seed=st.integers(0, 3), number=st.integers(0, 30), ranks=st.integers(2, 3),
    cut=st.integers(0, 12), watched=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=18)
def test_ranks_hand_values_to_each_other(seed, number, ranks, cut, watched):
    _, program, frames = mapped(seed, number)
    events = FedFrames(program, frames).events(0, 14)
    mask = np.random.default_rng(seed).random(program.shape) < 0.3 if watched else None
    parts = [events.of_ticks(a, b - a) for a, b in pairwise((0, cut, 14))]

    def run(engine):
        found = [told(engine, engine.run(part, mask)) for part in parts]
        return found, engine.state

    expected, state = run(make_engine(program, NUMPY))
    n_ranks = min(ranks, program.n_cores)
    found, joined = run_local(n_ranks, lambda exchange: run(RankEngine(program, exchange, NUMPY)), shares=False)[0]
    for one, other in zip(found, expected, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert np.array_equal(joined.under_way, state.under_way)
    assert np.array_equal(joined.currents.amounts, state.currents.amounts)
    assert sum(len(part[0]) for part in expected) > 10


@pytest.mark.parametrize("value", [0, 2**31])
def test_a_state_with_a_value_that_no_node_sends_is_refused(value):
    _, program, frames = mapped(0, 0)
    engine = make_engine(program, NUMPY)
    engine.run(FedFrames(program, frames).events(0, 4))
    state = engine.state
    assert len(state.values)
    wrong = state.values.copy()
    wrong[0] = value
    with pytest.raises(InputError, match="state: carries 0, or a value outside -5000 to 5000; simulate from tick 0"):
        engine.restore(replace(state, values=wrong))
    engine.restore(state)
    assert np.array_equal(engine.state.under_way, state.under_way)


def test_raw_events_carry_values():
    _, program, _ = mapped(0, 0)
    row = np.flatnonzero(program.host.node >= 0)[0]
    core, axon = program.host.core[row], program.host.axon[row]
    sent = [run_events(program, [0], [core], [axon], 3, engine="numpy", values=[v]) for v in (1, 30)]
    assert all(isinstance(one, Messages) for one in sent)
    assert not np.array_equal(values_of(sent[0]), values_of(sent[1]))
    with pytest.raises(StimulusError, match="and not 0, which is not sent"):
        run_events(program, [0], [core], [axon], 3, engine="numpy", values=[0])
    with pytest.raises(StimulusError, match="1 ticks, 1 cores, 1 axons, 2 values; give as many of each"):
        run_events(program, [0], [core], [axon], 3, engine="numpy", values=[1, 2])
    loose = without_ways(program, np.ones(len(program.wires.core), bool))  # its axons have no source that bounds values
    way = program.wires.target_core[:1], program.wires.target_axon[:1]
    assert len(run_events(loose, [0], *way, 3, engine="numpy", values=[5]).values)
    with pytest.raises(StimulusError, match=r"events: values of 0 to 8388607 may lead sums to \d+; at most 2147483647"):
        run_events(loose, [0], *way, 3, engine="numpy", values=[2**23 - 1])
