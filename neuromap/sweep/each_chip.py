"""What every sweep has in common: the chips one by one, columns that several have, and how refusals read there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from neuromap.hardware.chip.chip_figures import ChipPoint, chips_with_figures, figure_text
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.options import MappingOptions
from neuromap.sweep.chip_sweep import SweepColumn

__all__ = [
    "CORES",
    "CORE_BOUND",
    "FIRST_RESPONSE",
    "FRAME_PERIOD",
    "SweepProgress",
    "bound_notes",
    "each_chip",
    "reason_of",
]

SweepProgress: TypeAlias = Callable[[str, int, int], object]
"""Called with the chip that is next, chips done, and chips in all."""

CORES = SweepColumn("cores", "cores", "", is_drawn=True)
CORE_BOUND = SweepColumn("core_bound", "cores of any mapping, at least")
FRAME_PERIOD = SweepColumn("frame_period_ticks", "frame period", "ticks")
FIRST_RESPONSE = SweepColumn("first_response_ticks", "first response", "ticks")


def each_chip(
    chip: ChipSpec, figures: Mapping[str, Sequence[Any]], progress: SweepProgress | None
) -> Iterator[ChipPoint]:
    """Make all chips of a sweep, then hand them out one by one, and tell which is next."""
    # chip: the chip whose figures are changed
    return _told(chips_with_figures(chip, figures), figures, progress)


def _told(
    points: Sequence[ChipPoint], figures: Mapping[str, Any], progress: SweepProgress | None
) -> Iterator[ChipPoint]:
    for number, point in enumerate(points):
        if progress is not None:
            pairs = zip(figures, point.values, strict=True)
            progress(", ".join(f"{name} = {figure_text(value)}" for name, value in pairs), number, len(points))
        yield point


def bound_notes(options: MappingOptions | None) -> tuple[str, ...]:
    """Say what the bound on cores holds for where sums may be cut into parts; nothing where they are not."""
    if options is None or options.wide == "refuse":
        return ()
    return ("cores of any mapping: where sums are cut into parts, of mappings with these parts",)


def reason_of(message: str, infeasibility: Any, point: ChipPoint, chip: ChipSpec) -> str:
    """Give a refusal without its remedies, and without the values that were set: they stand beside it."""
    if infeasibility is not None:
        head = f"node {infeasibility.node}: " if infeasibility.node else ""
        message = f"{head}{infeasibility.statement}"
    return message.replace(point.chip.name, chip.name)
