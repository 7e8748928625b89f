"""Energy per frame of a program in steady operation: frames follow each other without end, start-up left out.

The given frames are fed in a circle. After enough of them the counting begins; it ends as many frame periods later as
there are frames in the circle. So every input edge delivers every frame just once while it is counted, wherever the
program's clock begins: programs that are equal up to the labels of their frames have equal energy. (Networks with
cycles may remember how they began; they begin in silence, which is the same for all whose thresholds are 1 or more.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program import Program
from neuromap.simulation.energy import Counts, energy_of
from neuromap.simulation.noc.mesh import Mesh, ways_of
from neuromap.simulation.tick_run import TickSpikes, run_ticks
from neuromap.simulation.work import WorkCounter

__all__ = ["energy_per_frame", "steady_counts"]

Frames = Mapping[str, NDArray[np.bool_]]


@dataclass
class _Wires:
    """Counts what leaves the cores, tick by tick."""

    program: Program
    spikes: int = 0
    hops: int = 0
    crossings: int = 0
    host_spikes: int = 0

    def __post_init__(self) -> None:
        self._mesh = Mesh.of(self.program.chip)
        self._readouts = np.zeros(self.program.target_core.shape, np.int64)
        np.add.at(self._readouts, (self.program.outputs.core, self.program.outputs.neuron), 1)

    def add(self, spikes: TickSpikes) -> None:
        sent = self.program.target_core[spikes.cores, spikes.neurons] >= 0
        ways = ways_of(self.program, spikes.cores[sent], spikes.neurons[sent])
        read_out = int(self._readouts[spikes.cores, spikes.neurons].sum())
        self.spikes += int(sent.sum()) + read_out
        self.hops += int(ways.hops.sum())
        if self.program.chip.chips != (1, 1):
            self.crossings += int(self._mesh.crossings(ways).sum())
        self.host_spikes += len(spikes.host_cores) + read_out


def steady_counts(program: Program, frames: Frames, **run: Any) -> Counts:
    """Count what costs energy while every frame of a circle is fed once, in steady operation.

    Parameters
    ----------
    program : Program
        Mapped.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        The circle of input frames, checked.
    **run
        Engine, threads and noise seed, as in :func:`neuromap.simulation.tick_run.run_ticks`.

    Returns
    -------
    Counts
        Over ``n_frames`` frame periods.
    """
    n_frames = len(next(iter(frames.values())))
    # silence puts networks that keep still in it into one state, whatever their first frame is called; then the circle,
    # until everything depends on it: along a path delays add up to three frame periods per node, at most
    silent = len(program.nodes) + 1
    warm = 3 * len(program.nodes)
    circle = {name: np.roll(rows, warm, axis=0) for name, rows in frames.items()}
    n_rows = warm + 2 * n_frames + warm
    fed = {
        name: np.concatenate([np.zeros((silent, rows.shape[1]), np.bool_), np.resize(rows, (n_rows, rows.shape[1]))])
        for name, rows in circle.items()
    }
    first_input = min(port.sample_tick for port in program.nodes if port.kind == "input")
    begin = max(0, first_input + (silent + warm) * program.period)
    end = begin + n_frames * program.period
    work, wires = WorkCounter(program), _Wires(program)
    before: tuple[int, ...] = ()
    for spikes in run_ticks(program, fed, n_ticks=end, **run):
        if spikes.tick == begin:
            before = _totals(work, wires)
        work.add(spikes)
        wires.add(spikes)
    events, updates, sent, hops, crossings, host = (b - a for a, b in zip(before, _totals(work, wires), strict=True))
    return Counts(end - begin, math.prod(program.chip.chips), updates, events, sent, hops, crossings, host)


def _totals(work: WorkCounter, wires: _Wires) -> tuple[int, ...]:
    done = work.result()
    return (
        done.synaptic_events, done.neuron_updates, wires.spikes, wires.hops, wires.crossings, wires.host_spikes
    )  # fmt: skip


def energy_per_frame(program: Program, frames: Frames, **run: Any) -> float | None:
    """Energy of one frame in steady operation, in joules.

    Parameters
    ----------
    program : Program
        Mapped.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        The circle of input frames, checked.
    **run
        As in :func:`steady_counts`.

    Returns
    -------
    float or None
        All terms whose figures the chip has; ``None`` where it has none.
    """
    if not program.chip.energy:
        return None
    counts = steady_counts(program, frames, **run)
    joules = energy_of(program.chip, counts).joules
    return None if joules is None else joules / len(next(iter(frames.values())))
