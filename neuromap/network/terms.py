"""Terms of an edge: weights with a delay of their own, so that synapses of one edge may take different times."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple, Protocol

from neuromap.errors import NetworkError
from neuromap.network.neurons.spiking_neuron import MAX_CURRENTS
from neuromap.render.value import Card

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
        delay, current = checked_term(self.delay, self.current)
        object.__setattr__(self, "delay", delay)
        object.__setattr__(self, "current", current)


def checked_term(delay: object, current: object) -> tuple[int, int]:
    """Take a delay and the number of a current, as integers of Python or NumPy; refuse those that cannot be."""
    return _within("delay", delay, 1, MAX_DELAY), _within("current", current, 0, MAX_CURRENTS - 1)


def _within(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise NetworkError(f"{name}: found {value!r:.60}; allowed are {low} to {high}")
    return int(value)
