"""``PatternGates``: a distribution over the valid patterns of a network, learned together with its weights.

Every image of a batch draws its own pattern. An edge on no cycle has a *gate*: it streams with probability
sigmoid(a / temperature). In a strongly connected component an order of its nodes is drawn too, by the Plackett-Luce
model over learned potentials: edges that lead forward in this order have gates, all others stream. So sequential edges
never form a cycle: every draw is a valid pattern, and every valid pattern can be drawn.

Gates and potentials follow the score-function estimator (Williams 1992): the gradient of the expected objective is
that of the log-probability of a draw, times its objective relative to the other images of the batch. It uses the exact
times of every drawn pattern, and never computes a mix of two patterns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.pattern import RolloutPattern, first_frame
from neuromap.rollout.schedule.cheapest_phases import DelayCost, cost_of
from neuromap.rollout.schedule.phases import best_in_class
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.loss_over_time import FrameShares, LossOverTime
from neuromap.training.torch.rollout_model import RolloutModel, class_scores, sole_output

# Greatest distance that gates and potentials can move in a run with Adam, and the longest step: 12 is certain in either
# direction, and small steps average over more draws.
_TRAVEL, _FASTEST = 12.0, 0.2
_LAST_TEMPERATURE = 0.3
# Fraction of the epochs with gates before these move: untrained weights prefer no pattern.
_WAIT = 0.3
# Step of a constraint's multiplier per batch, and its limit, beyond which only the constraint would count.
_DUAL_RATE, _GREATEST_MULTIPLIER = 0.05, 50.0
# Weight of a batch in the running mean that is the baseline of orders: each batch draws one order.
_BASELINE = 0.05


class Draw(NamedTuple):
    """Patterns drawn for the images of a batch, and their log-probabilities."""

    support: RolloutPattern  # sequential on every edge that may be sequential for some image
    gates: Mapping[EdgeKey, Tensor]  # (batch,), for the edges that are sequential in ``support``: 1 streams
    values: NDArray[np.int64]  # (batch, edges): R of every image's pattern
    likely: Tensor  # (batch,): log-probability of the gates
    order_likely: Tensor  # (): log-probability of the order


class PatternGates(nn.Module):
    """Gates of edges and potentials of nodes."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        graph = indexed_network(network)
        seen, indifferent = set(graph.seen), _indifferent(network)
        self._pairs = list(zip(graph.sources, graph.targets, strict=True))
        where = graph.component_of
        self.fixed = np.ones(len(self._pairs), np.int64)
        self.fixed[indifferent] = 0
        free = [e for e, (u, v) in enumerate(self._pairs) if u != v and e in seen and e not in indifferent]
        self.gated = np.array(free, np.int64)
        cyclic = [e for e in free if where[self._pairs[e][0]] == where[self._pairs[e][1]]]
        self._on_cycles = np.isin(self.gated, cyclic)
        self._nodes = sorted({n for e in cyclic for n in self._pairs[e]})
        self.logits = nn.Parameter(torch.zeros(len(free)))
        self.potentials = nn.Parameter(torch.zeros(len(self._nodes)))

    def labels(self) -> tuple[str, ...]:
        """Names of the edges with gates."""
        keys = list(self.network.edges)
        return tuple(f"{keys[e][0]} -> {keys[e][1]}" for e in self.gated)

    def shares(self, temperature: float = 1.0) -> tuple[float, ...]:
        """Return, for each edge with a gate, the probability that it streams when it may be sequential."""
        return tuple(torch.sigmoid(self.logits.detach() / temperature).tolist())

    def draw(self, n: int, temperature: float, generator: torch.Generator) -> Draw:
        """Draw a pattern for each of n images."""
        noise = -torch.log(-torch.log(torch.rand(len(self._nodes), generator=generator).clamp(1e-9, 1 - 1e-7)))
        chances = self.potentials.cpu() / temperature
        order = torch.argsort(chances.detach() + noise, descending=True)
        may = torch.from_numpy(self._may_be_sequential(order.tolist()))
        scores = self.logits.cpu() / temperature
        streams = (torch.rand((n, len(self.gated)), generator=generator) < torch.sigmoid(scores.detach())).float()
        likely = (torch.where(streams > 0, functional.logsigmoid(scores), functional.logsigmoid(-scores)) * may).sum(1)
        streams[:, ~may] = 1
        values = np.tile(self.fixed, (n, 1))
        values[:, self.gated] = streams.numpy().astype(np.int64)
        support = self.fixed.copy()
        support[self.gated] = ~may.numpy()
        keys = list(self.network.edges)
        gates = {keys[e]: streams[:, k] for k, e in enumerate(self.gated.tolist()) if may[k]}
        ordered = chances[order]
        left = torch.logcumsumexp(ordered.flip(0), 0).flip(0) if len(ordered) else ordered
        return Draw(self._pattern(support), gates, values, likely, (ordered - left).sum())

    def most_likely(self) -> RolloutPattern:
        """Return the pattern of the most likely order and the more likely value of every gate."""
        may = self._may_be_sequential(
            torch.argsort(self.potentials.detach().cpu(), descending=True, stable=True).tolist()
        )
        values = self.fixed.copy()
        values[self.gated] = np.where(may, self.logits.detach().cpu().numpy() > 0, 1)
        return self._pattern(values)

    def _may_be_sequential(self, order: list[int]) -> NDArray[np.bool_]:
        """Mark the gates of edges on no cycle, and of edges that lead forward in an order of the nodes on cycles."""
        place = {self._nodes[k]: rank for rank, k in enumerate(order)}
        ends = [self._pairs[e] for e in self.gated.tolist()]
        forward = [place.get(u, 0) < place.get(v, 0) for u, v in ends]
        return ~self._on_cycles | np.array(forward, np.bool_)

    def _pattern(self, values: NDArray[np.int64]) -> RolloutPattern:
        return RolloutPattern(self.network, tuple(values.tolist()))


def _indifferent(network: Network) -> list[int]:
    """List edges whose R changes no behaviour class: bridges of the graph that outputs see, with all inputs merged."""
    graph = indexed_network(network)
    inputs = set(graph.inputs)
    number = [-1 if n in inputs else n for n in range(graph.n)]
    ends = [(number[graph.sources[e]], number[graph.targets[e]]) for e in graph.seen]
    pairs = [(min(pair), max(pair)) for pair in ends]
    parallel = Counter(pairs)
    whole: nx.Graph[int] = nx.Graph([pair for pair in pairs if len({*pair}) > 1])
    found: list[Any] = list(nx.bridges(whole))  # pairs of nodes, despite the stubs
    bridges = {tuple(sorted(pair)) for pair in found}
    return [e for e, pair in zip(graph.seen, pairs, strict=True) if pair in bridges and parallel[pair] == 1]


def _begun(frames: Tensor, draw: Draw, network: Network) -> Tensor:
    """Start pictures in frame 1 for patterns with no streaming edge of an input: nothing depends on frame 0 there."""
    of_inputs = [e for e, (source, _) in enumerate(network.edges) if source in network.inputs]
    late = torch.from_numpy(~draw.values[:, of_inputs].any(1))
    if frames.stride(0) == 0 or not late.any():
        return frames
    return torch.where(late[:, None, None, None], torch.cat([frames[:1], frames[:-1]]), frames)


@dataclass(frozen=True)
class Learning:
    """How a pattern is learned."""

    execution: str
    epochs: int  # with gates; afterwards only the most likely pattern is trained
    weight_time: float = 0.0  # nats per update step until the frames that count are known
    weight_cores: float = 0.0  # nats per core that the neurons of ``delays`` fill
    delays: tuple[DelayCost, ...] = ()  # cost of delays on the chip, in neurons
    core_neurons: int = 1

    def cost(self, rollout: Rollout, shares: FrameShares) -> float:
        """Return the cost of a rollout's times and delays, in nats."""
        cores = cost_of(rollout.delays, self.delays) / self.core_neurons if self.weight_cores else 0.0
        return self.weight_time * shares.steps + self.weight_cores * cores


def mean_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of single frames (Fischer, Köhler, Pfeil 2018, section 4)."""
    # shapes: scores (frames, batch, classes); labels (batch,)
    return functional.cross_entropy(scores.float().flatten(0, 1), labels.repeat(len(scores)))


class Objective(nn.Module):
    """The loss over time of a run, with the parameters it learns besides the weights."""

    # A multiplier enforces the constraint of ``by``: its steps follow the accuracy itself, while weights follow the
    # cross-entropy of the same frame as a proxy (Cotter et al. 2019, proxy Lagrangian).

    def __init__(
        self,
        rollouts: Sequence[Rollout],
        over_time: LossOverTime,
        frames: int,
        classes: int,
        learning: Learning | None = None,
    ) -> None:
        super().__init__()
        self.over_time, self.frames, self._chance = over_time, frames, math.log(classes)
        self.classes, self.learning = classes, learning
        self.gates = None if learning is None else PatternGates(rollouts[0].network)
        self.multiplier = nn.Parameter(torch.zeros(1), requires_grad=False)
        self.usual = nn.Parameter(torch.full((1,), -1.0), requires_grad=False)  # mean objective; below 0 for none yet
        # of drawn patterns, by their values
        self._cost, self._ticks = cache(self._cost_of), cache(self._ticks_of)
        self._take(rollouts)

    def _take(self, rollouts: Sequence[Rollout]) -> None:
        self.rollouts = tuple(rollouts)
        self.patterns = tuple(rollout.pattern for rollout in rollouts)
        self._shares = tuple(self.over_time.shares(rollout, self.frames) for rollout in rollouts)

    def tensors(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the parameters that a checkpoint keeps besides the model, by name."""
        if self.over_time.part:
            yield "loss.multiplier", self.multiplier
        if self.gates is not None:
            yield "gates.logits", self.gates.logits
            yield "gates.potentials", self.gates.potentials
            yield "gates.usual", self.usual

    def begin(self, epoch: int) -> bool:
        """Begin an epoch; return whether its images draw patterns."""
        if self.gates is None or self.learning is None:
            return False
        self._take([self.rollout_of(self.gates.most_likely())])
        part = epoch / self.learning.epochs
        self._temperature = _LAST_TEMPERATURE**part
        self._moves, self._draws = part >= _WAIT, part < 1
        return self._draws

    def gate_rate(self, batches: int) -> float:
        """Return the learning rate of gates and potentials, given the batches per epoch."""
        epochs = 1 if self.learning is None else self.learning.epochs
        return min(_FASTEST, _TRAVEL / ((1 - _WAIT) * epochs * batches))

    def rollout_of(self, pattern: RolloutPattern) -> Rollout:
        """Return the rollout of a pattern; windowed, it is of the pattern with the least frame period in its class."""
        execution = "windowed" if self.learning is None else self.learning.execution
        best = best_in_class(pattern) if execution == "windowed" else pattern
        return Rollout(pattern.network, best, execution)

    def window(self) -> int:
        """Return the size of the longest window that a step may take."""
        output = self.patterns[0].network.outputs[0]
        longest = max(len(shares.shares) for shares in self._shares)
        if self.gates is None or not self._draws:
            return longest + max(first_frame(pattern, output) for pattern in self.patterns)
        # No path takes more frames than under streaming, and no pattern answers before the shortest path.
        streaming = RolloutPattern.streaming(self.gates.network)
        most = first_frame(streaming, output)
        return most + max(longest, self.over_time.most_frames(self.gates.network, self.frames))

    def turn(self, step: int) -> tuple[RolloutPattern, FrameShares]:
        """Return the pattern of a step, and its shares."""
        number = step % len(self.patterns)
        return self.patterns[number], self._shares[number]

    def of_pattern(self, scores: Tensor, labels: Tensor, shares: FrameShares) -> tuple[Tensor, float]:
        """Return the loss of a pattern's frames from its first response on, as a tensor for gradients and a number."""
        # shapes: scores (frames, batch, classes); labels (batch,)
        labels = labels.to(scores.device)
        if shares.is_mean:
            loss = mean_loss(scores, labels)
            return loss, float(loss.detach())
        weights = scores.new_tensor(shares.shares)[:, None].expand(-1, len(labels))
        held = None if shares.held is None else torch.full_like(labels, shares.held)
        each = self._of_images(scores, labels, weights, shares.silent, held)
        return each.mean(), float(each.detach().mean())

    def of_draws(
        self, model: RolloutModel, frames: Tensor, labels: Tensor, generator: torch.Generator, *, by_tick: bool = False
    ) -> tuple[Tensor, float]:
        """Return the loss of images that each draw a pattern; its gradient covers weights and gates."""
        # shapes: frames (W + 1, batch, rows, columns, features), of streams (ticks, ...), black in the last; labels
        # (batch,)
        assert self.gates is not None
        assert self.learning is not None
        draw = self.gates.draw(len(labels), self._temperature, generator)
        costs = [self._cost(tuple(values)) for values in draw.values.tolist()]
        shown = self._sampled(frames, draw) if by_tick else _begun(frames, draw, model.network)
        shown = shown.to(model.device)
        gates = {key: gate.to(shown) for key, gate in draw.gates.items()}
        found = model.window(draw.support, dict.fromkeys(model.network.inputs, shown), gates)[sole_output(model)]
        scores, labels = class_scores(found, self.classes), labels.to(model.device)
        weights = np.zeros((len(scores), len(labels)), np.float32)
        for k, (first, shares, _) in enumerate(costs):
            weights[first : first + len(shares.shares), k] = shares.shares
        silent = scores.new_tensor([shares.silent for _, shares, _ in costs])
        held = None
        if self.over_time.part:
            held = torch.tensor(
                [-1 if s.held is None else first + s.held for first, s, _ in costs], device=scores.device
            )
        each = self._of_images(scores, labels, scores.new_tensor(weights), silent, held)
        told = each.detach() + scores.new_tensor([cost for *_, cost in costs])
        return each.mean() + self._of_gates(draw, told.cpu()), float(told.mean())

    def _sampled(self, frames: Tensor, draw: Draw) -> Tensor:
        """Sample each image's stream as its pattern does, at the frame period of the pattern's rollout."""
        ticks = np.stack([self._ticks(tuple(values)) for values in draw.values.tolist()], axis=1)
        ticks[(ticks < 0) | (ticks >= len(frames))] = len(frames) - 1
        return frames[torch.from_numpy(ticks), torch.arange(frames.shape[1])]

    def _ticks_of(self, values: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the ticks at which a pattern samples a stream."""
        assert self.learning is not None
        network = self.patterns[0].network
        drawn = Rollout(network, RolloutPattern(network, values), self.learning.execution)
        ticks = np.array(drawn.sample_ticks(network.outputs[0], self.window()), np.int64)
        if self.learning.execution == "windowed":  # the same frames, at the period of the class's best pattern
            ticks = ticks // int(drawn.frame_period) * int(self.rollout_of(drawn.pattern).frame_period)
        return ticks

    def _cost_of(self, values: tuple[int, ...]) -> tuple[int, FrameShares, float]:
        """Return a pattern's first frame that depends on the stimulus, shares of frames from there on, and its cost."""
        assert self.learning is not None
        pattern = RolloutPattern(self.patterns[0].network, values)
        first, rollout = first_frame(pattern, pattern.network.outputs[0]), self.rollout_of(pattern)
        shares = self.over_time.shares(rollout, self.frames)
        return first, shares, self.learning.cost(rollout, shares)

    def _of_images(
        self, scores: Tensor, labels: Tensor, weights: Tensor, silent: Tensor | float, held: Tensor | None
    ) -> Tensor:
        """Return the loss of every image; ``held`` are indices of constrained frames, negative if none is in time."""
        # shapes: scores (frames, batch, classes); labels, silent, held (batch,); weights (frames, batch)
        lost = functional.cross_entropy(scores.flatten(0, 1), labels.repeat(len(scores)), reduction="none")
        lost = lost.unflatten(0, scores.shape[:2])
        each: Tensor = (lost * weights).sum(0) + silent * self._chance
        if not self.over_time.part:
            return each
        if held is None:
            held = torch.full_like(labels, -1)
        place, images = held.clamp(min=0), torch.arange(len(labels), device=labels.device)
        at_time = torch.where(held < 0, torch.full_like(each, self._chance), lost[place, images])
        right = (scores.detach()[place, images].argmax(-1) == labels) & (held >= 0)
        weight = float(self.multiplier)
        self.multiplier += _DUAL_RATE * (self.over_time.part - float(right.float().mean()))
        self.multiplier.clamp_(0, _GREATEST_MULTIPLIER)
        return (each + weight * at_time) / (1 + weight)

    def _of_gates(self, draw: Draw, told: Tensor) -> Tensor:
        """Return a term whose gradient estimates that of the expected objective; its value has no meaning."""
        n, mean = len(told), float(told.mean())
        if not self._moves:
            return told.new_zeros(())
        if float(self.usual) < 0:
            self.usual.fill_(mean)
        of_order = (mean - float(self.usual)) * draw.order_likely
        self.usual.lerp_(told.mean(), _BASELINE)
        return ((told - mean) * n / max(1, n - 1) * draw.likely).mean() + of_order
