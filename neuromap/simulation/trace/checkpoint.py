"""A checkpoint: the state of the chip, and which files hold what was recorded before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.simulation.engine.engine_state import CurrentState, EngineState
from neuromap.simulation.trace.checked_file import read_checked, write_checked
from neuromap.simulation.trace.run_identity import RunIdentity

__all__ = ["Checkpoint", "load_checkpoint", "save_checkpoint"]

_TABLES = {"potentials": 2, "spikes": 2}
"""Arrays of every state, and how many axes each has."""
_CURRENTS = {"current": 2, "resting": 2, "due": 2, "amounts": 1}
"""Arrays of synapse-list cores besides."""
_DIGESTS = {"program": "another program", "input frames": "other input frames"}
"""What differs, of parts of the identity whose text says nothing to people."""


@dataclass(frozen=True, eq=False)
class Checkpoint(Value):
    """A run between two ticks."""

    state: EngineState  # of the chip
    # checksums of the files with what was recorded so far, in order (:mod:`neuromap.simulation.trace.parts`)
    parts: tuple[str, ...] = ()
    counts: NDArray[np.int64] | None = None  # (C, N): spikes of every neuron so far, where they are counted

    def __post_init__(self) -> None:
        freeze_arrays(self)


def save_checkpoint(path: Path, checkpoint: Checkpoint, identity: RunIdentity) -> None:
    """Write a checkpoint in the place of the one before, whole or not at all."""
    state = checkpoint.state
    arrays: dict[str, NDArray[Any]] = {name: getattr(state, name) for name in _TABLES}
    if state.currents is not None:
        arrays |= {name: getattr(state.currents, name) for name in _CURRENTS}
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
        if forms not in (_TABLES, _TABLES | _CURRENTS) or any(a.dtype != np.int64 for a in arrays.values()):
            raise ValueError
        if any(arrays[name].shape[1] != 3 for name in ("spikes", "due") if name in arrays):
            raise ValueError
        tables = {name: arrays[name] for name in _CURRENTS if name in arrays}
        if tables and len(tables["due"]) != len(tables["amounts"]):
            raise ValueError
        state = EngineState(
            tick=_count(about["tick"]),
            totals=_totals(about["totals"]),
            currents=CurrentState(**tables) if tables else None,
            **{name: arrays[name] for name in _TABLES},
        )
        parts = tuple(map(str, about["parts"]))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"checkpoint {path}: lacks what a state needs; simulate from tick 0") from None
    return Checkpoint(state, parts, arrays.get("counts"))


def _totals(values: Any) -> tuple[int, int, int]:
    spikes, axon_events, synaptic_events = map(_count, values)
    return spikes, axon_events, synaptic_events


def _count(value: Any) -> int:
    """Take what JSON holds as a whole number that fits an int64; not so much as a float."""
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
