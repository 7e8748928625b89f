"""Reader of files of ``torch.export.save``, in a process of its own: PyTorch computes what a file says.

Everything but plain data is left out before: pickles, compiled code, expressions, all but operators of tensors.
"""

from __future__ import annotations

import importlib
import io
import json
import logging
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.confined import Answer
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show
from neuromap.files.unpacked import most_unpacked
from neuromap.formats.pytorch.module_graph import KIND, read_program

_MOST_BYTES = 2**31
_EXPORT = "torch.export.save(torch.export.export(model.eval(), (example,)), 'net.pt2')"
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.\w+(\.\w+)?|_operator\.(getitem|add|sub|mul|floordiv|mod)"
)
_SYMBOL = re.compile(r"Symbol\('(\w+)'")
_RAW = re.compile(r"(weight|tensor)_\d+")
_TYPES = {"builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}
_COPIED = ("archive_format", "archive_version", "byteorder", ".data/version", ".data/serialization_id")


def file_graph(path: str) -> Answer:
    """Return the graph of a file, and its arrays separately, in the child process."""
    import torch

    torch.set_num_threads(1)  # threads take address space, which is limited
    data = read_bytes(Path(path), KIND, _MOST_BYTES, InputError)
    with foreign_boundary("a PyTorch program", remedy=f"write it again: {_EXPORT}"):
        graph = read_program(_loaded(_plain_copy(data)), Path(path).stem)
    arrays: dict[str, NDArray[Any]] = {}

    def put(array: NDArray[Any]) -> str:
        name = str(len(arrays))
        arrays[name] = array
        return name

    operators = [dict(vars(one)) for one in graph.operators]
    for one in operators:
        one["settings"] = dict(one["settings"])
        one["constants"] = [put(array) for array in one["constants"]]
        one["exact"] = [pair and [put(array) for array in pair] for pair in one["exact"]]
    told = {"name": graph.name, "inputs": dict(graph.inputs), "operators": operators, "outputs": graph.outputs}
    return {**told, "producer": graph.producer, "unread": graph.unread}, arrays


def _loaded(copy: bytes) -> Any:
    import torch

    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it logs to stderr what is reported here in one line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if b"quantized_decomposed" in copy:
                importlib.import_module("torch.ao.quantization.fx._decomposed")  # which makes these operators known
            return torch.export.load(io.BytesIO(copy)).run_decompositions({})
    finally:
        logger.setLevel(level)


def _plain_copy(data: bytes) -> bytes:
    """Copy an archive without anything that could run: pickles, objects, compiled code, expressions."""
    members = _members(data)
    if "models/model.json" not in members:
        held = "the pickle of a module or its weights" if "data.pkl" in members else "no graph of torch.export"
        if any(name.startswith("code/") for name in members):
            held = "a TorchScript program"
        raise NotSupportedError(f"holds {held}, which is not read; save the trained model by {_EXPORT}")
    model = _parsed(members["models/model.json"]())
    _check_operators(model)
    model = _with_sizes(model, _frame_symbols(model)) | {"range_constraints": {}}
    if "guards_code" in model:  # expressions, of which nothing is left to be checked
        model["guards_code"] = []
    copied = {name: members[name]() for name in _COPIED if name in members}
    copied["models/model.json"] = json.dumps(model).encode()
    for kind in ("weights", "constants"):
        config = f"data/{kind}/model_{kind}_config.json"
        if config not in members:
            raise InputError(f"has no {config}; write it again: {_EXPORT}")
        table = _parsed(members[config]())
        for name, about in table["config"].items():
            record = str(about["path_name"])
            if about["use_pickle"] or not _RAW.fullmatch(record):
                raise NotSupportedError(
                    f"{show(name)} is stored as a pickle, which is not read; make it a plain tensor, and save "
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


def _members(data: bytes) -> dict[str, Callable[[], bytes]]:
    """Return functions that read the files of an archive, by their names below its only folder."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))  # closed with its bytes
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError):
        held = "a pickle" if data[:1] == b"\x80" else "no archive of torch.export"
        raise InputError(f"is {held}, which is not read; save the trained model by {_EXPORT}") from None
    total, most = sum(info.file_size for info in infos), most_unpacked(len(data), _MOST_BYTES)
    if total > most:
        raise InputError(f"unpacks to {total} bytes; at most {most} are read")
    return {info.filename.partition("/")[2]: partial(archive.read, info) for info in infos}


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"its description is no JSON object; write it again: {_EXPORT}")
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


def _check_operators(model: dict[str, Any]) -> None:
    """Refuse calls and objects other than operators of tensors."""
    for key, value in _values(model):
        if key == "target" and value is not None and not _OPERATOR.fullmatch(str(value)):
            raise NotSupportedError(
                f"calls {show(value)}; operators of torch.ops.aten are read, write the model with them"
            )
        strange = {*_imported(value)} if key in ("in_spec", "out_spec") and value is not None else set()
        if strange or (key in ("as_operator", "as_custom_obj", "as_graph") and value is not None):
            held = f"the type {show(min(strange))}" if strange else "a subgraph or an object"
            raise NotSupportedError(f"holds {held}; write the model with tensors alone")


def _imported(spec: Any) -> Iterator[str]:
    """Yield what PyTorch would import to read how arguments are nested: types, and members of enumerations."""
    for key, value in _values(json.loads(str(spec))):
        if key == "type" and value is not None and value not in _TYPES:
            yield str(value)
        if key == "context" and any(True for _ in _values([json.loads(value) if isinstance(value, str) else value])):
            yield str(value)


def _frame_symbols(model: dict[str, Any]) -> dict[str, int]:
    """Return the symbols of the batch, the first axis of inputs, with their sizes in the example."""
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
    """Replace symbols by numbers: 1 for the batch, all other sizes as in the example."""
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
