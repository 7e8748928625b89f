"""A chip in the head of a JSON document about it."""

from __future__ import annotations

from typing import Any

from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["chip_head"]


def chip_head(chip: ChipSpec) -> dict[str, Any]:
    """Make the member ``chip`` of a document."""
    # gives its name, its cores, those of them that can be used, and the length of its tick in seconds
    return {
        "name": chip.name,
        "cores": chip.n_cores,
        "usable_cores": chip.n_usable_cores,
        "tick_seconds": chip.tick_seconds,
    }
