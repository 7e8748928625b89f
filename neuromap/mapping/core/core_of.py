"""Which kind of core a chip has: the only place of the stages behind the seam that reads a chip."""

from __future__ import annotations

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import Cores
from neuromap.mapping.core.crossbar_core import CrossbarCore

__all__ = ["core_of", "cores_of"]


def core_of(chip: ChipSpec) -> CrossbarCore:
    """Find what one core of a chip is like."""
    return CrossbarCore(
        name=chip.name,
        axons=chip.axons,
        neurons=chip.neurons,
        axon_types=chip.axon_types,
        weight_range=chip.weight_range,
        leak_limit=-chip.leak_range[0],
        highest_alpha=min(1, chip.threshold_range[1]),
        potential_bits=chip.potential_bits,
    )


def cores_of(chip: ChipSpec) -> Cores:
    """Find what the cores of a chip are like, and how many there are."""
    return Cores(core_of(chip), chip.n_cores, chip.n_usable_cores)
