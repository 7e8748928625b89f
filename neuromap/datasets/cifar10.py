"""CIFAR-10 (A. Krizhevsky, Learning multiple layers of features from tiny images, 2009): batches or pictures."""

from __future__ import annotations

import pickletools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.members import Members, open_members
from neuromap.datasets.pictures import PICTURES, decode_pictures, pictures_among
from neuromap.datasets.tracks import ImageSet, slice_of_part
from neuromap.errors import InputError, prefixed
from neuromap.files.messages import show

_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_SHAPE = (32, 32)
_SHARES = 5
_BATCH = re.compile(r"(data_batch_[1-5]|test_batch)(\.bin)?")
_PICTURE = re.compile(rf"(?:.*/)?(train|test)/([^/]+)/([^/]+)(?:{'|'.join(map(re.escape, PICTURES))})", re.IGNORECASE)
_LOSSY = (".jpg", ".jpeg")


def load_cifar10(path: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read CIFAR-10 from its original batches, or from pictures in folders ``train/CLASS`` and ``test/CLASS``."""
    # Of the 50,000 training images, the last 10,000 (in general the last fifth) are the validation part. Batches are in
    # numerical order; pictures are sorted by name, then by class, so that any run of them contains all classes.
    # path: a folder or archive of binary batches, Python batches (pickles that are read, never run), or pictures
    with open_members(path) as members:
        names = members.names
        batches = {PurePosixPath(name).name: name for name in names if _BATCH.fullmatch(PurePosixPath(name).name)}
        if batches:
            return _from_batches(members, batches, part, limit)
        pictures = {name: _PICTURE.fullmatch(name) for name in pictures_among(names)}
        if any(pictures.values()):
            return _from_pictures(members, pictures, part, limit)
    raise InputError(
        "has no batches (data_batch_1.bin or data_batch_1) and no pictures (train/CLASS/NAME.png); give the folder or "
        "the archive that holds them"
    )


def _from_batches(members: Members, batches: dict[str, str], part: str, limit: int | None) -> ImageSet:
    ending = ".bin" if any(name.endswith(".bin") for name in batches) else ""
    stems = ["test_batch"] if part == "test" else [f"data_batch_{number}" for number in range(1, 6)]
    wanted = [f"{stem}{ending}" for stem in stems]
    for name in wanted:
        if name not in batches:
            raise InputError(f"has no batch {name}, while it has {', '.join(batches)}; fetch the set again")
    read = read_binary_batch if ending else read_python_batch
    found: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = []
    n_images = 0
    for name in wanted:
        # one original batch is in memory at a time, and only as many as the part's first images need
        for _, data in members.each([batches[name]], MOST_OF_BATCH):
            found.append(read(name, data, len(_CLASSES)))
        n_images += len(found[-1][0])
        if limit is not None and part != "validation" and slice_of_part(n_images, _SHARES, part).stop >= limit:
            break
    chosen = slice_of_part(n_images, _SHARES, part, limit)
    images, start = np.empty((len(range(n_images)[chosen]), *_SHAPE, 3), np.uint8), -chosen.start
    for batch, _ in found:
        own = slice(max(0, start), max(0, start + len(batch)))
        images[own] = batch[max(0, -start) :][: len(images[own])]
        start += len(batch)
    labels = np.concatenate([labels for _, labels in found])[chosen]
    return ImageSet("cifar10", part, adopted(images), labels, _CLASSES)


def _from_pictures(
    members: Members, pictures: Mapping[str, re.Match[str] | None], part: str, limit: int | None
) -> ImageSet:
    stray = next((name for name, found in pictures.items() if found is None), None)
    if stray is not None:
        raise InputError(f"picture {show(stray)}: is not in train/CLASS or test/CLASS; move it there, or take it out")
    placed = [found for found in pictures.values() if found is not None]
    classes = tuple(sorted({found[2] for found in placed}))
    own = [found for found in placed if (found[1].lower() == "test") == (part == "test")]
    own.sort(key=lambda found: (found[3], found[2]))
    own = own[slice_of_part(len(own), _SHARES, part, limit)]
    places = {found[0]: k for k, found in enumerate(own)}
    images = decode_pictures(members.each(places), places, _SHAPE, resize=False)
    number = {name: k for k, name in enumerate(classes)}
    labels = np.array([number[found[2]] for found in own], np.int64)
    lossy = any(name.lower().endswith(_LOSSY) for name in places)
    notes = ("the pictures are JPEG: their pixels are not exactly those of CIFAR-10",) if lossy else ()
    named = (f"the classes are those of the folders: {show(', '.join(classes))}",) if classes != _CLASSES else ()
    return ImageSet("cifar10", part, images, labels, classes, notes=(*notes, *named))


# Batches of CIFAR-10 in its two original formats: red, then green, then blue, each row by row.
# Most bytes of a batch: original ones have 31 MB.
MOST_OF_BATCH = 2**28
_PIXELS = 3 * 32 * 32


def read_binary_batch(name: str, data: bytes, n_classes: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read a batch of the binary version: one byte of label and 3072 of pixels per image."""
    # shapes: images (n_images, 32, 32, 3); labels (n_images,)
    if not data or len(data) % (_PIXELS + 1):
        raise InputError(
            f"{name}: has {len(data)} bytes; an image takes {_PIXELS + 1}, so it is not whole; fetch it again"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, _PIXELS + 1)
    return _images(rows[:, 1:]), _labels(name, rows[:, 0].astype(np.int64), n_classes)


def read_python_batch(name: str, data: bytes, n_classes: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read a batch of the Python version, a pickle of ``data`` and ``labels``, without running any of it."""
    # shapes: images (n_images, 32, 32, 3); labels (n_images,)
    with prefixed(f"{name}: ", InputError):
        batch = read_plain_pickle(data)
        entries = {_text(key): value for key, value in batch.items()} if isinstance(batch, dict) else {}
        if not {"data", "labels"} <= entries.keys():
            raise InputError("holds no data and labels; fetch it again")
        pixels = byte_array(entries["data"])
        labels = _whole_numbers(entries["labels"])
        if pixels.ndim != 2 or pixels.shape[1] != _PIXELS or len(pixels) != len(labels):
            raise InputError(
                f"its data has the shape {list(pixels.shape)}; allowed is [{len(labels)}, {_PIXELS}], as it has "
                f"{len(labels)} labels; fetch it again"
            )
    return _images(pixels), _labels(name, labels, n_classes)


def _text(key: object) -> object:
    return key.decode("latin-1") if isinstance(key, bytes) else key


def _whole_numbers(values: object) -> NDArray[np.int64]:
    if not isinstance(values, list) or any(type(value) is not int or abs(value) > 2**31 for value in values):
        raise InputError("its labels are no list of whole numbers; fetch it again")
    return np.array(values, np.int64)


def _images(planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _labels(name: str, labels: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_classes:
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise InputError(f"{name}: found the label {wrong}; allowed are 0 to {n_classes - 1}")
    return labels


# Numbers, strings and byte arrays from a pickle, without running any of it.
#
# The standard library lists the instructions of a pickle (``pickletools``). Those that build plain values are
# followed here; calls are stored as a name and its arguments, and only the names of NumPy's arrays are allowed. So
# whatever a file contains, nothing is imported and none of its code runs.
# Marks bytes that Python 3 wrote for an older pickle protocol.
_ENCODE = "_codecs encode"
# All allowed names.
_NAMES = frozenset({
    "numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct", "numpy ndarray", "numpy dtype",
    _ENCODE,
})  # fmt: skip


@dataclass
class _Named:
    """Stands for a class or function."""

    name: str


@dataclass
class _Made:
    """Stands for the result of a call."""

    name: str
    arguments: tuple[Any, ...]
    state: Any = None


_MARK = object()
# Fifteen times as many as in a batch of 10,000 images.
_MOST_INSTRUCTIONS = 2**20
# Most dictionaries, lists, tuples of such, and calls in a pickle; a batch has about ten.
#
# This also bounds their nesting, in whatever order they are inserted into each other: Python compares, prints and frees
# nested values in C, where depth takes stack space.
_MOST_CONTAINERS = 1000
_CONTAINERS = frozenset({"EMPTY_DICT", "EMPTY_LIST", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST", "DICT", "REDUCE"})


def read_plain_pickle(data: bytes) -> Any:
    """Read plain values from a pickle."""
    # returns dictionaries, lists, tuples, numbers, strings (also for bytes of Python 2, one character each), and arrays
    # for :func:`byte_array`
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    containers = 0
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            _follow(opcode.name, argument, stack, memo)
            containers += opcode.name in _CONTAINERS and not _is_flat(stack[-1])
            if count >= _MOST_INSTRUCTIONS or containers > _MOST_CONTAINERS:
                raise InputError(
                    f"has more than {_MOST_INSTRUCTIONS} instructions or {_MOST_CONTAINERS} tables, lists and tuples, "
                    "which no list of images needs; fetch it again"
                )
        return stack.pop()
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeError, RecursionError):
        raise InputError("is not a complete pickle of plain values; fetch it again") from None


def byte_array(value: Any) -> NDArray[np.uint8]:
    """Convert an array from :func:`read_plain_pickle` to an array of bytes."""
    try:
        _, shape, kind, is_fortran, raw = value.state
        if not value.name.endswith("_reconstruct") or kind.name != "numpy dtype" or kind.arguments[0] != "u1":
            raise ValueError
        data = raw if isinstance(raw, bytes) else raw.encode("latin-1")
        return np.frombuffer(data, np.uint8).reshape(shape, order="F" if is_fortran else "C")
    except (ValueError, TypeError, AttributeError, IndexError):
        raise InputError("holds no array of unsigned bytes where one should be; fetch it again") from None


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """Follow one instruction."""
    if name in _CONSTANTS:
        stack.append(argument)
    elif name in _NEW:
        stack.append(_NEW[name]())
    elif name in _TUPLES:
        stack.append(_take(stack, _TUPLES[name]))
    else:
        _change(name, argument, stack, memo)


def _change(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """Follow an instruction that takes values from the stack, or keeps them."""
    match name:
        case "BINPUT" | "LONG_BINPUT" | "PUT":
            memo[argument] = stack[-1]
        case "MEMOIZE":
            memo[len(memo)] = stack[-1]
        case "BINGET" | "LONG_BINGET" | "GET":
            stack.append(memo[argument])
        case "GLOBAL":
            stack.append(_named(argument))
        case "STACK_GLOBAL":
            stack.append(_named(" ".join(_take(stack, 2))))
        case "TUPLE":
            stack.append(tuple(_since_mark(stack)))
        case "LIST":
            stack.append(_since_mark(stack))
        case "DICT":
            stack.append(_pairs(_since_mark(stack)))
        case "APPENDS":
            values = _since_mark(stack)
            stack[-1].extend(values)
        case "APPEND":
            (value,) = _take(stack, 1)
            stack[-1].append(value)
        case "SETITEMS":
            values = _since_mark(stack)
            stack[-1].update(_pairs(values))
        case "SETITEM":
            pair = _take(stack, 2)
            stack[-1].update(_pairs(pair))
        case "REDUCE":
            function, arguments = _take(stack, 2)
            stack.append(arguments[0] if function.name == _ENCODE else _Made(function.name, arguments))
        case "BUILD":
            (state,) = _take(stack, 1)
            if not isinstance(stack[-1], _Made):
                raise ValueError
            stack[-1].state = state
        case "PROTO" | "FRAME" | "STOP":
            pass
        case _:
            raise InputError(f"has the instruction {name}, which no list of images needs; nothing of it was run")


def _named(name: str) -> _Named:
    if name not in _NAMES:
        raise InputError(f"names {show(name)}; allowed are NumPy's arrays only, nothing of it was run")
    return _Named(name)


def _is_flat(value: Any) -> bool:
    """Whether a value can never contain nested values: strings, and tuples without containers."""
    if isinstance(value, tuple):
        return not any(isinstance(part, tuple | list | dict | _Made) for part in value)
    return isinstance(value, str | bytes)


def _pairs(values: Sequence[Any]) -> dict[Any, Any]:
    """Make a dictionary; refuse nested keys: hashing them recurses in C."""
    if not all(isinstance(key, str | bytes | int) for key in values[::2]):
        raise ValueError
    return dict(zip(values[::2], values[1::2], strict=True))


def _since_mark(stack: list[Any]) -> list[Any]:
    # search from the end: visited items are removed, so total work is linear in the number of instructions
    at = len(stack) - 1
    while stack[at] is not _MARK:
        at -= 1
        if at < 0:
            raise ValueError
    found = stack[at + 1 :]
    del stack[at:]
    return found


def _take(stack: list[Any], count: int) -> tuple[Any, ...]:
    if len(stack) < count:
        raise ValueError
    found = tuple(stack[len(stack) - count :])
    del stack[len(stack) - count :]
    return found


_CONSTANTS = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE",
    "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
})  # fmt: skip
_NEW: Mapping[str, Callable[[], Any]] = ReadOnlyMapping({
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_DICT": dict, "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple, "MARK": lambda: _MARK,
})  # fmt: skip
_TUPLES: Mapping[str, int] = ReadOnlyMapping({"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3})
