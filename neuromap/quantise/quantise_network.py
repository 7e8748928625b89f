"""Quantisation of a float network to integer neurons and weights, with its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError, NotSupportedError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.quantise.float_network import FloatNetwork
from neuromap.quantise.list_integers import round_weights
from neuromap.quantise.node_integers import (
    CANDIDATES,
    SEARCH,
    NodeIntegers,
    SummedSynapses,
    greatest_error,
    node_integers,
    relative_error,
    scales_below,
    sum_synapses,
)
from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, Quantisation
from neuromap.render.value import Card

HOST = "host"
"""Input node of one silent neuron, for networks without inputs or with nodes that no input reaches."""
_PULSES = (
    "pulses of the last step in which a neuron rests, which is that of its spike where it has no refractory time, "
    "count on the chip and are lost in the float model"
)


@dataclass(frozen=True, eq=False)
class Quantised(Card):
    """A float network in integers.

    Attributes
    ----------
    network : Network
        Spiking; all its nodes but the inputs are outputs. Frame i of a node is step i - 1 of the float model.
    quantisation : Quantisation
        Errors of the quantisation.
    nodes : mapping of str to NodeIntegers
        Scales and units that convert the chip's voltages and currents to those of the float model.
    """

    network: Network
    quantisation: Quantisation
    nodes: Mapping[str, NodeIntegers]

    def _facts(self) -> dict[str, object]:
        return {"network": self.network.name, "chip": self.quantisation.chip, "nodes": len(self.nodes)}


def quantise(network: FloatNetwork, chip: str | Path | ChipSpec = "loihi1") -> Quantised:
    """Quantise a float network to the integers of a chip.

    Time constants become decays in units of 1 / 2**decay_bits; weights, thresholds and biases are multiplied by one
    scale per node and rounded to values that the chip holds (``docs/brian2.md`` has the formulas).

    Parameters
    ----------
    network : FloatNetwork
        One tick is ``network.dt`` seconds of the model.
    chip : str, path or ChipSpec
        Crossbar cores take only neurons that neither decay nor rest, and that receive pulses.

    Returns
    -------
    Quantised

    Raises
    ------
    NotSupportedError
        If the chip has crossbar cores and neurons decay, have currents or rest.
    NetworkError
        If a value is out of the chip's range at every scale, or a time constant is too long for its decays.
    """
    spec = load_chip(chip)
    synapses = {name: sum_synapses(network, name) for name in network.nodes}
    notes: tuple[str, ...] = ()
    if not spec.kind.computes(CurrentNeuron):
        _require_crossbar(network, spec)
        crossbars = {name: crossbar_integers(network, name, synapses[name], spec) for name in network.nodes}
        found = {name: integers for name, (integers, _, _) in crossbars.items()}
        weights = {name: whole for name, (_, whole, _) in crossbars.items()}
        notes = tuple(note for _, _, note in crossbars.values())
    else:
        found = {name: node_integers(network, name, synapses[name], spec) for name in network.nodes}
        # all weights of a source are rounded together, as they may lie in one list
        scaled = [synapses[name].scaled(node.current_units) for name, node in found.items()]
        source = np.concatenate([synapses[name].source for name in found] or [np.zeros(0, np.int64)])
        rounded = round_weights(np.concatenate(scaled or [np.zeros(0)]), source, sum(network.sizes.values()), spec)
        ends = np.cumsum([len(part) for part in scaled])[:-1]
        weights = dict(zip(found, np.split(rounded, ends), strict=True))
    nodes = {name: Node(name, (1, 1, size)) for name, size in network.inputs.items()}
    nodes |= {name: Node(name, (1, 1, part.neuron.threshold.size), neuron=part.neuron) for name, part in found.items()}
    pairs = [(source, name) for name, part in synapses.items() for source in part.names]
    edges = {(u, v): _edge(u, v, synapses[v], weights[v], nodes) for u, v in pairs}
    sources = {source for source, _ in edges}
    nodes = {name: node for name, node in nodes.items() if name not in network.inputs or name in sources}
    for name in list(_unreached(nodes, edges)):
        nodes = {HOST: Node(HOST, (1, 1, 1))} | nodes
        edges[HOST, name] = Edge(HOST, name, MatrixTransform(csr_array((nodes[name].size, 1), dtype=np.int64)))
    tables = {"made_for": {"chip": spec.name}}
    has_pulses = any(any(network.nodes[part.target].is_pulse) for part in network.synapses)
    price = Quantisation(
        network=network.name,
        chip=spec.name,
        dt=network.dt,
        tick_seconds=spec.tick_seconds,
        search=SEARCH if spec.kind.computes(CurrentNeuron) else CROSSBAR_SEARCH,
        nodes=tuple(part.errors for part in found.values()),
        edges=tuple(_edge_errors(u, v, synapses[v], weights[v], found[v]) for u, v in pairs),
        notes=(*((_PULSES,) if has_pulses else ()), *notes),
    )
    made = Network(network.name, nodes, edges, outputs=tuple(network.nodes), tables=tables)
    return Quantised(made, price, ReadOnlyMapping(found))


def _require_crossbar(network: FloatNetwork, chip: ChipSpec) -> None:
    if not chip.kind.computes(LeakNeuron):
        raise NotSupportedError(
            f"chip {chip.name}: its neurons forget from tick to tick; loihi1 and truenorth have others"
        )
    for name, neuron in network.nodes.items():
        equation = "dv/dt = (rest - v) / tau" if np.isfinite(neuron.tau).any() else "dv/dt = drive"
        equation += "" if all(neuron.is_pulse) else " + I, dI/dt = -I / synapse_tau"
        if np.isfinite(neuron.tau).any() or not all(neuron.is_pulse):
            raise NotSupportedError(
                f"node {name}: {equation}: neurons of {chip.name} add a constant leak and have no current; loihi1 "
                "computes it"
            )
        if (rest := int(neuron.rest_ticks(network.dt).max(initial=0))) > 0:
            raise NotSupportedError(
                f"node {name}: rests {rest} ticks after a spike; neurons of {chip.name} do not, loihi1 computes it"
            )


def _edge(source: str, target: str, part: SummedSynapses, weights: Ints, nodes: Mapping[str, Node]) -> Edge:
    shape = (nodes[target].size, nodes[source].size)
    of_source, terms = part.names_of == part.names.index(source), []
    pairs = np.unique(np.stack([part.delay[of_source], part.current[of_source]], axis=1), axis=0)
    for delay, current in pairs.tolist():
        mine = of_source & (part.delay == delay) & (part.current == current) & (weights != 0)
        columns = (weights[mine], (part.target_neuron[mine], part.source_neuron[mine]))
        terms.append(EdgeTerm(MatrixTransform(csr_array(columns, shape=shape)), delay + 1, current))
    first, *more = terms
    return Edge(source, target, first.transform, first.delay, first.current, tuple(more))


def _unreached(nodes: Mapping[str, Node], edges: Mapping[tuple[str, str], Edge]) -> Iterator[str]:
    """Yield the first node of every group that no input reaches, in order."""
    graph: nx.DiGraph[str] = nx.DiGraph(list(edges))
    graph.add_nodes_from(nodes)
    reached: set[str] = set()
    for name, node in [*((n, k) for n, k in nodes.items() if k.neuron is None), *nodes.items()]:
        if name not in reached:
            reached |= {name, *nx.descendants(graph, name)}
            if node.neuron is not None:
                yield name


def _edge_errors(source: str, target: str, part: SummedSynapses, weights: Ints, node: NodeIntegers) -> EdgeErrors:
    mine = part.names_of == part.names.index(source)
    wanted, rounded = part.scaled(node.current_units)[mine], weights[mine]
    return EdgeErrors(
        edge=f"{source} -> {target}",
        synapses=int(mine.sum()),
        weight_error=relative_error(wanted, rounded),
        greatest_weight_error=greatest_error(wanted, rounded),
        lost=int(((rounded == 0) & (wanted != 0)).sum()),
        delay_error=float(part.delay_error[mine].max(initial=0)),
    )


# Quantisation for crossbar cores: neurons with a constant leak, weights on a few axons.


MOST_AXONS = 4
"""Greatest number of axons that a source takes."""
WEIGHT_ERROR = 0.05
"""Weight error (sum of errors divided by sum of weights) above which a source takes another axon."""
CROSSBAR_SEARCH = (
    f"{CANDIDATES} scales in the octave below the greatest that keeps thresholds, leaks and weights in range; weights "
    "of few values as they are, others as sums of 1 to 4 digits, an axon each, the fewest whose sum of errors by sum "
    f"of weights is at most {WEIGHT_ERROR:g}, else 4; the scale with the least sum of relative errors of weights, "
    "thresholds and leaks, the greatest of equals"
)
"""The search in one sentence, for reports."""


class _Rounded(NamedTuple):
    """Values of a node at a scale, with their relative errors, in this order."""

    scale: float
    threshold: Ints
    leak: Ints
    weights: Ints
    errors: list[float]


def crossbar_integers(
    network: FloatNetwork, name: str, synapses: SummedSynapses, chip: ChipSpec
) -> tuple[NodeIntegers, Ints, str]:
    """Quantise the neurons of a node and the weights of the synapses onto them; say how many axons a source takes."""
    neuron = network.nodes[name]
    above, leak = neuron.threshold - neuron.reset, neuron.drive * network.dt
    if ((neuron.voltage > neuron.threshold) & (neuron.voltage > neuron.reset)).any():
        raise NetworkError(
            f"node {name}: a voltage begins above its threshold, {neuron.threshold.min():g}; begin below"
        )
    weights, sources = synapses.scaled(np.array(neuron.gains)), "weights as they are"
    if _most_values(weights, synapses.target_neuron) <= chip.axon_types:
        best = _search(name, above, leak, weights, None, chip)
    else:
        for axons in range(1, MOST_AXONS + 1):
            tried = [_search(name, above, leak, weights, _sums(axons, radix), chip) for radix in (2, 3, 4)]
            best = min(tried, key=lambda found: sum(found.errors))
            sources = f"weights as sums of at most {axons} digit{'s' * (axons > 1)}, an axon each"
            if best.errors[2] <= WEIGHT_ERROR:
                break
    floor = chip.threshold_range[1]
    voltage = np.rint((neuron.voltage - neuron.reset) * best.scale).astype(np.int64)
    start = voltage.clip(-floor, best.threshold)
    # the float model spikes above its threshold, the chip's neuron at it
    integers = LeakNeuron(best.threshold + 1, best.leak, np.full(neuron.size, floor), start)
    errors = NodeErrors(
        node=name,
        neurons=neuron.size,
        scale=best.scale,
        threshold=int(best.threshold.max(initial=0)),
        tau_error=0.0,
        synapse_tau_errors=(0.0,) * len(neuron.gains),
        threshold_error=greatest_error(above * best.scale, best.threshold),
        bias_error=greatest_error(leak * best.scale, best.leak),
        truncation=0.0,
        current_headroom=None,
        lowest_voltage=float((neuron.reset - floor / best.scale).max(initial=-np.inf)),
    )
    units = np.array(neuron.gains) * best.scale
    note = f"node {name}: {sources}, error {best.errors[2]:.2%}"
    return NodeIntegers(integers, best.scale, neuron.reset, units, errors), best.weights, note


def _most_values(weights: Floats, target: Ints) -> int:
    """Greatest number of distinct weights of one neuron."""
    pairs = np.unique(np.column_stack([target, np.round(weights, 12)])[weights != 0], axis=0)
    return int(np.bincount(pairs[:, 0].astype(np.int64)).max(initial=0)) if len(pairs) else 0


def _sums(digits: int, radix: int) -> Ints:
    """List the sums of at most ``digits`` numbers, each 1 or, if above 2, the radix, with either sign, ascending."""
    powers = (0, 1, radix) if radix > 2 else (0, 1)
    up = {sum(chosen) for chosen in combinations_with_replacement(powers, digits)}
    return np.array(sorted(up | {-value for value in up}))


def _search(name: str, above: Floats, leak: Floats, weights: Floats, levels: Ints | None, chip: ChipSpec) -> _Rounded:
    most = chip.weight_range[1] if levels is None else int(levels[-1])
    bounds = ((chip.threshold_range[1] - 1, above), (chip.leak_range[1], leak), (most, weights))
    greatest = min(bound / np.abs(values).max() for bound, values in bounds if np.abs(values).max(initial=0) > 0)
    scales = scales_below(greatest, name, above, 1, chip)
    found = []
    for scale in scales:
        wanted = above * scale, leak * scale, weights * scale
        held = np.rint(wanted[2]) if levels is None else levels[np.abs(wanted[2][:, None] - levels).argmin(axis=1)]
        whole = np.rint(wanted[0]), np.rint(wanted[1]), held
        errors = [relative_error(exact, near) for exact, near in zip(wanted, whole, strict=True)]
        threshold, lost, synapses = (part.astype(np.int64) for part in whole)
        found.append(_Rounded(scale, threshold, lost, synapses, errors))
    return min(found, key=lambda rounded: round(sum(rounded.errors), 9))
