"""Weights of edges: stored, or drawn from a seed; windows, layouts, limits of size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, frozen, refuse_masked
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.render.value import Card

# Layouts of other frameworks, by the order of axes that makes them that of conv or dense; the likeliest first.
_LAYOUTS: dict[tuple[int, ...], str] = {
    (2, 3, 1, 0): "(out, in, height, width)",
    (1, 2, 3, 0): "(out, height, width, in)",
    (2, 3, 0, 1): "(in, out, height, width)",
    (0, 1, 3, 2): "(height, width, out, in)",
    (1, 0): "(n_source, n_target)",
    (0, 2, 1): "(groups, n_source, n_target)",
}


def layout_hint(found: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Suggest the order of axes that gives weights the shape of a transform, if there is one."""
    # returns the end of a message; empty if no order of the axes gives the shape
    if sorted(found) != sorted(shape):
        return ""
    orders = [*_LAYOUTS, *permutations(range(len(shape)))]
    fits = (order for order in orders if len(order) == len(shape) and tuple(found[k] for k in order) == shape)
    order = next(fits)
    looks = f"this looks like {_LAYOUTS[order]}: " if order in _LAYOUTS else ""
    return f"; {looks}use weights.transpose({', '.join(map(str, order))})"


# Sources of the weights of a conv or dense edge: an array, or a seed.
#
# Tensor layouts, rows and columns counted from the top left, neurons row-major over (row, column, feature):
#
# - conv: ``(kernel rows, kernel columns, source features / groups, target features)``;
# - dense: ``(n_target, n_source)``;
# - dense with groups > 1: ``(groups, n_target / groups, n_source / groups)``.
# Greatest seed: the greatest integer that every TOML reader takes.
MAX_SEED = 2**63 - 1
# Most values that seeded weights may be drawn from.
MAX_VALUES = 2**16
_CHUNK = 2**20


class WeightSource(Protocol):
    """Source of the weight tensor of an edge."""

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the tensor of this shape, in the layout of its transform."""


@dataclass(frozen=True, eq=False)
class StoredWeights(Card):
    """Weights held in an array."""

    array: NDArray[np.int64]  # read-only, in the layout of its transform; made from any integer array

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", as_integers(self.array, "weights"))

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the array, or refuse another shape."""
        if self.array.shape != shape:
            found = self.array.shape
            raise NetworkError(
                f"weights: found shape {show_shape(found)}; the transform takes {show_shape(shape)}"
                + layout_hint(found, shape)
            )
        return self.array


@dataclass(frozen=True)
class SeededWeights(Card):
    """Weights drawn from a list of values, the same on every machine and for every NumPy version.

    The generator is Philox 4x64 with ten rounds (Salmon et al., SC 2011), key = ``seed``, as NumPy's
    ``Philox(key=seed)``: it counts from 1. Its n-th raw 64-bit output r gives the n-th weight in C order of
    the tensor: ``values[((r >> 32) * len(values)) >> 32]``. NumPy keeps the raw streams of its generators.

    Attributes
    ----------
    seed : int
        0 to 2**63 - 1. Two edges with one seed start alike.
    values : tuple of int
        Drawn with equal odds; a value given twice comes twice as often.

    Raises
    ------
    NetworkError
        If seed or values are out of range or not integers.
    """

    seed: int
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        seed: Any = self.seed
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= MAX_SEED:
            raise NetworkError(f"seed: found {show(seed)}; allowed are the integers 0 to 2**63 - 1")
        values = as_integers(self.values, "values")
        if values.ndim != 1 or not 1 <= len(values) <= MAX_VALUES:
            raise NetworkError(
                f"values: found shape {show_shape(values.shape)}; allowed is a list of 1 to {MAX_VALUES} integers"
            )
        object.__setattr__(self, "seed", int(seed))
        object.__setattr__(self, "values", tuple(values.tolist()))

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw the tensor of this shape."""
        values = np.array(self.values, dtype=np.int64)
        generator = np.random.Philox(key=self.seed)
        tensor = np.empty(math.prod(shape), dtype=np.int64)
        for start in range(0, tensor.size, _CHUNK):
            raw = generator.random_raw(min(_CHUNK, tensor.size - start))
            index = ((raw >> np.uint64(32)) * np.uint64(len(values))) >> np.uint64(32)
            tensor[start : start + _CHUNK] = values[index]
        return adopted(tensor.reshape(shape))


def as_weight_source(weights: Any, shape: tuple[int, ...]) -> WeightSource | None:
    """Convert ``None``, a source of weights, or an integer array to what a transform of this layout holds."""
    if weights is not None and not isinstance(weights, SeededWeights | StoredWeights):
        weights = StoredWeights(weights)
    if isinstance(weights, StoredWeights):
        weights.tensor(shape)  # or refused
    return weights  # type: ignore[no-any-return] # one of the two, or none


# Windows that slide over rows and columns: how many there are, and which cells they touch.


Padding: TypeAlias = Literal["same", "valid"]
PADDINGS: tuple[str, ...] = get_args(Padding)
# Cells of padding on each side: top, left, bottom, right.
Margins: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pool."""

    # kernel, stride: along rows and columns
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: Padding | Margins  # see :class:`~neuromap.network.transforms.Conv`

    @property
    def _along(self) -> tuple[Padding | tuple[int, int], Padding | tuple[int, int]]:
        """Padding along rows and along columns."""
        if isinstance(self.padding, str):
            return self.padding, self.padding
        top, left, bottom, right = self.padding
        return (top, bottom), (left, right)

    def margins(self, source: Sequence[int], target: Sequence[int]) -> Margins:
        """Return the cells of padding at the top, left, bottom and right, however given."""
        lengths = zip(source[:2], target[:2], self.kernel, self.stride, self._along, strict=True)
        (top, bottom), (left, right) = (cells_around(*along) for along in lengths)
        return top, left, bottom, right

    def check(self, kind: str, source: Sequence[int], target: Sequence[int], features: int) -> None:
        """Refuse a target shape that the windows do not yield, and name the one that they do."""
        lengths = zip(source[:2], self.kernel, self.stride, self._along, strict=True)
        counts = [output_length(*along) for along in lengths]
        if min(counts) < 1:
            raise NetworkError(
                f"kernel: {show_shape(self.kernel)} is larger than the source's rows and columns "
                f'{show_shape(source[:2])}; take a smaller one or padding = "same"'
            )
        fits = (*counts, features)
        if tuple(target) != fits:
            padding = f'"{self.padding}"' if isinstance(self.padding, str) else show_shape(self.padding)
            raise NetworkError(
                f"{kind}: target shape {show_shape(target)} does not fit; kernel {show_shape(self.kernel)}, "
                f"stride {show_shape(self.stride)}, padding {padding} make {show_shape(fits)} of the "
                f"source's {show_shape(source)}"
            )

    def pairs(
        self, source: Sequence[int], target: Sequence[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """List every pair of a source and a target position that touch."""
        # shapes: kernel_cell, source_position, target_position (n_pairs,)
        lengths = zip(source[:2], target[:2], self.kernel, self.stride, self._along, strict=True)
        (k0, s0, t0), (k1, s1, t1) = (window_pairs(*along) for along in lengths)
        return (
            (k0[:, None] * self.kernel[1] + k1).ravel(),
            (s0[:, None] * source[1] + s1).ravel(),
            (t0[:, None] * target[1] + t1).ravel(),
        )


def as_pair(value: Any, what: str) -> tuple[int, int]:
    """Check a kernel or a stride: two integers from 1 to 2**24, along rows and columns."""
    if not _are_integers(value, 2, least=1):
        raise NetworkError(f"{what}: found {show(value)}; allowed are two integers [rows, columns], 1 to 2**24")
    return int(value[0]), int(value[1])


def as_padding(value: Any) -> Padding | Margins:
    """Check a padding: a word, or four numbers of cells."""
    if isinstance(value, str) and value in PADDINGS:
        return value  # type: ignore[return-value] # one of its words
    if not _are_integers(value, 4, least=0):
        raise NetworkError(
            f'padding: found {show(value)}; allowed are "same", "valid" and four integers [top, left, bottom, right], '
            "0 to 2**24"
        )
    return int(value[0]), int(value[1]), int(value[2]), int(value[3])


def output_length(length: int, kernel: int, stride: int, padding: Padding | tuple[int, int]) -> int:
    """Count the windows along one axis; 0 or less where the kernel is longer than a ``valid`` axis."""
    # padding: a word, or the cells before and after
    if padding == "same":
        return -(-length // stride)
    return (length + (0 if isinstance(padding, str) else sum(padding)) - kernel) // stride + 1


def cells_around(
    length: int, windows: int, kernel: int, stride: int, padding: Padding | tuple[int, int]
) -> tuple[int, int]:
    """Count the cells of padding before and after an axis."""
    if not isinstance(padding, str):
        return padding
    cells = max((windows - 1) * stride + kernel - length, 0) if padding == "same" else 0
    return cells // 2, cells - cells // 2


def window_pairs(
    length: int, windows: int, kernel: int, stride: int, padding: Padding | tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """List the cells of all windows along one axis."""
    # returns kernel_cell, cell, window: cell of the kernel, cell of the axis, window; sorted by window, then cell
    # shapes: kernel_cell, cell, window (n_pairs,)
    before, _ = cells_around(length, windows, kernel, stride, padding)
    # Window i touches the cells first[i] .. last[i]; a kernel far longer than the axis costs nothing extra.
    start = np.arange(windows, dtype=np.int64) * stride - before
    first, last = np.maximum(start, 0), np.minimum(start + kernel, length)
    counts = np.maximum(last - first, 0)
    window = np.repeat(np.arange(windows), counts)
    cell = ragged_ranges(first, counts)
    return (cell - start[window]).astype(np.int32), cell.astype(np.int32), window.astype(np.int32)


# Limits of shapes and integers in a network: checked before anything is allocated, and shown in few characters.
#
# The lowest layer of the network: nodes, thresholds, transforms and files all use it.
# Most neurons of one node.
MAX_NEURONS = 2**24
# Most entries that the matrix of one edge could hold if none of its weights were zero.
MAX_ENTRIES = 2**28
# Least weight or threshold.
INT_LOW = -(2**31)
# Greatest weight or threshold.
INT_HIGH = 2**31 - 1


def _are_integers(value: Any, number: int, *, least: int, greatest: float = MAX_NEURONS) -> bool:
    """Return whether a value is a list of ``number`` integers of Python or NumPy, none a Boolean, within bounds."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != number:
        return False
    return all(isinstance(n, int | np.integer) and not isinstance(n, bool) and least <= n <= greatest for n in value)


def show_shape(shape: Sequence[int]) -> str:
    """Format a shape as in files: ``[8, 8, 1]``."""
    return "[" + ", ".join(show_count(n) for n in shape) + "]"


def as_shape(shape: Any) -> tuple[int, int, int]:
    """Check a node's shape."""
    entries = [1, 1, shape] if isinstance(shape, int | np.integer) else shape
    entries = list(entries) if isinstance(entries, np.ndarray) and entries.ndim else entries
    if not _are_integers(entries, 3, least=1, greatest=math.inf):
        raise NetworkError(f"shape: found {show(shape)}; allowed are three positive integers [rows, columns, features]")
    rows, columns, features = (int(n) for n in entries)
    size = math.prod((rows, columns, features))
    if size > MAX_NEURONS:
        raise NetworkError(
            f"shape: {show_shape((rows, columns, features))} is {show_count(size)} neurons; "
            f"at most 2**24 = {MAX_NEURONS} are allowed in one node; split it into several"
        )
    return rows, columns, features


def as_integers(values: Any, what: str) -> NDArray[np.int64]:
    """Convert an array of weights or thresholds to int64; refuse what is not an integer."""
    array = require_integers(values, what)
    if array.size:
        for extreme in (int(array.min()), int(array.max())):
            if not INT_LOW <= extreme <= INT_HIGH:
                raise NetworkError(
                    f"{what}: found the value {extreme}; allowed are {INT_LOW} to {INT_HIGH} (32 bits, signed)"
                )
    if array.dtype == np.int64:
        return frozen(array)
    return adopted(array.astype(np.int64))


def require_integers(values: Any, what: str) -> NDArray[Any]:
    """Refuse anything but an array of integers, however large; errors are those of :func:`as_integers`."""
    refuse_masked(values, what, NetworkError)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RuntimeError):  # the last of tensors that need gradients
        raise NetworkError(f"{what}: found {show(values)}; allowed is an array of integers") from None
    if not array.size and not hasattr(values, "dtype"):  # NumPy makes floats of an empty list
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":  # np.timedelta64 counts as a subtype of np.integer
        raise NetworkError(f"{what}: {not_integers(array)}")
    return array


def not_integers(array: NDArray[Any]) -> str:
    """Explain why an array that does not hold integers is refused."""
    if np.issubdtype(array.dtype, np.floating):
        nan = int(np.isnan(array).sum())
        if nan:
            return f"found {array.dtype} with {nan} NaN; only integers are allowed; find where the NaN came from"
        return f"found {array.dtype}; only integers are allowed; scale, round and cast, say to int32"
    if array.dtype == np.bool_:
        return "found bool; only integers are allowed; cast to int8 if 0 and 1 are meant"
    return f"found dtype {array.dtype}; only integers of at most 64 bits are allowed"


def show_count(n: int) -> str:
    """Format a number of any size in a few characters."""
    return str(n) if n < 10**12 else f"about 2**{n.bit_length() - 1}"
