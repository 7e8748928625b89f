"""PyTorch modules as graphs of operators, through ``torch.export``."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.confined import confined
from neuromap.files.foreign import check_regular, foreign_boundary
from neuromap.files.messages import show, show_name
from neuromap.formats.layers import Exact, Operator, OperatorGraph, integers_and_scale
from neuromap.formats.pytorch.aten import OPERATORS, Call

if TYPE_CHECKING:
    import torch

# Short names of operators, for nodes.
_SHORT = {"scaled_dot_product_attention": "attention", "max_pool2d_with_indices": "max_pool"}


def read_module(module: torch.nn.Module, example_input: Any) -> OperatorGraph:
    """Read a module in evaluation mode; ``torch.export`` runs it on tensors without numbers.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters and buffers are constants, binarised or rounded where its ``forward`` does so.
    example_input : torch.Tensor or tuple of torch.Tensor
        Inputs as ``forward`` takes them, batch axis first.

    Returns
    -------
    OperatorGraph
        For a batch of one frame, with shapes and multiply-accumulates.

    Raises
    ------
    InputError
        If it is not a module, or the inputs are not tensors.
    NotSupportedError
        If ``torch.export`` cannot make a graph of it, for example where its control flow depends on numbers.
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
    name = type(module).__name__
    with _evaluating(module), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch about itself
        try:
            program = torch.export.export(module, inputs).run_decompositions({})
        except Exception as error:  # of many classes, several of them private
            first = " ".join(str(error).strip().splitlines()[:1])
            raise NotSupportedError(
                f"module {name}: torch.export cannot make a graph of it ({type(error).__name__}: {first[:200]}); try "
                "torch.export.export on it, or import it from ONNX"
            ) from error
    with foreign_boundary(f"a graph of module {name}", NotSupportedError, remedy="export it to ONNX and import that"):
        return read_program(program, name)


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Set a module and its submodules to evaluation mode, and back."""
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
    # names in the module of what the graph takes besides its inputs, by placeholder
    targets = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    held = {**program.state_dict, **program.constants}
    users = list(signature.user_inputs)
    call = Call({name: held[target].detach() for name, target in targets.items() if target in held})
    call.origins.update(targets)
    inputs = [node.name for node in program.graph.nodes if node.op == "placeholder" and node.name in users]
    outputs: list[str] = []
    for node in program.graph.nodes:
        if node.name in inputs:
            call.shapes[node.name] = _shape(node)
        elif node.op == "call_function":
            _one(node, call)
        elif node.op == "output":
            outputs = [part.name for part in node.all_input_nodes if part.name in call.shapes]
    batch = next((shape[0] for shape in map(call.shapes.get, inputs) if shape and len(shape) > 1), 1)
    import torch

    return call.graph(name, inputs, outputs, batch=batch, producer=f"PyTorch {torch.__version__}")


def _one(node: Any, call: Call) -> None:
    """Read one call: it is computed if its arguments are constants, else translated."""
    import torch
    from torch.fx.node import map_arg

    if node.target is operator.getitem:
        _take_part(node, call)
        return
    arguments = [part.name for part in node.all_input_nodes]
    call.node, call.args = node, map_arg(node.args, lambda part: part.name)
    if all(name in call.constants for name in arguments):
        with torch.no_grad():
            call.constants[node.name] = _computed(node, call.constants)
        if (exact := _exact(node, call)) is not None:
            call.exact[node.name] = exact
        origin = next((call.origins[name] for name in arguments if name in call.origins), None)
        if origin is not None:
            call.origins[node.name] = origin
        return
    call.shapes[node.name] = _shape(node)
    word = _word(node)
    translate = OPERATORS.get(word)
    if word in ("_assert_tensor_metadata", "sym_size", "_assert_scalar"):
        return
    weights = [call.origins[name] for name in arguments if name in call.origins]
    call.begin(_label(node, word, weights), word, node.name)
    if translate is None or translate(call) is None:
        if translate is None:
            call.unread.append(f"operator {word}: is not known, and reads what it reads")
        call.add("other", [name for name in arguments if name not in call.constants])


def _exact(node: Any, call: Call) -> Exact:
    """Return integers and scale of a constant that is dequantised from them."""
    if not node.target.__name__.startswith("dequantize_per_"):
        return None
    integers, scale, zero = map(call.array, call.args[:3])
    if integers is None or scale is None or zero is None:
        return None
    axis = int(call.args[3]) if "channel" in node.target.__name__ else 0
    return integers_and_scale(integers, scale.astype(np.float32), zero, axis)


def _computed(node: Any, constants: Mapping[str, Any]) -> Any:
    """Compute a constant as PyTorch does; ``None`` if an argument is not known."""
    from torch.fx.node import map_arg

    if any(constants[part.name] is None for part in node.all_input_nodes):
        return None
    arguments, keywords = (map_arg(given, lambda part: constants[part.name]) for given in (node.args, node.kwargs))
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
        split, parts = call.parts[source.name]
        call.add("slice", [split], settings=parts[which])
        return
    word = _word(source)
    # what a call computes is named after it, and that is the first result
    call.begin(_label(source, word), "same" if which == 0 else f"output {which + 1} of {word}", node.name)
    if which == 0:
        call.add("function", [source.name], settings={"function": "same"})
    else:
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
    """Name the operator of a call, without overload."""
    return str(getattr(node.target, "__name__", node.target)).partition(".")[0]


def _shape(node: Any) -> tuple[int, ...] | None:
    value = node.meta.get("val")
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(int(n) for n in shape)


KIND = "PyTorch program (.pt2)"
# Memory allowed to the reader of a file, and more for each of its bytes; its time, likewise.
_BESIDE, _EACH_BYTE = 2**31, 64
_SECONDS, _BYTES_A_SECOND = 60.0, 2**22


def read_exported(path: Path) -> OperatorGraph:
    """Read the graph of a file that ``torch.export.save`` wrote, with PyTorch in a process of its own."""
    where = f"file {show_name(str(path))}"
    try:
        size = check_regular(path, KIND, InputError).st_size
        work = _SECONDS + size / _BYTES_A_SECOND
        told, arrays = confined(
            "neuromap.formats.pytorch.exported_file:file_graph",
            {"path": str(path)},
            KIND,
            memory=_BESIDE + _EACH_BYTE * size,
            work=work,
            seconds=4 * work,
            library="torch.export",
        )
        with foreign_boundary(f"a {KIND}"):
            return _graph_of(told, arrays)
    except (InputError, NotSupportedError) as error:
        raise type(error)(f"{where}: {error}") from None


def _graph_of(told: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> OperatorGraph:
    """Make the graph from the child's answer, with arrays at the places that it named."""
    operators = []
    for one in told.pop("operators"):
        constants = tuple(arrays[name] for name in one.pop("constants"))
        exact = tuple(pair and (arrays[pair[0]], arrays[pair[1]]) for pair in one.pop("exact"))
        operators.append(Operator(**_with_tuples(one), constants=constants, exact=exact))
    return OperatorGraph(**_with_tuples(told), operators=tuple(operators))


def _with_tuples(value: Any) -> Any:
    """Convert the lists of JSON to tuples."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    return {key: _with_tuples(one) for key, one in value.items()} if isinstance(value, dict) else value
