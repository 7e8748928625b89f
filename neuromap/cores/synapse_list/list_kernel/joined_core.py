"""Cores with joined currents, neuron by neuron: all currents first, then the voltages that take them."""

from __future__ import annotations

from numba import float64, int64, njit, uint64

from neuromap.cores.synapse_list.list_kernel.list_layout import ListImage, ListState
from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.words import get, put

inlined = njit(**INLINED)


@inlined
def tick_joined(image: ListImage, state: ListState, core: int, due: int, tick: int) -> None:
    """Take the neurons of a core through a tick; who fired and who changed is left in ``state.words``."""
    # What is due lies from ``due`` on, and is set to 0. Products are doubles and exact (``neuron_lanes.py``).
    lanes = image.shape.lanes
    first, n_words = core * lanes, lanes >> 6
    fired = 2 * core * n_words
    for k in range(2 * n_words):
        put(state.words, fired + k, uint64(0))
    for n in range(lanes):
        _current(image, state, first + n, due + n, fired + n_words + (n >> 6), n & 63)
    for n in range(lanes):
        soma = get(image.joined, first + n)
        if soma >= 0:
            put(state.extra, first + soma, get(state.extra, first + soma) + int64(get(state.current, first + n)))
    for n in range(lanes):
        if get(image.joined, first + n) < 0:
            _voltage(image, state, first + n, tick, fired + (n >> 6), n_words, n & 63)
        else:
            put(state.voltage, first + n, 0)
        put(state.extra, first + n, 0)


@inlined
def _current(image: ListImage, state: ListState, at: int, due: int, changed: int, bit: int) -> None:
    shape, before = image.shape, int64(get(state.current, at))
    kept = int64(float64(before) * float64(image.keep_current[at]))
    added = int64(get(state.due, due)) << shape.due_shift
    added = ((added + shape.sum_half) & shape.sum_mask) - shape.sum_half
    after = ((kept + added + shape.half) & shape.mask) - shape.half
    put(state.current, at, after)
    put(state.due, due, 0)
    if after != before:
        put(state.words, changed, get(state.words, changed) | uint64(1) << uint64(bit))


@inlined
def _voltage(image: ListImage, state: ListState, at: int, tick: int, fired: int, n_words: int, bit: int) -> None:
    shape, before = image.shape, int64(get(state.voltage, at))
    added = int64(get(state.current, at)) + get(state.extra, at) + int64(get(image.bias, at))
    if shape.sum_wraps > 0:
        added = ((added + shape.half) & shape.mask) - shape.half
    has_options = get(image.has_options, at // shape.lanes) > 0
    low = int64(get(image.low, at)) if has_options else -shape.rail
    after = max(min(int64(float64(before) * float64(image.keep_voltage[at])) + added, shape.rail), low)
    if get(state.resting, at) >= tick:
        after = before
    elif after > get(image.threshold, at):
        if has_options:
            after = after - get(image.threshold, at) if get(image.subtract, at) > 0 else int64(get(image.reset, at))
        else:
            after = 0
        put(state.words, fired, get(state.words, fired) | uint64(1) << uint64(bit))
    put(state.voltage, at, after)
    if after != before:
        put(state.words, fired + n_words, get(state.words, fired + n_words) | uint64(1) << uint64(bit))
