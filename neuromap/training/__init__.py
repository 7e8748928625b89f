"""Training of rolled-out networks, with PyTorch (the extra ``training``): for any network file and valid pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "ChipTraining": "chip_training",
    "EpochFigures": "training_result",
    "FrameTimes": "training_result",
    "HardwareOptions": "options.training_options",
    "LearnedGates": "training_result",
    "LearnedPattern": "network_training",
    "NodeSettings": "options.node_settings",
    "PatternAccuracy": "training_result",
    "TrainingOptions": "options.training_options",
    "TrainingResult": "training_result",
    "choose_for_chip": "options.node_settings",
    "node_settings": "options.node_settings",
    "train_for_chip": "chip_training",
    "train_network": "network_training",
}

if TYPE_CHECKING:
    from neuromap.training.chip_training import ChipTraining as ChipTraining
    from neuromap.training.chip_training import train_for_chip as train_for_chip
    from neuromap.training.network_training import LearnedPattern as LearnedPattern
    from neuromap.training.network_training import train_network as train_network
    from neuromap.training.options.node_settings import NodeSettings as NodeSettings
    from neuromap.training.options.node_settings import choose_for_chip as choose_for_chip
    from neuromap.training.options.node_settings import node_settings as node_settings
    from neuromap.training.options.training_options import HardwareOptions as HardwareOptions
    from neuromap.training.options.training_options import TrainingOptions as TrainingOptions
    from neuromap.training.training_result import EpochFigures as EpochFigures
    from neuromap.training.training_result import FrameTimes as FrameTimes
    from neuromap.training.training_result import LearnedGates as LearnedGates
    from neuromap.training.training_result import PatternAccuracy as PatternAccuracy
    from neuromap.training.training_result import TrainingResult as TrainingResult

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
