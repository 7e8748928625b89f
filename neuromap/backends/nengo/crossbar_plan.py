"""Lines that carry a decoded value: neurons that sum their sources and spike in turn, each with its own delay.

The k lines of a group receive the same sums, start evenly spaced and subtract their threshold when they spike, so they
spike in turn: together they act as one neuron with 1/k of the threshold, and nothing is lost. There are enough lines
for all sources to spike at once, so that no tick adds more than a threshold. The k delays have the mean and the spread
of the exponential filter: spikes that leave the group together arrive spread as the filter would spread them.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import LeakNeuron

_LOW_BITS = 11
# Exponent of the greatest weight, in units: a power of 2.
GREATEST_POWER = _LOW_BITS - 1
# Bounds of encoded integers.
LOWEST, HIGHEST = -(2 << _LOW_BITS), (2 << _LOW_BITS) - 1
# Spikes of the high part, positive and negative.
_UP, _DOWN = 2, 4
# Most spikes per value.
CODE_SIZE = _LOW_BITS + _UP + _DOWN


class BinaryCode:
    """Encoding of m integers as spikes for chips with synapse lists."""

    # least and greatest integers
    lowest, highest = np.asarray(LOWEST), np.asarray(HIGHEST)

    def extra(self, tick: int) -> Floats:
        """Units that a tick adds to the values: none."""
        return np.zeros(())

    def size(self, n_values: int) -> int:
        """Return the number of spike lines of ``n_values`` values."""
        return n_values * CODE_SIZE

    def spikes(self, numbers: Ints) -> Bools:
        """Encode integers within the bounds, shape (m,), as spikes, shape (size(m),)."""
        return as_spikes(numbers).reshape(-1)


def code_weights() -> Ints:
    """Return the weight of each spike of a value in units, shape (CODE_SIZE,)."""
    half = 1 << (_LOW_BITS - 1)
    return np.concatenate([1 << np.arange(_LOW_BITS), np.full(_UP, half), np.full(_DOWN, -half)])


def as_spikes(values: Ints) -> Bools:
    """Encode integers between ``LOWEST`` and ``HIGHEST`` as spikes."""
    # shapes: values (m,); returns (m, CODE_SIZE)
    bits = (values[:, None] >> np.arange(_LOW_BITS) & 1).astype(np.bool_)
    high = 2 * (values >> _LOW_BITS)[:, None]
    return np.concatenate([bits, np.arange(_UP) < high, np.arange(_DOWN) < -high], axis=1)


# Nengo's spiking neurons as computed by the chip, in Nengo's units: decays, refractory period, rate curve.
#
# A tick is a step of ``dt``. With leak k and threshold 1, a neuron driven from rest by J has in tick n the voltage
# J (1 - (1 - k)^n), or J k n without a leak, and spikes in the first tick in which that exceeds 1:
#
# .. math:: n(J) = \lfloor \log(1 - 1/J) / \log(1 - k) \rfloor + 1
#
# Afterwards it is refractory for R ticks, so it spikes every R + n(J) ticks.


class ChipNeuron(NamedTuple):
    """A type of Nengo neurons, as a chip computes it."""

    dt: float  # seconds of a tick
    voltage_decay: int  # in units of 2**-decay_bits; 0 without a leak
    decay_bits: int  # width of decays
    refractory: int  # refractory ticks
    amplitude: float  # of a spike
    depth: float  # required range of the voltage below 0, in thresholds

    @property
    def share(self) -> float:
        """Fraction of J that a tick adds to the voltage: k, or dt without a leak."""
        return self.voltage_decay / 2**self.decay_bits if self.voltage_decay else self.dt

    @property
    def spike(self) -> float:
        """What a spike is in Nengo's signals, in Hz."""
        return self.amplitude / self.dt

    def ticks_to_spike(self, drive: Floats) -> Floats:
        """Return the ticks from rest to the spike at constant J; infinite if there is none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.voltage_decay == 0:
                ticks = 1 / (drive * self.dt)
                return np.where(drive > 0, np.floor(ticks) + 1, np.inf)
            if self.share == 1:
                return np.where(drive > 1, 1.0, np.inf)
            ticks = np.log1p(-1 / drive) / np.log1p(-self.share)
            return np.where(drive > 1, np.floor(ticks) + 1, np.inf)

    def rates(self, drive: Floats) -> Floats:
        """Return the rates at constant J, in Hz times the amplitude."""
        return self.spike / (self.refractory + self.ticks_to_spike(drive))


class PlannedFeed(NamedTuple):
    """The m values that the host sends an ensemble in every tick."""

    weights: Floats  # (n, m): contribution of a value of 1 to J
    limit: Floats  # (m,): values are clipped to plus or minus this
    is_vector: bool  # whether the values are a vector, scaled to a length of at most ``limit[0]``

    @property
    def greatest(self) -> Floats:
        """Greatest magnitude of its contribution to J, shape (n,)."""
        if self.is_vector:
            return np.asarray(np.linalg.norm(self.weights, axis=1) * self.limit[0])
        return np.asarray(np.abs(self.weights) @ self.limit)


class PlannedEnsemble(NamedTuple):
    """An ensemble of n neurons."""

    name: str  # of its node
    neuron: ChipNeuron  # type of its neurons
    bias: Floats  # (n,): constant part of J
    voltage: Floats  # (n,): before the first tick, in thresholds
    feed: PlannedFeed | None  # input from the host


class PlannedLink(NamedTuple):
    """A connection between ensembles on the chip."""

    # source, target: positions of the ensembles
    source: int
    target: int
    weights: Floats  # (n_target, n_source): contribution of a filtered spike train of 1 to J
    greatest: Floats  # (n_target,): greatest magnitude of the contribution to J
    tau: float  # time constant of its filter in seconds; 0 without a filter


class ChipPlan(NamedTuple):
    """All that goes onto the chip."""

    dt: float  # seconds of a tick
    ticks_per_step: int  # ticks in a step of Nengo, which is the delay of a link
    ensembles: tuple[PlannedEnsemble, ...]
    links: tuple[PlannedLink, ...]


# Decoders on few axons: the integers that a source's weight can take, and the choice with the least decoding error.
#
# A neuron of a crossbar core has one weight per axon type, so the weight of a source with several axons is the sum of
# their types' weights. With one axon, it is one of as many values as there are types; with r axons, it is a sum of at
# most r of 1, b, -1 and -b, which the mapper finds as digits (:mod:`neuromap.mapping.core.core_model`). Rounding goes
# source by source, and later sources compensate the error as far as they can (the optimal brain surgeon of Hassibi
# and Stork, 1993, as used for quantisation by Frantar and Alistarh, 2022).
# Most axons per source.
MOST_AXONS = 4
# Regularisation: assumed noise, relative to the greatest activity.
_RIDGE = 0.05


class AxonSums(NamedTuple):
    """Integer weights of n sources."""

    weights: Ints  # (n,): sums of the weights of axons
    scale: int  # integer that stands for a given weight of 1
    # most axons of a source; the mapper may give one source more if that saves axons in total
    axons: int
    error: float  # RMS error of the decoded value, relative to the RMS of the value


def find_axon_sums(
    weights: Floats, activities: Floats, bound: float, *, types: int, most: int, greatest_scale: int
) -> AxonSums:
    """Find the fewest axons per source for which the error of the decoded value stays within a bound."""
    # greatest_scale: greatest integer that may stand for a weight of 1
    # if no choice meets the bound, returns the one with the least error with up to ``MOST_AXONS`` axons
    # shapes: weights (n,); activities (m, n)
    solver = _Rounding(weights, activities)
    best: AxonSums | None = None
    for axons in range(1, MOST_AXONS + 1):
        found = min(_candidates(solver, axons, types, most, greatest_scale), key=lambda sums: sums.error)
        if best is None or found.error < best.error:
            best = found
        if best.error <= bound:
            break
    assert best is not None
    return best


def _candidates(solver: _Rounding, axons: int, types: int, most: int, top: int) -> list[AxonSums]:
    greatest = float(np.abs(solver.weights).max(initial=0))
    if greatest == 0:
        return [AxonSums(np.zeros(len(solver.weights), np.int64), 1, axons, 0.0)]
    if axons == 1:
        scale = max(1, min(top, int(most / greatest)))
        return [solver.round(_few_values(solver.weights * scale, types), scale, axons)]
    found = []
    for levels in (_sums(axons, radix) for radix in (3, 4)):
        reach = levels[-1] / greatest
        scales = {max(1, min(top, round(reach * part))) for part in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3)}
        found += [solver.round(levels, scale, axons) for scale in sorted(scales)]
    return found


def _sums(axons: int, radix: int) -> Ints:
    """List the sums of at most ``axons`` terms of one sign, each 1 or the radix, ascending."""
    up = {sum(chosen) for chosen in combinations_with_replacement((0, 1, radix), axons)}
    return np.array(sorted(up | {-value for value in up}))


def _few_values(weights: Floats, count: int) -> Ints:
    """Find integers close to all weights, and 0, by k-means that starts from evenly spaced quantiles."""
    values = np.quantile(weights, (np.arange(count) + 0.5) / count)
    for _ in range(30):
        nearest = np.abs(weights[:, None] - values).argmin(axis=1)
        values = np.array([weights[nearest == k].mean() if (nearest == k).any() else values[k] for k in range(count)])
    return np.unique(np.append(np.rint(values), 0)).astype(np.int64)


class _Rounding:
    """Rounds decoders to levels; holds the data shared by all attempts."""

    def __init__(self, weights: Floats, activities: Floats) -> None:
        self.weights, self._activities = weights, activities
        self._wanted = activities @ weights
        gram = activities.T @ activities / max(1, len(activities))
        noise = (_RIDGE * activities.max(initial=0)) ** 2 + 1e-12
        self._order = np.argsort(-np.diag(gram), kind="stable")
        inverse = np.linalg.inv(gram + noise * np.eye(len(gram)))[np.ix_(self._order, self._order)]
        self._factor = np.linalg.cholesky(inverse).T  # row i: compensation of source i's error by later sources

    def round(self, levels: Ints, scale: int, axons: int) -> AxonSums:
        rest, rounded = self.weights[self._order] * scale, np.zeros(len(self.weights))
        for i, row in enumerate(self._factor):
            rounded[i] = levels[np.abs(levels - rest[i]).argmin()]
            rest[i:] -= (rest[i] - rounded[i]) / row[i] * row[i:]
        found = np.zeros_like(rounded)
        found[self._order] = rounded
        error = float(np.linalg.norm(self._activities @ found / scale - self._wanted))
        norm = float(np.linalg.norm(self._wanted))
        return AxonSums(found.astype(np.int64), scale, axons, error / norm if norm else float(error > 0))


# Axons of a core reserved for its other inputs.
_SPARE_AXONS = 16
# Range of lines below their rest, relative to the fall required over all points.
_ROOM = 1.1
# Delays per filter, if the target has axons for them.
_FILTER_LINES = 16
# Ratio of mean to spread of delays below which the spread is not matched.
_SHORT = 0.5
# Floor of a line's sum, in thresholds below 0.
_DEPTH = 3


class LineGroup(NamedTuple):
    """Lines for a share of a link's sources and one dimension of its target."""

    link: int  # position of the link
    dimension: int  # of the target
    share: int  # number of the group among those that share the sources
    sources: Ints  # (s,): source neurons that it sums
    sums: AxonSums  # weights of all sources of the link in this dimension
    rest: int  # spikes per tick, over all lines, at the value 0
    delays: Ints  # (k,): ticks from each line to the target

    @property
    def name(self) -> str:
        """Name of its node."""
        return f"L{self.link}.{self.dimension}.{self.share}"

    @property
    def threshold(self) -> int:
        """Threshold of its neurons."""
        return self.sums.scale * len(self.delays)

    @property
    def neuron(self) -> LeakNeuron:
        """Model of its neurons; the order of their initial potentials is random, because delays are sorted."""
        k = len(self.delays)
        ahead = np.random.RandomState([self.link, self.dimension, self.share]).permutation(k)
        return LeakNeuron(
            threshold=np.full(k, self.threshold),
            leak=np.full(k, self.sums.scale * self.rest),
            floor=np.full(k, _DEPTH * self.threshold),
            potential=(ahead * self.threshold) // k,
            subtract=1,
        )

    def missing(self, tick: int) -> float:
        """Return the resting spikes of a tick that are still in flight, because lines start with the first tick."""
        return self.rest * float((self.delays > tick).mean())


def line_groups(plan: CrossbarPlan, chip: ChipSpec) -> tuple[LineGroup, ...]:
    """Find the lines of all links of a plan."""
    shared = [
        share
        for number, link in enumerate(plan.links)
        for dimension in np.flatnonzero(np.abs(link.decoders).max(axis=1, initial=0))
        for share in _shares(plan, number, link, int(dimension), chip)
    ]
    readers = Counter(plan.links[share.link].target for share in shared)
    return tuple(_group(plan, share, readers[plan.links[share.link].target], chip) for share in shared)


class _Share(NamedTuple):
    """Sources of a link and a dimension that fit one core, and the resting spikes per tick of their lines."""

    link: int
    dimension: int
    number: int
    sources: Ints
    sums: AxonSums
    rest: int


def _shares(plan: CrossbarPlan, number: int, link: CrossbarLink, dimension: int, chip: ChipSpec) -> list[_Share]:
    target, source = plan.ensembles[link.target].neuron, plan.ensembles[link.source].neuron
    sums = find_axon_sums(
        link.decoders[dimension] * source.spike / target.unit,
        link.activities,
        plan.decoder_error,
        types=chip.axon_types,
        most=chip.weight_range[1],
        greatest_scale=chip.leak_range[1] // (LINK_REST + 1),
    )
    used = np.flatnonzero(sums.weights)
    parts = np.array_split(used, _n_shares(len(used), sums.axons, chip))
    # bounds how far below 0 the sum of some sources falls over all points
    falls = [np.maximum(0, -(link.activities[:, mine] @ sums.weights[mine])).max(initial=0) for mine in parts]
    below = np.array([1 + _ROOM * float(fall) for fall in falls]) / sums.scale
    rests = np.ceil(below * min(1.0, LINK_REST / below.sum())).astype(np.int64)
    return [
        _Share(number, dimension, k, mine, sums, int(rest))
        for k, (mine, rest) in enumerate(zip(parts, rests, strict=True))
    ]


def greatest_rest(n_sources: int, chip: ChipSpec) -> int:
    """Bound the resting spikes per tick of the lines of a link and a dimension, by the number of sources."""
    return LINK_REST + _n_shares(n_sources, MOST_AXONS, chip)


def _n_shares(n_sources: int, axons: int, chip: ChipSpec) -> int:
    """Count the groups needed so that the sources of each fit the axons of a core."""
    return -(-n_sources * axons // (chip.axons - _SPARE_AXONS)) or 1


def _group(plan: CrossbarPlan, share: _Share, readers: int, chip: ChipSpec) -> LineGroup:
    """Make the lines of a share: enough for their sums and, as far as the target has axons, for a good filter."""
    link = plan.links[share.link]
    most = int(np.maximum(0, share.sums.weights[share.sources]).sum())
    host = 2 * host_rest(True) * chip.axon_types
    wanted = min(_FILTER_LINES, (chip.axons - host) // readers) if link.tau > 0 else 1
    lines = max(wanted, -(-most // share.sums.scale) + share.rest)
    delays = line_delays(link.tau, lines, plan.dt, plan.ticks_per_step)
    return LineGroup(share.link, share.dimension, share.number, share.sources, share.sums, share.rest, delays)


def line_delays(tau: float, lines: int, dt: float, ticks_per_step: int) -> Ints:
    """Return the delays of lines to their target, whose mean matches the delay of Nengo's filter."""
    # tau: time constant in seconds; 0 without a filter
    # returns ticks, at least 1; a spike takes one more to reach the line
    # shapes: returns (lines,)
    if tau <= 0:
        return np.full(lines, max(1, ticks_per_step - 1))
    kept = np.exp(-ticks_per_step * dt / tau)
    mean = max(0.0, ticks_per_step / (1 - kept) - 2)  # in excess of two ticks
    spread = ticks_per_step * np.sqrt(kept) / (1 - kept)
    quantiles = -np.log1p(-(np.arange(lines) + 0.5) / lines)
    power = brentq(lambda p: _spread_of(quantiles**p) * mean - spread, 0.01, 20) if mean > _SHORT * spread else 1.0
    shape = quantiles**power
    delays: Ints = 1 + np.rint(shape * mean / shape.mean()).astype(np.int64)
    return delays


def _spread_of(values: Floats) -> float:
    """Return the ratio of standard deviation to mean."""
    return float(values.std() / values.mean())


# Plan for a chip with crossbar cores: ensembles in integers, links with their decoders.


# Spikes per tick on lines for a value as long as the radius.
SPIKES_PER_RADIUS = 4
# Most resting spikes per tick of the lines of a link and a dimension, before rounding up: -1.5 radii stop them.
LINK_REST = 6
# Range of values from the host, in radii.
HOST_RADII = 1.6
# Bias axons, on which the host spikes in every tick, if the dimensions leave an axon type for them.
_BIAS_AXONS = 7
# Greatest fraction of a threshold that one spike on a line adds.
_COARSEST = 0.25
# Variance of the spikes per tick on the lines of a dimension, which are as even as integers can be.
_VARIANCE = 0.25


class LeakIntegers(NamedTuple):
    """The n neurons of a D-dimensional ensemble in integers."""

    weights: Ints  # (n, D): potential added per spike on a line
    bias: Ints  # (n,): potential added per tick at the value 0
    threshold: Ints  # (n,): thresholds
    unit: float  # value of a spike on a line
    spike: float  # what a spike is in Nengo's signals, in Hz

    def activities(self, points: Floats) -> Floats:
        """Return the mean spikes per tick at constant values."""
        # shapes: points (m, D); returns (m, n)
        threshold = self.threshold.astype(np.float64)
        mean = ((points / self.unit) @ self.weights.T + self.bias) / threshold
        variance = _VARIANCE * ((self.weights / threshold[:, None]) ** 2).sum(axis=1)
        up = np.maximum(mean, 1e-9)
        return np.where(mean > 0, 1 / np.maximum(1, (1 + (up**2 + variance) / (2 * up)) / up), 0.0)


def host_rest(is_fed: bool) -> int:
    """Return the resting spikes per tick of the host's lines of a dimension."""
    return int(np.ceil(HOST_RADII * SPIKES_PER_RADIUS)) if is_fed else 0


def n_bias_axons(dimensions: int, chip: ChipSpec) -> int:
    """Return the number of axons on which the host spikes in every tick, by the dimensions of an ensemble."""
    return _BIAS_AXONS if dimensions < chip.axon_types else 0


def as_leak_integers(
    drive: tuple[Floats, Floats, Floats], radius: float, spike: float, dt: float, rest: int, chip: ChipSpec
) -> LeakIntegers:
    """Scale neurons to the greatest integers that the chip's weights and leaks hold."""
    # rest: most resting spikes per tick of all lines of a dimension
    gain, encoders, bias = drive
    per_spike = gain[:, None] * encoders * (dt / SPIKES_PER_RADIUS)
    leak = np.abs(bias) * dt + np.abs(per_spike).sum(axis=1) * rest
    greatest = np.abs(per_spike).max(axis=1, initial=0)
    most = chip.leak_range[1] * (1 + n_bias_axons(encoders.shape[1], chip))
    scale = most / np.maximum(leak, 1e-6)
    scale = np.minimum(scale, chip.weight_range[1] / np.maximum(greatest, 1e-6))
    scale = np.clip(scale, 1, 1 << (chip.threshold_bits - 3))
    threshold = np.rint(np.maximum(1, scale * np.maximum(1, greatest / _COARSEST)))
    weights = np.rint(scale[:, None] * per_spike).astype(np.int64)
    room = most - np.abs(weights).sum(axis=1) * rest
    return LeakIntegers(
        weights,
        np.rint(scale * bias * dt).clip(-room, room).astype(np.int64),
        np.minimum(threshold, chip.threshold_range[1]).astype(np.int64),
        radius / SPIKES_PER_RADIUS,
        spike,
    )


# Default bound on the relative error of decoded values, for which axons are replicated.
DECODER_ERROR = 0.002


class CrossbarEnsemble(NamedTuple):
    """A D-dimensional ensemble of n neurons."""

    name: str  # of its node
    neuron: LeakIntegers  # its neurons
    voltage: Floats  # (n,): before the first tick, in thresholds
    feed: PlannedFeed  # input from the host
    # whether the host sends values; otherwise it only replaces spikes in flight before the first tick
    is_fed: bool


class CrossbarLink(NamedTuple):
    """A connection between ensembles on the chip."""

    # source, target: positions of the ensembles
    source: int
    target: int
    decoders: Floats  # (D_target, n_source): contribution of a filtered spike train of 1 to the target's value
    activities: Floats  # (m, n_source): spikes per tick at the points that the decoders were solved on
    tau: float  # time constant of its filter in seconds; 0 without a filter


class CrossbarPlan(NamedTuple):
    """All that goes onto the chip."""

    dt: float  # seconds of a tick
    ticks_per_step: int  # ticks in a step of Nengo
    ensembles: tuple[CrossbarEnsemble, ...]
    links: tuple[CrossbarLink, ...]
    decoder_error: float  # bound on the relative error of decoded values, for which axons are replicated
