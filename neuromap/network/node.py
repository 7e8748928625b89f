"""A node of a network: a layer of neurons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import NetworkError, prefixed
from neuromap.network.spiking_neuron import GradedNeuron, IntegerNeuron, SpikingNeuron
from neuromap.network.weights import require_integers
from neuromap.render.value import Card

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Node(Card):
    """A layer of neurons.

    Attributes
    ----------
    name : str
        Name in the file.
    shape : tuple of three int or None
        Rows, columns, features; ``None`` where the network has structure only.
    threshold : ndarray of int64, shape (size,), or None
        Threshold theta of every neuron, read-only; ``None`` for input nodes, spiking nodes and structure-only
        networks.
    neuron : SpikingNeuron, GradedNeuron or None
        Neurons that keep state from tick to tick (a *spiking* node) or send values (a *graded* node; for input nodes
        the range of these); ``None`` for frame neurons, and for input nodes of spikes. Single values are spread over
        all neurons, and in graded nodes values of one per feature, too.

    Raises
    ------
    NetworkError
        If thresholds are not integers, the node has both a threshold and a neuron, or a neuron's values are not one
        per neuron.
    """

    name: str
    shape: tuple[int, int, int] | None = None
    threshold: NDArray[np.int64] | None = None
    neuron: IntegerNeuron | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if self.threshold is not None:
            require_integers(self.threshold, f"node {self.name}: threshold")
        if self.neuron is None:
            return
        if not isinstance(self.neuron, IntegerNeuron):
            raise NetworkError(
                f"node {self.name}: neuron: found {self.neuron!r:.60}; give a CurrentNeuron, LeakNeuron or GradedNeuron"
            )
        if self.threshold is not None:
            raise NetworkError(
                f"node {self.name}: has a threshold and a neuron, which has one of its own; give one of them"
            )
        with prefixed(f"node {self.name}: ", NetworkError):
            neuron = self.neuron.of_features(self.shape) if isinstance(self.neuron, GradedNeuron) else self.neuron
            object.__setattr__(self, "neuron", neuron.spread(self.size))

    @property
    def size(self) -> int:
        """Number of neurons.

        Raises
        ------
        NetworkError
            If the node has no shape.
        """
        if self.shape is None:
            raise NetworkError(f"node {self.name}: has no shape, so no neurons; add shape = [rows, columns, features]")
        return math.prod(self.shape)

    @property
    def spiking(self) -> SpikingNeuron | None:
        """Its neuron if that keeps state, else ``None``."""
        return self.neuron if isinstance(self.neuron, SpikingNeuron) else None

    @property
    def graded(self) -> GradedNeuron | None:
        """Its neuron if that sends values, else ``None``."""
        return self.neuron if isinstance(self.neuron, GradedNeuron) else None
