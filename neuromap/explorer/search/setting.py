"""What all candidates of a search have in common; it travels between processes."""

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
    """What all candidates of a search have in common."""

    network: Network  # the network
    chips: Mapping[str, ChipSpec]  # by name
    # (n_frames, size): input frames of every stimulus, checked; with the first, rows are verified
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...]
    verify: bool  # whether chip is held against reference
    engine: EngineChoice  # what runs the simulations
    # by behaviour class (:func:`neuromap.rollout.behaviour.class_key`), where each has weights of its own
    networks: Mapping[tuple[int, ...], Network] = field(default_factory=lambda: ReadOnlyMapping({}))
    # what is said of the stimuli: ``n_frames``, ``n_stimuli``, and of random ones ``seed`` and ``density``
    stimulus: Mapping[str, Any] = field(default_factory=lambda: ReadOnlyMapping({}))

    def network_of(self, values: tuple[int, ...]) -> Network:
        """Give the network with the weights of a pattern (R of every edge)."""
        if not self.networks:
            return self.network
        return self.networks[class_key(RolloutPattern(self.network, values))]

    def only(self, network: Network) -> Setting:
        """Give the same for one network."""
        return replace(self, network=network, networks=ReadOnlyMapping({}))
