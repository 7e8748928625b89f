"""Program files: a program's arrays as safetensors, the rest as one JSON text in the file's metadata.

``docs/program-file.md`` is the reference of the format. Equal programs give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from neuromap.errors import ChipError, NotSupportedError, ProgramError
from neuromap.files.toml_table import read_bytes, show, show_name
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import chip_document, chip_from_document
from neuromap.hardware.program.program import HostTable, NeuronTable, NodePort, OutputTable, Program
from neuromap.hardware.program.structure import OPTIONAL_TENSORS, TENSORS, program_tensors, require_well_formed

__all__ = ["load_program", "program_bytes", "program_from_bytes", "save_program"]

KIND = "program"
FORMAT = "1"
MAX_FILE_BYTES = 2**32
"""Several times the program of a board of 65536 cores."""

_SAFETENSORS_DTYPE = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
}
_HEADER_KEYS = ("chip", "execution", "name", "nodes", "pattern", "period", "ticks_per_step")
_NODE_KEYS = ("kind", "name", "sample_tick", "size")


def save_program(program: Program, path: str | Path) -> None:
    """Write a program to a file, whole or not at all.

    Parameters
    ----------
    program : Program
    path : str or Path
        Destination; replaced if it exists.

    Raises
    ------
    ProgramError
        If the program is not well formed (wrong dtypes or shapes); nothing is written.
    InputError
        If the folder does not exist or cannot be written.
    """
    write_whole(path, program_bytes(program))


def load_program(path: str | Path, *, check: bool = True) -> Program:
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
    Program

    Raises
    ------
    ProgramError
        If the file cannot be read, is no regular file or no program file, is truncated or damaged, or breaks a
        rule.
    """
    origin = show_name(str(path))
    try:
        data = read_bytes(Path(path), "program file", MAX_FILE_BYTES, ProgramError)
    except ProgramError as error:
        raise ProgramError(f"{origin}: {error}") from None
    return program_from_bytes(data, origin, check=check)


def program_bytes(program: Program) -> bytes:
    """Return the bytes of a program's file; equal programs give equal bytes.

    Parameters
    ----------
    program : Program

    Returns
    -------
    bytes

    Raises
    ------
    ProgramError
        If the program is not well formed.

    Notes
    -----
    The safetensors container is written here and not by its library, which orders metadata at random.
    """
    require_well_formed(program)
    document = {
        "name": program.name,
        "pattern": program.pattern,
        "execution": program.execution,
        "period": program.period,
        "ticks_per_step": program.ticks_per_step,
        "nodes": [{key: getattr(node, key) for key in _NODE_KEYS} for node in program.nodes],
        "chip": chip_document(program.chip),
    }
    header: dict[str, Any] = {
        "__metadata__": {"neuromap": KIND, "format": FORMAT, KIND: _json(document)},
    }
    pieces = []
    end = 0
    # widest dtypes first: then every tensor starts at a multiple of its item size
    tensors = program_tensors(program)
    if program.is_splitter is not None and not program.is_splitter.any():
        del tensors["is_splitter"]  # programs without splitters keep the bytes of their files
    for name in sorted(tensors, key=lambda name: (-np.dtype(TENSORS[name][0]).itemsize, name)):
        array = np.ascontiguousarray(tensors[name]).astype(np.dtype(TENSORS[name][0]).newbyteorder("<"))
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _SAFETENSORS_DTYPE[TENSORS[name][0]],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        pieces.append(array.tobytes())
    text = _json(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def program_from_bytes(data: bytes, origin: str, *, check: bool = True) -> Program:
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
    Program

    Raises
    ------
    ProgramError
        As :func:`load_program`.
    """
    from neuromap.hardware.check.check_program import require_legal  # check.py imports nothing of this file

    entries, metadata = _read_container(data, origin)
    if metadata.get("neuromap") != KIND:
        raise ProgramError(f"{origin}: is a safetensors file but not a neuromap program; write one with neuromap map")
    if metadata.get("format") != FORMAT:
        raise ProgramError(
            f"{origin}: format: found {show(metadata.get('format'))}; this version reads format {FORMAT}"
        )
    document = _parse_json(metadata.get(KIND, ""), f"{origin}: metadata {KIND}")
    program = _build(document, _read_tensors(entries, origin), origin)
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
        reason = " ".join(str(error).split())[:200]
        raise ProgramError(f"{origin}: is not a program file, or a damaged one ({reason})") from None
    # deserialize has read the header as JSON already, so its length is sane
    length = int.from_bytes(data[:8], "little")
    header = _parse_json(data[8 : 8 + length].decode(errors="replace"), f"{origin}: header")
    return entries, header.get("__metadata__", {})


def _read_tensors(entries: list[tuple[str, dict[str, Any]]], origin: str) -> dict[str, NDArray[np.generic]]:
    """Make arrays of the entries, which must be those of a program."""
    tensors: dict[str, NDArray[np.generic]] = {}
    for name, entry in entries:
        if name not in TENSORS:
            raise ProgramError(f"{origin}: tensor {show_name(name)}: is not part of a program")
        dtype = TENSORS[name][0]
        if entry["dtype"] != _SAFETENSORS_DTYPE[dtype]:
            raise ProgramError(f"{origin}: tensor {name}: found {entry['dtype']}; needs {_SAFETENSORS_DTYPE[dtype]}")
        array = np.frombuffer(entry["data"], np.dtype(dtype).newbyteorder("<"))
        tensors[name] = array.reshape(entry["shape"]).astype(dtype, copy=True)
        tensors[name].flags.writeable = False
    missing = [name for name in TENSORS if name not in tensors and name not in OPTIONAL_TENSORS]
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


def _build(document: Mapping[str, Any], tensors: Mapping[str, NDArray[np.generic]], origin: str) -> Program:
    _require_keys(document, _HEADER_KEYS, origin, "")
    if not isinstance(document["nodes"], list):
        raise ProgramError(f"{origin}: nodes: found {show(document['nodes'])}; needs a list")
    for i, node in enumerate(document["nodes"]):
        _require_keys(node, _NODE_KEYS, origin, f"nodes[{i}]")
    try:
        chip = chip_from_document(document["chip"], f"{origin}: chip")
    except (ChipError, NotSupportedError) as error:
        raise ProgramError(str(error)) from None

    def part(prefix: str) -> dict[str, Any]:
        named = {name.rpartition("."): array for name, array in tensors.items()}
        return {field: array for (head, _, field), array in named.items() if head == prefix}

    return Program(
        chip=chip,
        nodes=tuple(NodePort(**node) for node in document["nodes"]),
        neurons=NeuronTable(**part("neurons")),
        host=HostTable(**part("host")),
        outputs=OutputTable(**part("outputs")),
        **cast("dict[str, Any]", {key: document[key] for key in _HEADER_KEYS if key not in ("chip", "nodes")}),
        **part(""),
    )


def _require_keys(value: Any, needed: tuple[str, ...], origin: str, place: str) -> None:
    prefix = f"{origin}: {place}" if place else origin
    if not isinstance(value, Mapping):
        raise ProgramError(f"{prefix}: found {show(value)}; needs an object with {', '.join(needed)}")
    for key in needed:
        if key not in value:
            raise ProgramError(f"{prefix}: {key}: missing")
    for key in value:
        if key not in needed:
            raise ProgramError(f"{prefix}: {show_name(key)}: unknown key; allowed are {', '.join(needed)}")
