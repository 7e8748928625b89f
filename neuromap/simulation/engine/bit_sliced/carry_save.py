"""Sums of many bits, for 512 runs at once: carry-save adders over planes.

A plane holds one bit of each run; a sum is a row of planes, the lowest bits first. Adding bits one by one would carry
through all planes each time. An adder of three planes of one weight leaves one plane of that weight and one of twice
the weight: two bits more are in the sum for two steps of logic. Sixteen bits need fifteen such adders, and only what is
left of them, one plane of sixteen times the weight, is carried through the rest.
"""

from __future__ import annotations

from typing import Any

from numba import int16, njit

from neuromap.simulation.engine.bit_sliced.sliced_layout import PLANE, SlicedImage, SlicedState
from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.lane_memory import load, store
from neuromap.simulation.engine.kernel.lanes import broadcast
from neuromap.simulation.engine.kernel.words import get

inlined = njit(**INLINED)

_ONE = (0,)
"""Width of a plane: one group of 32 lanes of 16 bits."""


@inlined
def load_plane(planes: Any, index: int) -> Any:
    """Plane number ``index``."""
    return load(_ONE, planes, index * PLANE)


@inlined
def store_plane(planes: Any, index: int, plane: Any) -> None:
    """Write plane number ``index``."""
    store(planes, index * PLANE, plane)


@inlined
def plane_of(bit: int) -> Any:
    """Plane of the same bit, 0 or 1, for every run."""
    return broadcast(_ONE, int16(-bit))


@inlined
def sum_neuron(image: SlicedImage, state: SlicedState, neuron: int) -> Any:
    """Plane of the runs in which a neuron fires, from the axons of ``state.planes``."""
    top, first_sum = get(image.n_bits, neuron), get(image.first_sum, neuron)
    for bit in range(top + 1):
        store_plane(state.sums, bit, plane_of((first_sum >> bit) & 1))
    for k in range(get(image.first_list, neuron), get(image.first_list, neuron + 1)):
        _add_list(
            state, image.entries, get(image.first_entry, k), get(image.first_entry, k + 1), get(image.level, k), top
        )
    return load_plane(state.sums, top)


@inlined
def _majority(a: Any, b: Any, c: Any) -> Any:
    return (a & b) | (c & (a | b))


@inlined
def _odd(a: Any, b: Any, c: Any) -> Any:
    return a ^ b ^ c


@inlined
def _add_list(state: SlicedState, entries: Any, first: int, last: int, level: int, top: int) -> None:
    """Add the planes of a list, a multiple of 8 of them, with the weight ``2 ** level`` to the sum."""
    ones, twos = load_plane(state.sums, level), load_plane(state.sums, level + 1)
    fours, eights = load_plane(state.sums, level + 2), load_plane(state.sums, level + 3)
    k = first
    while k + 8 < last:
        ones, twos, fours, one = _add_eight(state.planes, entries, k, ones, twos, fours)
        ones, twos, fours, other = _add_eight(state.planes, entries, k + 8, ones, twos, fours)
        _carry(state.sums, level + 4, top, _majority(eights, one, other))
        eights = _odd(eights, one, other)
        k += 16
    if k < last:
        ones, twos, fours, one = _add_eight(state.planes, entries, k, ones, twos, fours)
        _carry(state.sums, level + 4, top, eights & one)
        eights = eights ^ one
    store_plane(state.sums, level, ones)
    store_plane(state.sums, level + 1, twos)
    store_plane(state.sums, level + 2, fours)
    store_plane(state.sums, level + 3, eights)


@inlined
def _add_eight(planes: Any, entries: Any, k: int, ones: Any, twos: Any, fours: Any) -> Any:
    """Add eight planes; what is left is a plane of eights."""
    ones, twos, one = _add_four(planes, entries, k, ones, twos)
    ones, twos, other = _add_four(planes, entries, k + 4, ones, twos)
    return ones, twos, _odd(fours, one, other), _majority(fours, one, other)


@inlined
def _add_four(planes: Any, entries: Any, k: int, ones: Any, twos: Any) -> Any:
    a, b = load_plane(planes, get(entries, k)), load_plane(planes, get(entries, k + 1))
    one, ones = _majority(ones, a, b), _odd(ones, a, b)
    c, d = load_plane(planes, get(entries, k + 2)), load_plane(planes, get(entries, k + 3))
    other, ones = _majority(ones, c, d), _odd(ones, c, d)
    return ones, _odd(twos, one, other), _majority(twos, one, other)


@inlined
def _carry(sums: Any, bit: int, top: int, plane: Any) -> None:
    """Add one plane to the sum and carry it to the end."""
    while bit <= top:
        before = load_plane(sums, bit)
        store_plane(sums, bit, before ^ plane)
        plane = before & plane
        bit += 1
