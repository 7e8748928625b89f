"""Choose an engine by its name."""

from __future__ import annotations

from neuromap.errors import InputError
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.numpy_engine import NumpyEngine
from neuromap.simulation.engine.threads import thread_count

__all__ = ["ENGINES", "make_engine"]

ENGINES = ("fast", "numpy")
"""Names of the engines, the default first."""


def make_engine(program: Program, engine: str = "fast", *, threads: int | None = None, noise_seed: int = 0) -> Engine:
    """Load a program into an engine.

    Parameters
    ----------
    program : Program
        What is loaded; not changed.
    engine : {"fast", "numpy"}
        Compiled kernels, or the readable oracle. The results are the same, bit by bit.
    threads : int, optional
        Threads of the fast engine; by default one for every core of the machine. NumPy runs on one.
    noise_seed : int
        Seed of the stochastic modes.

    Raises
    ------
    InputError
        If there is no such engine, or the number of threads or the seed is out of range.
    ProgramError
        If the program is not well formed, or its tables point outside it.
    """
    count = thread_count(threads)
    if engine == "numpy":
        return NumpyEngine(program, noise_seed=noise_seed)
    if engine != "fast":
        raise InputError(f"engine {engine}: is not known; engines are {', '.join(ENGINES)}")
    from neuromap.simulation.engine.fast_engine import FastEngine  # Numba takes a while to import

    return FastEngine(program, threads=count, noise_seed=noise_seed)
