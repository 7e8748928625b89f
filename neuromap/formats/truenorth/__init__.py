"""TrueNorth's model files, as IBM's Corelet environment writes them, read as programs with raw events.

There is no public description of them. What is read here was worked out from two files that are in the public
repository of the simulator NeMo (``libs/model_reader/tests`` of markplagge/NeMo): a core of one neuron type that passes
256 lines on, and two cores of a convolutional network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"read_model": "model_file"}

if TYPE_CHECKING:
    from neuromap.formats.truenorth.model_file import read_model as read_model

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
