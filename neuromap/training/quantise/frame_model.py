"""``FrameModel``: a network in frame code that is trained: integer weights, integer thresholds, spikes.

x_v[i] = 1 iff sum over e = (u, v) of W_e x_u[i - R(e)] >= theta_v, as :func:`neuromap.reference` computes it. Sums of
integers are exact in float32 below 2**24, so in evaluation the model gives the very spikes of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from neuromap.encoding.input_encoding import InputEncoding
from neuromap.encoding.input_tables import input_encodings
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.transforms.kinds import Conv, Dense, Pool
from neuromap.training.asked.weight_kinds import WEIGHT_KINDS
from neuromap.training.model.edge_operators import apply_edge
from neuromap.training.model.frame_order import Stage
from neuromap.training.model.rollout_model import RolloutModel
from neuromap.training.quantise.host_layer import HostLayer
from neuromap.training.quantise.normalised import folded, normalised, running, within
from neuromap.training.quantise.signs import source_signs
from neuromap.training.quantise.straight_through import fire, rounded

__all__ = ["FrameModel"]

_GREATEST_SUM = 2.0**24
"""Where float32 ends to be exact: no sum goes beyond, so no threshold needs to."""
_FIRST_SCALE = math.log(100)
"""Logarithm of the scale: with ten classes, a class all of whose neurons fire scores 10 nats more than a silent one."""


class FrameModel(RolloutModel):
    """A network whose integer weights and thresholds are trained."""

    # While training, the sums of a node are normalised with their mean and variance over batch, frames and, where
    # neurons share a threshold, positions; a neuron fires where the normalised sum plus a learned offset is 0 or more.
    # There is no learned factor: in front of a step it would change nothing but its sign, which the weights have. In
    # evaluation, running means and variances are folded into thresholds, the least integers that sums must reach (see
    # :meth:`threshold`). A node with nothing but an OR-pool has the threshold 1.
    # An input whose code is ``layer``, without weights, takes intensities with their noise instead of spikes, and its
    # layer is learned (:class:`~neuromap.training.quantise.host_layer.HostLayer`); all other inputs take spikes.
    # thresholds: least and greatest threshold of a neuron; by default those up to which sums are exact

    def __init__(
        self,
        network: Network,
        kinds: Mapping[EdgeKey, str] | None = None,
        seed: int = 0,
        image_shape: tuple[int, int, int] | None = None,
        thresholds: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(network, seed)
        self._bounds = thresholds
        self.kinds = {key: WEIGHT_KINDS[(kinds or {}).get(key, "ternary")] for key in network.edges}
        self._or = {name for name in self.settings if self._is_or(name)}
        generator = torch.Generator().manual_seed(seed)
        self._start_weights(generator)
        self._mean, self._variance = nn.ParameterDict(), nn.ParameterDict()
        for name in self.settings:
            place = self._node_place[name]
            self._mean[place], self._variance[place] = running(self.bias_shape(name))
        self._scale = nn.Parameter(torch.tensor([_FIRST_SCALE]))
        self._on_host = _host_layers(network, image_shape, generator)
        self._layers = nn.ModuleDict({self._node_place[name]: layer for name, layer in self._on_host.items()})

    def _start_weights(self, generator: torch.Generator) -> None:
        for key, kind in self.kinds.items():
            if (latent := super().weight(key)) is not None:
                latent.data.uniform_(kind.low, kind.high, generator=generator)

    def _is_or(self, name: str) -> bool:
        return all(isinstance(edge.transform, Pool) for _, edge in self._into(name))

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Give all parameters by name, running means and variances and the scale of the scores with them."""
        yield from super().tensors()
        for name in self.settings:
            yield f"{name}.mean", self._mean[self._node_place[name]]
            yield f"{name}.variance", self._variance[self._node_place[name]]
        yield "scores.scale", self._scale
        for layer in self._on_host.values():
            yield from layer.tensors()

    def count_trained(self) -> int:
        """Count weights and thresholds, those of layers on the host with them."""
        in_network: int = sum(parameter.numel() for _, parameter in super().tensors())
        return in_network + sum(layer.count_trained() for layer in self._on_host.values())

    def learned_encodings(self) -> dict[str, InputEncoding]:
        """Give the encodings that are learned, by input node, with their present weights and thresholds."""
        return {name: layer.encoding() for name, layer in self._on_host.items()}

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Integer weights of an edge, as real numbers; ``None`` where they are fixed."""
        latent = super().weight(key)
        if latent is None:
            return None
        kind = self.kinds[key]
        if self.training:  # what a step of the optimiser took out of its bounds would come back late
            latent.data.clamp_(kind.low, kind.high)
        else:  # the last step may have taken it there, too
            latent = latent.clamp(kind.low, kind.high)
        found = rounded(latent if kind.levels == 1 else latent * kind.levels)
        transform = self.network.edges[key].transform
        if kind.name == "sign-fixed" and isinstance(transform, Conv | Dense):
            return found * source_signs(transform).to(found.device)
        return found

    def threshold(self, name: str) -> Tensor:
        """Give the integer thresholds of a node: float64, one for each neuron or for each feature."""
        # A sum of integers reaches a number iff it reaches the least integer that is not below it.
        place = self._node_place[name]
        if name in self._or:
            return torch.ones(self.bias_shape(name), dtype=torch.float64)
        exact = folded(self._mean[place], self._variance[place], self._bias[place])
        low, high = self._bounds or (-_GREATEST_SUM, _GREATEST_SUM)
        return torch.ceil(exact).clamp(low, high)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Give the spikes of a node; while training those of outputs times the learned scale of scores."""
        if not self.training:
            return (sums >= self.threshold(name).to(sums)).to(sums.dtype)
        spikes = fire(sums - 0.5 if name in self._or else self._normalised(name, sums))
        if name not in self.network.outputs:
            return spikes
        return spikes * (self._scale.exp() / spikes[0].numel())

    def _normalised(self, name: str, sums: Tensor) -> Tensor:
        place = self._node_place[name]
        if self._bounds is not None:  # as latent weights: what left the bounds would come back late
            within(self._mean[place], self._variance[place], self._bias[place], self._bounds)
        return normalised(sums, self._mean[place], self._variance[place], self._bias[place])

    def _shown(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Give spikes; of intensities where the layer of the input is learned."""
        return {name: self._on_host[name](x) if name in self._on_host else x for name, x in inputs.items()}

    def _from_outside(
        self, name: str, stage: Stage, r_of: Mapping[EdgeKey, int], values: Mapping[str, Tensor]
    ) -> Tensor:
        """Sum as the parent does, but without the frame that nobody takes: half the work in windows of one frame."""
        parts = []
        for key, edge in self._into(name):
            if edge.source not in stage.nodes:
                x = values[edge.source]
                taken = x[1 - r_of[key] : len(x) - r_of[key]]
                parts.append(apply_edge(edge, self.weight(key), taken.flatten(0, 1)).unflatten(0, taken.shape[:2]))
        return sum(parts[1:], parts[0]) if parts else super()._from_outside(name, stage, r_of, values)


def _host_layers(
    network: Network, image_shape: tuple[int, int, int] | None, generator: torch.Generator
) -> dict[str, HostLayer]:
    """Make the layers that are learned, by input node."""
    if image_shape is None:
        return {}
    return {
        name: HostLayer(encoding, image_shape, generator)
        for name, encoding in input_encodings(network).items()
        if encoding.code == "layer" and encoding.weights is None
    }
