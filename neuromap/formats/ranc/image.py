"""A program as RANC is given it: cores on a grid of their own, an output bus, packets.

What is read out goes to the *output bus*, a router in the place of a core. A spike that goes nowhere on our chip must
go somewhere on RANC's: where one may come, it is sent to a core without synapses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NotSupportedError, ProgramError, StimulusError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted, show_name
from neuromap.formats.ranc.case import RancCores
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card

_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RancImage(Card):
    """What RANC's files hold, before it is text; C cores, n spikes of the host.

    Attributes
    ----------
    name : str
        Of the program.
    cores : RancCores
        All neurons of the program's cores, with coordinates on the grid.
    grid : tuple of int
        Columns and rows, no larger than they must be: RANC's simulator goes through all of them.
    origin : tuple of int
        Where x = 0 and y = 0 of the grid are on our chip.
    output_bus : tuple of int
        Its x and y.
    n_outputs : int
        Neurons of all output nodes.
    first_output : tuple of (str, int, int)
        Of every output node its name, the output of its neuron 0, and its neurons.
    ticks_ahead : int
        RANC's ``max_tick_offset``: slots of a core's scheduler.
    inclusive : bool
        Whether the negative threshold itself resets (``neuron_reset_type`` 1).
    input_spikes : ndarray of int64, shape (n, 5)
        Group, x, y, axon, destination tick: what the host delivers in tick t is in group t with destination tick 0.
    near_rails : int
        Neurons whose potential may reach the ends of our chip's range, which RANC's simulator has not.
    potentials : tuple of int
        Least and greatest potential that any neuron may be compared with its thresholds at.
    going_nowhere : int
        Neurons that may spike and are neither read out nor have a target.
    """

    name: str
    cores: RancCores
    grid: tuple[int, int]
    origin: tuple[int, int]
    output_bus: tuple[int, int]
    n_outputs: int
    first_output: tuple[tuple[str, int, int], ...]
    ticks_ahead: int
    inclusive: bool
    input_spikes: _Ints
    near_rails: int
    potentials: tuple[int, int]
    going_nowhere: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


def ranc_image(program: ChipProgram, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike) -> RancImage:
    """Lay out a program and events from the host as RANC has them.

    Parameters
    ----------
    program : ChipProgram
        What runs; its host table is not used.
    ticks, cores, axons : array_like of int, shape (n,)
        Events, as :func:`neuromap.simulation.run.run_events.run_events` takes them.

    Returns
    -------
    RancImage

    Raises
    ------
    ProgramError
        If the program breaks a rule of its chip, or nothing is read out.
    StimulusError
        If an event lies outside the cores or axons, or before tick 0.
    NotSupportedError
        If RANC has not what the program asks for (:mod:`neuromap.formats.ranc.image`).
    """
    needs("ranc_image", program, ChipProgram, ProgramError)
    require_legal(program)
    suited, reach = require_suited(program)
    numbers, first_output, n_outputs = _outputs(suited)
    nowhere = reach.fires & (suited.target_core < 0) & (numbers < 0)
    grid, origin, places = _grid(suited, 1 + bool(nowhere.any()))
    xy = suited.coordinates.astype(np.int64) - origin
    bus = places[0]

    sends = suited.target_core >= 0
    to = np.where(sends[..., None], xy[suited.target_core], xy[:, None, :])
    to = np.where((numbers >= 0)[..., None], np.array(bus), to)
    to = np.where(nowhere[..., None], np.array(places[-1]), to)
    offset = to - xy[:, None, :]
    table = suited.neurons
    bits = np.unpackbits(suited.crossbar, axis=2, count=suited.chip.neurons, bitorder="little")
    parameters = {
        "potential": table.potential,
        "reset": table.reset,
        "leak": table.leak,
        "positive_threshold": table.threshold,
        "negative_threshold": -table.negative_threshold.astype(np.int64),
        "reset_mode": np.where(table.reset_mode == 2, 0, table.reset_mode),  # of neurons that never spike
        "dx": offset[..., 0],
        "dy": offset[..., 1],
        "axon": np.where(numbers >= 0, numbers, suited.target_axon),
        "tick": np.where(sends, suited.delay.astype(np.int64) - 1, 0),
    }
    return RancImage(
        name=suited.name,
        cores=RancCores(
            coordinates=xy,
            axon_types=suited.axon_types.astype(np.int64),
            connections=bits.transpose(0, 2, 1).astype(np.bool_),
            weights=table.weights.astype(np.int64),
            parameters={name: np.asarray(values, np.int64) for name, values in parameters.items()},
            present=np.ones(suited.shape, np.bool_),
        ),
        grid=grid,
        origin=origin,
        output_bus=bus,
        n_outputs=n_outputs,
        first_output=first_output,
        ticks_ahead=suited.chip.delay[1] + 1,
        inclusive=suited.chip.rules.negative_comparison == "<=",
        input_spikes=_packets(suited, xy, ticks, cores, axons),
        near_rails=int(reach.rails.sum()),
        potentials=(int(reach.lowest.min()), int(reach.highest.max())),
        going_nowhere=int(nowhere.sum()),
    )


def _outputs(program: Program) -> tuple[_Ints, tuple[tuple[str, int, int], ...], int]:
    """Output of every neuron, -1 where it is not read out; where the nodes' outputs begin; how many there are."""
    read = [(place, port) for place, port in enumerate(program.nodes) if port.kind == "output"]
    sizes = [port.size for _, port in read]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).tolist()
    if not starts[-1]:
        raise ProgramError(
            f"program {show_name(program.name)}: has no output node; RANC prints what reaches its output bus only: "
            "map a network with outputs"
        )
    start_of = np.zeros(len(program.nodes), np.int64)
    start_of[[place for place, _ in read]] = starts[:-1]
    numbers = np.full(program.shape, -1, np.int64)
    table = program.outputs
    numbers[table.core, table.neuron] = start_of[table.node] + table.index
    named = ((port.name, start, port.size) for (_, port), start in zip(read, starts, strict=False))
    return numbers, tuple(named), starts[-1]


def _grid(program: Program, n_free: int) -> tuple[tuple[int, int], tuple[int, int], list[tuple[int, int]]]:
    """Smallest grid around the cores with so many free places; its origin on our chip, and these places."""
    least = program.coordinates.min(axis=0, initial=2**31 - 1).astype(np.int64)
    if not program.n_cores:
        raise NotSupportedError(f"program {show_name(program.name)}: has no core; RANC needs one or more")
    columns, rows = (int(side) for side in program.coordinates.max(axis=0) - least + 1)
    while columns * rows < program.n_cores + n_free:  # another column, or row, whichever is shorter
        columns, rows = (columns + 1, rows) if rows <= columns else (columns, rows + 1)
    taken = np.zeros((rows, columns), np.bool_)
    x, y = (program.coordinates.astype(np.int64) - least).T
    taken[y, x] = True
    free = np.argwhere(~taken)[:n_free, ::-1].tolist()
    return (columns, rows), (int(least[0]), int(least[1])), [(place[0], place[1]) for place in free]


def _packets(program: Program, xy: _Ints, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike) -> _Ints:
    tick, core, axon = (np.asarray(column, np.int64).reshape(-1) for column in (ticks, cores, axons))
    for what, values, end in (
        ("tick", tick, 2**31),
        ("core", core, program.n_cores),
        ("axon", axon, program.chip.axons),
    ):
        wrong = np.flatnonzero((values < 0) | (values >= end))
        if len(values) != len(tick) or len(wrong):
            found = f"{len(values)} for {len(tick)} events" if not len(wrong) else values[wrong[0]]
            raise StimulusError(f"events: {what}: found {found}; needs one for each, 0 to {end - 1}")
    rows = np.stack([tick, *xy[core].T, axon, np.zeros(len(tick), np.int64)], axis=1)
    # two spikes on one axon in one tick are one, of which RANC would warn
    return np.unique(rows, axis=0)


# What RANC cannot say of a program, refused in one line; and how far potentials go, as RANC has no rails.
#
# RANC's neuron adds what it hears and its leak; at or above the positive threshold it spikes and is reset to R or by
# the threshold; else, below the negative one, it is reset to -R or by that threshold
# (``simulator/src/neuronblock.cpp``).


_CORES_AT_ONCE = 64
"""Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats)."""


@dataclass(frozen=True, eq=False)
class Reach(Card):
    """How far the potential of every neuron may go, whatever spikes come; C cores, N neurons."""

    fires: NDArray[np.bool_]  # (C, N): whether it may reach its threshold
    falls: NDArray[np.bool_]  # (C, N): whether it may fall below its negative threshold
    rails: NDArray[np.bool_]  # (C, N): whether it may reach the ends of the chip's range within a tick or over many
    # lowest, highest: (C, N): how far it may be when it is compared with the thresholds, within the chip's range
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def require_suited(given: ChipProgram) -> tuple[Program, Reach]:
    """Refuse what RANC has not."""
    name = f"program {show_name(given.name)}"
    if not isinstance(given, Program):
        raise NotSupportedError(
            f"{name}: its cores ({given.chip.name}) keep lists of synapses; RANC has crossbars: map the network onto "
            "truenorth or ranc"
        )
    size = np.array(given.chip.cores)
    n_chips = len(np.unique(given.coordinates // size, axis=0))
    if n_chips > 1:
        raise NotSupportedError(
            f"{name}: lies on {counted(n_chips, 'chip')} of {given.chip.name}; RANC has one: map it onto one chip with "
            "as many cores (--set grid.cores=[x, y])"
        )
    table = given.neurons
    reach = potential_reach(given)
    floor = table.saturate_negative & reach.falls
    floor &= (table.reset_mode != 0) | (table.reset != table.negative_threshold)
    stochastic = np.zeros(given.shape, np.bool_)
    for mode in (table.stochastic_weight, table.stochastic_leak, table.noise_bits):
        if mode is not None:
            stochastic |= mode.reshape(*given.shape, -1).any(axis=2)
    for wrong, what, way in (
        (stochastic, "has a stochastic mode", "map with deterministic neurons"),
        (table.leak_reversal & (table.leak != 0), "its leak turns with the potential's sign", "give it a plain leak"),
        ((table.reset_mode == 2) & reach.fires, "keeps its potential when it spikes", "give it a reset of mode 0 or 1"),
        (
            floor,
            "stops at its negative threshold, which RANC says only where it is the reset, too",
            "give it a negative threshold of mode 0, or a reset as great as the negative threshold",
        ),
    ):
        at = np.argwhere(wrong)
        if len(at):
            core, neuron = at[0].tolist()
            place = f"core ({', '.join(map(str, given.coordinates[core].tolist()))}), neuron {neuron}"
            raise NotSupportedError(
                f"{name}: {place}: {what} ({counted(len(at), 'neuron')}); RANC's neuron does not: {way}"
            )
    return given, reach


def potential_reach(program: Program) -> Reach:
    """Bound the potentials of all neurons by the weights that they are connected with."""
    table = program.neurons
    up, down = _sums(program)
    leak, alpha, beta, reset = (
        values.astype(np.int64) for values in (table.leak, table.threshold, table.negative_threshold, table.reset)
    )
    start = table.potential.astype(np.int64)
    to_value, by_threshold = table.reset_mode == 0, table.reset_mode == 1
    # between ticks: below the threshold, or what a reset left
    left = [np.where(to_value, reset, start), np.where(to_value, -reset, start), np.where(by_threshold, 0, start)]
    left.append(np.where(table.saturate_negative, -beta, np.where(by_threshold, -1, start)))
    high = np.maximum.reduce([alpha - 1, start, *left])
    low = np.minimum.reduce([-beta, start, *left])
    endless = (table.reset_mode == 2) | table.leak_reversal
    endless |= by_threshold & ((up + leak > alpha) | (~table.saturate_negative & (-(down + leak) > beta)))
    least, greatest = program.chip.potential_range
    top, bottom = high + up + np.maximum(leak, 0), low + down + np.minimum(leak, 0)
    rails = endless | (top > greatest) | (bottom < least)
    highest = np.where(endless, greatest, np.minimum(high + up + leak, greatest))
    lowest = np.where(endless, least, np.maximum(low + down + leak, least))
    falls = lowest < -beta + (program.chip.rules.negative_comparison == "<=")
    return Reach(highest >= alpha, falls, rails, lowest, highest)


def _sums(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add the positive and the negative weights that every neuron is connected with, shape (C, N)."""
    up, down = np.zeros(program.shape, np.int64), np.zeros(program.shape, np.int64)
    types = np.arange(program.chip.axon_types)[:, None]
    for start in range(0, program.n_cores, _CORES_AT_ONCE):
        some = slice(start, start + _CORES_AT_ONCE)
        bits = np.unpackbits(program.crossbar[some], axis=2, count=program.chip.neurons, bitorder="little")
        # at most 65536 axons: counts are exact in 32-bit floats, whose product is a fast one
        counts = ((program.axon_types[some, None, :] == types).astype(np.float32) @ bits.astype(np.float32)).astype(
            np.int64
        )
        weights = program.neurons.weights[some].astype(np.int64).transpose(0, 2, 1)
        up[some] = (counts * np.maximum(weights, 0)).sum(axis=1)
        down[some] = (counts * np.minimum(weights, 0)).sum(axis=1)
    return up, down
