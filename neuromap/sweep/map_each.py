"""One rollout, mapped onto every chip of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuromap.errors import DoesNotFitError
from neuromap.files.given import needs
from neuromap.hardware.chip.chip_figures import ChipPoint, chips_with_figures, figure_text
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.mapping.remedy.apply_remedy import Request
from neuromap.mapping.remedy.early_refusal import refuse_early
from neuromap.network.complete import require_weights
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow

__all__ = [
    "CORES",
    "CORE_BOUND",
    "FIRST_RESPONSE",
    "FRAME_PERIOD",
    "bound_notes",
    "point_text",
    "reason_of",
    "sweep_mappings",
]

CORES = SweepColumn("cores", "cores", "", is_drawn=True)
CORE_BOUND = SweepColumn("core_bound", "cores of any mapping, at least")
FRAME_PERIOD = SweepColumn("frame_period_ticks", "frame period", "ticks")
FIRST_RESPONSE = SweepColumn("first_response_ticks", "first response", "ticks")


def sweep_mappings(
    rollout: Rollout,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    options: MappingOptions | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> ChipSweep:
    """Map a rollout onto a chip with each of several values of its figures, and onto every combination of these.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    options : MappingOptions, optional
        How the rollout is mapped onto each of them.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.

    Returns
    -------
    ChipSweep
        A row for every chip: the cores that are used and those that no mapping can do without, frame period and first
        response (in ticks, on the time axis of the execution), or why the network does not fit.

    Raises
    ------
    ChipError
        If the chip is unknown, a figure is unknown or out of range, or there are too many chips; then none is mapped.
    NetworkError
        If shapes, weights or thresholds are missing.
    InputError
        If the options are not for such a chip.

    Examples
    --------
    >>> import neuromap as nm
    >>> rollout = nm.Rollout(nm.load_network("examples/digits/sr.toml"), "streaming")
    >>> sweep = nm.sweep.sweep_mappings(rollout, "truenorth", {"core.neurons": [128, 256]})
    >>> [row.figures["cores"] for row in sweep.rows]
    [3, 2]
    """
    needs("sweep_mappings", rollout, Rollout)
    require_weights(rollout.network)
    spec = load_chip(chip)
    points = chips_with_figures(spec, figures)
    rows = []
    for number, point in enumerate(points):
        if progress is not None:
            progress(point_text(figures, point), number, len(points))
        rows.append(_row(rollout, spec, point, options or MappingOptions()))
    return ChipSweep(
        network=rollout.network.name,
        what=f"{rollout.pattern.name}, {rollout.execution}",
        chip=spec,
        parameters=tuple(figures),
        label_titles=(),
        columns=(CORES, CORE_BOUND, FRAME_PERIOD, FIRST_RESPONSE),
        rows=tuple(rows),
        notes=(
            f"times: of {rollout.execution} execution, predicted from the schedule",
            "first response: from stimulus onset, the least over all outputs",
            *bound_notes(options),
        ),
    )


def point_text(figures: Mapping[str, Any], point: ChipPoint) -> str:
    """Say which chip of a sweep one is, by the values that were set."""
    pairs = zip(figures, point.values, strict=True)
    return ", ".join(f"{name} = {figure_text(value)}" for name, value in pairs)


def bound_notes(options: MappingOptions | None) -> tuple[str, ...]:
    """Say what the bound on cores holds for where sums may be cut into parts; nothing where they are not."""
    if options is None or options.wide == "refuse":
        return ()
    return ("cores of any mapping: where sums are cut into parts, of mappings with these parts",)


def reason_of(message: str, infeasibility: Any, point: ChipPoint, chip: ChipSpec) -> str:
    """Give a refusal without its remedies, and without the values that were set: they stand beside it.

    Parameters
    ----------
    message : str
        All of it.
    infeasibility : Infeasibility or None
        The same as data, where the mapper refused.
    point : ChipPoint
        The chip that refuses.
    chip : ChipSpec
        The one whose figures were changed.

    Returns
    -------
    str
        One line.
    """
    if infeasibility is not None:
        head = f"node {infeasibility.node}: " if infeasibility.node else ""
        message = f"{head}{infeasibility.statement}"
    return message.replace(point.chip.name, chip.name)


def _row(rollout: Rollout, chip: ChipSpec, point: ChipPoint, options: MappingOptions) -> SweepRow:
    try:
        early = refuse_early(Request(rollout, point.chip, options))
        if early is not None:
            raise early
        mapped = map_with_stages(rollout, point.chip, options)
    except DoesNotFitError as refusal:
        message = str(refusal)
        return SweepRow(*point, reason=reason_of(message, refusal.infeasibility, point, chip), message=message)
    return SweepRow(*point, figures=_figures(mapped))


def _figures(mapped: MappedRollout) -> dict[str, float]:
    program, rollout = mapped.program, mapped.rollout
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    first = scale * min(rollout.first_response(name) for name in rollout.network.outputs)
    return {
        "cores": program.n_cores,
        "core_bound": core_bound(mapped.network, program.chip).total,
        "frame_period_ticks": program.period,
        "first_response_ticks": first,
    }
