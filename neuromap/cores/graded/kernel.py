"""The compiled tick of graded cores: threads with a range of cores each, two phases a tick, one barrier.

Lists are stored as *patterns*: runs of blocks of 8 lanes with one delay, in which neurons without a synapse have weight
0, so that every run is computed in whole vectors. Lists with one pattern and equal weights share these, as those of a
convolution do at its positions, so that they stay in the cache. Consecutive axons with one pattern and one
first block, such as the features of a pixel, are spread together: the sums due are then read and written once for four
of them.

Sums are exact in 32 bits: programs whose sums could exceed them are refused (``rules.sums_of_32_bits``).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import int64, njit, types, uint64
from numba.extending import intrinsic
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.cores.graded.program import GradedProgram
from neuromap.cores.synapse_list.program import SynapseTable
from neuromap.simulation.engine.kernel.barrier import wait
from neuromap.simulation.engine.kernel.compiled import cached_under, compiled, kernel_stamp
from neuromap.simulation.engine.kernel.lanes import CALLED, INT32, WORD, element, made, splat
from neuromap.simulation.engine.kernel.layout import aligned_full
from neuromap.simulation.engine.kernel.words import trailing_zeros
from neuromap.simulation.engine.kernel.workspace import Call

# Lanes of a block, of 32 bits each: a vector of AVX2.
BLOCK = 8
# Lanes of a cache line, to which the lanes of every core are aligned.
LINE = 16
# Words of ``Scratch.totals``: what was done since tick 0, messages listed in this call, and the tick of a fault + 1.
SENT, AXON_EVENTS, SYNAPTIC_EVENTS, LISTED, FAULT = range(5)


_UNITS = {"multiplier": np.int32, "shift": np.uint8, "low": np.int32, "high": np.int32}


class Image(NamedTuple):
    """Read-only data, shared by threads and forks. Lanes are the neurons in use of all cores, core by core."""

    spike_delay: int
    slots: int  # ticks for which sums are kept
    axons: Ints  # (C + 1,): first list of every core
    lanes: Ints  # (C + 1,): first lane of every core
    # (L,): pattern of every list, its first block as a lane, where its weights begin, and its number of synapses
    pattern: NDArray[np.int32]
    base: NDArray[np.int32]
    weights: Ints
    length: NDArray[np.int32]
    # runs: (P + 1,): first run of every pattern; per run its first lane and weight, counted from the list's, its number
    # of lanes, and its delay
    runs: NDArray[np.int32]
    run_lane: NDArray[np.int32]
    run_weight: NDArray[np.int32]
    run_length: NDArray[np.int32]
    run_delay: NDArray[np.uint8]
    weight: Any  # of int8 if all weights fit, else int32
    # (lanes,): parameters of neurons
    multiplier: NDArray[np.int32]
    shift: NDArray[np.uint8]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    # joins: (C + 1,): first joined compartment of every core; per compartment its lane and that of its neuron
    joins: Ints
    join_from: NDArray[np.int32]
    join_to: NDArray[np.int32]
    # start: (lanes + 1,): first target of every lane; per target its list and core
    start: Ints
    target_list: NDArray[np.int32]
    target_core: NDArray[np.int32]
    exists: Bools  # (lanes,): whether it is a neuron; the others pad cache lines
    restless: Bools  # (C,): cores with a neuron that sends in every tick, as a stuck one does


class State(NamedTuple):
    """Data that ticks change."""

    carried: NDArray[np.int32]  # (D + 1, L), a ring: values that axons will carry
    fed: NDArray[np.uint8]  # (D + 1, C): 1 for cores with such an axon
    due: NDArray[np.int32]  # (slots * lanes,), a ring: sums that are due
    is_due: NDArray[np.uint8]  # (slots, C): 1 for cores with such a sum
    total: NDArray[np.int32]  # (lanes,): sums of the last tick in which the core responded
    last: Ints  # (C,): that tick


class Team(NamedTuple):
    """Cores of each thread."""

    n_threads: int
    first: Ints  # (threads + 1,): first core of every thread
    barrier: Words


class Scratch(NamedTuple):
    """Working memory of one thread."""

    totals: Ints  # (8,)
    together: Ints  # (8,): values of four axons that are spread together, and where their weights begin
    # (room,): messages of a call
    tick: NDArray[np.int32]
    core: NDArray[np.int32]
    lane: NDArray[np.int32]
    value: NDArray[np.int32]


class Fed(NamedTuple):
    """Input from the host: events ``start[t]`` to ``start[t + 1] - 1`` in tick t of the run."""

    start: Ints
    core: NDArray[np.int32]
    list: Ints
    value: NDArray[np.int32]


_WIDE, _NARROW, _BYTES = (ir.VectorType(ir.IntType(bits), BLOCK) for bits in (64, 32, 8))


def _add_products(n: int) -> Any:
    """Make an intrinsic that adds the products of ``n`` values and the weights of one block to its sums."""

    @intrinsic
    def add(typing_context: Any, due: Any, lane: Any, weight: Any, at: Any, values: Any) -> Any:
        """Add weight[at[k] : at[k] + 8] * values[k] for every k to due[lane : lane + 8]."""
        bits = weight.dtype.bitwidth
        row_type = ir.VectorType(ir.IntType(bits), BLOCK)

        def emit(builder: Any, sums: Any, lane: Any, weights: Any, begins: Any, factors: Any) -> None:
            place = element(builder, sums, lane, _NARROW)
            total = builder.load(place, align=4 * BLOCK)
            for k in range(n):
                here = element(builder, weights, builder.extract_value(begins, k), row_type)
                row = builder.load(here, align=bits // 8)
                row = builder.sext(row, _NARROW) if bits < 32 else row
                value = builder.trunc(builder.extract_value(factors, k), INT32)
                total = builder.add(total, builder.mul(row, splat(builder, value, _NARROW, BLOCK)))
            builder.store(total, place, align=4 * BLOCK)

        return made(emit, types.void, due, types.intp, weight, at, values)

    return add


_add_one, _add_two, _add_four = _add_products(1), _add_products(2), _add_products(4)


@intrinsic
def _is_silent(typing_context: Any, carried: Any, at: Any) -> Any:
    """Test whether carried[at : at + 8] are all 0."""

    def emit(builder: Any, data: Any, index: Any) -> Any:
        values = builder.load(element(builder, data, index, _NARROW), align=4)
        return builder.icmp_unsigned("==", _bits_of(builder, values), ir.IntType(BLOCK)(0))

    return made(emit, types.boolean, carried, types.intp)


def _bits_of(builder: Any, values: Any) -> Any:
    """Return one bit per value, set if it is not 0."""
    return builder.bitcast(builder.icmp_signed("!=", values, ir.Constant(_NARROW, None)), ir.IntType(BLOCK))


@intrinsic
def _respond_block(
    typing_context: Any, due: Any, lane: Any, total: Any, unit: Any, multiplier: Any, shift: Any, low: Any, high: Any
) -> Any:
    """Turn sums due for 8 lanes from ``lane`` on, units from ``unit`` on, into totals and values; return who sends."""
    # Readable version: ``spiking_neuron.rounded``.

    def all_of(value: int) -> Any:
        return ir.Constant(_WIDE, [value] * BLOCK)

    def emit(b: Any, due: Any, lane: Any, total: Any, unit: Any, *parameters: Any) -> Any:
        multiplier, shift, low, high = parameters
        place = element(b, due, lane, _NARROW)
        sums = b.load(place, align=4 * BLOCK)
        b.store(sums, element(b, total, unit, _NARROW), align=4)
        factor, least, most = (
            b.sext(b.load(element(b, data, unit, _NARROW), align=4), _WIDE) for data in (multiplier, low, high)
        )
        bits = b.zext(b.load(element(b, shift, unit, _BYTES), align=1), _WIDE)
        product = b.mul(b.sext(sums, _WIDE), factor)
        whole = b.ashr(product, bits)
        left = b.sub(product, b.shl(whole, bits))
        half = b.lshr(b.shl(all_of(1), bits), all_of(1))
        is_even_up = b.and_(
            b.and_(b.icmp_signed("==", left, half), b.icmp_signed(">", half, all_of(0))),
            b.icmp_signed("!=", b.and_(whole, all_of(1)), all_of(0)),
        )
        value = b.add(whole, b.zext(b.or_(b.icmp_signed(">", left, half), is_even_up), _WIDE))
        value = b.select(b.icmp_signed("<", value, most), value, most)
        value = b.select(b.icmp_signed(">", value, least), value, least)
        values = b.trunc(value, _NARROW)
        b.store(values, place, align=4 * BLOCK)
        return b.zext(_bits_of(b, values), WORD)

    return made(emit, types.int64, due, types.intp, total, types.intp, multiplier, shift, low, high)


@njit(**CALLED)
def _spread(image: Image, state: State, scratch: Scratch, core: int, tick: int) -> None:
    """Add the products of a core's axons that carry a value to the sums due."""
    carried, together = state.carried[tick % (image.spike_delay + 1)], scratch.together
    at, end = image.axons[core], image.axons[core + 1]
    now, n_lanes = tick % image.slots, image.lanes[-1]
    n_axons, n_synapses = 0, 0
    while at < end:
        while at + BLOCK <= end and _is_silent(carried, at):
            at += BLOCK
        if at == end or carried[at] == 0:
            at += 1
            continue
        pattern, base, n = image.pattern[at], image.base[at], 0
        while at < end and n < 4:
            if carried[at] != 0:
                if image.pattern[at] != pattern or image.base[at] != base:
                    break
                together[2 * n], together[2 * n + 1] = carried[at], image.weights[at]
                carried[at] = 0
                n_axons += 1
                n_synapses += image.length[at]
                n += 1
            at += 1
        v0, v1, v2, v3 = together[0], together[2], together[4], together[6]
        w0, w1, w2, w3 = together[1], together[3], together[5], together[7]
        if n == 3:
            v3, w3 = 0, w0  # the fourth adds nothing
        for run in range(image.runs[pattern], image.runs[pattern + 1]):
            slot = now + image.run_delay[run]  # a division takes as long as a short run
            if slot >= image.slots:
                slot -= image.slots
            state.is_due[slot, core] = 1
            lane = slot * n_lanes + base + image.run_lane[run]
            more = int64(image.run_weight[run])
            if n == 1:
                for i in range(0, image.run_length[run], BLOCK):
                    _add_one(state.due, lane + i, image.weight, (w0 + more + i,), (v0,))
            elif n == 2:
                for i in range(0, image.run_length[run], BLOCK):
                    _add_two(state.due, lane + i, image.weight, (w0 + more + i, w1 + more + i), (v0, v1))
            else:
                for i in range(0, image.run_length[run], BLOCK):
                    j = more + i
                    _add_four(state.due, lane + i, image.weight, (w0 + j, w1 + j, w2 + j, w3 + j), (v0, v1, v2, v3))
    scratch.totals[AXON_EVENTS] += n_axons
    scratch.totals[SYNAPTIC_EVENTS] += n_synapses


@njit(**CALLED)
def _respond(image: Image, state: State, scratch: Scratch, core: int, call: Call, time: int) -> None:
    """Update a core's neurons with the sums due, and send their values."""
    first, end, tick, watched = image.lanes[core], image.lanes[core + 1], call.first_tick + time, call.record
    slot = tick % image.slots * image.lanes[-1]
    due = state.due
    for k in range(image.joins[core], image.joins[core + 1]):
        one, other = slot + image.join_from[k], slot + image.join_to[k]
        due[other] = max(due[other], due[one])
        due[one] = 0
    state.last[core] = tick
    reached = (tick + image.spike_delay) % (image.spike_delay + 1)
    carried, fed = state.carried[reached], state.fed[reached]
    ticks, cores, neurons, values = scratch.tick, scratch.core, scratch.lane, scratch.value
    n, n_sent = scratch.totals[LISTED], 0
    for block in range(first, end, BLOCK):
        sends = _respond_block(
            due, slot + block, state.total, block, image.multiplier, image.shift, image.low, image.high
        )
        while sends != 0:
            lane = block + trailing_zeros(uint64(sends))
            sends &= sends - 1
            value = due[slot + lane]
            due[slot + lane] = 0
            n_sent += 1
            if watched[lane]:
                ticks[n], cores[n], neurons[n], values[n] = time, core, lane - first, value
                n += 1
            for k in range(image.start[lane], image.start[lane + 1]):
                carried[image.target_list[k]] = value
                fed[image.target_core[k]] = 1
    scratch.totals[LISTED] = n
    scratch.totals[SENT] += n_sent


@njit(**CALLED)
def _run_ticks(image: Image, state: State, scratch: Scratch, team: Team, me: int, call: Call) -> None:
    """Run the cores of thread ``me`` for some ticks, in step with the others."""
    sense, fed = uint64(0), call.events
    begin, end = team.first[me], team.first[me + 1]
    for time in range(call.n_ticks):
        tick, row = call.first_tick + time, call.event_tick + time
        slot, due = tick % (image.spike_delay + 1), tick % image.slots
        for k in range(fed.start[row], fed.start[row + 1]):
            if begin <= fed.core[k] < end:
                if state.carried[slot, fed.list[k]] != 0:
                    scratch.totals[FAULT] = tick + 1
                state.carried[slot, fed.list[k]] = fed.value[k]
                state.fed[slot, fed.core[k]] = 1
        for core in range(begin, end):
            if state.fed[slot, core]:
                state.fed[slot, core] = 0
                _spread(image, state, scratch, core, tick)
            if state.is_due[due, core] or image.restless[core]:
                state.is_due[due, core] = 0
                _respond(image, state, scratch, core, call, time)
        # a value reaches its axons a tick later at the earliest, in another slot of the ring than the present one:
        # within a tick cores are independent
        if team.n_threads > 1:
            sense ^= uint64(1)
            if not wait(team.barrier, team.n_threads, sense):
                return


@cache
def graded_kernel() -> Any:
    """Return ``run(image, state, start, scratch, team, me, call)``, without the GIL, cached on disk under a stamp."""
    compiled()  # refuses where nothing may be compiled, and gives kernels the operating system's sleep

    def run_graded(image, state, start, scratch, team, me, call):  # type: ignore[no-untyped-def]
        _run_ticks(image, state, scratch, team, me, call)

    return cached_under(kernel_stamp(Path(__file__)), run_graded, _nrt=False)


def make_image(program: GradedProgram) -> Image:
    """Lay out a program for the kernel."""
    table, units, targets, n = program.synapses, program.units, program.targets, program.chip.neurons
    used = np.where(program.neurons_in_use, np.arange(1, n + 1), 0).max(axis=1, initial=0)
    used = -(-used // LINE) * LINE
    lanes = np.append(0, np.cumsum(used)).astype(np.int64)
    core, neuron = np.repeat(np.arange(program.n_cores), used), ragged_ranges(0, used)
    exists = neuron < n
    place = np.where(exists, core * n + neuron, 0)
    joined = np.full(len(place), -1, np.int64)
    if units.joined is not None:
        joined = np.where(exists, units.joined.ravel()[place], -1)
    compartment = np.flatnonzero(joined >= 0)
    fan_out = np.diff(targets.start)[place] * exists
    target = ragged_ranges(targets.start[place], fan_out)
    return Image(
        spike_delay=program.chip.delay[0],
        slots=int(table.delay.max(initial=0)) + 1,
        axons=table.axons.astype(np.int64),
        lanes=lanes,
        **_patterns(table, lanes),
        **{name: getattr(units, name).ravel()[place] * exists.astype(dtype) for name, dtype in _UNITS.items()},
        joins=np.searchsorted(core[compartment], np.arange(program.n_cores + 1)).astype(np.int64),
        join_from=compartment.astype(np.int32),
        join_to=(lanes[core[compartment]] + joined[compartment]).astype(np.int32),
        start=np.append(0, np.cumsum(fan_out)).astype(np.int64),
        target_list=(table.axons[targets.core[target]] + targets.axon[target]).astype(np.int32),
        target_core=targets.core[target].astype(np.int32),
        exists=exists,
        restless=np.any((units.low > 0) | (units.high < 0), axis=1),
    )


def _patterns(table: SynapseTable, lanes: Ints) -> dict[str, Any]:
    """Find the lists that share patterns and weights: the fields of an image from ``pattern`` to ``weight``."""
    length = np.diff(table.lists)
    keys: list[Ints] = [np.zeros(0, np.int64)]
    weights: list[NDArray[np.integer]] = [np.zeros((0, BLOCK), np.int8)]
    for lists, mine in table.by_core():
        key = np.repeat(np.arange(lists.start, lists.stop), length[lists]) << 24
        key |= table.delay[mine].astype(np.int64) << 16 | table.neuron[mine] // BLOCK
        neuron, weight = table.neuron[mine], table.weight[mine]
        if (np.diff(key) < 0).any():
            order = np.argsort(key, kind="stable")
            key, neuron, weight = key[order], neuron[order], weight[order]
        head = np.flatnonzero(np.diff(key, prepend=-1))  # where a block of a list begins
        of = np.repeat(np.arange(len(head)), np.diff(np.append(head, len(key))))
        block = np.zeros((len(head), BLOCK), np.int32)
        np.add.at(block.reshape(-1), of * BLOCK + neuron % BLOCK, weight)
        keys.append(key[head])
        is_narrow = int(block.min(initial=0)) >= -128 and int(block.max(initial=0)) <= 127
        weights.append(block.astype(np.int8) if is_narrow else block)
    key, weight = np.concatenate(keys), np.concatenate(weights)
    number, delay, block = key >> 24, key >> 16 & 255, key & 65535
    start = np.searchsorted(number, np.arange(len(length) + 1))
    base = np.zeros(len(length), np.int64)
    some = np.flatnonzero(np.diff(start))
    base[some] = np.minimum.reduceat(block, start[some]) if len(some) else 0
    where = [block - base[number], delay]
    whole = _representative(start, [*where, *np.ascontiguousarray(weight).view(np.int64).T])
    kept, of_list = np.unique(whole, return_inverse=True)  # one copy of the weights of equal lists
    sizes = np.diff(start)
    begin = np.append(0, np.cumsum(sizes[kept])) * BLOCK
    drawn, pattern = np.unique(_representative(start, where), return_inverse=True)  # and one of the runs of a pattern
    one = ragged_ranges(start[drawn], sizes[drawn])
    of, within, ahead = np.repeat(np.arange(len(drawn)), sizes[drawn]), ragged_ranges(0, sizes[drawn]), where[0][one]
    first = np.ones(len(one), np.bool_)
    first[1:] = (np.diff(of) != 0) | (np.diff(ahead) != 1) | (np.diff(delay[one]) != 0)
    runs = np.flatnonzero(first)
    return {
        "pattern": pattern.astype(np.int32),
        "base": (lanes[table.list_core] + base * BLOCK).astype(np.int32),
        "weights": begin[of_list].astype(np.int64),
        "length": length.astype(np.int32),
        "runs": np.searchsorted(of[runs], np.arange(len(drawn) + 1)).astype(np.int32),
        "run_lane": (ahead[runs] * BLOCK).astype(np.int32),
        "run_weight": (within[runs] * BLOCK).astype(np.int32),
        "run_length": (np.diff(np.append(runs, len(one))) * BLOCK).astype(np.int32),
        "run_delay": delay[one][runs].astype(np.uint8),
        "weight": weight[ragged_ranges(start[kept], sizes[kept])].reshape(-1),
    }


def _representative(start: Ints, columns: list[Ints]) -> Ints:
    """Return for every list one that equals it in all columns, the same for all equal lists; shape (L,)."""
    # Lists with equal digests are compared with the first of them; those that differ represent themselves.
    length = np.diff(start)
    digest = length.astype(np.uint64)
    some = np.flatnonzero(length)
    mixed = ragged_ranges(0, length).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    if len(some):
        digest[some] += np.add.reduceat(mixed * np.uint64(0x94D049BB133111EB), start[some])
    _, first, of = np.unique(digest, return_index=True, return_inverse=True)
    found = first[of]
    same = length == length[found]
    lists = np.flatnonzero(same)
    here, there = ragged_ranges(start[lists], length[lists]), ragged_ranges(start[found[lists]], length[lists])
    number = np.repeat(lists, length[lists])
    for column in columns:
        same[number[column[here] != column[there]]] = False
    return np.where(same, found, np.arange(len(found)))


def make_state(image: Image) -> State:
    """Make the state before tick 0."""
    n_cores, n_lanes, turns = len(image.lanes) - 1, int(image.lanes[-1]), image.spike_delay + 1
    return State(
        np.zeros((turns, len(image.pattern)), np.int32),
        np.zeros((turns, n_cores), np.uint8),
        aligned_full(image.slots * n_lanes, np.int32),
        np.zeros((image.slots, n_cores), np.uint8),
        np.zeros(n_lanes, np.int32),
        np.full(n_cores, -1, np.int64),
    )
