"""Programs as RANC takes them: cores on a grid of their own, an output bus, packets.

Output spikes go to the *output bus*, a router in the place of a core. A spike without a target on our chip needs one on
RANC's: where one may occur, it is sent to a core without synapses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly, freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.crossbar.program import NeuronTable, Program, with_crossbars
from neuromap.errors import NotSupportedError, ProgramError, StimulusError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted, show_name
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class RancCores(Card):
    """Cores as RANC describes them; C cores, N neurons, A axons, G weights."""

    coordinates: Ints  # (C, 2): x and y
    axon_types: Ints  # (C, A): index of the weight that an axon uses
    connections: NDArray[np.bool_]  # (C, N, A): crossbars, neuron by neuron
    weights: Ints  # (C, N, G): weights by axon type
    # (C, N): ``potential``, ``reset``, ``leak``, ``positive_threshold``, ``negative_threshold``, ``reset_mode``,
    # ``dx``, ``dy``, ``axon``, ``tick``
    parameters: Mapping[str, Ints]
    present: NDArray[np.bool_]  # (C, N): false for neurons that the file does not describe, which are silent

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(
            self, "parameters", ReadOnlyMapping({name: frozen(array) for name, array in self.parameters.items()})
        )


@dataclass(frozen=True, eq=False)
class RancCase(ReadOnly, Card):
    """A program, the events of its input and, if the files hold them, the outputs that RANC computed.

    Attributes
    ----------
    program : Program
        The chip's image; node 0 is the output bus, an output's number is its index there.
    ticks, cores, axons : ndarray of int64, shape (n,)
        Events from the host: the tick in which the axon is integrated, row of ``program.coordinates``, axon.
        Packet group 0 of the files is tick 0.
    expected : tuple of ndarray of int64
        Output numbers of RANC's hardware, tick by tick, sorted; empty if the files hold none. Their first tick is the
        one in which the first packets reach the last layer.
    """

    program: Program
    ticks: Ints
    cores: Ints
    axons: Ints
    expected: tuple[Ints, ...]

    def output_axons(self, ticks: ArrayLike, cores: ArrayLike, neurons: ArrayLike, n_ticks: int) -> tuple[Ints, ...]:
        """Convert spikes to output numbers, tick by tick.

        Parameters
        ----------
        ticks, cores, neurons : array_like of int, shape (m,)
            Spikes, as ``run_events`` returns them.
        n_ticks : int
            Number of ticks run.

        Returns
        -------
        tuple of ndarray of int64
            One sorted array per tick, without spikes of neurons that are not read out.
        """
        outputs = self.program.outputs
        number = np.full(self.program.target_core.shape, -1, dtype=np.int64)
        number[outputs.core, outputs.neuron] = outputs.index
        when = np.asarray(ticks, dtype=np.int64)
        what = number[np.asarray(cores, dtype=np.int64), np.asarray(neurons, dtype=np.int64)]
        return tuple(np.unique(what[(when == t) & (what >= 0)]) for t in range(n_ticks))


def ranc_chip(comparison: Literal["<", "<="], **figures: Any) -> ChipSpec:
    """Make and check the chip of RANC's files; ``comparison`` is that with the negative threshold."""
    rules = NeuronRules(
        number_format="twos_complement", overflow="wrap", negative_comparison=comparison, signed_threshold=True
    )
    return load_chip(ChipSpec(chips=(1, 1), rules=rules, **figures))


def make_case(
    name: str,
    chip: ChipSpec,
    cores: RancCores,
    output_bus: tuple[int, int],
    n_outputs: int,
    input_spikes: Ints,
    expected: Sequence[Ints] = (),
) -> RancCase:
    """Make a program and events from the contents of RANC's files."""
    # shapes: input_spikes (n, 5)
    program = _make_program(name, chip, cores, output_bus, n_outputs)
    row_of = _rows_by_place(program.coordinates.astype(np.int64), chip)
    group, x, y, axon, offset = input_spikes.T
    for what, values, end in (
        ("group", group, 2**31),
        ("x", x, chip.columns),
        ("y", y, chip.rows),
        ("axon", axon, chip.axons),
        ("destination tick", offset, chip.delay[1]),
    ):
        wrong = np.flatnonzero((values < 0) | (values >= end))
        if len(wrong):
            raise StimulusError(f"{name}: packet {wrong[0]}: {what} is {values[wrong[0]]}; needs 0 to {end - 1}")
    core = row_of[x, y]
    there = core >= 0
    return RancCase(
        program=program, ticks=(group + offset)[there], cores=core[there], axons=axon[there], expected=tuple(expected)
    )


def _rows_by_place(coordinates: Ints, chip: ChipSpec) -> Ints:
    """Row of the core at every place of the grid, -1 where there is none, shape (columns, rows)."""
    row_of = np.full((chip.columns, chip.rows), -1, dtype=np.int64)
    row_of[coordinates[:, 0], coordinates[:, 1]] = np.arange(len(coordinates))
    return row_of


def _make_program(name: str, chip: ChipSpec, cores: RancCores, output_bus: tuple[int, int], n_outputs: int) -> Program:
    if not (0 <= output_bus[0] < chip.columns and 0 <= output_bus[1] < chip.rows):
        raise ProgramError(f"{name}: output bus {output_bus}: needs x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}")
    kept = np.any(cores.coordinates != np.array(output_bus), axis=1)
    if not kept.any():
        raise ProgramError(f"{name}: cores: none stands beside the output bus at {output_bus}; needs one or more")
    value = {key: array[kept] for key, array in cores.parameters.items()}
    present, coordinates = cores.present[kept], cores.coordinates[kept]

    x, y = (coordinates[:, None, axis] + value[key] for axis, key in enumerate(("dx", "dy")))
    on_grid = (x >= 0) & (x < chip.columns) & (y >= 0) & (y < chip.rows)
    _require(name, coordinates, present & ~on_grid, np.stack([x, y], axis=2), "target", "a place on the grid")
    x, y = np.where(on_grid, x, 0), np.where(on_grid, y, 0)
    is_output = present & (x == output_bus[0]) & (y == output_bus[1])
    # a spike to a place without a core is lost: no target
    target = np.where(present & ~is_output, _rows_by_place(coordinates, chip)[x, y], -1)
    sent = target >= 0
    for key, used, end in (("axon", is_output, n_outputs), ("axon", sent, chip.axons), ("tick", sent, chip.delay[1])):
        outside = (value[key] < 0) | (value[key] >= end)
        _require(name, coordinates, np.asarray(used & outside), value[key], f"destination {key}", f"0 to {end - 1}")

    def narrow(array: Ints, dtype: type[np.signedinteger], what: str) -> NDArray[np.signedinteger]:
        bounds = np.iinfo(dtype)
        outside = (array < bounds.min) | (array > bounds.max)
        wrong = np.asarray(outside.reshape(*present.shape, -1).any(axis=2))
        _require(name, coordinates, wrong, array, what, f"{bounds.min} to {bounds.max}")
        return array.astype(dtype)

    mode = value["reset_mode"]
    _require(name, coordinates, np.asarray((mode < 0) | (mode > 1)), mode, "reset mode", "0 or 1")
    crossbar = np.packbits(cores.connections[kept].transpose(0, 2, 1), axis=2, bitorder="little")
    core, neuron = np.nonzero(is_output)
    program = Program(
        name=name,
        chip=chip,
        coordinates=coordinates.astype(np.int32),
        axon_types=cores.axon_types[kept].astype(np.uint8),
        crossbar=crossbar,
        neurons=NeuronTable(
            weights=narrow(cores.weights[kept], np.int16, "weights"),
            leak=narrow(value["leak"], np.int16, "leak"),
            leak_reversal=np.zeros(present.shape, dtype=np.bool_),
            threshold=narrow(value["positive_threshold"], np.int32, "positive threshold"),
            negative_threshold=narrow(-value["negative_threshold"], np.int32, "negative threshold"),
            reset=narrow(value["reset"], np.int32, "reset potential"),
            reset_mode=mode.astype(np.uint8),
            saturate_negative=np.zeros(present.shape, dtype=np.bool_),
            potential=narrow(value["potential"], np.int32, "potential"),
        ),
        target_core=target.astype(np.int32),
        target_axon=np.where(sent, value["axon"], 0).astype(np.int32),
        delay=np.where(sent, value["tick"] + 1, 0).astype(np.uint8),
        neuron_node=np.full(present.shape, -1, dtype=np.int32),
        neuron_index=np.zeros(present.shape, dtype=np.int32),
        is_relay=np.zeros(present.shape, dtype=np.bool_),
        nodes=(NodePort("output bus", n_outputs, "output", 0),),
        period=1,
        ticks_per_step=1,
        host=HostTable.empty(),
        outputs=OutputTable(
            node=np.zeros(len(core), dtype=np.int32),
            index=value["axon"][core, neuron].astype(np.int32),
            core=core.astype(np.int32),
            neuron=neuron.astype(np.int32),
        ),
    )
    require_legal(program, mapped=False)
    return program


def _require(name: str, coordinates: Ints, wrong: NDArray[np.bool_], values: Ints, what: str, bound: str) -> None:
    """Refuse the first neuron at which ``wrong`` is set, naming its core by coordinates."""
    at = np.argwhere(wrong)
    if len(at):
        core, neuron = at[0]
        place = f"core {tuple(coordinates[core].tolist())}, neuron {neuron}"
        raise ProgramError(f"{name}: {place}: {what} is {values[core, neuron].tolist()}; needs {bound}")


@dataclass(frozen=True, eq=False)
class RancImage(ReadOnly, Card):
    """Contents of RANC's files, before they are text; C cores, n spikes of the host.

    Attributes
    ----------
    name : str
        Name of the program.
    cores : RancCores
        All neurons of the program's cores, with coordinates on the grid.
    grid : tuple of int
        Columns and rows, as few as possible: RANC's simulator goes through all of them.
    origin : tuple of int
        Place on our chip of x = 0, y = 0 of the grid.
    output_bus : tuple of int
        Its x and y.
    n_outputs : int
        Number of neurons of all output nodes.
    first_output : tuple of (str, int, int)
        Name, output of neuron 0, and number of neurons of every output node.
    ticks_ahead : int
        RANC's ``max_tick_offset``: slots of a core's scheduler.
    inclusive : bool
        Whether the negative threshold itself resets (``neuron_reset_type`` 1).
    input_spikes : ndarray of int64, shape (n, 5)
        Group, x, y, axon, destination tick: spikes of the host in tick t are in group t with destination tick 0.
    near_rails : int
        Number of neurons whose potential may reach the ends of our chip's range, which RANC's simulator does not have.
    potentials : tuple of int
        Least and greatest potential of any neuron when it is compared with its thresholds.
    going_nowhere : int
        Number of neurons that may spike, but are neither read out nor have a target.
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
    input_spikes: Ints
    near_rails: int
    potentials: tuple[int, int]
    going_nowhere: int


def ranc_image(program: ChipProgram, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike) -> RancImage:
    """Lay out a program and events from the host for RANC.

    Parameters
    ----------
    program : ChipProgram
        Program to run; its host table is not used.
    ticks, cores, axons : array_like of int, shape (n,)
        Events, as :func:`neuromap.simulation.run.simulate.run_events` takes them.

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
        If RANC lacks what the program needs (:mod:`neuromap.formats.ranc.image`).
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


def _outputs(program: Program) -> tuple[Ints, tuple[tuple[str, int, int], ...], int]:
    """Output of every neuron, -1 if it is not read out; first output of every node; number of outputs."""
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
    """Smallest grid around the cores with ``n_free`` free places; its origin on our chip, and these places."""
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


def _packets(program: Program, xy: Ints, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike) -> Ints:
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
    # two spikes on one axon in one tick are one, about which RANC would warn
    return np.unique(rows, axis=0)


# What RANC cannot express of a program, refused in one line; and bounds of potentials, as RANC has no rails.
#
# RANC's neuron adds its input and its leak; at or above the positive threshold it spikes and is reset to R or by the
# threshold; else, below the negative one, it is reset to -R or by that threshold (``simulator/src/neuronblock.cpp``).


# Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats).
_CORES_AT_ONCE = 64


class Reach(NamedTuple):
    """Bounds of the potential of every neuron for any spikes; C cores, N neurons."""

    fires: NDArray[np.bool_]  # (C, N): whether it may reach its threshold
    falls: NDArray[np.bool_]  # (C, N): whether it may fall below its negative threshold
    rails: NDArray[np.bool_]  # (C, N): whether it may reach the ends of the chip's range within a tick or over many
    # lowest, highest: (C, N): its bounds when it is compared with the thresholds, within the chip's range
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]


def require_suited(given: ChipProgram) -> tuple[Program, Reach]:
    """Refuse a program with features that RANC lacks, and bound its potentials."""
    name = f"program {show_name(given.name)}"
    given = with_crossbars(given, "RANC has crossbars")
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
    """Bound the potentials of all neurons from the weights onto them."""
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
    """Sum the positive and the negative weights onto every neuron, shape (C, N)."""
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
