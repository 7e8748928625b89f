"""Runs of a program side by side, one bit each, in blocks of up to 512."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.compiling import announced
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.bit_sliced.sliced_compiled import LANES, PLANE, WORDS, Fed, States, sliced_kernel
from neuromap.simulation.engine.bit_sliced.sliced_image import make_sliced_image, make_sliced_state, sliced_targets
from neuromap.simulation.engine.engine import NO_SPIKES, FeedPlan, Spikes
from neuromap.simulation.engine.fast_engine import CALL_SECONDS, record_of
from neuromap.simulation.engine.kernel.compiled import compiled
from neuromap.simulation.engine.kernel.layout import State, aligned_empty, extent
from neuromap.simulation.engine.kernel.memory_layout import make_image, make_state, read_only
from neuromap.simulation.engine.kernel.team import make_team
from neuromap.simulation.engine.kernel.workspace import Call, Events, make_scratch

# The cores of a program that are not bit-sliced, in the ordinary kernel: one state per run, tick by tick.


# Most memory for the states of all runs.
_STATE_BYTES = 1 << 26


class OrdinaryCores:
    """States of the cores that are not bit-sliced, in up to 512 runs."""

    # lanes: largest number of runs
    # bit_sliced: the other cores; they are never visited here
    # shapes: bit_sliced (C,)

    def __init__(self, program: Program, bit_sliced: Bools) -> None:
        self._image = make_image(program)
        self._row_cores = np.flatnonzero(bit_sliced).astype(np.int32)
        self._begin = make_state(program, self._image)
        self._begin.awake[self._row_cores] = 0
        self.lanes = max(1, min(LANES, _STATE_BYTES // sum(array.nbytes for array in self._begin)))
        self._start()

    def _start(self) -> None:
        self._states: list[NDArray[Any]] | None = None
        self._scratch = make_scratch(self._image, self._image.shape.n_cores)
        self._team = make_team(self._image, 1)

    def fork(self) -> Self:
        """Make another one on the same image."""
        other = copy(self)
        other._start()
        return other

    def begin(self, n_runs: int, watched: Bools) -> States:
        """Set runs to the state before tick 0; spikes of ``watched`` neurons, (C, N), are kept."""
        begin: tuple[NDArray[Any], ...] = tuple(self._begin)
        if self._states is None:
            self._states = [aligned_empty(self.lanes * len(array), array.dtype) for array in begin]
        self._n_runs = n_runs
        self._now = State(*(a[: n_runs * len(b)] for a, b in zip(self._states, begin, strict=True)))
        for a, b in zip(self._states, begin, strict=True):
            a[: n_runs * len(b)].reshape(n_runs, len(b))[:] = b
        groups = extent(self._image.shape.groups)
        mine = watched.copy()
        mine[self._row_cores] = False
        record, cores = record_of(mine, groups)
        self._record = record._replace(fired=np.zeros(n_runs * record.n_rows * groups, np.uint32))
        places = np.zeros((record.n_rows, 32 * groups), np.int64)
        places[:, : watched.shape[1]] = (np.cumsum(watched).reshape(watched.shape) - 1)[cores]
        self._places = read_only(places.reshape(-1))
        start, nothing = np.zeros(n_runs + 1, np.int64), np.zeros(0, np.int32)
        self._no_events = Events(read_only(start), read_only(nothing), read_only(nothing))
        shape = self._image.shape
        return States(n_runs, shape.n_cores, extent(shape.words), self._row_cores, self._now.ring, self._now.busy)

    def tick(self, tick: int, noise_seed: int, kept: Words) -> None:
        """Run one tick of all runs, with noise seeds from ``noise_seed`` on; write watched spikes into planes."""
        self._record.fired[:] = 0
        call = Call(tick, 1, self._n_runs, True, self._no_events, 0, self._record, np.uint64(noise_seed))
        compiled().run(self._image, self._now, self._begin, self._scratch, self._team, 0, call)
        if self._record.n_rows:
            sliced_kernel().keep_fired(self._record.fired, self._n_runs, self._places, kept)


_NAME = "the fast engine for stimuli side by side"
_TILE = 64
# Most bytes of spike planes that one kernel call may write.
_KEPT_BYTES = 1 << 21
_NO_STATES = States(0, 0, 0, np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.uint8))


class SideBySide:
    """Runs stimuli side by side."""

    # bit_sliced: (C,): cores that are bit-sliced; the others run in the ordinary kernel, one stimulus after the other
    # in every tick
    # lanes: most stimuli side by side: 512, or fewer if states of the other cores would take too much memory

    def __init__(self, program: Program) -> None:
        self.program = program
        with announced(_NAME):
            self._image, self._cores, self._neurons = make_sliced_image(program)
        self.bit_sliced = np.zeros(program.n_cores, np.bool_)
        self.bit_sliced[self._cores] = True
        self._others = None if self.bit_sliced.all() else OrdinaryCores(program, self.bit_sliced)
        self.lanes = LANES if self._others is None else self._others.lanes
        self._start()

    def _start(self) -> None:
        self._state = make_sliced_state(self._image)
        self._pace = 0.0  # seconds per tick of the last call
        self._tile = np.zeros(_TILE, np.uint64)

    def compile(self) -> None:
        """Compile or load everything that :meth:`run` needs; otherwise its first call does."""
        nothing = np.zeros(0, np.int32)
        plan = FeedPlan(np.zeros(2, np.int64), nothing, nothing, nothing)
        with announced(_NAME):
            self.run(plan, np.zeros((1, 0), np.bool_), np.ones(self.program.shape, np.bool_))

    def fork(self) -> Self:
        """Make another one on the same image."""
        other = copy(self)
        other._others = None if self._others is None else self._others.fork()
        other._start()
        return other

    def run(
        self,
        plan: FeedPlan,
        frames: Bools,
        watched: Bools,
        noise_seed: int = 0,
        is_called_off: Callable[[], bool] = lambda: False,
    ) -> Spikes:
        """Run stimuli, each from the state before tick 0, on this thread only."""
        # frames: values of S stimuli, at most ``lanes``, in the plan's columns
        # shapes: frames (S, columns); watched (C, N)
        n_runs, fed = len(frames), self._fed(plan, frames)
        self._state.due[:] = 0
        self._state.busy[:] = 0
        states = _NO_STATES if self._others is None else self._others.begin(n_runs, watched)
        kept_of, cores, neurons = self._watch(watched)
        run_ticks = sliced_kernel().run_sliced_ticks
        parts, tick = [np.zeros((2, 0), np.int64)], 0
        while tick < plan.n_ticks:
            if is_called_off():
                return NO_SPIKES
            n_ticks = min(plan.n_ticks - tick, self._ticks_at_once(len(cores)))
            kept = np.zeros(-(-n_ticks * len(cores) // _TILE) * _TILE * PLANE, np.int16)
            began = time.perf_counter()
            at_once = n_ticks if self._others is None else 1  # otherwise the other cores come next
            for later in range(0, n_ticks, at_once):
                mine = kept[later * len(cores) * PLANE :]
                run_ticks(self._image, self._state, states, fed, tick + later, at_once, kept_of, mine, len(cores))
                if self._others is not None:
                    self._others.tick(tick + later, noise_seed, mine.view(np.uint64))
            self._pace = (time.perf_counter() - began) / n_ticks
            parts.append(self._listed(kept, n_runs) + tick * np.array([[0], [len(cores)]]))
            tick += n_ticks
        run, place = np.concatenate(parts, axis=1)
        if len(parts) > 2:
            order = np.argsort(run, kind="stable")
            run, place = run[order], place[order]
        tick_of, which = np.divmod(place, max(len(cores), 1))
        return Spikes(run * plan.n_ticks + tick_of, cores[which], neurons[which])

    def _ticks_at_once(self, n_kept: int) -> int:
        pace = int(CALL_SECONDS / self._pace) if self._pace else 1
        return max(1, min(_KEPT_BYTES // max(2 * PLANE * n_kept, 1), pace))

    def _fed(self, plan: FeedPlan, frames: Bools) -> Fed:
        """Lay out the frames of stimuli as planes; the last plane is for spikes that are always fed."""
        n_runs, n_columns = frames.shape
        padded = np.zeros(frames.size + _TILE, np.uint8)
        padded[: frames.size] = frames.view(np.uint8).reshape(-1)
        planes = aligned_empty((n_columns + 1) * PLANE, np.int16)
        planes[n_columns * PLANE :] = -1
        sliced_kernel().make_planes(padded, n_columns, n_runs, n_columns, planes.view(np.uint64), self._tile)
        axon = sliced_targets(self.program, self._cores, plan.cores, plan.axons)
        column = np.where(plan.columns < 0, n_columns, plan.columns).astype(np.int32)
        return Fed(*(read_only(array) for array in (plan.start, axon, column, planes)))

    def _watch(self, watched: Bools) -> tuple[NDArray[np.int32], Ints, Ints]:
        """Plane of every neuron of the image (-1 for none), and the cores and neurons of all planes."""
        cores, neurons = np.nonzero(watched)
        place = np.cumsum(watched.reshape(-1)) - 1
        kept_of = np.where(watched.reshape(-1)[self._neurons], place[self._neurons], -1)
        return kept_of.astype(np.int32), cores, neurons

    def _listed(self, kept: NDArray[np.int16], n_runs: int) -> Ints:
        """List run and plane number of all spikes, run by run, shape (2, n)."""
        words = kept.view(np.uint64)
        found = np.empty((2, int(np.bitwise_count(words).sum(dtype=np.int64))), np.int64)
        rows = np.empty(len(words) // WORDS, np.uint64)
        n = sliced_kernel().list_planes(words, len(rows), n_runs, rows, self._tile, found[0], found[1])
        return found[:, :n]
