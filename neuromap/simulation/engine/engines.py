"""Load a program into the engine that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine

__all__ = ["MAKERS", "make_engine"]


def make_engine(program: Program, choice: EngineChoice = DEFAULT_ENGINE) -> Engine:
    """Load a program into an engine.

    Parameters
    ----------
    program : Program
        What is loaded; not changed.
    choice : EngineChoice
        By default the fast engine on all cores of the machine.

    Raises
    ------
    ProgramError
        If the program is not well formed, or its tables point outside it.
    """
    return MAKERS[choice.engine](program, choice)


def _make_fast(program: Program, choice: EngineChoice) -> Engine:
    from neuromap.simulation.engine.fast_engine import FastEngine  # Numba takes a while to import

    return FastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


def _make_numpy(program: Program, choice: EngineChoice) -> Engine:
    return NumpyEngine(program, noise_seed=choice.noise_seed)


MAKERS: Mapping[str, Callable[[Program, EngineChoice], Engine]] = ReadOnlyMapping(
    {"fast": _make_fast, "numpy": _make_numpy}
)
"""What loads a program into each of ``ENGINES``."""
