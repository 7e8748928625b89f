"""Load images by the name of their source, such as ``npz:FILE``, ``folder:DIR``, ``mnist:PATH`` or ``digits``."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, groupby, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.cifar10 import load_cifar10
from neuromap.datasets.members import MOST_MEMBERS, Members, open_members
from neuromap.datasets.mnist import load_mnist
from neuromap.datasets.moving_digits import Events, Scene, moving_digits, name_of_scene
from neuromap.datasets.own_images import load_folder, load_npz
from neuromap.datasets.pictures import decode_pictures
from neuromap.datasets.recordings import (
    GestureRecorded,
    Recorded,
    SpeechRecorded,
    load_gestures,
    load_nmnist,
    load_spoken,
)
from neuromap.datasets.streams import path_and_settings, settings_of, told
from neuromap.datasets.tracks import PARTS, SPLIT_SEED, ImageSet, part_of_tracks, slice_of_part, uniform
from neuromap.errors import InputError
from neuromap.files.argument_checks import whole_number
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.registry import require_package

# GTSRB, the German traffic sign recognition benchmark (Stallkamp, Schlipsing, Salmen, Igel, IJCNN 2011).
#
# One folder per class holds pictures (PPM) named ``TRACK_NUMBER.ppm``, up to thirty per track, and their list,
# ``GT-CLASS.csv``. Only training pictures identify tracks, so all parts are drawn from these.

_CLASSES = tuple(f"{number:05d}" for number in range(43))
_SHAPE = (32, 32)
# Most bytes of all lists: original ones take 2 MB.
_MOST_OF_LISTS = 2**26
_LIST = re.compile(r"GT-\d{5}\.csv")
_PICTURE = re.compile(r"(\d{1,9})_(\d{1,9})\.ppm")


class _Listed(NamedTuple):
    """A picture in a list; sorted by track, then by number."""

    folder: str
    track: int
    number: int
    name: str
    label: int


def load_gtsrb(path: Path, part: str, limit: int | None = None) -> ImageSet:
    """Read the traffic signs, resized to 32 x 32 pixels."""
    # Of the tracks, in random order, 80 % are ``train``, 10 % ``validation`` and 10 % ``test``. Whole pictures are
    # used, with the border around the sign.
    with open_members(path) as members:
        chosen = _pictures_of(members, part)[:limit]
        places = {picture.name: k for k, picture in enumerate(chosen)}
        images = decode_pictures(members.each(places), places, _SHAPE, resize=True)
    labels = np.array([picture.label for picture in chosen], np.int64)
    numbers: dict[tuple[str, int], int] = {}  # of tracks, in order of first appearance
    tracks = [numbers.setdefault((picture.folder, picture.track), len(numbers)) for picture in chosen]
    return ImageSet("gtsrb", part, images, labels, _CLASSES, tracks=np.array(tracks, np.int64))


def _pictures_of(members: Members, part: str) -> list[_Listed]:
    lists = [name for name in members.names if _LIST.fullmatch(PurePosixPath(name).name)]
    if not lists:
        raise InputError("has no lists GT-00000.csv and so on; give the folder of the training pictures, a class each")
    listed: list[_Listed] = []
    for name, text in members.each(lists, _MOST_OF_LISTS):
        try:
            listed += _listed(name, text, MOST_MEMBERS - len(listed))
        except csv.Error as reason:
            raise InputError(f"list {show(name)}: is not a table parted by semicolons ({reason})") from None
    listed.sort()
    for one, other in pairwise(listed):
        if one.name == other.name:
            raise InputError(f"picture {show(one.name)}: is in the list twice; fetch the set again")
    for picture in listed:
        if picture.name not in members.sizes:
            raise InputError(
                f"picture {show(picture.name)}: is in the list, but not in the folder; fetch the set again"
            )
    tracks = [list(track) for _, track in groupby(listed, key=lambda picture: (picture.folder, picture.track))]
    return list(chain.from_iterable(tracks[number] for number in part_of_tracks(len(tracks), part)))


def _listed(name: str, data: bytes, most: int) -> Iterator[_Listed]:
    """Read a list: ``Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId``."""
    folder = PurePosixPath(name).parent
    reader = csv.DictReader(io.StringIO(data.decode(errors="replace")), delimiter=";")
    if not {"Filename", "ClassId"} <= set(reader.fieldnames or ()):
        raise InputError(f"list {show(name)}: its first line has no columns Filename and ClassId, parted by semicolons")
    for count, row in enumerate(reader):
        if count >= most:
            raise InputError(f"list {show(name)}: with those before it names more than {MOST_MEMBERS} pictures")
        picture, label = _PICTURE.fullmatch(row["Filename"] or ""), row["ClassId"] or ""
        where = f"list {show(name)}, line {reader.line_num}"
        if picture is None:
            raise InputError(f"{where}: found the file {show(row['Filename'])}; allowed are names like 00000_00012.ppm")
        if not re.fullmatch(r"\d{1,9}", label) or int(label) >= len(_CLASSES):
            raise InputError(f"{where}: found the class {show(label)}; allowed are 0 to {len(_CLASSES) - 1}")
        yield _Listed(str(folder), int(picture[1]), int(picture[2]), str(folder / picture[0]), int(label))


class _Source(NamedTuple):
    """A kind of source."""

    load: Callable[..., ImageSet]  # loads a part, given path and settings (if it has them), part and limit
    place: str = ""  # placeholder of the path; empty if there is none
    had_at: str = ""  # where to get the original files
    settings: type[Any] | None = None  # settings after the path or the colon: ``nmnist:PATH,bin=5ms``


def _moving(scene: Scene, part: str, limit: int | None) -> ImageSet:
    return moving_digits(scene, part, limit, load_images)


_KINDS: Mapping[str, _Source] = ReadOnlyMapping(
    {
        "mnist": _Source(
            load_mnist, "PATH", "the four files are at https://storage.googleapis.com/cvdf-datasets/mnist"
        ),
        "cifar10": _Source(
            load_cifar10, "PATH", "the archive is at https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
        ),
        "gtsrb": _Source(
            load_gtsrb, "PATH", "the archive GTSRB_Final_Training_Images.zip is at https://benchmark.ini.rub.de"
        ),
        "npz": _Source(load_npz, "FILE"),
        "folder": _Source(load_folder, "DIR"),
        "nmnist": _Source(
            load_nmnist, "PATH", "its archives are at https://www.garrickorchard.com/datasets/n-mnist", Recorded
        ),
        "dvs-gesture": _Source(
            load_gestures,
            "PATH",
            "the archive DvsGesture.tar.gz is at https://research.ibm.com/interactive/dvsgesture",
            GestureRecorded,
        ),
        "shd": _Source(load_spoken, "PATH", "its files, packed, are at https://zenkelab.org/datasets", SpeechRecorded),
        "moving-digits": _Source(_moving, settings=Scene),
        "events": _Source(_moving, settings=Events),
        "digits": _Source(lambda part, limit: load_digits(part, limit)),
    }
)
# Names of sources.
SCHEMES = tuple(_KINDS)


def load_images(source: str, part: str, *, limit: int | None = None) -> ImageSet:
    """Read one part of a set of labelled images; nothing is ever downloaded.

    Parameters
    ----------
    source : str
        ``npz:FILE``, arrays of images and labels; ``folder:DIR``, one folder of pictures per class; ``mnist:PATH``,
        the folder of the four files; ``cifar10:PATH``, a folder or archive of batches or pictures; ``gtsrb:PATH``, a
        folder or archive of the training pictures; ``digits``, included in scikit-learn; ``moving-digits`` and
        ``events``, generated streams, with settings after a colon, such as ``moving-digits:flash=3,bars=2``;
        ``nmnist:PATH``, ``dvs-gesture:PATH`` and ``shd:PATH``, folders of event recordings, with settings after the
        path, such as ``nmnist:PATH,bin=5ms,frames=60``.
    part : {"train", "validation", "test"}
        Part to read. Files of the test part are opened only if it is requested.
    limit : int, optional
        Number of images to read, the first of the part, for a quick look; 1 or more.

    Returns
    -------
    ImageSet

    Raises
    ------
    InputError
        If source or part is unknown, or a file is missing, truncated or of another kind.
    NotSupportedError
        If the library that reads the files is not installed.
    """
    scheme, place, settings = _source(source)
    kind = _KINDS[scheme]
    try:
        path = Path(place).expanduser() if place else None
    except RuntimeError:  # ~NAME of an unknown user
        raise InputError(f"{show_name(source)}: there is no home of this name; write the path in full") from None
    if part not in PARTS:
        near = did_you_mean(part, PARTS) if isinstance(part, str) else ""
        raise InputError(f"part {show(part)}: allowed are {', '.join(PARTS)}{near}")
    if limit is not None and whole_number("limit", limit) < 1:
        raise InputError(f"limit = {limit}: must be 1 or more images; leave it out for all")
    try:
        with foreign_boundary(f"files of {scheme}"):
            asked = None if kind.settings is None else _settings(scheme, settings)
            found = kind.load(*(one for one in (path, asked) if one is not None), part, limit)
        if not len(found.images):
            raise InputError(f"part {part} has no images; the set is too small to be split")
    except InputError as error:
        told = f"{show_name(source)}: {error}"
        if kind.had_at and path is not None and not _is_there(path, Path.exists):
            told += f" (looked for at {show_name(str(path.absolute()))}); {kind.had_at}"
        raise InputError(told) from None
    return found


def name_of_source(source: str) -> str:
    """Return a source's name without the location of its files, by which results are identified."""
    scheme, _, settings = _source(source)
    if _KINDS[scheme].settings is None:
        return scheme
    asked = _settings(scheme, settings)
    return name_of_scene(asked) if isinstance(asked, Scene) else told(asked, scheme)


def _settings(scheme: str, text: str) -> Any:
    kind = _KINDS[scheme]
    assert kind.settings is not None
    return settings_of(kind.settings, f"{scheme}:{kind.place}" if kind.place else scheme, text)


def _source(source: object) -> tuple[str, str, str]:
    """Split a source into its scheme, path and settings."""
    if not isinstance(source, str):
        raise InputError(f"source {show(source)}: allowed is a text such as mnist:PATH or digits")
    scheme, _, rest = source.partition(":")
    kind = _KINDS.get(scheme)
    if kind is None:
        allowed = ", ".join(f"{name}:{one.place}" if one.place else name for name, one in _KINDS.items())
        if Path(source).suffix == ".npz" or _is_there(Path(source), Path.is_dir):
            allowed += f"; for this one {'npz' if Path(source).suffix == '.npz' else 'folder'}:{source}"
        raise InputError(f"source {show(source)}: allowed are {allowed}{did_you_mean(scheme, SCHEMES)}")
    if kind.place and not rest:
        raise InputError(f"source {show(source)}: give its place, {scheme}:{kind.place}")
    if kind.settings is None:
        if rest and not kind.place:
            raise InputError(f"source {show(source)}: takes no path, give {scheme}")
        return scheme, rest, ""
    return scheme, *(path_and_settings(rest) if kind.place else ("", rest))


def _is_there(path: Path, asked: Callable[[Path], bool]) -> bool:
    try:
        return asked(path)
    except (OSError, ValueError):  # a name that is too long, or contains a null character
        return False


# The handwritten digits of scikit-learn: 8 x 8 pixels, intensities 0 to 16.
_HELD_OUT = 400
_SHARES = 5
_WHITE = 16


def load_digits(part: str, limit: int | None = None) -> ImageSet:
    """Read the digits."""
    # The 1797 images are sorted by label, in random order within a label, and every 4.49th is held out: these 400 are
    # the test part, with the same proportion of each digit as the whole. Of the 1397 others, in random order, the last
    # fifth (279) is the validation part. Writers of digits occur in all parts.
    images, labels = _all_digits()
    within_label, drawn = uniform((2, len(labels)), SPLIT_SEED)
    by_label = np.lexsort((within_label, labels))
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[by_label[np.arange(_HELD_OUT) * len(labels) // _HELD_OUT]] = True
    order = np.argsort(drawn)
    chosen = order[held_out[order] == (part == "test")]
    chosen = chosen[slice_of_part(len(chosen), _SHARES, part, limit)]
    classes = tuple(str(digit) for digit in range(10))
    return ImageSet("digits", part, images[chosen], labels[chosen], classes, _WHITE)


def _all_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    require_package("digits", "sklearn", "examples", "scikit-learn")
    from sklearn import datasets

    found: Any = datasets.load_digits()
    return found.images.astype(np.uint8)[..., np.newaxis], found.target.astype(np.int64)
