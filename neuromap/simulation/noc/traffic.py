"""What a run does to the network-on-chip: loads of links and ports, arrivals, and the ticks that they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.card import Card
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.mesh import LinkLoad, Mesh
from neuromap.simulation.noc.wires import WireCounts

__all__ = ["Traffic"]


@dataclass(frozen=True, eq=False)
class Traffic(Card):
    """Spikes of a run on the network-on-chip; ``docs/network-on-chip.md`` defines every figure.

    Arrays of links have the shape (6, rows, columns) of the board, ``[direction, y, x]`` of the router that the link
    leaves: 0 east, 1 west, 2 north, 3 south, 4 from the core into the router, 5 from the router into the core.

    Attributes
    ----------
    n_ticks : int
        Ticks of the run.
    spikes : int
        Spikes of neurons with a target; those of neurons that are read out are ``readout_spikes``.
    hops : int
        Links between routers that they cross.
    loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link, summed over the ticks.
    peak_loads : ndarray of int32, shape (6, rows, columns)
        Most of them in one tick, for every link.
    peak_ticks : ndarray of int64, shape (6, rows, columns)
        The first tick in which they were so many; -1 where no spike came.
    full_loads : ndarray of int64, shape (6, rows, columns)
        Spikes over every link if every neuron with a target fires once.
    crossings : int
        Boundaries between chips that the spikes cross.
    host_spikes : int
        Spikes from the host to axons, input and bias.
    readout_spikes : int
        Spikes of neurons that are read out, once for every row of the output table.
    port_peaks : ndarray of int64, shape (rows of chips, columns of chips)
        Most spikes through the ports of every chip in one tick: those that leave it, those that enter it, those from
        the host and those read out.
    shortest_tick_cycles : int
        Worst arrival in the event simulation over all ticks, in router cycles; 0 without a spike.
    shortest_tick_at : int or None
        The first tick in which it occurs; ``None`` without a spike.
    safe_tick_cycles : int
        Worst bound of an arrival over the run's ticks, whatever the order in which links serve spikes.
    safe_tick_any_cycles : int
        The same if every neuron with a target fires in one tick: on the mesh no stimulus needs a longer tick. It must
        be as long as ``port_seconds`` too, which also holds the spikes of the host and of the readout.
    node_arrivals : mapping of str to int
        By node the worst bound of an arrival of its neurons' spikes over the run's ticks, in router cycles; 0 without
        one. Relays and splitters, which bear the label of their source, are left out.
    simulated_ticks : int
        Ticks whose event simulation was needed; in the others the bound shows that none is worse.
    clock : RouterClock
        What a cycle is.
    tick_seconds : float
        Length of a tick by the chip file.
    boundary_spikes_per_second : float or None
        Spikes that all ports of a chip carry together; ``None`` where the chip file lacks it.
    """

    n_ticks: int
    spikes: int
    hops: int
    loads: NDArray[np.int64]
    peak_loads: NDArray[np.int32]
    peak_ticks: NDArray[np.int64]
    full_loads: NDArray[np.int64]
    crossings: int
    host_spikes: int
    readout_spikes: int
    port_peaks: NDArray[np.int64]
    shortest_tick_cycles: int
    shortest_tick_at: int | None
    safe_tick_cycles: int
    safe_tick_any_cycles: int
    node_arrivals: Mapping[str, int]
    simulated_ticks: int
    clock: RouterClock
    tick_seconds: float
    boundary_spikes_per_second: float | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "node_arrivals", ReadOnlyMapping(self.node_arrivals))

    @property
    def wires(self) -> WireCounts:
        """The counts alone."""
        return WireCounts(self.spikes, self.hops, self.crossings, self.host_spikes, self.readout_spikes)

    @property
    def mean_hops(self) -> float | None:
        """Hops per spike; ``None`` without a spike."""
        return self.hops / self.spikes if self.spikes else None

    @property
    def peak_port_spikes(self) -> int:
        """Most spikes through the ports of one chip in one tick, those of the host included."""
        return int(self.port_peaks.max(initial=0))

    @property
    def busiest_link(self) -> LinkLoad | None:
        """The link between routers with most spikes in one tick; ``None`` where no spike leaves its core's router."""
        return self._busiest(self.peak_loads[:4])

    @property
    def busiest_core_link(self) -> LinkLoad | None:
        """The link between a router and its core with most spikes in one tick; ``None`` without a spike."""
        return self._busiest(np.concatenate([np.zeros_like(self.peak_loads[:4]), self.peak_loads[4:]]))

    def _busiest(self, peaks: NDArray[np.int32]) -> LinkLoad | None:
        _, rows, columns = self.peak_loads.shape
        number = int(peaks.argmax())
        load = int(peaks.reshape(-1)[number])
        if not load:
            return None
        link = Mesh(columns, rows, columns, rows).link(number)
        return LinkLoad(link, load, int(self.peak_ticks.reshape(-1)[number]))

    @property
    def shortest_tick_seconds(self) -> float | None:
        """Shortest tick of this run, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.shortest_tick_cycles)

    @property
    def safe_tick_seconds(self) -> float | None:
        """Safe tick of this run, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.safe_tick_cycles)

    @property
    def safe_tick_any_seconds(self) -> float | None:
        """Safe tick for any stimulus, in seconds; ``None`` where the length of a router cycle is not known."""
        return self.clock.seconds(self.safe_tick_any_cycles)

    @property
    def longest_cycle_seconds(self) -> float | None:
        """Longest router cycle with which the chip's tick holds for any stimulus; ``None`` without a target."""
        return self.tick_seconds / self.safe_tick_any_cycles if self.safe_tick_any_cycles else None

    @property
    def port_seconds(self) -> float | None:
        """Time that the busiest chip's ports need in the worst tick; ``None`` where their rate is not known."""
        rate = self.boundary_spikes_per_second
        return self.peak_port_spikes / rate if rate else None
