"""Most sequential patterns: valid, with as many sequential edges as possible.

Several patterns may be most sequential (an input and a 3-cycle have 3); *the* most sequential pattern is the first in
lexicographic order of R over the network's edges. The search (``cycles/sequential_values.py``) is exact up to a size;
beyond it the pattern comes from a heuristic and ``proven`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.cycles.sequential_values import (
    count_sequential_values,
    enumerate_sequential_values,
    first_sequential_values,
)
from neuromap.rollout.pattern import RolloutPattern

MAX_LISTED = 100_000
"""Most patterns that :func:`most_sequential` lists without a limit."""


@dataclass(frozen=True)
class MostSequential(Card):
    """Summary of the most sequential patterns of a network.

    Attributes
    ----------
    first : RolloutPattern
        The first in lexicographic order of R over the network's edges; if ``proven`` is false, a valid
        pattern in which no single streaming edge can be made sequential.
    streaming_edges : int
        Number of its streaming edges.
    count : int or None
        Number of most sequential patterns; ``None`` if not counted.
    proven : bool
        Whether ``first`` is proven to be the first most sequential pattern.
    """

    first: RolloutPattern
    streaming_edges: int
    count: int | None
    proven: bool


def first_most_sequential(network: Network) -> tuple[RolloutPattern, bool]:
    """Find the most sequential pattern and whether it is proven, without counting."""
    values, proven = first_sequential_values(network)
    return RolloutPattern(network, values, "sequential"), proven


def most_sequential_summary(network: Network) -> MostSequential:
    """Find the most sequential pattern, whether it is proven, and the number of such patterns."""
    first, proven = first_most_sequential(network)
    return MostSequential(first, sum(first.values), count_sequential_values(network), proven)


def most_sequential(network: Network, limit: int | None = None) -> list[RolloutPattern]:
    """List the most sequential patterns in lexicographic order.

    Parameters
    ----------
    network : Network
        Any network. If a block is beyond exact search, the list holds the heuristic's pattern alone;
        see ``proven`` of :func:`most_sequential_summary`.
    limit : int, optional
        Greatest number of patterns to list.

    Raises
    ------
    NotSupportedError
        If there are more than :data:`MAX_LISTED` and no limit was given.
    """
    found = list(islice(enumerate_most_sequential(network), MAX_LISTED + 1 if limit is None else limit))
    if limit is None and len(found) > MAX_LISTED:
        raise NotSupportedError(
            f"network {network.name}: has more than {MAX_LISTED} most sequential patterns; give a limit, or "
            "iterate over enumerate_most_sequential"
        )
    return found


def enumerate_most_sequential(network: Network) -> Iterator[RolloutPattern]:
    """Yield the most sequential patterns, lazily.

    Yields
    ------
    RolloutPattern
        In lexicographic order of R over the network's edges; only the heuristic's pattern if a block is
        beyond exact search.

    Raises
    ------
    NotSupportedError
        If the search for the next pattern takes too long; all earlier ones have been yielded.
    """
    every = enumerate_sequential_values(network)
    if every is None:
        yield first_most_sequential(network)[0]
        return
    for values in every:
        yield RolloutPattern(network, values)
