"""What the neurons of each node became on the chip, counted in a program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.neurons_in_use import further_compartments
from neuromap.report.figures.node_copies import NodeCopies

__all__ = ["count_copies"]

Ints = NDArray[np.int64]


def count_copies(program: ChipProgram) -> tuple[NodeCopies, ...]:
    """Count the neurons that carry the label of each node, and where they send."""
    # gives in the order of the program's nodes; nodes without a neuron of the chip, such as inputs, are left out
    core, place = np.nonzero((program.neuron_node >= 0) & ~further_compartments(program))
    node = program.neuron_node[core, place].astype(np.int64)
    index, relay = program.neuron_index[core, place].astype(np.int64), program.is_relay[core, place]
    splitter, part = (
        np.zeros(len(core), np.bool_) if marks is None else marks[core, place]
        for marks in (program.is_splitter, program.is_part)
    )
    span = int(index.max(initial=0)) + 1
    source, n_nodes = node * span + index, len(program.nodes)
    sent = program.sent_by(core, place)
    cores, delays = (_most_per_node(source[sent.spike], what, span, n_nodes) for what in (sent.core, sent.delay))
    counted = (node >= 0, relay, splitter, part)
    on_chip, relays, splitters, parts = (_per_node(node[which], n_nodes) for which in counted)
    neurons = _per_node(np.unique(source[~relay]) // span, n_nodes)
    return tuple(
        NodeCopies(
            node=port.name,
            neurons=int(neurons[k]),
            on_chip=int(on_chip[k]),
            copies=int(on_chip[k] - neurons[k] - relays[k]),
            relays=int(relays[k] - splitters[k] - parts[k]),
            splitters=int(splitters[k]),
            most_cores=int(cores[k]),
            most_delays=int(delays[k]),
            is_output=port.kind == "output",
            parts=int(parts[k]),
        )
        for k, port in enumerate(program.nodes)
        if on_chip[k]
    )


def _per_node(nodes: Ints, n_nodes: int) -> Ints:
    return np.bincount(nodes, minlength=n_nodes)


def _most_per_node(source: Ints, what: Ints, span: int, n_nodes: int) -> Ints:
    """Find for every node the most different values that one of its sources has."""
    width = int(what.max(initial=0)) + 1
    sources, counts = np.unique(np.unique(source * width + what) // width, return_counts=True)
    most = np.zeros(n_nodes, np.int64)
    np.maximum.at(most, sources // span, counts)
    return most
