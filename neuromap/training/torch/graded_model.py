"""A model of graded nodes trained through their quantiser, converted to a network that gives the same values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import torch
from torch import Tensor, nn

from neuromap.errors import NotSupportedError
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import GradedNeuron
from neuromap.network.transforms import Conv, Dense, Pool
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.options.node_settings import Widths, fan_in
from neuromap.training.torch.frame_model import (
    IntegerModel,
    deviation,
    integers,
    normalised,
    rounded,
    with_weights,
)
from neuromap.training.torch.rollout_model import Parameters

# A multiplier of 2**14 to 2**15 is within 2**-15 of any factor: less than half a step of a value of 14 bits.
_BITS_OF_MULTIPLIER = 15
# Times sums of 24 bits, it stays below 2**53, the limit of exact integers in float64.
_GREATEST_MULTIPLIER = 2**30
# Standard deviations of the sums, beyond the offset, within a node's range: under 1 in 10,000 are clipped.
_DEVIATIONS = 4
# Logarithm of the score of one deviation over all output neurons: 3 nats with ten classes of one neuron.
_FIRST_SCORE = math.log(30)


class Units(NamedTuple):
    """Integers, as float64, that turn a node's sums into values: one per neuron or feature."""

    multiplier: Tensor
    shift: Tensor
    bias: Tensor


class GradedModel(IntegerModel):
    """A network of graded nodes with trained weights, biases, multipliers and shifts."""

    # In training, weights are integers: latent weights in units of their neuron or feature, rounded with a
    # straight-through gradient. Sums are normalised over batch, frames and positions, a learned offset is added, and
    # the value is gain times that, rounded and clipped to the node's range; clipping stops the gradient. There is no
    # learned factor: the next layer's weights take its role. Nodes on cycles are computed frame by frame, so a batch's
    # mean would differ from frame to frame: they use running statistics, in training as afterwards.
    #
    # In evaluation, mean, variance, offset and gain are folded into integers, and values equal those of
    # :meth:`GradedNeuron.respond` bit by bit: units are large enough that sums of all possible products stay within
    # ``widths.products``, so float32 (exact below 2**24) and the chip hold every partial sum.
    #
    # Nodes without weights to train (pools, sums of identities) respond as the network file specifies.

    def __init__(self, network: Network, widths: Widths, seed: int = 0) -> None:
        super().__init__(network, seed)
        self.widths = widths
        self.neurons = {name: _graded(node) for name, node in network.nodes.items()}
        cycles = [c for c in nx.strongly_connected_components(network.graph) if len(c) > 1]
        self._cyclic = {name for c in cycles for name in c} | {u for u, v in network.edges if u == v}
        self.trained = {name for _, name in self._weights}
        for name in self.settings:
            self._check(name)
        trained = [name for name in self.settings if name in self.trained]
        self._take_statistics(trained)
        self._gain = Parameters({name: self._first_gain(name) for name in trained})
        votes = math.prod(self.bias_shape(network.outputs[0]))
        self._score = nn.Parameter(torch.tensor([_FIRST_SCORE - math.log(votes)]))
        self._step: dict[str, float] = {}  # latent weight of the integer 1 that the network came with
        self.knows_weights = self._take_weights()
        self._seen: dict[str, Tensor] | None = None  # sums seen so far, during ``look_at``

    def _first_gain(self, name: str) -> nn.Parameter:
        """Return the initial values per deviation: 1/4 of a one-sided range, 1/8 of the shorter of two sides."""
        sides = (-self.neurons[name].low, self.neurons[name].high)
        gain = max(sides) / _DEVIATIONS if min(sides) == 0 else min(sides) / (2 * _DEVIATIONS)
        return nn.Parameter(torch.full(self.bias_shape(name), gain), requires_grad=False)

    def _check(self, name: str) -> None:
        neuron = self.neurons[name]
        if neuron.maximum and (name in self.trained or name in self._cyclic):
            found = "lies on a cycle" if name in self._cyclic else "has weights to train"
            raise NotSupportedError(
                f"node {name}: takes the greatest input and {found}; training takes pools outside of cycles into such "
                "nodes"
            )
        if name in self.trained:
            if neuron.low == neuron.high:
                raise NotSupportedError(f"node {name}: its only value is 0; give it a range to train")
            least = self._reach(name) + self._rounding(name)
            if least >= self.widths.products:
                raise NotSupportedError(
                    f"node {name}: its neurons have so many inputs that weights of one step could reach {least:.0f}; "
                    f"sums stay within {self.widths.products}, take smaller kernels or a smaller range of the sources"
                )
            return
        most = self._reach(name) + int(np.abs(neuron.bias).max())
        if neuron.multiplier.max() > _GREATEST_MULTIPLIER or most > self.widths.total:
            raise NotSupportedError(
                f"node {name}: its sums reach {most:.0f}, its multiplier {int(neuron.multiplier.max())}; "
                f"training takes {self.widths.total} and 2**30 = {_GREATEST_MULTIPLIER} at most, scale them down"
            )

    def _take_weights(self) -> bool:
        """Start from the network's integers, if it has all of them, scaled to the size of random weights."""
        # Learning rates suit random weights: a step of the optimiser must be able to change an integer.
        known: dict[EdgeKey, Tensor] = {}
        for key, edge in self.network.edges.items():
            if isinstance(transform := edge.transform, Conv | Dense):
                if transform.weights is None:
                    return False
                known[key] = torch.from_numpy(transform.weights.tensor(transform.weight_shape).astype(np.float32))
        for name in self.trained:
            into = [key for key in known if key[1] == name]
            drawn = max(float(self._weights[key].detach().abs().max()) for key in into)
            self._step[name] = drawn / max(1.0, *(float(known[key].abs().max()) for key in into))
            for key in into:
                self._weights[key].data.copy_(known[key] * self._step[name])
        return True

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield all parameters by name, including the statistics of sums, gains and the scale of the scores."""
        yield from super().tensors()
        for name, mean in self._mean.items():
            yield f"{name}.mean", mean
            yield f"{name}.variance", self._variance[name]
            yield f"{name}.gain", self._gain[name]
        yield "scores.scale", self._score

    def count_trained(self) -> int:
        """Count weights and biases."""
        biases = (self._bias[name] for name in self.trained)
        return sum(int(parameter.numel()) for parameter in (*self._weights.parameters(), *biases))

    # Weights, latent ones in units of their neuron or feature.

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Integer weights of an edge, as floats; ``None`` if they are fixed."""
        latent = super().weight(key)
        transform = self.network.edges[key].transform
        if latent is None or not isinstance(transform, Conv | Dense):
            return None
        if self._seen is not None and self.knows_weights:
            return torch.round(latent / self._step[key[1]])
        return rounded(latent / _like_weights(self._unit(key[1]), transform))

    def _unit(self, name: str) -> Tensor:
        """Return the latent weight that becomes 1, per neuron or feature of a node, in the shape of its bias."""
        shape = self.bias_shape(name)
        parts = []  # magnitudes (positions, features, inputs), greatest magnitude of the source's values
        for key, edge in self._into(name):
            transform, latent = edge.transform, super().weight(key)
            if latent is not None and isinstance(transform, Conv | Dense):
                parts.append((_by_neuron(latent.detach().abs(), transform), _most(self.neurons[edge.source])))
        most = reduce(torch.maximum, (_as_bias(rows.amax(2), shape) for rows, _ in parts)) / self.widths.weight
        room = self.widths.products - self._reach(name)
        wide = sum(_as_bias(rows.sum(2), shape) * reach for rows, reach in parts) / (room - self._rounding(name))
        if name not in self._step:
            return torch.maximum(most, wide).clamp(min=1e-12)
        # Integers that fit stay unchanged, and identities and pools keep their relative weight of 1.
        unit = most.clamp(min=self._step[name])
        steps = unit.reshape(-1, shape[-1], 1)
        total = sum(_as_bias((rows / steps).round().sum(2), shape) * reach for rows, reach in parts)
        return torch.where(torch.as_tensor(total) <= room, unit, torch.maximum(unit, wide))

    def _reach(self, name: str) -> float:
        """Return the greatest sum over incoming edges of weight 1."""
        return sum(
            _most(self.neurons[edge.source])
            * (math.prod(edge.transform.kernel) if isinstance(edge.transform, Pool) else 1)
            for key, edge in self._into(name)
            if key not in self._weights
        )

    def _rounding(self, name: str) -> float:
        """Bound by how much rounding weights can increase a sum."""
        return sum(
            _most(self.neurons[edge.source]) * fan_in(edge.transform) / 2
            for _, edge in self._into(name)
            if isinstance(edge.transform, Conv | Dense)
        )

    # Values of sums.

    def units(self, name: str) -> Units:
        """Fold the normalisation of a node's sums into integers."""
        if name not in self.trained:
            return self._given(name)
        spread = deviation(self._variance[name])
        factor = self._gain[name].double() / spread
        shift = (_BITS_OF_MULTIPLIER - 1 - torch.floor(torch.log2(factor))).clamp(0, 62)
        multiplier = torch.round(factor * 2**shift).clamp(1, _GREATEST_MULTIPLIER)
        most = self.widths.total - self.widths.products
        bias = torch.round(self._bias[name].detach().double() * spread - self._mean[name].double()).clamp(-most, most)
        return Units(multiplier, shift, bias)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Return the values of a node; in training, those of outputs are in the learned scale of scores."""
        if self._seen is not None and name in self.trained:
            return self._look(name, sums)
        if not self.training or name not in self.trained:
            return self._respond(name, sums)
        neuron, statistics = self.neurons[name], (self._mean[name], self._variance[name], self._bias[name])
        found = normalised(sums, *statistics, by_running=name in self._cyclic)
        values = rounded((found * self._gain[name]).clamp(neuron.low, neuron.high))
        if name not in self.network.outputs:
            return values
        return values * (self._score.exp() / self._gain[name].mean())

    def _respond(self, name: str, sums: Tensor) -> Tensor:
        """Compute :meth:`GradedNeuron.respond`; products of sums and multipliers are exact in float64."""
        neuron, units = self.neurons[name], self.units(name)
        exact = (sums.double() + units.bias) * units.multiplier / 2**units.shift
        return rounded(exact.clamp(neuron.low, neuron.high)).to(sums.dtype)  # bounds are integers: either order

    # Before training: typical sums.

    def look_at(self, pattern: RolloutPattern, inputs: Mapping[str, Tensor]) -> None:
        """Set means and variances of sums from some images, and gains and offsets from known integers, if any."""
        # With known integers, values are those of the network meanwhile, so training starts from what the network
        # computes, apart from other means and variances in other batches.
        self._seen = {}
        with torch.no_grad():
            self.window(pattern, inputs)
        self._seen = None
        for name in self.trained if self.knows_weights else ():
            unit = self._unit(name) / self._step[name]  # 1 for integers that fit the chip
            self._mean[name].div_(unit)
            self._variance[name].div_(unit**2)

    def _look(self, name: str, sums: Tensor) -> Tensor:
        """Record the sums of some frames, and return the values that the next nodes see."""
        assert self._seen is not None
        shape, neuron = self.bias_shape(name), self.neurons[name]
        rows = sums.double().reshape(-1, *shape)
        seen = self._seen[name] = torch.cat([self._seen[name], rows]) if name in self._seen else rows
        mean, variance = seen.mean(0), seen.var(0, correction=0)
        self._mean[name].copy_(mean)
        self._variance[name].copy_(variance)
        if not self.knows_weights:
            values = (sums.double() - mean) / deviation(variance) * self._gain[name]
        else:
            units = self._given(name)
            multiplier, shift, bias = (_as_bias(array.reshape(-1, array.shape[-1]), shape) for array in units)
            spread = deviation(variance)
            self._gain[name].copy_(spread * multiplier / 2**shift)
            self._bias[name].data.copy_((mean + bias) / spread)
            values = (sums.double() + units.bias) * units.multiplier / 2**units.shift
        return values.round().clamp(neuron.low, neuron.high).to(sums.dtype)

    def _given(self, name: str) -> Units:
        """Return the integers that the network came with, one per neuron."""
        neuron, shape = self.neurons[name], self.network.nodes[name].shape
        assert shape is not None
        arrays = (
            np.broadcast_to(array, (math.prod(shape),)) for array in (neuron.multiplier, neuron.shift, neuron.bias)
        )
        return Units(*(torch.from_numpy(array.astype(np.float64)).reshape(shape).to(self.device) for array in arrays))


def _graded(node: Node) -> GradedNeuron:
    neuron = node.graded
    assert neuron is not None  # all nodes of a network are graded, or none
    return neuron


def _most(neuron: GradedNeuron) -> int:
    """Return the greatest magnitude of a value."""
    return max(-neuron.low, neuron.high)


# Neurons and features in the layouts of weights.


def _by_neuron(weights: Tensor, transform: Conv | Dense) -> Tensor:
    """Reshape weights to (positions, features, inputs); a convolution has one position."""
    features = transform.target_shape[2]
    if isinstance(transform, Conv):
        return weights.movedim(-1, 0).reshape(1, features, -1)
    if transform.groups == 1:
        return weights.reshape(-1, features, weights.shape[-1])
    groups, _, inputs = weights.shape
    return weights.reshape(groups, -1, features // groups, inputs).transpose(0, 1).reshape(-1, features, inputs)


def _as_bias(each: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Reduce numbers per neuron, shape (positions, features), to the maximum over neurons that share a bias."""
    return each.reshape(shape) if len(shape) > 1 else each.amax(0)


def _like_weights(unit: Tensor, transform: Conv | Dense) -> Tensor:
    """Reshape units of neurons or features so that they broadcast with the weights of an edge."""
    if isinstance(transform, Conv):
        return unit
    rows, columns, features = transform.target_shape
    groups = transform.groups
    each = unit.expand(rows, columns, features).reshape(rows * columns, groups, -1).transpose(0, 1)
    return each.reshape(*transform.weight_shape[:-1], 1)


def to_graded_network(model: GradedModel) -> Network:
    """Convert a model in evaluation mode to a network with its integers."""
    network, nodes = model.network, dict(model.network.nodes)
    for name in model.trained:
        found: dict[str, Any] = {key: integers(part).reshape(-1) for key, part in model.units(name)._asdict().items()}
        nodes[name] = replace(nodes[name], neuron=replace(model.neurons[name], **found))
    edges = {key: with_weights(edge, model.weight(key)) for key, edge in network.edges.items()}
    return replace(network, nodes=nodes, edges=edges)
