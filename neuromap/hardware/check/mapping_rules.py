"""Rules that mapped programs keep so that the chip computes the rollout (``docs/mapping.md``).

A program by hand may break them and still run: two neurons that spike on one axon in one tick are simply one
spike there. They are asked of programs that name an execution, see
:func:`neuromap.hardware.check.check_program.check_program`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import largest_gap
from neuromap.hardware.check.violation import Finding, Place, find
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.hardware.program.program import Program
from neuromap.hardware.program.structure import CHOSEN_PERIOD

_PARTS_AT_ONCE = 4096
"""Parts of sums whose targets are looked at together (10 MB of TrueNorth neurons)."""
_CORES_AT_ONCE = 64
"""Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats)."""


def axon_sources(program: Program) -> Iterator[Finding]:
    """``axon-source``: an axon has one source: one neuron or one row of the host."""
    target, axon = program.target_core, program.target_axon
    host, axons = program.host, program.chip.axons
    from_neurons = _valid(target, program.n_cores) & _valid(axon, axons)
    from_host = _valid(host.core, program.n_cores) & _valid(host.axon, axons)
    fed = np.concatenate(
        [
            target[from_neurons].astype(np.int64) * axons + axon[from_neurons],
            host.core[from_host].astype(np.int64) * axons + host.axon[from_host],
        ]
    )
    sources = np.bincount(fed, minlength=program.n_cores * axons).reshape(program.n_cores, axons)
    yield find(
        "axon-source",
        sources > 1,
        lambda c, a: (
            Place(core=c, axon=a),
            int(sources[c, a]),
            "at most 1 (a neuron or a host row)",
            "number of sources",
        ),
    )


def bias_frames(program: Program) -> Iterator[Finding]:
    """``bias-frame``: bias spikes start with frame 1; in frame 0 every node but the inputs is 0."""
    host = program.host
    yield find(
        "bias-frame",
        (host.node == BIAS) & (host.first_frame != 1),
        lambda row: (
            Place(host_row=row),
            int(host.first_frame[row]),
            "1 on bias rows",
            "first frame",
        ),
    )


def chosen_periods(program: ChipProgram) -> Iterator[Finding]:
    """``frame-period``: frames follow each other no closer than the execution's label says."""
    # They may stand farther apart: splitters may ask for more update steps than were chosen.
    chosen = CHOSEN_PERIOD.fullmatch(program.execution)
    least = 1 if chosen is None else int(chosen[1]) * program.ticks_per_step
    yield find(
        "frame-period",
        np.asarray(program.period < least),
        lambda: (
            Place(),
            largest_gap(program.period),
            f"{least} ticks or more for {program.execution}",
            "frame period in ticks",
        ),
    )


def part_targets(program: Program) -> Iterator[Finding]:
    """``part-target``: a part of a sum feeds only neurons that bear its own label."""
    if program.is_part is None:
        return
    core, neuron = np.nonzero(program.is_part & _valid(program.target_core, program.n_cores))
    target, axon = program.target_core[core, neuron], program.target_axon[core, neuron]
    found = [np.zeros((0, 3), np.int64)]
    for start in range(0, len(core), _PARTS_AT_ONCE):
        some = slice(start, start + _PARTS_AT_ONCE)
        there, on = target[some], np.clip(axon[some], 0, program.chip.axons - 1)
        kind = np.minimum(program.axon_types[there, on], program.chip.axon_types - 1)
        bits = np.unpackbits(program.crossbar[there, on], axis=1, count=program.chip.neurons, bitorder="little")
        read = (bits > 0) & (
            np.take_along_axis(program.neurons.weights[there], kind[:, None, None], axis=2)[..., 0] != 0
        )
        own = (program.neuron_node[there] == program.neuron_node[core[some], neuron[some]][:, None]) & (
            program.neuron_index[there] == program.neuron_index[core[some], neuron[some]][:, None]
        )
        row, reader = np.nonzero(read & ~own)
        found.append(np.stack([core[some][row], neuron[some][row], reader], axis=1))

    def describe(position: tuple[int, ...]) -> tuple[Place, tuple[int, int], str, str]:
        c, n, reader = position
        reads = int(program.target_core[c, n])
        label = (int(program.neuron_node[reads, reader]), int(program.neuron_index[reads, reader]))
        own_label = (int(program.neuron_node[c, n]), int(program.neuron_index[c, n]))
        return (
            Place(core=c, neuron=n),
            label,
            f"{own_label}, the part's own",
            "label (node, index) of what a part feeds",
        )

    yield Finding("part-target", np.concatenate(found).astype(np.int64), describe)


def input_labels(program: Program) -> Iterator[Finding]:
    """``node-kind``: no neuron computes an input node."""
    label = program.neuron_node
    is_input = np.array([*(port.kind == "input" for port in program.nodes), False])
    yield find(
        "node-kind",
        np.asarray(is_input[np.where(_valid(label, len(program.nodes)), label, -1)]),
        lambda c, n: (
            Place(core=c, neuron=n),
            int(label[c, n]),
            "a node that is no input (the host delivers those)",
            "node label",
        ),
    )


def output_labels(program: Program) -> Iterator[Finding]:
    """``output-label``: a row reads the neuron that bears its label, and no two rows read the same label."""
    outputs = program.outputs
    valid = _valid(outputs.core, program.n_cores) & _valid(outputs.neuron, program.chip.neurons)
    core, neuron = np.where(valid, outputs.core, 0), np.where(valid, outputs.neuron, 0)
    if not len(outputs) or not program.n_cores:
        return
    node, index = program.neuron_node[core, neuron], program.neuron_index[core, neuron]
    yield find(
        "output-label",
        valid & ((node != outputs.node) | (index != outputs.index) | program.is_relay[core, neuron]),
        lambda row: (
            Place(core=int(core[row]), neuron=int(neuron[row]), output_row=row),
            (int(node[row]), int(index[row])),
            f"({outputs.node[row]}, {outputs.index[row]}) and no relay",
            "label (node, index)",
        ),
    )
    pairs = np.stack([outputs.node, outputs.index], axis=1)
    _, inverse, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    rows_of_label = counts[inverse.reshape(-1)]
    yield find(
        "output-label",
        rows_of_label > 1,
        lambda row: (
            Place(output_row=row),
            int(rows_of_label[row]),
            "1",
            "number of rows for its node and index",
        ),
    )


def unused_neurons(program: Program) -> Iterator[Finding]:
    """``unused-neuron``: a neuron without a label has no synapses and no target, is no relay, is not read."""
    unused = program.neuron_node == -1
    read_out = np.zeros_like(unused)
    outputs = program.outputs
    valid = _valid(outputs.core, program.n_cores) & _valid(outputs.neuron, program.chip.neurons)
    read_out[outputs.core[valid], outputs.neuron[valid]] = True
    columns = np.bitwise_or.reduce(program.crossbar, axis=1)
    connected = np.unpackbits(columns, axis=1, count=program.chip.neurons, bitorder="little").astype(bool)
    for what, wrong in (
        ("synapses", connected),
        ("a target", program.target_core != -1),
        ("the mark of a relay", program.is_relay),
        ("an output row", read_out),
    ):
        yield find(
            "unused-neuron",
            unused & wrong,
            lambda c, n, what=what: (
                Place(core=c, neuron=n),
                -1,
                f"a node: a neuron with {what} is in use",
                "node label",
            ),
        )


def potential_widths(program: Program) -> Iterator[Finding]:
    """``potential-width``: no set of spikes drives a potential to its rails within one tick."""
    # It begins at 0, or, where the neuron keeps its potential, anywhere from its floor to below its threshold. Then the
    # order of the events in a tick cannot matter, and neither can saturation or wrapping.
    low, high = program.chip.potential_range
    most, least = _extremes(program)
    for extreme, wrong in ((most, most > high), (least, least < low)):
        yield find(
            "potential-width",
            wrong,
            lambda c, n, extreme=extreme: (
                Place(core=c, neuron=n),
                int(extreme[c, n]),
                f"{low} to {high}",
                "farthest potential in one tick",
            ),
        )


def _extremes(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Greatest and least sum of weights and leak of every neuron, shape (C, N)."""
    chip, neurons = program.chip, program.neurons
    shape = (program.n_cores, chip.neurons)
    most, least = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for start in range(0, program.n_cores, _CORES_AT_ONCE):
        cores = slice(start, start + _CORES_AT_ONCE)
        types = program.axon_types[cores, None, :] == np.arange(chip.axon_types)[:, None]
        bits = np.unpackbits(program.crossbar[cores], axis=2, count=chip.neurons, bitorder="little")
        # at most 65536 axons: counts are exact in 32-bit floats, whose product is a fast one
        counts = (types.astype(np.float32) @ bits.astype(np.float32)).astype(np.int64)
        weights = _farthest(neurons.weights[cores], neurons.stochastic_weight, cores).transpose(0, 2, 1)
        most[cores] = (counts * np.maximum(weights, 0)).sum(axis=1)
        least[cores] = (counts * np.minimum(weights, 0)).sum(axis=1)
    leak = _farthest(neurons.leak, neurons.stochastic_leak)
    # the leak comes last, so it can only add to what the events have reached
    most, least = most + np.maximum(leak, 0), least + np.minimum(leak, 0)
    highest = np.maximum(neurons.threshold.astype(np.int64) - 1, 0)
    highest = np.where(neurons.reset_mode == 1, np.maximum(highest, most - 1), highest)  # what a subtraction may leave
    lowest = np.minimum(-neurons.negative_threshold.astype(np.int64), 0) * neurons.saturate_negative
    return most + highest, least + lowest


def _farthest(
    values: NDArray[np.int16], stochastic: NDArray[np.bool_] | None, cores: slice = slice(None)
) -> NDArray[np.int64]:
    """Return the steps of weights or leaks; those of stochastic ones are 1 at most."""
    steps = values.astype(np.int64)
    return steps if stochastic is None else np.where(stochastic[cores], np.sign(steps), steps)


def _valid(values: NDArray[np.int32], end: int) -> NDArray[np.bool_]:
    return np.asarray((values >= 0) & (values < end))
