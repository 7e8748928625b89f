"""One rung of one class: a training that starts from the weights of another, its checkpoint and its accuracy.

A checkpoint is named by all that it depends on, including the trainings before it; so the same search resumes from
what is there, even a rung that was killed between two epochs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.accuracy import decide
from neuromap.accuracy.measure import ImageFrames
from neuromap.datasets.tracks import ImageSet, digest_of_parts
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import InputError
from neuromap.experiments.experiment_run import epochs_done
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.jobs.ahead import not_lost
from neuromap.jobs.results_file import fingerprint_of_chip
from neuromap.jobs.runners import Workers, job_runner
from neuromap.network.network import Network, plain_table
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.searcher.options import ASKED
from neuromap.simulation.run.simulate_batch import simulate_batch
from neuromap.training.chip_training import code_told, train_for_chip
from neuromap.training.network_training import network_digest

Key = TypeVar("Key", bound=Hashable)
_FORMAT = "neuromap search folder 3"
_LOOKED_AT = 64
TRAININGS = "trainings"
"""Folder of the checkpoints, in the folder of the search."""


class RungSetting(NamedTuple):
    """Setting shared by all rungs of a search."""

    networks: Mapping[str, Network]  # by name
    chip: ChipSpec
    images: Mapping[str, ImageSet]  # "train" and "validation"
    training: Mapping[str, Any]
    folder: Path | None  # of checkpoints; ``None`` if workers share no disk and checkpoints are sent


class Rung(NamedTuple):
    """A training: its network, patterns, epochs and initial weights."""

    network: str  # name
    patterns: tuple[tuple[int, ...], ...]  # R of every edge; training steps alternate between several patterns
    seed: int
    number: int  # number of trainings of its class before it, also of those that were not kept
    epochs: int
    learning_rate: float
    lineage: str  # digest of all that its initial weights depend on
    is_trunk: bool = False  # whether other rungs start from it; then its learning rate is not annealed to 0
    executions: tuple[str, ...] = ()  # of every pattern, for streams: they determine how a stream is sampled

    @property
    def name(self) -> str:
        """Name of its checkpoint, without the suffix."""
        return sha256(repr(("neuromap rung 3", *self)).encode()).hexdigest()[:24]

    @property
    def file(self) -> str:
        """Name of its checkpoint."""
        return f"{self.name}.safetensors"


class RungJob(NamedTuple):
    """A rung for a worker to train."""

    rung: Rung
    start: str | None  # checkpoint of another rung
    start_bytes: bytes | None = None  # its content, if it is sent


class TrainedRung(NamedTuple):
    """Result of a rung."""

    network: Network
    checkpoint: bytes | None = None  # its content, if it is sent


def train_rung(setting: RungSetting, job: RungJob) -> TrainedRung:
    """Train a rung, or resume from its checkpoint."""
    if setting.folder is not None:
        return _trained(setting, job, setting.folder)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        if job.start is not None and job.start_bytes is not None:
            (place / job.start).write_bytes(job.start_bytes)
        found = _trained(setting, job, place)
        return found._replace(checkpoint=(place / job.rung.file).read_bytes())


def _trained(setting: RungSetting, job: RungJob, folder: Path) -> TrainedRung:
    rung, network = job.rung, setting.networks[job.rung.network]
    seed = rung.seed  # a continued training draws images in another order
    if rung.number:
        seed = int(np.random.SeedSequence([seed, rung.number]).generate_state(1)[0])
    asked = {"epochs": rung.epochs, "seed": seed, "threads": 1, "learning_rate": rung.learning_rate}
    start = None if job.start is None else folder / job.start
    executions = rung.executions or ("windowed",) * len(rung.patterns)
    rollouts = [
        Rollout(network, RolloutPattern(network, values), execution)
        for values, execution in zip(rung.patterns, executions, strict=True)
    ]
    options = {**setting.training, **asked, **({"schedule": "decay"} if rung.is_trunk else {})}
    made = train_for_chip(rollouts, setting.chip, setting.images, options, None, folder / rung.file, start=start)
    return TrainedRung(made.network)


class Trainings:
    """Trains rungs, each after the one whose weights it starts from; a context manager."""

    # tell: called with every finished rung, in the order of completion

    def __init__(self, setting: RungSetting, workers: Workers, tell: Callable[[Rung], object]) -> None:
        assert setting.folder is not None, "a search has a folder, if only for as long as it takes"
        self._here, self._folder, self._tell = setting, setting.folder, tell
        self._travels = workers.scheduler is not None
        shared = setting._replace(folder=None) if self._travels else setting
        self._runner = job_runner(train_rung, shared, workers, "search")

    def __enter__(self) -> Trainings:
        self._runner.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._runner.__exit__(kind, error, trace)

    def train(self, rungs: Mapping[Key, Rung], starts: Mapping[Key, Rung]) -> dict[Key, Network]:
        """Train some rungs; ``starts`` are the rungs whose weights they start from, done before or among them."""
        found: dict[Key, Network] = {}
        waiting, under_way = dict(rungs), dict[str, Key]()
        while waiting or under_way:
            unfinished = {rungs[key].name for key in (*waiting, *under_way.values())}
            ready = [key for key in waiting if key not in starts or starts[key].name not in unfinished]
            for key in ready:
                rung = waiting.pop(key)
                job = self._job(rung, starts.get(key))
                if self._travels and epochs_done(self._folder / rung.file) == rung.epochs:
                    found[key] = train_rung(self._here, job._replace(start_bytes=None)).network
                    self._tell(rung)
                else:
                    under_way[rung.name] = key
                    self._runner.give(job)
            for ended in self._runner.next_done() if under_way else ():
                rung, result = ended.job.rung, not_lost(ended.result)
                if result.checkpoint is not None:
                    write_whole(self._folder / rung.file, result.checkpoint)
                found[under_way.pop(rung.name)] = result.network
                self._tell(rung)
        return found

    def _job(self, rung: Rung, start: Rung | None) -> RungJob:
        if start is None:
            return RungJob(rung, None)
        return RungJob(rung, start.file, (self._folder / start.file).read_bytes() if self._travels else None)


def first_images(images: ImageSet) -> ImageSet:
    """Images on which a training detects a stall after every epoch: few, as a search measures accuracy itself."""
    few = slice(_LOOKED_AT)
    tracks, shown = (None if part is None else part[few] for part in (images.tracks, images.frame_labels))
    return replace(images, images=images.images[few], labels=images.labels[few], tracks=tracks, frame_labels=shown)


def claim_folder(folder: Path, setting: RungSetting, images: Mapping[str, ImageSet]) -> str:
    """Claim a folder for this search, or refuse that of another; return the digest of the setting."""
    used = {part: images[part] for part in ("train", "validation")}
    train = images["train"]
    asked = {
        "network": ", ".join(f"{name} {_digest(one)}" for name, one in setting.networks.items()),
        "chip": f"{setting.chip.name} {fingerprint_of_chip(setting.chip)[:16]}",
        "data": f"{train.name} {digest_of_parts(used)}"
        + (f", {train.frame_ticks} ticks a frame" if train.is_stream else ""),
        "training": json.dumps(dict(setting.training), sort_keys=True),
    }
    text = json.dumps({"format": _FORMAT, **asked}, indent=1) + "\n"
    file = folder / ASKED
    try:
        if not file.exists() and any(folder.glob("*.toml")):
            raise InputError(
                f"folder {folder}: holds network files, but no search, whose front could overwrite them; name another "
                "folder"
            )
        (folder / TRAININGS).mkdir(parents=True, exist_ok=True)
        known = file.read_text(encoding="utf-8") if file.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise InputError(f"folder {folder}: cannot be used ({reason}); name another one") from None
    if known is None or (known != text and not any((folder / TRAININGS).iterdir())):
        write_whole(file, text)  # a refused option leaves nothing to keep
    elif known != text:
        raise InputError(f"folder {folder}: {_told(known, asked)}; name another folder")
    return sha256(text.encode()).hexdigest()


def _digest(network: Network) -> str:
    """Digest of all that a training for a chip depends on: bits of weights and codes of inputs too."""
    codes = [(one.noise, one.frames, *code_told(one)) for one in input_encodings(network).values()]
    training = plain_table(network.tables.get("training", {}))
    return sha256(repr((network_digest(network), codes, training)).encode()).hexdigest()[:16]


def _told(known: str, asked: Mapping[str, str]) -> str:
    try:
        found = json.loads(known)
        if found["format"] != _FORMAT:
            raise ValueError
        name = next(name for name in asked if found[name] != asked[name])
        return f"holds a search of another {name}, {str(found[name])[:400]} (now {asked[name][:400]})"
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return f"its {ASKED} is none of a search, or of one by another version of neuromap"


# Accuracy of a network by PyTorch, on exactly the frames that a chip is shown.


def named_by_model(rollout: Rollout, images: ImageSet, n_frames: int) -> NDArray[np.int64]:
    """Class named by the model for every image, in every frame from the first response on."""
    # shapes: returns (images, n_frames)
    import torch

    from neuromap.training.torch.rollout_model import NetworkModel, class_scores

    shown, model = ImageFrames.of(rollout, images, n_frames, 0), NetworkModel(rollout.network)
    name = shown.encoding.node
    shape = rollout.network.nodes[name].shape or (1, 1, rollout.network.nodes[name].size)
    found = []
    with torch.no_grad():
        for portion in shown.portions():
            frames = torch.from_numpy(np.ascontiguousarray(portion[name].swapaxes(0, 1), dtype=np.float32))
            values = model.window(rollout.pattern, {name: frames.unflatten(-1, shape)})[shown.output]
            found.append(class_scores(values[shown.first :], len(images.classes)).argmax(-1).numpy().T)
    return np.concatenate(found)


def accuracy_by_model(rollout: Rollout, images: ImageSet, n_frames: int) -> NDArray[np.float64]:
    """Accuracy of every frame, as :func:`neuromap.accuracy.accuracy_of_reference` gives it, but faster."""
    named = named_by_model(rollout, images, n_frames)
    right: NDArray[np.float64] = (named == images.labels[:, np.newaxis]).mean(axis=0)
    return right


def agrees_with_model(rollout: Rollout, program: ChipProgram, images: ImageSet, n_frames: int) -> bool:
    """Whether chip and model name the same class for every image in every frame."""
    shown = ImageFrames.of(rollout, images, n_frames, 0, int(program.ticks_per_step))
    spikes = simulate_batch(program, shown.portions(), threads=1).frames(shown.output)[:, shown.first :]
    return np.array_equal(decide(spikes, len(images.classes)), named_by_model(rollout, images, n_frames))
