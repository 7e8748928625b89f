"""JPEG, PNG or PPM pictures as arrays, by Pillow: upright, opaque, of 8 bits."""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show
from neuromap.registry import require_package

# File extensions of supported pictures.
PICTURES = (".jpg", ".jpeg", ".png", ".ppm")
# Most pixels of a picture to be resized: those of traffic signs have up to 250 x 250.
MOST_PIXELS = 2**20
_OPAQUE = 255
_FORMATS = ("JPEG", "PNG", "PPM")
# File extensions of other pictures: left out in silence, they would take images or a class from a set.
_OTHERS = (
    ".avif", ".bmp", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpe", ".pbm", ".pgm", ".pnm", ".svg", ".tga", ".tif",
    ".tiff", ".webp",
)  # fmt: skip
# Number of its entry in EXIF.
_ORIENTATION = 0x0112
# What puts a picture upright, by its orientation in EXIF; ``ImageOps`` writes the EXIF anew, and fails at damage.
_TURNS = ReadOnlyMapping({
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
    8: "ROTATE_90",
})  # fmt: skip
# Orientations in which rows are stored as columns.
_LYING = (5, 6, 7, 8)


def pictures_among(names: Iterable[str]) -> Iterator[str]:
    """Yield the names of pictures, but of files that operating systems add; refuse pictures of other kinds."""
    for name in names:
        if any(word.startswith(".") or word == "__MACOSX" for word in PurePosixPath(name).parts):
            continue
        if name.lower().endswith(_OTHERS):
            raise InputError(f"picture {show(name)}: is no JPEG, PNG or PPM; save it as PNG, or take it out")
        if name.lower().endswith(PICTURES):
            yield name


def decode_pictures(
    pictures: Iterable[tuple[str, bytes]], places: Mapping[str, int], shape: tuple[int, int], *, resize: bool
) -> NDArray[np.uint8]:
    """Decode pictures in colour, one at a time."""
    # shapes: returns (n_pictures, rows, columns, 3)
    library = _pillow()
    images = np.zeros((len(places), *shape, 3), np.uint8)
    for name, data in pictures:
        images[places[name]] = _decode(library, name, data, shape, resize=resize)
    return adopted(images)


def _decode(library: Any, name: str, data: bytes, shape: tuple[int, int], *, resize: bool) -> NDArray[np.uint8]:
    size = (shape[1], shape[0])  # Pillow counts columns first
    with open_picture(name, data) as opened:
        if opened.size != shape:  # it may have to be turned
            _check_size(name, opened.size, size, resize=resize)
        if _is_deep(opened):
            raise InputError(f"picture {show(name)}: has more than 8 bits a pixel; save it with 8")
        if opened.has_transparency_data and opened.convert("RGBA").getchannel("A").getextrema()[0] < _OPAQUE:
            raise InputError(f"picture {show(name)}: has transparent pixels; save it on a background, without alpha")
        picture = opened.convert("RGB")
        turn = _TURNS.get(_orientation(name, opened))
    if turn is not None:
        picture = picture.transpose(library.Transpose[turn])
    _check_size(name, picture.size, size, resize=resize)
    if picture.size != size:
        picture = picture.resize(size, library.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8)


def _is_deep(opened: Any) -> bool:
    """Whether Pillow would cut or clip samples to 8 bits."""
    # of raw data it notes a mode such as RGB;16B of a PNG, or a mode and the greatest value of a PPM
    words = [word for part in opened.tile for word in ((part[3],) if isinstance(part[3], str) else part[3] or ())]
    return opened.mode.startswith(("I", "F")) or any(
        ";16" in word if isinstance(word, str) else word > _OPAQUE for word in words
    )


def shape_of(name: str, opened: Any) -> tuple[int, int]:
    """Return the rows and columns of a picture put upright."""
    columns, rows = opened.size
    return (columns, rows) if _orientation(name, opened) in _LYING else (rows, columns)


def _orientation(name: str, opened: Any) -> int:
    """Return how a picture is stored, 1 to 8 as in EXIF; without a word on it, 1, upright."""
    opened.load()  # a PNG may say it after its pixels
    try:
        exif = opened.getexif()
        found = exif.get(_ORIENTATION)
        if found is None and "exif" in opened.info:  # Pillow has opened a JPEG and said nothing of damage
            type(exif)().load(opened.info["exif"])
    except (OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, ArithmeticError, struct.error):
        raise InputError(f"picture {show(name)}: its EXIF data are damaged; save it upright, without them") from None
    return int(found) if found in range(1, 9) else 1


@contextmanager
def open_picture(name: str, data: bytes) -> Iterator[Any]:
    """Open a picture, reading only its header at first; errors are reported in one line."""
    library = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a picture is taken or refused, without a further warning
            with library.open(io.BytesIO(data), formats=_FORMATS) as opened:
                yield opened
    except InputError:
        raise
    except (OSError, ValueError, SyntaxError, EOFError, AssertionError, library.DecompressionBombError) as reason:
        # what may follow is an object and its address; nothing is said where a palette is missing
        text = " ".join(str(reason).partition("<")[0].split())[:80] or "its colours are missing"
        raise InputError(
            f"picture {show(name)}: is not a complete JPEG, PNG or PPM ({text}); fetch it again, or take it out"
        ) from None


def _check_size(name: str, found: tuple[int, int], size: tuple[int, int], *, resize: bool) -> None:
    if found == size:
        return
    told = f"picture {show(name)}: has {found[1]} x {found[0]} pixels; allowed are"
    if not resize:
        raise InputError(f"{told} {size[1]} x {size[0]}, as the others have; scale all pictures to one size")
    if found[0] * found[1] > MOST_PIXELS:
        raise InputError(f"{told} {MOST_PIXELS} in all; fetch it again, or scale it down")


def _pillow() -> Any:
    require_package("pictures", "PIL", "images", "Pillow")
    from PIL import Image

    return Image
