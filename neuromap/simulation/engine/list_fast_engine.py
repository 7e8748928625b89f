"""The fast engine of synapse-list cores."""

from __future__ import annotations

from neuromap.hardware.program.list_program import ListProgram
from neuromap.simulation.engine.list_numpy_engine import ListNumpyEngine

__all__ = ["ListFastEngine"]


class ListFastEngine(ListNumpyEngine):
    """For now the one in NumPy."""

    def __init__(self, program: ListProgram, *, threads: int = 1, noise_seed: int = 0) -> None:
        super().__init__(program, noise_seed=noise_seed)
