"""One tick of a range of cores: what the host feeds, cores that are not at rest, and the barrier between ticks.

A spike reaches its axons one tick later at the earliest, so within a tick cores are independent, and one barrier per
tick is enough. Threads set the bits of axons with atomic instructions; bits and sums of integers do not
depend on the order, so the result is the same for every number of threads.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, uint64

from neuromap.cores.synapse_list.list_kernel.list_core import compute, reach_some, spread
from neuromap.cores.synapse_list.list_kernel.list_image import ListImage, ListScratch, ListState, ListTeam
from neuromap.simulation.engine.kernel.barrier import wait
from neuromap.simulation.engine.kernel.compiled import cached_under, call_of_run, compiled, kernel_stamp
from neuromap.simulation.engine.kernel.lanes import CALLED, INLINED
from neuromap.simulation.engine.kernel.remote import begin_remote, end_remote, take_remote, tell_finished
from neuromap.simulation.engine.kernel.words import clear_values, copy_values, get, put
from neuromap.simulation.engine.kernel.workspace import VISITS, Call, Events

inlined = njit(**INLINED)


@njit(**CALLED)
def run_list_ticks(
    image: ListImage, state: ListState, scratch: ListScratch, team: ListTeam, me: int, call: Call
) -> None:
    """Run the cores of thread ``me`` for some ticks, in step with the other threads of the team."""
    # At the end nothing of other ranks is left in boxes.
    sense = uint64(0)
    remote, first, last = team.remote, get(team.first, me), get(team.first, me + 1)
    for time in range(call.n_ticks):
        tick = call.first_tick + time
        if len(remote.others) > 0:
            if not take_remote(reach_some, image, state, team, me, call, time - 1 - remote.lag):
                return
            begin_remote(remote, me, remote.clock + time)
        if len(team.held) > 0:
            _keep_held(image, state, team, me, time)
        _feed(image, state, first, last, tick, call.events, call.event_tick + time)
        for core in range(first, last):
            fed = tick % (image.shape.spike_delay + 1) * image.shape.n_cores + core
            if get(state.fed, fed):
                put(state.fed, fed, 0)
                spread(image, state, scratch, core, tick)
            if get(state.awake, core) or get(state.busy, core) >= tick:  # else at rest, and nothing is due
                compute(image, state, scratch, team, me, core, call, time)
                scratch.totals[VISITS] += 1
        if len(remote.others) > 0:
            end_remote(remote, me, remote.clock + time)
            tell_finished(remote, me, remote.clock + time)
        if team.n_threads > 1:
            sense ^= uint64(1)
            if not wait(team.barrier, team.n_threads, sense):
                return
    if len(remote.others) > 0:
        for time in range(max(0, call.n_ticks - 1 - remote.lag), call.n_ticks):
            if not take_remote(reach_some, image, state, team, me, call, time):
                return


@inlined
def _keep_held(image: ListImage, state: ListState, team: ListTeam, me: int, time: int) -> None:
    """Record which neurons of this thread hold a voltage."""
    lanes = image.shape.lanes
    here = time * image.shape.n_cores * lanes
    for n in range(get(team.first, me) * lanes, get(team.first, me + 1) * lanes):
        put(team.held, here + n, get(state.voltage, n) != 0)


@inlined
def _feed(image: ListImage, state: ListState, first: int, last: int, tick: int, events: Events, row: int) -> None:
    """Set the axons that the host feeds in this tick, of the cores ``first`` to ``last - 1``."""
    slot = tick % (image.shape.spike_delay + 1)
    for k in range(get(events.start, row), get(events.start, row + 1)):
        core = get(events.cores, k)
        if first <= core < last:
            axon = get(events.axons, k)
            at = slot * image.shape.words + get(image.word, core) + (axon >> 6)
            put(state.reached, at, get(state.reached, at) | uint64(1) << uint64(axon & 63))
            put(state.fed, slot * image.shape.n_cores + core, 1)


@inlined
def begin_list_run(state: ListState, start: ListState, scratch: ListScratch) -> None:
    """Reset a state to the one that runs start from, without pending input; count from 0."""
    copy_values(state.current, start.current, 0, len(start.current))
    copy_values(state.voltage, start.voltage, 0, len(start.voltage))
    copy_values(state.resting, start.resting, 0, len(start.resting))
    copy_values(state.extent, start.extent, 0, len(start.extent))
    copy_values(state.busy, start.busy, 0, len(start.busy))
    copy_values(state.rests, start.rests, 0, len(start.rests))
    copy_values(state.awake, start.awake, 0, len(start.awake))
    clear_values(state.due)
    clear_values(state.reached)
    clear_values(state.fed)
    clear_values(state.extra)
    clear_values(state.words)
    clear_values(scratch.totals)


@cache
def list_kernel() -> Any:
    """Return ``run(image, state, start, scratch, team, me, call)``: the runs of a call, without the GIL."""
    compiled()  # refuses where nothing may be compiled, and gives kernels the operating system's sleep

    def run_lists(image, state, start, scratch, team, me, call):  # type: ignore[no-untyped-def]
        for k in range(max(call.n_runs, 1)):
            if call.n_runs > 0:
                begin_list_run(state, start, scratch)
            run_list_ticks(image, state, scratch, team, me, call_of_run(call, k, image.shape.lanes // 32))

    return cached_under(kernel_stamp(*Path(__file__).parent.glob("*.py")), run_lists, _nrt=False)
