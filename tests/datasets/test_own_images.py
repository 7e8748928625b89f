"""Images of one's own: arrays, files of them and folders give parts that are disjoint, and say what is wrong."""

import importlib.util
import struct
import zlib

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


@pytest.mark.parametrize(
    ("images", "labels", "is_read"),
    [
        ("x_val", "y_val", True),
        ("X_valid", "y_valid", True),
        ("valid_x", "valid_y", True),
        ("validation_images", "validation_labels", True),
        ("x_dev", "y_dev", False),
        ("xval", "yval", False),
        ("Testing", "classes", False),
    ],
)
def test_no_part_is_drawn_in_the_place_of_one_that_is_there(tmp_path, images, labels, is_read):
    (x, y), (v, w) = numbered(20), numbered(3)
    arrays = {"x_train": x, "y_train": y, images: v + 100}
    np.savez(tmp_path / "alone.npz", **arrays)
    np.savez(tmp_path / "both.npz", **arrays, **{labels: w})
    if is_read:
        found = load_images(f"npz:{tmp_path / 'both.npz'}", "validation")
        assert found.images[:, 0, 0, 0].tolist() == [100, 101, 102]
    for name in ("alone",) if is_read else ("alone", "both"):
        with pytest.raises(InputError, match=f"array '{images}': is in no pair of images and labels"):
            load_images(f"npz:{tmp_path / name}.npz", "validation")


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
    columns = np.eye(4)[y]
    for one in (columns, columns.astype(bool), (255 * columns).astype(np.uint8), np.float16(0.1 + 0.6 * columns)):
        assert image_sets(x, one)["test"].labels.tolist() == image_sets(x, y)["test"].labels.tolist()


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
        (folder / name).mkdir(parents=True, exist_ok=True)
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
    write_pictures(tmp_path, {"b": 6}, size=(6, 6))
    with pytest.raises(InputError, match="scale all pictures to one size"):
        load_images(f"folder:{tmp_path}", "train")


@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ((30, 2, 8, 8), (8, 8, 2)),
        ((30, 16, 8, 8), (8, 8, 16)),
        ((30, 8, 8, 16), (8, 8, 16)),
        ((30, 2, 8, 6), (8, 6, 2)),
        ((30, 1, 3, 3), (3, 3, 1)),
    ],
)
def test_features_of_any_number_stand_first_or_last(shape, seen):
    """Two features, as event cameras have, or sixteen: a square shows which axis they are, else they are fewer."""
    assert image_sets(np.ones(shape, np.uint8), np.arange(30) % 3)["train"].shape == seen


class Unreadable:
    """As a tensor that needs gradients, or is of a type that NumPy lacks."""

    def __array__(self, *_, **__):
        raise RuntimeError("use detach")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("images", "labels", "told"),
    [
        (np.ones((9, 2, 2)), np.full((9, 3), np.nan), "label 0: found [nan, nan, nan]; allowed are the number of a"),
        (np.ones((9, 2, 2)), np.eye(9)[:, :8], "label 8: found [0.0, 0.0"),
        (np.ones((9, 2, 2)), np.stack([np.arange(9) % 3, np.arange(9)], 1), "label 0: found [0, 0]"),
        (np.ones((9, 2, 2)), np.stack([np.zeros(9, int), np.arange(9) + 1], 1), "label 0: found [0, 1]"),
        (np.ones((9, 2, 2)), -np.eye(9), "label 0: found [-1.0"),
        (np.ones((9, 2, 2)), np.full((9, 2), [np.inf, -np.inf]), "label 0: found [inf, -inf]"),
        (np.ones((9, 2, 2)), np.where(np.arange(9) == 4, np.inf, 0), "labels: found inf"),
        (np.ones((9, 2, 2)), np.where(np.arange(9) == 4, 1e300, 0), "labels: found 1e+300"),
        (np.ones((9, 2, 2)), np.full(9, 2**64 - 1, np.uint64), "labels: found 18446744073709551615"),
        (np.resize([-1.7e308, 1.7e308], (9, 2, 2)), np.arange(9), "numbers from -1.7e+308 to 1.7e+308"),
        (np.full((9, 2, 2), 1e300), np.arange(9), "at most 3.40282e+38"),
        (Unreadable(), np.arange(9), "allowed are numbers"),
        (np.ones((9, 2, 2)), Unreadable(), "found labels object"),
    ],
)
def test_numbers_that_mean_nothing_are_refused_without_a_warning(images, labels, told):
    with pytest.raises(InputError) as caught:
        image_sets(images, labels)
    assert told in str(caught.value)


def test_labels_of_parts_are_of_one_kind():
    """Names beside numbers would be classes of their own; names in bytes are those in letters."""
    x, y = numbered(12)
    names = np.array(["äl", "b", "c", "d"])[y]
    with pytest.raises(InputError, match="names, those of another numbers"):
        image_sets(x, y, x, names)
    both = image_sets(x, names, x, np.array([word.encode() for word in names.tolist()]))
    assert both["test"].classes == ("b", "c", "d", "äl")
    assert both["test"].labels.tolist() == ((y - 1) % 4).tolist()


def test_a_pickle_within_an_archive_is_named(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 2, 2)), y=np.array(["a", 1] * 4 + [None], dtype=object))
    with pytest.raises(InputError, match=r"array y holds Python objects, a pickle, which is never read; save"):
        load_images(f"npz:{tmp_path / 'a.npz'}", "train")


@needs_pillow
def test_what_systems_put_beside_pictures_is_no_picture_and_no_class(tmp_path):
    write_pictures(tmp_path, {"a": 12, "b": 12})
    for name in ("a/._0.png", "a/.ipynb_checkpoints/0.png", "__MACOSX/a/0.png", ".trash/0.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"no picture")
    found = load_images(f"folder:{tmp_path}", "train")
    assert (found.classes, len(found.images)) == (("a", "b"), 18)


@needs_pillow
@pytest.mark.parametrize("mode", ["RGB", "I;16"])
def test_a_grey_set_takes_no_colours_and_no_deep_pixels(tmp_path, mode):
    """The first channel alone would be another picture, and all above 255 white."""
    from PIL import Image

    write_pictures(tmp_path, {"a": 12, "b": 12})
    odd = next(iter((tmp_path / "b").iterdir()))
    dtype, shape = (np.uint8, (4, 5, 3)) if mode == "RGB" else (np.uint16, (4, 5))
    for picture in odd.parent.iterdir():
        Image.fromarray(np.arange(np.prod(shape), dtype=dtype).reshape(shape) * 4).save(picture)
    with pytest.raises(InputError, match="has colours, while" if mode == "RGB" else "more than 8 bits a pixel"):
        load_images(f"folder:{tmp_path}", "train")


def deep_png(mode, samples):
    """A PNG of 5 x 4 pixels with samples of 16 bits; mode as in its head."""
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", 5, 4, 16, mode, 0, 0, 0),
        b"IDAT": zlib.compress((b"\0" + b"\0\xc8" * 5 * samples) * 4),
        b"IEND": b"",
    }
    coded = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks.items())
    return b"\x89PNG\r\n\x1a\n" + b"".join(coded)


@needs_pillow
@pytest.mark.parametrize(
    "data",
    [deep_png(2, 3), deep_png(4, 2), deep_png(6, 4), b"P6 5 4 65535\n" + bytes(120)],
    ids=["RGB", "LA", "RGBA", "PPM"],
)
def test_no_sample_loses_its_low_bits(tmp_path, data):
    write_pictures(tmp_path, {"a": 12, "b": 12})
    for picture in (tmp_path / "b").iterdir():
        picture.write_bytes(data)
    with pytest.raises(InputError, match="more than 8 bits a pixel"):
        load_images(f"folder:{tmp_path}", "train")


@needs_pillow
@pytest.mark.parametrize("mode", ["LA", "RGBA", "P"])
def test_opaque_pictures_are_taken_and_transparent_ones_refused(tmp_path, mode):
    """Black ink on a transparent ground would be black on black."""
    from PIL import Image

    write_pictures(tmp_path, {"a": 12, "b": 12})
    for path in tmp_path.rglob("*.png"):
        Image.open(path).convert(mode).save(path)
    assert len(load_images(f"folder:{tmp_path}", "train").images) == 18
    for path in (tmp_path / "b").iterdir():
        picture = Image.open(path)
        if mode != "P":
            picture.putalpha(254)
        picture.save(path, **({"transparency": picture.getpixel((0, 0))} if mode == "P" else {}))
    with pytest.raises(InputError, match="has transparent pixels; save it on a background, without alpha"):
        load_images(f"folder:{tmp_path}", "train")


@needs_pillow
def test_pictures_are_put_upright_as_viewers_show_them(tmp_path):
    from PIL import Image, ImageOps

    wanted = set()
    for folder, kind in (("a", "png"), ("b", "jpg")):
        (tmp_path / folder).mkdir()
        for way in range(1, 9):
            exif, path = Image.Exif(), tmp_path / folder / f"{way}.{kind}"
            exif[0x0112] = way
            drawn = np.random.default_rng(way).integers(0, 256, (4, 5) if way < 5 else (5, 4), np.uint8)
            Image.fromarray(drawn).save(path, exif=exif)
            wanted.add(ImageOps.exif_transpose(Image.open(path)).tobytes())
    parts = [load_images(f"folder:{tmp_path}", part) for part in PARTS]
    assert {part.shape for part in parts} == {(4, 5, 1)}
    for path in (tmp_path / "b").iterdir():
        path.write_bytes(path.read_bytes().replace(b"MM\0*", b"MM\0?"))
    with pytest.raises(InputError, match="its EXIF data are damaged; save it upright, without them"):
        load_images(f"folder:{tmp_path}", "train")
    assert {image.tobytes() for part in parts for image in part.images} == wanted


@needs_pillow
@pytest.mark.parametrize(
    ("places", "told"),
    [
        (("cat/day", "cat/night", "dog/day"), r"'cat/day/0.png' and 'dog/day/0.png': .* do not lie side by side"),
        (("a", "b", "c/b"), "'a/0.png' and 'c/b/0.png': .* do not lie side by side; move pictures right into"),
        (("train/a", "train/b", "testing/a"), "'testing/a/0.png': is in no part, as others are; parts are folders"),
        (("a", "b", "."), "'0.png': is in no folder of a class; move it into one"),
    ],
)
def test_no_picture_is_taken_for_another_class_or_left_out(tmp_path, places, told):
    write_pictures(tmp_path, dict.fromkeys(places, 6))
    with pytest.raises(InputError, match=told):
        load_images(f"folder:{tmp_path}", "train")


@needs_pillow
@pytest.mark.parametrize("ending", ["bmp", "WebP", "tiff", "gif", "pgm"])
@pytest.mark.parametrize("scheme", ["folder", "cifar10"])
def test_pictures_of_other_kinds_are_not_left_out(tmp_path, scheme, ending):
    write_pictures(tmp_path / "train", {"a": 6, "b": 6}, size=(32, 32))
    assert len(load_images(f"{scheme}:{tmp_path}", "train", limit=4).images) == 4
    (tmp_path / "train" / "c").mkdir()
    (tmp_path / "train" / "c" / f"0.{ending}").write_bytes(b"")
    with pytest.raises(InputError, match=f"'train/c/0.{ending}': is no JPEG, PNG or PPM; save it as PNG"):
        load_images(f"{scheme}:{tmp_path}", "train")


@needs_pillow
def test_refusals_of_folders_name_what_to_add_or_take_out(tmp_path):
    write_pictures(tmp_path / "train", {"a": 3, "b": 3})
    with pytest.raises(InputError, match="only for train; add a folder test"):
        load_images(f"folder:{tmp_path}", "test")
    (tmp_path / "train" / "c").symlink_to(tmp_path / "train" / "a", target_is_directory=True)
    with pytest.raises(InputError, match="'train/c' is a link to a folder, which is not followed"):
        load_images(f"folder:{tmp_path}", "train")
    (tmp_path / "train" / "c").unlink()
    (tmp_path / "train" / "a" / "x.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"PNG or PPM \(cannot identify image file\); fetch it again, or take it out"):
        load_images(f"folder:{tmp_path}", "train")
