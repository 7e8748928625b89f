"""Pictures in JPEG, PNG or PPM as arrays, by Pillow."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.messages import show

__all__ = ["MOST_PIXELS", "PICTURES", "decode_pictures"]

PICTURES = (".jpg", ".jpeg", ".png", ".ppm")
"""Endings of pictures that are read."""

MOST_PIXELS = 2**20
"""Of a picture that is brought to another size: those of traffic signs have up to 250 x 250."""

_FORMATS = ("JPEG", "PNG", "PPM")


def decode_pictures(
    pictures: Iterable[tuple[str, bytes]], places: Mapping[str, int], shape: tuple[int, int], *, resize: bool
) -> NDArray[np.uint8]:
    """Decode pictures in colour, one after the other."""
    # shapes: returns (n_pictures, rows, columns, 3)
    library = _pillow()
    images = np.zeros((len(places), *shape, 3), np.uint8)
    with warnings.catch_warnings():
        # a picture that large is refused here, by its head, and must not be warned of beside that
        warnings.simplefilter("ignore")
        for name, data in pictures:
            images[places[name]] = _decode(library, name, data, shape, resize=resize)
    return adopted(images)


def _decode(library: Any, name: str, data: bytes, shape: Sequence[int], *, resize: bool) -> NDArray[np.uint8]:
    size = (shape[1], shape[0])  # Pillow counts columns first
    try:
        # opening reads the head only
        with library.open(io.BytesIO(data), formats=_FORMATS) as opened:
            _check_size(name, opened.size, size, resize=resize)
            picture = opened.convert("RGB")
    except InputError:
        raise
    except (OSError, ValueError, SyntaxError, EOFError, library.DecompressionBombError) as reason:
        text = " ".join(str(reason).split())[:80]
        raise InputError(f"picture {show(name)}: is no whole JPEG, PNG or PPM ({text}); fetch it again") from None
    if picture.size != size:
        picture = picture.resize(size, library.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8)


def _check_size(name: str, found: tuple[int, int], size: tuple[int, int], *, resize: bool) -> None:
    if found == size:
        return
    told = f"picture {show(name)}: has {found[1]} x {found[0]} pixels; allowed are"
    if not resize:
        raise InputError(f"{told} {size[1]} x {size[0]}")
    if found[0] * found[1] > MOST_PIXELS:
        raise InputError(f"{told} {MOST_PIXELS} in all; fetch it again, or scale it down")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotSupportedError(
            "pictures: need Pillow, which is not installed; pip install 'neuromap-rollouts[images]'"
        ) from None
    return Image
