"""User images: arrays, an ``.npz`` file of arrays, or one folder of pictures per class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import adopted
from neuromap.datasets.members import Members, open_members
from neuromap.datasets.pictures import MOST_PIXELS, decode_pictures, open_picture, pictures_among, shape_of
from neuromap.datasets.tracks import PARTS, PIXELS, SPLIT_SEED, ImageSet, uniform
from neuromap.errors import InputError
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import counted, show
from neuromap.files.unpacked import read_npz

_MOST_BYTES = 2**30
_MOST_CLASSES = 2**16
# Names of images and labels by part, or of the whole set; case-insensitive.
_PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "train": (("x_train", "y_train"), ("train_images", "train_labels"), ("train_x", "train_y")),
    "validation": tuple(
        pair
        for word in ("val", "valid", "validation")
        for pair in ((f"x_{word}", f"y_{word}"), (f"{word}_images", f"{word}_labels"), (f"{word}_x", f"{word}_y"))
    ),
    "test": (("x_test", "y_test"), ("test_images", "test_labels"), ("test_x", "test_y")),
    "": (("images", "labels"), ("x", "y"), ("data", "target"), ("data", "labels")),
}
_DATA = r"(x|y|images?|inputs?|labels?|data|targets?)?"
# Names of arrays that look like a part: left out, another part would be drawn in its place.
_LIKE_PART = re.compile(
    rf"{_DATA}[-_. ]*(train(ing)?|val(id(ation)?)?|dev|eval|test(ing)?)[-_. ]*{_DATA}", re.IGNORECASE
)
_FOLDERS = {"train": "train", "val": "validation", "valid": "validation", "validation": "validation", "test": "test"}
# The test part is a random fifth of a whole set, the validation part a random sixth of the training images.
_TEST, _VALIDATION = 5, 6
_GREY = ("1", "L", "LA")
_PIXEL = 255
# By how much shares of classes, in float16 at least, may miss 1.
_ROUNDING = 1e-3
# Bounds of the span from black to white, in the float32 with which networks compute.
_LEAST_SPAN, _MOST_SPAN = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def image_sets(
    images: ArrayLike,
    labels: ArrayLike,
    test_images: ArrayLike | None = None,
    test_labels: ArrayLike | None = None,
    *,
    name: str = "arrays",
) -> dict[str, ImageSet]:
    """Make the parts of a set from arrays, for training and the accuracy on a chip.

    A sixth of the images, drawn with a fixed seed, is the validation part; without test images, a fifth is first drawn
    as the test part. Integers are pixels of 0 to 255, seen as 0 to 1. Real numbers are what the network sees: the
    least (or 0) is black, the greatest white, and they are rounded to 255 steps between.

    Parameters
    ----------
    images : array_like, shape (n, rows, columns), (n, rows, columns, features), (n, features, rows, columns) or (n, k)
        Integers or real numbers.
    labels : array_like, shape (n,)
        Numbers of classes from 0, or names of classes.
    test_images, test_labels : array_like, optional
        The test part, instead of a fifth of the images.
    name : str
        Name of the set.

    Returns
    -------
    dict of str to ImageSet
        The parts ``"train"``, ``"validation"`` and ``"test"``.

    Raises
    ------
    InputError
        If arrays are not images and labels, or do not match.

    Examples
    --------
    >>> import numpy as np
    >>> from neuromap.datasets import image_sets
    >>> parts = image_sets(np.zeros((60, 8, 8), np.uint8), np.arange(60) % 10)
    >>> {part: len(found.images) for part, found in parts.items()}
    {'train': 40, 'validation': 8, 'test': 12}
    """
    given: dict[str, tuple[Any, Any]] = {"": (images, labels)}
    if test_images is not None and test_labels is not None:
        given = {"train": (images, labels), "test": (test_images, test_labels)}
    elif test_images is not None or test_labels is not None:
        raise InputError(f"{name}: test images and test labels come together; give both, or neither")
    return {part: _part(name, given, part, None) for part in PARTS}


def load_npz(path: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read a part of an ``.npz`` file, from its arrays for this part or by a random split of the whole."""
    if not path.is_file():
        raise InputError("there is no such file; write it with numpy.savez(FILE, x_train=..., y_train=...)")
    arrays = read_npz(read_bytes(path, "set of images (.npz)", _MOST_BYTES, InputError), _MOST_BYTES, InputError)
    named = {key.lower(): key for key in arrays}
    given = {}
    left = dict.fromkeys(arrays)
    for key, pairs in _PAIRS.items():
        found = next(((named[x], named[y]) for x, y in pairs if x in named and y in named), None)
        if found is not None:
            given[key] = (arrays[found[0]], arrays[found[1]])
            left = {one: None for one in left if one not in found}
    if "train" in given or "test" in given:
        given.pop("", None)
    if not given:
        keys = ", ".join(arrays) or "nothing"
        raise InputError(
            f"has the arrays {keys:.200}; name images and labels x_train and y_train (with x_test and y_test), images "
            "and labels, x and y, or data and target"
        )
    stray = next(filter(_LIKE_PART.fullmatch, left), None)
    if stray is not None:
        raise InputError(
            f"array {show(stray)}: is in no pair of images and labels that are read; name them x_train and y_train, "
            "x_val and y_val or x_test and y_test, or take it out"
        )
    return _part("npz", given, part, limit)


def _part(name: str, given: Mapping[str, tuple[Any, Any]], part: str, limit: int | None) -> ImageSet:
    """Select a part of arrays; the range of intensities and the classes are always those of all arrays."""
    images = {key: _images(f"{name}: {key or 'all'}", found) for key, (found, _) in given.items()}
    if len({found.shape[1:] for found in images.values()}) > 1:
        shapes = ", ".join(f"{key} {list(found.shape[1:])}" for key, found in images.items())
        raise InputError(f"{name}: images of its parts differ in shape ({shapes}); give all one")
    labels, classes = _labels(name, {key: found for key, (_, found) in given.items()})
    for key, found in images.items():
        if len(found) != len(labels[key]):
            raise InputError(f"{name}: {key or 'all'}: {len(found)} images, {len(labels[key])} labels; give as many")
    key, chosen = _split({key: len(found) for key, found in labels.items()}, part)
    chosen = np.sort(chosen)[:limit]
    low, high, notes = _range(images.values())
    shown, white, seen = images[key][chosen], _PIXEL, PIXELS
    if shown.dtype.kind == "f":
        seen = (low, high)
        shown = np.rint((shown.astype(np.float64) - low) / (high - low) * _PIXEL).clip(0, _PIXEL)
    elif high <= 1:  # pictures of zeros and ones
        white = 1
    return ImageSet(name, part, shown.astype(np.uint8), labels[key][chosen], classes, white, notes, seen=seen)


def _images(where: str, given: Any) -> NDArray[Any]:
    """Convert images to shape (n, rows, columns, features)."""
    try:
        found = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):  # ragged rows, or tensors that do not convert
        found = np.array(None)
    if found.dtype.kind not in "buif" or found.ndim not in (2, 3, 4) or not found.size:
        raise InputError(
            f"{where}: found images {found.dtype}{list(found.shape)}; allowed are numbers [n, rows, columns], "
            "[n, rows, columns, features], [n, features, rows, columns] or [n, k]"
        )
    if found.ndim == 2:
        return found[:, np.newaxis, np.newaxis, :]  # one row of features, as in networks without rows and columns
    if found.ndim == 3:
        return found[..., np.newaxis]
    one, two, three = found.shape[1:]
    # two equal axes are rows and columns, whatever the number of features; otherwise features are the fewest
    features_first = one != two if one == two or two == three else one < three
    return np.moveaxis(found, 1, -1) if features_first else found


def _range(images: Iterable[NDArray[Any]]) -> tuple[float, float, tuple[str, ...]]:
    """Find the black and white levels of all images."""
    found = list(images)
    if len({one.dtype.kind == "f" for one in found}) > 1:
        raise InputError("images of one part are integers, those of another real numbers; give all of one kind")
    low, high = min(float(one.min()) for one in found), max(float(one.max()) for one in found)
    if not np.isfinite([low, high]).all():
        raise InputError("images hold NaN or infinity; give finite numbers")
    if found[0].dtype.kind == "f":
        low, high = min(low, 0.0), max(high, 0.0)
        if high - low < _LEAST_SPAN:
            raise InputError("images hold zeros only; give images as the network will see them")
        if high - low > _MOST_SPAN:
            raise InputError(
                f"images hold numbers from {low:g} to {high:g}; a network's span is at most {_MOST_SPAN:g}, scale them"
            )
        return low, high, ()
    if low < 0 or high > _PIXEL:
        raise InputError(
            f"images hold integers from {low:g} to {high:g}; pixels are 0 to {_PIXEL}, others real numbers"
        )
    dark = (f"the brightest pixel is {high:g} of {_PIXEL}; save real numbers if the network sees others",)
    return low, high, dark if 1 < high < _PIXEL / 4 else ()


def _labels(name: str, given: Mapping[str, Any]) -> tuple[dict[str, NDArray[np.int64]], tuple[str, ...]]:
    """Read labels: numbers of classes, names, or one column per class."""
    found = {key: _labels_of(f"{name}: {key or 'all'}", one) for key, one in given.items()}
    if len({one.dtype.kind == "U" for one in found.values()}) > 1:
        raise InputError(f"{name}: labels of one part are names, those of another numbers; give all of one kind")
    together = np.concatenate(list(found.values()))
    if together.dtype.kind == "U":
        names, numbers = np.unique(together, return_inverse=True)
        classes = tuple(map(str, names))
    else:
        if together.dtype.kind == "f" and not (together == np.rint(together)).all():
            wrong = together[together != np.rint(together)][0]
            raise InputError(f"{name}: labels: found {wrong}; classes are whole numbers, or names")
        if together.min() < 0 or together.max() >= _MOST_CLASSES:
            wrong = together.min() if together.min() < 0 else together.max()
            raise InputError(f"{name}: labels: found {wrong}; classes are numbers from 0 to {_MOST_CLASSES - 1}")
        numbers = together.astype(np.int64)
        classes = tuple(str(number) for number in range(int(numbers.max()) + 1))
    ends = np.cumsum([len(one) for one in found.values()])[:-1]
    parts = np.split(numbers.astype(np.int64), ends)
    return dict(zip(found, parts, strict=True)), classes


def _labels_of(where: str, given: Any) -> NDArray[Any]:
    """Read the labels of one part, numbers or text."""
    try:
        found = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):
        found = np.array(None)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    elif found.ndim == 2 and found.dtype.kind in "buif" and found.size:
        found = _columns(where, found)
    if found.ndim != 1 or found.dtype.kind not in "buifUS" or not found.size:
        raise InputError(
            f"{where}: found labels {found.dtype}{list(found.shape)}; allowed are numbers or names of classes, [n], or "
            "a column for each class"
        )
    return np.char.decode(found, "utf-8", "backslashreplace") if found.dtype.kind == "S" else found


def _columns(where: str, given: NDArray[Any]) -> NDArray[np.int64]:
    """Read labels of a column for each class: one entry of a row is not 0, the same in all, or shares sum to 1."""
    with np.errstate(all="ignore"):
        found = given.astype(np.float64)
        greatest = found == found.max(axis=1, keepdims=True)
        is_one = ((found != 0).sum(axis=1) == 1) & (found.max(axis=1) == found.max())
        is_shared = np.abs(found.sum(axis=1) - 1) < _ROUNDING
        columns = max(is_one, is_shared, key=np.count_nonzero)  # all rows are of one kind
        wrong = (greatest.sum(axis=1) != 1) | (found < 0).any(axis=1) | ~columns
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{where}: label {row}: found {show(given[row].tolist())}; allowed are the number of a class, or a column "
            "for each class, 1 in that of the class and 0 elsewhere"
        )
    numbers: NDArray[np.int64] = greatest.argmax(axis=1)
    return numbers


def _split(sizes: Mapping[str, int], part: str, missing: str = "x_{0} and y_{0}") -> tuple[str, NDArray[np.int64]]:
    """Return the key of a part's images and their indices: its own images, or a random share."""
    if part in sizes:
        whole = np.arange(sizes[part])
        return part, whole if part != "train" or "validation" in sizes else _drawn(whole, _VALIDATION)[1]
    if "" not in sizes and (part == "test" or "train" not in sizes):
        raise InputError(f"has no images for {part}, only for {', '.join(sizes)}; add {missing.format(part)}")
    source = "" if "" in sizes else "train"
    rest = np.arange(sizes[source])
    if source == "":
        test, rest = _drawn(rest, _TEST)
        if part == "test":
            return source, test
    validation, train = _drawn(rest, _VALIDATION)
    return source, train if part == "train" else validation


def _drawn(numbers: NDArray[np.int64], share: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw 1 / ``share`` of the numbers; return these and the rest."""
    order = numbers[np.argsort(uniform((len(numbers),), SPLIT_SEED), kind="stable")]
    return order[: len(order) // share], order[len(order) // share :]


def load_folder(path: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read pictures, one folder per class, below ``train`` and ``test``, or split at random within each class."""
    with open_members(path) as members:
        found = _pictures(members)
        classes = tuple(sorted({label for pictures in found.values() for label, _ in pictures}))
        if len(classes) < 2:
            raise InputError(
                f"has pictures (PNG, JPEG or PPM) of {counted(len(classes), 'class', 'classes')}; give a folder for "
                "each class, or those below the folders train and test"
            )
        chosen = _of_part(found, part)
        names = [name for _, name in islice(chosen, limit)]
        if not names:
            raise InputError(f"part {part} has no pictures; add some")
        first = next(iter(members.each([names[0]])))
        grey, shape = _look_of(*first)
        places = {name: k for k, name in enumerate(names)}
        images = decode_pictures(members.each(places), places, shape, resize=False)
    if grey:
        coloured = (images != images[..., :1]).any(axis=(1, 2, 3))
        if coloured.any():
            told = show(names[int(coloured.argmax())])
            raise InputError(f"picture {told}: has colours, while {show(names[0])} is grey; give all of one kind")
        images = images[..., :1]
    numbers = {label: k for k, label in enumerate(classes)}
    labels = np.array([numbers[label] for label, _ in chosen[: len(names)]], np.int64)
    return ImageSet("folder", part, adopted(np.ascontiguousarray(images)), labels, classes)


def _pictures(members: Members) -> dict[str, list[tuple[str, str]]]:
    """Return class and name of all pictures by part; the part is empty if folders of classes are at the top."""
    found: dict[str, list[tuple[str, str]]] = {}
    places: dict[tuple[str, ...], str] = {}  # the folders above those of classes, with their first picture
    for name in pictures_among(members.names):
        *above, label = PurePosixPath(name).parent.parts or ("",)
        if not label:
            raise InputError(f"picture {show(name)}: is in no folder of a class; move it into one, or take it out")
        word = next((word for word in above if word.lower() in _FOLDERS), "")
        if word:
            above.remove(word)
        found.setdefault(_FOLDERS.get(word.lower(), ""), []).append((label, name))
        places.setdefault(tuple(above), name)
    if "" in found and len(found) > 1:
        raise InputError(
            f"picture {show(found[''][0][1])}: is in no part, as others are; parts are folders train, validation and "
            "test, move it into one or take it out"
        )
    if len(places) > 1:
        one, other, *_ = places.values()
        raise InputError(
            f"pictures {show(one)} and {show(other)}: the folders they are in, those of their classes, do not lie side "
            "by side; move pictures right into the folder of their class"
        )
    return found


def _of_part(found: Mapping[str, list[tuple[str, str]]], part: str) -> list[tuple[str, str]]:
    """Select the pictures of a part; shares are drawn within each class, and classes are evenly interleaved."""
    turns: list[tuple[float, str, str]] = []
    labels = sorted({label for pictures in found.values() for label, _ in pictures})
    for label in labels:
        sizes = {key: [name for of, name in pictures if of == label] for key, pictures in found.items()}
        key, chosen = _split({key: len(names) for key, names in sizes.items()}, part, "a folder {0}")
        names = [sizes[key][k] for k in np.sort(chosen)]
        turns += [((k + 0.5) / len(names), label, name) for k, name in enumerate(names)]
    return [(label, name) for _, label, name in sorted(turns)]


def _look_of(name: str, data: bytes) -> tuple[bool, tuple[int, int]]:
    """Return whether a picture is grey, and its rows and columns, which all others must share."""
    with open_picture(name, data) as opened:
        if opened.size[0] * opened.size[1] > MOST_PIXELS:
            raise InputError(f"picture {show(name)}: has more than {MOST_PIXELS} pixels; scale all pictures down")
        return opened.mode in _GREY, shape_of(name, opened)
