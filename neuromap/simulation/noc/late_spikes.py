"""Late and overdue spikes: those that have not arrived when the tick in which they are fired ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card

__all__ = ["LateSpike", "LateSpikes"]


class LateSpike(NamedTuple):
    """One spike that is late."""

    tick: int  # the tick in which it is fired
    # core, neuron: the neuron that fires, by row of the program and place in its core
    core: int
    neuron: int
    node: str | None  # its node by the program's labels; ``None`` without a label
    node_index: int  # its place in the node
    arrival_cycles: int  # router cycles from the start of the tick to the arrival
    delay: int  # ticks from the tick in which it is fired to the one in which it is due
    is_overdue: bool  # whether it arrives after the start of the tick in which it is due

    def __str__(self) -> str:
        label = "no label" if self.node is None else f"{self.node}[{self.node_index}]"
        due = f"overdue: it was due in tick {self.tick + self.delay}" if self.is_overdue else "in time for its due tick"
        return (
            f"tick {self.tick}: spike of neuron {self.neuron} of core {self.core} ({label}) arrives "
            f"{self.arrival_cycles} router cycles after the start of the tick, {due}"
        )


@dataclass(frozen=True, eq=False)
class LateSpikes(Card):
    """Spikes that have not arrived when the tick in which they are fired ends, in the order of firing.

    Attributes
    ----------
    tick_cycles : int
        Length of a tick in router cycles.
    n_ticks : int
        Ticks of the run.
    spikes : int
        Spikes that were sent, late or not.
    worst_cycles : int
        Latest arrival, in cycles after the start of the spike's own tick; 0 without a spike.
    tick, core, neuron : ndarray of int64, shape (n,)
        When and where each late spike is fired.
    arrival_cycles : ndarray of int64, shape (n,)
        Cycles from the start of that tick to its arrival.
    delay : ndarray of int64, shape (n,)
        Ticks from that tick to the one in which it is due.
    node, node_index : ndarray of int64, shape (n,)
        Labels of the neurons that fire; node -1 without a label.
    node_names : tuple of str
        Names of the nodes.
    """

    tick_cycles: int
    n_ticks: int
    spikes: int
    worst_cycles: int
    tick: NDArray[np.int64]
    core: NDArray[np.int64]
    neuron: NDArray[np.int64]
    arrival_cycles: NDArray[np.int64]
    delay: NDArray[np.int64]
    node: NDArray[np.int64]
    node_index: NDArray[np.int64]
    node_names: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def is_overdue(self) -> NDArray[np.bool_]:
        """Whether each of them arrives after the start of the tick in which it is due, shape (n,)."""
        overdue: NDArray[np.bool_] = self.arrival_cycles > self.delay * self.tick_cycles
        return overdue

    @property
    def n_overdue(self) -> int:
        """Late spikes that arrive after the start of the tick in which they are due."""
        return int(np.count_nonzero(self.is_overdue))

    def named(self, most: int = 10) -> tuple[LateSpike, ...]:
        """Name the first late spikes.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        tuple of LateSpike
        """
        overdue = self.is_overdue
        return tuple(
            LateSpike(
                tick=int(self.tick[k]),
                core=int(self.core[k]),
                neuron=int(self.neuron[k]),
                node=self.node_names[self.node[k]] if self.node[k] >= 0 else None,
                node_index=int(self.node_index[k]),
                arrival_cycles=int(self.arrival_cycles[k]),
                delay=int(self.delay[k]),
                is_overdue=bool(overdue[k]),
            )
            for k in range(min(most, len(self)))
        )
