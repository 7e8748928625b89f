"""How many inputs of a wide node the parts of its sums can read in one core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.core.crossbar_core import CrossbarCore
from neuromap.mapping.options.infeasible import Remedy, refuse
from neuromap.mapping.partial_sums.clocks import clock_axons
from neuromap.mapping.partial_sums.require_widths import refuse_kinds
from neuromap.mapping.partial_sums.wide_node import WideNode

__all__ = ["inputs_of_a_core"]

Ints = NDArray[np.int64]
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
