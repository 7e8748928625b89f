"""What an imported script leaves: a network in integers, and what putting it there took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.arrays.value import Value
from neuromap.network.network import Network


@dataclass(frozen=True, eq=False)
class Imported(Value):
    """A network that a script ran, in the integers of a chip.

    Attributes
    ----------
    network : Network
        Of spiking nodes.
    figures : mapping of str to object
        What runs on the chip, and the report of the run with scales and errors, as JSON holds them.
    text : str
        The same as people read it.
    """

    network: Network
    figures: Mapping[str, Any]
    text: str
