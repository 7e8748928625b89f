"""Neurons of a NIR graph as a float network, whose equations over a tick are the discrete ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError, NotSupportedError
from neuromap.exchange.nir.contract import Contracted
from neuromap.exchange.nir.conventions import Convention
from neuromap.exchange.nir.discrete import Discrete
from neuromap.exchange.nir.signals import Signal, Term
from neuromap.exchange.nir.ticks import Ticks
from neuromap.network.terms import MAX_DELAY
from neuromap.quantise.float_network import FloatNetwork, FloatSynapses
from neuromap.quantise.float_neuron import FloatNeuron

__all__ = ["Parts", "delay_error", "early_spikes", "float_network", "late_starts"]

Floats = NDArray[np.float64]

_SHORT = 1 / 64
"""Time constant, in ticks, of which a tick leaves nothing: e**-64."""
_DEEPEST = 8.0
"""Times the threshold by which a voltage begins below its reset at most: deeper ones would coarsen all integers."""
_MOST = 1e100
_CLOSE = 1e-6


class Parts(NamedTuple):
    """A graph, ready to be computed."""

    graph: Contracted
    neurons: dict[str, Discrete]  # at the step of ``how``
    ticks: Ticks
    how: Convention


def float_network(name: str, parts: Parts, names: dict[str, str], *, has_pulses: bool = False) -> FloatNetwork:
    """Make a float network."""
    graph, dt = parts.graph, parts.how.dt
    used = {term.source for neurons in graph.neurons.values() for term in neurons.signal.terms}
    inputs = {names[node]: math.prod(shape) for node, shape in graph.inputs.items() if node in used}
    nodes, synapses = {}, []
    for node, neurons in graph.neurons.items():
        try:
            nodes[names[node]] = _neuron(parts.neurons[node], dt, parts.ticks.phases[node], has_pulses=has_pulses)
        except NetworkError as error:
            raise NetworkError(f"node {names[node]}: {error}") from None
        synapses += _synapses(node, neurons.signal, parts, names)
    return FloatNetwork(name, dt, inputs, nodes, tuple(synapses))


def _neuron(found: Discrete, dt: float, phase: int, *, has_pulses: bool) -> FloatNeuron:
    """Write a discrete neuron as the continuous one that a tick turns into it."""
    forgets = found.kept == 0
    tau = _tau(found.kept, dt, _SHORT / 2)
    taus, gains = [], []
    for k, gain in zip(found.current_kept, found.gains, strict=True):
        if has_pulses and not k.any() and not forgets.any():
            taus.append(np.zeros_like(k))
            gains.append(gain / found.kept)
            continue
        taus.append(_tau(k, dt, _SHORT))
        own = FloatNeuron(len(k), found.reset + 1, found.reset, tau=tau, synapse_taus=(taus[-1],))
        gains.append(gain / own.propagators(dt).coupling[0])
    integrates = found.kept == 1
    voltage, currents = _before(found, phase)
    return FloatNeuron(
        size=len(found.kept),
        threshold=found.threshold,
        reset=found.reset,
        rest=np.where(integrates, 0.0, found.rest),
        tau=tau,
        drive=np.where(integrates, found.added / dt, 0.0),
        synapse_taus=tuple(taus),
        gains=tuple(gains),
        voltage=voltage,
        currents=currents,
    )


def _tau(kept: Floats, dt: float, short: float) -> Floats:
    inside = (kept > math.exp(-1 / short)) & (kept < 1)
    tau = -dt / np.log(np.where(inside, kept, 0.5))
    found: Floats = np.where(inside, tau, np.where(kept == 1, np.inf, dt * short))
    return found


def _before(found: Discrete, phase: int) -> tuple[Floats, tuple[Floats, ...]]:
    """Start so early that after the ticks which spikes take to come here v and currents are those of step 0."""
    v, currents = np.array(found.reset), [np.array(q) for q in found.start]
    low = found.reset - _DEEPEST * (found.threshold - found.reset)
    with np.errstate(over="ignore"):
        for _ in range(phase):
            pairs = zip(currents, found.current_kept, strict=True)
            currents = [np.where(k > 0, q / np.where(k > 0, k, 1.0), 0.0).clip(-_MOST, _MOST) for q, k in pairs]
            added = found.added + sum(b * q for b, q in zip(found.gains, currents, strict=True))
            v = np.where(found.kept > 0, (v - added) / np.where(found.kept > 0, found.kept, 1.0), found.reset)
            v = v.clip(-_MOST, _MOST)
    return np.clip(v, low, found.threshold), tuple(currents)


def late_starts(parts: Parts) -> dict[str, float]:
    """Give by how much voltages of step 1 are wrong where no start leads to the reset, in parts of the threshold."""
    # Such neurons, most with constant inputs, would begin above their threshold, or deeper than ``_DEEPEST`` below it.
    distances = {}
    for name, found in parts.neurons.items():
        v, currents = _before(found, parts.ticks.phases[name])
        for _ in range(parts.ticks.phases[name]):
            added = found.added + sum(b * q for b, q in zip(found.gains, currents, strict=True))
            v = found.kept * v + added
            v = np.where(v > found.threshold, found.reset, v)
            currents = tuple(k * q for q, k in zip(currents, found.current_kept, strict=True))
        far = found.kept * np.abs(v - found.reset) / np.abs(found.threshold - found.reset)
        distances[name] = float(far.max(initial=0))
    return {name: distance for name, distance in distances.items() if distance > _CLOSE}


def early_spikes(parts: Parts) -> dict[str, int]:
    """Count the neurons of nodes that spike in the ticks before step 1, since they need no input for it."""
    counts = {
        name: int(((found.kept == 0) & (found.added > found.threshold)).sum())
        for name, found in parts.neurons.items()
        if parts.ticks.phases[name]
    }
    return {name: count for name, count in counts.items() if count}


def _synapses(node: str, signal: Signal, parts: Parts, names: dict[str, str]) -> list[FloatSynapses]:
    found = []
    for term in signal.terms:
        entries = term.matrix.tocoo()
        if not entries.nnz:
            continue
        ticks = parts.ticks.delays[term.source, node] + term_ticks(node, term, parts.how.dt)
        if ticks > MAX_DELAY:
            raise NotSupportedError(
                f"edge {term.source} -> {node}: takes {ticks} ticks of {parts.how.dt:g} s; at most {MAX_DELAY} are "
                "allowed, take a longer dt"
            )
        filter_name = term.filter.name if term.filter else ""
        found.append(
            FloatSynapses(
                names[term.source],
                names[node],
                entries.col.astype(np.int64),
                entries.row.astype(np.int64),
                entries.data,
                (ticks - 1) * parts.how.dt,  # type: ignore[arg-type] # single numbers become arrays
                parts.neurons[node].filters.index(filter_name),
            )
        )
    return found


def term_ticks(node: str, term: Term, dt: float) -> int:
    """Give the ticks of a term's own delay, rounded."""
    ticks = term.delay / dt
    if not ticks <= MAX_DELAY:
        raise NotSupportedError(
            f"edge {term.source} -> {node}: has a delay of {term.delay:g} s, which is {ticks:.3g} ticks of {dt:g} s; "
            f"at most {MAX_DELAY} are allowed, take a longer dt"
        )
    return round(ticks)


def delay_error(parts: Parts) -> float:
    """Give the greatest error of delays in seconds: they are whole ticks."""
    dt = parts.how.dt
    errors = [
        abs(term_ticks(node, term, dt) * dt - term.delay)
        for node, neurons in parts.graph.neurons.items()
        for term in neurons.signal.terms
    ]
    return max(errors, default=0.0)
