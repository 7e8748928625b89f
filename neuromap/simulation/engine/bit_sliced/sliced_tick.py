"""Ticks of the cores that are bit-sliced, for 512 runs side by side."""

from __future__ import annotations

from typing import Any

from numba import njit

from neuromap.simulation.engine.bit_sliced.between import States, hand_over, slot_of, take_over
from neuromap.simulation.engine.bit_sliced.carry_save import load_plane, plane_of, store_plane, sum_neuron
from neuromap.simulation.engine.bit_sliced.sliced_layout import Fed, SlicedImage, SlicedState
from neuromap.simulation.engine.kernel.emission import CALLED, INLINED
from neuromap.simulation.engine.kernel.lanes import any_lane
from neuromap.simulation.engine.kernel.words import get, put

inlined = njit(**INLINED)


@njit(**CALLED)
def run_sliced_ticks(
    image: SlicedImage,
    state: SlicedState,
    states: States,
    fed: Fed,
    first_tick: int,
    n_ticks: int,
    kept_of: Any,
    kept: Any,
    n_kept: int,
) -> None:
    """Run some ticks; one alone where there are other cores, whose turn is next."""
    # ``kept_of`` says which plane of ``kept`` a neuron has in every tick, of ``n_kept`` a tick, or -1; ``kept`` is 0.
    for time in range(n_ticks):
        tick = first_tick + time
        take_over(image, state, states, tick)
        for k in range(get(fed.start, tick), get(fed.start, tick + 1)):
            plane = load_plane(fed.planes, get(fed.column, k))
            _make_due(image, state, states, tick, get(fed.axon, k), plane)
        for row in range(image.n_rows):
            _tick_row(image, state, states, tick, row, kept_of, kept, time * n_kept)


@inlined
def _make_due(image: SlicedImage, state: SlicedState, states: States, tick: int, target: int, plane: Any) -> None:
    """Let an axon be due at a tick in the runs of a plane."""
    if target >= 0:
        at = slot_of(image, tick) * image.n_rows
        here = at * image.n_axons + target
        store_plane(state.due, here, load_plane(state.due, here) | plane)
        put(state.busy, at + target // image.n_axons, 1)
    elif target < -1:
        hand_over(image, state, states, tick, -2 - target, plane)


@inlined
def _tick_row(
    image: SlicedImage,
    state: SlicedState,
    states: States,
    tick: int,
    row: int,
    kept_of: Any,
    kept: Any,
    first: int,
) -> None:
    """Take all neurons of a core through a tick."""
    at = slot_of(image, tick) * image.n_rows + row
    if get(state.busy, at) | get(image.restless, row) == 0:
        return
    put(state.busy, at, 0)
    silent, every = plane_of(0), plane_of(1)
    n = image.n_axons
    for axon in range(n):
        plane = load_plane(state.due, at * n + axon)
        store_plane(state.planes, axon, plane)
        store_plane(state.planes, n + 1 + axon, plane ^ every)
        store_plane(state.due, at * n + axon, silent)
    for neuron in range(get(image.first_neuron, row), get(image.first_neuron, row + 1)):
        spikes = sum_neuron(image, state, neuron)
        if any_lane(spikes != silent):
            _make_due(image, state, states, tick + get(image.delay, neuron), get(image.target, neuron), spikes)
            place = get(kept_of, neuron)
            if place >= 0:
                store_plane(kept, first + place, spikes)
