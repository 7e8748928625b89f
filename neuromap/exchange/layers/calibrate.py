"""Post-training quantisation of float graphs, with scales from a set of inputs.

Weights become symmetric 8-bit integers with a scale per output feature; activations become 8-bit integers over the
range that they take on the set. Normalisations, factors and shifts after a sum go into its weights and bias first.
The result is again a graph of operators, which ``take_graded`` imports like one from a file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from neuromap.datasets.sources import SCHEMES, load_images
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError, NotSupportedError, prefixed
from neuromap.exchange.imported import Note
from neuromap.exchange.layers.compute import MOVES, conv_matrix, mean_matrix, moved_elements
from neuromap.exchange.layers.find_structure import SUMS
from neuromap.exchange.layers.take_graded import affine, tail_of
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import counted, show_name
from neuromap.files.unpacked import read_npz
from neuromap.formats.layers import FUNCTIONS, Operator, OperatorGraph, TensorShape, along
from neuromap.network.weights import MAX_NEURONS, show_count

Reals = NDArray[np.float32]
# Scale and zero point.
Numbers = tuple[NDArray[Any], NDArray[Any]]
# Most inputs computed at a time, and most values of their windows, unless one input has more.
_AT_ONCE, _VALUES_AT_ONCE = 32, 2**26
# Most values of the windows of one input.
_MOST_VALUES = 2**28
# Largest file of a calibration set, packed or not; arrays in Python have no bound.
_MOST_BYTES = 2**29
# Most images of a set on which scales are found.
_IMAGES = 1000
# Values of a tensor kept from every batch for a percentile, roughly.
_SAMPLES = 2**16
_AFFINE = ("batch_norm", "plus", "minus", "times", "divided_by", "from", "negative")
_BOUNDS = ("relu", "clip", "same")


@dataclass(eq=False)
class Calibration:
    """Calibration set of a float graph, with its settings and the graph's results."""

    inputs: Mapping[str, Reals]  # by tensor: (n, *shape of one frame)
    labels: NDArray[np.int64] | None = None
    percentile: float | None = None  # percentage of an activation's values that its range holds; None: all of them
    # values of black and white for the network: of images, or the range of the array of an only input
    seen: tuple[float, float] | None = None
    ends: dict[str, Reals] = field(default_factory=dict)  # results of the float graph by output tensor


def calibration_of(graph: OperatorGraph, given: Any, labels: ArrayLike | None, percentile: float | None) -> Calibration:
    """Make a calibration set from an array, arrays by input, a file of them, or labelled images."""
    if isinstance(given, str) and given.partition(":")[0] in SCHEMES:
        given = load_images(given, "train")
    seen = given.seen if isinstance(given, ImageSet) else None
    if isinstance(given, ImageSet):
        given, labels = _of_images(graph, given)
    elif isinstance(given, str | Path):
        with prefixed(f"{show_name(str(Path(given)))}: ", InputError):
            content = read_bytes(Path(given), "calibration set (.npz)", _MOST_BYTES, InputError)
            given = read_npz(content, _MOST_BYTES, InputError)
    arrays = dict(given) if isinstance(given, Mapping) else {next(iter(graph.inputs)): given}
    labels = arrays.pop("labels", labels)
    if len(graph.inputs) == 1 and len(arrays) == 1:
        arrays = {next(iter(graph.inputs)): next(iter(arrays.values()))}
    found = {}
    for tensor, shape in graph.inputs.items():
        if shape is None or tensor not in arrays:
            names = ", ".join(map(str, arrays)) or "nothing"
            raise InputError(
                f"calibration: no array for input {show_name(tensor)}, found {names}; name it like the input, or give "
                "a set of labelled images, such as npz:FILE"
            )
        array = _finite(tensor, arrays[tensor])
        if array.size % math.prod(shape) or array.shape[1:] not in (tuple(shape[1:]), (math.prod(shape[1:]),)):
            wanted = ", ".join(["n", *map(str, shape[1:])])
            raise InputError(
                f"calibration: {show_name(tensor)}: found shape {list(array.shape)}; allowed is [{wanted}]"
            )
        if np.abs(array).max() < np.finfo(np.float32).tiny:
            raise InputError(
                f"calibration: {show_name(tensor)}: found zeros only, which no scale follows from; give inputs as the "
                "network will see them"
            )
        found[tensor] = array.reshape(-1, *shape[1:])
    if len({len(array) for array in found.values()}) > 1:
        raise InputError("calibration: inputs have different numbers of rows; give every input as many")
    if seen is None and len(found) == 1:
        (array,) = found.values()
        seen = min(0.0, float(array.min())), max(0.0, float(array.max()))
    if percentile is not None and not 50 < percentile <= 100:
        raise InputError(f"percentile: found {percentile!r:.40}; allowed are numbers above 50 and up to 100")
    if labels is None:
        return Calibration(found, None, percentile, seen)
    rows, numbers = len(next(iter(found.values()))), np.asarray(labels)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise InputError(f"calibration: labels: found shape {list(numbers.shape)}; give {rows} integers, one an input")
    if numbers.min() < 0:
        raise InputError(f"calibration: labels: found {numbers.min()}; give the numbers of classes, from 0 on")
    return Calibration(found, numbers.astype(np.int64), percentile, seen)


def _of_images(graph: OperatorGraph, images: ImageSet) -> tuple[dict[str, Reals], NDArray[np.int64]]:
    """Return images, spread over the set, as the float network sees them, and their labels."""
    if len(graph.inputs) != 1:
        raise InputError(
            f"calibration: images are of one input, the network has {len(graph.inputs)}; give an .npz file with an "
            "array for each"
        )
    ((tensor, shape),) = graph.inputs.items()
    images = images.stills()
    which = np.unique(np.linspace(0, len(images.images) - 1, _IMAGES).astype(np.int64))
    low, high = images.seen
    shown = images.intensities(which) * np.float32(high - low) + np.float32(low)
    rows, columns, features = images.shape
    first = np.moveaxis(shown, -1, 1)
    # one image a row may stand for any layout; with rows and columns it has to be that of the network
    flat = rows * columns == 1 or (shape is not None and len(shape) == 2)
    fits = [
        found
        for found in (first, shown)
        if shape is not None
        and (math.prod(shape[1:]) == features * rows * columns if flat else _long(found.shape) == _long(shape))
    ]
    if shape is None or not fits:
        wanted = "of unknown size" if shape is None else " x ".join(map(str, shape[1:]))
        raise InputError(
            f"calibration: images of {images.name} have {rows} x {columns} pixels and {counted(features, 'feature')}; "
            f"the network's input {show_name(tensor)} is {wanted}; give images of that size"
        )
    return {tensor: fits[0].reshape(len(which), *shape[1:])}, images.labels[which]


def _long(shape: Sequence[int]) -> list[int]:
    """Lengths other than 1 of the axes after that of the images."""
    return [length for length in shape[1:] if length != 1]


def _finite(tensor: str, given: Any) -> Reals:
    """Convert the array of an input to float32, and require finite numbers."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    said, wanted = f"calibration: {show_name(tensor)}: found", "give finite numbers, one input a row"
    if array.dtype.kind not in "fiub" or not array.size:
        raise InputError(f"{said} {array.dtype}{list(array.shape)}; {wanted}")
    with np.errstate(over="ignore"):
        reals = array.astype(np.float32)
    if not np.isfinite(reals).all():
        raise InputError(f"{said} {array[~np.isfinite(reals)][0]}; {wanted}")
    return reals


def quantised(graph: OperatorGraph, calibration: Calibration) -> OperatorGraph:
    """Quantise a float graph."""
    for one in graph.operators:
        if one.kind in SUMS and not all(np.isfinite(part).all() for part in one.constants):
            raise InputError(f"{one.called}: weights hold NaN or infinity; its training diverged, train it anew")
    graph = _folded(graph)
    ends = _ends(graph)
    points = list(_points(graph, ends))
    ranges = _observed(graph, calibration, [*graph.inputs, *points], ends)
    return _Quantising(graph, ends, set(points), ranges).quantised()


def price(integers: OperatorGraph, calibration: Calibration) -> Iterator[Note]:
    """Note how much outputs, and how often classes, of the quantised graph differ from the float one's on the set."""
    ends: dict[str, list[Reals]] = {tensor: [] for tensor in calibration.ends}
    for shown in _batches(integers, calibration):
        for tensor, part in _computed(integers, shown, set(ends)):
            ends[tensor].append(part)
    classes = max((math.prod(end.shape[1:]) for end in calibration.ends.values()), default=0)
    if calibration.labels is not None and (last := int(calibration.labels.max())) >= classes:
        raise InputError(f"calibration: labels: found {last}; the outputs have classes 0 to {classes - 1}")
    for tensor, parts in ends.items():
        expected = calibration.ends[tensor].reshape(len(calibration.ends[tensor]), -1).astype(np.float64)
        found = np.concatenate(parts).reshape(expected.shape)
        off, greatest = np.abs(found - expected), float(np.abs(expected).max()) or 1.0
        about = f"output {tensor} on {counted(len(expected), 'input')} of the calibration set"
        for word, error in (("on average", off.mean()), ("at most", off.max())):
            text = f"differs from the float network's {word}"
            yield Note(about, text, error=float(error / greatest), unit="of its greatest")
        if expected.shape[1] > 1:
            named = found.argmax(axis=1), expected.argmax(axis=1)
            text = f"names another class than the float network for {np.count_nonzero(named[0] != named[1])}"
            if calibration.labels is not None:
                right = [float((part == calibration.labels).mean()) for part in named]
                text += f"; accuracy {right[0]:.4f}, float {right[1]:.4f}"
            yield Note(about, text)


# Folding: normalisations and factors go into the weights of sums.


def _folded(graph: OperatorGraph) -> OperatorGraph:
    """Fold scales and shifts per feature into the weights and biases of sums."""
    readers = Counter(tensor for one in graph.operators for tensor in one.reads)
    readers.update(graph.outputs)
    made: dict[str, Operator] = {}
    instead: dict[str, str] = {}
    for found in graph.operators:
        one = replace(found, reads=tuple(instead.get(tensor, tensor) for tensor in found.reads))
        word = one.setting("function", "")
        source = made.get(one.reads[0]) if one.kind == "function" else None
        if word == "same" and one.gives not in graph.outputs:
            instead[one.gives] = one.reads[0]
            readers[one.reads[0]] += readers[one.gives] - 1
            continue
        if source is not None and source.kind in SUMS and word in _AFFINE and readers[source.gives] == 1:
            joined = _with_affine(source, one)
            if joined is not None:
                del made[source.gives]
                one = joined
        made[one.gives] = one
    return replace(graph, operators=tuple(made.values()))


def _with_affine(source: Operator, one: Operator) -> Operator | None:
    shape = one.shape
    if shape is None or not source.constants:
        return None
    axis = len(shape) - 1 if source.kind == "dense" else 1
    parts = [np.moveaxis(part.reshape(shape), axis, 0).reshape(shape[axis], -1) for part in affine(one, shape)]
    if any((part != part[:, :1]).any() for part in parts):
        return None
    factor, shift = (part[:, 0] for part in parts)
    weights, bias = source.constants[0].astype(np.float64), np.zeros(shape[axis])
    if len(source.constants) > 1:
        bias = np.broadcast_to(source.constants[1].astype(np.float64).ravel(), bias.shape)
    is_transposed = source.kind == "conv_transpose"
    if is_transposed and source.setting("groups", 1) != 1:
        return None
    constants = (weights * along(int(is_transposed), factor, weights.ndim), bias * factor + shift)
    return replace(source, gives=one.gives, shape=shape, constants=constants, exact=())


def _ends(graph: OperatorGraph) -> set[str]:
    """Find the tensors that leave the network as reals: outputs, or inputs of what is left to the host."""
    tail = tail_of(graph)
    made = {one.gives: one for one in graph.operators}
    found = set()
    for tensor in graph.outputs:
        end = tensor
        while end in made and end in tail and made[end].kind == "function" and not _is_known(made[end]):
            end = made[end].reads[0]
        found.add(end)
    return found


def _is_known(one: Operator) -> bool:
    return one.setting("function", "") in (*_AFFINE, *_BOUNDS)


def _points(graph: OperatorGraph, ends: set[str]) -> Iterator[str]:
    """Yield the tensors that become integers: results of operators, but those read only by one function or maximum."""
    readers: dict[str, list[Operator]] = {}
    for one in graph.operators:
        for tensor in one.reads:
            readers.setdefault(tensor, []).append(one)
    for one in graph.operators:
        by = readers.get(one.gives, [])
        into = by[0] if len(by) == 1 and one.gives not in graph.outputs else None
        is_open = into is not None and (into.kind == "max_pool" or (into.kind == "function" and _is_known(into)))
        moves = one.kind in MOVES and one.kind != "concat"
        if one.gives not in ends and by and not is_open and not moves:
            yield one.gives


class _Quantising:
    """Rebuilds a graph with integers at its points."""

    def __init__(
        self, graph: OperatorGraph, ends: set[str], points: set[str], ranges: Mapping[str, tuple[float, float]]
    ) -> None:
        self._graph, self._ends, self._points, self._ranges = graph, ends, points, ranges
        self._operators: list[Operator] = []
        self._now: dict[str, str] = {}
        self._scales: dict[str, Numbers] = {}  # of reals that are integers times one scale

    def quantised(self) -> OperatorGraph:
        """Walk the graph."""
        for tensor, shape in self._graph.inputs.items():
            self._round(tensor, tensor, shape)
        for one in self._graph.operators:
            reads = tuple(self._now.get(tensor, tensor) for tensor in one.reads)
            made = replace(one, reads=reads)
            if one.kind in SUMS:
                made = self._integers(made)
            self._operators.append(made)
            if one.kind in MOVES and one.kind != "concat" and reads[0] in self._scales:
                self._scales[one.gives] = self._scales[reads[0]]
            if one.gives in self._points:  # the greatest of integers stay the integers they are
                numbers = self._scales.get(reads[0]) if one.kind == "max_pool" else None
                self._round(one.gives, one.name, one.shape, numbers)
        return replace(self._graph, operators=tuple(self._operators))

    def _round(self, tensor: str, name: str, shape: TensorShape | None, numbers: Numbers | None = None) -> None:
        """Quantise a tensor, and dequantise the result."""
        low, high = self._ranges[tensor]
        scale = np.float32(max((high - low) / 255, 1e-12))
        zero = np.asarray(np.clip(np.rint(-low / scale), 0, 255), np.int64)
        integers, reals = f"{tensor}.integers", f"{tensor}.reals"
        numbers = numbers or (np.asarray(scale), zero)
        for read, gives, what, called in (
            (tensor, integers, "quantises", "QuantizeLinear"),
            (integers, reals, "dequantises", "DequantizeLinear"),
        ):
            settings = {what: True, "low": 0, "high": 255, "axis": 1}
            self._operators.append(Operator(name, "function", (read,), gives, shape, 0, called, settings, numbers))
        self._now[tensor], self._scales[reals] = reals, numbers

    def _integers(self, one: Operator) -> Operator:
        """Round weights, with a unit per output feature, or one unit for sums that leave the network."""
        if not one.constants:
            raise NotSupportedError(f"node {one.name}: its weights are missing; export the model with them")
        held = self._scales.get(one.reads[0])
        if held is None:
            raise NotSupportedError(f"node {one.name}: reads what is not quantised; export the model without it")
        weights = one.constants[0].astype(np.float64)
        axis = 1 if one.kind == "conv_transpose" else 0
        others = tuple(k for k in range(weights.ndim) if k != axis)
        greatest = np.abs(weights).max(axis=others, keepdims=True)
        by = [other for other in self._graph.operators if one.gives in other.reads]
        leaves = len(by) == 1 and by[0].kind == "function" and by[0].gives in self._ends  # through bounds
        if one.gives in self._ends or leaves or (axis == 1 and one.setting("groups", 1) != 1):
            greatest = np.full_like(greatest, np.abs(weights).max())
        scale = (np.where(greatest > 0, greatest, 127.0) / 127).astype(np.float32)
        integers = np.rint(weights / scale).clip(-127, 127).astype(np.int64)
        exact = [(integers, np.broadcast_to(scale, integers.shape))]
        if len(one.constants) > 1:
            unit = scale.ravel().astype(np.float64) * np.float64(held[0])
            bias = np.rint(one.constants[1].astype(np.float64).ravel() / unit).astype(np.int64)
            exact.append((bias, np.broadcast_to(unit, bias.shape)))
        constants = tuple((whole * each).astype(np.float32) for whole, each in exact)
        return replace(one, constants=constants, exact=tuple(exact))


# Evaluation of a float graph.


def _observed(
    graph: OperatorGraph, calibration: Calibration, points: list[str], outputs: set[str]
) -> dict[str, tuple[float, float]]:
    """Find the range of every point, and keep the results of the graph."""
    ranges = dict.fromkeys(points, (0.0, 0.0))
    samples: dict[str, list[Reals]] = {tensor: [] for tensor in points}
    ends: dict[str, list[Reals]] = {tensor: [] for tensor in sorted(outputs)}
    for shown in _batches(graph, calibration):
        for tensor, found in _computed(graph, shown, {*points, *ends}):
            if tensor in ranges:
                low, high = ranges[tensor]
                ranges[tensor] = min(low, float(found.min())), max(high, float(found.max()))
                if calibration.percentile is not None:
                    samples[tensor].append(found.ravel()[:: max(1, found.size // _SAMPLES)])
            if tensor in ends:
                ends[tensor].append(found)
    calibration.ends.update({tensor: np.concatenate(parts) for tensor, parts in ends.items() if parts})
    if calibration.percentile is not None:
        outside = (100 - calibration.percentile) / 2
        for tensor, parts in samples.items():
            low, high = (float(np.percentile(np.concatenate(parts), part)) for part in (outside, 100 - outside))
            ranges[tensor] = min(0.0, low) if ranges[tensor][0] < 0 else 0.0, max(0.0, high)
    return ranges


def _batches(graph: OperatorGraph, calibration: Calibration) -> Iterator[dict[str, Reals]]:
    shapes = {**graph.inputs, **{one.gives: one.shape for one in graph.operators}}
    most = max((_held(one, [shapes[tensor] for tensor in one.reads]) for one in graph.operators), default=1)
    n = max(1, min(_AT_ONCE, _VALUES_AT_ONCE // max(1, most)))
    for start in range(0, len(next(iter(calibration.inputs.values()))), n):
        yield {tensor: array[start : start + n] for tensor, array in calibration.inputs.items()}


def _held(one: Operator, read: Sequence[TensorShape | None]) -> int:
    """Count the values that an operator needs for one input: its results, or its padded input or windows if more."""
    if one.shape is None:
        return 0
    given = cut = math.prod(one.shape[1:])
    if one.kind in ("conv", "max_pool") and "kernel" in one.settings and read[0] is not None:
        lengths = zip(read[0][2:], _margins(one, read[0], one.shape), strict=True)
        cut = read[0][1] * math.prod(before + length + after for length, (before, after) in lengths)
        if one.kind == "conv" and one.constants:  # its windows are copied, of one group at a time
            cut = max(cut, math.prod(one.shape[2:]) * math.prod(one.constants[0].shape[1:]))
    for what, number, most in (("values", given, MAX_NEURONS), ("values in its windows", cut, _MOST_VALUES)):
        if number > most:
            raise NotSupportedError(
                f"node {one.name}: {show_count(number)} {what}; at most {most} are held, export it for smaller inputs"
            )
    return max(given, cut)


def _computed(graph: OperatorGraph, shown: Mapping[str, Reals], wanted: set[str]) -> Iterator[tuple[str, Reals]]:
    """Evaluate a graph in float32, and yield the wanted tensors; tensors are dropped after their last use."""
    last = {tensor: k for k, one in enumerate(graph.operators) for tensor in one.reads}
    held = dict(shown)
    yield from ((tensor, found) for tensor, found in held.items() if tensor in wanted)
    tail = tail_of(graph)
    for k, one in enumerate(graph.operators):
        if any(tensor not in held for tensor in one.reads):
            continue
        try:
            held[one.gives] = found = _apply(one, [held[tensor] for tensor in one.reads])
        except NotSupportedError as reason:
            if one.gives in tail:
                continue
            raise NotSupportedError(f"node {one.name}: {reason}") from None
        if one.gives in wanted:
            yield one.gives, found
        for tensor in {*one.reads, one.gives}:
            if last.get(tensor, -1) <= k:
                held.pop(tensor, None)


def _apply(one: Operator, read: list[Reals]) -> Reals:
    """Evaluate an operator on a batch."""
    shape, n, first = one.shape, len(read[0]), read[0]
    if shape is None:
        raise NotSupportedError("its shape is not known; give the source's inputs fixed sizes")
    flat = first.reshape(n, -1)
    source = (1, *first.shape[1:])
    found: Any
    if one.setting("quantises"):
        found = np.clip(np.rint(first / one.constants[0]) + one.constants[1], one.settings["low"], one.settings["high"])
    elif one.setting("dequantises"):
        found = (first - one.constants[1]) * one.constants[0]
    elif one.kind == "function":
        function = FUNCTIONS.get(one.setting("function", ""))
        if function is None:
            raise NotSupportedError(
                f"{one.called} is not a sum, bound, factor or shift, which graded neurons have; leave it out"
            )
        found = function.compute(first, *one.constants)
    elif one.kind in MOVES:
        elements, constant = moved_elements(one, [(1, *part.shape[1:]) for part in read], shape)
        whole = np.concatenate([part.reshape(n, -1) for part in read], axis=1)
        found = np.where(elements < 0, constant, whole[:, elements])
    elif one.kind == "add":
        found = sum(part * sign for part, sign in zip(read, one.setting("signs", (1,) * len(read)), strict=True))
    elif one.kind == "dense" and one.constants and one.constants[0].ndim == 2:
        found = first @ one.constants[0].T + (one.constants[1] if len(one.constants) > 1 else 0)
    elif one.kind == "conv" and one.constants:
        found = _convolved(one, first, shape)
    elif one.kind == "conv_transpose" and one.constants:
        matrix = conv_matrix(replace(one, kind="conv"), shape, source).T
        found = (matrix @ flat.T).T.reshape(n, *shape[1:])
        found = found + (along(1, one.constants[1], len(shape)) if len(one.constants) > 1 else 0)
    elif one.kind == "average":
        found = (mean_matrix(one, source, shape) @ flat.T).T
    elif one.kind == "max_pool" and "kernel" in one.settings:
        found = _windows(one, first, shape, -np.inf).max(axis=tuple(range(-len(one.settings["kernel"]), 0)))
    elif one.kind == "max_pool" and one.setting("axes") is not None:
        found = first.max(axis=tuple(one.settings["axes"]))
    else:
        raise NotSupportedError(
            f"{one.called} is not a sum of values; export model.eval(), or import the structure without calibration"
        )
    if found.size != n * math.prod(shape[1:]):
        raise NotSupportedError(
            f"{one.called} mixes the inputs of a batch, as attention does; import the structure without calibration"
        )
    return np.asarray(found, np.float32).reshape(n, *shape[1:])


def _margins(one: Operator, source: TensorShape, target: TensorShape) -> list[tuple[int, int]]:
    """Margins by which windows reach beyond their tensor, before and after, axis by axis."""
    kernel = one.settings["kernel"]
    stride, dilation, pads = one.slides(len(kernel))
    axes = zip(target[2:], stride, kernel, dilation, source[2:], pads[: len(kernel)], strict=True)
    return [(b, max((made - 1) * s + (k - 1) * d + 1 - length - b, 0)) for made, s, k, d, length, b in axes]


def _windows(one: Operator, x: Reals, shape: TensorShape, outside: float) -> NDArray[Any]:
    """Cut windows, shape (n, features, places of the target, cells of the kernel)."""
    kernel = one.settings["kernel"]
    n = len(kernel)
    stride, dilation, _ = one.slides(n)
    wide = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *_margins(one, x.shape, shape)], constant_values=outside)
    found: NDArray[Any] = sliding_window_view(padded, tuple(wide), axis=tuple(range(2, n + 2)))  # type: ignore[call-overload]
    steps = [slice(0, (made - 1) * s + 1, s) for made, s in zip(shape[2:], stride, strict=True)]
    cells = (slice(None, None, d) for d in dilation)
    return found[(slice(None), slice(None), *steps, *cells)]


def _convolved(one: Operator, x: Reals, shape: TensorShape) -> NDArray[Any]:
    groups, n = int(one.setting("groups", 1)), len(one.settings["kernel"])
    windows = np.split(_windows(one, x, shape, 0.0), groups, axis=1)
    weights = np.split(one.constants[0].astype(np.float32), groups)
    cells = ((1, *range(2 + n, 2 + 2 * n)), tuple(range(1, n + 2)))
    made = [np.tensordot(mine, kernels, cells) for mine, kernels in zip(windows, weights, strict=True)]
    found: NDArray[Any] = np.moveaxis(np.concatenate(made, axis=-1), -1, 1)
    if len(one.constants) > 1:
        found = found + along(1, one.constants[1].astype(np.float32), n + 2)
    return found
