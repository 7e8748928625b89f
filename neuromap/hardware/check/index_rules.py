"""Rules about values that index something: broken, they would make an engine read past an array.

Every rule is a function from a well-formed program to findings. No rule relies on another one, and none on
the mapper: what it needs it reads from the program.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.hardware.check.violation import Finding, Place, find
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.hardware.program.program import Program
from neuromap.hardware.program.structure import MAX_TICKS


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


def labels(program: ChipProgram) -> Iterator[Finding]:
    """``neuron-label``: a label is -1 (then its index is 0), or a neuron of a node."""
    node, index = program.neuron_node, program.neuron_index
    wrong_node = (node < -1) | (node >= len(program.nodes))
    yield find(
        "neuron-label",
        wrong_node,
        lambda c, n: (
            Place(core=c, neuron=n),
            int(node[c, n]),
            f"-1 or a node 0 to {len(program.nodes) - 1}",
            "node label",
        ),
    )
    yield find(
        "neuron-label",
        ~wrong_node & ((index < 0) | (index >= _sizes(program, node, without=1))),
        lambda c, n: (
            Place(core=c, neuron=n),
            int(index[c, n]),
            "a neuron of its node, or 0 without a node",
            "index label",
        ),
    )


def splitters(program: ChipProgram) -> Iterator[Finding]:
    """``splitter-label``: a splitter bears a label and is a relay; who counts either relies on it."""
    yield from _relays_of_a_kind("splitter-label", program, program.is_splitter, "splitter")


def parts(program: ChipProgram) -> Iterator[Finding]:
    """``part-label``: a part of a sum bears a label and is a relay; who counts either relies on it."""
    yield from _relays_of_a_kind("part-label", program, program.is_part, "part")


def _relays_of_a_kind(rule: str, program: ChipProgram, marks: NDArray[np.bool_] | None, kind: str) -> Iterator[Finding]:
    if marks is None:
        return
    yield find(
        rule,
        marks & (~program.is_relay | (program.neuron_node < 0)),
        lambda c, n: (
            Place(core=c, neuron=n),
            (int(program.neuron_node[c, n]), int(program.is_relay[c, n])),
            f"a node, and 1: a {kind} is a relay",
            f"label (node, relay) of a {kind}",
        ),
    )


def host_rows(program: ChipProgram) -> Iterator[Finding]:
    """``host-row`` and ``host-arrival``: rows feed axons in use with neurons of nodes, at tick 0 or later."""
    host = program.host
    first = host.first_frame.astype(np.int64)
    wrong_node = (host.node < BIAS) | (host.node >= len(program.nodes))
    columns: list[tuple[str, NDArray[np.signedinteger], NDArray[np.bool_], str]] = [
        ("node", host.node, wrong_node, "a position in nodes, or -1 for bias"),
        (
            "index",
            host.index,
            ~wrong_node & _outside(host.index, _sizes(program, host.node, without=1)),
            "a neuron of its node, or 0 for bias",
        ),
        ("core", host.core, _outside(host.core, program.n_cores), f"a core 0 to {program.n_cores - 1}"),
        (
            "axon",
            host.axon,
            _outside(host.axon, program.chip.axons),
            f"an axon 0 to {program.chip.axons - 1}",
        ),
        ("first frame", host.first_frame, _outside(first, 2), "0 or 1"),
    ]
    for what, values, wrong, bound in columns:
        yield _row_finding("host-row", "host_row", wrong, values, bound, what)
    # out of int64's reach a product would wrap, so the two bounds are asked one after the other
    far = (host.arrival < -MAX_TICKS) | (host.arrival > MAX_TICKS)
    part = np.zeros(len(host), np.int64) if host.part is None else host.part
    earliest = np.where(far, 0, host.arrival) + ticks_of_frames(part, program.period, np.clip(first, 0, 1))
    yield _row_finding("host-arrival", "host_row", far, host.arrival, f"a tick {-MAX_TICKS} to {MAX_TICKS}", "arrival")
    yield _row_finding(
        "host-arrival",
        "host_row",
        earliest < 0,
        earliest,
        "tick 0 or later",
        "arrival of the first delivered frame",
    )


def output_rows(program: ChipProgram) -> Iterator[Finding]:
    """``output-row``: rows read neurons of cores in use as neurons of nodes, no two rows the same neuron."""
    outputs = program.outputs
    wrong_node = _outside(outputs.node, len(program.nodes))
    wrong_index = ~wrong_node & _outside(outputs.index, _sizes(program, outputs.node, without=0))
    neurons = program.chip.neurons
    columns = [
        ("node", outputs.node, wrong_node, "a position in nodes"),
        ("index", outputs.index, wrong_index, "a neuron of its node"),
        ("core", outputs.core, _outside(outputs.core, program.n_cores), f"a core 0 to {program.n_cores - 1}"),
        ("neuron", outputs.neuron, _outside(outputs.neuron, neurons), f"a neuron 0 to {neurons - 1}"),
    ]
    for what, values, wrong, bound in columns:
        yield _row_finding("output-row", "output_row", wrong, values, bound, what)
    places = np.stack([outputs.core, outputs.neuron], axis=1)
    _, inverse, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    rows_of_neuron = counts[inverse.reshape(-1)]
    yield _row_finding(
        "output-row", "output_row", rows_of_neuron > 1, rows_of_neuron, "1", "number of rows that read its neuron"
    )


def row_kinds(program: ChipProgram) -> Iterator[Finding]:
    """``node-kind``: the host delivers frames of input nodes, and what is read out is an output node."""
    kinds = np.array([*(port.kind for port in program.nodes), ""])
    for table, node, wanted in (
        ("host_row", program.host.node, "input"),
        ("output_row", program.outputs.node, "output"),
    ):
        kind = kinds[np.where(_outside(node, len(program.nodes)), -1, node)]
        wrong = np.asarray((kind != wanted) & (kind != ""))
        yield _row_finding("node-kind", table, wrong, node, f"a node of kind {wanted}", "node")


def _sizes(program: ChipProgram, node: NDArray[np.int32], *, without: int) -> NDArray[np.int64]:
    """Size of each entry's node; ``without`` where it has none or names one that does not exist."""
    sizes = np.array([*(port.size for port in program.nodes), without], dtype=np.int64)
    return np.asarray(sizes[np.where((node < 0) | (node >= len(program.nodes)), -1, node)])


def _outside(values: NDArray[np.int32] | NDArray[np.int64], end: int | NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((values < 0) | (values >= end))


def _row_finding(
    rule: str,
    table: str,
    wrong: NDArray[np.bool_],
    values: NDArray[np.signedinteger],
    bound: str,
    what: str,
) -> Finding:
    return find(rule, wrong, lambda row: (Place(**{table: row}), int(values[row]), bound, what))
