"""Axon plans: the weights of one core encoded on axons of few types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly, frozen
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run
from neuromap.arrays.value import Value
from neuromap.hardware.program.ports import BIAS
from neuromap.network.spiking_neuron import LeakNeuron

# Span of weights below which distinct ones are found by a table, however few weights there are.
TABLE = 4096


class Proposal(NamedTuple):
    """Axons for the weights of a core, ignoring thresholds."""

    # source, axon_type: (a,): column of the weights that feeds each axon, and its type
    source: Ints
    axon_type: Ints
    synapses: Bools  # (a, n): crossbar
    # (n, axon_types): weight of every neuron for every type; 0 where no synapse of the neuron has the type
    palette: Ints


def coloured(weights: Ints, types: int, room: int, core: CrossbarCore) -> Proposal | None:
    """Propose one axon per source, with types assigned by colouring."""
    # room: axons that may be used, at least one per source
    # returns ``None`` where the strategy does not apply
    # shapes: weights (n, s)
    if not core.has_weights(weights):
        return None
    colours = _colour_by_value(weights, types)
    if colours is None:
        colours = colour_sources(weights, types)
    if colours is None:
        return None
    palette = np.zeros((weights.shape[0], core.axon_types), np.int64)
    for colour in range(int(colours.max(initial=-1)) + 1):
        columns = weights[:, colours == colour]
        palette[:, colour] = columns.max(axis=1, initial=0) + columns.min(axis=1, initial=0)
    return Proposal(np.arange(weights.shape[1]), colours, (weights != 0).T, palette)


def _colour_by_value(weights: Ints, types: int) -> Ints | None:
    """Colour each source by its only weight; ``None`` if some have several, or there are too many weights."""
    highest, lowest = weights.max(axis=0, initial=0), weights.min(axis=0, initial=0)
    value = highest + lowest
    if ((highest != 0) & (lowest != 0)).any() or ((weights != 0) & (weights != value)).any():
        return None
    values, colours = np.unique(value, return_inverse=True)
    return colours.astype(np.int64) if len(values) <= types else None


def by_value(weights: Ints, types: int, room: int, core: CrossbarCore) -> Proposal | None:
    """Propose one type per distinct weight; the same for all neurons if there are few, else ranked per neuron."""
    # Parameters and result as for :func:`coloured`.
    values = distinct_weights(weights)[0]
    values = values[values != 0]
    if not core.has_weights(values):
        return None
    palette = np.zeros((weights.shape[0], core.axon_types), np.int64)
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
    return _with_types_in_use(source, axon_type, match[:, source, axon_type].T, palette)


def _with_types_in_use(source: Ints, axon_type: Ints, synapses: Bools, palette: Ints) -> Proposal:
    """Propose axons; a neuron that uses no synapse of a type leaves it free for bias axons."""
    used = np.zeros(palette.shape, bool)
    for kind in range(palette.shape[1]):
        used[:, kind] = synapses[axon_type == kind].any(axis=0)
    return Proposal(source, axon_type, synapses, np.where(used, palette, 0))


def _bases(
    low: int, high: int, types: int, weight_range: tuple[int, int], *, signed: bool
) -> Iterator[tuple[int, ...]]:
    """Yield bases for digits that the core's weights can hold and that cover ``low`` to ``high``."""
    # Powers of a radix, of one sign if the weights are, else with one negative value (not if ``signed``) or with both
    # signs.
    floor, ceiling = weight_range
    signs = [s for s, needed in ((1, high > 0), (-1, low < 0)) if needed]
    for radix in range(2, 17):
        for count in range(1, types + 1):
            powers = [radix**k for k in range(count)]
            if len(signs) == 1:
                candidates = [tuple(signs[0] * p for p in powers)]
            else:
                candidates = [(*powers[:-1], -powers[-1])] if count >= 2 and not signed else []
                if 2 * count <= types:
                    candidates.append((*powers, *(-p for p in powers)))
            yield from (base for base in candidates if floor <= min(base) and max(base) <= ceiling)
            if powers[-1] >= max(-low, high):
                break


def _digits(values: Ints, base: tuple[int, ...]) -> Ints:
    """Count how often each base value occurs in the digit sum of each value, shape (len(values), len(base))."""
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


@lru_cache(maxsize=64)  # a mapping asks for the same few sets of weights, core by core
def _all_digits(
    values: tuple[int, ...], types: int, weight_range: tuple[int, int], *, signed: bool
) -> tuple[tuple[tuple[int, ...], Ints], ...]:
    """Return every base with the digits of some values (ascending), as from :func:`_digits`."""
    bases = dict.fromkeys(_bases(values[0], values[-1], types, weight_range, signed=signed))
    return tuple((base, frozen(_digits(np.array(values, np.int64), base))) for base in bases)


def by_digits(weights: Ints, types: int, room: int, core: CrossbarCore, *, signed: bool = False) -> Proposal | None:
    """Propose the cheapest sum of digits."""
    # Parameters and result as for :func:`coloured`.
    # signed: whether digits have the weight's own sign, which keeps a potential from swinging farther than the weights
    values, inverse = distinct_weights(weights)
    if np.count_nonzero(values) <= 2 and types >= 2 and len(values) and np.abs(values).max() <= core.weight_range[1]:
        return None  # one type per value is as good
    if weights.size == 0:
        return None
    reads = np.zeros((len(values), weights.shape[1]), bool)  # which source has which weight somewhere
    reads[inverse, np.arange(weights.shape[1])[None, :]] = True
    best: tuple[tuple[int, ...], Ints, Ints] | None = None
    for base, counts in _all_digits(tuple(values.tolist()), types, core.weight_range, signed=signed):
        if len(weights) > 1:  # axons of every source and base value, by its neediest weight
            need = np.stack([(reads * digit[:, None]).max(axis=0) for digit in counts.T], axis=1)
        else:
            need = counts[inverse[0]]
        if need.sum() <= room:
            best, room = (base, counts, need), int(need.sum()) - 1
    if best is None:
        return None
    base, counts, need = best
    source = np.repeat(np.arange(len(need)), need.sum(axis=1))
    axon_type = np.repeat(np.tile(np.arange(len(base)), len(need)), need.ravel())
    rank = ragged_ranges(0, need.ravel())
    synapses = rank[:, None] < counts[inverse[:, source], axon_type[None, :]].T
    palette = np.zeros((weights.shape[0], core.axon_types), np.int64)
    palette[:, : len(base)] = base
    return _with_types_in_use(source, axon_type, synapses, palette)


def distinct_weights(weights: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the sorted distinct weights, and the index of every weight among them."""
    # By a table where the weights lie close together, which spares sorting a core's worth of them.
    low, high = int(weights.min(initial=0)), int(weights.max(initial=0))
    if high - low >= max(TABLE, weights.size):
        values, inverse = np.unique(weights, return_inverse=True)
        return values, inverse.reshape(weights.shape)
    seen = np.bincount((weights - low).ravel(), minlength=high - low + 1) > 0
    places = np.cumsum(seen) - 1
    return np.flatnonzero(seen) + low, places[weights - low]


# Colour the sources of a core with axon types: sets of sources are integers with one bit per source.
def colour_sources(weights: Ints, types: int) -> Ints | None:
    """Colour sources with types: two may share one iff no neuron needs different nonzero weights for them."""
    # Greedy in the order of saturation (Brélaz 1979): next is the source with the fewest types left, ties broken by
    # most synapses, then by order.
    # returns the type of every source, from 0; ``None`` if this order runs out of types
    # shapes: weights (n, s); returns (s,)
    order = np.argsort(-np.count_nonzero(weights, axis=0), kind="stable")  # the lowest bit of a set comes next
    rows = np.ascontiguousarray(weights.T[order].astype(np.int16))  # of sources; the range of weights was checked
    present = rows != 0
    uncoloured = (1 << len(order)) - 1
    free = [uncoloured] * types  # sources for which a type is left
    fewer = [uncoloured if left >= types else 0 for left in range(types + 1)]  # by k: those with at most k types left
    colours = []
    while uncoloured:
        urgent = next(waiting for sources in fewer if (waiting := sources & uncoloured))
        bit = urgent & -urgent
        place = bit.bit_length() - 1
        colour = next(number for number, sources in enumerate(free) if sources & bit)
        colours.append((place, colour))
        uncoloured ^= bit
        against = ((rows != rows[place]) & present & present[place]).any(axis=1)
        hit = int.from_bytes(np.packbits(against, bitorder="little").tobytes(), "little") & free[colour] & uncoloured
        if hit:
            free[colour] ^= hit
            for left in range(types):
                fewer[left] |= hit & fewer[left + 1]
            if fewer[0] & uncoloured:
                return None
    found = np.empty(len(order), np.int64)
    found[order[[place for place, _ in colours]]] = [colour for _, colour in colours]
    return found


# What fits a crossbar core (docs/mapping.md): the core model of TrueNorth and its kin, axons of few types, neurons with
# one weight per type.
# Axons of the hypothetical core on which demand is counted.
AMPLE = 2**20
# Potential bits of the hypothetical core without rails.
WIDE = 63


@dataclass(frozen=True)
class CrossbarCore:
    """A crossbar core of a chip: what fits it, and margins around it."""

    name: str  # name of the chip, for messages
    # axons, neurons, axon_types: of the core
    axons: int
    neurons: int
    axon_types: int
    weight_range: tuple[int, int]  # least and greatest weight of one axon type
    leak_limit: int  # greatest amount that a leak can subtract per tick
    # greatest threshold on the chip at which a silent neuron keeps no potential: 1, or 0 if the chip has no threshold 1
    # (docs/mapping.md)
    highest_alpha: int
    potential_bits: int  # width of the potential, the sign included (two's complement)

    @property
    def highest_potential(self) -> int:
        """Upper rail of the potential; the lower one reaches one farther."""
        return int(2 ** (self.potential_bits - 1)) - 1

    @property
    def free_threshold(self) -> int:
        """Greatest theta that a neuron holds without bias axons."""
        return self.leak_limit + self.highest_alpha

    def plan(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> AxonPlan | None:
        """Find the plan with the fewest axons."""
        # Strategies propose palettes, bias axons are added, and the cheapest legal plan wins.
        # returns ``None`` if no strategy stays within the core's axons and the potential's width
        # shapes: weights (n, s); threshold (n,)
        if neuron is not None and weights.size:
            # Weights with a common divisor lie on the axons of their quotients, digit by digit.
            step = np.maximum(1, np.gcd.reduce(weights, axis=1))[:, None]
            small = self.plan(weights // step, threshold, neuron) if step.max() > 1 else None
            if small is not None:
                scaled = replace(small, weights=small.weights * step)
                if self.has_weights(scaled.weights) and (scaled.swing(neuron) <= self.highest_potential).all():
                    return scaled
        n_sources = weights.shape[1]
        threshold = _lowered(weights, threshold, self)
        best: AxonPlan | None = None
        # with all types first; holding one back pays only where bias axons crowd the others
        for types in (self.axon_types, self.axon_types - 1):
            proposals = 0
            for propose in (coloured, by_value, by_opposites, by_digits):
                room = self.axons if best is None else best.n_axons - 1
                if room < n_sources or types < 1:
                    return best
                if propose is by_opposites and best is not None:
                    continue  # tiles whose axons have one weight each share them with others
                proposal = propose(weights, types, room, self)
                proposals += proposal is not None
                plan = None if proposal is None else with_bias(proposal, threshold, room, self, neuron)
                if plan is None and proposal is not None and propose is by_digits:
                    # digits of the other sign swing farther than the weight that they make up; more axons may not
                    proposal = by_digits(weights, types, room, self, signed=True)
                    plan = None if proposal is None else with_bias(proposal, threshold, room, self, neuron)
                if plan is not None:  # then it has fewer axons than the best so far
                    best = plan
            if proposals == 0 or (best is not None and not (best.source == BIAS).any()):
                return best  # weights that do not fit all types do not fit fewer
        return best

    def has_axon_per_weight(self, values: Ints) -> bool:
        """Whether there is a type for each of these weights."""
        return len(values) <= self.axon_types and self.has_weights(values)

    def has_weights(self, weights: Ints) -> bool:
        """Whether the weight range covers all of these weights and 0."""
        low, high = self.weight_range
        return bool(low <= weights.min(initial=0) and weights.max(initial=0) <= high)

    def needs_bias(self, threshold: Ints) -> bool:
        """Whether leak and alpha cannot hold some threshold."""
        return bool((threshold < 1).any() or (threshold > self.free_threshold).any())

    def least_axons(self, weights: Ints) -> int:
        """Count the axons that weights take at least, by their size alone, whatever the encoding."""
        return int((-(-np.abs(weights) // self.weight_range[1])).sum())

    def axons_alone(self, weights: Ints, threshold: Ints) -> int | None:
        """Count the axons that one neuron takes alone on a core with ample axons; ``None`` if no plan exists."""
        if self.least_axons(weights) > AMPLE // 2:
            return None
        plan = self.ample_plan(weights, threshold)
        return None if plan is None else plan.n_axons

    def ample_plan(self, weights: Ints, threshold: Ints, neuron: LeakNeuron | None = None) -> AxonPlan | None:
        """Find the plan with the fewest axons on a core with ample axons."""
        return replace(self, axons=AMPLE).plan(weights, threshold, neuron)

    def shortage(
        self, weights: Ints, threshold: Ints, most_types: int, neuron: LeakNeuron | None = None
    ) -> tuple[Literal["potential", "axon_types", "axons"], int]:
        """Find what a neuron lacks that no number of axons helps, and how much of it would do."""
        # most_types: axon types with which everything can be expressed; what is left then is a matter of axons
        ample = replace(self, axons=AMPLE, potential_bits=WIDE)
        plan = ample.plan(weights, threshold)
        if plan is not None:
            return "potential", int(plan.swing(neuron).max())
        for types in range(self.axon_types + 1, most_types + 1):
            if replace(ample, axon_types=types).plan(weights, threshold) is not None:
                return "axon_types", types
        return "axons", AMPLE + 1


def _lowered(weights: Ints, threshold: Ints, core: CrossbarCore) -> Ints:
    """Lower thresholds that need bias axons to the least equivalent value."""
    # Sums are multiples of the greatest common divisor of the weights: a threshold between two multiples acts like one
    # just above the lower.
    beyond = np.flatnonzero(threshold > core.free_threshold)
    if not len(beyond):
        return threshold
    lowered = threshold.copy()
    step = np.maximum(1, np.gcd.reduce(weights[beyond], axis=1, initial=0))
    lowered[beyond] = (-(-threshold[beyond] // step) - 1) * step + 1
    return lowered


# Thresholds that leak and alpha cannot hold arrive as spikes on bias axons.
#
# Their weights use types that a neuron leaves free or, failing that, types that it has (docs/mapping.md).
def with_bias(
    proposal: Proposal, threshold: Ints, room: int, core: CrossbarCore, neuron: LeakNeuron | None = None
) -> AxonPlan | None:
    """Add leak, alpha and bias axons: the neuron spikes iff its sum plus bias reaches alpha - leak."""
    # So bias = alpha - leak - theta. Of two equivalent settings, the one with alpha = 0 is used.
    # returns ``None`` if axons or the potential's width do not suffice
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


def _bias_of(least: int, palette: Ints, spare: list[int], room: int, core: CrossbarCore) -> tuple[int, int, int] | None:
    """Choose type, weight and number of spikes of a neuron's bias."""
    # Weight times spikes is ``least``, or less than ``core.free_threshold`` farther from 0. A type that the neuron
    # leaves free takes any weight; the others only the one that they have.
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


# Two types that are opposite in every neuron: together they make any weight, and other sources take one axon.
#
# Let every neuron have at most two weights, a low and a high one (ternary: -1 and 1). Two types of the core hold them,
# in some neurons low and high, in others high and low: a source with an axon of both types can have any of these
# weights. A source takes one axon if its weights are those of one type in all neurons that read it. So the two types,
# and each remaining one, get the pattern that most sources have.
# Stands for a type: the source has an axon of each of the first two.
TWICE = -1


def by_opposites(weights: Ints, types: int, room: int, core: CrossbarCore) -> Proposal | None:
    """Propose one axon for sources of a few patterns, two for all others."""
    # Patterns are those of sources that agree, found greedily, the most sources first; there may be better ones.
    # returns ``None`` if the strategy does not apply, as with fewer than two types or a neuron with more than two
    # weights
    # shapes: weights (n, s)
    if types < 2 or not weights.size or not core.has_weights(weights):
        return None
    read = weights != 0
    beyond = int(np.abs(weights).max()) + 1
    low, high = np.where(read, weights, beyond).min(axis=1), np.where(read, weights, -beyond).max(axis=1)
    is_low, is_high = read & (weights == low[:, None]), read & (weights == high[:, None])
    if (is_low | is_high != read).any():
        return None
    two = low < high  # neurons of one weight have it in every type
    alike = _alike(read[two], is_high[two])
    if 2 * weights.shape[1] - alike.most_single(types) > room:
        return None  # before any search
    shown = np.ix_(two, alike.first)
    found = _patterns(is_low[shown], is_high[shown], alike.size, types, room)
    if found is None:
        return None
    kind_of_class, type_is_high = found
    kind = kind_of_class[alike.of_source]
    if len(kind) + np.count_nonzero(kind == TWICE) > room:
        return None
    palette = np.repeat(np.where(two, 0, high)[:, None], core.axon_types, axis=1)
    palette[two, :types] = np.where(type_is_high.T, high[two, None], low[two, None])
    # lay sources out on axons; neurons of one weight read the first of two
    times = np.where(kind == TWICE, 2, 1)
    source = np.repeat(np.arange(len(kind)), times)
    second = np.append(False, source[1:] == source[:-1])
    axon_type = np.where(kind[source] == TWICE, second.astype(np.int64), kind[source])
    synapses = (weights[:, source] == palette[:, axon_type]) & (weights[:, source] != 0)
    synapses &= two[:, None] | ~second
    return _with_types_in_use(source, axon_type, synapses.T, palette)


class _Alike(NamedTuple):
    """Classes of sources that have the same readers and the same pattern, in the order of their first sources."""

    # Such sources agree with the same others, so that a search may treat them as one.

    first: Ints  # (k,): a source of every class
    size: Ints  # (k,): sources of every class
    of_source: Ints  # (s,): class of every source
    readers: Ints  # (k,): equal where classes have the same readers

    def most_single(self, types: int) -> int:
        """Bound the sources with one axon: for each set of readers, those in the largest ``types`` classes."""
        order = np.lexsort((-self.size, self.readers))
        return int(self.size[order][rank_in_run(self.readers[order]) < types].sum())


def _alike(read: Bools, is_high: Bools) -> _Alike:
    readers = np.ascontiguousarray(np.packbits(read, axis=0).T)
    pattern = np.ascontiguousarray(np.concatenate([readers, np.packbits(is_high, axis=0).T], axis=1))
    if not pattern.shape[1]:
        everyone = np.zeros(len(pattern), np.int64)
        return _Alike(everyone[:1], np.array([len(pattern)]), everyone, everyone[:1])
    _, first, of_source, size = np.unique(
        _as_words(pattern), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    first, size, of_source = first[order], size[order], np.argsort(order)[of_source]
    return _Alike(first, size, of_source, np.unique(_as_words(readers)[first], return_inverse=True)[1])


def _as_words(rows: NDArray[np.uint8]) -> NDArray[np.void]:
    """View every row as one sortable item."""
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()


def _patterns(is_low: Bools, is_high: Bools, size: Ints, types: int, room: int) -> tuple[Ints, Bools] | None:
    """Choose the patterns of all types and the sources that have them; ``None`` where pairs that agree are too few."""
    # returns the type of every class of sources, or ``TWICE``; whether a type has the high weight of a neuron
    # shapes: size (k,); returns (k,), (types, n)
    low, high = np.packbits(is_low, axis=0), np.packbits(is_high, axis=0)
    crossed = _meet(low, high)
    same = ~(crossed | crossed.T)  # nothing keeps two sources from one type,
    opposite = ~(_meet(low, low) | _meet(high, high))  # or from the one and the other of two that are opposite
    agree, to_save = same @ size, 2 * int(size.sum()) - room
    if int((agree + opposite @ size).max(initial=0)) + (types - 2) * int(agree.max(initial=0)) < to_save:
        return None
    kind = np.full(len(size), TWICE)
    with_first, with_second = _opposed(same, opposite, size)
    kind[with_first], kind[with_second] = 0, 1
    first_high = is_high[:, with_first].any(axis=1) | is_low[:, with_second].any(axis=1)
    patterns = [first_high, ~first_high]
    for t in range(2, types):
        if int(size[kind != TWICE].sum()) + (types - t) * int(agree.max(initial=0)) < to_save:
            return None
        members = _agreeing(same, kind == TWICE, size)
        kind[members] = t
        patterns.append(is_high[:, members].any(axis=1))
    return kind, np.array(patterns)


def _meet(some: NDArray[np.uint8], others: NDArray[np.uint8]) -> Bools:
    """Whether any two columns of bits share a bit; threads for a matrix product would take longer to wake."""
    found = np.zeros((some.shape[1], others.shape[1]), np.uint8)
    for left, right in zip(some, others, strict=True):
        found |= left[:, None] & right
    return found.astype(bool)


def _opposed(same: Bools, opposite: Bools, size: Ints) -> tuple[Ints, Ints]:
    """Find many sources that all have one pattern or its opposite."""
    n = len(same)
    both = np.block([[same, opposite], [opposite, same]])
    np.fill_diagonal(both[:n, n:], False)  # no source has a pattern and its opposite
    np.fill_diagonal(both[n:, :n], False)
    members = _agreeing(both, np.ones(2 * n, bool), np.tile(size, 2))
    return members[members < n], members[members >= n] - n


def _agreeing(agree: Bools, left: Bools, size: Ints) -> Ints:
    """Greedily find many of the sources left that agree pairwise: next is the one that keeps most of the others."""
    members: list[int] = []
    left = left.copy()
    kept = agree @ np.where(left, size, 0)
    n_left = int(size[left].sum())
    while n_left:
        here = np.flatnonzero(left)
        found = kept[here]
        if found.min() == n_left:  # all agree
            return np.concatenate([members, here]).astype(np.int64)
        best = here[np.argmax(found)]
        gone = here[~agree[best, here]]
        left[gone] = left[best] = False
        members.append(int(best))
        kept = kept - size[gone] @ agree[gone] - size[best] * agree[best]  # it is symmetric
        n_left -= int(size[gone].sum() + size[best])
    return np.array(members, np.int64)


# How the weights of some neurons lie on the axons of one core.
@dataclass(frozen=True, eq=False)
class AxonPlan(ReadOnly, Value):
    """Axons, types and synapses of one core."""

    source: Ints  # (a,): column of the weights that feeds the axon, or ``BIAS``
    axon_type: Ints  # (a,): type of the axon
    weights: Ints  # (n, axon_types): weight of every neuron for every type
    synapses: Bools  # (a, n): crossbar
    leak: Ints  # (n,): negative leak of every neuron
    alpha: Ints  # (n,): threshold of every neuron on the chip, 0 or 1 (docs/mapping.md says why no other)

    @property
    def n_axons(self) -> int:
        """Axons in use, bias axons included."""
        return len(self.source)

    def swing(self, neuron: LeakNeuron | None = None) -> Ints:
        """Highest potential that each neuron's range must hold, shape (n,); ``neuron`` where it keeps its potential."""
        # Events come first, in any order, then the leak: a potential rises by the sum of positive weights and falls by
        # the sum of negative weights and leak; two's complement reaches one farther down than up. It is summed over
        # axons, not over weights: a weight that several axons make up may swing farther than itself. A potential that
        # is kept begins anywhere from the floor to below the threshold, or to what a subtraction may leave.
        drive = self.weights.T[self.axon_type] * self.synapses
        leak = self.leak if neuron is None else neuron.leak
        rise = np.maximum(drive, 0).sum(axis=0) + np.maximum(leak, 0)
        fall = np.minimum(drive, 0).sum(axis=0) + np.minimum(leak, 0)
        if neuron is not None:
            highest = neuron.threshold - 1
            rise, fall = rise + (np.maximum(highest, rise - 1) if neuron.subtract else highest), fall - neuron.floor
        swing: Ints = np.maximum(rise, -fall - 1)
        return swing
