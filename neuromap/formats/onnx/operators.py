"""Translators of ONNX operators; opsets differ in where they state parameters, and all are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show
from neuromap.formats.layers import Exact, GraphReading, integers_and_scale, is_integer
from neuromap.formats.onnx.folding import ints, part_lengths

Attributes = dict[str, Any]


def _window(node: Any, a: Attributes, kernel: Sequence[int], source: Sequence[int] | None) -> dict[str, Any]:
    """Read how a window slides along each axis, with the cells of padding before and after."""
    n, is_transposed = len(kernel), node.op_type == "ConvTranspose"
    if not all(length > 0 for length in kernel):
        raise InputError(f"kernel: found {show(list(kernel))}; lengths are 1 or more")
    if "kernel_shape" in a and (told := ints(a, "kernel_shape", n, 1, 1)) != tuple(kernel):
        raise InputError(f"kernel_shape: found {list(told)}, beside weights of {list(kernel)}; make them agree")
    stride, dilation = ints(a, "strides", n, 1, 1), ints(a, "dilations", n, 1, 1)
    pads = ints(a, "pads", 2 * n, 0)
    auto = a.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER") and source is not None and len(source) == n + 2:
        total = [
            max((k - 1) * d + 1 - (s if is_transposed else length - (-(-length // s) - 1) * s), 0)
            for length, k, s, d in zip(source[2:], kernel, stride, dilation, strict=True)
        ]
        small, large = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
        pads = (*small, *large) if auto == "SAME_UPPER" else (*large, *small)
    elif source is not None and len(source) == n + 2 and not is_transposed and not a.get("ceil_mode"):
        room = [length + pads[k] + pads[n + k] for k, length in enumerate(source[2:])]
        wide = [(length - 1) * d + 1 for length, d in zip(kernel, dilation, strict=True)]
        if any(w > r for w, r in zip(wide, room, strict=True)):
            raise InputError(f"kernel: a window of {wide} does not fit into {room}, what is read and its padding")
    return {"kernel": tuple(kernel), "stride": stride, "dilation": dilation, "pads": pads}


def _groups(a: Attributes) -> int:
    return ints({"group": [a.get("group", 1)]}, "group", 1, 1, 1)[0]


def _input(node: Any, place: int) -> str:
    """Name of an optional input; empty if it is not given."""
    return str(node.input[place]) if len(node.input) > place else ""


def _conv(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    source, weight = node.input[0], node.input[1]
    shape = reading.shape(weight)
    if reading.is_constant(source) or not reading.is_constant(weight) or shape is None or len(shape) < 3:
        return None
    settings = {**_window(node, a, shape[2:], reading.shape(source)), "groups": _groups(a)}
    if a.get("output_shape"):  # which decides the padding
        return None
    kind = "conv_transpose" if node.op_type == "ConvTranspose" else "conv"
    return reading.weighed(kind, source, weight, _input(node, 2), settings=settings)


def _integers(node: Any, reading: GraphReading, kind: str, settings: Mapping[str, Any]) -> str | None:
    """Read an operator on integers in parts: dequantised inputs, their sums, and quantised sums."""
    # kind: of the sums; the matrix of dense ones is stored transposed
    # returns None if a number is not available, or has a type that the operator does not have
    fused = node.op_type.startswith("QLinear")
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"]
    names = names if fused else ["x", "w", "x_zero", "w_zero"]
    named = {name: tensor for name, tensor in zip(names, node.input, strict=False) if tensor}
    held = {key: reading.array(tensor) for key, tensor in named.items() if key != "x"}
    given = {key: array for key, array in held.items() if array is not None}
    zeros = (given[key].dtype for key in ("x_zero", "w_zero", "y_zero") if key in given)
    if len(given) < len(held) or any(kind not in (np.int8, np.uint8) for kind in zeros):
        return None
    one, out = np.ones((), np.float32), str(node.output[0])
    x_scale, w_scale = given.get("x_scale", one), given.get("w_scale", one)
    exact: list[Exact] = [integers_and_scale(given["w"], w_scale, given.get("w_zero"), int(kind == "dense"))]
    if "b" in given:
        exact.append((given["b"].astype(np.int64), x_scale.astype(np.float64) * w_scale.astype(np.float64)))
    arrays = [(part[0] * part[1]).astype(np.float32) for part in exact if part is not None]
    zero = given.get("x_zero", _zero_of(node.input[0], reading))
    if kind == "dense":
        arrays = [array.T for array in arrays]
        exact = [None if part is None else (part[0].T, part[1].T) for part in exact]
    real = reading.rounded("dequantises", node.input[0], x_scale, zero, f"{out}.reals")
    sums, shape = f"{out}.sums" if fused else out, reading.shape(out)
    reading.add(kind, [real], settings=settings, constants=arrays, exact=exact, gives=sums, shape=shape)
    if not fused:
        return sums
    y_zero = given["y_zero"] if "y_zero" in given else np.zeros((), np.uint8 if zero is None else zero.dtype)
    return reading.rounded("quantises", f"{out}.sums", given["y_scale"], y_zero, fused=True)


def _quantised_conv(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    weight = node.input[3] if node.op_type == "QLinearConv" else node.input[1]
    shape = reading.shape(weight)
    if shape is None or not reading.is_constant(weight) or reading.is_constant(node.input[0]):
        return None
    settings = {**_window(node, a, shape[2:], reading.shape(node.input[0])), "weight_shape": shape}
    settings["groups"] = _groups(a)
    return _integers(node, reading, "conv", settings) or reading.add("conv", [node.input[0]], settings=settings)


def _gemm(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    source, weight = node.input[:2]
    shape = reading.shape(weight)
    if a.get("transA") or shape is None or len(shape) != 2:
        return None
    factors, is_turned = (a.get("alpha", 1.0), a.get("beta", 1.0)), not a.get("transB")
    return reading.weighed("dense", source, weight, _input(node, 2), is_turned=is_turned, factors=factors)


def _matmul(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    left, right = (node.input[k] for k in ((0, 3) if node.op_type == "QLinearMatMul" else (0, 1)))
    shape = reading.shape(right)
    if node.op_type == "MatMul" or not reading.is_constant(right) or shape is None or len(shape) != 2:
        return reading.product(left, right)
    settings = {"weight_shape": shape[::-1]}
    return _integers(node, reading, "dense", settings) or reading.add("dense", [left], settings=settings)


def _einsum(node: Any, a: Attributes, reading: GraphReading) -> str:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    terms = str(a.get("equation", "")).replace(" ", "").partition("->")[0].split(",")
    lengths: dict[str, int] = {}
    for term, tensor in zip(terms, node.input, strict=False):
        shape = reading.shape(tensor)
        if shape is None or len(term) != len(shape):
            lengths.clear()
            break
        lengths |= dict(zip(term, shape, strict=True))
    work = math.prod(lengths.values()) if lengths and len(node.input) > 1 else None
    return reading.add("dense" if len(set(reads)) == 1 else "product", reads, work=work)


def _gather(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    """Read selected parts of a tensor; a table with rows selected by an input (an embedding) weights one-hot inputs."""
    if reading.is_constant(node.input[1]):
        settings: dict[str, Any] = {"axis": a.get("axis", 0)}
        index = reading.array(node.input[1])
        if index is not None and index.size < 2**16:
            settings["index"] = tuple(int(n) for n in index.ravel().tolist())
        return reading.add("slice", [node.input[0]], settings=settings)
    return reading.add("dense", [node.input[1]]) if reading.is_constant(node.input[0]) else None


def _pool(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    kernel = a.get("kernel_shape")
    if not kernel:
        return None
    kernel = ints(a, "kernel_shape", len(kernel), 1, 1)
    settings = _window(node, a, kernel, reading.shape(node.input[0]))
    mean = {"mean": True, "counts_padding": bool(a.get("count_include_pad", 0))}
    return reading.window(node.input[0], settings, None if node.op_type == "MaxPool" else mean)


def _global_pool(node: Any, a: Attributes, reading: GraphReading) -> str:
    shape = reading.shape(node.input[0])
    settings: Mapping[str, Any] = {} if shape is None else {"axes": tuple(range(2, len(shape)))}
    return reading.window(node.input[0], settings, {"mean": True} if node.op_type == "GlobalAveragePool" else None)


def _reduce(node: Any, a: Attributes, reading: GraphReading) -> str:
    source, given = node.input[0], _input(node, 1)
    shape, axes = reading.shape(source), reading.array(given) if given else a.get("axes", ())
    settings: dict[str, Any] = {}
    is_rounded = node.op_type == "ReduceMean" and source in reading.whole  # and ONNX does not say how
    if shape is not None and axes is not None and not is_rounded:  # else they are not known
        chosen = {int(n) % max(len(shape), 1) for n in np.ravel(axes)}
        if not chosen and a.get("noop_with_empty_axes"):
            return reading.function(source, "same")
        settings["axes"] = tuple(sorted(chosen or range(len(shape))))
    return reading.window(
        source, settings, None if node.op_type == "ReduceMax" else {"mean": node.op_type == "ReduceMean"}
    )


# Element-wise operators of ONNX, and normalisations, which take a frame of elements.

_NAMES = {
    **{op: op.lower() for op in ("Relu", "Sign", "Floor", "Ceil", "Round", "Sigmoid", "Tanh")},
    "Neg": "negative",
    "Not": "not",
    "Identity": "same",
}
_OPAQUE = (
    *("Softmax", "LogSoftmax", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Pow", "Abs", "Reciprocal", "LeakyRelu"),
    *("PRelu", "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "HardSwish", "HardSigmoid", "Swish"),
    *("ThresholdedRelu", "Hardmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization"),
    *("RMSNormalization", "SimplifiedLayerNormalization", "LRN", "LpNormalization"),
    *("MeanVarianceNormalization", "IsNaN", "IsInf", "Sin", "Cos"),
    *("Trilu", "CumSum", "Shrink"),
)
_BINARY = (
    *("Add", "Sub", "Mul", "Div", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Sum"),
    *("Pow", "Max", "Min", "And", "Or", "Xor", "Equal", "Mod", "PRelu", "Mean"),
)


def _named(node: Any, a: Attributes, reading: GraphReading) -> str:
    return reading.function(node.input[0], _NAMES[node.op_type])


def _opaque(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    return None if reading.is_constant(node.input[0]) else reading.function(node.input[0])


def _clip(node: Any, a: Attributes, reading: GraphReading) -> str:
    given = ((_input(node, 1), "min", -np.inf), (_input(node, 2), "max", np.inf))
    bounds = [tensor or np.asarray(a.get(key, default), np.float32) for tensor, key, default in given]
    return reading.function(node.input[0], "clip", bounds)


def _quantise(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    """Read a function that quantises; those with blocks, small floats and other precisions have no name."""
    import onnx

    source, scale, zero = node.input[0], reading.array(node.input[1]), reading.array(_input(node, 2))
    if not _input(node, 2):
        kind = a.get("output_dtype", 0)
        zero = np.zeros((), onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else np.uint8)
    plain = scale is not None and scale.dtype == np.float32 and not a.get("block_size") and not a.get("precision")
    if scale is None or zero is None or not plain or not is_integer(zero):
        return reading.function(source)
    return reading.rounded("quantises", source, scale, zero, axis=a.get("axis", 1))


def _dequantise(node: Any, a: Attributes, reading: GraphReading) -> str:
    source, scale = node.input[0], reading.array(node.input[1])
    given = _input(node, 2)
    zero = reading.array(given) if given else _zero_of(source, reading)
    is_known = zero is not None or not given
    plain = scale is not None and scale.dtype == np.float32 and not a.get("block_size")
    if scale is None or not is_known or not plain or (zero is not None and not is_integer(zero)):
        return reading.function(source)
    return reading.rounded("dequantises", source, scale, zero, axis=a.get("axis", 1))


def _zero_of(source: str, reading: GraphReading) -> NDArray[Any] | None:
    """Zero of an input's own type; that of other tensors follows from their operator."""
    return np.zeros((), reading.types[source]) if source in reading.types else None


def _cast(node: Any, a: Attributes, reading: GraphReading) -> str:
    import onnx

    kinds = onnx.TensorProto
    to = a.get("to")
    to = kinds.DataType.Value(to) if isinstance(to, str) else to  # opset 1 to 5
    return reading.cast(node.input[0], kinds.DataType.Name(to).lower() if to in kinds.DataType.values() else "")


def _dropout(node: Any, a: Attributes, reading: GraphReading) -> str:
    """Read what leaves elements unchanged, except in training, where it drops some at random."""
    given = _input(node, 2)
    training = reading.array(given) if given else np.zeros(1)
    if training is None or training.any():
        return reading.function(node.input[0])
    for mask in node.output[1:]:
        shape = reading.shape(node.input[0])
        reading.constants[mask] = None if shape is None else np.broadcast_to(np.True_, shape)
    return reading.function(node.input[0], "same")


def _batch_norm(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    source, scale, shift, mean, variance = node.input[:5]
    shape = reading.shape(source)
    # before opset 14, further outputs mean that it computes the mean and variance of this very batch
    if shape is None or a.get("training_mode") or any(node.output[1:]):
        return reading.function(source)
    return reading.normalised(source, shape, (mean, variance, scale, shift), a.get("epsilon", 1e-5))


def _binary(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    word = node.op_type.lower()
    if len(node.input) == 2:
        first, second = node.input
        if len(reads) == 1 and word in ("max", "min"):
            return _bound(node, reading, reads[0])
        if word == "sum":
            return reading.binary(first, second, "add", is_plain=False)
        constant = reading.array(first if reading.is_constant(first) else second)
        is_rounded = word == "div" and constant is not None and constant.dtype.kind in "iu"  # of integers: truncated
        return reading.binary(first, second, word, is_plain=not is_rounded)
    if len(reads) == 1:
        return reading.function(reads[0], "same" if len(node.input) == 1 else "")
    if len(reads) < len(node.input):
        return None
    return (
        reading.add("add", reads, settings={"signs": (1,) * len(reads)})
        if word == "sum"
        else reading.add("multiply", reads)
    )


def _bound(node: Any, reading: GraphReading, source: str) -> str:
    """Read the maximum or minimum of a tensor and a constant."""
    constant = reading.array(next(tensor for tensor in node.input if tensor != source))
    if constant is None or reading.shape(source) != reading.shape(node.output[0]):
        return reading.function(source)
    open_ = np.asarray(np.inf, np.float32)
    return reading.function(source, "clip", [constant, open_] if node.op_type == "Max" else [-open_, constant])


# Operators that move elements.


def _moved(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    return reading.moved(_MOVED[node.op_type], node.input[0])


def _transpose(node: Any, a: Attributes, reading: GraphReading) -> str:
    order = a.get("perm")
    shape = reading.shape(node.input[0])
    if order is None and shape is not None:
        order = range(len(shape))[::-1]
    if order is not None and shape is not None and sorted(order) != list(range(len(shape))):
        raise ValueError("perm")
    return reading.add("transpose", [node.input[0]], settings={} if order is None else {"order": tuple(order)})


def _concat(node: Any, a: Attributes, reading: GraphReading) -> str:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    whole = len(reads) == len(node.input)
    return reading.add("concat", reads, settings={"axis": a.get("axis", 1), "whole": whole})


def _split(node: Any, a: Attributes, reading: GraphReading) -> str | None:
    source, sizes = node.input[0], _input(node, 1)
    if sizes and reading.array(sizes) is None:
        return None  # an input sets the lengths of the parts
    shape, axis = reading.shape(source), a.get("axis", 0)
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise ValueError("axis")
    given = [reading.array(sizes)] if sizes else []
    lengths = part_lengths(a, None if shape is None else shape[axis], len(node.output), *given)
    start = 0
    for place, tensor in enumerate(node.output):
        settings: dict[str, Any] = {"axis": axis}
        if lengths is not None:
            settings |= {"start": start, "stop": start + lengths[place], "step": 1}
            start += lengths[place]
        if tensor:
            reading.add("slice", [source], settings=settings, gives=tensor)
    return str(node.output[0])


def _slice(node: Any, a: Attributes, reading: GraphReading) -> str:
    if len(node.input) > 1:
        arrays = [reading.array(tensor) for tensor in node.input[1:]]
        parts = [None if array is None else array.ravel().tolist() for array in arrays]
        if any(array is None for array, tensor in zip(arrays, node.input[1:], strict=True) if tensor):
            parts = [None]  # by numbers that are not known
    else:
        parts = [a.get("starts"), a.get("ends"), a.get("axes")]
    starts, ends = parts[0], parts[1] if len(parts) > 1 else None
    settings: dict[str, Any] = {}
    if starts and ends and len(starts) == len(ends) == 1:
        axes = parts[2] if len(parts) > 2 and parts[2] else [0]
        steps = parts[3] if len(parts) > 3 and parts[3] else [1]
        settings = {"axis": int(axes[0]), "start": int(starts[0]), "stop": int(ends[0]), "step": int(steps[0])}
    return reading.add("slice", [node.input[0]], settings=settings)


def _pad(node: Any, a: Attributes, reading: GraphReading) -> str:
    pads, value = reading.array(_input(node, 1)), reading.array(_input(node, 2))
    numbers = a.get("pads") if pads is None else pads.ravel().tolist()
    settings: dict[str, Any] = {}
    if _input(node, 2) and value is None:
        numbers = None
    if numbers is not None and a.get("mode", "constant") == "constant" and len(node.input) < 4:
        amount = a.get("value", 0.0) if value is None else float(np.asarray(value).ravel()[0])
        settings = {"pads": tuple(int(n) for n in numbers), "value": float(amount)}
    return reading.add("pad", [node.input[0]], settings=settings)


_MOVED = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), "reshape"),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), "transpose"),
    **dict.fromkeys(("Resize", "Upsample", "Expand", "Tile"), "resize"),
}
# From an operator, its attributes and the reading: its first output tensor; ``None`` if it is not translated.
Translator = Callable[[Any, dict[str, Any], GraphReading], str | None]
# By type of operator: sums and maxima, moves, functions of a tensor and what combines two element by element.
TRANSLATORS: Mapping[str, Translator] = {
    **dict.fromkeys(("Conv", "ConvTranspose"), _conv),
    **dict.fromkeys(("QLinearConv", "ConvInteger"), _quantised_conv),
    "Gemm": _gemm,
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _matmul),
    "Einsum": _einsum,
    "Gather": _gather,
    **dict.fromkeys(("MaxPool", "AveragePool"), _pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _global_pool),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax"), _reduce),
    **dict.fromkeys(_MOVED, _moved),
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys(_BINARY, _binary),
    "Dropout": _dropout,
    "Clip": _clip,
    "Cast": _cast,
    "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise,
    "BatchNormalization": _batch_norm,
    "Where": lambda node, a, reading: reading.where(*node.input),
}


def take_other(node: Any, reading: GraphReading, within: Sequence[str]) -> None:
    """Add an untranslated operator, which reads the tensors that it and its subgraphs read."""
    reads = dict.fromkeys(tensor for tensor in (*node.input, *within) if not reading.is_constant(tensor))
    gives = next(tensor for tensor in node.output if tensor)
    reading.add("other", list(reads), gives=gives)
