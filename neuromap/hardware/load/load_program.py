"""Program files, read: everything that is in one is checked before anybody uses it.

``docs/program-file.md`` is the reference of the format; ``Program.save`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from neuromap.arrays.frozen import adopted
from neuromap.errors import ChipError, NotSupportedError, ProgramError
from neuromap.files.foreign import HEAD, kind_of_any
from neuromap.files.given import path_given
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import read_bytes
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.chip.chip_document import chip_from_document
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.file_format import (
    FORMAT,
    FRAMES_KEY,
    HEADER_KEYS,
    KIND,
    NODE_KEYS,
    PART_KEY,
    SAFETENSORS_DTYPE,
    period_of_file,
    tick_of_file,
)
from neuromap.hardware.program.list_program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.hardware.program.program import NeuronTable, Program
from neuromap.hardware.program.structure import OPTIONAL_TENSORS, require_well_formed, tensors_of

__all__ = ["load_program", "program_from_bytes"]

MAX_FILE_BYTES = 2**32
"""Several times the program of a board of 65536 cores."""


def load_program(path: str | Path, *, check: bool = True) -> ChipProgram:
    """Read a program file and check everything that is in it.

    Parameters
    ----------
    path : str or Path
    check : bool
        Whether a program that breaks a rule of its chip is refused. Without it such a program can be loaded
        and looked at with :func:`neuromap.check_program`; a program that is not well formed, or whose
        indices point nowhere, is refused in any case.

    Returns
    -------
    ChipProgram
        A ``Program`` or a ``ListProgram``, by the cores of its chip.

    Raises
    ------
    ProgramError
        If the file cannot be read, is no regular file or no program file, is truncated or damaged, or breaks a
        rule.
    """
    path = path_given("load_program", path, ProgramError)
    origin = show_name(str(path))
    try:
        data = read_bytes(Path(path), "program file", MAX_FILE_BYTES, ProgramError)
    except ProgramError as error:
        raise ProgramError(f"{origin}: {error}") from None
    return program_from_bytes(data, origin, check=check)


def program_from_bytes(data: bytes, origin: str, *, check: bool = True) -> ChipProgram:
    """Read a program from the bytes of its file; see :func:`load_program`.

    Parameters
    ----------
    data : bytes
    origin : str
        Where they come from, for messages.
    check : bool
        Whether a program that breaks a rule of its chip is refused.

    Returns
    -------
    ChipProgram
        A ``Program`` or a ``ListProgram``, by the cores of its chip.

    Raises
    ------
    ProgramError
        As :func:`load_program`.
    """
    entries, metadata = _read_container(data, origin)
    if metadata.get("neuromap") != KIND:
        raise ProgramError(f"{origin}: is a safetensors file but not a neuromap program; write one with neuromap map")
    if metadata.get("format") != FORMAT:
        raise ProgramError(
            f"{origin}: format: found {show(metadata.get('format'))}; this version reads format {FORMAT}"
        )
    document = _parse_json(metadata.get(KIND, ""), f"{origin}: metadata {KIND}")
    chip = _chip(document, origin)
    program = _build(document, chip, _read_tensors(entries, chip, origin), origin)
    try:
        require_well_formed(program)
        require_legal(program, mapped=False, indices_only=not check)
    except ProgramError as error:
        raise ProgramError(f"{origin}: {error}") from None
    return program


def _read_container(data: bytes, origin: str) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, str]]:
    """Read the entries and the metadata; the library checks the layout."""
    try:
        entries = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        kind = kind_of_any(data[:HEAD])
        if kind is not None and "safetensors" not in kind:
            raise ProgramError(f"{origin}: is not a program file but {kind}; write one with neuromap map") from None
        reason = " ".join(str(error).split())[:200]
        raise ProgramError(f"{origin}: is not a program file, or a damaged one ({reason})") from None
    # deserialize has read the header as JSON already, so its length is sane
    length = int.from_bytes(data[:8], "little")
    header = _parse_json(data[8 : 8 + length].decode(errors="replace"), f"{origin}: header")
    return entries, header.get("__metadata__", {})


def _read_tensors(
    entries: list[tuple[str, dict[str, Any]]], chip: ChipSpec, origin: str
) -> dict[str, NDArray[np.generic]]:
    """Make arrays of the entries, which must be those of a program."""
    table, tensors = tensors_of(chip.core_model), dict[str, NDArray[np.generic]]()
    for name, entry in entries:
        if name not in table:
            raise ProgramError(
                f"{origin}: tensor {show_name(name)}: is not part of a program for {chip.core_model} cores"
            )
        dtype = table[name][0]
        if entry["dtype"] != SAFETENSORS_DTYPE[dtype]:
            raise ProgramError(f"{origin}: tensor {name}: found {entry['dtype']}; needs {SAFETENSORS_DTYPE[dtype]}")
        array = np.frombuffer(entry["data"], np.dtype(dtype).newbyteorder("<"))
        tensors[name] = adopted(array.reshape(entry["shape"]).astype(dtype, copy=True))
    missing = [name for name in table if name not in tensors and name not in OPTIONAL_TENSORS]
    if missing:
        raise ProgramError(f"{origin}: tensor {missing[0]}: is missing")
    return tensors


def _parse_json(text: str, place: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ProgramError(f"{place}: is nested too deeply") from None
    except ValueError as error:
        raise ProgramError(f"{place}: is not valid JSON ({' '.join(str(error).split())[:100]})") from None
    if not isinstance(document, dict):
        raise ProgramError(f"{place}: found {show(document)}; needs an object")
    return document


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _chip(document: Mapping[str, Any], origin: str) -> ChipSpec:
    _require_keys(document, HEADER_KEYS, origin, "", (FRAMES_KEY,))
    try:
        return chip_from_document(document["chip"], f"{origin}: chip")
    except (ChipError, NotSupportedError) as error:
        raise ProgramError(str(error)) from None


def _build(
    document: Mapping[str, Any], chip: ChipSpec, tensors: Mapping[str, NDArray[np.generic]], origin: str
) -> ChipProgram:
    if not isinstance(document["nodes"], list):
        raise ProgramError(f"{origin}: nodes: found {show(document['nodes'])}; needs a list")
    for i, node in enumerate(document["nodes"]):
        _require_keys(node, NODE_KEYS, origin, f"nodes[{i}]", (PART_KEY,))

    def part(prefix: str) -> dict[str, Any]:
        named = {name.rpartition("."): array for name, array in tensors.items()}
        return {field: array for (head, _, field), array in named.items() if head == prefix}

    try:
        period = period_of_file(document)
        ticks = [tick_of_file(node, period) for node in document["nodes"]]
    except ValueError as error:
        raise ProgramError(f"{origin}: {error}") from None
    shared: dict[str, Any] = {
        **{key: document[key] for key in HEADER_KEYS if key not in ("chip", "nodes", "period")},
        "chip": chip,
        "period": period,
        "nodes": tuple(
            NodePort(node["name"], node["size"], node["kind"], tick)
            for node, tick in zip(document["nodes"], ticks, strict=True)
        ),
    }
    kind, tables = _KINDS[chip.core_model]
    return kind(**shared, **part(""), **{name: table(**part(name)) for name, table in tables.items()})


_TABLES: Mapping[str, Callable[..., Any]] = {"host": HostTable, "outputs": OutputTable}
_KINDS: Mapping[CoreKind, tuple[Callable[..., ChipProgram], Mapping[str, Callable[..., Any]]]] = {
    "crossbar": (Program, {"neurons": NeuronTable, **_TABLES}),
    "synapse-list": (
        ListProgram,
        {"synapses": SynapseTable, "neurons": CurrentTable, "targets": TargetTable, **_TABLES},
    ),
}


def _require_keys(value: Any, needed: tuple[str, ...], origin: str, place: str, more: tuple[str, ...] = ()) -> None:
    prefix = f"{origin}: {place}" if place else origin
    if not isinstance(value, Mapping):
        raise ProgramError(f"{prefix}: found {show(value)}; needs an object with {', '.join(needed)}")
    for key in needed:
        if key not in value:
            raise ProgramError(f"{prefix}: {key}: missing")
    for key in value:
        if key not in (*needed, *more):
            raise ProgramError(f"{prefix}: {show_name(key)}: unknown key; allowed are {', '.join((*needed, *more))}")
