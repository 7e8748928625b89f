"""A broken rule as data, and how rules report many of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value

__all__ = ["Finding", "Place", "Violation", "find"]


@dataclass(frozen=True)
class Place:
    """Where in a program; ``None`` for what does not apply, nothing but that where it is the program as a whole.

    Attributes
    ----------
    core : int or None
        Row of ``Program.coordinates``.
    neuron, axon : int or None
        Within the core.
    axon_type : int or None
        Axon type of a weight.
    host_row, output_row : int or None
        Row of the host or output table.
    """

    core: int | None = None
    neuron: int | None = None
    axon: int | None = None
    axon_type: int | None = None
    host_row: int | None = None
    output_row: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class Violation:
    """One value of a program that breaks a rule of its chip.

    Attributes
    ----------
    rule : str
        Name of the rule, as listed in ``docs/program-file.md``.
    place : Place
        Where.
    found : int or tuple of int
        The value.
    bound : str
        What is allowed.
    message : str
        All of it in one line.
    """

    rule: str
    place: Place
    found: int | tuple[int, ...]
    bound: str
    message: str


@dataclass(frozen=True, eq=False)
class Finding(Value):
    """All violations of one rule by one array: positions, and how to describe one of them.

    Attributes
    ----------
    rule : str
        Name of the rule.
    positions : ndarray of int64, shape (n, axes)
        Indices of the offending entries.
    describe : callable
        Position to place, value found, bound and what the value is called.
    """

    rule: str
    positions: NDArray[np.int64]
    describe: Callable[[tuple[int, ...]], tuple[Place, int | tuple[int, ...], str, str]]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.positions)

    def violation(self, i: int) -> Violation:
        """Describe the i-th offending entry."""
        place, found, bound, what = self.describe(tuple(int(k) for k in self.positions[i]))
        return Violation(
            rule=self.rule,
            place=place,
            found=found,
            bound=bound,
            message=f"{place}{': ' if str(place) else ''}{what} is {found}; needs {bound} (rule {self.rule})",
        )


def find(
    rule: str,
    offending: NDArray[np.bool_],
    describe: Callable[..., tuple[Place, int | tuple[int, ...], str, str]],
) -> Finding:
    """Make a finding of a mask; ``describe`` takes one index per axis of the mask."""
    return Finding(rule, np.argwhere(offending).astype(np.int64), lambda position: describe(*position))
