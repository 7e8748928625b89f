"""Setting shared by all candidates of a search; it is sent to worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.simulation.engine.engine_choice import EngineChoice


@dataclass(frozen=True, eq=False)
class Setting(Value):
    """Setting shared by all candidates of a search."""

    network: Network  # the network
    chips: Mapping[str, ChipSpec]  # by name
    # (n_frames, size): checked input frames of every stimulus; the first one is used for verification
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...]
    verify: bool  # whether to compare chip and reference
    engine: EngineChoice  # engine of the simulations
    # by behaviour class (:func:`neuromap.rollout.behaviour.class_key`), if each has its own weights
    networks: Mapping[tuple[int, ...], Network] = field(default_factory=lambda: ReadOnlyMapping({}))
    # description of the stimuli: ``n_frames``, ``n_stimuli`` and, for random ones, ``seed`` and ``density``
    stimulus: Mapping[str, Any] = field(default_factory=lambda: ReadOnlyMapping({}))

    def network_of(self, values: tuple[int, ...]) -> Network:
        """Network with the weights for a pattern (R of every edge)."""
        if not self.networks:
            return self.network
        return self.networks[class_key(RolloutPattern(self.network, values))]

    def only(self, network: Network) -> Setting:
        """Return the same setting for one network."""
        return replace(self, network=network, networks=ReadOnlyMapping({}))
