"""Schedules of many patterns at once: what ``Rollout`` says of each, as arrays with a row per pattern.

Where the only cycles of a network are self-edges, one order of the nodes serves every pattern, and phases and responses
are recurrences along it, computed for all patterns together. Elsewhere every pattern is given to
:class:`~neuromap.rollout.schedule.rollout.Rollout`, which is also what the tests hold the recurrences against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.value import Value
from neuromap.explorer.candidates.graph import Graph
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.cycle_ratio import indexed_cycle_ratio, pipelined_period
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["Schedules", "schedules_of"]

Ints = NDArray[np.int64]
Values = NDArray[np.uint8]
Narrow = NDArray[np.signedinteger[Any]]
"""A row per node or edge, a column per pattern, in a type as narrow as it may be; a period has no rows."""


@dataclass(frozen=True, eq=False)
class Schedules(Value):
    """Schedules of N patterns in one execution, in update steps."""

    # (N,): numerator of the frame period P, which is P itself at equal intervals; 0 where the execution names one that
    # is too short for the pattern, whose other figures then mean nothing
    period: Ints
    frames: Ints  # (N,): denominator of P: so many frames in every ``period`` update steps
    # (N, n): phase of every node, in parts of an update step (``arrays/times.py``), which are steps at equal intervals
    phases: Ints
    delays: Ints  # (N, E): delay of every edge
    # first, full: (N,): least first and greatest full response over the outputs
    first: Ints
    full: Ints
    exact: NDArray[np.bool_]  # (N,): whether the full responses are exact, else upper bounds

    def __post_init__(self) -> None:
        freeze_arrays(self)


def schedules_of(graph: Graph, values: Values, execution: str) -> Schedules:
    """Compute the schedules of many patterns of one network."""
    # shapes: values (N, E)
    return _ordered(graph, values, execution) if graph.is_ordered else _one_by_one(graph, values, execution)


def _ordered(graph: Graph, values: Values, execution: str) -> Schedules:
    """Phases, then responses, node by node in the order that serves every pattern."""
    # No cycle is longer than its streaming edges here, so that P is 1 at best.
    # below a row per edge or node, so that every step runs through memory in order
    chosen = chosen_period(execution) or 1
    r = np.ascontiguousarray(values.T).astype(_wide_enough(graph, chosen))
    into = [[e for e in graph.entering(v) if graph.sources[e] != v] for v in range(graph.n_nodes)]
    if execution == "windowed":
        phase = _windowed_phases(graph, into, r)
        period = phase.max(axis=0)
    else:
        phase = _pipelined_phases(graph, into, r, chosen)
        period = np.full(len(values), chosen, r.dtype)
    _sample_as_late_as_possible(graph, r, period, phase)
    first, full = _responses(graph, into, period * r, phase)
    delays = phase[list(graph.targets)] - phase[list(graph.sources)] + r * period
    return Schedules(
        period.astype(np.int64),
        np.ones(len(values), np.int64),
        phase.T.astype(np.int64),
        delays.T.astype(np.int64),
        first.astype(np.int64),
        full.astype(np.int64),
        np.ones(len(values), np.bool_),
    )


def _wide_enough(graph: Graph, period: int) -> type[np.signedinteger[Any]]:
    """Choose a type that holds all phases: sums of at most one term of the size of P per node."""
    return np.int16 if (graph.n_nodes + 2) * (period + 2) < 2**14 else np.int32


def _windowed_phases(graph: Graph, into: Sequence[Sequence[int]], r: Narrow) -> Narrow:
    """Compute T of frame 1: frame 0 is known, so a streaming edge waits for nothing (a self-edge for one step)."""
    phase = np.zeros((graph.n_nodes, r.shape[1]), r.dtype)
    for v in graph.order:
        if into[v]:
            phase[v] = reduce(np.maximum, (phase[graph.sources[e]] * (1 - r[e]) + 1 for e in into[v]))
    return phase


def _pipelined_phases(graph: Graph, into: Sequence[Sequence[int]], r: Narrow, period: int) -> Narrow:
    """Compute the longest walks, where an edge weighs 1 - R P; a self-edge has delay P whatever the phase."""
    phase = np.zeros((graph.n_nodes, r.shape[1]), r.dtype)
    for v in graph.order:
        if into[v]:
            phase[v] = reduce(np.maximum, (phase[graph.sources[e]] + 1 - r[e] * period for e in into[v]))
    return phase


def _sample_as_late_as_possible(graph: Graph, r: Narrow, period: Narrow, phase: Narrow) -> None:
    """Move every input to the last step at which no edge that leaves it has a delay below 1, in place."""
    for u in graph.inputs:
        phase[u] = np.min([phase[graph.targets[e]] + r[e] * period - 1 for e in graph.leaving(u)], axis=0)


def _responses(graph: Graph, into: Sequence[Sequence[int]], frames: Narrow, phase: Narrow) -> tuple[Narrow, Narrow]:
    """Compute the least first and the greatest full response over the outputs."""
    # Phases aside, a path takes a frame period for each of its streaming edges: ``frames``, by edge.
    least = np.zeros_like(phase)
    most = np.zeros_like(phase)
    for v in graph.order:
        if not into[v]:
            least[v] = most[v] = -phase[v]
            continue
        least[v] = np.min([least[graph.sources[e]] + frames[e] for e in into[v]], axis=0)
        most[v] = np.max([most[graph.sources[e]] + frames[e] for e in into[v]], axis=0)
    first = np.min([phase[o] + least[o] for o in graph.outputs], axis=0)
    full = np.max([phase[o] + most[o] for o in graph.outputs], axis=0)
    return first, full


def _one_by_one(graph: Graph, values: Values, execution: str) -> Schedules:
    network, n_rows = graph.network, len(values)
    period, first, full = (np.zeros(n_rows, np.int64) for _ in range(3))
    phases, delays = np.zeros((n_rows, graph.n_nodes), np.int64), np.zeros((n_rows, graph.n_edges), np.int64)
    exact, frames = np.zeros(n_rows, np.bool_), np.ones(n_rows, np.int64)
    chosen, one_step = chosen_period(execution), (1,) * graph.n_edges
    for k, row in enumerate(values.tolist()):
        pattern = RolloutPattern(network, tuple(row))
        if chosen is not None and chosen < pipelined_period(indexed_cycle_ratio(pattern.indexed, one_step)):
            continue
        rollout = Rollout(network, pattern, execution)
        period[k], frames[k] = rollout.frame_period.numerator, rollout.frame_period.denominator
        phases[k] = in_parts(rollout.phases.values(), rollout.frame_period)
        delays[k] = list(rollout.delays.values())
        first[k] = min(rollout.first_responses.values())
        full[k] = max(response.steps for response in rollout.full_responses.values())
        exact[k] = all(response.is_exact for response in rollout.full_responses.values())
    return Schedules(period, frames, phases, delays, first, full, exact)
