"""Join nodes that are computed in one tick and read the same signals, so that their neurons share cores and axons.

Joined nodes are one population: its features are those of its nodes side by side, sorted so that features which read
the same sources are neighbours. Every neuron keeps the label of its node, and later stages see nothing special.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.legalise import HostLink, Legalised, Link, Matrix, Population

__all__ = ["can_join", "join_nodes"]

Ints = NDArray[np.int64]
_L = TypeVar("_L", Link, HostLink)


def can_join(network: Legalised, a: int, b: int) -> bool:
    """Whether two populations have one image size and one tick, and read some signal both."""
    p, q = network.populations[a], network.populations[b]
    if p.shape is None or q.shape is None or p.shape[:2] != q.shape[:2] or p.shape[0] * p.shape[1] == 1:
        return False
    return p.sample_tick == q.sample_tick and bool(_signals_into(network, a) & _signals_into(network, b))


def _signals_into(network: Legalised, target: int) -> set[tuple[int, ...]]:
    chip = {(0, link.source, link.delay) for link in network.links if link.target == target}
    host = {(1, h.node, h.arrival, h.first_frame) for h in network.host_links if h.target == target}
    return chip | host


def join_nodes(network: Legalised, groups: Sequence[Sequence[int]]) -> Legalised:
    """Join groups of populations.

    Parameters
    ----------
    network : Legalised
        Populations and links.
    groups : sequence of sequence of int
        Disjoint groups of populations, any two of which :func:`can_join`.

    Returns
    -------
    Legalised
        With one population per group, at the place of its first member.
    """
    member_of = {m: group[0] for group in groups for m in group}
    kept = [i for i in range(len(network.populations)) if member_of.get(i, i) == i]
    number = {old: new for new, old in enumerate(kept)}
    populations = [network.populations[i] for i in kept]
    target = [number[member_of.get(i, i)] for i in range(len(network.populations))]
    place: list[Ints] = [np.arange(len(p.neurons)) for p in network.populations]
    for group in groups:
        joined, places = _join(network, group)
        populations[number[group[0]]] = joined
        for member, where in zip(group, places, strict=True):
            place[member] = where
    sizes = [len(p.neurons) for p in populations]

    links: dict[tuple[int, ...], list[tuple[Link, Matrix]]] = {}
    for link in network.links:
        s, t = target[link.source], target[link.target]
        moved = _moved(link.matrix, place[link.target], place[link.source], (sizes[t], sizes[s]))
        links.setdefault((s, t, link.delay), []).append((link, moved))
    host: dict[tuple[int, ...], list[tuple[HostLink, Matrix]]] = {}
    for feed in network.host_links:
        t, width = target[feed.target], feed.matrix.shape[1]
        moved = _moved(feed.matrix, place[feed.target], np.arange(width), (sizes[t], width))
        host.setdefault((feed.node, t, feed.arrival, feed.first_frame), []).append((feed, moved))
    return replace(
        network,
        populations=tuple(populations),
        links=tuple(replace(_sum(parts), source=key[0], target=key[1]) for key, parts in links.items()),
        host_links=tuple(replace(_sum(parts), target=key[1]) for key, parts in host.items()),
    )


def _sum(parts: list[tuple[_L, Matrix]]) -> _L:
    link = parts[0][0]
    if len(parts) == 1:
        return replace(link, matrix=parts[0][1])
    total = parts[0][1]
    for _, matrix in parts[1:]:
        total = sparse.csr_array(total + matrix)
    return replace(link, matrix=total, groups=None)


def _moved(matrix: Matrix, rows: Ints, columns: Ints, shape: tuple[int, int]) -> Matrix:
    if matrix.shape == shape and (np.diff(rows) == 1).all() and (np.diff(columns) == 1).all():
        return matrix
    triples: Any = matrix.tocoo()
    return sparse.csr_array((triples.data, (rows[triples.row], columns[triples.col])), shape=shape)


def _join(network: Legalised, group: Sequence[int]) -> tuple[Population, list[Ints]]:
    """Make the population of a group, and say where every member's neurons are in it."""
    members = [network.populations[m] for m in group]
    shapes = [p.shape for p in members]
    assert all(shape is not None for shape in shapes), "can_join saw to it"
    rows, columns = members[0].shape[:2] if members[0].shape is not None else (0, 0)
    features = [shape[2] for shape in shapes if shape is not None]
    shared = set.intersection(*(_signals_into(network, m) for m in group))
    first_read = np.concatenate([_first_read(network, m, n, shared) for m, n in zip(group, features, strict=True)])
    member = np.repeat(np.arange(len(group)), features)
    order = np.lexsort((np.arange(len(member)), member, first_read))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    total = sum(features)
    places, start = [], 0
    for n in features:
        pixel = np.repeat(np.arange(rows * columns), n)
        places.append(pixel * total + rank[start + np.tile(np.arange(n), rows * columns)])
        start += n
    size = rows * columns * total
    neurons, label, theta = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    read_out = np.zeros(size, bool)
    for p, where in zip(members, places, strict=True):
        neurons[where], label[where], theta[where], read_out[where] = p.neurons, p.label, p.threshold, p.read_out
    joined = replace(
        members[0],
        name="+".join(p.name for p in members),
        neurons=neurons,
        shape=(rows, columns, total),
        threshold=theta,
        is_output=bool(read_out.any()),
        labels=label,
        outputs=read_out,
    )
    return joined, places


def _first_read(network: Legalised, population: int, features: int, shared: set[tuple[int, ...]]) -> Ints:
    """Return, feature by feature, the first source that it reads of a signal that all members read."""
    first = np.full(features, np.iinfo(np.int64).max)
    if not shared:
        return first
    wanted = min(shared)
    for link in network.links:
        if link.target == population and (0, link.source, link.delay) == wanted:
            _note(first, link.matrix)
    for feed in network.host_links:
        if feed.target == population and (1, feed.node, feed.arrival, feed.first_frame) == wanted:
            _note(first, feed.matrix)
    return first


def _note(first: Ints, matrix: Matrix) -> None:
    read = np.diff(matrix.indptr)
    feature = np.repeat(np.arange(len(read)) % len(first), read)
    np.minimum.at(first, feature, matrix.indices.astype(np.int64))
