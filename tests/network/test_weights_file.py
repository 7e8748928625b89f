"""Weights files: round trips, and every way in which one can be wrong."""

import dataclasses
import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save, save_file

import neuromap as nm
from neuromap.encoding.frames import InputEncoding
from neuromap.errors import NetworkError
from neuromap.network import Node, load_network, require_weights
from neuromap.network.network_file import read_tensors
from neuromap.quantise.float_network import FloatSynapses

NETWORK = """
format = 1
[weights]
file = "w.safetensors"
[nodes.I]
shape = [2, 2, 2]
[nodes.H1]
shape = [2, 2, 2]
[nodes.O]
shape = [1, 1, 3]
threshold = 2
[nodes.P]
shape = [1, 1, 2]
threshold = 1
[edges."I -> H1"]
transform = "conv"
kernel = [1, 2]
groups = 2
[edges."H1 -> O"]
transform = "dense"
[edges."O -> O"]
transform = "dense"
weights = { seed = 1, values = [0, 1] }
[edges."H1 -> P"]
transform = "pool"
kernel = [2, 2]
"""


def good_tensors():
    return {
        "I -> H1": np.arange(-2, 2, dtype=np.int8).reshape(1, 2, 1, 2),
        "H1 -> O": np.arange(24, dtype=np.int64).reshape(3, 8) - 12,
        "H1.threshold": np.array([1, 5], dtype=np.uint16),
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "net.toml").write_text(NETWORK)
    save_file(good_tensors(), tmp_path / "w.safetensors")
    return tmp_path


def refusal(folder):
    with pytest.raises(NetworkError) as caught:
        load_network(folder / "net.toml")
    message = str(caught.value)
    assert message.startswith(f"{folder / 'net.toml'}: weights file {folder / 'w.safetensors'}: ")
    assert "\n" not in message
    return message


def test_tensors_arrive_in_matrices_and_thresholds(folder, monkeypatch):
    monkeypatch.chdir("/")  # the weights file is found beside the network file
    net = load_network(folder / "net.toml")
    require_weights(net)
    np.testing.assert_array_equal(net.edges["H1", "O"].matrix().toarray(), good_tensors()["H1 -> O"])
    # Source column c gets -2 or -1 (features 0, 1) from the target's own cell, 0 or 1 from the cell to the right.
    conv = net.edges["I", "H1"].matrix().toarray()
    assert conv[:4, :4].tolist() == [[-2, 0, 0, 0], [0, -1, 0, 1], [0, 0, -2, 0], [0, 0, 0, -1]]
    assert net.nodes["H1"].threshold.tolist() == [1, 5] * 4
    assert net.nodes["H1"].threshold.dtype == np.int64
    assert net.nodes["O"].threshold.tolist() == [2] * 3
    assert not net.nodes["H1"].threshold.flags.writeable


@pytest.mark.parametrize("shape", [(8,), (2, 2, 2), (2,)])
def test_thresholds_per_neuron_and_per_feature(folder, shape):
    values = np.arange(np.prod(shape)).reshape(shape)
    save_file({**good_tensors(), "H1.threshold": values}, folder / "w.safetensors")
    expected = np.broadcast_to(values, (2, 2, 2)).ravel() if shape == (2,) else values.ravel()
    assert load_network(folder / "net.toml").nodes["H1"].threshold.tolist() == expected.tolist()


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_any_integer_dtype_round_trips(tmp_path_factory, data):
    dtype = data.draw(
        st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
    )
    low, high = max(np.iinfo(dtype).min, -(2**31)), min(np.iinfo(dtype).max, 2**31 - 1)
    values = data.draw(st.lists(st.integers(low, high), min_size=24, max_size=24))
    folder = tmp_path_factory.mktemp("weights")
    (folder / "net.toml").write_text(NETWORK)
    save_file({**good_tensors(), "H1 -> O": np.array(values, dtype=dtype).reshape(3, 8)}, folder / "w.safetensors")
    matrix = load_network(folder / "net.toml").edges["H1", "O"].matrix()
    assert matrix.toarray().ravel().tolist() == values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"H1 -> O": None}, "tensor 'H1 -> O': missing; add it with shape [3, 8]"),
        ({"H1.threshold": None}, "tensor 'H1.threshold': missing; add it with shape [8] or [2, 2, 2] or [2]"),
        (
            {"H1->O": np.zeros((3, 8), int)},
            "tensor 'H1->O': the network does not use it; the closest that it uses is 'H1 -> O'",
        ),
        ({"conv1.weight": np.zeros(1, int)}, "tensor 'conv1.weight': the network does not use it; the closest"),
        ({"I.threshold": np.zeros(8, int)}, "tensor 'I.threshold': an input node takes no threshold"),
        ({"O.threshold": np.zeros(3, int)}, "tensor 'O.threshold': the network file gives this node a threshold"),
        ({"O -> O": np.zeros((3, 3), int)}, "tensor 'O -> O': the network file gives this edge seeded weights"),
        ({"H1 -> P": np.zeros((2, 8), int)}, "tensor 'H1 -> P': a pool or identity has fixed weights"),
        ({"H1 -> O": np.zeros((8, 3), int)}, "tensor 'H1 -> O': found shape [8, 3]; allowed is [3, 8]"),
        ({"H1 -> O": np.zeros((), int)}, "tensor 'H1 -> O': found shape []; allowed is [3, 8]"),
        ({"H1 -> O": np.zeros((0, 8), int)}, "tensor 'H1 -> O': found shape [0, 8]; allowed is [3, 8]"),
        (
            {"H1.threshold": np.zeros(4, int)},
            "tensor 'H1.threshold': found shape [4]; allowed is [8] or [2, 2, 2] or [2]",
        ),
        ({"H1 -> O": np.zeros((3, 8))}, "tensor 'H1 -> O': found float64; only integers"),
        ({"H1 -> O": np.zeros((3, 8), np.float16)}, "tensor 'H1 -> O': found float16; only integers"),
        ({"H1 -> O": np.full((3, 8), np.nan, np.float32)}, "tensor 'H1 -> O': found float32 with 24 NaN"),
        ({"H1 -> O": np.zeros((3, 8), bool)}, "tensor 'H1 -> O': found bool; only integers"),
        ({"H1 -> O": np.full((3, 8), 2**31)}, "tensor 'H1 -> O': found the value 2147483648"),
        ({"H1 -> O": np.full((3, 8), 2**64 - 1, np.uint64)}, "tensor 'H1 -> O': found the value 18446744073709551615"),
        ({"H1.threshold": np.full(2, -(2**40))}, "tensor 'H1.threshold': found the value -1099511627776"),
    ],
)
def test_wrong_tensors_are_refused(folder, change, message):
    tensors = {k: v for k, v in {**good_tensors(), **change}.items() if v is not None}
    save_file(tensors, folder / "w.safetensors")
    assert message in refusal(folder)


def test_floats_of_sixteen_bits_that_numpy_lacks_are_refused(folder):
    header = json.dumps({"H1 -> O": {"dtype": "BF16", "shape": [3, 8], "data_offsets": [0, 48]}}).encode()
    (folder / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(48))
    (folder / "net.toml").write_text(
        'format = 1\nweights.file = "w.safetensors"\nnodes.H1.shape = [2, 2, 2]\n'
        '[nodes.O]\nshape = [1, 1, 3]\nthreshold = 1\n[edges."H1 -> O"]\ntransform = "dense"\n'
    )
    assert "tensor 'H1 -> O': found dtype BF16; only integers" in refusal(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"PK\x03\x04 a zip archive, as PyTorch writes",
        b"\x93NUMPY\x01\x00v\x00",
        bytes(1000),
        b"\xff" * 1000,
        struct.pack("<Q", 2**40) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        save(good_tensors())[:-1],
        save(good_tensors())[:40],
        save(good_tensors()) + b"\n",
    ],
)
def test_truncated_and_foreign_files_are_refused(folder, content):
    (folder / "w.safetensors").write_bytes(content)
    assert "is not a complete safetensors file" in refusal(folder)


def test_missing_files_and_folders_are_refused(folder):
    (folder / "w.safetensors").unlink()
    assert "does not exist; expected a safetensors file" in refusal(folder)
    (folder / "w.safetensors").mkdir()
    assert "is a folder; expected a safetensors file" in refusal(folder)
    (folder / "w.safetensors").rmdir()
    os.mkfifo(folder / "w.safetensors")
    assert "is not a regular file; expected a safetensors file" in refusal(folder)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_bytes_never_give_another_error(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "net.toml").write_text(NETWORK)
    content = bytearray(save(good_tensors()))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    (folder / "w.safetensors").write_bytes(content)
    try:
        net = load_network(folder / "net.toml")
    except NetworkError:
        return
    require_weights(net)
    assert net.edges["H1", "O"].matrix().shape == (3, 8)


def accepted_with_one_bit_flipped(folder, network, bits_flipped_in_place):
    """Bits of a network's weights file without which its tensors are read all the same."""
    network.save(folder / "net.toml")
    found, path = [], folder / "net.safetensors"
    wanted = {name: [array.shape] for name, array in load_file(path).items() if array.dtype.kind == "i"}
    floats = {"I.encoder": 4, "I.encoder.threshold": 1}
    read_tensors(path, wanted, floats=floats)
    for bit in bits_flipped_in_place(path):
        try:
            read_tensors(path, wanted, floats=floats)
        except NetworkError:
            continue
        found.append(bit)
    return found


def random_weights(seed):
    """A small network with random weights and thresholds, and as the last of its tensors the floats of a layer."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 2).tolist()
    net = nm.build_network(
        {"I": (sizes[0], None), "O": (sizes[1], rng.integers(-200, 200, sizes[1]))},
        {("I", "O"): rng.integers(-9, 9, sizes[::-1])},
    )
    layer = {
        "code": "layer",
        "encoder": rng.normal(size=(1, 1, 1, sizes[0])).astype(np.float32),
        "encoder.threshold": np.zeros(sizes[0], np.float32),
    }
    return dataclasses.replace(net, tables={"inputs": {"I": layer}})


def test_no_weights_are_loaded_with_one_bit_flipped(tmp_path, bits_flipped_in_place):
    assert accepted_with_one_bit_flipped(tmp_path, random_weights(0), bits_flipped_in_place) == []


@pytest.mark.thorough
def test_no_weights_of_ten_networks_are_loaded_with_one_bit_flipped(tmp_path, bits_flipped_in_place):
    for seed in range(10):
        assert accepted_with_one_bit_flipped(tmp_path, random_weights(seed), bits_flipped_in_place) == []


def test_damaged_weights_are_told(folder, resealed):
    load_network(folder / "net.toml").save(folder / "again.toml")
    path = folder / "again.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(NetworkError, match=r"weights file .* is damaged, it does not fit its digest"):
        load_network(folder / "again.toml")
    path.write_bytes(resealed(bytes(data)))
    load_network(folder / "again.toml")


def test_equal_networks_give_equal_weights_files(folder):
    for name in ("one", "other"):
        load_network(folder / "net.toml").save(folder / f"{name}.toml")
    assert (folder / "one.safetensors").read_bytes() == (folder / "other.safetensors").read_bytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_network_has_weights_or_thresholds_that_are_no_finite_numbers(value):
    wrong = np.array([[1, value]])
    for refused in (
        lambda: nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): wrong}),
        lambda: nm.build_network({"I": (2, None), "O": (1, wrong[0, 1:])}, {("I", "O"): np.ones((1, 2), int)}),
        lambda: nm.Dense((1, 1, 2), (1, 1, 1), weights=wrong),
        lambda: Node("O", (1, 1, 2), wrong[0]),
        lambda: Node("O", (1, 1, 1), value),
        lambda: FloatSynapses("I", "O", [0], [0], value),
        lambda: FloatSynapses.of_matrix("I", "O", wrong),
    ):
        with pytest.raises(NetworkError):
            refused()
    for key in ("encoder", "encoder.threshold"):
        layer = dict(random_weights(0).tables["inputs"]["I"])
        layer[key] = np.full_like(layer[key], value)
        with pytest.raises(NetworkError, match=r"inputs\.I\.encoder.*found NaN or infinity; only finite numbers"):
            dataclasses.replace(random_weights(0), tables={"inputs": {"I": layer}})
        fields = {"encoder": "weights", "encoder.threshold": "thresholds"}
        arrays = {fields[name]: layer[name] for name in fields}
        with pytest.raises(NetworkError, match=r"inputs\.I: tensor I\.encoder.*found NaN or infinity"):
            InputEncoding("I", (2, 2, arrays["thresholds"].size), code="layer", **arrays)
