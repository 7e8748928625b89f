"""The neurons of a node and their synapses in the integers of crossbar cores: a constant leak, weights on few axons."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.quantise.float_network import FloatNetwork
from neuromap.quantise.node_integers import NodeIntegers
from neuromap.quantise.quantisation import NodeErrors
from neuromap.quantise.scale_search import CANDIDATES, relative_error
from neuromap.quantise.summed_synapses import SummedSynapses

__all__ = ["CROSSBAR_SEARCH", "WEIGHT_ERROR", "CrossbarNode", "crossbar_integers"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_AXONS = 4
"""Axons on which the spikes of a source come."""
WEIGHT_ERROR = 0.05
"""Error of weights, sum of errors by sum of weights, that axons are replicated for."""
CROSSBAR_SEARCH = (
    f"{CANDIDATES} scales in the octave below the greatest that keeps thresholds, leaks and weights in range; weights "
    "of few values as they are, others as sums of 1 to 4 digits, an axon each, the fewest whose sum of errors by sum "
    f"of weights is at most {WEIGHT_ERROR:g}, else 4; the scale with the least sum of relative errors of weights, "
    "thresholds and leaks, the greatest of equals"
)
"""The search in one sentence, for reports."""


class CrossbarNode(NamedTuple):
    """A node in integers."""

    integers: NodeIntegers  # its neurons
    weights: Ints  # (s,): its synapses, in their order
    note: str  # how many axons a source takes


class _Rounded(NamedTuple):
    """Values of a node at a scale, with the sum of their relative errors."""

    scale: float
    threshold: Ints
    leak: Ints
    weights: Ints
    error: float
    weight_error: float


def crossbar_integers(network: FloatNetwork, name: str, synapses: SummedSynapses, chip: ChipSpec) -> CrossbarNode:
    """Put the neurons of a node and the synapses onto them into integers."""
    neuron = network.nodes[name]
    above, leak = neuron.threshold - neuron.reset, neuron.drive * network.dt
    if ((neuron.voltage > neuron.threshold) & (neuron.voltage > neuron.reset)).any():
        raise NetworkError(
            f"node {name}: a voltage begins above its threshold, {neuron.threshold.min():g}; begin below"
        )
    weights, sources = synapses.scaled(np.array(neuron.gains)), "weights as they are"
    if _most_values(weights, synapses.target_neuron) <= chip.axon_types:
        best = _search(name, above, leak, weights, None, chip)
    else:
        for axons in range(1, MOST_AXONS + 1):
            tried = [_search(name, above, leak, weights, _sums(axons, radix), chip) for radix in (2, 3, 4)]
            best = min(tried, key=lambda found: found.error)
            sources = f"weights as sums of at most {axons} digit{'s' * (axons > 1)}, an axon each"
            if best.weight_error <= WEIGHT_ERROR:
                break
    floor = chip.threshold_range[1]
    voltage = np.rint((neuron.voltage - neuron.reset) * best.scale).astype(np.int64)
    integers = LeakNeuron(
        threshold=best.threshold + 1,  # the float model spikes above it, the chip's neuron at it
        leak=best.leak,
        floor=np.full(neuron.size, floor),
        potential=voltage.clip(-floor, best.threshold),
    )
    errors = NodeErrors(
        node=name,
        neurons=neuron.size,
        scale=best.scale,
        threshold=int(best.threshold.max(initial=0)),
        tau_error=0.0,
        synapse_tau_errors=(0.0,) * len(neuron.gains),
        threshold_error=_greatest_error(above * best.scale, best.threshold),
        bias_error=_greatest_error(leak * best.scale, best.leak),
        truncation=0.0,
        current_headroom=None,
        lowest_voltage=float((neuron.reset - floor / best.scale).max(initial=-np.inf)),
    )
    units = np.array(neuron.gains) * best.scale
    note = f"node {name}: {sources}, error {best.weight_error:.2%}"
    return CrossbarNode(NodeIntegers(integers, best.scale, neuron.reset, units, errors), best.weights, note)


def _most_values(weights: Floats, target: Ints) -> int:
    """Count the distinct weights of the neuron that has most of them."""
    pairs = np.unique(np.column_stack([target, np.round(weights, 12)])[weights != 0], axis=0)
    return int(np.bincount(pairs[:, 0].astype(np.int64)).max(initial=0)) if len(pairs) else 0


def _sums(digits: int, radix: int) -> Ints:
    """List what at most so many of 1, the radix and its square add up to, of either sign, ascending."""
    powers = (0, 1, radix) if radix > 2 else (0, 1)
    up = {sum(chosen) for chosen in combinations_with_replacement(powers, digits)}
    return np.array(sorted(up | {-value for value in up}))


def _search(name: str, above: Floats, leak: Floats, weights: Floats, levels: Ints | None, chip: ChipSpec) -> _Rounded:
    most = chip.weight_range[1] if levels is None else int(levels[-1])
    bounds = ((chip.threshold_range[1] - 1, above), (chip.leak_range[1], leak), (most, weights))
    greatest = min(bound / np.abs(values).max() for bound, values in bounds if np.abs(values).max(initial=0) > 0)
    if greatest * above.min(initial=np.inf) < 1:
        raise NetworkError(
            f"node {name}: its least threshold is {greatest * above.min():.3g} units of {chip.name} at the scale that "
            "its other values allow; it must be at least 1, bring the values closer together"
        )
    scales = [greatest * 2 ** (-k / CANDIDATES) for k in range(CANDIDATES)]
    found = [_rounded(scale, above, leak, weights, levels) for scale in scales]
    return min(found, key=lambda rounded: round(rounded.error, 9))


def _rounded(scale: float, above: Floats, leak: Floats, weights: Floats, levels: Ints | None) -> _Rounded:
    threshold, lost = np.rint(above * scale), np.rint(leak * scale)
    wanted = weights * scale
    held = np.rint(wanted) if levels is None else levels[np.abs(wanted[:, None] - levels).argmin(axis=1)]
    pairs = ((above * scale, threshold), (leak * scale, lost), (wanted, held))
    errors = [relative_error(exact, whole) for exact, whole in pairs]
    return _Rounded(
        scale,
        threshold.astype(np.int64),
        lost.astype(np.int64),
        held.astype(np.int64),
        error=sum(errors),
        weight_error=errors[2],
    )


def _greatest_error(wanted: Floats, found: Ints) -> float:
    return float((np.abs(found - wanted) / np.where(wanted == 0, 1.0, np.abs(wanted))).max(initial=0))
