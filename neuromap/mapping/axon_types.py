"""Encode the weights of one core on axons of few types, with as few axons per source as possible.

An axon has one type and every neuron one weight per type, so a core offers each neuron a *palette* of
``axon_types`` values. A source whose weights all match one type's values takes one axon; others take several, and
the weight is the sum over those whose synapse is set. Strategies propose palettes, the cheapest legal one wins:

``coloured``   one axon per source: types by the pattern of weights (sign-fixed sources fall out as two types);
``valued``     one type per distinct weight, so a source takes one axon per value that it uses (ternary: two);
``digits``     the weight is a sum of digits, several axons of one type where a digit exceeds one (-8, 4, 2, 1).

Thresholds that the leak cannot hold arrive as spikes on bias axons, whose weights sit in types that a neuron
does not use otherwise, or, failing that, in those it has (DESIGN section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.program import BIAS

__all__ = ["AxonPlan", "plan_axons"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AxonPlan:
    """Axons, types and synapses of one core.

    Attributes
    ----------
    source : ndarray of int64, shape (a,)
        Column of the weights that feeds the axon, or ``BIAS``.
    axon_type : ndarray of int64, shape (a,)
        Type of the axon.
    weights : ndarray of int64, shape (n, axon_types)
        Weight of every neuron for every type.
    synapses : ndarray of bool, shape (a, n)
        Crossbar.
    leak : ndarray of int64, shape (n,)
        Negative leak of every neuron.
    strategy : str
        Which strategy gave it.
    """

    source: Ints
    axon_type: Ints
    weights: Ints
    synapses: Bools
    leak: Ints
    strategy: str

    @property
    def n_axons(self) -> int:
        """Axons in use, bias axons included."""
        return len(self.source)

    @property
    def swing(self) -> Ints:
        """Farthest that each potential can get from zero within a tick, in any order of events; shape (n,)."""
        reached: Ints = (np.abs(self.weights).T[self.axon_type] * self.synapses).sum(axis=0) - self.leak
        return reached


def plan_axons(weights: Ints, threshold: Ints, chip: ChipSpec, *, limit: int | None = None) -> AxonPlan | None:
    """Find the plan with the fewest axons.

    Parameters
    ----------
    weights : ndarray of int64, shape (n, s)
        Weights from s sources to n neurons; every column has a nonzero.
    threshold : ndarray of int64, shape (n,)
        theta of every neuron.
    chip : ChipSpec
        Types and widths.
    limit : int, optional
        Axons to stay within; by default the chip's axons per core.

    Returns
    -------
    AxonPlan or None
        ``None`` where no strategy stays within ``limit`` and the potential's width.
    """
    limit = chip.axons if limit is None else limit
    n_sources = weights.shape[1]
    best: AxonPlan | None = None
    # with all types first; holding one back pays only where bias axons crowd the others
    for types in (chip.axon_types, chip.axon_types - 1):
        for propose in (_coloured, _by_value, _by_digits):
            room = limit if best is None else best.n_axons - 1
            if room < n_sources or types < 1:
                return best
            proposal = propose(weights, types, room, chip)
            plan = None if proposal is None else _with_bias(*proposal, threshold, chip)
            if plan is not None and plan.n_axons <= room:
                best = plan
        if best is not None and not (best.source == BIAS).any():
            return best
    return best


_Proposal = tuple[str, Ints, Ints, Bools, Ints]


def _coloured(weights: Ints, types: int, room: int, chip: ChipSpec) -> _Proposal | None:
    """One axon per source, types by colouring."""
    low, high = chip.weight_range
    if weights.size and (weights.min() < low or weights.max() > high):
        return None
    colours = _colour(weights, types)
    if colours is None:
        return None
    palette = np.zeros((weights.shape[0], chip.axon_types), np.int64)
    for colour in range(int(colours.max(initial=-1)) + 1):
        columns = weights[:, colours == colour]
        palette[:, colour] = columns.max(axis=1, initial=0) + columns.min(axis=1, initial=0)
    return "coloured", np.arange(weights.shape[1]), colours, (weights != 0).T, palette


def _colour(weights: Ints, types: int) -> Ints | None:
    """Colour sources with types: two may share one iff no neuron needs different nonzero weights for them.

    Greedy in the order of saturation (Brélaz 1979): next comes the source with the fewest types left, among those
    the one with most synapses.
    """
    rows = np.ascontiguousarray(weights.T.astype(np.int16))  # a row per source; the range was checked
    present = rows != 0
    n_sources = len(rows)
    free = np.ones((types, n_sources), bool)
    left = np.full(n_sources, types)
    synapses = present.sum(axis=1)
    colours = np.full(n_sources, -1, np.int64)
    urgency = synapses - left * (weights.shape[0] + 1)
    done = np.iinfo(urgency.dtype).min
    for _ in range(n_sources):
        s = int(np.argmax(urgency))
        colour = int(np.argmax(free[:, s]))
        colours[s] = colour
        urgency[s] = done
        conflict = ((rows != rows[s]) & present & present[s]).any(axis=1)
        hit = conflict & free[colour] & (colours < 0)
        free[colour, hit] = False
        left[hit] -= 1
        if not left[hit].all():
            return None
        urgency[hit] += weights.shape[0] + 1
    return colours


def _by_value(weights: Ints, types: int, room: int, chip: ChipSpec) -> _Proposal | None:
    """One type per distinct weight; the same for all neurons if there are few, else ranked per neuron."""
    values = np.unique(weights[weights != 0])
    low, high = chip.weight_range
    if len(values) and (values[0] < low or values[-1] > high):
        return None
    palette = np.zeros((weights.shape[0], chip.axon_types), np.int64)
    if len(values) <= types:
        palette[:, : len(values)] = values
    else:
        for n, row in enumerate(weights):
            own = np.unique(row[row != 0])
            if len(own) > types:
                return None
            palette[n, : len(own)] = own
    match = (weights[:, :, None] == palette[:, None, :]) & (weights != 0)[:, :, None]
    source, axon_type = np.nonzero(match.any(axis=0))
    if len(source) > room:
        return None
    synapses = match[:, source, axon_type].T
    # a neuron that uses no synapse of a type leaves it free for bias axons
    used = np.zeros(palette.shape, bool)
    for kind in range(chip.axon_types):
        used[:, kind] = synapses[axon_type == kind].any(axis=0)
    return "valued", source, axon_type, synapses, np.where(used, palette, 0)


def _bases(low: int, high: int, types: int, chip: ChipSpec) -> Iterator[tuple[int, ...]]:
    """Yield bases for digits: positive powers of a radix with one negative value that covers ``low``."""
    floor, ceiling = chip.weight_range
    for radix in range(2, 17):
        for count in range(1, types + 1):
            powers = [radix**k for k in range(count)]
            if low >= 0:
                if powers[-1] <= ceiling:
                    yield tuple(powers)
            elif high <= 0:
                if -powers[-1] >= floor:
                    yield tuple(-p for p in powers)
            elif count >= 2 and -powers[-1] >= floor:
                yield (*powers[:-1], -powers[-1])
            if powers[-1] >= max(-low, high):
                break
    if low < 0 < high and types >= 2:
        yield (1, -1)
        for base in range(2, 17):
            if types >= 4:
                yield (1, base, -1, -base)


def _digits(values: Ints, base: tuple[int, ...]) -> Ints:
    """Count how often each base value occurs in the sum that gives each value, shape (len(values), len(base))."""
    counts = np.zeros((len(values), len(base)), np.int64)
    rest = values.copy()
    negative = [b for b in base if b < 0]
    positive = sorted((b for b in base if b > 0), reverse=True)
    if len(negative) == 1 and positive:  # lift below zero, then positive digits
        place = base.index(negative[0])
        counts[:, place] = np.maximum(0, -(-np.maximum(0, -rest) // -negative[0]))
        rest = rest - counts[:, place] * negative[0]
        negative = []
    for sign, group in ((1, positive), (-1, sorted(negative))):
        part = np.where(sign * rest > 0, rest, 0)
        for b in group:
            digit = part // b
            counts[:, base.index(b)] += digit
            part = part - digit * b
    return counts


def _by_digits(weights: Ints, types: int, room: int, chip: ChipSpec) -> _Proposal | None:
    """Take the cheapest sum of digits."""
    if weights.size == 0:
        return None
    values, inverse = np.unique(weights, return_inverse=True)
    inverse = inverse.reshape(weights.shape)
    best: tuple[tuple[int, ...], Ints, Ints] | None = None
    for base in _bases(int(values[0]), int(values[-1]), types, chip):
        counts = _digits(values, base)
        need = counts[inverse].max(axis=0)
        if need.sum() <= room:
            best, room = (base, counts, need), int(need.sum()) - 1
    if best is None:
        return None
    base, counts, need = best
    source = np.repeat(np.arange(len(need)), need.sum(axis=1))
    axon_type = np.repeat(np.tile(np.arange(len(base)), len(need)), need.ravel())
    first = np.cumsum(need.ravel()) - need.ravel()
    rank = np.arange(len(source)) - np.repeat(first, need.ravel())
    synapses = rank[:, None] < counts[inverse[:, source], axon_type[None, :]].T
    palette = np.zeros((weights.shape[0], chip.axon_types), np.int64)
    for kind, value in enumerate(base):
        palette[synapses[axon_type == kind].any(axis=0), kind] = value
    return "digits", source, axon_type, synapses, palette


def _with_bias(
    strategy: str,
    source: Ints,
    axon_type: Ints,
    synapses: Bools,
    palette: Ints,
    threshold: Ints,
    chip: ChipSpec,
) -> AxonPlan | None:
    """Add leak and bias axons: the neuron spikes iff its sum plus bias reaches -leak, and bias = -leak - theta."""
    leak_limit = -chip.leak_range[0]
    low, high = chip.weight_range
    least = np.clip(threshold, 1, leak_limit) - threshold  # bias nearest to zero
    free = palette == 0  # types without synapses of this neuron
    palette = palette.copy()
    count = np.zeros(palette.shape, np.int64)
    wanting = np.flatnonzero(least)
    popularity = free[wanting].sum(axis=0)
    order = np.argsort(-popularity, kind="stable")
    for n in wanting:
        sign, need = (1, int(least[n])) if least[n] > 0 else (-1, int(-least[n]))
        widest = high if sign > 0 else -low
        spare = [int(g) for g in order if free[n, g]]
        if spare:
            spikes = -(-need // widest)
            weight, kind = -(-need // spikes), spare[0]
            palette[n, kind] = sign * weight
        else:
            usable = [int(g) for g in range(palette.shape[1]) if palette[n, g] * sign > 0]
            if not usable:
                return None
            kind = min(usable, key=lambda g, n=n, need=need: -(-need // abs(int(palette[n, g]))))  # type: ignore[misc]
            weight = abs(int(palette[n, kind]))
            spikes = -(-need // weight)
        if spikes * weight - need >= leak_limit:
            return None
        count[n, kind] = spikes
    bias = (count * palette).sum(axis=1)
    kinds = np.repeat(np.arange(palette.shape[1]), count.max(axis=0, initial=0))
    ranks = np.concatenate([np.arange(k) for k in count.max(axis=0, initial=0)]) if len(kinds) else kinds
    bias_synapses = ranks[:, None] < count[:, kinds].T
    plan = AxonPlan(
        source=np.concatenate([source, np.full(len(kinds), BIAS)]).astype(np.int64),
        axon_type=np.concatenate([axon_type, kinds]).astype(np.int64),
        weights=palette,
        synapses=np.concatenate([synapses, bias_synapses]),
        leak=-(threshold + bias),
        strategy=strategy,
    )
    return plan if (plan.swing <= chip.potential_range[1]).all() else None
