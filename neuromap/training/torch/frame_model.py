"""Models in frame code with integer weights and thresholds, converted to networks that give the same spikes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from neuromap.encoding.frames import InputEncoding, encode
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import NetworkError, TrainingError, prefixed
from neuromap.network.build import spread_threshold
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import ENCODER, Network
from neuromap.network.transforms import Conv, Dense, Pool
from neuromap.network.weights import StoredWeights
from neuromap.training.options.node_settings import WEIGHT_KINDS
from neuromap.training.torch.rollout_model import Parameters, Reads, RolloutModel, Stage, apply_edge, frames_read


def to_network(model: FrameModel) -> Network:
    """Convert a model in evaluation mode to a network with its integer weights and thresholds."""
    network, nodes, tables = model.network, dict(model.network.nodes), dict(model.network.tables)
    for name in model.settings:
        shape = nodes[name].shape or (1, 1, nodes[name].size)  # without a shape, ``size`` raises
        threshold = spread_threshold(integers(model.threshold(name)), shape)
        nodes[name] = replace(nodes[name], threshold=threshold)
    edges = {key: with_weights(edge, model.weight(key)) for key, edge in network.edges.items()}
    for name, encoding in model.learned_encodings().items():
        learned = dict(zip(ENCODER, (encoding.weights, encoding.thresholds), strict=True))
        tables["inputs"] = {**tables["inputs"], name: {**tables["inputs"][name], **learned}}
    return replace(network, nodes=nodes, edges=edges, tables=tables)


def with_weights(edge: Edge, weights: Tensor | None) -> Edge:
    """Return an edge with the integers that a model has for it, if any."""
    transform = edge.transform
    if weights is None or not isinstance(transform, Conv | Dense):
        return edge
    return replace(edge, transform=replace(transform, weights=StoredWeights(integers(weights))))


def integers(values: Tensor) -> NDArray[np.int64]:
    """Convert integers that a model holds as floats."""
    found: NDArray[np.int64] = values.detach().cpu().numpy().round().astype(np.int64)
    return found


# ``FrameModel``: a trainable network in frame code with integer weights, integer thresholds and spikes.
#
# x_v[i] = 1 iff sum over e = (u, v) of W_e x_u[i - R(e)] >= theta_v, as in :func:`neuromap.reference`. Sums of
# integers are exact in float32 below 2**24, so in evaluation mode the model gives exactly the reference's spikes.


# Limit of exact integers in float32: no sum exceeds it, so no threshold needs to.
_GREATEST_SUM = 2.0**24
# Logarithm of the scale: with ten classes, one whose neurons all fire scores 10 nats more than a silent one.
_FIRST_SCALE = math.log(100)


class IntegerModel(RolloutModel):
    """A model whose integers are trained; it computes what a chip computes."""

    def _take_statistics(self, names: Collection[str]) -> None:
        """Begin with running means and variances of the sums of some nodes."""
        found = {name: running(self.bias_shape(name)) for name in names}
        self._mean, self._variance = (Parameters({name: pair[k] for name, pair in found.items()}) for k in (0, 1))

    def _from_outside(self, name: str, stage: Stage, r_of: Reads, values: Mapping[str, Tensor]) -> Tensor:
        """Sum like the parent, but omit the frame that no edge reads: half the work in windows of one frame."""
        parts = []
        for key, edge in self._into(name):
            if edge.source not in stage.nodes:
                taken = frames_read(values[edge.source], r_of[key])
                parts.append(self._applied(key, edge, taken.flatten(0, 1)).unflatten(0, taken.shape[:2]))
        return self._joined(name, iter(parts)) if parts else super()._from_outside(name, stage, r_of, values)


class FrameModel(IntegerModel):
    """A network whose integer weights and thresholds are trained."""

    # In training, the sums of a node are normalised by their mean and variance over batch, frames and, if neurons share
    # a threshold, positions; a neuron fires if the normalised sum plus a learned offset is 0 or more. There is no
    # learned factor: in front of a step only its sign would matter, which the weights already have. In evaluation,
    # running means and variances are folded into thresholds, the least integers that sums must reach (see
    # :meth:`threshold`). A node fed only by an OR-pool has the threshold 1.
    # An input with code ``layer`` and without weights takes noisy intensities instead of spikes, and its layer is
    # learned (:class:`~neuromap.training.torch.frame_model.HostLayer`); all other inputs take spikes.
    # thresholds: least and greatest threshold of a neuron; by default the bounds within which sums are exact

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
        self._or = {
            name for name in self.settings if all(isinstance(edge.transform, Pool) for _, edge in self._into(name))
        }
        generator = torch.Generator().manual_seed(seed)
        for key, latent in self._weights.items():
            latent.data.uniform_(self.kinds[key].low, self.kinds[key].high, generator=generator)
        self._take_statistics(self.settings)
        self._scale = nn.Parameter(torch.tensor([_FIRST_SCALE]))
        self._on_host = {
            name: HostLayer(encoding, image_shape, generator)
            for name, encoding in input_encodings(network).items()
            if image_shape is not None and encoding.code == "layer" and encoding.weights is None
        }
        self._layers = nn.ModuleList(self._on_host.values())

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield all parameters by name, including running means and variances and the scale of the scores."""
        yield from super().tensors()
        for name, mean in self._mean.items():
            yield f"{name}.mean", mean
            yield f"{name}.variance", self._variance[name]
        yield "scores.scale", self._scale
        for layer in self._on_host.values():
            yield from layer.tensors()

    def count_trained(self) -> int:
        """Count weights and thresholds, including those of layers on the host."""
        return super().count_trained() + sum(layer.count_trained() for layer in self._on_host.values())

    def share_at_bounds(self) -> float | None:
        """Return the fraction of latent weights at a bound of their kind."""
        held = [
            ((weights <= self.kinds[key].low) | (weights >= self.kinds[key].high)).detach().flatten()
            for key, weights in self._weights.items()
        ]
        return float(torch.cat(held).float().mean()) if held else None

    def learned_encodings(self) -> dict[str, InputEncoding]:
        """Return the learned encodings by input node, with their current weights and thresholds."""
        return {name: layer.encoding() for name, layer in self._on_host.items()}

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Integer weights of an edge, as floats; ``None`` if they are fixed."""
        latent = super().weight(key)
        if latent is None:
            return None
        kind = self.kinds[key]
        if self.training:  # a latent weight that an optimiser step took out of its bounds would return late
            latent.data.clamp_(kind.low, kind.high)
        else:  # the last step may have left the bounds, too
            latent = latent.clamp(kind.low, kind.high)
        found = rounded(latent if kind.levels == 1 else latent * kind.levels)
        transform = self.network.edges[key].transform
        if kind.name == "sign-fixed" and isinstance(transform, Conv | Dense):
            return found * source_signs(transform).to(found.device)
        return found

    def threshold(self, name: str) -> Tensor:
        """Return the integer thresholds of a node as float64, one per neuron or feature."""
        # A sum of integers reaches a number iff it reaches the least integer that is not below it.
        if name in self._or:
            return torch.ones(self.bias_shape(name), dtype=torch.float64)
        exact = folded(self._mean[name], self._variance[name], self._bias[name])
        low, high = self._bounds or (-_GREATEST_SUM, _GREATEST_SUM)
        return torch.ceil(exact).clamp(low, high)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Return the spikes of a node; in training, those of outputs are multiplied by the learned scale of scores."""
        if not self.training:
            return (sums >= self.threshold(name).to(sums)).to(sums.dtype)
        spikes = fire(sums - 0.5 if name in self._or else self._normalised(name, sums))
        if name not in self.network.outputs:
            return spikes
        return spikes * (self._scale.exp() / spikes[0].numel())

    def _normalised(self, name: str, sums: Tensor) -> Tensor:
        statistics = self._mean[name], self._variance[name], self._bias[name]
        if self._bounds is not None:  # like latent weights: an offset out of bounds would return late
            within(*statistics, self._bounds)
        return normalised(sums, *statistics)

    def _shown(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the spikes of inputs; learned layers compute theirs from intensities."""
        return {name: self._on_host[name](x) if name in self._on_host else x for name, x in inputs.items()}


# Signs of sources that take one axon type each.
def source_signs(transform: Conv | Dense) -> Tensor:
    """Return 1 for even and -1 for odd source features, in a shape that broadcasts with the edge's weights."""
    features, groups = transform.source_shape[2], transform.groups
    signs = 1.0 - 2.0 * (torch.arange(features) % 2)
    if isinstance(transform, Conv):
        of_group = signs.reshape(groups, -1).T  # (source features of a group, groups)
        return of_group.repeat_interleave(transform.target_shape[2] // groups, dim=1)
    cells = transform.source_shape[0] * transform.source_shape[1]
    if groups == 1:
        return signs.repeat(cells)
    return signs.reshape(groups, 1, -1).repeat(1, 1, cells)


# ``HostLayer``: the trainable layer with which the host converts intensities to spikes.
class HostLayer(nn.Module):
    """An encoding with code ``layer`` whose weights and thresholds are trained together with the network."""

    # Weights are real. In training, sums are normalised over batch, frames and positions, and a feature fires if the
    # normalised sum plus a learned offset is 0 or more, like neurons of a
    # :class:`~neuromap.training.torch.frame_model.FrameModel`. In evaluation, the host's own
    # :func:`~neuromap.encoding.frames.encode` computes the frames with :meth:`encoding`, so rounding is the same.

    def __init__(self, encoding: InputEncoding, image_shape: tuple[int, int, int], generator: torch.Generator) -> None:
        super().__init__()
        self._asked = replace(encoding, weights=None, thresholds=None)
        with prefixed(f"inputs.{encoding.node}: ", NetworkError):
            self._conv = Conv(image_shape, encoding.shape, encoding.kernel, encoding.stride)
        self._weights = nn.Parameter(torch.empty(self._conv.weight_shape).uniform_(-1, 1, generator=generator))
        self._offset = nn.Parameter(torch.zeros(encoding.shape[2]))
        self._mean, self._variance = running((encoding.shape[2],))

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield all parameters by name: ``"I.encoder"`` for weights."""
        name = f"{self._asked.node}.encoder"
        yield name, self._weights
        yield f"{name}.bias", self._offset
        yield f"{name}.mean", self._mean
        yield f"{name}.variance", self._variance

    def count_trained(self) -> int:
        """Count weights and thresholds."""
        return int(self._weights.numel() + self._offset.numel())

    def encoding(self) -> InputEncoding:
        """Return the encoding with its current weights, and with thresholds that include the normalisation."""
        weights = self._weights.detach().cpu().numpy().copy()
        thresholds = folded(self._mean, self._variance, self._offset).cpu().numpy().astype(np.float32)
        if not (np.isfinite(weights).all() and np.isfinite(thresholds).all()):
            raise TrainingError(
                f"inputs.{self._asked.node}: its layer has weights or thresholds beyond all numbers of 32 bits; take a "
                "lower learning rate"
            )
        return replace(self._asked, weights=weights, thresholds=thresholds)

    def forward(self, intensities: Tensor) -> Tensor:
        """Convert noisy intensities to spikes, 1 or 0."""
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
        frames = encode(replace(self.encoding(), noise=0.0), images.cpu().numpy(), 1)[:, 0]  # images contain the noise
        return torch.from_numpy(frames.astype(np.float32)).to(images)


# Normalisation of sums: computed in training, folded into thresholds afterwards.
# Weight of a batch in the running mean and variance of sums, which cover about the last fifty batches.
_MOMENTUM = 0.02
_SMALLEST_VARIANCE = 0.01


def normalised(sums: Tensor, mean: Tensor, variance: Tensor, offset: Tensor, *, by_running: bool = False) -> Tensor:
    """Return (s - mean) / deviation + offset with the statistics of these sums, or running ones; update the latter."""
    # shapes: sums (..., n)
    rows = sums.reshape(-1, offset.numel())
    several = len(rows) > 1  # one row, as in a batch of one image, has no variance: the running one is used
    if by_running:
        if several:
            with torch.no_grad():
                mean.view(-1).lerp_(rows.mean(0), _MOMENTUM)
                variance.view(-1).lerp_(rows.var(0), _MOMENTUM)
        # Copies: the next frame updates the statistics, while gradients of this one need their present values.
        return (sums - mean.clone()) / deviation(variance).to(sums) + offset
    found = functional.batch_norm(
        rows, mean.view(-1), variance.view(-1), None, offset.view(-1), several, _MOMENTUM, _SMALLEST_VARIANCE
    )
    return found.view_as(sums)


def folded(mean: Tensor, variance: Tensor, offset: Tensor) -> Tensor:
    """Return the threshold that a sum reaches iff its normalised value is 0 or more, as float64."""
    # (s - mean) / deviation + offset >= 0 iff s >= mean - offset * deviation.
    return mean.detach().double() - offset.detach().double() * deviation(variance)


def within(mean: Tensor, variance: Tensor, offset: Tensor, thresholds: tuple[int, int]) -> None:
    """Clamp an offset in place so that the integer threshold of :func:`folded` stays within two bounds."""
    low, high = thresholds  # half an integer below, so that rounding cannot carry a threshold across a bound
    least, most = ((mean.detach().double() - (bound - 0.5)) / deviation(variance) for bound in (high, low))
    offset.data.copy_(offset.detach().double().clamp(least, most))


def deviation(variance: Tensor) -> Tensor:
    """Return the deviation that sums are divided by, as float64."""
    return (variance.detach().double() + _SMALLEST_VARIANCE).sqrt()


def running(shape: tuple[int, ...]) -> tuple[nn.Parameter, nn.Parameter]:
    """Return the initial running mean and variance; no optimiser changes them."""
    return nn.Parameter(torch.zeros(shape), requires_grad=False), nn.Parameter(torch.ones(shape), requires_grad=False)


# Step functions with surrogate gradients: rounded weights and firing neurons.
#
# Rounding has derivative 0 almost everywhere, so training keeps a real-valued *latent* weight, uses it rounded, and
# passes the gradient straight through (Bengio, Léonard, Courville 2013). For firing, the derivative is replaced by
# a triangle around the threshold, a surrogate gradient (Esser et al. 2016, "Convolutional networks for fast,
# energy-efficient neuromorphic computing"): a straight-through gradient of 1 everywhere would also move neurons
# whose sums are far from the threshold, where a small change changes no spike.
class _Rounded(torch.autograd.Function):
    """Rounding with a straight-through gradient."""

    @staticmethod
    def forward(ctx: Any, scaled: Tensor) -> Tensor:
        del ctx
        return torch.round(scaled)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        del ctx
        return gradients[0]


class _Fire(torch.autograd.Function):
    """1 if the distance from the threshold is 0 or more; its surrogate gradient is a triangle of half width 1."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor) -> Tensor:
        ctx.save_for_backward(distance)
        return (distance >= 0).to(distance.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (distance,) = ctx.saved_tensors
        return gradients[0] * (1 - distance.abs()).clamp_(min=0)


def rounded(scaled: Tensor) -> Tensor:
    """Round to integers; gradients pass straight through."""
    found: Tensor = _Rounded.apply(scaled)
    return found


def fire(distance: Tensor) -> Tensor:
    """Return spikes, 1 or 0, from the distance of sums to their thresholds, in standard deviations of the sums."""
    found: Tensor = _Fire.apply(distance)
    return found
