"""Trace files: what was recorded comes back, from both formats; whole or not at all; damaged ones are refused."""

import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields, replace
from hashlib import blake2b

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from neuromap.errors import InputError, NotSupportedError
from neuromap.simulation.run.simulate import simulate, simulate_to_file
from neuromap.simulation.trace import load_trace as reading
from neuromap.simulation.trace.load_trace import load_trace
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import frame_counts


def stimulus_of(rng, n_frames):
    return {"I": rng.random((n_frames, 3)) < 0.4, "J": rng.random((n_frames, 2)) < 0.4}


def assert_equal(one, other):
    """Equal in every field; the tables of neurons may list other neurons that have no events."""
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "potential_table" and a is not None and b is not None:
            assert (a.values == b.values).all()
            assert a.values.dtype == b.values.dtype
            assert a.neurons.nodes == b.neurons.nodes
            for name in ("core", "neuron", "node", "index"):
                assert (getattr(a.neurons, name) == getattr(b.neurons, name)).all()
        elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        else:
            assert type(a) is type(b)
            assert a == b


RECORDINGS = st.builds(
    Recording,
    spikes=st.sampled_from(["outputs", "node:H", "all", "core:1,node:P", ()]),
    potentials=st.sampled_from([(), "node:H", "core:0", "all"]),
    counts=st.booleans(),
)


@given(seed=st.integers(0, 2**32 - 1), n_frames=st.integers(2, 40), record=RECORDINGS)
@settings(deadline=None, max_examples=40)
def test_every_way_to_a_file_and_back_gives_the_same_trace(mixer, tmp_path_factory, seed, n_frames, record):
    folder = tmp_path_factory.mktemp("traces")
    program, frames = mixer(seed, 2), stimulus_of(np.random.default_rng(seed), n_frames)
    trace = simulate(program, frames, record=record)
    trace.save(folder / "run.trace")
    trace.save(folder / "run.h5")
    told = simulate_to_file(folder / "long.h5", program, frames, record=record)
    for counts in (told, frame_counts(trace)):
        assert (counts.nodes, counts.n_frames, counts.n_ticks) == (trace.nodes, n_frames, trace.n_ticks)
        assert counts.n_events == len(trace.tick)
        assert [row.tolist() for row in counts.spikes] == [
            trace.frames(p.name).sum(axis=1).tolist() for p in trace.nodes
        ]
        assert counts.strays.tolist() == [len(trace.strays(port.name)) for port in trace.nodes]
    for name in ("run.trace", "run.h5", "long.h5"):
        assert_equal(load_trace(folder / name), trace)
    assert len(list(folder.iterdir())) == 3


@pytest.fixture(scope="module")
def recorded(mixer, tmp_path_factory):
    """The bytes of a file of 300 frames, and the trace that it holds."""
    program, frames = mixer(7, 2), stimulus_of(np.random.default_rng(7), 300)
    record = Recording("outputs", "node:H", counts=True)
    path = tmp_path_factory.mktemp("recorded") / "long.h5"
    simulate_to_file(path, program, frames, record=record)
    return path.read_bytes(), simulate(program, frames, record=record)


@pytest.fixture
def long_run(recorded, tmp_path):
    """A file of its own for every test, and the trace that it holds."""
    path, (content, trace) = tmp_path / "long.h5", recorded
    path.write_bytes(content)
    return path, trace


def test_the_file_is_read_without_neuromap(long_run):
    path, trace = long_run
    with h5py.File(path) as file:
        spikes, neurons = file["spikes/neurons"], file["neurons"]
        row = spikes["node_ids"][:]
        assert (spikes["ticks"][:] == trace.tick).all()
        assert spikes["timestamps"][:] == pytest.approx(trace.tick * trace.tick_seconds * 1000)
        assert spikes["timestamps"].attrs["units"] == "ms"
        assert h5py.check_enum_dtype(spikes.attrs.get_id("sorting").dtype)["by_time"] == spikes.attrs["sorting"]
        assert (neurons["core"][:][row] == trace.core).all()
        assert (neurons["neuron"][:][row] == trace.neuron).all()
        assert (neurons["index"][:][row] == trace.index).all()
        assert (file["counts"][:] == trace.counts).all()
        report = file["report/potentials"]
        assert (report["data"][100:110] == trace.potential_table.values[100:110]).all()
        assert report["mapping/time"][:] == pytest.approx([0, trace.n_ticks, 1])
        assert (report["mapping/index_pointers"][:] == np.arange(4)).all()


@pytest.mark.parametrize("seconds", [1e-9, 1.4e-9, 1e-3])
def test_libsonata_reads_every_row_of_potentials(mixer, tmp_path, seconds):
    libsonata = pytest.importorskip("libsonata", reason="libsonata, the format's own reader, is not installed")
    frames = stimulus_of(np.random.default_rng(7), 10)
    trace = replace(simulate(mixer(7, 2), frames, record=Recording("outputs", "node:H")), tick_seconds=seconds)
    trace.save(tmp_path / "run.h5")
    found = libsonata.ElementReportReader(str(tmp_path / "run.h5"))["potentials"].get()
    assert found.data.tolist() == trace.potential_table.values.tolist()


def test_nothing_is_left_of_a_run_that_fails(mixer, tmp_path):
    program, frames = mixer(7, 2), stimulus_of(np.random.default_rng(7), 300)
    path = tmp_path / "run.h5"
    path.write_text("before")

    def interrupt(done, total):
        if done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_to_file(path, program, frames, progress=interrupt)
    with pytest.raises(InputError, match="has no such node"):
        simulate_to_file(path, program, frames, record=Recording("node:K"))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_with_its_mode_and_through_links(mixer, tmp_path):
    program, frames = mixer(7, 2), stimulus_of(np.random.default_rng(7), 3)
    path, link = tmp_path / "run.h5", tmp_path / "link.h5"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    simulate_to_file(link, program, frames)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load_trace(path).n_frames == 3


def test_places_that_take_no_file_are_refused(mixer, tmp_path):
    program, frames = mixer(7, 2), stimulus_of(np.random.default_rng(7), 3)
    with pytest.raises(InputError, match="missing does not exist"):
        simulate_to_file(tmp_path / "missing" / "run.h5", program, frames)
    with pytest.raises(InputError, match="/dev/null: is a device or pipe; HDF5 needs the name of a file"):
        simulate_to_file("/dev/null", program, frames)


def test_without_h5py_the_remedy_is_named(mixer, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(NotSupportedError, match=r"pip install 'neuromap-rollouts\[hdf5\]'"):
        simulate_to_file(tmp_path / "run.h5", mixer(1, 1), stimulus_of(np.random.default_rng(1), 3))
    (tmp_path / "run.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(NotSupportedError, match="h5py"):
        load_trace(tmp_path / "run.h5")


def test_a_trace_of_version_1_has_no_places_for_hdf5(mixer, tmp_path):
    trace = simulate(mixer(1, 1), stimulus_of(np.random.default_rng(1), 3))
    with pytest.raises(NotSupportedError, match="version 1 lacks the places"):
        replace(trace, core=None, neuron=None).save(tmp_path / "run.h5")


def as_version_2(file):
    del file.attrs["checksum"]
    file.attrs["format_version"] = "2"


def change_labels(file, **labels):
    file.attrs["trace"] = json.dumps({**json.loads(file.attrs["trace"]), **labels})


def shorten(file, name):
    values = file[name][:-1]
    del file[name]
    file[name] = values


def put(file, name, value):
    del file[name]
    file[name] = value


def declare(file, name, shape, **how):
    if name in file:
        del file[name]
    file.create_dataset(name, shape, "i8", **how)


def resize_node(file, size):
    first, *others = json.loads(file.attrs["trace"])["nodes"]
    change_labels(file, nodes=[{**first, "size": size}, *others])


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda f: f.attrs.__setitem__("format", "other"), "not a trace of version 2, 3, 4"),
        (lambda f: f.attrs.__setitem__("format_version", "5"), "not a trace of version 2, 3, 4"),
        (lambda f: f.attrs.__setitem__("format_version", "3"), "does not fit its checksum"),
        (lambda f: f.attrs.__setitem__("checksum", "blake2b-128:0"), "does not fit its checksum"),
        (lambda f: f.attrs.__setitem__("trace", "{"), "a damaged trace"),
        (lambda f: f.attrs.__setitem__("trace", "[]"), "a damaged trace"),
        (lambda f: f.attrs.__delitem__("trace"), "a damaged trace"),
        (lambda f: f.__delitem__("neurons"), "a damaged trace"),
        (lambda f: f.__delitem__("spikes"), "a damaged trace"),
        (lambda f: f.__delitem__("neurons/core"), "a damaged trace"),
        (lambda f: f.__delitem__("report/potentials/data"), "a damaged trace"),
        (lambda f: change_labels(f, n_ticks=40), "outside the ticks"),
        (lambda f: change_labels(f, period=0), "period 1 or more"),
        (lambda f: change_labels(f, tick_seconds="1"), "tick_seconds"),
        (lambda f: change_labels(f, nodes=[]), "does not exist"),
        (lambda f: change_labels(f, nodes=[{"name": "O", "size": "3", "kind": "", "sample_tick": 0}]), "an integer"),
        (lambda f: f["spikes/neurons/node_ids"].__setitem__(0, 99), "not in the table"),
        (lambda f: f["spikes/neurons/ticks"].__setitem__(0, 500), "order of their ticks"),
        (lambda f: shorten(f, "spikes/neurons/ticks"), "same length"),
        (lambda f: shorten(f, "neurons/index"), "a damaged trace"),
        (lambda f: shorten(f, "report/potentials/mapping/core"), "table of ticks and neurons"),
        (lambda f: shorten(f, "report/potentials/data"), "table of ticks and neurons"),
        (lambda f: change_labels(f, period=10**30), "must be integers from 0"),
        (lambda f: change_labels(f, n_frames=-5), "must be integers from 0"),
        (lambda f: change_labels(f, n_frames=10**12), "frames after the ticks that were run"),
        (lambda f: change_labels(f, tick_seconds=float("nan")), "tick_seconds"),
        (lambda f: change_labels(f, name=None), "must be text"),
        (lambda f: resize_node(f, 10**30), "out of range"),
        (lambda f: put(f, "spikes/neurons/node_ids", np.array([0.5])), "same length"),
        (lambda f: put(f, "spikes/neurons/node_ids", f["spikes/neurons/ticks"][:] + 0.5), "row of integers"),
        (lambda f: put(f, "spikes/neurons/node_ids", f["spikes/neurons/ticks"][:] * 0 - 1), "not in the table"),
        (lambda f: put(f, "neurons/core", h5py.Empty("i4")), "not a dataset of numbers"),
        (lambda f: put(f, "counts", h5py.ExternalLink("other.h5", "/counts")), "link to another place"),
        (lambda f: put(f, "neurons", h5py.SoftLink("/report/potentials/mapping")), "link to another place"),
        (lambda f: declare(f, "counts", (2**20, 2**20), chunks=(64, 64)), "GiB of memory"),
        (lambda f: declare(f, "counts", (2**14, 2**14), chunks=(64, 64)), "at most .* of a file of its size"),
        (lambda f: declare(f, "counts", (4, 4), external=[("other.bin", 0, 128)]), "lies in another file"),
        (lambda f: f["report/potentials/data"].__setitem__((0, 0), np.nan), "a potential is not a number"),
        (lambda f: f["report/potentials/data"].__setitem__((0, 0), 0.5), "not an integer"),
    ],
)
def test_damaged_files_are_refused_in_one_line(long_run, damage, found):
    path, _ = long_run
    with h5py.File(path, "r+") as file:
        as_version_2(file)  # whose content is checked without the help of a checksum
        damage(file)
    with pytest.raises(InputError, match=found) as caught:
        load_trace(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module", params=["run.trace", "run.h5", "streamed.h5"])
def small_file(request, mixer, tmp_path_factory):
    """A file, what it holds, and a place for damaged copies."""
    path = tmp_path_factory.mktemp("small") / request.param
    program, frames = mixer(5, 2), stimulus_of(np.random.default_rng(3), 6)
    record = Recording("outputs,node:H,core:0", "node:H", counts=True)
    if request.param == "streamed.h5":
        simulate_to_file(path, program, frames, record=record)
    else:
        simulate(program, frames, record=record).save(path)
    return path.read_bytes(), load_trace(path), path.with_stem("damaged")


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_a_byte_that_changed_gives_an_error_or_what_was_written(small_file, data):
    whole, trace, path = small_file
    first = data.draw(st.sampled_from([0, 8, len(whole) - 200]))  # anywhere, and where HDF5 keeps its books
    last = len(whole) - 1 if first != 8 else 2000
    place, change = data.draw(st.integers(first, last)), data.draw(st.integers(1, 255))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
    try:
        found = load_trace(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017  a refusal is a fine outcome, if it is one line
    else:
        assert_equal(found, trace)


def test_the_digest_behind_an_hdf5_file_goes_when_another_program_changes_the_file(long_run):
    path, trace = long_run
    whole = path.read_bytes()
    digest = blake2b(whole[:-55], digest_size=16).hexdigest()
    assert whole[-55:].decode() == f"\nneuromap blake2b-128:{digest}\n"
    path.write_bytes(whole[:-55])
    assert_equal(load_trace(path), trace)
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        file.attrs["lab"] = "ours"
    assert b"neuromap blake2b-128:" not in path.read_bytes()[-55:]
    assert_equal(load_trace(path), trace)


def test_the_checksum_is_what_the_documentation_says(mixer, tmp_path):
    """blake2b of the labels and of name, dtype, shape and blake2b of every array; for whoever reads it elsewhere."""
    path = tmp_path / "run.trace"
    simulate(mixer(7, 2), stimulus_of(np.random.default_rng(3), 6), record=Recording("all", "all", True)).save(path)
    arrays = load_file(path)
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    told = [metadata["trace"]]
    for name in sorted(arrays):
        length, *others = arrays[name].shape
        told.append(
            [
                name,
                arrays[name].dtype.name,
                *others,
                length,
                blake2b(arrays[name].tobytes(), digest_size=16).hexdigest(),
            ]
        )
    digest = blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()
    assert metadata["checksum"] == f"blake2b-128:{digest}"


def test_files_before_version_3_are_read_but_not_believed_of_hidden_nodes(long_run, mixer, tmp_path):
    path, trace = long_run
    hidden = tmp_path / "hidden.h5"
    simulate_to_file(hidden, mixer(7, 2), stimulus_of(np.random.default_rng(7), 30), record=Recording("node:H"))
    for file_path in (path, hidden):
        with h5py.File(file_path, "r+") as file:
            as_version_2(file)
            labels = json.loads(file.attrs["trace"])
            del labels["nodes_are_whole"]
            file.attrs["trace"] = json.dumps(labels)
    old = load_trace(path)
    assert (old.frames("O") == trace.frames("O")).all()
    with pytest.raises(InputError, match=r"before version 3, .* held all of node H"):
        old.potentials("H")
    old = load_trace(hidden)
    assert old.spikes("H").shape[1] == 2
    for ask in (lambda: old.frames("H"), lambda: frame_counts(old)):
        with pytest.raises(InputError, match=r"before version 3, .* held all of node H; .* take its spikes"):
            ask()
    old.save(tmp_path / "again.h5")  # which does not make it better
    assert not load_trace(tmp_path / "again.h5").nodes_are_whole


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50, derandomize=True)
def test_bytes_that_changed_give_a_trace_or_a_refusal(mixer, tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("bytes") / "run.h5"
    simulate_to_file(path, mixer(7, 2), stimulus_of(rng, 5), record=Recording("all", "node:H"))
    data = bytearray(path.read_bytes()[:-55])  # without the digest, which would tell
    for place in rng.integers(8, len(data), 20):
        data[place] = rng.integers(256)
    path.write_bytes(data[: rng.integers(9, len(data) + 1)] if rng.random() < 0.3 else data)
    with suppress(InputError):
        load_trace(path)


def test_a_file_that_keeps_hdf5_busy_for_ever_is_refused(mixer, tmp_path, monkeypatch):
    """A length of eight bytes in the book of texts, in a file without the digest that would tell."""
    path = tmp_path / "run.h5"
    simulate_to_file(path, mixer(7, 2), stimulus_of(np.random.default_rng(3), 5), record=Recording("all", "node:H"))
    data = bytearray(path.read_bytes()[:-55])
    entry = (2).to_bytes(8, "little") + b"ms"
    assert entry in data
    at = data.index(entry)
    data[at : at + 8] = (258).to_bytes(8, "little")
    path.write_bytes(data)
    monkeypatch.setattr(reading, "_SECONDS", 1.0)
    with pytest.raises(InputError, match=r"run.h5: (takes longer than [\d.]+ s to read|a damaged trace)") as caught:
        load_trace(path)
    assert "\n" not in str(caught.value)


def test_large_traces_are_read_from_hdf5(tmp_path, mixer):
    """A hundred megabytes, through the process that reads them."""
    path = tmp_path / "run.h5"
    simulate_to_file(path, mixer(7, 2), stimulus_of(np.random.default_rng(3), 5), record=Recording("all", "node:H"))
    with h5py.File(path, "r+") as file:
        as_version_2(file)
        counts = np.arange(13_000_000, dtype=np.int64).reshape(1000, 13_000)
        file["counts"] = counts
    np.testing.assert_array_equal(load_trace(path).counts, counts)


def test_a_safetensors_trace_names_its_version(mixer, tmp_path):
    path = tmp_path / "run.trace"
    simulate(mixer(1, 1), stimulus_of(np.random.default_rng(1), 3)).save(path)
    with safe_open(path, framework="numpy") as file:
        assert file.metadata()["version"] == "3"


@pytest.mark.parametrize("bits", [25, 26, 32])
def test_wide_potentials_come_back_exactly(make_chip, make_program, tmp_path, bits):
    # odd potentials at the rail: a float of 32 bits holds those of 25 bits only
    rail = 2 ** (bits - 1) - 1
    program = make_program(
        make_chip(potential_bits=bits), np.zeros((1, 4, 4)), potential=[rail, -rail, rail - 2, 1], threshold=0,
        negative_threshold=0, reset_mode=2, nodes=[("O", 1, "output", 3)], outputs=[(0, 0, 0, 0)],
    )  # fmt: skip
    simulate_to_file(tmp_path / "run.h5", program, {}, record=Recording((), "all"))
    trace = simulate(program, {}, record=Recording((), "all"))
    trace.save(tmp_path / "saved.h5")
    for name in ("run.h5", "saved.h5"):
        table = load_trace(tmp_path / name).potential_table
        assert (
            table.values[:, np.argsort(table.neurons.neuron)].tolist() == [[rail, -rail, rail - 2, 1]] * trace.n_ticks
        )
        with h5py.File(tmp_path / name) as file:
            assert file["report/potentials/data"].dtype == ("f4" if bits == 25 else "i4")


@pytest.mark.parametrize(
    "labels", ["[" * 100_000, '{"period": 1e999}', "[]", '{"nodes": 1, "period": 1, "n_frames": 2, "n_ticks": 3}']
)
def test_labels_of_a_safetensors_file_are_checked(mixer, tmp_path, labels):
    path = tmp_path / "run.trace"
    simulate(mixer(1, 1), stimulus_of(np.random.default_rng(1), 3)).save(path)
    metadata = {"format": "neuromap trace", "version": "2", "trace": labels}
    save_file(load_file(path), path, metadata=metadata)
    with pytest.raises(InputError, match="a damaged trace") as caught:
        load_trace(path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
@pytest.mark.parametrize("room", [0, 100, 3000, 9000, 40_000, 200_000])
def test_a_full_disk_is_one_line(mixer, tmp_path, room):
    # In a process of its own: HDF5 itself ends the process where it cannot write on closing a file.
    path = tmp_path / "run.h5"
    mixer(7, 2).save(tmp_path / "mixer.nmp")
    path.write_text("before")
    code = """
import resource, sys
import numpy as np
import neuromap as nm
from neuromap.errors import NeuromapError
from neuromap.simulation.run.simulate import simulate_to_file
rng, program = np.random.default_rng(0), nm.load_program("mixer.nmp")
frames = {"I": rng.random((4000, 3)) < 0.4, "J": rng.random((4000, 2)) < 0.4}
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
try:
    simulate_to_file("run.h5", program, frames, engine="numpy", record=nm.Recording("all", "all", True))
except NeuromapError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(room)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "run.h5: cannot be written (File too large)\n", "")
    assert path.read_text() == "before"
    assert not list(tmp_path.glob(".neuromap-*"))


@pytest.mark.parametrize("suffix", [".safetensors", ".h5"])
def test_equal_traces_give_equal_bytes(mixer, tmp_path, suffix):
    frames = stimulus_of(np.random.default_rng(0), 9)
    written = set()
    for number in range(8):
        path = tmp_path / f"{number}{suffix}"
        simulate(mixer(3, 2), frames, record=Recording("all", "outputs", counts=True)).save(path)
        written.add(path.read_bytes())
        if suffix == ".h5" and number == 1:
            break
    assert len(written) == 1


def test_a_pipe_or_a_name_with_a_null_is_no_trace(tmp_path):
    os.mkfifo(tmp_path / "f.h5")
    with pytest.raises(InputError, match=r"f\.h5: is not a regular file; expected a trace"):
        load_trace(tmp_path / "f.h5")
    with pytest.raises(InputError, match="is not a path"):
        load_trace("a\0b")
