"""Sets of labelled images: read from the files of their makers, split into parts by stated rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "ImageSet": "tracks",
    "image_sets": "own_images",
    "load_images": "sources",
}

if TYPE_CHECKING:
    from neuromap.datasets.own_images import image_sets as image_sets
    from neuromap.datasets.sources import load_images as load_images
    from neuromap.datasets.tracks import ImageSet as ImageSet

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
