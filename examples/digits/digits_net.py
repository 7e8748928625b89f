"""The frame-coded digits networks in PyTorch, with integer weights and gradients that go straight through."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["DigitsNet", "Patch", "Spike", "conv_patch", "rounded"]


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
        """Spike where the potential, less its threshold, is 0 or more."""
        ctx.save_for_backward(x)
        ctx.width = width
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        """Let gradients through near the threshold."""
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
        # FF: all patterns compute the same function up to a shift by whole frames.
        return chosen[1:] if lag == 3 else chosen

    def tensors(self) -> dict[str, np.ndarray]:
        """Return what the weights file holds."""
        result = {}
        for u, v in self.edges:
            result[f"{u} -> {v}"] = self.weight(u, v).detach().numpy().astype(np.int8)
        for node in list(self.size)[1:]:
            result[f"{node}.threshold"] = self.integer_threshold(node).detach().numpy().astype(np.int32)
        return result
