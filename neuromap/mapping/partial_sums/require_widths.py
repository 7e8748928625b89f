"""Whether a chip's neuron can hold parts of sums: thresholds, floors and potentials."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.crossbar_core import CrossbarCore
from neuromap.mapping.core.plan_axons import plan_axons
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.options.infeasible import Remedy, refuse

__all__ = ["refuse_gathering", "refuse_kinds", "require_widths"]


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


def refuse_kinds(name: str, weights: NDArray[np.int64], core: CrossbarCore) -> DoesNotFitError:
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
