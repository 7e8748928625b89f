"""What a checkpoint belongs to: the run of one program on the same frames, recorded in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.simulation.trace.recording import Recording

__all__ = ["RunIdentity", "run_identity"]

RunIdentity = Mapping[str, str]
"""What is compared, by the name that messages call it."""

_BYTES = 16


def run_identity(
    program: ChipProgram, frames: Mapping[str, NDArray[np.bool_]], recording: Recording, noise_seed: int
) -> RunIdentity:
    """Say what a run is of, in texts that are equal for equal runs."""
    # shapes: frames (n_frames, size)
    fed = blake2b(digest_size=_BYTES)
    for name in sorted(frames):
        fed.update(repr((name, frames[name].shape)).encode())
        fed.update(np.packbits(frames[name]).data)
    counted = ", counts" if recording.counts else ""
    kept = f"spikes of {','.join(recording.spikes)}; potentials of {','.join(recording.potentials) or 'none'}{counted}"
    return {
        "program": blake2b(program_bytes(program), digest_size=_BYTES).hexdigest(),
        "input frames": fed.hexdigest(),
        "recording": kept,
        "noise seed": str(noise_seed),
    }
