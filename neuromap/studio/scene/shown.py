"""``Shown``: what the chip sees, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.argument_checks import real_number, whole_number
from neuromap.render.value import Card

Kind = Literal["picture", "random", "stimulus"]
MOST_PIXELS = 2**18
"""Values of all pictures together."""


@dataclass(frozen=True, eq=False)
class Shown(Card):
    """What the input nodes see from some tick on."""

    # pictures that stand still, random frames, or the frames of the scene's stimulus one after the other
    kind: Kind = "picture"
    # (rows, columns, features): kind ``picture``: intensities 0 to 255 by input node; nodes without one see black
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    density: float = 0.2  # kind ``random``: part of neurons that spike in a frame, 0 to 1
    noise: float = 0.0  # probability with which a bit of a frame is turned over, 0 to 1
    seed: int = 0  # of all that is drawn; 0 to 2**31 - 1
    label: str = "nothing"  # what it is, for people, such as ``image 12, a 3``

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"shown: kind {self.kind!r:.40}: must be one of {', '.join(get_args(Kind))}")
        for name in ("density", "noise"):
            if not 0 <= real_number(f"shown: {name}", getattr(self, name)) <= 1:
                raise InputError(f"shown: {name} = {getattr(self, name)}: must be 0 to 1")
        if not 0 <= whole_number("shown: seed", self.seed) < 2**31:
            raise InputError(f"shown: seed = {self.seed}: must be 0 to {2**31 - 1}")
        if len(self.label) > 200:
            raise InputError(f"shown: label has {len(self.label)} characters; at most 200")
        pictures = {name: _picture(name, picture) for name, picture in self.pictures.items()}
        if (size := sum(picture.size for picture in pictures.values())) > MOST_PIXELS:
            raise InputError(f"shown: pictures have {size} values; at most {MOST_PIXELS}")
        object.__setattr__(self, "pictures", ReadOnlyMapping(pictures))


def _picture(name: str, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if values.dtype != np.uint8 or values.ndim != 3:
        raise InputError(f"shown: picture of {name!r:.40} is {values.dtype} of {values.ndim} axes; must be uint8 of 3")
    found = values.copy()
    found.setflags(write=False)
    return found
