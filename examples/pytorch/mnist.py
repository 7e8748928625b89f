"""A network that plain PyTorch trains, on a chip: the same spikes and classes on all test images.

Nothing here comes from neuromap's own training: two convolutions and a last layer with ternary weights, batch
normalisation and steps, trained with straight-through gradients. `neuromap.from_torch` takes it over, weights and batch
normalisation as integers and integer thresholds; it is mapped onto TrueNorth, and every test image goes through the
simulated chip and through PyTorch.

    python examples/pytorch/mnist.py mnist:PATH [epochs] [network.toml]
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import neuromap as nm
from neuromap.accuracy.accuracy import decide
from neuromap.datasets import load_images


class Step(torch.autograd.Function):
    """1 at 0 and above, else 0; gradients pass where the input is between -1 and 1."""

    @staticmethod
    def forward(ctx, x):
        """Decide."""
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        """Let gradients pass."""
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


class Ternary(torch.autograd.Function):
    """-1, 0 or 1: 0 below 0.7 of the mean magnitude; gradients pass."""

    @staticmethod
    def forward(ctx, weight):
        """Round."""
        return torch.sign(weight) * (weight.abs() > 0.7 * weight.abs().mean()).to(weight.dtype)

    @staticmethod
    def backward(ctx, gradient):
        """Let gradients pass."""
        return gradient


class TernaryConv(nn.Conv2d):
    """A convolution whose weights are -1, 0 and 1."""

    def forward(self, x):
        """Convolve."""
        weight = Ternary.apply(self.weight)
        return functional.conv2d(x, weight, None, self.stride, self.padding, groups=self.groups)


class Digits(nn.Module):
    """28 x 28 pixels of 0 and 1; 2,000 output neurons, 200 of which vote for each digit."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(TernaryConv(1, 60, 8, stride=4, bias=False), nn.BatchNorm2d(60))
        self.b = nn.Sequential(TernaryConv(60, 120, 2, stride=2, groups=3, bias=False), nn.BatchNorm2d(120))
        self.out = nn.Sequential(TernaryConv(120, 2000, 3, groups=10, bias=False), nn.BatchNorm2d(2000))

    def spikes(self, x):
        """Give the spikes of the output neurons."""
        return Step.apply(self.out(Step.apply(self.b(Step.apply(self.a(x))))))

    def forward(self, x):
        """Count votes."""
        return self.spikes(x).view(-1, 10, 10, 20).sum((1, 3))  # group, digit, neuron


def tensors(part, source):
    """Images as pixels of 0 and 1, and their labels."""
    images = load_images(source, part)
    pixels = torch.from_numpy(images.intensities()) >= 0.5
    return pixels.float().permute(0, 3, 1, 2), torch.from_numpy(np.array(images.labels))


def train(model, source, epochs):
    """Train as one does."""
    images, labels = tensors("train", source)
    optimiser = torch.optim.Adam(model.parameters(), 5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * (len(images) // 200))
    for epoch in range(epochs):
        model.train()
        start, right = time.perf_counter(), 0
        for batch in torch.randperm(len(images)).split(200):
            votes = model(images[batch])
            loss = functional.cross_entropy(votes / 20, labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            right += int((votes.argmax(1) == labels[batch]).sum())
        print(
            f"epoch {epoch + 1}: {right / len(images):.4f} of the training images, {time.perf_counter() - start:.0f} s"
        )


def main():
    """Train, import, map, and hold the chip against PyTorch."""
    if len(sys.argv) < 2:
        sys.exit("usage: python examples/pytorch/mnist.py mnist:PATH [epochs] [network.toml]")
    source, epochs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Digits()
    train(model, source, epochs)
    model.eval()

    imported = nm.from_torch(model, torch.zeros(1, 1, 28, 28))
    encoding = {"inputs": {"x": {"code": "threshold", "levels": [0.5]}}}
    network = replace(imported.network, tables={**imported.network.tables, **encoding})
    print(imported)
    if len(sys.argv) > 3:
        network.save(sys.argv[3])
    rollout = nm.Rollout(network, "streaming")
    program = nm.map_rollout(rollout)
    print(f"{len(program.coordinates)} cores of {program.chip.name}")

    images, labels = tensors("test", source)
    with torch.no_grad():
        named = torch.cat([model(part).argmax(1) for part in images.split(500)]).numpy()
    (output,) = network.outputs
    first = rollout.first_response(output)
    frames = images.permute(0, 2, 3, 1).reshape(len(images), 1, -1).numpy().astype(bool)
    shown = ({"x": np.repeat(part, first + 1, axis=1)} for part in np.array_split(frames, 40))
    spikes = nm.simulate_batch(program, shown).frames(output)[:, first]
    with torch.no_grad():
        expected = torch.cat(
            [model.spikes(part).view(-1, 10, 10, 20).transpose(1, 2).flatten(1) for part in images.split(500)]
        )
    n_wrong = int((spikes != expected.numpy().astype(bool)).sum())
    classes = decide(spikes, 10)
    print(f"{spikes.size:,} output spikes and silences, {n_wrong} differ from PyTorch")
    print(f"{len(classes):,} test images, {int((classes != named).sum())} named differently")
    print(f"accuracy: PyTorch {np.mean(named == labels.numpy()):.4f}, chip {np.mean(classes == labels.numpy()):.4f}")


if __name__ == "__main__":
    main()
