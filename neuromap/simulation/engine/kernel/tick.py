"""One tick of a range of cores: which cores to visit, and the stages that a visit passes through.

Memory is the limit with thousands of cores, mispredicted branches the limit in cache. So a batch of eight visits
passes through a stage together, and while one batch computes, the cache lines that others will need are already
prefetched:

    collect   list the due axons of the batch
    compute   run the five steps of the neuron model, list what fired; with every due axon prefetch a crossbar row of
              the next batch and the target of a spike of the previous one, with every core the data of a core of the
              next batch
    post      put the targets into the outbox of the thread that owns their core

Nothing in a tick depends on a spike of the same tick, so the stages of one visit may lie some visits apart, and
outboxes are delivered after all threads have finished the tick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from neuromap.simulation.engine.kernel import layout as at
from neuromap.simulation.engine.kernel import workspace as count
from neuromap.simulation.engine.kernel.core_tick import prefetch_next, prefetch_row, tick_narrow, tick_wide
from neuromap.simulation.engine.kernel.lanes import CALLED, INLINED
from neuromap.simulation.engine.kernel.layout import Image, State, extent
from neuromap.simulation.engine.kernel.ring import box_of, slot_of
from neuromap.simulation.engine.kernel.words import (
    clear_bytes,
    count_row,
    get,
    list_ones,
    nonzero_bytes,
    prefetch_far,
    put,
    trailing_zeros,
)
from neuromap.simulation.engine.kernel.workspace import CONVOY, FLIGHT, SPARE, Ahead, Call, Scratch, Team, Visit

inlined = njit(**INLINED)

# Path of a core in a tick: 16 bits if exact, else the wide one. They are exact while no potential can leave
# -limit..limit: in a tick one moves by at most PEAK_WEIGHT for every due axon, and by GROWTH (leak, resets that add),
# and resets that set give at most FLOOR. ``bound`` adds these up from tick to tick, from the greatest potential and
# FLOOR on; only where it passes the limit are the potentials themselves looked at again.


# Ticks between checks whether a wide core could be narrow.
_NARROW_AGAIN = 64


@inlined
def is_narrow(image: Image, state: State, core: int, tick: int, n_axons: int) -> bool:
    """Whether this tick is exact in 16 bits; moves the potentials between the paths if that changes."""
    header = core * at.HEADER
    most = get(image.header, header + at.GROWTH) + n_axons * get(image.header, header + at.PEAK_WEIGHT)
    if get(state.is_wide, core) == 0:
        bound = get(state.bound, core) + most
        if bound <= image.shape.limit:
            put(state.bound, core, bound)
            return True
    return _reconsider(image, state, core, tick, most)


@njit(**CALLED)
def _reconsider(image: Image, state: State, core: int, tick: int, most: int) -> bool:
    """Check the potentials themselves: the rare part of :func:`is_narrow`."""
    header, lanes = core * at.HEADER, extent(image.shape.groups) * 32
    start = core * lanes
    peak = get(image.header, header + at.FLOOR)
    if get(state.is_wide, core):
        if get(image.header, header + at.FLAGS) & at.WIDE_ONLY or (tick ^ core) & (_NARROW_AGAIN - 1):
            return False
        for k in range(start, start + lanes):
            peak = max(peak, abs(get(state.wide, k)))
        if 2 * peak + most > image.shape.limit:  # peak + most would do; the margin keeps it from switching back soon
            return False
        for k in range(start, start + lanes):
            put(state.narrow, k, get(state.wide, k))
        put(state.is_wide, core, 0)
    else:
        for k in range(start, start + lanes):
            peak = max(peak, abs(get(state.narrow, k)))
        if peak + most > image.shape.limit:
            for k in range(start, start + lanes):
                put(state.wide, k, get(state.narrow, k))
            put(state.is_wide, core, 1)
            return False
    put(state.bound, core, peak + most)
    return True


@inlined
def tick_cores(image: Image, state: State, scratch: Scratch, team: Team, me: int, call: Call, time: int) -> None:
    """Run the cores of thread ``me`` for the tick ``time`` of a call."""
    tick = call.first_tick + time
    n = _list_visits(image, state, get(team.first, me), get(team.first, me + 1), tick, scratch.visits)
    visit_batches = (n + CONVOY - 1) // CONVOY
    for visit_batch in range(-1, visit_batches + 1):
        _collect(image, state, scratch, tick, visit_batch + 1, n)
        _compute(image, state, scratch, call, time, visit_batch, n)
        if visit_batch > 0:
            _post(image, scratch, team, me, tick, visit_batch - 1)
    scratch.totals[count.VISITS] += n


@inlined
def _list_visits(image: Image, state: State, first: int, last: int, tick: int, visits: Any) -> int:
    """List the cores that have a due axon or are awake, in order; return their number."""
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
def _list_start(listed: Any, visit_batch: int) -> int:
    """Position in ``Scratch.axons`` or ``Scratch.fired`` where the list of a visit batch begins."""
    return SPARE + (visit_batch & (FLIGHT - 1)) * ((len(listed) - SPARE) // FLIGHT)


@inlined
def _collect(image: Image, state: State, scratch: Scratch, tick: int, visit_batch: int, n_visits: int) -> None:
    """List the due axons of a visit batch in ascending order and free their slots."""
    words, slot = extent(image.shape.words), slot_of(image, tick) * image.shape.n_cores
    n = _list_start(scratch.axons, visit_batch)
    for k in range(CONVOY):
        visit = visit_batch * CONVOY + k
        if visit < n_visits:
            core = get(scratch.visits, visit)
            rows, due = core * image.shape.n_axons, (slot + core) * words
            for word in range(words):
                n += list_ones(scratch.axons, n, rows + (word << 6), get(state.ring, due + word))
                put(state.ring, due + word, uint64(0))
        put(scratch.axons_end, visit & (FLIGHT * CONVOY - 1), n)


@inlined
def _fetch(image: Image, state: State, core: int) -> None:
    """Prefetch what ``compute`` reads besides crossbar rows; wide cores are left to hardware prefetching."""
    groups, types = extent(image.shape.groups), image.shape.n_types
    header = core * at.HEADER
    for group in range(groups):
        prefetch_far(state.narrow, (core * groups + group) * 32)
    prefetch_far(image.axon_types, (core * image.shape.n_axons * image.shape.type_bits) >> 3)
    flags = get(image.header, header + at.FLAGS)
    row = get(image.header, header + at.WEIGHTS) * types * groups * 32
    if flags & at.BYTES:
        for group in range(0, types * groups, 2):
            prefetch_far(image.weights8, row + group * 32)
    elif flags & at.UNIFORM == 0:
        for group in range(types * groups):
            prefetch_far(image.weights16, row + group * 32)
    for which in range(at.LEAK, at.HEADER if flags & at.CAN_FALL else at.LOW, 2):
        plane = get(image.header, header + which + 1)
        if plane >= 0:
            there = (plane >> 1) * groups * 32
            if plane & 1:
                for group in range(groups):
                    prefetch_far(image.planes16, there + group * 32)
            else:
                for group in range(0, groups, 2):
                    prefetch_far(image.planes8, there + group * 32)


@inlined
def _compute(
    image: Image, state: State, scratch: Scratch, call: Call, time: int, visit_batch: int, n_visits: int
) -> None:
    """Compute a visit batch: list and count the neurons that fired, record the watched ones, mark cores as awake."""
    # prefetches what the next visit batch needs, and the targets of the previous batch's spikes
    flight, groups = visit_batch & (FLIGHT - 1), extent(image.shape.groups)
    tick, record = call.first_tick + time, call.record
    first = start = _list_start(scratch.axons, visit_batch)
    n = fired = _list_start(scratch.fired, visit_batch)
    ahead = Ahead(
        _list_start(scratch.axons, visit_batch + 1) - start,
        get(scratch.axons_end, (visit_batch + 2) * CONVOY - 1 & (FLIGHT * CONVOY - 1)),
        _list_start(scratch.fired, visit_batch - 1) - start,
        get(scratch.fired_end, visit_batch - 1 & (FLIGHT - 1)) if visit_batch > 0 else 0,
    )
    for visit in range(visit_batch * CONVOY, (visit_batch + 1) * CONVOY):
        if visit + CONVOY < n_visits:
            _fetch(image, state, get(scratch.visits, visit + CONVOY))
        if visit < 0 or visit >= n_visits:
            continue
        core = get(scratch.visits, visit)
        last = get(scratch.axons_end, visit & (FLIGHT * CONVOY - 1))
        n_axons = last - first
        if is_narrow(image, state, core, tick, n_axons):
            changed = tick_narrow(image, state, scratch, Visit(core, first, last, ahead))
        else:
            changed = tick_wide(image, state, core, scratch.axons, first, last, scratch.words, tick, call.seed)
            for event in range(first, last):
                prefetch_next(image, scratch, ahead, event)
        n_fired = 0
        for k in range((groups + 1) >> 1):
            n_fired += list_ones(scratch.fired, n + n_fired, core * groups * 32 + (k << 6), get(scratch.spikes, k))
        n += n_fired
        if len(record.row) > 0:
            row = get(record.row, core)
            if row >= 0 and n_fired > 0:
                for group in range(groups):
                    bits = get(scratch.words, group) & get(record.watched, row * groups + group)
                    put(record.fired, (time * record.n_rows + row) * groups + group, bits)
        # Without events, a tick is a function of the potentials alone: a core that stayed unchanged and silent once
        # does so until the next event, unless it draws noise.
        restless = get(image.header, core * at.HEADER + at.FLAGS) & at.RESTLESS
        put(state.awake, core, (n_axons | n_fired | changed | restless) != 0)
        first = last
    put(scratch.fired_end, flight, n)
    for row in range(first + ahead.row, ahead.row_end):
        prefetch_row(image, image.crossbar, np.intp(get(scratch.axons, row)) * groups)
    for target in range(first + ahead.target, ahead.target_end):
        prefetch_row(image, image.target, np.intp(get(scratch.fired, target)))
    scratch.totals[count.SPIKES] += n - fired
    scratch.totals[count.AXON_EVENTS] += first - start
    scratch.totals[count.SYNAPTIC_EVENTS] += _synapses(image, scratch.axons, start, first)


@inlined
def _synapses(image: Image, axons: Any, first: int, last: int) -> int:
    """Count the synapses on due axons."""
    groups, width = extent(image.shape.groups), image.shape.width
    n = 0
    for event in range(first, last):
        for block in range(0, groups, len(width)):
            n += count_row(width, image.crossbar, np.intp(get(axons, event)) * groups + block)
    return n


@inlined
def _post(image: Image, scratch: Scratch, team: Team, me: int, tick: int, visit_batch: int) -> None:
    """Put the targets of spikes into outboxes, including targets on this thread's own cores."""
    start, end = _list_start(scratch.fired, visit_batch), get(scratch.fired_end, visit_batch & (FLIGHT - 1))
    block_shift = image.shape.slot_bits + image.shape.axon_bits + 6
    box = box_of(team, tick, me, 0)
    if team.n_boxes == 1:
        n = first = get(team.start, box) + get(team.n_out, box * 8)
        for k in range(start, end):
            target = np.intp(get(image.target, np.intp(get(scratch.fired, k))))
            put(team.outbox, n, target)
            n += target != 0  # a neuron without a target leaves no record
        put(team.n_out, box * 8, get(team.n_out, box * 8) + n - first)
        return
    for k in range(start, end):
        target = np.intp(get(image.target, np.intp(get(scratch.fired, k))))
        to = box + get(team.owner, target >> block_shift)
        n = get(team.n_out, to * 8)
        put(team.outbox, get(team.start, to) + n, target)
        put(team.n_out, to * 8, n + (target != 0))
