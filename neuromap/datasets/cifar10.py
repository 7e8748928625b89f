"""CIFAR-10 (A. Krizhevsky, Learning multiple layers of features from tiny images, 2009): batches or pictures."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.datasets.cifar_batches import MOST_OF_BATCH, read_binary_batch, read_python_batch
from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.members import Members, open_members
from neuromap.datasets.pictures import PICTURES, decode_pictures
from neuromap.datasets.splits import end_of_train
from neuromap.errors import InputError
from neuromap.files.messages import show

__all__ = ["load_cifar10"]

_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_SHAPE = (32, 32)
_SHARES = 5
_BATCH = re.compile(r"(data_batch_[1-5]|test_batch)(\.bin)?")
_PICTURE = re.compile(rf"(?:.*/)?(train|test)/([^/]+)/([^/]+)(?:{'|'.join(map(re.escape, PICTURES))})", re.IGNORECASE)
_LOSSY = (".jpg", ".jpeg")


def load_cifar10(path: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read CIFAR-10 from the batches of its makers, or from pictures in folders ``train/CLASS`` and ``test/CLASS``."""
    # Of the 50,000 images for training the last 10,000 (in general the last fifth) are the validation part. Batches are
    # in the order of their numbers; pictures are sorted by name, then by class, so any run of them has all classes.
    # path: A folder or archive: binary batches, Python's batches (whose pickles are read, never run), or pictures
    with open_members(path) as members:
        names = members.names
        batches = {PurePosixPath(name).name: name for name in names if _BATCH.fullmatch(PurePosixPath(name).name)}
        if batches:
            return _from_batches(members, batches, part, limit)
        pictures = [found for name in names if (found := _PICTURE.fullmatch(name)) is not None]
        if pictures:
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
        # one batch is in memory at a time, as its makers wrote it; and no more than a part's first images need
        for _, data in members.each([batches[name]], MOST_OF_BATCH):
            found.append(read(name, data, len(_CLASSES)))
        n_images += len(found[-1][0])
        if limit is not None and part != "validation" and _chosen(n_images, part, None).stop >= limit:
            break
    chosen = _chosen(n_images, part, limit)
    images, start = np.empty((len(range(n_images)[chosen]), *_SHAPE, 3), np.uint8), -chosen.start
    for batch, _ in found:
        own = slice(max(0, start), max(0, start + len(batch)))
        images[own] = batch[max(0, -start) :][: len(images[own])]
        start += len(batch)
    labels = np.concatenate([labels for _, labels in found])[chosen]
    return ImageSet("cifar10", part, adopted(images), labels, _CLASSES)


def _from_pictures(members: Members, pictures: list[re.Match[str]], part: str, limit: int | None) -> ImageSet:
    classes = tuple(sorted({found[2] for found in pictures}))
    own = [found for found in pictures if (found[1].lower() == "test") == (part == "test")]
    own.sort(key=lambda found: (found[3], found[2]))
    own = own[_chosen(len(own), part, limit)]
    places = {found[0]: k for k, found in enumerate(own)}
    images = decode_pictures(members.each(places), places, _SHAPE, resize=False)
    number = {name: k for k, name in enumerate(classes)}
    labels = np.array([number[found[2]] for found in own], np.int64)
    lossy = any(name.lower().endswith(_LOSSY) for name in places)
    notes = ("the pictures are JPEG: their pixels are not exactly those of CIFAR-10",) if lossy else ()
    named = (f"the classes are those of the folders: {show(', '.join(classes))}",) if classes != _CLASSES else ()
    return ImageSet("cifar10", part, images, labels, classes, notes=(*notes, *named))


def _chosen(n_images: int, part: str, limit: int | None) -> slice:
    within = slice(0, n_images) if part == "test" else end_of_train(n_images, _SHARES, part)
    return within if limit is None else slice(within.start, min(within.stop, within.start + limit))
