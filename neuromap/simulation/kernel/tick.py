"""One tick of a range of cores: which cores to visit, and the stages that a visit passes through.

Memory is the limit at thousands of cores, so a visit is cut into stages, and while one core computes, the lines
that later visits will need are already asked for:

    collect   list the due axons of a core, ask for their crossbar rows
    fetch     ask for its potentials and parameters
    compute   the five steps of the neuron model
    aim       read the targets of its spikes, ask for the words of the ring that they set
    send      set them

The stages of one visit are a few visits apart; none of them touches what another visit computes with, since a
spike is due one tick later at the earliest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from neuromap.simulation.kernel.core_narrow import tick_narrow
from neuromap.simulation.kernel.core_wide import tick_wide
from neuromap.simulation.kernel.lanes import count_ones, prefetch, trailing_zeros
from neuromap.simulation.kernel.layout import (
    FLAGS,
    FLOOR,
    GROWTH,
    HEADER,
    LEAK,
    PEAK_WEIGHT,
    THRESHOLD,
    WEIGHTS,
    Flag,
    Image,
    State,
)

__all__ = ["AXON_EVENTS", "SPIKES", "SYNAPTIC_EVENTS", "VISITS", "Events", "Record", "Scratch", "Team", "deliver", "make_scratch", "tick_cores"]

inlined = njit(forceinline=True, error_model="numpy", _nrt=False)

SPIKES, AXON_EVENTS, SYNAPTIC_EVENTS, VISITS = range(4)
"""Positions in ``Scratch.totals``."""

_FLIGHT = 8
"""Visits whose lists are kept at once; more than any two stages that share a list are apart."""
_COLLECT, _FETCH, _AIM, _SEND = 6, 3, 3, 6
"""Visits before and after ``compute``; found by measurement, the result does not depend on them."""
_NARROW_AGAIN = 64
"""Every so many ticks a wide core is asked whether it could be narrow."""

_UNIFORM, _BYTES, _WIDE_ONLY, _RESTLESS = Flag.UNIFORM, Flag.BYTES, Flag.WIDE_ONLY, Flag.RESTLESS


class Scratch(NamedTuple):
    """Working memory of one thread."""

    visits: NDArray[np.int32]
    axons: NDArray[np.uint16]
    n_axons: NDArray[np.int64]
    words: NDArray[np.uint32]
    spikes: NDArray[np.uint64]
    """The same memory as ``words``: spike bits of the visits in flight."""
    fired: NDArray[np.uint16]
    n_fired: NDArray[np.int64]
    aimed: NDArray[Any]
    totals: NDArray[np.int64]


class Team(NamedTuple):
    """Who runs which cores, and what they hand to each other.

    Ranges are whole blocks of 64 cores, so that no word of ``State.busy`` and ``State.awake`` is shared.
    """

    n_threads: int
    first: NDArray[np.int64]
    """(threads + 1,): first core of every thread."""
    owner: NDArray[np.uint8]
    """Thread of every block of 64 cores."""
    outbox: NDArray[Any]
    """(2, threads, threads, capacity): records of spikes by parity of the tick, from, to."""
    n_out: NDArray[np.int64]
    """(2, threads, threads * 8): their number, padded against false sharing."""
    capacity: int
    barrier: NDArray[np.uint64]


class Events(NamedTuple):
    """What the host feeds: events ``start[t]`` to ``start[t + 1] - 1`` in tick t of the run."""

    start: NDArray[np.int64]
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]


class Record(NamedTuple):
    """Spikes that are kept: bits of the watched neurons of some cores."""

    row: NDArray[np.int32]
    """(C,): row of the core, -1 if it is not recorded; empty if nothing is."""
    watched: NDArray[np.uint32]
    """(rows, n_groups)."""
    fired: NDArray[np.uint32]
    """(ticks, rows, n_groups); written where a visited core has spikes."""
    n_rows: int


def make_scratch(image: Image, n_cores: int) -> Scratch:
    """Working memory for a range of ``n_cores``."""
    words = image.shape.n_groups + image.shape.n_groups % 2
    spikes = np.zeros(_FLIGHT * words // 2, np.uint64)
    lanes = 32 * image.shape.n_groups
    return Scratch(
        visits=np.zeros(max(n_cores, 1), np.int32),
        axons=np.zeros(_FLIGHT << image.shape.axon_bits, np.uint16),
        n_axons=np.zeros(_FLIGHT, np.int64),
        words=spikes.view(np.uint32),
        spikes=spikes,
        fired=np.zeros(_FLIGHT * lanes, np.uint16),
        n_fired=np.zeros(_FLIGHT, np.int64),
        aimed=np.zeros(_FLIGHT * lanes, image.target.dtype),
        totals=np.zeros(16, np.int64),
    )


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
    n = _list_visits(image, state, team.first[me], team.first[me + 1], tick, scratch.visits)
    for i in range(-_COLLECT, n + _SEND):
        if i + _COLLECT < n:
            _collect(image, state, scratch, tick, i + _COLLECT)
        if 0 <= i + _FETCH < n:
            _fetch(image, state, np.intp(scratch.visits[i + _FETCH]))
        if 0 <= i < n:
            _compute(image, state, scratch, tick, i, record, time, seed, width)
        if 0 <= i - _AIM < n:
            _aim(image, state, scratch, tick, i - _AIM)
        if 0 <= i - _SEND:
            _send(image, state, scratch, team, me, tick, i - _SEND)
    scratch.totals[VISITS] += n


@inlined
def _list_visits(image: Image, state: State, first: int, last: int, tick: int, visits: Any) -> int:
    """Cores that have a due axon or are awake, in order."""
    blocks = (image.shape.n_cores + 63) >> 6
    slot = (tick & ((1 << image.shape.slot_bits) - 1)) * blocks
    n = 0
    for block in range(first >> 6, (last + 63) >> 6):
        word = state.busy[slot + block] | state.awake[block]
        state.busy[slot + block] = uint64(0)
        while word != uint64(0):
            visits[n] = (block << 6) + trailing_zeros(word)
            n += 1
            word &= word - uint64(1)
    return n


@inlined
def _collect(image: Image, state: State, scratch: Scratch, tick: int, visit: int) -> None:
    core, flight = np.intp(scratch.visits[visit]), visit & (_FLIGHT - 1)
    words = (1 << image.shape.axon_bits) >> 6
    slot = tick & ((1 << image.shape.slot_bits) - 1)
    due = (slot * image.shape.n_cores + core) * words
    start = flight << image.shape.axon_bits
    rows = core * image.shape.n_axons
    n = start
    for k in range(words):
        word = state.ring[due + k]
        state.ring[due + k] = uint64(0)
        while word != uint64(0):
            axon = (k << 6) + trailing_zeros(word)
            prefetch(image.crossbar, (rows + axon) * image.shape.n_groups)
            scratch.axons[n] = axon
            n += 1
            word &= word - uint64(1)
    scratch.n_axons[flight] = n - start


@inlined
def _fetch(image: Image, state: State, core: int) -> None:
    """Ask for what ``compute`` reads beside the crossbar rows; wide cores are left to the hardware's prefetching."""
    groups = image.shape.n_groups
    header = core * HEADER
    for line in range(groups):
        prefetch(state.narrow, (core * groups + line) * 32)
    prefetch(image.axon_types, (core * image.shape.n_axons * image.shape.type_bits) >> 3)
    flags = image.header[header + FLAGS]
    if flags & _UNIFORM == 0:
        row = np.intp(image.header[header + WEIGHTS]) * image.shape.n_types * groups * 32
        if flags & _BYTES:
            for line in range(0, image.shape.n_types * groups, 2):
                prefetch(image.weights8, row + line * 32)
        else:
            for line in range(image.shape.n_types * groups):
                prefetch(image.weights16, row + line * 32)
    for which in range(LEAK, THRESHOLD + 1, 2):
        plane = np.intp(image.header[header + which + 1])
        if plane >= 0:
            for line in range(groups):
                prefetch(image.planes, (plane * groups + line) * 32)


@inlined
def _compute(
    image: Image, state: State, scratch: Scratch, tick: int, visit: int, record: Record, time: int, seed: int, width: Any
) -> None:
    core, flight = np.intp(scratch.visits[visit]), visit & (_FLIGHT - 1)
    groups = image.shape.n_groups
    pairs = (groups + 1) >> 1
    first = flight << image.shape.axon_bits
    n_axons = scratch.n_axons[flight]
    out = flight * 2 * pairs
    if _is_narrow(image, state, core, tick, n_axons):
        changed = tick_narrow(image, state, core, scratch.axons, first, first + n_axons, scratch.words, out, width)
    else:
        changed = tick_wide(image, state, core, scratch.axons, first, first + n_axons, scratch.words, out, tick, seed)

    n, start = 0, flight * groups * 32
    for k in range(pairs):
        word = scratch.spikes[flight * pairs + k]
        while word != uint64(0):
            neuron = (k << 6) + trailing_zeros(word)
            prefetch(image.target, core * groups * 32 + neuron)
            scratch.fired[start + n] = neuron
            n += 1
            word &= word - uint64(1)
    scratch.n_fired[flight] = n
    scratch.totals[SPIKES] += n
    scratch.totals[AXON_EVENTS] += n_axons
    scratch.totals[SYNAPTIC_EVENTS] += _synapses(image, core, scratch.axons, first, first + n_axons)
    if n > 0 and len(record.row) > 0:
        row = np.intp(record.row[core])
        if row >= 0:
            for group in range(groups):
                bits = scratch.words[out + group] & record.watched[row * groups + group]
                record.fired[(time * record.n_rows + row) * groups + group] = bits
    # Without events a tick is a function of the potentials alone: what left them unchanged and silent once does
    # so until the next event; unless noise is drawn.
    bit = uint64(1) << uint64(core & 63)
    if n_axons > 0 or changed or n > 0 or image.header[core * HEADER + FLAGS] & _RESTLESS:
        state.awake[core >> 6] |= bit
    else:
        state.awake[core >> 6] &= ~bit


@inlined
def _synapses(image: Image, core: int, axons: Any, first: int, last: int) -> int:
    """Synapses on the due axons."""
    groups = image.shape.n_groups
    n = 0
    for event in range(first, last):
        row = (core * image.shape.n_axons + np.intp(axons[event])) * groups
        for group in range(groups):
            n += count_ones(image.crossbar[row + group])
    return n


@inlined
def _is_narrow(image: Image, state: State, core: int, tick: int, n_axons: int) -> bool:
    """Whether this tick is exact in 16 bits; moves the potentials between the paths where that changes."""
    header = core * HEADER
    most = np.intp(image.header[header + GROWTH]) + n_axons * np.intp(image.header[header + PEAK_WEIGHT])
    if state.is_wide[core] == 0:
        bound = np.intp(state.bound[core]) + most
        if bound <= image.shape.limit:
            state.bound[core] = bound
            return True
    return _reconsider(image, state, core, tick, most)


@njit(error_model="numpy", _nrt=False)  # type: ignore[misc]
def _reconsider(image: Image, state: State, core: int, tick: int, most: int) -> bool:
    """The rare part of :func:`_is_narrow`: look at the potentials themselves."""
    header, lanes = core * HEADER, image.shape.n_groups * 32
    start = core * lanes
    floor = np.intp(image.header[header + FLOOR])
    if state.is_wide[core]:
        if image.header[header + FLAGS] & _WIDE_ONLY or (tick ^ core) & (_NARROW_AGAIN - 1):
            return False
        peak = floor
        for k in range(start, start + lanes):
            peak = max(peak, abs(np.int64(state.wide[k])))
        if 2 * peak + most > image.shape.limit:  # with room to spare, or it would be back soon
            return False
        for k in range(start, start + lanes):
            state.narrow[k] = state.wide[k]
        state.is_wide[core] = 0
    else:
        peak = floor
        for k in range(start, start + lanes):
            peak = max(peak, abs(np.int64(state.narrow[k])))
        if peak + most > image.shape.limit:
            for k in range(start, start + lanes):
                state.wide[k] = state.narrow[k]
            state.is_wide[core] = 1
            return False
    state.bound[core] = peak + most
    return True


@inlined
def _aim(image: Image, state: State, scratch: Scratch, tick: int, visit: int) -> None:
    core, flight = np.intp(scratch.visits[visit]), visit & (_FLIGHT - 1)
    lanes, slots = image.shape.n_groups * 32, (1 << image.shape.slot_bits) - 1
    words = (1 << image.shape.axon_bits) >> 6
    start = flight * lanes
    for k in range(start, start + scratch.n_fired[flight]):
        target = image.target[core * lanes + np.intp(scratch.fired[k])]
        scratch.aimed[k] = target
        slot = (tick + np.intp(target)) & slots
        prefetch(state.ring, slot * image.shape.n_cores * words + (np.intp(target) >> (image.shape.slot_bits + 6)))


@inlined
def _send(image: Image, state: State, scratch: Scratch, team: Team, me: int, tick: int, visit: int) -> None:
    flight = visit & (_FLIGHT - 1)
    lanes, core_shift = image.shape.n_groups * 32, image.shape.slot_bits + image.shape.axon_bits
    start = flight * lanes
    for k in range(start, start + scratch.n_fired[flight]):
        target = np.intp(scratch.aimed[k])
        if target == 0:
            continue
        if team.n_threads > 1:
            to = np.intp(team.owner[target >> (core_shift + 6)])
            if to != me:
                box = ((tick & 1) * team.n_threads + me) * team.n_threads + to
                team.outbox[box * team.capacity + team.n_out[box * 8]] = scratch.aimed[k]
                team.n_out[box * 8] += 1
                continue
        deliver(image, state, target, tick)


@inlined
def deliver(image: Image, state: State, target: int, tick: int) -> None:
    """Set the axon of a target record in the ring; the spike was fired in ``tick``."""
    axon_bits, slot_bits = image.shape.axon_bits, image.shape.slot_bits
    words = (1 << axon_bits) >> 6
    slot = (tick + target) & ((1 << slot_bits) - 1)  # the low bits of a record are its delay
    axon = target >> slot_bits
    state.ring[slot * image.shape.n_cores * words + (axon >> 6)] |= uint64(1) << uint64(axon & 63)
    core = axon >> axon_bits
    state.busy[slot * ((image.shape.n_cores + 63) >> 6) + (core >> 6)] |= uint64(1) << uint64(core & 63)
