"""How many inputs of a wide node the parts of its sums can read in one core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import plan_axons
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.legalise.legalised import Clock, Matrix, PartialSums, clip_thresholds
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.network.network import Network

PROBED = 16
"""Neurons with shared inputs whose parts are planned together."""


def inputs_of_a_core(node: WideNode, core: CrossbarCore, weight_range: tuple[int, int]) -> int:
    """Find how many inputs a core takes, by planning the parts of some neurons that read much alike."""
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
        if _fits(signed[:, :trial], core, weight_range):
            low = trial
        else:
            high = trial - 1
    if low:
        return low
    heaviest = int(np.abs(weights).max())
    axons, weight = clock_axons(-heaviest, weight_range)
    needed = np.array([heaviest] + [weight] * axons)
    demand = core.axons_alone(needed[None, :], np.ones(1, np.int64))
    if demand is None:
        raise refuse_kinds(node.name, needed, core)
    text = (
        f"a part of its sum reads a weight of {heaviest} and is cleared, which takes {demand} axons, "
        f"a {core.name} core has {core.axons}"
    )
    advice = [Remedy("chip.axons", demand, f"{demand} axons would do")]
    raise refuse("axons", node.name, demand, core.axons, text, advice)


def _fits(signed: Ints, core: CrossbarCore, weight_range: tuple[int, int]) -> bool:
    """Whether a core takes the parts of some neurons, and the axons that empty them."""
    signed = signed[:, (signed != 0).any(axis=0)]
    axons, weight = clock_axons(-max(1, int(signed.sum(axis=1).max(initial=0))), weight_range)
    weights = np.concatenate([signed, np.full((len(signed), axons), weight)], axis=1)
    return core.plan(weights, np.ones(len(weights), np.int64)) is not None


# Spikes of the host that lift, ask and empty neurons: on how many axons, of which weight.
def clock_axons(total: int, weight_range: tuple[int, int]) -> tuple[int, int]:
    """Share a total out among axons of one weight, as few as the range of weights allows."""
    # total: what the neuron gets at least; where it is negative, what is taken off at least. Not 0
    widest = weight_range[1] if total > 0 else -weight_range[0]
    axons = -(-abs(total) // widest)
    weight = -(-abs(total) // axons)
    return axons, weight if total > 0 else -weight


def clock(total: int, weight_range: tuple[int, int], neurons: Ints) -> Clock:
    """Make the clock that gives some neurons a total; see :func:`clock_axons`."""
    axons, weight = clock_axons(total, weight_range)
    return Clock(weight, axons, neurons)


# What a node that is wider than a core reads.
ALIKE = 2
"""Features of one position read much the same where together they read up to so many times what one reads."""


@dataclass(frozen=True, eq=False)
class WideNode(ReadOnly, Value):
    """A node whose sums are to be cut."""

    name: str  # of the node
    matrix: Matrix  # (n, s): weights of all edges into it, side by side in the network's order
    shapes: tuple[tuple[int, int, int], ...]  # sources of the edges
    threshold: Ints  # (n,): theta, clipped to where it still matters
    # (g, s): 1 where somebody of a group of neurons reads an input. Groups are features at one position where these
    # read much the same, so that they should share cores; else single neurons
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


def refuse_gathering(name: str, core: CrossbarCore, demand: int) -> DoesNotFitError:
    """Refuse a neuron that cannot even gather one wire of each sign beside what lifts and empties it."""
    text = f"to gather the parts of its sums a neuron needs {demand} axons, a {core.name} core has {core.axons}"
    return refuse("axons", name, demand, core.axons, text, [Remedy("chip.axons", demand, f"{demand} axons would do")])


def refuse_kinds(name: str, weights: Ints, core: CrossbarCore) -> DoesNotFitError:
    """Refuse a neuron whose weights no number of axons serves: by the width of potentials, or by axon types."""
    # shapes: weights (s,)
    ample = core.with_ample_axons().without_rails()
    theta = np.ones(1, np.int64)
    plan = plan_axons(weights[None, :], theta, ample)
    if plan is not None:
        swing = int(plan.swing().max())
        bits = swing.bit_length() + 1
        text = (
            f"parts of its sums need potentials of up to {swing}, potential_bits = {core.potential_bits} of "
            f"{core.name} end at {core.highest_potential}"
        )
        advice = [Remedy("chip.potential_bits", bits, f"potential_bits = {bits} would do")]
        return refuse("potential", name, swing, core.highest_potential, text, advice)
    # a type for each of the kinds of weights that there are serves all
    enough = next(
        types
        for types in range(core.axon_types + 1, core.axon_types + len(weights) + 1)
        if plan_axons(weights[None, :], theta, ample.with_axon_types(types)) is not None
    )
    text = f"parts of its sums need {enough} axon types, {core.name} has axon_types = {core.axon_types}"
    advice = [Remedy("chip.axon_types", enough, f"{enough} axon types would do")]
    return refuse("axon_types", name, enough, core.axon_types, text, advice)
