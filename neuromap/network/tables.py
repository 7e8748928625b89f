"""Tables that a network file carries for others: how the host encodes images, how the network is trained, its work.

The network computes the same with and without them, and does not read them: who does checks what they hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neuromap.arrays.frozen import frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.files.messages import did_you_mean, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENCODER", "MAX_DEPTH", "TABLES", "check_tables", "encoder_tensors", "frozen_tables", "plain_table"]

TABLES = ("inputs", "training", "work")
"""What the tables are called: of input nodes, by name; of the training; multiply-accumulates of nodes, by name."""

ENCODER = ("encoder", "encoder.threshold")
"""Keys at which the table of an input node holds arrays; behind its name, they are tensors of the weights file."""

MAX_DEPTH = 12
"""Tables and lists within each other, from the top."""

_ALLOWED = "texts, numbers, true, false, lists and tables"


def frozen_tables(tables: Mapping[str, Any]) -> ReadOnlyMapping[str, Any]:
    """Take tables as they are given, read-only down to the last list."""
    # gives its tables are read-only mappings, its lists tuples, its arrays locked
    for name, table in tables.items():
        if name not in TABLES:
            raise NetworkError(f"table {show(name)}: is unknown; allowed are {', '.join(TABLES)}")
        if not isinstance(table, Mapping):
            raise NetworkError(f"{name}: found {show(table)}; allowed is a table")
    return ReadOnlyMapping({name: _frozen(table, (name,)) for name, table in tables.items()})


def check_tables(tables: Mapping[str, Any], inputs: Collection[str], nodes: Collection[str]) -> None:
    """Refuse tables of nodes that are not there."""
    _check_names(tables.get("inputs", {}), "inputs", inputs, "input node")
    for name, table in tables.get("inputs", {}).items():
        if table.get("code") != "layer" and any(isinstance(table.get(key), np.ndarray) for key in ENCODER):
            raise NetworkError(f'inputs.{name}: holds weights of an encoder; allowed with code = "layer" only')
        if table.get("code") == "layer" and f"{name}.{ENCODER[0]}" in nodes:
            raise NetworkError(
                f"inputs.{name}: its layer and node {name}.{ENCODER[0]} want one tensor; rename the node"
            )
    _check_names(tables.get("training", {}).get("nodes", {}), "training.nodes", nodes, "node")
    _check_work(tables.get("work", {}), inputs, nodes)


def encoder_tensors(tables: Mapping[str, Any]) -> dict[str, int]:
    """Give the float tensors that the weights file holds for the tables of input nodes."""
    wanted = {}
    for name, table in tables.get("inputs", {}).items():
        if table.get("code") == "layer":
            for key, axes in zip(ENCODER, (4, 1), strict=True):
                if key in table and not isinstance(table[key], np.ndarray):
                    raise NetworkError(f'inputs.{name}."{key}": is in the weights file; drop it from the network file')
                wanted[f"{name}.{key}"] = axes
    return wanted


def plain_table(value: Any) -> Any:
    """Give a table as TOML is read: dictionaries and lists, which the caller may change; arrays stay what they are."""
    if isinstance(value, Mapping):
        return {key: plain_table(part) for key, part in value.items()}
    return [plain_table(part) for part in value] if isinstance(value, tuple) else value


def _check_work(table: Mapping[str, Any], inputs: Collection[str], nodes: Collection[str]) -> None:
    """Refuse work of what is not computed, and work that is no number of multiply-accumulates."""
    computed = [name for name in nodes if name not in inputs] if table else []
    for name, work in table.items():
        path = f"work.{name if name.isprintable() else show(name)}"
        if name not in nodes or name in inputs:
            raise NetworkError(f"{path}: {show(name)} is no node that is computed{did_you_mean(name, computed)}")
        if isinstance(work, bool) or not isinstance(work, int) or work < 0:
            raise NetworkError(f"{path}: found {show(work)}; allowed is an integer, multiply-accumulates per frame")


def _check_names(table: Any, path: str, known: Collection[str], what: str) -> None:
    if not isinstance(table, Mapping):
        raise NetworkError(f"{path}: found {show(table)}; allowed is a table for every {what}")
    for name, part in table.items():
        if name not in known:
            raise NetworkError(
                f"{path}.{name if name.isprintable() else show(name)}: {what} {show(name)} does not exist; "
                f"allowed are {', '.join(known)}{did_you_mean(name, known)}"
            )
        if not isinstance(part, Mapping):
            raise NetworkError(f"{path}.{name}: found {show(part)}; allowed is a table")


def _frozen(value: Any, path: tuple[str, ...]) -> Any:
    if len(path) > MAX_DEPTH:
        raise NetworkError(f"{_joined(path)}: lies more than {MAX_DEPTH} tables and lists deep; make it flatter")
    if isinstance(value, Mapping):
        return ReadOnlyMapping({_key(key, path): _frozen(part, (*path, str(key))) for key, part in value.items()})
    if isinstance(value, list | tuple):
        return tuple(_frozen(part, (*path, str(k))) for k, part in enumerate(value))
    if isinstance(value, np.ndarray):
        return _frozen_array(value, path)
    value = value.item() if isinstance(value, np.generic) else value
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            _check_writable(value, path)
            return kind(value)  # no values of derived classes, which TOML does not write
    raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed are {_ALLOWED}")


def _frozen_array(array: NDArray[Any], path: tuple[str, ...]) -> NDArray[np.float32]:
    if path[0] != "inputs" or len(path) != 3 or path[2] not in ENCODER:
        raise NetworkError(f"{_joined(path)}: found an array; allowed are {_ALLOWED}")
    if not np.issubdtype(array.dtype, np.floating):
        raise NetworkError(f"{_joined(path)}: found an array of {array.dtype}; allowed is float32")
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        taken = array.astype(np.float32, copy=False)
    if not np.isfinite(taken).all():
        raise NetworkError(f"{_joined(path)}: found NaN or infinity; only finite numbers are allowed")
    return frozen(taken, _joined(path))


def _key(key: object, path: tuple[str, ...]) -> str:
    if not isinstance(key, str):
        raise NetworkError(f"{_joined(path)}: found the key {show(key)}; allowed are texts")
    _check_writable(key, path)
    return key


def _check_writable(value: object, path: tuple[str, ...]) -> None:
    """Refuse halves of characters, and integers of more than 64 bits, which no TOML file can hold."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed are integers of 64 bits, signed")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed is text that UTF-8 can write")


def _joined(path: tuple[str, ...]) -> str:
    text = ".".join(part if part.isprintable() else repr(part) for part in path)
    return text if len(text) <= 120 else f"{text[:117]}..."
