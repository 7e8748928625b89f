"""The handwritten digits that come with scikit-learn: 8 x 8 pixels, intensities 0 to 16."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.datasets.splits import SPLIT_SEED, end_of_train, uniform
from neuromap.errors import NotSupportedError

__all__ = ["load_digits"]

_HELD_OUT = 400
_SHARES = 5
_WHITE = 16


def load_digits(part: str, limit: int | None = None) -> ImageSet:
    """Read the digits."""
    # The 1797 images are sorted by label, in drawn order within a label, and every 4.49th is held out: these 400 are
    # the test part, with as many of each digit as there are in the whole. Of the 1397 others, in drawn order, the last
    # fifth (279) is the validation part. People who wrote digits occur in all parts.
    images, labels = _all_digits()
    within_label, drawn = uniform((2, len(labels)), SPLIT_SEED)
    by_label = np.lexsort((within_label, labels))
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[by_label[np.arange(_HELD_OUT) * len(labels) // _HELD_OUT]] = True
    order = np.argsort(drawn)
    chosen = order[held_out[order] == (part == "test")]
    if part != "test":
        chosen = chosen[end_of_train(len(chosen), _SHARES, part)]
    chosen = chosen[:limit]
    classes = tuple(str(digit) for digit in range(10))
    return ImageSet("digits", part, images[chosen], labels[chosen], classes, _WHITE)


def _all_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    try:
        from sklearn import datasets
    except ImportError:
        raise NotSupportedError(
            "digits: need scikit-learn, which is not installed; pip install 'neuromap-rollouts[examples]'"
        ) from None
    found: Any = datasets.load_digits()
    return found.images.astype(np.uint8)[..., np.newaxis], found.target.astype(np.int64)
