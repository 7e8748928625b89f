"""Checkpoints: the state of the chip, and the files with the recording so far."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.errors import InputError, prefixed
from neuromap.files.argument_checks import path_given, whole_number
from neuromap.files.foreign import read_bytes
from neuromap.files.sealed import canonical_bytes, metadata_of
from neuromap.files.whole_file import check_target, write_whole
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.render.value import Card
from neuromap.simulation.engine.engine import CurrentState, EngineState, Totals
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace_file import Chunk, checksum

# Default number of ticks between checkpoints.
DEFAULT_EVERY = 1_000_000


@dataclass(frozen=True)
class Checkpoints(Card):
    """Checkpoints that a run writes, so that another one can resume, and the checkpoint it resumes from.

    Attributes
    ----------
    path : Path, str or None
        The checkpoint file, replaced by each new one; the recording so far is in files beside it. None for
        no checkpoints.
    every : int
        Ticks between checkpoints.
    resume : Path, str or None
        A checkpoint of the same program, frames, recording and seed to resume from. Engine, threads and ranks may
        differ; the trace is the same. None to begin at tick 0.

    Raises
    ------
    InputError
        If a path is invalid, the file cannot be written or already exists (and is not the one to resume from), or
        ``every`` is not a positive integer.
    """

    path: str | Path | None = None
    every: int = DEFAULT_EVERY
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        for field in ("path", "resume"):
            if (given := getattr(self, field)) is not None:
                object.__setattr__(self, field, path_given(f"Checkpoints: {field}", given))
        object.__setattr__(self, "every", whole_number("checkpoints: every", self.every))
        if self.every < 1:
            raise InputError(f"checkpoints: every {self.every} ticks: is not allowed; give 1 or more")
        if self.path is not None and check_target(self.path) is None:
            raise InputError(f"{self.path}: is a device or pipe; a checkpoint needs the name of a file")
        # a run may resume from the file that its next checkpoint replaces
        if (
            self.path is not None
            and Path(self.path).exists()
            and not (self.resume is not None and Path(self.resume).exists() and Path(self.path).samefile(self.resume))
        ):
            raise InputError(
                f"checkpoint {self.path}: is there already, and its parts would be overwritten before it; resume from "
                "it, remove it, or give another file"
            )


# Arrays of every state, and their numbers of axes.
_TABLES = {"potentials": 2, "spikes": 2}
# Further arrays of synapse-list cores.
_CURRENTS = {"current": 2, "resting": 2, "due": 2, "amounts": 1}
# Further array of graded cores: the value of each spike.
_VALUES = {"values": 1}
_FORMS = [_TABLES | currents | values for currents in ({}, _CURRENTS) for values in ({}, _VALUES)]
# Descriptions of a mismatch, for parts of the identity that are digests.
_DIGESTS = {"program": "another program", "input frames": "other input frames"}


@dataclass(frozen=True, eq=False)
class Checkpoint(ReadOnly, Value):
    """A run between two ticks."""

    state: EngineState  # of the chip
    # checksums of the files with the recording so far, in order (:mod:`neuromap.simulation.trace.checkpoint`)
    parts: tuple[str, ...] = ()
    counts: NDArray[np.int64] | None = None  # (C, N): spikes of every neuron so far, if counted


def save_checkpoint(path: Path, checkpoint: Checkpoint, identity: RunIdentity) -> None:
    """Write a checkpoint, atomically replacing the one before."""
    state = checkpoint.state
    arrays: dict[str, NDArray[Any]] = {name: getattr(state, name) for name in _TABLES}
    if state.currents is not None:
        arrays |= {name: getattr(state.currents, name) for name in _CURRENTS}
    if state.values is not None:
        arrays["values"] = state.values
    if checkpoint.counts is not None:
        arrays["counts"] = checkpoint.counts
    about = {
        "kind": "state",
        "run": dict(identity),
        "tick": state.tick,
        "totals": list(state.totals),
        "parts": list(checkpoint.parts),
    }
    write_checked(path, about, arrays)


def load_checkpoint(path: Path, identity: RunIdentity) -> Checkpoint:
    """Read the checkpoint of a run."""
    about, arrays, _ = read_checked(path, "state")
    _require_same_run(path, about.get("run"), identity)
    try:
        forms = {name: arrays[name].ndim for name in arrays if name != "counts"}
        if forms not in _FORMS or any(a.dtype != np.int64 for a in arrays.values()):
            raise ValueError
        tables, n_of = (
            {name: arrays[name] for name in _CURRENTS if name in arrays},
            {k: len(a) for k, a in arrays.items()},
        )
        if n_of.get("due") != n_of.get("amounts") or n_of.get("values") not in (None, n_of["spikes"]):
            raise ValueError
        if any(arrays[name].shape[1] != 3 for name in ("spikes", "due") if name in arrays):
            raise ValueError
        state = EngineState(
            tick=_count(about["tick"]),
            totals=Totals(*map(_count, about["totals"])),
            currents=CurrentState(**tables) if tables else None,
            values=arrays.get("values"),
            **{name: arrays[name] for name in _TABLES},
        )
        parts = tuple(map(str, about["parts"]))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"checkpoint {path}: lacks what a state needs; simulate from tick 0") from None
    return Checkpoint(state, parts, arrays.get("counts"))


def _count(value: Any) -> int:
    """Check that a JSON value is a non-negative integer that fits int64; even whole floats are refused."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError
    return value


def _require_same_run(path: Path, found: Any, identity: RunIdentity) -> None:
    run = found if isinstance(found, dict) else {}
    for what, wanted in identity.items():
        if run.get(what) == wanted:
            continue
        told = _DIGESTS.get(what, f"another {what} ({run.get(what)}, now {wanted})")
        raise InputError(f"checkpoint {path}: belongs to {told}; give what the run began with, or simulate from tick 0")


# Identity of a checkpoint's run: the program, its frames and its recording.
# Compared texts, by their names in messages.
RunIdentity = Mapping[str, str]
_BYTES = 16


def run_identity(
    program: ChipProgram, frames: Mapping[str, NDArray[Any]], recording: Recording, noise_seed: int
) -> RunIdentity:
    """Identify a run by texts that are equal for equal runs."""
    # shapes: frames (n_frames, size)
    fed = blake2b(digest_size=_BYTES)
    for name in sorted(frames):
        fed.update(repr((name, frames[name].shape)).encode())
        fed.update((np.packbits(frames[name]) if program.value_ranges is None else frames[name]).data)
    counted = ", counts" if recording.counts else ""
    kept = f"spikes of {','.join(recording.spikes)}; potentials of {','.join(recording.potentials) or 'none'}{counted}"
    return {
        "program": blake2b(program_bytes(program), digest_size=_BYTES).hexdigest(),
        "input frames": fed.hexdigest(),
        "recording": kept,
        "noise seed": str(noise_seed),
    }


# The recording before a checkpoint, in files beside it: one more for every checkpoint, so none is written twice.
#
# A resumed run reads them one after the other, and passes them on as if their ticks were run again. So memory
# holds one part at a time, and the code that stores a trace (memory, HDF5) need not know of checkpoints.


# Bytes kept in memory before they become a part, whether a checkpoint is due or not.
_KEPT_BYTES = 2**26


def part_path(path: Path, number: int) -> Path:
    """File of a part: the checkpoint's name, ``.part`` and a number from 1; links to the checkpoint are followed."""
    target = _followed(path)  # beside the checkpoint itself, which may be written and read under different names
    return target.with_name(f"{target.name}.part{number:06d}")


def is_part(file: str | Path, path: str | Path) -> bool:
    """Whether a file has the name of a part of a checkpoint; neither needs to exist."""
    found, target = _followed(file), _followed(path)
    number = found.name.removeprefix(f"{target.name}.part")
    return found.parent == target.parent and number != found.name and number.isdecimal() and len(number) >= 6


def _followed(path: str | Path) -> Path:
    return Path(os.path.realpath(path))  # accepts a loop of links, which reading or writing then reports


class Parts:
    """Writes a recording into the parts of a checkpoint."""

    # checksums: checksums of all parts

    def __init__(self, path: Path, checksums: tuple[str, ...] = ()) -> None:
        self._path = path
        self.checksums = list(checksums)
        self._chunks: list[Chunk] = []
        self._bytes = 0

    def keep(self, chunk: Chunk) -> None:
        """Add the next chunk of the recording."""
        self._chunks.append(chunk)
        self._bytes += sum(array.nbytes for array in chunk if array is not None)
        if self._bytes >= _KEPT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the chunks added since the last part."""
        if not self._chunks:
            return
        arrays = {
            name: np.concatenate(column)
            for name, column in zip(Chunk._fields, zip(*self._chunks, strict=True), strict=True)
            if column[0] is not None
        }
        number = len(self.checksums) + 1
        self.checksums.append(write_checked(part_path(self._path, number), {"kind": "part", "number": number}, arrays))
        self._chunks, self._bytes = [], 0


def read_parts(source: Path, checksums: Sequence[str], target: Path | None = None) -> Iterator[Chunk]:
    """Read the parts of a checkpoint, one at a time; copy them beside ``target``, if that is a different one."""
    needed = set(Chunk._fields) - set(Chunk._field_defaults)
    for number, wanted in enumerate(checksums, start=1):
        path = part_path(source, number)
        _, arrays, found = read_checked(path, "part")
        if found != wanted or not needed <= set(arrays) <= set(Chunk._fields):
            raise InputError(f"checkpoint {source}: {path.name} is a part of another run; simulate from tick 0")
        if target is not None and source.resolve() != target.resolve():
            data = read_bytes(path, "part of a checkpoint", MOST_BYTES, InputError)
            write_whole(part_path(target, number), data)
        yield Chunk(**arrays)


# The files of a checkpoint: safetensors with a format, a text and a checksum over text and tensors.
_FORMAT = "neuromap run checkpoint 1"
# Most bytes of a file that is read.
MOST_BYTES = 2**36
Arrays = Mapping[str, NDArray[Any]]


def write_checked(path: Path, about: Mapping[str, Any], arrays: Arrays) -> str:
    """Write a checkpoint file atomically; return its checksum."""
    text = json.dumps(about, sort_keys=True)
    found = checksum(text, arrays)
    write_whole(path, canonical_bytes(arrays, {"format": _FORMAT, "about": text, "checksum": found}))
    return found


def read_checked(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]], str]:
    """Read a checkpoint file; return its description, arrays and checksum."""
    # kind: the kind that its text must state, ``"state"`` or ``"part"``
    with prefixed(f"checkpoint {path}: ", InputError):
        data = read_bytes(path, "checkpoint", MOST_BYTES, InputError)
    try:
        arrays = load_tensors(data)
        metadata = metadata_of(data)
        text = metadata["about"]
        about = json.loads(text)
        if metadata["format"] != _FORMAT or about["kind"] != kind:
            raise ValueError
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError):
        raise InputError(
            f"checkpoint {path}: is not a checkpoint of a run; give the file that --checkpoint has written"
        ) from None
    found = checksum(text, arrays)
    if metadata.get("checksum") != found:
        raise InputError(f"checkpoint {path}: is damaged, it does not fit its checksum; simulate from tick 0")
    return about, arrays, found
