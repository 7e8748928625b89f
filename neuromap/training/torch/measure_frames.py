"""How often a network is right, frame by frame."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuromap.rollout.first_frame import first_frame
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.torch.batches import Batches
from neuromap.training.torch.rollout_model import RolloutModel

__all__ = ["class_scores", "correct_by_frame", "exact_sums", "output_scores", "sole_output"]


def exact_sums() -> AbstractContextManager[None]:
    """On CUDA, have convolutions add up 32 bits, in the same order every time; of no effect on the processor."""
    found: AbstractContextManager[None] = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    return found


def sole_output(model: RolloutModel) -> str:
    """Give the output that classes are read from, the first one named."""
    return model.network.outputs[0]


def class_scores(output: Tensor, classes: int) -> Tensor:
    """Add up the neurons that vote for a class: neuron n votes for class n // (size / classes)."""
    # shapes: output (..., rows, columns, features); returns (..., classes)
    flat = output.flatten(-3)
    return flat if flat.shape[-1] == classes else flat.unflatten(-1, (classes, -1)).sum(-1)


def output_scores(model: RolloutModel, pattern: RolloutPattern, frames: Tensor, classes: int) -> Tensor:
    """Scores of classes in every frame from the first response on, shape (n_frames, batch, classes)."""
    output = sole_output(model)
    shown = frames.to(model.device)
    values = model.window(pattern, dict.fromkeys(model.network.inputs, shown))
    return class_scores(values[output][first_frame(pattern, output) :], classes)


def correct_by_frame(
    model: RolloutModel, pattern: RolloutPattern, batches: Batches, n_frames: int, classes: int
) -> NDArray[np.float64]:
    """Measure the fraction of images that every frame alone names rightly, the lower class of equals."""
    # shapes: returns (n_frames,)
    was_training = model.training
    model.eval()
    window = first_frame(pattern, sole_output(model)) + n_frames
    right, seen = np.zeros(n_frames), 0
    with torch.no_grad(), exact_sums():
        for frames, labels in batches.in_order(window):
            scores = output_scores(model, pattern, frames, classes)
            right += (scores.argmax(-1).cpu() == labels).sum(1).numpy()
            seen += len(labels)
    model.train(was_training)
    return right / seen
