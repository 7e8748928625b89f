"""Serialise a program: its arrays as safetensors, the rest as one JSON text in the metadata.

``docs/program-file.md`` is the reference of the format. :mod:`neuromap.hardware.program_file` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from math import gcd
from typing import Any

from neuromap.arrays.times import Time, whole
from neuromap.files.sealed import sealed_bytes
from neuromap.hardware.chip.chip_document import chip_document
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.structure import program_tensors, require_well_formed, tensors_of

# Kind of file stated in the metadata, and key of its JSON text.
KIND = "program"

# Version of the format.
FORMAT = "1"

# Members of the JSON text.
HEADER_KEYS = ("chip", "execution", "name", "nodes", "pattern", "period", "ticks_per_step")

# Members of each node.
NODE_KEYS = ("kind", "name", "sample_tick", "size")

# Member beside ``period`` if frames come at unequal intervals: number of frames in every ``period`` ticks.
FRAMES_KEY = "frames_per_period"

# Member beside ``sample_tick`` if the exact time of frame 0 is not a whole tick: parts of a tick, above 0.
PART_KEY = "sample_part"


def period_to_file(period: Time) -> dict[str, int]:
    """Write a frame period as members of a file: ``period``, and ``frames_per_period`` if it is a fraction."""
    frames = {} if period.denominator == 1 else {FRAMES_KEY: period.denominator}
    return {"period": period.numerator, **frames}


def tick_to_file(tick: Time, period: Time) -> dict[str, int]:
    """Write the time of frame 0 as members of a file: ``sample_tick``, and ``sample_part`` if it is not whole."""
    start = tick.numerator * (period.denominator // tick.denominator)
    part = start % period.denominator
    return {"sample_tick": start // period.denominator, **({PART_KEY: part} if part else {})}


def period_of_file(document: Mapping[str, Any]) -> Any:
    """Invert :func:`period_to_file`; without ``frames_per_period``, return ``period`` as is."""
    if FRAMES_KEY not in document:
        return document["period"]
    ticks, frames = document["period"], document[FRAMES_KEY]
    if not (type(ticks) is int and type(frames) is int and 1 < frames <= ticks and gcd(ticks, frames) == 1):
        raise ValueError(
            f"{FRAMES_KEY}: found {frames!r:.60} in {ticks!r:.60} ticks; needs integers without a common divisor, 2 "
            "frames or more and no fewer ticks"
        )
    return Fraction(ticks, frames)


def tick_of_file(document: Mapping[str, Any], period: Any) -> Any:
    """Invert :func:`tick_to_file`; without ``sample_part``, return ``sample_tick`` as is."""
    if PART_KEY not in document:
        return document["sample_tick"]
    tick, part, parts = document["sample_tick"], document[PART_KEY], getattr(period, "denominator", 1)
    if not (type(tick) is int and type(part) is int and 0 < part < parts):
        raise ValueError(f"{PART_KEY}: found {part!r:.60}; needs an integer above 0 and below {FRAMES_KEY}, {parts}")
    return whole(Fraction(tick * parts + part, parts))


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
    """Collect the members of the JSON text: everything that no tensor holds."""
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
