"""Transforms of edges whose weights are not taken over: what network files can say of them."""

from __future__ import annotations

import math

from neuromap.errors import NetworkError
from neuromap.exchange.layers.structure import Way
from neuromap.formats.layers.operator import Operator
from neuromap.network.transforms.kinds import Conv, Dense, Identity, Pool, Shape, Transform
from neuromap.network.transforms.windows import Padding, output_length

__all__ = ["edge_transform", "padding_of", "square"]


def edge_transform(ways: tuple[Way, ...], source: Shape, target: Shape, last: Operator) -> Transform | None:
    """Say what an edge does, without weights."""
    # gives ``None`` where there are several ways, where something else lies on the edge, such as a mean or a function,
    # or where the matrix would be larger than edges may have
    if len(ways) != 1 or last.kind == "average" or any(one.kind == "average" for one in ways[0].folds):
        return None
    moves = [one.kind for one in ways[0].folds if one.kind not in ("concat", "reshape")]
    if moves:
        return None
    try:
        return _transform(ways[0].into, source, target)
    except NetworkError:
        return None


def _transform(one: Operator, source: Shape, target: Shape) -> Transform | None:
    if one.kind == "add":
        return Identity(source, target)
    if one.kind == "dense":
        if source[:2] == target[:2] and source[0] * source[1] > 1:
            return Conv(source, target, (1, 1))
        return Dense(source, target) if target[:2] == (1, 1) else None
    if one.kind not in ("conv", "max_pool") or "kernel" not in one.settings:
        return None
    kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
    padding = None if kernel is None or stride is None else padding_of(source, target, kernel, stride)
    if kernel is None or stride is None or padding is None:
        return None
    if one.kind == "max_pool":
        return Pool(source, target, kernel, stride, padding)
    return Conv(source, target, kernel, stride, padding, groups=int(one.setting("groups", 1)))


def square(lengths: tuple[int, ...], dilation: tuple[int, ...] | None = None) -> tuple[int, int] | None:
    """Give lengths along rows and columns; those of sequences have one column. ``None`` for more axes."""
    spread = dilation or (1,) * len(lengths)
    whole = tuple((n - 1) * d + 1 for n, d in zip(lengths, spread, strict=True))
    if len(whole) == 1:
        return (whole[0], 1)
    return (whole[0], whole[1]) if len(whole) == 2 else None


def padding_of(source: Shape, target: Shape, kernel: tuple[int, int], stride: tuple[int, int]) -> Padding | None:
    """Find the padding of network files that makes as many windows; ``None`` where neither does."""
    paddings: tuple[Padding, ...] = ("valid", "same")
    for padding in paddings:
        made = [output_length(n, k, s, padding) for n, k, s in zip(source[:2], kernel, stride, strict=True)]
        if tuple(made) == tuple(target[:2]) and math.prod(made) > 0:
            return padding
    return None
