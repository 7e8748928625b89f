"""Calls that take elements one by one, and normalisations, which take a frame of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers import GraphReading, TensorShape

_NAMES = {
    **dict.fromkeys(("relu", "sign", "floor", "ceil", "round", "sigmoid", "tanh"), None),
    "neg": "negative",
    "trunc": "truncate",
    "logical_not": "not",
    **dict.fromkeys(
        ("detach", "alias", "clone", "contiguous", "dropout", "native_dropout", "lift_fresh_copy", "feature_dropout"),
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
"""Functions of the tensor where the constant is the second, and where it is the first."""


def _named(node: Any, call: Call) -> bool:
    word = node.target.__name__.partition(".")[0]
    return call.function(node.args[0].name, _NAMES[word] or word)


def _opaque(node: Any, call: Call) -> bool:
    if call.is_constant(node.args[0]) or sum(not call.is_constant(part) for part in node.args) > 1:
        return False
    return call.function(node.args[0].name)


def _copy(node: Any, call: Call) -> bool:
    """Read a change of type: as floats numbers stay what they are, as integers they are truncated."""
    import torch

    kinds = [part for part in (*node.args, *node.kwargs.values()) if isinstance(part, torch.dtype)]
    if kinds and kinds[0] == torch.bool and getattr(node.args[0].meta.get("val"), "dtype", None) != torch.bool:
        return call.function(node.args[0].name)  # whether it is 0: neither rises nor falls
    keeps = not kinds or kinds[0].is_floating_point or kinds[0] == torch.bool
    return call.function(node.args[0].name, "same" if keeps else "truncate")


def _clamp(node: Any, call: Call) -> bool:
    low = node.args[1] if len(node.args) > 1 else node.kwargs.get("min")
    high = node.args[2] if len(node.args) > 2 else node.kwargs.get("max")
    bounds = [-np.inf if low is None else low, np.inf if high is None else high]
    return call.function(node.args[0].name, "clip", bounds)


def _hardtanh(node: Any, call: Call) -> bool:
    given = list(node.args[1:3])
    low = given[0] if given else -1.0
    high = given[1] if len(given) > 1 else 1.0
    return call.function(node.args[0].name, "clip", [low, high])


def _batch_norm(node: Any, call: Call) -> bool:
    source, scale, shift, mean, variance = node.args[:5]
    word = node.target.__name__.partition(".")[0]
    shape = call.shape(source)
    if shape is None or mean is None or variance is None:
        return False
    epsilon = node.args[7] if word == "batch_norm" else node.args[6]

    def along(part: Any, default: float) -> Any:
        array = call.array(part)
        array = np.full(shape[1], default, np.float32) if array is None else array
        return array.reshape((1, -1) + (1,) * (len(shape) - 2))

    arrays = [along(mean, 0), along(variance, 1), along(scale, 1), along(shift, 0), np.asarray(epsilon, np.float32)]
    call.add("function", [source.name], settings={"function": "batch_norm"}, constants=arrays)
    return True


def _binary(node: Any, call: Call) -> bool:
    word = node.target.__name__.partition(".")[0]
    first, second = node.args[:2]
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    if alpha != 1:
        return False
    reads = [part.name for part in (first, second) if not call.is_constant(part)]
    if len(reads) == 2:
        if word in ("add", "sub", "rsub"):
            signs = {"add": (1, 1), "sub": (1, -1), "rsub": (-1, 1)}[word]
            call.add("add", reads, settings={"signs": signs})
        else:
            call.add("multiply", reads)
        return True
    at_first = call.is_constant(first)
    source = second if at_first else first
    if word not in _BINARY or "rounding_mode" in node.kwargs or call.shape(source) != call.shape(node):
        return call.function(source.name)
    return call.function(source.name, _BINARY[word][int(at_first)], [first if at_first else second])


def _heaviside(node: Any, call: Call) -> bool:
    """Read a step from 0 to 1, with what it gives at 0; it rises where that lies between."""
    source, at = node.args[:2]
    values = call.array(at)
    if call.is_constant(source) or not call.is_constant(at):
        return False
    rises = values is not None and bool(((values >= 0) & (values <= 1)).all())
    if call.shape(source) != call.shape(node) or not rises:
        return call.function(source.name)
    return call.function(source.name, "heaviside", [at])


def _where(node: Any, call: Call) -> bool:
    condition, yes, no = node.args[:3]
    if call.is_constant(condition) or not call.is_constant(yes) or not call.is_constant(no):
        reads = list(dict.fromkeys(part.name for part in node.args if not call.is_constant(part)))
        if len(reads) == 1:
            return call.function(reads[0])
        call.add("multiply", reads)
        return True
    return call.function(condition.name, "where", [yes, no])


def _quantise(node: Any, call: Call) -> bool:
    """Read what rounds reals to integers, as PyTorch's export of quantised modules writes it."""
    source, scale, zero = node.args[:3]
    if call.is_constant(source) or not (call.is_constant(scale) and call.is_constant(zero)):
        return False
    at = 4 if "channel" in node.target.__name__ else 3
    low, high = (int(part) for part in node.args[at : at + 2])
    settings = {"low": low, "high": high, "axis": int(node.args[3]) if at == 4 else 1, "inverse": True}
    numbers = (np.asarray(call.array(scale), np.float32), np.asarray(call.array(zero)).astype(np.int64))
    word = "dequantises" if node.target.__name__.startswith("de") else "quantises"
    call.add("function", [source.name], settings={word: True, **settings}, constants=numbers)
    return True


ELEMENTWISE = {
    **dict.fromkeys(
        ("quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel"), _quantise
    ),
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys((*_BINARY, "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "bitwise_and"), _binary),
    **dict.fromkeys(("_to_copy", "to", "type_as"), _copy),
    **dict.fromkeys(("clamp", "clamp_min", "clip"), _clamp),
    "clamp_max": lambda node, call: call.function(node.args[0].name, "clip", [-np.inf, node.args[1]]),
    "hardtanh": _hardtanh,
    **dict.fromkeys(("batch_norm", "_native_batch_norm_legit_no_training"), _batch_norm),
    "heaviside": _heaviside,
    "where": _where,
}
"""Calls that are functions of a tensor, or join two element by element."""


# What is known while the calls of an exported graph are read one after the other.


class Call(GraphReading):
    """The calls that were read, and the one that is being read."""

    def __init__(self, constants: dict[str, Any]) -> None:
        super().__init__(constants, {})
        self.parts: dict[str, dict[int, Mapping[str, Any]]] = {}
        """Calls that cut a tensor: settings of every part."""
        self.part_sources: dict[str, str] = {}
        """What they cut."""

    def function(self, source: str, name: str = "", constants: Sequence[Any] = ()) -> bool:
        """Take the call over as a function of one tensor; its constants are numbers or tensors of the module."""
        return super().function(source, name, [self.array(part) for part in constants])

    def is_constant(self, part: Any) -> bool:
        """Tell whether an argument is a number, nothing, or a tensor that no input changes."""
        return not hasattr(part, "name") or part.name in self.constants

    def array(self, part: Any) -> NDArray[Any] | None:
        """Give the numbers of an argument; ``None`` where it has none."""
        if part is None:
            return None
        value = self.constants.get(part.name) if hasattr(part, "name") else part
        if value is None:
            return None
        if hasattr(value, "detach"):
            return np.asarray(value.detach().cpu().numpy())
        return np.asarray(value, np.float32)

    def shape(self, part: Any) -> TensorShape | None:
        """Give the shape of an argument."""
        if not hasattr(part, "name"):
            return ()
        if part.name in self.constants:
            value = self.constants[part.name]
            return None if value is None else tuple(int(n) for n in value.shape)
        return self.shapes.get(part.name)
