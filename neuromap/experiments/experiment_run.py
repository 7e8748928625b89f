"""``run_experiment``: all runs of an experiment on worker processes; interrupted experiments can resume."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from neuromap.datasets.sources import load_images, name_of_source
from neuromap.datasets.tracks import PARTS, digest_of_parts
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import InputError, NeuromapError
from neuromap.experiments.experiment import RESULTS, Curve, Experiment
from neuromap.experiments.experiment_result import (
    CurveResult,
    CurveRun,
    ExperimentResult,
    checkpoint_name,
    gather,
    run_curve,
)
from neuromap.files.argument_checks import needs, path_given, whole_number
from neuromap.files.messages import did_you_mean, show_name
from neuromap.jobs.ahead import not_lost
from neuromap.jobs.results_file import ResultKind, ResultsFile
from neuromap.jobs.runners import Workers, check_processes, job_runner
from neuromap.jobs.silent import silent
from neuromap.training.network_training import encoding_given, network_digest
from neuromap.training.options.training_options import TrainingOptions, require_device, require_torch

_LOGGER = logging.getLogger("neuromap")
_POLL_SECONDS = 2.0


def run_experiment(
    experiment: Experiment,
    data: str,
    folder: str | Path,
    *,
    processes: int = 1,
    repetitions: int | None = None,
    epochs: int | None = None,
    limit: int | None = None,
    only: Sequence[str] = (),
    device: str | None = None,
    precision: str | None = None,
    graphs: bool = False,
    progress: Callable[[str, float, float], None] = silent,
) -> ExperimentResult:
    """Train every curve as often as the experiment specifies, and measure each run on the test images.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    data : str
        Source of the images, such as ``"mnist:PATH"``; see :func:`neuromap.datasets.load_images`.
    folder : str or Path
        Folder of a checkpoint for every run and the file ``results`` of completed runs: killed runs resume from
        their last epoch, and completed ones are not repeated. Results of other images are refused; if all runs are
        completed and the images cannot be read, results are shown with a warning.
    processes : int
        Number of parallel runs, each on one thread.
    repetitions, epochs, limit : int, optional
        Override the runs per curve and the epochs, and limit the images of every part, for a quick look.
    only : sequence of str
        Names of curves, or of networks for all their curves; all by default.
    device, precision, graphs : optional
        Override the experiment's options; see :class:`~neuromap.training.TrainingOptions`.
    progress : callable
        ``progress(text, epochs done, epochs)``, over all runs.

    Returns
    -------
    ExperimentResult
        Curves with their spread.

    Raises
    ------
    InputError
        If the images do not match the experiment's scheme or those of the folder's results, a number is out of range,
        or a file is wrong.
    TrainingError
        If a loss is not finite.
    NeuromapError
        If every process that did a run was ended from outside; completed runs are kept.
    """
    needs("run_experiment", experiment, Experiment)
    check_processes(processes)
    if data.split(":")[0] != experiment.data:
        raise InputError(f"experiment {experiment.name}: needs {experiment.data} images; found data {data!r}")
    repetitions = experiment.repetitions if repetitions is None else repetitions
    if whole_number("repetitions", repetitions) < 1:
        raise InputError(f"repetitions = {repetitions}: must be 1 or more runs of every curve; leave it out for all")
    if limit is not None and whole_number("limit", limit) < 1:
        raise InputError(f"limit = {limit}: must be 1 or more images; leave it out for all")
    experiment = replace(experiment, curves=_only(experiment, only))
    named: dict[str, Any] = {"epochs": epochs, "device": device, "precision": precision, "graphs": graphs or None}
    chosen = replace(
        experiment.options, threads=1, **{name: value for name, value in named.items() if value is not None}
    )
    if is_new := not path_given("run_experiment: folder", folder).exists():
        _can_train(chosen)
        load_images(data, "test", limit=1)  # if there are none, no folder is left behind
    folder = _made(folder)
    results = ResultsFile(folder / RESULTS, _RESULTS)
    runs = {
        _fingerprint(run): run
        for k in range(repetitions)
        for curve in experiment.curves
        for run in [CurveRun(curve, k, chosen, data, limit, folder, experiment.starts)]
    }
    to_do = [key for key in runs if results.get(key) is None]
    if to_do and not is_new:  # results trained on another device can be shown here
        _can_train(chosen)
    if known := [result for key in runs if (result := results.get(key)) is not None]:
        _require_same_images(folder / RESULTS, known, data, limit, is_done=not to_do)
    checkpoints = [folder / checkpoint_name(run.curve, run.repetition) for run in runs.values()]
    with (
        job_runner(_run_of, runs, Workers(processes).at_most(len(to_do)), "experiment") as runner,
        _watched(checkpoints, chosen.epochs, progress),
    ):
        for key, found in (done for batch in runner.results(to_do) for done in batch):
            results.add(key, not_lost(found))
    return gather(experiment, tuple(result for key in runs if (result := results.get(key)) is not None))


def _only(experiment: Experiment, only: Sequence[str]) -> tuple[Curve, ...]:
    """Select curves by their names or those of their networks."""
    known = [*dict.fromkeys(curve.network.name for curve in experiment.curves), *(c.name for c in experiment.curves)]
    for name in only:
        if name not in known:
            raise InputError(
                f"experiment {experiment.name}: has no curve {show_name(str(name))}; there are "
                f"{', '.join(known)}{did_you_mean(str(name), known)}"
            )
    return tuple(c for c in experiment.curves if not only or {c.name, c.network.name} & {*only})


def _can_train(options: TrainingOptions) -> None:
    require_torch("training")
    require_device(options)


def _run_of(runs: Mapping[str, CurveRun], key: str) -> CurveResult:
    return run_curve(runs[key])


def _made(folder: str | Path) -> Path:
    """Create a folder if it does not exist."""
    path = path_given("run_experiment: folder", folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder {path}: cannot be made ({error.strerror or error}); name another one") from None
    return path


def _fingerprint(run: CurveRun) -> str:
    """Return a digest of everything a result depends on but the pixels, whose digest the result keeps."""
    # so results are found where there are no images; the location of images does not count
    shown_set = name_of_source(run.data)
    network = run.curve.network
    told = (run.curve.name, network_digest(network), run.curve.rollout.pattern.values, run.repetition)
    noise = input_encodings(network)[network.inputs[0]].noise
    shown = {"noise": noise, "starts": list(run.starts), **encoding_given(network)}
    return sha256(repr((told, sorted(run.options.told().items()), shown_set, run.limit, shown)).encode()).hexdigest()


def _require_same_images(
    path: Path, known: Sequence[CurveResult], data: str, limit: int | None, *, is_done: bool
) -> None:
    """Refuse results of other images; warn if nobody can tell, because the images or their digest are missing."""
    try:
        digest = digest_of_parts({part: load_images(data, part, limit=limit) for part in PARTS})
    except NeuromapError as error:
        if not is_done:
            raise
        _LOGGER.warning("results %s: are shown as they were kept, as no images can be compared: %s", path, error)
        return
    for result in known:
        if result.image_digest not in ("", digest):
            raise InputError(
                f"results {path}: {result.curve} saw other images, of digest {result.image_digest} (now {data}, "
                f"{digest}); name another folder"
            )
    if any(not result.image_digest for result in known):
        _LOGGER.warning(
            "results %s: an older version did not keep which images it saw; taken as those of %s", path, data
        )


@contextmanager
def _watched(paths: list[Path], epochs: int, progress: Callable[[str, float, float], None]) -> Iterator[None]:
    """Report completed epochs, read from the checkpoints, while the block runs."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL_SECONDS):
            done = sum(min(epochs_done(path), epochs) for path in paths)
            progress(f"{len(paths)} runs, epochs", done, len(paths) * epochs)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _from_record(entry: Mapping[str, Any]) -> CurveResult | None:
    try:
        accuracy = tuple(float(a) for a in entry["accuracy"])
        return CurveResult(
            str(entry["curve"]),
            int(entry["repetition"]),
            int(entry["epochs"]),
            float(entry["loss"]),
            int(entry["images"]),
            accuracy,
            tuple(tuple(float(a) for a in found) for found in entry.get("by_start", ())),
            tuple(int(n) for n in entry.get("tracks", ())),
            str(entry.get("image_digest", "")),
        )
    except (KeyError, TypeError, ValueError):
        return None


_RESULTS: ResultKind[CurveResult] = ResultKind(
    format="neuromap experiment results 1", title="experiment results", to_record=asdict, from_record=_from_record
)


# Progress of a run, read from the head of its checkpoint.
_MOST_BYTES = 2**26


def epochs_done(path: Path) -> int:
    """Return the number of epochs that a checkpoint claims to hold; 0 if it is missing or unreadable."""
    # For progress display only: the digest is not checked, so nothing else may depend on it.
    try:
        with path.open("rb") as file:
            length = min(int.from_bytes(file.read(8), "little"), _MOST_BYTES)
            found = json.loads(json.loads(file.read(length))["__metadata__"]["about"])["epoch"]
            return max(found, 0) if type(found) is int else 0
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
