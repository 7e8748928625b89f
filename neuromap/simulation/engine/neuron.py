r"""The TrueNorth neuron on arrays, step by step.

Source: Cassidy et al., "Cognitive computing building block" (IJCNN 2013). One tick of a neuron with potential V;
F(s, rho) is 1 if |s| >= rho, else 0, and every rho is a random byte of its own:

1. integrate: V += s_G for every active axon (of type G) with a synapse, or F(s_G, rho) sgn(s_G) where the synapse
   is stochastic (b_G = 1);
2. leak: V += Omega lambda with Omega = (1 - eps) + eps sgn(V) and sgn 0 = 0, or Omega F(lambda, rho) sgn(lambda)
   where the leak is stochastic (c = 1);
3. threshold noise: eta = rho AND (2^TM - 1), so eta = 0 with TM = 0;
4. fire: if V >= alpha + eta, spike, and V becomes R, V - (alpha + eta) or V (gamma 0, 1, 2);
5. else, with kappa 1: if V < -beta, V becomes -beta;
   with kappa 0: if V < -(beta + eta), V becomes -R, V + (beta + eta) or V (gamma 0, 1, 2); no spike.

The potential is fitted into its width after every single event of step 1, after step 2, and after the reset
of steps 4 and 5. The functions take arrays of any shape that broadcast with the parameters; the letters are
those of :class:`neuromap.cores.crossbar.program.NeuronTable`. They take random bytes as arguments
(:mod:`neuromap.simulation.engine.numpy_engine` draws them); a table without stochastic modes needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.crossbar.program import NeuronTable
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.value import Card


@dataclass(frozen=True)
class Width(Card):
    """Range of the potential and its overflow rule.

    Attributes
    ----------
    low, high : int
        The rails; ``high - low + 1`` is a power of two.
    wrap : bool
        Whether the potential wraps around (RANC); otherwise it saturates at the rail.
    """

    low: int
    high: int
    wrap: bool = False

    @classmethod
    def of(cls, chip: ChipSpec) -> Width:
        """Width of the potential of a chip, by ``potential_bits`` and ``rules.overflow``."""
        low, high = chip.potential_range
        return cls(low, high, chip.rules.overflow == "wrap")

    def fit(self, potential: Ints) -> Ints:
        """Bring potentials into the range: clip at the rails, or wrap modulo the number of values."""
        if self.wrap:
            return ((potential - self.low) & (self.high - self.low)) + self.low
        return np.clip(potential, self.low, self.high)


class Parameters(NamedTuple):
    """Columns of a :class:`NeuronTable` that :func:`leak` and :func:`fire` read, for some of its cores."""

    # Engines make one per tick, so nothing is checked or made read-only here.

    leak: NDArray[np.int16]
    leak_reversal: Bools
    threshold: NDArray[np.int32]
    negative_threshold: NDArray[np.int32]
    reset: NDArray[np.int32]
    reset_mode: NDArray[np.uint8]
    saturate_negative: Bools
    stochastic_leak: Bools | None = None
    noise_bits: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, neurons: NeuronTable, cores: Ints) -> Parameters:
        """Select the rows of some cores, in this order."""
        tables = {name: getattr(neurons, name) for name in cls._fields}
        return cls(**{name: table[cores] for name, table in tables.items() if table is not None})


def by_chance(value: NDArray[np.signedinteger], rho: NDArray[np.uint8] | int) -> Ints:
    """Draw F(s, rho) sgn(s): a step of 1 in the direction of ``value``, if its magnitude reaches ``rho``, else 0."""
    wide = value.astype(np.int64)
    return np.where(np.abs(wide) >= rho, np.sign(wide), 0)


def integrate(potential: Ints, events: Iterable[Ints], width: Width) -> Ints:
    """Add events one by one (step 1): the exact form, in which their order matters at the rails.

    Parameters
    ----------
    potential : ndarray of int64
        V.
    events : iterable of ndarray of int64
        Contribution of every active axon, in ascending order, to each neuron: the weight of the axon's type
        (:func:`by_chance` of it, if stochastic) if there is a synapse, else 0. Shapes broadcast with
        ``potential``.
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


def leak(potential: Ints, neurons: NeuronTable | Parameters, width: Width, rho: NDArray[np.uint8] | int = 0) -> Ints:
    """Add the leak (step 2), with leak reversal (eps = 1) in the direction of the potential's sign.

    Parameters
    ----------
    potential : ndarray of int64
        V.
    neurons : NeuronTable or Parameters
        ``leak`` (lambda), ``leak_reversal`` (eps) and ``stochastic_leak`` (c) are used.
    width : Width
        Applied afterwards.
    rho : ndarray of uint8, optional
        Random bytes; used only for stochastic leaks. With 0, every stochastic leak takes its step.

    Returns
    -------
    ndarray of int64
        V after the leak.
    """
    omega: Ints = np.where(neurons.leak_reversal, np.sign(potential), 1)
    step: NDArray[np.signedinteger] = neurons.leak
    if neurons.stochastic_leak is not None:
        step = np.where(neurons.stochastic_leak, by_chance(step, rho), step)
    return width.fit(potential + omega * step)


def fire(
    potential: Ints,
    neurons: NeuronTable | Parameters,
    width: Width,
    negative_comparison: Literal["<", "<="] = "<",
    rho: NDArray[np.uint8] | int = 0,
) -> tuple[Ints, Bools]:
    """Compare with both thresholds, spike, reset: steps 3 to 5.

    Parameters
    ----------
    potential : ndarray of int64
        V after the leak.
    neurons : NeuronTable or Parameters
        ``threshold`` (alpha), ``negative_threshold`` (beta), ``reset`` (R), ``reset_mode`` (gamma),
        ``saturate_negative`` (kappa) and ``noise_bits`` (TM) are used.
    width : Width
        Applied afterwards.
    negative_comparison : {"<", "<="}
        Whether V = -beta counts as below the negative threshold; sources disagree.
    rho : ndarray of uint8, optional
        Random bytes; used only for neurons with threshold noise. With 0, there is no noise.

    Returns
    -------
    potential : ndarray of int64
        V after the reset.
    spikes : ndarray of bool
        Which neurons spike.
    """
    v, gamma, kappa = potential, neurons.reset_mode, neurons.saturate_negative
    # in int64, since a 32-bit threshold may be -2**31, whose negation overflows int32
    alpha, beta = (bound.astype(np.int64) for bound in (neurons.threshold, neurons.negative_threshold))
    upper, lower = alpha, beta  # alpha + eta and beta + eta
    bound = lower  # of step 5, which kappa frees from noise
    if neurons.noise_bits is not None:
        eta = np.asarray(rho, dtype=np.int64) & ((1 << neurons.noise_bits.astype(np.int64)) - 1)
        upper, lower = alpha + eta, beta + eta
        bound = np.where(kappa, beta, lower)
    spikes = v >= upper
    below = ~spikes & (v <= -bound if negative_comparison == "<=" else v < -bound)
    to_value, subtract = gamma == 0, gamma == 1
    # The two resets differ in sign only: R against -R, -(alpha + eta) against beta + eta.
    sign = np.where(spikes, 1, -1)
    step = np.where(spikes, -upper, lower)
    after = np.where(to_value, sign * neurons.reset, np.where(subtract, v + step, v))
    after = np.where(below & kappa, -beta, after)
    return width.fit(np.where(spikes | below, after, v)), spikes
