"""A pattern with nodes and edges as integers: the common ground of cycle ratio, phases and responses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from neuromap.forms.card import Card
from neuromap.rollout.cycles.indexed_network import IndexedNetwork

__all__ = ["IndexedPattern"]


@dataclass(frozen=True, eq=False)
class IndexedPattern(Card):
    """The values of a pattern on the edges of an indexed network."""

    graph: IndexedNetwork  # the network; all its patterns share it
    values: tuple[int, ...]  # R, 0 or more, in edge order; in spiking networks the delay of every edge, 1 or more

    @cached_property
    def sequential_order(self) -> list[int]:
        """Nodes in an order that every edge with R = 0 follows."""
        # All nodes iff the pattern is valid; else those that no cycle of such edges leads to.
        graph = self.graph
        waits = [0] * graph.n
        for v, r in zip(graph.targets, self.values, strict=True):
            waits[v] += r == 0
        order = [v for v in range(graph.n) if waits[v] == 0]
        for u in order:  # grows while it is read: Kahn's algorithm without recursion
            for e in graph.outgoing[u]:
                if self.values[e] == 0:
                    v = graph.targets[e]
                    waits[v] -= 1
                    if waits[v] == 0:
                        order.append(v)
        return order
