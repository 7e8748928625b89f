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
from neuromap.rollout.patterns.behaviour import class_key
from neuromap.rollout.patterns.pattern import RolloutPattern
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
    networks : mapping of tuple of int to Network
        By behaviour class (:func:`neuromap.rollout.patterns.behaviour.class_key`), where each has weights of its own.
    stimulus : mapping of str to any
        What is said of the stimuli: ``n_frames``, ``n_stimuli``, and of random ones ``seed`` and ``density``.
    """

    network: Network
    chips: Mapping[str, ChipSpec]
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...]
    verify: bool
    engine: EngineChoice
    networks: Mapping[tuple[int, ...], Network] = field(default_factory=lambda: ReadOnlyMapping({}))
    stimulus: Mapping[str, Any] = field(default_factory=lambda: ReadOnlyMapping({}))

    def network_of(self, values: tuple[int, ...]) -> Network:
        """Give the network with the weights of a pattern (R of every edge)."""
        if not self.networks:
            return self.network
        return self.networks[class_key(RolloutPattern(self.network, values))]

    def only(self, network: Network) -> Setting:
        """Give the same for one network."""
        return replace(self, network=network, networks=ReadOnlyMapping({}))
