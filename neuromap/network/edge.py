"""An edge of a network: a transformation from one layer to another, in one or more terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from neuromap.errors import NetworkError, prefixed
from neuromap.network.spiking_neuron import MAX_CURRENTS
from neuromap.network.transforms import lent
from neuromap.render.value import Card

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Terms of an edge: weights with a delay of their own, so that synapses of one edge may have different delays.

# Greatest delay of an edge in ticks (4 s at 1 kHz): times along a path stay far inside 64 bits.
MAX_DELAY = 4096


class MatrixSource(Protocol):
    """What an edge needs to build its matrix; implemented in :mod:`neuromap.network.transforms`."""

    @property
    def kind(self) -> str:
        """Name of the transform: ``conv``, ``dense``, ``identity``, ``pool`` or ``matrix``."""

    def matrix(self) -> csr_array:
        """Build the integer matrix of the edge, shape ``(n_target, n_source)``."""


class Term(NamedTuple):
    """Weights of an edge that share a delay and a current."""

    matrix: csr_array  # (n_target, n_source): weights, without explicit zeros
    delay: int  # ticks
    current: int  # which current of the target's neurons they feed


@dataclass(frozen=True, eq=False)
class EdgeTerm(Card):
    """A further transform of an edge of a spiking network, with a delay and a current of its own.

    Attributes
    ----------
    transform : MatrixSource
        Builds the matrix.
    delay : int
        Ticks that a spike takes.
    current : int
        Which current of the target's neurons it feeds: 0, or 1 and up for those of ``more_current_decays``.

    Raises
    ------
    NetworkError
        If a number is out of range.
    """

    transform: MatrixSource
    delay: int = 1
    current: int = 0

    def __post_init__(self) -> None:
        _check_numbers(self)


def _check_numbers(term: EdgeTerm | Edge) -> None:
    """Check delay and current of a term, given as integers of Python or NumPy."""
    for name, low, high in (("delay", 1, MAX_DELAY), ("current", 0, MAX_CURRENTS - 1)):
        value = getattr(term, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
            raise NetworkError(f"{name}: found {value!r:.60}; allowed are {low} to {high}")
        object.__setattr__(term, name, int(value))


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
        Frames (ticks) that a spike takes along the edge; other than 1 only in spiking networks.
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
        with prefixed(f"edge {self.label}: ", NetworkError):
            _check_numbers(self)

    @property
    def by_tensor(self) -> dict[str, Edge | EdgeTerm]:
        """The edge itself and its further terms, by the names of their weights: ``"H1 -> O"``, ``"H1 -> O (1)"``."""
        return {self.label: self} | {f"{self.label} ({k})": term for k, term in enumerate(self.also, start=1)}

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
        return tuple(Term(lent(self._built(term.transform)), term.delay, term.current) for term in self.also)

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
        return self._built(self.transform)

    def _built(self, transform: MatrixSource) -> csr_array:
        with prefixed(f"edge {self.label}: ", NetworkError):
            return transform.matrix()

    def matrix(self) -> csr_array:
        """Weights as an integer sparse matrix, built once.

        Returns
        -------
        csr_array of int64, shape (n_target, n_source)
            No explicit zeros. Its arrays are read-only, and replacing them does not change the network.

        Raises
        ------
        NetworkError
            If the edge has structure only, or its weights are not known.
        """
        return lent(self._matrix)


def edge_pair(edge: object) -> EdgeKey:
    """Convert an edge as given to a pair of names."""
    if not isinstance(edge, Sequence) or isinstance(edge, str) or len(edge) != 2:
        raise NetworkError(f"edge {edge!r:.60}: is not a pair (source, target) of names")
    return str(edge[0]), str(edge[1])
