"""What all candidates of a search have in common; it travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["Setting"]


@dataclass(frozen=True, eq=False)
class Setting(Value):
    """What all candidates of a search have in common.

    Attributes
    ----------
    network : Network
        The network.
    chips : mapping of str to ChipSpec
        By name.
    stimuli : tuple of mapping of str to ndarray of bool, shape (n_frames, size)
        Input frames of every stimulus, checked; with the first, rows are verified.
    verify : bool
        Whether chip is held against reference.
    engine : EngineChoice
        What runs the simulations.
    """

    network: Network
    chips: Mapping[str, ChipSpec]
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...]
    verify: bool
    engine: EngineChoice
