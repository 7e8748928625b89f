"""A program as the bytes of its file: its arrays as safetensors, the rest as one JSON text in the metadata.

``docs/program-file.md`` is the reference of the format. :mod:`neuromap.hardware.load.load_program` reads it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from neuromap.hardware.chip.chip_document import chip_document
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.file_format import (
    FORMAT,
    HEADER_KEYS,
    KIND,
    NODE_KEYS,
    SAFETENSORS_DTYPE,
    period_to_file,
    tick_to_file,
)
from neuromap.hardware.program.structure import program_tensors, require_well_formed, tensors_of

__all__ = ["program_bytes"]


def program_bytes(program: ChipProgram) -> bytes:
    """Return the bytes of a program's file; equal programs give equal bytes.

    Parameters
    ----------
    program : ChipProgram

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
    header: dict[str, Any] = {
        "__metadata__": {"neuromap": KIND, "format": FORMAT, KIND: _json(_document(program))},
    }
    pieces = []
    end = 0
    # widest dtypes first: then every tensor starts at a multiple of its item size
    table, tensors = tensors_of(program.chip.core_model), program_tensors(program)
    for name, marks in (("is_splitter", program.is_splitter), ("is_part", program.is_part)):
        if marks is not None and not marks.any():
            del tensors[name]  # programs without splitters or parts keep the bytes of their files
    for name in sorted(tensors, key=lambda name: (-np.dtype(table[name][0]).itemsize, name)):
        array = np.ascontiguousarray(tensors[name]).astype(np.dtype(table[name][0]).newbyteorder("<"))
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": SAFETENSORS_DTYPE[table[name][0]],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        pieces.append(array.tobytes())
    text = _json(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


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
