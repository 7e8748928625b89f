"""Read program files and check all of their contents before use.

``docs/program-file.md`` is the reference of the format; ``Program.save`` writes it.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize, safe_open

from neuromap.arrays.frozen import adopted
from neuromap.errors import ChipError, NotSupportedError, ProgramError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import HEAD, check_regular, kind_of_any, read_bytes
from neuromap.files.messages import show, show_name
from neuromap.files.sealed import DIGEST_KEY, DTYPES, KIND_KEY, Seal, seal_of
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_document import chip_from_document
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.hardware.program.program_bytes import (
    FORMAT,
    FRAMES_KEY,
    HEADER_KEYS,
    KIND,
    NODE_KEYS,
    PART_KEY,
    is_optional,
    period_of_file,
    require_well_formed,
    tensors_of,
    tick_of_file,
)


def load_program(path: str | Path, *, check: bool = True) -> ChipProgram:
    """Read a program file and check its contents.

    Parameters
    ----------
    path : str or Path
    check : bool
        Whether to refuse a program that breaks a rule of its chip. If not, it can be loaded and inspected with
        :func:`neuromap.check_program`; a program that is not well formed, or has invalid indices, is refused in any
        case.

    Returns
    -------
    ChipProgram
        A ``Program`` or a ``ListProgram``, by the cores of its chip.

    Raises
    ------
    ProgramError
        If the file cannot be read, is not a regular file or not a program file, is truncated or damaged, or breaks a
        rule.
    """
    path = path_given("load_program", path, ProgramError)
    origin = show_name(str(path))
    data = _said(origin, lambda: read_bytes(Path(path), _KIND, MAX_FILE_BYTES, ProgramError))
    return _checked(_program(container_of_bytes(data, origin), origin), origin, check)


def map_program(path: str | Path, *, check: bool) -> ChipProgram:
    """Memory-map a program file: its arrays stay in the file and are read on access."""
    # Returns what :func:`load_program` does. The file must not change while it is in use.
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
    return _build(document, chip, container.tensors(chip, origin), origin)


def _checked(program: ChipProgram, origin: str, check: bool) -> ChipProgram:
    with prefixed(f"{origin}: ", ProgramError):
        require_well_formed(program)
        require_legal(program, mapped=False, indices_only=not check)
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
    kind: Any = chip.kind.program.PROGRAM
    tables: Mapping[str, Any] = {**kind.TABLES, "host": HostTable, "outputs": OutputTable}
    found: ChipProgram = kind(**shared, **part(""), **{name: table(**part(name)) for name, table in tables.items()})
    return found


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


# The safetensors container of a program file, read into memory or mapped; its library checks the layout.


# Several times the program of a board of 65536 cores.
MAX_FILE_BYTES = 2**32
_KIND = "program file"


class Container:
    """Tensors of a file, each with its dtype, shape and bytes, and the metadata."""

    # metadata: texts by name

    def __init__(self, entries: dict[str, dict[str, Any]], metadata: dict[str, str], *, copied: bool) -> None:
        self.metadata, self._entries, self._copied = metadata, entries, copied

    def tensors(self, chip: ChipSpec, origin: str) -> dict[str, NDArray[np.generic]]:
        """Convert the entries, which must be those of a program, to arrays."""
        kind = chip.kind.program.PROGRAM
        table, tensors = tensors_of(kind), dict[str, NDArray[np.generic]]()
        for name, entry in self._entries.items():
            if name not in table:
                raise ProgramError(
                    f"{origin}: tensor {show_name(name)}: is not part of a program for {chip.core_model} cores"
                )
            dtype = table[name][0]
            if entry["dtype"] != DTYPES[dtype]:
                raise ProgramError(f"{origin}: tensor {name}: found {entry['dtype']}; needs {DTYPES[dtype]}")
            try:
                array = np.frombuffer(entry["data"], np.dtype(dtype).newbyteorder("<")).reshape(entry["shape"])
            except ValueError:  # a side of 0 beside one that no array has
                raise ProgramError(f"{origin}: tensor {name}: no array has the shape {show(entry['shape'])}") from None
            tensors[name] = adopted(array.astype(dtype, copy=self._copied))
        missing = [name for name in table if name not in tensors and not is_optional(kind, name)]
        if missing:
            raise ProgramError(f"{origin}: tensor {missing[0]}: is missing")
        return tensors


def container_of_bytes(data: bytes, origin: str) -> Container:
    """Read the bytes of a file."""
    try:
        entries = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise _foreign(data[:HEAD], error, origin) from None
    return Container(dict(entries), _whole_metadata(data, _header(data, origin), origin), copied=True)


def mapped_container(path: Path, origin: str) -> Container:
    """Memory-map a file: pages are read on access, and can be evicted again."""
    # Changing the file while it is mapped changes the arrays, or kills this process.
    size = _said(origin, lambda: check_regular(path, _KIND, ProgramError)).st_size
    if size > MAX_FILE_BYTES:
        raise ProgramError(f"{origin}: is larger than {MAX_FILE_BYTES // 2**20} MiB; expected a {_KIND}")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        with safe_open(path, framework="numpy"):
            pass
    except SafetensorError as error:
        raise _foreign(head, error, origin) from None
    except OSError as error:
        raise ProgramError(f"{origin}: cannot be read ({error.strerror or error})") from None
    header = _header(data, origin)
    metadata = _whole_metadata(data, header, origin)
    header.pop("__metadata__")
    begin, bytes_ = 8 + int.from_bytes(data[:8], "little"), memoryview(data)
    for name, entry in header.items():
        first, last = (begin + offset for offset in entry["data_offsets"])
        item = next((np.dtype(d).itemsize for d, code in DTYPES.items() if code == entry["dtype"]), 0)
        if item and not (begin <= first <= last <= len(data) and last - first == item * prod(entry["shape"])):
            raise ProgramError(f"{origin}: tensor {show_name(name)}: does not lie in the file; it is damaged")
        entry["data"] = bytes_[first:last]
    return Container(header, metadata, copied=False)


def _said(origin: str, read: Callable[[], Any]) -> Any:
    with prefixed(f"{origin}: ", ProgramError):
        return read()


def _foreign(head: bytes, error: SafetensorError, origin: str) -> ProgramError:
    kind = kind_of_any(head)
    if kind is not None and "safetensors" not in kind and _KIND not in kind:
        return ProgramError(f"{origin}: is not a program file but {kind}; write one with neuromap map")
    reason = " ".join(str(error).split())[:200]
    return ProgramError(f"{origin}: is not a program file, or a damaged one ({reason})")


def _whole_metadata(data: bytes | mmap.mmap, header: dict[str, Any], origin: str) -> dict[str, str]:
    """Return the metadata of a program file whose bytes match its digest; refuse any other."""
    # Every byte counts: a program with one flipped bit may break no rule of its chip, yet compute something else.
    metadata: dict[str, str] = header.get("__metadata__") or {}  # the format lets it be null
    is_program, has_digest = metadata.get(KIND_KEY) == KIND, DIGEST_KEY in metadata
    if has_digest and seal_of(data, metadata) is not Seal.WHOLE:
        raise ProgramError(f"{origin}: is damaged, it does not fit its digest; take a copy, or map the network again")
    if not is_program:
        raise ProgramError(f"{origin}: is a safetensors file but not a neuromap program; write one with neuromap map")
    if not has_digest:
        raise ProgramError(
            f"{origin}: has no digest, an older version of neuromap has written it; map the network again"
        )
    return metadata


def _header(data: bytes | mmap.mmap, origin: str) -> dict[str, Any]:
    # the library has read the header as JSON already, so its length is sane
    length = int.from_bytes(data[:8], "little")
    return parse_json(data[8 : 8 + length].decode(errors="replace"), f"{origin}: header")


def parse_json(text: str, place: str) -> dict[str, Any]:
    """Parse a JSON object."""
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
