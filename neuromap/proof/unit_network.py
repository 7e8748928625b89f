"""The network of units that are left of a program: nodes with names, neurons, edges with delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Ints
from neuromap.network.build import DRIVES
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import SpikingNeuron
from neuromap.network.transforms import MatrixTransform, from_entries
from neuromap.proof.lifted import Lifted
from neuromap.proof.units import Terms, Units


class UnitNetwork:
    """Nodes are those of the labels, or the cores; neurons without a label of a core are numbered as they come."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.neuron: Any = units.program.chip.kind.structure.NEURONS[0]  # its arguments are named by the kind
        self.place: dict[int, tuple[str, int]] = {}  # node and index of every unit that is left
        self.held: dict[str, dict[int, int]] = {}  # units of computing nodes, by index
        # settings of their neurons, and how many those are: 0 where there are as many as are held
        self.shared: dict[str, tuple[tuple[int, ...], int]] = {}

    def build(self, terms: Terms, unit: Ints, counts: Mapping[str, int]) -> Lifted:
        """Make the network of some units and all their terms."""
        units, program = self.units, self.units.program
        self._settle(unit)
        used = {name for name, _ in self.place.values()}
        inputs = [(one, size) for one, size in zip(units.inputs, units.sizes, strict=True) if one.node in used]
        nodes = {one.node: Node(one.node, (1, 1, size)) for one, size in inputs}
        current = np.zeros(len(units.gone), np.int64)
        np.maximum.at(current, terms.reader, terms.current)
        for name in self.held:
            size = self.shared[name][1] or len(self.held[name])
            nodes[name] = Node(name, (1, 1, size), neuron=self._neurons(name, size, current))
        outputs = tuple(self.place[u] for u in units.rep[units.read].tolist())
        nodes, edges = _reached(nodes, self._edges(terms, nodes))
        network = Network(program.name, nodes, edges, outputs=tuple(dict.fromkeys(name for name, _ in outputs)))
        core = np.searchsorted(units.axons, units.fed, side="right") - 1
        closed = np.stack([core, units.fed - units.axons[core]], axis=1)
        return Lifted(network, program.name, tuple(one for one, _ in inputs), outputs, counts, closed, program.period)

    def _settle(self, unit: Ints) -> None:
        """Give every unit its place; where another has it, or a neuron of other settings, in a further node."""
        units = self.units
        begin = np.append(0, np.cumsum(units.sizes)).astype(np.int64) + units.n
        columns = [self._value(name, unit).tolist() for name in self.neuron.settings]
        names: dict[tuple[str, int], list[str]] = {}
        for u, mine in zip(unit.tolist(), zip(*columns, strict=True), strict=True):
            if units.n <= u < units.either:
                k = int(np.searchsorted(begin, u, side="right")) - 1
                self.place[u] = (units.inputs[k].node, u - int(begin[k]))
                continue
            wanted, index, size = self._wanted(u)
            known = names.setdefault((wanted, size), [])
            fits = (n for n in known if self.shared[n][0] == mine and (index is None or index not in self.held[n]))
            if (name := next(fits, None)) is None:
                name = wanted if size and not known else units.named(wanted)
                known.append(name)
                self.shared[name], self.held[name] = (mine, size), {}
            self.place[u] = (name, len(self.held[name]) if index is None else index)
            self.held[name][self.place[u][1]] = u

    def _wanted(self, unit: int) -> tuple[str, int | None, int]:
        """Say what a unit would be called: its node, its place there and the node's size, where they are known."""
        units = self.units
        if unit >= units.either:
            return "either", None, 0
        if (label := int(units.label[unit])) >= 0:
            return units.ports[label >> 32], label & 0xFFFFFFFF, units.program.nodes[label >> 32].size
        return f"core{unit // units.program.shape[1]}", None, 0

    def _value(self, name: str, unit: Ints) -> Ints:
        """Give a parameter of neurons, and of axons that became some."""
        values = np.full(len(unit), self.units.idle[name])
        values[unit < self.units.n] = self.units.values[name][unit[unit < self.units.n]]
        return values

    def _neurons(self, name: str, size: int, current: Ints) -> SpikingNeuron:
        """Make the neurons of a node; those that the program does not hold are never 1."""
        at, unit = (np.array(list(part), np.int64) for part in (self.held[name].keys(), self.held[name].values()))
        values: dict[str, Any] = dict(zip(self.neuron.settings, self.shared[name][0], strict=True))
        most = int(current[unit].max())
        for key in self.units.values.keys() - values.keys():
            array = np.full(size, self.units.idle[key])
            array[at] = self._value(key, unit)
            base, _, number = key.partition(".")  # a number stands behind what every further current has one of
            if not number:
                values[key] = array
            elif int(number) <= most:
                values.setdefault(base, {})[int(number)] = array
        given = {k: [v[n] for n in sorted(v)] if isinstance(v, dict) else v for k, v in values.items()}
        neuron: SpikingNeuron = self.neuron(**given)
        return neuron

    def _edges(self, terms: Terms, nodes: Mapping[str, Node]) -> dict[tuple[str, str], Edge]:
        names = list(nodes)
        number = {name: k for k, name in enumerate(names)}
        where = np.zeros((len(self.units.gone), 2), np.int64)
        for u, (name, index) in self.place.items():
            where[u] = number[name], index
        source, target = where[terms.source], where[terms.reader]
        key = np.stack([source[:, 0], target[:, 0], terms.delay, terms.current])
        found: dict[tuple[str, str], list[EdgeTerm]] = {}
        kinds, which = np.unique(key, axis=1, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.searchsorted(which.ravel()[order], np.arange(kinds.shape[1] + 1))
        for k, (u, v, delay, current) in enumerate(kinds.T.tolist()):
            mine = order[ends[k] : ends[k + 1]]
            shape = nodes[names[v]].size, nodes[names[u]].size
            matrix = from_entries(target[mine, 1], source[mine, 1], terms.weight[mine], shape)
            found.setdefault((names[u], names[v]), []).append(EdgeTerm(MatrixTransform(matrix), delay, current))
        return {
            (u, v): Edge(u, v, first.transform, first.delay, first.current, tuple(also))
            for (u, v), (first, *also) in found.items()
        }


def _reached(
    nodes: dict[str, Node], edges: dict[tuple[str, str], Edge]
) -> tuple[dict[str, Node], dict[tuple[str, str], Edge]]:
    """Give nodes that no input and no driven source reaches an edge without weights, as networks ask for one."""
    nodes, edges = dict(nodes), dict(edges)
    sources = {u for u, _ in edges}
    roots = nodes.keys() - {v for _, v in edges}
    reached = {name for name in roots & sources if nodes[name].neuron is None or _is_driven(nodes[name])}
    anchor = next((name for name in nodes if name in reached), None)
    while lost := [name for name in nodes if name not in reached]:
        new = {v for u, v in edges if u in reached} - reached
        if not new:
            if anchor is None:
                anchor = next(name for k in range(len(nodes) + 1) if (name := f"host{k or ''}") not in nodes)
                nodes = {anchor: Node(anchor, (1, 1, 1))} | nodes
                reached.add(anchor)
            empty = MatrixTransform(csr_array((nodes[lost[0]].size, nodes[anchor].size), dtype=np.int64))
            edges[anchor, lost[0]] = Edge(anchor, lost[0], empty)
            new = {lost[0]}
        reached |= new
    return nodes, edges


def _is_driven(node: Node) -> bool:
    arrays = {} if node.neuron is None else node.neuron.arrays
    return any(bool(arrays[name].any()) for name in DRIVES & arrays.keys())
