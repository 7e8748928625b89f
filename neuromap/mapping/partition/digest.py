"""Name a rollout in ticks by what cores see of it, so that what was made of it is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link

__all__ = ["digest_of"]


def digest_of(network: Legalised) -> bytes | None:
    """Name a rollout in ticks by what decides which neurons share a core, and where cores lie."""
    # That is all but the tick at which it begins, the frame period (where it is a whole number), and, where all edges
    # of an input begin with the same frame, which one that is.
    # gives equal for two networks iff that is equal, as far as SHA-256 tells; ``None`` where neurons are spiking: such
    # networks have one schedule
    if not network.populations or any(p.neuron is not None for p in network.populations):
        return None
    is_even = Fraction(network.period).denominator == 1  # else a shift changes how ticks are rounded
    begin = network.populations[0].sample_tick if is_even else 0
    first_frames: dict[int, set[int]] = {}
    for host in network.host_links:
        first_frames.setdefault(host.node, set()).add(host.first_frame)
    found = hashlib.sha256()

    def add(facts: tuple[object, ...], arrays: Iterable[NDArray[np.generic] | None] = ()) -> None:
        found.update(repr(facts).encode())
        for array in arrays:
            found.update(b"none" if array is None else repr((array.dtype.str, array.shape)).encode())
            found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())

    period = None if is_even else network.period  # it matters only to how ticks are rounded
    add((period, network.shapes, len(network.populations), len(network.links)))
    for port in network.ports:
        add((port.name, port.size, port.kind))
    for p in network.populations:
        roles = (p.is_relay, p.is_output, p.is_splitter, p.is_part)
        add((p.name, p.node, p.shape, roles, p.sample_tick - begin), (p.neurons, p.threshold, p.kept))
    for link in network.links:
        add((link.source, link.target, link.delay, link.groups, link.current), _parts(link))
    for host in network.host_links:
        begins = (host.arrival - begin, host.first_frame if len(first_frames[host.node]) > 1 else None)
        add((host.node, host.target, begins, host.groups, host.current), _parts(host))
    return found.digest()


def _parts(link: Link | HostLink) -> tuple[NDArray[np.generic], ...]:
    matrix = link.matrix
    return np.array(matrix.shape), matrix.indptr, matrix.indices, matrix.data
