"""Translators of calls of PyTorch's operators (ATen)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from neuromap.errors import InputError
from neuromap.formats.layers import BINARY, GraphReading

_NAMES = {
    **dict.fromkeys(("relu", "sign", "floor", "ceil", "round", "sigmoid", "tanh"), None),
    "neg": "negative",
    "trunc": "truncate",
    "logical_not": "not",
    **dict.fromkeys(("detach", "alias", "clone", "contiguous", "lift_fresh_copy"), "same"),
}
_OPAQUE = (
    *("softmax", "_softmax", "log_softmax", "_log_softmax", "gelu", "erf", "exp", "log", "sqrt", "rsqrt"),
    *("pow", "abs", "reciprocal", "leaky_relu", "prelu", "elu", "selu", "celu", "softplus", "mish"),
    *("hardswish", "hardsigmoid", "silu", "layer_norm", "native_layer_norm", "group_norm", "instance_norm"),
    *("rms_norm", "normalize", "sin", "cos", "square", "masked_fill", "glu", "relu6", "log_sigmoid"),
    *("softsign", "cumsum", "tril", "triu", "bitwise_not", "hardshrink", "native_group_norm"),
)


@dataclass(eq=False)
class Call(GraphReading):
    """Calls read so far, and the current one, whose arguments name tensors."""

    node: Any = None
    args: Sequence[Any] = ()
    # by call that splits a tensor: that tensor, and the settings of every part
    parts: dict[str, tuple[str, list[Mapping[str, Any]]]] = field(default_factory=dict)

    def given(self, place: int, key: str, default: Any = None) -> Any:
        """Return an argument by its place or keyword."""
        return self.args[place] if len(self.args) > place else self.node.kwargs.get(key, default)


def _named(call: Call) -> str:
    if call.node.kwargs.get("decimals", 0):
        return call.function(call.args[0])
    return call.function(call.args[0], _NAMES[call.word] or call.word)


def _opaque(call: Call) -> str | None:
    if call.is_constant(call.args[0]) or sum(not call.is_constant(part) for part in call.args) > 1:
        return None
    return call.function(call.args[0])


def _dropout(call: Call) -> str:
    """Read what leaves elements unchanged, except in training, where it drops some at random."""
    return call.function(call.args[0], "same" if call.given(2, "train") is False else "")


def _copy(call: Call) -> str:
    before, after = (
        str(getattr(part.meta.get("val"), "dtype", "")).removeprefix("torch.")
        for part in (call.node.args[0], call.node)
    )
    source = call.args[0]
    return call.function(source, "same") if before in (after, "bool") else call.cast(source, after)


def _clamp(call: Call) -> str:
    low, high = call.given(1, "min"), call.given(2, "max")
    bounds = [-np.inf if low is None else low, np.inf if high is None else high]
    return call.function(call.args[0], "clip", bounds)


def _hardtanh(call: Call) -> str:
    return call.function(call.args[0], "clip", [call.given(1, "min_val", -1.0), call.given(2, "max_val", 1.0)])


def _batch_norm(call: Call) -> str | None:
    source, scale, shift, mean, variance = call.args[:5]
    shape = call.shape(source)
    if shape is None or mean is None or variance is None:
        return None
    given = [(call.array(part), idle) for part, idle in ((mean, 0), (variance, 1), (scale, 1), (shift, 0))]
    parts = [np.full(shape[1], idle, np.float32) if array is None else array for array, idle in given]
    return call.normalised(source, shape, parts, call.args[7] if call.word == "batch_norm" else call.args[6])


def _binary(call: Call) -> str | None:
    if call.given(2, "alpha", 1) != 1:
        return None
    return call.binary(call.args[0], call.args[1], call.word, is_plain="rounding_mode" not in call.node.kwargs)


def _heaviside(call: Call) -> str | None:
    """Read a step from 0 to 1, with its value at 0; it rises if that lies between."""
    source, at = call.args[:2]
    values = call.array(at)
    if call.is_constant(source) or not call.is_constant(at):
        return None
    rises = values is not None and bool(((values >= 0) & (values <= 1)).all())
    if call.shape(source) != call.shape(call.gives) or not rises:
        return call.function(source)
    return call.function(source, "heaviside", [at])


def _quantise(call: Call) -> str | None:
    """Read a quantisation or dequantisation, as PyTorch's export of quantised modules writes it."""
    import torch

    source, scale, zero = call.args[:3]
    if call.is_constant(source) or not (call.is_constant(scale) and call.is_constant(zero)):
        return None
    at = 4 if "channel" in call.word else 3
    low, high = (int(part) for part in call.args[at : at + 2])
    held = torch.iinfo(call.args[at + 2])
    if low < held.min or high > held.max:  # which PyTorch refuses when it computes it
        holds = f"{held.dtype} holds {held.min} to {held.max}"
        raise InputError(f"quantises to {low} to {high}, and {holds}; export it again")
    settings = {"low": low, "high": high, "axis": int(call.args[3]) if at == 4 else 1, "inverse": True}
    numbers = (np.asarray(call.array(scale), np.float32), np.asarray(call.array(zero)).astype(np.int64))
    word = "dequantises" if call.word.startswith("de") else "quantises"
    return call.add("function", [source], settings={word: True, **settings}, constants=numbers)


# Calls that move elements without changing them.

_TO_THE_END = 2**62


def _moved(call: Call) -> str | None:
    return call.moved(_MOVED[call.word], call.args[0])


def _permute(call: Call) -> str:
    order = tuple(int(k) for k in call.args[1])
    return call.add("transpose", [call.args[0]], settings={"order": tuple(k % len(order) for k in order)})


def _transpose(call: Call) -> str | None:
    shape = call.shape(call.args[0])
    if shape is None:
        return None
    first, second = (int(k) % len(shape) for k in (*call.args[1:3], 0, 1)[:2])
    order = list(range(len(shape)))
    order[first], order[second] = order[second], order[first]
    return call.add("transpose", [call.args[0]], settings={"order": tuple(order)})


def _cat(call: Call) -> str:
    parts = call.args[0]
    reads = [part for part in parts if not call.is_constant(part)]
    axis, shape = int(call.given(1, "dim", 0)), call.shape(call.gives)
    if call.word == "stack" and shape is not None:
        axis %= len(shape)  # of what it gives: every part gets an axis there first
        longer = tuple(1 if k == axis else n for k, n in enumerate(shape))
        named = [(read, f"{call.gives}.{place}") for place, read in enumerate(reads)]
        reads = [call.add("reshape", [read], gives=name, shape=longer) for read, name in named]
    return call.add("concat", reads, settings={"axis": axis, "whole": len(reads) == len(parts)})


def _slice(call: Call) -> str:
    given: list[Any] = [*call.args, *[None, 0, None, None, 1][len(call.args) :]]
    source, axis, start, stop, step = given
    settings = {"axis": int(axis), "start": int(start or 0), "stop": _TO_THE_END if stop is None else int(stop)}
    return call.add("slice", [source], settings={**settings, "step": int(step)})


def _select(call: Call) -> str:
    """Read elements along an axis: one, or those that a constant lists."""
    source, axis, index = call.args
    settings: dict[str, Any] = {"axis": int(axis)}
    if call.is_constant(index) and (listed := call.array(index)) is not None:
        settings["index"] = tuple(int(k) for k in listed.ravel().tolist())
    return call.add("slice", [source], settings=settings)


def _split(call: Call) -> str | None:
    """Record how a tensor is split; the parts are read where they are taken."""
    made = call.node.meta.get("val")
    if call.is_constant(call.args[0]) or not isinstance(made, list | tuple):
        return None
    parts: list[Mapping[str, Any]]
    if call.word == "unbind":
        axis = int(call.given(1, "dim", 0))
        parts = [{"axis": axis, "index": (k,)} for k in range(len(made))]
    else:
        axis = int(call.given(2, "dim", 0))
        ends = np.cumsum([0, *(part.shape[axis] for part in made)]).tolist()
        parts = [{"axis": axis, "start": a, "stop": b, "step": 1} for a, b in pairwise(ends)]
    call.parts[call.gives] = call.args[0], parts
    return call.gives


def _pad(call: Call) -> str:
    source, pads = call.args[0], [int(k) for k in call.args[1]]
    has_mode = call.word == "pad"
    mode = call.given(2, "mode", "constant") if has_mode else "constant"
    value = call.given(3 if has_mode else 2, "value") or 0
    shape = call.shape(source)
    settings: dict[str, Any] = {}
    if shape is not None and mode == "constant" and isinstance(value, int | float):
        before, after = [0] * len(shape), [0] * len(shape)
        for k in range(len(pads) // 2):  # the last axis first
            before[-1 - k], after[-1 - k] = pads[2 * k], pads[2 * k + 1]
        settings = {"pads": (*before, *after), "value": float(value)}
    return call.add("pad", [source], settings=settings)


_MOVED = {
    **dict.fromkeys(("view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze"), "reshape"),
    **dict.fromkeys(("_unsafe_view", "view_as", "squeeze_"), "reshape"),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "roll", "flip"), "transpose"),
    **dict.fromkeys(("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d"), "resize"),
    **dict.fromkeys(("expand", "repeat", "interpolate"), "resize"),
}


def _each(value: Any, n: int, default: int) -> tuple[int, ...]:
    if value is None or (isinstance(value, Sequence) and not value):
        return (default,) * n
    values = [value] if isinstance(value, int) else list(value)
    return tuple(int(k) for k in (values * n if len(values) == 1 else values))


def _conv(call: Call) -> str | None:
    shape = call.shape(call.args[1])
    if shape is None:
        return None
    general, n = call.word == "convolution", len(shape) - 2
    transposed = call.word.startswith("conv_transpose") or (general and bool(call.given(6, "transposed")))
    padding = call.given(4, "padding", 0)
    dilation = _each(call.given(7 if transposed and not general else 5, "dilation"), n, 1)
    groups = call.given(8 if general else 6, "groups", 1)
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, shape[2:], strict=True)]
        pads = (*(t // 2 for t in total), *(t - t // 2 for t in total))
    else:
        pads = _each(padding, n, 0) * 2
    settings = {
        "kernel": shape[2:],
        "stride": _each(call.given(3, "stride"), n, 1),
        "pads": pads,
        "dilation": dilation,
        "groups": int(groups),
    }
    kind = "conv_transpose" if transposed else "conv"
    return call.weighed(kind, call.args[0], call.args[1], call.given(2, "bias"), settings=settings)


def _linear(call: Call) -> str | None:
    shape = call.shape(call.args[1])
    if shape is None or len(shape) != 2:
        return None
    return call.weighed("dense", call.args[0], call.args[1], call.given(2, "bias"))


def _addmm(call: Call) -> str | None:
    bias, source, weight = call.args[:3]
    return None if call.node.kwargs else call.weighed("dense", source, weight, bias, is_turned=True)


def _attention(call: Call) -> str | None:
    """Read scaled dot-product attention as its two products, with a softmax between."""
    query, key, value = call.args[:3]
    q, k, made = call.shape(query), call.shape(key), call.shape(call.gives)
    if q is None or k is None or made is None or any(call.is_constant(part) for part in (query, key, value)):
        return None
    call.shapes |= dict.fromkeys((scores := f"{call.gives}.scores", soft := f"{call.gives}.softmax"), (*q[:-1], k[-2]))
    call.add("product", [query, key], work=call.work(scores, q[-1]), gives=scores)
    call.add("function", [scores], gives=soft)
    return call.add("product", [soft, value], work=call.work(call.gives, k[-2]))


def _pool(call: Call) -> str | None:
    source, shape = call.args[0], call.shape(call.args[0])
    is_mean = call.word.startswith("avg")
    # divided by another number it is neither a mean nor a sum
    if shape is None or call.is_constant(source) or (is_mean and call.given(6, "divisor_override") is not None):
        return None
    n = len(shape) - 2
    kernel = _each(_each(call.args[1], 1, 1), n, 1)
    stride = call.given(2, "stride")
    settings = {
        "kernel": kernel,
        "stride": _each(stride, n, 1) if stride else kernel,
        "pads": _each(call.given(3, "padding", 0), n, 0) * 2,
        "dilation": (1,) * n if is_mean else _each(call.given(4, "dilation", 1), n, 1),
    }
    mean = {"mean": True, "counts_padding": bool(call.given(5, "count_include_pad", True))}
    return call.window(call.args[0], settings, mean if is_mean else None)


def _adaptive(call: Call) -> str | None:
    source, shape, made = call.args[0], call.shape(call.args[0]), call.shape(call.gives)
    if shape is None or made is None or call.is_constant(source):
        return None
    n, settings = len(shape) - 2, dict[str, Any]()
    mean = {"mean": True, "counts_padding": True} if "avg" in call.word else None
    if made[2:] == (1,) * n:
        settings = {"axes": tuple(range(2, len(shape)))}
    elif all(s % m == 0 for s, m in zip(shape[2:], made[2:], strict=True)):
        kernel = tuple(s // m for s, m in zip(shape[2:], made[2:], strict=True))
        settings = {"kernel": kernel, "stride": kernel, "pads": (0,) * 2 * n, "dilation": (1,) * n}
    else:
        mean = None if mean is None else {}
    return call.window(call.args[0], settings, mean)


def _reduce(call: Call) -> str | None:
    source, shape = call.args[0], call.shape(call.args[0])
    kind = call.node.kwargs.get("dtype")  # what is added up is converted to it before
    if shape is None or call.is_constant(source) or (kind is not None and not kind.is_floating_point):
        return None
    axes = call.given(1, "dim")
    chosen = range(len(shape)) if axes is None or axes == [] else sorted(int(a) % len(shape) for a in _each(axes, 1, 0))
    return call.window(
        call.args[0], {"axes": tuple(chosen)}, None if call.word == "amax" else {"mean": call.word == "mean"}
    )


def _embedding(call: Call) -> str | None:
    table, index = call.args[:2]
    if not call.is_constant(table) or call.is_constant(index):
        return None
    return call.add("dense", [index])


# By name, without overload: the output tensor of a call, ``None`` if it is not translated.
OPERATORS: Mapping[str, Callable[[Call], str | None]] = {
    **dict.fromkeys(_MOVED, _moved),
    "permute": _permute,
    **dict.fromkeys(("transpose", "t", "numpy_T", "mT"), _transpose),
    **dict.fromkeys(("cat", "stack"), _cat),
    "slice": _slice,
    **dict.fromkeys(("select", "index_select"), _select),
    **dict.fromkeys(
        ("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes", "chunk", "unbind"), _split
    ),
    **dict.fromkeys(("pad", "constant_pad_nd"), _pad),
    **dict.fromkeys(
        ("quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel"), _quantise
    ),
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys((*BINARY, "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "bitwise_and"), _binary),
    **dict.fromkeys(("dropout", "native_dropout", "feature_dropout"), _dropout),
    **dict.fromkeys(("_to_copy", "to", "type_as"), _copy),
    **dict.fromkeys(("clamp", "clamp_min", "clip"), _clamp),
    "clamp_max": lambda call: call.function(call.args[0], "clip", [-np.inf, call.args[1]]),
    "hardtanh": _hardtanh,
    **dict.fromkeys(("batch_norm", "_native_batch_norm_legit_no_training"), _batch_norm),
    "heaviside": _heaviside,
    "where": lambda call: call.where(*call.args[:3]),
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv
    ),
    "linear": _linear,
    "addmm": _addmm,
    **dict.fromkeys(("matmul", "mm", "bmm"), lambda call: call.product(*call.args[:2])),
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices"), _pool),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), _pool),
    **dict.fromkeys(
        ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_max_pool2d"), _adaptive
    ),
    **dict.fromkeys(("mean", "sum", "amax"), _reduce),
    "embedding": _embedding,
}
