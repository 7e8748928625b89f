"""Transforms of edges, as integer sparse matrices.

Every transform, explicit matrices among them, builds a matrix of shape ``(n_target, n_source)``; the index of a neuron
in its node is row-major over (row, column, feature). Sizes are checked before anything is allocated (see
:mod:`neuromap.network.weights`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from neuromap.arrays.frozen import adopted, frozen
from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.network.weights import (
    MAX_ENTRIES,
    Margins,
    Padding,
    WeightSource,
    Windows,
    as_integers,
    as_padding,
    as_pair,
    as_shape,
    as_weight_source,
    show_count,
    show_shape,
)
from neuromap.render.value import Card

Shape: TypeAlias = tuple[int, int, int]
# Word in network files with shapes for an edge with none of these transforms: it serves the theory only.
OTHER = "other"
_CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class _Shaped(Card):
    """Shapes of the two nodes; shared by all kinds."""

    kind: ClassVar[str]

    source_shape: Shape
    target_shape: Shape

    def __post_init__(self) -> None:
        for name in ("source_shape", "target_shape"):
            object.__setattr__(self, name, as_shape(getattr(self, name)))

    def _refuse_above_limit(self, entries: int) -> None:
        if entries > MAX_ENTRIES:
            raise NetworkError(
                f"{self.kind}: from {show_shape(self.source_shape)} to {show_shape(self.target_shape)} takes "
                f"up to {show_count(entries)} weights in its matrix; at most 2**28 = {MAX_ENTRIES} are allowed "
                "in one edge"
            )

    def _finish(self, rows: NDArray[Any], columns: NDArray[Any], data: NDArray[Any]) -> csr_array:
        return from_entries(rows, columns, data, (math.prod(self.target_shape), math.prod(self.source_shape)))


@dataclass(frozen=True, eq=False)
class _Windowed(_Shaped):
    """Windows that slide over rows and columns: what a convolution and a pool share."""

    kernel: tuple[int, int]
    stride: tuple[int, int] | None = None
    padding: Padding | Margins = "valid"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kernel", "stride"):
            object.__setattr__(self, name, as_pair(getattr(self, name), name))
        object.__setattr__(self, "padding", as_padding(self.padding))

    @property
    def _windows(self) -> Windows:
        return Windows(self.kernel, self.stride or self.kernel, self.padding)

    @property
    def margins(self) -> Margins:
        """Cells of padding at the top, left, bottom and right, however given."""
        return self._windows.margins(self.source_shape, self.target_shape)


@dataclass(frozen=True, eq=False)
class Conv(_Windowed):
    """Convolution (cross-correlation, as in all frameworks): one kernel slides over rows and columns.

    Target neuron (i, j, f) takes ``weights[a, b, p, f]`` from the source neuron at row ``i * stride[0] + a -
    before``, column likewise, feature ``p`` of the group that f lies in; outside the source there is nothing.

    Attributes
    ----------
    source_shape, target_shape : tuple of three int
        Rows, columns, features.
    kernel, stride : tuple of two int
        Along rows and columns.
    padding : {"same", "valid"} or tuple of four int
        ``same``: ceil(n / stride) windows, padded with ``max((out - 1) * stride + kernel - n, 0)`` zeros, the
        smaller half before. ``valid``: only windows that lie inside. Four numbers are the zeros at the top, left,
        bottom and right.
    groups : int
        Source and target features are cut into this many equal runs; group g feeds group g.
    weights : WeightSource, array_like of int, or None
        Shape ``(kernel rows, kernel columns, source features / groups, target features)``; ``None``: unknown.

    Raises
    ------
    NetworkError
        If the shapes do not fit, the weights have another layout, or the matrix could have more than 2**28 entries.
    """

    kind: ClassVar[str] = "conv"

    stride: tuple[int, int] = (1, 1)
    padding: Padding | Margins = "same"
    groups: int = 1
    weights: WeightSource | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_groups(self.kind, self.groups, self.source_shape, self.target_shape)
        self._windows.check(self.kind, self.source_shape, self.target_shape, self.target_shape[2])
        self._refuse_above_limit(math.prod(self.target_shape) * math.prod(self.weight_shape[:3]))
        object.__setattr__(self, "weights", as_weight_source(self.weights, self.weight_shape))

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weight tensor."""
        return (*self.kernel, self.source_shape[2] // self.groups, self.target_shape[2])

    def matrix(self) -> csr_array:
        """Build the matrix, ``(n_target, n_source)`` int64.

        Raises
        ------
        NetworkError
            If the weights are unknown or have the wrong shape.
        """
        tensor = _tensor(self.kind, self.weights, self.weight_shape)
        per_source, per_target = self.weight_shape[2], self.target_shape[2] // self.groups
        kernels = tensor.reshape(math.prod(self.kernel), per_source, self.groups, per_target)
        kernel, source, target = self._windows.pairs(self.source_shape, self.target_shape)
        step = max(1, _CHUNK // kernels[0].size)
        found: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.int32),) * 3]  # all windows may lie in the padding
        for start in range(0, len(kernel), step):
            block = kernels[kernel[start : start + step]]
            at, p, g, f = (index.astype(np.int32) for index in np.nonzero(block))
            rows = target[start + at] * self.target_shape[2] + g * per_target + f
            columns = source[start + at] * self.source_shape[2] + g * per_source + p
            found.append((rows, columns, block[at, p, g, f]))
        return self._finish(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class Dense(_Shaped):
    """All to all, or all to all within groups of features.

    With groups, group g of the source's features at all rows and columns feeds group g of the target's
    features at all rows and columns; neurons within a group are counted row-major over (row, column, feature
    of the group).

    Attributes
    ----------
    source_shape, target_shape : tuple of three int
        Rows, columns, features.
    groups : int
        Divides both feature counts.
    weights : WeightSource, array_like of int, or None
        Shape ``(n_target, n_source)``, with groups > 1 ``(groups, n_target / groups, n_source / groups)``.

    Raises
    ------
    NetworkError
        If groups do not divide the features, the weights have another layout, or the matrix could have more than
        2**28 entries.
    """

    kind: ClassVar[str] = "dense"

    groups: int = 1
    weights: WeightSource | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_groups(self.kind, self.groups, self.source_shape, self.target_shape)
        self._refuse_above_limit(math.prod(self.weight_shape))
        object.__setattr__(self, "weights", as_weight_source(self.weights, self.weight_shape))

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weight tensor."""
        sizes = (math.prod(self.target_shape) // self.groups, math.prod(self.source_shape) // self.groups)
        return sizes if self.groups == 1 else (self.groups, *sizes)

    def matrix(self) -> csr_array:
        """Build the matrix, ``(n_target, n_source)`` int64.

        Raises
        ------
        NetworkError
            If the weights are unknown or have the wrong shape.
        """
        tensor = _tensor(self.kind, self.weights, self.weight_shape)
        if self.groups == 1:
            rows, columns = np.nonzero(tensor)
            return self._finish(rows, columns, tensor[rows, columns])
        group, i, j = np.nonzero(tensor)
        return self._finish(
            self._in_node(i, group, self.target_shape[2]),
            self._in_node(j, group, self.source_shape[2]),
            tensor[group, i, j],
        )

    def _in_node(self, index: NDArray[np.intp], group: NDArray[np.intp], features: int) -> NDArray[np.intp]:
        per_group = features // self.groups
        return (index // per_group) * features + group * per_group + index % per_group


@dataclass(frozen=True, eq=False)
class Identity(_Shaped):
    """Neuron k feeds neuron k with weight 1.

    Attributes
    ----------
    source_shape, target_shape : tuple of three int
        Equal.

    Raises
    ------
    NetworkError
        If they are not.
    """

    kind: ClassVar[str] = "identity"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source_shape != self.target_shape:
            raise NetworkError(
                f"identity: target shape {show_shape(self.target_shape)} does not fit the source's; "
                f"give the target shape {show_shape(self.source_shape)}"
            )

    def matrix(self) -> csr_array:
        """Build the matrix, ``(n, n)`` int64."""
        index = np.arange(math.prod(self.source_shape))
        return self._finish(index, index, np.ones(len(index)))


@dataclass(frozen=True, eq=False)
class Pool(_Windowed):
    """OR-pooling: every cell of the window feeds the target with weight 1, feature by feature.

    With threshold 1 the target fires if any cell does. Other thresholds are refused where the pool is the
    target's only edge; where further edges come in, the pool adds the number of active cells to their sum.

    Attributes
    ----------
    source_shape, target_shape : tuple of three int
        Rows, columns, features; equal features.
    kernel : tuple of two int
        Rows and columns of the window.
    stride : tuple of two int or None
        ``None``: as the kernel.
    padding : {"valid", "same"} or tuple of four int
        As in :class:`Conv`; cells outside the source do not count.

    Raises
    ------
    NetworkError
        If the shapes do not fit, or the matrix could have more than 2**28 entries.
    """

    kind: ClassVar[str] = "pool"

    def __post_init__(self) -> None:
        if self.stride is None:
            object.__setattr__(self, "stride", self.kernel)
        super().__post_init__()
        self._windows.check(self.kind, self.source_shape, self.target_shape, self.source_shape[2])
        self._refuse_above_limit(math.prod(self.target_shape) * math.prod(self.kernel))

    def matrix(self) -> csr_array:
        """Build the matrix, ``(n_target, n_source)`` int64."""
        _, source, target = self._windows.pairs(self.source_shape, self.target_shape)
        features = np.arange(self.source_shape[2], dtype=np.int32)
        rows = (target[:, None] * len(features) + features).ravel()
        columns = (source[:, None] * len(features) + features).ravel()
        return self._finish(rows, columns, np.ones(len(rows)))


# What the ``transform`` of an edge may be in a network file.
Transform: TypeAlias = Conv | Dense | Identity | Pool


def _tensor(kind: str, weights: WeightSource | None, shape: tuple[int, ...]) -> NDArray[np.int64]:
    if weights is None:
        raise NetworkError(
            f"{kind} has no weights; give a tensor {show_shape(shape)} in the weights file, as training and "
            "neuromap import --calibrate write it"
        )
    return weights.tensor(shape)


def _check_groups(kind: str, groups: Any, source: Shape, target: Shape) -> None:
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise NetworkError(f"groups: found {show(groups)}; allowed are integers of 1 or more")
    for end, features in (("source", source[2]), ("target", target[2])):
        if features % groups:
            raise NetworkError(
                f"groups: {groups} does not divide the {features} features of the {end}; "
                f"{kind} allows common divisors of both, such as {math.gcd(source[2], target[2])}"
            )


# Canonical integer sparse matrices, and the transform that holds an explicit one.


@dataclass(frozen=True, eq=False)
class MatrixTransform(Card):
    """An explicit matrix, for networks that are built in Python.

    Attributes
    ----------
    weights : csr_array of int64, shape (n_target, n_source)
        Made from a dense or sparse array of integers.

    Raises
    ------
    NetworkError
        If it is not a matrix of integers between -2**31 and 2**31 - 1.
    """

    kind: ClassVar[str] = "matrix"

    weights: csr_array
    _own: csr_array = field(init=False, repr=False)
    """The same, never handed out: callers can replace the arrays of ``weights``."""

    def __post_init__(self) -> None:
        given: Any = self.weights
        matrix: csr_array
        if issparse(given):
            given = cast("coo_array", given)
            if given.ndim != 2:
                raise NetworkError(f"weights: found {given.ndim} dimensions; allowed are 2 (n_target, n_source)")
            # Copied before duplicates are summed: the caller keeps what was given.
            entries = coo_array(given, copy=True)
            entries.data = np.array(as_integers(entries.data, "weights"))
            matrix = csr_array(entries)
            as_integers(matrix.data, "weights")
        else:
            dense = as_integers(given, "weights")
            if dense.ndim != 2:
                raise NetworkError(f"weights: found {dense.ndim} dimensions; allowed are 2 (n_target, n_source)")
            matrix = csr_array(dense)
        object.__setattr__(self, "_own", _canonical(matrix))
        object.__setattr__(self, "weights", lent(self._own))

    def matrix(self) -> csr_array:
        """Return the matrix."""
        return lent(self._own)


def lent(matrix: csr_array) -> csr_array:
    """Return a new matrix with the same read-only arrays, so that nobody can replace those of the first."""
    parts = (matrix.data.view(), matrix.indices.view(), matrix.indptr.view())
    other = csr_array(parts, shape=matrix.shape, copy=False)
    other.has_sorted_indices = other.has_canonical_format = True
    return other


def from_entries(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Make the matrix of an edge from its entries."""
    # returns it without explicit zeros, indices sorted, arrays read-only
    # shapes: rows, columns, values (n_entries,)
    return _canonical(csr_array(coo_array((values.astype(np.int64), (rows, columns)), shape=shape)))


def _canonical(matrix: csr_array) -> csr_array:
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        setattr(matrix, name, frozen(array) if array.base is not None else adopted(array))  # nobody else has it
    return matrix
