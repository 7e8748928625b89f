"""A spiking network in real numbers and seconds, as float simulators have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.forms.card import Card
from neuromap.quantise.float_neuron import FloatNeuron

__all__ = ["FloatNetwork", "FloatSynapses"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FloatSynapses(Card):
    """Synapses from the neurons of one node to those of another; several between two neurons add up.

    Parameters
    ----------
    source, target : str
        Names of nodes.
    source_neuron, target_neuron : array_like of int, shape (s,)
        Who sends, and who receives.
    weight : array_like of float, shape () or (s,)
        What a spike adds to the current.
    delay : array_like of float, shape () or (s,)
        Seconds. A spike of step n changes the current at the end of step n + delay / dt, so the voltage from the step
        after that on.
    current : int
        Which current of the target.

    Raises
    ------
    NetworkError
        If lengths differ, or a value is not finite or a delay negative.
    """

    source: str
    target: str
    source_neuron: Ints
    target_neuron: Ints
    weight: Floats
    delay: Floats = 0.0  # type: ignore[assignment] # single numbers become arrays
    current: int = 0

    def __post_init__(self) -> None:
        sources, targets = (np.asarray(n, np.int64).reshape(-1) for n in (self.source_neuron, self.target_neuron))
        if len(sources) != len(targets):
            raise NetworkError(f"synapses {self.label}: {len(sources)} sources, {len(targets)} targets; give as many")
        object.__setattr__(self, "source_neuron", frozen(sources))
        object.__setattr__(self, "target_neuron", frozen(targets))
        for name in ("weight", "delay"):
            array = np.asarray(getattr(self, name), np.float64)
            if array.shape not in ((), sources.shape) or not np.isfinite(array).all():
                raise NetworkError(f"synapses {self.label}: {name}: must be finite numbers, one or {len(sources)}")
            object.__setattr__(self, name, frozen(np.broadcast_to(array, sources.shape).copy()))
        if (self.delay < 0).any():
            raise NetworkError(f"synapses {self.label}: delay {self.delay.min():g} s; must be 0 or more")
        freeze_arrays(self)

    @classmethod
    def of_matrix(
        cls, source: str, target: str, matrix: ArrayLike, delay: float = 0.0, current: int = 0
    ) -> FloatSynapses:
        """Make synapses of weights, shape (n_target, n_source), that share a delay; zeros are no synapses."""
        weights = np.asarray(matrix, np.float64)
        targets, sources = np.nonzero(weights)
        return cls(source, target, sources, targets, weights[targets, sources], delay, current)  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """The pair as it is written in files."""
        return f"{self.source} -> {self.target}"

    def _facts(self) -> dict[str, object]:
        return {"edge": self.label, "synapses": len(self.weight), "current": self.current}


@dataclass(frozen=True, eq=False)
class FloatNetwork(Card):
    """Float neurons, their synapses, and what comes from outside.

    Attributes
    ----------
    name : str
        Name of the network.
    dt : float
        Seconds of a tick.
    inputs : mapping of str to int
        Neurons of every input node, whose spikes come from outside.
    nodes : mapping of str to FloatNeuron
        All others.
    synapses : tuple of FloatSynapses
        Several between the same nodes are allowed.

    Raises
    ------
    NetworkError
        If synapses name nodes, neurons or currents that do not exist, or ``dt`` is not above 0.
    """

    name: str
    dt: float
    inputs: Mapping[str, int]
    nodes: Mapping[str, FloatNeuron]
    synapses: tuple[FloatSynapses, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", ReadOnlyMapping(self.inputs))
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))
        object.__setattr__(self, "synapses", tuple(self.synapses))
        if not self.dt > 0:
            raise NetworkError(f"network {self.name}: dt = {self.dt:g} s; must be above 0")
        sizes = dict(self.inputs) | {name: neuron.size for name, neuron in self.nodes.items()}
        for part in self.synapses:
            _check_ends(part, sizes, self.nodes)

    def _facts(self) -> dict[str, object]:
        return {"name": self.name, "nodes": len(self.inputs) + len(self.nodes), "tick": f"{self.dt:g} s"}

    def delay_steps(self, part: FloatSynapses) -> Ints:
        """Delays of synapses in ticks, rounded, halves up as Brian2's queue of spikes does, shape (s,)."""
        steps: Ints = np.floor(part.delay / self.dt + 0.5).astype(np.int64)
        return steps


def _check_ends(part: FloatSynapses, sizes: Mapping[str, int], nodes: Mapping[str, FloatNeuron]) -> None:
    if part.source not in sizes or part.target not in nodes:
        raise NetworkError(f"synapses {part.label}: no such nodes; nodes are {', '.join(sizes)}, targets no inputs")
    for numbers, name in ((part.source_neuron, part.source), (part.target_neuron, part.target)):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < sizes[name]:
            raise NetworkError(f"synapses {part.label}: neuron {numbers.max()} of {name}, which has {sizes[name]}")
    if not 0 <= part.current < len(nodes[part.target].synapse_taus):
        raise NetworkError(
            f"synapses {part.label}: current {part.current}; {part.target} has {len(nodes[part.target].synapse_taus)}"
        )
