"""One tick of a core whose potentials fit 16 bits, proven by a bound: the common case.

All neurons of a block are lanes of one vector. Since no potential can leave the rails, the order of the events does
not matter and nothing has to be fitted; ``image.py`` has the proof. Cores with noise are wide, so step 3 of the neuron
(:mod:`neuromap.simulation.engine.neuron`) is empty here.
"""

from __future__ import annotations

from typing import Any

from numba import int16, njit

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
from neuromap.simulation.engine.kernel.vectors.extents import extent
from neuromap.simulation.engine.kernel.vectors.lanes import (
    INLINED,
    add_where,
    any_lane,
    broadcast,
    get,
    load,
    load_mask,
    store,
    store_mask,
    where,
    widen,
)

__all__ = ["axon_type", "tick_narrow"]

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
    image: Image, state: State, core: int, axons: Any, first: int, last: int, spikes_out: Any, out: int, width: Any
) -> bool:
    """Take all neurons of a core through steps 1 to 5.

    ``axons[first:last]`` are due; spikes are written as bits to ``spikes_out[out:]``. Returns whether, in a tick
    without due axons, any potential became another.
    """
    flags = get(image.header, core * HEADER + FLAGS)
    changed = False
    for block in range(extent(image.shape.groups) // len(width)):
        here = (core * extent(image.shape.groups) + block * len(width)) * 32
        before = load(width, state.narrow, here)
        # 1 integrate
        if flags & _UNIFORM:
            potential = _integrate_uniform(image, core, axons, first, last, block, width, before)
        elif flags & _BYTES:
            potential = _integrate(image, image.weights8, core, axons, first, last, block, width, before)
        else:
            potential = _integrate(image, image.weights16, core, axons, first, last, block, width, before)
        # 2 leak
        potential = potential + _parameter(image, core, LEAK, block, width)
        # 3 threshold noise: none
        # 4 fire
        spikes = potential >= _parameter(image, core, THRESHOLD, block, width)
        # 5 fall below the negative threshold; then the resets of both: where no lane needs one, no plane is read
        if flags & _CAN_FALL:
            below = (potential < _parameter(image, core, LOW, block, width)) & ~spikes
            if any_lane(below):
                fallen = _parameter(image, core, ON_BELOW, block, width)
                if flags & _STEP_DOWN:
                    fallen = potential + fallen
                potential = where(below, fallen, potential)
        if any_lane(spikes):
            fired = _parameter(image, core, ON_SPIKE, block, width)
            if flags & _STEP_UP:
                fired = potential + fired
            potential = where(spikes, fired, potential)
        store(state.narrow, here, potential)
        store_mask(spikes_out, out + block * len(width), spikes)
        if first == last:  # only a tick without events tells whether the core is at rest
            changed |= any_lane(potential != before)
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
def _integrate(
    image: Image, weights: Any, core: int, axons: Any, first: int, last: int, block: int, width: Any, potential: Any
) -> Any:
    """Add the weights of every due axon to the neurons that have a synapse on it."""
    groups, types = extent(image.shape.groups), image.shape.n_types
    rows = core * image.shape.n_axons * groups + block * len(width)
    planes = (get(image.header, core * HEADER + WEIGHTS) * types * groups + block * len(width)) * 32
    for event in range(first, last):
        axon = get(axons, event)
        synapses = load_mask(width, image.crossbar, rows + axon * groups)
        weight = load(width, weights, planes + axon_type(image, core, axon) * groups * 32)
        potential = add_where(synapses, potential, widen(int16, weight))
    return potential


@inlined
def _integrate_uniform(
    image: Image, core: int, axons: Any, first: int, last: int, block: int, width: Any, potential: Any
) -> Any:
    """Do the same where all neurons of the core have the same weight for a type."""
    groups, types = extent(image.shape.groups), image.shape.n_types
    rows = core * image.shape.n_axons * groups + block * len(width)
    for event in range(first, last):
        axon = get(axons, event)
        synapses = load_mask(width, image.crossbar, rows + axon * groups)
        weight = int16(get(image.uniform_weights, core * types + axon_type(image, core, axon)))
        potential = add_where(synapses, potential, broadcast(width, weight))
    return potential


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
