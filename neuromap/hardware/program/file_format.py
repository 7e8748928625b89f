"""Words of the program file, for who writes it and who reads it; ``docs/program-file.md`` is its reference.

The file is a safetensors container: the tensors of :data:`neuromap.hardware.program.structure.TENSORS`, and the rest
of the program as one JSON text in the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMAT", "HEADER_KEYS", "KIND", "NODE_KEYS", "SAFETENSORS_DTYPE"]

KIND = "program"
"""What the metadata says that the file is, and the key of its JSON text."""

FORMAT = "1"
"""Version of the format."""

HEADER_KEYS = ("chip", "execution", "name", "nodes", "pattern", "period", "ticks_per_step")
"""Members of the JSON text."""

NODE_KEYS = ("kind", "name", "sample_tick", "size")
"""Members of a node in it."""

SAFETENSORS_DTYPE: Mapping[str, str] = ReadOnlyMapping(
    {
        "bool": "BOOL",
        "uint8": "U8",
        "int8": "I8",
        "int16": "I16",
        "int32": "I32",
        "int64": "I64",
    }
)
"""What the container calls a dtype."""
