"""The integer neuron with a constant leak: TrueNorth's, as an integrate-and-fire neuron."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.network.neurons.spiking_neuron import SpikingNeuron

__all__ = ["LeakNeuron"]

_INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class LeakNeuron(SpikingNeuron):
    r"""Integer neurons with a potential V and a constant leak (Cassidy et al., IJCNN 2013, with kappa = 1).

    In every frame i >= 1, which is one tick:

    1. V := V + sum over edges e of W_e x[i - delay(e)] + leak;
    2. if V >= threshold: spike, and V := 0, or V - threshold where ``subtract`` is 1;
    3. else V := max(V, -floor).

    Parameters
    ----------
    threshold : array_like of int, shape () or (size,)
        1 or more.
    leak : array_like of int, shape () or (size,)
        Added in every tick, of either sign.
    floor : array_like of int, shape () or (size,)
        -floor is the least potential that a tick leaves; 0 or more.
    potential : array_like of int, shape () or (size,)
        V before the first tick: from -floor to below the threshold, which is asked before the network is computed.
    subtract : int
        1 where a spike takes the threshold off, 0 where it sets V to 0.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range.
    """

    model: ClassVar[str] = "leak"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"threshold": (1, _INT32), "leak": (-_INT32, _INT32), "floor": (0, _INT32), "potential": (-_INT32, _INT32)}
    )
    settings: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping({"subtract": (0, 1)})

    leak: NDArray[np.int64] = 0  # type: ignore[assignment] # single numbers become arrays
    floor: NDArray[np.int64] = 0  # type: ignore[assignment]
    potential: NDArray[np.int64] = 0  # type: ignore[assignment]
    subtract: int = 0

    def require_consistent(self) -> None:
        """Refuse potentials outside what a tick may leave.

        Raises
        ------
        NetworkError
            If one lies below the floor, or is not below the threshold.
        """
        outside = (self.potential < -self.floor) | (self.potential >= self.threshold)
        if outside.any():
            raise NetworkError(
                f"neuron: potential: lies outside -floor to threshold - 1 in {int(outside.sum())} of {outside.size} "
                "neurons; start them inside"
            )
