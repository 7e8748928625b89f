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
from neuromap.hardware.program.structure import CHOSEN_PERIOD


def bias_frames(program: ChipProgram) -> Iterator[Finding]:
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


def input_labels(program: ChipProgram) -> Iterator[Finding]:
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


def output_labels(program: ChipProgram) -> Iterator[Finding]:
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


def _valid(values: NDArray[np.int32], end: int) -> NDArray[np.bool_]:
    return np.asarray((values >= 0) & (values < end))
