"""Integer neurons as primitives of NIR, and back: equal integers, by the equations and what the metadata add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir.contract import Neurons
from neuromap.exchange.nir.head import KEY
from neuromap.exchange.nir.order import from_nir_order, to_nir_order
from neuromap.exchange.nir.parameters import spread
from neuromap.files.messages import show
from neuromap.formats.nir.nir_graph import MetaValue, NirNode
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron

__all__ = ["neuron_primitives", "neuron_settings", "restored_neuron"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_FORGETS = 1 / 64
_KEEPS = 2.0**40
"""Time constants in ticks of values that a tick forgets, and of those that it keeps: both beyond any decay's bits."""
_BESIDE = {"current": ("refractory", "current", "voltage"), "leak": ("floor", "potential")}
"""What no primitive has a word for, by the model: arrays of the node's metadata."""


def neuron_settings(name: str, neuron: SpikingNeuron) -> dict[str, Any]:
    """Give the model, its settings, and what its currents are called, for the head."""
    settings: dict[str, Any] = {"model": neuron.model, **{key: getattr(neuron, key) for key in neuron.settings}}
    if neuron.n_currents > 1:
        settings["currents"] = [f"{name} current {c}" for c in range(neuron.n_currents)]
    return settings


def neuron_primitives(name: str, neuron: SpikingNeuron, shape: tuple[int, ...], dt: float) -> dict[str, NirNode]:
    """Write neurons as primitives."""
    order = to_nir_order(shape)

    def laid(values: Any) -> Floats:
        return np.asarray(values, np.float64)[order].reshape(shape)

    beside = {key: laid(getattr(neuron, key)) for key in _BESIDE[neuron.model] if getattr(neuron, key).any()}
    metadata: dict[str, MetaValue] = {KEY: neuron.model, **beside}
    if isinstance(neuron, LeakNeuron):
        ones = np.ones(shape)
        parameters = {"r": ones / dt, "v_threshold": laid(neuron.threshold) - 0.5, "v_reset": 0 * ones}
        return {name: NirNode("IF", parameters, metadata=metadata)}
    if not isinstance(neuron, CurrentNeuron):
        raise NotSupportedError(f"node {name}: neurons of the model {neuron.model} have no primitive in NIR")
    return _of_currents(name, neuron, laid, dt, metadata)


def _of_currents(
    name: str, neuron: CurrentNeuron, laid: Any, dt: float, metadata: dict[str, Any]
) -> dict[str, NirNode]:
    one = 1 << neuron.decay_bits
    decays = [laid(decay) for decay in (neuron.current_decay, *neuron.more_current_decays)]
    voltage_decay, bias = laid(neuron.voltage_decay), laid(neuron.bias)
    tau = _narrow(_tau(voltage_decay, one, dt), voltage_decay, one, dt)
    lost = _lost(tau, dt)
    leak = (bias / lost).astype(np.float32).astype(np.float64)
    leak = leak if np.array_equal(np.rint(leak * lost), bias) else bias / lost
    parameters = {"r": _float32(1 / lost), "v_leak": leak, "v_threshold": laid(neuron.threshold), "v_reset": 0 * lost}
    taus = [_narrow(_tau(decay, one, dt), decay, one, dt) for decay in decays]
    if len(decays) == 1:
        if (decays[0] == one).all():
            return {name: NirNode("LIF", {"tau": tau, **parameters}, metadata=metadata)}
        more = {"tau_mem": tau, "tau_syn": taus[0], "w_in": _float32(1 / _lost(taus[0], dt))}
        return {name: NirNode("CubaLIF", {**more, **parameters}, metadata=metadata)}
    found = {name: NirNode("LIF", {"tau": tau, **parameters}, metadata=metadata)}
    for c, own in enumerate(taus):
        numbers = {"tau": own, "r": _float32(1 / _lost(own, dt)), "v_leak": 0 * own}
        found[f"{name} current {c}"] = NirNode("LI", numbers)
    return found


def _tau(decay: Floats, one: int, dt: float) -> Floats:
    inside = (decay > 0) & (decay < one)
    tau = -dt / np.log1p(-np.where(inside, decay / one, 0.5))
    found: Floats = np.where(inside, tau, dt * np.where(decay == 0, _KEEPS, _FORGETS))
    return found


def _lost(tau: Floats, dt: float) -> Floats:
    """Give what a tick takes of a value, as a part."""
    lost: Floats = -np.expm1(-dt / tau)
    return lost


def _decay(tau: Floats, one: int, dt: float) -> Ints:
    whole: Ints = np.rint(_lost(tau, dt) * one).astype(np.int64)
    return whole


def _narrow(tau: Floats, decay: Floats, one: int, dt: float) -> Floats:
    """Take the nearest float32, as frameworks do, where it still means the same decay."""
    narrow = _float32(tau)
    return narrow if np.array_equal(_decay(narrow, one, dt), decay) else tau


def _float32(values: Floats) -> Floats:
    return values.astype(np.float32).astype(np.float64)


def restored_neuron(
    name: str, neurons: Neurons, settings: Mapping[str, Any], nodes: Mapping[str, NirNode], dt: float
) -> SpikingNeuron:
    """Read neurons that :func:`neuron_primitives` wrote."""
    node, shape = neurons.node, neurons.shape
    order = from_nir_order(shape)

    def own(values: Floats) -> Ints:
        whole: Ints = np.rint(values.ravel()[order].clip(-(2.0**40), 2.0**40)).astype(np.int64)
        return whole

    def beside(key: str) -> Ints:
        values = node.metadata.get(key)
        if values is None:
            return np.zeros(len(order), np.int64)
        if isinstance(values, str) or values.size != len(order):
            raise InputError(f"node {name}: metadata: {key}: needs a number per neuron, {len(order)}")
        return own(np.asarray(values))

    model = settings.get("model")
    wanted = {"leak": ("IF",), "current": ("LIF", "CubaLIF")}.get(model if isinstance(model, str) else "", ())
    if node.kind not in wanted:
        raise InputError(f"node {name}: is {node.kind}, and its metadata say {show(model)}; remove the metadata")
    more: dict[str, Any] = {key: beside(key) for key in _BESIDE[str(model)]}
    numbers = {
        key: settings[key] for key in ("subtract", "decay_bits", "current_bits", "voltage_bits") if key in settings
    }
    if model == "leak":
        threshold = own(np.floor(spread(name, node, "v_threshold", shape)) + 1)
        return LeakNeuron(threshold=threshold, leak=own(neurons.signal.constant), **more, **numbers)
    bits = numbers.get("decay_bits", 12)
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 16:
        raise InputError(f"node {name}: decay_bits: found {show(bits)}; allowed are 1 to 16")
    tau = spread(name, node, "tau" if node.kind == "LIF" else "tau_mem", shape)
    synaptic = [_synaptic(name, node, shape, dt)] if "currents" not in settings else [
        spread(str(li), nodes[li], "tau", shape) for li in _currents(name, settings["currents"], nodes)
    ]  # fmt: skip
    first, *others = [own(_decay(found, 1 << bits, dt).astype(np.float64)) for found in synaptic]
    return CurrentNeuron(
        threshold=own(spread(name, node, "v_threshold", shape)),
        current_decay=first,
        voltage_decay=own(_decay(tau, 1 << bits, dt).astype(np.float64)),
        bias=own(spread(name, node, "v_leak", shape) * _lost(tau, dt)),
        more_current_decays=tuple(others),
        **more,
        **numbers,
    )


def _synaptic(name: str, node: NirNode, shape: tuple[int, ...], dt: float) -> Floats:
    return spread(name, node, "tau_syn", shape, default=dt * _FORGETS)


def _currents(name: str, found: Any, nodes: Mapping[str, NirNode]) -> list[str]:
    if not isinstance(found, list) or not 1 <= len(found) <= 16 or not all(isinstance(li, str) for li in found):
        raise InputError(f"node {name}: metadata: currents: found {show(found)}; needs 1 to 16 names")
    for li in found:
        if li not in nodes or nodes[li].kind != "LI":
            raise InputError(f"node {name}: metadata: currents: {show(li)} is no LI of the graph")
    return found
