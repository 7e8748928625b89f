"""The compiled event simulation of the mesh: a heap of (cycle, spike), and the cycle at which every link is free.

All of the compiled code is in this file, because Numba's disk cache checks only the file of an entry point. It is
imported only when an event simulation runs: Numba is slow to import.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import njit

from neuromap.compiling import INSIDE, cached

# Where a spike waits: for the link into its router, at a router, at a router after the chip's ports, at the next
# chip's ports.
IN_CORE, AT_ROUTER, PAST_PORT, AT_PORT = 0, 1, 2, 3
_part = njit(error_model="numpy", **INSIDE)


@_part
def _replace_top(heap, n, key):  # type: ignore[no-untyped-def]
    """Replace the least of the first n keys of the heap by a key that is not smaller."""
    hole = 0
    child = 1
    while child < n:
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if key <= heap[child]:
            break
        heap[hole] = heap[child]
        hole = child
        child = 2 * hole + 1
    heap[hole] = key


def _advance(heap, n, bits, until, state, arrival, free, sizes, times):  # type: ignore[no-untyped-def]
    """Serve spikes that are ready before cycle ``until``, in order of readiness; return how many spikes are left."""
    # ``heap`` holds ``ready << bits | spike`` of n spikes. A row of ``state`` is x and y of a spike, x and y of its
    # end, and where it waits; ``arrival`` is set for spikes that arrive. ``free`` has one entry per link, then one per
    # chip for its ports.
    columns, rows, chip_columns, chip_rows = sizes
    hop, crossing, port = times
    routers = columns * rows
    chips_in_row = (columns + chip_columns - 1) // chip_columns
    mask = (1 << bits) - 1
    while n > 0:
        key = heap[0]
        ready = key >> bits
        if ready >= until:
            break
        spike = key & mask
        x, y, end_x, end_y = state[spike, 0], state[spike, 1], state[spike, 2], state[spike, 3]
        stage = state[spike, 4]
        to_x, to_y, server, busy, travel = x, y, 0, 1, 1
        stays = True  # at the same router
        if stage == IN_CORE:
            server = 4 * routers + y * columns + x
            state[spike, 4] = AT_ROUTER
        elif stage == AT_PORT:
            server = 6 * routers + (y // chip_rows) * chips_in_row + x // chip_columns
            busy = travel = port
            state[spike, 4] = AT_ROUTER
        else:
            direction = 5
            if end_x > x:
                direction, to_x = 0, x + 1
            elif end_x < x:
                direction, to_x = 1, x - 1
            elif end_y > y:
                direction, to_y = 2, y + 1
            elif end_y < y:
                direction, to_y = 3, y - 1
            else:
                stays = False
            server = direction * routers + y * columns + x
            if stays:
                if to_x // chip_columns == x // chip_columns and to_y // chip_rows == y // chip_rows:
                    travel = hop
                elif port > 0 and stage == AT_ROUTER:
                    server = 6 * routers + (y // chip_rows) * chips_in_row + x // chip_columns
                    busy = travel = port
                    state[spike, 4] = PAST_PORT
                    to_x, to_y = x, y
                else:
                    travel = crossing
                    state[spike, 4] = AT_PORT if port > 0 else AT_ROUTER
        start = max(ready, free[server])
        free[server] = start + busy
        if stays:
            state[spike, 0], state[spike, 1] = to_x, to_y
            _replace_top(heap, n, ((start + travel) << bits) | spike)
        else:
            arrival[spike] = start + travel
            n -= 1
            if n > 0:
                _replace_top(heap, n, heap[n])
    return n


@cache
def compiled() -> Any:
    """Entry point for this machine, compiled on first call."""
    return cached(_advance)
