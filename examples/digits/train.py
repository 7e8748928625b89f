"""Train the digits networks and state their held-out accuracy.

    python examples/digits/train.py --net sr              # train, write sr.safetensors, print accuracies
    python examples/digits/train.py --net sr --validate   # hold 200 training images out, print their accuracies only
    python examples/digits/train.py --net sr --evaluate   # train nothing: accuracies of the file that is there

Weights and thresholds are integers throughout the forward pass, and so is what is written; gradients go straight
through the rounding and through a triangle in place of the step. One set of weights is trained for all
rollout patterns of a network: each batch takes the next pattern. Two digits follow each other in every
training sequence, so that recurrent networks learn to let go of the first.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
from pathlib import Path

import data
import numpy as np
import torch
from digits_net import DigitsNet
from safetensors.numpy import save
from torch import Tensor, nn

import neuromap as nm
from neuromap.files.whole_file import write_whole

HERE = Path(__file__).parent
NETS = {
    "ff": ("streaming", "sequential"),
    "s": ("streaming", "sequential"),
    "sr": ("streaming", "sequential", "hybrid"),
    "sr_ternary": ("streaming", "sequential", "hybrid"),
}
SEED = 7
EPOCHS = 600
BATCH = 127  # 11 batches of the 1397 training images
FRAMES = 5  # per digit and training sequence
VALIDATION = 200
EVALUATION_FRAMES = 12
EVALUATION_SEED = 1
FRAME_COLUMNS = (1, 2, 3, 6, 12)
STEP_COLUMNS = (3, 6, 9, 12)


def loss_of(output: Tensor, labels: Tensor, scale: Tensor) -> Tensor:
    """Mean cross-entropy of single frames; output (n_frames, batch, n_output), labels (n_frames, batch)."""
    votes = output.unflatten(-1, (data.CLASSES, -1)).sum(-1)
    return nn.functional.cross_entropy((votes * scale).flatten(0, 1), labels.flatten())


def train(net: DigitsNet, intensities: np.ndarray, labels: np.ndarray, epochs: int) -> None:
    """Train in place; Adam with a cosine schedule, last weights kept."""
    generator = torch.Generator().manual_seed(SEED)
    images, digits = torch.from_numpy(intensities).float(), torch.from_numpy(labels)
    scale = nn.Parameter(torch.tensor(1.0))
    optimiser = torch.optim.Adam(
        [
            {"params": net.latent.parameters(), "lr": 0.01},
            {"params": net.threshold.parameters(), "lr": 0.05},
            {"params": [scale], "lr": 0.01},
        ]
    )
    batches = math.ceil(len(images) / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * batches)
    patterns = net.patterns()
    for epoch in range(epochs):
        total = 0.0
        first = torch.randperm(len(images), generator=generator)
        second = torch.randperm(len(images), generator=generator)
        for batch in range(batches):
            streaming, lag = patterns[(epoch + batch) % len(patterns)]
            pair = torch.stack([first, second])[:, batch * BATCH : (batch + 1) * BATCH]
            chance = images[pair].repeat_interleave(FRAMES, dim=0)
            frames = (torch.rand(chance.shape, generator=generator) < chance).float()
            truth = digits[pair].repeat_interleave(FRAMES, dim=0)
            output = net(frames, streaming)
            loss = loss_of(output[lag:], truth[: len(truth) - lag], scale)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                for latent in net.latent.values():
                    latent.clamp_(-1, 1)
            total += loss.item()
        if (epoch + 1) % 50 == 0 or epoch + 1 == epochs:
            print(f"epoch {epoch + 1:3d} of {epochs}: mean loss {total / batches:.3f}", flush=True)


def evaluate(name: str, path: Path, intensities: np.ndarray, labels: np.ndarray) -> list[str]:
    """Accuracies by :func:`neuromap.reference`, images shown one after the other; rows of README.md's tables."""
    net = nm.load_network(path)
    frames = data.stream(intensities, EVALUATION_FRAMES, EVALUATION_SEED)
    by_frame, by_step = [], []
    for pattern in NETS[name]:
        rollout = nm.Rollout(net, pattern)
        spikes = nm.reference(rollout, {"I": frames})["O"]
        single, accumulated = data.curves(rollout, spikes, labels, EVALUATION_FRAMES)
        shown = [curve[k - 1] for curve in (single, accumulated) for k in FRAME_COLUMNS]
        by_frame.append(row(name, pattern, *shown))
        period, first = rollout.frame_period, rollout.first_response("O")
        known = [(step - first) // period for step in STEP_COLUMNS]
        by_step.append(row(name, pattern, period, first, *(accumulated[k] for k in known)))
    return [*by_frame, *by_step]


def row(*cells: str | int | float) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |"


def main() -> None:
    """Parse the command line, train or not, print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=NETS, required=True, help="which network file to train")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the training images (%(default)s)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--validate", action="store_true", help="hold out training images; keep the weights file")
    mode.add_argument("--evaluate", action="store_true", help="train nothing")
    args = parser.parse_args()
    if args.epochs < 1:
        parser.error(f"--epochs {args.epochs}: must be 1 or more")

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    path = HERE / f"{args.net}.toml"
    shown = data.load("held-out")
    if args.evaluate:
        print(*evaluate(args.net, path, *shown), sep="\n")
        return
    images, labels = data.load("train")
    if args.validate:
        shown = images[:VALIDATION], labels[:VALIDATION]
        images, labels = images[VALIDATION:], labels[VALIDATION:]
    net = DigitsNet(path, SEED)
    train(net, images, labels, args.epochs)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(path, folder))
        weights = save(net.tensors())
        write_whole(copy.with_suffix(".safetensors"), weights)
        print(*evaluate(args.net, copy, *shown), sep="\n")
    if not args.validate:
        write_whole(path.with_suffix(".safetensors"), weights)


if __name__ == "__main__":
    main()
