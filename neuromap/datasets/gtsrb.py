"""GTSRB, the German traffic sign recognition benchmark (Stallkamp, Schlipsing, Salmen, Igel, IJCNN 2011).

A folder per class holds pictures (PPM) named ``TRACK_NUMBER.ppm``, of up to thirty per track, and a list of them,
``GT-CLASS.csv``. Tracks can be told apart in the training pictures only, so all parts are drawn from these.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from itertools import chain, groupby, pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.members import MOST_MEMBERS, Members, open_members
from neuromap.datasets.pictures import decode_pictures
from neuromap.datasets.splits import part_of_tracks
from neuromap.errors import InputError
from neuromap.files.messages import show

__all__ = ["load_gtsrb"]

_CLASSES = tuple(f"{number:05d}" for number in range(43))
_SHAPE = (32, 32)
_MOST_OF_LISTS = 2**26
"""Bytes of all lists: those of the makers take 2 MB."""
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
    """Read the traffic signs, brought to 32 x 32 pixels."""
    # Of the tracks, in a drawn order, 80 % are ``train``, 10 % ``validation`` and 10 % ``test``. Whole pictures are
    # taken, with the border around the sign.
    with open_members(path) as members:
        chosen = _pictures_of(members, part)[:limit]
        places = {picture.name: k for k, picture in enumerate(chosen)}
        images = decode_pictures(members.each(places), places, _SHAPE, resize=True)
    labels = np.array([picture.label for picture in chosen], np.int64)
    return ImageSet("gtsrb", part, images, labels, _CLASSES, tracks=_tracks(chosen))


def _tracks(pictures: list[_Listed]) -> NDArray[np.int64]:
    """Give every picture the number of its track, in the order in which tracks come."""
    numbers: dict[tuple[str, int], int] = {}
    keys = [(picture.folder, picture.track) for picture in pictures]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _pictures_of(members: Members, part: str) -> list[_Listed]:
    lists = [name for name in members.names if _LIST.fullmatch(PurePosixPath(name).name)]
    if not lists:
        raise InputError("has no lists GT-00000.csv and so on; give the folder of the training pictures, a class each")
    listed: list[_Listed] = []
    for name, text in members.each(lists, _MOST_OF_LISTS):
        try:
            listed += _listed(name, text, MOST_MEMBERS - len(listed))
        except csv.Error as reason:
            raise InputError(f"list {show(name)}: is no table parted by semicolons ({reason})") from None
    listed.sort()
    _check_there(listed, members.sizes.keys())
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


def _check_there(listed: list[_Listed], names: Collection[str]) -> None:
    for one, other in pairwise(listed):
        if one.name == other.name:
            raise InputError(f"picture {show(one.name)}: is in the list twice; fetch the set again")
    for picture in listed:
        if picture.name not in names:
            raise InputError(
                f"picture {show(picture.name)}: is in the list, but not in the folder; fetch the set again"
            )
