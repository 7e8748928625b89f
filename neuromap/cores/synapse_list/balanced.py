"""The stage of the mapper that an objective adds: from a partition with few deliveries to one that takes less time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.synapse_list.balance_cores import Balance, rates_of
from neuromap.cores.synapse_list.block_starts import layout_of
from neuromap.cores.synapse_list.fill_cores import ListPartition, ways, with_slots
from neuromap.cores.synapse_list.fit_weights import asks_for_runs
from neuromap.cores.synapse_list.list_network import room_of
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.cores.synapse_list.recorded_work import record_work, recorded_ticks
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.chip.tick_costs import tick_costs
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.simulation.choose_frames import RandomFrames, choose_frames
from neuromap.simulation.cost.tick_times import tick_clock
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES

Ints = NDArray[np.int64]
RECORDED = 256
"""Ticks of random frames that are recorded, at least."""
WIRES = 200_000
"""Wires for which cores are placed, about: pairs of cores, each as often as messages go between them."""


class BalanceSearch:
    """Looks for a partition for an objective, by what a draft of the program does on frames."""

    def __init__(
        self, parts: ListPartition, draft: ListProgram, chip: ChipSpec, context: MappingContext, runs: int
    ) -> None:
        # runs: those that lists may have
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
        """Search; the partition with few deliveries, where none is better by what was recorded."""
        context, groups = self._context, self._work.groups
        first = self._parts.core[groups.neuron]
        core = self._balance.improved(first, self._most, context.options.seed, context.budget, context.progress)
        return with_slots(self._parts.lists, groups, core, last=self._late(core))

    def _late(self, core: Ints) -> NDArray[np.float64]:
        """Say which groups of a core come late: those that send least. What is sent early is worked on meanwhile."""
        n_targets = np.bincount(self._work.groups.read_in(core)[0], minlength=self._work.groups.n_signals)
        sent = np.asarray(self._work.sent.sum(axis=1)).ravel() * n_targets
        return -sent[self._work.own].astype(np.float64)

    def measured(self, program: ListProgram) -> float:
        """Run a program and price its mean tick by the event simulation."""
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
        """List the pairs of cores of a partition, each as often as its share of the messages says, once at least."""
        neuron, target = ways(parts)
        sent = np.asarray(self._work.sent.sum(axis=1)).ravel()[neuron]
        pair, number = np.unique(parts.core[neuron] * parts.n_cores + target, return_inverse=True)
        messages = np.bincount(number, sent, minlength=len(pair))
        times = np.maximum(1, np.rint(messages * WIRES / max(1.0, messages.sum()))).astype(np.int64)
        source, reader = np.divmod(np.repeat(pair, times), parts.n_cores)
        return source, reader
