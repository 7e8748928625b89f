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
import tomllib
from dataclasses import dataclass
from pathlib import Path

import data
import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

import neuromap as nm
from neuromap.whole_file import write_whole

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


@dataclass(frozen=True)
class Patch:
    """Where the entries of a convolution kernel go in its dense matrix.

    Attributes
    ----------
    index : Tensor of int64, shape (n_target, n_source)
        Index into the flattened kernel (kernel row, kernel column, source feature, target feature).
    inside : Tensor of float, same shape
        1 where the kernel reaches, 0 elsewhere.
    shape : tuple of four int
        Of the kernel.
    """

    index: Tensor
    inside: Tensor
    shape: tuple[int, int, int, int]


def conv_patch(source: list[int], target: list[int], kernel: list[int], stride: list[int]) -> Patch:
    """Lay out a "same" convolution without groups."""
    shape = (*kernel, source[2], target[2])
    index = np.zeros((*target, *source), dtype=np.int64)
    inside = np.zeros((*target, *source), dtype=np.float32)
    kernel_index = np.arange(math.prod(shape)).reshape(shape)
    before = [max((t - 1) * s + k - n, 0) // 2 for t, s, k, n in zip(target, stride, kernel, source, strict=False)]
    for row, column, y, x in np.ndindex(target[0], target[1], source[0], source[1]):
        ky, kx = y - row * stride[0] + before[0], x - column * stride[1] + before[1]
        if 0 <= ky < kernel[0] and 0 <= kx < kernel[1]:
            index[row, column, :, y, x, :] = kernel_index[ky, kx].T
            inside[row, column, :, y, x, :] = 1
    size = (math.prod(target), math.prod(source))
    return Patch(torch.from_numpy(index.reshape(size)), torch.from_numpy(inside.reshape(size)), shape)


class Spike(torch.autograd.Function):
    """The step x >= 0, with a triangle of the given half-width as its derivative."""

    @staticmethod
    def forward(ctx, x: Tensor, width: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.width = width
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        # Potentials and thresholds are integers: the step lies between -1 and 0.
        return gradient * (1 - (x + 0.5).abs() / ctx.width).clamp(min=0) / ctx.width, None


def rounded(x: Tensor) -> Tensor:
    """Round forward, identity backward."""
    return x + (x.round() - x).detach()


class DigitsNet(nn.Module):
    """A frame-coded network with weights -1, 0 and 1, read from its network file."""

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        file = tomllib.loads(path.read_text())
        self.shape = {name: node["shape"] for name, node in file["nodes"].items()}
        self.size = {name: math.prod(shape) for name, shape in self.shape.items()}
        self.edges = [tuple(label.split(" -> ")) for label in file["edges"]]
        self.patches = {}
        self.latent = nn.ParameterDict()
        self.threshold = nn.ParameterDict()
        self.width = {}
        signed = "ternary" not in path.stem
        for (u, v), entry in zip(self.edges, file["edges"].values(), strict=True):
            shape = (self.size[v], self.size[u])
            if entry["transform"] == "conv":
                patch = conv_patch(self.shape[u], self.shape[v], entry["kernel"], entry["stride"])
                self.patches[u, v], shape = patch, patch.shape
            latent = torch.empty(shape).uniform_(-1, 1)
            if signed and u != "I":
                latent = latent.abs() * self.sign(u, v)
            self.latent[f"{u}_{v}"] = nn.Parameter(latent)
        self.signed = signed
        for node in list(self.size)[1:]:
            into = [(u, v) for u, v in self.edges if v == node]
            conv = all(e in self.patches for e in into)
            fan_in = sum(math.prod(self.patches[e].shape[:3]) if e in self.patches else self.size[e[0]] for e in into)
            self.width[node] = 1 + 0.25 * math.sqrt(fan_in)
            size = self.shape[node][2] if conv else self.size[node]
            self.threshold[node] = nn.Parameter(torch.full((size,), 2.0))

    def sign(self, source: str, target: str) -> Tensor:
        """Sign of every source neuron: even features excite, odd ones inhibit."""
        feature = torch.arange(self.size[source]) % self.shape[source][2]
        if (source, target) in self.patches:
            feature = feature[: self.shape[source][2], None]
        return 1.0 - 2.0 * (feature % 2)

    def weight(self, u: str, v: str) -> Tensor:
        """Integer weights in the layout of the weights file."""
        latent = self.latent[f"{u}_{v}"]
        if self.signed and u != "I":
            sign = self.sign(u, v)
            return sign * rounded((sign * latent).clamp(0, 1))
        return rounded(latent.clamp(-1, 1))

    def integer_threshold(self, node: str) -> Tensor:
        """Thresholds 1 to 255: one per feature after convolutions, else one per neuron."""
        return rounded(self.threshold[node].clamp(1, 255))

    def matrices(self) -> dict[tuple[str, str], Tensor]:
        """Dense matrices, shape (n_target, n_source) each."""
        result = {}
        for u, v in self.edges:
            weight = self.weight(u, v)
            if (u, v) in self.patches:
                patch = self.patches[u, v]
                weight = weight.reshape(-1)[patch.index] * patch.inside
            result[u, v] = weight
        return result

    def forward(self, frames: Tensor, streaming: set[tuple[str, str]]) -> Tensor:
        """Run the frames that follow a blank frame 0.

        Parameters
        ----------
        frames : Tensor, shape (n_frames, batch, 64)
        streaming : set of edges
            The rollout pattern.

        Returns
        -------
        Tensor, shape (n_frames, batch, n_output)
            Output spikes.
        """
        matrices = self.matrices()
        theta = {}
        for node in list(self.size)[1:]:
            values = self.integer_threshold(node)
            theta[node] = values.repeat(self.size[node] // len(values))
        state = {node: torch.zeros(frames.shape[1], size) for node, size in self.size.items()}
        output = []
        for frame in frames:
            new = {"I": frame}
            for node in list(self.size)[1:]:  # file order: sequential edges point forwards
                potential = -theta[node]
                for (u, v), matrix in matrices.items():
                    if v == node:
                        potential = potential + (state if (u, v) in streaming else new)[u] @ matrix.T
                new[node] = Spike.apply(potential, self.width[node])
            state = new
            output.append(new["O"])
        return torch.stack(output)

    def patterns(self) -> list[tuple[set[tuple[str, str]], int]]:
        """Patterns to train for: streaming edges, and frames from an input to its first answer."""
        recurrent = {(u, v) for u, v in self.edges if u == v}
        lag = 2 if ("H1", "O") in self.edges else 3
        chosen = [(set(self.edges), lag), (recurrent, 0)]
        # Without a skip or recurrent edge all patterns compute the same function (DESIGN section 3).
        return chosen[1:] if lag == 3 else chosen

    def tensors(self) -> dict[str, np.ndarray]:
        """What the weights file holds."""
        result = {}
        for u, v in self.edges:
            result[f"{u} -> {v}"] = self.weight(u, v).detach().numpy().astype(np.int8)
        for node in list(self.size)[1:]:
            result[f"{node}.threshold"] = self.integer_threshold(node).detach().numpy().astype(np.int32)
        return result


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
