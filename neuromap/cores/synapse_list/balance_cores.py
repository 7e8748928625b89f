"""Partition for short ticks, low energy, or a low product of both: starts, annealing, and the choice.

The cost of a partition is measured on recorded ticks (:mod:`neuromap.cores.synapse_list.recorded_work`): the mean over
the ticks of the longest time that a core sends or receives, plus the barrier; the energy of a tick; or their product.
Every annealing stage uses other ticks, so that a partition does not overfit a few of them.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.cores.synapse_list.fill_cores import ListPartition, ways, with_slots
from neuromap.cores.synapse_list.fit_weights import NEEDS_TWO, asks_for_runs
from neuromap.cores.synapse_list.list_network import Room, room_of
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.cores.synapse_list.recorded_work import (
    PICOSECOND,
    Layout,
    RecordedWork,
    block_start,
    layout_of,
    record_work,
    recorded_ticks,
)
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec, TickCosts, tick_costs
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.mapping.options.options import Objective
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.simulation.choose_frames import DEFAULT_FRAMES, RandomFrames, choose_frames
from neuromap.simulation.cost.energy import Counts, energy_of
from neuromap.simulation.cost.tick_times import tick_clock

if TYPE_CHECKING:
    from neuromap.cores.synapse_list.balance_kernel import Books, Price, Work

# Annealing proposals per group, without a limit on seconds.
PER_GROUP = 500
# Fewest and most proposals in all: about a second, and some minutes.
FEWEST, MOST = 100_000, 8_000_000
# Annealing stages, each with a lower temperature and other ticks.
STAGES = 12
# Share of an annealing after which starts are compared, and the best goes on.
TRIAL = 0.05
# Most starts that are compared.
TRIED = 3
# Ticks that a stage uses, at first and in the last quarter.
FEW_TICKS, MANY_TICKS = 128, 320
# Temperatures: a relative cost increase of this over the number of groups is accepted one time in three.
HOT, COLD = 1.0, 0.006
# Proposals between two looks at the clock.
AT_ONCE = 20_000
# Most pairs of a signal and a core that are counted: a gigabyte.
MOST_COUNTS = 2**27


class Rates(NamedTuple):
    """Powers of time and energy in an objective, and energy figures of the chip."""

    time: float
    energy: float
    fixed: float  # joules of a tick, for any partition
    per_message: float
    per_second: float

    def cost(self, seconds: float, messages: float) -> float:
        """Return the cost of a mean tick with its messages."""
        joules = self.fixed + self.per_message * messages + self.per_second * seconds
        return float(seconds**self.time * joules**self.energy)


def rates_of(objective: Objective, work: RecordedWork, chip: ChipSpec) -> Rates:
    """Return the rates of an objective on a chip; hops are taken as a third of the tiles along each axis."""
    chips, n = math.prod(chip.chips), max(1, work.n_ticks)
    done = Counts(
        ticks=n,
        chips=chips,
        neuron_updates=n * int(work.groups.load.sum()),
        synaptic_events=int((work.reads @ work.sent).sum()),
        active=int(work.active.sum()),
        fired=int(work.sent[work.own].sum()),
    )
    across, along = chip.routers
    messages = Counts(ticks=0, chips=chips, spikes=3, arrivals=3, hops=across + along, hops_x=across)
    fixed, message = (energy_of(chip, counts).joules or 0.0 for counts in (done, messages))
    powers = {"tick": (1.0, 0.0), "energy": (0.0, 1.0), "edp": (1.0, 1.0)}
    watts = 0.0 if "static_watts" in chip.energy_included else chips * chip.energy.get("static_watts", 0.0)
    return Rates(*powers[objective], fixed / n, message / 3, watts)


class Balance:
    """Search for a low-cost partition of a network."""

    def __init__(
        self,
        layout: Layout,
        work: RecordedWork,
        room: Room,
        costs: TickCosts,
        rates: Rates,
        per_tile: int = 1,
        asks: NDArray[np.uint8] | None = None,
    ) -> None:
        # asks: (s,): flags of each of ``groups.signal`` that may require a second run; None if lists have one run
        self._layout, self._work, self._room, self._costs, self._rates = layout, work, room, costs, rates
        self._per_tile, self._asks = per_tile, asks
        self._kind: Ints = np.ones(len(work.groups.signal), np.int64)
        if asks is not None:
            for k in range(3):
                self._kind += (asks.astype(np.int64) >> k & 1) << 16 * (k + 1)

    def barrier(self, n_cores: int) -> float:
        """Return the barrier time of ``n_cores`` cores on as few tiles as they fill."""
        return self._costs.barrier_of(-(-n_cores // self._per_tile))

    def cost(self, core: Ints) -> float:
        """Return the cost of a partition over all recorded ticks."""
        n_cores = int(core.max()) + 1
        loads, messages = self._work.loads(core, n_cores)
        seconds = float(loads.max(axis=(0, 1)).mean()) * PICOSECOND + self.barrier(len(np.unique(core)))
        return self._rates.cost(seconds, float(messages.mean()))

    def core_counts(self, least: int, most: int) -> list[int]:
        """List the numbers of cores to try: the most, and the greatest before each longer barrier."""
        steps = [(tiles - 1) * self._per_tile for tiles, _ in self._costs.barrier]
        return sorted({most, *(n for n in steps if least <= n < most)})

    def improved(self, first: Ints, most: int, seed: int, budget: Budget, progress: Progress | None) -> Ints:
        """Search for a better partition on at most ``most`` cores; return ``first`` if none is better."""
        # shapes: first (g,); returns (g,)
        least = int(first.max()) + 1
        if self._work.groups.n_signals * most > MOST_COUNTS or budget.is_over("filling"):
            return first
        blocks = ((n, block_start(self._layout, self._work, self._room, n)) for n in self.core_counts(1, most))
        starts = [(n, start) for n, start in blocks if start is not None]
        starts += [(n, first) for n in self.core_counts(least, most)]
        starts.sort(key=lambda start: self.cost(start[1]))
        search = _Search(self, starts, seed, budget, progress)
        best, least_cost = first, self.cost(first)
        for found in search.run():
            if self.is_legal(found) and (cost := self.cost(found)) < least_cost:
                best, least_cost = found, cost
        return np.unique(best, return_inverse=True)[1].astype(np.int64)

    def is_legal(self, core: Ints) -> bool:
        """Whether the contents of every core fit."""
        groups, room, n = self._work.groups, self._room, int(core.max()) + 1
        signal, reader = groups.read_in(core)
        read, held = np.bincount(reader, minlength=n), np.bincount(core, groups.synapses, n)
        sender = groups.sender[signal]
        out = np.bincount(core[sender[sender >= 0]], minlength=n)
        fits = np.bincount(core, groups.load, n) <= room.neurons
        fits &= (read <= room.axons) & (out <= room.output_axons)
        n_runs = read + self._second_runs(core, n)
        return bool((fits & (n_runs * room.list_bits + held * room.synapse_bits <= room.memory)).all())

    def _second_runs(self, core: Ints, n_cores: int) -> Ints:
        """Count the lists of every core that may need a second run."""
        if self._asks is None:
            return np.zeros(n_cores, np.int64)
        groups = self._work.groups
        pair = groups.signal.astype(np.int64) * n_cores + np.repeat(core, np.diff(groups.start))
        order = np.argsort(pair)
        begin = np.flatnonzero(np.diff(pair[order], prepend=-1))
        need = np.bitwise_or.reduceat(self._asks[order], begin) == NEEDS_TWO
        return np.bincount(pair[order][begin][need] % n_cores, minlength=n_cores)

    def books(self, core: Ints, n_cores: int, ticks: Ints) -> tuple[Work, Books, Price]:
        """Lay out a partition for the compiled search, with some of the ticks."""
        from neuromap.cores.synapse_list.balance_kernel import Books, Price, Work

        work, groups, n = self._work, self._work.groups, len(ticks)
        sent = work.sent[:, ticks].sorted_indices()
        busy, heard = work.busy(ticks), work.heard(ticks)
        narrow = max(int(busy.max(initial=0)), int(heard.max(initial=0))) < 2**31
        reader_begin, reader = self._readers
        layout = self._layout
        laid_out = Work(
            groups.start, groups.signal, groups.sender, work.own, sent.indptr.astype(np.int64),
            sent.indices.astype(np.int32), reader_begin, reader, self._kind,
            busy.astype(np.int32 if narrow else np.int64),
            heard.astype(np.int32 if narrow else np.int64), groups.load, groups.synapses, groups.alike,
            layout.stride, layout.population, np.array(self._room), work.costs[3:5].copy(),
        )  # fmt: skip
        signals, everyone = groups.n_signals, len(groups)
        books = Books(
            core.astype(np.int32), np.zeros((signals, n_cores), np.int64),
            np.zeros(np.diff(groups.start).max(initial=0), np.int64), np.zeros(signals, np.int64),
            np.zeros((5, n_cores), np.int64), np.zeros((2, n_cores, n), np.int64), np.zeros((n_cores, n)), np.zeros(n),
            np.zeros(1, np.int64), np.zeros((n_cores, everyone), np.int32), np.zeros(everyone, np.int32),
            np.zeros(n_cores, np.int64), np.zeros((n_cores * n, 2), np.int32), np.full((n_cores, n), -1, np.int64),
            np.zeros(1, np.int64),
        )  # fmt: skip
        loads = (busy.sum(), heard.sum())
        unit = max(1.0, float(max(loads)) / n / n_cores)
        return laid_out, books, Price(unit, self.barrier(n_cores) / PICOSECOND, *self._rates)

    @cached_property
    def _readers(self) -> tuple[Ints, NDArray[np.int32]]:
        return self._work.groups.readers()

    @property
    def size(self) -> tuple[int, int]:
        """Number of groups, and of recorded ticks."""
        return len(self._work.groups), self._work.n_ticks


class _Search:
    """Annealing of some starts."""

    def __init__(
        self, balance: Balance, starts: list[tuple[int, Ints]], seed: int, budget: Budget, progress: Progress | None
    ) -> None:
        self._balance, self._starts, self._budget, self._progress = balance, starts, budget, progress
        self._rng = np.random.default_rng(seed)
        self._state = np.array([seed + 1], np.uint64)
        self._seconds = budget.left_s("filling")
        self._proposals = min(MOST, max(FEWEST, PER_GROUP * balance.size[0]))
        self._done = 0.0  # share of all proposals, or of the time

    def run(self) -> list[Ints]:
        """Anneal the best starts for a short while, and the best of them to the end; return all results."""
        heat = HOT / self._balance.size[0]
        found = [(n, self._anneal(core, n, TRIAL, heat / 10, FEW_TICKS)) for n, core in self._starts[:TRIED]]
        found.sort(key=lambda each: self._balance.cost(each[1]))
        n_cores, core = found[0]
        share = (1.0 - TRIAL * len(found)) / STAGES
        for stage in range(STAGES):
            cooled = heat * (COLD / HOT) ** (stage / (STAGES - 1))
            ticks = MANY_TICKS if 4 * stage >= 3 * STAGES else FEW_TICKS
            core = self._anneal(core, n_cores, share, cooled, ticks)
        return [core, *(each for _, each in found)]

    def _anneal(self, core: Ints, n_cores: int, share: float, heat: float, n_ticks: int) -> Ints:
        """Propose moves at one temperature, with ticks drawn anew."""
        from neuromap.cores.synapse_list.balance_kernel import compiled

        n = self._balance.size[1]
        ticks = np.sort(self._rng.choice(n, min(n, n_ticks), replace=False))
        work, books, price = self._balance.books(core, n_cores, ticks)
        kernels = compiled()
        kernels.recount(work, books, price)
        left, end = int(share * self._proposals), self._done + share
        while left > 0 or self._budget.is_limited:
            if self._budget.is_over("filling"):
                break
            if self._budget.is_limited and 1.0 - self._budget.left_s("filling") / self._seconds >= end:
                break
            kernels.anneal(work, books, price, self._state, heat, AT_ONCE if left <= 0 else min(left, AT_ONCE))
            left -= AT_ONCE
            if self._progress is not None:
                self._progress(round(100 * self._done), 100, "balancing cores")
        self._done = end
        found: Ints = books.core.astype(np.int64)
        return found


# Fewest ticks of random frames that are recorded.
RECORDED = 256
# Approximate number of wires for placement: pairs of cores, each repeated in proportion to its messages.
WIRES = 200_000


class BalanceSearch:
    """Search for a partition for an objective, by the activity of a draft program on frames."""

    def __init__(
        self, parts: ListPartition, draft: ListProgram, chip: ChipSpec, context: MappingContext, runs: int
    ) -> None:
        # runs: most runs that a list may have
        options, costs = context.options, tick_costs(chip)
        assert costs is not None, "objectives are refused where ticks are of fixed length"
        self._most = chip.n_usable_cores if options.max_cores is None else min(options.max_cores, chip.n_usable_cores)
        if parts.n_cores > self._most:
            text = f"the network takes {count_cores(parts.n_cores)}, max_cores = {self._most}"
            advice = Remedy("max_cores", parts.n_cores, f"max_cores = {parts.n_cores} would do")
            raise refuse("cores", None, parts.n_cores, self._most, text, [advice])
        random = RandomFrames(max(DEFAULT_FRAMES, math.ceil(RECORDED / draft.period)), options.seed)
        has_inputs = any(port.kind == "input" for port in draft.nodes)
        if options.activity is not None and not has_inputs:
            raise InputError(
                f"activity = {options.activity}: network {draft.name} has no inputs that take frames; leave it out"
            )
        self._frames = choose_frames(draft, options.activity, random)[0] if has_inputs else {}
        self._parts, self._context = parts, context
        self._work = record_work(parts, recorded_ticks(draft, self._frames), draft, costs)
        self._rates = rates_of(options.objective, self._work, chip)
        layout = layout_of(parts.lists, self._work.groups)
        asks = asks_for_runs(parts.lists, self._work.groups, chip) if runs > 1 else None
        room = room_of(chip)
        self._balance = Balance(layout, self._work, room, costs, self._rates, math.prod(chip.tile), asks)

    def found(self) -> ListPartition:
        """Search; keep the partition with few deliveries if none is better on the recorded ticks."""
        context, groups = self._context, self._work.groups
        first = self._parts.core[groups.neuron]
        core = self._balance.improved(first, self._most, context.options.seed, context.budget, context.progress)
        return with_slots(self._parts.lists, groups, core, last=self._late(core))

    def _late(self, core: Ints) -> NDArray[np.float64]:
        """Return keys that sort groups that send least last: what is sent early is worked on meanwhile."""
        n_targets = np.bincount(self._work.groups.read_in(core)[0], minlength=self._work.groups.n_signals)
        sent = np.asarray(self._work.sent.sum(axis=1)).ravel() * n_targets
        return -sent[self._work.own].astype(np.float64)

    def measured(self, program: ListProgram) -> float:
        """Run a program and return the cost of its mean tick by the event simulation."""
        clock, messages = tick_clock(program), 0
        assert clock is not None
        n_targets = np.diff(program.targets.start)
        ticks = recorded_ticks(program, self._frames)
        clock.follow(ticks.before)
        for spikes in ticks.ticks:
            clock.add(spikes)
            messages += int(n_targets[spikes.cores * program.shape[1] + spikes.neurons].sum()) + len(spikes.host_axons)
        times = clock.result()
        return self._rates.cost(float(times.seconds.mean()), messages / len(times))

    def wires(self, parts: ListPartition) -> tuple[Ints, Ints]:
        """List the pairs of cores of a partition, each repeated in proportion to its messages, at least once."""
        neuron, target = ways(parts)
        sent = np.asarray(self._work.sent.sum(axis=1)).ravel()[neuron]
        pair, number = np.unique(parts.core[neuron] * parts.n_cores + target, return_inverse=True)
        messages = np.bincount(number, sent, minlength=len(pair))
        times = np.maximum(1, np.rint(messages * WIRES / max(1.0, messages.sum()))).astype(np.int64)
        source, reader = np.divmod(np.repeat(pair, times), parts.n_cores)
        return source, reader
