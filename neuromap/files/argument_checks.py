"""Type checks of public arguments: a wrong type is refused with a one-line message and a remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import show

# (wanted class, given class): how to make the wanted one from the given one.
_REMEDIES = {
    ("Rollout", "Network"): "Rollout(network, 'streaming')",
    ("Rollout", "RolloutPattern"): "Rollout(pattern.network, pattern)",
    ("Rollout", "Program"): "the rollout that it was mapped from",
    ("Rollout", "str"): "Rollout(load_network(path), 'streaming')",
    ("Rollout", "PurePath"): "Rollout(load_network(path), 'streaming')",
    ("RolloutPattern", "Network"): "RolloutPattern.streaming(network)",
    ("RolloutPattern", "Rollout"): "rollout.pattern",
    ("RolloutPattern", "str"): "RolloutPattern.named(network, name)",
    ("Network", "Rollout"): "rollout.network",
    ("Network", "RolloutPattern"): "pattern.network",
    ("Network", "str"): "load_network(path)",
    ("Network", "PurePath"): "load_network(path)",
    ("ChipProgram", "Rollout"): "map_rollout(rollout)",
    ("ChipProgram", "Network"): "map_rollout(Rollout(network, 'streaming'))",
    ("ChipProgram", "MappedRollout"): "mapped.program",
    ("ChipProgram", "str"): "load_program(path)",
    ("ChipProgram", "PurePath"): "load_program(path)",
    ("Trace", "str"): "load_trace(path)",
    ("Trace", "PurePath"): "load_trace(path)",
    ("Trace", "ChipProgram"): "simulate(program, frames)",
    ("Trace", "Batch"): "simulate(program, frames)",
    ("MappingOptions", "dict"): "MappingOptions(**options)",
    ("MappingOptions", "Pins"): "MappingOptions(pins=pins)",
    ("Pins", "dict"): "Pins(cores={'H1': 4})",
    ("Recording", "str"): "Recording(words)",
    ("Recording", "list"): "Recording(words)",
    ("Recording", "tuple"): "Recording(words)",
    ("Limits", "str"): "Limits.parse(text)",
    ("Limits", "dict"): "Limits(**bounds)",
}

# Names of classes in messages: a program is called that, whatever its cores.
_SPOKEN = {"ChipProgram": "Program"}


def needs(where: str, value: object, wanted: type[Any], error: type[InputError] = InputError) -> None:
    """Refuse a value that is not of class ``wanted``."""
    if isinstance(value, wanted):
        return
    names = [base.__name__ for base in type(value).__mro__]
    remedy = next((_REMEDIES[wanted.__name__, name] for name in names if (wanted.__name__, name) in _REMEDIES), "")
    raise error(f"{where}: needs {_article(wanted)}, got {_kind(value)}" + (f"; {remedy}" if remedy else ""))


def refuse_swapped(call: str, first: object, wanted: type[Any], second: object) -> None:
    """Refuse two arguments given in swapped order."""
    # wanted: class of the first
    if isinstance(second, wanted) and not isinstance(first, wanted):
        where = call.partition("(")[0]
        raise InputError(f"{where}: needs {_article(wanted)} first, got {_kind(first)}; swap them: {call}")


def path_given(where: str, path: object, error: type[InputError] = InputError) -> Path:
    """Check a path, given as str or path-like."""
    if not isinstance(path, (str, os.PathLike)):
        raise error(f"{where}: needs a path, got {_kind(path)}; give a str or a pathlib.Path")
    return Path(path)


def whole_number(name: str, value: object, error: type[InputError] = InputError) -> int:
    """Check an integer of Python or NumPy; Booleans and floats are refused, even whole ones."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise error(f"{name} = {show(value)}: must be a whole number, not {_kind(value)}")
    return int(value)


def real_number(name: str, value: object, error: type[InputError] = InputError) -> float:
    """Check an integer or float of Python or NumPy; Booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{name} = {show(value)}: must be a number, not {_kind(value)}")
    return value  # type: ignore[return-value] # a Real, as floats are


def yes_or_no(name: str, value: object, error: type[InputError] = InputError) -> bool:
    """Check a Boolean of Python or NumPy."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # NumPy's, which need not be imported
        return bool(value)
    raise error(f"{name} = {show(value)}: must be True or False, not {_kind(value)}")


def mapping_given(name: str, value: object, holds: str, error: type[InputError] = InputError) -> None:
    """Refuse a value that is not a mapping."""
    if not isinstance(value, Mapping):
        raise error(f"{name}: needs a mapping, got {_kind(value)}; give {holds}")


def _kind(value: object) -> str:
    return "None" if value is None else _article(type(value))


def _article(cls: type[Any]) -> str:
    name = _SPOKEN.get(cls.__name__, cls.__name__)
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
