"""A PyTorch module as a graph of operators, through the graph that ``torch.export`` makes of it."""

from __future__ import annotations

import io
import json
import logging
import operator
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show, show_name
from neuromap.files.unpacked import most_unpacked
from neuromap.formats.layers import Exact, OperatorGraph, integers_and_scale
from neuromap.formats.pytorch.aten import OPERATORS, Call

if TYPE_CHECKING:
    import torch

# Operators whose names are long, by what nodes are called.
_SHORT = {"scaled_dot_product_attention": "attention", "max_pool2d_with_indices": "max_pool"}


def read_module(module: torch.nn.Module, example_input: Any) -> OperatorGraph:
    """Read a module as it computes in evaluation; ``torch.export`` runs it on tensors without numbers.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters and buffers are constants; those that its ``forward`` binarises or rounds are so.
    example_input : torch.Tensor or tuple of torch.Tensor
        Inputs as ``forward`` takes them, the batch first.

    Returns
    -------
    OperatorGraph
        For a batch of one frame, with shapes and multiply-accumulates.

    Raises
    ------
    InputError
        If it is no module, or the inputs are none for it.
    NotSupportedError
        If ``torch.export`` cannot make a graph of it, as where numbers decide which way it takes.
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise InputError(f"from_torch: found {show(module)}; give a torch.nn.Module and an example of its input")
    inputs = example_input if isinstance(example_input, tuple) else (example_input,)
    if not all(isinstance(part, torch.Tensor) for part in inputs):
        raise InputError(
            f"from_torch: example_input: found {show(example_input)}; give a tensor, or a tuple of those that forward "
            "takes"
        )
    program = _exported(module, inputs)
    name = type(module).__name__
    with foreign_boundary(f"a graph of module {name}", NotSupportedError, remedy="export it to ONNX and import that"):
        return read_program(program, name)


def _exported(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    import torch

    with _evaluating(module), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch about itself
        try:
            return torch.export.export(module, inputs).run_decompositions({})
        except Exception as error:  # of many classes, several of them private
            first = " ".join(str(error).strip().splitlines()[:1])
            raise NotSupportedError(
                f"module {type(module).__name__}: torch.export cannot make a graph of it ({type(error).__name__}: "
                f"{first[:200]}); try torch.export.export on it, or import it from ONNX"
            ) from error


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Put a module, and what is in it, into evaluation, and back."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def read_program(program: Any, name: str) -> OperatorGraph:
    """Read an exported program whose operators are decomposed."""
    signature = program.graph_signature
    # what the graph takes besides its inputs, by the name of what stands for it, and what it is called in the module
    targets = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    held = {**program.state_dict, **program.constants}
    users = list(signature.user_inputs)
    call = Call({name: held[target].detach() for name, target in targets.items() if target in held})
    call.origins.update(targets)
    inputs: list[str] = []
    outputs: list[str] = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            if node.name in users:
                inputs.append(node.name)
                call.shapes[node.name] = _shape(node)
        elif node.op == "call_function":
            _one(node, call)
        elif node.op == "output":
            given = [part.name for part in node.all_input_nodes if part.name not in call.constants]
            outputs = [part for part in given if part in call.shapes]
    batch = next((shape[0] for shape in map(call.shapes.get, inputs) if shape and len(shape) > 1), 1)
    import torch

    return call.graph(name, inputs, outputs, batch=batch, producer=f"PyTorch {torch.__version__}")


def _one(node: Any, call: Call) -> None:
    """Read one call: of constants alone it is computed, else translated."""
    import torch

    if node.target is operator.getitem:
        _take_part(node, call)
        return
    arguments = node.all_input_nodes
    if all(part.name in call.constants for part in arguments):
        with torch.no_grad():
            values = {part: call.constants[part.name] for part in arguments}
            call.constants[node.name] = _computed(node, values)
        if (exact := _exact(node, call)) is not None:
            call.exact[node.name] = exact
        origin = next((call.origins[part.name] for part in arguments if part.name in call.origins), None)
        if origin is not None:
            call.origins[node.name] = origin
        return
    call.shapes[node.name] = _shape(node)
    word = _word(node)
    translate = OPERATORS.get(word)
    if word in ("_assert_tensor_metadata", "sym_size", "_assert_scalar"):
        return
    weights = [call.origins[part.name] for part in arguments if part.name in call.origins]
    call.begin(_label(node, word, weights), word, node.name)
    if translate is None or translate(node, call) is None:
        if translate is None:
            call.unread.append(f"operator {word}: is not known, and reads what it reads")
        call.add("other", [part.name for part in arguments if part.name not in call.constants])


def _exact(node: Any, call: Call) -> Exact:
    """Give integers and scale of a constant that is made of them."""
    if not node.target.__name__.startswith("dequantize_per_"):
        return None
    integers, scale, zero = (call.array(part) for part in node.args[:3])
    if integers is None or scale is None or zero is None:
        return None
    axis = int(node.args[3]) if "channel" in node.target.__name__ else 0
    return integers_and_scale(integers, scale.astype(np.float32), zero, axis)


def _computed(node: Any, values: Mapping[Any, Any]) -> Any:
    """Compute a constant as PyTorch does; ``None`` where that takes what is no tensor."""
    from torch.fx.node import map_arg

    if any(value is None for value in values.values()):
        return None
    arguments = map_arg(node.args, lambda part: values[part])
    keywords = map_arg(node.kwargs, lambda part: values[part])
    return node.target(*arguments, **keywords)


def _take_part(node: Any, call: Call) -> None:
    """Read one of several results."""
    source, which = node.args
    if source.name in call.constants:
        value = call.constants[source.name]
        call.constants[node.name] = None if value is None else value[which]
        return
    call.shapes[node.name] = _shape(node)
    if source.name in call.parts:
        call.begin(_label(source, "split"), "split", node.name)
        call.add("slice", [call.part_sources[source.name]], settings=call.parts[source.name][which])
        return
    word = _word(source)
    label = _label(source, word)
    if which == 0:  # what a call computes is named after it, and that is the first result
        call.begin(label, "same", node.name)
        call.add("function", [source.name], settings={"function": "same"})
        return
    call.begin(label, f"output {which + 1} of {word}", node.name)
    call.add("part", [source.name])


def _label(node: Any, word: str, weights: Sequence[str] = ()) -> str:
    """Name the module that a call belongs to, or whose weights it takes, or the operator within a module."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = (stack[-1][0], str(stack[-1][1])) if stack else ("", "")
    is_layer = path and kind.startswith("torch.nn.modules.") and not kind.endswith(("Sequential", "MultiheadAttention"))
    if is_layer:
        return path
    if weights and weights[0].endswith(".weight"):
        return weights[0].removesuffix(".weight")
    word = _SHORT.get(word, word)
    return f"{path}.{word}" if path else word


def _word(node: Any) -> str:
    """Name what a call does, without overload."""
    return str(getattr(node.target, "__name__", node.target)).partition(".")[0]


def _shape(node: Any) -> tuple[int, ...] | None:
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(int(n) for n in shape)


_MOST_BYTES = 2**31
_EXPORT = "torch.export.save(torch.export.export(model.eval(), (example,)), 'net.pt2')"
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.\w+(\.\w+)?|_operator\.(getitem|add|sub|mul|floordiv|mod)"
)
_SYMBOL = re.compile(r"Symbol\('(\w+)'")
_RAW = re.compile(r"(weight|tensor)_\d+")
_TYPES = {"builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}
_COPIED = ("archive_format", "archive_version", "byteorder", ".data/version", ".data/serialization_id")


def read_exported(path: Path) -> OperatorGraph:
    """Read the graph of a file that ``torch.export.save`` wrote."""
    where = f"file {show_name(str(path))}"
    try:
        data = read_bytes(path, "PyTorch program (.pt2)", _MOST_BYTES, InputError)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    with foreign_boundary("a PyTorch program", where=where, remedy=f"write it again: {_EXPORT}"):
        program = _loaded(_plain_copy(where, data))
        return read_program(program, path.stem)


def _loaded(copy: bytes) -> Any:
    import torch

    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it tells on stderr what is told here in one line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.load(io.BytesIO(copy)).run_decompositions({})
    finally:
        logger.setLevel(level)


def _plain_copy(where: str, data: bytes) -> bytes:
    """Copy an archive without whatever could run: pickles, objects, compiled code, expressions."""
    members = _members(where, data)
    if "models/model.json" not in members:
        held = "the pickle of a module or its weights" if "data.pkl" in members else "no graph of torch.export"
        if any(name.startswith("code/") for name in members):
            held = "a TorchScript program"
        raise NotSupportedError(f"{where}: holds {held}, which is not read; save the trained model by {_EXPORT}")
    model = _parsed(where, members["models/model.json"]())
    _check_operators(where, model)
    model = _with_sizes(model, _frame_symbols(model)) | {"range_constraints": {}}
    if "guards_code" in model:  # expressions, of which nothing is left to be checked
        model["guards_code"] = []
    copied = {name: members[name]() for name in _COPIED if name in members}
    copied["models/model.json"] = json.dumps(model).encode()
    for kind in ("weights", "constants"):
        config = f"data/{kind}/model_{kind}_config.json"
        if config not in members:
            raise InputError(f"{where}: has no {config}; write it again: {_EXPORT}")
        table = _parsed(where, members[config]())
        for name, about in table["config"].items():
            record = str(about["path_name"])
            if about["use_pickle"] or not _RAW.fullmatch(record):
                raise NotSupportedError(
                    f"{where}: {show(name)} is stored as a pickle, which is not read; make it a plain tensor, and save "
                    "the model again"
                )
            if about["tensor_meta"]["device"]["type"] != "cpu":
                about["tensor_meta"]["device"] = {"type": "cpu", "index": None}
            copied[f"data/{kind}/{record}"] = members[f"data/{kind}/{record}"]()
        copied[config] = json.dumps(table).encode()
    copied["data/sample_inputs/model.pt"] = b""  # a pickle; no graph needs it
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in copied.items():
            archive.writestr(f"model/{name}", content)
    return made.getvalue()


def _members(where: str, data: bytes) -> dict[str, Callable[[], bytes]]:
    """Give what reads the files of an archive, by their names below its only folder."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))  # closed with its bytes
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError):
        held = "a pickle" if data[:1] == b"\x80" else "no archive of torch.export"
        raise InputError(f"{where}: is {held}, which is not read; save the trained model by {_EXPORT}") from None
    total, most = sum(info.file_size for info in infos), most_unpacked(len(data), _MOST_BYTES)
    if total > most:
        raise InputError(f"{where}: unpacks to {total} bytes; at most {most} are read")
    found: dict[str, Callable[[], bytes]] = {}
    for info in infos:
        found[info.filename.partition("/")[2]] = lambda info=info: archive.read(info)  # type: ignore[misc]
    return found


def _parsed(where: str, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{where}: its description is no JSON object; write it again: {_EXPORT}")
    return found


def _values(value: Any) -> Iterator[tuple[str, Any]]:
    """Walk over all keys and values of a description."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one.items()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _check_operators(where: str, model: dict[str, Any]) -> None:
    """Refuse whatever is called or made that is no operator of tensors."""
    for key, value in _values(model):
        if key == "target" and value is not None and not _OPERATOR.fullmatch(str(value)):
            raise NotSupportedError(
                f"{where}: calls {show(value)}; operators of torch.ops.aten are read, write the model with them"
            )
        strange = {*_imported(value)} if key in ("in_spec", "out_spec") and value is not None else set()
        if strange or (key in ("as_operator", "as_custom_obj", "as_graph") and value is not None):
            held = f"the type {show(min(strange))}" if strange else "a subgraph or an object"
            raise NotSupportedError(f"{where}: holds {held}; write the model with tensors alone")


def _imported(spec: Any) -> Iterator[str]:
    """List what PyTorch would import to read how arguments are nested: types, and members of enumerations."""
    for key, value in _values(json.loads(str(spec))):
        if key == "type" and value is not None and value not in _TYPES:
            yield str(value)
        if key == "context" and any(True for _ in _values([json.loads(value) if isinstance(value, str) else value])):
            yield str(value)


def _frame_symbols(model: dict[str, Any]) -> dict[str, int]:
    """Give the symbols that stand for the batch, the first axis of inputs, with their size in the example."""
    graph, found = model["graph_module"]["graph"], {}
    for spec in model["graph_module"]["signature"]["input_specs"]:
        given = spec["user_input"]["arg"] if "user_input" in spec else {}
        if "as_tensor" not in given:
            continue
        sizes = graph["tensor_values"][given["as_tensor"]["name"]]["sizes"]
        if len(sizes) > 1 and "as_expr" in sizes[0]:
            for symbol in _SYMBOL.findall(sizes[0]["as_expr"]["expr_str"]):
                found[symbol] = int(sizes[0]["as_expr"]["hint"]["as_int"])
    return found


def _with_sizes(value: Any, batch: dict[str, int]) -> Any:
    """Put numbers in the place of symbols: 1 for the batch, all other sizes as the example had them."""
    if isinstance(value, list):
        return [_with_sizes(one, batch) for one in value]
    if not isinstance(value, dict):
        return value
    if "as_expr" in value:
        size = int(value["as_expr"]["hint"]["as_int"])
        for symbol in {*_SYMBOL.findall(value["as_expr"]["expr_str"])} & batch.keys():
            size = max(1, size // batch[symbol])
        return {"as_int": size}
    kept = {key: _with_sizes(one, batch) for key, one in value.items() if key != "metadata"}
    if "metadata" in value:  # of a node: where in the module it stands; a trace of its making is of no use
        kept["metadata"] = {k: v for k, v in value["metadata"].items() if k == "nn_module_stack"}
    return kept
