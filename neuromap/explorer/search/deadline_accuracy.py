"""Accuracy at a deadline: how often the last frame that is known by then is right, by the definition of a rollout.

The stimulus is shown in every frame, each image from the initial state, as :mod:`neuromap.accuracy` does. What a frame
names depends on weights and pattern alone, so it is known before a row is mapped; when it is known, the row says.

Patterns share a curve of accuracy over frames where it is proven that theirs are equal. With an image that is the same
in every frame, a node that reads the input has the same sum in every frame from 1 on, whether the edge streams or not:
so all edges that leave the input may be taken as sequential. Then the input's frame 0 is read by nobody, and where no
node fires without spikes, initial frames match and patterns of one class give the same frames, counted from the first
that depends on the stimulus (docs/theorems/one-row.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuromap.accuracy.image_frames import MOST_FRAMES, ImageFrames
from neuromap.accuracy.measure import accuracy_of_reference
from neuromap.arrays.times import Time
from neuromap.datasets.image_set import ImageSet
from neuromap.errors import InputError
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.candidates.trained_networks import TrainedNetwork
from neuromap.files.given import needs, real_number
from neuromap.network.network import Network
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["DeadlineAccuracy"]

Values = tuple[int, ...]


class DeadlineAccuracy:
    """Gives the accuracy of rows at a deadline; curves over frames are computed once."""

    # seconds: the deadline, in seconds from stimulus onset

    def __init__(self, seconds: float, images: ImageSet, trained: Sequence[TrainedNetwork], seed: int = 0) -> None:
        if not 0 < real_number("deadline", seconds) < math.inf:
            raise InputError(f"deadline = {seconds} s: must be above 0, and finite")
        needs("explore: images", images, ImageSet)
        self.seconds, self.images, self.seed = float(seconds), images, seed
        self._by_network = {one.network: _Curves(one, images, seed) for one in trained}

    def n_frames(self, first: int, period: Time, tick_seconds: float) -> int:
        """Count the frames that are known by the deadline."""
        # first: first response in ticks
        # period: frame period in ticks; at unequal intervals those are counted that are known wherever the stimulus
        # begins
        ticks = math.floor(self.seconds / tick_seconds * (1 + 1e-9))  # 3 ms are 3 ticks of 1 ms
        found = 0 if ticks < first else (ticks - first) // period + 1
        if found > MOST_FRAMES:
            raise InputError(
                f"deadline {with_unit(self.seconds, 's')}: {found} frames are known by then; at most {MOST_FRAMES} are "
                "decided on, give an earlier one"
            )
        return found

    def of(self, network: Network, values: Values, n_frames: int) -> float:
        """Accuracy of the last of so many frames, as a part of the images; 0 where there is none."""
        return self._curve(network, values, n_frames)[-1] if n_frames else 0.0

    def at_most(self, network: Network, values: Values, n_frames: int) -> float:
        """Accuracy that a pattern has at most where at most so many frames are known."""
        return max(self._curve(network, values, n_frames), default=0.0)

    def class_at_most(self, network: Network, values: Values, n_frames: int, *, exact: bool) -> float:
        """Accuracy that every pattern of a behaviour class has at most, with at most so many frames."""
        # Or just so many.
        if not n_frames:
            return 0.0
        if not self._by_network[network].are_of_class:
            return 1.0
        return self.of(network, values, n_frames) if exact else self.at_most(network, values, n_frames)

    def _curve(self, network: Network, values: Values, n_frames: int) -> tuple[float, ...]:
        return self._by_network[network].first(values, n_frames)


class _Curves:
    """Accuracy by frame of the patterns of one trained network."""

    def __init__(self, trained: TrainedNetwork, images: ImageSet, seed: int) -> None:
        self._network, self._images, self._seed = trained.network, images, seed
        shown = ImageFrames.of(Rollout(trained.network, trained.pattern), images, 1, seed)
        encoding = shown.encoding
        self._is_constant = encoding.code != "bernoulli" and not encoding.noise
        nodes = (node for name, node in trained.network.nodes.items() if name not in trained.network.inputs)
        self._is_silent = all(node.threshold is not None and (node.threshold >= 1).all() for node in nodes)
        leaving = sum(source in trained.network.inputs for source, _ in trained.network.edges)
        self.are_of_class = self._is_constant and self._is_silent and leaving == 1
        self._known: dict[Values, tuple[float, ...]] = {}

    def first(self, values: Values, n_frames: int) -> tuple[float, ...]:
        """Give the accuracies of the first frames, from the first that depends on the stimulus on."""
        if not n_frames:
            return ()
        key = self._key(values)
        if len(self._known.get(key, ())) < n_frames:
            rollout = Rollout(self._network, RolloutPattern(self._network, values))
            n_more = min(MOST_FRAMES, 1 << (n_frames - 1).bit_length())  # a row with a few more may follow
            self._known[key] = accuracy_of_reference(rollout, self._images, n_more, seed=self._seed)
        return self._known[key][:n_frames]

    def _key(self, values: Values) -> Values:
        """Say what the curve depends on: equal for patterns whose curves are proven to be equal."""
        if not self._is_constant:
            return values
        inputs = self._network.inputs
        held = tuple(0 if u in inputs else r for (u, _), r in zip(self._network.edges, values, strict=True))
        return class_key(RolloutPattern(self._network, held)) if self._is_silent else held
