"""SpikingNeuron: what integer neurons that remember have in common, whatever they compute."""

from __future__ import annotations

import operator
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.errors import NetworkError
from neuromap.forms.card import Card

__all__ = ["MAX_CURRENTS", "SpikingNeuron", "checked_integers", "one_value"]

Ints = NDArray[np.int64]

MAX_CURRENTS = 16
"""Currents of one neuron."""


@dataclass(frozen=True, eq=False)
class SpikingNeuron(Card, ABC):
    """Integer neurons of a node, one set of values per neuron."""

    model: ClassVar[str]  # what network files call the class
    parameters: ClassVar[Mapping[str, tuple[int, int]]]  # names and bounds of what every neuron has a value of
    settings: ClassVar[Mapping[str, tuple[int, int]]]  # names and bounds of what all neurons of a node have in common

    threshold: Ints  # (): what makes a neuron spike

    def __post_init__(self) -> None:
        for name, bounds in self.settings.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not bounds[0] <= value <= bounds[1]:
                raise NetworkError(f"neuron: {name}: found {value!r:.60}; allowed are {bounds[0]} to {bounds[1]}")
        for name in self.parameters:
            object.__setattr__(self, name, checked_integers(name, getattr(self, name), self._bounds(name)))
        freeze_arrays(self)

    @property
    def n_currents(self) -> int:
        """Currents of each neuron that edges can feed."""
        return 1

    @property
    def arrays(self) -> dict[str, Ints]:
        """All arrays by their names, in the order of the class."""
        return {name: getattr(self, name) for name in self.parameters}

    def with_arrays(self, arrays: Mapping[str, Ints]) -> Self:
        """Return the same neuron with other arrays."""
        changed: dict[str, Any] = self.arrays | dict(arrays)
        return replace(self, **changed)

    def spread(self, size: int) -> Self:
        """Give every neuron of a node its values."""
        for name, array in self.arrays.items():
            if array.shape not in ((), (size,)):
                raise NetworkError(f"neuron: {name}: found {list(array.shape)} values; allowed are one, or {size}")
        return self._changed(lambda array: np.broadcast_to(array, (size,)))

    def require_consistent(self) -> None:
        """Refuse values that do not go together; asked before a network is computed."""

    def as_bytes(self) -> bytes:
        """Write all values in a row: equal for neurons of one model iff they compute the same."""
        settings = repr([getattr(self, name) for name in self.settings]).encode()
        return settings + b"".join(array.tobytes() for array in self.arrays.values())

    def take(self, neurons: Ints) -> Self:
        """Take some neurons, in this order, of values of one per neuron."""
        return self._changed(lambda array: array[neurons])

    def _changed(self, change: Callable[[Ints], Ints]) -> Self:
        return self.with_arrays({name: change(array) for name, array in self.arrays.items()})

    def _bounds(self, name: str) -> tuple[int, int]:
        return self.parameters[name]

    def _facts(self) -> dict[str, object]:
        return {name: _span(array) for name, array in self.arrays.items()} | {
            k: getattr(self, k) for k in self.settings
        }


def checked_integers(name: str, values: ArrayLike, bounds: tuple[int, int]) -> Ints:
    """Take integers, one or one per neuron."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype == object or (array.dtype.kind not in "iu" and not _is_whole(values)) or array.ndim > 1:
        raise NetworkError(f"neuron: {name}: found {values!r:.60}; allowed are integers, one or one per neuron")
    if array.size and not bounds[0] <= int(array.min()) <= int(array.max()) <= bounds[1]:
        wrong = int(array.min()) if int(array.min()) < bounds[0] else int(array.max())
        raise NetworkError(f"neuron: {name}: found {wrong}; allowed are {bounds[0]} to {bounds[1]}")
    return frozen(array.astype(np.int64))


def one_value(values: Ints) -> int | None:
    """Give the value that all neurons have, if they have one."""
    return int(values.flat[0]) if values.size and values.min() == values.max() else None


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type] # asks whether it is one
    except TypeError:
        return False
    return not isinstance(value, bool)


def _span(values: Ints) -> str:
    low, high = int(values.min(initial=2**62)), int(values.max(initial=-(2**62)))
    return str(low) if low >= high else f"{low} to {high}"
