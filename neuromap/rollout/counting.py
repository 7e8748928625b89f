"""Counting and enumerating the valid rollout patterns of a network, exactly.

Counting is #P-hard in general. Edges on no cycle are free, self-edges must be streaming, and the blocks of
the strongly connected components are independent: the number is a product over blocks. Every block is
reduced (series, parallel) and then counted over subsets of its nodes, up to
:data:`~neuromap.rollout.cycles.dense_blocks.MAX_COUNTED_NODES` nodes, or by a sweep while its frontier needs at most
:data:`~neuromap.rollout.cycles.frontier.MAX_STATES` states. A block beyond both is *not counted*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.forms.card import Card
from neuromap.network.network import Network
from neuromap.rollout.cycles.acyclic_sums import COUNTING, reduce_graph
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.dense_blocks import MAX_COUNTED_NODES, count_block
from neuromap.rollout.cycles.frontier import MAX_STATES, sweep_block
from neuromap.rollout.cycles.incremental_order import IncrementalOrder
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["Count", "count_valid", "count_valid_patterns", "enumerate_valid", "every_choice"]


@dataclass(frozen=True)
class Count(Card):
    """An exact number, or the reason why there is none.

    Attributes
    ----------
    value : int or None
        The number; ``None`` where it was not counted.
    reason : str
        Why it was not counted; empty where it was.
    """

    value: int | None
    reason: str = ""

    @property
    def proven(self) -> bool:
        """Whether ``value`` is there: what is counted is exact."""
        return self.value is not None


def count_valid(network: Network) -> int | None:
    """Count the valid rollout patterns of a network, exactly.

    Returns
    -------
    int or None
        ``None``: not counted, a component is too large; :func:`count_valid_patterns` tells why.
    """
    return count_valid_patterns(network).value


def count_valid_patterns(network: Network) -> Count:
    """Count the valid rollout patterns of a network, exactly, or tell why not."""
    structure = cycle_structure(network)
    free = len(structure.forward)
    if not structure.blocks:
        return Count(1 << free)
    reduced = [
        reduce_graph([(pair, (1, 1)) for pair in block.pairs], COUNTING, one_block=True) for block in structure.blocks
    ]
    value = COUNTING.product(part.factor for part in reduced)
    # Largest first: what cannot be counted is found out before time is spent on the rest.
    for block in sorted((b for part in reduced for b in part.blocks), key=len, reverse=True):
        nodes = len({n for pair in block for n in pair})
        number = count_block(block) if nodes <= MAX_COUNTED_NODES else sweep_block(block, COUNTING)
        if number is None:
            return Count(
                None,
                f"a block of {nodes} nodes and {len(block)} edges is left after reduction; counted are blocks "
                f"of at most {MAX_COUNTED_NODES} nodes, or with at most {MAX_STATES} states in a sweep",
            )
        value *= number
    return Count(value << free)


def enumerate_valid(network: Network) -> Iterator[RolloutPattern]:
    """Yield the valid rollout patterns of a network, lazily.

    Every beginning of a valid pattern is extendable (by streaming edges), so no search is in vain.

    Yields
    ------
    RolloutPattern
        In lexicographic order of R over the network's edges; the last one is streaming.
    """
    structure = cycle_structure(network)
    node = {name: i for i, name in enumerate(network.nodes)}
    ends = [(node[u], node[v]) for u, v in network.edges]
    on_cycle = [True] * len(ends)
    for e in structure.forward:
        on_cycle[e] = False
    graph = IncrementalOrder(len(node))
    values = [1] * len(ends)
    start = 0
    while True:
        for e in range(start, len(ends)):
            values[e] = int(on_cycle[e] and not graph.add(*ends[e]))
        yield RolloutPattern(network, tuple(values))
        e = len(ends) - 1
        while e >= 0 and values[e]:
            e -= 1
        if e < 0:
            return
        if on_cycle[e]:
            graph.remove(*ends[e])
        values[e] = 1
        start = e + 1


def every_choice(free: Sequence[int], n_edges: int, start: int, stop: int) -> NDArray[np.uint8]:
    """List patterns in the order of enumeration where every choice for some edges is valid."""
    # free: edges that may be either, ascending; all others stream
    # shapes: returns (stop - start, n_edges)
    number = np.arange(start, stop, dtype=np.int64)
    values = np.ones((len(number), n_edges), np.uint8)
    for place, e in enumerate(reversed(free)):
        values[:, e] = (number >> place) & 1
    return values
