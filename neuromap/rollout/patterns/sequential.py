"""Most sequential patterns: valid, with as many sequential edges as possible.

The streaming edges of a most sequential pattern are all self-edges and, in every block, a smallest set without
which the block has no cycle. Several patterns may be most sequential (an input and a 3-cycle have 3); *the*
most sequential pattern is the first in lexicographic order of R over the network's edges. The problem is
NP-hard; ``feedback.py`` states up to which size the answer is exact. Beyond it the pattern comes from a heuristic
and ``proven`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.rollout.cycles.blocks import Block, CycleStructure, cycle_structure
from neuromap.rollout.cycles.feedback import MAX_PROGRAM_EDGES, IntegerProgram, OrderSearch, count_smallest
from neuromap.rollout.cycles.greedy_order import greedy_values
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = [
    "MAX_LISTED",
    "MostSequential",
    "enumerate_most_sequential",
    "first_most_sequential",
    "most_sequential",
    "most_sequential_summary",
]

MAX_LISTED = 100_000
"""Most patterns that :func:`most_sequential` lists without a limit."""

Search = OrderSearch | IntegerProgram


@dataclass(frozen=True)
class MostSequential:
    """The most sequential patterns of a network, in short.

    Attributes
    ----------
    first : RolloutPattern
        The first in lexicographic order of R over the network's edges; where ``proven`` is false a valid
        pattern in which no streaming edge could be sequential alone.
    streaming_edges : int
        Number of its streaming edges.
    count : int or None
        Number of all most sequential patterns; ``None`` where not counted.
    proven : bool
        Whether ``first`` is proven to be what it says.
    """

    first: RolloutPattern
    streaming_edges: int
    count: int | None
    proven: bool


def _search(block: Block) -> Search | None:
    """Choose the exact search that solves a block, or ``None``."""
    by_order = OrderSearch(block)
    if by_order.smallest is not None:
        return by_order
    if len(block.pairs) <= MAX_PROGRAM_EDGES:
        program = IntegerProgram(block)
        try:
            if program.smallest is not None:
                return program
        except NotSupportedError:
            return None
    return None


def first_most_sequential(network: Network, structure: CycleStructure | None = None) -> tuple[RolloutPattern, bool]:
    """Find the most sequential pattern, and tell whether that is proven, without counting.

    Parameters
    ----------
    network : Network
        Any network.
    structure : CycleStructure, optional
        The network's cycle structure, where the caller has it already.
    """
    structure = structure or cycle_structure(network)
    values = _base_values(network, structure)
    proven = True
    for block in structure.blocks:
        search = _search(block)
        if search is not None and search.smallest is not None:
            _write(values, block, search.smallest)
        else:
            _write(values, block, greedy_values(block))
            proven = False
    return RolloutPattern(network, tuple(values), "sequential"), proven


def most_sequential_summary(network: Network, structure: CycleStructure | None = None) -> MostSequential:
    """Find the most sequential pattern, count all of them, and tell whether this is proven.

    Parameters
    ----------
    network : Network
        Any network.
    structure : CycleStructure, optional
        The network's cycle structure, where the caller has it already.
    """
    structure = structure or cycle_structure(network)
    first, proven = first_most_sequential(network, structure)
    count: int | None = 1 if proven else None
    for block in structure.blocks:
        number = None if count is None else count_smallest(block)
        count = None if count is None or number is None else count * number
    return MostSequential(first, sum(first.values), count, proven)


def most_sequential(network: Network, limit: int | None = None) -> list[RolloutPattern]:
    """List the most sequential patterns in lexicographic order.

    Parameters
    ----------
    network : Network
        Any network. Where a block is beyond exact search the list holds the heuristic's pattern alone;
        :func:`most_sequential_summary` tells.
    limit : int, optional
        List at most so many.

    Raises
    ------
    NotSupportedError
        If there are more than :data:`MAX_LISTED` and no limit was given.
    """
    if limit is not None:
        return list(islice(enumerate_most_sequential(network), limit))
    found = list(islice(enumerate_most_sequential(network), MAX_LISTED + 1))
    if len(found) > MAX_LISTED:
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
        In lexicographic order of R over the network's edges; only the heuristic's pattern where a block is
        beyond exact search.

    Raises
    ------
    NotSupportedError
        Where the search for the next pattern takes too long; those before have been yielded.
    """
    structure = cycle_structure(network)
    found = [_search(block) for block in structure.blocks]
    searches = [s for s in found if s is not None]
    if len(searches) < len(found):
        yield first_most_sequential(network, structure)[0]
        return
    values = _base_values(network, structure)
    home = {e: b for b, block in enumerate(structure.blocks) for e in block.edges}
    edges = sorted(home, reverse=True)
    for b, search in enumerate(searches):
        assert search.smallest is not None
        _write(values, structure.blocks[b], search.smallest)
    while True:
        yield RolloutPattern(network, tuple(values))
        # Like an odometer: the last edge that can turn from 0 to 1 turns, all later ones start anew.
        for turn in edges:
            if values[turn]:
                continue
            block, search = structure.blocks[home[turn]], searches[home[turn]]
            prefix = (*(values[e] for e in block.edges if e < turn), 1)
            turned = search.first_with(prefix)
            if turned is not None:
                break
        else:
            return
        _write(values, block, turned)
        for b, other in enumerate(structure.blocks):
            if other is not block and other.edges[-1] > turn:
                again = searches[b].first_with(tuple(values[e] for e in other.edges if e < turn))
                assert again is not None
                _write(values, other, again)


def _base_values(network: Network, structure: CycleStructure) -> list[int]:
    values = [0] * len(network.edges)
    for e in structure.self_edges:
        values[e] = 1
    return values


def _write(values: list[int], block: Block, chosen: tuple[int, ...]) -> None:
    for e, r in zip(block.edges, chosen, strict=True):
        values[e] = r
