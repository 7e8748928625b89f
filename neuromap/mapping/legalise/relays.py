"""Links over relays and splitters, which are made as they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.legalise.legalised import Link, Matrix, Population

__all__ = ["LinkBuilder", "read_over_relays"]


def read_over_relays(ways: Iterable[tuple[int, Matrix, tuple[int, ...]]]) -> dict[int, NDArray[np.int64]]:
    """Find the neurons of every node that somebody reads over relays or splitters."""
    # gives by the number of the node; ascending
    read: dict[int, list[NDArray[np.int64]]] = {}
    for source, matrix, legs in ways:
        if len(legs) > 1:
            read.setdefault(source, []).append(matrix.indices.astype(np.int64))
    return {source: np.unique(np.concatenate(neurons)) for source, neurons in read.items()}


class LinkBuilder:
    """Collects populations and links; relays of one source are shared by all delays that they serve."""

    # populations: the nodes, then relays and splitters
    # links: each with a delay of one leg

    def __init__(self, nodes: Sequence[Population], carried: Mapping[int, NDArray[np.int64]]) -> None:
        self.populations = list(nodes)
        self.links: list[Link] = []
        self._carried = carried
        self._relays: dict[tuple[int, int], int] = {}  # by what they read, and its delay

    def connect(
        self,
        source: int,
        target: int,
        matrix: Matrix,
        legs: tuple[int, ...],
        groups: int | None,
        *,
        is_splitter: bool,
        current: int = 0,
    ) -> None:
        """Link two populations in one or more legs; all but the last end in a relay or splitter."""
        reached = source
        for number, leg in enumerate(legs[:-1], start=1):
            reached = self._relay(source, reached, leg, number, is_splitter)
        if reached != source:
            matrix = sparse.csr_array(matrix[:, self.populations[reached].neurons])
        self.links.append(Link(reached, target, matrix, legs[-1], groups, current))

    def _relay(self, origin: int, before: int, leg: int, number: int, is_splitter: bool) -> int:
        """Find the relays that are one leg behind ``before``, or make them."""
        if (before, leg) not in self._relays:
            source, neurons = self.populations[origin], self._carried[origin]
            size = len(neurons)
            relay = len(self.populations)
            self._relays[before, leg] = relay
            self.populations.append(
                Population(
                    name=f"{source.name} splitter" if is_splitter else f"{source.name} relay {number}",
                    node=source.node,
                    neurons=neurons,
                    shape=None,
                    threshold=np.ones(size, np.int64),
                    is_relay=True,
                    is_output=False,
                    sample_tick=self.populations[before].sample_tick + leg,
                    is_splitter=is_splitter,
                )
            )
            wires = neurons if before == origin else np.arange(size)
            matrix = sparse.csr_array(
                (np.ones(size, np.int64), (np.arange(size), wires)),
                shape=(size, len(self.populations[before].neurons)),
            )
            self.links.append(Link(before, relay, matrix, leg))
        return self._relays[before, leg]
