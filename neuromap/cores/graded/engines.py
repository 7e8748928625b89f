"""Engines for graded programs.

In NumPy a tick has three steps: axons that carry a value spread their lists over the ticks to come, every neuron
responds to what is due, and every value is sent to its axons. The equations are in
:mod:`neuromap.cores.graded.program`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded.pending import GradedSteps, checked_values, twice_fed
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.engines import NumpyLists
from neuromap.network.spiking_neuron import rounded
from neuromap.simulation.engine import engine
from neuromap.simulation.engine.engine_choice import EngineChoice


class GradedNumpyEngine(GradedSteps, NumpyLists):
    """State of a chip that runs a program."""

    # Every sum here is exact: the rules ensure that all fit 32 bits.
    program: GradedProgram
    _value_type = np.int64
    _kind = engine.Messages

    def _prepare(self) -> None:
        self._bounds = self.program.axon_ranges()

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        super().reset(noise_seed)
        self._potentials = np.zeros(self.program.shape, np.int64)

    @property
    def state(self) -> engine.EngineState:
        """Copy of everything that future ticks depend on."""
        return self._state_of(self._potentials, self._totals)

    def run(self, events: engine.HostEvents, watched: Bools | None = None) -> engine.Messages:
        """Run the next ``events.n_ticks`` ticks; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        sent: engine.Messages = NumpyLists.run(self, events, watched)
        return sent

    def _checked(self, events: engine.HostEvents, watched: Bools | None) -> engine.HostEvents:
        events = super()._checked(events, watched)
        return replace(events, values=checked_values(self.program, events, self._bounds).astype(np.int32))

    def _spread(self, fed: Ints, values: Ints) -> tuple[int, int]:
        if self._carried[self.tick % len(self._carried), fed].any() or len(np.unique(fed)) < len(fed):
            raise twice_fed(self.tick)
        return super()._spread(fed, values)

    def _respond(self) -> tuple[Ints, Ints, Ints]:
        """Update all neurons; return cores and neurons that send, and their values."""
        units, total = self.program.units, self._due[self.tick % len(self._due)].copy()
        if units.joined is not None:
            cores, joined = np.nonzero(units.joined >= 0)
            np.maximum.at(total, (cores, units.joined[cores, joined]), total[cores, joined])
            total[cores, joined] = 0
        values = rounded(total, units.multiplier.astype(np.int64), units.shift.astype(np.int64))
        values = values.clip(units.low, units.high)
        self._potentials = total
        cores, neurons = np.nonzero(values)
        return cores, neurons, values[cores, neurons]


def _numpy(program: GradedProgram, choice: EngineChoice) -> engine.Engine:
    return GradedNumpyEngine(program, noise_seed=choice.noise_seed)


def _fast(program: GradedProgram, choice: EngineChoice) -> engine.Engine:
    from neuromap.cores.graded.fast_engine import GradedFastEngine  # Numba takes a while to import

    return GradedFastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


ENGINES = {"fast": _fast, "numpy": _numpy}
