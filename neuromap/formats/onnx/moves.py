"""Operators of ONNX that move elements and leave them what they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuromap.formats.onnx.folding import part_lengths
from neuromap.formats.onnx.reading import Reading

__all__ = ["MOVES"]

Attributes = dict[str, Any]


def _reshape(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    if reading.is_constant(node.input[0]):
        return False
    reading.add(node, label, "reshape", [node.input[0]])
    return True


def _transpose(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    order = a.get("perm")
    shape = reading.whole_shape(node.input[0])
    if order is None and shape is not None:
        order = range(len(shape))[::-1]
    reading.add(node, label, "transpose", [node.input[0]], settings={} if order is None else {"order": tuple(order)})
    return True


def _shuffle(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    reading.add(node, label, "transpose", [node.input[0]])
    return True


def _concat(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    whole = len(reads) == len(node.input)
    reading.add(node, label, "concat", reads, settings={"axis": a.get("axis", 1), "whole": whole})
    return True


def _split(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    source, sizes = node.input[0], node.input[1] if len(node.input) > 1 else ""
    if sizes and reading.constant(sizes) is None:
        return False  # an input says how long the parts are
    shape, axis = reading.whole_shape(source), a.get("axis", 0)
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise ValueError("axis")
    given = [reading.constant(sizes)] if sizes else []
    lengths = part_lengths(a, None if shape is None else shape[axis], len(node.output), *given)
    start = 0
    for place, tensor in enumerate(node.output):
        settings: dict[str, Any] = {"axis": axis}
        if lengths is not None:
            settings |= {"start": start, "stop": start + lengths[place], "step": 1}
            start += lengths[place]
        if tensor:
            reading.add(node, label, "slice", [source], settings=settings, gives=tensor)
    return True


def _slice(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    if len(node.input) > 1:
        arrays = [reading.constant(tensor) for tensor in node.input[1:]]
        parts = [None if array is None else array.ravel().tolist() for array in arrays]
    else:
        parts = [a.get("starts"), a.get("ends"), a.get("axes")]
    starts, ends = parts[0], parts[1] if len(parts) > 1 else None
    settings: dict[str, Any] = {}
    if starts and ends and len(starts) == len(ends) == 1:
        axes = parts[2] if len(parts) > 2 and parts[2] else [0]
        steps = parts[3] if len(parts) > 3 and parts[3] else [1]
        settings = {"axis": int(axes[0]), "start": int(starts[0]), "stop": int(ends[0]), "step": int(steps[0])}
    reading.add(node, label, "slice", [node.input[0]], settings=settings)
    return True


def _pad(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    pads = reading.constant(node.input[1]) if len(node.input) > 1 else None
    numbers = a.get("pads") if pads is None else pads.ravel().tolist()
    value = reading.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    settings: dict[str, Any] = {}
    if numbers is not None and a.get("mode", "constant") == "constant" and len(node.input) < 4:
        amount = a.get("value", 0.0) if value is None else float(np.asarray(value).ravel()[0])
        settings = {"pads": tuple(int(n) for n in numbers), "value": float(amount)}
    reading.add(node, label, "pad", [node.input[0]], settings=settings)
    return True


def _resize(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    if reading.is_constant(node.input[0]):
        return False
    nearest = a.get("mode", "nearest") == "nearest"
    reading.add(node, label, "resize", [node.input[0]], settings={"nearest": nearest})
    return True


MOVES = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    "Transpose": _transpose,
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), _shuffle),
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    **dict.fromkeys(("Resize", "Upsample", "Expand", "Tile"), _resize),
}
"""Operators that no neuron computes."""
