"""``HostLayer``: the layer by which the host makes spikes of intensities, while it is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from neuromap.encoding.frames import encode
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.errors import NetworkError, TrainingError
from neuromap.network.edge import Edge
from neuromap.network.transforms.kinds import Conv
from neuromap.training.model.edge_operators import apply_edge
from neuromap.training.quantise.normalised import folded, normalised, running
from neuromap.training.quantise.straight_through import fire

__all__ = ["HostLayer"]


class HostLayer(nn.Module):
    """An encoding with code ``layer`` whose weights and thresholds are trained, with the network behind it."""

    # Weights are real. While training, sums are normalised over batch, frames and positions, and a feature fires where
    # the normalised sum plus a learned offset is 0 or more, as neurons of a
    # :class:`~neuromap.training.quantise.frame_model.FrameModel` do. In evaluation it is what the host does: frames are
    # those of :func:`~neuromap.encoding.frames.encode` with :meth:`encoding`, so no sum is rounded in another way.

    def __init__(self, encoding: InputEncoding, image_shape: tuple[int, int, int], generator: torch.Generator) -> None:
        super().__init__()
        self._asked = replace(encoding, weights=None, thresholds=None)
        try:
            self._conv = Conv(image_shape, encoding.shape, encoding.kernel, encoding.stride)
        except NetworkError as error:
            raise NetworkError(f"inputs.{encoding.node}: {error}") from None
        self._weights = nn.Parameter(torch.empty(self._conv.weight_shape).uniform_(-1, 1, generator=generator))
        self._offset = nn.Parameter(torch.zeros(encoding.shape[2]))
        self._mean, self._variance = running((encoding.shape[2],))

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Give all parameters by name: ``"I.encoder"`` for weights."""
        name = f"{self._asked.node}.encoder"
        yield name, self._weights
        yield f"{name}.bias", self._offset
        yield f"{name}.mean", self._mean
        yield f"{name}.variance", self._variance

    def count_trained(self) -> int:
        """Count weights and thresholds."""
        return int(self._weights.numel() + self._offset.numel())

    def encoding(self) -> InputEncoding:
        """Give the encoding with its present weights, and with thresholds into which the normalisation is folded."""
        weights = self._weights.detach().cpu().numpy().copy()
        thresholds = folded(self._mean, self._variance, self._offset).cpu().numpy().astype(np.float32)
        if not (np.isfinite(weights).all() and np.isfinite(thresholds).all()):
            raise TrainingError(
                f"inputs.{self._asked.node}: its layer has weights or thresholds beyond all numbers of 32 bits; take a "
                "lower learning rate"
            )
        return replace(self._asked, weights=weights, thresholds=thresholds)

    def forward(self, intensities: Tensor) -> Tensor:
        """Give spikes, 1 or 0, of intensities with their noise."""
        # shapes: intensities (..., rows, columns, features); returns (..., rows, columns, features)
        if intensities.dim() > 4 and intensities.stride(0) == 0:
            return self(intensities[0]).expand(len(intensities), *intensities.shape[1:-3], *self._asked.shape)
        images = intensities.flatten(0, -4)
        spikes = self._learned(images) if self.training else self._on_host(images)
        return spikes.unflatten(0, intensities.shape[:-3])

    def _learned(self, images: Tensor) -> Tensor:
        sums = apply_edge(Edge("images", self._asked.node, self._conv), self._weights, images)
        return fire(normalised(sums, self._mean, self._variance, self._offset))

    def _on_host(self, images: Tensor) -> Tensor:
        frames = encode(replace(self.encoding(), noise=0.0), images.cpu().numpy(), 1)[:, 0]  # the noise is in them
        return torch.from_numpy(frames.astype(np.float32)).to(images)
