"""Theorem 1 of Fischer, Köhler, Pfeil 2018: its four statements, checked one by one on a pattern.

For a valid pattern R these are equivalent: (a) R is equally model-parallel to streaming; (b) F(R) = 1;
(c) T((i, v)) <= i in windows of every size; (d) T is minimal everywhere over all valid patterns. Nothing here
derives one statement from another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import networkx as nx

from neuromap.errors import PatternError
from neuromap.files.argument_checks import needs
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern, check_window


@dataclass(frozen=True)
class Theorem1(Card):
    """The four statements about one pattern.

    Attributes
    ----------
    equally_model_parallel : bool
        (a) R equals streaming on all edges that do not start in an input node.
    factor_is_one : bool
        (b) F(R) = 1.
    in_time : bool
        (c) T((i, v)) <= i for all frames i.
    minimal : bool
        (d) T is nowhere larger than that of any valid pattern.
    """

    equally_model_parallel: bool
    factor_is_one: bool
    in_time: bool
    minimal: bool

    @property
    def statements(self) -> tuple[bool, bool, bool, bool]:
        """The statements (a), (b), (c), (d)."""
        return (self.equally_model_parallel, self.factor_is_one, self.in_time, self.minimal)

    @property
    def agrees(self) -> bool:
        """Whether all four are true or all four are false, as the theorem says."""
        return len(set(self.statements)) == 1


def check_theorem1(
    pattern: RolloutPattern, window: int = 2, others: Iterable[RolloutPattern] | None = None
) -> Theorem1:
    """Check the four statements on a valid pattern.

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern.
    window : int
        Size of the window in which (c) and (d) are checked. (c) for a window of size 1 implies it for all:
        frame i of a window starts from frame i - 1 as frame 1 does from frame 0, and T adds at most what
        frame 1 took. If it fails, it already fails at frame 1.
    others : iterable of RolloutPattern, optional
        Valid patterns to compare with in (d), for example :func:`~neuromap.rollout.behaviour.enumerate_valid`.
        By default T is compared with :func:`least_tableau`, a bound that no pattern beats and streaming
        reaches.

    Raises
    ------
    PatternError
        If the pattern is invalid, or bridges frames: the theorem is about R = 0 and 1.
    """
    needs("check_theorem1", pattern, RolloutPattern, PatternError)
    pattern.require_binary("check_theorem1")
    tableau = pattern.tableau(window)
    streaming = RolloutPattern.streaming(pattern.network)
    rivals = [least_tableau(pattern, window)] if others is None else [p.tableau(window) for p in others]
    return Theorem1(
        equally_model_parallel=pattern.equally_model_parallel(streaming),
        factor_is_one=pattern.inference_factor == 1,
        in_time=all(t <= i for (i, _), t in RolloutWindow(pattern, window).tableau_by_paths().items()),
        minimal=all(t <= rival[n] for rival in rivals for n, t in tableau.items()),
    )


def least_tableau(pattern: RolloutPattern, window: int) -> dict[tuple[int, str], int]:
    """Lower bound on T over all valid patterns of the same network."""
    # A path of k edges that ends in v gives T((i, v)) >= min(i, k) under every valid pattern: walked backwards from (i,
    # v) it enters at most one frame lower per edge, so min(i, k) of its edges end above frame 0. With k = the length of
    # the longest walk into v (unbounded behind a cycle) the bound is reached by streaming.
    network = pattern.network
    sources: dict[str, list[str]] = {n: [] for n in network.nodes}
    for u, v in network.edges:
        sources[v].append(u)
    longest = dict.fromkeys(network.nodes, 0)  # longest walk into a node, cut at the frames passed so far
    found = {(0, n): 0 for n in network.nodes}
    for i in range(1, window + 1):
        longest = {n: 1 + max(longest[u] for u in us) if us else 0 for n, us in sources.items()}
        found.update({(i, n): min(i, k) for n, k in longest.items()})
    return found


# Rollout windows: W + 1 copies of a network's nodes, their states, and the update.
#
# The definitions of Fischer, Köhler, Pfeil 2018, section 2, as they stand; the tableau is computed in two
# independent ways, which the tests compare.


WindowNode: TypeAlias = tuple[int, str]
State: TypeAlias = frozenset[WindowNode]


@dataclass(frozen=True)
class RolloutWindow(Card):
    """The rollout window R_W of a pattern.

    Nodes are pairs (i, v) of a frame i = 0..W and a node v; ((i, u), (j, v)) is an edge iff (u, v) is an edge of
    the network and j = i + R(u, v). Edges inside frame 0 are left out: frame 0 is given, nothing there is
    computed. Frames before frame 0 are given too and have no nodes, so bridging edges from them are left out.
    A state is the set of known nodes.

    Attributes
    ----------
    pattern : RolloutPattern
        Any pattern; it is invalid iff the window has a cycle.
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
        return nx.is_directed_acyclic_graph(nx.DiGraph([*self.edges, *first]))

    @property
    def initial_state(self) -> State:
        """Nodes known before the first update: frame 0, and the inputs of every frame."""
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
        """List the states from the initial one to the fixed point of U.

        For a valid pattern the fixed point is :attr:`full_state`; for an invalid one, nodes on and behind the
        cycle stay unknown.
        """
        found = [self.initial_state]
        while (after := self.update(found[-1])) != found[-1]:
            found.append(after)
        return found

    def tableau_by_updates(self) -> dict[WindowNode, int]:
        """Compute the tableau by its definition: the number of updates until a node is known.

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
        """Compute the tableau as the longest path that ends in a node and uses no edge inside frame 0.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        self.pattern.require_valid()
        inputs = set(self.pattern.network.inputs)
        longest: dict[WindowNode, int] = {}
        for n in nx.topological_sort(self.graph):
            least = int(n[0] > 0 and n[1] not in inputs)  # if all sources lie before frame 0
            longest[n] = max((longest[m] + 1 for m in self.graph.pred[n]), default=least)
        return {n: longest[n] for n in self.nodes}
