"""One rollout, mapped onto several chips."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from neuromap.errors import DoesNotFitError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_file import ChipPoint, chips_with_figures, figure_text, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.diagnosis.dry_run import refuse_early
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import require_weights
from neuromap.render.numbers import as_number
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow


def sweep_mappings(
    rollout: Rollout,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    options: MappingOptions | None = None,
    progress: SweepProgress | None = None,
) -> ChipSweep:
    """Map a rollout onto variants of a chip, one for every combination of values of some of its figures.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    options : MappingOptions, optional
        Options of mapping, for all chips.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.

    Returns
    -------
    ChipSweep
        A row for every chip: cores used and a lower bound on them, frame period and first response (in ticks, on the
        time axis of the execution), or why the network does not fit.

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
    points = each_chip(spec, figures, progress)
    rows = [_row(Request(rollout, point.chip, options or MappingOptions()), spec, point) for point in points]
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
            *(["ticks last as long as their work: neuromap report times them"] if spec.is_timed else []),
            *bound_notes(options),
        ),
    )


def _row(request: Request, chip: ChipSpec, point: ChipPoint) -> SweepRow:
    began = time.monotonic()
    try:
        early = refuse_early(request)
        if early is not None:
            raise early
        mapped = map_with_stages(request.rollout, request.chip, request.options.after(time.monotonic() - began))
    except DoesNotFitError as refusal:
        message = str(refusal)
        return SweepRow(*point, reason=reason_of(message, refusal.infeasibility, point, chip), message=message)
    budget = Budget(request.options.after(time.monotonic() - began).seconds)
    figures = _figures(mapped, budget)
    return SweepRow(*point, figures=figures, cut_short=(*mapped.cut_short, *budget.cut))


def _figures(mapped: MappedRollout, budget: Budget) -> dict[str, float]:
    program, rollout = mapped.program, mapped.rollout
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    first = scale * min(rollout.first_response(name) for name in rollout.network.outputs)
    return {
        "cores": program.n_cores,
        "core_bound": core_bound(mapped.network, program.chip, budget=budget).total,
        "frame_period_ticks": as_number(program.period),
        "first_response_ticks": first,
    }


# Parts shared by all sweeps: iteration over chips, common columns, and the wording of refusals.


# Called with the next chip, chips done, and chips in all.
SweepProgress: TypeAlias = Callable[[str, int, int], object]
CORES = SweepColumn("cores", "cores", "", is_drawn=True)
CORE_BOUND = SweepColumn("core_bound", "cores of any mapping, at least")
FRAME_PERIOD = SweepColumn("frame_period_ticks", "frame period", "ticks")
FIRST_RESPONSE = SweepColumn("first_response_ticks", "first response", "ticks")


def each_chip(
    chip: ChipSpec, figures: Mapping[str, Sequence[Any]], progress: SweepProgress | None
) -> Iterator[ChipPoint]:
    """Make all chips of a sweep, then yield them one by one, reporting progress."""
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
    """Return a note on the bound on cores if sums may be computed in parts; otherwise nothing."""
    if options is None or options.wide == "refuse":
        return ()
    return ("cores of any mapping: where sums are cut into parts, of mappings with these parts",)


def reason_of(message: str, infeasibility: Any, point: ChipPoint, chip: ChipSpec) -> str:
    """Return a refusal without its remedies, and with the base chip's name, as set values have their own columns."""
    if infeasibility is not None:
        head = f"node {infeasibility.node}: " if infeasibility.node else ""
        message = f"{head}{infeasibility.statement}"
    return message.replace(point.chip.name, chip.name)
