"""What operators of ONNX files are called: by the modules that they were exported from, where the file says so."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["label_of"]

_LONGEST = 1000
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_NUMBERED = re.compile(r"onnx::\w*|val_\d+|_?\d+|v?_?initializer_?\d*")
_MODULES = (
    *("Conv", "ConvTranspose", "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"),
    *("BatchNormalization",),
)
"""Operators that are modules of their own in the frameworks."""
_OF_WEIGHTS = (".weight_quantized", ".weight", ".kernel", "_weight", "_kernel")


def label_of(node: Any, weights: str | None) -> str:
    """Make a label of an operator."""
    # node: the operator; PyTorch's exporter says in its metadata, or in its name, which module it belongs to
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
    if not parts:
        return str(node.op_type.lower())
    if len(parts) == 1:
        return str(parts[0])
    path: list[str] = []
    for part in parts[:-1]:
        if path and part.startswith(f"{path[-1]}."):
            path.pop()
        path.append(part)
    return _within(".".join(path), node.op_type)


def _within(module: str, op: str) -> str:
    """Name an operator after its module, where it mostly is one of its own, else by what it does in it."""
    if not module:
        return op.lower()
    return module if op in _MODULES else f"{module}.{op.lower()}"
