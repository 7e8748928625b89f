"""Blocks of options that several commands share: a dataclass of options is one parameter of a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

__all__ = ["with_option_blocks"]


def with_option_blocks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its blocks."""
    shown = inspect.signature(command, eval_str=True)
    blocks: dict[str, Any] = {p.name: p.annotation for p in shown.parameters.values() if is_dataclass(p.annotation)}
    expanded: list[inspect.Parameter] = []
    for parameter in shown.parameters.values():
        block = blocks.get(parameter.name)
        expanded += [parameter] if block is None else _options_of(block, parameter.kind)

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        for name, block in blocks.items():
            arguments[name] = block(**{f.name: arguments.pop(f.name) for f in fields(block)})
        command(**arguments)

    run.__signature__ = shown.replace(parameters=expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return run


def _options_of(block: Any, kind: Any) -> list[inspect.Parameter]:
    types = get_type_hints(block, include_extras=True)
    return [inspect.Parameter(f.name, kind, default=f.default, annotation=types[f.name]) for f in fields(block)]
