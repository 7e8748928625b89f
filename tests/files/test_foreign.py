"""A file of another kind is told by its first bytes, in one line, wherever a network or a program is expected."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError
from neuromap.files.foreign import HEAD, file_kind, kind_of_any
from neuromap.simulation import save_frames

NET = nm.build_network({"I": (2, None), "O": (2, 1)}, {("I", "O"): np.eye(2, dtype=int)})


def zipped(member):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(member, b"x")
    return stream.getvalue()


def numpy_file(save, *arrays):
    stream = io.BytesIO()
    save(stream, *arrays)
    return stream.getvalue()


FILES = {
    "an ONNX model": b"\x08\x08\x12\x07pytorch\x1a\x052.1.0",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "a PyTorch file": zipped("archive/data.pkl"),
    "a Keras file": zipped("metadata.json"),
    "a NumPy archive": numpy_file(np.savez, np.zeros(3)),
    "a NumPy array": numpy_file(np.save, np.zeros(3)),
    "a zip archive": zipped("x.txt"),
    "a PNG picture": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "a gzip archive": gzip.compress(b"format = 1"),
    "a pickle, which is never read": pickle.dumps([1]),
    "a TensorFlow Lite model": b"\x1c\x00\x00\x00TFL3" + bytes(40),
    "a JSON file": b' {"format": 1}',
}


@pytest.mark.parametrize("kind", FILES)
def test_it_says_what_it_is(kind, tmp_path):
    path = tmp_path / "net.toml"
    path.write_bytes(FILES[kind])
    for load, expected in ((nm.load_network, "network file (TOML)"), (nm.load_chip, "chip file (TOML)")):
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(caught.value) == f"{path}: is {kind}; expected a {expected}"
    with pytest.raises(InputError, match=f"is not a program file but {kind}"):
        nm.load_program(path)


def test_our_own_files_are_told_apart(tmp_path):
    program = nm.map_rollout(nm.Rollout(NET, "streaming"))
    frames = nm.random_frames(NET, 3)
    program.save(tmp_path / "program")
    nm.simulate(program, frames).save(tmp_path / "trace")
    save_frames(tmp_path / "frames", frames)
    NET.save(tmp_path / "net.toml")
    kinds = {path.stem: file_kind(path.read_bytes()[:HEAD]) for path in tmp_path.glob("*") if path.suffix != ".toml"}
    assert kinds == {
        "program": "a program file of neuromap",
        "trace": "a trace of neuromap",
        "frames": "a file of frames of neuromap",
        "net": "a safetensors file",
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[nodes.I]", "a network file"),
        ("a = 1\n[[edges]]", "a network file"),
        ("a = 1\n[chip]", None),
        ("{}", "a JSON file"),
    ],
)
def test_a_network_file_is_told_where_no_text_is_expected(text, kind):
    assert kind_of_any(text.encode()) == kind


@pytest.mark.parametrize("head", [b"\x08\x2a\x12\x07pytorch", b"\x08\x08\x0a\x07pytorch", b"\x12\x08\x12\x07pytorch"])
def test_a_message_that_does_not_begin_as_a_model_does_is_not_taken_for_one(head):
    assert file_kind(head) is None


@pytest.mark.parametrize("text", ["", "format = 1", "[[x]]", "# \u00fc", "\ufeffformat = 1", "[nodes.I]\nshape = 3"])
def test_text_may_be_what_is_expected(text):
    assert file_kind(text.encode()) is None
