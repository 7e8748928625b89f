"""Measurements of candidates and the setting that they share: from the store, begun ahead by workers, or made now."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, whole
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError, InputError, VerificationError
from neuromap.explorer.answer.limits import CHOICES, IN_TICKS, OBJECTIVES, Candidate, Objective, RowSeconds
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.jobs.ahead import Ahead, require_one_version
from neuromap.jobs.results_file import Fingerprint, with_checksum
from neuromap.jobs.runners import Workers, job_runner
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.budget import Budget, Stage
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.tile.tilings import Tilings
from neuromap.network.network import Network
from neuromap.proof.prove import is_proven
from neuromap.render.table import printable_line
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.steady_figures import SteadyFigures, steady_figures
from neuromap.simulation.cost.tick_times import ResponseSeconds, Which
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.sweep.run_store import RunStore
from neuromap.sweep.sweep_spec import RunOutcome, SweepRun, network_digest, told_options
from neuromap.verification.law import hold_against_reference
from neuromap.version import __version__


@dataclass(frozen=True, eq=False)
class Setting(Value):
    """Setting shared by all candidates of a search."""

    network: Network  # the network
    chips: Mapping[str, ChipSpec]  # by name
    # (n_frames, size): checked input frames of every stimulus; the first one is used for verification
    stimuli: tuple[Mapping[str, NDArray[np.bool_]], ...]
    verify: bool  # whether to compare chip and reference
    engine: EngineChoice  # engine of the simulations
    # by behaviour class (:func:`neuromap.rollout.behaviour.class_key`), if each has its own weights
    networks: Mapping[tuple[int, ...], Network] = field(default_factory=lambda: ReadOnlyMapping({}))
    # description of the stimuli: ``n_frames``, ``n_stimuli`` and, for random ones, ``seed`` and ``density``
    stimulus: Mapping[str, Any] = field(default_factory=lambda: ReadOnlyMapping({}))

    def network_of(self, values: tuple[int, ...]) -> Network:
        """Network with the weights for a pattern (R of every edge)."""
        if not self.networks:
            return self.network
        return self.networks[class_key(RolloutPattern(self.network, values))]

    def only(self, network: Network) -> Setting:
        """Return the same setting for one network."""
        return replace(self, network=network, networks=ReadOnlyMapping({}))


class Figures(NamedTuple):
    """Figures of a row, or proven bounds on them: one per objective, in the order of ``OBJECTIVES``, times first."""

    # first_response, full_response, worst_case_reaction, frame_period: seconds
    first_response: float
    full_response: float
    worst_case_reaction: float
    frame_period: float
    error: float  # fraction of the images classified wrongly at the deadline; NaN without a deadline
    cores: float  # cores in use
    energy: float  # joules per frame; NaN if the chip has no figures

    @property
    def times(self) -> tuple[float, ...]:
        """All but accuracy, cores and energy."""
        return self[:N_TIMES]


N_FIGURES = len(Figures._fields)
N_TIMES = sum(objective.bound is None for objective in OBJECTIVES)


def figures_of(measured: Measured, tick_seconds: float, accuracy: float | None = None) -> Figures:
    """Figures of a measured candidate; infinite if it does not fit."""
    if measured.status != "mapped":
        return Figures(*(math.inf,) * N_FIGURES)
    cores = math.nan if measured.cores is None else float(measured.cores)
    error = math.nan if accuracy is None else 1 - accuracy
    return Figures(*times_of(measured, tick_seconds), error, cores, nan_of(measured.energy_joules))


def times_of(measured: Measured, tick_seconds: float) -> RowSeconds:
    """Return the times of a mapped candidate: as measured, else from ticks of fixed length (NaN if they have none)."""
    ticks = (getattr(measured, name) for name in IN_TICKS)
    return measured.seconds or RowSeconds(*(math.nan if t is None else t * tick_seconds for t in ticks))


def fixed_tick(chip: ChipSpec) -> float:
    """Length of a chip's ticks; NaN if they last as long as their work."""
    return math.nan if chip.is_timed else chip.tick_seconds


TIMED_DIGITS = 6
"""Digits of seconds compared if ticks last as long as their work: equal ones differ by 0.001 % at most."""


def compared(figures: Figures, objectives: Collection[Objective], *, is_timed: bool = False) -> Figures:
    """Keep the figures that are compared, times to fewer digits if measured; others become NaN in every row."""
    # Rounding keeps the order, so rounded bounds bound rounded times. With a tolerance on all four, as energy has one,
    # each of three rows could dominate the next.
    if is_timed:
        rounded = (float(f"{seconds:.{TIMED_DIGITS}g}") for seconds in figures.times)
        figures = Figures._make((*rounded, *figures[N_TIMES:]))
    if len(objectives) == N_FIGURES:
        return figures
    return Figures._make(
        figure if objective in objectives else math.nan for figure, objective in zip(figures, OBJECTIVES, strict=True)
    )


def nan_of(number: float | None) -> float:
    """Replace a missing figure by NaN."""
    return math.nan if number is None else number


# Result of a candidate that was mapped and simulated.


@dataclass(frozen=True)
class Measured:
    """Result of a candidate; figures are ``None`` if it does not fit."""

    status: Literal["mapped", "does not fit"]  # whether it was mapped
    message: str = ""  # why not, in one line
    schedule: Literal["steps", "ticks"] = "steps"  # unit of the schedule that was mapped
    # frame_period_ticks, first_response_ticks, full_response_ticks, worst_case_reaction_ticks: of the schedule that was
    # mapped; a frame period that is a ``Fraction`` is the mean of unequal intervals
    frame_period_ticks: Time | None = None
    first_response_ticks: int | None = None
    full_response_ticks: int | None = None
    worst_case_reaction_ticks: int | None = None
    full_response_exact: bool | None = None  # else it is an upper bound
    cores: int | None = None  # cores in use
    energy_joules: float | None = None  # per frame, mean over the stimuli
    # half width of its 95 % confidence interval; ``None`` also with a single stimulus
    energy_half_width_joules: float | None = None
    verified: bool | None = None  # chip against reference; ``None`` if not asked for
    proven: bool | None = None  # for every input; ``None`` if not verified
    # seconds, bound_seconds: the same times if ticks last as long as their work, from the event simulation and at most
    seconds: RowSeconds | None = None
    bound_seconds: RowSeconds | None = None
    # mapper stages cut short by the exploration's time limit, where more time may find fewer cores; and ``"energy"`` if
    # it was measured with one stimulus only, or not at all
    cut_short: tuple[str, ...] = ()


class Measurements:
    """Results of candidates by fingerprint, each mapped and simulated once; a context manager."""

    # A row of the store (as sweeps use for their runs) is named as reports show it and has, besides its figures, a
    # record with a checksum, from which it is restored. Rows that were cut short are kept in memory only.
    # store: file of the kept rows; ``None`` to keep them in memory only

    def __init__(
        self,
        setting: Setting,
        name_of: Callable[[tuple[int, ...]], str],
        store: str | Path | None = None,
        workers: Workers = Workers(),  # noqa: B008 - a value
        until: float | None = None,
    ) -> None:
        self._setting, self._name_of, self._path = setting, name_of, store
        on_cluster = workers.scheduler is not None
        alone = workers.processes == 1 and not on_cluster
        work = RowWork.of(setting, until, alone=alone, on_cluster=on_cluster)
        self._runner = job_runner(measure_row, work, workers, "explore")
        self._ahead = Ahead(self._runner)
        self._store: RunStore | None = None
        self._rows: dict[str, Measured | None] = {}
        self._digests: dict[int, str] = {}
        self._open = ExitStack()

    def __enter__(self) -> Measurements:
        with ExitStack() as opening:
            if self._path is not None:
                self._store = opening.enter_context(RunStore(self._path))
            opening.enter_context(self._runner)
            self._open = opening.pop_all()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._open.close()

    @property
    def at_once(self) -> int:
        """Number of candidates that are measured concurrently."""
        return self._runner.at_once

    def has(self, fingerprint: str) -> bool:
        """Whether a candidate was measured before, so that it need not be mapped."""
        return self._known(fingerprint) is not None

    def prepare(self, fingerprint: str, candidate: Candidate) -> None:
        """Begin to measure a candidate that is likely to be needed."""
        if self._known(fingerprint) is None:
            self._ahead.prepare(fingerprint, candidate)

    def get(self, fingerprint: str, candidate: Candidate) -> Measured:
        """Measure a candidate, unless it was measured before."""
        known = self._known(fingerprint)
        if known is not None:
            return known
        self._rows[fingerprint] = measured = self._ahead.get(fingerprint, candidate)
        if self._store is not None and not measured.cut_short:  # it is on the disk when the call returns
            outcome = _outcome(measured, fixed_tick(self._setting.chips[candidate.chip]))
            self._store.keep(self._run(fingerprint, candidate), outcome, record_of(fingerprint, measured))
        return measured

    def _known(self, fingerprint: str) -> Measured | None:
        """Look up a result; ignore one that is not verified if it must be."""
        if fingerprint not in self._rows:
            record = None if self._store is None else self._store.record(fingerprint)
            try:
                self._rows[fingerprint] = None if record is None else measured_of(fingerprint, record)
            except InputError as error:
                raise InputError(f"store {self._path}: row {fingerprint[:12]}, {error}; name another file") from None
        found = self._rows[fingerprint]
        if found is not None and found.status == "mapped" and self._setting.verify and found.verified is None:
            return None
        return found

    def _run(self, fingerprint: str, candidate: Candidate) -> SweepRun:
        network, told = self._setting.network_of(candidate.values), self._setting.stimulus
        if id(network) not in self._digests:
            self._digests[id(network)] = network_digest(network)
        return SweepRun(
            key=fingerprint,
            network=network.name,
            network_digest=self._digests[id(network)],
            pattern=self._name_of(candidate.values),
            execution=candidate.execution,
            chip=candidate.chip,
            chip_figures="{}",
            seed=told.get("seed"),
            n_frames=told["n_frames"],
            density=told.get("density"),
            mapping=told_options(options_of(candidate)),
            n_stimuli=told["n_stimuli"],
            asked_by="explore",
        )


def _outcome(measured: Measured, tick_seconds: float) -> RunOutcome:
    """Outcome of a row in the form of sweeps; times are those of the mapped schedule."""
    if measured.status == "does not fit":
        return RunOutcome("does not fit", "map", DoesNotFitError.exit_code, measured.message)
    period = measured.frame_period_ticks
    found = {
        "frame_period_ticks": None if period is None else float(period),
        "sampling_frequency_hz": None if period is None else 1.0 / times_of(measured, tick_seconds).frame_period,
        "predicted_first_response_ticks": measured.first_response_ticks,
        "predicted_full_response_ticks": measured.full_response_ticks,
        "worst_case_reaction_ticks": measured.worst_case_reaction_ticks,
        "cores": measured.cores,
        "joules_per_frame": measured.energy_joules,
        "verified": measured.verified,
    }
    figures = {key: value for key, value in found.items() if value is not None}
    if measured.verified is False:
        return RunOutcome("mapped", "simulate", VerificationError.exit_code, "chip and reference differ", figures)
    return RunOutcome("mapped", figures=figures)


# The work of a worker: one candidate measured, whatever machine it is on.
class RowWork(NamedTuple):
    """Work shared by all rows."""

    version: str  # of neuromap, in the process that asks
    setting: Setting  # setting of all candidates
    # time at which mappings end their searches, by the monotonic clock, which all processes of a machine share
    until: float | None
    # the same by the wall clock, the only one that machines share; ``None`` if all workers are on this machine
    until_on_cluster: float | None
    # tilings of rows mapped before, if one process maps them all: other workers would get a copy once, and never send
    # back what they find
    known: dict[str, Tilings] | None

    @classmethod
    def of(cls, setting: Setting, until: float | None, *, alone: bool, on_cluster: bool) -> RowWork:
        """Make it for workers of this machine, for this process only (``alone``), or for those of a cluster."""
        on_wall = None if until is None or not on_cluster else until - time.monotonic() + time.time()
        return cls(__version__, setting, until, on_wall, {} if alone else None)

    @property
    def until_here(self) -> float | None:
        """Time at which mappings end their searches, by the monotonic clock of this process."""
        if self.until_on_cluster is None:
            return self.until
        return self.until_on_cluster - time.time() + time.monotonic()


def measure_row(work: RowWork, job: tuple[str, Candidate]) -> Measured:
    """Measure a candidate."""
    require_one_version(work.version)
    return evaluate(work.setting, job[1], work.known, work.until_here)


# Map one candidate and measure it: the work of a process that assists a search.
_BEFORE_REFUSALS: tuple[Stage, ...] = ("tiling", "splitters", "packing")
"""Stages that, with more time, may find that a network fits."""
_LEAST_SECONDS = 1e-6
"""Time of a mapping that begins after the limit: its searches end at once."""
_SEARCHED = 0.5
"""Share of the time left that a row's mapping may search; verifying and measuring take about as long."""
_MOST_TILES = 10_000
"""Most tiles kept from row to row; each takes as much memory as a core of a row, some kilobytes."""


def evaluate(
    setting: Setting, candidate: Candidate, known: dict[str, Tilings] | None = None, until: float | None = None
) -> Measured:
    """Map a candidate, measure its energy, verify it."""
    network = setting.network_of(candidate.values)
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    chip, seconds = setting.chips[candidate.chip], None
    if until is not None:  # the time left, or a share of it if the row is verified and measured afterwards
        seconds = max(_LEAST_SECONDS, (until - time.monotonic()) * (_SEARCHED if setting.verify else 1))
    options = options_of(candidate, seconds).meant_for(chip)
    budget = Budget(options.seconds)
    tilings = None if known is None else _kept(known, candidate.chip)
    try:
        mapped = map_with_stages(rollout, chip, options, tilings=tilings)
    except InputError as error:
        if candidate.spread is None:
            raise
        return Measured("does not fit", message=str(error))  # needs more cores than allowed
    except DoesNotFitError as error:
        hurried = tuple(stage for stage in _BEFORE_REFUSALS if budget.is_over(stage))
        _forget(known, candidate.chip, hurried)
        return Measured("does not fit", message=str(error), cut_short=hurried)
    _forget(known, candidate.chip, mapped.cut_short)
    timed, program = mapped.rollout, mapped.program
    scale = 1 if timed.is_tick_level else program.ticks_per_step
    outputs = network.outputs
    verified = proven = None
    if setting.verify:
        verified = hold_against_reference(timed, program, setting.stimuli[0], None, setting.engine).verified
        proven = verified and is_proven(timed, program)
    figures, measured_in_haste = _figures(setting, program, until)
    energy = None if figures is None else figures.joules_spread
    firsts = {name: timed.first_response(name) * scale for name in outputs}
    fulls = {name: timed.full_response(name) * scale for name in outputs}
    answers = {source: steps * scale for source, steps in timed.answers.items()}
    reaction = timed.worst_case_reaction(None, scale)
    clock = ResponseSeconds(program, None if figures is None else figures.seconds)

    def seconds_of(which: Which) -> RowSeconds | None:
        """Convert times in ticks to timed seconds; ``None`` if ticks are of fixed length or were not timed."""
        if clock.frames is None:
            return None
        waited = clock.reaction(answers, reaction - max(answers.values()), which)
        first, full = ([clock.of(t, name, which) or 0.0 for name, t in of.items()] for of in (firsts, fulls))
        spans = min(first), max(full), waited, float(clock.frames.frame_period(which).mean())
        return RowSeconds._make(t for t in spans if t is not None)

    return Measured(
        "mapped",
        schedule="ticks" if timed.is_tick_level else "steps",
        frame_period_ticks=program.period,
        first_response_ticks=min(firsts.values()),
        full_response_ticks=max(fulls.values()),
        worst_case_reaction_ticks=reaction,
        full_response_exact=all(timed.full_response_is_exact(name) for name in outputs),
        cores=program.n_cores,
        energy_joules=None if energy is None else energy.mean,
        energy_half_width_joules=None if energy is None else energy.half_width,
        verified=verified,
        proven=proven,
        seconds=seconds_of("measured"),
        bound_seconds=seconds_of("bound"),
        cut_short=(*mapped.cut_short, *measured_in_haste),
    )


def options_of(candidate: Candidate, seconds: float | None = None) -> MappingOptions:
    """Mapper options of a candidate."""
    chosen: dict[str, Any] = {name: getattr(candidate, name) for name in CHOICES}
    chosen["objective"] = "deliveries" if candidate.spread is None else "tick"
    return MappingOptions(**chosen, max_cores=candidate.spread, seconds=seconds)


def _forget(known: dict[str, Tilings] | None, chip: str, cut_short: Sequence[str]) -> None:
    """Discard tilings of a mapping that was cut short: with more time a row would find others."""
    if known is not None and cut_short:
        known.pop(chip, None)


def _kept(known: dict[str, Tilings], chip: str) -> Tilings:
    """Tilings for a chip, restarted when there are too many; they do not depend on the options of candidates."""
    if chip not in known or known[chip].n_tiles > _MOST_TILES:
        known[chip] = Tilings(MappingOptions())
    return known[chip]


def _figures(
    setting: Setting, program: ChipProgram, until: float | None
) -> tuple[SteadyFigures | None, tuple[str, ...]]:
    """Measure energy and time over the stimuli, or over the first if time is short; return also what was cut short."""
    # If the chip has no figures, or the time is over, nothing is run.
    if not program.chip.energy and not program.chip.is_timed:
        return None, ()
    if until is not None and time.monotonic() > until:
        return None, ("energy",)
    if until is not None and len(setting.stimuli) > 1:
        began = time.monotonic()
        first = steady_figures(program, setting.stimuli[:1], setting.engine)
        now = time.monotonic()
        if now + (now - began) * len(setting.stimuli) > until:
            return first, ("energy",)
    return steady_figures(program, setting.stimuli, setting.engine), ()


# Measurements of a candidate as a record of its row in a store, checked when read.


FORMAT = "neuromap-explorer-results-3"
_LARGEST = 1 << 53
"""Larger integers are not exact as floating-point numbers, and no figure of a chip is that large."""
_LONGEST_MESSAGE = 2000
_WHOLE = ("first_response_ticks", "full_response_ticks", "worst_case_reaction_ticks", "cores")
_FRACTION = re.compile(r"[1-9][0-9]{0,15}/[1-9][0-9]{0,15}", re.ASCII)
_SCHEDULES = ("steps", "ticks")
_ENERGIES = ("energy_joules", "energy_half_width_joules")
_SECONDS = ("seconds", "bound_seconds")
"""Fields that a record has only if ticks are timed."""
_KEPT = tuple(field.name for field in fields(Measured) if field.name not in ("cut_short", "proven", *_SECONDS))
"""Fields of every record; what was cut short is not kept."""
_FIGURES = tuple(field.name for field in fields(Measured) if field.default is None and field.name in _KEPT)


def fingerprint_of_setting(setting: Setting) -> str:
    """Digest of network, stimuli and noise seed: everything but chip and candidate."""
    # Engine and threads do not affect any spike.
    found = Fingerprint(f"{FORMAT} {__version__} {setting.engine.noise_seed}")
    found.add_network(setting.network)
    for frames in setting.stimuli:
        found.add_frames(frames)
    return found.text()


def record_of(fingerprint: str, measured: Measured) -> str:
    """Write a measurement as the record of its row."""
    period = measured.frame_period_ticks
    found = {name: value for name, value in asdict(measured).items() if name in _KEPT}
    found |= {name: times for name in _SECONDS if (times := getattr(measured, name)) is not None}
    found |= {} if measured.proven is None else {"proven": measured.proven}
    found["frame_period_ticks"] = str(period) if isinstance(period, Fraction) else period
    checksum = with_checksum({"key": fingerprint, **found})["checksum"]
    return json.dumps({**found, "checksum": checksum}, allow_nan=False)


def measured_of(fingerprint: str, record: str) -> Measured:
    """Read what :func:`record_of` wrote."""
    try:
        found = json.loads(record)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("record: is not JSON object")
    if found.get("checksum") != with_checksum({"key": fingerprint, **found})["checksum"]:
        raise InputError("record: was changed since it was written (its checksum differs)")
    measured = _measured(found)
    if measured is None:
        raise InputError("record: is damaged")
    return measured


def _measured(record: Mapping[str, Any]) -> Measured | None:
    """Check a record: all figures if mapped, none if it does not fit; ``None`` if it is wrong."""
    found = {name: record[name] for name in _KEPT if name in record}
    if len(found) != len(_KEPT) or not isinstance(found["message"], str) or found["schedule"] not in _SCHEDULES:
        return None
    found["message"] = printable_line(found["message"], _LONGEST_MESSAGE)
    if found["status"] == "does not fit":
        return Measured(**found) if found["message"] and all(found[name] is None for name in _FIGURES) else None
    found["frame_period_ticks"] = _period(found["frame_period_ticks"])
    found["proven"] = record.get("proven")  # missing in some records
    timed = {name: record[name] for name in _SECONDS if name in record}
    is_right = (
        found["status"] == "mapped"
        and all(_is_count(found[name]) for name in _WHOLE)
        and found["frame_period_ticks"] is not None
        and all(found[name] is None or _is_amount(found[name]) for name in _ENERGIES)
        and isinstance(found["full_response_exact"], bool)
        and all(isinstance(found[name], bool | None) for name in ("verified", "proven"))
        and all(map(_are_times, timed.values()))
    )
    if not is_right:
        return None
    found |= {name: float(found[name]) for name in _ENERGIES if found[name] is not None}
    found |= {name: RowSeconds(*map(float, times)) for name, times in timed.items()}
    return Measured(**found)


def _period(value: Any) -> Time | None:
    """Read a frame period, a count or ``"p/q"``; ``None`` if it is neither."""
    if not isinstance(value, str):
        return value if _is_count(value) else None
    if not _FRACTION.fullmatch(value):
        return None
    period = whole(Fraction(value))
    return period if 1 <= period <= _LARGEST else None


def _are_times(value: Any) -> bool:
    return isinstance(value, list) and len(value) == N_TIMES and all(_is_amount(time) and time > 0 for time in value)


def _is_amount(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value) and value >= 0) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value > 0
