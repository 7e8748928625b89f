r"""The deterministic TrueNorth neuron on arrays, step by step.

Source: Cassidy et al., "Cognitive computing building block" (IJCNN 2013), without its stochastic modes. One
tick of a neuron with potential V:

1. integrate: V += s_G for every active axon (of type G) with a synapse;
2. leak: V += Omega lambda with Omega = (1 - eps) + eps sgn(V) and sgn 0 = 0;
3. threshold noise: none here, eta = 0;
4. fire: if V >= alpha, spike, and V becomes R, V - alpha or V (gamma 0, 1, 2);
5. else if V < -beta: V becomes -beta (kappa 1), or -R, V + beta or V (kappa 0, gamma 0, 1, 2); no spike.

The potential is fitted into its width after every single event of step 1, after step 2, and after the reset
of steps 4 and 5. The functions take arrays of any shape that broadcast with the parameters; the letters are
those of :class:`neuromap.hardware.program.NeuronTable`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.program import NeuronTable

__all__ = ["Parameters", "Width", "fire", "integrate", "leak"]


@dataclass(frozen=True)
class Width:
    """Range of the potential and what happens beyond it.

    Attributes
    ----------
    low, high : int
        The rails; ``high - low + 1`` is a power of two.
    wrap : bool
        Whether the potential wraps around (RANC); otherwise it stays at the rail.
    """

    low: int
    high: int
    wrap: bool = False

    @classmethod
    def of(cls, chip: ChipSpec) -> Width:
        """Width of the potential of a chip, by ``potential_bits`` and ``rules.overflow``."""
        low, high = chip.potential_range
        return cls(low, high, chip.rules.overflow == "wrap")

    def fit(self, potential: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bring potentials into the range: clip at the rails, or wrap modulo the number of values."""
        if self.wrap:
            return ((potential - self.low) & (self.high - self.low)) + self.low
        return np.clip(potential, self.low, self.high)


class Parameters(NamedTuple):
    """What :func:`leak` and :func:`fire` read of a :class:`NeuronTable`, for some of its cores.

    Engines make one in every tick, so nothing is checked or locked here.
    """

    leak: NDArray[np.int16]
    leak_reversal: NDArray[np.bool_]
    threshold: NDArray[np.int32]
    negative_threshold: NDArray[np.int32]
    reset: NDArray[np.int32]
    reset_mode: NDArray[np.uint8]
    saturate_negative: NDArray[np.bool_]

    @classmethod
    def of(cls, neurons: NeuronTable, cores: NDArray[np.int64]) -> Parameters:
        """Take the rows of some cores, in this order."""
        return cls(*(getattr(neurons, name)[cores] for name in cls._fields))


def integrate(potential: NDArray[np.int64], events: Iterable[NDArray[np.int64]], width: Width) -> NDArray[np.int64]:
    """Add events one by one (step 1): the exact form, in which their order matters at the rails.

    Parameters
    ----------
    potential : ndarray of int64
        V.
    events : iterable of ndarray of int64
        For every active axon, in ascending order, what it adds to each neuron: the weight of the axon's type
        where there is a synapse, else 0. Shapes broadcast with ``potential``.
    width : Width
        Applied after every event.

    Returns
    -------
    ndarray of int64
        V after all events.
    """
    for event in events:
        potential = width.fit(potential + event)
    return potential


def leak(potential: NDArray[np.int64], neurons: NeuronTable | Parameters, width: Width) -> NDArray[np.int64]:
    """Add the leak (step 2), with leak reversal (eps = 1) in the direction of the potential's sign.

    Parameters
    ----------
    potential : ndarray of int64
        V.
    neurons : NeuronTable or Parameters
        ``leak`` (lambda) and ``leak_reversal`` (eps) are used.
    width : Width
        Applied afterwards.

    Returns
    -------
    ndarray of int64
        V after the leak.
    """
    omega: NDArray[np.int64] = np.where(neurons.leak_reversal, np.sign(potential), 1)
    return width.fit(potential + omega * neurons.leak)


def fire(
    potential: NDArray[np.int64],
    neurons: NeuronTable | Parameters,
    width: Width,
    negative_comparison: Literal["<", "<="] = "<",
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Compare with both thresholds, spike, reset: steps 4 and 5.

    Parameters
    ----------
    potential : ndarray of int64
        V after the leak.
    neurons : NeuronTable or Parameters
        ``threshold`` (alpha), ``negative_threshold`` (beta), ``reset`` (R), ``reset_mode`` (gamma) and
        ``saturate_negative`` (kappa) are used.
    width : Width
        Applied afterwards.
    negative_comparison : {"<", "<="}
        Whether V = -beta counts as below the negative threshold; sources disagree.

    Returns
    -------
    potential : ndarray of int64
        V after the reset.
    spikes : ndarray of bool
        Which neurons spike.
    """
    v, alpha, beta, gamma = potential, neurons.threshold, neurons.negative_threshold, neurons.reset_mode
    spikes = v >= alpha
    below = ~spikes & (v <= -beta if negative_comparison == "<=" else v < -beta)
    to_value, subtract = gamma == 0, gamma == 1
    # The two resets differ in sign only: R against -R, -alpha against +beta.
    sign = np.where(spikes, 1, -1)
    step = np.where(spikes, -alpha, beta)
    after = np.where(to_value, sign * neurons.reset, np.where(subtract, v + step, v))
    after = np.where(below & neurons.saturate_negative, -beta, after)
    return width.fit(np.where(spikes | below, after, v)), spikes
