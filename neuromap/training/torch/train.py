"""``train``: train a network under rollout patterns, epoch by epoch; runs can be interrupted and resumed."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from torch import Tensor, nn

from neuromap.datasets.tracks import ImageSet, starts_of_runs
from neuromap.encoding.frames import InputEncoding, encode
from neuromap.errors import InputError, TrainingError
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import counted
from neuromap.files.sealed import Seal, metadata_of, seal_of, sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.jobs.silent import silent
from neuromap.rollout.pattern import RolloutPattern, first_frame
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.loss_over_time import MEAN, LossOverTime
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions, near_chance, what_to_try
from neuromap.training.torch.gates import Learning, Objective, mean_loss
from neuromap.training.torch.rollout_model import RolloutModel, class_scores, sole_output

_LOGGER = logging.getLogger("neuromap")
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Run:
    """Data, patterns and loss of a training run."""

    # rollouts of one network to train under; optimiser steps cycle through them. For a learned pattern, any rollout of
    # the network
    rollouts: tuple[Rollout, ...]
    batches: Batches  # training images
    validation: Batches | None  # images on which accuracy is measured after every epoch
    classes: int  # number of classes
    task: Mapping[str, Any]  # names the network, the data and the patterns in a checkpoint
    over_time: LossOverTime = MEAN
    learning: Learning | None = None  # how the pattern is learned


def train(
    model: RolloutModel,
    run: Run,
    options: TrainingOptions,
    checkpoint: Path | None = None,
    report: Report = silent,
) -> Progress:
    """Train a model in place."""
    # The loss is the mean cross-entropy of single frames of the output from its first response on (Fischer, Köhler,
    # Pfeil 2018, section 4), or weighs frames by their times. All randomness depends only on the seed and the number of
    # the epoch, so a run that was killed and resumed from its checkpoint ends with the same weights.
    # model: trained in place, on the device of the options, where it stays
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    model.to(options.device)
    model.in_bfloat16 = options.precision == "bfloat16"
    run.batches.device = model.device
    objective = Objective(run.rollouts, run.over_time, options.frames, run.classes, run.learning)
    optimiser = make_optimiser((parameter for _, parameter in model.tensors()), options)
    if objective.gates is not None:
        optimiser.add_param_group(
            {"params": [*objective.gates.parameters()], "fixed": objective.gate_rate(len(run.batches))}
        )
    held = Together((model, objective))
    captured = CapturedSteps() if options.graphs else None
    progress = Progress()
    if checkpoint is not None and checkpoint.exists():
        progress = load_checkpoint(checkpoint, held, optimiser, options, run.task)
    while progress.epoch < options.epochs:
        report(_figures(progress), progress.epoch, options.epochs)
        started = time.perf_counter()
        with exact_sums():
            loss = _train_epoch(model, optimiser, objective, run, options, progress.epoch, captured)
        progress.epoch += 1
        entry: dict[str, Any] = {"epoch": progress.epoch, "loss": loss, "seconds": time.perf_counter() - started}
        objective.begin(progress.epoch)
        if run.validation is not None:
            found = [
                correct_by_frame(model, rollout, run.validation, options.frames, run.classes)
                for rollout in objective.rollouts
            ]
            entry["accuracy"] = [round(float(x), 6) for x in np.mean(found, axis=0)]
        if objective.gates is not None:
            entry["gates"] = [round(x, 6) for x in objective.gates.shares()]
        progress.history.append(entry)
        _tell_stall(progress, run, options)
        if checkpoint is not None:
            save_checkpoint(checkpoint, held, optimiser, progress, options, run.task)
    report(_figures(progress), progress.epoch, options.epochs)
    objective.begin(progress.epoch)
    progress.patterns = objective.patterns
    progress.gates = () if objective.gates is None else objective.gates.labels()
    return progress


# Epochs after which a network that learns is better than chance, whatever the schedule.
_FIRST_EPOCHS = 5


def _tell_stall(progress: Progress, run: Run, options: TrainingOptions) -> None:
    """Warn once, after the first epochs, if a network does not learn."""
    found = progress.history[-1].get("accuracy", ())
    looked_at = min(_FIRST_EPOCHS, options.epochs - 1)
    if found and progress.epoch == looked_at and near_chance(max(found), run.classes):
        _LOGGER.warning(
            "training stalls: after %s validation accuracy is %.3f, near chance; %s",
            counted(progress.epoch, "epoch"),
            max(found),
            what_to_try(options),
        )


def first_frames(model: RolloutModel, run: Run, options: TrainingOptions) -> Tensor:
    """Return the frames of a first batch, as many as a step takes."""
    n_frames = (
        max(first_frame(r.pattern, sole_output(model)) for r in run.rollouts) + options.preceding + options.frames
    )
    run.batches.begin_at(*run.rollouts)
    frames, _ = next(iter(run.batches.epoch(0, n_frames)))
    return frames


def _train_epoch(
    model: RolloutModel,
    optimiser: torch.optim.Optimizer,
    objective: Objective,
    run: Run,
    options: TrainingOptions,
    epoch: int,
    captured: CapturedSteps | None = None,
) -> float:
    """Train for one epoch; return the mean loss."""
    model.train()
    seed = int(np.random.SeedSequence([options.seed, epoch]).generate_state(1)[0])
    torch.manual_seed(seed)  # of dropout
    draws = torch.Generator().manual_seed(seed) if objective.begin(epoch) else None
    n_ticks = 0 if draws is None else run.batches.tick_by_tick()
    if not n_ticks:
        run.batches.begin_at(*(objective.rollouts if draws is None else [Rollout(model.network, "streaming")]))
    steps = len(run.batches) * options.epochs
    total = 0.0
    n_frames = n_ticks or objective.window() + options.preceding
    for number, (frames, labels) in enumerate(run.batches.epoch(epoch, n_frames)):
        step = epoch * len(run.batches) + number
        for group in optimiser.param_groups:
            group["lr"] = group.get("fixed") or learning_rate(options, step, steps)
        optimiser.zero_grad()
        _, shares = objective.turn(step)
        if captured is not None and draws is None and shares.is_mean:
            turn = step % len(objective.patterns)
            scored = partial(_scores, model, objective, options, turn)
            found = captured.step((turn, frames.shape), scored, frames, labels, model)
        else:
            if draws is None:
                scores = _scores(model, objective, options, step, frames)
                loss, found = objective.of_pattern(scores, labels, shares)
            else:
                loss, found = objective.of_draws(model, frames, labels, draws, by_tick=n_ticks > 0)
            loss.backward()
        if not math.isfinite(found):
            raise TrainingError(
                f"training: the loss is {found} in epoch {epoch + 1}, batch {number + 1}; take a lower learning rate "
                f"than {options.learning_rate:g}"
            )
        optimiser.step()
        total += found
    return total / len(run.batches)


def _scores(model: RolloutModel, objective: Objective, options: TrainingOptions, step: int, frames: Tensor) -> Tensor:
    """Compute the scores of a step under its pattern, shape (frames, images, classes)."""
    pattern, shares = objective.turn(step)
    n_before = options.preceding and options.preceding + onset(pattern)
    window = first_frame(pattern, sole_output(model)) + options.preceding + len(shares.shares)
    scores = output_scores(model, pattern, after_another(frames[:window], n_before), objective.classes)
    return scores[options.preceding :]


class CapturedSteps:
    """Losses and gradients of steps as captured CUDA graphs, which launch many small kernels at once."""

    # A rollout consists of many small kernels that take longer to launch than to run. A graph is captured for every
    # pattern and shape of a batch; it reads frames and labels from fixed buffers and writes its own gradients. Warming
    # up draws dropout, but the random state is restored: it changes neither weights nor later draws.

    def __init__(self) -> None:
        self._graphs: dict[Any, tuple[Any, Tensor, Tensor, Tensor, list[tuple[nn.Parameter, Tensor]]]] = {}

    def step(
        self, key: Any, scored: Callable[[Tensor], Tensor], frames: Tensor, labels: Tensor, model: RolloutModel
    ) -> float:
        """Return the mean cross-entropy of a batch, leaving its gradients in the parameters."""
        if key not in self._graphs:
            self._graphs[key] = self._captured(scored, frames.to(model.device), labels.to(model.device), model)
        graph, shown, named, loss, gradients = self._graphs[key]
        shown.copy_(frames)
        named.copy_(labels)
        graph.replay()
        for parameter, gradient in gradients:
            parameter.grad = gradient
        return float(loss)

    def _captured(
        self, scored: Callable[[Tensor], Tensor], frames: Tensor, labels: Tensor, model: RolloutModel
    ) -> tuple[Any, Tensor, Tensor, Tensor, list[tuple[nn.Parameter, Tensor]]]:
        shown, named = frames.clone(memory_format=torch.contiguous_format), labels.clone()

        def loss_of() -> Tensor:
            model.zero_grad(set_to_none=True)
            loss = mean_loss(scored(shown), named)
            loss.backward()
            return loss.detach()

        drawn = torch.cuda.get_rng_state(model.device)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                loss_of()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        model.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = loss_of()
        torch.cuda.set_rng_state(drawn, model.device)
        found = [(parameter, parameter.grad) for parameter in model.parameters() if parameter.grad is not None]
        return graph, shown, named, loss, found


# Steps before a capture, as PyTorch requires, in which libraries choose their kernels.
_WARM_UPS = 3


def _figures(progress: Progress) -> str:
    if not progress.history:
        return ""
    last = progress.history[-1]
    accuracy = last.get("accuracy")
    shown = f", validation {accuracy[0]:.3f} to {accuracy[-1]:.3f} by frame" if accuracy else ""
    return f"loss {last['loss']:.4f}{shown}"


# Optimisers and learning rates.
def make_optimiser(parameters: Iterable[nn.Parameter], options: TrainingOptions) -> torch.optim.Optimizer:
    """Make the optimiser of the options; RMSprop has the constants of the paper's framework (0.9, 1e-7)."""
    rate = options.learning_rate
    if options.optimiser == "rmsprop":
        return torch.optim.RMSprop(parameters, rate, alpha=0.9, eps=1e-7)
    if options.optimiser == "adam":
        return torch.optim.Adam(parameters, rate)
    return torch.optim.SGD(parameters, rate)


def learning_rate(options: TrainingOptions, step: int, steps: int) -> float:
    """Return the learning rate of a step."""
    if options.schedule == "cosine":
        return options.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))
    return options.learning_rate / (1 + options.decay * step)


# Checkpoints: everything needed to resume a training run, in one safetensors file, written atomically.
_KIND = "training checkpoint"
_FORMAT = "neuromap training checkpoint 1"
_MOST_BYTES = 2**34


@dataclass
class Progress:
    """Progress of a run."""

    epoch: int = 0  # completed epochs
    # one entry per epoch: ``epoch`` (from 1), ``loss``, ``seconds``, ``accuracy`` (by frame, on validation images)
    history: list[dict[str, Any]] = field(default_factory=list)
    patterns: tuple[RolloutPattern, ...] = ()  # patterns that the run ends with
    gates: tuple[str, ...] = ()  # edges with gates


class Together(NamedTuple):
    """Tensors of several parts of a run."""

    parts: tuple[RolloutModel | Objective, ...]

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the tensors of all parts, by name."""
        for part in self.parts:
            yield from part.tensors()


def save_checkpoint(
    path: Path,
    model: Together,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    options: TrainingOptions,
    task: Mapping[str, Any],
) -> None:
    """Write a checkpoint."""
    tensors = {f"weights/{name}": _array(value) for name, value in model.tensors()}
    for name, parameter in model.tensors():
        slots = sorted(optimiser.state.get(parameter, {}).items())
        tensors |= {f"optimiser/{name}/{slot}": _array(value) for slot, value in slots}
    if wrong := _not_finite(tensors):
        raise TrainingError(
            f"epoch {progress.epoch}: {wrong} holds NaN or infinity; take a lower learning rate (checkpoint {path} is "
            "left as it was)"
        )
    about = {"options": asdict(options), "task": dict(task), "epoch": progress.epoch, "history": progress.history}
    write_whole(path, sealed_bytes(_KIND, tensors, {"format": _FORMAT, "about": json.dumps(about)}))


def load_checkpoint(
    path: Path,
    model: Together,
    optimiser: torch.optim.Optimizer,
    options: TrainingOptions,
    task: Mapping[str, Any],
) -> Progress:
    """Restore a run from its checkpoint."""
    about, tensors = _read(path)
    epoch, history = int(about["epoch"]), list(about["history"])
    if "image_digest" in task and "image_digest" not in about["task"]:
        raise InputError(
            f"checkpoint {path}: does not tell which images it saw, an older version of neuromap has written it; "
            "remove it and start again"
        )
    differs = options.differences(about["options"], is_learned="learned" in task)
    told = {"validation_digest": task.get("validation_digest"), **about["task"]}  # older checkpoints do not know it
    differs += [f"{k} {told.get(k)!r} (now {v!r})" for k, v in task.items() if told.get(k) != v]
    if differs:
        raise InputError(
            f"checkpoint {path}: is of another run: {'; '.join(differs)}; name another file or folder, or remove it"
        )
    if epoch > options.epochs:
        raise InputError(
            f"checkpoint {path}: holds {epoch} epochs, {options.epochs} are asked for; ask for {epoch} or more, name "
            "another file or folder, or remove it"
        )
    _load_weights(path, model, tensors)
    for name, parameter in model.tensors():
        start = f"optimiser/{name}/"
        slots = {key[len(start) :]: torch.from_numpy(tensors[key].copy()) for key in tensors if key.startswith(start)}
        if slots:
            optimiser.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in slots.items()}
    return Progress(epoch, history)


def take_weights(path: Path, model: RolloutModel) -> str:
    """Load a model's weights from a checkpoint of any run; return their digest."""
    _, tensors = _read(path)
    _load_weights(path, model, tensors)
    found = sha256()
    for name, _ in model.tensors():
        found.update(tensors[f"weights/{name}"].tobytes())
    return found.hexdigest()[:16]


def _load_weights(path: Path, model: RolloutModel | Together, tensors: Mapping[str, NDArray[Any]]) -> None:
    if not _fits(model, tensors):
        raise InputError(f"checkpoint {path}: holds other tensors than the network takes; remove it")
    if wrong := _not_finite(tensors):
        raise InputError(
            f"checkpoint {path}: {wrong} holds NaN or infinity, no run can go on from it; remove it, and start again "
            "with a lower learning rate"
        )
    with torch.no_grad():
        for name, parameter in model.tensors():
            parameter.copy_(torch.from_numpy(tensors[f"weights/{name}"]))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    data = read_bytes(path, "checkpoint", _MOST_BYTES, InputError)
    try:
        tensors = load_tensors(data)
        metadata = metadata_of(data)
        about = json.loads(metadata["about"])
        if metadata["format"] != _FORMAT or not _is_whole(about):
            raise ValueError
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(f"checkpoint {path}: is not a checkpoint of a training run; name another file") from None
    seal = seal_of(data, metadata)
    if seal is Seal.DAMAGED:
        raise InputError(
            f"checkpoint {path}: is damaged, it does not fit its digest; take a copy, or remove it and start again"
        )
    if seal is Seal.ABSENT:
        raise InputError(
            f"checkpoint {path}: has no digest, an older version of neuromap has written it; remove it and start again"
        )
    return about, tensors


def _not_finite(tensors: Mapping[str, NDArray[Any]]) -> str | None:
    """Return the name of the first tensor with a value that is not finite."""
    return next((name for name, values in tensors.items() if not np.isfinite(values).all()), None)


def _is_whole(about: dict[str, Any]) -> bool:
    """Return whether the text of a checkpoint has all required entries, each of the right type."""
    kinds = {"options": dict, "task": dict, "epoch": int, "history": list}
    history = about["history"]
    return (
        all(isinstance(about[key], kind) for key, kind in kinds.items())
        and len(history) == about["epoch"]
        and [entry["epoch"] for entry in history] == [*range(1, len(history) + 1)]
        and all(
            isinstance(figure, int | float)
            for entry in history
            for figure in (entry["loss"], entry["seconds"], *entry.get("accuracy", ()), *entry.get("gates", ()))
        )
    )


def _fits(model: Together, tensors: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether weights have the model's shapes, and optimiser states these or the shape of a scalar."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.tensors()}
    weights = {
        key.removeprefix("weights/"): value.shape for key, value in tensors.items() if key.startswith("weights/")
    }
    slots = [(key.split("/")[1:-1], value.shape) for key, value in tensors.items() if key.startswith("optimiser/")]
    return weights == shapes and all(shape in ((1,), shapes.get("/".join(name))) for name, shape in slots)


def _array(value: torch.Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().cpu().numpy(), dtype=np.float32)


# Preceding images, shown before each image so that a network learns to forget the last one.
def after_another(frames: Tensor, n_before: int) -> Tensor:
    """Replace the first frames by those of the preceding image in the batch, cyclically."""
    # shapes: frames (n_frames, batch, rows, columns, features)
    if not n_before:
        return frames
    return torch.cat([frames[:n_before].roll(1, dims=1), frames[n_before:]])


def exact_sums() -> AbstractContextManager[None]:
    """Make CUDA convolutions deterministic and sum in 32 bits; no effect on the processor."""
    found: AbstractContextManager[None] = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    return found


def output_scores(model: RolloutModel, pattern: RolloutPattern, frames: Tensor, classes: int) -> Tensor:
    """Return class scores of all frames from the first response on, shape (n_frames, batch, classes)."""
    output = sole_output(model)
    shown = frames.to(model.device)
    values = model.window(pattern, dict.fromkeys(model.network.inputs, shown))
    return class_scores(values[output][first_frame(pattern, output) :].float(), classes)


def correct_by_frame(
    model: RolloutModel, rollout: Rollout, batches: Batches, n_frames: int, classes: int
) -> NDArray[np.float64]:
    """Measure the accuracy of each frame on its own; ties go to the lower class."""
    # shapes: returns (n_frames,)
    was_training = model.training
    model.eval()
    pattern = rollout.pattern
    batches.begin_at(rollout)
    batches.device = model.device
    window = first_frame(pattern, sole_output(model)) + n_frames
    right, seen = np.zeros(n_frames), 0
    with torch.no_grad(), exact_sums():
        for frames, labels in batches.in_order(window):
            scores = output_scores(model, pattern, frames, classes)
            right += (scores.argmax(-1).cpu() == labels).sum(1).numpy()
            seen += len(labels)
    model.train(was_training)
    return right / seen


# Batches of frames: images in the encoding of the input node, randomly shifted if requested.


def onset(pattern: RolloutPattern) -> int:
    """Return the first frame that shows an image: 0 if an edge of an input streams, else 1."""
    # Nothing depends on frame 0 of an input whose edges are sequential.
    edges = zip(pattern.network.edges, pattern.values, strict=True)
    return 0 if any(r for (source, _), r in edges if source in pattern.network.inputs) else 1


# Batches of a training run: choice and mirroring of images, and their frames; reproducible after an interruption.
class Batches:
    """Frames and labels of training images, epoch by epoch."""

    def __init__(
        self,
        images: ImageSet,
        encoding: InputEncoding,
        size: int,
        seed: int,
        *,
        flip: bool = False,
        run: int = 0,
    ) -> None:
        # run: number of consecutive pictures of a track shown as frames, each such run once; 0 for stills and streams
        self._set, self._images, self._labels, self._white = images, images.images, images.labels, images.white
        self._shown: tuple[Rollout, ...] = ()
        self._encoding, self._size, self._seed, self._flip = encoding, size, seed, flip
        self._starts = starts_of_runs(images, run) if run else np.arange(len(images.images))
        self._run, self._onset = run, 0
        # Noise is drawn on this device: on one thread of the host it would take longer than a step on CUDA.
        self.device = torch.device("cpu")

    def __len__(self) -> int:
        return -(-len(self._starts) // self._size)

    @property
    def n_shown(self) -> int:
        """Number of images, or runs of them, shown in an epoch."""
        return len(self._starts)

    def begin_at(self, *rollouts: Rollout) -> None:
        """Sample streams as rollouts do, one per batch in turn, across epochs; tracks begin at their common onset."""
        self._shown, self._onset = rollouts, onset(rollouts[0].pattern)

    def tick_by_tick(self) -> int:
        """Show streams at every tick; return the number of ticks plus one after the end, or 0 for stills."""
        self._shown = ()
        return self._set.n_stream_frames * self._set.frame_ticks + 1 if self._set.is_stream else 0

    def _seen(self, numbers: NDArray[np.int64], turn: int, n_frames: int) -> NDArray[np.uint8]:
        """Return the pictures shown, shape (batch, frames, rows, columns, features); stills have one frame."""
        if self._run:
            step = np.clip(np.arange(n_frames) - self._onset, 0, self._run - 1)
            return np.asarray(self._images[numbers[:, np.newaxis] + step])
        if not self._set.is_stream:
            return self._images[numbers][:, np.newaxis]
        ticks: Sequence[int] = range(n_frames)
        if self._shown:
            rollout = self._shown[turn % len(self._shown)]
            ticks = rollout.sample_ticks(rollout.network.outputs[0], n_frames)
        return self._set.shown(ticks, numbers)

    def epoch(self, number: int, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of an epoch."""
        # shapes: yields (n_frames, batch, rows, columns, features); yields (batch,)
        rng = np.random.default_rng([self._seed, number])
        noise = self._noise_of(rng)
        order = rng.permutation(len(self._starts))
        for turn, start in enumerate(range(0, len(order), self._size), number * len(self)):
            chosen = self._starts[np.sort(order[start : start + self._size])]
            shown = self._changed(self._seen(chosen, turn, n_frames), rng)
            yield self._frames(shown, n_frames, noise), torch.from_numpy(self._labels[chosen])

    def in_order(self, n_frames: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all images once, in order, for measuring; noise depends on the seed and the device."""
        noise = self._noise_of(None)
        for start in range(0, len(self._starts), self._size):
            chosen = self._starts[start : start + self._size]
            yield self._frames(self._seen(chosen, 0, n_frames), n_frames, noise), torch.from_numpy(self._labels[chosen])

    def _noise_of(self, rng: np.random.Generator | None) -> Any:
        """Return the generator of noise: for the epoch of ``rng``, or for measuring if it is ``None``."""
        return torch.Generator(self.device).manual_seed(self._seed if rng is None else int(rng.integers(2**62)))

    def _changed(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Mirror images at random, all frames of an image alike."""
        if self._flip:
            mirrored = rng.random(len(images)) < 0.5
            images[mirrored] = images[mirrored][..., ::-1, :]
        return images

    def _frames(self, images: NDArray[np.uint8], n_frames: int, noise: Any) -> Tensor:
        """Convert images to frames of code ``real``, each with its own noise."""
        # shapes: images (batch, frames or 1, rows, columns, features)
        clean = torch.from_numpy(self._intensities(images).swapaxes(0, 1)).to(self.device)
        mean = torch.tensor(self._encoding.mean, device=self.device) if self._encoding.mean else None
        if not self._encoding.noise:
            return (clean if mean is None else clean - mean).expand(n_frames, *clean.shape[1:])
        frames = torch.randn((n_frames, *clean.shape[1:]), generator=noise, device=self.device)
        frames.mul_(self._encoding.noise).add_(clean).clamp_(0, 1)
        return frames if mean is None else frames.sub_(mean)

    def _intensities(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Intensities of images in the units of the network."""
        return self._encoding.in_units(self._set, images.astype(np.float32) / np.float32(self._white))


class FrameBatches(Batches):
    """Frames and labels of images, epoch by epoch, in the encoding of the input node."""

    def __init__(
        self, images: ImageSet, encoding: InputEncoding, options: TrainingOptions, hardware: HardwareOptions
    ) -> None:
        super().__init__(images, encoding, options.batch, options.seed, flip=options.flip)
        self._shift = hardware.shift

    def _noise_of(self, rng: np.random.Generator | None) -> Any:
        return np.random.default_rng(self._seed) if rng is None else rng

    def _changed(self, images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        images = super()._changed(images, rng)
        return _moved(images, self._shift, rng) if self._shift else images

    def _frames(self, images: NDArray[np.uint8], n_frames: int, noise: Any) -> Tensor:
        intensities = self._intensities(images)
        if not self._set.is_stream:
            intensities = intensities[:, 0]
            if self._encoding.is_constant:  # views of one frame
                still = torch.from_numpy(encode(self._encoding, intensities, 1)[:, 0].astype(np.float32))
                return still.expand(n_frames, *still.shape)
        frames = encode(self._encoding, intensities, n_frames, noise)
        return torch.from_numpy(np.ascontiguousarray(frames.swapaxes(0, 1), dtype=np.float32))


def _moved(images: NDArray[np.uint8], most: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Shift each image by random numbers of pixels, up to ``most`` along each axis, all frames of a stream alike."""
    n, frames, rows, columns = images.shape[:4]
    wide = np.pad(images, ((0, 0), (0, 0), (most, most), (most, most), (0, 0)))
    down, right = rng.integers(0, 2 * most + 1, (2, n, 1, 1, 1))
    moved: NDArray[np.uint8] = wide[
        np.arange(n)[:, None, None, None],
        np.arange(frames)[:, None, None],
        down + np.arange(rows)[:, None],
        right + np.arange(columns),
    ]
    return moved
