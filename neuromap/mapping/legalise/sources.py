"""What a population reads: the matrices of all links into it, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Matrix

__all__ = ["Sources", "join_sources"]

Ints = NDArray[np.int64]
LOOKED_AT = 64
"""Neurons of a population among which the one with the greatest demand is sought."""


@dataclass(frozen=True, eq=False)
class Sources(Value):
    """The joined matrix of all links into a population."""

    links: tuple[Link | HostLink, ...]  # in the order of the columns
    matrix: Matrix  # (n, s): their matrices side by side
    # link_of, neuron_of: (s,): link of each column, and the neuron of the link's source
    link_of: Ints
    neuron_of: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def fed_by_chip(self) -> NDArray[np.bool_]:
        """Which columns are neurons of the chip; shape (s,)."""
        return np.array([isinstance(link, Link) for link in self.links], bool)[self.link_of]

    @property
    def busiest(self) -> list[int]:
        """Neurons with most synapses, some dozens of them."""
        order: list[int] = np.argsort(-np.diff(self.matrix.indptr), kind="stable")[:LOOKED_AT].tolist()
        return order

    def weights_of(self, neuron: int) -> Ints:
        """Nonzero weights of one neuron, shape (1, s)."""
        weights: Ints = self.matrix[[neuron]].data.astype(np.int64)[None, :]
        return weights


def join_sources(network: Legalised) -> tuple[Sources, ...]:
    """Join the links into every population: those of the chip first, then the host's."""
    into: list[list[Link | HostLink]] = [[] for _ in network.populations]
    all_links: list[Link | HostLink] = [*network.links, *network.host_links]
    for link in all_links:
        into[link.target].append(link)
    return tuple(_join(links, len(p.neurons)) for links, p in zip(into, network.populations, strict=True))


def _join(links: list[Link | HostLink], n_neurons: int) -> Sources:
    widths = [link.matrix.shape[1] for link in links]
    empty: Matrix = sparse.csr_array((n_neurons, 0), dtype=np.int64)
    matrix: Matrix = sparse.hstack([empty, *(link.matrix for link in links)], format="csr")
    matrix.sort_indices()
    return Sources(
        tuple(links),
        matrix,
        np.repeat(np.arange(len(links)), widths),
        np.concatenate([np.arange(w) for w in widths]) if widths else np.zeros(0, np.int64),
    )
