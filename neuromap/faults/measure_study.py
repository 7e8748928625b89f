"""``study_faults``: measure chips with faults of many seeds on worker processes; interrupted studies can resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.measure import ImageFrames
from neuromap.errors import InputError
from neuromap.faults.fault_study import RESULTS, FaultJob, FaultRun, FaultSetup, FaultStudy, run_job, set_up
from neuromap.faults.options import EVERY_KIND, KINDS, ShownImages, StudyOptions, check_kinds, check_rates
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.jobs.ahead import not_lost
from neuromap.jobs.results_file import ResultsFile
from neuromap.jobs.runners import Workers, job_runner
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network.build import require_weights
from neuromap.options import keywords_of
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli, describe_stimuli


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
    _measure(chips, setups, keys, kept, processes, progress)
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
        runs=tuple(_of(chip, run, setups[chip.setup]) for chip, run in runs if run is not None),
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


def _measure(
    asked: Sequence[_Chip],
    setups: Sequence[FaultSetup],
    keys: Sequence[str],
    kept: ResultsFile[FaultRun],
    processes: int,
    progress: Callable[..., object],
) -> None:
    """Measure chips not stored yet, in one job per setup, kind and seed."""
    to_do: dict[tuple[int, str, int], dict[float, str]] = {}
    for chip in asked:
        key = chip.key(keys[chip.setup])
        if kept.get(key) is None and (chip.rate or not chip.seed):
            to_do.setdefault((chip.setup, chip.kind, chip.seed), {})[chip.rate] = key
    jobs = [FaultJob(*name, tuple(mine)) for name, mine in to_do.items()]
    n_all, n_done = len(asked), len(asked) - sum(map(len, to_do.values()))
    with job_runner(run_job, tuple(setups), Workers(processes).at_most(len(jobs)), "faults") as runner:
        progress("chips", n_done, n_all)
        for job, runs in (done for batch in runner.results(jobs) for done in batch):
            for key, run in zip(to_do[job[:3]].values(), not_lost(runs), strict=True):
                kept.add(key, run)
            n_done += len(job.rates)
            progress(f"{job.kind}, {setups[job.setup].pattern}", n_done, n_all)
    progress("chips", n_all, n_all)


def _of(chip: _Chip, run: FaultRun, setup: FaultSetup) -> FaultRun:
    """Label a run as requested: patterns may share a program, and seeds share the chip without faults."""
    return replace(run, pattern=setup.pattern, execution=setup.execution, seed=chip.seed)


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
