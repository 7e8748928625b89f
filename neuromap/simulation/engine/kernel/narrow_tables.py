"""What the narrow path reads of a program, and what decides between it and the wide path.

Potentials of a narrow core are int16. That is exact as long as no potential leaves ``-limit..limit`` at any moment:
these values fit 16 bits, and none lies beyond a rail, so nothing saturates or wraps and the order of events does not
matter.

A core keeps a bound B on the magnitude of its potentials, ``floor <= B <= limit``. A tick with n due axons is narrow if
``B + n * peak_weight + growth <= limit``; that sum is the next B. Step by step, for one neuron:

- integrate: every partial sum of at most n events lies within ``B + n * peak_weight``;
- leak: adds at most the magnitude of the largest leak, a part of ``growth``;
- thresholds beyond the limit are never met, so what they would do does not matter (``can_spike``, ``can_fall``);
- a reset that sets a value (R, -R, -beta) sets one of magnitude ``floor`` or less;
- a reset that adds one moves the potential towards 0 and not past it: V >= alpha >= 0 gives 0 <= V - alpha <= V, and
  V <= -beta <= 0 gives V <= V + beta <= 0. Only with a negative threshold can it move away from 0, by at most the
  threshold's magnitude: the other part of ``growth``. A neuron takes one of the two resets in a tick, never both.

If a value that a reset sets is beyond the limit, or some resets on one side set and others add, the core is wide for
good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.kernel import layout as at
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.layout import Flag, Shape

INT16 = 2**15 - 1
"""Largest value that 16 bits hold."""


class NarrowTables:
    """Headers of the cores, and parameters of the narrow path: tables that grow from block to block of cores."""

    # uniform: (cores, axon types): weights that all neurons of a core share, of every core
    # weights: weights by axon type and neuron of the cores that have others, as int8 where they fit, and as int16
    # planes: other parameters that neurons of a core do not share, as int8 and as int16

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.uniform: list[NDArray[np.int16]] = [np.zeros((0, shape.n_types), np.int16)]
        self.weights: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
        self.planes: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
        self._n_weights = [0, 0]
        self._n_planes = [0, 0]

    def add(self, program: Program, cores: slice, header: NDArray[np.int32]) -> None:
        """Fill the headers of some cores and append what they need."""
        neurons = program.neurons
        flags = self._add_weights(program, cores, header)
        flags |= self._add_resets(program, cores, header)
        stochastic = [neurons.stochastic_leak, None if neurons.noise_bits is None else neurons.noise_bits > 0]
        for part in stochastic:
            if part is not None:
                flags[part[cores].any(axis=1)] |= Flag.NOISE | Flag.RESTLESS
        if neurons.stochastic_weight is not None:
            flags[neurons.stochastic_weight[cores].any(axis=(1, 2))] |= Flag.NOISE | Flag.NOISY_WEIGHTS
        flags[(flags & Flag.NOISE != 0) | neurons.leak_reversal[cores].any(axis=1)] |= Flag.WIDE_ONLY
        header[:, at.FLAGS] = flags

    def _add_weights(self, program: Program, cores: slice, header: NDArray[np.int32]) -> NDArray[np.int32]:
        """Weights of some cores, and what they say in the headers; gives the flags of their form."""
        weights = program.neurons.weights[cores]
        bits = np.unpackbits(np.bitwise_or.reduce(program.crossbar[cores], axis=1), axis=1, bitorder="little")
        # What a neuron without any synapse would weigh does not matter: it may follow the first one that has some.
        connected = bits[:, : weights.shape[1]].astype(np.bool_)
        first = weights[np.arange(len(weights)), connected.argmax(axis=1)]
        uniform = ((weights == first[:, None, :]).all(axis=2) | ~connected).all(axis=1)
        peak = (np.abs(weights.astype(np.int32)).max(axis=2) * connected).max(axis=1, initial=0)
        small = ((weights >= -128) & (weights <= 127)).all(axis=(1, 2))
        self.uniform.append(first)
        header[:, at.PEAK_WEIGHT] = peak
        for kind, (chosen, dtype) in enumerate(((~uniform & small, np.int8), (~uniform & ~small, np.int16))):
            own = np.flatnonzero(chosen)
            header[own, at.WEIGHTS] = self._n_weights[kind] + np.arange(len(own))
            self._n_weights[kind] += len(own)
            rows = np.zeros((len(own), weights.shape[2], 32 * extent(self.shape.groups)), dtype)
            rows[:, :, : weights.shape[1]] = weights[own].transpose(0, 2, 1)
            self.weights[kind].append(rows)
        return np.where(uniform, Flag.UNIFORM, np.where(small, Flag.BYTES, 0)).astype(np.int32)

    def _add_resets(self, program: Program, cores: slice, header: NDArray[np.int32]) -> NDArray[np.int32]:
        """Leak, thresholds and resets of narrow cores, and what bounds their potentials."""
        limit = self.shape.limit
        n = program.neurons
        leak, alpha, beta, reset = (
            array[cores].astype(np.int64) for array in (n.leak, n.threshold, n.negative_threshold, n.reset)
        )
        gamma, kappa = n.reset_mode[cores], n.saturate_negative[cores]
        can_spike, can_fall = alpha <= limit, beta <= limit
        up_step, down_step = can_spike & (gamma != 0), can_fall & ~kappa & (gamma != 0)
        on_spike = np.where(gamma == 0, reset, np.where(gamma == 1, -alpha, 0)) * can_spike
        on_below = np.where(kappa, -beta, np.where(gamma == 0, -reset, np.where(gamma == 1, beta, 0))) * can_fall
        # What resets can set, and by how much those that add can move a potential away from 0 (module docstring).
        floor = np.maximum(np.abs(on_spike) * ~up_step, np.abs(on_below) * ~down_step).max(axis=1, initial=0)
        steps = np.maximum(np.maximum(on_spike, 0) * up_step, np.maximum(-on_below, 0) * down_step)
        growth = np.abs(leak).max(axis=1, initial=0) + steps.max(axis=1, initial=0)
        header[:, at.FLOOR] = np.minimum(floor, 2**30)
        header[:, at.GROWTH] = np.minimum(growth, 2**30)
        # Clipped bounds decide as before: potentials of a narrow core lie within -limit..limit, 32766 at most. For
        # integers V <= -beta is V < -beta + 1.
        lows = np.clip(-beta + self.shape.at_most, -INT16 - 1, INT16)
        self._add_plane(header, at.LEAK, leak, 0)
        self._add_plane(header, at.THRESHOLD, np.clip(alpha, -INT16 - 1, INT16), INT16)
        self._add_plane(header, at.LOW, lows, -INT16 - 1)
        self._add_plane(header, at.ON_SPIKE, np.clip(on_spike, -INT16, INT16), 0)
        self._add_plane(header, at.ON_BELOW, np.clip(on_below, -INT16, INT16), 0)
        steps_up, steps_down = up_step.any(axis=1), down_step.any(axis=1)
        mixed = (up_step != can_spike).any(axis=1) & steps_up | (down_step != can_fall).any(axis=1) & steps_down
        flags = np.where(steps_up, Flag.STEP_UP, 0) | np.where(steps_down, Flag.STEP_DOWN, 0)
        flags |= np.where((lows > -INT16 - 1).any(axis=1), Flag.CAN_FALL, 0)
        return (flags | np.where(mixed | (floor > limit), Flag.WIDE_ONLY, 0)).astype(np.int32)

    def _add_plane(self, header: NDArray[np.int32], position: int, values: NDArray[np.int64], padding: int) -> None:
        """One parameter of some cores: a value where all neurons share it, else a plane."""
        lanes = 32 * extent(self.shape.groups)
        padded = np.full((len(values), lanes), padding, np.int64)
        padded[:, : values.shape[1]] = values
        shared = (padded == padded[:, :1]).all(axis=1)
        small = (padded >= -128).all(axis=1) & (padded <= 127).all(axis=1)
        header[:, position] = values[:, 0]
        header[:, position + 1] = -1
        for kind, (chosen, dtype) in enumerate(((~shared & small, np.int8), (~shared & ~small, np.int16))):
            own = np.flatnonzero(chosen)
            header[own, position + 1] = 2 * (self._n_planes[kind] + np.arange(len(own))) + kind
            self._n_planes[kind] += len(own)
            self.planes[kind].append(padded[own].astype(dtype))
