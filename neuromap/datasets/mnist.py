"""MNIST: two files of images and two of labels in the idx format (Y. LeCun, C. Cortes, C. Burges, 1998).

An idx file has a magic number, the length of every axis (big-endian, 32 bits each), then one byte per entry.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.tracks import ImageSet, slice_of_part
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.files.unpacked import most_unpacked

# SHA-256 of the four original files, uncompressed.
CHECKSUMS: Mapping[str, str] = ReadOnlyMapping(
    {
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    }
)
# Sizes of these in bytes: a file of another size is not the original, whatever its checksum.
_SIZES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}
_SHARES = 6
_MOST_BYTES = 2**30
# Magic number of files of unsigned bytes, to which the number of axes is added.
_UNSIGNED_BYTES = 8 << 8


def load_mnist(folder: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read MNIST, or another set with the same file names."""
    # Of the 60,000 training images, the last 10,000 (for other sets, the last sixth) are the validation part.
    start = "t10k" if part == "test" else "train"
    images, labels = (
        _File(_find(folder, name), name, axes)
        for name, axes in ((f"{start}-images-idx3-ubyte", 3), (f"{start}-labels-idx1-ubyte", 1))
    )
    count = images.shape[0]
    if count != labels.shape[0]:
        raise InputError(f"{start}: {count} images, {labels.shape[0]} labels; fetch the pair of files again")
    chosen = slice_of_part(count, _SHARES, part, limit)
    (of_images, about_images), (of_labels, about_labels) = (
        file.rows(chosen, limit is None) for file in (images, labels)
    )
    return ImageSet(
        "mnist",
        part,
        of_images[:, :, :, np.newaxis],
        of_labels.astype(np.int64),
        tuple(str(digit) for digit in range(10)),
        notes=(*about_images, *about_labels),
    )


class _File:
    """A file whose header was read, and claims no more than a file of its size may hold."""

    def __init__(self, path: Path, name: str, axes: int) -> None:
        self._path, self._name = path, name
        with self._open() as stream:
            self._head = stream.read(4 + 4 * axes)
            self.shape = _shape(self._head, axes)
            n_bytes, size = prod(self.shape), path.stat().st_size
            most = most_unpacked(size, _MOST_BYTES)
            if n_bytes > most:
                raise InputError(
                    f"its head promises {n_bytes} bytes; at most {most} are read of a file of {size} bytes; fetch it "
                    "again"
                )
            if axes == 3 and n_bytes == 0 < self.shape[0]:
                raise InputError(f"its images have {self.shape[1]} x {self.shape[2]} pixels; fetch it again")

    def rows(self, chosen: slice, is_whole: bool) -> tuple[NDArray[np.uint8], list[str]]:
        """Read some of the images or labels, with a note if the file is not the original."""
        # A file of the original's size is read to its end, for its checksum; others only if the whole part is read.
        size, promised = prod(self.shape[1:]), prod(self.shape)
        may_be_known = len(self._head) + promised == _SIZES[self._name]
        end = promised if may_be_known or is_whole else chosen.stop * size
        with self._open() as stream:
            stream.read(len(self._head))
            data = stream.read(end)
            if len(data) < end:
                raise InputError(f"{self._promise(promised)}, it has only {len(data)}; fetch it again")
            if end == promised and stream.read(1):
                raise InputError(f"{self._promise(promised)}, it has more; fetch it again")
        count = chosen.stop - chosen.start
        rows = np.frombuffer(data, np.uint8, count * size, chosen.start * size).reshape(count, *self.shape[1:])
        digest = sha256(self._head)
        digest.update(data)
        if end == promised and digest.hexdigest() == CHECKSUMS[self._name]:
            return adopted(rows), []
        told = f" (SHA-256 {digest.hexdigest()})" if end == promised else ""
        return adopted(rows), [f"{self._path.name} is not the original file of MNIST{told}"]

    def _promise(self, promised: int) -> str:
        return f"its head promises {promised} bytes ({' x '.join(map(str, self.shape))})"

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        """Open the file, and name it in errors."""
        path = self._path
        try:
            with cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
                yield stream
        except InputError as error:
            raise InputError(f"{path.name}: {error}") from None
        except (OSError, EOFError, zlib.error) as reason:
            raise InputError(f"{path.name}: cannot be read ({reason}); fetch it again") from None


def _find(folder: Path, name: str) -> Path:
    dotted = name.replace("-idx", ".idx")  # as named by some archives
    names = [name, dotted, f"{name}.gz", f"{dotted}.gz"]
    try:
        found = [folder / candidate for candidate in names if (folder / candidate).is_file()]
    except OSError as reason:
        raise InputError(f"folder {show_name(str(folder))}: cannot be read ({reason.strerror or reason})") from None
    if not found:
        what = f"has no file {name} or {name}.gz" if folder.is_dir() else "does not exist or is not a folder"
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
    return tuple(shape)
