"""What a program does while it runs: its traffic and its work, counted in one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from neuromap.forms.card import Card
from neuromap.hardware.program.program import Program
from neuromap.simulation.activity.energy import Counts
from neuromap.simulation.activity.work import Work, WorkCounter
from neuromap.simulation.noc.traffic import Traffic, TrafficCounter
from neuromap.simulation.noc.wires import WireCounts
from neuromap.simulation.run.tick_run import run_ticks

__all__ = ["Activity", "energy_counts", "measure_activity"]


@dataclass(frozen=True, eq=False)
class Activity(Card):
    """Traffic and work of the same run.

    Attributes
    ----------
    traffic : Traffic
        Spikes on the network-on-chip.
    work : Work
        What the cores did.
    chips : int
        Chips of the board.
    """

    traffic: Traffic
    work: Work
    chips: int

    def _facts(self) -> dict[str, object]:
        return {
            "ticks": self.work.n_ticks,
            "synaptic events": self.work.synaptic_events,
            "spikes sent": self.traffic.spikes,
            "links crossed": self.traffic.hops,
            "shortest tick": f"{self.traffic.shortest_tick_cycles} router cycles",
        }

    @property
    def counts(self) -> Counts:
        """What costs energy, for :func:`neuromap.simulation.activity.energy.energy_of`."""
        return energy_counts(self.traffic.wires, self.work, self.chips)


def energy_counts(wires: WireCounts, work: Work, chips: int) -> Counts:
    """Say of a run what costs energy.

    Spikes that are read out leave a core and go to the host, so they count in both places.

    Parameters
    ----------
    wires : WireCounts
        What left and entered the cores.
    work : Work
        What the cores did.
    chips : int
        Chips of the board.

    Returns
    -------
    Counts
    """
    return Counts(
        ticks=work.n_ticks,
        chips=chips,
        neuron_updates=work.neuron_updates,
        synaptic_events=work.synaptic_events,
        spikes=wires.spikes + wires.readout_spikes,
        hops=wires.hops,
        crossings=wires.crossings,
        host_spikes=wires.host_spikes + wires.readout_spikes,
    )


def measure_activity(
    program: Program,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Activity:
    """Run a program once and count its traffic and its work.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size), optional
        Input frames for every input node; without them the host feeds nothing.
    n_ticks : int, optional
        Ticks to run; by default until the slowest output has shown the last frame.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.
    progress : callable, optional
        Called as ``progress(ticks done, ticks in all)``.

    Returns
    -------
    Activity

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If there is no such engine, a number is out of range, or neither frames nor ticks are given.
    ProgramError
        If the program has no output node and ``n_ticks`` is not given, or its tables point outside it.
    """
    ticks = run_ticks(
        program, frames, n_ticks=n_ticks, engine=engine, threads=threads, noise_seed=noise_seed, progress=progress
    )
    traffic, work = TrafficCounter(program), WorkCounter(program)
    for spikes in ticks:
        traffic.add(spikes)
        work.add(spikes)
    return Activity(traffic.result(), work.result(), math.prod(program.chip.chips))
