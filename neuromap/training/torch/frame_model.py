"""A model in frame code with integer weights and thresholds, and its network, spike by spike the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from neuromap.encoding.frames import InputEncoding, encode
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import NetworkError, TrainingError
from neuromap.network.build import spread_threshold
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import ENCODER, Network
from neuromap.network.node import Node
from neuromap.network.transforms import Conv, Dense, Pool
from neuromap.network.weights import StoredWeights
from neuromap.training.options.node_settings import WEIGHT_KINDS
from neuromap.training.torch.rollout_model import Reads, RolloutModel, Stage, apply_edge, frames_read


def to_network(model: FrameModel) -> Network:
    """Give the network that a model in evaluation is, with its integer weights and thresholds."""
    network = model.network
    nodes = {name: node if name in network.inputs else _node(model, node) for name, node in network.nodes.items()}
    edges = {key: with_weights(edge, model.weight(key)) for key, edge in network.edges.items()}
    return replace(network, nodes=nodes, edges=edges, tables=_tables(model))


def _tables(model: FrameModel) -> Mapping[str, Any]:
    """Give the tables of the network, with what was learned of the host in them."""
    learned = model.learned_encodings()
    if not learned:
        return model.network.tables
    inputs = dict(model.network.tables["inputs"])
    for name, encoding in learned.items():
        arrays = (encoding.weights, encoding.thresholds)
        inputs[name] = {**inputs[name], **dict(zip(ENCODER, arrays, strict=True))}
    return {**model.network.tables, "inputs": inputs}


def _node(model: FrameModel, node: Node) -> Node:
    shape = node.shape or (1, 1, node.size)  # without a shape, asking for the size says so
    return replace(node, threshold=spread_threshold(integers(model.threshold(node.name)), shape))


def with_weights(edge: Edge, weights: Tensor | None) -> Edge:
    """Give an edge the integers that a model has for it, if any."""
    transform = edge.transform
    if weights is None or not isinstance(transform, Conv | Dense):
        return edge
    return replace(edge, transform=replace(transform, weights=StoredWeights(integers(weights))))


def integers(values: Tensor) -> NDArray[np.int64]:
    """Give integers that a model holds as real numbers."""
    found: NDArray[np.int64] = values.detach().cpu().numpy().round().astype(np.int64)
    return found


# ``FrameModel``: a network in frame code that is trained: integer weights, integer thresholds, spikes.
#
# x_v[i] = 1 iff sum over e = (u, v) of W_e x_u[i - R(e)] >= theta_v, as :func:`neuromap.reference` computes it. Sums
# of integers are exact in float32 below 2**24, so in evaluation the model gives the very spikes of the reference.


_GREATEST_SUM = 2.0**24
"""Where float32 ends to be exact: no sum goes beyond, so no threshold needs to."""
_FIRST_SCALE = math.log(100)
"""Logarithm of the scale: with ten classes, a class all of whose neurons fire scores 10 nats more than a silent one."""


class IntegerModel(RolloutModel):
    """A network whose integers are trained: it computes what a chip does."""

    def share_at_bounds(self) -> float | None:
        """Give the share of latent weights that lie at a bound; ``None`` where they have none."""
        return None

    def _from_outside(self, name: str, stage: Stage, r_of: Reads, values: Mapping[str, Tensor]) -> Tensor:
        """Sum as the parent does, but without the frame that nobody takes: half the work in windows of one frame."""
        parts = []
        for key, edge in self._into(name):
            if edge.source not in stage.nodes:
                taken = frames_read(values[edge.source], r_of[key])
                parts.append(self._applied(key, edge, taken.flatten(0, 1)).unflatten(0, taken.shape[:2]))
        return self._joined(name, iter(parts)) if parts else super()._from_outside(name, stage, r_of, values)


class FrameModel(IntegerModel):
    """A network whose integer weights and thresholds are trained."""

    # While training, the sums of a node are normalised with their mean and variance over batch, frames and, where
    # neurons share a threshold, positions; a neuron fires where the normalised sum plus a learned offset is 0 or more.
    # There is no learned factor: in front of a step it would change nothing but its sign, which the weights have. In
    # evaluation, running means and variances are folded into thresholds, the least integers that sums must reach (see
    # :meth:`threshold`). A node with nothing but an OR-pool has the threshold 1.
    # An input whose code is ``layer``, without weights, takes intensities with their noise instead of spikes, and its
    # layer is learned (:class:`~neuromap.training.torch.frame_model.HostLayer`); all other inputs take spikes.
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

    def share_at_bounds(self) -> float | None:
        """Give the share of latent weights that lie at a bound of their kind."""
        latent = {key: RolloutModel.weight(self, key) for key in self.kinds}
        held = [
            ((weights <= self.kinds[key].low) | (weights >= self.kinds[key].high)).detach().flatten()
            for key, weights in latent.items()
            if weights is not None
        ]
        return float(torch.cat(held).float().mean()) if held else None

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


# Signs of sources whose axons have one type each.
def source_signs(transform: Conv | Dense) -> Tensor:
    """Give 1 for even and -1 for odd features of the source, in a shape that multiplies the weights of an edge."""
    features, groups = transform.source_shape[2], transform.groups
    signs = 1.0 - 2.0 * (torch.arange(features) % 2)
    if isinstance(transform, Conv):
        of_group = signs.reshape(groups, -1).T  # (source features of a group, groups)
        return of_group.repeat_interleave(transform.target_shape[2] // groups, dim=1)
    cells = transform.source_shape[0] * transform.source_shape[1]
    if groups == 1:
        return signs.repeat(cells)
    return signs.reshape(groups, 1, -1).repeat(1, 1, cells)


# ``HostLayer``: the layer by which the host makes spikes of intensities, while it is learned.
class HostLayer(nn.Module):
    """An encoding with code ``layer`` whose weights and thresholds are trained, with the network behind it."""

    # Weights are real. While training, sums are normalised over batch, frames and positions, and a feature fires where
    # the normalised sum plus a learned offset is 0 or more, as neurons of a
    # :class:`~neuromap.training.torch.frame_model.FrameModel` do. In evaluation it is what the host does: frames are
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


# Sums held against what they usually are: normalised while training, folded into thresholds afterwards.
_MOMENTUM = 0.02
"""Share of a batch in the running mean and variance of sums: they are those of the last fifty batches."""
_SMALLEST_VARIANCE = 0.01


def normalised(sums: Tensor, mean: Tensor, variance: Tensor, offset: Tensor, *, by_running: bool = False) -> Tensor:
    """Give (s - mean) / deviation + offset, by the mean and variance of these sums; running ones take them in."""
    # shapes: sums (..., n)
    rows = sums.reshape(-1, offset.numel())
    several = len(rows) > 1  # one row, as of a batch of one image, has no variance: it is held against the running one
    if by_running:
        if several:
            with torch.no_grad():
                mean.view(-1).lerp_(rows.mean(0), _MOMENTUM)
                variance.view(-1).lerp_(rows.var(0), _MOMENTUM)
        # Copies: the next frame takes in more, and gradients of this one need what it was held against.
        return (sums - mean.clone()) / deviation(variance).to(sums) + offset
    found = functional.batch_norm(
        rows, mean.view(-1), variance.view(-1), None, offset.view(-1), several, _MOMENTUM, _SMALLEST_VARIANCE
    )
    return found.view_as(sums)


def folded(mean: Tensor, variance: Tensor, offset: Tensor) -> Tensor:
    """Give the threshold that a sum reaches iff its normalised value is 0 or more, as float64."""
    # (s - mean) / deviation + offset >= 0 iff s >= mean - offset * deviation.
    return mean.detach().double() - offset.detach().double() * deviation(variance)


def within(mean: Tensor, variance: Tensor, offset: Tensor, thresholds: tuple[int, int]) -> None:
    """Move an offset, in place, to where the integer threshold of :func:`folded` is between two bounds."""
    low, high = thresholds  # halves below them: rounding cannot carry a threshold over a bound
    least, most = ((mean.detach().double() - (bound - 0.5)) / deviation(variance) for bound in (high, low))
    offset.data.copy_(offset.detach().double().clamp(least, most))


def deviation(variance: Tensor) -> Tensor:
    """Give the deviation that sums are divided by, as float64."""
    return (variance.detach().double() + _SMALLEST_VARIANCE).sqrt()


def running(shape: tuple[int, ...]) -> tuple[nn.Parameter, nn.Parameter]:
    """Give the running mean and variance with which training begins; no optimiser changes them."""
    return nn.Parameter(torch.zeros(shape), requires_grad=False), nn.Parameter(torch.ones(shape), requires_grad=False)


# Steps that gradients pass: rounded weights and firing neurons.
#
# Rounding has the derivative 0 almost everywhere, so training keeps a real-valued *latent* weight, uses the rounded
# one, and takes the gradient of the rounded one for that of the latent one (Bengio, Léonard, Courville 2013):
# straight through. A neuron that fires or not has a triangle around its threshold instead of a derivative, a
# surrogate gradient (Esser et al. 2016, "Convolutional networks for fast, energy-efficient neuromorphic computing"):
# straight through, which is 1 everywhere, would also move neurons whose sums are far from the threshold, where a
# small change changes no spike.
class _Rounded(torch.autograd.Function):
    """Rounding whose gradient is that of no rounding."""

    @staticmethod
    def forward(ctx: Any, scaled: Tensor) -> Tensor:
        del ctx
        return torch.round(scaled)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        del ctx
        return gradients[0]


class _Fire(torch.autograd.Function):
    """1 where a distance from the threshold is 0 or more; its surrogate gradient is a triangle of half width 1."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor) -> Tensor:
        ctx.save_for_backward(distance)
        return (distance >= 0).to(distance.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (distance,) = ctx.saved_tensors
        return gradients[0] * (1 - distance.abs()).clamp_(min=0)


def rounded(scaled: Tensor) -> Tensor:
    """Round to integers; gradients pass."""
    found: Tensor = _Rounded.apply(scaled)
    return found


def fire(distance: Tensor) -> Tensor:
    """Fire, 1 or 0, by the distance of sums from their thresholds in standard deviations of the sums."""
    found: Tensor = _Fire.apply(distance)
    return found
