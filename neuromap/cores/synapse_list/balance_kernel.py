"""Compiled moves of neurons between cores for a short tick: simulated annealing at one temperature.

All of the compiled code is in this file, because Numba's cache on disk looks at the file of an entry point only. It is
imported when a mapping needs it, and never before: Numba is slow to import.

A tick lasts as long as its slowest core sends or receives. That maximum hides all other cores, so the annealing uses a
smooth one: for every tick, the root of the sum of a high power of all loads. Loads themselves are whole picoseconds, so
that undoing a move restores them exactly, and counts updated move by move equal a recount.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64

from neuromap.compiling import INSIDE, cached

_part = njit(error_model="numpy", **INSIDE)
SEND, RECEIVE = 0, 1
# Most groups moved at once.
MOST_IN_BUNDLE = 128
# Factor of the temperature for groups that leave an overfull core.
URGENT = 100.0
# Proposals between two choices of a slow core.
PER_TICK = 8


class Work(NamedTuple):
    """Activity of groups in the recorded ticks; times are in picoseconds."""

    start: Any
    """(g + 1,): where the signals that a group reads begin."""
    signal: Any
    """(s,): signals."""
    sender: Any
    """(signals,): group that sends a signal, -1 for the host."""
    own: Any
    """(g,): signal that a group sends."""
    begin: Any
    """(signals + 1,): where the recorded ticks of a signal begin."""
    tick: Any
    """(spikes,): ticks in which signals are sent."""
    reader_begin: Any
    """(signals + 1,): where the readers of a signal begin."""
    reader: Any
    """(s,): groups that read it."""
    kind: Any
    """(s,): 1, to count the groups that read a signal, and in fields of 16 bits what may require a second run."""
    busy: Any
    """(g, T): time that a group adds to its core's sending, without messages."""
    heard: Any
    """(g, T): time that its synapses add to its core's receiving, without messages."""
    load: Any
    """(g,): compartments."""
    synapses: Any
    """(g,): synapses."""
    alike: Any
    """(g,): first of each run of consecutive groups that read the same signals."""
    stride: Any
    """(g, 2): distance between the same features of neighbouring columns, and of rows."""
    population: Any
    """(g,): population of a group."""
    room: Any
    """(6,): capacity of a core, :class:`~neuromap.cores.synapse_list.list_network.Room`."""
    message: Any
    """(2,): time that a message adds to the core that sends it, and to the one that receives it."""


class Books(NamedTuple):
    """Counts that are updated move by move."""

    core: Any
    """(g,): core of every group."""
    count: Any
    """(signals, C): sum of the kinds of a core's groups that read a signal."""
    moved: Any
    """(most,): sum of the kinds of the moved groups, signal by signal."""
    n_targets: Any
    """(signals,): number of cores that read a signal."""
    state: Any
    """(5, C): compartments, axons, output axons, synapses and second runs of every core."""
    loads: Any
    """(2, C, T): sending and receiving of every core in every tick."""
    power: Any
    """(C, T): sum of high powers of both."""
    total: Any
    """(T,): the same over all cores."""
    messages: Any
    """(1,): messages in all ticks."""
    member: Any
    """(C, most): groups of every core."""
    place: Any
    """(g,): position of a group among those of its core."""
    size: Any
    """(C,): number of groups of every core."""
    touched: Any
    """(C * T, 2): distinct pairs of a core whose sending a move changes, and a tick."""
    stamp: Any
    """(C, T): last move that touched a pair."""
    clock: Any
    """(1,): moves so far."""


class Price(NamedTuple):
    """Cost of a mapping: a product of powers of its time and its energy."""

    unit: float
    """Picoseconds per unit of load in the powers."""
    still: float
    """Picoseconds of a tick that no move changes: the barrier."""
    time: float
    """Power of the time."""
    energy: float
    """Power of the energy."""
    fixed: float
    """Joules of a tick that no move changes."""
    per_message: float
    """Joules of a message."""
    per_second: float
    """Watts at rest."""


@_part
def _draw(state):  # type: ignore[no-untyped-def]
    """Return the next 64 random bits: SplitMix64, a counter and a mixing function (Steele et al. 2014)."""
    state[0] += uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@_part
def _below(state, n):  # type: ignore[no-untyped-def]
    return int(_draw(state) >> uint64(33)) % n


@_part
def _unit(state):  # type: ignore[no-untyped-def]
    return float(_draw(state) >> uint64(11)) * 2.0**-53


@_part
def _raised(x):  # type: ignore[no-untyped-def]
    x *= x
    x *= x
    x *= x
    return x


@_part
def _root(x):  # type: ignore[no-untyped-def]
    return np.sqrt(np.sqrt(np.sqrt(x)))


@_part
def _fits(work, books, run, target):  # type: ignore[no-untyped-def]
    """Whether a core has room for groups that read the same signals, output axons aside."""
    used, read, _, held, second = books.state
    room = work.room
    load, synapses, g = 0, 0, run[0]
    for h in run:
        load += work.load[h]
        synapses += work.synapses[h]
    if used[target] + load > room[0] or (held[target] + synapses) * room[5] > room[3]:
        return False
    fresh = 0
    for k in range(work.start[g], work.start[g + 1]):
        fresh += books.count[work.signal[k], target] == 0
    bits = (read[target] + second[target] + fresh) * room[4] + (held[target] + synapses) * room[5]
    return read[target] + fresh <= room[1] and bits <= room[3]


@_part
def _shift_one(work, books, g, home, target):  # type: ignore[no-untyped-def]
    """Move one group to a core, with all it takes and sends."""
    loads, sending = books.loads, work.message[SEND]
    used, _, out, held, _ = books.state
    own = work.own[g]
    for t in range(loads.shape[2]):  # arithmetic of whole rows takes three times as long to compile
        loads[SEND, home, t] -= work.busy[g, t]
        loads[SEND, target, t] += work.busy[g, t]
        loads[RECEIVE, home, t] -= work.heard[g, t]
        loads[RECEIVE, target, t] += work.heard[g, t]
    n_targets = books.n_targets[own]
    for k in range(work.begin[own], work.begin[own + 1]):
        loads[SEND, home, work.tick[k]] -= n_targets * sending
        loads[SEND, target, work.tick[k]] += n_targets * sending
    out[home] -= n_targets
    out[target] += n_targets
    used[home] -= work.load[g]
    used[target] += work.load[g]
    held[home] -= work.synapses[g]
    held[target] += work.synapses[g]
    books.core[g] = target
    last = books.member[home, books.size[home] - 1]
    books.member[home, books.place[g]] = last
    books.place[last] = books.place[g]
    books.size[home] -= 1
    books.member[target, books.size[target]] = g
    books.place[g] = books.size[target]
    books.size[target] += 1


@_part
def _needs_two(kinds):  # type: ignore[no-untyped-def]
    """Whether a list may need a second run: it has weights of both signs, and one too wide beside the other sign."""
    return ((kinds >> 16) & 0xFFFF) > 0 and ((kinds >> 32) & 0xFFFF) > 0 and (kinds >> 48) > 0


@_part
def _shift(work, books, run, target, n):  # type: ignore[no-untyped-def]
    """Move groups of one core that read the same signals to another, whether or not they fit.

    Powers and their sums are left unchanged. Return the number of entries of ``touched`` that are written.
    """
    core, count, loads = books.core, books.count, books.loads
    _, read, out, _, second = books.state
    sending, receiving = work.message
    g, home = run[0], books.core[run[0]]
    degree = work.start[g + 1] - work.start[g]
    moved = books.moved[:degree]
    moved[:] = 0
    for h in run:
        _shift_one(work, books, h, home, target)
        for k in range(degree):
            moved[k] += work.kind[work.start[h] + k]
    for k in range(work.start[g], work.start[g + 1]):
        s = work.signal[k]
        there, here, more = count[s, home], count[s, target], moved[k - work.start[g]]
        count[s, home] -= more
        count[s, target] += more
        second[home] += int(_needs_two(there - more)) - int(_needs_two(there))
        second[target] += int(_needs_two(here + more)) - int(_needs_two(here))
        is_freed = there == more
        is_fresh = here == 0
        if not (is_freed or is_fresh):
            continue
        if is_freed:
            read[home] -= 1
            for i in range(work.begin[s], work.begin[s + 1]):
                loads[RECEIVE, home, work.tick[i]] -= receiving
        if is_fresh:
            read[target] += 1
            for i in range(work.begin[s], work.begin[s + 1]):
                loads[RECEIVE, target, work.tick[i]] += receiving
        targets = int(is_fresh) - int(is_freed)
        if targets == 0:
            continue
        books.n_targets[s] += targets
        books.messages[0] += targets * (work.begin[s + 1] - work.begin[s])
        if work.sender[s] < 0:
            continue
        c = core[work.sender[s]]
        out[c] += targets
        for i in range(work.begin[s], work.begin[s + 1]):
            t = work.tick[i]
            loads[SEND, c, t] += targets * sending
            if books.stamp[c, t] != books.clock[0]:
                books.stamp[c, t] = books.clock[0]
                books.touched[n, 0] = c
                books.touched[n, 1] = t
                n += 1
    return n


@_part
def _reprice_row(books, c, unit):  # type: ignore[no-untyped-def]
    """Update the powers of a core and their sums."""
    send, receive, power, total = books.loads[SEND, c], books.loads[RECEIVE, c], books.power[c], books.total
    for t in range(len(total)):
        new = _raised(send[t] * unit) + _raised(receive[t] * unit)
        total[t] += new - power[t]
        power[t] = new


@_part
def _reprice(books, home, target, n, unit):  # type: ignore[no-untyped-def]
    """Update all powers that a move changes."""
    _reprice_row(books, home, unit)
    _reprice_row(books, target, unit)
    for i in range(n):
        c, t = books.touched[i]
        new = _raised(books.loads[SEND, c, t] * unit) + _raised(books.loads[RECEIVE, c, t] * unit)
        books.total[t] += new - books.power[c, t]
        books.power[c, t] = new


@_part
def _cost(books, price):  # type: ignore[no-untyped-def]
    """Return the cost of a mapping by the smooth maximum."""
    n = len(books.total)
    seconds = 0.0
    for t in range(n):
        seconds += _root(max(books.total[t], 0.0))
    seconds = (seconds * price.unit / n + price.still) * 1e-12
    joules = price.fixed + price.per_message * books.messages[0] / n + price.per_second * seconds
    return seconds**price.time * joules**price.energy


def _recount(work, books, price):  # type: ignore[no-untyped-def]
    """Recount everything from the cores of the groups."""
    core, count = books.core, books.count
    used, read, out, held, second = books.state
    books.count[:] = 0
    books.n_targets[:] = 0
    books.state[:] = 0
    books.loads[:] = 0
    books.size[:] = 0
    books.messages[0] = 0
    for g in range(len(core)):
        c = core[g]
        books.member[c, books.size[c]] = g
        books.place[g] = books.size[c]
        books.size[c] += 1
        used[c] += work.load[g]
        held[c] += work.synapses[g]
        for t in range(books.loads.shape[2]):
            books.loads[SEND, c, t] += work.busy[g, t]
            books.loads[RECEIVE, c, t] += work.heard[g, t]
        for k in range(work.start[g], work.start[g + 1]):
            s = work.signal[k]
            if count[s, c] == 0:
                read[c] += 1
                books.n_targets[s] += 1
                for i in range(work.begin[s], work.begin[s + 1]):
                    books.loads[RECEIVE, c, work.tick[i]] += work.message[RECEIVE]
            second[c] -= _needs_two(count[s, c])
            count[s, c] += work.kind[k]
            second[c] += _needs_two(count[s, c])
    for s in range(len(books.n_targets)):
        books.messages[0] += books.n_targets[s] * (work.begin[s + 1] - work.begin[s])
        if work.sender[s] >= 0:
            c = core[work.sender[s]]
            out[c] += books.n_targets[s]
            for i in range(work.begin[s], work.begin[s + 1]):
                books.loads[SEND, c, work.tick[i]] += books.n_targets[s] * work.message[SEND]
    books.power[:] = 0.0
    books.total[:] = 0.0
    for c in range(len(books.size)):
        _reprice_row(books, c, 1.0 / price.unit)
    return _cost(books, price)


@_part
def _proposed(work, books, state, slow, bundle, ends):  # type: ignore[no-untyped-def]
    """Choose groups of one core, often of the slow one, and another core for them.

    Return the number of runs of groups that read the same signals, each ending at its entry of ``ends``, and the core.
    """
    n_cores = len(books.size)
    if books.size[slow] > 0 and _below(state, 2) == 0:
        g = books.member[slow, _below(state, books.size[slow])]
    else:
        g = _below(state, len(books.core))
    home = books.core[g]
    degree = work.start[g + 1] - work.start[g]
    if degree > 0 and _below(state, 16) > 0:
        # a core that reads what the group reads
        s = work.signal[work.start[g] + _below(state, degree)]
        n_readers = work.reader_begin[s + 1] - work.reader_begin[s]
        target = books.core[work.reader[work.reader_begin[s] + _below(state, n_readers)]]
    else:
        target = _below(state, n_cores)
    if target == home:
        return 0, home
    bundle[0], ends[0] = g, 1
    if _below(state, 2) == 0:
        return 1, target
    # a block: features of one position, in some consecutive columns and rows
    column_stride, row_stride = work.stride[g]
    features = min(1 << _below(state, 6), column_stride)
    columns = min(1 << _below(state, 3), row_stride // column_stride)
    rows = 1 << _below(state, 2)
    n_runs, n = 0, 0
    for row in range(rows):
        for column in range(columns):
            first = g + row * row_stride + column * column_stride
            if first >= len(books.core) or work.population[first] != work.population[g]:
                continue
            begin = n
            for h in range(first, min(first + features, len(books.core))):
                if work.alike[h] != work.alike[first] or n >= len(bundle):
                    break
                if books.core[h] == home:
                    bundle[n] = h
                    n += 1
            if n > begin:
                ends[n_runs] = n
                n_runs += 1
    return n_runs, target


@_part
def _excess(state, room, c):  # type: ignore[no-untyped-def]
    """Return the fraction by which a core is overfull: of compartments, axons, output axons or memory."""
    used, read, out, held, second = state[:, c]
    memory = ((read + second) * room[4] + held * room[5]) / room[3]
    return max(max(used / room[0], read / room[1]), max(out / room[2], memory)) - 1.0


@_part
def _worst(books, work, state):  # type: ignore[no-untyped-def]
    """Find a core from which to move groups: one that is overfull, or the slowest of a random tick."""
    # what the slowest core loses is gained at once
    slow = books.power[:, _below(state, len(books.total))].argmax()
    first = _below(state, len(books.size))
    for i in range(len(books.size)):
        c = (first + i) % len(books.size)
        if _excess(books.state, work.room, c) > 0.0:
            return c, True
    return slow, False


@_part
def _keeps_room(before, books, work, home, target):  # type: ignore[no-untyped-def]
    """Whether no core is newly overfull after a move, or more overfull than before."""
    room, now = work.room, books.state
    for k in range(2):
        c = target if k else home
        if _excess(now, room, c) > max(0.0, _excess(before, room, c)):
            return False
    crowded = False
    for c in range(len(books.size)):  # output axons are taken in every core that sends what groups read
        crowded = crowded or now[2, c] > max(room[2], before[2, c])
    return not crowded


def _anneal(work, books, price, state, heat, n_proposals):  # type: ignore[no-untyped-def]
    """Propose moves at one temperature; return how many were accepted and the cost."""
    bundle, ends = np.empty(MOST_IN_BUNDLE, np.int64), np.empty(MOST_IN_BUNDLE, np.int64)
    back, before = np.empty(1, np.int64), books.state.copy()
    unit = 1.0 / price.unit
    now = _cost(books, price)
    accepted, worst, is_full = 0, 0, False
    for number in range(n_proposals):
        if is_full or number % PER_TICK == 0:
            worst, is_full = _worst(books, work, state)
        n_runs, target = _proposed(work, books, state, worst, bundle, ends)
        if n_runs == 0:
            continue
        home = books.core[bundle[0]]
        # a group of the other core may come back, so that full cores can change
        has_back = ends[n_runs - 1] == 1 and _below(state, 4) == 0 and books.size[target] > 0
        touched, done, fits = 0, 0, True
        books.clock[0] += 1
        before[:] = books.state
        if has_back:
            back[0] = books.member[target, _below(state, books.size[target])]
            touched = _shift(work, books, back, home, touched)
        while fits and done < n_runs:
            run = bundle[(ends[done - 1] if done else 0) : ends[done]]
            fits = _fits(work, books, run, target)
            if fits:
                touched = _shift(work, books, run, target, touched)
                done += 1
        fits = fits and _keeps_room(before, books, work, home, target)
        if fits:
            _reprice(books, home, target, touched, unit)
            new = _cost(books, price)
            warm = heat * (URGENT if _excess(before, work.room, home) > 0.0 else 1.0)
            if new <= now or _unit(state) < np.exp((now - new) / (warm * now)):
                now = new
                accepted += 1
                continue
        while done > 0:
            done -= 1
            run = bundle[(ends[done - 1] if done else 0) : ends[done]]
            touched = _shift(work, books, run, home, touched)
        if has_back:
            touched = _shift(work, books, back, target, touched)
        if fits:
            _reprice(books, home, target, touched, unit)
    return accepted, now


class Kernels(NamedTuple):
    """Compiled entry points."""

    recount: Any
    anneal: Any


@cache
def compiled() -> Kernels:
    """Return the compiled entry points."""
    return Kernels(cached(_recount), cached(_anneal))
