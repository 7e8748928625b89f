"""Lay out a program in memory for the kernels: the read-only image and the changing state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.simulation.engine.kernel import layout as at
from neuromap.simulation.engine.kernel.layout import Image, Shape, State, aligned_empty, aligned_full, as_extent, extent
from neuromap.simulation.engine.kernel.remote import RemoteTargets

# Largest value that 16 bits hold.
INT16 = 2**15 - 1


class NarrowTables:
    """Headers of the cores and parameters of the narrow path, in tables that grow by blocks of cores."""

    # uniform: (cores, axon types): for every core, weights that all its neurons would share
    # weights: weights by axon type and neuron of the other cores, as int8 if they fit, and as int16
    # planes: other parameters that the neurons of a core do not share, as int8 and as int16

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.uniform: list[NDArray[np.int16]] = [np.zeros((0, shape.n_types), np.int16)]
        self.weights: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
        self.planes: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])

    def add(self, program: Program, cores: slice, header: NDArray[np.int32]) -> None:
        """Fill the headers of some cores and append their tables."""
        neurons = program.neurons
        flags = self._add_weights(program, cores, header)
        flags |= self._add_resets(program, cores, header)
        stochastic = [neurons.stochastic_leak, None if neurons.noise_bits is None else neurons.noise_bits > 0]
        for part in stochastic:
            if part is not None:
                flags[part[cores].any(axis=1)] |= at.NOISE | at.RESTLESS
        if neurons.stochastic_weight is not None:
            flags[neurons.stochastic_weight[cores].any(axis=(1, 2))] |= at.NOISE | at.NOISY_WEIGHTS
        flags[(flags & at.NOISE != 0) | neurons.leak_reversal[cores].any(axis=1)] |= at.WIDE_ONLY
        header[:, at.FLAGS] = flags

    def _add_weights(self, program: Program, cores: slice, header: NDArray[np.int32]) -> NDArray[np.int32]:
        """Add weights of some cores and their header entries; return the flags of their form."""
        weights = program.neurons.weights[cores]
        bits = np.unpackbits(np.bitwise_or.reduce(program.crossbar[cores], axis=1), axis=1, bitorder="little")
        # weights of a neuron without synapses do not matter, so it cannot make the core non-uniform
        connected = bits[:, : weights.shape[1]].astype(np.bool_)
        first = weights[np.arange(len(weights)), connected.argmax(axis=1)]
        uniform = ((weights == first[:, None, :]).all(axis=2) | ~connected).all(axis=1)
        peak = (np.abs(weights.astype(np.int32)).max(axis=2) * connected).max(axis=1, initial=0)
        small = ((weights >= -128) & (weights <= 127)).all(axis=(1, 2))
        self.uniform.append(first)
        header[:, at.PEAK_WEIGHT] = peak
        for kind, (chosen, dtype) in enumerate(((~uniform & small, np.int8), (~uniform & ~small, np.int16))):
            own = np.flatnonzero(chosen)
            header[own, at.WEIGHTS] = _n_rows(self.weights[kind]) + np.arange(len(own))
            rows = np.zeros((len(own), weights.shape[2], 32 * extent(self.shape.groups)), dtype)
            rows[:, :, : weights.shape[1]] = weights[own].transpose(0, 2, 1)
            self.weights[kind].append(rows)
        return np.where(uniform, at.UNIFORM, np.where(small, at.BYTES, 0)).astype(np.int32)

    def _add_resets(self, program: Program, cores: slice, header: NDArray[np.int32]) -> NDArray[np.int32]:
        """Add leak, thresholds and resets of narrow cores, and the bounds of their potentials; return their flags."""
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
        # largest magnitude that resets can set, and how far those that add can move a potential away from 0
        floor = np.maximum(np.abs(on_spike) * ~up_step, np.abs(on_below) * ~down_step).max(axis=1, initial=0)
        steps = np.maximum(np.maximum(on_spike, 0) * up_step, np.maximum(-on_below, 0) * down_step)
        growth = np.abs(leak).max(axis=1, initial=0) + steps.max(axis=1, initial=0)
        header[:, at.FLOOR] = np.minimum(floor, 2**30)
        header[:, at.GROWTH] = np.minimum(growth, 2**30)
        # Clipping does not change comparisons: potentials of a narrow core lie within -limit..limit, at most 32766. For
        # integers, V <= -beta is V < -beta + 1.
        lows = np.clip(-beta + self.shape.at_most, -INT16 - 1, INT16)
        self._add_plane(header, at.LEAK, leak, 0)
        self._add_plane(header, at.THRESHOLD, np.clip(alpha, -INT16 - 1, INT16), INT16)
        self._add_plane(header, at.LOW, lows, -INT16 - 1)
        self._add_plane(header, at.ON_SPIKE, np.clip(on_spike, -INT16, INT16), 0)
        self._add_plane(header, at.ON_BELOW, np.clip(on_below, -INT16, INT16), 0)
        steps_up, steps_down = up_step.any(axis=1), down_step.any(axis=1)
        mixed = (up_step != can_spike).any(axis=1) & steps_up | (down_step != can_fall).any(axis=1) & steps_down
        flags = np.where(steps_up, at.STEP_UP, 0) | np.where(steps_down, at.STEP_DOWN, 0)
        flags |= np.where((lows > -INT16 - 1).any(axis=1), at.CAN_FALL, 0)
        return (flags | np.where(mixed | (floor > limit), at.WIDE_ONLY, 0)).astype(np.int32)

    def _add_plane(self, header: NDArray[np.int32], position: int, values: Ints, padding: int) -> None:
        """Add one parameter of some cores: a value if all neurons share it, else a plane."""
        lanes = 32 * extent(self.shape.groups)
        padded = np.full((len(values), lanes), padding, np.int64)
        padded[:, : values.shape[1]] = values
        shared = (padded == padded[:, :1]).all(axis=1)
        small = (padded >= -128).all(axis=1) & (padded <= 127).all(axis=1)
        header[:, position] = values[:, 0]
        header[:, position + 1] = -1
        for kind, (chosen, dtype) in enumerate(((~shared & small, np.int8), (~shared & ~small, np.int16))):
            own = np.flatnonzero(chosen)
            header[own, position + 1] = 2 * (_n_rows(self.planes[kind]) + np.arange(len(own))) + kind
            self.planes[kind].append(padded[own].astype(dtype))


def _n_rows(parts: list[NDArray[Any]]) -> int:
    return sum(len(part) for part in parts)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array to its own cache lines, flat."""
    return joined([array], array.dtype)


def joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Concatenate arrays on their own cache lines, flat."""
    flat = aligned_empty(sum(part.size for part in parts), dtype)
    return np.concatenate([np.zeros(0, dtype), *(part.reshape(-1) for part in parts)], out=flat)


def padded_lanes(array: NDArray[Any], lanes: int, padding: int) -> NDArray[Any]:
    """(C, N) padded to (C, lanes), flat; the program's own array if no padding is needed."""
    if array.shape[1] == lanes and array.flags.c_contiguous:
        return array.reshape(-1)
    padded = np.full((len(array), lanes), padding, array.dtype)
    padded[:, : array.shape[1]] = array
    return padded.reshape(-1)


def packed_bits(flags: Bools, lanes: int) -> NDArray[np.uint32]:
    """(..., N) as 32-bit words, padded to ``lanes``, flat."""
    padded = np.zeros((*flags.shape[:-1], lanes // 8), np.uint8)
    bytes_ = np.packbits(flags, axis=-1, bitorder="little")
    padded[..., : bytes_.shape[-1]] = bytes_
    return padded.reshape(-1).view(np.uint32)


# Cores laid out at once: bounds the memory beyond the arrays themselves.
_BLOCK = 1024
# Crossbar size in bytes above which rows take long to arrive from memory: measured.
_VAST = 1 << 26


def vector_groups(n_neurons: int) -> int:
    """Choose how many groups of 32 lanes the narrow path processes at once: 1, 2, 4 or 8."""
    return next(groups for groups in (1, 2, 4, 8) if groups == 8 or 32 * groups >= n_neurons)


def make_image(program: Program, remote: RemoteTargets | None = None) -> Image:
    """Lay out all read-only data; arrays of the program are used in place if they fit."""
    # ``remote``: targets on other ranks, of neurons without a target in the program
    shape = _shape(program, 0 if remote is None else remote.most_delay)
    neurons, chip, lanes = program.neurons, program.chip, 32 * extent(shape.groups)
    never = 2**31 - 1  # for the wide path: padding lanes stay at 0 and neither spike nor fall
    header = np.zeros((shape.n_cores, at.HEADER), np.int32)
    packed = NarrowTables(shape)
    for cores in _blocks(shape.n_cores):
        packed.add(program, cores, header[cores])
    modes = (neurons.leak_reversal, neurons.reset_mode == 0, neurons.reset_mode == 1, neurons.saturate_negative)
    by_neuron = neurons.stochastic_weight
    columns = program.coordinates.astype(np.uint64)
    image = Image(
        shape=shape,
        crossbar=_crossbar(program, shape),
        axon_types=_axon_types(program, shape),
        header=aligned(header),
        uniform_weights=np.concatenate(packed.uniform).reshape(-1),
        weights8=joined(packed.weights[0], np.int8),
        weights16=joined(packed.weights[1], np.int16),
        planes8=joined(packed.planes[0], np.int8),
        planes16=joined(packed.planes[1], np.int16),
        target=_targets(program, shape, remote),
        leak=padded_lanes(neurons.leak, lanes, 0),
        threshold=padded_lanes(neurons.threshold, lanes, never),
        negative_threshold=padded_lanes(neurons.negative_threshold, lanes, never),
        reset=padded_lanes(neurons.reset, lanes, 0),
        masks=packed_bits(np.stack(modes, axis=1), lanes),
        noisy_weight=_optional_bits(None if by_neuron is None else by_neuron.transpose(0, 2, 1), lanes),
        noisy_leak=_optional_bits(neurons.stochastic_leak, lanes),
        noise_mask=_noise_mask(neurons, lanes),
        place=columns[:, 1] * np.uint64(chip.columns) + columns[:, 0],
    )
    return Image(shape, *(read_only(array) for array in image[1:]))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """View an array as read-only: a type of its own for Numba, so that one variant of the kernels is enough."""
    view = array.view()
    view.flags.writeable = False
    return view


def make_state(program: Program, image: Image, potentials: Ints | None = None) -> State:
    """State before tick 0, or with other potentials, shape (C, N); no spikes are pending."""
    shape = image.shape
    lanes = 32 * extent(shape.groups)
    words = extent(shape.words)
    blocks = -(-shape.n_cores // 64)
    given = program.neurons.potential if potentials is None else potentials
    potential = padded_lanes(given, lanes, 0).reshape(shape.n_cores, lanes)
    peak = np.maximum(potential.max(axis=1, initial=0), -potential.min(axis=1, initial=0).astype(np.int64))
    flags, floor = (image.header.reshape(-1, at.HEADER)[:, k] for k in (at.FLAGS, at.FLOOR))
    is_wide = (peak > shape.limit) | (flags & at.WIDE_ONLY != 0)
    narrow = aligned_empty(shape.n_cores * lanes, np.int16)
    narrow[:] = np.clip(potential, -INT16, INT16).reshape(-1)
    wide = np.zeros(shape.n_cores * lanes, _wide_type(program))
    wide.reshape(shape.n_cores, lanes)[is_wide] = potential[is_wide]
    awake = aligned_empty(blocks * 64, np.uint8)
    awake[:] = np.arange(blocks * 64) < shape.n_cores
    return State(
        narrow=narrow,
        wide=wide,
        is_wide=is_wide.astype(np.uint8),
        bound=np.minimum(np.maximum(peak, floor), 2**30).astype(np.int32),
        ring=aligned_full((shape.n_cores * words) << shape.slot_bits, np.uint64),
        busy=aligned_full((blocks * 64) << shape.slot_bits, np.uint8),
        awake=awake,
    )


def put_spikes(image: Image, state: State, spikes: Ints) -> None:
    """Put pending spikes, rows (due tick, core, axon), into the ring of a new state."""
    slots, shape = 1 << image.shape.slot_bits, image.shape
    due, core, axon = spikes.T
    ring = state.ring.view(np.uint8).reshape(slots, shape.n_cores, 8 * extent(shape.words))
    bits = np.left_shift(1, axon & 7).astype(np.uint8)
    np.bitwise_or.at(ring, (due % slots, core, axon >> 3), bits)
    state.busy.reshape(slots, -1)[due % slots, core] = 1


def _shape(program: Program, most_delay: int) -> Shape:
    chip = program.chip
    low, high = chip.potential_range
    groups = vector_groups(chip.neurons)
    return Shape(
        n_cores=program.n_cores,
        n_axons=chip.axons,
        axon_bits=max(6, (chip.axons - 1).bit_length()),
        n_types=chip.axon_types,
        type_bits=next(bits for bits in (2, 4, 8) if chip.axon_types <= 2**bits),
        groups=as_extent(groups * -(-chip.neurons // (32 * groups))),
        width=(0,) * groups,
        words=as_extent(1 << max(0, (chip.axons - 1).bit_length() - 6)),
        slot_bits=int(program.delay.max(initial=most_delay)).bit_length(),
        low=low,
        high=high,
        limit=min(INT16 - 1, high, -low),
        wrap=int(chip.rules.overflow == "wrap"),
        at_most=int(chip.rules.negative_comparison == "<="),
        is_vast=int(program.crossbar.nbytes > _VAST),
    )


def _wide_type(program: Program) -> type[np.signedinteger[Any]]:
    """int32 if no sum of a tick can overflow it, else int64."""
    neurons, chip = program.neurons, program.chip
    arrays = (neurons.threshold, neurons.negative_threshold, neurons.reset, neurons.potential)
    peak = max(max(int(a.max(initial=0)), -int(a.min(initial=0))) for a in arrays)
    return np.int32 if chip.potential_bits <= 30 and peak <= 2**29 else np.int64


def _blocks(n_cores: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, n_cores)) for start in range(0, n_cores, _BLOCK))


def _optional_bits(flags: Bools | None, lanes: int) -> NDArray[np.uint32]:
    return np.zeros(0, np.uint32) if flags is None else packed_bits(flags, lanes)


def _noise_mask(neurons: NeuronTable, lanes: int) -> NDArray[np.uint8]:
    if neurons.noise_bits is None:
        return np.zeros(0, np.uint8)
    return padded_lanes(((1 << neurons.noise_bits.astype(np.int32)) - 1).astype(np.uint8), lanes, 0)


def _crossbar(program: Program, shape: Shape) -> NDArray[np.uint32]:
    """Rows of whole words, none of them across two cache lines; the program's own memory if it is laid out so."""
    bits, row = program.crossbar, 4 * extent(shape.groups)
    if bits.shape[2] == row and bits.flags.c_contiguous and bits.ctypes.data % min(row & -row, 64) == 0:
        return bits.reshape(-1).view(np.uint32)
    rows = aligned_empty(shape.n_cores * shape.n_axons * row, np.uint8)
    padded = rows.reshape(shape.n_cores, shape.n_axons, row)
    padded[:, :, bits.shape[2] :] = 0
    padded[:, :, : bits.shape[2]] = bits
    return rows.view(np.uint32)


def _axon_types(program: Program, shape: Shape) -> NDArray[np.uint8]:
    per_byte = 8 // shape.type_bits
    padded = np.zeros((shape.n_cores, -(-shape.n_axons // per_byte), per_byte), np.uint8)
    padded.reshape(shape.n_cores, padded.shape[1] * per_byte)[:, : shape.n_axons] = program.axon_types
    shifts = (np.arange(per_byte) * shape.type_bits).astype(np.uint8)
    return aligned(np.bitwise_or.reduce(padded << shifts, axis=2))


def _targets(program: Program, shape: Shape, remote: RemoteTargets | None) -> NDArray[Any]:
    n_cores = shape.n_cores if remote is None else remote.n_cores
    bits = max(n_cores - 1, 1).bit_length() + shape.axon_bits + shape.slot_bits
    dtype: Any = np.uint32 if bits <= 32 else np.uint64
    lanes = 32 * extent(shape.groups)
    packed = aligned_full(shape.n_cores * lanes, dtype)
    for cores in _blocks(shape.n_cores):
        core, axon, delay = (
            a[cores].astype(np.uint64) for a in (program.target_core, program.target_axon, program.delay)
        )
        record = (((core << np.uint64(shape.axon_bits)) + axon) << np.uint64(shape.slot_bits)) + delay
        record[program.target_core[cores] < 0] = 0
        packed.reshape(shape.n_cores, lanes)[cores, : record.shape[1]] = record
    if remote is not None:
        place = (remote.core << shape.axon_bits) + remote.axon
        neuron = np.divmod(remote.neuron, program.chip.neurons)
        packed.reshape(shape.n_cores, lanes)[neuron] = (place << shape.slot_bits) + remote.delay
    return packed
