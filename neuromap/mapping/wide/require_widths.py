"""Whether a chip's neuron can hold parts of sums: thresholds, floors and potentials."""

from __future__ import annotations

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.refused.infeasible import Remedy, refuse

__all__ = ["refuse_gathering", "require_widths"]


def require_widths(name: str, sums: PartialSums, chip: ChipSpec) -> None:
    """Refuse parts that the chip's widths cannot hold, whatever arrives.

    Parameters
    ----------
    name : str
        Of the node.
    sums : PartialSums
        How its sums are cut.
    chip : ChipSpec
        With crossbar cores.

    Raises
    ------
    DoesNotFitError
        Limit ``potential``, naming the field of the chip file that is too small.
    """
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


def refuse_gathering(name: str, core: CoreModel, axons: int | None, spare: int) -> DoesNotFitError:
    """Refuse a neuron that cannot even gather one wire of each sign beside what lifts and empties it.

    Parameters
    ----------
    name : str
        Of the node.
    core : CoreModel
        The core.
    axons : int or None
        Axons of the neuron as it stands; ``None`` where the core's axon types do not do.
    spare : int
        Of these, those that joining wires would save.

    Returns
    -------
    DoesNotFitError
        For the caller to raise: limit ``axons`` or ``axon_types``.
    """
    if axons is None:
        text = (
            f"to gather the parts of its sums a neuron needs weights of both signs and the two that lift and empty it, "
            f"{core.name} has axon_types = {core.axon_types}"
        )
        demand = max(4, core.axon_types + 1)
        remedies = [Remedy("chip.axon_types", demand, f"{demand} axon types would do")]
        return refuse("axon_types", name, demand, core.axon_types, text, remedies)
    demand = axons - spare
    text = f"to gather the parts of its sums a neuron needs {demand} axons, a {core.name} core has {core.axons}"
    return refuse("axons", name, demand, core.axons, text, [Remedy("chip.axons", demand, f"{demand} axons would do")])
