"""Sets of images: parts are disjoint and together the whole, and damaged files give one line."""

import gzip
import importlib.util
import os
import pickle
import struct
import sys
import tarfile
import zipfile
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traffic_signs import write_gtsrb

from neuromap.datasets import ImageSet, load_images
from neuromap.datasets.cifar10 import read_plain_pickle
from neuromap.errors import InputError, NotSupportedError

DATA = Path(os.environ.get("NEUROMAP_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))
needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is an extra: images")
PARTS = ("train", "validation", "test")


def needs(folder):
    return pytest.mark.skipif(not (DATA / folder).is_dir(), reason=f"no {DATA / folder}: set NEUROMAP_DATA")


def refusal(source, part="train"):
    with pytest.raises(InputError) as caught:
        load_images(source, part)
    assert str(caught.value).startswith(f"{source}: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)


def idx(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder, n=12):
    """Files of the format, of which image k has the intensity k everywhere."""
    for start, count in (("train", n), ("t10k", 3)):
        images = np.broadcast_to(np.arange(count, dtype=np.uint8)[:, None, None], (count, 28, 28))
        (folder / f"{start}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (folder / f"{start}-labels-idx1-ubyte").write_bytes(idx(np.arange(count, dtype=np.uint8) % 10))
    return f"mnist:{folder}"


@needs("mnist")
def test_mnist_is_the_original_one_and_split_as_stated():
    source = f"mnist:{DATA / 'mnist'}"
    sizes = {part: load_images(source, part) for part in PARTS}
    assert [len(found.images) for found in sizes.values()] == [50_000, 10_000, 10_000]
    assert all(found.notes == () for found in sizes.values())
    assert sizes["train"].labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert sizes["test"].labels[:5].tolist() == [7, 2, 1, 0, 4]


def test_files_of_another_set_in_the_format_of_mnist_are_noted_and_split_alike(tmp_path):
    source = write_mnist(tmp_path)
    train, validation = load_images(source, "train"), load_images(source, "validation")
    assert train.images[:, 0, 0, 0].tolist() == list(range(10))
    assert validation.images[:, 5, 7, 0].tolist() == [10, 11]
    assert "is not the original file of MNIST" in train.notes[0]
    assert load_images(source, "train", limit=3).labels.tolist() == [0, 1, 2]


def test_the_test_part_is_opened_only_where_it_is_asked_for(tmp_path):
    source = write_mnist(tmp_path)
    for path in tmp_path.glob("t10k*"):
        path.unlink()
    assert len(load_images(source, "validation").images) == 2
    assert "has no file t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz" in refusal(source, "test")


@pytest.mark.parametrize(
    ("path", "words"),
    [("/no/such folder", "folder /no/such folder: does not exist"), ("~nobody-of-this-name/x", "no home of this name")],
)
def test_places_that_are_not_there_are_told(path, words):
    assert words in refusal(f"mnist:{path}")


def test_damaged_files_of_mnist_are_told(tmp_path):
    source = write_mnist(tmp_path)
    labels, images = tmp_path / "train-labels-idx1-ubyte", tmp_path / "train-images-idx3-ubyte.gz"
    whole = labels.read_bytes()
    for content, message in (
        (whole[:-1], "its head promises 12 bytes (12), it has only 11; fetch it again"),
        (whole + b"1", "it has more"),
        (whole[:5], "has 5 bytes, fewer than its head needs"),
        (gzip.decompress(images.read_bytes()), "begins with the number 2051; a file of labels begins with 2049"),
        (idx(np.zeros(11, np.uint8)), "train: 12 images, 11 labels"),
        (idx(np.full(12, 10, np.uint8)), "label 10: allowed are 0 to 9"),
        (struct.pack(">2I", 2049, 2**32 - 1), "its head promises 4294967295 bytes; at most"),
    ):
        labels.write_bytes(content)
        assert message in refusal(source)
    labels.write_bytes(whole)
    images.write_bytes(images.read_bytes()[:-9])
    assert "train-images-idx3-ubyte.gz: " in refusal(source)


@pytest.mark.parametrize(
    ("source", "part", "message"),
    [
        ("minst:x", "train", "source 'minst:x': allowed are mnist:PATH, .*, digits; did you mean 'mnist'?"),
        ("mnist", "train", "source 'mnist': give its place, mnist:PATH"),
        ("digits:x", "train", "source 'digits:x': takes no path, give digits"),
        ("digits", "tset", "part 'tset': allowed are train, validation, test; did you mean 'test'?"),
        (3, "train", "source 3: allowed is a text"),
        ("cifar10:/nowhere", "train", "cifar10:/nowhere: /nowhere does not exist; give a folder or an archive"),
    ],
)
def test_sources_and_parts_that_are_none_are_refused(source, part, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        load_images(source, part)


def test_the_digits_keep_the_split_of_the_example():
    train, validation, test = (load_images("digits", part) for part in PARTS)
    assert [len(found.labels) for found in (train, validation, test)] == [1118, 279, 400]
    data = importlib.util.spec_from_file_location("data", Path(__file__).parents[2] / "examples" / "digits" / "data.py")
    example = importlib.util.module_from_spec(data)
    data.loader.exec_module(example)
    images, labels = example.load("train")
    np.testing.assert_allclose(np.concatenate([train.intensities(), validation.intensities()]).reshape(-1, 64), images)
    np.testing.assert_array_equal(np.concatenate([train.labels, validation.labels]), labels)
    np.testing.assert_allclose(test.intensities().reshape(-1, 64), example.load("held-out")[0])


def planes(n, seed):
    """Images of CIFAR-10 as its makers lay them out, and their labels."""
    return np.random.default_rng(seed).integers(0, 256, (n, 3072), np.uint8), (np.arange(n) + n * seed) % 10


def write_binary(folder, batches):
    for name, (pixels, labels) in batches.items():
        (folder / f"{name}.bin").write_bytes(np.c_[labels.astype(np.uint8), pixels].tobytes())


def write_python(folder, batches, protocol=2):
    for name, (pixels, labels) in batches.items():
        entries = {"data": pixels, "labels": labels.tolist(), "batch_label": "a batch", "filenames": ["x.png"] * 3}
        (folder / name).write_bytes(pickle.dumps(entries, protocol))


def write_pictures(folder, batches):
    from PIL import Image

    for name, (pixels, labels) in batches.items():
        for k, (image, label) in enumerate(zip(pixels, labels, strict=True)):
            place = folder / ("test" if name == "test_batch" else "train") / "abcdefghij"[label]
            place.mkdir(parents=True, exist_ok=True)
            colours = image.reshape(3, 32, 32).transpose(1, 2, 0)
            Image.fromarray(np.ascontiguousarray(colours)).save(place / f"{name}-{k:04d}.png")


def batches():
    names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
    return {name: planes(3, seed) for seed, name in enumerate(names)}


@pytest.mark.parametrize("write", [write_binary, write_python, pytest.param(write_pictures, marks=needs_pillow)])
def test_every_form_of_cifar10_holds_the_same_images(tmp_path, write):
    folder = tmp_path / "set"
    folder.mkdir()
    write(folder, batches())
    with tarfile.open(tmp_path / "set.tar.xz", "w:xz") as tape:
        tape.add(folder, "cifar-10")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for path in folder.rglob("*.*" if write is not write_python else "*_batch*"):
            archive.write(path, path.relative_to(tmp_path))
    for place in (folder, tmp_path / "set.tar.xz", tmp_path / "set.zip"):
        parts = {part: load_images(f"cifar10:{place}", part) for part in PARTS}
        assert [len(found.images) for found in parts.values()] == [12, 3, 3]
        pairs = {
            (i.tobytes(), int(n)) for found in parts.values() for i, n in zip(found.images, found.labels, strict=True)
        }
        wanted = [
            (image.reshape(3, 32, 32).transpose(1, 2, 0).tobytes(), int(label))
            for pixels, labels in batches().values()
            for image, label in zip(pixels, labels, strict=True)
        ]
        assert pairs == set(wanted)
        assert {i.tobytes() for i in parts["test"].images} == {image for image, _ in wanted[-3:]}
        assert {i.tobytes() for i in parts["validation"].images} == {image for image, _ in wanted[12:15]}


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_batches_of_any_python_are_read(tmp_path, protocol):
    write_python(tmp_path, batches(), protocol)
    found = load_images(f"cifar10:{tmp_path}", "test")
    np.testing.assert_array_equal(found.labels, batches()["test_batch"][1])
    np.testing.assert_array_equal(found.images[:, :, :, 2].reshape(3, -1), batches()["test_batch"][0][:, 2048:])


class Harmful:
    """A value whose pickle would make a folder when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_nothing_of_a_pickle_is_run(tmp_path, protocol):
    write_python(tmp_path, batches())
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": Harmful(str(tmp_path / "harm"))}, protocol))
    message = refusal(f"cifar10:{tmp_path}", "test")
    assert "test_batch: names 'posix mkdir'; allowed are NumPy's arrays only, nothing of it was run" in message
    assert not (tmp_path / "harm").exists()


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_damaged_batches_never_give_another_error(data):
    content = bytearray(pickle.dumps({"data": np.arange(6, dtype=np.uint8), "labels": [1, 2]}, 2))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        read_plain_pickle(bytes(content[: data.draw(st.integers(0, len(content)))]))


def test_incomplete_sets_of_batches_are_told(tmp_path):
    write_binary(tmp_path, batches())
    (tmp_path / "data_batch_3.bin").write_bytes(bytes(3000))
    assert "data_batch_3.bin: has 3000 bytes; an image takes 3073" in refusal(f"cifar10:{tmp_path}")
    (tmp_path / "data_batch_3.bin").unlink()
    assert "has no batch data_batch_3.bin, while it has" in refusal(f"cifar10:{tmp_path}")
    (tmp_path / "only").mkdir()
    assert "has no batches" in refusal(f"cifar10:{tmp_path / 'only'}")
    (tmp_path / "only" / "set.tar.gz").write_bytes(b"\x1f\x8b\x08 no whole archive")
    assert "cannot be read as a folder, tar or zip" in refusal(f"cifar10:{tmp_path / 'only'}")


@needs_pillow
@needs("cifar10")
@pytest.mark.thorough
def test_the_pictures_of_cifar10_have_all_classes_in_every_run():
    found = load_images(f"cifar10:{DATA / 'cifar10'}", "validation", limit=40)
    assert np.bincount(found.labels).tolist() == [4] * 10
    assert found.shape == (32, 32, 3)
    assert found.notes == ("the pictures are JPEG: their pixels are not exactly those of CIFAR-10",)


@needs_pillow
def test_no_picture_of_cifar10_is_left_out(tmp_path):
    write_pictures(tmp_path, batches())
    (tmp_path / "train" / "a" / "day").mkdir()
    next((tmp_path / "train" / "a").glob("*.png")).rename(tmp_path / "train" / "a" / "day" / "0.png")
    assert "'train/a/day/0.png': is not in train/CLASS or test/CLASS; move it" in refusal(f"cifar10:{tmp_path}")


@needs_pillow
def test_tracks_of_traffic_signs_stay_together(tmp_path):
    write_gtsrb(tmp_path, {0: 12, 7: 5, 42: 3})
    source = f"gtsrb:{tmp_path}"
    tracks = {}
    for part in PARTS:
        found = load_images(source, part)
        assert found.shape == (32, 32, 3)
        colours = found.images[:, 16, 16].tolist()
        np.testing.assert_array_equal(found.labels, [c for c, _, _ in colours])
        assert [k for _, _, k in colours] == [0, 1, 2] * (len(colours) // 3)
        assert found.tracks.tolist() == [number for number in range(len(colours) // 3) for _ in range(3)]
        tracks[part] = {(c, t) for c, t, _ in colours}
    assert [len(found) for found in tracks.values()] == [16, 2, 2]
    assert set().union(*tracks.values()) == {(c, t) for c, n in ((0, 12), (7, 5), (42, 3)) for t in range(n)}
    assert not any(one & other for one, other in pairwise([*tracks.values(), tracks["train"]]))
    place = next(tmp_path.rglob("GT-00007.csv"))
    place.write_text(place.read_text().replace("00002_00001.ppm;", "../00002_00001.ppm;"))
    assert "line 9: found the file '../00002_00001.ppm'; allowed are names like" in refusal(source)
    place.write_text("Filename,ClassId\n")
    assert "has no columns Filename and ClassId" in refusal(source)
    picture = place.parent.parent / "00000" / "00000_00001.ppm"
    place.unlink()
    picture.unlink()
    assert "00000_00001.ppm': is in the list, but not in the folder" in refusal(source)
    for broken in (b"P6 20 30 255\n\0", b"nothing"):
        for path in tmp_path.rglob("*.ppm"):
            path.write_bytes(broken)
        picture.write_bytes(broken)
        assert "is not a complete JPEG, PNG or PPM" in refusal(source)


def test_without_pillow_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "test" / "a").mkdir(parents=True)
    (tmp_path / "test" / "a" / "0.png").write_bytes(b"")
    with pytest.raises(NotSupportedError, match=r"^pictures: needs Pillow, .*\[images\]'$"):
        load_images(f"cifar10:{tmp_path}", "test")


def test_arrays_that_do_not_fit_each_other_make_no_set():
    good = {"images": np.zeros((2, 4, 4, 1), np.uint8), "labels": np.array([0, 1]), "classes": ("a", "b")}
    for change, message in (
        ({"images": np.zeros((2, 4, 4, 1))}, "images: found float64"),
        ({"labels": np.array([0])}, "labels: found int64\\[1\\]"),
        ({"classes": ("a",)}, "label 1: allowed are 0 to 0"),
        ({"labels": np.array([-1, 0])}, "label -1"),
        ({"images": np.full((2, 4, 4, 1), 17, np.uint8), "white": 16}, "white = 16"),
    ):
        with pytest.raises(InputError, match=message):
            ImageSet("mine", "train", **{**good, **change})


def test_parts_are_joined_one_behind_the_other_and_their_tracks_stay_apart():
    def part(name, labels, tracks=None):
        images = np.full((len(labels), 2, 2, 1), len(labels), np.uint8)
        numbers = None if tracks is None else np.array(tracks)
        return ImageSet(name, "train", images, np.array(labels), ("a", "b"), tracks=numbers)

    joined = part("set", [0, 1, 1], [4, 4, 7]).joined(part("set", [1, 0], [0, 1]))
    assert joined.labels.tolist() == [0, 1, 1, 1, 0]
    assert joined.images[:, 0, 0, 0].tolist() == [3, 3, 3, 2, 2]
    assert joined.tracks.tolist() == [4, 4, 7, 8, 9]
    assert part("set", [0]).joined(part("set", [1])).tracks is None
    with pytest.raises(InputError, match=r"train images of shape .* cannot be joined with train images of other"):
        part("set", [0]).joined(part("other", [0]))
