"""A program laid out for the bit-sliced kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.bit_sliced.sliced_compiled import LEVELS, PLANE, SlicedImage, SlicedState, sliced_kernel
from neuromap.simulation.engine.kernel.layout import aligned_full
from neuromap.simulation.engine.kernel.memory_layout import read_only
from neuromap.simulation.engine.neuron import Width, fire

# Cores without state between ticks: every potential returns to one value after every tick, whatever arrives.


def returning_cores(program: Program, least: Ints, most: Ints) -> Bools:
    """Find cores whose potentials provably return to their initial values after every tick."""
    # Let V be the potential before a tick. If no sum of events leaves the rails, their order does not matter and the
    # leak gives a value from ``V + least + leak`` to ``V + most + leak``. The two thresholds cut this range into at
    # most three pieces. On each piece the reset sets all values to one, or adds one value to all; so it is enough that
    # the two ends of every piece become V. Cores with noise or leak reversal in any neuron are not analysed and count
    # as not returning.
    # shapes: least, most (C, N); returns (C,)
    n = program.neurons
    width, comparison = Width.of(program.chip), program.chip.rules.negative_comparison
    start = n.potential.astype(np.int64)
    alpha, beta = n.threshold.astype(np.int64), n.negative_threshold.astype(np.int64)
    bottom, top = start + least + n.leak, start + most + n.leak
    inside = (np.minimum(start + least, bottom) >= width.low) & (np.maximum(start + most, top) <= width.high)
    returns = inside & ~(n.leak_reversal & (n.leak != 0))
    for table in (n.stochastic_leak, n.noise_bits):
        if table is not None:
            returns &= table == 0
    if n.stochastic_weight is not None:
        returns &= ~n.stochastic_weight.any(axis=2)
    for end in (bottom, top, alpha - 1, alpha, -beta - 1, -beta, -beta + 1):
        after, _ = fire(np.clip(end, bottom, top), n, width, comparison)
        returns &= after == start
    return returns.all(axis=1)


# Lists are padded to a multiple of this many entries.
_EIGHT = 8
# Most axons of a core: entries have 16 bits.
_MOST_AXONS = 2**15 - 1
# Most bytes of due axons and entries; further cores use the ordinary kernel.
_MOST_BYTES = 2**29
# Bits of a sum, with room for carries beyond.
_MOST_BITS = 40


def make_sliced_image(program: Program) -> tuple[SlicedImage, Ints, Ints]:
    """Lay out the cores that can be bit-sliced."""
    # returns the image, its cores, and the position of its neurons in a flat (C, N) table, ascending
    # shapes: cores (rows,); neurons (n,)
    kernel, (n_cores, n_axons) = sliced_kernel(), program.axon_types.shape
    tables = tuple(
        read_only(np.ascontiguousarray(a)) for a in (_words(program), program.axon_types, program.neurons.weights)
    )
    least, most = np.zeros((2, *program.shape), np.int64)
    n_entries = np.zeros((*program.shape, LEVELS), np.int32)
    every = np.arange(n_cores)
    kernel.list_synapses(*tables, every, n_entries, np.zeros(0, np.uint16), least, most)
    cores = np.flatnonzero(returning_cores(program, least, most) & (n_axons <= _MOST_AXONS))
    slot_bits = int(program.delay.max(initial=0)).bit_length()
    n_bytes = (2 * PLANE * n_axons << slot_bits) + 2 * n_entries[cores].sum(axis=(1, 2), dtype=np.int64)
    cores = cores[np.cumsum(n_bytes) <= _MOST_BYTES]

    table = program.neurons
    start = table.potential.astype(np.int64) + table.leak
    wanted = table.threshold - start - least  # value that the sum of entries must reach
    is_live = n_entries.any(axis=2) | (wanted <= 0)
    is_live[np.setdiff1d(np.arange(n_cores), cores)] = False
    neurons = np.flatnonzero(is_live)
    row_of = np.full(n_cores, -1)
    row_of[cores] = np.arange(len(cores))

    counts = n_entries.reshape(-1, LEVELS)[neurons]
    neuron, level = np.nonzero(counts)
    room = -(-counts[neuron, level] // _EIGHT) * _EIGHT
    first_entry = np.append(0, np.cumsum(room))
    position = np.zeros_like(n_entries)  # entries of ``_MOST_BYTES`` fit
    position.reshape(-1, LEVELS)[neurons[neuron], level] = first_entry[:-1]
    entries = np.full(first_entry[-1], n_axons, np.uint16)
    kernel.list_synapses(*tables, cores, position, entries, *np.zeros((2, *program.shape), np.int64))

    highest = (most - least).reshape(-1)[neurons]
    n_bits = np.frexp(highest.astype(np.float64))[1]  # 2 ** n_bits is more than the highest sum
    at_rest = (table.threshold <= start).reshape(-1)[neurons]
    core = neurons // program.shape[1]
    targets = (program.target_core, program.target_axon)
    image = SlicedImage(
        n_rows=len(cores),
        n_axons=n_axons,
        slot_bits=slot_bits,
        first_neuron=np.searchsorted(core, np.append(cores, n_cores)),
        restless=(np.bincount(row_of[core], at_rest, len(cores)) > 0).astype(np.uint8),
        n_bits=n_bits.astype(np.uint8),
        first_sum=(1 << n_bits.astype(np.int64)) - np.clip(wanted.reshape(-1)[neurons], 0, highest + 1),
        first_list=np.searchsorted(neuron, np.arange(len(neurons) + 1)),
        target=sliced_targets(program, cores, *(table.reshape(-1)[neurons] for table in targets)),
        delay=program.delay.reshape(-1)[neurons],
        level=level.astype(np.uint8),
        first_entry=first_entry,
        entries=entries,
    )
    return SlicedImage(*image[:3], *(read_only(array) for array in image[3:])), cores, neurons


def sliced_targets(program: Program, cores: Ints, core: NDArray[np.int32], axon: NDArray[np.int32]) -> Ints:
    """Encode target axons for the kernel; core -1 for none, ``cores`` are bit-sliced."""
    n_axons = program.axon_types.shape[1]
    row_of = np.full(program.n_cores, -1)
    row_of[cores] = np.arange(len(cores))
    row = row_of[core]
    axon_bits = max(6, (n_axons - 1).bit_length())  # as in ``Shape``
    elsewhere = np.where(core < 0, -1, -2 - ((core.astype(np.int64) << axon_bits) + axon))
    return np.where((core >= 0) & (row >= 0), row * n_axons + axon, elsewhere)


def make_sliced_state(image: SlicedImage) -> SlicedState:
    """State before the first tick; nothing is due."""
    slots = 1 << image.slot_bits
    due = aligned_full(slots * image.n_rows * image.n_axons * PLANE, np.int16)
    handed = aligned_full(PLANE, np.int16)
    return SlicedState(
        due=due,
        due_words=due.view(np.uint64),
        busy=np.zeros(slots * image.n_rows, np.uint8),
        planes=aligned_full((2 * image.n_axons + 1) * PLANE, np.int16),
        sums=aligned_full(_MOST_BITS * PLANE, np.int16),
        handed=handed,
        handed_words=handed.view(np.uint64),
    )


def _words(program: Program) -> Words:
    """Crossbar rows as 64-bit words."""
    n_bytes = program.crossbar.shape[2]
    padded = np.pad(program.crossbar, [(0, 0), (0, 0), (0, -n_bytes % 8)])
    return np.ascontiguousarray(padded).view(np.uint64)
