"""MNIST: two files of images and two of labels in the format idx (Y. LeCun, C. Cortes, C. Burges, 1998).

Files of the format: a magic number, the length of every axis (big-endian, 32 bits each), then one byte per entry.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Mapping
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.splits import end_of_train
from neuromap.errors import InputError
from neuromap.files.messages import show_name

__all__ = ["CHECKSUMS", "load_mnist"]

CHECKSUMS: Mapping[str, str] = ReadOnlyMapping(
    {
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    }
)
"""SHA-256 of the four original files, uncompressed."""

_SHARES = 6
_MOST_BYTES = 2**30
_UNSIGNED_BYTES = 8 << 8
"""Magic number of files of unsigned bytes, without the number of axes that is added to it."""


def load_mnist(folder: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read MNIST, or another set in its files.

    Of the 60,000 images for training the last 10,000 (of other sets the last sixth) are the validation part.

    Parameters
    ----------
    folder : Path
        Holds the files, each compressed (``.gz``) or not.
    part : {"train", "validation", "test"}
        Which part.
    limit : int, optional
        The first so many images.

    Returns
    -------
    ImageSet
        Images of shape (28, 28, 1); a note names files that are not the original ones.

    Raises
    ------
    InputError
        If a file is missing, truncated or of another kind, or images and labels are not as many.
    """
    start = "t10k" if part == "test" else "train"
    images, of_images = _read(folder, f"{start}-images-idx3-ubyte", 3)
    labels, of_labels = _read(folder, f"{start}-labels-idx1-ubyte", 1)
    if len(images) != len(labels):
        raise InputError(f"{start}: {len(images)} images, {len(labels)} labels; fetch the pair of files again")
    chosen = slice(None) if part == "test" else end_of_train(len(images), _SHARES, part)
    return ImageSet(
        "mnist",
        part,
        images[chosen][:limit, :, :, np.newaxis],
        labels[chosen][:limit].astype(np.int64),
        tuple(str(digit) for digit in range(10)),
        notes=(*of_images, *of_labels),
    )


def _read(folder: Path, name: str, axes: int) -> tuple[NDArray[np.uint8], list[str]]:
    """Read a file, and note if it is not the original."""
    path = _find(folder, name)
    try:
        with cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
            head = stream.read(4 + 4 * axes)
            shape = _shape(head, axes)
            data = stream.read(prod(shape) + 1)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except (OSError, EOFError, zlib.error) as reason:
        raise InputError(f"{path.name}: cannot be read ({reason}); fetch it again") from None
    if len(data) != prod(shape):
        less = f"only {len(data)}" if len(data) < prod(shape) else "more"
        raise InputError(
            f"{path.name}: its head promises {prod(shape)} bytes ({' x '.join(map(str, shape))}), it has {less}; "
            "fetch it again"
        )
    digest = sha256(head + data).hexdigest()
    known = digest == CHECKSUMS[name]
    array = np.frombuffer(data, np.uint8).reshape(shape)
    return array, [] if known else [f"{path.name} is not the original file of MNIST (SHA-256 {digest})"]


def _find(folder: Path, name: str) -> Path:
    dotted = name.replace("-idx", ".idx")  # as some archives unpack it
    names = [name, dotted, f"{name}.gz", f"{dotted}.gz"]
    try:
        found = [folder / candidate for candidate in names if (folder / candidate).is_file()]
    except OSError as reason:
        raise InputError(f"folder {show_name(str(folder))}: cannot be read ({reason.strerror or reason})") from None
    if not found:
        what = f"has no file {name} or {name}.gz" if folder.is_dir() else "does not exist or is no folder"
        raise InputError(f"folder {show_name(str(folder))}: {what}; put the four files of MNIST there")
    return found[0]


def _shape(head: bytes, axes: int) -> tuple[int, ...]:
    if len(head) < 4 + 4 * axes:
        raise InputError(f"has {len(head)} bytes, fewer than its head needs; fetch it again")
    magic, *shape = struct.unpack(f">{1 + axes}I", head)
    if magic != _UNSIGNED_BYTES + axes:
        raise InputError(
            f"begins with the number {magic}; a file of {'images' if axes == 3 else 'labels'} begins with "
            f"{_UNSIGNED_BYTES + axes}; fetch it again"
        )
    if prod(shape) > _MOST_BYTES:
        raise InputError(f"its head promises {prod(shape)} bytes; at most {_MOST_BYTES} are read; fetch it again")
    return tuple(shape)
