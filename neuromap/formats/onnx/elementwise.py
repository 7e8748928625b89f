"""Operators of ONNX that take elements one by one, and normalisations, which take a frame of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.onnx.reading import Reading

__all__ = ["ELEMENTWISE"]

Attributes = dict[str, Any]

_NAMES = {
    "Relu": "relu",
    "Sign": "sign",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Neg": "negative",
    "Not": "not",
    "Identity": "same",
}
_OPAQUE = (
    *("Softmax", "LogSoftmax", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Pow", "Abs", "Reciprocal", "LeakyRelu"),
    *("PRelu", "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "HardSwish", "HardSigmoid", "Swish"),
    *("ThresholdedRelu", "Hardmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization"),
    *("RMSNormalization", "SimplifiedLayerNormalization", "LRN", "LpNormalization"),
    *("MeanVarianceNormalization", "QuantizeLinear", "DequantizeLinear", "IsNaN", "IsInf", "Sin", "Cos"),
    *("Trilu", "CumSum", "Shrink"),
)
_BINARY = {
    "Add": ("plus", "plus"),
    "Sub": ("minus", "from"),
    "Mul": ("times", "times"),
    "Div": ("divided_by", ""),
    "Greater": ("greater", "less"),
    "GreaterOrEqual": ("greater_or_equal", "less_or_equal"),
    "Less": ("less", "greater"),
    "LessOrEqual": ("less_or_equal", "greater_or_equal"),
}
"""Functions of the tensor where the constant is the second, and where it is the first."""
_ALSO_BINARY = ("Pow", "Max", "Min", "And", "Or", "Xor", "Equal", "Mod", "PRelu", "Mean")


def _function(
    node: Any, label: str, reading: Reading, source: str, name: str = "", constants: Sequence[NDArray[Any] | None] = ()
) -> bool:
    """Take a function over; one whose constants are not at hand has no name, as it cannot be computed."""
    known = [array for array in constants if array is not None]
    settings = {"function": name} if name and len(known) == len(constants) else {}
    reading.add(node, label, "function", [source], settings=settings, constants=known if settings else ())
    return True


def _named(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    return _function(node, label, reading, node.input[0], _NAMES[node.op_type])


def _opaque(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    return not reading.is_constant(node.input[0]) and _function(node, label, reading, node.input[0])


def _clip(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    bounds = []
    for place, key, default in ((1, "min", -np.inf), (2, "max", np.inf)):
        tensor = node.input[place] if len(node.input) > place else ""
        bounds.append(reading.constant(tensor) if tensor else np.asarray(a.get(key, default), np.float32))
    return _function(node, label, reading, node.input[0], "clip", bounds)


def _cast(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    import onnx

    kinds = onnx.TensorProto
    to = a.get("to")
    to = kinds.DataType.Value(to) if isinstance(to, str) else to  # opset 1 to 5
    if to == kinds.BOOL:
        return _function(node, label, reading, node.input[0])  # whether it is 0: neither rises nor falls
    floats = (kinds.FLOAT, kinds.DOUBLE)
    return _function(node, label, reading, node.input[0], "same" if to in floats else "truncate")


def _dropout(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    """Read what leaves elements as they are, but in training, where it throws some away by chance."""
    training = reading.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
    if training is None or training.any():
        return _function(node, label, reading, node.input[0])
    for mask in node.output[1:]:
        shape = reading.whole_shape(node.input[0])
        reading.constants[mask] = None if shape is None else np.broadcast_to(np.True_, shape)
    return _function(node, label, reading, node.input[0], "same")


def _batch_norm(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    scale, shift, mean, variance = (reading.constant(tensor) for tensor in node.input[1:5])
    shape = reading.whole_shape(node.input[0])
    epsilon = np.float32(a.get("epsilon", 1e-5))
    # before opset 14 it is the outputs that say that it computes the mean and variance of this very batch
    if shape is None or a.get("training_mode") or any(node.output[1:]):
        return _function(node, label, reading, node.input[0])

    def along(part: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if part is None else part.reshape((1, -1) + (1,) * (len(shape) - 2))

    parts = [along(part) for part in (mean, variance, scale, shift)]
    return _function(node, label, reading, node.input[0], "batch_norm", [*parts, np.asarray(epsilon)])


def _binary(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    if len(reads) > 1 and node.op_type in ("Add", "Sub", "Sum") and len(reads) == len(node.input) == 2:
        signs = (1, -1) if node.op_type == "Sub" else (1, 1)
        reading.add(node, label, "add", reads, settings={"signs": signs})
        return True
    if len(reads) > 1:
        kind = "add" if node.op_type in ("Add", "Sum") else "multiply"
        reading.add(node, label, kind, reads, settings={"signs": (1,) * len(reads)} if kind == "add" else {})
        return True
    if len(node.input) != 2 or node.op_type not in _BINARY:
        name = "same" if len(node.input) == 1 else ""
        return _function(node, label, reading, reads[0], name)
    first = reading.is_constant(node.input[0])
    constant = reading.constant(node.input[0 if first else 1])
    source, target = reading.whole_shape(reads[0]), reading.whole_shape(node.output[0])
    if source != target:  # the constant makes more elements of it
        return _function(node, label, reading, reads[0])
    return _function(node, label, reading, reads[0], _BINARY[node.op_type][int(first)], [constant])


def _where(node: Any, label: str, a: Attributes, reading: Reading) -> bool:
    reads = list(dict.fromkeys(tensor for tensor in node.input if not reading.is_constant(tensor)))
    if len(reads) > 1:
        reading.add(node, label, "multiply", reads)
        return True
    if reads[0] != node.input[0] or node.input[1] == reads[0] or node.input[2] == reads[0]:
        return _function(node, label, reading, reads[0])
    return _function(node, label, reading, reads[0], "where", [reading.constant(t) for t in node.input[1:3]])


ELEMENTWISE = {
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys((*_BINARY, *_ALSO_BINARY, "Sum"), _binary),
    "Dropout": _dropout,
    "Clip": _clip,
    "Cast": _cast,
    "BatchNormalization": _batch_norm,
    "Where": _where,
}
"""Operators that are functions of a tensor, or join two element by element."""
