"""Runs in which spikes are lost on their way: exact on every engine, and on both kinds of cores.

The engine runs the program without its ways, tick by tick; what carries spikes from tick to tick is here. A spike that
arrives is fed into its axon as the host would feed it, in the tick in which it is due, so that a run without losses is
that of the engine alone, bit by bit. It costs a call of the engine for every tick.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.effects.draw_faults import fails
from neuromap.faults.effects.fault_model import Faults
from neuromap.faults.effects.struck_program import Count, without_ways
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.engine.noise import core_numbers

__all__ = ["LossyChip", "LossyRun"]

Ints = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class LossyRun(NamedTuple):
    """What a chip that loses spikes does."""

    spikes: Spikes  # all neurons that fired
    dropped: Count  # spikes that were lost, of those that were sent: one for every target of a neuron that fired


class LossyChip:
    """A chip that loses every spike with the same probability."""

    def __init__(self, program: ChipProgram, faults: Faults, choice: EngineChoice = DEFAULT_ENGINE) -> None:
        self._program, self._faults = program, faults
        self._engine = make_engine(without_ways(program, np.ones(len(program.wires.core), np.bool_)), choice)
        self._places = core_numbers(program)
        self._noise_seed = choice.noise_seed

    def run(self, events: HostEvents, stimulus: int = 0) -> LossyRun:
        """Run from tick 0 on."""
        self._engine.reset((self._noise_seed + stimulus) % 2**64)
        due: dict[int, list[tuple[Ints, Ints]]] = defaultdict(list)
        fired = [(_NONE, _NONE, _NONE)]
        lost = sent = 0
        for tick in range(events.n_ticks):
            mine = slice(events.start[tick], events.start[tick + 1])
            arriving = [(events.cores[mine], events.axons[mine]), *due.pop(tick, ())]
            cores, neurons = self._engine.step(*(np.concatenate(column) for column in zip(*arriving, strict=True)))
            fired.append((np.full(len(cores), tick, np.int64), cores, neurons))
            ways = self._program.sent_by(cores, neurons)
            places = self._places[cores[ways.spike]], neurons[ways.spike], self._places[ways.core], ways.axon
            gone = fails(self._faults, "dropped-spikes", stimulus, tick, *places)
            lost, sent = lost + int(gone.sum()), sent + len(gone)
            for delay in np.unique(ways.delay[~gone]).tolist():
                here = ~gone & (ways.delay == delay)
                due[tick + delay].append((ways.core[here], ways.axon[here]))
        return LossyRun(Spikes(*map(np.concatenate, zip(*fired, strict=True))), Count(lost, sent))
