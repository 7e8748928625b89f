"""One tick of a core whose potentials fit 16 bits, proven by a bound: the common case.

All neurons of a block are lanes of one vector. Since no potential can leave the rails, the order of the events does
not matter and nothing has to be fitted (proof: ``memory_layout.py``). Noisy cores are wide, so step 3 of the neuron
(:mod:`neuromap.simulation.engine.neuron`) is empty here.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import int16, njit

from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.lanes import (
    add_where,
    any_lane,
    broadcast,
    load,
    load_mask,
    store,
    store_mask,
    where,
    widen,
)
from neuromap.simulation.engine.kernel.layout import (
    FLAGS,
    HEADER,
    LEAK,
    LOW,
    ON_BELOW,
    ON_SPIKE,
    THRESHOLD,
    WEIGHTS,
    Flag,
    Image,
    State,
)
from neuromap.simulation.engine.kernel.words import get, prefetch, prefetch_far
from neuromap.simulation.engine.kernel.workspace import Ahead, Scratch

inlined = njit(**INLINED)

_UNIFORM, _BYTES, _CAN_FALL, _STEP_UP, _STEP_DOWN = (
    Flag.UNIFORM,
    Flag.BYTES,
    Flag.CAN_FALL,
    Flag.STEP_UP,
    Flag.STEP_DOWN,
)


@inlined
def tick_narrow(
    image: Image, state: State, scratch: Scratch, core: int, first: int, last: int, ahead: Ahead, width: Any
) -> bool:
    """Take all neurons of a core through steps 1 to 5."""
    # ``scratch.axons[first:last]`` are due; spikes are written as bits to ``scratch.words``. Returns whether, in a tick
    # without due axons, any potential became another.
    flags = get(image.header, core * HEADER + FLAGS)
    changed = False
    for block in range(extent(image.shape.groups) // len(width)):
        here = (core * extent(image.shape.groups) + block * len(width)) * 32
        potential = load(width, state.narrow, here)
        # 1 integrate
        if flags & _UNIFORM:
            driven = _integrate_uniform(image, scratch, core, first, last, ahead, block, width, potential)
        elif flags & _BYTES:
            driven = _integrate(image, scratch, image.weights8, core, first, last, ahead, block, width, potential)
        else:
            driven = _integrate(image, scratch, image.weights16, core, first, last, ahead, block, width, potential)
        # 2 leak
        potential = _with(operator.add, driven, image, core, LEAK, block, width)
        # 3 threshold noise: none
        # 4 fire
        spikes = _with(operator.ge, potential, image, core, THRESHOLD, block, width)
        # 5 fall below the negative threshold; then the resets of both. Where no lane needs one, no plane is read;
        # where there is none, a reset is cheaper than to guess whether it is needed.
        if flags & _CAN_FALL:
            below = (potential < _parameter(image, core, LOW, block, width)) & ~spikes
            if _is_shared(image, core, ON_BELOW) or any_lane(below):
                fallen = _parameter(image, core, ON_BELOW, block, width)
                if flags & _STEP_DOWN:
                    fallen = potential + fallen
                potential = where(below, fallen, potential)
        if _is_shared(image, core, ON_SPIKE) or any_lane(spikes):
            fired = _parameter(image, core, ON_SPIKE, block, width)
            if flags & _STEP_UP:
                fired = potential + fired
            potential = where(spikes, fired, potential)
        store(state.narrow, here, potential)
        store_mask(scratch.words, block * len(width), spikes)
        if first == last:  # only a tick without events tells whether the core is at rest; then driven is what was
            changed |= any_lane(potential != driven)
    return changed


@inlined
def axon_type(image: Image, core: int, axon: int) -> int:
    """Type of an axon."""
    bits = image.shape.type_bits
    per_byte_log = 3 - (bits >> 1) + (bits >> 3)  # 2, 4, 8 bits: 4, 2, 1 types in a byte
    row = (image.shape.n_axons + (1 << per_byte_log) - 1) >> per_byte_log
    byte = get(image.axon_types, core * row + (axon >> per_byte_log))
    return (byte >> ((axon & ((1 << per_byte_log) - 1)) * bits)) & ((1 << bits) - 1)


@inlined
def prefetch_row(image: Image, array: Any, index: int) -> None:
    """Ask for a line of the crossbar or of the targets."""
    if image.shape.is_vast:  # what is long under way: the first-level cache can wait for few lines at a time
        prefetch_far(array, index)
    else:
        prefetch(array, index)


@inlined
def prefetch_next(image: Image, scratch: Scratch, ahead: Ahead, event: int) -> None:
    """Ask for a crossbar row of the next visit batch and for the target of a spike of the one before."""
    k, m = event + ahead.row, event + ahead.target
    # Beyond the end of a list, what is at hand is asked for: that costs less than a branch.
    row = np.intp(get(scratch.axons, k if k < ahead.row_end else 0))
    neuron = np.intp(get(scratch.fired, m if m < ahead.target_end else 0))
    prefetch_row(image, image.crossbar, row * extent(image.shape.groups))
    prefetch_row(image, image.target, neuron)


@inlined
def _integrate(
    image: Image,
    scratch: Scratch,
    weights: Any,
    core: int,
    first: int,
    last: int,
    ahead: Ahead,
    block: int,
    width: Any,
    potential: Any,
) -> Any:
    """Add the weights of every due axon to the neurons that have a synapse on it."""
    groups, types, rows = extent(image.shape.groups), image.shape.n_types, core * image.shape.n_axons
    planes = (get(image.header, core * HEADER + WEIGHTS) * types * groups + block * len(width)) * 32
    for event in range(first, last):
        row = np.intp(get(scratch.axons, event))
        if block == 0:
            prefetch_next(image, scratch, ahead, event)
        synapses = load_mask(width, image.crossbar, row * groups + block * len(width))
        weight = load(width, weights, planes + axon_type(image, core, row - rows) * groups * 32)
        potential = add_where(synapses, potential, widen(int16, weight))
    return potential


@inlined
def _integrate_uniform(
    image: Image,
    scratch: Scratch,
    core: int,
    first: int,
    last: int,
    ahead: Ahead,
    block: int,
    width: Any,
    potential: Any,
) -> Any:
    """Do the same where all neurons of the core have the same weight for a type."""
    groups, types, rows = extent(image.shape.groups), image.shape.n_types, core * image.shape.n_axons
    for event in range(first, last):
        row = np.intp(get(scratch.axons, event))
        if block == 0:
            prefetch_next(image, scratch, ahead, event)
        synapses = load_mask(width, image.crossbar, row * groups + block * len(width))
        weight = int16(get(image.uniform_weights, core * types + axon_type(image, core, row - rows)))
        potential = add_where(synapses, potential, broadcast(width, weight))
    return potential


@inlined
def _is_shared(image: Image, core: int, which: int) -> bool:
    """Tell whether all neurons of a core have one value of a parameter."""
    return get(image.header, core * HEADER + which + 1) < 0


@inlined
def _with(operation: Any, potential: Any, image: Image, core: int, which: int, block: int, width: Any) -> Any:
    """Give ``operation(potential, parameter)``, for what is done in every tick."""
    # One call for each form of a parameter: to bring them together first takes a register and a move for 32 neurons.
    plane = get(image.header, core * HEADER + which + 1)
    if plane < 0:
        return operation(potential, broadcast(width, int16(get(image.header, core * HEADER + which))))
    at = ((plane >> 1) * extent(image.shape.groups) + block * len(width)) * 32
    if plane & 1:
        return operation(potential, load(width, image.planes16, at))
    return operation(potential, widen(int16, load(width, image.planes8, at)))


@inlined
def _parameter(image: Image, core: int, which: int, block: int, width: Any) -> Any:
    """Load a parameter of all neurons of a block: one value for all, or a plane."""
    plane = get(image.header, core * HEADER + which + 1)
    if plane < 0:
        return broadcast(width, int16(get(image.header, core * HEADER + which)))
    at = ((plane >> 1) * extent(image.shape.groups) + block * len(width)) * 32
    if plane & 1:
        return load(width, image.planes16, at)
    return widen(int16, load(width, image.planes8, at))
