"""Operators of a graph, applied to sums of spikes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron, vstack

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import grouped_by, ragged_ranges
from neuromap.errors import NotSupportedError
from neuromap.formats.layers import FUNCTIONS, Operator, TensorShape, along
from neuromap.network.weights import MAX_NEURONS
from neuromap.render.value import Card

# Functions whose results are rounded, so that another order of evaluation may change them.
_ROUNDED = ("plus", "minus", "from", "times", "divided_by", "batch_norm", "sigmoid", "tanh")
# Relative change by another order: a few units in the last place of float32.
_NUDGE = 2.0**-21


class Decision(NamedTuple):
    """Decision of neurons, in integers: spike iff the sum is at least theta."""

    sign: Ints  # (n,): -1 where the neuron spikes below a sum: its weights are negated
    theta: Ints  # (n,): thresholds, after the negation
    # low, high: values that stand for silence and for a spike
    low: float
    high: float
    n_unsure: int  # neurons whose threshold depends on the order of floating-point rounding


def decide(rows: IntegerRows, offset: Floats, pending: tuple[Pending, ...]) -> Decision:
    """Find the signs and thresholds of neurons."""
    # shapes: offset (n,)
    weights = rows.weights.copy()  # its indices are sorted in place
    low, high = (np.asarray(part.sum(axis=1)) for part in (weights.minimum(0), weights.maximum(0)))
    least, greatest = _value(low, rows.unit, offset, pending), _value(high, rows.unit, offset, pending)
    values = np.unique([*np.unique(least), *np.unique(greatest)])
    if len(values) > 2:
        shown = ", ".join(f"{value:g}" for value in values[:3])
        raise NotSupportedError(f"its neurons take more than two values ({shown}{', ...' if len(values) > 3 else ''})")
    slopes = [np.asarray(FUNCTIONS[one.function].slope(*one.constants)) for one in pending]
    if not all(np.isfinite(slope).all() for slope in slopes):
        raise NotSupportedError("its activation rises and falls")
    left = np.where(np.diff(rows.weights.indptr) == 1, high - 1, low)  # a single source makes no sums in between
    ends = left, np.where(least == greatest, left, high), least, greatest
    first = _first_high(rows.unit, offset, pending, ends, 0.0)
    others = [_first_high(rows.unit, offset, pending, ends, nudge) for nudge in (-_NUDGE, _NUDGE)]
    n_unsure = int(np.count_nonzero((others[0] != first) | (others[1] != first)))
    rises, falls = greatest > least, greatest < least
    # Neurons that never change take the sign of those of their feature that do: kernels stay the same everywhere.
    sign = np.where(rises, 1, np.where(falls, -1, math.prod(np.where(slope < 0, -1, 1) for slope in slopes)))
    always = least == (values[-1] if len(values) > 1 else 1.0)
    constant = np.where(always, np.where(sign > 0, low, -high), np.where(sign > 0, high, -low) + 1)
    theta = np.where(rises, first, np.where(falls, 1 - first, constant))
    if len(values) == 1:
        values = np.array([0.0, 1.0]) if values[0] == 1 else np.array([values[0], values[0] + 1])
    return Decision(sign, theta, float(values[0]), float(values[1]), n_unsure)


def _first_high(
    unit: Floats, offset: Floats, pending: tuple[Pending, ...], ends: tuple[Ints, Ints, Floats, Floats], nudge: float
) -> Ints:
    """Find by bisection the least sum with the value of the greatest; ``ends`` are two sums and their values."""
    left, right, least, greatest = ends
    while np.any(right - left > 1):
        middle = (left + right) // 2
        value = _value(middle, unit, offset, pending, nudge)
        at_end, open_ = np.abs(value - greatest) < np.abs(value - least), right - left > 1
        if not nudge and np.any(open_ & (value != np.where(at_end, greatest, least))):
            raise NotSupportedError("its neurons take more than two values")
        right = np.where(open_ & at_end, middle, right)
        left = np.where(open_ & ~at_end, middle, left)
    return right


def _value(sums: Ints, unit: Floats, offset: Floats, pending: tuple[Pending, ...], nudge: float = 0.0) -> Floats:
    """Compute the values of neurons at sums, in float32, or in float64 with rounded results shifted by ``nudge``."""
    exact = sums * unit + offset
    if not nudge:
        steps = [exact.astype(np.float32)]
        with np.errstate(all="ignore"):
            for one in pending:
                steps.append(FUNCTIONS[one.function].compute(steps[-1], *one.constants))
        if not all(np.isfinite(step).all() for step in steps):  # there the order in which a library computes matters
            raise NotSupportedError("its values are not finite")
        return steps[-1].astype(np.float64)
    for one in pending:
        compute = FUNCTIONS[one.function].compute
        with np.errstate(all="ignore"):
            rounded = compute(exact.astype(np.float32), *one.constants).astype(np.float64)
            wide = compute(exact, *(array.astype(np.float64) for array in one.constants))
            if one.function in _ROUNDED:
                size = np.maximum(np.abs(wide), _size_of_terms(one, exact))
                wide = wide + np.where(rounded == wide, 0.0, nudge * size)
        exact = wide
    return np.asarray(exact.astype(np.float32).astype(np.float64))


def _size_of_terms(one: Pending, x: Floats) -> Floats:
    """Size of the terms that a function adds: if two nearly cancel, a small relative error is large."""
    if one.function == "batch_norm":
        mean, variance, scale, shift, epsilon = (array.astype(np.float64) for array in one.constants)
        factor = np.abs(scale / np.sqrt(variance + epsilon))
        found: Floats = (np.abs(x) + np.abs(mean)) * factor + np.abs(shift)
        return found
    return np.maximum(np.abs(x), np.abs(one.constants[0])) if one.constants else np.abs(x)


# Float weights as integers times a unit, row by row: exactly, or as exactly as float32 holds them.
# Least weights of a row that are tried, in units: those of 8-bit weights are no greater.
_MOST_PARTS = 128
# Most, in units, by which float32 weights may miss an integer of up to 16; at greater ones they miss by more.
_ROUNDING = 2e-6
# Greatest integer that float32 weights may miss.
_MOST_ROUNDED = 2**15
_MOST = 2**31 - 1


class IntegerRows(NamedTuple):
    """Integer weights and their units."""

    weights: csr_array  # (n, n_sources): integers
    unit: Floats  # (n,): row k of the float weights is ``unit[k]`` times row k of these
    error: float  # greatest distance of a weight from its integer, in units


def integer_rows(weights: csr_array) -> IntegerRows:
    """Find the unit of every row: 1 where its weights are integers, else the greatest that makes them so."""
    # shapes: weights (n, n_sources)
    data, lengths = weights.data, np.diff(weights.indptr)
    row = np.repeat(np.arange(weights.shape[0]), lengths)
    unit = np.ones(weights.shape[0])
    open_rows = np.zeros(weights.shape[0], bool)
    open_rows[row[~_near_integers(data)]] = True
    if open_rows.any():
        least = np.full(weights.shape[0], np.inf)
        np.minimum.at(least, row, np.where(data == 0, np.inf, np.abs(data)))
        for parts in range(1, _MOST_PARTS + 1):
            mine = open_rows[row]
            trial = data[mine] * parts / least[row[mine]]
            wrong = np.unique(row[mine][~_near_integers(trial)])
            found = open_rows.copy()
            found[wrong] = False
            unit[found] = least[found] / parts
            open_rows &= ~found
            if not open_rows.any():
                break
        else:
            raise NotSupportedError("its weights are not integers times a scale per neuron")
    scaled = data / unit[row]
    integers = np.round(scaled)
    if np.abs(integers).max(initial=0) > _MOST:
        raise NotSupportedError("its weights are greater than 32 bits hold")
    found_weights = csr_array((integers.astype(np.int64), weights.indices, weights.indptr), shape=weights.shape)
    found_weights.eliminate_zeros()
    return IntegerRows(found_weights, unit, float(np.abs(scaled - integers).max(initial=0)))


def _near_integers(values: Floats) -> Bools:
    nearest = np.round(values)
    size = np.abs(nearest)
    with np.errstate(invalid="ignore"):
        near = (np.abs(values - nearest) <= _ROUNDING * np.maximum(1, size / 16)) & (size > 0) & (size <= _MOST_ROUNDED)
    found: Bools = near | (values == nearest)
    return found


# Tensors of a graph as sums of weighted spikes, element by element.


@dataclass(frozen=True, eq=False)
class Pending(ReadOnly, Card):
    """A function to apply once its sum is complete."""

    function: str  # of :data:`~neuromap.formats.layers.FUNCTIONS`
    constants: tuple[NDArray[np.float32], ...] = ()  # one number per element, or one for all


@dataclass(frozen=True, eq=False)
class SpikeSums(ReadOnly, Card):
    """A tensor whose every element is a weighted sum of spikes plus a number, with functions applied to that."""

    shape: TensorShape  # batch axis first, of one frame
    weights: Mapping[str, csr_array]  # (n_elements, n_neurons): from every node whose spikes it holds
    offset: Floats  # (n_elements,): added to the sums
    pending: tuple[Pending, ...] = ()  # functions of the sum, in order

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def spikes_per_element(self) -> Ints:
        """Count the neurons that every element depends on."""
        counts = np.zeros(self.size, np.int64)
        for matrix in self.weights.values():
            counts += np.diff(matrix.indptr)
        return counts

    def with_function(self, function: str, constants: tuple[NDArray[np.float32], ...]) -> SpikeSums:
        """Apply an element-wise function: at once where elements are single spikes, else after the sum is complete."""
        spread = (array.reshape(()) if array.size == 1 else np.broadcast_to(array, self.shape) for array in constants)
        numbers = tuple(part.reshape(-1 if part.ndim else ()).astype(np.float32) for part in spread)
        if self.pending or self.spikes_per_element().max(initial=0) > 1:
            return replace(self, pending=(*self.pending, Pending(function, numbers)))
        total = sum((matrix.sum(axis=1) for matrix in self.weights.values()), np.zeros(self.size))
        with np.errstate(all="ignore"):
            silent, spiking = (
                FUNCTIONS[function].compute(part.astype(np.float32), *numbers).astype(np.float64)
                for part in (self.offset, self.offset + total)
            )
            step = spiking - silent
        weights = {}
        for name, matrix in self.weights.items():
            changed = matrix.copy()
            changed.data = step[np.repeat(np.arange(self.size), np.diff(matrix.indptr))]
            changed.eliminate_zeros()
            weights[name] = changed
        return replace(self, weights=weights, offset=silent)

    def summed(self) -> SpikeSums:
        """Fold pending functions into weights and offset, which works if all of them only scale and shift."""
        found = replace(self, pending=())
        for one in self.pending:
            if FUNCTIONS[one.function].line is None:
                raise NotSupportedError(f"its value, after {one.function}, is read as a number")
            compute = FUNCTIONS[one.function].compute
            constants = tuple(array.astype(np.float64) for array in one.constants)
            zero = np.zeros(self.size)
            shift, factor = compute(zero, *constants), compute(zero + 1, *constants) - compute(zero, *constants)
            scale = eye_array(self.size).tocsr()
            scale.data = np.array(np.broadcast_to(factor, (self.size,)))
            found = replace(found.through(scale, self.shape), offset=found.offset * factor + shift)
        return found

    def through(self, matrix: csr_array, shape: TensorShape) -> SpikeSums:
        """Apply a linear transform, shape (n_elements of the result, n_elements)."""
        plain = self.summed() if self.pending else self
        weights = {name: csr_array(matrix @ part) for name, part in plain.weights.items()}
        return SpikeSums(shape, weights, np.asarray(matrix @ plain.offset))

    def picked(self, elements: Ints, shape: TensorShape, otherwise: float = 0.0) -> SpikeSums:
        """Reorder elements; -1 stands for the constant ``otherwise``."""
        inside = np.flatnonzero(elements >= 0)
        entries = (np.ones(len(inside)), (inside, elements[inside]))
        moved = self.through(csr_array(entries, shape=(len(elements), self.size)), shape)
        offset = moved.offset.copy()
        offset[elements < 0] = otherwise
        return replace(moved, offset=offset)


# Operators that only move elements.
MOVES = ("reshape", "transpose", "slice", "concat", "pad")


def compute(one: Operator, tensors: Mapping[str, SpikeSums]) -> SpikeSums:
    """Apply an operator."""
    if one.shape is None:
        raise NotSupportedError("its shape is not known")
    if math.prod(one.shape) > MAX_NEURONS:
        raise NotSupportedError(f"it has more than 2**24 = {MAX_NEURONS} elements")
    read = [tensors[tensor] for tensor in one.reads]
    first, shape = read[0], one.shape
    if one.kind == "function":
        name = one.setting("function", "")
        if name not in FUNCTIONS:
            raise NotSupportedError(f"{one.called} takes more than two values")
        return first.with_function(name, one.constants) if name != "same" else first
    if one.kind in MOVES:
        elements, constant = moved_elements(one, [part.shape for part in read], shape)
        return _joined(read).picked(elements, shape, constant)
    if one.kind in ("conv", "dense"):
        is_conv = one.kind == "conv"
        matrix = conv_matrix(one, first.shape, shape) if is_conv else dense_matrix(one, first.shape)
        found = first.through(matrix, shape)
        if len(one.constants) < 2:
            return found
        # a bias is a pending function, so that it is added to an exact sum
        bias = np.broadcast_to(along(1 if is_conv else len(shape) - 1, one.constants[1], len(shape)), shape)
        return replace(found, pending=(Pending("plus", (bias.reshape(-1).astype(np.float32),)),))
    if one.kind == "average":
        return first.through(mean_matrix(one, first.shape, shape), shape)
    if one.kind == "max_pool":
        return _greatest(one, first)
    if one.kind == "add":
        return _sum(one, read)
    raise NotSupportedError(f"{one.called} is not a sum")


def _joined(read: list[SpikeSums]) -> SpikeSums:
    """Concatenate tensors, flattened."""
    if len(read) == 1:
        return read[0]
    plain = [part.summed() for part in read]
    sizes = {name: matrix.shape[1] for part in plain for name, matrix in part.weights.items()}
    weights = {
        name: csr_array(vstack([part.weights.get(name, csr_array((part.size, n_neurons))) for part in plain]))
        for name, n_neurons in sizes.items()
    }
    offset = np.concatenate([part.offset for part in plain])
    return SpikeSums((1, len(offset)), weights, offset)


def _sum(one: Operator, read: list[SpikeSums]) -> SpikeSums:
    """Add tensors of one shape."""
    shape = one.shape or ()
    weights: dict[str, csr_array] = {}
    offset = np.zeros(math.prod(shape))
    for part, sign in zip(read, one.setting("signs", (1,) * len(read)), strict=True):
        plain = part.summed()
        if plain.shape != shape:
            plain = plain.picked(np.broadcast_to(np.arange(plain.size).reshape(plain.shape), shape).ravel(), shape)
        for name, matrix in plain.weights.items():
            signed = csr_array(matrix * sign)
            weights[name] = csr_array(weights[name] + signed) if name in weights else signed
        offset = offset + plain.offset * sign
    return SpikeSums(shape, weights, offset)


def _greatest(one: Operator, read: SpikeSums) -> SpikeSums:
    """Take the maximum over windows of spikes of equal worth: an OR, or an AND where silence is worth more."""
    if read.pending or read.spikes_per_element().min(initial=1) < 1 or read.spikes_per_element().max(initial=1) > 1:
        raise NotSupportedError("it takes the greatest of what are not spikes")
    step = np.concatenate([matrix.data for matrix in read.weights.values()])
    if len(np.unique(step)) != 1 or len(np.unique(read.offset)) != 1:
        raise NotSupportedError("it takes the greatest of spikes that are not worth the same")
    windows = window_matrix(one, read.shape, one.shape or ())
    weights = {name: csr_array(windows @ (matrix / step[0])) for name, matrix in read.weights.items()}
    size = windows.shape[0]
    counts = np.asarray(windows.sum(axis=1), np.float32)
    high, low = np.float32(read.offset[0] + max(step[0], 0)), np.float32(read.offset[0] + min(step[0], 0))
    is_any, is_some_silent = ("greater_or_equal", np.ones(size, np.float32)), ("less", counts)
    function, bound = is_any if step[0] > 0 else is_some_silent
    pending = Pending(function, (bound,)), Pending("where", (np.asarray(high), np.asarray(low)))
    return SpikeSums(one.shape or (), weights, np.zeros(size), pending)


# Linear operators of a graph as sparse matrices, on elements in the source's storage order.


# Most nonzero entries of one such matrix.
MOST_ENTRIES = 2**26


def conv_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of a convolution, shape (n_target, n_source), of float64."""
    if not one.constants:
        raise NotSupportedError("its weights are unknown")
    kernel = one.constants[0].astype(np.float64)
    groups = int(one.setting("groups", 1))
    n_target, n_source = target[1], source[1]
    if (
        kernel.ndim != len(source)
        or n_target % groups
        or kernel.shape[0] != n_target
        or kernel.shape[1] * groups != n_source
    ):
        raise NotSupportedError(f"its weights of shape {list(kernel.shape)} do not fit {n_source} features")
    _check_windows(one, kernel.shape[2:], source, target)
    cell, read, window = _touching(one, kernel.shape[2:], source[2:], target[2:])
    features, taken, place = np.nonzero(kernel.reshape(n_target, kernel.shape[1], -1))
    begin, pairs = grouped_by(cell, np.arange(len(cell)), math.prod(kernel.shape[2:]))
    counts = np.diff(begin)[place]
    if counts.sum() > MOST_ENTRIES:
        raise NotSupportedError(f"its matrix has more than 2**26 = {MOST_ENTRIES} weights")
    pair, weight = pairs[ragged_ranges(begin[place], counts)], np.repeat(np.arange(len(place)), counts)
    from_feature = taken + features // (n_target // groups) * kernel.shape[1]
    rows = features[weight] * math.prod(target[2:]) + window[pair]
    columns = from_feature[weight] * math.prod(source[2:]) + read[pair]
    size = math.prod(target[1:]), math.prod(source[1:])
    return csr_array((kernel[kernel != 0][weight], (rows, columns)), shape=size)


def window_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix with a 1 for every cell in a window of a pool, feature by feature."""
    if "kernel" not in one.settings:
        return _axes_matrix(one, source)
    _check_windows(one, one.settings["kernel"], source, target)
    _, read, window = _touching(one, one.settings["kernel"], source[2:], target[2:])
    features = np.arange(source[1])[:, None]
    rows, columns = features * math.prod(target[2:]) + window, features * math.prod(source[2:]) + read
    size = source[1] * math.prod(target[2:]), math.prod(source[1:])
    return csr_array((np.ones(rows.size), (rows.ravel(), columns.ravel())), shape=size)


def mean_matrix(one: Operator, source: TensorShape, target: TensorShape) -> csr_array:
    """Build the matrix of a mean or a sum."""
    windows = window_matrix(one, source, target)
    if one.setting("mean"):
        counts = cells_counted(one, windows, source, target)
        windows.data = windows.data / np.repeat(counts, np.diff(windows.indptr))
    return windows


def cells_counted(one: Operator, windows: csr_array, source: TensorShape, target: TensorShape) -> Ints:
    """Count the cells that the mean of each window divides by, 1 at least."""
    if not one.setting("counts_padding") or "kernel" not in one.settings:
        return np.maximum(np.asarray(windows.sum(axis=1)), 1).astype(np.int64)
    kernel = one.settings["kernel"]
    stride, dilation, pads = one.slides(len(kernel))
    counts = np.ones(source[1], np.int64)
    for axis, (k, made) in enumerate(zip(kernel, target[2:], strict=True)):
        # the last window may reach beyond the padding, and what lies there does not count
        cells = np.arange(made)[:, None] * stride[axis] + np.arange(k) * dilation[axis]
        room = source[2 + axis] + pads[axis] + pads[axis + len(kernel)]
        counts = np.multiply.outer(counts, (cells < room).sum(axis=1))
    return np.maximum(counts.ravel(), 1)


def dense_matrix(one: Operator, source: TensorShape) -> csr_array:
    """Build the matrix that multiplies the last axis by a constant, row by row."""
    if not one.constants or one.constants[0].ndim != 2 or one.constants[0].shape[1] != source[-1]:
        raise NotSupportedError("its weights are unknown, or not a matrix for its last axis")
    rows = math.prod(source[:-1])
    weights = csr_array(one.constants[0].astype(np.float64))
    if weights.nnz * rows > MOST_ENTRIES:
        raise NotSupportedError(f"its matrix has more than 2**26 = {MOST_ENTRIES} weights")
    return weights if rows == 1 else csr_array(kron(eye_array(rows), weights))


def moved_elements(one: Operator, shapes: Sequence[TensorShape], target: TensorShape) -> tuple[Ints, float]:
    """Find the source element of every element of a move's result, and the constant."""
    # elements: -1 where the constant takes its place
    # shapes: elements (n_target,)
    starts = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    grids = [np.arange(math.prod(s), dtype=np.int64).reshape(s) + k for s, k in zip(shapes, starts[:-1], strict=True)]
    try:
        moved, constant = _moved(one, grids)
        if moved.size != math.prod(target):
            raise ValueError("size")
    except (KeyError, ValueError, IndexError):
        raise NotSupportedError(
            f"where its {one.called} puts elements is not known; write the model without it"
        ) from None
    return moved.ravel(), constant


def _moved(one: Operator, grids: list[Ints]) -> tuple[Ints, float]:
    grid, settings = grids[0], one.settings
    if one.kind == "reshape":
        return grid, 0.0
    if one.kind == "transpose":
        return np.transpose(grid, settings["order"]), 0.0
    if one.kind == "concat":
        if not settings["whole"]:
            raise ValueError("constants")
        return np.concatenate(grids, settings["axis"]), 0.0
    if one.kind == "pad":
        pads, n = settings["pads"], grid.ndim
        if min(pads) < 0 or len(pads) != 2 * n:
            raise ValueError("pads")
        return np.pad(grid, list(zip(pads[:n], pads[n:], strict=True)), constant_values=-1), settings["value"]
    if "index" in settings:
        return np.take(grid, settings["index"], settings["axis"]), 0.0
    where = [slice(None)] * grid.ndim
    where[settings["axis"]] = slice(settings["start"], settings["stop"], settings["step"])
    return grid[tuple(where)], 0.0


def _check_windows(one: Operator, kernel: Sequence[int], source: TensorShape, target: TensorShape) -> None:
    """Check the shape that the source states against its windows: shapes may be stated rather than inferred."""
    n = len(kernel)
    stride, dilation, pads = one.slides(n)
    if not len(source) == len(target) == n + 2:
        raise NotSupportedError(f"its shape {list(target)} does not follow from {list(source)}")
    for axis, (length, made) in enumerate(zip(source[2:], target[2:], strict=True)):
        left = length + pads[axis] + pads[axis + n] - (kernel[axis] - 1) * dilation[axis] - 1
        # maxima and means may have a partial last window
        most = left // stride[axis] if one.kind == "conv" else -(-left // stride[axis])
        if not left // stride[axis] <= made - 1 <= most:
            raise NotSupportedError(f"its shape {list(target)} does not follow from {list(source)}")
        # some drop such a window and some do not
        if one.kind != "conv" and (made - 1) * stride[axis] >= length + pads[axis]:
            raise NotSupportedError(f"its last window of {list(kernel)} lies in the padding; give it less")


def _touching(
    one: Operator, kernel: Sequence[int], source: TensorShape, target: TensorShape
) -> tuple[Ints, Ints, Ints]:
    """List the kernel cell, source cell and window of every pair that meets, over all axes."""
    if math.prod(kernel) * math.prod(target) > MOST_ENTRIES:
        raise NotSupportedError(f"its matrix has more than 2**26 = {MOST_ENTRIES} weights")
    stride, dilation, pads = one.slides(len(source))
    cells = reads = windows = np.zeros(1, np.int64)
    for axis, (k, length, made) in enumerate(zip(kernel, source, target, strict=True)):
        cell, window = np.divmod(np.arange(k * made), made)
        read = window * stride[axis] + cell * dilation[axis] - pads[axis]
        inside = (read >= 0) & (read < length)
        cells = (cells[:, None] * k + cell[inside]).ravel()
        reads = (reads[:, None] * length + read[inside]).ravel()
        windows = (windows[:, None] * made + window[inside]).ravel()
    return cells, reads, windows


def _axes_matrix(one: Operator, source: TensorShape) -> csr_array:
    axes = one.setting("axes")
    if axes is None:
        raise NotSupportedError("what its window covers, or how its mean of integers is rounded, is not known")
    kept = [length if axis not in axes else 1 for axis, length in enumerate(source)]
    target = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), source).ravel()
    size = math.prod(source)
    return csr_array((np.ones(size), (target, np.arange(size))), shape=(math.prod(kept), size))
