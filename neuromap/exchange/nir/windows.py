"""Convolutions and pools of NIR as sparse matrices over values in its order: channels, then rows, then columns."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from neuromap.errors import NotSupportedError
from neuromap.formats.nir.nir_graph import NirNode

__all__ = ["MAX_WEIGHTS", "Window", "conv_matrix", "conv_shape", "pool_matrix", "pool_shape", "windows_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_WEIGHTS = 2**26
"""Weights of a matrix, and products on the way to one."""


class Window(NamedTuple):
    """How a kernel slides along one axis: cells, and those of zeros before and behind."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    def count(self, length: int) -> int:
        """Count the windows along an axis; 0 or less where none fits."""
        return (length + self.before + self.after - self.dilation * (self.kernel - 1) - 1) // self.stride + 1


def windows_of(name: str, node: NirNode, kernel: tuple[int, ...]) -> list[Window]:
    """Give the windows along each axis, as PyTorch counts them."""
    strides = _along(name, node, "stride", len(kernel), 1)
    dilations = _along(name, node, "dilation", len(kernel), 1)
    if "padding" in node.words:
        same = node.words["padding"] == "same"
        total = [d * (k - 1) if same else 0 for k, d in zip(kernel, dilations, strict=True)]
        pads = [(n // 2, n - n // 2) for n in total]
    else:
        pads = [(n, n) for n in _along(name, node, "padding", len(kernel), 0)]
    return [Window(k, s, d, *p) for k, s, d, p in zip(kernel, strides, dilations, pads, strict=True)]


def _along(name: str, node: NirNode, key: str, axes: int, default: int) -> list[int]:
    values = node.parameters.get(key)
    if values is None:
        return [default] * axes
    if values.size not in (1, axes) or (values < 0).any():
        raise NotSupportedError(f"node {name} ({node.kind}): {key}: needs one number of 0 or more, or {axes}")
    return [int(n) for n in np.broadcast_to(values.ravel(), axes)]


def conv_shape(name: str, node: NirNode, source: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape that a convolution makes of another."""
    weight, groups = node.parameters["weight"], int(node.parameters["groups"].ravel()[0])
    axes = 1 if node.kind == "Conv1d" else 2
    if weight.ndim != axes + 2 or len(source) != axes + 1 or source[0] != weight.shape[1] * groups:
        raise NotSupportedError(
            f"node {name} ({node.kind}): weight: found shape {list(weight.shape)} and {groups} groups for values of "
            f"shape {list(source)}; needs (channels out, channels in / groups, kernel)"
        )
    if weight.shape[0] % groups:
        raise NotSupportedError(f"node {name} ({node.kind}): groups: {groups} does not divide {weight.shape[0]}")
    counts = [w.count(n) for w, n in zip(windows_of(name, node, weight.shape[2:]), source[1:], strict=True)]
    return _checked(name, node, (weight.shape[0], *counts))


def pool_shape(name: str, node: NirNode, source: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape that a pool makes of another."""
    if len(source) != 3:
        raise NotSupportedError(
            f"node {name} ({node.kind}): pools values of shape {list(source)}; needs (channels, rows, columns)"
        )
    counts = [w.count(n) for w, n in zip(windows_of(name, node, _kernel(name, node)), source[1:], strict=True)]
    return _checked(name, node, (source[0], *counts))


def _kernel(name: str, node: NirNode) -> tuple[int, ...]:
    return tuple(_along(name, node, "kernel_size", 2, 1))


def _checked(name: str, node: NirNode, shape: tuple[int, ...]) -> tuple[int, ...]:
    if min(shape) < 1 or math.prod(shape) > MAX_WEIGHTS:
        raise NotSupportedError(
            f"node {name} ({node.kind}): makes values of shape {list(shape)}; needs 1 to {MAX_WEIGHTS} of them"
        )
    return shape


def _pairs(window: Window, length: int, count: int) -> tuple[Ints, Ints, Ints]:
    """List kernel cell, source cell and window of all that touch along one axis."""
    cell, place = np.divmod(np.arange(window.kernel * count), count)
    source = place * window.stride + cell * window.dilation - window.before
    inside = (source >= 0) & (source < length)
    return cell[inside], source[inside], place[inside]


def _touching(
    name: str, windows: list[Window], source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[Ints, Ints, Ints]:
    """List kernel cell, source place and target place of all that touch, row-major over the axes."""
    kernel = [w.kernel for w in windows]
    if math.prod(kernel) * math.prod(target) > MAX_WEIGHTS:
        raise NotSupportedError(
            f"node {name}: a kernel of {kernel} on {list(source)} has more than {MAX_WEIGHTS} weights; take a smaller"
        )
    found = (np.zeros(1, np.int64),) * 3
    for window, n, m in zip(windows, source, target, strict=True):
        along = _pairs(window, n, m)
        sizes = (window.kernel, n, m)
        found = tuple(  # type: ignore[assignment] # of three
            (a[:, None] * size + b).ravel() for a, b, size in zip(found, along, sizes, strict=True)
        )
    return found


def conv_matrix(name: str, node: NirNode, source: tuple[int, ...], target: tuple[int, ...]) -> csr_array:
    """Write a convolution as a matrix, shape (values of target, values of source)."""
    weight, groups = node.parameters["weight"], int(node.parameters["groups"].ravel()[0])
    out, per_source = weight.shape[:2]
    cell, at, to = _touching(name, windows_of(name, node, weight.shape[2:]), source[1:], target[1:])
    if len(cell) * out * per_source > MAX_WEIGHTS:
        raise NotSupportedError(f"node {name} ({node.kind}): has more than {MAX_WEIGHTS} weights as a matrix; split it")
    kernels = weight.reshape(out, per_source, -1)[:, :, cell]
    channel = np.arange(out) // (out // groups) * per_source
    n_source, n_target = math.prod(source[1:]), math.prod(target[1:])
    rows = np.arange(out)[:, None, None] * n_target + to
    columns = (channel[:, None] + np.arange(per_source))[:, :, None] * n_source + at
    return _matrix(kernels, np.broadcast_to(rows, kernels.shape), columns, source, target)


def pool_matrix(name: str, node: NirNode, source: tuple[int, ...], target: tuple[int, ...]) -> csr_array:
    """Write a pool as a matrix: sums, or means over the whole window, zeros of the padding among them."""
    kernel = _kernel(name, node)
    _, at, to = _touching(name, windows_of(name, node, kernel), source[1:], target[1:])
    if len(at) * source[0] > MAX_WEIGHTS:
        raise NotSupportedError(f"node {name} ({node.kind}): has more than {MAX_WEIGHTS} weights as a matrix; split it")
    channel = np.arange(source[0])[:, None]
    value = 1.0 if node.kind == "SumPool2d" else 1.0 / math.prod(kernel)
    rows, columns = channel * math.prod(target[1:]) + to, channel * math.prod(source[1:]) + at
    return _matrix(np.full(rows.shape, value), rows, columns, source, target)


def _matrix(values: Floats, rows: Ints, columns: Ints, source: tuple[int, ...], target: tuple[int, ...]) -> csr_array:
    shape = (math.prod(target), math.prod(source))
    found = csr_array(coo_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape))
    found.eliminate_zeros()
    return found
