"""How operators of ONNX are read; the opsets differ in where they say what, and all are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers import is_integer
from neuromap.formats.onnx.folding import Reading, part_lengths
from neuromap.formats.onnx.weighted import WEIGHTED

# Operators of ONNX that take elements one by one, and normalisations, which take a frame of them.

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
    *("MeanVarianceNormalization", "IsNaN", "IsInf", "Sin", "Cos"),
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


def _named(node: Any, a: Attributes, reading: Reading) -> bool:
    return reading.function(node.input[0], _NAMES[node.op_type])


def _opaque(node: Any, a: Attributes, reading: Reading) -> bool:
    return not reading.is_constant(node.input[0]) and reading.function(node.input[0])


def _clip(node: Any, a: Attributes, reading: Reading) -> bool:
    bounds = []
    for place, key, default in ((1, "min", -np.inf), (2, "max", np.inf)):
        tensor = node.input[place] if len(node.input) > place else ""
        bounds.append(reading.constant(tensor) if tensor else np.asarray(a.get(key, default), np.float32))
    return reading.function(node.input[0], "clip", bounds)


def _quantise(node: Any, a: Attributes, reading: Reading) -> bool:
    """Read a function that rounds reals to integers; blocks, small floats and other precisions have no name."""
    import onnx

    source, scale = node.input[0], reading.constant(node.input[1])
    zero = reading.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    if zero is None and (len(node.input) < 3 or not node.input[2]):
        kind = a.get("output_dtype", 0)
        zero = np.zeros((), onnx.helper.tensor_dtype_to_np_dtype(kind) if kind else np.uint8)
    plain = scale is not None and scale.dtype == np.float32 and not a.get("block_size") and not a.get("precision")
    if scale is None or zero is None or not plain or not is_integer(zero):
        return reading.function(source)
    reading.to_integers(source, scale, zero, axis=a.get("axis", 1))
    return True


def _dequantise(node: Any, a: Attributes, reading: Reading) -> bool:
    source, scale = node.input[0], reading.constant(node.input[1])
    given = len(node.input) > 2 and node.input[2]
    zero = reading.constant(node.input[2]) if given else _zero_of(source, reading)
    is_known = zero is not None or not given
    plain = scale is not None and scale.dtype == np.float32 and not a.get("block_size")
    if scale is None or not is_known or not plain or (zero is not None and not is_integer(zero)):
        return reading.function(source)
    reading.to_reals(source, scale, zero, gives=node.output[0], axis=a.get("axis", 1))
    return True


def _zero_of(source: str, reading: Reading) -> NDArray[Any] | None:
    """Give a zero of an input's own type; of other tensors their operator says it."""
    return np.zeros((), reading.types[source]) if source in reading.types else None


def _cast(node: Any, a: Attributes, reading: Reading) -> bool:
    import onnx

    kinds = onnx.TensorProto
    to = a.get("to")
    to = kinds.DataType.Value(to) if isinstance(to, str) else to  # opset 1 to 5
    if to == kinds.BOOL:
        return reading.function(node.input[0])  # whether it is 0: neither rises nor falls
    floats = (kinds.FLOAT, kinds.DOUBLE)
    return reading.function(node.input[0], "same" if to in floats else "truncate")


def _dropout(node: Any, a: Attributes, reading: Reading) -> bool:
    """Read what leaves elements as they are, but in training, where it throws some away by chance."""
    training = reading.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
    if training is None or training.any():
        return reading.function(node.input[0])
    for mask in node.output[1:]:
        shape = reading.whole_shape(node.input[0])
        reading.constants[mask] = None if shape is None else np.broadcast_to(np.True_, shape)
    return reading.function(node.input[0], "same")


def _batch_norm(node: Any, a: Attributes, reading: Reading) -> bool:
    scale, shift, mean, variance = (reading.constant(tensor) for tensor in node.input[1:5])
    shape = reading.whole_shape(node.input[0])
    epsilon = np.float32(a.get("epsilon", 1e-5))
    # before opset 14 it is the outputs that say that it computes the mean and variance of this very batch
    if shape is None or a.get("training_mode") or any(node.output[1:]):
        return reading.function(node.input[0])

    def along(part: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if part is None else part.reshape((1, -1) + (1,) * (len(shape) - 2))

    parts = [along(part) for part in (mean, variance, scale, shift)]
    return reading.function(node.input[0], "batch_norm", [*parts, np.asarray(epsilon)])


def _binary(node: Any, a: Attributes, reading: Reading) -> bool:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    if len(reads) > 1 and node.op_type in ("Add", "Sub", "Sum") and len(reads) == len(node.input) == 2:
        signs = (1, -1) if node.op_type == "Sub" else (1, 1)
        reading.add("add", reads, settings={"signs": signs})
        return True
    if len(reads) > 1:
        kind = "add" if node.op_type in ("Add", "Sum") else "multiply"
        reading.add(kind, reads, settings={"signs": (1,) * len(reads)} if kind == "add" else {})
        return True
    if len(node.input) == 2 and node.op_type in ("Max", "Min"):
        return _bound(node, reading, reads[0])
    if len(node.input) != 2 or node.op_type not in _BINARY:
        name = "same" if len(node.input) == 1 else ""
        return reading.function(reads[0], name)
    first = reading.is_constant(node.input[0])
    constant = reading.constant(node.input[0 if first else 1])
    source, target = reading.whole_shape(reads[0]), reading.whole_shape(node.output[0])
    if source != target:  # the constant makes more elements of it
        return reading.function(reads[0])
    return reading.function(reads[0], _BINARY[node.op_type][int(first)], [constant])


def _bound(node: Any, reading: Reading, source: str) -> bool:
    """Read the greater or the smaller of a tensor and a constant."""
    constant = reading.constant(next(tensor for tensor in node.input if tensor != source))
    if constant is None or reading.whole_shape(source) != reading.whole_shape(node.output[0]):
        return reading.function(source)
    open_ = np.asarray(np.inf, np.float32)
    return reading.function(source, "clip", [constant, open_] if node.op_type == "Max" else [-open_, constant])


def _where(node: Any, a: Attributes, reading: Reading) -> bool:
    reads = list(dict.fromkeys(tensor for tensor in node.input if not reading.is_constant(tensor)))
    if len(reads) > 1:
        reading.add("multiply", reads)
        return True
    if reads[0] != node.input[0] or node.input[1] == reads[0] or node.input[2] == reads[0]:
        return reading.function(reads[0])
    return reading.function(reads[0], "where", [reading.constant(t) for t in node.input[1:3]])


ELEMENTWISE = {
    **dict.fromkeys(_NAMES, _named),
    **dict.fromkeys(_OPAQUE, _opaque),
    **dict.fromkeys((*_BINARY, *_ALSO_BINARY, "Sum"), _binary),
    "Dropout": _dropout,
    "Clip": _clip,
    "Cast": _cast,
    "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise,
    "BatchNormalization": _batch_norm,
    "Where": _where,
}
"""Operators that are functions of a tensor, or join two element by element."""


def _reshape(node: Any, a: Attributes, reading: Reading) -> bool:
    if reading.is_constant(node.input[0]):
        return False
    reading.add("reshape", [node.input[0]])
    return True


def _transpose(node: Any, a: Attributes, reading: Reading) -> bool:
    order = a.get("perm")
    shape = reading.whole_shape(node.input[0])
    if order is None and shape is not None:
        order = range(len(shape))[::-1]
    if order is not None and shape is not None and sorted(order) != list(range(len(shape))):
        raise ValueError("perm")
    reading.add("transpose", [node.input[0]], settings={} if order is None else {"order": tuple(order)})
    return True


def _shuffle(node: Any, a: Attributes, reading: Reading) -> bool:
    reading.add("transpose", [node.input[0]])
    return True


def _concat(node: Any, a: Attributes, reading: Reading) -> bool:
    reads = [tensor for tensor in node.input if not reading.is_constant(tensor)]
    whole = len(reads) == len(node.input)
    reading.add("concat", reads, settings={"axis": a.get("axis", 1), "whole": whole})
    return True


def _split(node: Any, a: Attributes, reading: Reading) -> bool:
    source, sizes = node.input[0], node.input[1] if len(node.input) > 1 else ""
    if sizes and reading.constant(sizes) is None:
        return False  # an input says how long the parts are
    shape, axis = reading.whole_shape(source), a.get("axis", 0)
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise ValueError("axis")
    given = [reading.constant(sizes)] if sizes else []
    lengths = part_lengths(a, None if shape is None else shape[axis], len(node.output), *given)
    start = 0
    for place, tensor in enumerate(node.output):
        settings: dict[str, Any] = {"axis": axis}
        if lengths is not None:
            settings |= {"start": start, "stop": start + lengths[place], "step": 1}
            start += lengths[place]
        if tensor:
            reading.add("slice", [source], settings=settings, gives=tensor)
    return True


def _slice(node: Any, a: Attributes, reading: Reading) -> bool:
    if len(node.input) > 1:
        arrays = [reading.constant(tensor) for tensor in node.input[1:]]
        parts = [None if array is None else array.ravel().tolist() for array in arrays]
    else:
        parts = [a.get("starts"), a.get("ends"), a.get("axes")]
    starts, ends = parts[0], parts[1] if len(parts) > 1 else None
    settings: dict[str, Any] = {}
    if starts and ends and len(starts) == len(ends) == 1:
        axes = parts[2] if len(parts) > 2 and parts[2] else [0]
        steps = parts[3] if len(parts) > 3 and parts[3] else [1]
        settings = {"axis": int(axes[0]), "start": int(starts[0]), "stop": int(ends[0]), "step": int(steps[0])}
    reading.add("slice", [node.input[0]], settings=settings)
    return True


def _pad(node: Any, a: Attributes, reading: Reading) -> bool:
    pads = reading.constant(node.input[1]) if len(node.input) > 1 else None
    numbers = a.get("pads") if pads is None else pads.ravel().tolist()
    value = reading.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    settings: dict[str, Any] = {}
    if numbers is not None and a.get("mode", "constant") == "constant" and len(node.input) < 4:
        amount = a.get("value", 0.0) if value is None else float(np.asarray(value).ravel()[0])
        settings = {"pads": tuple(int(n) for n in numbers), "value": float(amount)}
    reading.add("pad", [node.input[0]], settings=settings)
    return True


def _resize(node: Any, a: Attributes, reading: Reading) -> bool:
    if reading.is_constant(node.input[0]):
        return False
    nearest = a.get("mode", "nearest") == "nearest"
    reading.add("resize", [node.input[0]], settings={"nearest": nearest})
    return True


MOVES = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    "Transpose": _transpose,
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), _shuffle),
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    **dict.fromkeys(("Resize", "Upsample", "Expand", "Tile"), _resize),
}
"""Operators that no neuron computes."""
Translator = Callable[[Any, dict[str, Any], Reading], bool]
"""Of an operator, its attributes and what is known: whether it was taken over."""
TRANSLATORS: Mapping[str, Translator] = {**WEIGHTED, **MOVES, **ELEMENTWISE}
"""By type of operator."""


def take_other(node: Any, reading: Reading, within: Sequence[str] = ()) -> None:
    """Take an operator over as one that reads what it, and the graphs within it, read."""
    reads = dict.fromkeys(tensor for tensor in (*node.input, *within) if not reading.is_constant(tensor))
    gives = next(tensor for tensor in node.output if tensor)
    reading.add("other", list(reads), gives=gives)
