"""Whether a graph that this package wrote still says what its metadata say: other tools may have changed it since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuromap.errors import InputError
from neuromap.exchange.nir.contract.contract import Contracted, Neurons
from neuromap.exchange.nir.contract.parameters import spread
from neuromap.exchange.nir.own.head import Head
from neuromap.exchange.nir.own.neurons import neuron_primitives
from neuromap.files.messages import show
from neuromap.formats.nir.nir_graph import NirNode
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron

__all__ = ["require_known_parts", "require_same_neuron"]

_ROUNDED = 1e-6
"""Part by which tools that compute with float32 change a number."""
_WAY_OUT = "which the metadata of neuromap do not say; remove them, and the graph is read as any other"


def require_known_parts(graph: Contracted, head: Head) -> None:
    """Refuse nodes, edges and outputs that the metadata do not name: they would be lost without a word."""
    for name in (*graph.inputs, *graph.neurons):
        if name not in head.nodes:
            raise InputError(f"node {show(name)}: is in the graph, {_WAY_OUT}")
    held = {(u, v): terms for u, v, terms in head.edges}
    for v, neurons in graph.neurons.items():
        currents = (head.nodes[v]["neuron"] or {}).get("currents") or []
        for term in neurons.signal.terms:
            ticks = term.delay / head.how.dt
            via = currents.index(term.filter.name) if term.filter and term.filter.name in currents else 0
            is_whole = ticks < 2**20 and abs(ticks - round(ticks)) < _ROUNDED * max(1.0, ticks)
            is_known = is_whole and (round(ticks) + 1, via) in held.get((term.source, v), ())
            is_known &= bool(currents) if term.filter else not currents
            if term.matrix.nnz and not is_known:
                raise InputError(f"edge {term.source} -> {v}: has synapses of {term.delay:g} s, {_WAY_OUT}")
    for readout in graph.readouts:
        raise InputError(f"node {readout.name} ({readout.kind}): feeds an output, {_WAY_OUT}")
    # the package nir puts an output behind every last node; any other that is missing or more was put there
    last = set(graph.neurons) - {u for u, v, _ in head.edges if u != v} - set(head.outputs)
    if wrong := set(head.outputs) ^ (set(graph.outputs) - last):
        raise InputError(f"node {min(wrong)}: is an output in one of graph and metadata only, {_WAY_OUT}")


def require_same_neuron(
    name: str, neuron: SpikingNeuron, neurons: Neurons, nodes: Mapping[str, NirNode], dt: float
) -> None:
    """Refuse primitives whose numbers are not those that the neuron read from them is written with."""
    is_current = isinstance(neuron, CurrentNeuron)
    constant = neurons.signal.constant
    if (constant if is_current else constant - np.rint(constant)).any():
        raise InputError(f"node {name}: a bias of {constant[constant != 0][0]:g} arrives, {_WAY_OUT}")
    for written, node in neuron_primitives(name, neuron, neurons.shape, dt).items():
        for key, wanted in node.parameters.items():
            if key == "v_threshold" and not is_current:
                continue  # sums are whole: any threshold between two of them means the same
            default: Any = {"w_in": 1.0}.get(key, 0.0)
            found = spread(written, nodes[written], key, neurons.shape, default=default)
            wrong = ~np.isclose(found, wanted.ravel(), rtol=_ROUNDED, atol=0)
            if wrong.any():
                raise InputError(f"node {written} ({node.kind}): {key}: found {found[wrong][0]:.9g}, {_WAY_OUT}")
