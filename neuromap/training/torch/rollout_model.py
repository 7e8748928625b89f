"""``RolloutModel``: a network with real values, rolled out over time by any valid pattern.

The meaning is that of :func:`neuromap.reference`, with real values: x_v[i] = f(sum over e = (u, v) of W_e x_u[i - R(e)]
+ b_v) for frames i >= 1, and 0 in frame 0 for all but the inputs (Fischer, Köhler, Pfeil 2018, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms.kinds import Conv, Dense
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.options.node_settings import node_settings
from neuromap.training.torch.edge_operators import apply_edge, fans, weight_shape
from neuromap.training.torch.frame_order import Stage, stages

__all__ = ["RolloutModel"]

_ACTIVATIONS = {"relu": functional.relu, "linear": lambda x: x, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


class RolloutModel(nn.Module):
    """A network whose weights are trained, the same ones in every frame."""

    # Weights are drawn as Glorot and Bengio (2010) propose, uniformly within sqrt(6 / (fan in + fan out)); biases are
    # 0. A node has one bias for each neuron where all its edges are dense, else one for each feature.

    def __init__(self, network: Network, seed: int = 0) -> None:
        super().__init__()
        self.network = network
        self.settings = node_settings(network)
        generator = torch.Generator().manual_seed(seed)
        self._place = {key: f"edge{k}" for k, key in enumerate(network.edges)}
        self._weights = nn.ParameterDict()
        for key, edge in network.edges.items():
            shape, transform = weight_shape(edge), edge.transform
            if shape is not None and isinstance(transform, Conv | Dense):
                self._weights[self._place[key]] = nn.Parameter(_drawn(shape, fans(transform), generator))
        self._bias = nn.ParameterDict()
        self._node_place = {name: f"node{k}" for k, name in enumerate(network.nodes)}
        for name in self.settings:
            self._bias[self._node_place[name]] = nn.Parameter(torch.zeros(self.bias_shape(name)))

    @property
    def device(self) -> torch.device:
        """Where its parameters are, and its values are computed."""
        return next(self.parameters()).device

    def bias_shape(self, name: str) -> tuple[int, ...]:
        """Shape of a node's bias: that of the node, or its features alone."""
        node = self.network.nodes[name]
        into = [edge for edge in self.network.edges.values() if edge.target == name]
        dense = all(isinstance(edge.transform, Dense) for edge in into)
        return _shape(node) if dense else _shape(node)[2:]

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Give all parameters by name: ``"A -> B"`` for weights, ``"A.bias"`` for biases."""
        for key, edge in self.network.edges.items():
            if self._place[key] in self._weights:
                yield edge.label, self._weights[self._place[key]]
        for name in self.settings:
            yield f"{name}.bias", self._bias[self._node_place[name]]

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Weights of an edge as they are used, in the layout of the weights file; ``None`` where they are fixed."""
        return self._weights.get(self._place[key], None)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Give the values of a node from the sums of its edges, shape (batch, rows, columns, features)."""
        settings = self.settings[name]
        values = _ACTIVATIONS[settings.activation](sums + self._bias[self._node_place[name]])
        return functional.dropout(values, settings.dropout, self.training) if settings.dropout else values

    def window(self, pattern: RolloutPattern, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute a deep window."""
        # shapes: inputs (W + 1, batch, rows, columns, features); returns (W + 1, batch, rows, columns, features)
        values = self._shown(inputs)
        r_of = dict(zip(self.network.edges, pattern.values, strict=True))
        for stage in stages(pattern):
            outside = {name: self._from_outside(name, stage, r_of, values) for name in stage.nodes}
            if stage.is_cyclic:
                values |= self._frame_by_frame(stage, r_of, outside)
            else:
                name = stage.nodes[0]
                values[name] = _after_blank(self.activate(name, outside[name].flatten(0, 1)), outside[name])
        return values

    def step(
        self, pattern: RolloutPattern, before: Mapping[str, Tensor], inputs: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Compute one frame from the last: the window of size 1, which streams without end."""
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
        """Give frame 0: the inputs as they are, 0 on all other nodes."""
        some = next(iter(inputs.values()))
        shapes = {name: (len(some), *_shape(self.network.nodes[name])) for name in self.settings}
        return self._shown(inputs) | {name: some.new_zeros(shape) for name, shape in shapes.items()}

    def _shown(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Give the values of input nodes: what they are shown."""
        return dict(inputs)

    def _into(self, name: str) -> Iterator[tuple[EdgeKey, Edge]]:
        return ((key, edge) for key, edge in self.network.edges.items() if edge.target == name)

    def _computed(
        self, name: str, before: Mapping[str, Tensor], now: Mapping[str, Tensor], r_of: Mapping[EdgeKey, int]
    ) -> Tensor:
        parts = (
            apply_edge(edge, self.weight(key), (before if r_of[key] else now)[edge.source])
            for key, edge in self._into(name)
        )
        return self.activate(name, _added(parts))

    def _from_outside(
        self, name: str, stage: Stage, r_of: Mapping[EdgeKey, int], values: Mapping[str, Tensor]
    ) -> Tensor:
        """Sum what comes from earlier stages, for frames 1 to W at once: shape (W, batch, ...)."""
        parts = []
        for key, edge in self._into(name):
            if edge.source not in stage.nodes:
                # All frames at once; that which nobody takes is left out after the edge, where frames are smaller.
                x = values[edge.source]
                sums = apply_edge(edge, self.weight(key), x.flatten(0, 1)).unflatten(0, x.shape[:2])
                parts.append(sums[1 - r_of[key] : len(x) - r_of[key]])
        if parts:
            return _added(iter(parts))
        some = next(iter(values.values()))
        return some.new_zeros((len(some) - 1, some.shape[1], *_shape(self.network.nodes[name])))

    def _frame_by_frame(
        self, stage: Stage, r_of: Mapping[EdgeKey, int], outside: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        frames = [{name: torch.zeros_like(sums[0]) for name, sums in outside.items()}]
        of_frame = {name: sums.unbind() for name, sums in outside.items()}
        for i in range(len(of_frame[stage.nodes[0]])):
            now: dict[str, Tensor] = {}
            frames.append(now)
            for name in stage.nodes:
                inside = (
                    apply_edge(edge, self.weight(key), frames[-1 - r_of[key]][edge.source])
                    for key, edge in self._into(name)
                    if edge.source in stage.nodes
                )
                now[name] = self.activate(name, of_frame[name][i] + _added(inside))
        return {name: torch.stack([frame[name] for frame in frames]) for name in stage.nodes}


def _added(parts: Iterator[Tensor]) -> Tensor:
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def _after_blank(values: Tensor, like: Tensor) -> Tensor:
    """Put a frame of zeros before frames 1 to W."""
    frames = values.unflatten(0, like.shape[:2])
    return torch.cat([torch.zeros_like(frames[:1]), frames])


def _shape(node: Node) -> tuple[int, int, int]:
    if node.shape is None:
        node.size  # noqa: B018 - says what is missing
        raise AssertionError
    return node.shape


def _drawn(shape: tuple[int, ...], fan: tuple[int, int], generator: torch.Generator) -> Tensor:
    limit = math.sqrt(6 / sum(fan))
    return torch.empty(shape).uniform_(-limit, limit, generator=generator)
