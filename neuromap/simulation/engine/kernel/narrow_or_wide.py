"""Which path a core takes in a tick: 16 bits where that is exact (see ``narrow_tables.py``), else the wide one."""

from __future__ import annotations

from numba import njit

from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.extents import extent
from neuromap.simulation.engine.kernel.layout import FLAGS, FLOOR, GROWTH, HEADER, PEAK_WEIGHT, Flag, Image, State
from neuromap.simulation.engine.kernel.words import get, put

inlined = njit(**INLINED)

_NARROW_AGAIN = 64
"""Every so many ticks a wide core is asked whether it could be narrow."""

_WIDE_ONLY = Flag.WIDE_ONLY


@inlined
def is_narrow(image: Image, state: State, core: int, tick: int, n_axons: int) -> bool:
    """Whether this tick is exact in 16 bits; moves the potentials between the paths where that changes."""
    header = core * HEADER
    most = get(image.header, header + GROWTH) + n_axons * get(image.header, header + PEAK_WEIGHT)
    if get(state.is_wide, core) == 0:
        bound = get(state.bound, core) + most
        if bound <= image.shape.limit:
            put(state.bound, core, bound)
            return True
    return _reconsider(image, state, core, tick, most)


@njit(**CALLED)
def _reconsider(image: Image, state: State, core: int, tick: int, most: int) -> bool:
    """Look at the potentials themselves: the rare part of :func:`is_narrow`."""
    header, lanes = core * HEADER, extent(image.shape.groups) * 32
    start = core * lanes
    peak = get(image.header, header + FLOOR)
    if get(state.is_wide, core):
        if get(image.header, header + FLAGS) & _WIDE_ONLY or (tick ^ core) & (_NARROW_AGAIN - 1):
            return False
        for k in range(start, start + lanes):
            peak = max(peak, abs(get(state.wide, k)))
        if 2 * peak + most > image.shape.limit:  # peak + most is enough; with room to spare, or it would be back soon
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
