"""What ONNX itself says of its operators: how many tensors they take and give, and of what type attributes are.

Held against it before an operator is read, so that who reads one finds what it looks for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import counted, show_name

__all__ = ["OWN_DOMAINS", "check_form", "opset_of"]

OWN_DOMAINS = ("", "ai.onnx")
"""Names of the domain of ONNX's own operators."""


def opset_of(model: Any) -> int:
    """Give the version of ONNX's operators that a model is written in; the newest, where it says none."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    said = [one.version for one in model.opset_import if one.domain in OWN_DOMAINS]
    return max(1, min(int(max(said)), newest)) if said else int(newest)


def check_form(node: Any, label: str, opset: int) -> None:
    """Hold an operator against its schema; one that ONNX does not have is left as it is."""
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
    """Give the schema of an opset; that of the newest, where the operator came later than the file says."""
    import onnx

    for version in (opset, onnx.defs.onnx_opset_version()):
        try:
            return onnx.defs.get_schema(op, version, "")
        except onnx.defs.SchemaError:
            continue
    return None


@lru_cache(maxsize=1)
def _types() -> dict[tuple[str, str], set[int]]:
    """Give the types that attributes have in any opset: some are read where a later opset takes tensors instead."""
    import onnx

    found: dict[tuple[str, str], set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            for name, attribute in schema.attributes.items():
                found.setdefault((schema.name, name), set()).add(int(attribute.type.value))
    return found
