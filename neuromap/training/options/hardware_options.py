"""``HardwareOptions``: what is asked of training for a chip, beside the options of every training run."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.files.given import whole_number
from neuromap.forms.card import Card

_MOST_SHIFT = 16


@dataclass(frozen=True)
class HardwareOptions(Card):
    """What is asked of training for a chip.

    Attributes
    ----------
    shift : int
        Every training image is moved by up to this many pixels along rows and columns, drawn anew in every epoch;
        what comes in is 0.
    no_bias : bool
        Whether thresholds stay within what the leak holds, 1 to 255 on TrueNorth, so that no core needs axons for
        biases and a network that sees nothing is silent.

    Raises
    ------
    InputError
        If a value is of a wrong type or out of range.
    """

    shift: int = 0
    no_bias: bool = False

    def __post_init__(self) -> None:
        if not 0 <= whole_number("training: shift", self.shift) <= _MOST_SHIFT:
            raise InputError(f"training: shift {self.shift}: must be 0 to {_MOST_SHIFT} pixels")
        if not isinstance(self.no_bias, bool):
            raise InputError(f"training: no_bias {self.no_bias!r}: allowed are False, True")
