"""Fast engines of ranks that share memory: each runs its own cores, and spikes never leave compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.compiled_runs import CompiledRuns, run_together
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine_state import EngineState
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.image import make_image, put_spikes
from neuromap.simulation.engine.kernel.team import first_cores, make_team
from neuromap.simulation.engine.kernel.together.barrier import ABORT
from neuromap.simulation.engine.kernel.together.far import Far, FarTargets
from neuromap.simulation.engine.list_fast_engine import ListFastEngine
from neuromap.simulation.engine.list_kernel.list_image import (
    first_list_cores,
    make_list_image,
    make_list_team,
    put_reached,
)
from neuromap.simulation.ranks.exchange import Exchange
from neuromap.simulation.ranks.rank_program import FarWires
from neuromap.simulation.ranks.shared_boxes import Meeting, SharedBoxes, shared_boxes

__all__ = ["SharedEngine", "make_shared_engine"]


class _SharedRuns(CompiledRuns):
    """Calls of the kernel on a thread of their own, so that this one hears interrupts while ranks wait."""

    _boxes: SharedBoxes

    def _far(self, far: Far) -> Far:
        return self._boxes.far()

    def _together(self, work: Callable[[int], None], n_threads: int, barrier: NDArray[np.uint64], n_ticks: int) -> None:
        try:
            run_together(work, n_threads, barrier, apart=True)
        except BaseException:
            self._boxes.call_off()
            raise
        if barrier[ABORT]:
            raise KeyboardInterrupt  # of another rank, which says why
        self._boxes.advance(n_ticks)


class _SharedFastEngine(_SharedRuns, FastEngine):
    """The fast engine for the crossbars of one rank."""

    def _teams(self, threads: int) -> Any:
        team = self._workers(make_team(self._image, threads, self._boxes.far()))
        return team, team

    def restore(self, state: EngineState) -> None:
        """Go on from a state of these cores; spikes of other ranks may be longer under way than any of their own."""
        super().restore(replace(state, spikes=state.spikes[:0]))
        put_spikes(self._image, self._state, state.spikes)


class _SharedListEngine(_SharedRuns, ListFastEngine):
    """The fast engine for the synapse lists of one rank."""

    def _teams(self, threads: int) -> Any:
        team = make_list_team(self._image, threads, self._boxes.far())
        return team, team

    def restore(self, state: EngineState) -> None:
        """Go on from a state of these cores."""
        super().restore(replace(state, spikes=state.spikes[:0]))
        put_reached(self._image, self._state, state.spikes)


SharedEngine = _SharedFastEngine | _SharedListEngine


def make_shared_engine(program: Any, wires: FarWires, exchange: Exchange, choice: EngineChoice) -> SharedEngine | None:
    """Load the program of a rank's cores; all ranks call this."""
    # gives none where the ranks share no memory
    require_legal(program, mapped=False, indices_only=True)
    threads = choice.n_threads
    if isinstance(program, Program):
        first = first_cores(program.n_cores, threads)
        delay = np.append(program.delay.reshape(-1), wires.delay).max(initial=0)
        meeting = Meeting.of(exchange, wires, int(delay), first, block=64)
        image = make_image(program, _targets(meeting, wires, wires.axon))
        per_core = 1 << (image.shape.axon_bits + image.shape.slot_bits)
        boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, image.target.dtype, per_core)
        return None if boxes is None else _started(_SharedFastEngine, program, boxes, image, threads, choice.noise_seed)
    first = first_list_cores(program.n_cores, threads)
    meeting = Meeting.of(exchange, wires, program.chip.delay[0], first, block=1)
    words = [np.append(0, np.cumsum(-(-count // 64))) for count in exchange.share(program.axon_counts)]
    bit = wires.axon.copy()
    for peer, word in enumerate(words):
        some = wires.peer == peer
        bit[some] += 64 * word[wires.core[some]]
    lists = make_list_image(program, _targets(meeting, wires, bit))
    boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, np.int64, 1 << 40)
    return None if boxes is None else _started(_SharedListEngine, program, boxes, lists, threads)


def _targets(meeting: Meeting, wires: FarWires, axon: NDArray[np.int64]) -> FarTargets:
    core = meeting.base[wires.peer] + wires.core
    return FarTargets(wires.neuron, core, axon, wires.delay, meeting.n_cores, meeting.most_delay)


def _started(kind: Any, program: Program | ListProgram, boxes: SharedBoxes, *start: Any) -> Any:
    engine = kind.__new__(kind)
    engine.program, engine._boxes = program, boxes
    engine._start(*start)
    return engine
