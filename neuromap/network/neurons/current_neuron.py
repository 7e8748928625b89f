"""The integer neuron with current and voltage: that of Loihi and its kin, complete without a chip."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.forms.card import Card
from neuromap.network.terms import MAX_CURRENTS

__all__ = ["PARAMETERS", "WIDTHS", "CurrentNeuron", "one_value"]

PARAMETERS: Mapping[str, tuple[int, int]] = ReadOnlyMapping(
    {
        "current_decay": (0, 2**16),
        "voltage_decay": (0, 2**16),
        "threshold": (0, 2**31 - 1),
        "bias": (-(2**31), 2**31 - 1),
        "refractory": (0, 255),
        "current": (-(2**31), 2**31 - 1),
        "voltage": (-(2**31), 2**31 - 1),
    }
)
"""Names and bounds of what every neuron has a value of."""

WIDTHS: Mapping[str, tuple[int, int]] = ReadOnlyMapping(
    {"decay_bits": (1, 16), "current_bits": (2, 32), "voltage_bits": (2, 32)}
)
"""Names and bounds of what all neurons of a node have in common."""


@dataclass(frozen=True, eq=False)
class CurrentNeuron(Card):
    r"""Integer neurons with a current u and a voltage v, one set of values per neuron (Davies et al., IEEE Micro 2018).

    In every frame i >= 1, which is one tick, with divisions that round toward zero and b = ``decay_bits``:

    1. u := u (2^b - current_decay) / 2^b + sum over edges e of W_e x[i - delay(e)], wrapped into ``current_bits``;
       further currents likewise, each with its own decay and the edges that feed it;
    2. v := v (2^b - voltage_decay) / 2^b + all currents + bias, stopped at the rails +-(2^(voltage_bits - 1) - 1);
       or 0 while the neuron rests;
    3. if v > threshold: spike, v := 0, and the neuron rests for ``refractory`` ticks.

    Parameters
    ----------
    current_decay, voltage_decay : array_like of int, shape () or (size,)
        In parts of 2**decay_bits: 0 keeps the value, 2**decay_bits forgets it.
    threshold, bias : array_like of int, shape () or (size,)
        In units of the voltage.
    refractory : array_like of int, shape () or (size,)
        Ticks of rest after a spike, 0 to 255.
    current, voltage : array_like of int, shape () or (size,)
        u and v before the first tick.
    more_current_decays : sequence of array_like of int, shape () or (size,)
        Decays of further currents, which start at 0: current 1, 2 and so on of edges. On a chip each takes a
        compartment beside the neuron's own.
    decay_bits, current_bits, voltage_bits : int
        Widths, the last two with the sign; those of Loihi by default. A chip must have the same.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range.
    """

    threshold: NDArray[np.int64]
    current_decay: NDArray[np.int64] = 4096  # type: ignore[assignment] # single numbers become arrays
    voltage_decay: NDArray[np.int64] = 4096  # type: ignore[assignment]
    bias: NDArray[np.int64] = 0  # type: ignore[assignment]
    refractory: NDArray[np.int64] = 0  # type: ignore[assignment]
    current: NDArray[np.int64] = 0  # type: ignore[assignment]
    voltage: NDArray[np.int64] = 0  # type: ignore[assignment]
    more_current_decays: tuple[NDArray[np.int64], ...] = ()
    decay_bits: int = 12
    current_bits: int = 24
    voltage_bits: int = 24

    def __post_init__(self) -> None:
        for name, bounds in WIDTHS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not bounds[0] <= value <= bounds[1]:
                raise NetworkError(f"neuron: {name}: found {value!r:.60}; allowed are {bounds[0]} to {bounds[1]}")
        for name in PARAMETERS:
            object.__setattr__(self, name, _integers(name, getattr(self, name), self._bounds(name)))
        bounds = self._bounds("current_decay")
        more = tuple(_integers("more_current_decays", decay, bounds) for decay in self.more_current_decays)
        if len(more) >= MAX_CURRENTS:
            raise NetworkError(
                f"neuron: more_current_decays: found {len(more)}; at most {MAX_CURRENTS - 1} are allowed"
            )
        object.__setattr__(self, "more_current_decays", more)
        freeze_arrays(self)

    @property
    def n_currents(self) -> int:
        """Currents of each neuron."""
        return 1 + len(self.more_current_decays)

    def _bounds(self, name: str) -> tuple[int, int]:
        low, high = PARAMETERS[name]
        if name.endswith("_decay"):
            return 0, 1 << self.decay_bits
        if name in ("current", "voltage"):
            half = 1 << (getattr(self, f"{name}_bits") - 1)
            return (-half if name == "current" else 1 - half), half - 1
        return low, high

    def _facts(self) -> dict[str, object]:
        return {name: _span(getattr(self, name)) for name in PARAMETERS} | {
            name: getattr(self, name) for name in WIDTHS
        }

    def spread(self, size: int) -> CurrentNeuron:
        """Give every neuron of a node its values.

        Parameters
        ----------
        size : int
            Neurons of the node.

        Returns
        -------
        CurrentNeuron
            All arrays of shape (size,).

        Raises
        ------
        NetworkError
            If an array has neither one value nor one per neuron.
        """
        arrays = [(name, getattr(self, name)) for name in PARAMETERS]
        for name, array in [*arrays, *(("more_current_decays", decay) for decay in self.more_current_decays)]:
            if array.shape not in ((), (size,)):
                raise NetworkError(f"neuron: {name}: found {list(array.shape)} values; allowed are one, or {size}")
        return self._with(lambda array: np.broadcast_to(array, (size,)))

    def take(self, neurons: NDArray[np.int64]) -> CurrentNeuron:
        """Take some neurons, in this order, of values of one per neuron."""
        return self._with(lambda array: array[neurons])

    def _with(self, change: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> CurrentNeuron:
        arrays: dict[str, Any] = {name: change(getattr(self, name)) for name in PARAMETERS}
        return replace(self, more_current_decays=tuple(map(change, self.more_current_decays)), **arrays)


def _integers(name: str, values: ArrayLike, bounds: tuple[int, int]) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype == object or (array.dtype.kind not in "iu" and not _is_whole(values)) or array.ndim > 1:
        raise NetworkError(f"neuron: {name}: found {values!r:.60}; allowed are integers, one or one per neuron")
    if array.size and not bounds[0] <= int(array.min()) <= int(array.max()) <= bounds[1]:
        wrong = int(array.min()) if int(array.min()) < bounds[0] else int(array.max())
        raise NetworkError(f"neuron: {name}: found {wrong}; allowed are {bounds[0]} to {bounds[1]}")
    return frozen(array.astype(np.int64))


def one_value(values: NDArray[np.int64]) -> int | None:
    """Give the value that all neurons have, if they have one."""
    return int(values.flat[0]) if values.size and values.min() == values.max() else None


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type] # asks whether it is one
    except TypeError:
        return False
    return not isinstance(value, bool)


def _span(values: NDArray[np.int64]) -> str:
    low, high = int(values.min(initial=2**62)), int(values.max(initial=-(2**62)))
    return str(low) if low >= high else f"{low} to {high}"
