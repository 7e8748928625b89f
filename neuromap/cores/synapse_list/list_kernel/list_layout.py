"""How a program of synapse lists lies in memory for the kernels.

Everything that the kernels read is a :class:`ListImage`, everything that they change a :class:`ListState`; both are
flat arrays, core after core. C cores have N neurons, padded to ``lanes``, 64 or another power of two. Axons of a core
have one bit each in whole words of 64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.simulation.engine.kernel.remote import Remote


class ListShape(NamedTuple):
    """Sizes, equal for all cores."""

    n_cores: int
    lanes: int
    """Neurons of a core, padded to a power of two, and to whole words of spike bits."""
    unused: int
    """Lanes of a core that are none of its neurons."""
    words: int
    """Words of axon bits of all cores together."""
    slots: int
    """Ticks for which sums of weights are kept: a power of two, more than the greatest delay of a synapse."""
    spike_delay: int
    """Ticks from a spike to its axons; axon bits are kept for one more."""
    place_bits: int
    """Lower half of a synapse: 16 or 32."""
    due_bytes: int
    due_shift: int
    """Sums of weights are kept in so many bytes, in units of 2**due_shift."""
    half: int
    mask: int
    """Of currents: a value wraps as ((value + half) & mask) - half."""
    rail: int
    """Greatest voltage; the least is -rail."""
    sum_half: int
    sum_mask: int
    """Of the sum of a tick's input, likewise."""
    sum_wraps: int
    """1 where currents and bias wrap, as currents do, before a voltage takes them."""


class ListImage(NamedTuple):
    """What is only read; shared by all threads and forks."""

    shape: ListShape
    word: NDArray[np.int64]
    """(C + 1,): first word of axon bits of every core."""
    axons: NDArray[np.int64]
    """(C + 1,): first list of every core."""
    lists: NDArray[np.int64]
    """(L + 1,): of every list its first synapse << 16 | its greatest delay << 8 | what shifts its weights into sums."""
    synapses: NDArray[Any]
    """(S,) of int32, or int64 where these are too narrow: weight >> shift, and in the lower half of the bits
    delay * lanes + neuron."""
    uniform: NDArray[np.uint8]
    """(C,): 1 where the neurons of a core share decays, threshold and bias."""
    keep_current: NDArray[np.float32]
    keep_voltage: NDArray[np.float32]
    """(C, lanes): what a tick leaves of a value, 1 - d / 2**decay_bits."""
    threshold: NDArray[np.int32]
    bias: NDArray[np.int32]
    refractory: NDArray[np.uint8]
    """(C, lanes)."""
    has_options: NDArray[np.uint8]
    """(C,): 1 where neurons have a reset or floor, or where sums wrap."""
    low: NDArray[np.int32]
    reset: NDArray[np.int32]
    subtract: NDArray[np.int32]
    """(C, lanes): least voltage that a tick leaves, what a spike leaves, and 1 where it takes the threshold off; a
    single 0 where no core has options."""
    has_joins: NDArray[np.uint8]
    """(C,): 1 where currents of neurons are joined to others."""
    joined: NDArray[np.int32]
    """(C, lanes): the neuron that takes the current, -1 for none; a single -1 where no core has joins."""
    start: NDArray[np.int64]
    """(C * lanes + 1,): first target of every neuron."""
    target: NDArray[np.int64]
    """(T,): core << 40 | number of the axon's bit; cores of other ranks come after those that are here."""


class ListState(NamedTuple):
    """What the ticks change."""

    current: NDArray[np.int32]
    voltage: NDArray[np.int32]
    """(C, lanes)."""
    resting: NDArray[np.int32]
    """(C, lanes): last tick, from the state's epoch, in which the neuron rests."""
    due: NDArray[Any]
    """(C, slots, lanes): sums of weights, of int16 where all of a neuron's synapses together stay inside, else of
    int32, modulo 2**32."""
    reached: NDArray[np.uint64]
    """(spike_delay + 1, words): axons that will be reached, one bit each."""
    fed: NDArray[np.uint8]
    """(spike_delay + 1, C): 1 for cores with such an axon."""
    busy: NDArray[np.int64]
    """(C,): last tick for which anything is due."""
    rests: NDArray[np.int64]
    """(C,): last tick in which a neuron rests."""
    awake: NDArray[np.uint8]
    """(C,): 1 for cores that may change though nothing is due."""
    extra: NDArray[np.int64]
    """(C, lanes): sums of joined currents, of one tick; a single 0 where no core has joins."""
    words: NDArray[np.uint64]
    """(C, 2, lanes / 64): who fired and who changed in cores with joins; a single 0 where there are none."""


class ListTeam(NamedTuple):
    """Who runs which cores, and the working memory of each thread."""

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    barrier: NDArray[np.uint64]
    listed: NDArray[np.uint16]
    """(threads, room): axons of a core that are reached, then its neurons that fire."""
    room: int
    totals: NDArray[np.int64]
    """(threads, 8): since tick 0; SPIKES and so on of :mod:`neuromap.simulation.engine.kernel.workspace`."""
    remote: Remote
    """What goes to other ranks and comes from there."""
