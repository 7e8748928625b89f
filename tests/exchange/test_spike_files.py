"""Spike trains as Neo has them and spike files of SONATA, read by their own readers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NotSupportedError
from neuromap.formats.neo import mat_bytes

neo = pytest.importorskip("neo", reason="neo is not installed")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")


def assert_block(block, trace, spiked, shown_at):
    """A block of Neo says what the trace says."""
    (segment,) = block.segments
    tick, groups = 1000 * trace.tick_seconds, {group.name: group for group in block.groups}
    for node, port in enumerate(trace.nodes):
        trains = groups[port.name].spiketrains
        assert [(train.annotations["node"], train.annotations["index"]) for train in trains] == [
            (port.name, i) for i in range(port.size)
        ]
        for i, train in enumerate(trains):
            expected = [t * tick for t, j in spiked(trace, node) if j == i]
            assert np.atleast_1d(train.rescale("ms").magnitude).tolist() == pytest.approx(expected)
            assert float(train.t_stop.rescale("ms")) == pytest.approx(trace.n_ticks * tick)
    loose = {(c, n) for c, n, k in zip(trace.core, trace.neuron, trace.node, strict=True) if k < 0}
    trains = groups["neurons without a node"].spiketrains if loose else []
    assert {(train.annotations["core"], train.annotations["neuron"]) for train in trains} == loose
    assert sum(train.size for train in trains) == (trace.node < 0).sum()
    assert bool(block.annotations["ticks_are_timed"]) == trace.is_timed
    epochs = {epoch.name: epoch for epoch in segment.epochs}
    for port in trace.nodes:
        epoch, frames = epochs[f"frames of {port.name}"], shown_at(trace, port)
        assert np.atleast_1d(epoch.labels).tolist() == [f"frame {i}" for i in frames]
        assert np.atleast_1d(epoch.times.rescale("ms").magnitude).tolist() == pytest.approx(
            [t * tick for t in frames.values()]
        )
    assert len(segment.analogsignals) == (trace.potential_table is not None)
    for signal in segment.analogsignals:
        values = trace.potential_table.values  # NeoMatlabIO turns a single row into a column
        assert (np.asarray(signal.magnitude).reshape(values.shape) == values).all()
        assert float(signal.sampling_period.rescale("ms")) == pytest.approx(tick)


def test_neo_cuts_trains_into_frames_by_our_epochs():
    from neo.utils import cut_segment_by_epoch

    rng = np.random.default_rng(0)
    net = nm.build_network({"I": (4, None), "O": (3, 1)}, {("I", "O"): rng.integers(-1, 3, (3, 4))})
    program = nm.map_rollout(nm.Rollout(net, "streaming"))
    trace = nm.simulate(program, {"I": rng.random((9, 4)) < 0.5})
    (segment,) = nm.to_neo(trace).segments
    (epoch,) = segment.epochs
    wanted = trace.frames("O")[1:].astype(int)
    assert 0 < wanted.sum() < wanted.size
    for frame, cut in zip(wanted, cut_segment_by_epoch(segment, epoch), strict=True):
        assert [train.size for train in cut.spiketrains] == frame.tolist()


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_block_of_neo_has_trains_frames_and_potentials_also_from_its_file(
    data, traces, spiked, shown_at, tmp_path_factory
):
    trace, folder = data.draw(traces), tmp_path_factory.mktemp("neo")
    assert_block(nm.to_neo(trace), trace, spiked, shown_at)
    (folder / "run.mat").write_bytes(mat_bytes(nm.to_neo(trace)))
    assert_block(neo.io.NeoMatlabIO(str(folder / "run.mat")).read_block(), trace, spiked, shown_at)


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_spike_file_of_sonata_has_a_population_of_every_node(data, traces, spiked, tmp_path_factory):
    trace, folder = data.draw(traces), tmp_path_factory.mktemp("sonata")
    notes = nm.to_sonata(trace, folder / "run.h5")
    assert (trace.node < 0).any() == ("neurons without a node" in [note.about for note in notes])
    with h5py.File(folder / "run.h5") as file:
        assert file.attrs["magic"] == 0x0A7A
        assert set(file["spikes"]) == {port.name for port in trace.nodes}
        for node, port in enumerate(trace.nodes):
            group, spikes = file["spikes"][port.name], spiked(trace, node)
            assert group["timestamps"].attrs["units"] == "ms"
            assert h5py.check_enum_dtype(group.attrs.get_id("sorting").dtype)["by_time"] == group.attrs["sorting"]
            assert group["node_ids"].dtype == np.uint64
            assert group["node_ids"][:].tolist() == [i for _, i in spikes]
            assert group["timestamps"][:].tolist() == pytest.approx([1000 * trace.tick_seconds * t for t, _ in spikes])


@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_libsonata_reads_it(data, traces, spiked, tmp_path_factory):
    libsonata = pytest.importorskip("libsonata", reason="libsonata, the format's own reader, is not installed")
    trace, path = data.draw(traces), tmp_path_factory.mktemp("sonata") / "run.h5"
    nm.to_sonata(trace, path)
    if not trace.nodes:
        return
    reader = libsonata.SpikeReader(str(path))
    assert sorted(reader.get_population_names()) == sorted(port.name for port in trace.nodes)
    for node, port in enumerate(trace.nodes):
        assert reader[port.name].sorting == "by_time"
        found = reader[port.name].get()
        assert [(i, pytest.approx(t)) for i, t in found] == [
            (i, 1000 * trace.tick_seconds * t) for t, i in spiked(trace, node)
        ]


def test_what_is_no_trace_or_knows_no_times_is_refused(tmp_path):
    net = nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): np.ones((1, 2), int)}, name="one")
    program = nm.map_rollout(nm.Rollout(net, "streaming"))
    trace = nm.simulate(program, {"I": np.ones((3, 2), bool)})
    old = replace(trace, core=None, neuron=None, tick_seconds=None)
    for write in (
        nm.to_neo,
        lambda one: nm.to_sonata(one, tmp_path / "x"),
        lambda one: nm.to_perfetto(one, tmp_path / "x"),
    ):
        with pytest.raises(NotSupportedError, match="version 1"):
            write(old)
        with pytest.raises(InputError, match="needs a Trace, got a Program; simulate"):
            write(program)
    dots = replace(trace, nodes=(replace(trace.nodes[0], name=".."),))
    with pytest.raises(NotSupportedError, match="no such name"):
        nm.to_sonata(dots, tmp_path / "x")
    wide = replace(trace, nodes=(replace(trace.nodes[0], size=2**16 + 1),))
    with pytest.raises(NotSupportedError, match="at most 65536"):
        nm.to_neo(wide)
    assert not list(tmp_path.iterdir())
