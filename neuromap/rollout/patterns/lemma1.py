"""Lemma 1: bounds for the number of valid rollout patterns, in the form that is true.

1 <= n <= number of valid patterns <= 2^(|E| - |self-edges|), with n = 2^(edges on no cycle), or n = product of
(2^|p| - 1) over pairwise *node-disjoint simple* cycles p. The paper lets the cycles be edge-disjoint closed
trails; that is false, see ``docs/errata.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from neuromap.forms.card import Card
from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_packing import pack_cycles, product_of
from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import indexed_network

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
        The node-disjoint simple cycles behind ``cycle_bound``, each as its nodes in order. Self-edges, cycles
        of length 1 with factor 1, are left out.
    cycle_bound_proven : bool
        Whether no choice of cycles gives more. A bound it is in any case.
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
    after: dict[int, list[int]] = {}
    for u, v in (pair for block in structure.blocks for pair in block.pairs):
        after.setdefault(u, []).append(v)
    cycles = []
    proven = True
    # Blocks share nodes, so disjointness is a matter of whole components.
    components = (sorted(c) for c in indexed_network(network).components if len(c) > 1)
    for nodes in sorted(components):
        inner: nx.DiGraph[int] = nx.DiGraph()
        inner.add_nodes_from(nodes)
        inner.add_edges_from((u, v) for u in nodes for v in after[u])
        chosen, best = pack_cycles(inner)
        cycles += chosen
        proven = proven and best
    return Lemma1Bounds(
        forward_bound=1 << len(structure.forward),
        cycle_bound=product_of(cycles),
        upper_bound=1 << (len(network.edges) - len(structure.self_edges)),
        cycles=tuple(tuple(names[i] for i in cycle) for cycle in cycles),
        cycle_bound_proven=proven,
    )
