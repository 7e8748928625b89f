"""Conversion of a graded network to spiking neurons whose rates stand for its values, balanced on data.

A quantised ReLU unit with value x becomes an integrate-and-fire neuron that fires x / full of the time, where ``full``
is a value that the units of its node rarely exceed on the data (Diehl et al., IJCNN 2015; Rueckauer et al., Front.
Neurosci. 2017: the 99.9th percentile in place of the maximum). A spike subtracts the threshold, so that no input is
lost (a soft reset). On Loihi 1, where a spike sets the voltage to 0, the current integrates in place of the voltage,
and the neuron's own spike subtracts the threshold from it one tick later, before anything else is computed. On
TrueNorth a neuron subtracts its threshold by itself, but the mapper proves potentials bounded only where no tick adds
more than the threshold: elsewhere a spike sets the potential to 0, and the excess over the threshold is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array, hstack

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.even_spikes import even_spikes
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.files.argument_checks import needs, real_number
from neuromap.files.messages import show
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, GradedNeuron, LeakNeuron, require_exact
from neuromap.network.transforms import MatrixTransform
from neuromap.quantise.list_integers import greatest_weight, round_weights
from neuromap.render.value import Card

CLOCK = "clock"
"""Node of one neuron that spikes in every tick, which supplies biases where the current integrates."""
_THRESHOLD = 2048
"""Threshold where the current integrates, in units of weights; less where a weight would be out of range."""
_SHARE = 128
"""Amount that one self-synapse subtracts: a power of 2 that a list of small weights of both signs holds."""
_MARGIN = 0.25
"""Fraction of the output's range by which the greatest output of nearly all data lies above 0."""
_HEADROOM = 2.0
"""Greatest factor on ``full`` where spikes set potentials to 0: less input is lost, but rates are lower."""
# 2 was the best of 1.5, 2, 3, 4, 5 on the digits of docs/rate-conversion.md
_DIGITS = 4
"""Greatest number of digits of a weight on crossbar cores, one axon each."""
_SLACK = 0.05
"""Greatest fraction by which a threshold is raised to the most that a tick may add, to allow a soft reset."""
_SHOWN, _TICKS, _ROUNDS, _LEAST = 256, 96, 4, 0.2
"""Calibration of thresholds: rows of data, ticks, rounds, and the least fraction of a threshold kept."""
_VALUES = 2**24
"""Neuron inputs, over all ticks and rows of the calibration, held in memory at once; at least 16 rows are."""


@dataclass(frozen=True, eq=False)
class RateNetwork(Card):
    """A graded network as spiking neurons.

    Attributes
    ----------
    network : Network
        Spiking, for one chip; inputs spike in a fraction of the ticks that equals the intensity (code ``rate`` of
        :class:`~neuromap.encoding.InputEncoding`), and the answer is the class whose output neuron has spiked most.
    chip : str
        Name of its chip.
    full : mapping of str to float
        Value at which a neuron fires in every tick, for every node but the inputs.
    depth : int
        Ticks from an input spike to the first output spike that depends on it.
    saturated : mapping of str to float
        Fraction of the values on the data above ``full``, before headroom is added to it.
    bounded_ticks : int or None
        Ticks of a run in which no current can leave its width for any inputs; ``None``: all ticks.
    """

    network: Network
    chip: str
    full: Mapping[str, float]
    depth: int
    saturated: Mapping[str, float]
    bounded_ticks: int | None = None

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "chip": self.chip,
            "depth": f"{self.depth} ticks",
            "nodes": len(self.network.nodes),
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
        Graded, without cycles or maxima. Nodes whose values may be below 0 count as linear and are folded into the
        weights of their readers; outputs may be linear. Its table ``inputs`` relates input values to intensities.
    calibration : mapping of str to array_like of int, shape (n, size) or (n, rows, columns, features)
        Values of the inputs on some data, two rows or more, which determine ``full``.
    chip : str, path or ChipSpec
        TrueNorth's kind, with a constant leak, or Loihi's, with currents.
    percentile : float
        Percentile of a node's values on the data that becomes a rate of 1, from 50 to 100.

    Returns
    -------
    RateNetwork

    Raises
    ------
    NotSupportedError
        If the network has a cycle or takes maxima, or the chip's neurons do not integrate.
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
    frames = _checked_data(calibration, network)
    units = _affine_units(network, order)
    full, saturated = _full_values(network, order, units, frames, percentile)
    ticks: dict[str, int] = {}  # along the longest path to a node
    for name, unit in units.items():
        ticks[name] = 1 + max((ticks.get(source, 0) for source in unit.weights), default=0)
    bounded: int | None = None
    if spec.kind.computes(LeakNeuron):
        made, full = _with_leak(network, units, full, frames, spec)
    else:
        made, bounded = _with_currents(network, units, full, spec)
    tables: dict[str, dict[str, object]] = {"inputs": {name: {"code": "rate"} for name in made.inputs}}
    tables["made_for"] = {"chip": spec.name}
    made = replace(made, tables=tables, outputs=network.outputs)
    depth = max(ticks[name] for name in network.outputs)
    return RateNetwork(made, spec.name, ReadOnlyMapping(full), depth, ReadOnlyMapping(saturated), bounded)


def _require_convertible(network: Network, chip: ChipSpec) -> list[str]:
    """Check that a network can be converted; return its nodes but the inputs in topological order."""
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


def _checked_data(calibration: Mapping[str, ArrayLike], network: Network) -> dict[str, Ints]:
    """Check calibration values: all inputs, equally many rows, within the ranges of their nodes."""
    if not isinstance(calibration, Mapping) or set(calibration) != set(network.inputs):
        given = ", ".join(map(str, calibration)) if isinstance(calibration, Mapping) else show(calibration)
        raise InputError(
            f"calibration: found {given or 'nothing'}; give values of the inputs {', '.join(network.inputs)} on "
            "some data"
        )
    frames = {}
    for name in network.inputs:
        node, values = network.nodes[name], np.asarray(calibration[name])
        if values.dtype.kind not in "iu" or values.ndim < 2 or len(values) < 2 or values[0].size != node.size:
            raise InputError(
                f"calibration: input {name}: found {values.dtype}{list(values.shape)}; allowed are integers, 2 rows or "
                f"more of {node.size} values"
            )
        low, high = _graded(network, name).low, _graded(network, name).high
        if not low <= values.min() <= values.max() <= high:
            raise InputError(
                f"calibration: input {name}: found values from {values.min()} to {values.max()}; its node allows {low} "
                f"to {high}"
            )
        frames[name] = values.reshape(len(values), -1).astype(np.int64)
    if len({len(rows) for rows in frames.values()}) > 1:
        raise InputError(
            f"calibration: found {', '.join(f'{len(v)} rows of {k}' for k, v in frames.items())}; give as many of each"
        )
    return frames


class _Unit(NamedTuple):
    """Input that a node's neurons integrate, in units of its values, as a sum over nodes that have neurons."""

    weights: dict[str, csr_array]  # by source, (size, n_source) float64
    bias: Floats  # (size,)


def _graded(network: Network, name: str) -> GradedNeuron:
    neuron = network.nodes[name].graded
    assert neuron is not None, "all nodes of a graded network are"
    return neuron


def _line_of(network: Network, name: str) -> tuple[Floats, Floats]:
    """Span and offset of every input neuron: its value is intensity times span plus offset."""
    node, neuron = network.nodes[name], _graded(network, name)
    table = network.tables.get("inputs", {}).get(name, {})
    if "step" not in table and "mean" not in table:
        (low, high), black = neuron.value_range, -neuron.zero_point
        if low <= black and black + 255 <= high:  # pixels, of which the node's range may hold more
            low, high = black, black + 255
        return np.full(node.size, float(high - low) or 1.0), np.full(node.size, float(low))  # 0 to 0: always silent
    features = 1 if node.shape is None else node.shape[2]
    step, mean = (np.ravel(table.get(key, idle)).astype(np.float64) for key, idle in (("step", 1 / 255), ("mean", 0.0)))
    spread = np.broadcast_to(1 / step, features), np.broadcast_to(-mean / step, features)
    return tuple(np.tile(values, node.size // features) for values in spread)  # type: ignore[return-value] # two


def _scaled(source: str, factor: Floats, offset: Floats) -> _Unit:
    numbers = np.arange(len(factor))
    return _Unit({source: csr_array((factor, (numbers, numbers)), shape=(len(factor), len(factor)))}, offset)


def _affine_units(network: Network, order: list[str]) -> dict[str, _Unit]:
    """Fold linear units and the affine maps of inputs into their readers."""
    units: dict[str, _Unit] = {}
    linear: dict[str, _Unit] = {}
    for name in network.inputs:
        linear[name] = _scaled(name, *_line_of(network, name))
    for name in order:
        graded, size = _graded(network, name), network.nodes[name].size
        per_value = np.broadcast_to(graded.multiplier / 2.0**graded.shift, size)
        weights: dict[str, csr_array] = {}
        bias = np.broadcast_to(graded.bias.astype(np.float64), size)
        for (u, v), edge in network.edges.items():
            if v != name:
                continue
            matrix = csr_array(edge.matrix().astype(np.float64))
            if u in network.outputs and _graded(network, u).low < 0:
                raise NotSupportedError(
                    f"edge {u} -> {v}: {u} is an output with values below 0, which are lifted to be rates; give {v} an "
                    "edge from what feeds it"
                )
            through = linear.get(u, _scaled(u, np.ones(matrix.shape[1]), np.zeros(matrix.shape[1])))
            bias = bias + matrix @ through.bias
            for source, inner in through.weights.items():
                found = csr_array(matrix @ inner)
                weights[source] = found if source not in weights else csr_array(weights[source] + found)
        scaled = {source: csr_array(matrix * per_value[:, None]) for source, matrix in weights.items()}
        unit = _Unit(scaled, bias * per_value)
        (linear if graded.low < 0 and name not in network.outputs else units)[name] = unit
    return units


def _full_values(
    network: Network, order: list[str], units: dict[str, _Unit], frames: Mapping[str, Ints], percentile: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Find the values that become a rate of 1, and lift linear outputs above 0."""
    values: dict[str, Ints] = dict(frames)
    for name in order:
        graded = _graded(network, name)
        into = (edge.matrix() @ values[u].T for (u, v), edge in network.edges.items() if v == name)
        sums = (sum(into) + np.broadcast_to(graded.bias, network.nodes[name].size)[:, None]).T
        require_exact(name, sums)
        values[name] = graded.respond(sums)
    full, saturated = {}, {}
    for name in units:
        found = values[name].astype(np.float64)
        if _graded(network, name).low < 0:  # a linear output
            # One offset for all its neurons lifts the greatest of nearly every row well above 0: the predicted class
            # does not change, but a row whose neurons are all below 0 would never spike.
            least, most = np.percentile(found.max(axis=1), 1), float(np.abs(found).max())
            offset = max(0.0, _MARGIN * most - float(least))
            units[name] = _Unit(units[name].weights, units[name].bias + offset)
            found = found + offset
        level = float(np.percentile(found, percentile))
        level = level if level > 0 else float(found.max())
        if level <= 0:
            raise NetworkError(
                f"node {name}: no value above 0 in {len(found)} rows of calibration data; give data on which it is "
                "active"
            )
        full[name], saturated[name] = level, float((found > level).mean())
    return full, saturated


def _relative(unit: _Unit, name: str, full: Mapping[str, float]) -> tuple[dict[str, csr_array], Floats]:
    """Return spike weights and bias as fractions of the threshold."""
    worth = {source: full.get(source, 1.0) / full[name] for source in unit.weights}
    return {u: csr_array(matrix * worth[u]) for u, matrix in unit.weights.items()}, unit.bias / full[name]


# Crossbar cores: a neuron has one weight for each type of axon, so a source takes an axon for each digit of its weight.


class _Whole(NamedTuple):
    """The neurons of a node in integers."""

    weights: dict[str, csr_array]  # by source, (size, n_source) int64
    leak: Ints  # (size,)
    threshold: Ints  # (size,)
    is_soft: bool  # whether no tick adds more than the threshold: then a spike subtracts it


def _with_leak(
    network: Network, units: Mapping[str, _Unit], full: Mapping[str, float], frames: Mapping[str, Ints], chip: ChipSpec
) -> tuple[Network, dict[str, float]]:
    """Make neurons with a constant leak, and raise ``full`` where spikes set potentials to 0, which loses input."""
    full = dict(full)
    largest = max(len(unit.bias) for unit in units.values())
    shown = min(_SHOWN, max(16, _VALUES // (_TICKS * largest)))
    some = np.unique(np.linspace(0, len(next(iter(frames.values()))) - 1, shown).astype(np.int64))
    spikes = {}
    for name in network.inputs:
        span, offset = _line_of(network, name)
        spikes[name] = even_spikes(((frames[name][some] - offset) / span).clip(0, 1), _TICKS).transpose(0, 2, 1)
    nodes = {name: Node(name, network.nodes[name].shape) for name in network.inputs}
    edges: dict[tuple[str, str], Edge] = {}
    for name, unit in units.items():
        weights, bias = _relative(unit, name, full)
        rise = sum((m.maximum(0).sum(axis=1) for m in weights.values()), start=np.maximum(bias, 0)).max()
        headroom = min(max(1.0, float(rise)), _HEADROOM)
        full[name] *= headroom
        node = _whole_node(name, {u: csr_array(m / headroom) for u, m in weights.items()}, bias / headroom, chip)
        into = node.weights.items()
        drive = np.stack([sum(m @ spikes[u][t].astype(np.int32) for u, m in into) for t in range(_TICKS)])
        # neurons of a feature have the same weights; outputs are compared, so all of them have one threshold
        shape = network.nodes[name].shape
        groups = 1 if name in network.outputs or shape is None else shape[2]
        threshold = node.threshold if node.is_soft else _calibrated(drive, node, groups)
        spikes[name] = _fired(drive, node.leak, threshold, is_soft=node.is_soft)[0]
        floor, start = np.full(len(bias), chip.threshold_range[1]), threshold // 2
        neuron = LeakNeuron(threshold, node.leak, floor, start, subtract=int(node.is_soft))
        nodes[name] = Node(name, network.nodes[name].shape, neuron=neuron)
        edges |= {(u, name): Edge(u, name, MatrixTransform(m)) for u, m in into}
    return Network(network.name, nodes, edges, outputs=network.outputs), full


def _whole_node(name: str, weights: dict[str, csr_array], bias: Floats, chip: ChipSpec) -> _Whole:
    """Round the weights of every neuron at its best scale, then scale all its integers up."""
    joined = csr_array(hstack(list(weights.values())))
    joined.eliminate_zeros()
    joined.sort_indices()
    most = int(np.diff(joined.indptr).max())
    digits = min(chip.axon_types, _DIGITS, chip.axons // max(most, 1))
    if digits < 2:
        raise NotSupportedError(
            f"node {name}: a neuron takes {most} inputs, an axon for each of 2 digits of its weights; a core of "
            f"{chip.name} has {chip.axons} axons, train it with groups, smaller kernels or fewer features"
        )
    low, high = -(1 << (digits - 1)), (1 << (digits - 1)) - 1
    row = np.repeat(np.arange(len(bias)), np.diff(joined.indptr))
    greatest = np.zeros(len(bias))
    np.maximum.at(greatest, row, np.abs(joined.data))
    greatest = np.where(greatest > 0, greatest, 1.0)
    least, scale, held = np.full(len(bias), np.inf), np.ones(len(bias)), np.zeros(len(row), np.int64)
    leaks = chip.leak_range[1] / np.maximum(np.abs(bias), 1e-300)
    for level in np.arange(1, -low + 0.5, 0.25):
        for sign in (1, -1):  # the palette of a neuron is its own: -8..7 or -7..8
            tried = np.minimum(level / greatest, leaks)
            whole = sign * np.rint(sign * joined.data * tried[row]).clip(low, high)
            error = np.bincount(row, np.abs(whole / tried[row] - joined.data), len(bias)) / greatest
            better = error < least - 1e-9
            least, scale = np.where(better, error, least), np.where(better, tried, scale)
            held = np.where(better[row], whole, held).astype(np.int64)
    largest = np.ones(len(bias))
    np.maximum.at(largest, row, np.abs(held))
    # leaks and thresholds are rounded too: the greater all integers of a neuron, the less that costs
    power = 2.0 ** np.ceil(np.log2(largest))  # the digit of the other sign
    room = np.minimum(chip.weight_range[1] // power, chip.leak_range[1] / np.maximum(np.abs(bias) * scale, 1e-300))
    room = np.minimum(room, chip.threshold_range[1] / (2 * scale))
    gain = np.maximum(np.floor(room), 1).astype(np.int64)
    threshold = np.maximum(np.rint(scale * gain), 1).astype(np.int64)
    leak = np.rint(bias * scale * gain).astype(np.int64)
    whole_rows = csr_array((held * gain[row], joined.indices, joined.indptr), shape=joined.shape)
    rise = np.asarray(whole_rows.maximum(0).sum(axis=1)) + np.maximum(leak, 0)
    is_soft = bool((rise <= threshold * (1 + _SLACK)).all())
    ends = np.cumsum([0, *(m.shape[1] for m in weights.values())])
    columns = whole_rows.tocsc()
    found = {u: csr_array(columns[:, a:b]) for u, a, b in zip(weights, ends[:-1], ends[1:], strict=True)}
    return _Whole(found, leak, np.maximum(threshold, rise) if is_soft else threshold, is_soft)


def _calibrated(drive: Ints, node: _Whole, groups: int) -> Ints:
    """Lower thresholds by the input that spikes lose: the mean excess over the threshold in a group of neurons."""
    threshold = node.threshold
    for _ in range(_ROUNDS):
        spikes, lost = _fired(drive, node.leak, threshold, is_soft=False)
        count = spikes.sum(axis=(0, 2)).reshape(-1, groups).sum(axis=0)
        share = (lost / node.threshold).reshape(-1, groups).sum(axis=0) / np.maximum(count, 1)
        kept = np.tile(1 - share, len(threshold) // groups).clip(_LEAST)
        threshold = np.maximum(np.rint(node.threshold * kept), 1).astype(np.int64)
    return threshold


def _fired(drive: Ints, leak: Ints, threshold: Ints, *, is_soft: bool) -> tuple[Bools, Floats]:
    """Simulate neurons; return their spikes, shape (ticks, size, n), and the summed excess over the threshold."""
    # without the floor, which only neurons too far below the threshold to spike can reach
    spikes, lost = np.zeros(drive.shape, np.bool_), np.zeros(drive.shape[1])
    potential = np.repeat((threshold // 2)[:, None], drive.shape[2], axis=1)
    for t in range(1, len(drive)):
        potential += drive[t - 1] + leak[:, None]
        spikes[t] = potential >= threshold[:, None]
        potential -= spikes[t] * threshold[:, None]
        lost += (potential * spikes[t]).sum(axis=1)
        if not is_soft:
            potential[spikes[t]] = 0
    return spikes, lost


# Synapse lists: the current keeps its value, the voltage is the current, and a neuron receives its own spikes.


def _with_currents(
    network: Network, units: Mapping[str, _Unit], full: Mapping[str, float], chip: ChipSpec
) -> tuple[Network, int]:
    """Make neurons with currents, and count the ticks in which no current can leave its width."""
    clock = CLOCK
    while clock in network.nodes:
        clock += "_"
    sizes = {name: network.nodes[name].size for name in (*network.inputs, *units)}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    parts = []  # (source, target, matrix) in units of the threshold
    for name, unit in units.items():
        weights, bias = _relative(unit, name, full)
        parts += [(source, name, matrix) for source, matrix in weights.items()]
        parts.append((clock, name, csr_array(bias[:, None])))
    wanted = [matrix.tocoo() for _, _, matrix in parts]
    # a weight takes the least power of 2 that its source's greatest weight allows
    first[clock] = n_sources = sum(sizes.values())
    numbers = [first[source] + entries.coords[1] for (source, _, _), entries in zip(parts, wanted, strict=True)]
    relative = np.concatenate([entries.data for entries in wanted])
    step, threshold = max(_SHARE, 1 << chip.lists.threshold_shift), _THRESHOLD
    greatest, bound = float(np.abs(relative).max(initial=0)), greatest_weight(chip)
    if greatest * threshold > bound:
        threshold = int(bound / greatest) // step * step
    if threshold < step:
        raise NetworkError(
            f"network {network.name}: a spike adds up to {greatest:.3g} thresholds to a neuron, {chip.name} holds "
            f"{bound / step:.3g}; give data on which its nodes are more alike, or a greater percentile"
        )
    source_of = np.concatenate(numbers).astype(np.int64)
    rounded = round_weights(relative * threshold, source_of, n_sources + 1, chip)
    widths = chip.lists.neuron_widths(chip.potential_bits)
    zero, decay = np.array(0), np.array(1 << chip.lists.decay_bits)  # the voltage is the current
    ticking = CurrentNeuron(threshold=zero, bias=zero + 1, voltage_decay=decay, **widths)
    nodes = {name: Node(name, network.nodes[name].shape) for name in network.inputs}
    nodes[clock] = Node(clock, (1, 1, 1), neuron=ticking)
    for name in units:
        start = np.full(sizes[name], threshold // 2)
        neuron = CurrentNeuron(zero + threshold, current_decay=zero, voltage_decay=decay, current=start, **widths)
        nodes[name] = Node(name, network.nodes[name].shape, neuron=neuron)
    edges: dict[tuple[str, str], Edge] = {}
    pieces: list[Ints] = np.split(rounded, np.cumsum([entries.nnz for entries in wanted])[:-1])
    for (source, target, _), entries, values in zip(parts, wanted, pieces, strict=True):
        row, column = entries.coords
        matrix: csr_array = csr_array((values, (row, column)), shape=entries.shape)
        edges[source, target] = Edge(source, target, MatrixTransform(matrix))
    # a current without decay that receives only inhibition keeps falling and finally wraps
    most = 1
    for name in units:
        into = csr_array(hstack([edge.matrix() for (_, v), edge in edges.items() if v == name]))
        most = max(most, int(into.maximum(0).sum(axis=1).max()), -int(into.minimum(0).sum(axis=1).min()))
    for name in units:  # by its own edge every spike subtracts the threshold from the neuron's current
        share = MatrixTransform(csr_array(eye_array(sizes[name], dtype=np.int64) * -_SHARE))
        edges[name, name] = Edge(name, name, share, also=(EdgeTerm(share),) * (threshold // _SHARE - 1))
    bounded = ((1 << (widths.get("current_bits", CurrentNeuron.current_bits) - 1)) - 1 - threshold) // most
    return Network(network.name, nodes, edges, outputs=network.outputs), bounded
