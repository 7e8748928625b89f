"""What a program of crossbars must keep.

Every rule is a function from a well-formed program to findings. No rule relies on another one, and none on the mapper:
what it needs it reads from the program. Rules of mapped programs keep that the chip computes the rollout
(``docs/mapping.md``); a program by hand may break them and still run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.arrival_rules import arrivals
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.check import chip_rules, index_rules, mapping_rules
from neuromap.hardware.check.violation import Finding, Place, Rules, find, in_range

_PARTS_AT_ONCE = 4096
"""Parts of sums whose targets are looked at together (10 MB of TrueNorth neurons)."""
_CORES_AT_ONCE = 64
"""Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats)."""


# Values that index something: broken, they would make an engine read past an array.


def axon_types(program: Program) -> Iterator[Finding]:
    """``axon-type``: every axon's type is one of the chip's."""
    types = program.chip.axon_types
    yield find(
        "axon-type",
        program.axon_types >= types,
        lambda c, a: (
            Place(core=c, axon=a),
            int(program.axon_types[c, a]),
            f"0 to {types - 1}",
            "axon type",
        ),
    )


def reset_modes(program: Program) -> Iterator[Finding]:
    """``reset-mode``: gamma is 0, 1 or 2."""
    mode = program.neurons.reset_mode
    yield find(
        "reset-mode",
        mode > 2,
        lambda c, n: (Place(core=c, neuron=n), int(mode[c, n]), "0, 1 or 2", "reset mode"),
    )


def noise_bits(program: Program) -> Iterator[Finding]:
    """``noise-bits``: threshold noise masks a random byte, which has 8 bits."""
    bits = program.neurons.noise_bits
    if bits is None:
        return
    yield find(
        "noise-bits",
        bits > 8,
        lambda c, n: (Place(core=c, neuron=n), int(bits[c, n]), "0 to 8", "number of noise bits"),
    )


def targets(program: Program) -> Iterator[Finding]:
    """``target-exists``: a target is an axon of a core in use; without a target both numbers are -1 and 0."""
    core, axon = program.target_core, program.target_axon
    cores, axons = program.n_cores, program.chip.axons
    yield find(
        "target-exists",
        (core < -1) | (core >= cores),
        lambda c, n: (
            Place(core=c, neuron=n),
            int(core[c, n]),
            f"a core 0 to {cores - 1}, or -1 for none",
            "target core",
        ),
    )
    yield find(
        "target-exists",
        (axon < 0) | (axon >= axons) | ((core == -1) & (axon != 0)),
        lambda c, n: (
            Place(core=c, neuron=n),
            int(axon[c, n]),
            f"an axon 0 to {axons - 1}, or 0 without a target",
            "target axon",
        ),
    )


def delays(program: Program) -> Iterator[Finding]:
    """``delay-range``: a neuron with a target has a delay of the chip's range, one without has 0."""
    least, greatest = program.chip.delay
    has_target = program.target_core != -1
    delay = program.delay
    yield find(
        "delay-range",
        np.where(has_target, (delay < least) | (delay > greatest), delay != 0),
        lambda c, n: (
            Place(core=c, neuron=n),
            int(delay[c, n]),
            f"{least} to {greatest} ticks, or 0 without a target",
            "delay",
        ),
    )


# Widths and modes of the chip; indices that point nowhere are passed over.


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
    yield in_range("leak-range", program.neurons.leak, program.chip.leak_range, "leak")


def thresholds(program: Program) -> Iterator[Finding]:
    """``threshold-range``: alpha, and beta (signed chips: -beta), fit the width of thresholds."""
    chip, neurons = program.chip, program.neurons
    yield in_range("threshold-range", neurons.threshold, chip.threshold_range, "threshold")
    if chip.rules.signed_threshold:
        # such a chip stores the negative threshold itself, which is -beta
        stored = -neurons.negative_threshold.astype(np.int64)
        yield in_range("threshold-range", stored, chip.threshold_range, "negative threshold -beta")
    else:
        yield in_range("threshold-range", neurons.negative_threshold, chip.threshold_range, "negative threshold beta")


def potentials(program: Program) -> Iterator[Finding]:
    """``potential-range``: the reset value and the potential before the first tick lie between the rails."""
    neurons, rails = program.neurons, program.chip.potential_range
    yield in_range("potential-range", neurons.reset, rails, "reset value")
    yield in_range("potential-range", neurons.potential, rails, "potential before the first tick")


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


# Mapped programs.


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


RULES = Rules(
    starts=(),
    indices=(axon_types, reset_modes, noise_bits, targets, delays, *index_rules.TABLES),
    chip=(
        chip_rules.coordinates,
        weights,
        leaks,
        thresholds,
        potentials,
        stochastic_modes,
        output_targets,
        *chip_rules.BOARD,
    ),
    mapped=(
        mapping_rules.chosen_periods,
        axon_sources,
        mapping_rules.bias_frames,
        mapping_rules.input_labels,
        mapping_rules.output_labels,
        part_targets,
        unused_neurons,
        arrivals,
        potential_widths,
    ),
)
