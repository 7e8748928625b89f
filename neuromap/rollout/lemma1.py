"""Lemma 1: bounds for the number of valid rollout patterns, in the form that is true.

1 <= n <= number of valid patterns <= 2^(|E| - |self-edges|), with n = 2^(edges on no cycle), or n = product of
(2^|p| - 1) over simple cycles p that share no edge and whose union contains no further simple cycle. The paper lets the
cycles be edge-disjoint closed trails; that is false, see ``docs/errata.md``. Here the cycles share no node within a
block (biconnected component); no simple cycle leaves its block, so these are such.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from neuromap.forms.card import Card
from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_packing import pack_cycles, product_of
from neuromap.rollout.cycles.cycle_structure import cycle_structure

__all__ = ["Lemma1Bounds", "lemma1_bounds"]


@dataclass(frozen=True)
class Lemma1Bounds(Card):
    """Bounds of Lemma 1 (Fischer, Köhler, Pfeil 2018, corrected).

    Attributes
    ----------
    forward_bound : int
        2 to the number of edges on no cycle: a lower bound.
    cycle_bound : int
        Product of 2^|p| - 1 over ``cycles``: a lower bound.
    upper_bound : int
        2 to the number of edges that are no self-edges.
    cycles : tuple of tuple of str
        The simple cycles behind ``cycle_bound``, each as its nodes in order; those of one block share no node.
        Self-edges, cycles of length 1 with factor 1, are left out.
    cycle_bound_proven : bool
        Whether no choice of cycles that share no node within a block gives more. A bound it is in any case.
    """

    forward_bound: int
    cycle_bound: int
    upper_bound: int
    cycles: tuple[tuple[str, ...], ...]
    cycle_bound_proven: bool


def lemma1_bounds(network: Network) -> Lemma1Bounds:
    """Bound the number of valid rollout patterns of a network.

    The best choice of cycles is NP-hard; ``cycle_packing.py`` states up to which size it is found.
    """
    structure = cycle_structure(network)
    names = list(network.nodes)
    cycles = []
    proven = True
    for pairs in sorted(sorted(block.pairs) for block in structure.blocks):
        chosen, best = pack_cycles(nx.DiGraph(pairs))
        cycles += chosen
        proven = proven and best
    return Lemma1Bounds(
        forward_bound=1 << len(structure.forward),
        cycle_bound=product_of(cycles),
        upper_bound=1 << (len(network.edges) - len(structure.self_edges)),
        cycles=tuple(tuple(names[i] for i in cycle) for cycle in cycles),
        cycle_bound_proven=proven,
    )
