"""Threads: who runs which cores, and one barrier per tick.

Every thread runs its own range of cores. A spike goes into the outbox for the range of its target; after the
barrier that ends the tick, every thread delivers what was put into its boxes. Boxes are double by the parity of the
tick, so one barrier per tick is enough. The result is the same for every number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from neuromap.simulation.engine.kernel.layout import Image, State, aligned_empty
from neuromap.simulation.engine.kernel.ring import box_of, deliver, deliver_box
from neuromap.simulation.engine.kernel.tick import tick_cores
from neuromap.simulation.engine.kernel.vectors.extents import extent
from neuromap.simulation.engine.kernel.vectors.lanes import CALLED, INLINED, get, put
from neuromap.simulation.engine.kernel.workspace import Events, Record, Scratch, Team

__all__ = ["ABORT", "BARRIER_WORDS", "MAX_TEAM", "make_team", "run_ticks"]

inlined = njit(**INLINED)

MAX_TEAM = 64
"""Threads of one team: room for boxes grows with their square, and a barrier for more would cost more than a tick."""
_ARRIVED, _SENSE, ABORT, BARRIER_WORDS = 0, 16, 32, 48
"""Words of the barrier, each on a cache line of its own."""
_PAUSES, _YIELDS = 4000, 200
"""Looks at the barrier before the processor is offered to others, and before the thread sleeps between looks."""
_NAP = 50
"""Microseconds of such a sleep."""
_WORD = ir.IntType(64)


def make_team(image: Image, threads: int) -> Team:
    """Divide the cores among at most ``threads`` threads, in whole blocks of 64."""
    n_cores = image.shape.n_cores
    blocks = -(-n_cores // 64)
    n = max(1, min(threads, blocks, MAX_TEAM))
    first_block = [blocks * k // n for k in range(n + 1)]
    first = np.minimum(np.array(first_block) * 64, n_cores)
    most = (int(np.diff(first).max()) * 32 * extent(image.shape.groups) + 15) // 16 * 16  # whole cache lines
    return Team(
        n_threads=n,
        first=first,
        owner=np.repeat(np.arange(n), np.diff(first_block)).astype(np.uint8),
        outbox=aligned_empty(2 * n * n * most, image.target.dtype),
        n_out=np.zeros(2 * n * n * 8, np.int64),
        capacity=most,
        barrier=np.zeros(BARRIER_WORDS, np.uint64),
    )


@njit(**CALLED)
def run_ticks(
    image: Image,
    state: State,
    scratch: Scratch,
    team: Team,
    me: int,
    first_tick: int,
    n_ticks: int,
    events: Events,
    event_tick: int,
    record: Record,
    seed: int,
    width: Any,
) -> None:
    """Run the cores of thread ``me`` for some ticks, in step with the other threads of the team.

    ``events.start[event_tick]`` belongs to the first tick.
    """
    sense = uint64(0)
    for time in range(n_ticks):
        tick = first_tick + time
        for receiver in range(team.n_threads):
            put(team.n_out, box_of(team, tick, me, receiver) * 8, 0)
        _feed(image, state, get(team.first, me), get(team.first, me + 1), tick, events, event_tick + time)
        tick_cores(image, state, scratch, team, me, tick, time, record, seed, width)
        if team.n_threads > 1:
            sense ^= uint64(1)
            if not _wait(team, sense):
                return
        for sender in range(team.n_threads):
            deliver_box(image, state, team, box_of(team, tick, sender, me), tick)


@inlined
def _feed(image: Image, state: State, first: int, last: int, tick: int, events: Events, row: int) -> None:
    """Set the axons that the host feeds in this tick, of the cores ``first`` to ``last - 1``."""
    for k in range(get(events.start, row), get(events.start, row + 1)):
        core = get(events.cores, k)
        if first <= core < last:
            axon = (core << image.shape.axon_bits) + get(events.axons, k)
            deliver(image, state, axon << image.shape.slot_bits, tick)


@inlined
def _wait(team: Team, sense: int) -> bool:
    """Wait for all threads; False if the run was called off.

    It looks a while, then lets others run, then sleeps: a waiting thread does not keep a shared machine busy.
    """
    if atomic_add(team.barrier, _ARRIVED) == uint64(team.n_threads - 1):
        atomic_store(team.barrier, _ARRIVED, uint64(0))
        atomic_store(team.barrier, _SENSE, sense)
        return True
    looks = 0
    while atomic_load(team.barrier, _SENSE) != sense:
        if atomic_load(team.barrier, ABORT) != uint64(0):
            return False
        looks += 1
        if looks < _PAUSES:
            pause()
        elif looks < _PAUSES + _YIELDS:
            sleep(0)
        else:
            sleep(_NAP)
    return True


@intrinsic
def atomic_add(typing_context: Any, array: Any, index: Any) -> Any:
    """Add 1 to a word; the value before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), _WORD(1), "seq_cst")

    return types.uint64(array, types.intp), generate


@intrinsic
def atomic_load(typing_context: Any, array: Any, index: Any) -> Any:
    """Read a word before anything that follows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", 8)

    return types.uint64(array, types.intp), generate


@intrinsic
def atomic_store(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Write a word after everything that came before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        builder.store_atomic(arguments[2], builder.gep(data, [arguments[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tell the processor that this is a waiting loop; nothing where it has no such instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if builder.module.triple.startswith(("x86_64", "i686")):
            function_type = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def sleep(typing_context: Any, microseconds: Any) -> Any:
    """Let other threads run for some time (``neuromap_sleep``, see ``compiled.py``)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int32 = ir.IntType(32)
        function_type = ir.FunctionType(int32, [int32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "neuromap_sleep")
        builder.call(function, [builder.trunc(arguments[0], int32)])
        return context.get_dummy_value()

    return types.void(types.intp), generate
