"""Sums in parts, for the checker of certificates: what a wide neuron adds up, read off the neurons that count for it.

To be read beside the checker, under its rules: NumPy and program readers only. Lemmas 9 to 12 are proven in
``docs/theorems/program-proofs.md``. A label says which neurons hold parts; all else is found here. What is shown of a
part: in every frame i >= 1 it gets all it gets ``since`` a common tick, sends so many spikes, a function of one sum or
the total of such functions, in a window of ticks after that, and is then as it was before frame 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.proof.codes import (
    ABSENT,
    ALIGNED,
    ASKED,
    CLASH,
    CLOCK,
    COUNTED,
    COUNTS,
    FIRST,
    FORM,
    HOLDER,
    LARGE,
    LATE,
    PARAMETERS,
    PART,
    RAILS,
    REST,
    SHARED,
)

Ints = NDArray[np.int64]

_LARGE = 1 << 20
"""Values of a potential up to which each is looked at."""
_DEEP = 64
"""Parts of parts up to which they are followed."""


class Rows(NamedTuple):
    """Synapses of a core, or of one of its neurons."""

    source: Ints  # neuron of the network, or CLASH, CLOCK or PART
    arrival: Ints  # parts of a tick at which frame 0 arrives; of parts of sums the delay
    first: Ints  # first frame; of parts of sums their number, core by core
    weight: Ints


@dataclass(frozen=True, eq=False)
class Slice:
    """What counts one sum: terms, and spikes of a frame for every value of the sum from ``low`` on."""

    terms: Rows
    low: int
    counts: Ints


@dataclass(frozen=True, eq=False)
class Part:
    """What is shown of a part of a sum."""

    code: int  # COUNTED, or why nothing is shown
    # since, exact: when frame 0 of what it gets arrives, in parts of a tick; up to whole frames where it is not exact
    since: int = 0
    exact: bool = False
    # first, last, most: ticks after that in which it sends, and how many spikes at most
    first: int = 0
    last: int = 0
    most: int = 0
    slices: tuple[Slice, ...] = ()  # what it counts, all in all


@dataclass(frozen=True, eq=False)
class Gathered:
    """What the wide neurons of a core add up; N neurons."""

    told: NDArray[np.bool_]  # which of the core's synapses this is about
    # low, high, asked, found: (N,): bounds of the sum; from which on it spikes, ABSENT where that is left to the
    # neuron's thresholds in one tick; what is wrong, or 0
    low: Ints
    high: Ints
    asked: Ints
    found: NDArray[np.uint8]
    terms: tuple[Ints, ...]  # neuron, source, lag, current, weight


class Wide(NamedTuple):
    """What one wide neuron adds up, as in :class:`Gathered`."""

    found: int
    low: int = 0
    high: int = 0
    asked: int = ABSENT
    terms: tuple[Ints, ...] = ()  # source, lag, weight


class PartialSums:
    """The parts of sums of one program."""

    def __init__(
        self,
        program: ChipProgram,
        holds: NDArray[np.bool_],
        synapses: Callable[[int], tuple[Ints, Ints, Rows]],
        is_input: Callable[[Ints], NDArray[np.bool_]],
    ) -> None:
        # holds: (C, N): which neurons are said to hold parts; synapses: reads those of a core, and their neurons
        self._program, self._holds, self._is_input = program, holds, is_input
        self._p, self._q = program.period.numerator, program.period.denominator
        self._frame = self._p // self._q  # ticks from one frame to the next, at least
        self._inverse = pow(self._q, -1, self._p)
        self._low, self._high = program.chip.potential_range
        self._parts: dict[int, Part] = {}
        self._runs: dict[tuple[Any, ...], tuple[int, Ints, int, int]] = {}
        self._depth = 0
        self._synapses = lru_cache(16)(lambda core: _by_neuron(*synapses(core)[::2]))

    def codes(self, core: int) -> NDArray[np.uint8]:
        """Decide the parts of a core; shape (N,), 0 for others."""
        n = self._program.shape[1]
        held = self._holds[core].tolist()
        return np.array([self.part(core * n + k).code if held[k] else 0 for k in range(n)], np.uint8)

    def part(self, number: int) -> Part:
        """Decide one part, by its number."""
        if number not in self._parts:
            self._depth += 1
            core, neuron = divmod(number, self._program.shape[1])
            rows, counter = self._synapses(core).get(neuron), self._neuron(core, neuron)
            if rows is None:
                found = Part(FORM)
            elif counter is None or self._frame < 1 or self._depth > _DEEP:
                found = Part(REST)
            elif (rows.source == CLASH).any():
                found = Part(SHARED)
            else:
                found = (self._merger if (rows.source == PART).any() else self._slice)(counter, rows)
            self._parts[number] = found
            self._depth -= 1
        return self._parts[number]

    def _neuron(self, core: int, neuron: int) -> Any:
        """Read a neuron that counts; None where it is of another kind, or does not rest where it begins."""
        found = self._program.chip.kind.proof.counting(self._program, core, neuron)
        if found is None or not self._low <= found.potential <= self._high:
            return None
        after, spikes = found.step(np.array([found.potential]))
        return found if after[0] == found.potential and not spikes[0] else None

    def _fits(self, counter: Any, least: int, most: int) -> bool:
        return bool(self._low <= least + min(counter.leak, 0) and most + max(counter.leak, 0) <= self._high)

    def _slice(self, counter: Any, rows: Rows) -> Part:
        """Decide a part that gets a sum in one tick, and spikes of the host in others (Lemma 9)."""
        sums, clock = _where(rows, rows.source >= 0), _where(rows, rows.source == CLOCK)
        if not len(sums.source):
            return Part(FORM)
        since = int(sums.arrival[0])
        begin = clock.arrival + (clock.first - 1) * self._p
        late = (begin - since) * self._inverse % self._p
        if ((sums.arrival - since) % self._p).any() or (late >= self._frame).any():
            return Part(ALIGNED)
        exact = np.unique(begin - late * self._q).tolist()
        if len(exact) > 1:
            return Part(FIRST)
        arriving = _bounds(sums.weight)
        sums = _joined(sums)
        clocks = tuple((k, *_bounds(clock.weight[late == k])) for k in np.unique(late).tolist())
        low, high = _bounds(sums.weight)
        key = (counter, low, high, arriving, clocks)
        if key not in self._runs:
            self._runs[key] = self._run(*key)
        code, counts, first, last = self._runs[key]
        start = exact[0] if exact else since
        return Part(code, start, bool(exact), first, last, int(counts.max()), (Slice(sums, low, counts),))

    def _run(
        self, counter: Any, low: int, high: int, arriving: tuple[int, int], clocks: tuple[tuple[int, int, int], ...]
    ) -> tuple[int, Ints, int, int]:
        """Step a slice through a frame, for every sum: spikes for each, and the first and last tick with any."""
        if high - low > _LARGE:
            return LARGE, np.zeros(1, np.int64), 0, 0
        sums = np.arange(low, high + 1)
        counts, v, some = np.zeros(len(sums), np.int64), np.full(len(sums), counter.potential), []
        host = {tick: (down, up) for tick, down, up in clocks}
        for tick in range(self._frame):
            down, up = host.pop(tick, (0, 0))
            least, most = (down, up) if tick else (down + arriving[0], up + arriving[1])
            if not self._fits(counter, v.min() + least, v.max() + most):
                return RAILS, counts, 0, 0
            v, spikes = counter.step(v + (down + up) + (0 if tick else sums))
            counts += spikes
            some += [tick] * bool(spikes.any())
            if not host and (v == counter.potential).all():
                return COUNTED, counts, min(some, default=0), max(some, default=0)
        return REST, counts, 0, 0

    def _merger(self, counter: Any, rows: Rows) -> Part:
        """Decide a part that hands on the spikes of others, one a tick (Lemma 10)."""
        parts = [self.part(k) if s == PART else Part(FORM) for s, k in zip(rows.source, rows.first.tolist())]
        if any(part.code != COUNTED for part in parts):
            return Part(HOLDER)
        exact = {part.since for part in parts if part.exact}
        since = min(exact) if exact else parts[0].since
        if any((part.since - since) % self._p for part in parts):
            return Part(ALIGNED)
        if len(exact) > 1:
            return Part(FIRST)
        delay = rows.arrival // self._q
        first, last, most = delay + _all(parts, "first"), delay + _all(parts, "last"), _all(parts, "most")
        total = int(most.sum())
        if total > _LARGE or not self._fits(counter, 0, total):
            return Part(LARGE if total > _LARGE else RAILS)
        after, spikes = counter.step(np.arange(total + 1))
        right = (after == np.maximum(np.arange(total + 1) - 1, 0)).all() and (spikes == (np.arange(total + 1) > 0)).all()
        if not right or counter.potential != 0 or (rows.weight != 1).any():
            return Part(PARAMETERS)
        # From where it begins to send without a gap it sends no more than comes from then on.
        begin = np.arange(first.min(), last.max() + 1)
        coming = np.minimum(most, np.maximum(0, last - np.maximum(begin[:, None], first) + 1)).sum(axis=1)
        end = int((begin + coming - 1).max())
        if end - begin[0] >= self._frame:
            return Part(REST)
        slices = tuple(one for part in parts for one in part.slices)
        return Part(COUNTED, since, bool(exact), int(begin[0]), end, total, slices)

    def gather(self, core: int, begin: Ints, neuron: Ints, rows: Rows) -> Gathered:
        """Find what the neurons of a core add up that read parts of sums."""
        # begin: (N,): when frame 0 of each is, in parts of a tick; neuron, rows: of the core
        n, told = self._program.shape[1], (rows.source == PART) | self._holds[core, neuron]
        low, high, found = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint8)
        asked, terms = np.full(n, ABSENT), [np.zeros((5, 0), np.int64)]
        for k in np.flatnonzero(np.bincount(neuron[told], minlength=n) * ~self._holds[core]).tolist():
            mine = neuron == k
            wide = self._wide(core, k, int(begin[k]), _where(rows, mine))
            found[k], low[k], high[k], asked[k] = wide.found, wide.low, wide.high, wide.asked
            if wide.terms:
                source, lag, weight = wide.terms
                terms.append(np.stack([np.full(len(source), k), source, lag, np.zeros_like(lag), weight]))
            if wide.found or wide.asked != ABSENT:
                told |= mine
        return Gathered(told, low, high, asked, found, tuple(np.concatenate(terms, axis=1)))

    def _wide(self, core: int, neuron: int, begin: int, rows: Rows) -> Wide:
        """Find what a wide neuron adds up: sums of which slices count all (Lemma 11)."""
        wires, others = _where(rows, rows.source == PART), _where(rows, rows.source != PART)
        parts = [self.part(number) for number in wires.first.tolist()]
        if any(part.code != COUNTED for part in parts):
            return Wide(HOLDER)
        delay, sent = wires.arrival // self._q, _all(parts, "last")
        lead = (begin - _all(parts, "since")) * self._inverse % self._p
        lead += -((lead - delay - sent) // self._p) * self._p  # least that leaves time for all
        groups: dict[tuple[Any, ...], list[tuple[Slice, int]]] = {}
        for part, ahead, weight in zip(parts, lead.tolist(), wires.weight.tolist(), strict=True):
            if part.exact and part.since != begin - ahead * self._q:
                return Wide(LATE)
            for one in part.slices:
                key = (ahead, *(column.tobytes() for column in one.terms))
                groups.setdefault(key, []).append((one, weight))
        terms, low, high = [], 0, 0
        for (ahead, *_), slices in groups.items():
            one = slices[0][0]
            counted = sum((weight * each.counts for each, weight in slices), np.zeros(1, np.int64))
            times = int(counted[-1] - counted[0]) // max(1, len(counted) - 1)
            if (counted != times * (one.low + np.arange(len(counted)))).any():
                return Wide(COUNTS)
            lag, off = np.divmod(one.terms.arrival - begin + ahead * self._q, self._p)
            if off.any() or (lag < 0).any():
                return Wide(ALIGNED)
            if (self._is_input(one.terms.source) & (one.terms.first != np.maximum(0, 1 - lag))).any():
                return Wide(FIRST)
            terms.append((one.terms.source, lag, times * one.terms.weight))
            low, high = low + int(counted.min()), high + int(counted.max())
        found = Wide(0, low, high, ABSENT, tuple(np.concatenate(column) for column in zip(*terms, strict=True)))
        first = _all(parts, "first") + delay - lead
        late = others.arrival + (others.first - 1) * self._p - begin
        if not first.any() and not (sent + delay - lead).any() and not late[others.source == CLOCK].any():
            low, high = _bounds(wires.weight)
            return found._replace(low=low, high=high)  # all in one tick
        if (others.source != CLOCK).any():
            return Wide(SHARED if (others.source == CLASH).any() else FORM)
        if (late % self._q).any():
            return Wide(ALIGNED)
        window = (first, sent + delay - lead, np.minimum(_all(parts, "most"), sent - _all(parts, "first") + 1))
        code, asked = self._ask(self._neuron(core, neuron), wires.weight, window, late // self._q, others.weight)
        return found._replace(found=code, asked=asked)

    def _ask(
        self, counter: Any, weight: Ints, window: tuple[Ints, Ints, Ints], late: Ints, host: Ints
    ) -> tuple[int, int]:
        """Follow a gathering neuron through a frame: what is wrong, and from which sum on it spikes (Lemma 12)."""
        # window: of every wire the first tick, the last, and spikes at most; late, host: ticks and weights of the host
        first, last, most = window
        start, end = int(min(first.min(), late.min(initial=0))), int(late.max(initial=0))
        if counter is None or end - start >= self._frame:
            return REST, ABSENT
        ticks = np.arange(start, end + 1)[:, None]
        come = np.clip(ticks - first + 1, 0, np.minimum(most, last - first + 1))
        low, high = (come * np.minimum(weight, 0)).sum(axis=1), (come * np.maximum(weight, 0)).sum(axis=1)
        down, up = (np.bincount(late - start, host * sign * (host * sign > 0), len(ticks)) for sign in (-1, 1))
        down, up = -down.astype(np.int64), up.astype(np.int64)
        base = counter.potential + np.append(0, np.cumsum(down + up))
        asked = -start  # place of the tick in which it should spike
        before = slice(0, asked + 1)
        least, greatest = base[before] + low[before] + down[before], base[before] + high[before] + up[before]
        if not self._fits(counter, least.min(), greatest.max()):
            return RAILS, ABSENT
        if greatest.max() - least.min() > _LARGE:
            return LARGE, ABSENT
        if asked:
            rest = base[1 : asked + 1]
            values = np.arange((rest + low[:asked]).min(), (rest + high[:asked]).max() + 1)
            after, spikes = counter.step(values)
            if spikes.any() or (after != values).any():
                return ASKED, ABSENT
        sums = np.arange(low[asked], high[asked] + 1)
        v, spikes = counter.step(base[asked + 1] + sums)
        if any(a and not b for a, b in pairwise(spikes.tolist())):
            return ASKED, ABSENT
        reaches = int(sums[0]) + int(np.count_nonzero(~spikes))
        for tick in range(asked + 1, len(ticks)):
            if not self._fits(counter, v.min() + down[tick], v.max() + up[tick]):
                return RAILS, ABSENT
            v, spikes = counter.step(np.unique(v) + down[tick] + up[tick])
            if spikes.any():
                return ASKED, ABSENT
        return (REST, ABSENT) if (v != counter.potential).any() else (0, reaches)


def _by_neuron(neuron: Ints, rows: Rows) -> dict[int, Rows]:
    order = np.argsort(neuron, kind="stable")
    some, starts = np.unique(neuron[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    columns = [column[order] for column in rows]
    return {
        k: Rows(*(column[a:b] for column in columns))
        for k, a, b in zip(some.tolist(), starts.tolist(), ends.tolist(), strict=True)
    }


def _where(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    return Rows(*(column[mask] for column in rows))


def _joined(rows: Rows) -> Rows:
    """Add up the weights of what comes over several axons."""
    order = np.lexsort(rows[:3])
    source, arrival, first, weight = (column[order] for column in rows)
    starts = np.flatnonzero(np.append(True, np.any(np.diff([source, arrival, first]), axis=0)))
    return Rows(source[starts], arrival[starts], first[starts], np.add.reduceat(weight, starts))


def _bounds(weight: Ints) -> tuple[int, int]:
    """Give the least and the greatest sum of some of these."""
    return int(np.minimum(weight, 0).sum()), int(np.maximum(weight, 0).sum())


def _all(parts: list[Part], name: str) -> Ints:
    return np.array([getattr(part, name) for part in parts], np.int64)
