"""The form of programs (dtypes, shapes, labels and clocks), and the bytes of their files.

The checker, the engines and the wave rely on the form and index arrays without further checks. Values that index
something (targets, rows, labels) are checked by :mod:`neuromap.hardware.checker`. ``docs/program-file.md`` is the
reference of the file; :mod:`neuromap.hardware.program_file` reads it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import Time, whole
from neuromap.errors import ProgramError
from neuromap.files.sealed import sealed_bytes
from neuromap.hardware.chip.chip_document import chip_document
from neuromap.hardware.program.chip_program import ChipProgram, Tensors

# Most neurons of one node; its frame is an array of that many values.
MAX_NODE_SIZE = 2**26

# Bound of every clock value (4.6 hours at 1 kHz): sums of ticks fit int64, and simulations end.
MAX_TICKS = 2**24

# Most axons or neurons of a core; engines number them in 16 bits.
MAX_CORE_SIZE = 2**16

NODE_KINDS = ("input", "output", "hidden")

# Words of the program file, repeated here because neither programs nor the modules beside this one know schedules
# (tests/hardware checks that they are those of neuromap.rollout.schedule.rollout).
EXECUTIONS = ("", "windowed", "pipelined")
BEST = "pipelined:best"
CHOSEN_PERIOD = re.compile(r"pipelined:([1-9][0-9]{0,6})", re.ASCII)
MAX_CHOSEN_PERIOD = 1_000_000

_SHARED: Tensors = {
    "neuron_node": ("int32", "CN"),
    "neuron_index": ("int32", "CN"),
    "is_relay": ("bool", "CN"),
    "is_splitter": ("bool", "CN"),
    "is_part": ("bool", "CN"),
    "host.node": ("int32", "K"),
    "host.index": ("int32", "K"),
    "host.core": ("int32", "K"),
    "host.axon": ("int32", "K"),
    "host.arrival": ("int64", "K"),
    "host.first_frame": ("int8", "K"),
    "host.part": ("int64", "K"),
    "outputs.node": ("int32", "M"),
    "outputs.index": ("int32", "M"),
    "outputs.core": ("int32", "M"),
    "outputs.neuron": ("int32", "M"),
}

_OPTIONAL = frozenset({"is_splitter", "is_part", "host.part"})


def tensors_of(kind: type[ChipProgram]) -> Tensors:
    """Return dtype and axes of every array of a kind of program, and so of every tensor of its file, by name."""
    return {"coordinates": ("int32", "C2"), **kind.TENSORS, **_SHARED}


def is_optional(kind: type[ChipProgram], name: str) -> bool:
    """Whether an array may be ``None`` in a program, and absent from its file."""
    table, _, field = name.partition(".")
    return name in _OPTIONAL | kind.OPTIONAL or getattr(kind.TABLES.get(table), field, 0) is None


def program_tensors(program: ChipProgram) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a program by their names in its file, in the order of :func:`tensors_of`."""
    tensors = {}
    for name in tensors_of(type(program)):
        part, _, field = name.rpartition(".")
        array = getattr(getattr(program, part) if part else program, field)
        if array is not None or not is_optional(type(program), name):
            tensors[name] = array
    return tensors


def require_well_formed(program: ChipProgram) -> None:
    """Refuse a program whose arrays, labels or clocks are malformed or do not fit each other."""
    origin = f"program {program.name}"
    kind = program.chip.kind.program.PROGRAM
    if not isinstance(program, kind):
        raise ProgramError(
            f"{origin}: found {type(program).__name__}; needs {kind.__name__}: "
            f"chip {program.chip.name} has {program.chip.core_model} cores"
        )
    _check_arrays(program, origin)
    if misfit := program.misfit():
        raise ProgramError(f"{origin}: {misfit}")
    _check_labels(program, origin)


def _check_arrays(program: ChipProgram, origin: str) -> None:
    chip = program.chip
    table, tensors = tensors_of(type(program)), program_tensors(program)
    for name, array in tensors.items():
        dtype, axes = table[name]
        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype):
            found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise ProgramError(f"{origin}: tensor {name}: found {found}; needs {dtype}")
        if array.ndim != len(axes):
            raise ProgramError(f"{origin}: tensor {name}: found {array.ndim} axes; needs {len(axes)} ({axes})")
    for what, size in (("axons", chip.axons), ("neurons", chip.neurons)):
        if not 1 <= size <= MAX_CORE_SIZE:
            raise ProgramError(f"{origin}: chip {chip.name}: {size} {what} per core; allowed is 1 to {MAX_CORE_SIZE}")
    extent = _extents(program)
    for name, array in tensors.items():
        needed = tuple(extent[axis] for axis in table[name][1])
        if array.shape != needed:
            raise ProgramError(
                f"{origin}: tensor {name}: found shape {list(array.shape)}; "
                f"needs {list(needed)} for {extent['C']} cores of chip {chip.name}"
            )
    if extent["C"] > chip.n_cores:
        raise ProgramError(
            f"{origin}: tensor coordinates: found {extent['C']} cores; chip {chip.name} has {chip.n_cores}"
        )
    for name in (name for name in tensors if table[name][0] == "bool"):
        # a byte of 2 in a bool array is neither true nor false to NumPy's own arithmetic
        if tensors[name].size and int(np.ascontiguousarray(tensors[name]).view(np.uint8).max()) > 1:
            raise ProgramError(f"{origin}: tensor {name}: holds bytes other than 0 and 1; needs booleans")


def _extents(program: ChipProgram) -> dict[str, int]:
    """Return the lengths of all axes, by letter."""
    return {
        "C": len(program.coordinates),
        "A": program.chip.axons,
        "N": program.chip.neurons,
        "K": len(program.host.node),
        "M": len(program.outputs.node),
        "2": 2,
        **program.extents(),
    }


def _check_labels(program: ChipProgram, origin: str) -> None:
    for field in ("name", "pattern"):
        value = getattr(program, field)
        if not isinstance(value, str) or not value.isprintable():
            raise ProgramError(f"program: {field}: found {value!r:.60}; needs printable characters on one line")
    chosen = CHOSEN_PERIOD.fullmatch(str(program.execution))
    if program.execution not in (*EXECUTIONS, BEST) and (chosen is None or int(chosen[1]) > MAX_CHOSEN_PERIOD):
        raise ProgramError(
            f"{origin}: execution: found {program.execution!r:.60}; needs windowed, pipelined, pipelined:best, "
            f"pipelined:PERIOD with a period of 1 to {MAX_CHOSEN_PERIOD}, or nothing"
        )
    _check_integer(program.ticks_per_step, f"{origin}: ticks_per_step", 1, MAX_TICKS)
    _check_period(program, origin)
    for i, node in enumerate(program.nodes):
        place = f"{origin}: nodes[{i}]"
        if not isinstance(node.name, str) or not node.name or not node.name.isprintable():
            raise ProgramError(f"{place}.name: found {node.name!r:.60}; needs printable characters on one line")
        if node.kind not in NODE_KINDS:
            raise ProgramError(f"{place}.kind: found {node.kind!r:.60}; needs {', '.join(NODE_KINDS)}")
        _check_integer(node.size, f"{place}.size", 1, MAX_NODE_SIZE)
        _check_time(node.sample_tick, program.period, f"{place}.sample_tick")
    twice = [name for name, n in Counter(node.name for node in program.nodes).items() if n > 1]
    if twice:
        raise ProgramError(f"{origin}: nodes: {twice[0]} is named twice; names must differ")


def _check_period(program: ChipProgram, origin: str) -> None:
    """Refuse a period out of range, and parts of a tick that do not fit it."""
    period, part = program.period, program.host.part
    if not isinstance(period, Fraction) or period.denominator == 1:
        _check_integer(period, f"{origin}: period", 1, MAX_TICKS)
    elif not 1 <= period <= MAX_TICKS or period.numerator > MAX_TICKS:
        raise ProgramError(f"{origin}: period: found {period}; needs 1 tick or more, and a numerator up to {MAX_TICKS}")
    if (part is None) != (period.denominator == 1):
        found = "none" if part is None else "one"
        raise ProgramError(
            f"{origin}: tensor host.part: found {found}; needs one where the period is a fraction, and none elsewhere"
        )
    if part is not None and len(part) and not 0 <= part.min() <= part.max() < period.denominator:
        raise ProgramError(f"{origin}: tensor host.part: needs parts of a tick from 0 to {period.denominator - 1}")


def _check_time(time: Time, period: Time, place: str) -> None:
    if isinstance(time, Fraction) and period.denominator % time.denominator == 0:
        time = time.numerator // time.denominator
    _check_integer(time, place, -MAX_TICKS, MAX_TICKS)


def _check_integer(value: object, place: str, least: int, greatest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        raise ProgramError(f"{place}: found {value!r:.60}; needs an integer {least} to {greatest}")


# The bytes of a program's file: its arrays as safetensors, the rest as one JSON text in the metadata.


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
    text = json.dumps(_document(program), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sealed_bytes(KIND, typed, {"format": FORMAT, KIND: text})


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


to_file = program_bytes
