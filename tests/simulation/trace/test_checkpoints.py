"""A run that was stopped anywhere goes on from its checkpoint, in any engine, on any number of ranks: equal traces."""

import contextlib
import functools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_ranks import run_local

import neuromap as nm
from neuromap.errors import InputError
from neuromap.simulation import Checkpoints, simulate, simulate_to_file
from neuromap.simulation.mpi.simulate_on_ranks import simulate_on_ranks, simulate_on_ranks_to_file
from neuromap.simulation.trace.checkpoint import read_checked, write_checked

RECORD = nm.Recording("all", "core:0", counts=True)
HOW = st.tuples(st.sampled_from(["fast", "numpy"]), st.integers(0, 3))


class Stopped(Exception):
    pass


def stop_at(tick):
    def progress(done, _):
        if done >= tick:
            raise Stopped

    return progress


def run(program, frames, how, **given):
    """Simulate in an engine of this machine (0 ranks), or on ranks."""
    engine, n_ranks = how
    given |= {"engine": engine, "threads": 1, "record": RECORD, "noise_seed": 5}
    if n_ranks == 0:
        return simulate(program, frames, **given)
    return run_local(n_ranks, lambda exchange: simulate_on_ranks(program, frames, exchange, **given))[0]


@given(
    execution=st.sampled_from(["windowed", "pipelined"]), noise=st.booleans(), before=HOW, after=HOW,
    every=st.integers(1, 16), stop=st.integers(1, 14), elsewhere=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=24)
def test_a_run_that_was_stopped_gives_the_trace_of_one_that_was_not(
    noisy_program, assert_same_trace, execution, noise, before, after, every, stop, elsewhere
):
    net, program = noisy_program(execution, noise)
    frames = nm.random_frames(net, n_frames=20, seed=1)
    whole = simulate(program, frames, engine="numpy", record=RECORD, noise_seed=5)
    with TemporaryDirectory() as folder:
        path, other = Path(folder) / "first", Path(folder) / ("second" if elsewhere else "first")
        with pytest.raises(Stopped):
            run(program, frames, before, progress=stop_at(stop), checkpoints=Checkpoints(path, every))
        if not path.exists():
            return  # it was stopped before its first checkpoint
        # stopped twice: what the second one read and wrote is as good as what it ran; nothing may be left to run
        with contextlib.suppress(Stopped):
            run(program, frames, after, progress=stop_at(stop + 4), checkpoints=Checkpoints(other, every, path))
        path = other if other.exists() else path
        assert_same_trace(run(program, frames, after, checkpoints=Checkpoints(resume=path)), whole)


@pytest.mark.parametrize("n_ranks", [0, 2])
def test_traces_in_files_go_on_too(tmp_path, noisy_program, assert_same_trace, n_ranks):
    pytest.importorskip("h5py")
    net, program = noisy_program("pipelined", True)
    frames = nm.random_frames(net, n_frames=60, seed=1)
    path, given = tmp_path / "trace.h5", {"record": RECORD, "threads": 1}
    checkpoint = tmp_path / "checkpoint"

    def to_file(**more):
        if n_ranks == 0:
            return simulate_to_file(path, program, frames, **given, **more)
        work = functools.partial(simulate_on_ranks_to_file, path, program, frames, **given, **more)
        return run_local(n_ranks, work)[0]

    with pytest.raises(Stopped):
        to_file(progress=stop_at(40), checkpoints=Checkpoints(checkpoint, 16))
    assert not path.exists()
    counts = to_file(checkpoints=Checkpoints(resume=checkpoint))
    whole = simulate(program, frames, record=RECORD)
    assert_same_trace(nm.load_trace(path), whole)
    assert counts.n_events == len(whole.tick)


@pytest.fixture
def stopped(tmp_path, noisy_program):
    """A checkpoint with two parts, and what goes on from it."""
    net, program = noisy_program("pipelined", False)
    frames = nm.random_frames(net, n_frames=40, seed=1)
    path = tmp_path / "checkpoint"
    simulate(program, frames, threads=1, checkpoints=Checkpoints(path, 15))
    given = {"program": program, "frames": frames, "threads": 1, "checkpoints": Checkpoints(resume=path)}
    return path, given, noisy_program("windowed", False)[1], nm.random_frames(net, n_frames=40, seed=2)


def test_a_checkpoint_of_another_run_is_refused(stopped):
    _, given, other_program, other_frames = stopped
    for changes, words in [
        ({"program": other_program}, "another program"),
        ({"frames": other_frames}, "other input frames"),
        ({"noise_seed": 3}, r"another noise seed \(0, now 3\)"),
        ({"record": nm.Recording("all")}, "another recording"),
    ]:
        with pytest.raises(InputError, match=f"checkpoint: belongs to {words}"):
            simulate(**given | changes)
    simulate(**given)


@pytest.mark.parametrize("name", ["checkpoint", "checkpoint.part000001", "checkpoint.part000002"])
@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "exchanged"])
def test_damaged_checkpoints_are_refused(stopped, name, damage):
    path, given, *_ = stopped
    file = path.with_name(name)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    other = path.with_name("checkpoint.part000002" if name.endswith("1") else "checkpoint.part000001").read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes({"cut": bytes(data[:-9]), "changed": bytes(data), "exchanged": other}[damage])
    with pytest.raises(InputError, match="checkpoint"):
        simulate(**given)


@pytest.mark.parametrize(
    ("about", "arrays"),
    [
        ({"tick": float("inf")}, {}), ({"tick": 15.0}, {}), ({"tick": -1}, {}), ({"totals": [0, 2**80, 0]}, {}),
        ({"parts": 5}, {}), ({}, {"spikes": np.zeros((4, 2), np.int64)}), ({}, {"potentials": np.zeros((1, 1), int)}),
    ],
)  # fmt: skip
def test_a_state_that_no_run_writes_is_refused(stopped, about, arrays):
    path, given, *_ = stopped
    found, tensors, _ = read_checked(path, "state")
    write_checked(path, found | about, tensors | arrays)
    with pytest.raises(InputError, match=r"^checkpoint .*checkpoint: [^\n]*$"):
        simulate(**given)


def test_a_checkpoint_has_its_parts_beside_it_by_whatever_link_it_is_named(tmp_path, noisy_program):
    net, program = noisy_program("windowed", False)
    frames = nm.random_frames(net, n_frames=40, seed=1)
    path, link = tmp_path / "folder" / "checkpoint", tmp_path / "link"
    path.parent.mkdir()
    link.symlink_to(path)
    whole = simulate(program, frames, threads=1, checkpoints=Checkpoints(link, 15))
    for written, read, every in [(path, link, 8), (link, path, 7), (None, link, 1), (None, path, 1)]:
        again = simulate(program, frames, threads=1, checkpoints=Checkpoints(written, every, read))
        assert (again.tick == whole.tick).all()
    assert [p.name for p in tmp_path.iterdir() if ".part" in p.name] == []


@pytest.mark.parametrize("every", [0, -1, True, 2.5])
def test_ticks_between_checkpoints_are_counted(tmp_path, every):
    with pytest.raises(InputError, match="every"):
        Checkpoints(tmp_path / "checkpoint", every)
