"""What a RANC file holds, as arrays, and how it becomes a program and a list of events.

RANC counts a spike's travel from 0: its ``destination_tick`` d is our delay d + 1. Spikes to the *output bus*, a
router that stands in a core's place, leave the chip; their neurons have no target here but a row in the output
table, whose index is the output's number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.errors import ProgramError, StimulusError
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.render.value import Card

_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RancCores(Card):
    """Cores as RANC describes them; C cores, N neurons, A axons, G weights."""

    coordinates: _Ints  # (C, 2): x and y
    axon_types: _Ints  # (C, A): which weight an axon uses
    connections: NDArray[np.bool_]  # (C, N, A): crossbars, neuron by neuron
    weights: _Ints  # (C, N, G): weights by axon type
    # (C, N): ``potential``, ``reset``, ``leak``, ``positive_threshold``, ``negative_threshold``, ``reset_mode``,
    # ``dx``, ``dy``, ``axon``, ``tick``
    parameters: Mapping[str, _Ints]
    present: NDArray[np.bool_]  # (C, N): false for neurons that the file does not describe; they are silent here

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(
            self, "parameters", ReadOnlyMapping({name: frozen(array) for name, array in self.parameters.items()})
        )


@dataclass(frozen=True, eq=False)
class RancCase(Card):
    """A program, the events of its input and, where the files hold them, the outputs that RANC computed.

    Attributes
    ----------
    program : Program
        The chip's image; node 0 is the output bus, an output's number is its index there.
    ticks, cores, axons : ndarray of int64, shape (n,)
        Events from the host: the tick in which the axon is integrated, row of ``program.coordinates``, axon.
        Packet group 0 of the files is tick 0.
    expected : tuple of ndarray of int64
        Output numbers of RANC's hardware, tick by tick, sorted; empty where the files hold none. Their first
        tick is the one in which the first packets reach the last layer.
    """

    program: Program
    ticks: _Ints
    cores: _Ints
    axons: _Ints
    expected: tuple[_Ints, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def output_axons(self, ticks: ArrayLike, cores: ArrayLike, neurons: ArrayLike, n_ticks: int) -> tuple[_Ints, ...]:
        """Turn spikes into output numbers, tick by tick.

        Parameters
        ----------
        ticks, cores, neurons : array_like of int, shape (m,)
            Spikes, as ``run_events`` returns them.
        n_ticks : int
            Ticks that were run.

        Returns
        -------
        tuple of ndarray of int64
            One sorted array per tick; spikes of neurons that are not read out are left out.
        """
        outputs = self.program.outputs
        number = np.full(self.program.target_core.shape, -1, dtype=np.int64)
        number[outputs.core, outputs.neuron] = outputs.index
        when = np.asarray(ticks, dtype=np.int64)
        what = number[np.asarray(cores, dtype=np.int64), np.asarray(neurons, dtype=np.int64)]
        return tuple(np.unique(what[(when == t) & (what >= 0)]) for t in range(n_ticks))


def make_case(
    name: str,
    chip: ChipSpec,
    cores: RancCores,
    output_bus: tuple[int, int],
    n_outputs: int,
    input_spikes: _Ints,
    expected: Sequence[_Ints] = (),
) -> RancCase:
    """Make a program and events of what a RANC file holds."""
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
        program=program,
        ticks=(group + offset)[there],
        cores=core[there],
        axons=axon[there],
        expected=tuple(expected),
    )


def _rows_by_place(coordinates: _Ints, chip: ChipSpec) -> _Ints:
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
    for key, used, end in (
        ("axon", is_output, n_outputs),
        ("axon", sent, chip.axons),
        ("tick", sent, chip.delay[1]),
    ):
        outside = (value[key] < 0) | (value[key] >= end)
        _require(name, coordinates, np.asarray(used & outside), value[key], f"destination {key}", f"0 to {end - 1}")

    def narrow(array: _Ints, dtype: type[np.signedinteger], what: str) -> NDArray[np.signedinteger]:
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
        host=_no_host_rows(),
        outputs=OutputTable(
            node=np.zeros(len(core), dtype=np.int32),
            index=value["axon"][core, neuron].astype(np.int32),
            core=core.astype(np.int32),
            neuron=neuron.astype(np.int32),
        ),
    )
    require_legal(program, mapped=False)
    return program


def _no_host_rows() -> HostTable:
    nothing = np.zeros(0, dtype=np.int32)
    return HostTable(
        node=nothing,
        index=nothing,
        core=nothing,
        axon=nothing,
        arrival=np.zeros(0, dtype=np.int64),
        first_frame=np.zeros(0, dtype=np.int8),
    )


def _require(name: str, coordinates: _Ints, wrong: NDArray[np.bool_], values: _Ints, what: str, bound: str) -> None:
    """Refuse the first neuron at which ``wrong`` is set, naming its core by coordinates."""
    at = np.argwhere(wrong)
    if len(at):
        core, neuron = at[0]
        place = f"core {tuple(coordinates[core].tolist())}, neuron {neuron}"
        raise ProgramError(f"{name}: {place}: {what} is {values[core, neuron].tolist()}; needs {bound}")
