r"""Lines that carry a decoded value: neurons that add up what sources bring and spike in turn, each with a delay.

The k lines of a group add the same, start evenly apart and take their threshold off when they spike, so that they
spike one after the other: together they are as one neuron with a k-th of the threshold, and nothing is lost. They are
as many as can take all sources at once, so that no tick adds more than a threshold. The k delays have the mean and the
spread of the filter, an exponential: what leaves the group in a moment arrives spread as the filter spreads it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from neuromap.arrays.frozen import freeze_arrays
from neuromap.backends.nengo.crossbar.axon_sums import MOST_AXONS, AxonSums, find_axon_sums
from neuromap.backends.nengo.crossbar.crossbar_plan import CrossbarLink, CrossbarPlan
from neuromap.backends.nengo.crossbar.leak_integers import LINK_REST, host_rest
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["LineGroup", "greatest_rest", "line_delays", "line_groups"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SPARE_AXONS = 16
"""Axons of a core that are left for what else it reads."""
_ROOM = 1.1
"""What lines can fall below their rest, in parts of what they must over all points."""
_FILTER_LINES = 16
"""Delays that a filter is made of, where the target has axons for them."""
_SHORT = 0.5
"""Mean by spread of delays below which their spread does not count."""
_DEPTH = 3
"""Thresholds below 0 at which the sum of a line stops."""


@dataclass(frozen=True, eq=False)
class LineGroup(Card):
    """Lines for a share of the sources of a link, and one dimension of its target."""

    link: int  # position of the link
    dimension: int  # of the target
    share: int  # which of the groups that share the sources
    sources: Ints  # (s,): neurons of the source that it adds up
    sums: AxonSums  # weights of all sources of the link in this dimension
    rest: int  # spikes a tick, of all lines, at the value 0
    delays: Ints  # (k,): ticks from each line to the target

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def name(self) -> str:
        """Of its node."""
        return f"L{self.link}.{self.dimension}.{self.share}"

    @property
    def threshold(self) -> int:
        """Of its neurons."""
        return self.sums.scale * len(self.delays)

    @property
    def neuron(self) -> LeakNeuron:
        """What its neurons compute; who is how far ahead is drawn, as delays are in order."""
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
        """Spikes of a tick that have not arrived yet, as lines begin with the first tick."""
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
    """Sources of a link and a dimension that lie in one core, and the spikes a tick at which their lines rest."""

    link: int
    dimension: int
    number: int
    sources: Ints
    sums: AxonSums
    rest: int


def _shares(plan: CrossbarPlan, number: int, link: CrossbarLink, dimension: int, chip: ChipSpec) -> list[_Share]:
    target, source = plan.ensembles[link.target].neurons, plan.ensembles[link.source].neurons
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
    below = np.array([_below(sums.weights[mine], link.activities[:, mine]) for mine in parts]) / sums.scale
    rests = np.ceil(below * min(1.0, LINK_REST / below.sum())).astype(np.int64)
    return [
        _Share(number, dimension, k, mine, sums, int(rest))
        for k, (mine, rest) in enumerate(zip(parts, rests, strict=True))
    ]


def greatest_rest(n_sources: int, chip: ChipSpec) -> int:
    """Give the spikes a tick at which the lines of a link and a dimension rest at most, by the number of sources."""
    return LINK_REST + _n_shares(n_sources, MOST_AXONS, chip)


def _n_shares(n_sources: int, axons: int, chip: ChipSpec) -> int:
    """Count the groups whose sources fit the axons of a core each."""
    return -(-n_sources * axons // (chip.axons - _SPARE_AXONS)) or 1


def _below(weights: Ints, activities: Floats) -> float:
    """How far below 0 the sum of some sources falls over all points."""
    return 1 + _ROOM * float(np.maximum(0, -(activities @ weights)).max(initial=0))


def _group(plan: CrossbarPlan, share: _Share, readers: int, chip: ChipSpec) -> LineGroup:
    """Give the lines of a share: what they must hold, and as many as make a good filter while the target has axons."""
    link = plan.links[share.link]
    most = int(np.maximum(0, share.sums.weights[share.sources]).sum())
    host = 2 * host_rest(True) * chip.axon_types
    wanted = min(_FILTER_LINES, (chip.axons - host) // readers) if link.tau > 0 else 1
    lines = max(wanted, -(-most // share.sums.scale) + share.rest)
    delays = line_delays(link.tau, lines, plan.dt, plan.ticks_per_step)
    return LineGroup(share.link, share.dimension, share.number, share.sources, share.sums, share.rest, delays)


def line_delays(tau: float, lines: int, dt: float, ticks_per_step: int) -> Ints:
    """Give the delays of lines to their target: on average a spike takes as long as Nengo's filter delays it."""
    # tau: time constant in seconds; 0 where there is no filter
    # gives in ticks, 1 at least; a spike takes one more to reach the line
    # shapes: returns (lines,)
    if tau <= 0:
        return np.full(lines, max(1, ticks_per_step - 1))
    kept = np.exp(-ticks_per_step * dt / tau)
    mean = max(0.0, ticks_per_step / (1 - kept) - 2)  # of what is beyond two ticks
    spread = ticks_per_step * np.sqrt(kept) / (1 - kept)
    quantiles = -np.log1p(-(np.arange(lines) + 0.5) / lines)
    power = brentq(lambda p: _spread_of(quantiles**p) * mean - spread, 0.01, 20) if mean > _SHORT * spread else 1.0
    shape = quantiles**power
    delays: Ints = 1 + np.rint(shape * mean / shape.mean()).astype(np.int64)
    return delays


def _spread_of(values: Floats) -> float:
    """Give the standard deviation by the mean."""
    return float(values.std() / values.mean())
