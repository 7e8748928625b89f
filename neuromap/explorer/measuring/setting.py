"""What all candidates of a search have in common; it travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["Setting"]


@dataclass(frozen=True, eq=False)
class Setting:
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Take the values apart that hold read-only mappings: these do not travel between processes."""
        chips = {name: _fields(chip) for name, chip in self.chips.items()}
        return _put_together, (_fields(self.network), chips, tuple(map(dict, self.stimuli)), self.verify, self.engine)


def _fields(value: Any) -> dict[str, Any]:
    found = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: dict(part) if isinstance(part, MappingProxyType) else part for name, part in found.items()}


def _put_together(
    network: Mapping[str, Any],
    chips: Mapping[str, Mapping[str, Any]],
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...],
    verify: bool,
    engine: EngineChoice,
) -> Setting:
    values = {name: ChipSpec(**parts) for name, parts in chips.items()}
    return Setting(Network(**network), values, stimuli, verify, engine)
