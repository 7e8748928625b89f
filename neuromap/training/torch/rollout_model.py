"""``RolloutModel``, a trainable network in PyTorch, and ``NetworkModel``, which computes a given integer network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NotSupportedError
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms import Conv, Dense, Identity, Pool
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.options.node_settings import fan_in, node_settings, weight_shape

# ``RolloutModel``: a network with real values, rolled out under any valid pattern.
#
# It computes :func:`neuromap.reference` with real values: x_v[i] = f(sum over e = (u, v) of W_e x_u[i - R(e)] + b_v)
# for frames i >= 1, and 0 in frame 0 for all but the inputs (Fischer, Köhler, Pfeil 2018, section 2).

# What each edge reads: the frame R before, or, with a gate per image, a mix of this frame and the one before.
Reads: TypeAlias = dict[EdgeKey, "int | Tensor"]
NO_GATES: Mapping[EdgeKey, Tensor] = ReadOnlyMapping({})

_ACTIVATIONS = {"relu": functional.relu, "linear": lambda x: x, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


class Parameters(nn.Module):
    """Parameters by nodes or edges, whose names are none of attributes, as PyTorch wants; they follow their device."""

    def __init__(self, given: Mapping[Any, nn.Parameter]) -> None:
        super().__init__()
        self._names = {key: f"parameter{k}" for k, key in enumerate(given)}
        for key, parameter in given.items():
            self.register_parameter(self._names[key], parameter)

    def __getitem__(self, key: Any) -> nn.Parameter:
        found = self._parameters[self._names[key]]
        assert found is not None
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def get(self, key: Any) -> nn.Parameter | None:
        """Return a parameter; ``None`` if there is none of this name."""
        return self[key] if key in self._names else None

    def items(self) -> list[tuple[Any, nn.Parameter]]:
        """Pairs of node or edge and parameter."""
        return [(key, self[key]) for key in self]


class RolloutModel(nn.Module):
    """A network with trainable weights, shared by all frames."""

    # Initial weights follow Glorot and Bengio (2010), uniform within sqrt(6 / (fan in + fan out)); biases are 0. A node
    # has one bias per neuron if all its edges are dense, else one per feature.

    def __init__(self, network: Network, seed: int = 0) -> None:
        super().__init__()
        self.in_bfloat16 = False  # whether products are, in training
        self.network = network
        self.settings = node_settings(network)
        generator = torch.Generator().manual_seed(seed)
        drawn = {
            key: nn.Parameter(_drawn(edge.transform, generator))
            for key, edge in network.edges.items()
            if weight_shape(edge) is not None and isinstance(edge.transform, Conv | Dense)
        }
        self._weights = Parameters(drawn)
        self._bias = Parameters({name: nn.Parameter(torch.zeros(self.bias_shape(name))) for name in self.settings})

    @property
    def device(self) -> torch.device:
        """Device that holds the parameters and computes the values."""
        return next(self.parameters()).device

    def bias_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a node's bias: that of the node, or its features alone."""
        node = self.network.nodes[name]
        into = [edge for edge in self.network.edges.values() if edge.target == name]
        dense = all(isinstance(edge.transform, Dense) for edge in into)
        return _shape(node) if dense else _shape(node)[2:]

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield all parameters by name: ``"A -> B"`` for weights, ``"A.bias"`` for biases."""
        for key, weights in self._weights.items():
            yield self.network.edges[key].label, weights
        for name, bias in self._bias.items():
            yield f"{name}.bias", bias

    def count_trained(self) -> int:
        """Count weights and biases."""
        return sum(parameter.numel() for _, parameter in RolloutModel.tensors(self))

    def share_at_bounds(self) -> float | None:
        """Return the fraction of latent weights at a bound; ``None`` if weights have no bounds."""
        return None

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Weights of an edge as used, in the layout of the weights file; ``None`` if they are fixed."""
        return self._weights.get(key)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Compute the values of a node from the sums of its edges, shape (batch, rows, columns, features)."""
        settings = self.settings[name]
        values = _ACTIVATIONS[settings.activation](sums + self._bias[name])
        return functional.dropout(values, settings.dropout, self.training) if settings.dropout else values

    def window(
        self, pattern: RolloutPattern, inputs: Mapping[str, Tensor], gates: Mapping[EdgeKey, Tensor] = NO_GATES
    ) -> dict[str, Tensor]:
        """Compute a deep window; gates of sequential edges mix the two frames that such an edge may read."""
        # A gate is the weight, per image, of the previous frame in what an edge reads: 0 is sequential, 1 streaming.
        # Any gates on sequential edges are safe: they only make fewer edges sequential, so no node waits for itself.
        # shapes: inputs (W + 1, batch, rows, columns, features); returns (W + 1, batch, rows, columns, features); gates
        # (batch,)
        # Only products, rounded at the end of each edge, are in bfloat16; sums of edges, activations and values have 32
        # bits.
        if not (self.in_bfloat16 and self.training):
            return self._windowed(pattern, inputs, gates)
        # no weight cache: a captured graph would retain it
        with torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False):
            return self._windowed(pattern, inputs, gates)

    def _windowed(
        self, pattern: RolloutPattern, inputs: Mapping[str, Tensor], gates: Mapping[EdgeKey, Tensor]
    ) -> dict[str, Tensor]:
        values = self._shown(inputs)
        r_of: Reads = dict(zip(self.network.edges, pattern.values, strict=True))
        r_of |= {key: gate[:, None, None, None] for key, gate in gates.items()}
        for stage in stages(pattern):
            outside = {name: self._from_outside(name, stage, r_of, values) for name in stage.nodes}
            if stage.is_cyclic:
                values |= self._frame_by_frame(stage, r_of, outside)
            else:
                name = stage.nodes[0]
                frames = self.activate(name, outside[name].flatten(0, 1)).unflatten(0, outside[name].shape[:2])
                values[name] = torch.cat([torch.zeros_like(frames[:1]), frames])  # after a blank one
        return values

    def step(
        self, pattern: RolloutPattern, before: Mapping[str, Tensor], inputs: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Compute one frame from the previous one, as a window of size 1 does."""
        # shapes: before (batch, rows, columns, features); inputs (batch, rows, columns, features)
        now = self._shown(inputs)
        r_of = dict(zip(self.network.edges, pattern.values, strict=True))
        for name in (n for stage in stages(pattern) for n in stage.nodes):
            now[name] = self._computed(name, before, now, r_of)
        return now

    def compute(
        self, pattern: RolloutPattern, name: str, before: Mapping[str, Tensor], now: Mapping[str, Tensor]
    ) -> Tensor:
        """Compute one node of a frame."""
        # shapes: before, now (batch, rows, columns, features); returns (batch, rows, columns, features)
        return self._computed(name, before, now, dict(zip(self.network.edges, pattern.values, strict=True)))

    def blank(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return frame 0: the given inputs, and 0 for all other nodes."""
        some = next(iter(inputs.values()))
        shapes = {name: (len(some), *_shape(self.network.nodes[name])) for name in self.settings}
        return self._shown(inputs) | {name: some.new_zeros(shape) for name, shape in shapes.items()}

    def _shown(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the values of input nodes."""
        return dict(inputs)

    def _applied(self, key: EdgeKey, edge: Edge, x: Tensor) -> Tensor:
        """Compute an edge's contribution to its target."""
        if self._takes_greatest(edge.target):
            return _greatest(edge, x)
        return apply_edge(edge, self.weight(key), x)

    def _joined(self, name: str, parts: Iterator[Tensor]) -> Tensor:
        """Sum the contributions of a node's edges, or take their maximum."""
        return reduce(torch.maximum, parts) if self._takes_greatest(name) else _added(parts)

    def _takes_greatest(self, name: str) -> bool:
        neuron = self.network.nodes[name].graded
        return neuron is not None and bool(neuron.maximum)

    def _into(self, name: str) -> Iterator[tuple[EdgeKey, Edge]]:
        return ((key, edge) for key, edge in self.network.edges.items() if edge.target == name)

    def _computed(
        self, name: str, before: Mapping[str, Tensor], now: Mapping[str, Tensor], r_of: Mapping[EdgeKey, int]
    ) -> Tensor:
        parts = (
            self._applied(key, edge, (before if r_of[key] else now)[edge.source]) for key, edge in self._into(name)
        )
        return self.activate(name, self._joined(name, parts))

    def _from_outside(self, name: str, stage: Stage, r_of: Reads, values: Mapping[str, Tensor]) -> Tensor:
        """Sum the contributions of earlier stages for frames 1 to W at once, shape (W, batch, ...)."""
        parts = []
        for key, edge in self._into(name):
            if edge.source not in stage.nodes:
                # All frames at once; the unused one is dropped after the edge, where frames are smaller.
                x = values[edge.source]
                sums = self._applied(key, edge, x.flatten(0, 1)).unflatten(0, x.shape[:2])
                parts.append(frames_read(sums, r_of[key]))
        if parts:
            return self._joined(name, iter(parts))
        some = next(iter(values.values()))
        return some.new_zeros((len(some) - 1, some.shape[1], *_shape(self.network.nodes[name])))

    def _frame_by_frame(self, stage: Stage, r_of: Reads, outside: Mapping[str, Tensor]) -> dict[str, Tensor]:
        frames = [{name: torch.zeros_like(sums[0]) for name, sums in outside.items()}]
        of_frame = {name: sums.unbind() for name, sums in outside.items()}
        for i in range(len(of_frame[stage.nodes[0]])):
            now: dict[str, Tensor] = {}
            frames.append(now)
            for name in stage.nodes:
                inside = (
                    self._applied(key, edge, _frame_read(edge.source, now, frames[-2], r_of[key]))
                    for key, edge in self._into(name)
                    if edge.source in stage.nodes
                )
                now[name] = self.activate(name, of_frame[name][i] + _added(inside))
        return {name: torch.stack([frame[name] for frame in frames]) for name in stage.nodes}


def sole_output(model: RolloutModel) -> str:
    """Return the output that classes are read from, the first in the network file."""
    return model.network.outputs[0]


def class_scores(output: Tensor, classes: int) -> Tensor:
    """Sum the neurons that vote for each class: neuron n votes for class n // (size / classes)."""
    # shapes: output (..., rows, columns, features); returns (..., classes)
    flat = output.flatten(-3)
    return flat if flat.shape[-1] == classes else flat.unflatten(-1, (classes, -1)).sum(-1)


def _added(parts: Iterator[Tensor]) -> Tensor:
    total = next(parts)
    total = total.float() if total.dtype == torch.bfloat16 else total  # products may have 8 bits, no sum of them has
    for part in parts:
        total = total + part
    return total


def frames_read(x: Tensor, r: int | Tensor) -> Tensor:
    """Return what an edge reads in frames 1 to W of a window."""
    # shapes: x (W + 1, batch, rows, columns, features); returns (W, batch, rows, columns, features)
    return x[1 - r : len(x) - r] if isinstance(r, int) else _mixed(x[1:], x[:-1], r)


def _frame_read(name: str, now: Mapping[str, Tensor], before: Mapping[str, Tensor], r: int | Tensor) -> Tensor:
    if isinstance(r, int):
        return (before if r else now)[name]
    return _mixed(now[name], before[name], r)


def _mixed(now: Tensor, before: Tensor, gate: Tensor) -> Tensor:
    return (1 - gate) * now + gate * before


def _shape(node: Node) -> tuple[int, int, int]:
    if node.shape is None:
        node.size  # noqa: B018 - says what is missing
        raise AssertionError
    return node.shape


def _drawn(transform: Conv | Dense, generator: torch.Generator) -> Tensor:
    shape = transform.weight_shape
    fan_out = shape[-2]  # targets of a source neuron
    if isinstance(transform, Conv):
        fan_out = math.prod(transform.kernel) * shape[3] // transform.groups
    limit = math.sqrt(6 / (fan_in(transform) + fan_out))
    return torch.empty(shape).uniform_(-limit, limit, generator=generator)


# Order of computing a window: nodes on no cycle for all frames at once, cycles frame by frame.
@dataclass(frozen=True)
class Stage:
    """Nodes computed together."""

    nodes: tuple[str, ...]  # one node, or a strongly connected component, in the order of computation within a frame
    is_cyclic: bool  # whether they are computed frame by frame


def stages(pattern: RolloutPattern) -> tuple[Stage, ...]:
    """Order all nodes except inputs into stages that depend only on themselves and earlier stages, in any frame."""
    pattern.require_binary("RolloutModel")
    network = pattern.network
    order = {name: place for place, name in enumerate(pattern.node_order)}  # within a frame
    graph = network.graph
    condensed = nx.condensation(graph)
    found = []
    for number in nx.topological_sort(condensed):
        nodes = sorted(condensed.nodes[number]["members"], key=order.__getitem__)
        if nodes[0] not in network.inputs:
            is_cyclic = len(nodes) > 1 or graph.has_edge(nodes[0], nodes[0])
            found.append(Stage(tuple(nodes), is_cyclic))
    return tuple(found)


# Transforms of real-valued frames as PyTorch operators, with weights in the layout of the weights file.
def apply_edge(edge: Edge, weight: Tensor | None, x: Tensor) -> Tensor:
    """Compute what an edge adds to the sums of its target."""
    # shapes: x (batch, rows, columns, features); returns (batch, rows, columns, features)
    transform = edge.transform
    if isinstance(transform, Conv) and weight is not None:
        kernel = weight.permute(3, 2, 0, 1)
        return _windowed(
            transform, x, lambda y: functional.conv2d(y, kernel, None, transform.stride, 0, 1, transform.groups)
        )
    if isinstance(transform, Dense) and weight is not None:
        return _dense(transform, weight, x)
    if isinstance(transform, Pool):
        size, stride = transform.kernel, transform.stride or transform.kernel
        return _windowed(transform, x, lambda y: functional.avg_pool2d(y, size, stride, divisor_override=1))
    return x


def _greatest(edge: Edge, x: Tensor) -> Tensor:
    """Compute the maximum of every window; padding never wins."""
    transform = edge.transform
    if isinstance(transform, Pool):
        stride = transform.stride or transform.kernel
        image = padded(transform, x, -math.inf)
        return functional.max_pool2d(image, transform.kernel, stride).permute(0, 2, 3, 1)
    if isinstance(transform, Identity):
        return x
    raise NotSupportedError(f"edge {edge.label}: its target takes the greatest input; PyTorch computes pools into it")


def _windowed(transform: Conv | Pool, x: Tensor, slide: Any) -> Tensor:
    """Pad as in the network file, and slide."""
    moved: Tensor = slide(padded(transform, x))
    return moved.permute(0, 2, 3, 1)


def padded(transform: Conv | Pool, x: Tensor, value: float = 0.0) -> Tensor:
    """Pad as in the network file, and move features before rows and columns, as convolutions expect."""
    image = x.permute(0, 3, 1, 2)
    if transform.padding != "valid":
        stride = transform.stride or transform.kernel
        image = functional.pad(image, _margins(transform, stride), value=value)
    return image


def _margins(transform: Conv | Pool, stride: tuple[int, int]) -> list[int]:
    """Columns before and after, rows before and after; the smaller half goes before."""
    if not isinstance(transform.padding, str):
        top, left, bottom, right = transform.padding
        return [left, right, top, bottom]
    margins = []
    for axis in (1, 0):
        windows, length = transform.target_shape[axis], transform.source_shape[axis]
        total = max((windows - 1) * stride[axis] + transform.kernel[axis] - length, 0)
        margins += [total // 2, total - total // 2]
    return margins


def _dense(transform: Dense, weight: Tensor, x: Tensor) -> Tensor:
    groups, batch = transform.groups, len(x)
    if groups == 1:
        return functional.linear(x.reshape(batch, -1), weight).reshape(batch, *transform.target_shape)
    rows, columns, features = transform.target_shape
    parts = x.unflatten(-1, (groups, -1)).permute(0, 3, 1, 2, 4).reshape(batch, groups, -1)
    sums = torch.einsum("bgi,goi->bgo", parts, weight)
    spread = sums.reshape(batch, groups, rows, columns, features // groups)
    return spread.permute(0, 2, 3, 1, 4).reshape(batch, rows, columns, features)


# Limit of exact integers in float32.
_GREATEST_SUM = 2**24


class NetworkModel(RolloutModel):
    """A network with integer weights, computed by PyTorch: the inverse of :func:`to_network`."""

    # Computes what :func:`neuromap.reference` and the chip compute, independently, by PyTorch's operators; for graded
    # networks this covers the sums, while values come from :meth:`GradedNeuron.respond`. Nothing in it is trained.

    def __init__(self, network: Network) -> None:
        require_weights(network)
        super().__init__(network)
        self._stored = {
            key: torch.from_numpy(edge.transform.weights.tensor(edge.transform.weight_shape).astype(np.float32))
            for key, edge in network.edges.items()
            if isinstance(edge.transform, Conv | Dense) and edge.transform.weights is not None
        }
        for name in self.settings:
            _require_exact(network, name)
        frames = () if network.is_graded else self.settings
        self._thresholds = {name: _threshold(network.nodes[name]) for name in frames}

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Integer weights of an edge, as floats; ``None`` if they are fixed."""
        stored = self._stored.get(key)
        return None if stored is None else stored.to(self.device)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Return the spikes of a node, 1 if a sum reaches its neuron's threshold, or the values of graded neurons."""
        neuron = self.network.nodes[name].graded
        if neuron is not None:
            total = sums.detach().flatten(1).cpu().numpy().astype(np.int64) + neuron.bias
            return torch.from_numpy(neuron.respond(total)).to(sums).view_as(sums)
        return (sums >= self._thresholds[name].to(sums.device)).to(sums.dtype)


def _require_exact(network: Network, name: str) -> None:
    """Refuse sums that float32 does not represent exactly."""
    reach = {
        source: 1 if (neuron := node.graded) is None else max(map(abs, neuron.value_range))
        for source, node in network.nodes.items()
    }
    into = [
        int(abs(edge.matrix()).sum(axis=1).max()) * reach[edge.source]
        for edge in network.edges.values()
        if edge.target == name
    ]
    if (most := sum(into)) >= _GREATEST_SUM:
        raise NotSupportedError(
            f"node {name}: sums may reach {most}, and PyTorch's float32 is exact below 2**24 = {_GREATEST_SUM}; "
            "neuromap.reference takes any"
        )


def _threshold(node: Node) -> Tensor:
    """Return the thresholds of a node in its shape, clipped to values beyond any sum."""
    cut = np.clip(np.asarray(node.threshold), -_GREATEST_SUM, _GREATEST_SUM)
    return torch.from_numpy(cut.astype(np.float32).reshape(node.shape))
