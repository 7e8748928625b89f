"""``train``: a network trained under rollout patterns, epoch by epoch, interrupted and resumed at will."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from neuromap.errors import TrainingError
from neuromap.jobs.silent import silent
from neuromap.rollout.first_frame import first_frame
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.torch.batches import Batches
from neuromap.training.torch.checkpoint import Progress, load_checkpoint, save_checkpoint
from neuromap.training.torch.measure_frames import correct_by_frame, exact_sums, output_scores, sole_output
from neuromap.training.torch.rollout_model import RolloutModel
from neuromap.training.torch.succession import after_another, onset

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Run:
    """What is trained on what."""

    # those under which it is trained, all of one network; steps of the optimiser take them in turn
    patterns: tuple[RolloutPattern, ...]
    batches: Batches  # training images
    validation: Batches | None  # images whose accuracy is measured after every epoch
    classes: int  # number of classes
    task: Mapping[str, Any]  # names the network, the data and the patterns in a checkpoint


def train(
    model: RolloutModel,
    run: Run,
    options: TrainingOptions,
    checkpoint: Path | None = None,
    report: Report = silent,
) -> Progress:
    """Train a model in place."""
    # The loss is the mean, over frames of the output from its first response on, of the cross-entropy of single frames
    # (Fischer, Köhler, Pfeil 2018, section 4). Everything that is random depends on the seed and the number of the
    # epoch, so a run that was killed and goes on from its checkpoint ends with the same weights.
    # model: trained in place, on the device of the options, where it stays
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    model.to(options.device)
    optimiser = make_optimiser((parameter for _, parameter in model.tensors()), options)
    progress = Progress()
    if checkpoint is not None and checkpoint.exists():
        progress = load_checkpoint(checkpoint, model, optimiser, options, run.task)
    while progress.epoch < options.epochs:
        report(_figures(progress), progress.epoch, options.epochs)
        started = time.perf_counter()
        with exact_sums():
            loss = _train_epoch(model, optimiser, run, options, progress.epoch)
        progress.epoch += 1
        entry: dict[str, Any] = {"epoch": progress.epoch, "loss": loss, "seconds": time.perf_counter() - started}
        if run.validation is not None:
            entry["accuracy"] = [round(float(x), 6) for x in _validated(model, run, run.validation, options.frames)]
        progress.history.append(entry)
        if checkpoint is not None:
            save_checkpoint(checkpoint, model, optimiser, progress, options, run.task)
    report(_figures(progress), progress.epoch, options.epochs)
    return progress


def _validated(model: RolloutModel, run: Run, shown: Batches, n_frames: int) -> NDArray[np.float64]:
    """Measure the accuracy by frame, the mean over all patterns."""
    found = [correct_by_frame(model, pattern, shown, n_frames, run.classes) for pattern in run.patterns]
    return np.asarray(np.mean(found, axis=0))


def _train_epoch(
    model: RolloutModel, optimiser: torch.optim.Optimizer, run: Run, options: TrainingOptions, epoch: int
) -> float:
    """Go once over the training images; give the mean loss."""
    model.train()
    torch.manual_seed(int(np.random.SeedSequence([options.seed, epoch]).generate_state(1)[0]))  # of dropout
    window = max(first_frame(pattern, sole_output(model)) for pattern in run.patterns)
    steps = len(run.batches) * options.epochs
    total = 0.0
    for number, (frames, labels) in enumerate(run.batches.epoch(epoch, window + options.preceding + options.frames)):
        step = epoch * len(run.batches) + number
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(options, step, steps)
        loss = _loss(model, run, options, step, frames, labels)
        found = float(loss.detach())
        if not math.isfinite(found):
            raise TrainingError(
                f"training: the loss is {found} in epoch {epoch + 1}, batch {number + 1}; take a lower learning rate "
                f"than {options.learning_rate:g}"
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += found
    return total / len(run.batches)


def _loss(model: RolloutModel, run: Run, options: TrainingOptions, step: int, frames: Tensor, labels: Tensor) -> Tensor:
    """Give the loss of a step, under the pattern whose turn it is."""
    pattern = run.patterns[step % len(run.patterns)]
    n_before = options.preceding and options.preceding + onset(pattern)
    window = first_frame(pattern, sole_output(model)) + options.preceding + options.frames
    scores = output_scores(model, pattern, after_another(frames[:window], n_before), run.classes)[options.preceding :]
    return functional.cross_entropy(scores.flatten(0, 1), labels.to(model.device).repeat(len(scores)))


def _figures(progress: Progress) -> str:
    if not progress.history:
        return ""
    last = progress.history[-1]
    accuracy = last.get("accuracy")
    shown = f", validation {accuracy[0]:.3f} to {accuracy[-1]:.3f} by frame" if accuracy else ""
    return f"loss {last['loss']:.4f}{shown}"


# Optimisers and the learning rate of every step.


def make_optimiser(parameters: Iterable[nn.Parameter], options: TrainingOptions) -> torch.optim.Optimizer:
    """Make the optimiser that is asked for; RMSprop has the constants of the paper's framework (0.9, 1e-7)."""
    rate = options.learning_rate
    if options.optimiser == "rmsprop":
        return torch.optim.RMSprop(parameters, rate, alpha=0.9, eps=1e-7)
    if options.optimiser == "adam":
        return torch.optim.Adam(parameters, rate)
    return torch.optim.SGD(parameters, rate)


def learning_rate(options: TrainingOptions, step: int, steps: int) -> float:
    """Give the learning rate of a step."""
    if options.schedule == "cosine":
        return options.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))
    return options.learning_rate / (1 + options.decay * step)
