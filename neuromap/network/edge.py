"""An edge of a network: a transformation from one layer to another, in one or more terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from neuromap.errors import NetworkError
from neuromap.network.terms import EdgeTerm, MatrixSource, Term, checked_term
from neuromap.network.transforms.kinds import lent
from neuromap.render.value import Card

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EdgeKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Edge(Card):
    """A transformation from one node to another (or the same).

    Attributes
    ----------
    source, target : str
        Names of the nodes.
    transform : MatrixSource or None
        Builds the matrix; ``None`` where the network has structure only.
    delay : int
        Frames, which are ticks, that a spike takes over the edge; other than 1 in spiking networks only.
    current : int
        Which current of the target's neurons it feeds, in spiking networks.
    also : tuple of EdgeTerm
        Further transforms of the edge, with delays and currents of their own, in spiking networks.

    Raises
    ------
    NetworkError
        If a delay or the number of a current is out of range.
    """

    source: str
    target: str
    transform: MatrixSource | None = None
    delay: int = 1
    current: int = 0
    also: tuple[EdgeTerm, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.also, Sequence) or not all(isinstance(term, EdgeTerm) for term in self.also):
            raise NetworkError(f"edge {self.label}: also: found {self.also!r:.60}; give EdgeTerms")
        object.__setattr__(self, "also", tuple(self.also))
        try:
            delay, current = checked_term(self.delay, self.current)
        except NetworkError as error:
            raise NetworkError(f"edge {self.label}: {error}") from None
        object.__setattr__(self, "delay", delay)
        object.__setattr__(self, "current", current)

    @property
    def delays(self) -> tuple[int, int]:
        """Least and greatest delay of its terms, in ticks."""
        delays = [self.delay, *(term.delay for term in self.also)]
        return min(delays), max(delays)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All transforms of the edge as matrices, each with its delay and current.

        Raises
        ------
        NetworkError
            As :meth:`matrix`.
        """
        return (Term(self.matrix(), self.delay, self.current), *self._more_terms)

    @cached_property
    def _more_terms(self) -> tuple[Term, ...]:
        try:
            return tuple(Term(lent(term.transform.matrix()), term.delay, term.current) for term in self.also)
        except NetworkError as error:
            raise NetworkError(f"edge {self.label}: {error}") from None

    @property
    def key(self) -> EdgeKey:
        """The pair ``(source, target)``."""
        return (self.source, self.target)

    @property
    def label(self) -> str:
        """The edge as it is written in files: ``"H1 -> O"``."""
        return f"{self.source} -> {self.target}"

    @cached_property
    def _matrix(self) -> csr_array:
        if self.transform is None:
            raise NetworkError(
                f'edge {self.label}: has no transform, so no weights; add transform = "dense" or another'
            )
        try:
            return self.transform.matrix()
        except NetworkError as error:
            raise NetworkError(f"edge {self.label}: {error}") from None

    def matrix(self) -> csr_array:
        """Weights as an integer sparse matrix, built once.

        Returns
        -------
        csr_array of int64, shape (n_target, n_source)
            No explicit zeros. Its arrays are read-only, and what is put in their place changes the network as little.

        Raises
        ------
        NetworkError
            If the edge has structure only, or its weights are not known.
        """
        return lent(self._matrix)


def edge_pair(edge: object) -> EdgeKey:
    """Take an edge as it is given: a pair of names."""
    if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
        raise NetworkError(f"edge {edge!r:.60}: is no pair (source, target) of names")
    return str(edge[0]), str(edge[1])
