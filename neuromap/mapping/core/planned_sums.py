"""Partial sums of wide nodes, planned one by one as nodes turn out not to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import frozen
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import CrossbarCore
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import Clock, Layer, Matrix, PartialSums, clip_thresholds
from neuromap.mapping.options.infeasibility import Infeasibility, Remedy, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.network import Network

# Neurons with shared inputs whose parts are planned together.
PROBED = 16
# Neurons of a clock that is only planned.
NO_NEURONS = frozen(np.zeros(0, np.int64))


def inputs_of_a_core(node: WideNode, core: CrossbarCore) -> int:
    """Find how many inputs fit a core, by planning the parts of some neurons with similar inputs."""
    # core: what the parts must fit
    if not node.matrix.nnz:
        return 1
    busiest = int(np.argmax(np.diff(node.together.indptr)))
    columns = np.sort(node.together[[busiest]].indices)
    shared = node.matrix[:, columns]
    alike = np.argsort(-np.diff(shared.indptr), kind="stable")[:PROBED]
    weights = shared[alike].toarray()
    signed = np.concatenate([np.maximum(weights, 0), np.maximum(-weights, 0)])
    low, high = 0, min(signed.shape[1], core.axons)
    while low < high:
        trial = (low + high + 1) // 2
        if _part_fits(signed[:, :trial], core):
            low = trial
        else:
            high = trial - 1
    if low:
        return low
    heaviest = int(np.abs(weights).max())
    cleared = clock(-heaviest, core)
    needed = np.array([heaviest] + [cleared.weight] * cleared.axons)
    demand = core.axons_alone(needed[None, :], np.ones(1, np.int64))
    if demand is None:
        raise refuse_kinds(node.name, needed, core)
    if demand <= core.axons:
        return 1  # alone it fits: only parts of several neurons, with different weights, cannot share a core
    text = (
        f"a part of its sum reads a weight of {heaviest} and is cleared, which takes {demand} axons, "
        f"a {core.name} core has {core.axons}"
    )
    advice = [Remedy("chip.axons", demand, f"{demand} axons would do")]
    raise refuse("axons", node.name, demand, core.axons, text, advice)


def _part_fits(signed: Ints, core: CrossbarCore) -> bool:
    """Whether the parts of some neurons fit a core with the axons that clear them."""
    signed = signed[:, (signed != 0).any(axis=0)]
    cleared = clock(-max(1, int(signed.sum(axis=1).max(initial=0))), core)
    weights = np.concatenate([signed, np.full((len(signed), cleared.axons), cleared.weight)], axis=1)
    return core.plan(weights, np.ones(len(weights), np.int64)) is not None


# Host spikes that lift, query and clear neurons: the number of axons and their weight.
def clock(total: int, core: CrossbarCore, neurons: Ints = NO_NEURONS) -> Clock:
    """Make the clock that gives some neurons a total, on as few axons of one weight as the weight range allows."""
    # total: least amount that the neuron gets or, if negative, loses. Not 0
    least, greatest = core.weight_range
    widest = greatest if total > 0 else -least
    axons = -(-abs(total) // widest)
    weight = -(-abs(total) // axons)
    return Clock(weight if total > 0 else -weight, axons, neurons)


# Inputs of a node that is wider than a core.
# Features of one position read alike if together they read at most this many times what one reads.
ALIKE = 2


class WideNode(NamedTuple):
    """A node whose sums are to be cut."""

    name: str  # of the node
    matrix: Matrix  # (n, s): weights of all edges into it, side by side in the network's order
    shapes: tuple[tuple[int, int, int], ...]  # sources of the edges
    threshold: Ints  # (n,): theta, clipped to where it still matters
    # (g, s): 1 where a neuron of a group reads an input. Groups are the features at one position if these read alike
    # and so should share cores; else single neurons
    together: Matrix


def wide_node(network: Network, name: str) -> WideNode:
    """Collect what a node of a network reads."""
    node = network.nodes[name]
    edges = {key: edge for key, edge in network.edges.items() if key[1] == name}
    matrices = [edge.matrix().astype(np.int64) for edge in edges.values()]
    joined: Matrix = sparse.csr_array(sparse.hstack(matrices, format="csr"))
    joined.eliminate_zeros()
    joined.sort_indices()
    shapes = tuple(shape for u, _ in edges if (shape := network.nodes[u].shape) is not None)
    assert node.threshold is not None, "the mapper asks for weights and thresholds first"
    features = 1 if node.shape is None else node.shape[2]
    threshold = clip_thresholds(node.threshold.astype(np.int64), [joined])
    return WideNode(name, joined, shapes, threshold, _together(joined, features))


def _together(matrix: Matrix, features: int) -> Matrix:
    reads = matrix.copy()
    reads.data = np.ones(reads.nnz, np.int64)
    n = matrix.shape[0]
    position = sparse.csr_array((np.ones(n, np.int64), (np.arange(n) // features, np.arange(n))))
    pooled: Matrix = sparse.csr_array(position @ reads)
    pooled.data[:] = 1
    alone, shared = (int(np.diff(some.indptr).max(initial=0)) for some in (reads, pooled))
    return pooled if shared <= ALIKE * alone else reads


# Whether a chip's neuron can hold parts of sums: thresholds, floors and potentials.


def require_widths(name: str, sums: PartialSums, chip: ChipSpec) -> None:
    """Refuse parts that the chip's widths cannot hold, whatever arrives."""
    slices, (low, high) = sums.layers[0], chip.potential_range
    greatest = max(int(np.asarray(layer.matrix.sum(axis=1)).max(initial=0)) for layer in sums.layers)
    emptied = 0 if sums.clear_parts is None else -sums.clear_parts.total
    offset = int(slices.offset.max(initial=0)) if slices.window > 1 else 0
    thresholds, highest, lowest = offset, 2 * greatest, offset + emptied
    if sums.lift is not None and sums.clear is not None:
        alpha, wires = int(sums.alpha.max(initial=0)), np.diff(sums.gather.indptr).max(initial=0)
        thresholds = max(thresholds, alpha)
        highest = max(highest, alpha + int(wires) + 2 * sums.lift.total)
        lowest = max(lowest, int(wires) - sums.clear.total)
    for field, demand, bound, what in (
        ("threshold_bits", thresholds, chip.threshold_range[1], "thresholds or floors"),
        ("potential_bits", highest, high, "potentials"),
        ("potential_bits", lowest, -low, "negative potentials"),
    ):
        if demand > bound:
            bits = demand.bit_length() + (field == "potential_bits" or chip.rules.signed_threshold)
            text = (
                f"{what} of up to {demand} hold the parts of its sums, {field} = {getattr(chip, field)} of "
                f"{chip.name} end at {bound}"
            )
            advice = [Remedy(f"chip.{field}", bits, f"{field} = {bits} would do")]
            raise refuse("potential", name, demand, bound, text, advice)


def refuse_kinds(name: str, weights: Ints, core: CrossbarCore) -> DoesNotFitError:
    """Refuse a neuron that no number of axons helps, for its potential's width or its axon types."""
    # shapes: weights (s,)
    # one type per kind of weight serves all
    limit, demand = core.shortage(weights[None, :], np.ones(1, np.int64), core.axon_types + len(weights))
    if limit == "potential":
        bits, bound = demand.bit_length() + 1, core.highest_potential
        text = (
            f"parts of its sums need potentials of up to {demand}, potential_bits = {core.potential_bits} of "
            f"{core.name} end at {bound}"
        )
        advice = Remedy("chip.potential_bits", bits, f"potential_bits = {bits} would do")
        return refuse("potential", name, demand, bound, text, [advice])
    text = f"parts of its sums need {demand} axon types, {core.name} has axon_types = {core.axon_types}"
    advice = Remedy("chip.axon_types", demand, f"{demand} axon types would do")
    return refuse("axon_types", name, demand, core.axon_types, text, [advice])


# Limits of a core that a part may meet where its neuron does not.
_WIDE_LIMITS = frozenset({"axons", "axon_types", "potential"})


class PlannedSums:
    """Plans partial sums of the nodes that a core cannot hold."""

    # planned: partial sums of nodes so far, in the order of planning

    def __init__(self, network: Network, chip: ChipSpec, options: MappingOptions) -> None:
        self._network, self._chip, self._options = network, chip, options
        self._nodes: dict[str, WideNode] = {}
        self.planned: Mapping[str, PartialSums] = {}

    def take_up(self, refusal: Infeasibility) -> bool:
        """Plan partial sums for the node of a refusal, or smaller parts; return whether that may help."""
        name = refusal.node
        if self._options.wide == "refuse" or name is None or refusal.limit not in _WIDE_LIMITS:
            return False
        part_of = {f"{node} part": node for node in self.planned}
        most_inputs = None
        if name in part_of:
            name = part_of[name]
            most_inputs = self.planned[name].most_inputs // 2
            if not most_inputs:
                return False
        elif name in self.planned or name not in self._network.nodes or self._network.is_spiking:
            return False
        else:
            self._nodes[name] = wide_node(self._network, name)
        sums = plan_sums(self._nodes[name], self._chip, self._options.wide_ticks, most_inputs)
        self.planned = {**self.planned, name: sums}
        return True


# Plan partial sums: how the sums of a wide node are cut, for one number of ticks (docs/wide-neurons.md).


def plan_sums(node: WideNode, chip: ChipSpec, ticks: int | None = None, most_inputs: int | None = None) -> PartialSums:
    """Cut the sums of a node into parts that fit the chip's cores."""
    # ticks: T: most spikes of a slice per frame; by default as many as a sum can have, which takes fewest neurons
    # most_inputs: most inputs of a run read by neurons that share cores; by default as many as a core has axons for
    core = core_of(chip)
    if most_inputs is None:
        most_inputs = inputs_of_a_core(node, core)
    run = cut_inputs(node.together, node.shapes, most_inputs)
    sums = _sums_of_runs(node.matrix, run)
    most = int(sums.total.max(initial=1))
    ticks = most if ticks is None else min(ticks, most)
    wires = _slices(sums, ticks)
    layers = [wires.layer]
    leftover = np.flatnonzero(sums.total[wires.base] > ticks)
    clear_parts = None
    if len(leftover) and wires.layer.window > 1:
        clear_parts = clock(-max(most - ticks, int(wires.layer.offset.max())), core, leftover)
    n = node.matrix.shape[0]
    lift, clear = None, None
    # a frame neuron that gathers these wires in one tick has to fit a core, whatever its threshold
    extremes = np.array([node.threshold.min(), node.threshold.max()])
    axons = (core.axons_alone(signs[None, :], extremes[[k]]) for signs in _heaviest(wires, n) for k in (0, 1))
    if wires.layer.window > 1 or not all(some is not None and some <= core.axons for some in axons):
        lift, clear = _lift(node, sums, core)
        for merged in _merged(wires, node, core, lift, clear):
            layers.append(merged.layer)
            wires = merged
    gather = sparse.csr_array(
        (wires.sign, (wires.layer.of_neuron, np.arange(len(wires.sign)))), shape=(n, len(wires.sign))
    )
    found = PartialSums(
        ticks=ticks,
        runs=int(run.max(initial=0)) + 1,
        most_inputs=most_inputs,
        layers=tuple(layers),
        gather=gather,
        threshold=node.threshold,
        clear_parts=clear_parts,
        lift=lift,
        clear=clear,
        spike_delay=chip.delay[0],
    )
    require_widths(node.name, found, chip)
    return found


class _Sums(NamedTuple):
    """Sums of one run and sign: weights (b, s), none negative, and for each its neuron, sign and greatest value."""

    matrix: Matrix
    of_neuron: Ints
    sign: Ints
    total: Ints


class _Wires(NamedTuple):
    """What a layer sends: the layer, the sign of what each of its neurons counts, and, for slices, their sums."""

    layer: Layer
    sign: Ints
    base: Ints


def _sums_of_runs(matrix: Matrix, run: Ints) -> _Sums:
    entries = matrix.tocoo()
    row, column = entries.coords
    n = matrix.shape[0]
    key = (run[column] * n + row) * 2 + (entries.data < 0)
    kinds, place = np.unique(key, return_inverse=True)
    size = np.abs(entries.data)
    weights = sparse.csr_array((size, (place, column)), shape=(len(kinds), matrix.shape[1]))
    total = np.bincount(place, size, minlength=len(kinds)).astype(np.int64)
    return _Sums(weights, kinds // 2 % n, 1 - 2 * (kinds % 2), total)


def _slices(sums: _Sums, ticks: int) -> _Wires:
    count = -(-sums.total // ticks)
    base = np.repeat(np.arange(len(count)), count)
    offset = ragged_ranges(0, count) * ticks
    layer = Layer(
        sparse.csr_array(sums.matrix[base]),
        sums.of_neuron[base],
        offset,
        np.minimum(ticks, sums.total[base] - offset),
    )
    return _Wires(layer, sums.sign[base], base)


def _lift(node: WideNode, sums: _Sums, core: CrossbarCore) -> tuple[Clock, Clock]:
    """Make the clocks of the gathering neurons."""
    # Lifted by W, none falls below 0 nor reaches its threshold 2 W + theta before it is asked, by another W; a spike or
    # the last clock brings it back to 0.
    n = node.matrix.shape[0]
    above, below = (
        np.bincount(sums.of_neuron, sums.total * (sums.sign == sign), minlength=n).astype(np.int64) for sign in (1, -1)
    )
    everyone = np.arange(n)
    lift = clock(max(1, int(np.maximum(below, above - node.threshold + 1).max())), core, everyone)
    clear = clock(-max(1, 2 * lift.total + int(node.threshold.max()) - 1), core, everyone)
    return lift, clear


def _merged(wires: _Wires, node: WideNode, core: CrossbarCore, lift: Clock, clear: Clock) -> list[_Wires]:
    """Join wires of one neuron and sign, layer by layer, until the rest fit a core."""
    n = node.matrix.shape[0]
    clocks = np.array([lift.weight] * (2 * lift.axons) + [clear.weight] * clear.axons)
    layers: list[_Wires] = []
    while True:
        room = [_room(signs, clocks, node.name, core) for signs in _heaviest(wires, n)]
        if all(spare >= 0 for _, spare in room):
            return layers
        # as few wires are joined into one as it takes for no neuron to gather more than there is room for
        joined, most, each = 2, min(held for held, _ in room), _wires_of_sign(wires, n)
        while (-(-each // joined)).sum(axis=0).max() > most:  # ends: there is room for one wire of each sign
            joined += 1
        wires = _merge(wires, min(joined, core.axons))
        layers.append(wires)


def _room(signs: Ints, clocks: Ints, name: str, core: CrossbarCore) -> tuple[int, int]:
    """Count the wires that fit a core beside the clocks, and their surplus over those that a neuron has."""
    axons = core.axons_alone(np.concatenate([signs, clocks])[None, :], np.ones(1, np.int64))
    if axons is None:
        raise refuse_kinds(name, np.concatenate([np.unique(signs), clocks]), core)
    held, least = len(signs) - (axons - core.axons), len(np.unique(signs))
    if held < least:  # not even one wire of each sign beside the axons that lift and clear it
        demand = axons - (len(signs) - least)
        text = f"to gather the parts of its sums a neuron needs {demand} axons, a {core.name} core has {core.axons}"
        advice = Remedy("chip.axons", demand, f"{demand} axons would do")
        raise refuse("axons", name, demand, core.axons, text, [advice])
    return held, held - len(signs)


def _heaviest(wires: _Wires, n: int) -> list[Ints]:
    """Signs of the wires of the neuron with most, among those with wires of both signs and those with one."""
    each = _wires_of_sign(wires, n)
    found = []
    for mine in (each.all(axis=0), each.any(axis=0) & ~each.all(axis=0)):
        if mine.any():
            neuron = int(np.argmax(each.sum(axis=0) * mine))
            found.append(np.repeat([1, -1], each[:, neuron]))
    return found


def _wires_of_sign(wires: _Wires, n: int) -> Ints:
    """Count the wires of every neuron, those of positive sums first; shape (2, n)."""
    counts = [np.bincount(wires.layer.of_neuron[wires.sign == sign], minlength=n) for sign in (1, -1)]
    return np.stack(counts).astype(np.int64)


def _merge(wires: _Wires, joined: int) -> _Wires:
    order = np.lexsort((wires.sign, wires.layer.of_neuron))
    key = wires.layer.of_neuron[order] * 2 + (wires.sign[order] > 0)
    group = key * len(key) + rank_in_run(key) // joined
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    matrix = sparse.csr_array((np.ones(len(order), np.int64), (place.ravel(), order)), shape=(len(first), len(order)))
    most = np.asarray(matrix @ wires.layer.most).astype(np.int64)
    layer = Layer(matrix, wires.layer.of_neuron[order][first], np.zeros(len(first), np.int64), most)
    return _Wires(layer, wires.sign[order][first], np.zeros(0, np.int64))


# Cut a node's inputs into runs, so that no core needs more inputs of a run than it has axons for.


def cut_inputs(together: Matrix, shapes: Sequence[tuple[int, int, int]], most: int) -> Ints:
    """Assign every input of a node to a run."""
    # Inputs go edge by edge and feature by feature, so that neurons with shared windows share runs. Whole feature
    # planes stay together where they fit. Runs are of about equal size.
    # most: most inputs of a run that a group reads
    # shapes: together (g, s); returns (s,)
    order, plane = _by_features(shapes)
    reads = sparse.csc_array(together)[:, order]
    run = _fill(reads, plane, most)
    assert run is not None, "there is no limit to the runs"
    widest = int(np.diff(together.indptr).max(initial=0))
    n_runs = int(run.max(initial=0)) + 1
    for limit in range(max(1, -(-widest // n_runs)), most):  # the least limit with as many runs balances them
        balanced = _fill(reads, plane, limit, n_runs)
        if balanced is not None:
            run = balanced
            break
    found = np.empty(len(order), np.int64)
    found[order] = run
    return found


def _by_features(shapes: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """Order inputs by edge and feature; return the order, and the plane of each input in it."""
    orders, planes, start, plane = [], [], 0, 0
    for rows, columns, features in shapes:
        place = np.arange(rows * columns * features).reshape(rows * columns, features)
        orders.append(start + place.T.ravel())
        planes.append(plane + np.repeat(np.arange(features), rows * columns))
        start, plane = start + place.size, plane + features
    return np.concatenate(orders), np.concatenate(planes)


def _fill(reads: sparse.csc_array, plane: Ints, most: int, most_runs: int | None = None) -> Ints | None:
    """Fill runs one by one; ``None`` if that takes more than ``most_runs``."""
    run = np.zeros(reads.shape[1], np.int64)
    held = np.zeros(reads.shape[0], np.int64)
    number = 0
    for unit in _units(reads, plane, most):
        readers, times = np.unique(
            reads.indices[reads.indptr[unit.start] : reads.indptr[unit.stop]], return_counts=True
        )
        if (held[readers] + times > most).any():
            number += 1
            held[:] = 0
            if most_runs is not None and number >= most_runs:
                return None
        held[readers] += times
        run[unit] = number
    return run


def _units(reads: sparse.csc_array, plane: Ints, most: int) -> Iterator[slice]:
    """Yield what stays together: planes that no group reads too much of, else single inputs."""
    ends = np.flatnonzero(np.diff(plane, append=-1)) + 1
    start = 0
    for end in ends.tolist():
        readers = reads.indices[reads.indptr[start] : reads.indptr[end]]
        if end - start == 1 or np.bincount(readers, minlength=1).max(initial=0) <= most:
            yield slice(start, end)
        else:
            yield from (slice(k, k + 1) for k in range(start, end))
        start = end
