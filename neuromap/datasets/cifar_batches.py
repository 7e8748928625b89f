"""Batches of CIFAR-10, in the two formats of its makers: red, then green, then blue, each row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.plain_pickle import byte_array, read_plain_pickle
from neuromap.errors import InputError

__all__ = ["MOST_OF_BATCH", "read_binary_batch", "read_python_batch"]

MOST_OF_BATCH = 2**28
"""Bytes of a batch: those of the makers have 31 MB."""
_PIXELS = 3 * 32 * 32


def read_binary_batch(name: str, data: bytes, n_classes: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read a batch of the binary version: for every image one byte of label and 3072 of pixels."""
    # shapes: images (n_images, 32, 32, 3); labels (n_images,)
    if not data or len(data) % (_PIXELS + 1):
        raise InputError(
            f"{name}: has {len(data)} bytes; an image takes {_PIXELS + 1}, so it is not whole; fetch it again"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, _PIXELS + 1)
    return _images(rows[:, 1:]), _labels(name, rows[:, 0].astype(np.int64), n_classes)


def read_python_batch(name: str, data: bytes, n_classes: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read a batch of the Python version, a pickle of which nothing is run: ``data`` and ``labels``."""
    # shapes: images (n_images, 32, 32, 3); labels (n_images,)
    try:
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
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
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
