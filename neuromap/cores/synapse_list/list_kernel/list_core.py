"""One tick of a core: lists of the axons that are reached, its neurons, targets of its spikes."""

from __future__ import annotations

from numba import float64, int64, njit, uint64

from neuromap.cores.synapse_list.list_kernel.list_layout import ListImage, ListState, ListTeam
from neuromap.cores.synapse_list.list_kernel.neuron_lanes import tick_lanes, tick_optional_lanes, tick_uniform_lanes
from neuromap.simulation.engine.kernel.barrier import atomic_or
from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.remote import LINE, part_of, post_remote
from neuromap.simulation.engine.kernel.words import get, list_ones, prefetch, prefetch_far, put
from neuromap.simulation.engine.kernel.workspace import AXON_EVENTS, SPIKES, SYNAPTIC_EVENTS, Record

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


_BIT = (1 << 40) - 1
_FAR, _AHEAD = 20, 8
"""Lists whose heads and whose synapses are asked for before they are spread; found by measurement."""
_LINES = 8
"""Cache lines of a list that are asked for at most; the processor's own prefetching finds the rest."""


@inlined
def spread(image: ListImage, state: ListState, team: ListTeam, me: int, core: int, tick: int) -> None:
    """Add the lists of the axons that are reached to what is due, each synapse after its delay."""
    shape = image.shape
    first, row = me * team.room, tick % (shape.spike_delay + 1)
    n = first
    start, words = row * shape.words, get(image.word, core)
    for k in range(words, get(image.word, core + 1)):
        word = get(state.reached, start + k)
        if word != uint64(0):
            n += list_ones(team.listed, n, (k - words) << 6, word)
            put(state.reached, start + k, uint64(0))
    axons = get(image.axons, core)
    for event in range(first, min(first + _FAR, n)):
        prefetch(image.lists, axons + get(team.listed, event))
    for event in range(first, min(first + _AHEAD, n)):
        _ask(image, axons + get(team.listed, event))
    line = 64 // shape.due_bytes
    lines = shape.slots * shape.lanes // line
    each = lines // max(n - first, 1) + 1
    ring = (core + 1) * shape.slots * shape.lanes if core + 1 < shape.n_cores else 0
    for event in range(first, n):
        prefetch(image.lists, axons + get(team.listed, min(event + _FAR, n - 1)))
        _ask(image, axons + get(team.listed, min(event + _AHEAD, n - 1)))
        for k in range((event - first) * each, min((event - first + 1) * each, lines)):
            prefetch_far(state.due, ring + k * line)
        _spread_list(image, state, team, me, core, axons + get(team.listed, event), tick)
    team.totals[me * 8 + AXON_EVENTS] += n - first


@inlined
def _ask(image: ListImage, number: int) -> None:
    first, last, line = (
        get(image.lists, number) >> 16,
        get(image.lists, number + 1) >> 16,
        256 // image.shape.place_bits,
    )
    for here in range(first, min(last, first + _LINES * line), line):
        prefetch_far(image.synapses, here)


@inlined
def _spread_list(
    image: ListImage, state: ListState, team: ListTeam, me: int, core: int, number: int, tick: int
) -> None:
    """Add one list; the ring of a core is turned by the tick, so a synapse needs an addition and a mask."""
    shape = image.shape
    size = shape.slots * shape.lanes
    base, turn = core * size, (tick & (shape.slots - 1)) * shape.lanes
    head = get(image.lists, number)
    first, last = head >> 16, get(image.lists, number + 1) >> 16
    shift = head & 255
    if shift == 0:
        for s in range(first, last):
            synapse = get(image.synapses, s)
            place = base + ((turn + synapse) & (size - 1))
            put(state.due, place, get(state.due, place) + (synapse >> shape.place_bits))
    else:
        for s in range(first, last):
            synapse = get(image.synapses, s)
            place = base + ((turn + synapse) & (size - 1))
            put(state.due, place, get(state.due, place) + (synapse >> shape.place_bits << shift))
    put(state.busy, core, max(get(state.busy, core), tick + (head >> 8 & 255)))
    team.totals[me * 8 + SYNAPTIC_EVENTS] += last - first


@inlined
def compute(
    image: ListImage,
    state: ListState,
    team: ListTeam,
    me: int,
    core: int,
    tick: int,
    epoch: int,
    record: Record,
    time: int,
) -> None:
    """Take all neurons of a core through the tick and send their spikes; say whether the core stays awake."""
    shape = image.shape
    lanes, n_words = shape.lanes, shape.lanes >> 6
    due = (core * shape.slots + (tick & (shape.slots - 1))) * lanes
    last_word = (lanes - shape.unused - 1) >> 6
    first = me * team.room
    n, any_change = first, uint64(0)
    has_joins = get(image.has_joins, core)
    if has_joins:
        tick_joined(image, state, core, due, tick - epoch)
    for k in range(last_word + 1):
        lane = core * lanes + (k << 6)
        if has_joins:
            at = 2 * core * n_words + k
            fired, changed = get(state.words, at), get(state.words, at + n_words)
        elif get(image.has_options, core):
            fired, changed = tick_optional_lanes(state, image, lane, due + (k << 6), tick - epoch)
        elif get(image.uniform, core):
            fired, changed = tick_uniform_lanes(state, image, lane, due + (k << 6), tick - epoch)
        else:
            fired, changed = tick_lanes(state, image, lane, due + (k << 6), tick - epoch)
        if k == last_word:
            fired &= (~uint64(0)) >> uint64(shape.unused & 63)
            changed &= (~uint64(0)) >> uint64(shape.unused & 63)
        any_change |= changed | fired
        if fired != uint64(0):
            _keep(record, core, k, fired, time, n_words)
            n += list_ones(team.listed, n, k << 6, fired)
    rested = get(state.rests, core) >= tick
    for k in range(first, n):
        prefetch(image.start, core * lanes + get(team.listed, k))
    for k in range(first, n):
        prefetch(image.target, get(image.start, core * lanes + get(team.listed, k)))
    for k in range(first, n):
        _send(image, state, team, me, core, get(team.listed, k), tick, epoch)
    team.totals[me * 8 + SPIKES] += n - first
    # With nothing due a tick is a function of currents, voltages and who rests: what left them unchanged and silent
    # once does so until the next event.
    put(state.awake, core, any_change != uint64(0) or rested or get(state.busy, core) >= tick)


@inlined
def _keep(record: Record, core: int, word: int, fired: int, time: int, n_words: int) -> None:
    """Keep the spikes of watched neurons."""
    if len(record.row) > 0:
        row = get(record.row, core)
        if row >= 0:
            for part in range(2):
                at = 2 * word + part
                bits = (fired >> uint64(32 * part)) & uint64(get(record.watched, row * 2 * n_words + at))
                put(record.fired, (time * record.n_rows + row) * 2 * n_words + at, bits & uint64(0xFFFFFFFF))


@inlined
def _send(
    image: ListImage, state: ListState, team: ListTeam, me: int, core: int, neuron: int, tick: int, epoch: int
) -> None:
    """Let a neuron rest that has fired, and send its spike to its axons."""
    at = core * image.shape.lanes + neuron
    rests = get(image.refractory, at)
    if rests > 0:
        put(state.resting, at, tick - epoch + rests)
        put(state.rests, core, max(get(state.rests, core), tick + rests))
    for target in range(get(image.start, at), get(image.start, at + 1)):
        there = get(image.target, target)
        if there >> 40 >= image.shape.n_cores:
            post_remote(team.remote, me, get(team.remote.owner, (there >> 40) - image.shape.n_cores), there)
        else:
            reach_axon(image, state, team, there >> 40, there & _BIT, tick)


@inlined
def deliver_remote(image: ListImage, state: ListState, team: ListTeam, me: int, clock: int, tick: int) -> None:
    """Reach the axons of what other ranks have sent to this thread in ``tick``, which was at ``clock``."""
    remote = team.remote
    for k in range(len(remote.arrivals) // 2):
        if get(remote.arrivals, 2 * k) == me:
            channel = get(remote.arrivals, 2 * k + 1)
            first = part_of(remote, channel, clock)
            n = get(remote.counts, (channel * remote.slots + (clock & (remote.slots - 1))) * LINE)
            for record in range(first, first + n):
                there = get(remote.records, record)
                reach_axon(image, state, team, there >> 40, there & _BIT, tick)


@inlined
def reach_axon(image: ListImage, state: ListState, team: ListTeam, core: int, bit: int, tick: int) -> None:
    """Set the bit of an axon that a spike of ``tick`` will reach."""
    row = (tick + image.shape.spike_delay) % (image.shape.spike_delay + 1)
    at = row * image.shape.words + (bit >> 6)
    one = uint64(1) << uint64(bit & 63)
    if team.n_threads == 1:
        put(state.reached, at, get(state.reached, at) | one)
    else:
        atomic_or(state.reached, at, one)
    put(state.fed, row * image.shape.n_cores + core, 1)
