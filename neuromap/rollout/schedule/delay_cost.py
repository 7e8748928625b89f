"""What the delays of a schedule cost where it runs, with nothing said of what that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from neuromap.network.edge import EdgeKey

__all__ = ["DelayCost", "cost_of"]


@dataclass(frozen=True)
class DelayCost:
    """What the delays of edges that leave one node cost together."""

    # Its neurons' spikes wait in chains of relays, each of which serves the edges of all delays beyond it. Where
    # ``is_per_delay``, a neuron of its own sends the spikes of every distinct delay.

    edges: tuple[EdgeKey, ...]  # they leave one node
    # neurons of that node that all the edges read; more relays, or more distinct delays, take so many each
    neurons: int
    # longest delay in ticks that takes no relay, and what every relay adds; ``None`` where no delay takes any
    free_ticks: int | None
    is_per_delay: bool = True  # whether distinct delays cost something
    ticks_per_step: int = 1  # ticks of a unit of delay
    leads: tuple[int, ...] = ()  # ticks that are taken off the delay of each edge; empty for none

    def lead(self, k: int) -> int:
        """Ticks that are taken off the delay of the k-th edge."""
        return self.leads[k] if self.leads else 0

    def of(self, delays: Mapping[EdgeKey, int]) -> int:
        """Count the neurons that delays, in the schedule's unit, cost."""
        ticks = {delays[e] * self.ticks_per_step - self.lead(k) for k, e in enumerate(self.edges)}
        return self.neurons * (self.relays(max(ticks)) + (len(ticks) if self.is_per_delay else 0))

    def relays(self, ticks: int) -> int:
        """Count the relays of a neuron whose longest delay has so many ticks."""
        return 0 if self.free_ticks is None else max(0, -(-ticks // self.free_ticks) - 1)


def cost_of(delays: Mapping[EdgeKey, int], costs: Iterable[DelayCost]) -> int:
    """Add up what delays cost, in neurons."""
    return sum(cost.of(delays) for cost in costs)
