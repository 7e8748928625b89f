"""A program as the bytes of its file: its arrays as safetensors, the rest as one JSON text in the metadata.

``docs/program-file.md`` is the reference of the format. :mod:`neuromap.hardware.program_file` reads it.
"""

from __future__ import annotations

import json
from typing import Any

from neuromap.files.sealed import sealed_bytes
from neuromap.hardware.chip.chip_document import chip_document
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.file_format import (
    FORMAT,
    HEADER_KEYS,
    KIND,
    NODE_KEYS,
    period_to_file,
    tick_to_file,
)
from neuromap.hardware.program.structure import program_tensors, require_well_formed, tensors_of


def program_bytes(program: ChipProgram) -> bytes:
    """Return the bytes of a program's file; equal programs give equal bytes."""
    require_well_formed(program)
    table, tensors = tensors_of(type(program)), program_tensors(program)
    for name, marks in (("is_splitter", program.is_splitter), ("is_part", program.is_part)):
        if marks is not None and not marks.any():
            del tensors[name]  # programs without splitters or parts keep the tensors of their files
    typed = {name: array.astype(table[name][0], copy=False) for name, array in tensors.items()}
    return sealed_bytes(KIND, typed, {"format": FORMAT, KIND: _json(_document(program))})


def _document(program: ChipProgram) -> dict[str, Any]:
    """Make the JSON text's members: what no tensor holds."""
    period = program.period
    document: dict[str, Any] = {key: getattr(program, key) for key in HEADER_KEYS} | period_to_file(period)
    document["nodes"] = [
        {key: getattr(node, key) for key in NODE_KEYS} | tick_to_file(node.sample_tick, period)
        for node in program.nodes
    ]
    document["chip"] = chip_document(program.chip)
    return document


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


to_file = program_bytes
