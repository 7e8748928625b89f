"""A whole program, inputs and delays included, as neurons and synapses for a simulator that has no axons.

The simulator's environment has no neuromap, so this file needs NumPy alone: it reads the program's tables, and it has a
program of its own only in name. Nothing is drawn anew, and nothing of the mapper or the engines is used.

A *cell* is whatever spikes in the simulator: the program's neurons, then *buffers*, then *generators*. A spike that
takes d ticks to its axon passes d - 1 buffers, each of which repeats in the next tick what it hears. They sit in the
core of the axon, so that a spike's hops are those of the chip. A generator stands for a row of the host table, in the
core that it feeds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HARD", "NONE", "SOFT", "ProgramNetwork", "Unsuitable", "host_events", "translate"]

HARD, SOFT, NONE = range(3)
"""Resets: to a value, by the threshold, none."""


class Unsuitable(ValueError):
    """The program asks for what the simulator does not compute."""


@dataclass(frozen=True, eq=False)
class ProgramNetwork:
    """K neurons on C cores, B buffers, G generators; cell numbers run through them in this order.

    A neuron adds what it hears and its leak to V. With ``V >= threshold`` it spikes and is reset; with ``V <=
    lower`` it is reset too. V is 0 at first, and a neuron that hears nothing stays at 0.

    Attributes
    ----------
    n_ticks : int
        Ticks to run.
    coordinates : ndarray of int32, shape (C, 2)
        x and y of every core, from 0.
    core, row : ndarray of int32, shape (K,)
        Where each neuron is on the chip.
    leak, threshold, reset_to, lower, lower_reset_to : ndarray of int64, shape (K,)
        Parameters.
    reset, lower_reset : ndarray of int64, shape (K,)
        ``HARD``, ``SOFT`` or ``NONE``; the lower one is never ``SOFT``.
    buffer_core : ndarray of int32, shape (B,)
        Buffers have threshold 1 and hear 1.
    generator_core : ndarray of int32, shape (G,)
        Core that each generator feeds.
    fed_tick, fed_generator : ndarray of int64, shape (E,)
        Spikes from the host, by the tick in which they are integrated.
    pre, post, weight : ndarray of int64, shape (S,)
        Synapses between cells: a spike of tick t is integrated in tick t + 1, one of a generator in its own tick.
    """

    n_ticks: int
    coordinates: NDArray[np.int32]
    core: NDArray[np.int32]
    row: NDArray[np.int32]
    leak: NDArray[np.int64]
    threshold: NDArray[np.int64]
    reset: NDArray[np.int64]
    reset_to: NDArray[np.int64]
    lower: NDArray[np.int64]
    lower_reset: NDArray[np.int64]
    lower_reset_to: NDArray[np.int64]
    buffer_core: NDArray[np.int32]
    generator_core: NDArray[np.int32]
    fed_tick: NDArray[np.int64]
    fed_generator: NDArray[np.int64]
    pre: NDArray[np.int64]
    post: NDArray[np.int64]
    weight: NDArray[np.int64]

    def save(self, path: Path) -> None:
        """Write all arrays to one file."""
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> ProgramNetwork:
        """Read what :meth:`save` has written."""
        with np.load(path, allow_pickle=False) as file:
            arrays = {field.name: file[field.name] for field in fields(cls)}
        return cls(**arrays | {"n_ticks": int(arrays["n_ticks"])})


def host_events(program: Any, frames: dict[str, NDArray[np.bool_]], n_ticks: int) -> tuple[NDArray[np.int64], ...]:
    """List what the host delivers, row by row and frame by frame, as the program file's description says it.

    Returns
    -------
    tick, row : ndarray of int64, shape (E,)
        When each spike is integrated, and the row of the host table that it is for.
    """
    host, n_frames = program.host, len(next(iter(frames.values())))
    found = []
    for row, (node, index) in enumerate(zip(host.node.tolist(), host.index.tolist(), strict=True)):
        spikes = np.ones(n_frames, bool) if node < 0 else frames[program.nodes[node].name][:, index].astype(bool)
        frame = np.flatnonzero(spikes)
        frame = frame[frame >= host.first_frame[row]]
        tick = host.arrival[row] + frame * program.period
        if (tick < 0).any():
            raise Unsuitable("the host delivers spikes before tick 0")
        tick = tick[tick < n_ticks]
        found.append(np.stack([tick, np.full(len(tick), row)]))
    tick, row = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1).astype(np.int64)
    return tick, row


def translate(program: Any, frames: dict[str, NDArray[np.bool_]], n_ticks: int) -> ProgramNetwork:
    """Turn a program and its input frames into cells and synapses.

    Parameters
    ----------
    program : neuromap.hardware.program.program.Program
        One source per axon, nothing stochastic, neurons that rest at 0. Potentials that reach their rails are not
        looked for: mapped programs have none (the checker's rule).
    frames : dict of str to ndarray of bool, shape (n_frames, size)
        Input frames.
    n_ticks : int
        Ticks to run.

    Raises
    ------
    Unsuitable
        If the program is another.
    """
    used = program.neuron_node >= 0
    core, row = (index.astype(np.int32) for index in np.nonzero(used))
    parameters = _parameters(program, core, row)
    number = np.full(used.shape, -1)
    number[core, row] = np.arange(len(core))
    if (program.target_core[~used] >= 0).any():
        raise Unsuitable("a neuron without a label feeds an axon")

    sends = program.target_core[core, row] >= 0
    source = np.flatnonzero(sends)
    to_core, to_axon = (table[core, row][sends] for table in (program.target_core, program.target_axon))
    hops = program.delay[core, row][sends].astype(np.int64) - 1  # buffers on the way
    axons = np.concatenate([to_core, program.host.core]).astype(np.int64) * program.axon_types.shape[1]
    axons += np.concatenate([to_axon, program.host.axon])
    if len(np.unique(axons)) != len(axons):
        raise Unsuitable("an axon has two sources: a chip merges their spikes, other simulators add them")

    # A chain source -> buffer -> ... -> axon, all buffers of one chain with numbers in a row.
    first = len(core) + np.cumsum(hops) - hops
    buffers = len(core) + np.arange(hops.sum())
    before = buffers - 1
    before[first[hops > 0] - len(core)] = source[hops > 0]
    last = np.where(hops > 0, first + hops - 1, source)
    generators = len(core) + len(buffers) + np.arange(len(program.host))
    feeder = np.concatenate([last, generators])
    pre, post, weight = _synapses(program, axons, feeder, number)

    tick, generator = host_events(program, frames, n_ticks)
    return ProgramNetwork(
        n_ticks=n_ticks,
        coordinates=program.coordinates - program.coordinates.min(axis=0),
        core=core,
        row=row,
        **parameters,
        buffer_core=np.repeat(to_core, hops),
        generator_core=np.asarray(program.host.core),
        fed_tick=tick,
        fed_generator=generator,
        pre=np.concatenate([before, pre]),
        post=np.concatenate([buffers, post]),
        weight=np.concatenate([np.ones(len(buffers), np.int64), weight]),
    )


def _parameters(program: Any, core: NDArray[np.int32], row: NDArray[np.int32]) -> dict[str, NDArray[np.int64]]:
    """Say the neuron's rules in terms of ``ProgramNetwork``."""
    table = program.neurons
    if any(getattr(table, name) is not None for name in ("stochastic_weight", "stochastic_leak", "noise_bits")):
        raise Unsuitable("stochastic neurons are not compared")
    names = ("leak", "leak_reversal", "threshold", "negative_threshold", "reset", "reset_mode", "potential")
    of = {name: getattr(table, name)[core, row].astype(np.int64) for name in names}
    saturates = table.saturate_negative[core, row]
    if of["leak_reversal"].any() or of["potential"].any():
        raise Unsuitable("leak reversal and potentials before the first tick are not compared")
    if (~saturates & (of["reset_mode"] == 1)).any():
        raise Unsuitable("a linear reset at the negative threshold is not compared")
    # V < -beta is V <= -beta - 1, since all is integer.
    lower = -of["negative_threshold"] - (program.chip.rules.negative_comparison == "<")
    hard = saturates | (of["reset_mode"] == 0)
    lower_reset_to = np.where(saturates, -of["negative_threshold"], np.where(hard, -of["reset"], 0))
    rest = np.where(of["leak"] <= lower, np.where(hard, lower_reset_to, of["leak"]), of["leak"])
    if ((of["leak"] >= of["threshold"]) | (rest != 0)).any():
        raise Unsuitable("a neuron that hears nothing does not stay at 0")
    return {
        "leak": of["leak"],
        "threshold": of["threshold"],
        "reset": np.array([HARD, SOFT, NONE])[of["reset_mode"]],
        "reset_to": of["reset"],
        "lower": lower,
        "lower_reset": np.where(hard, HARD, NONE),
        "lower_reset_to": lower_reset_to,
    }


def _synapses(
    program: Any, axons: NDArray[np.int64], feeder: NDArray[np.int64], number: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the synapses of the axons that have a source; ``feeder`` is the cell that spikes last on the way to each."""
    n_neurons, n_axons = number.shape[1], program.axon_types.shape[1]
    found = []
    for core in range(len(number)):
        mine = axons // n_axons == core
        axon = axons[mine] % n_axons
        bits = np.unpackbits(program.crossbar[core, axon], axis=1, count=n_neurons, bitorder="little").astype(bool)
        bits &= number[core] >= 0
        if not bits.any(axis=1).all():
            raise Unsuitable("an axon that is fed has no synapse: no simulator without axons would send its spikes")
        at, neuron = np.nonzero(bits)
        weight = program.neurons.weights[core, neuron, program.axon_types[core, axon[at]]]
        found.append(np.stack([feeder[mine][at], number[core, neuron], weight.astype(np.int64)]))
    pre, post, weight = np.concatenate(found, axis=1)
    return pre, post, weight
