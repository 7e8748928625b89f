"""Pending spikes: outboxes between threads, and the ring of axons that will be due.

A target is a record of core, axon and delay in one number, the delay in its low bits; ``layout.py`` has the widths.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from neuromap.simulation.engine.kernel.lanes import INLINED
from neuromap.simulation.engine.kernel.layout import Image, State, extent
from neuromap.simulation.engine.kernel.words import get, prefetch, put
from neuromap.simulation.engine.kernel.workspace import Team

inlined = njit(**INLINED)

# Number of records ahead whose ring words are prefetched.
_AHEAD = 64


@inlined
def slot_of(image: Image, tick: int) -> int:
    """Ring slot of axons due at a tick."""
    return tick & ((1 << image.shape.slot_bits) - 1)


@inlined
def box_of(team: Team, tick: int, sender: int, receiver: int) -> int:
    """Index of an outbox; those of a sender are consecutive."""
    return ((tick & 1) * team.n_threads + sender) * team.n_boxes + receiver


@inlined
def deliver_some(image: Image, state: State, team: Team, records: Any, first: int, last: int, tick: int) -> None:
    """Deliver spikes of ``tick``, of an outbox or a box of another rank."""
    for k in range(first, last):
        if k + _AHEAD < last:
            prefetch(state.ring, _ring_word(image, np.intp(get(records, k + _AHEAD)), tick))
        deliver(image, state, np.intp(get(records, k)), tick)


@inlined
def _ring_word(image: Image, target: int, tick: int) -> int:
    """Ring word of the axon of a target record; the spike was fired in ``tick``."""
    slot = slot_of(image, tick + target)  # the low bits of a record are its delay
    return slot * image.shape.n_cores * extent(image.shape.words) + (target >> (image.shape.slot_bits + 6))


@inlined
def deliver(image: Image, state: State, target: int, tick: int) -> None:
    """Set the axon of a target record in the ring; the spike was fired in ``tick``."""
    word, axon = _ring_word(image, target, tick), target >> image.shape.slot_bits
    put(state.ring, word, get(state.ring, word) | uint64(1) << uint64(axon & 63))
    blocks = (image.shape.n_cores + 63) >> 6
    put(state.busy, ((slot_of(image, tick + target) * blocks) << 6) + (axon >> image.shape.axon_bits), 1)
