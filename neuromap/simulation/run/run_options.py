"""``RunOptions``: input frames and engine behind measured figures; keywords of many functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neuromap.arrays.value import Value
from neuromap.simulation.choose_frames import DEFAULT_STIMULI, RandomFrames, choose_stimuli
from neuromap.simulation.engine.engine_choice import EngineChoice

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.network.network import Network


@dataclass(frozen=True, kw_only=True, eq=False)
class RunOptions(Value):
    """Input frames and what runs the ticks."""

    frames: Mapping[str, ArrayLike] | str | Path | None = None  # given, or a file of them; else random ones
    n_frames: int = RandomFrames.n_frames
    seed: int = RandomFrames.seed
    density: float | None = RandomFrames.density
    n_stimuli: int = DEFAULT_STIMULI
    engine: str = EngineChoice.engine
    threads: int | None = EngineChoice.threads
    noise_seed: int = EngineChoice.noise_seed

    @property
    def choice(self) -> EngineChoice:
        """Engine, threads and noise seed."""
        return EngineChoice(self.engine, self.threads, self.noise_seed)

    def stimuli(self, source: Network | ChipProgram) -> tuple[tuple[dict[str, NDArray[np.bool_]], ...], dict[str, Any]]:
        """Make the stimuli, checked, and their description."""
        random = RandomFrames(self.n_frames, self.seed, self.density)
        return choose_stimuli(source, self.frames, random, self.n_stimuli)
