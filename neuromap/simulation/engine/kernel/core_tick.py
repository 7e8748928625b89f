"""One tick of a core: the five steps of :mod:`neuromap.simulation.engine.neuron`, on two paths.

The narrow path has 16-bit potentials, for ticks in which these are exact. The wide path is exact at the rails of the
potential and has every mode of the neuron; it follows those steps letter for letter, on 32 neurons at a time, with
potentials of 32 bits (64 if a chip needs more). Events are added one by one in ascending order of axons.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import int16, int32, njit, uint32, uint64

from neuromap.simulation.engine.kernel import layout as at
from neuromap.simulation.engine.kernel.lanes import (
    CALLED,
    INLINED,
    add_where,
    any_lane,
    broadcast,
    greatest,
    least,
    load,
    load_mask,
    ramp,
    shift_right,
    store,
    store_mask,
    where,
    widen,
)
from neuromap.simulation.engine.kernel.layout import Image, State, extent
from neuromap.simulation.engine.kernel.words import get, prefetch, prefetch_far
from neuromap.simulation.engine.kernel.workspace import Ahead, Scratch, Visit

inlined = njit(**INLINED)


@inlined
def tick_narrow(image: Image, state: State, scratch: Scratch, visit: Visit) -> bool:
    """Run steps 1 to 5 for all neurons of a core, in 16 bits."""
    # Spikes are written as bits to ``scratch.words``. Returns whether, without due axons, any potential changed.
    core = visit.core
    flags, width = get(image.header, core * at.HEADER + at.FLAGS), image.shape.width
    changed = False
    for block in range(extent(image.shape.groups) // len(width)):
        here = (core * extent(image.shape.groups) + block * len(width)) * 32
        potential = load(width, state.narrow, here)
        # 1 integrate
        if flags & at.UNIFORM:
            driven = _drive(image.uniform_weights, True, image, scratch, visit, block, potential)
        elif flags & at.BYTES:
            driven = _drive(image.weights8, False, image, scratch, visit, block, potential)
        else:
            driven = _drive(image.weights16, False, image, scratch, visit, block, potential)
        # 2 leak
        potential = _with(operator.add, driven, image, core, at.LEAK, block)
        # 3 threshold noise: none
        # 4 fire
        spikes = _with(operator.ge, potential, image, core, at.THRESHOLD, block)
        # 5 fall below the negative threshold; then the resets of both. If no lane needs one, its plane is not read;
        # if it has no plane, resetting is cheaper than a branch.
        if flags & at.CAN_FALL:
            below = _with(operator.lt, potential, image, core, at.LOW, block) & ~spikes
            if _is_shared(image, core, at.ON_BELOW) or any_lane(below):
                fallen = _with(_given, potential, image, core, at.ON_BELOW, block)
                if flags & at.STEP_DOWN:
                    fallen = potential + fallen
                potential = where(below, fallen, potential)
        if _is_shared(image, core, at.ON_SPIKE) or any_lane(spikes):
            fired = _with(_given, potential, image, core, at.ON_SPIKE, block)
            if flags & at.STEP_UP:
                fired = potential + fired
            potential = where(spikes, fired, potential)
        store(state.narrow, here, potential)
        store_mask(scratch.words, block * len(width), spikes)
        if visit.first == visit.last:  # only then it tells whether the core rests; driven is then the old potential
            changed |= any_lane(potential != driven)
    return changed


@inlined
def axon_type(image: Image, core: int, axon: int) -> int:
    """Type of an axon."""
    bits = image.shape.type_bits
    per_byte_log = 3 - (bits >> 1) + (bits >> 3)  # 2, 4, 8 bits: 4, 2, 1 types per byte
    row = (image.shape.n_axons + (1 << per_byte_log) - 1) >> per_byte_log
    byte = get(image.axon_types, core * row + (axon >> per_byte_log))
    return (byte >> ((axon & ((1 << per_byte_log) - 1)) * bits)) & ((1 << bits) - 1)


@inlined
def prefetch_row(image: Image, array: Any, index: int) -> None:
    """Prefetch a line of the crossbar or of the targets."""
    if image.shape.is_vast:  # lines take long to arrive, and the first-level cache can wait for few at a time
        prefetch_far(array, index)
    else:
        prefetch(array, index)


@inlined
def prefetch_next(image: Image, scratch: Scratch, ahead: Ahead, event: int) -> None:
    """Prefetch a crossbar row of the next visit batch and the target of a spike of the previous one."""
    k, m = event + ahead.row, event + ahead.target
    # beyond the end of a list, prefetch its first element: cheaper than a branch
    row = np.intp(get(scratch.axons, k if k < ahead.row_end else 0))
    neuron = np.intp(get(scratch.fired, m if m < ahead.target_end else 0))
    prefetch_row(image, image.crossbar, row * extent(image.shape.groups))
    prefetch_row(image, image.target, neuron)


@inlined
def _drive(weights: Any, shared: bool, image: Image, scratch: Scratch, visit: Visit, block: int, potential: Any) -> Any:
    """Add the weights of every due axon, one for all neurons or one each, to the neurons with a synapse on it."""
    groups, types, width, core = extent(image.shape.groups), image.shape.n_types, image.shape.width, visit.core
    rows = core * image.shape.n_axons
    planes = (get(image.header, core * at.HEADER + at.WEIGHTS) * types * groups + block * len(width)) * 32
    for event in range(visit.first, visit.last):
        row = np.intp(get(scratch.axons, event))
        if block == 0:
            prefetch_next(image, scratch, visit.ahead, event)
        synapses = load_mask(width, image.crossbar, row * groups + block * len(width))
        kind = axon_type(image, core, row - rows)
        if shared:
            weight = broadcast(width, int16(get(weights, core * types + kind)))
        else:
            weight = widen(int16, load(width, weights, planes + kind * groups * 32))
        potential = add_where(synapses, potential, weight)
    return potential


@inlined
def _is_shared(image: Image, core: int, which: int) -> bool:
    """Whether all neurons of a core share the value of a parameter."""
    return get(image.header, core * at.HEADER + which + 1) < 0


@inlined
def _with(operation: Any, potential: Any, image: Image, core: int, which: int, block: int) -> Any:
    """Apply ``operation(potential, parameter)`` with a parameter of all neurons: a shared value or a plane."""
    # one call per form of the parameter: merging the forms first takes a register and a move per 32 neurons
    plane, width = get(image.header, core * at.HEADER + which + 1), image.shape.width
    if plane < 0:
        return operation(potential, broadcast(width, int16(get(image.header, core * at.HEADER + which))))
    here = ((plane >> 1) * extent(image.shape.groups) + block * len(width)) * 32
    if plane & 1:
        return operation(potential, load(width, image.planes16, here))
    return operation(potential, widen(int16, load(width, image.planes8, here)))


@inlined
def _given(potential: Any, parameter: Any) -> Any:
    return parameter


# Width of one group.
_ONE = (0,)
# Purposes of draws, as in :mod:`neuromap.simulation.engine.numpy_engine`; for events, the axons.
_LEAK_DRAW, _THRESHOLD_DRAW = 2**32, 2**32 + 1

# Constants of the generator as signed integers, so that they fit the int32 lanes.
_GOLDEN, _FIRST, _SECOND = 0x9E3779B9 - 2**32, 0x7FEB352D, 0x846CA68B - 2**32


@njit(**CALLED)
def tick_wide(
    image: Image, state: State, core: int, axons: Any, first: int, last: int, spikes_out: Any, tick: int, seed: int
) -> bool:
    """Run steps 1 to 5 for all neurons of a core, with wide potentials and every neuron mode."""
    # ``axons[first:last]`` are due; spikes are written as bits to ``spikes_out``. Returns whether any potential
    # changed.
    groups, rows = extent(image.shape.groups), core * image.shape.n_axons
    noisy = get(image.header, core * at.HEADER + at.FLAGS) & at.NOISE != 0
    stream = _stream(seed, tick, get(image.place, core)) if noisy else uint64(0)
    changed = False
    for group in range(groups):
        here = (core * groups + group) * 32
        v = before = load(_ONE, state.wide, here)
        zero = v - v  # lanes of 0, as wide as the potential
        wide = state.wide.dtype.type
        # 1 integrate
        for event in range(first, last):
            v = _integrate(image, v, core, np.intp(get(axons, event)) - rows, group, stream, wide)
        # 2 leak
        v = _fit(image, v + _leak(image, v, core, group, stream, noisy, wide), wide)
        # 3 threshold noise; a mask of 255 widens to -1, which masks 8 bits just as well
        eta = zero
        if noisy and len(image.noise_mask) > 0:
            eta = widen(wide, _rho(stream, _THRESHOLD_DRAW, group)) & widen(wide, load(_ONE, image.noise_mask, here))
        alpha = widen(wide, load(_ONE, image.threshold, here)) + eta
        beta = widen(wide, load(_ONE, image.negative_threshold, here))
        reset = widen(wide, load(_ONE, image.reset, here))
        gamma0 = load_mask(_ONE, image.masks, (4 * core + 1) * groups + group)
        gamma1 = load_mask(_ONE, image.masks, (4 * core + 2) * groups + group)
        kappa = load_mask(_ONE, image.masks, (4 * core + 3) * groups + group)
        # 4 fire
        spikes = v >= alpha
        # 5 fall below the negative threshold
        low = where(kappa, zero - beta, zero - (beta + eta))
        # if the comparison is <=: V <= low is V < low + 1
        below = (v < low + broadcast(_ONE, wide(image.shape.at_most))) & ~spikes
        fired = where(gamma0, reset, where(gamma1, v - alpha, v))
        fallen = where(kappa, zero - beta, where(gamma0, zero - reset, where(gamma1, v + beta + eta, v)))
        v = _fit(image, where(spikes, fired, where(below, fallen, v)), wide)
        store(state.wide, here, v)
        store_mask(spikes_out, group, spikes)
        changed |= any_lane(v != before)
    return changed


@inlined
def _integrate(image: Image, v: Any, core: int, axon: int, group: int, stream: int, wide: Any) -> Any:
    """Step 1 for one event: add the weight of the axon's type at every synapse."""
    groups, kind = extent(image.shape.groups), axon_type(image, core, axon)
    synapses = load_mask(_ONE, image.crossbar, (core * image.shape.n_axons + axon) * groups + group)
    weight = _weight(image, core, kind, group, wide)
    if get(image.header, core * at.HEADER + at.FLAGS) & at.NOISY_WEIGHTS:
        noisy = load_mask(_ONE, image.noisy_weight, (core * image.shape.n_types + kind) * groups + group)
        weight = where(noisy, _chance(weight, widen(wide, _rho(stream, axon, group)), wide), weight)
    return _fit(image, add_where(synapses, v, weight), wide)


@inlined
def _weight(image: Image, core: int, kind: int, group: int, wide: Any) -> Any:
    """Weights of an axon type, whatever the form in which the core stores them."""
    groups, types = extent(image.shape.groups), image.shape.n_types
    flags = get(image.header, core * at.HEADER + at.FLAGS)
    if flags & at.UNIFORM:
        return broadcast(_ONE, wide(get(image.uniform_weights, core * types + kind)))
    row = ((get(image.header, core * at.HEADER + at.WEIGHTS) * types + kind) * groups + group) * 32
    if flags & at.BYTES:
        return widen(wide, load(_ONE, image.weights8, row))
    return widen(wide, load(_ONE, image.weights16, row))


@inlined
def _leak(image: Image, v: Any, core: int, group: int, stream: int, noisy: bool, wide: Any) -> Any:
    """Omega times the leak, or times its drawn step if the leak is stochastic (step 2)."""
    groups = extent(image.shape.groups)
    leak = widen(wide, load(_ONE, image.leak, (core * groups + group) * 32))
    if noisy and len(image.noisy_leak) > 0:
        random = load_mask(_ONE, image.noisy_leak, core * groups + group)
        leak = where(random, _chance(leak, widen(wide, _rho(stream, _LEAK_DRAW, group)), wide), leak)
    zero = leak - leak
    reversed_ = where(v < zero, zero - leak, where(zero < v, leak, zero))
    return where(load_mask(_ONE, image.masks, 4 * core * groups + group), reversed_, leak)


@inlined
def _chance(value: Any, rho: Any, wide: Any) -> Any:
    """F(value, rho) sgn(value): the sign of a value if its magnitude reaches rho, else 0."""
    zero = value - value
    one = broadcast(_ONE, wide(1))
    sign = where(value < zero, zero - one, where(zero < value, one, zero))
    magnitude = greatest(value, zero - value)
    return where(magnitude >= rho, sign, zero)


@inlined
def _fit(image: Image, v: Any, wide: Any) -> Any:
    """Clip at the rails, or wrap around."""
    low, high = broadcast(_ONE, wide(image.shape.low)), broadcast(_ONE, wide(image.shape.high))
    if image.shape.wrap:
        return ((v - low) & (high - low)) + low
    return least(greatest(v, low), high)


@inlined
def _mix(z: int) -> int:
    """Finaliser of SplitMix64, as in :mod:`neuromap.simulation.engine.numpy_engine`."""
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@inlined
def _stream(seed: int, tick: int, place: int) -> int:
    """State of the generator for one core in one tick."""
    return _mix(_mix(_mix(uint64(seed) + uint64(0x9E3779B97F4A7C15)) ^ uint64(tick)) ^ uint64(place))


@inlined
def _rho(stream: int, purpose: int, group: int) -> Any:
    """8 random bits per neuron of a group, in lanes of 32 bits."""
    key = uint32(_mix(stream ^ uint64(purpose)) >> uint64(32))
    x = broadcast(_ONE, int32(key)) + ramp(_ONE, int32(group * 32)) * broadcast(_ONE, int32(_GOLDEN))
    x = (x ^ shift_right(x, 16)) * broadcast(_ONE, int32(_FIRST))
    x = (x ^ shift_right(x, 15)) * broadcast(_ONE, int32(_SECOND))
    return shift_right(x ^ shift_right(x, 16), 24)
