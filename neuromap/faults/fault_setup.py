"""What a study of faults measures on: a mapped rollout, its stimuli, and what its outputs say without faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.decision import decide
from neuromap.accuracy.image_frames import ImageFrames
from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import StimulusError
from neuromap.faults.output_frames import output_frames
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.rollout.first_frame import first_frame
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["FaultSetup", "set_up"]

Frames = Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class FaultSetup(Value):
    """A mapped rollout and what it is shown."""

    # pattern, execution: names
    pattern: str
    execution: str
    program: ChipProgram  # without faults
    stimuli: Frames  # (S, n_frames, size): input frames by input node
    expected: Frames  # (S, n_frames, size): by output node, without faults
    # by output node, its first frame that depends on the stimulus; from there on frames are compared
    first: Mapping[str, int]
    choice: EngineChoice  # what runs the ticks
    labels: NDArray[np.int64] | None = None  # (S,): classes of the stimuli, where they are images
    classes: int = 0  # how many there are; 0 where there are no labels

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name in ("stimuli", "expected"):
            rows = {node: frozen(array) for node, array in getattr(self, name).items()}
            object.__setattr__(self, name, ReadOnlyMapping(rows))
        object.__setattr__(self, "first", ReadOnlyMapping(self.first))

    def correct(self, frames: Frames) -> int | None:
        """Count the images that the last frame of the output names rightly; ``None`` where there are no labels."""
        if self.labels is None:
            return None
        (spikes,) = frames.values()  # a set of images has one output
        return int(np.count_nonzero(decide(spikes[:, -1], self.classes) == self.labels))

    def fingerprint(self) -> str:
        """Give the digest of all that figures depend on, as 64 hexadecimal digits."""
        digest = sha256(program_bytes(self.program))
        for rows in self.stimuli.values():
            digest.update(repr(rows.shape).encode() + np.packbits(rows).tobytes())
        labels = None if self.labels is None else self.labels.tolist()
        told = (sorted(self.first.items()), self.choice.noise_seed, labels, self.classes)
        digest.update(repr(told).encode())
        return digest.hexdigest()


def set_up(rollout: Rollout, program: ChipProgram, stimuli: Frames | ImageFrames, choice: EngineChoice) -> FaultSetup:
    """Run a program without faults."""
    # shapes: stimuli (S, n_frames, size)
    images = stimuli if isinstance(stimuli, ImageFrames) else None
    shown = stimuli if not isinstance(stimuli, ImageFrames) else stimuli.stimuli(slice(None))
    first = {name: _first(rollout, name) for name in rollout.network.outputs}
    n_frames = next(iter(shown.values())).shape[1] if shown else 0
    if n_frames <= max(first.values()):
        raise StimulusError(
            f"stimuli: have {n_frames} frames, frame 0 included; outputs of {rollout.pattern.name} depend on them from "
            f"frame {max(first.values())} on, give {max(first.values()) + 1} or more"
        )
    return FaultSetup(
        pattern=rollout.pattern.name or rollout.pattern.digits,
        execution=rollout.execution,
        program=program,
        stimuli=shown,
        expected=output_frames(program, shown, choice),
        first=first,
        choice=choice,
        labels=None if images is None else images.images.labels.astype(np.int64),
        classes=0 if images is None else len(images.images.classes),
    )


def _first(rollout: Rollout, output: str) -> int:
    """Give the first frame that depends on the stimulus; 1 of an output that no input reaches."""
    try:
        return first_frame(rollout.pattern, output)
    except KeyError:
        return 1
