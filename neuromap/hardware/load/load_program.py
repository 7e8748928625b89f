"""Program files, read: everything that is in one is checked before anybody uses it.

``docs/program-file.md`` is the reference of the format; ``Program.save`` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import ChipError, NotSupportedError, ProgramError
from neuromap.files.given import path_given
from neuromap.files.messages import show, show_name
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.chip.chip_document import chip_from_document
from neuromap.hardware.chip.chip_spec import ChipSpec, CoreKind
from neuromap.hardware.load.container import (
    Container,
    container_of_bytes,
    mapped_container,
    parse_json,
    read_container,
)
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.file_format import (
    FORMAT,
    FRAMES_KEY,
    HEADER_KEYS,
    KIND,
    NODE_KEYS,
    PART_KEY,
    period_of_file,
    tick_of_file,
)
from neuromap.hardware.program.list_program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.hardware.program.program import NeuronTable, Program
from neuromap.hardware.program.structure import require_well_formed

__all__ = ["load_program", "map_program", "program_from_bytes"]


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
    return _checked(_program(read_container(Path(path), origin), origin), origin, check)


def map_program(path: str | Path, *, check: bool) -> ChipProgram:
    """Map a program file into memory: its arrays lie in the file, and are read where they are looked at."""
    # gives as of :func:`load_program`. The file must not be changed while it is in use
    path = path_given("map_program", path, ProgramError)
    origin = show_name(str(path))
    program = _program(mapped_container(Path(path), origin), origin)
    return _checked(program, origin, True) if check else program


def program_from_bytes(data: bytes, origin: str, *, check: bool = True) -> ChipProgram:
    """Read a program from the bytes of its file; see :func:`load_program`."""
    return _checked(_program(container_of_bytes(data, origin), origin), origin, check)


def _program(container: Container, origin: str) -> ChipProgram:
    metadata = container.metadata
    if metadata.get("format") != FORMAT:
        raise ProgramError(
            f"{origin}: format: found {show(metadata.get('format'))}; this version reads format {FORMAT}"
        )
    document = parse_json(metadata.get(KIND, ""), f"{origin}: metadata {KIND}")
    chip = _chip(document, origin)
    return _build(document, chip, container.tensors(chip.core_model, origin), origin)


def _checked(program: ChipProgram, origin: str, check: bool) -> ChipProgram:
    try:
        require_well_formed(program)
        require_legal(program, mapped=False, indices_only=not check)
    except ProgramError as error:
        raise ProgramError(f"{origin}: {error}") from None
    return program


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
