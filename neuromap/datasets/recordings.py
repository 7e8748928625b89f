"""Event recordings from users' files: N-MNIST, DVS Gesture and Spiking Heidelberg Digits, binned into frames.

An event tells when (in microseconds), where and in which direction a pixel changed. A frame holds the events of one
time bin, up to a maximum per pixel. Sizes of files are checked before reading; HDF5 is read in a separate process.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.members import open_members
from neuromap.datasets.streams import MOST_BYTES, MOST_FRAMES, check_room, told
from neuromap.datasets.tracks import MOST_TICKS, ImageSet, slice_of_part
from neuromap.errors import InputError
from neuromap.files.confined import confined
from neuromap.files.foreign import HEAD, check_regular, file_kind
from neuromap.files.messages import show, show_name
from neuromap.files.whole_chunks import has_whole_chunks
from neuromap.options import option
from neuromap.registry import require_package

# The last sixth of the training recordings is for validation.
_SHARES = 6
_UNITS: Mapping[str, int] = ReadOnlyMapping({"us": 1, "ms": 1000, "s": 1_000_000})
_BIN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(us|ms|s)")
_LONGEST_BIN = 10**9
# Most bytes of a part's recordings: they are read one at a time, and frames have their own bound.
_MOST_OF_PART = 2**33


@dataclass(frozen=True)
class Recorded:
    """How recordings become frames; the settings of their sources."""

    bin: str = option("TIME  Time that a frame holds the events of, such as 500us, 10ms or 0.1s.", "10ms")
    frames: int = option("N  Frames of a stream, from its beginning on.", 30, within=(1, MOST_FRAMES))
    ticks: int = option("N  Ticks that a frame lasts.", 1, within=(1, MOST_TICKS))
    shrink: int = option("N  Events of squares of N x N pixels are taken together.", 1, within=(1, 128))
    counts: int = option("N  Most events of a pixel in a frame that count.", 1, within=(1, 255))

    def __post_init__(self) -> None:
        assert self.microseconds  # refuses an invalid bin at once

    @property
    def microseconds(self) -> Fraction:
        """Length of a bin, exactly: of 8.3s, rounded, an event on an edge would be a frame early."""
        found = _BIN.fullmatch(self.bin)
        bin = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(0)
        if not 1 <= bin <= _LONGEST_BIN:
            raise InputError(f"bin={show_name(self.bin)}: must be a time from 1us to 1000s, such as 500us or 10ms")
        return bin


@dataclass(frozen=True)
class GestureRecorded(Recorded):
    """How gestures of some seconds, on 128 x 128 pixels, become frames."""

    bin: str = option("TIME  Time that a frame holds the events of, such as 500us, 10ms or 0.1s.", "50ms")
    frames: int = option("N  Frames of a stream, from its beginning on.", 40, within=(1, MOST_FRAMES))
    shrink: int = option("N  Events of squares of N x N pixels are taken together.", 4, within=(1, 128))


@dataclass(frozen=True)
class SpeechRecorded(Recorded):
    """How spoken digits of about a second, on 700 channels, become frames."""

    frames: int = option("N  Frames of a stream, from its beginning on.", 100, within=(1, MOST_FRAMES))
    shrink: int = option("N  Events of N channels side by side are taken together.", 1, within=(1, 128))


class _Sensor(NamedTuple):
    rows: int
    columns: int
    features: int

    def shape(self, asked: Recorded) -> tuple[int, int, int]:
        """Return the shape of a frame."""
        return -(-self.rows // asked.shrink), -(-self.columns // asked.shrink), self.features


class _Events(NamedTuple):
    time: NDArray[np.float64]  # microseconds since the start of the stream
    row: NDArray[np.integer]
    column: NDArray[np.integer]
    feature: NDArray[np.integer]


def _binned(events: _Events, sensor: _Sensor, asked: Recorded) -> NDArray[np.uint8]:
    """Count the events of every bin, shape (frames, rows, columns, features)."""
    shape = (asked.frames, *sensor.shape(asked))
    frame = np.floor(events.time * asked.microseconds.denominator / asked.microseconds.numerator)
    chosen = (frame >= 0) & (frame < asked.frames)
    places = (
        frame[chosen].astype(np.int64),
        events.row[chosen] // asked.shrink,
        events.column[chosen] // asked.shrink,
        events.feature[chosen],
    )
    frames = np.zeros(math.prod(shape), np.uint8)
    where, counts = np.unique(np.ravel_multi_index(places, shape), return_counts=True)
    frames[where] = np.minimum(counts, asked.counts)
    return frames.reshape(shape)


def _made(
    scheme: str, asked: Recorded, part: str, images: NDArray[np.uint8], labels: list[int], classes: tuple[str, ...]
) -> ImageSet:
    lasts = "a tick" if asked.ticks == 1 else f"{asked.ticks} ticks"
    return ImageSet(
        told(asked, scheme),
        part,
        adopted(images),
        np.array(labels, np.int64),
        classes,
        white=asked.counts,
        notes=(f"a frame holds the events of {asked.bin} and lasts {lasts}: real time where ticks last as long",),
        frame_ticks=asked.ticks,
    )


_Item = TypeVar("_Item")


def _of_part(found: list[_Item], part: str, limit: int | None) -> list[_Item]:
    """Select a part of the training items, or all test items."""
    return found[slice_of_part(len(found), _SHARES, part, limit)]


# N-MNIST (G. Orchard, A. Jayawant, G. Cohen, N. Thakor, Converting static image datasets to spiking neuromorphic
# datasets using saccades, 2015): folders Train and Test, one folder per digit, files with 5 bytes per event.

_NMNIST = _Sensor(34, 34, 2)
_SACCADES = re.compile(r"(?:.*/)?(train|test)/([0-9])/(\d{1,9})\.bin", re.IGNORECASE)
_BYTES_OF_EVENT = 5
# Most bytes of a recording: original ones have about 20,000.
_MOST_OF_SACCADES = 2**24


def load_nmnist(path: Path, asked: Recorded, part: str, limit: int | None = None) -> ImageSet:
    """Read N-MNIST; recordings are in the order of their numbers, like the images of MNIST."""
    with open_members(path) as members:
        parsed = {name: fits for name in members.names if (fits := _SACCADES.fullmatch(name)) is not None}
        found = [name for name, fits in parsed.items() if (fits[1].lower() == "test") == (part == "test")]
        if not found:
            folder = "Test" if part == "test" else "Train"
            raise InputError(f"has no recordings {folder}/DIGIT/NUMBER.bin; give the folder that holds Train and Test")
        chosen = _of_part(sorted(found, key=lambda name: (int(parsed[name][3]), name)), part, limit)
        check_room(len(chosen), asked.frames, _NMNIST.shape(asked))
        images = np.zeros((len(chosen), asked.frames, *_NMNIST.shape(asked)), np.uint8)
        places = {name: k for k, name in enumerate(chosen)}
        for name, data in members.each(chosen, _MOST_OF_PART, _MOST_OF_SACCADES):
            images[places[name]] = _binned(saccades(name, data), _NMNIST, asked)
    labels = [int(parsed[name][2]) for name in chosen]
    return _made("nmnist", asked, part, images, labels, tuple("0123456789"))


def saccades(name: str, data: bytes) -> _Events:
    """Read the events of an N-MNIST file: column, row, then one bit of polarity and 23 bits of microseconds."""
    if len(data) % _BYTES_OF_EVENT:
        raise InputError(f"{show(name)}: has {len(data)} bytes; an event takes 5, so it is not whole; fetch it again")
    column, row, high, middle, low = np.frombuffer(data, np.uint8).reshape(-1, _BYTES_OF_EVENT).T.astype(np.int64)
    _check_places(name, row, column, _NMNIST)
    return _Events(((high & 127) << 16 | middle << 8 | low).astype(np.float64), row, column, 1 - (high >> 7))


def _check_places(name: str, row: NDArray[np.integer], column: NDArray[np.integer], sensor: _Sensor) -> None:
    for what, found, most in (("row", row, sensor.rows), ("column", column, sensor.columns)):
        if found.max(initial=0) >= most or found.min(initial=0) < 0:
            wrong = int(found[(found >= most) | (found < 0)][0])
            raise InputError(f"{show(name)}: has an event in {what} {wrong}; allowed are 0 to {most - 1}")


# DVS Gesture (A. Amir et al., A low power, fully event-based gesture recognition system, CVPR 2017): a recording in
# AEDAT 3.1 format and a list of gestures for every user and lighting condition, and two lists of recordings.

_GESTURES = (
    "hand clapping", "right hand wave", "left hand wave", "right arm clockwise", "right arm counter clockwise",
    "left arm clockwise", "left arm counter clockwise", "arm roll", "air drums", "air guitar", "other gestures",
)  # fmt: skip
_DVS = _Sensor(128, 128, 2)
_LISTS: Mapping[bool, str] = ReadOnlyMapping({False: "trials_to_train.txt", True: "trials_to_test.txt"})
_USER = re.compile(r"(user\d{1,4})_[\w-]{1,100}\.aedat")
_MOST_OF_LISTS = 2**20
# Most bytes of a recording: original ones have up to 100 million; in memory they take five times as many.
_MOST_OF_RECORDING = 2**27
# Most gestures of a recording: original ones have a dozen.
_MOST_GESTURES = 1000
_HEADER_END = b"#!END-HEADER\r\n"
_MOST_OF_HEADER = 2**16
_WORDS = ("size", "offset", "overflow", "capacity", "number", "valid")
_BLOCK = np.dtype([("type", "<u2"), ("source", "<u2"), *((word, "<u4") for word in _WORDS)])
_POLARITY = 1


class _Gesture(NamedTuple):
    recording: str
    start: int  # microseconds
    end: int
    label: int


def load_gestures(path: Path, asked: Recorded, part: str, limit: int | None = None) -> ImageSet:
    """Read DVS Gesture: every listed gesture is a stream; the last sixth of the training users is for validation."""
    with open_members(path) as members:
        gestures = list(_gestures(members.names, lambda names: dict(members.each(names, _MOST_OF_LISTS)), part))
        chosen = gestures[:limit]
        check_room(len(chosen), asked.frames, _DVS.shape(asked))
        images = np.zeros((len(chosen), asked.frames, *_DVS.shape(asked)), np.uint8)
        recordings = list(dict.fromkeys(gesture.recording for gesture in chosen))
        for name, data in members.each(recordings, _MOST_OF_PART, _MOST_OF_RECORDING):
            events = aedat_events(name, data)
            for k, gesture in enumerate(chosen):
                if gesture.recording == name:
                    here = (events.time >= gesture.start) & (events.time <= gesture.end)
                    shown = _Events(events.time[here] - gesture.start, *(column[here] for column in events[1:]))
                    images[k] = _binned(shown, _DVS, asked)
    return _made("dvs-gesture", asked, part, images, [gesture.label for gesture in chosen], _GESTURES)


def _gestures(names: list[str], read: Callable[[list[str]], dict[str, bytes]], part: str) -> Iterator[_Gesture]:
    """Yield the gestures of a part, recording by recording."""
    of_list = _LISTS[part == "test"]
    lists = [name for name in names if PurePosixPath(name).name == of_list]
    if len(lists) != 1:
        raise InputError(f"has {len(lists) or 'no'} files {of_list}; give the folder that holds it and the recordings")
    folder = PurePosixPath(lists[0]).parent
    listed = [line.strip() for line in read(lists)[lists[0]].decode(errors="replace").splitlines() if line.strip()]
    users: dict[str, list[str]] = {}
    for line in listed:
        fits = _USER.fullmatch(line)
        if fits is None:
            raise InputError(f"{of_list}: found {show_name(line)}; allowed are names like user01_led.aedat")
        users.setdefault(fits[1], []).append(line)
    mine = [line for user in _of_part(list(users), part, None) for line in users[user]]
    tables = {line: str(folder / f"{line.removesuffix('.aedat')}_labels.csv") for line in mine}
    for name in (*(str(folder / line) for line in mine), *tables.values()):
        if name not in names:
            raise InputError(f"{show(name)}: is in {of_list}, but not in the folder; fetch the set again")
    texts = read(list(tables.values()))
    for line, table in tables.items():
        yield from labelled(str(folder / line), table, texts[table])


def labelled(recording: str, name: str, data: bytes) -> list[_Gesture]:
    """Read a recording's list of gestures: ``class,startTime_usec,endTime_usec``."""
    reader = csv.DictReader(io.StringIO(data.decode(errors="replace")))
    columns = ("class", "startTime_usec", "endTime_usec")
    found: list[_Gesture] = []
    try:
        if not {*columns} <= {*(reader.fieldnames or ())}:
            raise InputError(f"{show(name)}: its first line has no columns {', '.join(columns)}")
        for row in reader:
            where = f"{show(name)}, line {reader.line_num}"
            words = [(row[column] or "").strip() for column in columns]
            if not all(re.fullmatch(r"\d{1,15}", word) for word in words):
                raise InputError(f"{where}: found {show_name(','.join(words))}; allowed are three whole numbers")
            label, start, end = map(int, words)
            if not 1 <= label <= len(_GESTURES) or start >= end:
                raise InputError(
                    f"{where}: found class {label} from {start} to {end}; allowed are classes 1 to {len(_GESTURES)}, "
                    "and an end after the start"
                )
            found.append(_Gesture(recording, start, end, label - 1))
            if len(found) > _MOST_GESTURES:
                raise InputError(f"{show(name)}: has more than {_MOST_GESTURES} gestures; fetch it again")
    except csv.Error as reason:
        raise InputError(f"{show(name)}: is not a table parted by commas ({reason})") from None
    return found


def aedat_events(name: str, data: bytes) -> _Events:
    """Read the polarity events of an AEDAT 3.1 recording (iniLabs); other events are skipped."""
    end = data.find(_HEADER_END, 0, _MOST_OF_HEADER)
    if not data.startswith(b"#!AER-DAT3.") or end < 0:
        kind = file_kind(data[:HEAD])
        raise InputError(f"{show(name)}: is {kind or 'not a recording in AEDAT 3.1'}; expected one, with its header")
    place = end + len(_HEADER_END)
    found, times = [np.zeros(0, np.uint32)], [np.zeros(0, np.float64)]  # a recording has many: 12 bytes each
    while place < len(data):
        if place + _BLOCK.itemsize > len(data):
            raise InputError(f"{show(name)}: ends within the head of a block; fetch it again")
        (block,) = np.frombuffer(data, _BLOCK, 1, place)
        place += _BLOCK.itemsize
        size, number = int(block["size"]), int(block["number"])
        if place + size * number > len(data) or (not size and number):
            raise InputError(
                f"{show(name)}: a block at byte {place} has {number} events of {size} bytes, {len(data) - place} "
                "bytes are left; fetch it again"
            )
        if block["type"] == _POLARITY:
            if size != 8:
                raise InputError(f"{show(name)}: a block at byte {place} has events of {size} bytes; allowed are 8")
            pairs = np.frombuffer(data, "<u4", 2 * number, place).reshape(-1, 2)
            pairs = pairs[pairs[:, 0] & 1 == 1]  # others are invalidated
            found.append(pairs[:, 0])
            times.append(pairs[:, 1] + float(int(block["overflow"]) << 31))
        place += size * number
    bits = np.concatenate(found)
    row, column, darker = (part.astype(np.int16) for part in (bits >> 2 & 0x7FFF, bits >> 17, ~bits >> 1 & 1))
    _check_places(name, row, column, _DVS)
    return _Events(np.concatenate(times), row, column, darker)


# Spiking Heidelberg Digits (B. Cramer, Y. Stradmann, J. Schemmel, F. Zenke, The Heidelberg spiking data sets for the
# systematic evaluation of spiking neural networks, 2020): HDF5 with times in seconds and channels per recording.

_CHANNELS = _Sensor(1, 700, 1)
_SPOKEN = tuple(
    f"{language} {word}"
    for language, words in (
        ("English", "zero one two three four five six seven eight nine"),
        ("German", "null eins zwei drei vier fuenf sechs sieben acht neun"),
    )
    for word in words.split()
)
_FILES: Mapping[bool, str] = ReadOnlyMapping({False: "shd_train.h5", True: "shd_test.h5"})
_MOST_OF_FILE = 2**31
_MOST_RECORDINGS = 10**6
# Most events of a recording: original ones have up to 25,000.
_MOST_OF_EVENTS = 2**22
# Bytes that the library and one recording may take besides the frames.
_BESIDE = 2**28
# Limits of work for reading: a base for small files, and a least rate for others, several times below usual.
_SECONDS, _BYTES_A_SECOND = 5.0, 10**6


def load_spoken(path: Path, asked: SpeechRecorded, part: str, limit: int | None = None) -> ImageSet:
    """Read Spiking Heidelberg Digits; the last sixth of the training recordings is for validation."""
    require_package("Spiking Heidelberg Digits", "h5py", "nir")
    name = _FILES[part == "test"]
    file = path / name if path.is_dir() else path
    if not path.is_dir() and path.exists() and path.name != name:
        raise InputError(f"is {show(path.name)}; part {part} is in {name}, give the folder of both files")
    size = check_regular(file, f"{name} (HDF5)", InputError).st_size
    with file.open("rb") as stream:
        head = stream.read(HEAD)
    if (kind := file_kind(head)) != "an HDF5 file":
        raise InputError(f"{name}: is {kind or 'not an HDF5 file'}; expected one, unpacked")
    if size > _MOST_OF_FILE:
        raise InputError(f"{name}: has {size} bytes; allowed are {_MOST_OF_FILE}")
    n_bytes = asked.frames * math.prod(_CHANNELS.shape(asked))
    asked_of = {"path": str(file), "part": part, "limit": limit, "settings": asdict(asked)}
    most = min(MOST_BYTES, n_bytes * (_MOST_RECORDINGS if limit is None else limit))
    work = _SECONDS + size / _BYTES_A_SECOND
    _, arrays = confined(
        f"{__name__}:spoken_content",
        asked_of,
        name,
        memory=2 * most + _BESIDE,
        work=work,
        seconds=12 * work,
        keep=True,
    )
    return _made("shd", asked, part, arrays["frames"], arrays["labels"].tolist(), _SPOKEN)


def spoken_content(
    path: str, part: str, limit: int | None, settings: Mapping[str, object]
) -> tuple[None, dict[str, NDArray[np.generic]]]:
    """Read a file with h5py and bin its recordings, in the process started by :func:`load_spoken`."""
    import h5py

    asked = SpeechRecorded(**settings)  # type: ignore[arg-type] # as they were taken apart
    try:
        with h5py.File(path, "r") as file:
            times, units, labels = (_array(h5py, file, name) for name in ("spikes/times", "spikes/units", "labels"))
            if not len(times) == len(units) == len(labels) <= _MOST_RECORDINGS:
                raise InputError(
                    f"{len(times)} times, {len(units)} units, {len(labels)} labels of recordings; allowed are as many "
                    f"of each, at most {_MOST_RECORDINGS}"
                )
            if labels.dtype.kind not in "iu":
                raise InputError(f"labels are of {labels.dtype}; allowed are whole numbers, 0 to {len(_SPOKEN) - 1}")
            chosen = _of_part(list(range(len(labels))), part, limit)
            check_room(len(chosen), asked.frames, _CHANNELS.shape(asked))
            named = np.array([labels[k] for k in chosen], np.int64)
            if named.min(initial=0) < 0 or named.max(initial=0) >= len(_SPOKEN):
                wrong = named.min() if named.min() < 0 else named.max()
                raise InputError(f"found the label {wrong}; allowed are 0 to {len(_SPOKEN) - 1}")
            frames = np.zeros((len(chosen), asked.frames, *_CHANNELS.shape(asked)), np.uint8)
            for k, number in enumerate(chosen):
                frames[k] = _binned(_spoken(number, times[number], units[number]), _CHANNELS, asked)
            return None, {"frames": frames, "labels": named}
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, UnicodeError) as error:
        text = " ".join(str(error).split())[:160]
        raise InputError(f"is not a complete file of Spiking Heidelberg Digits ({show_name(text)})") from None


def _array(h5py: Any, file: Any, name: str) -> Any:
    """Return a dataset that is in the file itself, not a link to elsewhere."""
    place = PurePosixPath(name)
    for step in (*reversed(place.parents[:-1]), place):
        if not isinstance(file.get(str(step), getlink=True), h5py.HardLink):
            raise InputError(f"has no {name}; give the files as their makers have them")
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.ndim != 1 or found.external or found.is_virtual:
        raise InputError(f"{name} is not a list of recordings that is in the file")
    if not has_whole_chunks(found):
        raise InputError(f"{name} has chunks that are not whole; fetch the file again")
    return found


def _spoken(number: int, times: Any, units: Any) -> _Events:
    """Check the events of a recording."""
    time, unit = np.asarray(times), np.asarray(units)
    if not time.ndim == unit.ndim == 1 or len(time) != len(unit) or len(time) > _MOST_OF_EVENTS:
        raise InputError(
            f"recording {number}: has {time.size} times and {unit.size} units; allowed are as many of both, at most "
            f"{_MOST_OF_EVENTS}"
        )
    if time.dtype.kind != "f" or unit.dtype.kind not in "iu" or not np.isfinite(time).all():
        raise InputError(f"recording {number}: times are no numbers of seconds, or units no numbers of channels")
    column = unit.astype(np.int64)
    nowhere = np.zeros(len(time), np.int64)
    _check_places(f"recording {number}", nowhere, column, _CHANNELS)
    return _Events(time.astype(np.float64) * 1e6, nowhere, column, nowhere)
