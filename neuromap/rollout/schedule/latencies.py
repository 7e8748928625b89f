"""Latencies of edges: the ticks that a tick-level schedule leaves at least between the ends of an edge."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING

from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey
    from neuromap.network.network import Network

__all__ = ["MAX_LATENCY", "edge_latencies", "kept_latencies"]

MAX_LATENCY = 1_000_000
"""Greatest latency in ticks, far beyond any chip: so that no sum along a path leaves 64 bits."""


def edge_latencies(network: Network, latencies: Mapping[EdgeKey, int] | None) -> tuple[int, ...]:
    """Put latencies into edge order, 1 for every edge that is not named."""
    if latencies is None:
        return (1,) * len(network.edges)
    if not isinstance(latencies, Mapping):
        raise InputError(
            f"latencies {latencies!r}: not a mapping; give {{(source, target): ticks}} with edges of network "
            f"{network.name}"
        )
    checked = {key: _ticks(network, key, ticks) for key, ticks in latencies.items()}
    return tuple(checked.get(key, 1) for key in network.edges)


def _ticks(network: Network, key: EdgeKey, ticks: int) -> int:
    if key not in network.edges:
        shown = " -> ".join(map(str, key)) if isinstance(key, tuple) else repr(key)
        raise InputError(
            f"latency of edge {shown}: is not an edge of network {network.name}; name its edges as (source, target)"
        )
    try:
        number = None if isinstance(ticks, bool) else operator.index(ticks)
    except TypeError:
        number = None
    if number is None or not 1 <= number <= MAX_LATENCY:
        raise InputError(
            f"latency of edge {' -> '.join(key)}: {ticks!r} ticks; give an integer from 1 to {MAX_LATENCY}"
        )
    return number


def kept_latencies(network: Network, is_tick_level: bool, _latencies: tuple[int, ...]) -> Mapping[EdgeKey, int] | None:
    """Latencies of a rollout of which ``dataclasses.replace`` makes another."""
    # It hands over all fields by their names.
    if not is_tick_level:
        return None
    if len(_latencies) != len(network.edges):
        raise InputError(f"Rollout: the latencies are of a network of other edges; give latencies for {network.name}")
    return dict(zip(network.edges, _latencies, strict=True))
