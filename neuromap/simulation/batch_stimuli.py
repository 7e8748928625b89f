"""Many stimuli at once: checking them against the input nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import refuse_masked
from neuromap.errors import StimulusError
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network
from neuromap.simulation.node_shapes import by_neuron, input_shapes, no_bits, no_mapping, shapes_allowed
from neuromap.simulation.stimulus import input_sizes

__all__ = ["check_stimuli"]


def check_stimuli(
    stimuli: Mapping[str, ArrayLike], source: ChipProgram | Network | Mapping[str, int], n_frames: int | None = None
) -> tuple[dict[str, NDArray[Any]], int, int]:
    """Check many stimuli, all with as many frames, against the input nodes."""
    # n_frames: frames that each must have; by default any number from 2 on
    # gives stimuli: in the order of the source's input nodes; Boolean, or integers that are all 0 or 1. Not copied
    # shapes: stimuli (S, n_frames, size); stimuli (S, n_frames, size)
    sizes, shapes = input_sizes(source), input_shapes(source)
    if not isinstance(stimuli, Mapping):
        raise StimulusError(f"stimuli: {no_mapping(stimuli, sizes, 'stimuli')}")
    for name in stimuli:
        if name not in sizes:
            raise StimulusError(f"stimuli: node {name} is not an input node; input nodes are {', '.join(sizes)}")
    if not sizes:
        raise StimulusError("stimuli: the program has no input node, so one run says all; simulate it")
    checked: dict[str, NDArray[Any]] = {}
    for name, size in sizes.items():
        if name not in stimuli:
            raise StimulusError(f"stimuli: input node {name} is missing; give an array of shape (S, n_frames, {size})")
        try:
            refuse_masked(stimuli[name], f"stimuli of {name}", StimulusError)
            array = by_neuron(np.asarray(stimuli[name]), 2, size, shapes.get(name))
        except ValueError:
            array = np.zeros(0)  # rows that differ in length have no shape
        if array.ndim != 3 or array.shape[2] != size:
            allowed = shapes_allowed("S, n_frames", size, shapes.get(name))
            raise StimulusError(f"stimuli of {name}: shape {array.shape}; must be {allowed}")
        if array.shape[1] < 2:
            raise StimulusError(
                f"stimuli of {name}: {counted(array.shape[1], 'frame')}; at least 2 are needed (frame 0 and frame 1)"
            )
        first, wanted = next(iter(checked.values()), array), array.shape[1] if n_frames is None else n_frames
        if array.shape[:2] != (len(first), wanted) or array.shape[1] != first.shape[1]:
            raise StimulusError(
                f"stimuli of {name}: {array.shape[0]} of {counted(array.shape[1], 'frame')}, where {len(first)} of "
                f"{first.shape[1] if n_frames is None else wanted} are expected; give as many of each"
            )
        if array.dtype.kind not in "bui":
            raise StimulusError(f"stimuli of {name}: {no_bits(array)}")
        if array.dtype.kind != "b" and array.size and (array.min() < 0 or array.max() > 1):
            number, frame, index = np.argwhere((array < 0) | (array > 1))[0]
            raise StimulusError(
                f"stimuli of {name}: value {array[number, frame, index]} at stimulus {number}, frame {frame}, neuron "
                f"{index}; must be 0 or 1"
            )
        checked[name] = array
    return checked, len(next(iter(checked.values()))), next(iter(checked.values())).shape[1]
