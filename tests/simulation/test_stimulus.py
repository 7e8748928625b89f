"""Input frames: what is refused, how random ones are made, and files."""

import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from neuromap.errors import InputError, StimulusError
from neuromap.network.network import Network
from neuromap.simulation.stimulus import check_frames, input_sizes, load_frames, random_frames, save_frames

SIZES = {"I": 3, "J": 2}


def good():
    return {"I": np.zeros((4, 3), dtype=bool), "J": np.ones((4, 2), dtype=np.int64)}


def test_good_frames_become_boolean_in_the_order_of_the_inputs():
    frames = check_frames(dict(reversed(good().items())), SIZES)
    assert list(frames) == ["I", "J"]
    assert all(rows.dtype == bool and not rows.flags.writeable for rows in frames.values())
    assert frames["J"].all()
    assert check_frames({"I": [[0, 1], [1, 0]]}, {"I": 2})["I"].tolist() == [[False, True], [True, False]]


def test_the_callers_arrays_stay_writeable():
    frames = good()
    check_frames(frames, SIZES)["I"]
    frames["I"][0, 0] = True
    assert frames["I"][0, 0]


class NeedsGradients:
    """As a tensor of PyTorch that requires gradients answers NumPy."""

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __repr__(self):
        return "a tensor"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"J": None}, "input node J is missing"),
        ({"K": np.zeros((4, 1), dtype=bool)}, "node K is not an input node; input nodes are I, J"),
        ({"I": np.zeros((4, 5), dtype=bool)}, r"shape \(4, 5\); must be \(n_frames, 3\)"),
        ({"I": np.zeros(12, dtype=bool)}, r"shape \(12,\)"),
        ({"I": np.zeros((4, 3, 1), dtype=bool)}, r"shape \(4, 3, 1\)"),
        ({"J": np.zeros((5, 2), dtype=bool)}, "J: 5 frames, but I has 4"),
        ({"I": np.zeros((1, 3), dtype=bool)}, "1 frame; at least 2"),
        ({"I": np.zeros((0, 3), dtype=bool)}, "0 frames; at least 2"),
        ({"I": np.zeros((4, 3))}, "dtype float64"),
        ({"I": np.full((4, 3), np.nan)}, "dtype float64"),
        ({"I": np.full((4, 3), "1")}, "dtype <U1"),
        ({"I": np.full((4, 3), None)}, "dtype object"),
        ({"I": [[0, 1, 0], [1]]}, "rows differ in length"),
        ({"I": NeedsGradients()}, r"found a tensor, which is no array; .* give tensor.detach\(\)"),
        ({"I": np.full((4, 3), 2)}, "value 2 at frame 0, neuron 0"),
        ({"J": np.array([[0, 1], [0, -1], [0, 0], [0, 0]], dtype=np.int8)}, "value -1 at frame 1, neuron 1"),
    ],
)
def test_bad_frames_are_refused_in_one_line(change, found):
    frames = {name: rows for name, rows in {**good(), **change}.items() if rows is not None}
    with pytest.raises(StimulusError, match=found) as caught:
        check_frames(frames, SIZES)
    assert "\n" not in str(caught.value)


def test_something_that_is_no_mapping_is_refused():
    with pytest.raises(StimulusError, match="found an array; name its input node"):
        check_frames(np.zeros((4, 3)), SIZES)
    with pytest.raises(StimulusError, match="found a path; read the file first"):
        save_frames("frames.safetensors", "others.safetensors")


def test_sizes_of_a_program_are_those_of_its_input_nodes(make_chip, make_program):
    nodes = [("A", 7, "hidden", 0), ("I", 3, "input", 0), ("O", 1, "output", 0), ("J", 2, "input", 0)]
    assert input_sizes(make_program(make_chip(), np.zeros((1, 1, 1)), nodes=nodes)) == SIZES


def test_a_network_without_shapes_has_no_frames():
    with pytest.raises(InputError, match="node I: has no shape"):
        random_frames(Network.from_edges([("I", "A")]), 3)


def test_random_frames_are_the_documented_numbers():
    # Node I draws PCG64(SeedSequence([7, 73])); written out once, so that another NumPy must give the same.
    rows = random_frames({"I": 12}, 2, density=0.5, seed=7)["I"]
    raw = np.random.PCG64(np.random.SeedSequence([7, ord("I")])).random_raw(24)
    assert rows.reshape(-1).tolist() == [(int(number) >> 11) / 2**53 < 0.5 for number in raw]
    assert "".join(str(int(bit)) for bit in rows.reshape(-1)) == "000001000110010000110111"


@given(seed=st.integers(0, 2**70), size=st.integers(1, 40), n_frames=st.integers(2, 6))
@settings(deadline=None, max_examples=25)
def test_random_frames_do_not_depend_on_other_nodes_or_later_frames(seed, size, n_frames):
    alone = random_frames({"I": size}, n_frames, seed=seed)["I"]
    among = random_frames({"A": 3, "I": size}, n_frames + 2, seed=seed)["I"]
    assert (among[:n_frames] == alone).all()


def test_density_is_the_share_of_ones():
    assert not random_frames({"I": 50}, 20, density=0)["I"].any()
    assert random_frames({"I": 50}, 20, density=1)["I"].all()
    assert abs(random_frames({"I": 500}, 200, density=0.2)["I"].mean() - 0.2) < 0.01


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"n_frames": 1}, "1 frame asked"),
        ({"density": 1.5}, "density 1.5"),
        ({"density": float("nan")}, "density nan"),
        ({"seed": -1}, "seed -1"),
        ({"n_frames": 10**12}, "3000000000000 values"),
    ],
)
def test_random_frames_refuse_absurd_requests(arguments, found):
    with pytest.raises(StimulusError, match=found):
        random_frames({"I": 3}, **{"n_frames": 2, **arguments})


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_frames_come_back_from_files(tmp_path, suffix):
    frames = random_frames(SIZES, 5, seed=3)
    path = tmp_path / f"frames{suffix}"
    if suffix == ".npz":
        np.savez(path, **frames)
    else:
        save_frames(path, frames)
    loaded = load_frames(path, SIZES)
    assert all((loaded[name] == rows).all() for name, rows in frames.items())
    assert set(load_frames(path)) == set(SIZES)


def test_frames_of_other_nodes_are_refused_with_the_path(tmp_path):
    path = tmp_path / "frames.safetensors"
    save_frames(path, random_frames({"X": 3}, 2))
    with pytest.raises(StimulusError, match=r"frames.safetensors: frames: node X is not an input node"):
        load_frames(path, SIZES)


def test_malformed_frames_are_not_saved(tmp_path):
    with pytest.raises(StimulusError):
        save_frames(tmp_path / "frames.safetensors", {"I": np.zeros((4, 3))})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
@pytest.mark.parametrize("content", [b"", b"{}", b"not a tensor", b"\x08" + b"\0" * 7 + b"{}      ", b"PK\x03\x04abc"])
def test_foreign_files_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"frames{suffix}"
    path.write_bytes(content)
    with pytest.raises(StimulusError, match="frames") as caught:
        load_frames(path, SIZES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_truncated_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"frames{suffix}"
    if suffix == ".npz":
        np.savez(path, **random_frames(SIZES, 5))
    else:
        save_frames(path, random_frames(SIZES, 5))
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(StimulusError, match="not a readable"):
        load_frames(path, SIZES)


def test_pickles_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "frames.npz"
    np.savez(path, I=np.array([{}], dtype=object))
    with pytest.raises(StimulusError, match="array I holds Python objects, a pickle, which is never read"):
        load_frames(path)
    with path.open("wb") as file:
        np.save(file, np.zeros((4, 3)))
    with pytest.raises(StimulusError, match="not a readable"):
        load_frames(path)
    with pytest.raises(StimulusError, match="does not exist; give the path of a file of frames"):
        load_frames(tmp_path / "absent.safetensors")
    with pytest.raises(StimulusError, match="is a folder; expected a file of frames"):
        load_frames(tmp_path)


def test_floats_in_a_file_are_refused(tmp_path):
    path = tmp_path / "frames.safetensors"
    save_file({"I": np.zeros((4, 3), dtype=np.float32)}, path)
    with pytest.raises(StimulusError, match="dtype float32"):
        load_frames(path, {"I": 3})


def test_frames_without_a_density_have_each_their_own():
    """The first number of a frame is its density; the frames are those of one long row of numbers."""
    raw = np.random.PCG64(np.random.SeedSequence([4, *b"I"])).random_raw(3 * 201)
    unit = (raw >> np.uint64(11)).astype(np.float64).reshape(3, 201) * 2.0**-53
    rows = random_frames({"I": 200}, 3, seed=4)["I"]
    np.testing.assert_array_equal(rows, unit[:, 1:] < unit[:, :1])
    assert np.ptp(random_frames({"I": 200}, 40)["I"].mean(axis=1)) > 0.7


def test_many_frames_are_drawn_in_portions_of_one_stream():
    many = random_frames({"I": 3}, 700_000, density=0.5, seed=1)["I"]
    few = random_frames({"I": 3}, 10, density=0.5, seed=1)["I"]
    np.testing.assert_array_equal(many[:10], few)


def _npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def _npy(array, old=b"", new=b""):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue().replace(old, new) if old else stream.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        _npy(np.zeros((4, 3), bool), b"(4, 3)", b"(10**9, 3)"),
        _npy(np.zeros((4, 3), bool), b"(4, 3), }          ", b"(9999999999999, 3)}"),
        _npy(np.zeros((4, 3), bool), b"{", b"\t"),
        _npy(np.zeros((4, 3), bool), b"'|b1'", b"('|u1',)"),
    ],
)
def test_damaged_arrays_in_an_archive_are_refused_in_one_line(tmp_path, data):
    _npz(tmp_path / "s.npz", I=data)
    with pytest.raises(StimulusError) as refusal:
        load_frames(tmp_path / "s.npz", {"I": 3})
    assert "\n" not in str(refusal.value)


def test_an_archive_with_a_flipped_bit_is_read_or_refused(tmp_path):
    path = tmp_path / "s.npz"
    np.savez_compressed(path, **random_frames({"I": 30}, 40, seed=1))
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), 5):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            frames = load_frames(path, {"I": 30})
        except StimulusError:
            continue
        assert frames["I"].shape == (40, 30)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(StimulusError, match="not a regular file"):
            load_frames(path)


def test_frames_that_were_saved_and_damaged_are_refused_and_those_of_other_programs_read(
    tmp_path, bits_flipped_in_place
):
    path = tmp_path / "frames.safetensors"
    frames = {"I": np.array([[1, 0, 1], [0, 0, 1]], bool), "J": np.ones((2, 1), bool)}
    save_frames(path, frames)
    for _ in bits_flipped_in_place(path):
        with pytest.raises(StimulusError):
            load_frames(path)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\0")
    with pytest.raises(StimulusError, match=r"is damaged, it does not fit its digest; take a copy, or make the frames"):
        load_frames(path)
    save_frames(path, dict(reversed(frames.items())))
    assert path.read_bytes() == data
    save_file({name: rows.astype(np.uint8) for name, rows in frames.items()}, path)
    assert load_frames(path).keys() == frames.keys()
