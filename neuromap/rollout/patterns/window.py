"""Rollout windows: W + 1 copies of a network's nodes, their states, and the update.

The definitions of Fischer, Köhler, Pfeil 2018, section 2, as they stand; the tableau is found in two
independent ways, which the tests compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import networkx as nx

from neuromap.files.given import needs
from neuromap.forms.card import Card
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.patterns.tableau import check_window

__all__ = ["RolloutWindow", "State", "WindowNode"]

WindowNode: TypeAlias = tuple[int, str]
State: TypeAlias = frozenset[WindowNode]


@dataclass(frozen=True)
class RolloutWindow(Card):
    """The rollout window R_W of a pattern.

    Nodes are pairs (i, v) of a frame i = 0..W and a node v; ((i, u), (j, v)) is an edge iff (u, v) is an edge of
    the network and j = i + R(u, v). Edges inside frame 0 are left out: frame 0 is given, nothing there is
    computed. Frames before frame 0 are given too, and have no nodes: edges that bridge frames and come from there
    are left out. A state is the set of the nodes that are known.

    Attributes
    ----------
    pattern : RolloutPattern
        Any pattern; that the window has a cycle is what makes it invalid.
    size : int
        W, at least 1.

    Raises
    ------
    PatternError
        If the size is below 1.
    """

    pattern: RolloutPattern
    size: int

    def __post_init__(self) -> None:
        needs("RolloutWindow", self.pattern, RolloutPattern)
        check_window(self.size)

    @cached_property
    def nodes(self) -> tuple[WindowNode, ...]:
        """All (W + 1) ``|V|`` nodes, frame by frame."""
        return tuple((i, n) for i in range(self.size + 1) for n in self.pattern.network.nodes)

    @cached_property
    def edges(self) -> tuple[tuple[WindowNode, WindowNode], ...]:
        """All edges, by the frame in which they end: ``W |E|`` where none bridges frames."""
        return tuple(
            ((i - r, u), (i, v)) for i in range(1, self.size + 1) for (u, v), r in self.pattern.items() if r <= i
        )

    @cached_property
    def graph(self) -> nx.DiGraph[WindowNode]:
        """The window as a frozen networkx graph."""
        graph: nx.DiGraph[WindowNode] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        nx.freeze(graph)
        return graph

    @property
    def is_valid(self) -> bool:
        """Whether the window, edges inside frame 0 included, has no cycle."""
        first = [((0, u), (0, v)) for u, v in self.pattern.sequential_edges]
        graph: nx.DiGraph[WindowNode] = nx.DiGraph()
        graph.add_edges_from(self.edges)
        graph.add_edges_from(first)
        return nx.is_directed_acyclic_graph(graph)

    @property
    def initial_state(self) -> State:
        """What is known before the first update: frame 0, and the inputs of every frame."""
        inputs = set(self.pattern.network.inputs)
        return frozenset((i, n) for i, n in self.nodes if i == 0 or n in inputs)

    @property
    def full_state(self) -> State:
        """The state in which every node is known."""
        return frozenset(self.nodes)

    def update(self, state: State) -> State:
        """Apply U once: every node all of whose sources are known becomes known.

        Parameters
        ----------
        state : frozenset of (int, str)
            The known nodes.
        """
        before = self.graph.pred
        return state | frozenset(
            n for n in self.nodes if n[0] > 0 and n not in state and all(m in state for m in before[n])
        )

    def states(self) -> list[State]:
        """List the states from the initial one to the first that U leaves as it is.

        For a valid pattern the last one is :attr:`full_state`; for an invalid one nodes on and behind the
        cycle stay unknown.
        """
        found = [self.initial_state]
        while (after := self.update(found[-1])) != found[-1]:
            found.append(after)
        return found

    def tableau_by_updates(self) -> dict[WindowNode, int]:
        """Find the tableau by its definition: the number of updates until a node is known.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        self.pattern.require_valid()
        found: dict[WindowNode, int] = {}
        for step, state in enumerate(self.states()):
            for n in state:
                found.setdefault(n, step)
        return {n: found[n] for n in self.nodes}

    def tableau_by_paths(self) -> dict[WindowNode, int]:
        """Find the tableau as the longest path that ends in a node and uses no edge inside frame 0.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        self.pattern.require_valid()
        inputs = set(self.pattern.network.inputs)
        longest: dict[WindowNode, int] = {}
        for n in nx.topological_sort(self.graph):
            least = int(n[0] > 0 and n[1] not in inputs)  # where all sources are in frames before frame 0
            longest[n] = max((longest[m] + 1 for m in self.graph.pred[n]), default=least)
        return {n: longest[n] for n in self.nodes}
