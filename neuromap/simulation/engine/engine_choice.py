"""Which engine runs the ticks, on how many threads and with which noise."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.simulation.engine.noise import check_seed
from neuromap.simulation.engine.threads import thread_count

__all__ = ["DEFAULT_ENGINE", "ENGINES", "EngineChoice"]

ENGINES = ("fast", "numpy")
"""Names of the engines, the default first."""


@dataclass(frozen=True)
class EngineChoice:
    """What runs the ticks; every choice of engine and threads gives the same result, bit by bit.

    Attributes
    ----------
    engine : {"fast", "numpy"}
        Compiled kernels, or the readable oracle.
    threads : int or None
        Threads of the fast engine; ``None`` for one for every core of the machine that may be used. NumPy runs on one.
    noise_seed : int
        Seed of the neurons' stochastic modes, 0 to 2**64 - 1; without such neurons it has no effect.

    Raises
    ------
    InputError
        If there is no such engine, or the number of threads or the seed is out of range.
    """

    engine: str = "fast"
    threads: int | None = None
    noise_seed: int = 0

    def __post_init__(self) -> None:
        thread_count(self.threads)
        check_seed(self.noise_seed)
        if self.engine not in ENGINES:
            raise InputError(f"engine {self.engine}: is not known; engines are {', '.join(ENGINES)}")

    @property
    def n_threads(self) -> int:
        """Threads on this machine."""
        return thread_count(self.threads)


DEFAULT_ENGINE = EngineChoice()
