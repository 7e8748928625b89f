"""Engines for graded programs.

In NumPy a tick has three steps: axons that carry a value spread their lists over the ticks to come, every neuron
responds to what is due, and every value is sent to its axons. The equations are in
:mod:`neuromap.cores.graded.program`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.graded.pending import GradedSteps, checked_values, twice_fed
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.program import synapses_of
from neuromap.network.spiking_neuron import rounded
from neuromap.simulation.engine import engine
from neuromap.simulation.engine.engine_choice import EngineChoice, check_seed
from neuromap.simulation.engine.readable_engine import ReadableEngine


class GradedNumpyEngine(GradedSteps, ReadableEngine):
    """State of a chip that runs a program."""

    # Every sum here is exact: the rules ensure that all fit 32 bits.
    program: GradedProgram

    def _prepare(self) -> None:
        self._bounds = self.program.axon_ranges()

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed`` has no effect."""
        check_seed(0 if noise_seed is None else noise_seed)
        program = self.program
        self.tick = 0
        self._totals = engine.Totals(0, 0, 0)
        self._potentials = np.zeros(program.shape, np.int64)
        self._carried = np.zeros((program.chip.delay[0] + 1, len(program.synapses.lists) - 1), np.int64)
        self._due = np.zeros((int(program.synapses.delay.max(initial=0)) + 1, *program.shape), np.int64)

    @property
    def state(self) -> engine.EngineState:
        """Copy of everything that future ticks depend on."""
        return self._state_of(self._potentials, self._totals)

    def restore(self, state: engine.EngineState) -> None:
        """Continue from a state of this program, from any engine."""
        engine.check_state(self.program, state)
        self.reset()
        self.tick, self._totals = state.tick, engine.Totals(*state.totals)
        self._potentials = state.potentials.copy()
        due, core, axon = state.spikes.T
        values = np.zeros(0, np.int64) if state.values is None else state.values
        self._carried[due % len(self._carried), self.program.synapses.axons[core] + axon] = values
        if (currents := state.currents) is not None:
            due, core, neuron = currents.due.T
            self._due[due % len(self._due), core, neuron] = currents.amounts

    def _rings(self) -> tuple[Ints, Ints]:
        return self._due, self._carried

    def run(self, events: engine.HostEvents, watched: Bools | None = None) -> engine.Messages:  # type: ignore[override]
        """Run the next ``events.n_ticks`` ticks; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        engine.check_run(self.program, events, watched)
        values = checked_values(self.program, events, self._bounds)
        nothing = np.zeros(0, np.int64)
        found = [(nothing, nothing, nothing, nothing)]
        for start, end in pairwise(events.start.tolist()):
            lists = self.program.synapses.axons[events.cores[start:end]] + events.axons[start:end]
            cores, neurons, sent = self._step(lists, values[start:end])
            if watched is not None:
                kept = watched[cores, neurons]
                cores, neurons, sent = cores[kept], neurons[kept], sent[kept]
            found.append((np.full(len(cores), self.tick - 1, np.int64), cores, neurons, sent))
        return engine.Messages(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _tick(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> tuple[Ints, Ints]:
        """Run one tick; the host feeds these axons with 1."""
        return self.step(cores, axons)

    def _step(self, fed: Ints, values: Ints) -> tuple[Ints, Ints, Ints]:
        n_synapses, n_lists = self._spread(fed, values)
        cores, neurons, sent = self._respond()
        self._send(cores, neurons, sent)
        self._count(len(sent), n_lists, n_synapses)
        self.tick += 1
        return cores, neurons, sent

    def _spread(self, fed: Ints, values: Ints) -> tuple[int, int]:
        """Add the products of axons that carry a value to the sums due, each after its delay; count them."""
        carried = self._carried[self.tick % len(self._carried)]
        if carried[fed].any() or len(np.unique(fed)) < len(fed):
            raise twice_fed(self.tick)
        carried[fed] = values
        lists = np.flatnonzero(carried)
        synapses, core = synapses_of(self.program, lists)
        table = self.program.synapses
        products = table.weight[synapses] * np.repeat(carried[lists], np.diff(table.lists)[lists])
        slot = (self.tick + table.delay[synapses].astype(np.int64)) % len(self._due)
        np.add.at(self._due, (slot, core, table.neuron[synapses]), products)
        carried[lists] = 0  # free for values that reach their axons one turn of the ring later
        return len(synapses), len(lists)

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
        self._due[self.tick % len(self._due)] = 0
        cores, neurons = np.nonzero(values)
        return cores, neurons, values[cores, neurons]

    def _send(self, cores: Ints, neurons: Ints, values: Ints) -> None:
        """Send every value to its axons, which it reaches after the chip's least delay."""
        program = self.program
        sent = program.sent_by(cores, neurons)
        lists = program.synapses.axons[sent.core] + sent.axon
        self._carried[(self.tick + sent.delay) % len(self._carried), lists] = values[sent.spike]


def _numpy(program: GradedProgram, choice: EngineChoice) -> engine.Engine:
    return GradedNumpyEngine(program, noise_seed=choice.noise_seed)


def _fast(program: GradedProgram, choice: EngineChoice) -> engine.Engine:
    from neuromap.cores.graded.fast_engine import GradedFastEngine  # Numba takes a while to import

    return GradedFastEngine(program, threads=choice.n_threads, noise_seed=choice.noise_seed)


ENGINES = {"fast": _fast, "numpy": _numpy}
