"""The readable engine of dense cores; there is no other, so it runs whatever engine is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.readable_engine import AxonRing
from neuromap_dense.program import DenseProgram

Ints = NDArray[np.int64]


class DenseEngine(AxonRing):
    """State of a chip that runs a program."""

    program: DenseProgram

    def _potentials_before(self) -> Ints:
        return np.zeros(self.program.shape, np.int64)

    def _compute(self, cores: Ints, axons: Ints) -> tuple[Ints, Ints, int]:
        weights = self.program.weights[cores, axons]
        sums = np.zeros(self.program.shape, np.int64)
        np.add.at(sums, cores, weights)
        self._potentials = sums
        return (*np.nonzero(sums >= self.program.threshold), int(np.count_nonzero(weights)))


def _make(program: DenseProgram, choice: EngineChoice) -> Engine:
    return DenseEngine(program, noise_seed=choice.noise_seed)


ENGINES = {"numpy": _make}
