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
    """Where in a program; ``None`` for what does not apply, nothing but that where it is the program as a whole."""

    core: int | None = None  # row of ``Program.coordinates``
    # neuron, axon: within the core
    neuron: int | None = None
    axon: int | None = None
    axon_type: int | None = None  # axon type of a weight
    # host_row, output_row: row of the host or output table
    host_row: int | None = None
    output_row: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class Violation:
    """One value of a program that breaks a rule of its chip."""

    rule: str  # name of the rule, as listed in ``docs/program-file.md``
    place: Place  # where
    found: int | tuple[int, ...]  # the value
    bound: str  # what is allowed
    message: str  # all of it in one line


@dataclass(frozen=True, eq=False)
class Finding(Value):
    """All violations of one rule by one array: positions, and how to describe one of them."""

    rule: str  # name of the rule
    positions: NDArray[np.int64]  # (n, axes): indices of the offending entries
    # position to place, value found, bound and what the value is called
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
