"""Explorations of several chips: a summary of every front, as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.explore import explore
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_file import ChipPoint, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow
from neuromap.sweep.map_each import SweepProgress, each_chip

_COLUMNS = (
    SweepColumn("front_rows", "rows on the front"),
    SweepColumn("class_front_rows", "without retraining"),
    SweepColumn("first_response_ticks", "least first response", "ticks", is_drawn=True),
    SweepColumn("cores", "least cores", is_drawn=True),
    SweepColumn("mapped_rows", "rows mapped"),
    SweepColumn("is_exact", "front is exact", "yes"),
)
_NOTES = (
    "times: predicted from the schedule, each row on the time axis of its own execution, windowed or pipelined",
    "first response: from stimulus onset, the least over all outputs",
    "least: over all rows of the chip's front, retraining allowed; both need not be of the same row",
)


def sweep_explorations(
    network: Network,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    given: RolloutPattern | str = "streaming",
    *,
    limits: Limits | None = None,
    progress: SweepProgress | None = None,
    **arguments: Any,
) -> ChipSweep:
    """Find the front of a chip for every combination of several values of its figures.

    Parameters
    ----------
    network : Network
        With shapes and weights.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    given : RolloutPattern or str
        The pattern that the weights are for.
    limits : Limits, optional
        Rows outside the limits are not counted.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.
    **arguments
        Passed to :func:`neuromap.explorer.explore.explore` for every chip.

    Returns
    -------
    ChipSweep
        One row per chip: number of rows on its front, with and without retraining, and the least first response (in
        ticks) and least cores on it.

    Raises
    ------
    ChipError
        If the chip is unknown, a figure is unknown or out of range, or there are too many chips; then none is searched.
    InputError, PatternError, NetworkError, StimulusError
        As :func:`neuromap.explorer.explore.explore`.
    """
    needs("sweep_explorations", network, Network)
    spec = load_chip(chip)
    rows: list[SweepRow] = []
    for point in each_chip(spec, figures, progress):
        found = explore(network, point.chip, given, limits=limits, **arguments)
        rows.append(_row(found, point, spec, limits or Limits()))
    return ChipSweep(
        network=network.name,
        what=f"fronts, weights of {given if isinstance(given, str) else given.name}",
        chip=spec,
        parameters=tuple(figures),
        label_titles=(),
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=_NOTES,
    )


def _row(found: Exploration, point: ChipPoint, chip: ChipSpec, limits: Limits) -> SweepRow:
    front, class_front = (_within(rows, limits) for rows in (found.front, found.class_front))
    verified = all(row.verified is not False for row in found.rows)
    if not front:
        kept = f"keeps {limits}" if limits else "is on a front"
        message = found.gap.statement if found.gap.nothing_fits else f"no row that was mapped {kept}"
        reason = message.replace(point.chip.name, chip.name)
        return SweepRow(*point, figures={"verified": verified}, reason=reason, message=message)
    earliest = min(front, key=lambda row: (row.first_response_seconds, row.first_response_ticks))
    figures: dict[str, Any] = {
        "front_rows": len(front),
        "class_front_rows": len(class_front),
        "first_response_ticks": earliest.first_response_ticks,
        "cores": min(row.cores for row in front if row.cores is not None),
        "mapped_rows": found.n_mapped,
        "is_exact": found.gap.is_exact,
        "verified": verified,
    }
    if point.chip.is_timed:
        figures["first_response_seconds"] = earliest.first_response_seconds
    return SweepRow(*point, figures=figures)


def _within(rows: Sequence[ExploredRow], limits: Limits) -> list[ExploredRow]:
    return [row for row in rows if row.status == "mapped" and limits.allows(row)]
