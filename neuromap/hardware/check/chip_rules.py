"""Rules that every program must keep on its chip, written by hand or mapped.

Every rule is a function from a well-formed program to findings. Indices that point nowhere are found by
:mod:`neuromap.hardware.check.index_rules`; here they are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.check.violation import Finding, Place, find
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program import Program


def coordinates(program: ChipProgram) -> Iterator[Finding]:
    """``coordinate-on-grid`` and ``coordinate-unique``: every core lies on the board, no two on one place."""
    chip, xy = program.chip, program.coordinates
    outside = np.any((xy < 0) | (xy >= np.array([chip.columns, chip.rows])), axis=1)

    def found(c: int) -> tuple[int, ...]:
        return (int(xy[c, 0]), int(xy[c, 1]))

    grid = f"x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}"
    yield find("coordinate-on-grid", outside, lambda c: (Place(core=c), found(c), grid, "coordinate"))
    _, inverse, counts = np.unique(xy, axis=0, return_inverse=True, return_counts=True)
    yield find(
        "coordinate-unique",
        counts[inverse.reshape(-1)] > 1,
        lambda c: (Place(core=c), found(c), "a place of its own", "coordinate"),
    )


def weights(program: Program) -> Iterator[Finding]:
    """``weight-range``: weights fit their width and number format."""
    least, greatest = program.chip.weight_range
    values = program.neurons.weights
    yield find(
        "weight-range",
        (values < least) | (values > greatest),
        lambda c, n, g: (
            Place(core=c, neuron=n, axon_type=g),
            int(values[c, n, g]),
            f"{least} to {greatest}",
            "weight",
        ),
    )


def leaks(program: Program) -> Iterator[Finding]:
    """``leak-range``: leaks fit their width and number format."""
    yield _in_range("leak-range", program.neurons.leak, program.chip.leak_range, "leak")


def thresholds(program: Program) -> Iterator[Finding]:
    """``threshold-range``: alpha, and beta (signed chips: -beta), fit the width of thresholds."""
    chip, neurons = program.chip, program.neurons
    yield _in_range("threshold-range", neurons.threshold, chip.threshold_range, "threshold")
    if chip.rules.signed_threshold:
        # such a chip stores the negative threshold itself, which is -beta
        stored = -neurons.negative_threshold.astype(np.int64)
        yield _in_range("threshold-range", stored, chip.threshold_range, "negative threshold -beta")
    else:
        yield _in_range("threshold-range", neurons.negative_threshold, chip.threshold_range, "negative threshold beta")


def potentials(program: Program) -> Iterator[Finding]:
    """``potential-range``: the reset value and the potential before the first tick lie between the rails."""
    neurons, rails = program.neurons, program.chip.potential_range
    yield _in_range("potential-range", neurons.reset, rails, "reset value")
    yield _in_range("potential-range", neurons.potential, rails, "potential before the first tick")


def stochastic_modes(program: Program) -> Iterator[Finding]:
    """``stochastic-mode``: synapses, leaks and thresholds are stochastic only where the chip has such modes."""
    if program.chip.rules.stochastic:
        return
    neurons = program.neurons
    needed = f"0 (chip {program.chip.name} has no stochastic modes)"
    synapses, leaks, bits = neurons.stochastic_weight, neurons.stochastic_leak, neurons.noise_bits
    if synapses is not None:
        yield find(
            "stochastic-mode",
            synapses,
            lambda c, n, g: (Place(core=c, neuron=n, axon_type=g), 1, needed, "mark of a stochastic synapse"),
        )
    if leaks is not None:
        yield find(
            "stochastic-mode",
            leaks,
            lambda c, n: (Place(core=c, neuron=n), 1, needed, "mark of a stochastic leak"),
        )
    if bits is not None:
        yield find(
            "stochastic-mode",
            bits > 0,
            lambda c, n: (Place(core=c, neuron=n), int(bits[c, n]), needed, "number of noise bits"),
        )


def reach(program: ChipProgram) -> Iterator[Finding]:
    """``target-reach``: no target lies farther away than the chip's spikes can name."""
    limit = program.chip.reach
    if limit is None:
        return
    wires = program.wires
    valid = (wires.target_core >= 0) & (wires.target_core < program.n_cores)
    xy = program.coordinates.astype(np.int64)
    if not len(xy):
        return
    distance = np.abs(xy[np.where(valid, wires.target_core, 0)] - xy[wires.core])
    yield find(
        "target-reach",
        valid & np.any(distance > np.array(limit), axis=1),
        lambda w: (
            Place(core=int(wires.core[w]), neuron=int(wires.neuron[w])),
            (int(distance[w, 0]), int(distance[w, 1])),
            f"at most {limit[0]} along x and {limit[1]} along y",
            "distance to the target",
        ),
    )


def output_targets(program: Program) -> Iterator[Finding]:
    """``output-target``: a neuron that is read out has no target on the chip."""
    outputs = program.outputs
    valid = (outputs.core >= 0) & (outputs.core < program.n_cores)
    valid &= (outputs.neuron >= 0) & (outputs.neuron < program.chip.neurons)
    rows = np.flatnonzero(valid)
    core, neuron = outputs.core[rows], outputs.neuron[rows]
    target = program.target_core[core, neuron]
    yield find(
        "output-target",
        target != -1,
        lambda i: (
            Place(core=int(core[i]), neuron=int(neuron[i]), output_row=int(rows[i])),
            int(target[i]),
            "-1: a neuron that is read out has no target",
            "target core",
        ),
    )


def _in_range(rule: str, values: NDArray[np.signedinteger], bounds: tuple[int, int], what: str) -> Finding:
    least, greatest = bounds
    return find(
        rule,
        (values < least) | (values > greatest),
        lambda c, n: (Place(core=c, neuron=n), int(values[c, n]), f"{least} to {greatest}", what),
    )
