"""What leaves and enters the cores of a program while it runs, without regard to when it arrives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.noc.mesh import Ways, Window
from neuromap.simulation.run.tick_run import TickSpikes, together

__all__ = ["TickWires", "WireCounter", "WireCounts", "WireSums"]

Ints = NDArray[np.int64]
_AT_ONCE = 32
"""Ticks whose spikes are counted together."""


class WireCounts(NamedTuple):
    """What has been counted."""

    spikes: int  # spikes that are sent: one for every target of a neuron that fires
    hops: int  # links between routers that they cross
    crossings: int  # boundaries between chips that they cross
    host_spikes: int  # spikes from the host to axons, input and bias
    readout_spikes: int  # spikes of neurons that are read out, once for every row of the output table


class TickWires(NamedTuple):
    """Where the spikes of one tick go."""

    firing: Ints  # (m,): which of the neurons that fire sends each spike, by position; one may send none, or several
    ways: Ways  # of the spikes that are sent, in coordinates of the counter's window
    readouts: Ints  # (n,): how often each neuron that fires is read out


class WireCounter:
    """Counts spikes on their ways, tick by tick."""

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self._window = Window.of(program)
        self._readouts = np.sort(self._numbers(program.outputs.core, program.outputs.neuron))
        self._counts = WireCounts(0, 0, 0, 0, 0)

    @property
    def window(self) -> Window:
        """The part of the board that the program uses."""
        return self._window

    @property
    def counts(self) -> WireCounts:
        """What was counted so far."""
        return self._counts

    def add(self, spikes: TickSpikes) -> TickWires:
        """Count one tick and say where its spikes go."""
        mesh, cores, neurons = self._window.mesh, spikes.cores, spikes.neurons
        readouts = np.zeros(len(cores), np.int64)
        if len(self._readouts):
            numbers = self._numbers(cores, neurons)
            readouts += np.searchsorted(self._readouts, numbers, "right") - np.searchsorted(self._readouts, numbers)
        sent = self._program.sent_by(cores, neurons)
        ways = self._window.ways_of(self._program, cores[sent.spike], sent.core)
        crossings = 0 if mesh.chips == (1, 1) else int(mesh.crossings(ways).sum())
        now = (len(ways.x), int(ways.hops.sum()), crossings, len(spikes.host_cores), int(readouts.sum()))
        self._counts = WireCounts(*(a + b for a, b in zip(self._counts, now, strict=True)))
        return TickWires(sent.spike, ways, readouts)

    def _numbers(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Ints:
        numbers: Ints = cores.astype(np.int64) * self._program.shape[1] + neurons
        return numbers


class WireSums:
    """The counts alone, of many ticks at once."""

    def __init__(self, program: ChipProgram) -> None:
        self._wires = WireCounter(program)
        self._kept: list[TickSpikes] = []

    @property
    def counts(self) -> WireCounts:
        """What was counted so far."""
        if self._kept:
            self._wires.add(together(self._kept))
            self._kept.clear()
        return self._wires.counts

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        self._kept.append(spikes)
        if len(self._kept) >= _AT_ONCE:
            _ = self.counts
