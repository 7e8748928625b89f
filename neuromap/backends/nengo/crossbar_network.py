"""A plan for crossbar cores as the network of integers that runs on the chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.backends.nengo.crossbar_plan import (
    CrossbarEnsemble,
    CrossbarPlan,
    LineGroup,
    host_rest,
    line_groups,
    n_bias_axons,
)
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeKey, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.render.value import Card


def as_crossbar_network(plan: CrossbarPlan, chip: ChipSpec) -> tuple[ChipNetwork, tuple[LineGroup, ...]]:
    """Write a plan in integers."""
    groups = line_groups(plan, chip)
    nodes: dict[str, Node] = {}
    edges: dict[EdgeKey, Edge] = {}
    fed: list[FedNode | None] = []
    for i, ensemble in enumerate(plan.ensembles):
        mine = [group for group in groups if plan.links[group.link].target == i]
        code = _host_lines(ensemble, mine, chip)
        node = FedNode(f"{ensemble.name}.feed", np.full(len(code.lines), ensemble.neurons.unit), code)
        nodes[node.name] = Node(node.name, (1, 1, code.size(0)))
        constant = ensemble.neurons.bias - ensemble.neurons.weights @ _rests(ensemble, mine)
        share = np.fix(constant / (1 + code.bias_axons)).astype(np.int64)
        neuron = _neuron(ensemble, constant - code.bias_axons * share, chip)
        nodes[ensemble.name] = Node(ensemble.name, (1, 1, ensemble.size), neuron=neuron)
        weights = np.repeat(ensemble.neurons.weights, code.lines, axis=1)
        weights = np.column_stack([weights, np.tile(share[:, None], code.bias_axons)])
        edges[node.name, ensemble.name] = Edge(node.name, ensemble.name, _transform(weights))
        fed.append(node)
    for group in groups:
        source, target = (plan.ensembles[k] for k in _ends(plan, group))
        nodes[group.name] = Node(group.name, (1, 1, len(group.delays)), neuron=group.neuron)
        edges[source.name, group.name] = Edge(source.name, group.name, _transform(_decoding(group, source.size)))
        edges[group.name, target.name] = _encoding(group, target)
    network = Network(plan.name, nodes, edges, outputs=tuple(e.name for e in plan.ensembles))
    return ChipNetwork(network, tuple(fed), tuple(e.neurons.threshold for e in plan.ensembles)), groups


def _ends(plan: CrossbarPlan, group: LineGroup) -> tuple[int, int]:
    return plan.links[group.link].source, plan.links[group.link].target


def _transform(weights: Ints) -> MatrixTransform:
    return MatrixTransform(csr_array(weights))


def _rests(ensemble: CrossbarEnsemble, groups: list[LineGroup]) -> Ints:
    """Spikes a tick at the value 0, by dimension: those of the host, and those of links."""
    rests = np.full(ensemble.neurons.weights.shape[1], host_rest(ensemble.is_fed))
    for group in groups:
        rests[group.dimension] += group.rest
    return rests


def _host_lines(ensemble: CrossbarEnsemble, groups: list[LineGroup], chip: ChipSpec) -> LineCode:
    rest, count = host_rest(ensemble.is_fed), ensemble.neurons.weights.shape[1]
    missing = np.zeros((max((int(group.delays.max()) for group in groups), default=0), count))
    for group in groups:
        missing[:, group.dimension] += [group.missing(tick) for tick in range(len(missing))]
    lines = 2 * rest + np.ceil(missing.max(axis=0, initial=0)).astype(np.int64)
    return LineCode(rest, np.maximum(1, lines), missing, n_bias_axons(count, chip))


def _neuron(ensemble: CrossbarEnsemble, leak: Ints, chip: ChipSpec) -> LeakNeuron:
    """Write neurons; the remainder of what bias axons share keeps the leak in its range but for single units."""
    threshold = ensemble.neurons.threshold
    potential = np.rint(ensemble.voltage * threshold).astype(np.int64).clip(0, threshold - 1)
    return LeakNeuron(threshold=threshold, leak=leak.clip(*chip.leak_range), potential=potential)


def _decoding(group: LineGroup, size: int) -> Ints:
    row = np.zeros(size, np.int64)
    row[group.sources] = group.sums.weights[group.sources]
    return np.tile(row, (len(group.delays), 1))


def _encoding(group: LineGroup, target: CrossbarEnsemble) -> Edge:
    column = target.neurons.weights[:, group.dimension]
    terms = []
    for delay in np.unique(group.delays):
        weights = np.where(group.delays == delay, column[:, None], 0)
        terms.append(EdgeTerm(_transform(weights), int(delay)))
    first, *more = terms
    return Edge(group.name, target.name, first.transform, first.delay, also=tuple(more))


# Values from the host as spikes on lines: as many as the value is long, and some more where it is 0.
@dataclass(frozen=True, eq=False)
class LineCode(ReadOnly, Value):
    """The code of m values; a :class:`~neuromap.backends.nengo.crossbar_network.ValueCode`."""

    rest: int  # spikes at the value 0
    lines: Ints  # (m,): lines of each value
    # (ticks, m): spikes of the first ticks that links have not brought yet, which the host sends in their place
    missing: Floats
    bias_axons: int  # lines behind all others that spike in every tick

    @property
    def lowest(self) -> Ints:
        """Least numbers, shape (m,)."""
        return np.full(len(self.lines), -self.rest)

    @property
    def highest(self) -> Ints:
        """Greatest numbers, shape (m,)."""
        return self.lines - self.rest

    def extra(self, tick: int) -> Floats:
        """Spikes that a tick adds, shape (m,)."""
        return self.missing[tick] if tick < len(self.missing) else np.zeros(len(self.lines))

    def size(self, n_values: int) -> int:
        """All lines."""
        return int(self.lines.sum()) + self.bias_axons

    def spikes(self, numbers: Ints) -> Bools:
        """Say which lines spike: of each value the first ones."""
        wanted = numbers + self.rest
        values = [np.arange(lines) < n for lines, n in zip(self.lines, wanted, strict=True)]
        return np.concatenate([*values, np.ones(self.bias_axons, np.bool_)])


# The network of integers that runs on the chip, and how its inputs stand for values.


class ValueCode(Protocol):
    """How whole numbers become spikes of an input node, one number for each of its m values."""

    @property
    def lowest(self) -> Ints:
        """Least numbers, shape () or (m,)."""

    @property
    def highest(self) -> Ints:
        """Greatest numbers, shape () or (m,)."""

    def extra(self, tick: int) -> Floats:
        """Units that a tick adds to the values, shape () or (m,)."""

    def size(self, n_values: int) -> int:
        """Spikes that ``n_values`` values can take in a tick."""

    def spikes(self, numbers: Ints) -> Bools:
        """Say which spikes stand for numbers, shape (m,), within the bounds; shape (size(m),)."""


@dataclass(frozen=True, eq=False)
class FedNode(ReadOnly, Card):
    """An input node whose spikes stand for values."""

    name: str  # of the node
    unit: Floats  # (m,): what 1 of the number that each value is rounded to is worth
    code: ValueCode  # how these numbers become spikes


@dataclass(frozen=True, eq=False)
class ChipNetwork(ReadOnly, Card):
    """A plan in integers."""

    network: Network  # A node for every ensemble, an input node for every feed
    fed: tuple[FedNode | None, ...]  # by ensemble
    scales: tuple[Ints, ...]  # (n,): thresholds, by ensemble: the voltage 1 of Nengo
