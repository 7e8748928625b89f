"""Durations, energies, frequencies and parts as people type and read them: a number with its unit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.render.numbers import plain

# Unit without prefix -> units with prefixes and their values, smallest first.
UNITS: Mapping[str, Mapping[str, float]] = ReadOnlyMapping(
    {
        "s": ReadOnlyMapping({"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}),
        "J": ReadOnlyMapping({"pJ": 1e-12, "nJ": 1e-9, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0}),
        "Hz": ReadOnlyMapping({"Hz": 1.0, "kHz": 1e3, "MHz": 1e6}),
        "part": ReadOnlyMapping({"%": 0.01}),
    }
)

_NUMBER = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%|[^\W\d_]*)")
_LONGEST = 40
# No number needs more; in longer texts the search for its parts would take very long.
_LONGEST_READ = 400


def parse_quantity(text: str, unit: str, name: str) -> float:
    """Parse a quantity above 0."""
    known = UNITS[unit]
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    found = _NUMBER.fullmatch(text.strip().replace("μ", "µ")) if len(text) <= _LONGEST_READ else None
    if found is None:
        example = {"s": "5ms", "J": "100uJ", "Hz": "300Hz", "part": "90%"}[unit]
        raise InputError(f"{name} {shown}: is not a number with a unit ({', '.join(known)}); write it like {example}")
    written = found[2].replace("u", "µ") if found[2].startswith("u") else found[2]
    if written and written not in known:
        raise InputError(f"{name} {shown}: unit {found[2]!r} is not known; choose one of {', '.join(known)}")
    value = float(found[1]) * known.get(written, 1.0)
    if not 0 < value < math.inf:
        raise InputError(f"{name} {shown}: must be above 0, and finite")
    return value


def scale_for(value: float, unit: str) -> tuple[float, str]:
    """Choose the unit in which a value has one to three digits before the point, as far as prefixes reach."""
    fitting = [(worth, name) for name, worth in UNITS[unit].items() if value >= worth * (1 - 1e-9)]
    smallest = next((worth, name) for name, worth in UNITS[unit].items())
    return fitting[-1] if fitting else smallest


def figure(value: float | None) -> str:
    """Format a figure with four significant digits, or as a whole number from 1000 on; ``-`` for ``None``."""
    return str(round(value)) if value is not None and value >= 1000 else plain(value)


def with_unit(value: float | None, unit: str) -> str:
    """Format a quantity with its unit and up to four significant digits; ``-`` for ``None``."""
    if value is None:
        return "-"
    if unit not in UNITS:
        return f"{figure(value)} {unit}".rstrip()
    scale, name = scale_for(value, unit)
    return f"{figure(float(f'{value / scale:.12g}'))} {name}"
