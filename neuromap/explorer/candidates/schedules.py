"""Times of many patterns at once: the schedules of ``Rollout``, a row per pattern.

Where the only cycles of a network are self-edges, one order of the nodes serves every pattern, and phases and responses
are recurrences along it, computed for all patterns together. Elsewhere every pattern is given to
:class:`~neuromap.rollout.schedule.rollout.Rollout`, which is also what the tests hold the recurrences against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.cycle_ratio import indexed_cycle_ratio, pipelined_period
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["Graph", "Schedules", "graph_of", "schedules_of"]

Ints = NDArray[np.int64]
Values = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Graph:
    """A network with its nodes and edges as numbers.

    Attributes
    ----------
    network : Network
        The network (n nodes, E edges).
    sources, targets : tuple of int, one per edge
        Ends of every edge.
    inputs, outputs : tuple of int
        Input and output nodes.
    order : tuple of int
        All nodes, every edge but the self-edges from earlier to later; empty where there are longer cycles.
    tree : tuple of int
        Edges of a spanning forest rooted in the inputs, every edge after the one that leads to it.
    """

    network: Network
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    order: tuple[int, ...]
    tree: tuple[int, ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.network.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.sources)

    @property
    def self_edges(self) -> tuple[int, ...]:
        """Edges from a node to itself; they stream in every valid pattern."""
        return tuple(e for e in range(self.n_edges) if self.sources[e] == self.targets[e])

    @property
    def is_ordered(self) -> bool:
        """Whether one order of the nodes serves every pattern."""
        return bool(self.order)


@dataclass(frozen=True, eq=False)
class Schedules:
    """Schedules of N patterns in one execution, in update steps.

    Attributes
    ----------
    period : ndarray of int64, shape (N,)
        Frame period P; 0 where the execution names one that is too short for the pattern, whose other figures then mean
        nothing.
    phases : ndarray of int64, shape (N, n)
        Phase of every node.
    delays : ndarray of int64, shape (N, E)
        Delay of every edge.
    first, full : ndarray of int64, shape (N,)
        Least first and greatest full response over the outputs.
    exact : ndarray of bool, shape (N,)
        Whether the full responses are exact, else upper bounds.
    """

    period: Ints
    phases: Ints
    delays: Ints
    first: Ints
    full: Ints
    exact: NDArray[np.bool_]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def graph_of(network: Network) -> Graph:
    """Give the nodes and edges of a network numbers, and find what serves all its patterns."""
    number = {name: k for k, name in enumerate(network.nodes)}
    sources = tuple(number[u] for u, _ in network.edges)
    targets = tuple(number[v] for _, v in network.edges)
    inputs = tuple(number[name] for name in network.inputs)
    reached, front, tree = set(inputs), list(inputs), []
    for u in front:
        for e, (source, v) in enumerate(zip(sources, targets, strict=True)):
            if source == u and v not in reached:
                reached.add(v)
                front.append(v)
                tree.append(e)
    order = () if cycle_structure(network).blocks else _order(len(number), sources, targets)
    return Graph(network, sources, targets, inputs, tuple(number[o] for o in network.outputs), order, tuple(tree))


def _order(n: int, sources: tuple[int, ...], targets: tuple[int, ...]) -> tuple[int, ...]:
    edges = [(u, v) for u, v in zip(sources, targets, strict=True) if u != v]
    waiting = [0] * n
    for _, v in edges:
        waiting[v] += 1
    order = [v for v in range(n) if waiting[v] == 0]
    for u in order:
        for source, v in edges:
            if source == u:
                waiting[v] -= 1
                if waiting[v] == 0:
                    order.append(v)
    return tuple(order)


def schedules_of(graph: Graph, values: Values, execution: str) -> Schedules:
    """Compute the schedules of many patterns of one network.

    Parameters
    ----------
    graph : Graph
        The network.
    values : ndarray of uint8, shape (N, E)
        R of every edge, a row per valid pattern.
    execution : {"windowed", "pipelined", "pipelined:P"}
        The execution.

    Returns
    -------
    Schedules
        Equal to those of :class:`~neuromap.rollout.schedule.rollout.Rollout`.
    """
    return _ordered(graph, values, execution) if graph.is_ordered else _one_by_one(graph, values, execution)


def _ordered(graph: Graph, values: Values, execution: str) -> Schedules:
    # below a column per edge or node, so that every step runs through memory in order
    n_rows = len(values)
    into: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for e, (u, v) in enumerate(zip(graph.sources, graph.targets, strict=True)):
        if u != v:
            into[v].append(e)
    windowed, chosen = execution == "windowed", chosen_period(execution) or 1
    # a phase is a sum of at most one term of size P per node
    wide: type[np.signedinteger[Any]] = np.int16 if (graph.n_nodes + 2) * (chosen + 2) < 2**14 else np.int32
    r = np.ascontiguousarray(values.T).astype(wide)
    phase = np.zeros((graph.n_nodes, n_rows), wide)
    for v in graph.order:
        # frame 0 is known, so a windowed streaming edge starts at 0; pipelined walks weigh 1 - R P
        best: NDArray[np.signedinteger[Any]] | None = None
        for e in into[v]:
            u = graph.sources[e]
            known = phase[u] * (1 - r[e]) + 1 if windowed else phase[u] + 1 - r[e] * chosen
            best = known if best is None else np.maximum(best, known)
        if best is not None:
            # a self-edge asks for one step from frame 0 (windowed); pipelined its delay is P whatever the phase
            phase[v] = best
    period = phase.max(axis=0) if windowed else np.full(n_rows, chosen, wide)
    for u in graph.inputs:
        leaving = [e for e in range(graph.n_edges) if graph.sources[e] == u]
        phase[u] = np.min([phase[graph.targets[e]] + r[e] * period - 1 for e in leaving], axis=0)
    least = np.zeros_like(phase)
    most = np.zeros_like(phase)
    for v in graph.order:
        if not into[v]:
            least[v] = most[v] = -phase[v]
            continue
        steps = [(graph.sources[e], period * r[e]) for e in into[v]]
        least[v] = np.min([least[u] + step for u, step in steps], axis=0)
        most[v] = np.max([most[u] + step for u, step in steps], axis=0)
    first = np.min([phase[o] + least[o] for o in graph.outputs], axis=0)
    full = np.max([phase[o] + most[o] for o in graph.outputs], axis=0)
    delays = phase[list(graph.targets)] - phase[list(graph.sources)] + r * period
    return Schedules(
        period.astype(np.int64),
        phase.T.astype(np.int64),
        delays.T.astype(np.int64),
        first.astype(np.int64),
        full.astype(np.int64),
        np.ones(n_rows, np.bool_),
    )


def _one_by_one(graph: Graph, values: Values, execution: str) -> Schedules:
    network, n_rows = graph.network, len(values)
    period, first, full = (np.zeros(n_rows, np.int64) for _ in range(3))
    phases, delays = np.zeros((n_rows, graph.n_nodes), np.int64), np.zeros((n_rows, graph.n_edges), np.int64)
    exact = np.zeros(n_rows, np.bool_)
    chosen, one_step = chosen_period(execution), (1,) * graph.n_edges
    for k, row in enumerate(values.tolist()):
        pattern = RolloutPattern(network, tuple(row))
        if chosen is not None and chosen < pipelined_period(indexed_cycle_ratio(pattern.indexed, one_step)):
            continue
        rollout = Rollout(network, pattern, execution)
        period[k] = rollout.frame_period
        phases[k] = list(rollout.phases.values())
        delays[k] = list(rollout.delays.values())
        first[k] = min(rollout.first_responses.values())
        full[k] = max(response.steps for response in rollout.full_responses.values())
        exact[k] = all(response.is_exact for response in rollout.full_responses.values())
    return Schedules(period, phases, delays, first, full, exact)
