"""Traces: from ticks to frames, strays, and the file."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from neuromap.errors import InputError
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.load_trace import load_trace
from neuromap.simulation.trace.trace import Trace


def make_trace(events, *, period=3, n_frames=4, n_ticks=20, nodes=(("O", 2, -1), ("P", 3, 4))):
    tick, node, index = np.array(sorted(events), dtype=np.int64).reshape(-1, 3).T
    return Trace(
        name="net",
        pattern="streaming",
        execution="windowed",
        nodes=tuple(NodePort(name, size, "output", sample) for name, size, sample in nodes),
        period=period,
        n_frames=n_frames,
        n_ticks=n_ticks,
        tick=tick.copy(),
        node=node.astype(np.int32),
        index=index.astype(np.int32),
    )


def test_frame_i_is_what_fires_i_periods_after_the_sample_tick():
    # O: frames at ticks (-1) 2 5 8; P: frames at ticks (4) 7 10 13
    trace = make_trace([(2, 0, 1), (8, 0, 0), (7, 1, 2), (13, 1, 0), (13, 1, 1)])
    assert trace.frames("O").astype(int).tolist() == [[0, 0], [0, 1], [0, 0], [1, 0]]
    assert trace.frames("P").astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert len(trace.strays("O")) == len(trace.strays("P")) == 0


def test_strays_lie_between_frames_or_before_frame_one():
    # P: tick 4 is frame 0, tick 1 frame -1, tick 8 between frames, tick 16 frame 4, when the stimulus is over.
    trace = make_trace([(4, 1, 0), (1, 1, 1), (8, 1, 2), (16, 1, 0), (17, 1, 0), (7, 1, 0)])
    assert trace.strays("P").tolist() == [[1, 1], [4, 0], [8, 2], [17, 0]]
    assert trace.frames("P").sum() == 1
    assert len(trace.strays("O")) == 0


@given(
    period=st.integers(1, 4),
    samples=st.lists(st.integers(-5, 5), min_size=1, max_size=3),
    n_frames=st.integers(2, 5),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_every_spike_is_in_a_frame_a_stray_or_late(period, samples, n_frames, seed):
    rng = np.random.default_rng(seed)
    nodes = [(f"O{k}", 3, sample) for k, sample in enumerate(samples)]
    events = {tuple(event) for event in rng.integers(0, [20, len(nodes), 3], size=(30, 3)).tolist()}
    trace = make_trace(events, period=period, n_frames=n_frames, nodes=nodes)
    ticks = [range(sample + period, sample + n_frames * period, period) for sample in samples]
    for k, (name, size, sample) in enumerate(nodes):
        mine = {(tick, index) for tick, node, index in events if node == k}
        grid = {sample + i * period: i for i in range(1, 40)}
        frames = np.zeros((n_frames, size), dtype=bool)
        for tick, index in mine:
            if grid.get(tick, n_frames) < n_frames:
                frames[grid[tick], index] = True
        if 0 <= ticks[k][0] <= ticks[k][-1] < trace.n_ticks:
            assert (trace.frames(name) == frames).all()
        else:
            first = next(i for i, tick in enumerate(ticks[k], 1) if not 0 <= tick < trace.n_ticks)
            with pytest.raises(InputError, match=f"frame {first} of node {name} was not run: it is at tick "):
                trace.frames(name)
        assert set(map(tuple, trace.strays(name).tolist())) == {(t, i) for t, i in mine if t not in grid}


def test_only_recorded_nodes_have_frames():
    with pytest.raises(InputError, match="node H was not recorded; recorded nodes are O, P"):
        make_trace([]).frames("H")


def test_a_trace_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        make_trace([(2, 0, 1)]).tick[0] = 3


@pytest.mark.parametrize("events", [[], [(2, 0, 1), (8, 0, 0), (13, 1, 2)]])
def test_a_saved_trace_comes_back(tmp_path, events):
    trace = make_trace(events)
    path = tmp_path / "run.safetensors"
    trace.save(path)
    loaded = load_trace(path)
    for name in ("name", "pattern", "execution", "nodes", "period", "n_frames", "n_ticks"):
        assert getattr(loaded, name) == getattr(trace, name)
    for name in ("tick", "node", "index"):
        assert getattr(loaded, name).dtype == getattr(trace, name).dtype
        assert (getattr(loaded, name) == getattr(trace, name)).all()


def damaged(tmp_path, *, tensors=(), labels=(), metadata=()):
    path = tmp_path / "run.safetensors"
    trace = make_trace([(2, 0, 1), (13, 1, 2)])
    trace.save(path)
    stored = load_file(path)
    described = {
        "name": "net", "pattern": "", "execution": "", "nodes": [vars(port) for port in trace.nodes],
        "period": 3, "n_frames": 4, "n_ticks": 20,
    }  # fmt: skip
    text = json.dumps({**described, **dict(labels)})
    save_file(
        {**stored, **dict(tensors)},
        path,
        metadata={"format": "neuromap trace", "version": "1", "trace": text, **dict(metadata)},
    )
    return path


def test_an_undamaged_rewrite_is_read(tmp_path):
    assert load_trace(damaged(tmp_path)).n_ticks == 20


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ({"metadata": {"format": "other"}}, "not a trace of version 1, 2, 3, 4"),
        ({"metadata": {"version": "5"}}, "not a trace of version 1, 2, 3, 4"),
        ({"metadata": {"version": "3"}}, "does not fit its checksum"),
        ({"metadata": {"checksum": "blake2b-128:0"}}, "does not fit its checksum"),
        ({"metadata": {"trace": "{"}}, "a damaged trace"),
        ({"metadata": {"trace": "[]"}}, "a damaged trace"),
        ({"labels": {"unknown": 1}}, "a damaged trace"),
        ({"labels": {"period": 0}}, "period 1 or more"),
        ({"labels": {"n_frames": "4"}}, "must be integers"),
        ({"labels": {"nodes": [{"name": "O"}]}}, "a damaged trace"),
        ({"labels": {"n_ticks": 13}}, "outside the ticks"),
        ({"tensors": {"tick": np.array([2, 13, 14])}}, "same length"),
        ({"tensors": {"tick": np.array([2.0, 13.0])}}, "must be int64"),
        ({"tensors": {"node": np.array([0, 2], dtype=np.int32)}}, "does not exist"),
        ({"tensors": {"index": np.array([2, 0], dtype=np.int32)}}, "does not exist"),
    ],
)
def test_damaged_traces_are_refused(tmp_path, damage, found):
    with pytest.raises(InputError, match=found) as caught:
        load_trace(damaged(tmp_path, **damage))
    assert "run.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_foreign_and_truncated_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    with pytest.raises(InputError, match="does not exist"):
        load_trace(path)
    make_trace([(2, 0, 1)]).save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="not a readable safetensors file"):
        load_trace(path)
    save_file({"tick": np.zeros(2)}, path)
    with pytest.raises(InputError, match="not a trace"):
        load_trace(path)
    with pytest.raises(InputError, match="is a folder"):
        load_trace(tmp_path)
