"""ONNX files as graphs of operators. Only constants are computed; subgraphs and functions are not entered."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import InputError, prefixed
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import counted, show, show_name
from neuromap.formats.layers import MAX_OPERATORS, GraphReading, OperatorGraph, TensorShape
from neuromap.formats.onnx.folding import Stored, exact_of, folded, stored_array, stored_shape
from neuromap.formats.onnx.inferred_shapes import tensor_shapes
from neuromap.formats.onnx.operators import TRANSLATORS, take_other

# Most bytes of weights held at a time.
_MOST_CONSTANTS = 2**33


def read_onnx(path: str | Path) -> OperatorGraph:
    """Read an ONNX file.

    Parameters
    ----------
    path : str or Path
        At most 2 GiB, 100,000 operators. Weights in files beside it are read from its own folder only.

    Returns
    -------
    OperatorGraph
        For a batch of one frame, with shapes and multiply-accumulates where the file's own shapes give them. Operators
        of other domains, and unknown ones, are of kind ``other``.

    Raises
    ------
    InputError
        If the file is malformed, truncated or too large, in one line.
    """
    path = Path(path)
    with prefixed(f"{show_name(str(path))}: ", InputError), foreign_boundary("an ONNX model"):
        return _read(path)


def _read(path: Path) -> OperatorGraph:
    import onnx

    model = load_model(path)
    graph, inputs, opset = model.graph, list(input_names(model)), opset_of(model)
    constants, sizes, unread = _stored(graph, path.parent)
    shapes, whole, not_found = tensor_shapes(model)
    # The batch size that a file is written for is the length of the first axis, if all inputs share it. Axes that the
    # file leaves open have length 0 there, except the batch, which is one frame by now.
    axes_of_inputs = [info.type.tensor_type.shape.dim for info in graph.input if info.name in inputs]
    firsts = {int(axes[0].dim_value) for axes in axes_of_inputs if len(axes) >= 2}
    known_types = onnx.helper.get_all_tensor_dtypes()
    kinds = {info.name: info.type.tensor_type.elem_type for info in graph.input}
    types = {name: onnx.helper.tensor_dtype_to_np_dtype(kind) for name, kind in kinds.items() if kind in known_types}
    reading = GraphReading(constants, shapes, sizes, types=types, whole=set(whole))
    reading.unread += [*unread, *not_found]
    reading.origins.update((name, name) for name in sizes)
    known = {*inputs, *constants}
    for number, node in enumerate(graph.node):
        weights = next((reading.origins[name] for name in node.input[1:] if name in reading.origins), None)
        label = label_of(node, weights) or f"operator{number}"
        gives = [tensor for tensor in node.output if tensor]
        for place, tensor in enumerate(gives):
            if tensor in known or tensor in gives[:place]:
                raise InputError(f"operator {show_name(label)}: gives {show_name(tensor)}, which is there already")
        _one(node, label, reading, known, opset)
        known.update(gives)
    outputs = [info.name for info in graph.output if not reading.is_constant(info.name)]
    producer = " ".join(part for part in (model.producer_name, model.producer_version) if part)
    found = reading.graph(
        graph.name if graph.name and graph.name.isprintable() and len(graph.name) <= 100 else path.stem,
        inputs,
        outputs,
        batch=max(1, *firsts) if len(firsts) == 1 else 1,
        producer=producer if producer.isprintable() else "",
    )
    return replace(found, scales=_scales_of(model))


def _scales_of(model: Any) -> dict[str, float]:
    """Read the scales of nodes that an export of this package stored."""
    said = next((one.value for one in model.metadata_props if one.key == "neuromap.scales"), "{}")
    try:
        scales = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    known = scales.items() if isinstance(scales, dict) else ()
    return {name: scale for name, scale in known if isinstance(scale, float) and 0 < scale < math.inf}


def _one(node: Any, label: str, reading: GraphReading, known: set[str], opset: int) -> None:
    """Read one operator: constants are computed, others translated; all its outputs are known afterwards."""
    within = list(dict.fromkeys(_read_within(node)))
    for tensor in (*node.input, *within):
        if tensor and tensor not in known:
            raise InputError(
                f"operator {show_name(label)}: reads {show_name(tensor)}, which no input or earlier operator gives; "
                "operators come after those that they read, and form no cycle"
            )
    own = node.domain in OWN_DOMAINS
    if own:
        check_form(node, label, opset)
    gives = [tensor for tensor in node.output if tensor]
    if not gives:
        return
    before = len(reading.operators)
    reading.begin(label, node.op_type, node.output[0])
    try:
        _take(node, reading, within, opset if own else None)
    except InputError as error:
        raise InputError(f"operator {show_name(label)}: {error}") from None
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise InputError(
            f"operator {show_name(label)}: is not a {show_name(node.op_type)} of ONNX (inputs, attributes); write "
            "the file again"
        ) from None
    # an output that no translator knows is a further result of an operator computed once, for the first output
    taken = {one.gives for one in reading.operators[before:]}
    first = next((tensor for tensor in gives if tensor in taken), "")
    for place, tensor in enumerate(node.output, start=1):
        if tensor and tensor not in taken and tensor not in reading.constants:
            reading.add("part", [first], gives=tensor, called=f"output {place} of {node.op_type}")


def _take(node: Any, reading: GraphReading, within: list[str], opset: int | None) -> None:
    # opset: None for an operator of another domain than ONNX's own
    attributes, own = attributes_of(node), opset is not None
    if own and node.op_type in ("Shape", "Size"):
        shape = reading.shape(node.input[0])
        value = None if shape is None else np.asarray(shape if node.op_type == "Shape" else np.prod(shape), np.int64)
        first, last = attributes.get("start", 0), attributes.get("end")
        reading.constants[node.output[0]] = value if value is None or not value.ndim else value[first:last]
        return
    if all(reading.is_constant(tensor) for tensor in (*node.input, *within)):
        _fold(node, attributes, reading, None if within else opset)
        return
    translate = TRANSLATORS.get(node.op_type) if own and not _has_graphs(node) else None
    if translate is None:
        where = "" if own else f" of domain {show_name(node.domain)}"
        reading.unread.append(f"operator {show_name(node.op_type)}{where}: is not known, and reads what it reads")
    # translators take the first output as the result; without it only the nodes that are read are known
    is_whole = bool(node.output[0]) or node.op_type == "Split"
    if translate is None or not is_whole or translate(node, attributes, reading) is None:
        take_other(node, reading, within)


def _read_within(node: Any) -> Iterator[str]:
    """Yield the tensors of the surrounding graph that subgraphs of an operator read."""
    for one in node.attribute:
        for graph in (*([one.g] if one.HasField("g") else ()), *one.graphs):
            inner = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
            inner |= {sparse.values.name for sparse in graph.sparse_initializer}
            for inside in graph.node:
                yield from (name for name in (*inside.input, *_read_within(inside)) if name and name not in inner)
                inner.update(inside.output)
            yield from (info.name for info in graph.output if info.name not in inner)


def _fold(node: Any, attributes: dict[str, Any], reading: GraphReading, opset: int | None) -> None:
    """Compute the results of constants; those not computed are constant all the same."""
    origin = next((reading.origins[name] for name in node.input if name in reading.origins), None)
    for tensor in node.output:
        reading.constants[tensor] = None
        if origin is not None:
            reading.origins[tensor] = origin
        if (found := reading.shape(tensor)) is not None:
            reading.constant_shapes[tensor] = found
    if opset is None or _has_graphs(node):
        return
    if node.op_type == "Constant":
        value = next((attributes[key] for key in ("value", "value_float", "value_int", "value_floats", "value_ints")
                      if key in attributes), None)  # fmt: skip
        if value is not None:
            kind = np.float32 if node.attribute[0].name.startswith("value_float") else None
            reading.constants[node.output[0]] = np.asarray(value, kind)
        return
    arrays = [reading.array(tensor) for tensor in node.input]
    if any(tensor and array is None for tensor, array in zip(node.input, arrays, strict=True)):
        return
    values = folded(node, attributes, arrays, reading.shape(node.output[0]), opset)
    for tensor, value in zip(node.output, values, strict=False):
        if tensor:
            reading.constants[tensor] = value
            reading.constant_shapes[tensor] = value.shape
    if values and (exact := exact_of(node, attributes, arrays, reading.exact, opset)) is not None:
        reading.exact[node.output[0]] = exact


def _stored(graph: Any, folder: Path) -> tuple[dict[str, Stored], dict[str, TensorShape], list[str]]:
    """Read the stored tensors, as many as fit into memory."""
    constants: dict[str, Stored] = {"": None}
    shapes: dict[str, TensorShape] = {}
    unread, held = [], 0
    for tensor in graph.initializer:
        if tensor.name in constants:
            raise InputError(f"tensor {show_name(tensor.name)}: is stored twice; names of tensors are given once")
        shapes[tensor.name] = stored_shape(tensor)
        constants[tensor.name] = None
        try:
            array = stored_array(tensor, folder)
        except InputError as error:
            if tensor.data_location == 0:
                raise
            unread.append(str(error))
            continue
        held += 0 if array is None else array.nbytes
        if held <= _MOST_CONSTANTS:
            constants[tensor.name] = array
    for sparse in graph.sparse_initializer:
        constants[sparse.values.name] = None
        unread.append(f"tensor {show_name(sparse.values.name)}: is sparse, its numbers are not read")
    if len(unread) > 1:
        unread = [unread[0], f"{counted(len(unread) - 1, 'more tensor')} likewise"]
    return constants, shapes, unread


def _has_graphs(node: Any) -> bool:
    return any(one.HasField("g") or one.graphs for one in node.attribute)


# Attributes of ONNX operators: numbers, texts, lists of numbers, and arrays.
def attributes_of(node: Any) -> dict[str, Any]:
    """Read the attributes of an operator; subgraphs and tensors of texts are left out."""
    import onnx

    kind = onnx.AttributeProto
    plain = (kind.INT, kind.FLOAT, kind.STRING, kind.INTS, kind.FLOATS)
    found: dict[str, Any] = {}
    for one in node.attribute:
        if one.type in plain:
            value = onnx.helper.get_attribute_value(one)
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            found[one.name] = value if isinstance(value, int | float | str) else list(value)
        elif one.type == kind.TENSOR and one.t.data_location == 0:
            found[one.name] = stored_array(one.t, Path())
    return {name: value for name, value in found.items() if value is not None}


# Labels of ONNX operators: the modules that they were exported from, if the file states them.
_LONGEST = 1000
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_NUMBERED = re.compile(r"onnx::\w*|val_\d+|_?\d+|v?_?initializer_?\d*")
# Operators that are modules of their own in the frameworks.
_MODULES = (
    *("Conv", "ConvTranspose", "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"),
    *("BatchNormalization",),
)
_OF_WEIGHTS = (".weight_quantized", ".weight", ".kernel", "_weight", "_kernel")


def label_of(node: Any, weights: str | None) -> str:
    """Make the label of an operator."""
    # node: the operator; PyTorch's exporter states its module in its metadata, or in its name
    if weights and not _NUMBERED.fullmatch(weights):
        for end in _OF_WEIGHTS:
            if weights.endswith(end) and len(weights) > len(end):
                return weights[: -len(end)][:_LONGEST]
    scopes = next((e.value for e in node.metadata_props if e.key == "pkg.torch.onnx.name_scopes"), "")[:_LONGEST]
    if scopes:
        modules = [first or second for first, second in _QUOTED.findall(scopes)][:-1]
        module = next((name for name in reversed(modules) if name), "")
        return _within(module, node.op_type)
    parts = [part for part in node.name[:_LONGEST].split("/") if part]
    if len(parts) == 1:
        return str(parts[0])
    path: list[str] = []
    for part in parts[:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path.pop()
        path.append(part)
    return _within(".".join(path), node.op_type)


def _within(module: str, op: str) -> str:
    """Name an operator after its module if it usually is one by itself, else by its type within the module."""
    if not module:
        return op.lower()
    return module if op in _MODULES else f"{module}.{op.lower()}"


# An ONNX file as a message of protobuf: bounded, with its inputs.
# Largest file: protobuf writes no larger message.
MAX_FILE_BYTES = 2**31 - 1


def load_model(path: Path) -> Any:
    """Read a model; weights in other files are left there."""
    import onnx
    from google.protobuf.message import DecodeError

    content = read_bytes(path, "model file of ONNX", MAX_FILE_BYTES, InputError)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, ValueError, RecursionError):
        raise InputError("is not an ONNX model, or a truncated one; write it again, with onnx.save") from None
    if not _is_text(model):
        raise InputError("holds names that are not UTF-8; the file is damaged, write it again with onnx.save")
    nodes = len(model.graph.node)
    if not nodes:
        raise InputError("holds no operators; expected an ONNX model, as onnx.save writes it")
    if nodes > MAX_OPERATORS:
        raise InputError(f"holds {nodes} operators; at most {MAX_OPERATORS} are taken, split the model into parts")
    return model


def _is_text(message: Any) -> bool:
    """Whether all texts of a message, and of nested ones, are texts: damaged ones come as bytes."""
    for field, value in message.ListFields():
        parts = [value] if isinstance(value, str | bytes) or not hasattr(value, "__len__") else value
        if field.type == field.TYPE_MESSAGE and not all(_is_text(part) for part in parts):
            return False
        if field.type == field.TYPE_STRING and any(isinstance(part, bytes) for part in parts):
            return False
    return True


def input_names(model: Any) -> Iterator[str]:
    """Yield the names of inputs to which no stored tensor gives a value."""
    stored = {tensor.name for tensor in model.graph.initializer}
    stored |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    seen: set[str] = set()
    for info in model.graph.input:
        if info.name in seen:
            raise InputError(f"input {show_name(info.name)}: is given twice; names of tensors are given once")
        seen.add(info.name)
        if info.name not in stored:
            if not info.type.HasField("tensor_type"):
                raise InputError(
                    f"input {show_name(info.name)}: is {show(info.type.WhichOneof('value'))}; only tensors are taken"
                )
            yield info.name


# ONNX's own schemas of operators: how many tensors they take and give, and the types of attributes.
#
# Operators are checked against them before they are read, so that translators find what they look for.


# Names of the domain of ONNX's own operators.
OWN_DOMAINS = ("", "ai.onnx")


def opset_of(model: Any) -> int:
    """Return the opset version of a model; the newest, if it states none."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    said = [one.version for one in model.opset_import if one.domain in OWN_DOMAINS]
    return max(1, min(int(max(said)), newest)) if said else int(newest)


def check_form(node: Any, label: str, opset: int) -> None:
    """Check an operator against its schema; one that ONNX does not have is left as it is."""
    schema = _schema(node.op_type, opset)
    if schema is None:
        return
    who = f"operator {show_name(label)}: {node.op_type}"
    for what, given, least, most in (
        ("takes", len(node.input), schema.min_input, schema.max_input),
        ("gives", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= given <= most:
            bound = f"{least}" if least == most else f"{least} or more" if most >= 2**31 - 1 else f"{least} to {most}"
            raise InputError(
                f"{who} {what} {counted(given, 'tensor')}; ONNX says {bound} (opset {opset}), write the file again"
            )
    optional = type(schema).FormalParameterOption.Optional
    for place, tensor in enumerate(node.input):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if not tensor and formal.option != optional:
            raise InputError(
                f"{who} is given no tensor {place + 1} ({formal.name}), which it needs; write the file again"
            )
    _check_attributes(node, schema, who)


def _check_attributes(node: Any, schema: Any, who: str) -> None:
    import onnx

    kinds = onnx.AttributeProto.AttributeType
    given: dict[str, int] = {}
    for one in node.attribute:
        if one.name in given:
            raise InputError(f"{who} has attribute {show_name(one.name)} twice; write the file again")
        given[one.name] = one.type
    for name, kind in given.items():
        wanted = _types().get((node.op_type, name), set())
        if name in schema.attributes:
            wanted = {int(schema.attributes[name].type.value)}
        if wanted and kind not in wanted:
            found = kinds.Name(kind) if kind in kinds.values() else kind
            words = " or ".join(sorted(kinds.Name(number) for number in wanted))
            raise InputError(f"{who} has attribute {name} of type {found}, ONNX says {words}; write the file again")
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in given:
            raise InputError(f"{who} has no attribute {name}, which it needs; write the file again")


@lru_cache(maxsize=1024)
def _schema(op: str, opset: int) -> Any:
    """Return the schema of an opset; that of the newest, if the operator came later than the file's."""
    import onnx

    for version in (opset, onnx.defs.onnx_opset_version()):
        try:
            return onnx.defs.get_schema(op, version, "")
        except onnx.defs.SchemaError:
            continue
    return None


@lru_cache(maxsize=1)
def _types() -> dict[tuple[str, str], set[int]]:
    """Return the types that attributes have in any opset: some are read where a later opset takes tensors instead."""
    import onnx

    found: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            for name, attribute in schema.attributes.items():
                found.setdefault((schema.name, name), set()).add(int(attribute.type.value))
    return found
