"""``HardwareOptions``: options of training for a chip."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.options import check_options, documented, option
from neuromap.render.value import Card


@documented
@dataclass(frozen=True)
class HardwareOptions(Card):
    """What is asked of training for a chip.

    Images are moved along rows and columns, drawn anew in every epoch; what comes in is 0. Without biases thresholds
    stay at 1 to 255 on TrueNorth, and a network that sees nothing is silent.

    Raises
    ------
    InputError
        If a value is of a wrong type or out of range.
    """

    shift: int = option(
        "N  With --for: move every training image by up to N pixels.", 0, within=(0, 16), must="must be 0 to 16 pixels"
    )
    no_bias: bool = option(
        "--no-bias  With --for: keep thresholds within what the leak holds: no axons for biases.",
        False,
        choices=(False, True),
    )

    def __post_init__(self) -> None:
        check_options(self, "training: {name} {value}: ", "training: {name} {shown}: allowed are {choices}")
