"""From primitives to neurons: what is no neuron becomes part of the maps between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.value import Value
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir.contract.flat_graph import FlatGraph, flatten
from neuromap.exchange.nir.contract.passing import Passing
from neuromap.exchange.nir.contract.shapes import SPIKING, Shape, find_shapes
from neuromap.exchange.nir.contract.signals import Signal
from neuromap.formats.nir.nir_graph import NirGraph, NirNode

__all__ = ["Contracted", "Neurons", "Readout", "contract"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neurons(Value):
    """A node whose neurons spike."""

    node: NirNode  # with its parameters
    shape: Shape  # of NIR
    signal: Signal  # what arrives


class Readout(NamedTuple):
    """What an output takes that is no spike of a node."""

    name: str  # the first node that is no neuron, or the output
    kind: str  # its type
    sources: tuple[str, ...]  # whose spikes it takes


@dataclass(frozen=True, eq=False)
class Contracted(Value):
    """A graph whose nodes are inputs and neurons."""

    inputs: dict[str, Shape]  # shapes
    neurons: dict[str, Neurons]  # in the order of the graph
    outputs: tuple[str, ...]  # nodes whose spikes an output takes as they are
    readouts: tuple[Readout, ...]  # behind the last neurons; no chip computes them
    nodes: dict[str, NirNode]  # all primitives, those of inner graphs as ``outer.inner``

    @property
    def read_out(self) -> tuple[str, ...]:
        """Nodes whose spikes must leave a chip: outputs, and those that the host computes readouts from."""
        behind = (source for readout in self.readouts for source in readout.sources if source in self.neurons)
        return tuple(dict.fromkeys((*self.outputs, *behind)))


def contract(graph: NirGraph) -> Contracted:
    """Contract a graph."""
    flat = flatten(graph)
    for name, node in flat.nodes.items():
        if node.kind == "Input" and flat.before[name]:
            raise InputError(
                f"edge {flat.before[name][0]} -> {name}: leads to an Input, whose values come from outside"
            )
    shapes = find_shapes(flat)
    spiking = [name for name in _from_inputs(flat) if flat.nodes[name].kind in SPIKING]
    if not spiking:
        kinds = ", ".join(dict.fromkeys(node.kind for node in flat.nodes.values()))
        raise NotSupportedError(f"graph: has no spiking neuron among {kinds}; needs one of {', '.join(SPIKING)}")
    maker = Passing(flat, shapes)
    sources = {name: node for name, node in flat.nodes.items() if node.kind in (*SPIKING, "Input")}
    maker.run(sources)
    inputs = {name: shapes[name] for name, node in sources.items() if node.kind == "Input"}
    neurons = {}
    for name in spiking:
        if name not in shapes:
            raise InputError(f"node {name}: its shape is not known; give its parameters one value per neuron")
        neurons[name] = Neurons(flat.nodes[name], shapes[name], maker.arriving(name, shapes[name]))
    outputs, readouts = _outputs(flat, maker)
    return Contracted(inputs, neurons, outputs, readouts, flat.nodes)


def _from_inputs(graph: FlatGraph) -> list[str]:
    """List nodes in the order in which inputs reach them, then the others: files have them by name."""
    after: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for target, sources in graph.before.items():
        for source in sources:
            after[source].append(target)
    found = dict.fromkeys(name for name, node in graph.nodes.items() if node.kind == "Input")
    todo = deque(found)
    while todo:
        for name in after[todo.popleft()]:
            if name not in found:
                found[name] = None
                todo.append(name)
    return list(found | dict.fromkeys(graph.nodes))


def _outputs(graph: FlatGraph, maker: Passing) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
    """Tell outputs that take spikes from those that take what is made of them."""
    outputs: dict[str, None] = {}
    readouts = []
    for name, node in graph.nodes.items():
        if node.kind != "Output":
            continue
        front, seen = list(graph.before[name]), set[str]()
        while front:
            here = front.pop()
            if here in seen:
                continue
            seen.add(here)
            kind = graph.nodes[here].kind
            if kind in SPIKING:
                outputs[here] = None
            elif kind in ("Flatten", "Joint"):
                front += graph.before[here]
            else:
                readouts.append(Readout(here, kind, _spiking_before(graph, here)))
    return tuple(outputs), tuple(dict.fromkeys(readouts))


def _spiking_before(graph: FlatGraph, name: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    front, seen = [name], {name}
    while front:
        for before in graph.before[front.pop()]:
            if graph.nodes[before].kind in (*SPIKING, "Input"):
                found[before] = None
            elif before not in seen:
                seen.add(before)
                front.append(before)
    return tuple(found)
