"""The integer neuron with current and voltage: that of Loihi and its kin, complete without a chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.network.neurons.spiking_neuron import MAX_CURRENTS, SpikingNeuron, checked_integers

__all__ = ["MORE", "PARAMETERS", "WIDTHS", "CurrentNeuron"]

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


MORE = "more_current_decays"
"""Name of the decays of further currents; of the k-th, from 1, with ``.k`` behind it."""


@dataclass(frozen=True, eq=False)
class CurrentNeuron(SpikingNeuron):
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

    model: ClassVar[str] = "current"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = PARAMETERS
    settings: ClassVar[Mapping[str, tuple[int, int]]] = WIDTHS

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
        super().__post_init__()
        if not isinstance(self.more_current_decays, Sequence):
            raise NetworkError(
                f"neuron: {MORE}: found {self.more_current_decays!r:.60}; give a list, one for each current"
            )
        bounds = self._bounds("current_decay")
        more = tuple(checked_integers(MORE, decay, bounds) for decay in self.more_current_decays)
        if len(more) >= MAX_CURRENTS:
            raise NetworkError(f"neuron: {MORE}: found {len(more)} decays; at most {MAX_CURRENTS - 1} are allowed")
        object.__setattr__(self, MORE, more)

    @property
    def n_currents(self) -> int:
        """Currents of each neuron that edges can feed."""
        return 1 + len(self.more_current_decays)

    @property
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """All arrays by their names: the parameters, then the decays of further currents."""
        return super().arrays | {f"{MORE}.{k}": decay for k, decay in enumerate(self.more_current_decays, start=1)}

    def with_arrays(self, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the same neuron with other arrays; see :class:`SpikingNeuron`."""
        found = self.arrays | dict(arrays)
        more = tuple(found.pop(f"{MORE}.{k}") for k in range(1, self.n_currents))
        changed: dict[str, Any] = found
        return replace(self, more_current_decays=more, **changed)

    def _bounds(self, name: str) -> tuple[int, int]:
        low, high = PARAMETERS[name]
        if name.endswith("_decay"):
            return 0, 1 << self.decay_bits
        if name in ("current", "voltage"):
            half = 1 << (getattr(self, f"{name}_bits") - 1)
            return (-half if name == "current" else 1 - half), half - 1
        return low, high
