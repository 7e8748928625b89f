"""Operators of ONNX that weigh and sum: convolutions, matrices, windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show
from neuromap.formats.layers import Exact, conv_work, dense_work, transposed_work
from neuromap.formats.onnx.folding import Reading, ints

Attributes = dict[str, Any]


def _window(node: Any, a: Attributes, kernel: Sequence[int], source: Sequence[int] | None) -> dict[str, Any]:
    """Read how a window slides: along each axis, with the cells of padding before and after."""
    n = len(kernel)
    if not all(length > 0 for length in kernel):
        raise InputError(f"kernel: found {show(list(kernel))}; lengths are 1 or more")
    stride, dilation = ints(a, "strides", n, 1, 1), ints(a, "dilations", n, 1, 1)
    pads = ints(a, "pads", 2 * n, 0)
    auto = a.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER") and source is not None and len(source) == n + 2:
        total = [
            max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
            for length, k, s, d in zip(source[2:], kernel, stride, dilation, strict=True)
        ]
        small, large = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
        pads = (*small, *large) if auto == "SAME_UPPER" else (*large, *small)
    return {"kernel": tuple(kernel), "stride": stride, "dilation": dilation, "pads": pads}


def _groups(a: Attributes) -> int:
    return ints({"group": [a.get("group", 1)]}, "group", 1, 1, 1)[0]


def _known(reading: Reading, *tensors: str) -> list[NDArray[Any]]:
    """Give constants that are given, or none of them where the numbers of one are not at hand."""
    arrays = [reading.constant(tensor) for tensor in tensors if tensor]
    return [] if any(array is None for array in arrays) else [array for array in arrays if array is not None]


def _conv(node: Any, a: Attributes, reading: Reading) -> bool:
    source, weight = node.input[0], node.input[1]
    shape = reading.whole_shape(weight)
    if reading.is_constant(source) or not reading.is_constant(weight) or shape is None or len(shape) < 3:
        return False
    bias = node.input[2] if len(node.input) > 2 else ""
    settings = {**_window(node, a, shape[2:], reading.whole_shape(source)), "groups": _groups(a)}
    if bias and not reading.is_constant(bias):
        return False
    settings["weight_shape"] = shape
    transposed = node.op_type == "ConvTranspose"
    count = transposed_work if transposed else conv_work
    work = count(reading.whole_shape(source if transposed else node.output[0]), shape)
    kind = "conv_transpose" if transposed else "conv"
    arrays = _known(reading, weight, bias)
    exact = [reading.exact.get(tensor) for tensor in (weight, bias) if tensor] if arrays else []
    reading.add(kind, [source], settings=settings, constants=arrays, exact=exact, work=work)
    return True


def _integers(
    node: Any, reading: Reading, axis: int, add: Callable[[str, list[NDArray[Any]], list[Exact], str], str]
) -> bool:
    """Read an operator on integers in parts: reals of its integers, sums of these, and integers of the sums."""
    # add: takes the sums over, of what they read: weights, integers and scale of each, and the tensor that they give
    # gives False where a number is not at hand
    fused = node.op_type.startswith("QLinear")
    places = {"x": 0, "x_scale": 1, "x_zero": 2, "w": 3, "w_scale": 4, "w_zero": 5, "y_scale": 6, "y_zero": 7, "b": 8}
    if not fused:
        places = {"x": 0, "w": 1, "x_zero": 2, "w_zero": 3}
    named = {key: node.input[k] for key, k in places.items() if k < len(node.input) and node.input[k]}
    held = {key: reading.constant(tensor) for key, tensor in named.items() if key != "x"}
    given = {key: array for key, array in held.items() if array is not None}
    if len(given) < len(held):
        return False
    one, out = np.ones((), np.float32), node.output[0]
    x_scale, w_scale = given.get("x_scale", one), given.get("w_scale", one)
    along = [1] * given["w"].ndim
    along[axis] = -1
    integers = given["w"].astype(np.int64)
    if "w_zero" in given:
        integers = integers - given["w_zero"].astype(np.int64).reshape(along if given["w_zero"].size > 1 else ())
    scale = np.broadcast_to(w_scale.reshape(along if w_scale.size > 1 else ()), integers.shape)
    exact: list[Exact] = [(integers, scale)]
    if "b" in given:
        exact.append((given["b"].astype(np.int64), x_scale.astype(np.float64) * w_scale.astype(np.float64)))
    arrays = [(part[0] * part[1]).astype(np.float32) for part in exact if part is not None]
    zero = given.get("x_zero")
    if zero is None and node.input[0] in reading.types:
        zero = np.zeros((), reading.types[node.input[0]])
    real = reading.to_reals(node.input[0], x_scale, zero, gives=f"{out}.reals")
    if not fused:
        add(real, arrays, exact, out)
        return True
    reading.shapes[f"{out}.sums"] = reading.whole_shape(out)
    add(real, arrays, exact, f"{out}.sums")
    y_zero = given["y_zero"] if "y_zero" in given else np.zeros((), np.uint8 if zero is None else zero.dtype)
    reading.to_integers(f"{out}.sums", given["y_scale"], y_zero, fused=True)
    return True


def _quantised_conv(node: Any, a: Attributes, reading: Reading) -> bool:
    weight = node.input[3] if node.op_type == "QLinearConv" else node.input[1]
    shape = reading.whole_shape(weight)
    if shape is None or not reading.is_constant(weight) or reading.is_constant(node.input[0]):
        return False
    settings = {**_window(node, a, shape[2:], reading.whole_shape(node.input[0])), "weight_shape": shape}
    settings["groups"] = _groups(a)
    work = conv_work(reading.whole_shape(node.output[0]), shape)

    def add(source: str, arrays: list[NDArray[Any]], exact: list[Exact], gives: str) -> str:
        return reading.add("conv", [source], settings=settings, constants=arrays, exact=exact, work=work, gives=gives)

    if not _integers(node, reading, 0, add):
        reading.add("conv", [node.input[0]], settings=settings, work=work)
    return True


def _gemm(node: Any, a: Attributes, reading: Reading) -> bool:
    source, weight = node.input[0], node.input[1]
    shape = reading.whole_shape(weight)
    if reading.is_constant(source) or not reading.is_constant(weight) or shape is None or len(shape) != 2:
        return False
    if a.get("transA") or (len(node.input) > 2 and not reading.is_constant(node.input[2])):
        return False
    arrays = _known(reading, *node.input[1:3])
    exact: list[Exact] = []
    if arrays:
        first = arrays[0] if a.get("transB") else arrays[0].T
        arrays = [_scaled(first, a.get("alpha", 1.0)), *(_scaled(bias, a.get("beta", 1.0)) for bias in arrays[1:])]
        held = reading.exact.get(weight)
        if a.get("alpha", 1.0) == a.get("beta", 1.0) == 1:
            turned = held if held is None or a.get("transB") else (held[0].T, held[1].T)
            exact = [turned, *(reading.exact.get(tensor) for tensor in node.input[2:3] if tensor)]
    stored = tuple(shape) if a.get("transB") else tuple(reversed(shape))
    work = dense_work(reading.whole_shape(node.output[0]), stored[1])
    reading.add("dense", [source], settings={"weight_shape": stored}, constants=arrays, exact=exact, work=work)
    return True


def _scaled(array: NDArray[Any], factor: float) -> NDArray[Any]:
    return array if factor == 1 else np.asarray(array * np.float32(factor))


def _matmul(node: Any, a: Attributes, reading: Reading) -> bool:
    places = (0, 3) if node.op_type == "QLinearMatMul" else (0, 1)
    left, right = (node.input[k] for k in places)
    shapes = reading.whole_shape(left), reading.whole_shape(right)
    summed = next((s[-1 if k == 0 else max(len(s) - 2, 0)] for k, s in enumerate(shapes) if s), None)
    work = dense_work(reading.whole_shape(node.output[0]), summed)
    if not reading.is_constant(left) and not reading.is_constant(right):
        reading.add("product", [left, right], work=work)
        return True
    source, weight = (left, right) if reading.is_constant(right) else (right, left)
    settings: dict[str, Any] = {}
    arrays: list[NDArray[Any]] = []
    shape = reading.whole_shape(weight)
    if weight == right and shape is not None and len(shape) == 2:
        settings["weight_shape"] = tuple(reversed(shape))
        arrays = [array.T for array in _known(reading, weight)] if node.op_type == "MatMul" else []

        def add(source: str, arrays: list[NDArray[Any]], exact: list[Exact], gives: str) -> str:
            turned = [None if part is None else (part[0].T, part[1].T) for part in exact]
            arrays = [array.T for array in arrays]
            return reading.add(
                "dense", [source], settings=settings, constants=arrays, exact=turned, work=work, gives=gives
            )

        if node.op_type != "MatMul" and _integers(node, reading, 1, add):
            return True
    held = reading.exact.get(weight) if arrays else None
    exact = [] if held is None else [(held[0].T, held[1].T)]
    reading.add("dense", [source], settings=settings, constants=arrays, exact=exact, work=work)
    return True


def _einsum(node: Any, a: Attributes, reading: Reading) -> bool:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    terms = str(a.get("equation", "")).replace(" ", "").partition("->")[0].split(",")
    lengths: dict[str, int] = {}
    for term, tensor in zip(terms, node.input, strict=False):
        shape = reading.whole_shape(tensor)
        if shape is None or len(term) != len(shape):
            lengths.clear()
            break
        lengths |= dict(zip(term, shape, strict=True))
    work = math.prod(lengths.values()) if lengths and len(node.input) > 1 else None
    reading.add("dense" if len(set(reads)) == 1 else "product", reads, work=work)
    return True


def _gather_rows(node: Any, a: Attributes, reading: Reading) -> bool:
    """Read a table whose rows are chosen by an input (an embedding): one-hot inputs times its matrix."""
    if reading.is_constant(node.input[1]):
        return _slice_by_index(node, a, reading)
    if not reading.is_constant(node.input[0]):
        return False
    reading.add("dense", [node.input[1]])
    return True


def _slice_by_index(node: Any, a: Attributes, reading: Reading) -> bool:
    settings: dict[str, Any] = {"axis": a.get("axis", 0)}
    index = reading.constant(node.input[1])
    if index is not None and index.size < 2**16:
        settings["index"] = tuple(int(n) for n in index.ravel().tolist())
    reading.add("slice", [node.input[0]], settings=settings)
    return True


def _pool(node: Any, a: Attributes, reading: Reading) -> bool:
    kernel = a.get("kernel_shape")
    if not kernel:
        return False
    kernel = ints(a, "kernel_shape", len(kernel), 1, 1)
    settings = _window(node, a, kernel, reading.whole_shape(node.input[0]))
    mean = node.op_type != "MaxPool"
    settings |= {"mean": True, "counts_padding": bool(a.get("count_include_pad", 0))} if mean else {}
    reading.add("average" if mean else "max_pool", [node.input[0]], settings=settings)
    return True


def _global_pool(node: Any, a: Attributes, reading: Reading) -> bool:
    shape = reading.whole_shape(node.input[0])
    settings: Mapping[str, Any] = {} if shape is None else {"axes": tuple(range(2, len(shape)))}
    mean = node.op_type == "GlobalAveragePool"
    kind = "average" if mean else "max_pool"
    reading.add(kind, [node.input[0]], settings={**settings, **({"mean": True} if mean else {})})
    return True


def _reduce(node: Any, a: Attributes, reading: Reading) -> bool:
    given = reading.constant(node.input[1]) if len(node.input) > 1 and node.input[1] else None
    axes, shape = a.get("axes") if given is None else given.ravel().tolist(), reading.whole_shape(node.input[0])
    settings: dict[str, Any] = {}
    if shape is not None:
        chosen = range(len(shape)) if axes is None else sorted(int(n) % len(shape) for n in axes)
        settings["axes"] = tuple(chosen)
    if node.op_type != "ReduceMax":
        settings["mean"] = node.op_type == "ReduceMean"
    reading.add("max_pool" if node.op_type == "ReduceMax" else "average", [node.input[0]], settings=settings)
    return True


WEIGHTED = {
    "Conv": _conv,
    "ConvTranspose": _conv,
    "QLinearConv": _quantised_conv,
    "ConvInteger": _quantised_conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "Einsum": _einsum,
    "Gather": _gather_rows,
    "MaxPool": _pool,
    "AveragePool": _pool,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "ReduceMean": _reduce,
    "ReduceSum": _reduce,
    "ReduceMax": _reduce,
}
"""Operators that make sums, or the greatest, of what they read."""
