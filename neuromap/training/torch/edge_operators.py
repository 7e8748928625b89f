"""What edges do to real-valued frames: transforms as PyTorch operators, weights in the layout of the weights file."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from neuromap.errors import NotSupportedError
from neuromap.network.edge import Edge
from neuromap.network.transforms.kinds import Conv, Dense, Identity, Pool

__all__ = ["apply_edge", "fans", "weight_shape"]


def weight_shape(edge: Edge) -> tuple[int, ...] | None:
    """Shape of an edge's weights, in the layout of the weights file; ``None`` where there are none to train."""
    transform = edge.transform
    if isinstance(transform, Conv | Dense):
        return transform.weight_shape
    if isinstance(transform, Identity | Pool):
        return None
    kind = "has structure only" if transform is None else f"is an explicit {transform.kind}"
    raise NotSupportedError(f"edge {edge.label}: {kind}; training takes conv, dense, identity and pool")


def fans(transform: Conv | Dense) -> tuple[int, int]:
    """Count the inputs of a target neuron and the targets of a source neuron, as initialisers do."""
    if isinstance(transform, Conv):
        cells = math.prod(transform.kernel)
        return cells * transform.weight_shape[2], cells * transform.weight_shape[3] // transform.groups
    return transform.weight_shape[-1], transform.weight_shape[-2]


def apply_edge(edge: Edge, weight: Tensor | None, x: Tensor) -> Tensor:
    """Give what an edge adds to the sums of its target."""
    # shapes: x (batch, rows, columns, features); returns (batch, rows, columns, features)
    transform = edge.transform
    if isinstance(transform, Conv) and weight is not None:
        kernel = weight.permute(3, 2, 0, 1)
        return _windowed(
            transform, x, lambda y: functional.conv2d(y, kernel, None, transform.stride, 0, 1, transform.groups)
        )
    if isinstance(transform, Dense) and weight is not None:
        return _dense(transform, weight, x)
    if isinstance(transform, Pool):
        size, stride = transform.kernel, transform.stride or transform.kernel
        return _windowed(transform, x, lambda y: functional.avg_pool2d(y, size, stride, divisor_override=1))
    return x


def _windowed(transform: Conv | Pool, x: Tensor, slide: Any) -> Tensor:
    """Pad as the network file says and slide; convolutions take the features before rows and columns."""
    image = x.permute(0, 3, 1, 2)
    if transform.padding == "same":
        stride = transform.stride or transform.kernel
        image = functional.pad(image, _margins(transform, stride))
    moved: Tensor = slide(image)
    return moved.permute(0, 2, 3, 1)


def _margins(transform: Conv | Pool, stride: tuple[int, int]) -> list[int]:
    """Columns before and after, rows before and after: the smaller half before."""
    margins = []
    for axis in (1, 0):
        windows, length = transform.target_shape[axis], transform.source_shape[axis]
        total = max((windows - 1) * stride[axis] + transform.kernel[axis] - length, 0)
        margins += [total // 2, total - total // 2]
    return margins


def _dense(transform: Dense, weight: Tensor, x: Tensor) -> Tensor:
    groups, batch = transform.groups, len(x)
    if groups == 1:
        return functional.linear(x.reshape(batch, -1), weight).reshape(batch, *transform.target_shape)
    rows, columns, features = transform.target_shape
    parts = x.unflatten(-1, (groups, -1)).permute(0, 3, 1, 2, 4).reshape(batch, groups, -1)
    sums = torch.einsum("bgi,goi->bgo", parts, weight)
    spread = sums.reshape(batch, groups, rows, columns, features // groups)
    return spread.permute(0, 2, 3, 1, 4).reshape(batch, rows, columns, features)
