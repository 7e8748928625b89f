"""Spike trains of the integers against those of the float equations, on random spikes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import StimulusError
from neuromap.files.messages import show
from neuromap.network.network import Network
from neuromap.quantise.float_network import FloatNetwork
from neuromap.quantise.float_steps import float_reference
from neuromap.quantise.quantisation import TrainDistance
from neuromap.quantise.spike_distance import train_distance
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.reference_frames import reference

__all__ = ["MOST_WORK", "RATE", "can_compare", "distances", "random_spikes"]

Bools = NDArray[np.bool_]

RATE = 0.2
"""Spikes per input neuron and step of random stimuli."""
MOST_WORK = 2**28
"""Synapses times steps up to which trains are compared unasked."""


def can_compare(network: FloatNetwork, steps: int) -> bool:
    """Tell whether there is an input to draw spikes for, a comparison is quick, and Elephant is there."""
    work = sum(len(part.weight) for part in network.synapses) * steps
    return bool(network.inputs) and steps > 0 and work <= MOST_WORK and find_spec("elephant") is not None


def random_spikes(network: FloatNetwork, steps: int, seed: int = 0) -> dict[str, Bools]:
    """Draw input spikes, shape (steps, size) each, at ``RATE`` per step."""
    rng = np.random.default_rng(seed)
    return {name: rng.random((steps, size)) < RATE for name, size in network.inputs.items()}


def distances(
    network: FloatNetwork, integers: Network, spikes: Mapping[str, Bools], originals: Mapping[str, Bools] | None = None
) -> tuple[TrainDistance, ...]:
    """Compare the integer network with the float one, or with spikes of another run of it."""
    # shapes: spikes (steps, size); originals (steps, size)
    for name, array in spikes.items():
        if name not in network.inputs:
            known = ", ".join(network.inputs) or "none"
            raise StimulusError(f"spikes: {show(name)} is no input node; input nodes are {known}")
        if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "biuf":
            raise StimulusError(f"spikes: input {name}: needs an array of shape (steps, {network.inputs[name]})")
    steps = {len(array) for array in spikes.values()} or {0}
    if len(steps) > 1:
        raise StimulusError(f"spikes: found inputs of {sorted(steps)} steps; all need as many")
    (count,) = steps
    for name, size in network.inputs.items():
        if name not in spikes or spikes[name].shape != (count, size):
            raise StimulusError(f"spikes: input {name}: needs an array of shape (steps, {size})")
    frames = {name: np.zeros((count + 1, integers.nodes[name].size), np.bool_) for name in integers.inputs}
    for name, array in spikes.items():
        if name in frames:
            frames[name][1:] = array
    found = reference(Rollout(integers, "streaming"), frames)
    wanted = float_reference(network, spikes, count) if originals is None else originals
    by = "float" if originals is None else "other run"
    return tuple(
        train_distance(
            name, np.asarray(found[name][1:], np.bool_), wanted[name], network.dt, by=by, time_constant=10 * network.dt
        )
        for name in network.nodes
        if name in wanted
    )
