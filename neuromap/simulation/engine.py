"""What every engine offers: the same program, the same events, the same spikes.

An engine is the only place with mutable state. Whatever runs the ticks, NumPy or compiled kernels, one thread
or many, answers this protocol with equal values, bit by bit; ``tests/simulation`` holds all engines to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.frozen import freeze_arrays
from neuromap.hardware.program import Program

__all__ = ["Engine", "HostEvents", "Spikes", "Totals"]


@dataclass(frozen=True, eq=False)
class HostEvents:
    """Axons that the host feeds in a run of ticks, ordered by tick.

    Attributes
    ----------
    start : ndarray of int64, shape (n_ticks + 1,)
        Events ``start[t]`` to ``start[t + 1] - 1`` are fed in the run's tick t.
    cores, axons : ndarray of int32, shape (n,)
        The axons. Two spikes on one axon in one tick are one.
    """

    start: NDArray[np.int64]
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def none(cls, n_ticks: int) -> Self:
        """No events in ``n_ticks`` ticks."""
        return cls(np.zeros(n_ticks + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @property
    def n_ticks(self) -> int:
        """Ticks of the run."""
        return len(self.start) - 1


class Spikes(NamedTuple):
    """Neurons that fired, ordered by tick, then core, then neuron; all of shape (n,), int64."""

    ticks: NDArray[np.int64]
    cores: NDArray[np.int64]
    neurons: NDArray[np.int64]


class Totals(NamedTuple):
    """What an engine has done since tick 0.

    Attributes
    ----------
    spikes : int
        Neurons that fired, counted once per tick.
    axon_events : int
        Axons that were due, counted once per tick.
    synaptic_events : int
        Synapses on those axons.
    """

    spikes: int
    axon_events: int
    synaptic_events: int


class Engine(Protocol):
    """A chip that runs a program."""

    @property
    def program(self) -> Program:
        """What is loaded."""

    @property
    def tick(self) -> int:
        """The tick that runs next; the first is 0."""

    @property
    def potentials(self) -> NDArray[np.int64]:
        """Potentials V of all neurons after the last tick, a copy, shape (C, N)."""

    def potentials_of(self, cores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Potentials V of some cores, in this order, a copy, shape (n, N)."""

    @property
    def pending(self) -> NDArray[np.int64]:
        """Spikes under way as sorted rows (tick at which it is due, core, axon), shape (n, 3)."""

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""

    def step(
        self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from the present one.

        Parameters
        ----------
        events : HostEvents
            What the host feeds; its tick 0 is the engine's present tick. Indices are not checked here.
        watched : ndarray of bool, shape (C, N), optional
            Neurons whose spikes are returned; all by default.

        Returns
        -------
        Spikes
            Of the watched neurons, with absolute ticks.
        """

    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares what is only read (parameters, crossbars) with this one."""
