"""Figures of synapse-list cores in the table ``[core]`` of a chip file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import ChipError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.synapse_lists import SynapseLists

__all__ = ["LIST_KEYS", "lists_from_table", "lists_table"]

# key: (least, greatest); the bounds keep currents, voltages and their products with decays inside 64 bits
_INTEGERS: Mapping[str, tuple[int, int]] = ReadOnlyMapping(
    {
        "output_axons": (1, 2**31 - 1),
        "synapse_memory_bits": (1, 2**40),
        "synapse_bits": (1, 1024),
        "list_bits": (0, 2**20),
        "mixed_sign_step": (1, 256),
        "threshold_shift": (0, 16),
        "bias_bits": (2, 32),
        "current_bits": (2, 32),
        "decay_bits": (1, 16),
        "refractory_bits": (1, 8),
    }
)
_PAIRS: Mapping[str, tuple[int, int]] = ReadOnlyMapping({"weight_shifts": (0, 16), "bias_shifts": (0, 16)})
_DEFAULTS: Mapping[str, int] = ReadOnlyMapping({"list_bits": 0, "mixed_sign_step": 1})

LIST_KEYS = (*_INTEGERS, *_PAIRS)
"""Keys of ``[core]`` that synapse-list cores alone have."""


def lists_from_table(core: TomlTable) -> SynapseLists:
    """Take the figures of synapse lists from the table of a core."""
    values: dict[str, Any] = {
        key: _DEFAULTS[key] if key in _DEFAULTS and key not in core else core.integer(key, *bounds)
        for key, bounds in _INTEGERS.items()
    }
    for key, bounds in _PAIRS.items():
        values[key] = core.pair(key, *bounds, "[least, greatest]")
        if values[key][0] > values[key][1]:
            raise ChipError(f"core.{key}: found {list(values[key])}; needs the least first")
    step = values["mixed_sign_step"]
    if step & (step - 1):
        raise ChipError(f"core.mixed_sign_step: found {step}; allowed are powers of 2")
    return SynapseLists(**values)


def lists_table(lists: SynapseLists) -> dict[str, Any]:
    """Return the figures as keys of the table ``[core]``; :func:`lists_from_table` turns them back."""
    integers = {key: getattr(lists, key) for key in _INTEGERS if getattr(lists, key) != _DEFAULTS.get(key)}
    return integers | {key: list(getattr(lists, key)) for key in _PAIRS}
