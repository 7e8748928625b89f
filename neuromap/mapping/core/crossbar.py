"""Palettes: which weight each type stands for, neuron by neuron, and the axons that make up every weight from them.

An axon has one type and every neuron one weight per type, so a core offers each neuron a *palette* of
``axon_types`` values. A source whose weights all match one type's values takes one axon; others take several, and
the weight is the sum over those whose synapse is set:

``coloured``   one axon per source: types by the pattern of weights (sign-fixed sources fall out as two types);
``valued``     one type per distinct weight, so a source takes one axon per value that it uses (ternary: two);
``digits``     the weight is a sum of digits, several axons of one type where a digit exceeds one (-8, 4, 2, 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import frozen
from neuromap.arrays.packed_rows import ragged_ranges

TABLE = 4096
"""Span of weights up to which distinct ones are found by a table."""


class Proposal(NamedTuple):
    """Axons for the weights of a core, thresholds left aside."""

    # source, axon_type: (a,): column of the weights that feeds each axon, and its type
    source: Ints
    axon_type: Ints
    synapses: Bools  # (a, n): crossbar
    # (n, axon_types): weight of every neuron for every type; 0 where no synapse of the neuron has the type
    palette: Ints


def coloured(weights: Ints, types: int, room: int, core: Crossbar) -> Proposal | None:
    """Propose one axon per source, types by colouring."""
    # room: axons that may be used, at least one per source
    # gives ``None`` where the strategy does not do
    # shapes: weights (n, s)
    low, high = core.weight_range
    if weights.size and (weights.min() < low or weights.max() > high):
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
    """Give sources of one weight the type of that weight; ``None`` where some have several, or there are too many."""
    highest, lowest = weights.max(axis=0, initial=0), weights.min(axis=0, initial=0)
    value = highest + lowest
    if ((highest != 0) & (lowest != 0)).any() or ((weights != 0) & (weights != value)).any():
        return None
    values, colours = np.unique(value, return_inverse=True)
    return colours.astype(np.int64) if len(values) <= types else None


def by_value(weights: Ints, types: int, room: int, core: Crossbar) -> Proposal | None:
    """Propose one type per distinct weight; the same for all neurons if there are few, else ranked per neuron."""
    # Parameters and result as for :func:`coloured`.
    values = _distinct(weights)[0]
    values = values[values != 0]
    low, high = core.weight_range
    if len(values) and (values[0] < low or values[-1] > high):
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
    synapses = match[:, source, axon_type].T
    # a neuron that uses no synapse of a type leaves it free for bias axons
    used = np.zeros(palette.shape, bool)
    for kind in range(core.axon_types):
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


@lru_cache(maxsize=64)  # a mapping asks for the same few sets of weights, core by core
def _all_digits(
    values: tuple[int, ...], types: int, weight_range: tuple[int, int], *, signed: bool
) -> tuple[tuple[tuple[int, ...], Ints], ...]:
    """Give every base with the digits of some values, ascending, as :func:`_digits` does."""
    bases = dict.fromkeys(_bases(values[0], values[-1], types, weight_range, signed=signed))
    return tuple((base, frozen(_digits(np.array(values, np.int64), base))) for base in bases)


def _axons_of_digits(counts: Ints, reads: Bools) -> Ints:
    """Count the axons of every source and base value: what its neediest weight takes, shape (sources, len(base))."""
    return np.stack([(reads * digit[:, None]).max(axis=0) for digit in counts.T], axis=1)


def by_digits(weights: Ints, types: int, room: int, core: Crossbar) -> Proposal | None:
    """Propose the cheapest sum of digits."""
    # Parameters and result as for :func:`coloured`.
    return _cheapest_digits(weights, types, room, core, signed=False)


def by_signed_digits(weights: Ints, types: int, room: int, core: Crossbar) -> Proposal | None:
    """Propose the cheapest sum of digits of the weight's own sign."""
    # So that a potential swings no farther than weights.
    # Parameters and result as for :func:`coloured`.
    return _cheapest_digits(weights, types, room, core, signed=True)


def _cheapest_digits(weights: Ints, types: int, room: int, core: Crossbar, *, signed: bool) -> Proposal | None:
    values, inverse = _distinct(weights)
    if np.count_nonzero(values) <= 2 and types >= 2 and len(values) and np.abs(values).max() <= core.weight_range[1]:
        return None  # one type per value is as good
    if weights.size == 0:
        return None
    reads = np.zeros((len(values), weights.shape[1]), bool)  # which source has which weight somewhere
    reads[inverse, np.arange(weights.shape[1])[None, :]] = True
    best: tuple[tuple[int, ...], Ints, Ints] | None = None
    for base, counts in _all_digits(tuple(values.tolist()), types, core.weight_range, signed=signed):
        need = _axons_of_digits(counts, reads) if len(weights) > 1 else counts[inverse[0]]
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
    for kind, value in enumerate(base):
        palette[synapses[axon_type == kind].any(axis=0), kind] = value
    return Proposal(source, axon_type, synapses, palette)


def _distinct(weights: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the distinct weights, ascending, and for every weight its place among them."""
    # By a table where the weights lie close together, which spares sorting a core's worth of them.
    low, high = int(weights.min(initial=0)), int(weights.max(initial=0))
    if high - low >= TABLE:
        values, inverse = np.unique(weights, return_inverse=True)
        return values, inverse.reshape(weights.shape)
    seen = np.bincount((weights - low).ravel(), minlength=high - low + 1) > 0
    places = np.cumsum(seen) - 1
    return np.flatnonzero(seen) + low, places[weights - low]


# Colour the sources of a core with axon types: sets of sources are whole numbers, a bit for each.
def colour_sources(weights: Ints, types: int) -> Ints | None:
    """Colour sources with types: two may share one iff no neuron needs different nonzero weights for them."""
    # Greedy in the order of saturation (Brélaz 1979): next comes the source with the fewest types left, among those the
    # one with most synapses, among those the first.
    # gives type of every source, from 0; ``None`` where this order runs out of types
    # shapes: weights (n, s); returns (s,)
    order = np.argsort(-np.count_nonzero(weights, axis=0), kind="stable")  # the lowest bit of a set comes next
    rows = np.ascontiguousarray(weights.T[order].astype(np.int16))  # of sources; the range of weights was checked
    present = rows != 0
    uncoloured = (1 << len(order)) - 1
    free = [uncoloured] * types  # sources for which a type is left
    fewer = [uncoloured if left >= types else 0 for left in range(types + 1)]  # those with at most so many types left
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


# The figures of a crossbar core: axons of few types, neurons with one weight per type.


AMPLE = 2**20
"""Axons of the imagined core on which a demand is counted."""
WIDE = 63
"""Potential bits of the imagined core that has no rails."""


@dataclass(frozen=True)
class Crossbar:
    """What a crossbar core has room for."""

    name: str  # name of the chip, for messages
    # axons, neurons, axon_types: of the core
    axons: int
    neurons: int
    axon_types: int
    weight_range: tuple[int, int]  # least and greatest weight of one axon type
    leak_limit: int  # greatest amount that a leak can take away in a tick
    # greatest threshold of the chip under which a neuron that is silent is left with nothing: 1, or 0 where the chip
    # has no threshold 1 (docs/mapping.md)
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

    def with_neurons(self, neurons: int) -> Self:
        """Return the same core with so many neurons."""
        return replace(self, neurons=neurons)

    def with_ample_axons(self) -> Self:
        """Return the same core with as many axons as one could wish for: ``AMPLE``."""
        return replace(self, axons=AMPLE)

    def without_rails(self) -> Self:
        """Return the same core with a potential that holds every sum."""
        return replace(self, potential_bits=WIDE)

    def with_axon_types(self, axon_types: int) -> Self:
        """Return the same core with so many axon types."""
        return replace(self, axon_types=axon_types)
