"""What runs the stimuli of a batch, lent to its threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine, HostEvents
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine

if TYPE_CHECKING:
    from neuromap.simulation.engine.bit_sliced.side_by_side import SideBySide

_FEW_STIMULI, _FEW_TICKS = 96, 1024
"""Stimuli side by side, and ticks of all of them, below which it does not pay."""
_LEAST_SHARE = 0.25
"""Of the cores that are bit-sliced, below which the others' way takes nearly all of the time."""
_BLOCK_VALUES = 2**26
"""Values of input nodes that stimuli side by side may have."""


class _CanFork(Protocol):
    def fork(self) -> Self:
        """Make another one that shares what is only read."""


_Forked = TypeVar("_Forked", bound=_CanFork)


class _Forks(Generic[_Forked]):
    """Something and its forks, each used by one thread at a time."""

    def __init__(self, first: _Forked) -> None:
        self.first = first
        self._free: SimpleQueue[_Forked] = SimpleQueue()
        self._free.put(first)

    @contextmanager
    def take(self) -> Iterator[_Forked]:
        """Lend one; a new one only where all are lent, so that few stimuli take the memory of few."""
        try:
            one = self._free.get_nowait()
        except Empty:
            one = self.first.fork()
        try:
            yield one
        finally:
            self._free.put(one)


class Chips:
    """Engines for the threads, each used by one thread at a time."""

    # noise_seed: that of the first stimulus

    def __init__(self, program: ChipProgram, choice: EngineChoice) -> None:
        self.noise_seed = choice.noise_seed
        self._program = program
        self._side_by_side = (
            getattr(program.chip.kind.engines, "side_by_side", None) if choice.engine == "fast" else None
        )
        self._bit_slicing = choice.bit_slicing
        self._blocks: _Forks[SideBySide] | None = None
        first = make_engine(program, replace(choice, threads=1))
        # Whatever has to be compiled is compiled here: in the main thread an interrupt does not wait for it.
        first.run(HostEvents.none(1))
        self._engines = _Forks(first)

    def take(self) -> AbstractContextManager[Engine]:
        """Lend an engine."""
        return self._engines.take()

    def stimuli_at_once(self, n_stimuli: int, n_ticks: int, n_values: int) -> int:
        """Say how many stimuli should run side by side, a bit for each; 0 for none."""
        # What that needs is made, and compiled, at the first call that finds some: call it in the main thread.
        if self._side_by_side is None or self._bit_slicing is False or n_ticks == 0:
            return 0
        at_once, least = min(n_stimuli, _BLOCK_VALUES // max(1, n_values)), 1 if self._bit_slicing else _FEW_STIMULI
        if at_once < least or (not self._bit_slicing and n_stimuli * n_ticks < _FEW_TICKS):
            return 0
        if self._blocks is None:
            block = self._side_by_side(self._program)
            share = block.bit_sliced.mean()
            if block.lanes < least or share == 0 or (not self._bit_slicing and share < _LEAST_SHARE):
                self._side_by_side = None
                return 0
            block.compile()
            self._blocks = _Forks(block)
        at_once = min(at_once, self._blocks.first.lanes)
        return at_once if at_once >= least else 0

    def take_block(self) -> AbstractContextManager[SideBySide]:
        """Lend what runs stimuli side by side; :meth:`stimuli_at_once` has found some."""
        assert self._blocks is not None
        return self._blocks.take()
