"""Neurons of NIR at a step: v := a v + b q + c, q := k q + spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import NotSupportedError
from neuromap.exchange.nir.contract import Neurons
from neuromap.exchange.nir.conventions import Convention
from neuromap.exchange.nir.parameters import spread

__all__ = ["Discrete", "discretise", "kept"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Discrete(Value):
    r"""Neurons of a node at a step; arrays of shape (n,), lists one array per current."""

    # In every step q_c := k_c q_c + sum of weights of spikes; v := a v + sum over c of b_c q_c + added; if v >
    # threshold the neuron spikes and v := reset.

    kept: Floats  # a
    added: Floats  # what leak and constant inputs add in a step
    # threshold, reset, rest: in the unit of v; ``rest`` is where v goes without spikes, for neurons with a < 1
    threshold: Floats
    reset: Floats
    rest: Floats
    # current_kept, gains: k and b of every current
    current_kept: tuple[Floats, ...]
    gains: tuple[Floats, ...]
    start: tuple[Floats, ...]  # q in the first step without spikes: constant inputs of currents rise from 0
    scheme_error: float  # greatest difference of a and k from those of the other scheme
    filters: tuple[str, ...]  # what feeds each current: the name of a leaky integrator, or an empty text

    def __post_init__(self) -> None:
        freeze_arrays(self)


def kept(name: str, key: str, tau: Floats, how: Convention) -> tuple[Floats, float]:
    """Give what a step leaves of a variable, and how far that is from the other scheme."""
    exponential, euler = np.exp(-how.dt / tau), 1 - how.dt / tau
    difference = float(np.abs(exponential - euler).max(initial=0))
    if how.scheme == "exponential":
        return exponential, difference
    euler = np.where(np.abs(euler) < 1e-9, 0.0, euler)  # dt = tau, but for rounding
    if (euler < 0).any():
        raise NotSupportedError(
            f"node {name}: {key} of {tau.min():g} s is shorter than a step of {how.dt:g} s, over which forward Euler "
            "overshoots; take a shorter dt, or the scheme exponential"
        )
    return euler, difference


def discretise(name: str, neurons: Neurons, how: Convention) -> Discrete:
    """Solve the equations of a node over a step."""
    node, shape, signal = neurons.node, neurons.shape, neurons.signal
    n = len(signal.constant)
    filters = tuple(dict.fromkeys(term.filter.name if term.filter else "" for term in signal.terms)) or ("",)
    if node.kind == "CubaLIF":
        return _cuba(name, neurons, how, filters)
    one, zero = np.ones(n), np.zeros(n)
    rest = zero
    if node.kind == "LIF":
        tau = spread(name, node, "tau", shape)
        a, error = kept(name, "tau", tau, how)
        gain, rest = (1 - a) * spread(name, node, "r", shape), spread(name, node, "v_leak", shape)
    elif node.kind == "IF":
        a, error, gain = one, 0.0, how.dt * spread(name, node, "r", shape)
    else:
        a, error, gain = zero, 0.0, one
    added = (1 - a) * rest + gain * signal.constant
    threshold = spread(name, node, "threshold" if node.kind == "Threshold" else "v_threshold", shape)
    reset = spread(name, node, "v_reset", shape)
    if node.kind == "Threshold":
        reset = np.where(threshold > 0, 0.0, threshold - 1)  # it forgets; any value below will do
    currents, gains = [], []
    for found in filters:
        taus = [t.filter.tau for t in signal.terms if t.filter and t.filter.name == found]
        k, difference = kept(found, "tau", taus[0], how) if taus else (zero, 0.0)
        error = max(error, difference)
        currents.append(k)
        gains.append(gain * (1 - k))
    return Discrete(
        a, added, threshold, reset, rest + _by(gain * signal.constant, 1 - a), tuple(currents), tuple(gains),
        (zero,) * len(filters), error, filters,
    )  # fmt: skip


def _cuba(name: str, neurons: Neurons, how: Convention, filters: tuple[str, ...]) -> Discrete:
    node, shape, constant = neurons.node, neurons.shape, neurons.signal.constant
    if filters != ("",):
        raise NotSupportedError(
            f"node {name} (CubaLIF): tau_syn dI/dt = -I + w_in S: S comes through the leaky integrator {filters[-1]}, "
            "which would be a second current before it; take an LIF there"
        )
    get = {key: spread(name, node, key, shape) for key in ("tau_mem", "tau_syn", "r", "v_leak", "v_reset")}
    a, of_voltage = kept(name, "tau_mem", get["tau_mem"], how)
    k, of_current = kept(name, "tau_syn", get["tau_syn"], how)
    w = spread(name, node, "w_in", shape, default=1.0)
    settled = get["v_leak"] + get["r"] * w * constant
    return Discrete(
        kept=a,
        added=(1 - a) * settled,
        threshold=spread(name, node, "v_threshold", shape),
        reset=get["v_reset"],
        rest=settled,
        current_kept=(k,),
        gains=((1 - a) * get["r"] * (1 - k) * w,),
        start=(-_by(constant * k, 1 - k),),
        scheme_error=max(of_voltage, of_current),
        filters=filters,
    )


def _by(value: Floats, divisor: Floats) -> Floats:
    found: Floats = value / np.where(divisor == 0, np.inf, divisor)
    return found
