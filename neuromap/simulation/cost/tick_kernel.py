"""The compiled clock of timed ticks: cores send in the order of their neurons, and work through what comes in.

Times are whole multiples of a unit that divides all costs: sums are exact, so no order of adding makes a bound smaller
than what it bounds, and a tick has so few units that its spikes are put in order by counting.

All of the compiled code is in this file, because Numba's cache on disk looks at the file of an entry point only. It is
imported when ticks are timed, and never before: Numba is slow to import.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.compiling import INSIDE, cached

Bytes = NDArray[np.uint8]
# Bits of a time by which spikes are put in order at once: few rounds, each over counters that stay in a cache.
_DIGIT = 10
# Neurons of a core whose spikes the bound takes to leave together, after the last of them.
BLOCK = 64


class ClockTables(NamedTuple):
    """What a program does in a tick, laid out for the clock: C cores, N neurons each, L axons, T ways.

    Synapses stand in R runs, from neuron to neighbouring neuron: reading them one by one is waiting for memory.
    """

    first: Ints  # (C + 1,): neurons in use of core c are ``neuron[first[c]:first[c + 1]]``, ascending
    neuron: Ints  # numbers C * N + n
    has_bias: Bytes  # (C * N,)
    way: Ints  # (C * N + 1,): ways of a neuron
    # target, axon, ticks, hops: (T,): core and axon of a way, ticks to the axon, and time of the hops
    target: Ints
    axon: Ints
    ticks: Ints
    hops: Ints
    axon_core: Ints  # (L,)
    work: Ints  # (L,): time that a spike to an axon takes its core
    run: Ints  # (L + 1,): runs of an axon
    # due, length: (R,): ticks of a run times C * N and the first neuron that it reaches; neurons
    due: Ints
    length: Ints


class ClockState(NamedTuple):
    """What the clock keeps between ticks, and room for one tick."""

    touched: Bytes  # (slots * C * N,): neurons that a synapse reaches, by tick modulo the slots
    # to, work, when, latest: room for the spikes of a tick: core, work there, arrival, and a bound of it
    to: Ints
    work: Ints
    when: Ints
    latest: Ints
    # order, spare: room for their order
    order: Ints
    spare: Ints
    # send, receive, free: (C,): work of every core in this tick, and when it has worked through what came in
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
    """Mark the neurons that an axon's synapses reach, an axon that is reached in the slot that begins there."""
    size = len(touched)
    for run in range(tables.run[axon], tables.run[axon + 1]):
        at = now + tables.due[run]  # below twice the size
        at -= size if at >= size else 0
        touched[at : at + tables.length[run]] = 1


@_part
def _in_order(state, n, when):  # type: ignore[no-untyped-def]
    """Order spikes by their times; those that come together keep the order of sending."""
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
    """Let every core work through what comes in, first come first served; when the last one is done, and which."""
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


def _time_tick(tables, state, held, fired, host, tick, costs):  # type: ignore[no-untyped-def]
    """Time one tick: in the simulation, by the bound, and at the least; neurons that were active, and spikes sent."""
    access, update, fire, spike = costs
    n_neurons = len(fired)
    slots = max(1, len(state.touched) // max(1, n_neurons))
    now = state.touched[tick % slots * n_neurons : (tick % slots + 1) * n_neurons]
    state.receive[:] = 0
    n = 0
    for axon in host:  # what the host feeds is there when the tick begins
        core = tables.axon_core[axon]
        state.to[n], state.when[n], state.latest[n], state.work[n] = core, 0, 0, tables.work[axon]
        state.receive[core] += state.work[n]
        n += 1
        _touch(tables, state.touched, tick % slots * n_neurons, axon)
    n_host, n_active = n, 0
    for core in range(len(state.send)):
        time, since = 0, n
        first, last = tables.first[core], tables.first[core + 1]
        for k in range(first, last):
            neuron = tables.neuron[k]
            time += access
            if held[neuron] or tables.has_bias[neuron] or now[neuron]:
                time += update
                n_active += 1
            if fired[neuron]:
                time += fire
                for way in range(tables.way[neuron], tables.way[neuron + 1]):
                    time += spike
                    target, axon, hops = tables.target[way], tables.axon[way], tables.hops[way]
                    state.to[n], state.when[n], state.latest[n] = target, time + hops, hops
                    state.work[n] = tables.work[axon]
                    state.receive[target] += state.work[n]
                    n += 1
                    _touch(tables, state.touched, (tick + tables.ticks[way]) % slots * n_neurons, axon)
            if (k - first) % BLOCK == BLOCK - 1 or k == last - 1:
                for m in range(since, n):
                    state.latest[m] += time
                since = n
        state.send[core] = time
    now[:] = 0
    slowest = 0
    for core in range(len(state.send)):
        state.sent[core] += state.send[core]
        state.received[core] += state.receive[core]
        if state.send[core] > state.send[slowest]:
            slowest = core
    sending = state.send[slowest]
    # A queue that never idles while work waits ends no earlier for later arrivals, whatever order it serves them in: so
    # arrivals at the ends of blocks bound the end.
    bound = max(sending, _finish(state, n, state.latest)[0])
    done, last = _finish(state, n, state.when)
    if done > sending:
        slowest = last
    state.critical[slowest] += 1
    return max(sending, done), bound, max(sending, state.receive.max()), n_active, n - n_host


@cache
def clock_kernel() -> Any:
    """Give the compiled clock."""
    return cached(_time_tick)
