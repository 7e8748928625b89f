"""One tick of a range of cores: which cores to visit, and the stages that a visit passes through.

Memory is the limit at thousands of cores, so a visit is cut into stages, and while one core computes, the lines
that later visits will need are already asked for:

    collect   list the due axons of a core, ask for their crossbar rows
    fetch     ask for its potentials and parameters
    compute   the five steps of the neuron model, ask for the targets of its spikes
    post      put the targets into the outbox of the thread that has their core

Nothing in a tick depends on a spike of the same tick, so the stages of one visit may lie a few visits apart, and
outboxes are delivered after all threads have finished the tick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from neuromap.simulation.engine.kernel.core_narrow import tick_narrow
from neuromap.simulation.engine.kernel.core_wide import tick_wide
from neuromap.simulation.engine.kernel.layout import FLAGS, HEADER, LEAK, LOW, WEIGHTS, Flag, Image, State
from neuromap.simulation.engine.kernel.narrow_or_wide import is_narrow
from neuromap.simulation.engine.kernel.ring import box_of, slot_of
from neuromap.simulation.engine.kernel.vectors.extents import extent
from neuromap.simulation.engine.kernel.vectors.lanes import (
    INLINED,
    clear_bytes,
    count_row,
    get,
    list_ones,
    nonzero_bytes,
    prefetch_far,
    put,
    trailing_zeros,
)
from neuromap.simulation.engine.kernel.workspace import (
    AXON_EVENTS,
    FLIGHT,
    SPIKES,
    SYNAPTIC_EVENTS,
    VISITS,
    Record,
    Scratch,
    Team,
)

__all__ = ["tick_cores"]

inlined = njit(**INLINED)

_COLLECT, _FETCH, _POST = 9, 5, 3
"""Visits before and after ``compute``; found by measurement, the result does not depend on them."""
_FEW = 8
"""Lines that are asked for in any case, the last of a list again and again: cheaper than a wrong guess at its end."""

_UNIFORM, _BYTES, _CAN_FALL = Flag.UNIFORM, Flag.BYTES, Flag.CAN_FALL
_RESTLESS = Flag.RESTLESS


@inlined
def tick_cores(
    image: Image,
    state: State,
    scratch: Scratch,
    team: Team,
    me: int,
    tick: int,
    time: int,
    record: Record,
    seed: int,
    width: Any,
) -> None:
    """Run the cores of thread ``me`` for one tick; ``time`` counts from the start of the run."""
    n = _list_visits(image, state, get(team.first, me), get(team.first, me + 1), tick, scratch.visits)
    for i in range(-_COLLECT, n + _POST):
        if i + _COLLECT < n:
            _collect(image, state, scratch, tick, i + _COLLECT)
        if 0 <= i + _FETCH < n:
            _fetch(image, state, get(scratch.visits, i + _FETCH))
        if 0 <= i < n:
            _compute(image, state, scratch, tick, i, record, time, seed, width)
        if i >= _POST:
            _post(image, scratch, team, me, tick, i - _POST)
    scratch.totals[VISITS] += n


@inlined
def _list_visits(image: Image, state: State, first: int, last: int, tick: int, visits: Any) -> int:
    """Cores that have a due axon or are awake, in order."""
    blocks = (image.shape.n_cores + 63) >> 6
    slot = slot_of(image, tick) * blocks
    n = 0
    for block in range(first >> 6, (last + 63) >> 6):
        word = nonzero_bytes(state.busy, (slot + block) << 6) | nonzero_bytes(state.awake, block << 6)
        clear_bytes(state.busy, (slot + block) << 6)
        while word != uint64(0):
            put(visits, n, (block << 6) + trailing_zeros(word))
            n += 1
            word &= word - uint64(1)
    return n


@inlined
def _collect(image: Image, state: State, scratch: Scratch, tick: int, visit: int) -> None:
    """List the due axons of a core in ascending order, free their slot, and ask for their crossbar rows."""
    core, flight = get(scratch.visits, visit), visit & (FLIGHT - 1)
    words, groups = extent(image.shape.words), extent(image.shape.groups)
    due = (slot_of(image, tick) * image.shape.n_cores + core) * words
    start = flight * (words + 1) * 64
    n = start
    for k in range(words):
        n += list_ones(scratch.axons, n, k << 6, get(state.ring, due + k))
        put(state.ring, due + k, uint64(0))
    put(scratch.n_axons, flight, n - start)
    rows = core * image.shape.n_axons * groups
    last = max(n - 1, start)
    for event in range(start, start + _FEW):
        prefetch_far(image.crossbar, rows + get(scratch.axons, min(event, last)) * groups)
    for event in range(start + _FEW, n):
        prefetch_far(image.crossbar, rows + get(scratch.axons, event) * groups)


@inlined
def _fetch(image: Image, state: State, core: int) -> None:
    """Ask for what ``compute`` reads beside the crossbar rows; wide cores are left to the hardware's prefetching."""
    groups, types = extent(image.shape.groups), image.shape.n_types
    header = core * HEADER
    for group in range(groups):
        prefetch_far(state.narrow, (core * groups + group) * 32)
    prefetch_far(image.axon_types, (core * image.shape.n_axons * image.shape.type_bits) >> 3)
    flags = get(image.header, header + FLAGS)
    row = get(image.header, header + WEIGHTS) * types * groups * 32
    if flags & _BYTES:
        for group in range(0, types * groups, 2):
            prefetch_far(image.weights8, row + group * 32)
    elif flags & _UNIFORM == 0:
        for group in range(types * groups):
            prefetch_far(image.weights16, row + group * 32)
    for which in range(LEAK, HEADER if flags & _CAN_FALL else LOW, 2):
        plane = get(image.header, header + which + 1)
        if plane >= 0:
            at = (plane >> 1) * groups * 32
            if plane & 1:
                for group in range(groups):
                    prefetch_far(image.planes16, at + group * 32)
            else:
                for group in range(0, groups, 2):
                    prefetch_far(image.planes8, at + group * 32)


@inlined
def _compute(
    image: Image,
    state: State,
    scratch: Scratch,
    tick: int,
    visit: int,
    record: Record,
    time: int,
    seed: int,
    width: Any,
) -> None:
    """Take a core through the tick, list and count what fired, keep what is watched, say whether it stays awake."""
    core, flight = get(scratch.visits, visit), visit & (FLIGHT - 1)
    groups = extent(image.shape.groups)
    pairs = (groups + 1) >> 1
    first = flight * (extent(image.shape.words) + 1) * 64
    n_axons = get(scratch.n_axons, flight)
    last, out = first + n_axons, flight * 2 * pairs
    if is_narrow(image, state, core, tick, n_axons):
        changed = tick_narrow(image, state, core, scratch.axons, first, last, scratch.words, out, width)
    else:
        changed = tick_wide(image, state, core, scratch.axons, first, last, scratch.words, out, tick, seed)

    targets, start = core * groups * 32, flight * (pairs + 1) * 64
    n = start
    for k in range(pairs):
        n += list_ones(scratch.fired, n, k << 6, get(scratch.spikes, flight * pairs + k))
    final = max(n - 1, start)
    for k in range(start, start + _FEW):
        prefetch_far(image.target, targets + get(scratch.fired, min(k, final)))
    for k in range(start + _FEW, n):
        prefetch_far(image.target, targets + get(scratch.fired, k))
    n -= start
    put(scratch.n_fired, flight, n)
    scratch.totals[SPIKES] += n
    scratch.totals[AXON_EVENTS] += n_axons
    scratch.totals[SYNAPTIC_EVENTS] += _synapses(image, core, scratch.axons, first, last, width)
    if n > 0 and len(record.row) > 0:
        row = get(record.row, core)
        if row >= 0:
            for group in range(groups):
                bits = get(scratch.words, out + group) & get(record.watched, row * groups + group)
                put(record.fired, (time * record.n_rows + row) * groups + group, bits)
    # Without events a tick is a function of the potentials alone: what left them unchanged and silent once does
    # so until the next event; unless noise is drawn.
    restless = get(image.header, core * HEADER + FLAGS) & _RESTLESS
    put(state.awake, core, n_axons > 0 or n > 0 or changed or restless != 0)


@inlined
def _synapses(image: Image, core: int, axons: Any, first: int, last: int, width: Any) -> int:
    """Synapses on the due axons."""
    groups = extent(image.shape.groups)
    n = 0
    for event in range(first, last):
        row = (core * image.shape.n_axons + get(axons, event)) * groups
        for block in range(0, groups, len(width)):
            n += count_row(width, image.crossbar, row + block)
    return n


@inlined
def _post(image: Image, scratch: Scratch, team: Team, me: int, tick: int, visit: int) -> None:
    """Put the targets of a core's spikes into outboxes, those of this thread's own cores too."""
    core, flight = get(scratch.visits, visit), visit & (FLIGHT - 1)
    groups = extent(image.shape.groups)
    block_shift = image.shape.slot_bits + image.shape.axon_bits + 6
    start = flight * (((groups + 1) >> 1) + 1) * 64
    box = box_of(team, tick, me, 0)
    for k in range(start, start + get(scratch.n_fired, flight)):
        target = np.intp(get(image.target, core * groups * 32 + get(scratch.fired, k)))
        to = box
        if team.n_boxes > 1:
            to += get(team.owner, target >> block_shift)
        n = get(team.n_out, to * 8)
        put(team.outbox, get(team.start, to) + n, target)
        put(team.n_out, to * 8, n + (target != 0))  # a neuron without a target leaves no record
