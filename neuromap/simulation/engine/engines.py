"""Load a program into the engine that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.list_numpy_engine import ListNumpyEngine
from neuromap.simulation.engine.numpy_engine import NumpyEngine

__all__ = ["MAKERS", "make_engine"]


def make_engine(program: ChipProgram, choice: EngineChoice = DEFAULT_ENGINE) -> Engine:
    """Load a program into an engine."""
    return MAKERS[choice.engine][program.chip.core_model](program, choice)


def _make_fast(program: Any, choice: EngineChoice) -> Engine:
    from neuromap.simulation.engine.fast_engine import FastEngine  # Numba takes a while to import

    return FastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


def _make_list_fast(program: Any, choice: EngineChoice) -> Engine:
    from neuromap.simulation.engine.list_fast_engine import ListFastEngine  # as above

    return ListFastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


def _make_numpy(program: Any, choice: EngineChoice) -> Engine:
    return NumpyEngine(program, noise_seed=choice.noise_seed)


def _make_list_numpy(program: Any, choice: EngineChoice) -> Engine:
    return ListNumpyEngine(program, noise_seed=choice.noise_seed)


# engines refuse a program that is not for the cores of its chip (``require_well_formed``)
_Makers = Mapping[CoreKind, Callable[[Any, EngineChoice], Engine]]

MAKERS: Mapping[str, _Makers] = ReadOnlyMapping(
    {
        "fast": {"crossbar": _make_fast, "synapse-list": _make_list_fast},
        "numpy": {"crossbar": _make_numpy, "synapse-list": _make_list_numpy},
    }
)
"""What loads a program into each of ``ENGINES``, by the kind of its cores."""
