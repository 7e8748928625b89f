"""TrueNorth model files as programs: crossbars, neurons by type, targets; outputs by the ports that spikes leave at.

A core lists for every neuron its column of the crossbar (``dendrites``), its type, and core, axon and delay of its
target. Type k is the neuron type called ``N`` and k in eight hexadecimal digits; a missing type is that of a neuron
that never spikes. Rows of a crossbar are axons with their type, ``S0`` to ``S3``, and the synapses in hexadecimal, with
the first neuron in the highest bit. A target core below 0 is not a core: -1 is no target, and any other is a port of
the chip, where spikes leave it on one line each.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show, show_name
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable

_SIZE = 256
_LEAST_PORT = -(2**15)
_SIGNS = (-1, 1)


class _Core(NamedTuple):
    number: int
    crossbar: str
    dendrites: list[int]
    types: list[int]
    targets: list[int]
    axons: list[int]
    delays: list[int]


def read_model(path: str | Path, *, chip: str | Path | ChipSpec = "truenorth") -> Program:
    """Read a TrueNorth model file.

    Parameters
    ----------
    path : str or Path
        JSON with comments; its spikes are in other files, which are not read.
    chip : str, Path or ChipSpec
        With crossbars of 256 x 256. The file gives no places: core k is put at column k mod columns, row k div columns,
        so hops of this program are meaningless.

    Returns
    -------
    Program
        By hand, to be run with :func:`neuromap.simulation.run.simulate.run_events`. A node per port, called
        ``port -32`` and so on, holds the lines that leave there.

    Raises
    ------
    ProgramError
        If the file cannot be read, is malformed, or holds no legal program.
    NotSupportedError
        If cores are of another size, neurons of another class, or a core runs at another pace.
    """
    name = show_name(str(path))
    with foreign_boundary("a TrueNorth model file", ProgramError, name):
        return _read(Path(path), name, chip)


def _read(path: Path, name: str, chip: str | Path | ChipSpec) -> Program:
    members = model_members(path)
    model, crossbars, kinds = (_only(members, key, name) for key in ("model", "crossbarTypes", "neuronTypes"))
    spec = load_chip(chip)
    _require_known(model, spec, name)
    cores = [_core(value, spec, f"{name}: core {k}") for k, (key, value) in enumerate(members) if key == "core"]
    numbers = [core.number for core in cores]
    if not cores or len(set(numbers)) < len(numbers):
        raise ProgramError(f"{name}: core: found {len(cores)} of {len(set(numbers))} ids; needs one of every id")
    known = _crossbars(crossbars, f"{name}: crossbarTypes")
    for core in cores:
        if core.crossbar not in known:
            raise ProgramError(f"{name}: core {core.number}: crossbar {show(core.crossbar)} is not a crossbar type")
    program = _program(path.stem, spec, cores, known, _parameters(kinds, cores, f"{name}: neuronTypes"))
    require_legal(program, mapped=False)
    return program


def _only(members: list[tuple[str, Any]], key: str, name: str) -> Any:
    found = [value for member, value in members if member == key]
    if len(found) != 1:
        raise ProgramError(f"{name}: {key}: stands there {len(found)} times; needs to stand once")
    return found[0]


def _member(value: Any, key: str, where: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise ProgramError(f"{where}: found {show(value)}; needs an object with {key}")
    return value[key]


def _require_known(model: Any, spec: ChipSpec, name: str) -> None:
    known = {"neuronclass": "NeuronGeneral", "crossbarclass": "CrossbarBinary", "crossbarSize": _SIZE}
    for key, wanted in known.items():
        if (found := _member(model, key, f"{name}: model")) != wanted:
            raise NotSupportedError(f"{name}: model: {key}: found {show(found)}; only {wanted} is read")
    if (spec.axons, spec.neurons, spec.axon_types) != (_SIZE, _SIZE, 4):
        raise NotSupportedError(
            f"chip {spec.name}: models are of crossbars of 256 x 256 with 4 axon types; give truenorth"
        )


def _core(value: Any, spec: ChipSpec, where: str) -> _Core:
    number = integer(_member(value, "id", where), f"{where}: id", 0, spec.n_cores - 1)
    if value.get("timeScaleExponent", 0) != 0:
        raise NotSupportedError(f"{where}: timeScaleExponent: found {show(value['timeScaleExponent'])}; only 0 is read")
    neurons = _member(value, "neurons", where)
    crossbar = _member(_member(value, "crossbar", where), "name", f"{where}: crossbar")
    bounds = {
        "dendrites": (0, _SIZE - 1),
        "types": (0, 2**31),
        "destCores": (_LEAST_PORT, spec.n_cores - 1),
        "destAxons": (0, _SIZE - 1),
        "destDelays": (0, 255),
    }
    lists = (runs(_member(neurons, key, where), f"{where}: {key}", _SIZE, *bounds[key]) for key in bounds)
    return _Core(number, str(crossbar), *lists)


def _crossbars(value: Any, where: str) -> dict[str, tuple[list[int], Bools]]:
    """Axon types and synapses, shape (axons, columns), of every crossbar type."""
    found = {}
    for k, entry in enumerate(value if isinstance(value, list) else [value]):
        here = f"{where}[{k}]"
        name, lines = str(_member(entry, "name", here)), _member(_member(entry, "crossbar", here), "rows", here)
        if not isinstance(lines, list) or len(lines) != _SIZE or name in found:
            raise ProgramError(f"{here}: found {show(lines)}; needs {_SIZE} rows, and a name of its own")
        kinds = [_member(line, "type", here) for line in lines]
        words = [_member(line, "synapses", here) for line in lines]
        try:
            types = [("S0", "S1", "S2", "S3").index(kind) for kind in kinds]
            packed = np.frombuffer(b"".join(bytes.fromhex(word) for word in words), np.uint8)
            rows = np.unpackbits(packed.reshape(_SIZE, -1), axis=1).astype(np.bool_)
        except (ValueError, TypeError):
            raise ProgramError(
                f"{here}: rows: need types S0 to S3, and {_SIZE} bits of synapses in hexadecimal"
            ) from None
        if rows.shape != (_SIZE, _SIZE):
            raise ProgramError(f"{here}: rows: found {rows.shape[1]} bits of synapses; needs {_SIZE}")
        found[name] = (types, rows)
    return found


def _parameters(value: Any, cores: list[_Core], where: str) -> dict[str, Ints]:
    """Parameters of all neurons, shape (cores, neurons), from those of the types; a missing type never spikes."""
    place, rows = dict[str, int](), [{"alpha": 1, "sigma_lambda": 1, "sigma_VR": 1}]
    for k, entry in enumerate(value if isinstance(value, list) else [value]):
        here = f"{where}[{k}]"
        place[str(_member(entry, "name", here))] = len(rows)
        rows.append({key: integer(_member(entry, key, here), f"{here}: {key}", *_BOUNDS[key]) for key in _BOUNDS})
    kind = np.array([[place.get(f"N{number:08X}", 0) for number in core.types] for core in cores], np.int64)
    return {key: np.array([row.get(key, 0) for row in rows], np.int64)[kind] for key in _BOUNDS}


# Least and greatest of every parameter of a neuron type.
_BOUNDS = {
    **dict.fromkeys(("sigma0", "sigma1", "sigma2", "sigma3", "sigma_lambda", "sigma_VR"), _SIGNS),
    **dict.fromkeys(("s0", "s1", "s2", "s3", "lambda"), (0, 255)),
    **dict.fromkeys(("alpha", "beta"), (0, 2**18 - 1)),
    **dict.fromkeys(("b0", "b1", "b2", "b3", "c_lambda", "epsilon", "kappa"), (0, 1)),
    "VR": (0, 19),
    "TM": (0, 18),
    "gamma": (0, 2),
    "V": (-(2**19), 2**19 - 1),
}


def _program(
    name: str, spec: ChipSpec, cores: list[_Core], known: dict[str, tuple[list[int], Bools]], of: dict[str, Ints]
) -> Program:
    number = np.array([core.number for core in cores], np.int64)
    row_of = np.full(spec.n_cores, -1, np.int64)
    row_of[number] = np.arange(len(cores))
    targets, axons, delays = (np.array([core[k] for core in cores], np.int64) for k in (4, 5, 6))
    sent = targets >= 0
    target = np.where(sent, row_of[np.where(sent, targets, 0)], -1)  # a spike to a core that is not there is lost
    sent &= target >= 0
    ports = sorted({int(port) for port in np.unique(targets) if port < -1}, reverse=True)
    core, neuron = np.nonzero(targets < -1)
    crossbar = np.stack([known[core.crossbar][1][:, core.dendrites] for core in cores])
    shape = targets.shape
    return Program(
        name=name if name.isprintable() else "model",
        chip=spec,
        coordinates=np.stack([number % spec.columns, number // spec.columns], axis=1).astype(np.int32),
        axon_types=np.array([known[core.crossbar][0] for core in cores], np.uint8),
        crossbar=np.packbits(crossbar, axis=2, bitorder="little"),
        neurons=_table(of),
        target_core=target.astype(np.int32),
        target_axon=np.where(sent, axons, 0).astype(np.int32),
        delay=np.where(sent, delays, 0).astype(np.uint8),
        neuron_node=np.full(shape, -1, np.int32),
        neuron_index=np.zeros(shape, np.int32),
        is_relay=np.zeros(shape, np.bool_),
        nodes=tuple(NodePort(f"port {port}", _SIZE, "output", 0) for port in ports),
        period=1,
        ticks_per_step=1,
        host=HostTable.empty(),
        outputs=OutputTable(
            node=np.array([ports.index(port) for port in targets[core, neuron].tolist()], np.int32),
            index=axons[core, neuron].astype(np.int32),
            core=core.astype(np.int32),
            neuron=neuron.astype(np.int32),
        ),
    )


def _table(of: dict[str, Ints]) -> NeuronTable:
    """Put the parameters of Cassidy et al. (2013) into columns; R is ``sigma_VR * (2**VR - 1)``."""
    groups = range(4)
    stochastic = np.stack([of[f"b{g}"] for g in groups], axis=2).astype(np.bool_)
    leaks, noise = of["c_lambda"].astype(np.bool_), of["TM"].astype(np.uint8)
    return NeuronTable(
        weights=np.stack([of[f"sigma{g}"] * of[f"s{g}"] for g in groups], axis=2).astype(np.int16),
        leak=(of["sigma_lambda"] * of["lambda"]).astype(np.int16),
        leak_reversal=of["epsilon"].astype(np.bool_),
        threshold=of["alpha"].astype(np.int32),
        negative_threshold=of["beta"].astype(np.int32),
        reset=(of["sigma_VR"] * (2 ** of["VR"] - 1)).astype(np.int32),
        reset_mode=of["gamma"].astype(np.uint8),
        saturate_negative=of["kappa"].astype(np.bool_),
        potential=of["V"].astype(np.int32),
        stochastic_weight=stochastic if stochastic.any() else None,
        stochastic_leak=leaks if leaks.any() else None,
        noise_bits=noise if noise.any() else None,
    )


# The text of a model file: JSON with comments, in which every core has the same key; and its runs of numbers.


# Most bytes of a file; a whole chip takes about 150 MB.
MOST_BYTES = 1 << 28

# a string, terminated or not, so that no place is scanned twice; or the start of a comment
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|/\*', re.DOTALL)
_WORD = re.compile(r"(-?\d{1,9})(?:x(\d{1,9})|:(-?\d{1,9})(?::(-?\d{1,9}))?)?")


def model_members(path: Path) -> list[tuple[str, Any]]:
    """Read the members of a model file in order; ``core`` occurs once per core."""
    name = show_name(str(path))
    try:
        text = read_bytes(path, "TrueNorth model file", MOST_BYTES, ProgramError).decode("utf-8")
        pairs = json.loads(_without_comments(text), object_pairs_hook=_Pairs, parse_constant=_no_number)
        if isinstance(pairs, _Pairs):
            return [(key, _plain(value, show_name(key))) for key, value in pairs]
    except ProgramError as error:
        raise ProgramError(f"{name}: {error}") from None
    except (ValueError, RecursionError):
        raise ProgramError(f"{name}: is not valid JSON with comments") from None
    raise ProgramError(f"{name}: found {show(pairs)}; needs an object with model, crossbarTypes, neuronTypes, core")


class _Pairs(list[tuple[str, Any]]):
    """A JSON object whose keys may repeat."""


def _plain(value: Any, where: str) -> Any:
    """Convert pairs below the outermost to objects, whose keys must be unique."""
    if isinstance(value, _Pairs):
        found = {key: _plain(part, f"{where}: {show_name(key)}") for key, part in value}
        if len(found) < len(value):
            raise ProgramError(f"{where}: a key stands twice in one object; each must stand once")
        return found
    return [_plain(part, where) for part in value] if isinstance(value, list) else value


def _no_number(word: str) -> None:
    raise ValueError(word)


def _without_comments(text: str) -> str:
    kept, at, looked = [], 0, 0
    while match := _STRING_OR_COMMENT.search(text, looked):
        looked = match.end()
        if match[0] != "/*":
            continue
        end = text.find("*/", looked)
        if end < 0:
            raise ValueError("a comment has no end")
        kept.append(text[at : match.start()])
        at = looked = end + 2
    return " ".join([*kept, text[at:]])


def integer(value: Any, where: str, least: int, greatest: int) -> int:
    """Check an integer within bounds; true and false count as 1 and 0."""
    if not isinstance(value, int) or not least <= value <= greatest:
        raise ProgramError(f"{where}: found {show(value)}; needs an integer {least} to {greatest}")
    return int(value)


def runs(value: Any, where: str, length: int, least: int, greatest: int) -> list[int]:
    """Expand numbers and runs of them: ``5``, ``"1x256"``, ``"0:255"``, ``"3:4:255"`` (the step between)."""
    if not isinstance(value, list):
        raise ProgramError(f"{where}: found {show(value)}; needs an array")
    found: list[int] = []
    for word in value:
        match = _WORD.fullmatch(word) if isinstance(word, str) else None
        if match is None:
            found.append(integer(word, where, least, greatest))
        else:
            found += _written_out(match, where, length)
        if len(found) > length:
            break
    if len(found) != length:
        raise ProgramError(f"{where}: found {'more' if len(found) > length else len(found)}; needs {length} numbers")
    return [integer(number, where, least, greatest) for number in found]


def _written_out(match: re.Match[str], where: str, length: int) -> list[int]:
    first = int(match[1])
    if match[3] is None:
        return [first] * min(int(match[2] or 1), length + 1)
    step, last = (1, int(match[3])) if match[4] is None else (int(match[3]), int(match[4]))
    if step == 0:
        raise ProgramError(f"{where}: found {match[0]!r}; needs a step other than 0")
    return list(range(first, last + (1 if step > 0 else -1), step)[: length + 1])
