"""Load a program into the engine that is chosen."""

from __future__ import annotations

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import (
    Engine,
)
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice


def make_engine(program: ChipProgram, choice: EngineChoice = DEFAULT_ENGINE) -> Engine:
    """Load a program into an engine; the readable one where its kind of core has no other, which is equal."""
    made = program.chip.kind.engines.ENGINES
    return made.get(choice.engine, made["numpy"])(program, choice)
