"""Float spiking networks, in real numbers and seconds, as float simulators define them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.render.value import Card

# The leaky integrate-and-fire neuron of float simulators, before quantisation.

_LISTS = ("synapse_taus", "gains", "currents")


class Propagators(NamedTuple):
    """Update of a float neuron over a tick without spikes; arrays of shape (size,), lists one array per current."""

    voltage: Floats  # fraction kept of v - v_infinity
    current: list[Floats]  # fraction kept of each current; 0 where it is a pulse
    coupling: list[Floats]  # increase of v until the end of a tick by a current of 1 at its beginning
    added: Floats  # increase of v by rest and drive, from v = reset


@dataclass(frozen=True, eq=False)
class FloatNeuron(Card):
    r"""Leaky integrate-and-fire neurons with exponential or pulsed currents, in any unit of v.

    dv/dt = (rest - v) / tau + drive + sum over currents c of gains[c] I_c and dI_c/dt = -I_c / synapse_taus[c], exact
    over a tick; an arriving spike adds its weight to I_c, or gains[c] times its weight to v where synapse_taus[c] is 0.
    If v > threshold the neuron spikes, v := reset, and stays there for the refractory time.

    Parameters
    ----------
    size : int
        Number of neurons; every other value is one for all neurons or one per neuron.
    threshold, reset, rest : array_like of float
        In the unit of v.
    tau : array_like of float
        Time constant of the membrane in seconds; infinite where v only integrates ``drive`` (a constant leak).
    drive : array_like of float
        In units of v per second.
    refractory : array_like of float
        Seconds from a spike to the first step that may integrate again.
    synapse_taus : sequence of array_like of float
        Time constants of the currents in seconds; 0 for a pulse, which changes v at once.
    gains : sequence of array_like of float
        What currents add to dv/dt, in units of v per second and unit of the current; 1 by default.
    voltage : array_like of float, optional
        v before the first tick; ``reset`` by default.
    currents : sequence of array_like of float, optional
        Currents before the first tick; 0 by default.

    Raises
    ------
    NetworkError
        If a value is not finite or has another shape, a time constant is negative, or a threshold is not above the
        reset.
    """

    size: int
    threshold: Floats
    reset: Floats = 0.0  # type: ignore[assignment] # single numbers become arrays
    rest: Floats = 0.0  # type: ignore[assignment]
    tau: Floats = np.inf  # type: ignore[assignment]
    drive: Floats = 0.0  # type: ignore[assignment]
    refractory: Floats = 0.0  # type: ignore[assignment]
    synapse_taus: tuple[Floats, ...] = (0.0,)  # type: ignore[assignment]
    gains: tuple[Floats, ...] = ()
    voltage: Floats = None  # type: ignore[assignment] # the reset
    currents: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.synapse_taus)
        if self.size < 1:
            raise NetworkError(f"neuron: size: found {self.size}; allowed are 1 or more")
        if not count:
            raise NetworkError("neuron: synapse_taus: found no current; give one (0.0 for pulses), fed or not")
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given |= {"gains": tuple(self.gains) or (1.0,) * count, "currents": tuple(self.currents) or (0.0,) * count}
        given["voltage"] = given["reset"] if given["voltage"] is None else given["voltage"]
        for name, values in given.items():
            if name in _LISTS:
                if len(values) != count:
                    raise NetworkError(f"neuron: {name}: found {len(values)} currents; synapse_taus has {count}")
                object.__setattr__(self, name, tuple(self._spread(name, part) for part in values))
            elif name != "size":
                object.__setattr__(self, name, self._spread(name, values))
        if self.size and (self.threshold <= self.reset).any():
            raise NetworkError(
                f"neuron: threshold {self.threshold.min():g}; must lie above the reset, {self.reset.max():g}"
            )
        for name, least, wrong in (
            ("tau", "above 0", self.tau <= 0),
            ("refractory", "0 or more", self.refractory < 0),
            *(("synapse_taus", "0 or more", tau < 0) for tau in self.synapse_taus),
        ):
            if wrong.any():
                raise NetworkError(f"neuron: {name}: found a value that is not {least} seconds; give one that is")
        freeze_arrays(self)

    def _spread(self, name: str, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float64)
        if array.shape not in ((), (self.size,)):
            raise NetworkError(f"neuron: {name}: found shape {array.shape}; allowed are one value, or {self.size}")
        wrong = np.isnan(array) if name == "tau" else ~np.isfinite(array)
        if wrong.any():
            raise NetworkError(f"neuron: {name}: found {array[wrong].flat[0]}; allowed are finite numbers")
        return frozen(np.broadcast_to(array, (self.size,)).copy())

    def _facts(self) -> dict[str, object]:
        return {"neurons": self.size, "currents": len(self.synapse_taus)}

    @property
    def is_pulse(self) -> tuple[bool, ...]:
        """Whether each current is a pulse in all neurons."""
        return tuple(bool((tau == 0).all()) for tau in self.synapse_taus)

    def propagators(self, dt: float) -> Propagators:
        """Solve the equations over a tick.

        Parameters
        ----------
        dt : float
            Seconds per tick.
        """
        left = np.exp(-dt / self.tau)
        currents = [np.where(tau == 0, 0.0, np.exp(-dt / np.where(tau == 0, 1.0, tau))) for tau in self.synapse_taus]
        coupling = [
            np.where(tau == 0, gain * left, gain * _overlap(self.tau, tau, dt))
            for tau, gain in zip(self.synapse_taus, self.gains, strict=True)
        ]
        has_leak = np.isfinite(self.tau)
        tau = np.where(has_leak, self.tau, 1.0)
        added = np.where(has_leak, (1 - left) * (self.rest - self.reset + self.drive * tau), self.drive * dt)
        return Propagators(left, currents, coupling, added)

    def rest_ticks(self, dt: float) -> Ints:
        """Count the ticks after a spike in which v stays at the reset, shape (size,)."""
        steps = np.floor(self.refractory / dt + 1e-3).astype(np.int64)
        return np.maximum(steps - 1, 0)


def _overlap(tau: Floats, synapse_tau: Floats, dt: float) -> Floats:
    """Integrate exp(-(dt - s) / tau) exp(-s / synapse_tau) over a tick."""
    leak, decay = 1 / tau, 1 / np.where(synapse_tau == 0, 1.0, synapse_tau)
    rate = decay - leak
    alike = np.abs(rate) * dt < 1e-9
    return np.where(
        alike, dt * np.exp(-leak * dt), -np.exp(-leak * dt) * np.expm1(-rate * dt) / np.where(alike, 1.0, rate)
    )


@dataclass(frozen=True, eq=False)
class FloatSynapses(Card):
    """Synapses from the neurons of one node to those of another; several between two neurons add up.

    Parameters
    ----------
    source, target : str
        Names of nodes.
    source_neuron, target_neuron : array_like of int, shape (s,)
        Presynaptic and postsynaptic neurons.
    weight : array_like of float, shape () or (s,)
        Amount that a spike adds to the current.
    delay : array_like of float, shape () or (s,)
        Seconds. A spike of step n changes the current at the end of step n + delay / dt, and so the voltage from the
        next step on.
    current : int
        Index of the target's current.

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
        """Make synapses with one delay from a weight matrix, shape (n_target, n_source); zeros are no synapses."""
        weights = np.asarray(matrix, np.float64)
        targets, sources = np.nonzero(weights)
        return cls(source, target, sources, targets, weights[targets, sources], delay, current)  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """The pair of nodes as written in files."""
        return f"{self.source} -> {self.target}"

    def _facts(self) -> dict[str, object]:
        return {"edge": self.label, "synapses": len(self.weight), "current": self.current}


@dataclass(frozen=True, eq=False)
class FloatNetwork(Card):
    """Float neurons, their synapses, and input nodes.

    Attributes
    ----------
    name : str
        Name of the network.
    dt : float
        Seconds per tick.
    inputs : mapping of str to int
        Number of neurons of every input node, whose spikes come from outside.
    nodes : mapping of str to FloatNeuron
        All other nodes.
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
        sizes = self.sizes
        for part in self.synapses:
            _check_ends(part, sizes, self.nodes)

    def _facts(self) -> dict[str, object]:
        return {"name": self.name, "nodes": len(self.inputs) + len(self.nodes), "tick": f"{self.dt:g} s"}

    @property
    def sizes(self) -> dict[str, int]:
        """Number of neurons of every node, inputs first."""
        return dict(self.inputs) | {name: neuron.size for name, neuron in self.nodes.items()}

    def delay_steps(self, part: FloatSynapses) -> Ints:
        """Delays of synapses in whole ticks, shape (s,); halves round up, as in Brian2's spike queue."""
        return np.floor(part.delay / self.dt + 0.5).astype(np.int64)


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
