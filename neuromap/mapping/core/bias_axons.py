"""Thresholds that leak and alpha cannot hold arrive as spikes on bias axons.

Their weights sit in types that a neuron does not use otherwise, or, failing that, in those it has (docs/mapping.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.axon_plan import AxonPlan
from neuromap.mapping.core.crossbar import Crossbar
from neuromap.mapping.core.palettes import Proposal
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["with_bias"]

Ints = NDArray[np.int64]


def with_bias(
    proposal: Proposal, threshold: Ints, room: int, core: Crossbar, neuron: LeakNeuron | None = None
) -> AxonPlan | None:
    """Add leak, alpha and bias axons: the neuron spikes iff its sum plus bias reaches alpha - leak."""
    # So bias = alpha - leak - theta. Of two neurons that read the same, the one with alpha = 0 is taken.
    # gives ``None`` where axons or the potential's width do not do
    # shapes: threshold (n,)
    source, axon_type, synapses, palette = proposal
    least = np.clip(threshold, 1, core.free_threshold) - threshold  # bias nearest to zero
    free = palette == 0  # types without synapses of this neuron
    palette = palette.copy()
    count = np.zeros(palette.shape, np.int64)
    wanting = np.flatnonzero(least)
    popular = np.argsort(-free[wanting].sum(axis=0), kind="stable")  # so that neurons share bias axons
    for n in wanting:
        spare = [int(g) for g in popular if free[n, g]][:1]
        found = _bias_of(int(least[n]), palette[n], spare, room, core)
        if found is None:
            return None
        kind, weight, spikes = found
        palette[n, kind] = weight
        count[n, kind] = spikes
    most = count.max(axis=0, initial=0)
    kinds = np.repeat(np.arange(len(most)), most)
    if len(source) + len(kinds) > room:
        return None
    bias_synapses = ragged_ranges(0, most)[:, None] < count[:, kinds].T
    reached = threshold + (count * palette).sum(axis=1)  # alpha - leak
    leak = -np.minimum(reached, core.leak_limit)
    plan = AxonPlan(
        source=np.concatenate([source, np.full(len(kinds), BIAS)]).astype(np.int64),
        axon_type=np.concatenate([axon_type, kinds]).astype(np.int64),
        weights=palette,
        synapses=np.concatenate([synapses, bias_synapses]),
        leak=leak,
        alpha=reached + leak,
    )
    return plan if (plan.swing(neuron) <= core.highest_potential).all() else None


def _bias_of(least: int, palette: Ints, spare: list[int], room: int, core: Crossbar) -> tuple[int, int, int] | None:
    """Choose type, weight and spikes whose product is ``least``."""
    # Or less than ``core.free_threshold`` farther from 0.
    # A type that the neuron leaves free takes any weight; the others only the one that they have.
    sign, need = (1, least) if least > 0 else (-1, -least)
    if spare:
        widest = core.weight_range[1] if sign > 0 else -core.weight_range[0]
        spikes = np.arange(-(-need // widest), min(need, room) + 1)
        weights = -(-need // spikes)
        fits = np.flatnonzero(spikes * weights - need < core.free_threshold)
        if len(fits):
            return spare[0], sign * int(weights[fits[0]]), int(spikes[fits[0]])
    options = []
    for kind in np.flatnonzero(palette * sign > 0).tolist():
        weight = abs(int(palette[kind]))
        times = -(-need // weight)
        if times * weight - need < core.free_threshold:
            options.append((times, kind))
    if not options:
        return None
    times, kind = min(options)
    return kind, int(palette[kind]), times
