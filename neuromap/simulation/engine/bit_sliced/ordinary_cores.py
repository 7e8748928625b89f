"""The cores of a program that are not bit-sliced, in the ordinary kernel: a state for each run, tick by tick."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.bit_sliced.between import States
from neuromap.simulation.engine.bit_sliced.sliced_compiled import sliced_kernel
from neuromap.simulation.engine.bit_sliced.sliced_layout import LANES
from neuromap.simulation.engine.compiled_runs import record_of
from neuromap.simulation.engine.kernel.compiled import compiled
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.layout import State, aligned_empty
from neuromap.simulation.engine.kernel.memory_layout import make_image, make_state, read_only, vector_groups
from neuromap.simulation.engine.kernel.team import make_team
from neuromap.simulation.engine.kernel.workspace import Events, make_scratch

_STATE_BYTES = 1 << 26
"""Memory that the states of all runs may take."""


class OrdinaryCores:
    """States of these cores in up to 512 runs."""

    # lanes: runs at most
    # bit_sliced: the others; they are never visited here
    # shapes: bit_sliced (C,)

    def __init__(self, program: Program, bit_sliced: NDArray[np.bool_]) -> None:
        self._image = make_image(program)
        self._width = (0,) * vector_groups(program.chip.neurons)
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
        """Make others on the same image."""
        other = copy(self)
        other._start()
        return other

    def begin(self, n_runs: int, watched: NDArray[np.bool_]) -> States:
        """Bring runs to the state before tick 0; ``watched`` neurons, (C, N), are kept."""
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

    def tick(self, tick: int, noise_seed: int, kept: NDArray[np.uint64]) -> None:
        """Run one tick of all runs; their noise has this seed and those that follow. Spikes are put into planes."""
        self._record.fired[:] = 0
        compiled().run(
            self._image, self._now, self._begin, self._scratch, self._team, 0, tick, 1, self._n_runs, True,
            self._no_events, 0, self._record, np.uint64(noise_seed), self._width,
        )  # fmt: skip
        if self._record.n_rows:
            sliced_kernel().keep_fired(self._record.fired, self._n_runs, self._places, kept)
