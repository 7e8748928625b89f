"""Images of one's own: arrays, files of them and folders give parts that are disjoint, and say what is wrong."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuromap.datasets import image_sets, load_images
from neuromap.errors import InputError

PARTS = ("train", "validation", "test")
needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is an extra: images")


def numbered(n, dtype=np.uint8):
    """Images of which image k holds the number k everywhere."""
    return np.broadcast_to(np.arange(n, dtype=dtype)[:, None, None], (n, 3, 2)), np.arange(n) % 4


@given(st.integers(12, 200))
def test_parts_of_a_whole_are_disjoint_and_together_it(n):
    parts = image_sets(*numbered(n))
    shown = [part.images[:, 0, 0, 0].tolist() for part in parts.values()]
    assert sorted(k for found in shown for k in found) == list(range(n))
    assert all(
        part.labels.tolist() == [k % 4 for k in found] for part, found in zip(parts.values(), shown, strict=True)
    )


@pytest.mark.parametrize(
    "names",
    [("x_train", "y_train", "x_test", "y_test"), ("train_images", "train_labels", "test_images", "test_labels")],
)
def test_a_file_with_parts_keeps_them(tmp_path, names):
    (x, y), (z, w) = numbered(20), numbered(5)
    np.savez(tmp_path / "a.npz", **dict(zip(names, (x, y, z + 100, w), strict=True)))
    found = {part: load_images(f"npz:{tmp_path / 'a.npz'}", part) for part in PARTS}
    assert found["test"].images[:, 0, 0, 0].tolist() == [100, 101, 102, 103, 104]
    assert len(found["train"].images) + len(found["validation"].images) == 20
    assert {part.classes for part in found.values()} == {("0", "1", "2", "3")}


@pytest.mark.parametrize("names", [("images", "labels"), ("x", "y"), ("X", "y"), ("data", "target")])
def test_names_of_images_and_labels(tmp_path, names):
    np.savez(tmp_path / "a.npz", **dict(zip(names, numbered(20), strict=True)))
    assert len(load_images(f"npz:{tmp_path / 'a.npz'}", "train").images) == 14


def test_real_numbers_are_seen_as_the_network_sees_them():
    """Black and white are those of all parts, so that an intensity means the same in each."""
    train = np.linspace(-0.5, 1.5, 40).reshape(40, 1, 1)
    parts = image_sets(train, np.arange(40) % 2, np.full((4, 1, 1), 3.5), np.zeros(4, int))
    assert {part.seen for part in parts.values()} == {(-0.5, 3.5)}
    low, high = parts["train"].seen
    again = [low + (high - low) * part.intensities().ravel() for part in parts.values()]
    assert np.abs(np.sort(np.concatenate(again[:2])) - train.ravel()).max() <= 4 / 255
    assert again[2] == pytest.approx([3.5] * 4)


@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ((30, 8, 6), (8, 6, 1)),
        ((30, 8, 6, 3), (8, 6, 3)),
        ((30, 3, 8, 6), (8, 6, 3)),
        ((30, 17), (1, 1, 17)),
    ],
)
def test_layouts_of_arrays(shape, seen):
    assert image_sets(np.ones(shape, np.uint8), np.arange(30) % 3)["train"].shape == seen


def test_labels_may_be_names_or_columns():
    x, y = numbered(24)
    named = image_sets(x, np.array(["cat", "dog", "ant", "eel"])[y])
    assert named["test"].classes == ("ant", "cat", "dog", "eel")
    assert image_sets(x, np.eye(4)[y])["test"].labels.tolist() == image_sets(x, y)["test"].labels.tolist()


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"foo": np.zeros(3), "bar": np.zeros(3)}, "has the arrays foo, bar; name images and labels x_train"),
        ({"x": np.zeros((4, 2, 2), np.uint8), "y": np.zeros(5, int)}, "4 images, 5 labels"),
        ({"x": np.full((9, 2, 2), 300), "y": np.zeros(9, int)}, "integers from 300 to 300; pixels are 0 to 255"),
        ({"x": np.full((9, 2, 2), np.nan), "y": np.zeros(9, int)}, "NaN or infinity"),
        ({"x": np.ones((9, 2, 2)), "y": np.full(9, -1)}, "labels: found -1"),
        ({"x": np.ones((9, 2, 2)), "y": np.full(9, 0.5)}, "labels: found 0.5"),
        ({"x": np.ones(9), "y": np.zeros(9, int)}, "allowed are numbers"),
        ({"x_test": np.ones((9, 2, 2)), "y_test": np.zeros(9, int)}, "no images for train, only for test"),
    ],
)
def test_what_is_no_set_is_told_in_one_line(tmp_path, arrays, told):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=r"^npz:") as caught:
        load_images(f"npz:{tmp_path / 'a.npz'}", "train")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_next_step_where_a_file_or_set_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", x=np.ones((9, 2, 2)), y=np.zeros(9, int))
    for source, told in (
        ("a.npz", "npz:a.npz"),
        ("npz:b.npz", "numpy.savez"),
        ("mnist:b", f"looked for at {tmp_path / 'b'}); the four files are at https://"),
    ):
        with pytest.raises(InputError) as caught:
            load_images(source, "train")
        assert told in str(caught.value)


def write_pictures(folder, shares, size=(5, 4), mode="L"):
    from PIL import Image

    for number, (name, count) in enumerate(shares.items()):
        (folder / name).mkdir(parents=True)
        for k in range(count):
            Image.new(mode, size, 40 * number + k).save(folder / name / f"{k}.png")


@needs_pillow
def test_a_folder_for_each_class(tmp_path):
    write_pictures(tmp_path, {"cat": 12, "dog": 18})
    parts = {part: load_images(f"folder:{tmp_path}", part) for part in PARTS}
    assert {part.classes for part in parts.values()} == {("cat", "dog")}
    shown = np.concatenate([part.images[:, 0, 0, 0] for part in parts.values()])
    assert sorted(shown.tolist()) == [*range(12), *range(40, 58)]
    assert all((found.images[:, 0, 0, 0] // 40 == found.labels).all() for found in parts.values())
    assert parts["train"].shape == (4, 5, 1)


@needs_pillow
def test_folders_of_parts(tmp_path):
    write_pictures(tmp_path / "train", {"a": 7, "b": 7}, mode="RGB")
    write_pictures(tmp_path / "test", {"a": 2, "b": 3}, mode="RGB")
    assert len(load_images(f"folder:{tmp_path}", "test").images) == 5
    assert load_images(f"folder:{tmp_path}", "train", limit=2).labels.tolist() == [0, 1]
    assert load_images(f"folder:{tmp_path}", "train").shape == (4, 5, 3)


@needs_pillow
def test_pictures_of_two_sizes_are_refused(tmp_path):
    write_pictures(tmp_path, {"a": 6})
    write_pictures(tmp_path / "c", {"b": 6}, size=(6, 6))
    with pytest.raises(InputError, match="scale all pictures to one size"):
        load_images(f"folder:{tmp_path}", "train")
