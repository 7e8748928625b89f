"""A rollout as a network in ticks, neuron by neuron: what the checker of certificates compares programs with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import ReadOnly
from neuromap.network.build import require_weights
from neuromap.proof.codes import ABSENT
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TickNetwork(ReadOnly, Card):
    """The fields of a :class:`~neuromap.proof.checker.Certificate` that say what is to be computed."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    first: Ints
    start: Ints
    source: NDArray[np.int32]
    lag: NDArray[np.int16]
    current: NDArray[np.int8]
    weight: NDArray[np.int32]
    threshold: Ints
    state: Mapping[str, Ints]


def tick_network(rollout: Rollout) -> TickNetwork:
    """Write out what a rollout defines: sums of every neuron over sources and frames, thresholds, states."""
    network = rollout.network
    require_weights(network)
    names = tuple(network.nodes)
    sizes = [node.size for node in network.nodes.values()]
    first = np.append(0, np.cumsum(sizes)).astype(np.int64)
    begin = dict(zip(names, first[:-1].tolist(), strict=True))
    entries: list[tuple[NDArray[np.generic], ...]] = []
    for (u, v), edge in network.edges.items():
        if network.is_spiking:
            terms = [(term.matrix, term.delay, term.current) for term in edge.terms]
        else:
            terms = [(edge.matrix(), rollout.pattern[u, v], 0)]
        for matrix, lag, current in terms:
            found = sparse.coo_array(matrix)
            row, column = found.coords
            some = found.data != 0
            row, column, data = row[some], column[some], found.data[some]
            entries.append(
                (
                    (row + begin[v]).astype(np.int32),
                    (column + begin[u]).astype(np.int32),
                    np.full(len(row), lag, np.int16),
                    np.full(len(row), current, np.int8),
                    data.astype(np.int32),
                )
            )
    row, source, lags, currents, weight = (np.concatenate(some) for some in zip(*entries, strict=True))
    order = np.argsort(row, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(row, minlength=first[-1]))).astype(np.int64)
    inputs, outputs = set(network.inputs), set(network.outputs)
    kinds = tuple("input" if n in inputs else "output" if n in outputs else "hidden" for n in names)
    threshold = np.ones(first[-1], np.int64)
    for name, node in network.nodes.items():
        if node.threshold is not None:
            threshold[begin[name] : begin[name] + node.size] = node.threshold
    return TickNetwork(
        names,
        kinds,
        first,
        start,
        source[order],
        lags[order],
        currents[order],
        weight[order],
        threshold,
        _states(rollout, begin, int(first[-1])),
    )


def _states(rollout: Rollout, begin: Mapping[str, int], n: int) -> dict[str, Ints]:
    """Spread the parameters of neurons with state over all neurons."""
    state: dict[str, Ints] = {}
    for name, node in rollout.network.nodes.items():
        neuron = node.neuron
        if neuron is None:
            continue
        here = slice(begin[name], begin[name] + node.size)
        values = {key: getattr(neuron, key) for key in (*neuron.parameters, *neuron.settings)} | neuron.arrays
        for key, value in values.items():
            state.setdefault(key, np.full(n, ABSENT, np.int64))[here] = value
    return state
