"""Pictures in JPEG, PNG or PPM as arrays, by Pillow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.messages import show

__all__ = ["PICTURES", "decode_pictures"]

PICTURES = (".jpg", ".jpeg", ".png", ".ppm")
"""Endings of pictures that are read."""

_FORMATS = ("JPEG", "PNG", "PPM")


def decode_pictures(
    pictures: Iterable[tuple[str, bytes]], shape: tuple[int, int], *, resize: bool
) -> NDArray[np.uint8]:
    """Decode pictures in colour.

    Parameters
    ----------
    pictures : iterable of (str, bytes)
        Name, for messages, and file of each.
    shape : tuple of two int
        Rows and columns.
    resize : bool
        Whether pictures of other sizes are brought to it, by bilinear interpolation; else they are refused.

    Returns
    -------
    ndarray of uint8, shape (n_pictures, rows, columns, 3)
        Read-only; red, green, blue.

    Raises
    ------
    InputError
        If a picture cannot be decoded, or has another size.
    NotSupportedError
        If Pillow is not installed.
    """
    library = _pillow()
    named = list(pictures)
    images = np.empty((len(named), *shape, 3), np.uint8)
    for image, (name, data) in zip(images, named, strict=True):
        image[:] = _decode(library, name, data, shape, resize=resize)
    images.flags.writeable = False
    return images


def _decode(library: Any, name: str, data: bytes, shape: Sequence[int], *, resize: bool) -> NDArray[np.uint8]:
    size = (shape[1], shape[0])  # Pillow counts columns first
    try:
        with library.open(io.BytesIO(data), formats=_FORMATS) as opened:
            picture = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, EOFError, library.DecompressionBombError) as reason:
        text = " ".join(str(reason).split())[:80]
        raise InputError(f"picture {show(name)}: is no whole JPEG, PNG or PPM ({text}); fetch it again") from None
    if picture.size != size and not resize:
        found = " x ".join(map(str, reversed(picture.size)))
        raise InputError(f"picture {show(name)}: has {found} pixels; allowed are {' x '.join(map(str, shape))}")
    if picture.size != size:
        picture = picture.resize(size, library.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotSupportedError(
            "pictures: need Pillow, which is not installed; pip install 'neuromap-rollouts[images]'"
        ) from None
    return Image
