"""Translators of calls of PyTorch's operators (ATen)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.formats.layers import Exact, GraphReading, TensorShape, along, conv_work, dense_work

_NAMES = {
    **dict.fromkeys(("relu", "sign", "floor", "ceil", "round", "sigmoid", "tanh"), None),
    "neg": "negative",
    "trunc": "truncate",
    "logical_not": "not",
    **dict.fromkeys(
        ("detach", "alias", "clone", "contiguous", "lift_fresh_copy"),
        "same",
    ),
}
_OPAQUE = (
    *("softmax", "_softmax", "log_softmax", "_log_softmax", "gelu", "erf", "exp", "log", "sqrt", "rsqrt"),
    *("pow", "abs", "reciprocal", "leaky_relu", "prelu", "elu", "selu", "celu", "softplus", "mish"),
    *("hardswish", "hardsigmoid", "silu", "layer_norm", "native_layer_norm", "group_norm", "instance_norm"),
    *("rms_norm", "normalize", "sin", "cos", "square", "masked_fill", "glu", "relu6", "log_sigmoid"),
    *("softsign", "cumsum", "tril", "triu", "bitwise_not", "hardshrink", "native_group_norm"),
)
# Functions of the tensor if the constant is the second operand, and if it is the first.
_BINARY = {
    "add": ("plus", "plus"),
    "sub": ("minus", "from"),
    "rsub": ("from", "minus"),
    "mul": ("times", "times"),
    "div": ("divided_by", ""),
    "gt": ("greater", "less"),
    "ge": ("greater_or_equal", "less_or_equal"),
    "lt": ("less", "greater"),
    "le": ("less_or_equal", "greater_or_equal"),
}


def _given(node: Any, place: int, key: str, default: Any = None) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(key, default)


def _named(node: Any, call: Call) -> str:
    if node.kwargs.get("decimals", 0):
        return call.function(node.args[0].name)
    return call.function(node.args[0].name, _NAMES[call.word] or call.word)


def _opaque(node: Any, call: Call) -> str | None:
    if call.is_constant(node.args[0]) or sum(not call.is_constant(part) for part in node.args) > 1:
        return None
    return call.function(node.args[0].name)


def _dropout(node: Any, call: Call) -> str:
    """Read what leaves elements unchanged, except in training, where it drops some at random."""
    return call.function(node.args[0].name, "same" if _given(node, 2, "train") is False else "")


def _copy(node: Any, call: Call) -> str:
    before, after = (
        str(getattr(part.meta.get("val"), "dtype", "")).removeprefix("torch.") for part in (node.args[0], node)
    )
    return (
        call.function(node.args[0].name, "same") if before in (after, "bool") else call.cast(node.args[0].name, after)
    )


def _clamp(node: Any, call: Call) -> str:
    low, high = _given(node, 1, "min"), _given(node, 2, "max")
    bounds = [-np.inf if low is None else low, np.inf if high is None else high]
    return call.function(node.args[0].name, "clip", bounds)


def _hardtanh(node: Any, call: Call) -> str:
    bounds = [_given(node, 1, "min_val", -1.0), _given(node, 2, "max_val", 1.0)]
    return call.function(node.args[0].name, "clip", bounds)


def _batch_norm(node: Any, call: Call) -> str | None:
    source, scale, shift, mean, variance = node.args[:5]
    shape = call.shape(source)
    if shape is None or mean is None or variance is None:
        return None
    epsilon = node.args[7] if call.word == "batch_norm" else node.args[6]

    given = [(call.array(part), idle) for part, idle in ((mean, 0), (variance, 1), (scale, 1), (shift, 0))]
    parts = [np.full(shape[1], idle, np.float32) if array is None else array for array, idle in given]
    constants = [*(along(1, part, len(shape)) for part in parts), np.asarray(epsilon, np.float32)]
    return call.add("function", [source.name], settings={"function": "batch_norm"}, constants=constants)


def _binary(node: Any, call: Call) -> str | None:
    first, second = node.args[:2]
    if _given(node, 2, "alpha", 1) != 1:
        return None
    reads = [part.name for part in (first, second) if not call.is_constant(part)]
    if len(reads) == 2:
        signs = {"add": (1, 1), "sub": (1, -1), "rsub": (-1, 1)}.get(call.word)
        return call.add("add", reads, settings={"signs": signs}) if signs else call.add("multiply", reads)
    at_first = call.is_constant(first)
    source = second if at_first else first
    if call.word not in _BINARY or "rounding_mode" in node.kwargs or call.shape(source) != call.shape(node):
        return call.function(source.name)
    return call.function(source.name, _BINARY[call.word][int(at_first)], [first if at_first else second])


def _heaviside(node: Any, call: Call) -> str | None:
    """Read a step from 0 to 1, with its value at 0; it rises if that lies between."""
    source, at = node.args[:2]
    values = call.array(at)
    if call.is_constant(source) or not call.is_constant(at):
        return None
    rises = values is not None and bool(((values >= 0) & (values <= 1)).all())
    if call.shape(source) != call.shape(node) or not rises:
        return call.function(source.name)
    return call.function(source.name, "heaviside", [at])


def _where(node: Any, call: Call) -> str:
    condition, yes, no = node.args[:3]
    if call.is_constant(condition) or not call.is_constant(yes) or not call.is_constant(no):
        reads = list(dict.fromkeys(part.name for part in node.args if not call.is_constant(part)))
        if len(reads) == 1:
            return call.function(reads[0])
        return call.add("multiply", reads)
    return call.function(condition.name, "where", [yes, no])


def _quantise(node: Any, call: Call) -> str | None:
    """Read a quantisation or dequantisation, as PyTorch's export of quantised modules writes it."""
    import torch

    source, scale, zero = node.args[:3]
    if call.is_constant(source) or not (call.is_constant(scale) and call.is_constant(zero)):
        return None
    at = 4 if "channel" in node.target.__name__ else 3
    low, high = (int(part) for part in node.args[at : at + 2])
    held = torch.iinfo(node.args[at + 2])
    if low < held.min or high > held.max:  # which PyTorch refuses when it computes it
        raise InputError(
            f"quantises to {low} to {high}, and {held.dtype} holds {held.min} to {held.max}; export it again"
        )
    settings = {"low": low, "high": high, "axis": int(node.args[3]) if at == 4 else 1, "inverse": True}
    numbers = (np.asarray(call.array(scale), np.float32), np.asarray(call.array(zero)).astype(np.int64))
    word = "dequantises" if node.target.__name__.startswith("de") else "quantises"
    return call.add("function", [source.name], settings={word: True, **settings}, constants=numbers)


# Calls that are functions of a tensor, or combine two element by element.
ELEMENTWISE = {
    **dict.fromkeys(
        ("quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel"), _quantise
    ),
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys((*_BINARY, "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "bitwise_and"), _binary),
    **dict.fromkeys(("dropout", "native_dropout", "feature_dropout"), _dropout),
    **dict.fromkeys(("_to_copy", "to", "type_as"), _copy),
    **dict.fromkeys(("clamp", "clamp_min", "clip"), _clamp),
    "clamp_max": lambda node, call: call.function(node.args[0].name, "clip", [-np.inf, node.args[1]]),
    "hardtanh": _hardtanh,
    **dict.fromkeys(("batch_norm", "_native_batch_norm_legit_no_training"), _batch_norm),
    "heaviside": _heaviside,
    "where": _where,
}


# State while the calls of an exported graph are read one after the other.


class Call(GraphReading):
    """Calls read so far, and the current one."""

    def __init__(self, constants: dict[str, Any]) -> None:
        super().__init__(constants, {})
        self.parts: dict[str, dict[int, Mapping[str, Any]]] = {}
        """Settings of every part, for calls that split a tensor."""
        self.part_sources: dict[str, str] = {}
        """Tensors that these calls split."""

    def function(self, source: str, name: str = "", constants: Sequence[Any] = ()) -> str:
        """Add the call as a function of one tensor; its constants are numbers or tensors of the module."""
        return super().function(source, name, [self.array(part) for part in constants])

    def is_constant(self, part: Any) -> bool:
        """Whether an argument is a number, ``None``, or a constant tensor."""
        return not hasattr(part, "name") or part.name in self.constants

    def array(self, part: Any) -> NDArray[Any] | None:
        """Return the numbers of an argument; ``None`` if it has none."""
        if part is None:
            return None
        value = self.constants.get(part.name) if hasattr(part, "name") else part
        if value is None:
            return None
        if hasattr(value, "detach"):
            return np.asarray(value.detach().cpu().numpy())
        return np.asarray(value, np.float32)

    def shape(self, part: Any) -> TensorShape | None:
        """Shape of an argument."""
        if not hasattr(part, "name"):
            return ()
        if part.name in self.constants:
            value = self.constants[part.name]
            return None if value is None else tuple(int(n) for n in value.shape)
        return self.shapes.get(part.name)


# Calls that move elements without changing them.

_TO_THE_END = 2**62


def _reshape(node: Any, call: Call) -> str | None:
    if call.is_constant(node.args[0]):
        return None
    return call.add("reshape", [node.args[0].name])


def _permute(node: Any, call: Call) -> str:
    order = tuple(int(k) for k in node.args[1])
    return call.add("transpose", [node.args[0].name], settings={"order": tuple(k % len(order) for k in order)})


def _transpose(node: Any, call: Call) -> str | None:
    shape = call.shape(node.args[0])
    if shape is None:
        return None
    first, second = (int(k) % len(shape) for k in (*node.args[1:3], 0, 1)[:2])
    order = list(range(len(shape)))
    order[first], order[second] = order[second], order[first]
    return call.add("transpose", [node.args[0].name], settings={"order": tuple(order)})


def _shuffle(node: Any, call: Call) -> str:
    return call.add("transpose", [node.args[0].name])


def _cat(node: Any, call: Call) -> str:
    parts = node.args[0]
    reads = [part.name for part in parts if not call.is_constant(part)]
    axis, shape = int(_given(node, 1, "dim", 0)), call.shape(node)
    if node.target.__name__.startswith("stack") and shape is not None:
        axis %= len(shape)  # of what it gives: every part gets an axis there first
        longer = tuple(1 if k == axis else n for k, n in enumerate(shape))
        reads = [
            call.add("reshape", [read], gives=f"{node.name}.{place}", shape=longer) for place, read in enumerate(reads)
        ]
    return call.add("concat", reads, settings={"axis": axis, "whole": len(reads) == len(parts)})


def _slice(node: Any, call: Call) -> str:
    given: list[Any] = [*node.args, *[None, 0, None, None, 1][len(node.args) :]]
    source, axis, start, stop, step = given
    settings = {"axis": int(axis), "start": int(start or 0), "stop": _TO_THE_END if stop is None else int(stop)}
    return call.add("slice", [source.name], settings={**settings, "step": int(step)})


def _select(node: Any, call: Call) -> str:
    """Read elements along an axis: one, or those that a constant lists."""
    source, axis, index = node.args
    settings: dict[str, Any] = {"axis": int(axis)}
    if call.is_constant(index) and (listed := call.array(index)) is not None:
        settings["index"] = tuple(int(k) for k in listed.ravel().tolist())
    return call.add("slice", [source.name], settings=settings)


def _split(node: Any, call: Call) -> str | None:
    """Record how a tensor is split; the parts are read where they are taken."""
    source, made = node.args[0], node.meta.get("val")
    if call.is_constant(source) or not isinstance(made, list | tuple):
        return None
    parts: dict[int, Mapping[str, Any]]
    if call.word == "unbind":
        axis = int(_given(node, 1, "dim", 0))
        parts = {k: {"axis": axis, "index": (k,)} for k in range(len(made))}
    else:
        axis = int(_given(node, 2, "dim", 0))
        ends = np.cumsum([0, *(part.shape[axis] for part in made)]).tolist()
        parts = {k: {"axis": axis, "start": a, "stop": b, "step": 1} for k, (a, b) in enumerate(pairwise(ends))}
    call.parts[node.name], call.part_sources[node.name] = parts, source.name
    return str(node.name)


def _pad(node: Any, call: Call) -> str:
    source, pads = node.args[0], [int(k) for k in node.args[1]]
    has_mode = call.word == "pad"
    mode = _given(node, 2, "mode", "constant") if has_mode else "constant"
    value = _given(node, 3 if has_mode else 2, "value") or 0
    shape = call.shape(source)
    settings: dict[str, Any] = {}
    if shape is not None and mode == "constant" and isinstance(value, int | float):
        before, after = [0] * len(shape), [0] * len(shape)
        for k in range(len(pads) // 2):  # the last axis first
            before[-1 - k], after[-1 - k] = pads[2 * k], pads[2 * k + 1]
        settings = {"pads": (*before, *after), "value": float(value)}
    return call.add("pad", [source.name], settings=settings)


def _resize(node: Any, call: Call) -> str | None:
    if call.is_constant(node.args[0]):
        return None
    return call.add("resize", [node.args[0].name], settings={"nearest": "nearest" in node.target.__name__})


# Calls that no neuron computes.
MOVES = {
    **dict.fromkeys(
        ("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "_unsafe_view", "view_as", "squeeze_"),
        _reshape,
    ),
    "permute": _permute,
    **dict.fromkeys(("transpose", "t", "numpy_T", "mT"), _transpose),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "roll", "flip"), _shuffle),
    "cat": _cat,
    "stack": _cat,
    "slice": _slice,
    "select": _select,
    "index_select": _select,
    **dict.fromkeys(
        ("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes", "chunk", "unbind"), _split
    ),
    **dict.fromkeys(("pad", "constant_pad_nd"), _pad),
    **dict.fromkeys(
        ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "expand", "repeat", "interpolate"), _resize
    ),
}


def _each(value: Any, n: int, default: int) -> tuple[int, ...]:
    if value is None or (isinstance(value, Sequence) and not value):
        return (default,) * n
    values = [value] if isinstance(value, int) else list(value)
    return tuple(int(k) for k in (values * n if len(values) == 1 else values))


def _conv(node: Any, call: Call) -> str | None:
    general = node.target.__name__.startswith("convolution")
    source, weight = node.args[0], node.args[1]
    shape = call.shape(weight)
    if not call.is_constant(weight) or shape is None or call.is_constant(source):
        return None
    bias, n = _given(node, 2, "bias"), len(shape) - 2
    transposed = node.target.__name__.startswith("conv_transpose") or (general and bool(_given(node, 6, "transposed")))
    padding = _given(node, 4, "padding", 0)
    dilation = _each(_given(node, 7 if transposed and not general else 5, "dilation"), n, 1)
    groups = _given(node, 8 if general else 6, "groups", 1)
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, shape[2:], strict=True)]
        pads = (*(t // 2 for t in total), *(t - t // 2 for t in total))
    else:
        pads = _each(padding, n, 0) * 2
    settings = {
        "kernel": shape[2:],
        "stride": _each(_given(node, 3, "stride"), n, 1),
        "pads": pads,
        "dilation": dilation,
        "groups": int(groups),
        "weight_shape": shape,
    }
    constants = [array for array in (call.array(weight), call.array(bias)) if array is not None]
    exact = [call.exact.get(part.name) for part in (weight, bias) if hasattr(part, "name")]
    work = conv_work(call.shape(source if transposed else node), shape)
    kind = "conv_transpose" if transposed else "conv"
    return call.add(kind, [source.name], settings=settings, constants=constants, exact=exact, work=work)


def _linear(node: Any, call: Call) -> str | None:
    source, weight, bias = node.args[0], node.args[1], _given(node, 2, "bias")
    shape = call.shape(weight)
    if call.is_constant(source) or not call.is_constant(weight) or shape is None or len(shape) != 2:
        return None
    exact = [call.exact.get(part.name) for part in (weight, bias) if hasattr(part, "name")]
    return _dense(call, node, source, [call.array(weight), call.array(bias)], shape, exact)


def _dense(
    call: Call, node: Any, source: Any, arrays: Sequence[Any], shape: tuple[int, ...], exact: Sequence[Exact] = ()
) -> str:
    known = [array for array in arrays if array is not None] if arrays and arrays[0] is not None else []
    work = dense_work(call.shape(node), shape[1])
    return call.add("dense", [source.name], settings={"weight_shape": shape}, constants=known, exact=exact, work=work)


def _addmm(node: Any, call: Call) -> str | None:
    bias, source, weight = node.args[:3]
    array, shape = call.array(weight), call.shape(weight)
    if node.kwargs or array is None or shape is None or not call.is_constant(bias) or call.is_constant(source):
        return None
    held = call.exact.get(weight.name) if hasattr(weight, "name") else None
    exact = [None if held is None else (held[0].T, held[1].T)]
    return _dense(call, node, source, [array.T, call.array(bias)], (shape[1], shape[0]), exact)


def _matmul(node: Any, call: Call) -> str:
    left, right = node.args[:2]
    shape = call.shape(left)
    work = dense_work(call.shape(node), shape[-1] if shape else None)
    if not call.is_constant(left) and not call.is_constant(right):
        return call.add("product", [left.name, right.name], work=work)
    source, weight = (left, right) if call.is_constant(right) else (right, left)
    array = call.array(weight)
    if weight is right and array is not None and array.ndim == 2:
        return _dense(call, node, source, [array.T], (array.shape[1], array.shape[0]))
    return call.add("dense", [source.name], work=work)


def _attention(node: Any, call: Call) -> str | None:
    """Read scaled dot-product attention as its two products, with a softmax between."""
    query, key, value = node.args[:3]
    q, k, made = call.shape(query), call.shape(key), call.shape(node)
    if q is None or k is None or made is None or any(call.is_constant(part) for part in (query, key, value)):
        return None
    scores = (*q[:-1], k[-2])
    found = call.add(
        "product", [query.name, key.name], work=dense_work(scores, q[-1]), gives=f"{node.name}.scores", shape=scores
    )
    soft = call.add("function", [found], gives=f"{node.name}.softmax", shape=scores)
    return call.add("product", [soft, value.name], work=dense_work(made, k[-2]))


def _pool(node: Any, call: Call) -> str | None:
    source, shape = node.args[0], call.shape(node.args[0])
    if shape is None or call.is_constant(source):
        return None
    mean = node.target.__name__.startswith("avg")
    if mean and _given(node, 6, "divisor_override") is not None:  # neither a mean nor a sum
        return None
    kernel = _each(node.args[1], 1, 1)
    n = len(shape) - 2
    kernel = _each(kernel, n, 1)
    stride = _given(node, 2, "stride")
    settings: dict[str, Any] = {
        "kernel": kernel,
        "stride": _each(stride, n, 1) if stride else kernel,
        "pads": _each(_given(node, 3, "padding", 0), n, 0) * 2,
        "dilation": (1,) * n if mean else _each(_given(node, 4, "dilation", 1), n, 1),
    }
    if mean:
        settings |= {"mean": True, "counts_padding": bool(_given(node, 5, "count_include_pad", True))}
    return call.add("average" if mean else "max_pool", [source.name], settings=settings)


def _adaptive(node: Any, call: Call) -> str | None:
    source, shape, made = node.args[0], call.shape(node.args[0]), call.shape(node)
    if shape is None or made is None or call.is_constant(source):
        return None
    mean = "avg" in node.target.__name__
    n = len(shape) - 2
    extra = {"mean": True, "counts_padding": True} if mean else {}
    if made[2:] == (1,) * n:
        settings: dict[str, Any] = {"axes": tuple(range(2, len(shape))), **extra}
    elif all(s % m == 0 for s, m in zip(shape[2:], made[2:], strict=True)):
        kernel = tuple(s // m for s, m in zip(shape[2:], made[2:], strict=True))
        settings = {"kernel": kernel, "stride": kernel, "pads": (0,) * 2 * n, "dilation": (1,) * n, **extra}
    else:
        settings = {}
    return call.add("average" if mean else "max_pool", [source.name], settings=settings)


def _reduce(node: Any, call: Call) -> str | None:
    source, shape = node.args[0], call.shape(node.args[0])
    kind = node.kwargs.get("dtype")  # what is added up is converted to it before
    if shape is None or call.is_constant(source) or (kind is not None and not kind.is_floating_point):
        return None
    axes = _given(node, 1, "dim")
    chosen = range(len(shape)) if axes is None or axes == [] else sorted(int(a) % len(shape) for a in _each(axes, 1, 0))
    settings = {"axes": tuple(chosen), **({} if call.word == "amax" else {"mean": call.word == "mean"})}
    return call.add("max_pool" if call.word == "amax" else "average", [source.name], settings=settings)


def _embedding(node: Any, call: Call) -> str | None:
    table, index = node.args[:2]
    if not call.is_constant(table) or call.is_constant(index):
        return None
    return call.add("dense", [index.name])


# By name, without overload: the output tensor of a call, ``None`` if it is not translated.
OPERATORS: Mapping[str, Callable[[Any, Call], str | None]] = {
    **MOVES,
    **ELEMENTWISE,
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv
    ),
    "linear": _linear,
    "addmm": _addmm,
    **dict.fromkeys(("matmul", "mm", "bmm"), _matmul),
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices"), _pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _pool),
    **dict.fromkeys(
        ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_max_pool2d"), _adaptive
    ),
    **dict.fromkeys(("mean", "sum", "amax"), _reduce),
    "embedding": _embedding,
}
