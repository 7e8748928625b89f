"""Engines for crossbar programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine

if TYPE_CHECKING:
    from neuromap.simulation.engine.bit_sliced.side_by_side import SideBySide


def _fast(program: Program, choice: EngineChoice) -> Engine:
    from neuromap.simulation.engine.fast_engine import FastEngine  # Numba takes a while to import

    return FastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


def _numpy(program: Program, choice: EngineChoice) -> Engine:
    return NumpyEngine(program, noise_seed=choice.noise_seed)


ENGINES = {"fast": _fast, "numpy": _numpy}


def side_by_side(program: Program) -> SideBySide:
    """Make an engine that runs many stimuli at once, one bit each."""
    from neuromap.simulation.engine.bit_sliced.side_by_side import SideBySide  # as above

    return SideBySide(program)
