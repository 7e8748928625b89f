"""Calls that move elements and leave them what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuromap.formats.pytorch.calls import Call

__all__ = ["MOVES"]

_TO_THE_END = 2**62


def _reshape(node: Any, call: Call) -> bool:
    if call.is_constant(node.args[0]):
        return False
    call.add("reshape", [node.args[0].name])
    return True


def _permute(node: Any, call: Call) -> bool:
    order = tuple(int(k) for k in node.args[1])
    call.add("transpose", [node.args[0].name], settings={"order": tuple(k % len(order) for k in order)})
    return True


def _transpose(node: Any, call: Call) -> bool:
    shape = call.shape(node.args[0])
    if shape is None:
        return False
    first, second = (int(k) % len(shape) for k in (*node.args[1:3], 0, 1)[:2])
    order = list(range(len(shape)))
    order[first], order[second] = order[second], order[first]
    call.add("transpose", [node.args[0].name], settings={"order": tuple(order)})
    return True


def _shuffle(node: Any, call: Call) -> bool:
    call.add("transpose", [node.args[0].name])
    return True


def _cat(node: Any, call: Call) -> bool:
    parts = node.args[0]
    reads = [part.name for part in parts if not call.is_constant(part)]
    axis = int(node.args[1]) if len(node.args) > 1 else int(node.kwargs.get("dim", 0))
    shape = call.shape(node)
    if node.target.__name__.startswith("stack") and shape is not None:
        axis %= len(shape)  # of what it gives: every part gets an axis there first
        longer = tuple(1 if k == axis else n for k, n in enumerate(shape))
        reads = [
            call.add("reshape", [read], gives=f"{node.name}.{place}", shape=longer) for place, read in enumerate(reads)
        ]
    call.add("concat", reads, settings={"axis": axis, "whole": len(reads) == len(parts)})
    return True


def _slice(node: Any, call: Call) -> bool:
    given: list[Any] = [*node.args, *[None, 0, None, None, 1][len(node.args) :]]
    source, axis, start, stop, step = given
    settings = {"axis": int(axis), "start": int(start or 0), "stop": _TO_THE_END if stop is None else int(stop)}
    call.add("slice", [source.name], settings={**settings, "step": int(step)})
    return True


def _select(node: Any, call: Call) -> bool:
    source, axis, index = node.args
    settings: dict[str, Any] = {"axis": int(axis)}
    if isinstance(index, int):
        settings["index"] = (index,)
    call.add("slice", [source.name], settings=settings)
    return True


def _index_select(node: Any, call: Call) -> bool:
    source, axis, index = node.args
    array = call.array(index) if call.is_constant(index) else None
    settings: dict[str, Any] = {"axis": int(axis)}
    if array is not None:
        settings["index"] = tuple(int(k) for k in array.ravel().tolist())
    call.add("slice", [source.name], settings=settings)
    return True


def _split(node: Any, call: Call) -> bool:
    """Remember how a tensor is cut; the parts are read where they are taken."""
    source, shapes = node.args[0], node.meta.get("val")
    axis = int(node.args[2]) if len(node.args) > 2 else int(node.kwargs.get("dim", 0))
    if call.is_constant(source) or not isinstance(shapes, list | tuple):
        return False
    parts: dict[int, Mapping[str, Any]] = {}
    start = 0
    if node.target.__name__.startswith("unbind"):
        axis = int(node.args[1]) if len(node.args) > 1 else int(node.kwargs.get("dim", 0))
        parts = {k: {"axis": axis, "index": (k,)} for k in range(len(shapes))}
        shapes = []
    for k, part in enumerate(shapes):
        length = int(part.shape[axis])
        parts[k] = {"axis": axis, "start": start, "stop": start + length, "step": 1}
        start += length
    call.parts[node.name], call.part_sources[node.name] = parts, source.name
    return True


def _pad(node: Any, call: Call) -> bool:
    source, pads = node.args[0], [int(k) for k in node.args[1]]
    value = node.args[2] if len(node.args) > 2 else node.kwargs.get("value", 0)
    shape = call.shape(source)
    mode = node.args[2] if len(node.args) > 2 and isinstance(node.args[2], str) else "constant"
    settings: dict[str, Any] = {}
    if shape is not None and mode == "constant":
        before, after = [0] * len(shape), [0] * len(shape)
        for k in range(len(pads) // 2):  # the last axis first
            before[-1 - k], after[-1 - k] = pads[2 * k], pads[2 * k + 1]
        amount = float(value) if isinstance(value, int | float) else 0.0
        settings = {"pads": (*before, *after), "value": amount}
    call.add("pad", [source.name], settings=settings)
    return True


def _resize(node: Any, call: Call) -> bool:
    if call.is_constant(node.args[0]):
        return False
    call.add("resize", [node.args[0].name], settings={"nearest": "nearest" in node.target.__name__})
    return True


MOVES = {
    **dict.fromkeys(
        ("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "_unsafe_view", "view_as", "squeeze_"),
        _reshape,
    ),
    "permute": _permute,
    **dict.fromkeys(("transpose", "t", "numpy_T", "mT"), _transpose),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "roll", "flip"), _shuffle),
    "cat": _cat,
    "stack": _cat,
    "slice": _slice,
    "select": _select,
    "index_select": _index_select,
    **dict.fromkeys(
        ("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes", "chunk", "unbind"), _split
    ),
    **dict.fromkeys(("pad", "constant_pad_nd"), _pad),
    **dict.fromkeys(
        ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "expand", "repeat", "interpolate"), _resize
    ),
}
"""Calls that no neuron computes."""
