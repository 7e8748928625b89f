"""Where the neurons of a node are in a program, and what feeds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["axons_from", "places_of", "position_of"]

Ints = NDArray[np.int64]


def position_of(program: ChipProgram, node: str, *, inside: bool) -> int:
    """Find a node by its name."""
    for position, port in enumerate(program.nodes):
        if port.name == node and not (inside and port.kind == "input"):
            return position
    names = ", ".join(port.name for port in program.nodes if not (inside and port.kind == "input"))
    raise InputError(f"node {node!r:.60}: program {program.name} has {names}")


def places_of(program: ChipProgram, node: str, index: int | None) -> tuple[Ints, Ints]:
    """Find cores and neurons that compute a node, or one neuron of it; copies each."""
    position = position_of(program, node, inside=True)
    mine = program.neuron_node == position
    if index is not None:
        mine &= program.neuron_index == index
    whose = f"node {node}" if index is None else f"{node}[{index}]"
    if program.is_part is not None and (mine & program.is_part).any():
        raise InputError(f"{whose}: its sum is cut into parts (docs/wide-neurons.md); edit a neuron that fits a core")
    core, neuron = np.nonzero(mine & ~program.is_relay)
    if not len(core):
        size = program.nodes[position].size
        raise InputError(f"{whose}: is not in program {program.name}; neurons of {node} are 0 to {size - 1}")
    return core, neuron


def axons_from(program: ChipProgram, node: str, index: int, core: int) -> Ints:
    """Find the axons of a core that carry spikes of a neuron: from the host, its copies or its relays."""
    position = position_of(program, node, inside=False)
    host, wires = program.host, program.wires
    fed = (host.core == core) & (host.node == position) & (host.index == index)
    mine = wires.target_core == core
    source = wires.core[mine], wires.neuron[mine]
    sent = (program.neuron_node[source] == position) & (program.neuron_index[source] == index)
    return np.unique(np.concatenate([host.axon[fed].astype(np.int64), wires.target_axon[mine][sent]]))
