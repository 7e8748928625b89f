"""From a graded network to spiking neurons whose rates stand for its values, balanced on data.

A quantised ReLU unit with value x becomes an integrate-and-fire neuron that fires x / full of the time, where ``full``
is a value that the units of its node rarely exceed on the data (Diehl et al., IJCNN 2015; Rueckauer et al., Front.
Neurosci. 2017: the 99.9th percentile in place of the maximum). A spike takes the threshold off, so that no input is
lost (a soft reset). On Loihi 1, where a spike sets the voltage to 0, the current integrates in place of the voltage,
and the neuron's own spike takes the threshold off it one tick later, before anything else is computed. On TrueNorth a
neuron takes its threshold off by itself, but the mapper proves potentials bounded only where no tick adds more than
the threshold: elsewhere a spike sets the potential to 0, and what lay above the threshold is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.files.argument_checks import needs, real_number
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, FloatSynapses
from neuromap.quantise.list_integers import round_weights
from neuromap.quantise.quantisation import Quantisation
from neuromap.quantise.quantise_network import quantise
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.stimulus import check_frames

CLOCK = "clock"
"""Node of one neuron that spikes in every tick: it brings biases where the current integrates."""
_THRESHOLD = 2048
"""Threshold where the current integrates, in units of weights."""
_SHARE = 128
"""What one synapse of a neuron onto itself takes off: a list of small weights of both signs holds such a power of 2."""
_MARGIN = 0.25
"""Part of the output's range by which the greatest output of nearly all data lies above 0."""


@dataclass(frozen=True, eq=False)
class RateNetwork(Card):
    """A graded network as spiking neurons.

    Attributes
    ----------
    network : Network
        Spiking, for one chip; inputs take a spike in a part of the ticks that is their value by ``full``
        (:func:`rate_frames`), and the class whose output neuron has spiked most is named.
    chip : str
        Name of the chip it is for.
    full : mapping of str to float
        For every node that has neurons: the value for which a neuron fires in every tick.
    depth : int
        Ticks from an input spike to the first output spike that depends on it.
    saturated : mapping of str to float
        Part of the values on the data that lie above ``full``.
    quantisation : Quantisation or None
        What rounding cost, on chips with crossbar cores.
    """

    network: Network
    chip: str
    full: Mapping[str, float]
    depth: int
    saturated: Mapping[str, float]
    quantisation: Quantisation | None = None

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "chip": self.chip,
            "depth": f"{self.depth} ticks",
            "nodes": len(self.full),
        }


def to_rates(
    network: Network,
    calibration: Mapping[str, ArrayLike],
    chip: str | Path | ChipSpec = "truenorth",
    *,
    percentile: float = 99.9,
) -> RateNetwork:
    """Convert a graded network into integrate-and-fire neurons with balanced thresholds.

    Parameters
    ----------
    network : Network
        Graded, without cycles; no node takes the greatest input. Units between ReLUs that are linear are folded into
        the weights of those that read them; outputs may be linear.
    calibration : mapping of str to array_like of int, shape (n, size) or (n, rows, columns, features)
        Values of the inputs on some data, two rows or more: what ``full`` is found on.
    chip : str, path or ChipSpec
        TrueNorth's kind, with a constant leak, or Loihi's, with currents.
    percentile : float
        Of a node's values on the data, which becomes a rate of 1: 50 to 100.

    Returns
    -------
    RateNetwork

    Raises
    ------
    NotSupportedError
        If the network has a cycle or takes greatest inputs, or the chip's neurons do neither.
    NetworkError
        If weights are missing, or a node never has a value above 0.
    InputError
        If the percentile or the data are out of range.
    """
    needs("to_rates: network", network, Network)
    require_weights(network)
    spec = load_chip(chip)
    if not 50 <= real_number("percentile", percentile) <= 100:
        raise InputError(f"percentile = {percentile:g}: must be 50 to 100")
    order = _require_convertible(network, spec)
    frames = check_frames(calibration, network)
    units = _affine_units(network, order, frames)
    full, saturated = _full_values(network, units, frames, percentile)
    depth = _depth(units, network.outputs)
    parts = (network, units, full, spec)
    made, cost = _with_leak(*parts) if spec.kind.computes(LeakNeuron) else (_with_currents(*parts), None)
    tables = {"inputs": {name: {"code": "rate"} for name in made.inputs}}
    return RateNetwork(
        replace(made, tables=tables, outputs=network.outputs),
        spec.name,
        ReadOnlyMapping(full),
        depth,
        ReadOnlyMapping(saturated),
        cost,
    )


def _require_convertible(network: Network, chip: ChipSpec) -> list[str]:
    """Give the nodes in the order in which a frame computes them."""
    if not network.is_graded:
        raise NotSupportedError(
            f"network {network.name}: is not graded; rates stand for the values of quantised ReLU units, import a "
            "quantised model, or a float one with calibration data"
        )
    if not (chip.kind.computes(LeakNeuron) or chip.kind.computes(CurrentNeuron)):
        raise NotSupportedError(f"chip {chip.name}: has no neurons that integrate; truenorth and loihi1 have")
    if not nx.is_directed_acyclic_graph(network.graph):
        u, v = nx.find_cycle(network.graph)[0][:2]
        raise NotSupportedError(
            f"edge {u} -> {v}: closes a cycle; rates stand for values that do not change, map the network to a chip "
            "with graded spikes, such as loihi2"
        )
    for node in network.nodes.values():
        if node.graded is not None and node.graded.maximum:
            raise NotSupportedError(
                f"node {node.name}: takes the greatest input, which no sum of rates is; train it with strides or "
                "average pools, or map it to a chip with graded spikes, such as loihi2"
            )
    return [name for name in nx.topological_sort(network.graph) if name not in network.inputs]


@dataclass(frozen=True, eq=False)
class _Unit:
    """What a node's neurons integrate, in units of its values, as a sum over nodes that have neurons."""

    weights: dict[str, csr_array]  # by source, (size, n_source) float64
    bias: Floats  # (size,)


def _affine_units(network: Network, order: list[str], frames: Mapping[str, Ints]) -> dict[str, _Unit]:
    """Fold linear units into their readers, and offsets of inputs and outputs into biases."""
    units: dict[str, _Unit] = {}
    linear: dict[str, _Unit] = {}
    for name in network.inputs:
        low, size = int(frames[name].min()), network.nodes[name].size
        if low < 0:  # a rate is not below 0: spikes stand for value - low, and low times the weights is a bias
            linear[name] = _Unit({name: csr_array(eye_array(size))}, np.full(size, float(low)))
    for name in order:
        node = network.nodes[name]
        graded = node.graded
        assert graded is not None, "all nodes of a graded network are"
        per_value = graded.multiplier / 2.0**graded.shift
        weights: dict[str, csr_array] = {}
        bias = graded.bias.astype(np.float64)
        for (u, v), edge in network.edges.items():
            if v != name:
                continue
            matrix = csr_array(edge.matrix(), dtype=np.float64)
            through = linear.get(u, _Unit({u: csr_array(eye_array(matrix.shape[1]))}, np.zeros(matrix.shape[1])))
            bias = bias + matrix @ through.bias
            for source, inner in through.weights.items():
                found = csr_array(matrix @ inner)
                weights[source] = found if source not in weights else csr_array(weights[source] + found)
        scaled = {source: csr_array(matrix * per_value[:, None]) for source, matrix in weights.items()}
        unit = _Unit(scaled, bias * per_value)
        (linear if graded.low < 0 and name not in network.outputs else units)[name] = unit
    return units


def _full_values(
    network: Network, units: dict[str, _Unit], frames: Mapping[str, Ints], percentile: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Find the values that become a rate of 1, and lift linear outputs above 0."""
    # frame 0 of the reference is no data: inputs come one frame later, and frames of a network without cycles under
    # the sequential pattern are independent
    shown = {name: np.concatenate([rows[:1], rows]) for name, rows in frames.items()}
    values = reference(Rollout(network, "sequential"), shown)
    full, saturated = {}, {}
    for name in (*network.inputs, *units):
        found = values[name][1:].astype(np.float64)
        if name in network.inputs:
            found = found - min(0, int(found.min()))
        elif name in network.outputs:
            found = _lifted(found, units, name)
        level = float(found.max() if name in network.inputs else np.percentile(found, percentile))
        level = level if level > 0 else float(found.max())
        if level <= 0:
            raise NetworkError(
                f"node {name}: no value above 0 in {len(found)} frames of calibration data; give data on which it is "
                "active"
            )
        full[name], saturated[name] = level, float((found > level).mean())
    return full, saturated


def _lifted(values: Floats, units: dict[str, _Unit], name: str) -> Floats:
    """Add one number to all neurons of an output, so that the greatest of nearly every row is well above 0."""
    # the class that is named does not change, but a row whose neurons are all below 0 would never spike
    least, most = np.percentile(values.max(axis=1), 1), float(np.abs(values).max())
    offset = max(0.0, _MARGIN * most - float(least))
    unit = units[name]
    units[name] = _Unit(unit.weights, unit.bias + offset)
    return values + offset


def _depth(units: Mapping[str, _Unit], outputs: tuple[str, ...]) -> int:
    """Count the ticks of the longest way."""
    ticks: dict[str, int] = {}
    for name, unit in units.items():
        ticks[name] = 1 + max((ticks.get(source, 0) for source in unit.weights), default=0)
    return max(ticks[name] for name in outputs)


def _relative(unit: _Unit, name: str, full: Mapping[str, float]) -> tuple[dict[str, csr_array], Floats]:
    """Give weights of spikes and bias in parts of the threshold."""
    weights = {source: csr_array(matrix * (full[source] / full[name])) for source, matrix in unit.weights.items()}
    return weights, unit.bias / full[name]


# Crossbar cores: the neuron subtracts its threshold by itself; weights become sums of digits on several axons.


def _with_leak(
    network: Network, units: Mapping[str, _Unit], full: Mapping[str, float], chip: ChipSpec
) -> tuple[Network, Quantisation]:
    dt = 1e-3
    nodes, synapses = {}, []
    for name, unit in units.items():
        weights, bias = _relative(unit, name, full)
        # half a threshold at the start: rates are rounded to the nearest, not down
        nodes[name] = FloatNeuron(len(bias), threshold=1.0, drive=bias / dt, voltage=0.5)  # type: ignore[arg-type]
        for source, matrix in weights.items():
            entries = matrix.tocoo()
            target, column = entries.coords
            synapses.append(FloatSynapses(source, name, column, target, entries.data))
    inputs = {name: network.nodes[name].size for name in network.inputs}
    found = quantise(FloatNetwork(network.name, dt, inputs, nodes, tuple(synapses)), chip)
    made = {name: _softened(node, found.network) for name, node in found.network.nodes.items()}
    shaped = {name: replace(node, shape=network.nodes[name].shape) for name, node in made.items()}
    return replace(found.network, nodes=shaped, outputs=network.outputs), found.quantisation


def _softened(node: Node, network: Network) -> Node:
    """Let spikes take the threshold off where potentials then stay bounded."""
    neuron = node.neuron
    if not isinstance(neuron, LeakNeuron):
        return node
    into = (edge.matrix() for (_, v), edge in network.edges.items() if v == node.name)
    most = neuron.leak + sum((matrix.maximum(0).sum(axis=1) for matrix in into), start=np.zeros(node.size, np.int64))
    return replace(node, neuron=replace(neuron, subtract=1)) if (most <= neuron.threshold).all() else node


# Synapse lists: the current keeps its value, the voltage is the current, and the neuron's spikes reach itself.


def _with_currents(network: Network, units: Mapping[str, _Unit], full: Mapping[str, float], chip: ChipSpec) -> Network:
    sizes = {name: network.nodes[name].size for name in (*network.inputs, *units)}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    parts = []  # (source, target, matrix) in units of the threshold
    for name, unit in units.items():
        weights, bias = _relative(unit, name, full)
        parts += [(source, name, matrix) for source, matrix in weights.items()]
        parts.append((CLOCK, name, csr_array(bias[:, None])))
    wanted = [matrix.tocoo() for _, _, matrix in parts]
    # a weight takes the fewest power of 2 that its source's greatest allows
    numbers = [
        np.full(entries.nnz, sum(sizes.values())) if source == CLOCK else first[source] + entries.coords[1]
        for (source, _, _), entries in zip(parts, wanted, strict=True)
    ]
    rounded = round_weights(
        np.concatenate([entries.data for entries in wanted]) * _THRESHOLD,
        np.concatenate(numbers).astype(np.int64),
        sum(sizes.values()) + 1,
        chip,
    )
    widths = chip.lists.neuron_widths(chip.potential_bits)
    one = 1 << chip.lists.decay_bits
    step = 1 << chip.lists.threshold_shift
    threshold = -(-_THRESHOLD // step) * step
    nodes = {name: Node(name, network.nodes[name].shape) for name in network.inputs}
    nodes[CLOCK] = Node(CLOCK, (1, 1, 1), neuron=CurrentNeuron(threshold=0, bias=1, voltage_decay=one, **widths))
    for name in units:
        size = sizes[name]
        neuron = CurrentNeuron(
            threshold=threshold,
            current_decay=0,
            voltage_decay=one,
            current=np.full(size, threshold // 2),
            **widths,
        )
        nodes[name] = Node(name, network.nodes[name].shape, neuron=neuron)
    edges = {}
    for (source, target, matrix), values in zip(
        parts, np.split(rounded, np.cumsum([e.nnz for e in wanted])[:-1]), strict=True
    ):
        entries = matrix.tocoo()
        weights = csr_array((values, entries.coords), shape=matrix.shape)
        edges[source, target] = Edge(source, target, MatrixTransform(weights))
    for name in units:
        edges[name, name] = _own_spikes(name, sizes[name], threshold)
    return Network(network.name, nodes, edges, outputs=network.outputs)


def _own_spikes(name: str, size: int, threshold: int) -> Edge:
    """Let every spike take the threshold off the neuron's own current."""
    share = MatrixTransform(csr_array(-_SHARE * eye_array(size, dtype=np.int64)))
    return Edge(name, name, share, also=(EdgeTerm(share),) * (threshold // _SHARE - 1))
