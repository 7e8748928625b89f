"""Train the small networks of docs/rate-conversion.md, whose weights have few bits, and write them as graded networks.

python train_for_rates.py digits digits.toml
python train_for_rates.py mnist:DIRECTORY mnist_rate.toml

Needs PyTorch. First float, then with weights rounded as they will be (straight-through), then with calibrated values.
A crossbar core has 256 axons, and every source takes one for each bit of its weight: 64 inputs have 4 bits, 85 have 3.
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import neuromap as nm
from neuromap.datasets import load_images
from neuromap.network import Conv, GradedNeuron, build_network

torch.set_num_threads(1)
DATA, FILE = sys.argv[1:]
IS_DIGITS = DATA.startswith("digits")
LEVELS = 255  # of an input
# features, kernel, stride, groups
LAYERS = (
    [(8, 3, 1, 1), (16, 3, 2, 1), (16, 3, 2, 2)]
    if IS_DIGITS
    else [(8, 5, 2, 1), (16, 3, 2, 1), (32, 2, 2, 1), (16, 2, 2, 2)]
)
EPOCHS = (120, 60) if IS_DIGITS else (12, 6)  # float, rounded
SHIFT = 1 if IS_DIGITS else 2  # pixels by which images are moved at random


def padded(x, kernel, stride):
    """Pad as the convolutions of networks do."""
    n = x.shape[-1]
    both = max((-(-n // stride) - 1) * stride + kernel - n, 0)
    return functional.pad(x, (both // 2, both - both // 2) * 2)


def bits_of(weight):
    """Give the bits of weights that a core has axons for."""
    return min(4, 256 // weight[0].numel())


def rounded(weight):
    """Give whole weights and the scale of every feature."""
    top = 2 ** (bits_of(weight) - 1)
    scale = (weight.abs().flatten(1).amax(1) / (top - 0.5)).clamp(min=1e-6).reshape(-1, *[1] * (weight.ndim - 1))
    return (weight / scale).round().clamp(-top, top - 1), scale


class Net(nn.Module):
    """Convolutions with ReLU, then a linear output."""

    def __init__(self, size):
        super().__init__()
        self.parts, features = nn.ModuleList(), 1
        for out, kernel, stride, groups in LAYERS:
            self.parts.append(nn.Conv2d(features, out, kernel, stride, groups=groups))
            features, size = out, -(-size // stride)
        self.parts.append(nn.Linear(features * size**2, 10))
        self.is_rounded = False

    def weight(self, part):
        """Give weights as they are, or rounded, with the gradient of those that are not."""
        if not self.is_rounded:
            return part.weight
        whole, scale = rounded(part.weight.detach())
        return part.weight + (whole * scale - part.weight).detach()

    def forward(self, x, seen=None):
        """Give the output; ``seen`` takes the values of all other layers."""
        for part, (_, kernel, stride, groups) in zip(self.parts, LAYERS, strict=False):
            weight = self.weight(part)
            x = functional.relu(functional.conv2d(padded(x, kernel, stride), weight, part.bias, stride, groups=groups))
            if seen is not None:
                seen.append(x)
        last = self.parts[-1]
        return functional.linear(x.permute(0, 2, 3, 1).flatten(1), self.weight(last), last.bias)


def tensors(images):
    """Give intensities, features before rows, and labels."""
    x = torch.tensor(images.intensities().astype(np.float32)).permute(0, 3, 1, 2)
    return x, torch.tensor(images.labels.astype(np.int64))


def train(net, x, y, epochs, rate, rng):
    """Train on images that are moved by a pixel or two and noisy."""
    size = 64 if IS_DIGITS else 128
    steps = len(x) // size
    optimiser = torch.optim.AdamW(net.parameters(), rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=epochs * steps)
    for _ in range(epochs):
        order = torch.tensor(rng.permutation(len(x)))
        for k in range(steps):
            chosen = order[k * size : (k + 1) * size]
            moved = torch.roll(x[chosen], tuple(rng.integers(-SHIFT, SHIFT + 1, 2).tolist()), (2, 3))
            noisy = moved + 0.05 * torch.tensor(rng.standard_normal(moved.shape, np.float32))
            loss = functional.cross_entropy(net(noisy), y[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def graded_network(net, x, name):
    """Write every layer in integers; values of a layer are 0 to 255."""
    with torch.no_grad():
        seen = []
        out = net(x[:2000], seen)
        scales = [1 / LEVELS, *(float(np.quantile(a.numpy(), 0.9999)) / 255 for a in seen)]
        scales.append(float(out.abs().max()) / 2**15)
    shape = (x.shape[2], x.shape[3], 1)
    nodes, edges, before = {"I": (shape, GradedNeuron(0, LEVELS, scale=scales[0]))}, {}, "I"
    for k, part in enumerate(net.parts):
        is_last = k == len(LAYERS)
        whole, scale = (array.numpy() for array in rounded(part.weight.detach()))
        unit = scale.reshape(-1).astype(np.float64)
        bias = np.rint(part.bias.detach().numpy() / (unit * scales[k])).astype(int)
        ratio = unit * scales[k] / scales[k + 1]
        shift = np.floor(15 - np.log2(ratio)).astype(int)
        neuron = GradedNeuron(
            low=-(2**15) if is_last else 0,
            high=2**15 if is_last else 255,
            multiplier=np.rint(ratio * 2.0**shift).astype(int),
            shift=shift,
            bias=bias,
            scale=scales[k + 1],
        )
        if is_last:
            name_of, made, edge = "O", (1, 1, 10), whole.astype(int)
        else:
            features, kernel, stride, groups = LAYERS[k]
            name_of, made = f"C{k + 1}", (-(-shape[0] // stride), -(-shape[1] // stride), features)
            weights = whole.transpose(2, 3, 1, 0).astype(int)
            edge = Conv(shape, made, (kernel, kernel), (stride, stride), groups=groups, weights=weights)
        nodes[name_of], edges[before, name_of] = (made, neuron), edge
        before, shape = name_of, made
    return build_network(nodes, edges, name=name)


def main():
    """Train, say how good, write."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    images, test = load_images(DATA, "train"), load_images(DATA, "test")
    (x, y), (x_test, y_test) = tensors(images), tensors(test)
    net = Net(x.shape[2])

    def accuracy():
        with torch.no_grad():
            return float((net(x_test).argmax(1) == y_test).float().mean())

    train(net, x, y, EPOCHS[0], 6e-3, rng)
    print(f"float: {accuracy():.4f}")
    net.is_rounded = True
    train(net, x, y, EPOCHS[1], 3e-3, rng)
    print(f"float, weights of few bits: {accuracy():.4f}")
    network = graded_network(net, x, "digits" if IS_DIGITS else "mnist")
    frames = (x_test.numpy().reshape(len(x_test), -1) * LEVELS + 0.5).astype(int)
    shown = {"I": np.concatenate([frames[:1], frames])}
    values = nm.reference(nm.Rollout(network, "sequential"), shown)["O"][1:]
    print(f"graded: {(values.argmax(1) == y_test.numpy()).mean():.4f}")
    network.save(FILE)


main()
