"""A plan mapped onto the chip: its network, its program, and its interface to the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.backends.nengo.crossbar_plan import (
    GREATEST_POWER,
    LOWEST,
    BinaryCode,
    ChipPlan,
    CrossbarEnsemble,
    CrossbarPlan,
    LineGroup,
    PlannedEnsemble,
    PlannedFeed,
    PlannedLink,
    code_weights,
    host_rest,
    line_groups,
    n_bias_axons,
)
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_rollout
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.edge import Edge, EdgeKey, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import MatrixTransform
from neuromap.quantise.list_integers import greatest_weight, round_weights
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout

# Name of networks.
_NAME = "nengo"


def as_crossbar_network(plan: CrossbarPlan, chip: ChipSpec) -> ChipNetwork:
    """Write a plan in integers."""
    groups = line_groups(plan, chip)
    nodes: dict[str, Node] = {}
    edges: dict[EdgeKey, Edge] = {}
    fed: list[FedNode | None] = []
    for i, ensemble in enumerate(plan.ensembles):
        mine = [group for group in groups if plan.links[group.link].target == i]
        code = _host_lines(ensemble, mine, chip)
        node = FedNode(f"{ensemble.name}.feed", np.full(len(code.lines), ensemble.neuron.unit), code)
        nodes[node.name] = Node(node.name, (1, 1, code.size(0)))
        # resting spikes per tick by dimension, of the host and of links
        rests = np.full(ensemble.neuron.weights.shape[1], host_rest(ensemble.is_fed))
        np.add.at(rests, [group.dimension for group in mine], [group.rest for group in mine])
        constant = ensemble.neuron.bias - ensemble.neuron.weights @ rests
        share = np.fix(constant / (1 + code.bias_axons)).astype(np.int64)
        # after bias axons take their share, the leak exceeds its range by single units at most
        leak, threshold = (constant - code.bias_axons * share).clip(*chip.leak_range), ensemble.neuron.threshold
        potential = np.rint(ensemble.voltage * threshold).astype(np.int64).clip(0, threshold - 1)
        neuron = LeakNeuron(threshold=threshold, leak=leak, potential=potential)
        nodes[ensemble.name] = Node(ensemble.name, (1, 1, len(threshold)), neuron=neuron)
        weights = np.repeat(ensemble.neuron.weights, code.lines, axis=1)
        weights = np.column_stack([weights, np.tile(share[:, None], code.bias_axons)])
        edges[node.name, ensemble.name] = Edge(node.name, ensemble.name, _transform(weights))
        fed.append(node)
    for group in groups:
        link = plan.links[group.link]
        source, target = plan.ensembles[link.source], plan.ensembles[link.target]
        nodes[group.name] = Node(group.name, (1, 1, len(group.delays)), neuron=group.neuron)
        decoding, column = np.zeros(len(source.voltage), np.int64), target.neuron.weights[:, group.dimension]
        decoding[group.sources] = group.sums.weights[group.sources]
        lines = _transform(np.tile(decoding, (len(group.delays), 1)))
        edges[source.name, group.name] = Edge(source.name, group.name, lines)
        first, *more = (
            EdgeTerm(_transform(np.where(group.delays == delay, column[:, None], 0)), int(delay))
            for delay in np.unique(group.delays)
        )
        encoding = Edge(group.name, target.name, first.transform, first.delay, also=tuple(more))
        edges[group.name, target.name] = encoding
    network = Network(_NAME, nodes, edges, outputs=tuple(e.name for e in plan.ensembles))
    return ChipNetwork(network, tuple(fed), tuple(e.neuron.threshold for e in plan.ensembles), groups)


def _transform(weights: Ints) -> MatrixTransform:
    return MatrixTransform(csr_array(weights))


def _host_lines(ensemble: CrossbarEnsemble, groups: list[LineGroup], chip: ChipSpec) -> LineCode:
    rest, count = host_rest(ensemble.is_fed), ensemble.neuron.weights.shape[1]
    missing = np.zeros((max((int(group.delays.max()) for group in groups), default=0), count))
    for group in groups:
        missing[:, group.dimension] += [group.missing(tick) for tick in range(len(missing))]
    lines = 2 * rest + np.ceil(missing.max(axis=0, initial=0)).astype(np.int64)
    return LineCode(rest, np.maximum(1, lines), missing, n_bias_axons(count, chip))


# Values from the host as spikes on lines: as many as the value, plus the spikes that stand for 0.
class LineCode(NamedTuple):
    """Encoding of m integers as spikes for chips with crossbar cores; others use :class:`BinaryCode`."""

    rest: int  # spikes at the value 0
    lines: Ints  # (m,): number of lines per value
    # (ticks, m): spikes missing from links in the first ticks, which the host sends instead
    missing: Floats
    bias_axons: int  # lines after all others that spike in every tick

    @property
    def lowest(self) -> Ints:
        """Least integers, shape (m,)."""
        return np.full(len(self.lines), -self.rest)

    @property
    def highest(self) -> Ints:
        """Greatest integers, shape (m,)."""
        return self.lines - self.rest

    def extra(self, tick: int) -> Floats:
        """Return the extra spikes of a tick, shape (m,)."""
        return self.missing[tick] if tick < len(self.missing) else np.zeros(len(self.lines))

    def size(self, n_values: int) -> int:
        """Return the number of all lines."""
        return int(self.lines.sum()) + self.bias_axons

    def spikes(self, numbers: Ints) -> Bools:
        """Return which lines spike: the first ones of each value."""
        wanted = numbers + self.rest
        values = [np.arange(lines) < n for lines, n in zip(self.lines, wanted, strict=True)]
        return np.concatenate([*values, np.ones(self.bias_axons, np.bool_)])


# The integer network that runs on the chip, and how its inputs encode values.


class FedNode(NamedTuple):
    """An input node whose spikes encode values."""

    name: str  # of the node
    unit: Floats  # (m,): unit to which each value is rounded
    code: BinaryCode | LineCode  # encoding of the resulting integers as spikes


class ChipNetwork(NamedTuple):
    """A plan in integers."""

    network: Network  # a node for every ensemble, an input node for every feed
    fed: tuple[FedNode | None, ...]  # by ensemble
    scales: tuple[Ints, ...]  # (n,) per ensemble: thresholds, which stand for Nengo's voltage 1
    lines: tuple[LineGroup, ...] = ()  # lines of decoded values on crossbar cores; empty for other chips


@dataclass(frozen=True, eq=False)
class MappedPlan(ReadOnly, Card):
    """A plan as loaded onto the chip."""

    plan: ChipPlan | CrossbarPlan  # in units of Nengo
    built: ChipNetwork  # in integers
    program: ChipProgram  # on the chip
    first_input: Mapping[str, int]  # index of every input node's first neuron among those of all input nodes
    n_inputs: int  # number of input neurons
    # host_input, host_core, host_axon: (K,): an input neuron, and an axon that it feeds
    host_input: Ints
    host_core: Ints
    host_axon: Ints
    # (C, N): index of the neuron among those of all ensembles, in order; -1 if none is read out there
    place: Ints
    # neuron_core, neuron_slot: (n,): the inverse
    neuron_core: Ints
    neuron_slot: Ints

    @property
    def ensembles(self) -> tuple[PlannedEnsemble | CrossbarEnsemble, ...]:
        """Ensembles of the plan."""
        return self.plan.ensembles

    @property
    def places_of_ensembles(self) -> list[slice]:
        """Range of each ensemble's neurons among those of all ensembles."""
        ends = np.cumsum([len(ensemble.voltage) for ensemble in self.ensembles]).tolist()
        return [slice(first, last) for first, last in pairwise([0, *ends])]


def map_plan(plan: ChipPlan | CrossbarPlan, chip: ChipSpec) -> MappedPlan:
    """Map a plan onto a chip."""
    built = as_crossbar_network(plan, chip) if isinstance(plan, CrossbarPlan) else as_chip_network(plan, chip)
    network = built.network
    program = map_rollout(Rollout(network, "streaming"), chip=chip, options=MappingOptions(placer="hilbert"))
    names = [port.name for port in program.nodes]
    first_input, n_inputs = _first(network.inputs, network)
    first, total = _first([e.name for e in plan.ensembles], network)
    start = np.array([first.get(name, 0) for name in names])
    read = program.outputs
    place = np.full(program.shape, -1, np.int64)
    place[read.core, read.neuron] = start[read.node] + read.index
    order = np.argsort(place[read.core, read.neuron])
    host = program.host
    start = np.array([first_input.get(name, 0) for name in names])
    assert total == len(order)
    assert not host.arrival.any()
    assert (host.node >= 0).all()
    return MappedPlan(
        plan,
        built,
        program,
        ReadOnlyMapping(first_input),
        n_inputs,
        (start[host.node] + host.index).astype(np.int64),
        host.core.astype(np.int64),
        host.axon.astype(np.int64),
        place,
        read.core[order].astype(np.int64),
        read.neuron[order].astype(np.int64),
    )


def _first(names: Iterable[str], network: Network) -> tuple[dict[str, int], int]:
    """Return the index of every node's first neuron in a joint numbering, and the number of neurons."""
    first, total = {}, 0
    for name in names:
        first[name] = total
        total += network.nodes[name].size
    return first, total


# Conversion of a plan for synapse lists to the integer network that runs on the chip.
# Input node without spikes, for ensembles with a bias only.
SILENT = "silent"


def as_chip_network(plan: ChipPlan, chip: ChipSpec) -> ChipNetwork:
    """Write a plan in integers."""
    scales = tuple(neuron_scales(plan, i, chip) for i in range(len(plan.ensembles)))
    decays = tuple(_decays(plan, i, chip) for i in range(len(plan.ensembles)))
    nodes: dict[str, Node] = {}
    edges: dict[EdgeKey, Edge] = {}
    fed: list[FedNode | None] = []
    for i, ensemble in enumerate(plan.ensembles):
        name, n = ensemble.name, len(ensemble.bias)
        if ensemble.feed is None:
            source = SILENT
            weights, node = np.zeros((n, 1), np.int64), None
        else:
            source = f"{name}.feed"
            weights, unit = feed_integers(ensemble, ensemble.feed, scales[i], chip)
            node = FedNode(source, unit, BinaryCode())
        fed.append(node)
        nodes[source] = Node(source, (1, 1, weights.shape[1]))
        neuron = as_current_neuron(ensemble, scales[i], decays[i], chip)
        nodes[name] = Node(name, (1, 1, n), neuron=neuron)
        edges[source, name] = Edge(source, name, _transform(weights), current=int(node is not None))
    terms, delay = _terms(plan, scales, decays, chip), plan.ticks_per_step
    for (u, v), (first, *more) in terms.items():
        also = tuple(EdgeTerm(_transform(weights), delay, current) for weights, current in more)
        edges[u, v] = Edge(u, v, _transform(first[0]), delay, first[1], also)
    network = Network(_NAME, nodes, edges, outputs=tuple(e.name for e in plan.ensembles))
    return ChipNetwork(network, tuple(fed), scales)


def _decays(plan: ChipPlan, number: int, chip: ChipSpec) -> list[int]:
    """List the decays of an ensemble's currents after that of the bias; the host's current decays at once."""
    found = {part.decay for _, part in _filters_into(plan, number, chip)}
    if plan.ensembles[number].feed is not None:
        found |= {part.decay for part in filters_of(0, plan.dt, chip)}
    return sorted(found, reverse=True)


def _terms(
    plan: ChipPlan, scales: tuple[Ints, ...], decays: tuple[list[int], ...], chip: ChipSpec
) -> dict[EdgeKey, list[tuple[Ints, int]]]:
    """Write all links in integers, with their currents; links of one source together, because they share lists."""
    terms: dict[EdgeKey, list[tuple[Ints, int]]] = {}
    for source, sender in enumerate(plan.ensembles):
        mine = [
            (link, part) for link in plan.links if link.source == source for part in filters_of(link.tau, plan.dt, chip)
        ]
        if not mine:
            continue
        floats = [
            link.weights * (scales[link.target] * link_factor(plan, link, part, chip))[:, None] for link, part in mine
        ]
        rows = np.cumsum([len(weights) for weights in floats])[:-1]
        held = np.split(held_weights(np.concatenate(floats), chip), rows)
        for (link, part), weights in zip(mine, held, strict=True):
            current = 1 + decays[link.target].index(part.decay)
            terms.setdefault((sender.name, plan.ensembles[link.target].name), []).append((weights, current))
    return terms


# The plan in integers: scales, thresholds, biases and weights within the ranges of the chip's cores.
#
# Every neuron has its own scale S, which represents its threshold 1; a tick adds J S k to its voltage
# (``ChipNeuron.share``). S is as large as the range of its currents allows, for two reasons: rounding toward zero is
# then negligible, and the lower rail of the voltage is as close to 0 as possible. Nengo's neurons stop at 0, so they
# respond at once when their input changes sign; the chip's fall to the rail, -2^23 / S thresholds.
#
# Weights of one source share a list: mantissas times one power of 2, in even steps if signs are mixed.


# Fraction of the range of currents to use: they wrap beyond the range.
_ROOM = 0.95
# Tolerated relative error of a decay.
_DECAY_ERROR = 0.002


class Filter(NamedTuple):
    """A current that filters a share of the input."""

    decay: int  # in units of 2**-decay_bits
    share: float  # of the weights


def filters_of(tau: float, dt: float, chip: ChipSpec) -> tuple[Filter, ...]:
    """Return currents that act as an exponential filter of time constant ``tau``; for 0, one that decays at once."""
    # If the nearest decay is too far from the exact one, two currents share the weights, so that the filter delays a
    # slow signal by the right time.
    whole = 1 << chip.lists.decay_bits
    if tau <= 0:
        return (Filter(whole, 1.0),)
    exact = -np.expm1(-dt / tau) * whole
    near = max(1, int(np.rint(exact)))
    low = int(exact)
    if abs(near - exact) <= _DECAY_ERROR * exact or low < 1:
        return (Filter(near, 1.0),)
    share = float((1 / exact - 1 / (low + 1)) / (1 / low - 1 / (low + 1)))
    return Filter(low, share), Filter(low + 1, 1 - share)


def _filters_into(plan: ChipPlan, number: int, chip: ChipSpec) -> list[tuple[PlannedLink, Filter]]:
    """List the links into an ensemble, each paired with every current that filters a share of it."""
    links = [link for link in plan.links if link.target == number]
    return [(link, part) for link in links for part in filters_of(link.tau, plan.dt, chip)]


def link_factor(plan: ChipPlan, link: PlannedLink, part: Filter, chip: ChipSpec) -> float:
    """Return the current that a spike adds over a weight of 1, in thresholds."""
    kept = part.share * part.decay / 2**chip.lists.decay_bits
    return float(plan.ensembles[link.target].neuron.share * kept * plan.ensembles[link.source].neuron.spike)


def neuron_scales(plan: ChipPlan, number: int, chip: ChipSpec) -> Ints:
    """Choose the thresholds S of an ensemble's neurons."""
    # shapes: returns (n,)
    ensemble = plan.ensembles[number]
    step, most = 1 << chip.lists.threshold_shift, (1 << chip.threshold_bits) - 1
    scale = np.full(len(ensemble.bias), min(most * step, chip.potential_range[1] / ensemble.neuron.depth))
    with np.errstate(divide="ignore"):
        for drive in _drives(plan, number, chip):
            scale = np.minimum(scale, _ROOM * chip.lists.greatest_sum / (drive * ensemble.neuron.share))
        for link, part in _filters_into(plan, number, chip):
            greatest = np.abs(link.weights).max(axis=1) * link_factor(plan, link, part, chip)
            scale = np.minimum(scale, greatest_weight(chip) / greatest)
    scales: Ints = (np.clip(scale // step, 1, most) * step).astype(np.int64)
    return scales


def _drives(plan: ChipPlan, number: int, chip: ChipSpec) -> list[Floats]:
    """List the greatest J of every current of an ensemble, that of the bias first."""
    ensemble = plan.ensembles[number]
    drives: dict[int, Floats] = {}
    if ensemble.feed is not None:
        drives[filters_of(0, plan.dt, chip)[0].decay] = ensemble.feed.greatest
    for link, part in _filters_into(plan, number, chip):
        drives[part.decay] = drives.get(part.decay, 0) + part.share * link.greatest
    return [np.abs(ensemble.bias), *drives.values()]


def as_current_neuron(ensemble: PlannedEnsemble, scales: Ints, decays: Sequence[int], chip: ChipSpec) -> CurrentNeuron:
    """Write an ensemble's neurons in integers."""
    # The bias is a current without decay, which is wider than the chip's biases, and exact. Neurons with a bias beyond
    # all bounds, because their intercept is at the edge of possible inputs, stay silent as they should.
    # shapes: scales (n,)
    most = chip.lists.current_range[1]
    return CurrentNeuron(
        threshold=scales,
        current=np.clip(np.rint(ensemble.bias * scales * ensemble.neuron.share), -most, most).astype(np.int64),
        current_decay=0,  # type: ignore[arg-type] # single numbers become arrays
        voltage=np.rint(ensemble.voltage * scales).astype(np.int64),
        voltage_decay=ensemble.neuron.voltage_decay,  # type: ignore[arg-type]
        refractory=ensemble.neuron.refractory,  # type: ignore[arg-type]
        more_current_decays=tuple(np.array(decay) for decay in decays),
        **chip.lists.neuron_widths(chip.potential_bits),
    )


def held_weights(weights: Floats, chip: ChipSpec) -> Ints:
    """Round all weights of each source to mantissas times one power of 2, after clipping to the greatest weight."""
    # shapes: weights (n_target, n_source); returns (n_target, n_source)
    most, n_sources = greatest_weight(chip), weights.shape[1]
    source = np.tile(np.arange(n_sources), len(weights))
    return round_weights(weights.clip(-most, most).reshape(-1), source, n_sources, chip).reshape(weights.shape)


def feed_integers(ensemble: PlannedEnsemble, feed: PlannedFeed, scales: Ints, chip: ChipSpec) -> tuple[Ints, Floats]:
    """Write a feed's weights in integers."""
    # shapes: weights (n, m * CODE_SIZE); unit (m,)
    unit = feed.limit / -LOWEST
    most = greatest_weight(chip) >> GREATEST_POWER
    weights = feed.weights * unit * (scales * ensemble.neuron.share)[:, None]
    lowest = held_weights(weights.clip(-most, most), chip)
    return (lowest[:, :, None] * code_weights()).reshape(len(lowest), -1), unit
