"""R of the most sequential patterns, as plain values in edge order.

The streaming edges of a most sequential pattern are all self-edges and, in every block, a smallest set without which
the block has no cycle. The problem is NP-hard; ``feedback.py`` and ``integer_program.py`` state up to which size the
answer is sought exactly; what a solver finds is proven where whole numbers certify it (``certified_least.py``). Beyond
that size the values come from a heuristic (``greedy_order.py``) and are not proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import Block, CycleStructure, cycle_structure
from neuromap.rollout.cycles.feedback import OrderSearch, Values, count_smallest
from neuromap.rollout.cycles.greedy_order import greedy_values
from neuromap.rollout.cycles.integer_program import MAX_PROGRAM_EDGES, IntegerProgram
from neuromap.rollout.cycles.once_per_network import once_per_network

__all__ = ["count_sequential_values", "enumerate_sequential_values", "first_sequential_values"]

Search: TypeAlias = OrderSearch | IntegerProgram


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


@once_per_network
def first_sequential_values(network: Network) -> tuple[Values, bool]:
    """Find the most sequential values, and tell whether that is proven; searched once per network."""
    structure = cycle_structure(network)
    values = _only_self_edges(structure, len(network.edges))
    proven = True
    for block in structure.blocks:
        search = _search(block)
        if search is not None and search.smallest is not None:
            _write(values, block, search.smallest)
            proven = proven and not (isinstance(search, IntegerProgram) and not search.is_certified)
        else:
            _write(values, block, greedy_values(block))
            proven = False
    return tuple(values), proven


def count_sequential_values(network: Network) -> int | None:
    """Count the most sequential patterns; ``None`` where the first one is not proven or a block is too large."""
    _, proven = first_sequential_values(network)
    count: int | None = 1 if proven else None
    for block in cycle_structure(network).blocks:
        number = None if count is None else count_smallest(block)
        count = None if count is None or number is None else count * number
    return count


def enumerate_sequential_values(network: Network) -> Iterator[Values] | None:
    """Yield the most sequential values in lexicographic order, lazily."""
    # ``None`` where a block is beyond exact search.
    structure = cycle_structure(network)
    searches: list[Search] = []
    for block in structure.blocks:
        search = _search(block)
        if search is None:
            return None
        searches.append(search)
    return _in_order(structure, searches, len(network.edges))


def _in_order(structure: CycleStructure, searches: Sequence[Search], n_edges: int) -> Iterator[Values]:
    """Count like an odometer: the last edge that can turn from 0 to 1 turns, all later ones start anew."""
    values = _only_self_edges(structure, n_edges)
    for block, search in zip(structure.blocks, searches, strict=True):
        _write(values, block, _found(search.smallest))
    home = {e: b for b, block in enumerate(structure.blocks) for e in block.edges}
    edges = sorted(home, reverse=True)
    while True:
        yield tuple(values)
        for turn in edges:
            if values[turn]:
                continue
            block, search = structure.blocks[home[turn]], searches[home[turn]]
            turned = search.first_with((*(values[e] for e in block.edges if e < turn), 1))
            if turned is not None:
                break
        else:
            return
        _write(values, block, turned)
        for other, again in zip(structure.blocks, searches, strict=True):
            if other is not block and other.edges[-1] > turn:
                _write(values, other, _found(again.first_with(tuple(values[e] for e in other.edges if e < turn))))


def _found(values: Values | None) -> Values:
    assert values is not None, "smallest values exist, and begin with their own beginning"
    return values


def _only_self_edges(structure: CycleStructure, n_edges: int) -> list[int]:
    values = [0] * n_edges
    for e in structure.self_edges:
        values[e] = 1
    return values


def _write(values: list[int], block: Block, chosen: Values) -> None:
    for e, r in zip(block.edges, chosen, strict=True):
        values[e] = r
