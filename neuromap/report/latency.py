"""Latency reports: of one chip, of several chips as one table, and of the runs of a sweep."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from neuromap.accuracy.measure import ImageFrames, accuracy_on_chip
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import DoesNotFitError, InputError, NeuromapError, PatternError, VerificationError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_file import ChipPoint, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.jobs.ahead import DoneJob, Lost, not_lost, require_one_version
from neuromap.jobs.runners import Workers, job_runner
from neuromap.jobs.silent import silent
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.tile.tilings import Tilings
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.options import keywords_of
from neuromap.render.document import ANY, NUMBER, record
from neuromap.render.numbers import as_number
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.measure_row import make_row, refused_row, row_of_program
from neuromap.rollout.class_numbers import class_numbers
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import EXECUTIONS, listed_executions, time_axis
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.sequential import MostSequential, most_sequential_summary
from neuromap.simulation.choose_frames import RandomFrames, choose_frames, describe_frames
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.run_options import RunOptions
from neuromap.sweep.chip_sweep import (
    CORE_BOUND,
    CORES,
    FRAME_PERIOD,
    ChipSweep,
    SweepColumn,
    SweepProgress,
    SweepRow,
    bound_notes,
    each_chip,
    reason_of,
)
from neuromap.sweep.run_store import RunStore, RunTable, load_runs
from neuromap.sweep.sweep_spec import RunJob, RunOutcome, RunStatus, SweepRun, SweepSpec, runs_of
from neuromap.version import __version__

# Most runs of a job: as many are done again if its worker dies.
_SEEDS_PER_JOB = 16
# Runs that share a program, and their keys.
_Job = tuple[RunJob, tuple[str, ...]]


def run_sweep(
    spec: SweepSpec,
    store: str | Path,
    *,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Callable[[str, int, int], object] = silent,
) -> RunTable:
    """Do all runs of a sweep, and keep each in the store as soon as it is done.

    Parameters
    ----------
    spec : SweepSpec
        The sweep.
    store : str or Path
        File of the rows; runs that it already holds are not done again.
    processes : int
        Processes of this machine; 1 for this one alone.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster, whose workers do the runs instead.
    progress : callable
        ``progress(what, runs done, runs in all)``.

    Returns
    -------
    RunTable
        All rows of the store, those of other specs included.

    Raises
    ------
    InputError
        If a number is out of range, the file is not a store, or the scheduler does not answer.
    NotSupportedError
        If Dask is not installed.
    NeuromapError
        If no workers are to be had; finished runs are in the store.
    """
    needs("run_sweep", spec, SweepSpec)
    workers = Workers(processes, scheduler).check()
    planned: list[_Job] = []
    with RunStore(store) as kept:
        kept.plan(_noted(runs_of(spec), planned))
        done = kept.done()
        keys = {key for _, its_keys in planned for key in its_keys}
        n_done = sum(key in done for key in keys)
        progress(spec.name, n_done, len(keys))
        with job_runner(measure_runs, (__version__, spec), workers.at_most(len(keys) - n_done), "sweep") as runner:
            for batch in runner.results(_jobs(planned, done)):
                outcomes = [keyed for ended in batch for keyed in _outcomes(ended)]
                kept.add(outcomes)
                n_done += len(outcomes)
                progress(spec.name, n_done, len(keys))
    return load_runs(store)


def _noted(runs: Iterable[tuple[RunJob, tuple[SweepRun, ...]]], planned: list[_Job]) -> Iterator[SweepRun]:
    """Iterate over runs, which are hashed on the way, and note the keys of each job."""
    for job, its_runs in runs:
        planned.append((job, tuple(run.key for run in its_runs)))
        yield from its_runs


def _jobs(planned: Iterable[_Job], done: set[str]) -> Iterator[_Job]:
    """Split unfinished runs into jobs; of runs with the same key only the first is done."""
    begun = set(done)
    for job, keys in planned:
        left = [(seed, key) for seed, key in zip(job.seeds, keys, strict=True) if key not in begun]
        begun.update(key for _, key in left)
        for first in range(0, len(left), _SEEDS_PER_JOB):
            seeds, its_keys = zip(*left[first : first + _SEEDS_PER_JOB], strict=True)
            yield job._replace(seeds=seeds), its_keys


def _outcomes(done: DoneJob[_Job, tuple[RunOutcome, ...]]) -> list[tuple[str, RunOutcome]]:
    """Return the outcomes of the runs of a job, by key."""
    _, keys = done.job
    if isinstance(done.result, Lost):
        lost = RunOutcome("lost", "process", NeuromapError.exit_code, str(done.result))
        return [(key, lost) for key in keys]
    return list(zip(keys, not_lost(done.result), strict=True))


# Runs of a sweep that share a program: mapped once, then measured for every seed.


# Shared by all jobs: the version of neuromap that the command has, and the spec.
Work = tuple[str, SweepSpec]


def measure_runs(work: Work, keyed: _Job) -> tuple[RunOutcome, ...]:
    """Do the runs of a job."""
    version, spec = work
    require_one_version(version)
    job, _ = keyed
    pattern, stage = spec.patterns[job.pattern], "schedule"
    try:
        rollout = Rollout(pattern.network, pattern, job.execution)
        stage = "map"
        mapped = map_with_stages(rollout, spec.chips[job.chip].chip, spec.options)
        known = row_of_program(mapped.rollout, mapped.program)
    except Exception as error:
        return (_ended(stage, error),) * len(job.seeds)
    return tuple(_simulated(spec, mapped, known, seed) for seed in job.seeds)


def _simulated(spec: SweepSpec, mapped: MappedRollout, known: ReportRow, seed: int) -> RunOutcome:
    choice = EngineChoice(spec.engine, 1, spec.noise_seed)
    try:
        frames, _ = choose_frames(mapped.rollout.network, None, RandomFrames(spec.n_frames, seed, spec.density))
        row = make_row(mapped.rollout, mapped.program, [frames], choice, known)
        figures = row_figures(row)
    except Exception as error:
        return _ended("simulate", error)
    if row.verified is False:
        message = "" if row.verification is None else row.verification.message
        return RunOutcome("mapped", "simulate", VerificationError.exit_code, message, figures)
    return RunOutcome("mapped", figures=figures)


def _ended(stage: str, error: Exception) -> RunOutcome:
    """Return the outcome of a run in which a stage raised; other runs go on, even after a fault of ours."""
    if isinstance(error, NeuromapError):
        is_invalid = isinstance(error, PatternError) or (stage == "schedule" and isinstance(error, InputError))
        status: RunStatus = "invalid" if is_invalid else "failed"
        if isinstance(error, DoesNotFitError):
            status = "does not fit"
        return RunOutcome(status, stage, error.exit_code, _line(str(error)))
    if isinstance(error, MemoryError):
        return RunOutcome("failed", stage, NeuromapError.exit_code, "out of memory; use fewer processes")
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.rpartition('/')[2]}, line {where.lineno}"
    line = f"internal error, please report it: {type(error).__name__}: {error} ({place})"
    return RunOutcome("failed", stage, NeuromapError.exit_code, _line(line))


def _line(text: str) -> str:
    return " ".join(text.split())


# Figure of a run: attribute of its row of the report.
_FIGURES: Mapping[str, str] = ReadOnlyMapping(
    {
        "frame_period_ticks": "frame_period_ticks",
        "largest_gap_ticks": "largest_gap_ticks",
        "sampling_frequency_hz": "sampling_frequency_hz",
        "predicted_first_response_ticks": "predicted.first_response_ticks",
        "measured_first_response_ticks": "measured.first_response_ticks",
        "measured_first_response_seconds": "measured.first_response_seconds",
        "predicted_full_response_ticks": "predicted.full_response_ticks",
        "measured_full_response_ticks": "measured.full_response_ticks",
        "measured_full_response_seconds": "measured.full_response_seconds",
        "worst_case_reaction_ticks": "worst_case_reaction_ticks",
        "core_bound": "core_bound.total",
        "verified": "verified",
        "cores": "usage.cores",
        "neurons": "usage.neurons",
        "copies": "usage.copies",
        "relays": "usage.relays",
        "mean_hops": "usage.mean_hops",
        "longest_way_hops": "usage.longest_way",
        "spikes_per_frame": "figures.network_on_chip.spikes_per_frame",
        "hops_per_frame": "figures.network_on_chip.hops_per_frame",
        "synaptic_events_per_frame": "figures.work.synaptic_events_per_frame",
        "joules_per_frame": "figures.energy.joules_per_frame",
        "watts": "figures.energy.watts",
    }
)
_KNOWN = record(
    {key: ANY(at=place).optional for key, place in _FIGURES.items()}, frame_period_ticks=NUMBER.by(float).optional
)


def row_figures(row: ReportRow) -> dict[str, float | bool]:
    """Return the known figures of a run."""
    found: dict[str, float | bool] = _KNOWN.write(row)
    return found


_COLUMNS = (
    CORES,
    CORE_BOUND,
    FRAME_PERIOD,
    SweepColumn("first_response_ticks", "first response", "ticks", is_drawn=True),
    SweepColumn("energy_joules", "energy per frame", "J"),
    SweepColumn("verified", "verified", "yes"),
)


def sweep_reports(
    network: Network,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    patterns: Sequence[str | RolloutPattern] | None = None,
    executions: Sequence[str] | None = None,
    *,
    progress: SweepProgress | None = None,
    **arguments: Any,
) -> ChipSweep:
    """Report on a network on a chip, for every combination of several values of the chip's figures.

    Parameters
    ----------
    network : Network
        With shapes and weights.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    patterns, executions
        As for :func:`neuromap.report.latency.latency_report`.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.
    **arguments
        Stimuli, engine and options, as there.

    Returns
    -------
    ChipSweep
        A row for every chip, pattern and execution: cores, frame period and first response (in ticks), energy per frame
        (in joules), and whether chip and reference agree.

    Raises
    ------
    ChipError
        If the chip is unknown, a figure is unknown or out of range, or there are too many chips; then none is mapped.
    PatternError, InputError, NetworkError, StimulusError
        As :func:`neuromap.report.latency.latency_report`.
    """
    needs("sweep_reports", network, Network)
    spec = load_chip(chip)
    rows: list[SweepRow] = []
    told: dict[str, None] = {}
    for point in each_chip(spec, figures, progress):
        report = latency_report(network, point.chip, patterns, executions, **arguments)
        rows += (_row(row, point, spec) for row in report.rows)
        told |= dict.fromkeys(f"{row.execution}: {time_axis(row.execution)}" for row in report.rows)
        stimulus = report.stimulus
    return ChipSweep(
        network=network.name,
        what="",
        chip=spec,
        parameters=tuple(figures),
        label_titles=("pattern", "execution"),
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(
            *told,
            "first response: from stimulus onset, measured on the program, the least over all outputs",
            "energy per frame: in steady operation, where the chip has figures of it",
            *bound_notes(arguments.get("options")),
            f"verified with {describe_frames(stimulus)}",
        ),
    )


def _row(row: ReportRow, point: ChipPoint, chip: ChipSpec) -> SweepRow:
    labels = (row.pattern, row.execution)
    if row.usage is None:
        reason = reason_of(row.message, row.infeasibility, point, chip)
        is_refused = row.status == "does not fit"
        return SweepRow(*point, labels, reason=reason, message=row.message, is_refused=is_refused)
    figures: dict[str, Any] = {
        "cores": row.usage.cores,
        "core_bound": None if row.core_bound is None else row.core_bound.total,
        "frame_period_ticks": None if row.frame_period_ticks is None else as_number(row.frame_period_ticks),
        "first_response_ticks": row.measured.first_response_ticks,
        "energy_joules": row.joules_per_frame,
        "verified": row.verified,
    }
    if point.chip.is_timed:
        period = None if row.sampling_frequency_hz is None else 1 / row.sampling_frequency_hz
        figures |= {"frame_period_seconds": period, "first_response_seconds": row.measured.first_response_seconds}
    return SweepRow(*point, labels, figures)


# The latency report: every pattern in every execution, predicted and measured side by side.


# Frames of the output whose accuracy is measured by default.
DEFAULT_ACCURACY_FRAMES = 8


@dataclass(frozen=True, eq=False)
class ReportOptions(RunOptions):
    """What is asked of a report; explained at :func:`latency_report`."""

    chip: str | Path | ChipSpec = "truenorth"
    patterns: Sequence[str | RolloutPattern] | None = None
    executions: Sequence[str] | None = None
    _: KW_ONLY
    options: MappingOptions | None = None
    images: ImageSet | None = None
    n_accuracy_frames: int = DEFAULT_ACCURACY_FRAMES
    progress: Callable[[str, int, int], object] | None = None


@keywords_of(ReportOptions)
def latency_report(network: Network, asked: ReportOptions) -> LatencyReport:
    """Map every pattern in every execution; predict, measure, observe and verify each.

    An invalid pattern, or one that does not fit the chip, gives a row that says so; the others still run.

    Parameters
    ----------
    network : Network
        With shapes and weights.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    patterns : sequence of str or RolloutPattern, optional
        ``"streaming"``, ``"sequential"``, names from the network's file, or patterns; by default the first two, of a
        spiking network the first.
    executions : sequence of {"windowed", "pipelined", "pipelined:P", "pipelined:best"}, optional
        In the order of the rows; with a number P a frame every P update steps. By default the first two; of a spiking
        network, where both are one, the first.
    frames : mapping of str to array_like of shape (n_frames, size) or that of the nodes, or path, optional
        Input frames to verify with, row 0 is frame 0, or a file of them; random ones by default.
    n_frames, seed, density : int, int, float or None
        Number, seed and density of the random frames; without one every frame draws its own.
    n_stimuli : int
        Number of random stimuli over which energy and traffic per frame are means, 1 to 100, with the seeds ``seed``,
        ``seed + 1``, ...; the first serves for verification. Given frames are the only stimulus.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.
    options : MappingOptions, optional
        How every rollout is mapped: splitters, placement, packing, pins, and a seed of its own. With
        ``splitters="anywhere"`` a row may be scheduled in ticks (:attr:`ReportRow.schedule`).
    images : ImageSet, optional
        Labelled images that every program is run on, for its accuracy over ticks; see
        :func:`neuromap.accuracy.accuracy_on_chip`.
    n_accuracy_frames : int
        Frames of the output that are decided on, from its first response on.
    progress : callable, optional
        Called as ``progress(what, rows done, rows in all)``.

    Returns
    -------
    LatencyReport
        One row per pattern and execution.

    Raises
    ------
    PatternError
        If a name is unknown, or a pattern is one of another network.
    InputError
        If an execution or engine is unknown, a number is out of range, or no pattern or execution is given.
    NetworkError
        If shapes, weights or thresholds are missing; with images, if there are several inputs or outputs, or the input
        node has no binary encoding.
    ChipError
        If the chip is unknown or its file malformed.
    StimulusError
        If the frames do not fit the input nodes.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/digits/sr.toml")
    >>> report = nm.latency_report(net, patterns=["streaming"], executions=["windowed"])
    >>> report.rows[0].measured.first_response_ticks
    2
    """
    needs("latency_report", network, Network)
    options = MappingOptions() if asked.options is None else asked.options
    needs("latency_report: options", options, MappingOptions)
    require_weights(network)
    spec, progress = load_chip(asked.chip), asked.progress or silent
    default = network.pattern_names[:2]
    chosen, summary = _patterns(network, default if asked.patterns is None else asked.patterns)
    wanted = listed_executions(EXECUTIONS[: len(default)] if asked.executions is None else asked.executions)
    stimuli, stimulus = asked.stimuli(network)
    choice = asked.choice
    if asked.images is not None:  # what cannot be measured is refused before anything is mapped
        ImageFrames.of(Rollout(network, "streaming"), asked.images, asked.n_accuracy_frames, asked.seed)

    rows: list[ReportRow] = []
    tilings = Tilings(options)  # caches what several rollouts share
    total = len(chosen) * len(wanted)
    for pattern in chosen:
        for execution in wanted:
            progress(f"{pattern.name}, {execution}", len(rows), total)
            try:
                rollout = _rollout(network, pattern, execution)
                mapped = map_with_stages(rollout, spec, options, tilings=tilings)
            except (PatternError, DoesNotFitError) as error:
                rows.append(refused_row(pattern, execution, error))
                continue
            # Predictions come from the rollout as it was scheduled: splitters may have lengthened it.
            known = row_of_program(mapped.rollout, mapped.program, tilings)
            row = make_row(mapped.rollout, mapped.program, stimuli, choice, known)
            if asked.images is not None:
                how = {name: getattr(asked, name) for name in ("seed", "engine", "threads", "noise_seed")}
                shown = (asked.images, asked.n_accuracy_frames)
                row = replace(row, accuracy=accuracy_on_chip(mapped.rollout, mapped.program, *shown, **how))
            rows.append(row)
    progress("done", total, total)
    return _report(network, spec, rows, stimulus, summary)


@keywords_of(RunOptions)
def report_on_program(rollout: Rollout, program: ChipProgram, asked: RunOptions) -> LatencyReport:
    """Compare a program, perhaps edited since it was mapped, with the prediction of a rollout.

    Parameters
    ----------
    rollout : Rollout
        Source of the prediction; for a program with splitters on edges without slack, the tick-level rollout that
        :func:`neuromap.mapping.map_rollout.map_with_stages` returned with it.
    program : ChipProgram
        What is measured, observed and verified.
    frames, n_frames, seed, density, n_stimuli, engine, threads, noise_seed
        As in :func:`latency_report`.

    Returns
    -------
    LatencyReport
        With one row, on the program's chip.

    Raises
    ------
    ProgramError
        If the program is of another network, or cannot be simulated.
    StimulusError
        If the frames do not fit the input nodes.
    """
    needs("report_on_program", rollout, Rollout)
    needs("report_on_program", program, ChipProgram)
    network = rollout.network
    stimuli, stimulus = asked.stimuli(network)
    row = make_row(rollout, program, stimuli, asked.choice)
    summary = most_sequential_summary(network) if rollout.pattern.name == "sequential" else None
    return _report(network, program.chip, [row], stimulus, summary)


def _rollout(network: Network, pattern: RolloutPattern, execution: str) -> Rollout:
    """Schedule a pattern; a frame period that is too short for it is an error of the pattern, as a cycle is."""
    try:
        return Rollout(network, pattern, execution)
    except InputError as error:  # the execution itself is known
        raise PatternError(str(error)) from None


def _report(
    network: Network, chip: ChipSpec, rows: list[ReportRow], stimulus: dict[str, Any], summary: MostSequential | None
) -> LatencyReport:
    count, proven = (None, None) if summary is None else (summary.count, summary.proven)
    patterns = [row.pattern_of(network) for row in rows]
    numbers = class_numbers(network, patterns)
    numbered = [
        replace(row, behaviour_class=number) for row, number in zip(rows, numbers.of_patterns(patterns), strict=True)
    ]
    return LatencyReport(network, chip, tuple(numbered), stimulus, count, proven, numbers.are_of_network)


def _patterns(
    network: Network, patterns: Sequence[str | RolloutPattern]
) -> tuple[list[RolloutPattern], MostSequential | None]:
    """Return the patterns, unnamed ones numbered, and the summary of the most sequential ones if it is needed."""
    # The search for these is the slowest of all steps on some networks, so it is done once.
    if isinstance(patterns, (str, RolloutPattern)) or not isinstance(patterns, Iterable):
        patterns = [patterns]
    if not patterns:
        raise InputError("patterns: none given; name at least one, such as streaming")
    chosen = []
    summary = None
    if any(pattern == "sequential" or getattr(pattern, "name", "") == "sequential" for pattern in patterns):
        summary = most_sequential_summary(network)
    for number, pattern in enumerate(patterns, start=1):
        if not isinstance(pattern, str):
            found = pattern
        elif pattern == "sequential" and summary is not None:
            found = summary.first
        else:
            found = RolloutPattern.named(network, pattern)
        needs("latency_report: patterns", found, RolloutPattern, PatternError)
        if tuple(found.network.edges) != tuple(network.edges):
            raise PatternError(
                f"pattern {found.name or number}: belongs to network {found.network.name}, whose edges are not those "
                f"of {network.name}; make the pattern from the same network"
            )
        chosen.append(found if found.name else RolloutPattern(network, found.values, f"pattern {number}"))
    return chosen, summary
