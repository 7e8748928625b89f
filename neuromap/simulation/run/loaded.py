"""A program in an engine, on one machine or as the part of one rank, ready to be fed and recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine

__all__ = ["Loaded", "load_engine"]


class Loaded(NamedTuple):
    """What runs a program."""

    chip: Engine  # at tick 0
    fed: ChipProgram  # the program whose host table is fed here: of a rank that with the rows of its own cores
    noise_seed: int  # the engine's
    agree: Callable[[float], float]  # gives all ranks the value of rank 0
    keeps_record: bool  # whether what is recorded comes together here


def load_engine(program: ChipProgram, choice: EngineChoice) -> Loaded:
    """Load a program into an engine of this machine."""
    return Loaded(make_engine(program, choice), program, choice.noise_seed, float, True)
