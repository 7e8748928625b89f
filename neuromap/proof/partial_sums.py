"""Sums in parts, for the certificate checker: the sum of a wide neuron, read off the neurons that count for it.

To be read beside the checker, under its rules: NumPy and program readers only. A label says which neurons hold parts;
all else is derived here, by Lemmas 9 to 12 of ``docs/theorems/program-proofs.md``. *Synapses* are arrays of shape
(4, s): source (a neuron of the network, or CLASH, CLOCK or PART), arrival of frame 0 in parts of a tick (for parts of
sums their delay), first frame (for parts of sums their number, core by core), and weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.proof import codes

# Most potentials of a neuron that are examined one by one.
_LARGE = 1 << 20
# Most potentials, or wires, times ticks for which a part is followed through a frame.
_WORK = 1 << 26
# Greatest depth of parts that read parts.
_DEEP = 64


class NotShown(Exception):
    """Nothing can be shown of a neuron; ``code`` is the reason."""

    def __init__(self, code: int) -> None:
        self.code = code


class Slice(NamedTuple):
    """Counter of one sum: its synapses, and the spikes per frame for every value of the sum from the least on."""

    terms: Ints
    counts: Ints


@dataclass(frozen=True, eq=False)
class Part:
    """What is shown of a part: in each frame it gets sums in one tick, sends spikes, and is then as before frame 1."""

    # since, exact: when frame 0 of the sums arrives, in parts of a tick; up to whole frames where it is not exact
    since: int
    exact: bool
    # first, last, most: ticks after that between which it sends, and how many spikes at most
    first: int
    last: int
    most: int
    slices: tuple[Slice, ...]  # it sends as many spikes as these count together


@dataclass(frozen=True, eq=False)
class Gathered(ReadOnly):
    """Sums of the wide neurons of a core; N neurons."""

    told: Bools  # which of the core's synapses are covered
    # low, high, asked: (N,): bounds of the sum, and the sum from which on it spikes; ABSENT if one tick decides
    low: Ints
    high: Ints
    asked: Ints
    found: NDArray[np.uint8]  # (N,): what is wrong; 0 for nothing
    terms: tuple[Ints, ...]  # neuron, source, lag, current, weight


class PartialSums:
    """The parts of sums of one program."""

    def __init__(
        self,
        program: ChipProgram,
        holds: Bools,
        synapses: Callable[[int], tuple[Ints, Ints, Ints, Ints]],
        is_input: Callable[[Ints], Bools],
    ) -> None:
        # holds: (C, N): which neurons are said to hold parts; synapses: reads those of a core, by neurons
        self._program, self._holds, self._is_input = program, holds, is_input
        self._p, self._q = program.period.numerator, program.period.denominator
        self._frame = self._p // self._q  # ticks from one frame to the next, at least
        self._inverse = pow(self._q, -1, self._p)
        self._parts: dict[int, Part | int] = {}
        self._runs: dict[tuple[Any, ...], tuple[Ints, list[int]]] = {}
        self._synapses, self._read = synapses, np.zeros(program.n_cores, np.bool_)
        self._waiting: dict[int, Ints] = {}
        self._sums: dict[bytes, tuple[Any, ...]] = {}

    def found(self, core: int) -> NDArray[np.uint8]:
        """Check the parts of a core; return codes, shape (N,), 0 for other neurons."""
        n, found = self._program.shape[1], np.zeros(self._program.shape[1], np.uint8)
        for k in np.flatnonzero(self._holds[core]).tolist():
            part = self._part(core * n + k)
            found[k] = part if isinstance(part, int) else codes.COUNTED
        return found

    def _part(self, number: int, depth: int = 0) -> Part | int:
        """Derive what a part does, or return the code of why that fails."""
        core, neuron = divmod(number, self._program.shape[1])
        if not self._read[core]:
            self._read_core(core)
        if number in self._waiting:
            rows = self._waiting.pop(number)
            self._parts[number] = codes.REST  # what parts in a ring find of each other
            try:
                _require((rows[0] != codes.CLASH).all(), codes.SHARED)
                counter, merges = self._counter(core, neuron), (rows[0] == codes.PART).any()
                self._parts[number] = self._merger(counter, rows, depth + 1) if merges else self._slice(counter, rows)
            except NotShown as why:
                self._parts[number] = why.code
        return self._parts.get(number, codes.FORM)  # where it has no synapse

    def _read_core(self, core: int) -> None:
        """Check the slices of a core; its mergers wait until they are asked for."""
        self._read[core], (neuron, _, rows, _) = True, self._synapses(core)
        self._sums.clear()  # sums of other cores
        order, first = np.argsort(neuron, kind="stable"), core * self._program.shape[1]
        some, starts = np.unique(neuron[order], return_index=True)
        read = zip(some.tolist(), np.split(rows[:, order], starts[1:], axis=1), strict=True)
        held = {first + k: mine for k, mine in read if self._holds[core, k]}
        self._waiting |= held
        for number, mine in held.items():
            if not (mine[0] == codes.PART).any():
                self._part(number)

    def _shown(self, numbers: Ints, depth: int = 0) -> list[Part]:
        _require(depth < _DEEP, codes.LARGE)
        found = [self._part(number, depth) for number in numbers.tolist()]
        parts = [part for part in found if isinstance(part, Part)]
        _require(len(parts) == len(found), codes.HOLDER)
        return parts

    def _counter(self, core: int, neuron: int) -> Any:
        """Read a neuron, which must stay unchanged while nothing arrives."""
        counting = getattr(self._program.chip.kind.proof, "counting", None)  # of kinds whose neurons hold parts
        found: Any = counting and counting(self._program, core, neuron)
        _require(found is not None and self._frame > 0, codes.REST)
        self._require_inside(found, found.potential, found.potential)
        after, spikes = found.step(np.array([found.potential]))
        _require(after[0] == found.potential and not spikes[0], codes.REST)
        return found

    def _require_inside(self, counter: Any, least: int, most: int) -> None:
        """Require that potentials between these keep off the rails, the leak included."""
        low, high = self._program.chip.potential_range
        _require(low <= least + min(counter.leak, 0) and most + max(counter.leak, 0) <= high, codes.RAILS)
        _require(most - least <= _LARGE, codes.LARGE)

    def _slice(self, counter: Any, rows: Ints) -> Part:
        """Show that a part counts a sum that it gets in one tick, given what the host adds in others (Lemma 9)."""
        same = rows.tobytes()  # of slices of one sum
        if same not in self._sums:
            self._sums[same] = self._sum(rows)
        since, exact, terms, *run = self._sums[same]
        if (counter, *run) not in self._runs:
            self._runs[counter, *run] = self._run(counter, *run)
        counts, ticks = self._runs[counter, *run]
        first, last = min(ticks, default=0), max(ticks, default=0)
        return Part(since, exact, first, last, int(counts.max()), (Slice(terms, counts),))

    def _sum(self, rows: Ints) -> tuple[Any, ...]:
        """Read the inputs of slices: since when, whether that is exact, terms, bounds of sum and swing, the host's."""
        sums, clock = rows[:, rows[0] >= 0], rows[:, rows[0] == codes.CLOCK]
        _require(sums.shape[1] > 0, codes.FORM)
        since = int(sums[1, 0])
        begin = clock[1] + (clock[2] - 1) * self._p
        late = (begin - since) * self._inverse % self._p
        _require(not ((sums[1] - since) % self._p).any() and (late < self._frame).all(), codes.ALIGNED)
        exact = np.unique(begin - late * self._q)
        _require(len(exact) < 2, codes.FIRST)
        terms = _joined(sums)
        host = tuple((k, *_bounds(clock[3, late == k])) for k in np.unique(late).tolist())
        since = int(exact[0]) if len(exact) else since
        return since, len(exact) > 0, terms, _bounds(terms[3]), _bounds(sums[3]), host

    def _run(
        self, counter: Any, sums: tuple[int, int], swing: tuple[int, int], host: tuple[tuple[int, int, int], ...]
    ) -> tuple[Ints, list[int]]:
        """Step a slice through a frame for every sum; return the spikes for each, and the ticks with any."""
        # swing: what the sum may reach while it is added up; host: ticks, and what the host takes off and adds
        _require(sums[1] - sums[0] <= _LARGE, codes.LARGE)
        arriving: Ints | int = np.arange(sums[0], sums[1] + 1)
        v, counts, ticks = np.full(sums[1] - sums[0] + 1, counter.potential), 0 * arriving, []
        given, end = {tick: (down, up) for tick, down, up in host}, max((tick for tick, *_ in host), default=0)
        for tick in range(self._frame):
            _require(tick * len(v) < _WORK, codes.LARGE)
            down, up = given.get(tick, (0, 0))
            self._require_inside(counter, v.min() + down + swing[0], v.max() + up + swing[1])
            v, spikes = counter.step(v + down + up + arriving)
            counts, arriving, swing = counts + spikes, 0, (0, 0)
            ticks += [tick] * bool(spikes.any())
            if tick >= end and (v == counter.potential).all():
                return counts, ticks
        raise NotShown(codes.REST)

    def _merger(self, counter: Any, rows: Ints, depth: int) -> Part:
        """Show that a part hands on all spikes of others, one per tick (Lemma 10)."""
        _require((rows[0] == codes.PART).all() and (rows[3] == 1).all(), codes.FORM)
        parts = self._shown(rows[2], depth)
        exact = {part.since for part in parts if part.exact}
        since = min(exact, default=parts[0].since)
        _require(not any((part.since - since) % self._p for part in parts), codes.ALIGNED)
        _require(len(exact) < 2, codes.FIRST)
        first, last, most = _windows(parts, rows[1] // self._q)
        total = int(most.sum())
        self._require_inside(counter, 0, total)
        v = np.arange(total + 1)
        after, spikes = counter.step(v)
        hands_on = (spikes == (v > 0)).all() and (after == v - spikes).all() and counter.potential == 0
        _require(hands_on, codes.HANDS)
        # From the start of a stretch without gaps it sends no more than arrives from then on.
        start = int(first.min())
        _require((last.max() - start) * len(parts) < _WORK, codes.LARGE)
        begin = np.arange(start, last.max() + 1)[:, None]
        coming = np.clip(last - np.maximum(begin, first) + 1, 0, most).sum(axis=1)
        end = max(start, int((begin[:, 0] + coming).max()) - 1)
        _require(end - start < self._frame, codes.REST)
        return Part(since, bool(exact), start, end, total, tuple(s for part in parts for s in part.slices))

    def gather(self, core: int, begin: Ints, neuron: Ints, rows: Ints) -> Gathered:
        """Find the sums of the neurons of a core that read parts of sums, and of those that would, of an empty sum."""
        # begin: (N,): when frame 0 of each is, in parts of a tick; neuron: of the synapses
        n, told = self._program.shape[1], (rows[0] == codes.PART) | self._holds[core, neuron]
        low, high = np.zeros((2, n), np.int64)
        found, asked = np.zeros(n, np.uint8), np.full(n, codes.ABSENT)
        terms = [np.zeros((5, 0), np.int64)]
        # only the host feeds these, and in several ticks: it adds their threshold up, and takes it off again
        late = rows[1] + (rows[2] - 1) * self._p != begin[neuron]
        empty = (np.bincount(neuron[rows[0] != codes.CLOCK], minlength=n) == 0) & (np.bincount(neuron, late, n) > 0)
        reads = np.bincount(neuron[told], minlength=n) > 0
        for k in np.flatnonzero((reads | empty) & ~self._holds[core]).tolist():
            mine = neuron == k
            try:
                (low[k], high[k]), asked[k], (source, lag, weight) = self._wide(core, k, int(begin[k]), rows[:, mine])
                terms.append(np.stack([np.full(len(source), k), source, lag, np.zeros_like(lag), weight]))
            except NotShown as why:
                found[k] = why.code
            if found[k] or asked[k] != codes.ABSENT:
                told |= mine
        return Gathered(told, low, high, asked, found, tuple(np.concatenate(terms, axis=1)))

    def _wide(self, core: int, neuron: int, begin: int, rows: Ints) -> tuple[tuple[int, int], int, Ints]:
        """Find the sum of a wide neuron: bounds, sum from which on it spikes, and source, lag, weight (Lemma 11)."""
        wires, others = rows[:, rows[0] == codes.PART], rows[:, rows[0] != codes.PART]
        parts = self._shown(wires[2])
        first, last, most = _windows(parts, wires[1] // self._q)
        lead = (begin - np.array([part.since for part in parts], np.int64)) * self._inverse % self._p
        lead += (last - lead + self._p - 1) // self._p * self._p  # least that leaves time for all
        starts = zip(parts, lead.tolist(), strict=True)
        _require(all(not part.exact or part.since == begin - b * self._q for part, b in starts), codes.LATE)
        groups: dict[tuple[int, bytes], list[tuple[Slice, int]]] = {}
        for part, ahead, weight in zip(parts, lead.tolist(), wires[3].tolist(), strict=True):
            for one in part.slices:
                groups.setdefault((ahead, one.terms.tobytes()), []).append((one, weight))
        found, bounds = [np.zeros((3, 0), np.int64)], np.zeros(2, np.int64)
        for (ahead, _), slices in groups.items():
            source, arrival, start, weights = slices[0][0].terms
            counted = np.sum([weight * one.counts for one, weight in slices], axis=0)
            values = _bounds(weights)[0] + np.arange(len(counted))
            times = int(counted[-1] - counted[0]) // max(1, len(counted) - 1)
            _require((counted == times * values).all(), codes.COUNTS)
            lag, off = np.divmod(arrival - begin + ahead * self._q, self._p)
            _require(not off.any() and (lag >= 0).all(), codes.ALIGNED)
            _require(not (self._is_input(source) & (start != np.maximum(0, 1 - lag))).any(), codes.FIRST)
            found.append(np.stack([source, lag, times * weights]))
            bounds += (counted.min(), counted.max())
        terms, late = np.concatenate(found, axis=1), others[1] + (others[2] - 1) * self._p - begin
        if not (first - lead).any() and not (last - lead).any() and not late[others[0] == codes.CLOCK].any():
            return _bounds(wires[3]), codes.ABSENT, terms  # all in one tick
        _require((others[0] != codes.CLASH).all(), codes.SHARED)
        _require((others[0] == codes.CLOCK).all(), codes.FORM)
        _require(not (late % self._q).any(), codes.ALIGNED)
        come = (wires[3], first - lead, np.minimum(most, last - first + 1))
        asked = self._ask(self._counter(core, neuron), come, late // self._q, others[3])
        return (int(bounds[0]), int(bounds[1])), asked, terms

    def _ask(self, counter: Any, come: tuple[Ints, Ints, Ints], late: Ints, host: Ints) -> int:
        """Follow a gathering neuron through a frame; return the sum from which on it spikes in its tick (Lemma 12)."""
        # come: of every wire its weight, first tick and most spikes; late, host: ticks and weights of the host
        weight, first, most = come
        start, end = int(min(first.min(initial=0), late.min(initial=0))), int(late.max(initial=0))
        _require(end - start < self._frame, codes.REST)
        _require((end - start) * len(first) < _WORK, codes.LARGE)
        ticks = np.arange(start, end + 1)[:, None]
        sent = np.clip(ticks - first + 1, 0, most)
        low, high = (sent * np.minimum(weight, 0)).sum(axis=1), (sent * np.maximum(weight, 0)).sum(axis=1)
        here = (late == ticks) * host
        down, up = np.minimum(here, 0).sum(axis=1), np.maximum(here, 0).sum(axis=1)
        base, asked = counter.potential + np.cumsum(down + up), -start
        before = base - down - up
        self._require_inside(counter, (before + low + down)[: asked + 1].min(), (before + high + up)[: asked + 1].max())
        if asked:
            v = np.arange((base + low)[:asked].min(), (base + high)[:asked].max() + 1)
            after, spikes = counter.step(v)
            _require(not spikes.any() and (after == v).all(), codes.ASKED)
        sums = np.arange(low[asked], high[asked] + 1)
        v, spikes = counter.step(base[asked] + sums)
        _require((np.diff(spikes.astype(np.int64)) >= 0).all(), codes.ASKED)
        reaches = int(sums[0]) + int(np.count_nonzero(~spikes))
        for tick in range(asked + 1, len(ticks)):
            self._require_inside(counter, v.min() + down[tick], v.max() + up[tick])
            v, spikes = counter.step(v + down[tick] + up[tick])
            _require(not spikes.any(), codes.ASKED)
        _require((v == counter.potential).all(), codes.REST)
        return reaches


def _require(holds: bool | np.bool_, code: int) -> None:
    if not holds:
        raise NotShown(code)


def _joined(rows: Ints) -> Ints:
    """Add up the weights of equal signals over several axons."""
    rows = rows[:, np.lexsort(rows[:3])]
    starts = np.flatnonzero(np.append(True, np.diff(rows[:3]).any(axis=0)))
    return np.concatenate([rows[:3, starts], np.add.reduceat(rows[3:], starts, axis=1)])


def _windows(parts: list[Part], delay: Ints) -> Ints:
    """Return when the first and last spikes of parts arrive, in ticks after their sums, and how many at most."""
    each = np.array([(part.first, part.last, part.most) for part in parts], np.int64).reshape(-1, 3)
    return each.T + np.stack([delay, delay, 0 * delay])


def _bounds(weight: Ints) -> tuple[int, int]:
    """Return the least and the greatest sum of any of these weights."""
    return int(np.minimum(weight, 0).sum()), int(np.maximum(weight, 0).sum())
