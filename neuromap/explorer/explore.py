"""``explore``: which rollout should I run? Map the rows that may be on the front, and exclude the others by proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import ACCURACY, Candidate, ExploredRow, Limits
from neuromap.explorer.candidates.asked import Asked, asked_for, check_are_axes, mapping_choices
from neuromap.explorer.candidates.named_patterns import patterns_on_curve
from neuromap.explorer.candidates.options import ExploreOptions, Progress
from neuromap.explorer.candidates.pattern_space import PatternSpace, few_patterns, pattern_space, trained_spaces
from neuromap.explorer.candidates.schedules import Graph, graph_of, schedules_of
from neuromap.explorer.search.front import OpenRows, front_of, gap_of, unlisted_rows
from neuromap.explorer.search.measurements import N_FIGURES, Measurements, Setting
from neuromap.explorer.search.search_rows import (
    DeadlineAccuracy,
    RowPlace,
    SearchRows,
    asked_networks,
    check_deadline,
    deadline_of,
    names_with,
    search_rows,
)
from neuromap.files.argument_checks import needs, real_number, whole_number
from neuromap.hardware.chip.chip_file import ChipPoint, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.runners import Workers
from neuromap.mapping.options.budget import Budget
from neuromap.network.build import require_frames, require_weights
from neuromap.network.network import Network
from neuromap.options import keywords_of
from neuromap.render.numbers import ALIKE, round_up
from neuromap.render.value import Card
from neuromap.rollout.behaviour import class_key, count_behaviour_classes
from neuromap.rollout.class_numbers import ClassNumbers, all_class_numbers, class_numbers
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.phases import best_in_class
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepProgress, SweepRow, each_chip

FOR_SCHEDULES, FOR_BOUNDS = 0.25, 0.5
"""Fractions of the time limit by which schedules of candidates, and then bounds on their cores, end."""


@keywords_of(ExploreOptions)
def explore(network: Network, search: ExploreOptions) -> Exploration:
    """Search the rollouts of a network for those that no other beats.

    The times of all patterns are computed from their schedules; then rows are mapped, the most promising first, until
    proven bounds exclude every other row from the front, or the limit on time or rows is reached.

    Parameters
    ----------
    network : Network
        Network with shapes and weights.
    chips : chip or sequence of chips
        Names of packaged chips, chip files, or chips; by default ``truenorth``.
    given : RolloutPattern or str
        The pattern that the weights were trained for; its behaviour class needs no retraining.
    chip : chip or sequence of chips
        Alias of ``chips``, as in other functions; give only one of them.
    executions : sequence of {"windowed", "pipelined", "pipelined:P", "pipelined:best"}
        Executions to search; P up to 1000. Patterns whose cycles do not allow P have no row of that execution.
    splitters : sequence of {"slack", "anywhere", "never"}
        Where splitters may stand.
    ticks_per_step : sequence of int or None
        Ticks of an update step; ``None`` for as few as the delays need.
    wide : sequence of {"refuse", "partial-sums"} or int
        How to handle nodes wider than a core: refuse them; compute their sums in parts (docs/wide-neurons.md), with all
        the ticks that these count and with 64, 16 and 4; or in parts with the given number of ticks.
    phases : sequence of {"least", "cheapest", "fastest"}
        When nodes are computed: as early as possible, so as to take the fewest cores with the same times, or with the
        least sum of first responses over all inputs and outputs, none of them later (docs/time.md).
    spread : sequence of int
        If ticks last as long as their work: greatest numbers of cores on which to map rows for a short tick. By default
        they are mapped for few deliveries, on few cores. Chips of fixed ticks are searched as without it.
    within : {"all", "class"}
        Whether to search patterns of other behaviour classes, which need retraining, too.
    objectives : sequence of str, optional
        Axes of the fronts, by title; ``"times"`` for all times. By default all. If all are times, the best patterns of
        behaviour classes are found without listing any class, if that settles the fronts.
    limits : Limits or callable, optional
        Rows that cannot be within the limits are not mapped. A callable gets one row for all rows with equal times, so
        it may use figures only.
    trained : mapping, or iterable of pairs, optional
        Pattern (a value, its name, or R of every edge as digits) -> network that was trained under it, or its file: one
        for each behaviour class to search. All have the graph of ``network``, whose own weights are then ignored.
        If ``given`` is of none of these classes, the first of these patterns is the given one.
    images : ImageSet, optional
        With ``trained``: labelled images on which accuracies are measured.
    deadline : float, optional
        With ``trained``: seconds from stimulus onset; the accuracy of the last frame known by then becomes an
        objective. Each image is shown in every frame, from the initial state.
    frames, n_frames, seed, density
        Input frames for energy and verification, as in :func:`neuromap.report.latency.latency_report`. The seed also
        draws the sample of patterns if there are too many to search all.
    n_stimuli : int
        Number of random stimuli over which energies are averaged, 1 to 100.
    energy_tolerance : float, optional
        Energies that differ by at most this part, 0 to below 1, count as equal on the fronts. By default what another
        draw of stimuli might change: the relative half width of the 95 % confidence interval of the given pattern's
        energy, rounded up to 1, 2 or 5 times a power of ten; 0.001 with a single stimulus.
    seconds : float, optional
        Time limit for everything, including candidates (fewer if schedules take long; not with ``trained``) and bounds:
        after it no mapping begins, and one in progress ends its searches, keeps the best so far and reports which were
        cut short.
    most_mapped : int, optional
        Greatest number of rows to map (or take from the store).
    processes : int
        Number of processes for mapping; scripts that use more than one need ``if __name__ == "__main__"``. The rows do
        not depend on it.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster whose workers map instead.
    store : str or path, optional
        File that keeps every row as soon as it is mapped, as for sweeps (docs/sweeps.md); rows in it are not mapped
        again.
    verify : bool
        Whether to compare every mapped row with the reference.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`; one thread by default, since mapping takes most of the
        time and processes parallelise it better.
    progress : callable, optional
        Called as ``progress(what, rows mapped, rows open)``.

    Returns
    -------
    Exploration
        Rows, fronts, and how far these may be from the best possible.

    Raises
    ------
    InputError
        If an option is unknown or out of range, the store is not one, a limit is on a figure that is not an objective,
        the deadline is before any response, or two trained networks are for one class.
    PatternError
        If the given pattern is unknown or invalid.
    NetworkError
        If shapes, weights or thresholds are missing, or a trained network has another graph.
    ChipError
        If a chip is unknown or its file malformed.
    StimulusError
        If the frames or images do not fit the input nodes.
    NotSupportedError
        If a scheduler is given and Dask is not installed.
    NeuromapError
        If workers are not available; mapped rows are in the store.

    Examples
    --------
    >>> import neuromap as nm
    >>> from neuromap.explorer.explore import explore
    >>> found = explore(nm.load_network("examples/digits/ff.toml"), executions=["windowed"])
    >>> found.gap.is_exact, [row.pattern for row in found.front]
    (True, ['streaming'])
    """
    needs("explore", network, Network)
    require_frames(network, "explore", "its one rollout is streaming, a frame a tick; a report shows its times")
    weights = asked_networks(network, search.trained, search.images, search.deadline)
    if not weights:
        require_weights(network)
    limits = search.limits
    allows: Callable[[ExploredRow], bool] = (lambda _: True) if limits is None else getattr(limits, "allows", limits)
    if not callable(allows):
        needs("explore: limits", limits, Limits)
    asked = asked_for(search)
    check_are_axes(asked.objectives, limits)
    if search.objectives is not None and ACCURACY in asked.objectives and not weights:
        raise InputError(f"objective {ACCURACY.title}: takes trained, images and deadline; give them, or drop it")
    effort = Effort(search.seconds, search.most_mapped)
    workers = Workers(search.processes, search.scheduler).check()
    names = names_with(network, search.given, weights)
    if asked.within == "class":
        weights = tuple(one for one in weights if class_key(one.pattern) == class_key(names.given))
    by_class = {class_key(one.pattern): one.network for one in weights}
    shown = None if search.images is None or search.deadline is None else (search.deadline, search.images)
    accuracy = DeadlineAccuracy(*shown, weights, search.seed) if weights and shown else None
    tolerance = search.energy_tolerance
    stimuli, stimulus = search.stimuli(weights[0].network if weights else network)
    setting = Setting(
        network, {chip.name: chip for chip in asked.chips}, stimuli, search.verify, search.choice, by_class, stimulus
    )
    measurements = Measurements(setting, names.name_of, search.store, workers, effort.until)

    graph, n_classes = graph_of(network), count_behaviour_classes(network)
    # the named patterns, the best of their classes, and those of the given class that answer earliest
    one_of_each = {class_key(pattern): pattern for pattern in names.patterns}
    best = [best_in_class(pattern) for pattern in one_of_each.values()]
    few = list(dict.fromkeys([*names.patterns, *best, *patterns_on_curve(names.given, names.curve)]))
    for_bounds = Budget(None if effort.seconds is None else FOR_BOUNDS * effort.seconds)
    with measurements:
        for space, numbers in searched_spaces(graph, few, asked, search.seed):
            # candidates: patterns and mapping choices; equal schedules are one row
            if effort.seconds is not None and not weights:
                space = hurried_space(space, few, asked.executions, FOR_SCHEDULES * effort.seconds)
            reached = deadline_of(space, numbers, names, accuracy, weights)
            if asked.within == "class":
                space = space.of_class(names.given)
            parts = trained_spaces(space, weights) if weights else [space]
            served = [one.pattern for one in weights] or [names.given]
            choices = [
                choice
                for part, pattern in zip(parts, served, strict=True)
                for choice in mapping_choices(part, pattern, asked, numbers, for_bounds)
            ]
            rows = search_rows(choices, names, setting, accuracy)
            check_deadline(rows)

            # search: map rows until no others can be on a front
            if tolerance is None:
                tolerance = measured_tolerance(rows, measurements, effort, len(stimuli), search.progress)
            still_open = OpenRows(rows, allows, tolerance, asked.objectives)
            complete = map_best_first(still_open, measurements, effort, search.progress)
            unlisted = None if weights or space.is_complete else unlisted_rows(choices, names, asked, n_classes)
            gap = gap_of(still_open, space, complete, limits is not None, unlisted)
            if gap.is_exact or effort.is_late():
                break

    # answer: the rows, their fronts, and how good these are
    return Exploration(
        network=network,
        given=names.given,
        chips=asked.chips,
        rows=tuple(sorted([*_found_rows(still_open), *still_open.others(MOST_ROWS)], key=_order)),
        n_valid_patterns=space.n_valid,
        n_classes=n_classes,
        given_class=numbers.of_patterns([names.given])[0] or 0,
        classes_are_of_network=numbers.are_of_network,
        n_candidates=sum(p.n_patterns for p in parts) * len(asked.chips) * len(asked.executions) * len(asked.options),
        n_rows=sum(len(choice.table) for choice in choices),
        n_mapped=len(still_open.found),
        gap=gap,
        stimulus=stimulus,
        energy_tolerance=still_open.tolerance,
        deadline=reached,
        axes=asked.objectives,
    )


# Fewer patterns, if there is not enough time for the schedules of all.
TIMED = 2
"""Number of patterns whose schedules are timed, one by one; the fastest tells how many there is time for."""


def hurried_space(
    space: PatternSpace, named: Sequence[RolloutPattern], executions: Sequence[str], seconds: float
) -> PatternSpace:
    """Keep as many patterns as there is time for."""
    # Networks whose only cycles are self-edges keep all patterns: computing their schedules together is fast.
    if space.graph.is_ordered or space.sample is None or space.n_patterns <= len(named):
        return space
    first = dict.fromkeys(pattern.values for pattern in named)
    took: list[float] = []  # by the schedules of a pattern in all executions
    for values in space.sample[:TIMED]:
        began = time.monotonic()
        for execution in executions:
            schedules_of(space.graph, values[None, :], execution)
        took.append(time.monotonic() - began)
        if took[-1] >= seconds:
            break
    most = max(len(first), int(seconds / max(1e-6, min(took))))
    if most >= space.n_patterns:
        return space
    kept = list(dict.fromkeys([*first, *map(tuple, space.sample[: most + len(first)].tolist())]))[:most]
    return PatternSpace(space.graph, space.n_valid, len(kept), np.array(kept, np.uint8), is_complete=False)


# Patterns that a search lists: a few that may settle it, else all, else a sample around the few.


def searched_spaces(
    graph: Graph, few: Sequence[RolloutPattern], asked: Asked, seed: int
) -> Iterator[tuple[PatternSpace, ClassNumbers]]:
    """Yield spaces to search, with the numbers of their classes, one after the other until the fronts are exact."""
    # If all objectives are times, the best patterns of the classes of named patterns come first: they usually settle
    # the fronts, however many patterns there are. All patterns follow if they can be listed.
    if not asked.is_about_times:
        space, numbers = pattern_space(graph, few, seed=seed), all_class_numbers(graph.network)
        yield space, numbers if space.sample is None else numbers.met(space.sample)
        return
    space = few_patterns(graph, few)
    yield space, class_numbers(graph.network, few)
    every = space if space.is_complete else pattern_space(graph, [], seed=seed, most_sampled=0)
    if every.is_complete and not space.is_complete:
        yield every, all_class_numbers(graph.network)


# The rows of a result: all mapped rows, with their fronts, and some that were not mapped.


MOST_ROWS = 300
"""Most unmapped rows in a result."""


def _found_rows(ended: OpenRows) -> list[ExploredRow]:
    """Describe the rows that were mapped or refused, with the fronts they are on."""
    rows = [
        replace(ended.all_rows.describe(place, found.measured), core_bound=ended.bound_of(place))
        for place, found in ended.found.items()
    ]
    mapped = [k for k, row in enumerate(rows) if row.status == "mapped"]
    of_mapped = [found.figures for found in ended.found.values() if found.measured.status == "mapped"]
    seen = [ended.compared(one) for one in of_mapped]
    figures = np.array(seen, np.float64).reshape(-1, N_FIGURES)
    classes = np.array([rows[k].behaviour_class for k in mapped], np.int64)
    of_all = front_of(figures, ended.tolerance)
    of_class = np.zeros(len(mapped), np.bool_)
    for number in np.unique(classes):
        of_class[classes == number] = front_of(figures[classes == number], ended.tolerance)
    if ended.all_rows.accuracy is not None:  # each class has weights of its own, so all can be used as they are
        of_class = of_all
    for k, on_front, on_class_front in zip(mapped, of_all.tolist(), of_class.tolist(), strict=True):
        rows[k] = replace(rows[k], on_front=on_front, on_class_front=on_class_front)
    return rows


def _order(row: ExploredRow) -> tuple[Any, ...]:
    return (
        not row.on_front,
        not (row.on_class_front and not row.needs_retraining),
        ("mapped", "does not fit", "not mapped", "excluded").index(row.status),
        row.first_response_seconds,
        row.frame_period_ticks * row.tick_seconds,
        row.core_bound if row.cores is None else row.cores,
        row.behaviour_class,
        *(getattr(row.candidate, one.name) or 0 for one in fields(Candidate) if one.name != "phases"),
    )


# Best-first search over open rows, until none can change the fronts by more than the tolerance.


UNMEASURED = ALIKE
"""Tolerance without a known spread: for a single stimulus, or if nothing may be mapped."""
_LEAST, _MOST = 1e-6, 0.5


def measured_tolerance(
    all_rows: SearchRows, measurements: Measurements, effort: Effort, n_stimuli: int, progress: Progress | None
) -> float:
    """Measure the relative uncertainty of energies: half width over mean, of the first seed measured."""
    if n_stimuli < 2 or effort.is_spent(0):
        return UNMEASURED
    for place in all_rows.seeds:
        if effort.is_late():
            break
        if not all_rows.groups[place.group].choice.chip.energy:
            continue
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", 0, sum(len(group.rows) for group in all_rows.groups))
        measured = measurements.get(all_rows.fingerprint(place), all_rows.candidate(place))
        if measured.energy_joules and measured.energy_half_width_joules is not None:
            part = measured.energy_half_width_joules / measured.energy_joules
            return round_up(min(max(part, _LEAST), _MOST))
    return UNMEASURED


# The search: rows are mapped one by one, the most promising first, until none is open.


@dataclass(frozen=True)
class Effort(Card):
    """Limits on the effort of a search."""

    # seconds from the beginning of the request after which no mapping begins, and one in progress stops searching
    seconds: float | None = None
    most_mapped: int | None = None  # most rows that are mapped (or taken from the store)
    began: float = field(default_factory=time.monotonic)  # start of the request, by the monotonic clock

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 <= real_number("seconds", self.seconds) < float("inf"):
            raise InputError(f"seconds = {self.seconds}: must be 0 or more, and finite")
        if self.most_mapped is not None and whole_number("most_mapped", self.most_mapped) < 0:
            raise InputError(f"most_mapped = {self.most_mapped}: must be 0 or more")

    @property
    def until(self) -> float | None:
        """Time limit by the monotonic clock; ``None`` for no limit."""
        return None if self.seconds is None else self.began + self.seconds

    def is_late(self) -> bool:
        """Whether the time limit has passed, so that no mapping may begin."""
        return self.until is not None and time.monotonic() >= self.until

    def is_full(self, n_mapped: int) -> bool:
        """Whether the greatest number of rows is mapped."""
        return self.most_mapped is not None and n_mapped >= self.most_mapped

    def is_spent(self, n_mapped: int) -> bool:
        """Whether no further row may be mapped."""
        return self.is_full(n_mapped) or self.is_late()


def map_best_first(still_open: OpenRows, measurements: Measurements, effort: Effort, progress: Progress | None) -> bool:
    """Map rows until none is open or the effort is spent; return whether none is open."""
    all_rows = still_open.all_rows
    queue = still_open.in_order()
    ahead: list[RowPlace] = []
    while ahead := _next_places(still_open, queue, ahead, measurements.at_once, effort):
        if effort.is_full(len(still_open.found)):
            return False
        place, *ahead = ahead
        if effort.is_late() and not measurements.has(all_rows.fingerprint(place)):
            return False
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", len(still_open.found), still_open.n_open())
        for later in () if effort.is_late() else ahead:
            measurements.prepare(all_rows.fingerprint(later), all_rows.candidate(later))
        measured = measurements.get(all_rows.fingerprint(place), all_rows.candidate(place))
        still_open.take(place, measured, in_haste=effort.is_late())
    return True


def _next_places(
    still_open: OpenRows, queue: Iterator[RowPlace], ahead: Sequence[RowPlace], n: int, effort: Effort
) -> list[RowPlace]:
    """Keep the rows ahead that are still open, and take more from the queue, up to n rows."""
    # Once the effort is spent, no bounds of single rows are computed.
    found: list[RowPlace] = []
    for place in chain(ahead, queue):
        if still_open.is_open(place) and (
            effort.is_spent(len(still_open.found)) or not still_open.exclude_alone(place)
        ):
            found.append(place)
            if len(found) >= n:
                break
    return found


# Explorations of several chips: a summary of every front, as one table.


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
    front, class_front = (
        [row for row in rows if row.status == "mapped" and limits.allows(row)]
        for rows in (found.front, found.class_front)
    )
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
