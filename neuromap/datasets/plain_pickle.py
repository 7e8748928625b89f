"""Numbers, texts and arrays of bytes from a pickle, of which no instruction is ever run.

The standard library lists the instructions of a pickle (``pickletools``). Those that build plain values are followed
here; what would be a call is kept as a name and its arguments, and only the names of NumPy's arrays are known. So
whatever a file says, nothing is imported and no code of it runs.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show

__all__ = ["byte_array", "read_plain_pickle"]

_ENCODE = "_codecs encode"
"""Stands before bytes that a later Python wrote for an earlier one."""
_NAMES = frozenset({
    "numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct", "numpy ndarray", "numpy dtype",
    _ENCODE,
})  # fmt: skip
"""All names that are known."""


@dataclass
class _Named:
    """What would be a class or function."""

    name: str


@dataclass
class _Made:
    """What a call would make."""

    name: str
    arguments: tuple[Any, ...]
    state: Any = None


_MARK = object()
_MOST_INSTRUCTIONS = 2**20
"""Fifteen times as many as a batch of 10,000 images takes."""
_MOST_CONTAINERS = 1000
"""Tables, lists, tuples that hold such, and calls of a pickle; a batch takes about ten.

No deeper can they nest, whatever the order in which they are put into each other: Python compares, prints and frees
nested values in C, where depth is room on the stack.
"""
_CONTAINERS = frozenset({"EMPTY_DICT", "EMPTY_LIST", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST", "DICT", "REDUCE"})


def read_plain_pickle(data: bytes) -> Any:
    """Read plain values."""
    # gives dictionaries, lists, tuples, numbers, texts (bytes of Python 2 too, a letter for each), and arrays for
    # :func:`byte_array`
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    containers = 0
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            _follow(opcode.name, argument, stack, memo)
            containers += opcode.name in _CONTAINERS and not _is_flat(stack[-1])
            if count >= _MOST_INSTRUCTIONS or containers > _MOST_CONTAINERS:
                raise InputError(
                    f"has more than {_MOST_INSTRUCTIONS} instructions or {_MOST_CONTAINERS} tables, lists and tuples, "
                    "which no list of images needs; fetch it again"
                )
        return stack.pop()
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeError, RecursionError):
        raise InputError("is no whole pickle of plain values; fetch it again") from None


def byte_array(value: Any) -> NDArray[np.uint8]:
    """Take an array of bytes out of what :func:`read_plain_pickle` gave."""
    try:
        _, shape, kind, is_fortran, raw = value.state
        if not value.name.endswith("_reconstruct") or kind.name != "numpy dtype" or kind.arguments[0] != "u1":
            raise ValueError
        data = raw if isinstance(raw, bytes) else raw.encode("latin-1")
        return np.frombuffer(data, np.uint8).reshape(shape, order="F" if is_fortran else "C")
    except (ValueError, TypeError, AttributeError, IndexError):
        raise InputError("holds no array of unsigned bytes where one should be; fetch it again") from None


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """Follow one instruction."""
    if name in _CONSTANTS:
        stack.append(argument)
    elif name in _NEW:
        stack.append(_NEW[name]())
    elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
        memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[argument])
    elif name == "GLOBAL":
        stack.append(_named(argument))
    elif name in _STEPS:
        _STEPS[name](stack)
    elif name not in ("PROTO", "FRAME", "STOP"):
        raise InputError(f"has the instruction {name}, which no list of images needs; nothing of it was run")


def _named(name: str) -> _Named:
    if name not in _NAMES:
        raise InputError(f"names {show(name)}; allowed are NumPy's arrays only, nothing of it was run")
    return _Named(name)


def _is_flat(value: Any) -> bool:
    """Whether nothing can ever be nested in a value: texts, and tuples of what holds nothing."""
    if isinstance(value, tuple):
        return not any(isinstance(part, tuple | list | dict | _Made) for part in value)
    return isinstance(value, str | bytes)


def _keys(keys: list[Any]) -> list[Any]:
    """Refuse keys of tables that hold others: their hash is made in C, of all that they hold."""
    if not all(isinstance(key, str | bytes | int) for key in keys):
        raise ValueError
    return keys


def _since_mark(stack: list[Any]) -> list[Any]:
    # from the end: what is looked at is taken off, so all looks together are as many as the instructions
    at = len(stack) - 1
    while stack[at] is not _MARK:
        at -= 1
        if at < 0:
            raise ValueError
    found = stack[at + 1 :]
    del stack[at:]
    return found


def _take(stack: list[Any], count: int) -> tuple[Any, ...]:
    if len(stack) < count:
        raise ValueError
    found = tuple(stack[len(stack) - count :])
    del stack[len(stack) - count :]
    return found


def _append_all(stack: list[Any]) -> None:
    values = _since_mark(stack)
    stack[-1].extend(values)


def _append(stack: list[Any]) -> None:
    value = stack.pop()
    stack[-1].append(value)


def _set_all(stack: list[Any]) -> None:
    values = _since_mark(stack)
    stack[-1].update(zip(_keys(values[::2]), values[1::2], strict=True))


def _set(stack: list[Any]) -> None:
    key, value = _take(stack, 2)
    stack[-1][_keys([key])[0]] = value


def _dictionary(stack: list[Any]) -> None:
    values = _since_mark(stack)
    stack.append(dict(zip(_keys(values[::2]), values[1::2], strict=True)))


def _name_of_two(stack: list[Any]) -> None:
    stack.append(_named(" ".join(_take(stack, 2))))


def _call(stack: list[Any]) -> None:
    function, arguments = _take(stack, 2)
    stack.append(arguments[0] if function.name == _ENCODE else _Made(function.name, arguments))


def _build(stack: list[Any]) -> None:
    state = stack.pop()
    if not isinstance(stack[-1], _Made):
        raise ValueError
    stack[-1].state = state


_CONSTANTS = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE",
    "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
})  # fmt: skip
_NEW: Mapping[str, Callable[[], Any]] = ReadOnlyMapping({
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_DICT": dict, "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple, "MARK": lambda: _MARK,
})  # fmt: skip
_STEPS: Mapping[str, Callable[[list[Any]], None]] = ReadOnlyMapping({
    "TUPLE": lambda stack: stack.append(tuple(_since_mark(stack))),
    "TUPLE1": lambda stack: stack.append(_take(stack, 1)),
    "TUPLE2": lambda stack: stack.append(_take(stack, 2)),
    "TUPLE3": lambda stack: stack.append(_take(stack, 3)),
    "LIST": lambda stack: stack.append(_since_mark(stack)),
    "DICT": _dictionary,
    "APPENDS": _append_all,
    "APPEND": _append,
    "SETITEMS": _set_all,
    "SETITEM": _set,
    "STACK_GLOBAL": _name_of_two,
    "REDUCE": _call,
    "BUILD": _build,
})  # fmt: skip
