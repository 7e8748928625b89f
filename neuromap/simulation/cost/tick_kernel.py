"""The compiled clock of timed ticks: cores send in the order of their neurons and process incoming spikes.

Times are whole multiples of a unit that divides all costs: sums are exact, so no order of adding makes a bound smaller
than what it bounds, and a tick has so few units that its spikes are sorted by counting.

Neurons in use are bits of 64-bit words, in order, every core with its own words: active neurons, and those before a
spiking one, are counted word by word.

This module is imported only when ticks are timed: Numba is slow to import.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from neuromap.arrays.array_types import Ints, Words
from neuromap.compiling import INSIDE
from neuromap.simulation.engine.kernel.compiled import cached_under, kernel_stamp
from neuromap.simulation.engine.kernel.words import count_ones, trailing_zeros

# Bits of a time sorted per round: few rounds, each over counters that fit a cache.
_DIGIT = 10
# Neurons of a core whose spikes leave together in the bound, after the last of them: those of a word.
BLOCK = 64


class ClockTables(NamedTuple):
    """A program laid out for the clock: C cores, N neurons each, W words, L axons, T ways.

    The synapses of an axon form E entries, each for all neurons of a word: reading them one by one would wait for
    memory. Axons are numbered in the order in which ways reach them, so that a neuron's ways read adjacent memory.
    """

    first: Ints  # (C + 1,): words of core c are ``first[c]`` to ``first[c + 1] - 1``
    in_use: Words  # (W,): bits that are neurons: the lowest ones
    place: Ints  # (C * N,): bit of a neuron, counted over all words; -1 for neurons not in use
    has_bias: Words  # (W,)
    way: Ints  # (64 W + 1,): ways of a neuron
    # target, axon, ticks, hops: (T,): target core and axon of a way, its delay in ticks, and time of the hops
    target: Ints
    axon: Ints
    ticks: Ints
    hops: Ints
    axon_core: Ints  # (L,)
    work: Ints  # (L,): time that a core needs for a spike to an axon
    entry: Ints  # (L + 1,): entries of an axon
    # due, reached: (E,): delay of an entry in ticks times W, plus its word; neurons that it reaches
    due: Ints
    reached: Words


class ClockState(NamedTuple):
    """State of the clock between ticks, and working memory for one tick."""

    touched: Words  # (slots * W,): neurons that a synapse reaches, by tick modulo the slots
    fired: Words  # (W,): 0 between ticks
    # to, work, when, latest: spikes of a tick: core, work there, arrival, and its bound
    to: Ints
    work: Ints
    when: Ints
    latest: Ints
    # order, spare: working memory to sort them
    order: Ints
    spare: Ints
    # send, receive, free: (C,): work of every core in this tick, and when it has processed its incoming spikes
    send: Ints
    receive: Ints
    free: Ints
    # sent, received: (C,): the same, summed over the ticks; critical: ticks that each core ended
    sent: Ints
    received: Ints
    critical: Ints


_part = njit(error_model="numpy", **INSIDE)


@_part
def _touch(tables, touched, now, axon):  # type: ignore[no-untyped-def]
    """Mark the neurons that an axon's synapses reach; the axon is reached in the slot that begins at ``now``."""
    size = len(touched)
    for entry in range(tables.entry[axon], tables.entry[axon + 1]):
        at = now + tables.due[entry]  # below twice the size
        at -= size if at >= size else 0
        touched[at] |= tables.reached[entry]


@_part
def _in_order(state, n, when):  # type: ignore[no-untyped-def]
    """Sort spikes by time, stably: ties keep the order of sending."""
    order, other = state.order, state.spare
    order[:n] = np.arange(n)
    last, shift = when[:n].max() if n else 0, 0
    while last >> shift:
        place = np.zeros((1 << _DIGIT) + 1, np.int64)
        for k in range(n):
            place[((when[k] >> shift) & ((1 << _DIGIT) - 1)) + 1] += 1
        for digit in range(1 << _DIGIT):
            place[digit + 1] += place[digit]
        for k in order[:n]:
            digit = (when[k] >> shift) & ((1 << _DIGIT) - 1)
            other[place[digit]] = k
            place[digit] += 1
        order, other, shift = other, order, shift + _DIGIT
    return order[:n]


@_part
def _finish(state, n, when):  # type: ignore[no-untyped-def]
    """Let every core process its incoming spikes, first come first served; return when the last is done, and which."""
    free = state.free
    free[:] = 0
    for k in _in_order(state, n, when):
        core = state.to[k]
        free[core] = max(free[core], when[k]) + state.work[k]
    last = 0
    for core in range(len(free)):
        if free[core] > free[last]:
            last = core
    return free[last], last


def _time_tick(tables, state, held, spikes, host, tick, costs):  # type: ignore[no-untyped-def]
    """Time one tick: simulated, upper bound and lower bound; also count active neurons and spikes sent."""
    access, update, fire, spike = costs
    n_words = len(tables.in_use)
    slots = max(1, len(state.touched) // max(1, n_words))
    now = tick % slots * n_words
    for number in spikes:
        place = tables.place[number]
        if place >= 0:
            state.fired[place // BLOCK] |= uint64(1) << uint64(place % BLOCK)
    state.receive[:] = 0
    n = 0
    for axon in host:  # host spikes are there when the tick begins
        core = tables.axon_core[axon]
        state.to[n], state.when[n], state.latest[n], state.work[n] = core, 0, 0, tables.work[axon]
        state.receive[core] += state.work[n]
        n += 1
        _touch(tables, state.touched, now, axon)
    n_host, n_active = n, 0
    for core in range(len(state.send)):
        time = 0
        for word in range(tables.first[core], tables.first[core + 1]):
            active = (held[word] | state.touched[now + word] | tables.has_bias[word]) & tables.in_use[word]
            since, sending, fired = n, 0, state.fired[word]
            while fired != uint64(0):
                k = trailing_zeros(fired)
                fired &= fired - uint64(1)
                sending += fire
                up_to = active & (~uint64(0) >> uint64(BLOCK - 1 - k))
                begin = time + access * (k + 1) + update * count_ones(up_to)
                for way in range(tables.way[word * BLOCK + k], tables.way[word * BLOCK + k + 1]):
                    sending += spike
                    target, axon, hops = tables.target[way], tables.axon[way], tables.hops[way]
                    state.to[n], state.when[n], state.latest[n] = target, begin + sending + hops, hops
                    state.work[n] = tables.work[axon]
                    state.receive[target] += state.work[n]
                    n += 1
                    _touch(tables, state.touched, (tick + tables.ticks[way]) % slots * n_words, axon)
            n_active += count_ones(active)
            time += access * count_ones(tables.in_use[word]) + update * count_ones(active) + sending
            for m in range(since, n):
                state.latest[m] += time
            state.fired[word] = state.touched[now + word] = 0
        state.send[core] = time
    slowest = 0
    for core in range(len(state.send)):
        state.sent[core] += state.send[core]
        state.received[core] += state.receive[core]
        if state.send[core] > state.send[slowest]:
            slowest = core
    sending = state.send[slowest]
    # A queue that never idles while work waits ends no earlier if arrivals are later, whatever order it serves them in:
    # so arrivals at the ends of blocks bound the end.
    bound = max(sending, _finish(state, n, state.latest)[0])
    done, last = _finish(state, n, state.when)
    if done > sending:
        slowest = last
    state.critical[slowest] += 1
    return max(sending, done), bound, max(sending, state.receive.max()), n_active, n - n_host


@cache
def clock_kernel() -> Any:
    """Return the compiled clock."""
    return cached_under(kernel_stamp(), _time_tick)  # the cache sees edits of this file itself
