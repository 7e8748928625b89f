"""Integer matrices as transforms that network files say in few numbers: convolutions, pools, identities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.errors import NetworkError
from neuromap.exchange.layers.edge_transforms import square
from neuromap.exchange.layers.structure import Way
from neuromap.formats.layers.operator import Operator
from neuromap.network.terms import MatrixSource
from neuromap.network.transforms.kinds import Conv, Identity, Pool, Shape
from neuromap.network.transforms.matrices import MatrixTransform
from neuromap.network.transforms.windows import Padding, output_length, window_pairs

__all__ = ["fitted"]

_MOST_RUNS = 2**16


def fitted(matrix: csr_array, ways: Sequence[Way], source: Shape, target: Shape, *, is_or: bool) -> MatrixSource:
    """Say a matrix as the transform that it was made by, where that gives the very same matrix."""
    # matrix: neurons in the order of nodes
    # is_or: whether all thresholds of the target are 1, as those of pools must be
    # shapes: matrix (n_target, n_source)
    for trial in _trials(matrix, ways, source, target, is_or=is_or):
        found = trial.matrix()
        if found.nnz == matrix.nnz and not (found - matrix).nnz:
            return trial
    return MatrixTransform(matrix)


def _trials(
    matrix: csr_array, ways: Sequence[Way], source: Shape, target: Shape, *, is_or: bool
) -> Iterator[Conv | Pool | Identity]:
    if len(ways) != 1:
        return
    one = ways[0].into
    try:
        if source == target and matrix.nnz == matrix.shape[0]:
            yield Identity(source, target)
        if one.kind == "max_pool" and is_or and "kernel" in one.settings:
            kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
            if kernel is not None and stride is not None:
                yield Pool(source, target, kernel, stride)
        if one.kind == "conv":
            yield from _convs(matrix, one, source, target)
    except NetworkError:
        return


def _convs(matrix: csr_array, one: Operator, source: Shape, target: Shape) -> Iterator[Conv]:
    kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
    n = len(one.settings["kernel"])
    before = square(tuple(one.setting("pads", (0,) * 2 * n)[:n]))
    if kernel is None or stride is None or before is None:
        return
    groups = int(one.setting("groups", 1))
    if n == 1:
        before = (before[0], 0)
        stride = (stride[0], 1)
    if source[2] % groups or target[2] % groups:
        groups = 1
    if not any(before):
        yield _conv(matrix, source, target, kernel, stride, "valid", groups)
    # A network file pads as much on both sides as it must: a kernel that ends in zeros starts where the source's does.
    lengths = zip(target[:2], stride, source[:2], before, kernel, strict=True)
    grown = [max(k, 2 * p + length - (made - 1) * s) for made, s, length, p, k in lengths]
    if all(
        output_length(a, k, s, "same") == b for a, b, k, s in zip(source[:2], target[:2], grown, stride, strict=True)
    ):
        yield _conv(matrix, source, target, (grown[0], grown[1]), stride, "same", groups)


def _conv(
    matrix: csr_array,
    source: Shape,
    target: Shape,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: Padding,
    groups: int,
) -> Conv:
    """Read the kernel of a convolution off its matrix."""
    per_source, per_target = source[2] // groups, target[2] // groups
    weights = np.zeros((*kernel, per_source, target[2]), np.int64)
    rows, columns = (_cells(*along, padding) for along in zip(source[:2], target[:2], kernel, stride, strict=True))
    features = np.arange(target[2])
    read = np.arange(per_source)[:, None] + features // per_target * per_source
    for a, (row, from_row) in rows.items():
        for b, (column, from_column) in columns.items():
            neurons = (row * target[1] + column) * target[2] + features
            sources = (from_row * source[1] + from_column) * source[2] + read
            picked = matrix[np.broadcast_to(neurons, sources.shape).ravel(), sources.ravel()]
            weights[a, b] = _dense(picked).reshape(sources.shape)
    return Conv(source, target, kernel, stride, padding, groups, weights)  # type: ignore[arg-type]


def _dense(picked: object) -> NDArray[np.int64]:
    return np.asarray(picked.toarray() if hasattr(picked, "toarray") else picked, np.int64)


def _cells(length: int, windows: int, kernel: int, stride: int, padding: Padding) -> dict[int, tuple[int, int]]:
    """For every cell of a kernel, one window in which it lies on the source, and the cell that it reads there."""
    cell, read, window = window_pairs(length, windows, kernel, stride, padding)
    kernel_cells, first = np.unique(cell, return_index=True)
    return {int(k): (int(window[at]), int(read[at])) for k, at in zip(kernel_cells, first, strict=True)}
