"""What a program does while it runs: its traffic and its work."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card
from neuromap.simulation.cost.energy import Counts
from neuromap.simulation.cost.work import Work
from neuromap.simulation.noc.traffic import Traffic
from neuromap.simulation.noc.wires import WireCounts

__all__ = ["Activity", "energy_counts"]


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
        """What costs energy, for :func:`neuromap.simulation.cost.energy.energy_of`."""
        return energy_counts(self.traffic.wires, self.work, self.chips)


def energy_counts(wires: WireCounts, work: Work, chips: int) -> Counts:
    """Say of a run what costs energy."""
    # Spikes that are read out leave a core and go to the host, so they count in both places.
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
