"""``FaultStudy``: output error, first response and accuracy over fault rates; ``study_faults`` measures one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.accuracy import decide
from neuromap.accuracy.measure import ImageFrames
from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import InputError, StimulusError
from neuromap.faults.edited_program import (
    ON_THE_WAY,
    Frames,
    StruckFrames,
    frames_of,
    output_frames,
    strike,
    without_ways,
)
from neuromap.faults.options import EVERY_KIND, KINDS, Faults, ShownImages, StudyOptions, check_kinds, check_rates
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.jobs.ahead import not_lost
from neuromap.jobs.results_file import ResultKind, ResultsFile
from neuromap.jobs.runners import Workers, job_runner
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network.build import require_weights
from neuromap.options import keywords_of
from neuromap.render.value import Card, Documented, Drawn, Paged, Printed, Tabled
from neuromap.rollout.pattern import first_frame
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli, describe_stimuli
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.verification.wave import measure
from neuromap.version import __version__

# Confidence level of all intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate(Card):
    """A figure and its 95 % confidence interval.

    Attributes
    ----------
    value : float
        The figure; a fraction, 0 to 1.
    low, high : float or None
        Ends of the interval; ``None`` if there are too few values.
    """

    value: float
    low: float | None
    high: float | None


def mean_of(values: Sequence[float], most: float = 1.0) -> Estimate:
    """Return the mean with Student's t interval, clipped to 0 and the greatest possible value."""
    from scipy.special import stdtrit  # slow to import

    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return Estimate(mean, None, None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * deviation / math.sqrt(n)
    return Estimate(mean, max(0.0, mean - half), min(most, mean + half))


def share_of(count: int, n: int) -> Estimate:
    """Return a fraction of seeds with Wilson's interval (JASA 22, 1927), valid for few seeds and at 0 and 1."""
    from scipy.special import ndtri

    z = float(ndtri((1 + LEVEL) / 2))
    share, weight = count / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / weight
    half = z / weight * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


# Measurements of one chip with faults: output error, first response, accuracy.


@dataclass(frozen=True)
class FaultRun(Card):
    """Measurements of a program with faults of one kind and seed, on all stimuli.

    Attributes
    ----------
    pattern, execution, kind : str
        Names.
    rate : float
        Probability that a part at risk fails, 0 to 1.
    seed : int
        Seed of the faults.
    struck, at_risk : int
        Number of parts that failed, and that could fail: cores, links, neurons or synapses; for dropped spikes and
        flipped payloads, spikes or messages sent.
    bits : int
        Number of compared values of output frames: stimuli times frames times neurons.
    lost, added : int
        Spikes, or messages, missing from them, and present only with faults.
    first_response_ticks : int or None
        Ticks from an input's sampling to the first output that it reaches, measured on the program; ``None`` if it
        reaches none.
    correct : int or None
        Images that the last frame classifies correctly; ``None`` without labels.
    images : int
        Number of images; 0 without labels.
    changed : int
        Messages of graded outputs with a different value.
    """

    pattern: str
    execution: str
    kind: str
    rate: float
    seed: int
    struck: int
    at_risk: int
    bits: int
    lost: int
    added: int
    first_response_ticks: int | None
    correct: int | None
    images: int
    changed: int = 0

    @property
    def error(self) -> float:
        """Fraction of the output frames' values that differ from those without faults."""
        return (self.lost + self.added + self.changed) / self.bits if self.bits else 0.0

    @property
    def accuracy(self) -> float | None:
        """Fraction of images classified correctly."""
        return None if self.correct is None else self.correct / self.images


class FaultJob(NamedTuple):
    """Chips with faults of one kind and seed, at several rates."""

    setup: int  # number of the setup that they run
    kind: str  # kind of faults
    seed: int  # seed of faults
    rates: tuple[float, ...]  # one chip per rate


def run_job(setups: Sequence[FaultSetup], job: FaultJob) -> tuple[FaultRun, ...]:
    """Measure the chips of a job."""
    return tuple(_run(setups[job.setup], Faults({job.kind: rate}, job.seed)) for rate in job.rates)


def _run(setup: FaultSetup, faults: Faults) -> FaultRun:
    ((kind, rate),) = faults.rates.items()
    found = _frames(setup, faults)
    pairs = [(setup.expected[name][:, k:], found.frames[name][:, k:]) for name, k in setup.first.items()]
    count, struck = found.counts.get(kind, (0, 0)), found.program
    if faults.rate("dropped-spikes") == 1:  # below 1, single spikes are lost but no connection is
        struck = without_ways(struck, np.ones(len(struck.wires.core), np.bool_))
    ticks = [one.first_response_ticks for one in measure(struck).values()]
    return FaultRun(
        pattern=setup.pattern,
        execution=setup.execution,
        kind=kind,
        rate=rate,
        seed=faults.seed,
        struck=count[0],
        at_risk=count[1],
        bits=sum(right.size for right, _ in pairs),
        lost=sum(int(np.count_nonzero((right != 0) & (now == 0))) for right, now in pairs),
        added=sum(int(np.count_nonzero((now != 0) & (right == 0))) for right, now in pairs),
        changed=sum(int(np.count_nonzero((right != now) & (right != 0) & (now != 0))) for right, now in pairs),
        first_response_ticks=min((tick for tick in ticks if tick is not None), default=None),
        correct=setup.correct(found.frames),
        images=0 if setup.labels is None else len(setup.labels),
    )


def _frames(setup: FaultSetup, faults: Faults) -> StruckFrames:
    """Run the stimuli, unless nothing failed and the outputs are known; what is sent is counted in any case."""
    struck = strike(setup.program, faults)
    if struck.program is setup.program and faults.rates.keys().isdisjoint(ON_THE_WAY):
        return StruckFrames(struck.program, dict(setup.expected), struck.counts)
    return frames_of(struck, faults, setup.stimuli, setup.choice)


def _from_record(entry: Mapping[str, Any]) -> FaultRun | None:
    try:
        entry = {"changed": 0, **entry}  # results from before graded values
        run = FaultRun(**{name: entry[name] for name in FaultRun.__dataclass_fields__})
        numbers = (run.seed, run.struck, run.at_risk, run.bits, run.lost, run.added, run.changed, run.images)
        ticks = (run.first_response_ticks, run.correct)
        is_right = all(type(n) is int and n >= 0 for n in (*numbers, *(t for t in ticks if t is not None)))
        return run if is_right and run.lost + run.added + run.changed <= run.bits else None
    except (KeyError, TypeError):
        return None


# Storage of runs in a file.
RESULTS: ResultKind[FaultRun] = ResultKind("neuromap fault runs 1", "fault runs", asdict, _from_record)
# Setup of a fault study: a mapped rollout, its stimuli, and its outputs without faults.


@dataclass(frozen=True, eq=False)
class FaultSetup(Value):
    """A mapped rollout, its stimuli and its outputs without faults."""

    # pattern, execution: names
    pattern: str
    execution: str
    program: ChipProgram  # without faults
    stimuli: Frames  # (S, n_frames, size): input frames by input node
    expected: Frames  # (S, n_frames, size): by output node, without faults
    # first frame that depends on the stimulus, by output node; frames are compared from there on
    first: Mapping[str, int]
    choice: EngineChoice  # engine that runs the ticks
    labels: NDArray[np.int64] | None = None  # (S,): classes of the stimuli, if they are images
    classes: int = 0  # number of classes; 0 without labels

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name in ("stimuli", "expected"):
            rows = {node: frozen(array) for node, array in getattr(self, name).items()}
            object.__setattr__(self, name, ReadOnlyMapping(rows))
        object.__setattr__(self, "first", ReadOnlyMapping(self.first))

    def correct(self, frames: Frames) -> int | None:
        """Count the images that the last output frame classifies correctly; ``None`` without labels."""
        if self.labels is None:
            return None
        (spikes,) = frames.values()  # networks for images have one output
        return int(np.count_nonzero(decide(spikes[:, -1], self.classes) == self.labels))

    def fingerprint(self) -> str:
        """Return a digest of everything that the figures depend on, as 64 hexadecimal digits."""
        digest = sha256(program_bytes(self.program))
        for rows in self.stimuli.values():
            content = np.packbits(rows) if rows.dtype == np.bool_ else rows
            digest.update(repr(rows.shape).encode() + content.tobytes())
        labels = None if self.labels is None else self.labels.tolist()
        told = (sorted(self.first.items()), self.choice.noise_seed, labels, self.classes)
        digest.update(repr(told).encode())
        return digest.hexdigest()


def set_up(rollout: Rollout, program: ChipProgram, stimuli: Frames | ImageFrames, choice: EngineChoice) -> FaultSetup:
    """Make the setup of a program, by running it without faults."""
    # shapes: stimuli (S, n_frames, size)
    images = stimuli.images if isinstance(stimuli, ImageFrames) else None
    shown = stimuli.stimuli(slice(None)) if isinstance(stimuli, ImageFrames) else stimuli
    first = {name: _first(rollout, name) for name in rollout.network.outputs}
    n_frames = next(iter(shown.values())).shape[1] if shown else 0
    if n_frames <= max(first.values()):
        raise StimulusError(
            f"stimuli: have {n_frames} frames, frame 0 included; outputs of {rollout.pattern.name} depend on them from "
            f"frame {max(first.values())} on, give {max(first.values()) + 1} or more"
        )
    return FaultSetup(
        pattern=rollout.pattern.name or rollout.pattern.digits,
        execution=rollout.execution,
        program=program,
        stimuli=shown,
        expected=output_frames(program, shown, choice),
        first=first,
        choice=choice,
        labels=None if images is None else images.labels.astype(np.int64),
        classes=0 if images is None else len(images.classes),
    )


def _first(rollout: Rollout, output: str) -> int:
    """Return the first frame that depends on the stimulus; 1 for an output that no input reaches."""
    try:
        return first_frame(rollout.pattern, output)
    except KeyError:
        return 1


@dataclass(frozen=True)
class FaultPoint(Card):
    """Figures of one pattern and execution with faults of one kind at one rate, over all seeds.

    Attributes
    ----------
    pattern, execution, kind : str
        Names.
    rate : float
        Probability that a part at risk fails, 0 to 1.
    seeds : int
        Number of chips.
    struck, at_risk : float
        Number of parts that failed, and that could fail, averaged over seeds.
    error : Estimate
        Fraction of the output frames' values that differ from those without faults.
    lost, added : float
        Its parts: spikes that are missing, and spikes present only with faults. For graded outputs, messages; the rest
        of the error is changed values.
    no_response : Estimate
        Fraction of chips on which no input reaches an output.
    first_response_ticks : float or None
        Mean over the other chips, in ticks from an input's sampling; ``None`` if there are none.
    accuracy : Estimate or None
        Fraction of images classified correctly; ``None`` without images.
    first_response_low_ticks, first_response_high_ticks : float or None
        Ends of the interval of that mean; ``None`` if fewer than two chips have a response.
    """

    pattern: str
    execution: str
    kind: str
    rate: float
    seeds: int
    struck: float
    at_risk: float
    error: Estimate
    lost: float
    added: float
    no_response: Estimate
    first_response_ticks: float | None
    accuracy: Estimate | None
    first_response_low_ticks: float | None = None
    first_response_high_ticks: float | None = None

    @property
    def curve(self) -> str:
        """Name of its curve: pattern and execution."""
        return f"{self.pattern}, {self.execution}"


@dataclass(frozen=True, eq=False)
class FaultStudy(Documented, Tabled, Paged, Drawn, Printed):
    """Behaviour of a network on a chip when parts of the chip fail.

    Attributes
    ----------
    network, chip : str
        Names.
    cores : tuple of int
        Cores of each curve's program, in the order of :attr:`curves`.
    stimuli : str
        Description of the stimuli.
    kinds : tuple of str
        Kinds of faults.
    rates : tuple of float
        Fault rates, ascending.
    seeds : int
        Number of chips per point, with seeds from 0.
    images : int
        Number of labelled images; 0 if the stimuli have no labels.
    runs : tuple of FaultRun
        Curves outermost, then kinds, rates, seeds.
    version : str
        Version of neuromap.
    """

    _called = "a study of faults"
    _forms = ("neuromap.faults.page",)

    network: str
    chip: str
    cores: tuple[int, ...]
    stimuli: str
    kinds: tuple[str, ...]
    rates: tuple[float, ...]
    seeds: int
    images: int
    runs: tuple[FaultRun, ...] = field(repr=False)
    version: str = __version__

    @cached_property
    def points(self) -> tuple[FaultPoint, ...]:
        """Means and intervals over seeds of every pattern, execution, kind and rate, in the order of the runs."""
        found: dict[tuple[str, str, str, float], list[FaultRun]] = {}
        for run in self.runs:
            found.setdefault((run.pattern, run.execution, run.kind, run.rate), []).append(run)
        return tuple(map(_point, found.values()))

    @property
    def curves(self) -> tuple[str, ...]:
        """Pattern and execution of every curve."""
        return tuple(dict.fromkeys(point.curve for point in self.points))

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network,
            "chip": self.chip,
            "curves": "; ".join(self.curves),
            "kinds": ", ".join(self.kinds),
            "rates": ", ".join(f"{rate:g}" for rate in self.rates),
            "seeds": self.seeds,
        }


def _point(runs: list[FaultRun]) -> FaultPoint:
    n, first = len(runs), runs[0]
    ticks = [run.first_response_ticks for run in runs if run.first_response_ticks is not None]
    response = mean_of(ticks, math.inf) if ticks else Estimate(0.0, None, None)
    right = [run.accuracy for run in runs if run.accuracy is not None]
    # at rate 0 all seeds are one chip, so the interval is a point
    silent = share_of(n - len(ticks), n) if first.rate else Estimate(*[(n - len(ticks)) / n] * 3)
    return FaultPoint(
        pattern=first.pattern,
        execution=first.execution,
        kind=first.kind,
        rate=first.rate,
        seeds=n,
        struck=sum(run.struck for run in runs) / n,
        at_risk=sum(run.at_risk for run in runs) / n,
        error=mean_of([run.error for run in runs]),
        lost=sum(run.lost / max(1, run.bits) for run in runs) / n,
        added=sum(run.added / max(1, run.bits) for run in runs) / n,
        no_response=silent,
        first_response_ticks=response.value if ticks else None,
        accuracy=mean_of(right) if right else None,
        first_response_low_ticks=response.low,
        first_response_high_ticks=response.high,
    )


# ``study_faults``: measure chips with faults of many seeds on worker processes; interrupted studies can resume.


@keywords_of(StudyOptions)
def study_faults(rollouts: Sequence[Rollout], asked: StudyOptions) -> FaultStudy:
    """Map rollouts onto a chip without faults, apply faults, and measure the effect on their outputs.

    Every chip has faults of one kind. For a given seed, whatever fails at one rate fails at every higher rate. All
    chips see the same stimuli.

    Parameters
    ----------
    rollouts : sequence of Rollout
        Rollouts of one network with weights; each gives a curve.
    chip : str, path or ChipSpec
        Chip to map onto.
    kinds : sequence of str
        Kinds of faults, from ``KINDS``, or ``all`` of these; on graded cores also ``flipped-payloads``.
    rates : sequence of float
        Fault rates, 0 to 1.
    seeds : int
        Number of chips per kind and rate, 1 to 1000, with seeds from 0.
    stimuli : mapping, path, RandomFrames or ShownImages, optional
        Frames of one stimulus, a file of them, random ones, or labelled images; random ones by default.
    n_stimuli : int
        Number of random stimuli, with consecutive seeds.
    options : MappingOptions, optional
        Options of mapping.
    choice : EngineChoice
        Engine that runs the ticks; on one thread if there are several processes.
    results : str or path, optional
        File that stores every measured chip; chips already in it are not measured again.
    processes : int
        Number of chips measured in parallel.
    progress : callable
        ``progress(text, chips done, chips)``.

    Returns
    -------
    FaultStudy

    Raises
    ------
    InputError
        If a kind is unknown, a number is out of range, rollouts are of several networks, or a file is wrong.
    DoesNotFitError
        If a rollout does not fit the chip.
    NetworkError, StimulusError
        If network and stimuli do not match.
    NeuromapError
        If every process that measured a chip was ended from outside; completed measurements are kept.

    Examples
    --------
    >>> import neuromap as nm
    >>> rollout = nm.Rollout(nm.load_network("examples/digits/sr.toml"), "streaming")
    >>> study = nm.faults.study_faults([rollout], kinds=["silent-neurons"], rates=[0, 1], seeds=2)
    >>> [(point.rate, point.error.value > 0, point.no_response.value) for point in study.points]
    [(0.0, False, 0.0), (1.0, True, 1.0)]
    """
    network, progress, processes = _network_of(rollouts), asked.progress, asked.processes
    kinds = check_kinds(one for kind in asked.kinds for one in (KINDS if kind == "all" else [kind]))
    rates = check_rates(asked.rates)
    if not kinds:
        raise InputError(f"study_faults: no kind of faults is given; choose of {', '.join(EVERY_KIND)}")
    spec, kept = load_chip(asked.chip), ResultsFile(asked.results, RESULTS)
    how, setups = replace(asked.choice, threads=1) if processes > 1 else asked.choice, []
    for rollout in rollouts:
        progress(f"mapping {rollout.pattern.name}, {rollout.execution}")
        mapped = map_with_stages(rollout, spec, asked.options)
        shown, said = _shown(mapped.rollout, asked.stimuli, asked.n_stimuli, mapped.program.ticks_per_step)
        setups.append(set_up(mapped.rollout, mapped.program, shown, how))
    keys = [setup.fingerprint() for setup in setups]
    chips = [_Chip(number, kind, rate, seed) for number in range(len(setups)) for kind in kinds for rate in rates
             for seed in range(asked.seeds)]  # fmt: skip
    # chips not stored yet are measured, in one job per setup, kind and seed
    to_do: dict[tuple[int, str, int], dict[float, str]] = {}
    for chip in chips:
        key = chip.key(keys[chip.setup])
        if kept.get(key) is None and (chip.rate or not chip.seed):
            to_do.setdefault((chip.setup, chip.kind, chip.seed), {})[chip.rate] = key
    jobs = [FaultJob(*name, tuple(mine)) for name, mine in to_do.items()]
    n_all, n_done = len(chips), len(chips) - sum(map(len, to_do.values()))
    with job_runner(run_job, tuple(setups), Workers(processes).at_most(len(jobs)), "faults") as runner:
        progress("chips", n_done, n_all)
        for job, measured in (done for batch in runner.results(jobs) for done in batch):
            for key, run in zip(to_do[job[:3]].values(), not_lost(measured), strict=True):
                kept.add(key, run)
            n_done += len(job.rates)
            progress(f"{job.kind}, {setups[job.setup].pattern}", n_done, n_all)
    progress("chips", n_all, n_all)
    runs = ((chip, kept.get(chip.key(keys[chip.setup]))) for chip in chips)
    return FaultStudy(
        network=network,
        chip=spec.name,
        cores=tuple(setup.program.n_cores for setup in setups),
        stimuli=said,
        kinds=kinds,
        rates=rates,
        seeds=asked.seeds,
        images=0 if setups[0].labels is None else len(setups[0].labels),
        # labelled as requested: patterns may share a program, and seeds share the chip without faults
        runs=tuple(
            replace(one, pattern=setups[chip.setup].pattern, execution=setups[chip.setup].execution, seed=chip.seed)
            for chip, one in runs
            if one is not None
        ),
    )


class _Chip(NamedTuple):
    """One chip to measure."""

    setup: int
    kind: str
    rate: float
    seed: int

    def key(self, setup: str) -> str:
        """Return the fingerprint of its result; at rate 0 all seeds are one chip."""
        told = (setup, self.kind, self.rate, self.seed if self.rate else 0)
        return sha256(repr(told).encode()).hexdigest()


def _shown(
    rollout: Rollout, stimuli: object, n_stimuli: int, ticks_per_step: int
) -> tuple[Mapping[str, NDArray[np.bool_]] | ImageFrames, str]:
    if isinstance(stimuli, ShownImages):
        images, n_frames, seed = stimuli
        said = f"{counted(len(images.images), 'image')} of {images.name}, {images.part}, frame {n_frames} decides"
        return ImageFrames.of(rollout, images, n_frames, seed, ticks_per_step), said
    random = stimuli if isinstance(stimuli, RandomFrames) else None
    given = None if random is not None else stimuli
    each, told = choose_stimuli(rollout.network, given, random, n_stimuli)  # type: ignore[arg-type]
    return {name: np.stack([one[name] for one in each]) for name in each[0]}, describe_stimuli(told)


def _network_of(rollouts: Sequence[Rollout]) -> str:
    if not isinstance(rollouts, Sequence) or not rollouts:
        raise InputError("study_faults: needs one rollout or more, such as [Rollout(network, 'streaming')]")
    for rollout in rollouts:
        needs("study_faults: rollout", rollout, Rollout)
        if rollout.network is not rollouts[0].network:
            raise InputError(f"study_faults: rollouts of {rollouts[0].network.name} and of another network; give one")
    require_weights(rollouts[0].network)
    return rollouts[0].network.name
