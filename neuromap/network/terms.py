"""Terms of an edge: weights with a delay of their own, so that synapses of one edge may take different times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from neuromap.errors import NetworkError
from neuromap.forms.card import Card
from neuromap.network.neurons.spiking_neuron import MAX_CURRENTS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["MAX_DELAY", "EdgeTerm", "MatrixSource", "Term", "check_term"]

MAX_DELAY = 4096
"""Greatest delay of an edge in ticks (4 s at 1 kHz): times along a path stay far inside 64 bits."""


class MatrixSource(Protocol):
    """What an edge needs to build its matrix; implemented in the folder ``transforms``."""

    @property
    def kind(self) -> str:
        """Name of the transform: ``conv``, ``dense``, ``identity``, ``pool`` or ``matrix``."""

    def matrix(self) -> csr_array:
        """Build the integer matrix of the edge, shape ``(n_target, n_source)``."""


class Term(NamedTuple):
    """Weights of an edge that share a delay and a current.

    Attributes
    ----------
    matrix : csr_array of int64, shape (n_target, n_source)
        Weights, without explicit zeros.
    delay : int
        Ticks.
    current : int
        Which current of the target's neurons they feed.
    """

    matrix: csr_array
    delay: int
    current: int


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
        check_term(self.delay, self.current)


def check_term(delay: int, current: int) -> None:
    """Refuse a delay or the number of a current that cannot be.

    Raises
    ------
    NetworkError
        Naming it.
    """
    for name, value, low, high in (("delay", delay, 1, MAX_DELAY), ("current", current, 0, MAX_CURRENTS - 1)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise NetworkError(f"{name}: found {value!r:.60}; allowed are {low} to {high}")
