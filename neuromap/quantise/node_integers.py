"""Integer neurons of a node: decays, scale, thresholds, biases, and their errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.errors import NetworkError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import CurrentNeuron, SpikingNeuron
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, Propagators
from neuromap.quantise.list_integers import (
    greatest_bias,
    greatest_weight,
    round_biases,
    round_thresholds,
    round_weights,
)
from neuromap.quantise.quantisation import NodeErrors


@dataclass(frozen=True, eq=False)
class NodeIntegers(ReadOnly, Value):
    """Neurons of a node as the chip computes them, with the units to read them."""

    neuron: SpikingNeuron  # in integers; a :class:`LeakNeuron` on crossbar cores
    scale: float  # v of the float model is the chip's voltage / scale + reset
    reset: Floats  # (size,): value of v where the chip has 0
    current_units: Floats  # (currents, size): units of the chip's current per unit of the float model's
    errors: NodeErrors  # cost of the quantisation


class _Decays:
    """Decays of a node in units of 1 / 2**bits, and the fractions that they keep."""

    def __init__(self, name: str, neuron: FloatNeuron, dt: float, chip: ChipSpec) -> None:
        self.over: Propagators = neuron.propagators(dt)
        one = 1 << chip.lists.decay_bits
        kept = (self.over.voltage, *self.over.current)
        self.voltage, *self.currents = (np.rint((1 - part) * one).astype(np.int64) for part in kept)
        currents = zip(neuron.synapse_taus, self.currents, strict=True)
        taus = [("tau", neuron.tau, self.voltage)]
        taus += [(f"synapse_taus[{c}]", tau, decay) for c, (tau, decay) in enumerate(currents)]
        for what, tau, decay in taus:
            if ((decay == 0) & np.isfinite(tau)).any():
                longest = float(tau[(decay == 0) & np.isfinite(tau)].max())
                raise NetworkError(
                    f"node {name}: {what} of {longest:g} s is {longest / dt:.0f} ticks; {chip.name} decays by at least "
                    f"1/{one} of a value in a tick: take a longer dt than {dt:g} s"
                )
        self.kept_voltage = 1 - self.voltage / one
        self.kept_currents = [1 - decay / one for decay in self.currents]

    def units(self, neuron: FloatNeuron) -> Floats:
        """Increase of v per tick by a current of 1, so that the area under its effect on v is the float model's."""
        leak, over = _by(1 - self.kept_voltage, 1 - self.over.voltage), self.over
        pulses = np.array(neuron.gains) * self.kept_voltage
        currents = np.array(over.coupling) * leak * _by(1 - np.array(self.kept_currents), 1 - np.array(over.current))
        return np.where(np.array(neuron.is_pulse)[:, None], pulses, currents)


def _by(found: Floats, wanted: Floats) -> Floats:
    """Divide; 1 where there is no decay."""
    return np.where(wanted == 0, 1.0, found / np.where(wanted == 0, 1.0, wanted))


def _tau_error(tau: Floats, kept: Floats, dt: float) -> float:
    # A tick leaves e**-40 of a value at most, nothing in doubles, where a neuron is to forget it: no error.
    mine = np.isfinite(tau) & (tau > dt / 40)
    with np.errstate(divide="ignore"):  # what forgets everything has a time constant of 0
        found = -dt / np.log(kept[mine])
    return float(np.abs(found / tau[mine] - 1).max(initial=0))


def node_integers(network: FloatNetwork, name: str, synapses: SummedSynapses, chip: ChipSpec) -> NodeIntegers:
    """Quantise the neurons of a node."""
    neuron, dt = network.nodes[name], network.dt
    rest = neuron.rest_ticks(dt)
    if (longest := int(rest.max(initial=0))) > chip.lists.greatest_refractory:
        raise NetworkError(
            f"node {name}: rests {longest} ticks of {dt:g} s after a spike; a neuron of {chip.name} rests "
            f"{chip.lists.greatest_refractory} at most, take a longer dt"
        )
    decays = _Decays(name, neuron, dt, chip)
    units = decays.units(neuron)
    demand = _demand(network, name, synapses, decays, units)
    scale = find_scale(demand, chip)
    threshold = round_thresholds(demand.thresholds * scale, chip)
    bias = round_biases(demand.biases * scale, chip)
    current, *more = neuron.currents
    if any(values.any() for values in more):
        raise NetworkError(f"node {name}: currents after the first start at 0 on {chip.name}; set them to 0")
    integers = CurrentNeuron(
        threshold=threshold,
        current_decay=decays.currents[0],
        voltage_decay=decays.voltage,
        bias=bias,
        refractory=rest,
        current=np.rint(_before(current * units[0], decays.kept_currents[0]) * scale).astype(np.int64),
        voltage=np.rint((neuron.voltage - neuron.reset) * scale).astype(np.int64),
        more_current_decays=tuple(decays.currents[1:]),
        **chip.lists.neuron_widths(chip.potential_bits),
    )
    kept_taus = zip(neuron.synapse_taus, decays.kept_currents, strict=True)
    worst = demand.worst_current * scale
    errors = NodeErrors(
        node=name,
        neurons=neuron.size,
        scale=scale,
        threshold=int(threshold.max(initial=0)),
        tau_error=_tau_error(neuron.tau, decays.kept_voltage, dt),
        synapse_tau_errors=tuple(_tau_error(tau, kept, dt) for tau, kept in kept_taus),
        threshold_error=float(np.abs(threshold / (demand.thresholds * scale) - 1).max(initial=0)),
        bias_error=greatest_error(demand.biases * scale, bias),
        truncation=_truncation(decays, integers),
        current_headroom=chip.lists.greatest_sum / worst if worst > 0 else None,
        lowest_voltage=float((neuron.reset - chip.potential_range[1] / scale).max(initial=-np.inf)),
    )
    return NodeIntegers(integers, scale, neuron.reset, units * scale, errors)


def _before(current: Floats, kept: Floats) -> Floats:
    """Undo one decay of an initial current, since the chip decays it before its first use."""
    before: Floats = current / np.where(kept == 0, np.inf, kept)
    return before


def _demand(network: FloatNetwork, name: str, synapses: SummedSynapses, decays: _Decays, units: Floats) -> ScaleDemand:
    neuron = network.nodes[name]
    kept = decays.kept_voltage
    has_leak = np.isfinite(neuron.tau)
    resting = np.where(has_leak, neuron.rest - neuron.reset + neuron.drive * np.where(has_leak, neuron.tau, 0), 0)
    weights = synapses.scaled(units)
    initial = _before(neuron.currents[0] * units[0], decays.kept_currents[0])
    return ScaleDemand(
        node=name,
        thresholds=neuron.threshold - neuron.reset,
        biases=np.where(has_leak, (1 - kept) * resting, neuron.drive * network.dt),
        weights=weights,
        source=synapses.source,
        greatest_voltage=max(_most(neuron.voltage - neuron.reset), _most(resting)),
        greatest_current=_most(initial),
        worst_current=_worst(network, synapses, weights, decays) + _most(initial),
    )


def _most(values: Floats) -> float:
    return float(np.abs(values).max(initial=0))


def _worst(network: FloatNetwork, synapses: SummedSynapses, weights: Floats, decays: _Decays) -> float:
    """Greatest current if all sources of one sign fire as often as they can."""
    if not len(weights):
        return 0.0
    rests = [neuron.rest_ticks(network.dt) for neuron in network.nodes.values()]
    period = 1 + np.concatenate([np.zeros(sum(network.inputs.values())), *rests])
    kept = np.array(decays.kept_currents)[synapses.current, synapses.target_neuron]
    gap = 1 - kept ** period[synapses.source]
    amount = weights / np.where(gap == 0, 1.0, gap)
    worst = 0.0
    for sign in (1, -1):
        sums = np.zeros((len(decays.kept_currents), len(decays.kept_voltage)))
        np.add.at(sums, (synapses.current, synapses.target_neuron), np.maximum(sign * amount, 0))
        worst = max(worst, float(sums.max()))
    return worst


def _truncation(decays: _Decays, integers: CurrentNeuron) -> float | None:
    """Bound the truncation: each current and the voltage lose less than one unit per tick, which the membrane sums."""
    leak = 1 - decays.kept_voltage
    lost = np.where(leak > 0, 1.0, 0.0)
    for kept in decays.kept_currents:
        lost = lost + np.where(kept > 0, 1 / np.where(kept < 1, 1 - kept, 1.0), 0.0)
    if (lost[leak == 0] > 0).any():
        return None
    return float((lost / np.where(leak > 0, leak, 1.0) / integers.threshold).max(initial=0))


# All synapses onto a node in one table; those that share neurons, delay and current are merged.
@dataclass(frozen=True, eq=False)
class SummedSynapses(ReadOnly, Value):
    """Synapses onto a node, ordered by source node, delay, current, target and source; arrays of shape (s,)."""

    names: tuple[str, ...]  # source nodes
    names_of: Ints  # position of each synapse's source node in ``names``
    source: Ints  # number of the source over all nodes of the network, inputs first
    # source_neuron, target_neuron, delay, current: neurons within their nodes, whole ticks, number of the current
    source_neuron: Ints
    target_neuron: Ints
    delay: Ints
    current: Ints
    # weight, delay_error: in the unit of the current, and in seconds
    weight: Floats
    delay_error: Floats

    def scaled(self, units: Floats) -> Floats:
        """Return unrounded weights in units of the chip's currents; ``units`` has shape (currents, size)."""
        return self.weight * units[self.current, self.target_neuron]


def sum_synapses(network: FloatNetwork, target: str) -> SummedSynapses:
    """Collect all synapses onto a node in one table."""
    first = dict(zip(network.sizes, np.cumsum([0, *network.sizes.values()]).tolist(), strict=False))
    parts = [part for part in network.synapses if part.target == target and len(part.weight)]
    names = tuple(dict.fromkeys(part.source for part in parts))
    keys, weights, errors = [np.zeros((0, 5), np.int64)], [np.zeros(0)], [np.zeros(0)]
    for part in parts:
        steps = network.delay_steps(part)
        node = np.full(len(steps), names.index(part.source))
        current = np.full(len(steps), part.current)
        keys.append(np.stack([node, steps, current, part.target_neuron, part.source_neuron], axis=1))
        weights.append(part.weight)
        errors.append(np.abs(steps * network.dt - part.delay))
    unique, number = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    weight, error = np.zeros(len(unique)), np.zeros(len(unique))
    np.add.at(weight, number, np.concatenate(weights))
    np.maximum.at(error, number, np.concatenate(errors))
    node, steps, current, target_neuron, source_neuron = unique.T
    source = np.array([first[name] for name in names], np.int64)[node] + source_neuron
    return SummedSynapses(names, node, source, source_neuron, target_neuron, steps, current, weight, error)


# Search for the scale of a node: units of the chip's voltage per unit of the float model's.


CANDIDATES = 64
"""Number of scales tried, in geometric steps over the octave below the greatest."""
ROOM = 4
"""Least distance between the reset and either rail of the voltage, in units of the greatest threshold."""
LEAST_THRESHOLD = 2**16
"""Threshold down to which the scale shrinks to rule out overflow of currents for any spikes."""
MAX_SAMPLE = 20_000
"""Greatest number of synapses on which the error is measured."""
SEARCH = (
    f"{CANDIDATES} scales in the octave below the greatest that keeps thresholds (a quarter of the voltage's range), "
    "initial values, resting values, biases and weights in range, and the sum of all weights at the greatest rate in "
    f"the current's range as long as thresholds stay above {LEAST_THRESHOLD}; the one with the least sum of relative "
    "errors of weights (sum of errors by sum of weights), thresholds and biases, the greatest of equals"
)
"""The search in one sentence, for reports."""


@dataclass(frozen=True, eq=False)
class ScaleDemand(ReadOnly, Value):
    """Values of a node that determine its scale, in units of v."""

    node: str  # its name
    thresholds: Floats  # (n,): above the reset
    biases: Floats  # (n,): added in every tick
    weights: Floats  # (s,): added to currents
    source: Ints  # (s,): their sources
    # greatest_voltage, greatest_current: of initial and resting values, against the reset
    greatest_voltage: float
    greatest_current: float
    # greatest current of a neuron if all its sources of one sign fire as often as they can
    worst_current: float


def find_scale(demand: ScaleDemand, chip: ChipSpec) -> float:
    """Find the scale of a node."""
    stride = -(-len(demand.weights) // MAX_SAMPLE) or 1
    _, source = np.unique(demand.source[::stride], return_inverse=True)
    sample = replace(demand, weights=demand.weights[::stride], source=source)
    least = 1 << chip.lists.threshold_shift
    scales = scales_below(_greatest(demand, chip), demand.node, demand.thresholds, least, chip)
    return min(scales, key=lambda scale: round(_error(sample, scale, chip), 9))


def scales_below(greatest: float, node: str, thresholds: Floats, least: int, chip: ChipSpec) -> list[float]:
    """List the scales to try; refuse a node whose least threshold is too small for the chip at all of them."""
    if greatest * thresholds.min(initial=np.inf) < least:
        raise NetworkError(
            f"node {node}: its least threshold is {greatest * thresholds.min():.3g} units of {chip.name} at the scale "
            f"that its other values allow; it must be at least {least}, bring the values closer together"
        )
    return [greatest * 2 ** (-k / CANDIDATES) for k in range(CANDIDATES)]


def _greatest(demand: ScaleDemand, chip: ChipSpec) -> float:
    rail, current = chip.potential_range[1], chip.lists.greatest_sum
    top = float(demand.thresholds.max(initial=1e-300))
    most = min(((1 << chip.threshold_bits) - 1) << chip.lists.threshold_shift, rail // ROOM)
    bounds = (
        (most, top),
        (rail, demand.greatest_voltage),
        (current, demand.greatest_current),
        (greatest_bias(chip), float(np.abs(demand.biases).max(initial=0))),
        (greatest_weight(chip), float(np.abs(demand.weights).max(initial=0))),
    )
    hard = min(bound / value for bound, value in bounds if value > 0)
    soft = current / demand.worst_current if demand.worst_current > 0 else hard
    return min(hard, max(soft, LEAST_THRESHOLD / top))


def _error(demand: ScaleDemand, scale: float, chip: ChipSpec) -> float:
    weights = demand.weights * scale
    rounded = round_weights(weights, demand.source, int(demand.source.max(initial=-1)) + 1, chip)
    thresholds, biases = demand.thresholds * scale, demand.biases * scale
    whole = (rounded, round_thresholds(thresholds, chip), round_biases(biases, chip))
    return sum(relative_error(*pair) for pair in zip((weights, thresholds, biases), whole, strict=True))


def greatest_error(wanted: Floats, found: Ints) -> float:
    """Greatest relative error of a value; absolute where the wanted value is 0."""
    return float((np.abs(found - wanted) / np.where(wanted == 0, 1.0, np.abs(wanted))).max(initial=0))


def relative_error(wanted: Floats, found: Ints) -> float:
    """Sum of errors divided by sum of magnitudes; 0 if all wanted values are 0."""
    total = float(np.abs(wanted).sum())
    return float(np.abs(found - wanted).sum()) / total if total else 0.0
