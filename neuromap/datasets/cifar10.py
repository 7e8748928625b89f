"""CIFAR-10 (A. Krizhevsky, Learning multiple layers of features from tiny images, 2009): batches or pictures."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import numpy as np

from neuromap.datasets.cifar_batches import read_binary_batch, read_python_batch
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
    """Read CIFAR-10 from the batches of its makers, or from pictures in folders ``train/CLASS`` and ``test/CLASS``.

    Of the 50,000 images for training the last 10,000 (in general the last fifth) are the validation part. Batches are
    in the order of their numbers; pictures are sorted by name, then by class, so any run of them has all classes.

    Parameters
    ----------
    path : Path
        A folder or archive: binary batches, Python's batches (whose pickles are read, never run), or pictures.
    part : {"train", "validation", "test"}
        Which part.
    limit : int, optional
        The first so many images.

    Returns
    -------
    ImageSet
        Images of shape (32, 32, 3). Pictures in JPEG differ from the original images, and a note says so.

    Raises
    ------
    InputError
        If files are missing, truncated or of another kind.
    NotSupportedError
        If there are pictures, and Pillow is not installed.
    """
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
    data = members.read([batches[name] for name in wanted])
    read = read_binary_batch if ending else read_python_batch
    read_batches = [read(name, data.pop(batches[name]), len(_CLASSES)) for name in wanted]
    images = np.ascontiguousarray(np.concatenate([images for images, _ in read_batches]))
    labels = np.concatenate([labels for _, labels in read_batches])
    for array in (images, labels):
        array.flags.writeable = False
    chosen = _chosen(len(images), part, limit)
    return ImageSet("cifar10", part, images[chosen], labels[chosen], _CLASSES)


def _from_pictures(members: Members, pictures: list[re.Match[str]], part: str, limit: int | None) -> ImageSet:
    classes = tuple(sorted({found[2] for found in pictures}))
    own = [found for found in pictures if (found[1].lower() == "test") == (part == "test")]
    own.sort(key=lambda found: (found[3], found[2]))
    own = own[_chosen(len(own), part, limit)]
    names = [found[0] for found in own]
    data = members.read(names)
    images = decode_pictures(((name, data.pop(name)) for name in names), _SHAPE, resize=False)
    labels = np.array([classes.index(found[2]) for found in own], np.int64)
    lossy = any(name.lower().endswith(_LOSSY) for name in names)
    notes = ("the pictures are JPEG: their pixels are not exactly those of CIFAR-10",) if lossy else ()
    named = (f"the classes are those of the folders: {show(', '.join(classes))}",) if classes != _CLASSES else ()
    return ImageSet("cifar10", part, images, labels, classes, notes=(*notes, *named))


def _chosen(n_images: int, part: str, limit: int | None) -> slice:
    within = slice(0, n_images) if part == "test" else end_of_train(n_images, _SHARES, part)
    return within if limit is None else slice(within.start, min(within.stop, within.start + limit))
