"""Random programs for synapse-list cores, and their neurons in plain Python."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.cores.synapse_list.program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.cores.synapse_list.structure import SynapseLists
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, OutputTable


def truncated(value, whole):
    """Divide and round toward zero, in integers of any length."""
    return abs(value) // whole * (1 if value >= 0 else -1)


def wrapped(value, bits):
    """Two's complement of a width."""
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


class PlainLoop:
    """The equations at the head of ``list_program.py``, word by word, one neuron after the other."""

    def __init__(self, program):
        self.program, self.tick = program, 0
        self.u, self.v = program.neurons.current.tolist(), program.neurons.voltage.tolist()
        self.resting_until = defaultdict(lambda: -1)
        self.reached = defaultdict(set)  # tick: axons (core, axon)
        self.sums = defaultdict(int)  # (tick, core, neuron): what is due
        self.counts = [0, 0, 0]

    def spread(self, sums, axons, tick):
        table = self.program.synapses
        n_synapses = 0
        for core, axon in axons:
            number = table.axons[core] + axon
            for s in range(table.lists[number], table.lists[number + 1]):
                sums[tick + int(table.delay[s]), core, int(table.neuron[s])] += int(table.weight[s])
                n_synapses += 1
        return n_synapses

    def step(self, fed):
        chip, k, tick = self.program.chip, self.program.neurons, self.tick
        axons = self.reached.pop(tick, set()) | set(fed)
        n_synapses = self.spread(self.sums, axons, tick)
        whole, rail = 2**chip.lists.decay_bits, 2 ** (chip.potential_bits - 1) - 1
        spikes = []
        for c in range(self.program.n_cores):
            for n in range(chip.neurons):
                left = truncated(self.u[c][n] * (whole - int(k.current_decay[c, n])), whole)
                added = wrapped(self.sums.pop((tick, c, n), 0), chip.lists.accumulator_bits)
                u = wrapped(left + added, chip.lists.current_bits)
                self.u[c][n] = u
        for c in range(self.program.n_cores):
            for n in range(chip.neurons):
                if k.joined is not None and k.joined[c, n] >= 0:
                    self.v[c][n] = 0
                    continue
                joined = [] if k.joined is None else np.flatnonzero(k.joined[c] == n).tolist()
                added = self.u[c][n] + sum(self.u[c][m] for m in joined) + int(k.bias[c, n])
                if chip.lists.sum_wraps:
                    added = wrapped(added, chip.lists.current_bits)
                left = truncated(self.v[c][n] * (whole - int(k.voltage_decay[c, n])), whole)
                floor = rail if k.floor is None else min(int(k.floor[c, n]), rail)
                v = min(max(left + added, -floor), rail)
                if tick <= self.resting_until[c, n]:
                    v = self.v[c][n]
                elif v > k.threshold[c, n]:
                    takes = k.subtract is not None and k.subtract[c, n]
                    v = v - int(k.threshold[c, n]) if takes else 0 if k.reset is None else int(k.reset[c, n])
                    self.resting_until[c, n] = tick + int(k.refractory[c, n])
                    spikes.append((c, n))
                self.v[c][n] = v
        targets = self.program.targets
        for c, n in spikes:
            of = c * chip.neurons + n
            for t in range(targets.start[of], targets.start[of + 1]):
                self.reached[tick + chip.delay[0]].add((int(targets.core[t]), int(targets.axon[t])))
        for i, more in enumerate((len(spikes), len(axons), n_synapses)):
            self.counts[i] += more
        self.tick += 1
        return spikes

    def pending(self):
        """What is under way: {(tick, core, neuron): amount}, wrapped into the current, zeros left out."""
        sums = defaultdict(int, self.sums)
        for tick, axons in self.reached.items():
            self.spread(sums, axons, tick)
        lists = self.program.chip.lists
        bits = min(lists.current_bits, lists.accumulator_bits)
        return {place: wrapped(sum, bits) for place, sum in sums.items() if wrapped(sum, bits)}


@pytest.fixture(scope="session")
def plain_loop():
    return PlainLoop


def small_chip(neurons, axons, delay, current_bits, potential_bits, decay_bits, accumulator_bits=32, sum_wraps=False):
    """A board of 256 small cores."""
    lists = SynapseLists(
        output_axons=4096, synapse_memory_bits=2**30, synapse_bits=25, current_bits=current_bits,
        decay_bits=decay_bits, refractory_bits=8, accumulator_bits=accumulator_bits, sum_wraps=sum_wraps,
        soft_reset=True, reset_values=True, floors="any",
    )  # fmt: skip
    return ChipSpec(
        name="small", cores=(16, 16), chips=(1, 1), axons=axons, neurons=neurons, axon_types=0, weight_bits=9,
        leak_bits=0, threshold_bits=17, potential_bits=potential_bits, delay=delay,
        core_figures=lists,
    )  # fmt: skip


@pytest.fixture(scope="session")
def loihi_like():
    """A small chip with Loihi's widths."""
    return small_chip(20, 30, (1, 63), 24, 24, 12)


@pytest.fixture(scope="session")
def list_chips():
    """Small chips with synapse lists, a strategy."""
    return st.builds(
        small_chip,
        st.sampled_from([1, 5, 16, 33]),
        st.sampled_from([1, 8, 70]),
        st.sampled_from([(1, 1), (1, 2), (1, 15), (3, 10), (2, 255)]),
        st.sampled_from([8, 24, 32]),
        st.sampled_from([8, 24, 32]),
        st.sampled_from([1, 12, 16]),
        st.sampled_from([32, 7, 22]),
        st.booleans(),
    )


@pytest.fixture(scope="session")
def list_program():
    """A program whose cores each have a character: at rest or restless, decays of nothing, part and all, any scale."""

    def make(rng, chip, n_cores, scale=None):
        shape = (n_cores, chip.neurons)
        whole, rail = 1 << chip.lists.decay_bits, 2 ** (chip.potential_bits - 1) - 1
        scale = int(rng.choice([1, 30, 3000, 2**23, 2**31 - 1])) if scale is None else scale

        def of_core(values, share=0.5):
            uniform = rng.random(n_cores) < share
            values[uniform] = values[uniform][:, :1]
            return values

        def table(low, high, dtype=np.int32):
            low, high = max(low, -(2**31)), min(high, 2**31 - 1)
            return of_core(rng.integers(low, high, shape, endpoint=True)).astype(dtype)

        def decay():
            part = table(0, whole)
            return of_core(np.where(rng.random(shape) < 0.4, rng.choice([0, whole], shape), part)).astype(np.int32)

        def joins(shape):
            """Some neurons joined to others, in some of the cores."""
            joined = np.full(shape, -1, np.int32)
            for core in range(n_cores):
                somas = rng.random(chip.neurons) < rng.choice([0.3, 1])
                if somas.any() and not somas.all():
                    joined[core, ~somas] = rng.choice([-1, *np.flatnonzero(somas)], int((~somas).sum()))
            return joined

        def option(values):
            """What few neurons have, in some of the programs and cores."""
            return values if rng.random() < 0.4 else None

        busy = rng.random(shape) < rng.choice([0, 0.3, 1], (n_cores, 1))
        neurons = CurrentTable(
            current_decay=decay(),
            voltage_decay=decay(),
            threshold=table(-1 if rng.random() < 0.2 else 0, 4 * scale),
            bias=np.where(busy, table(-scale, scale), 0).astype(np.int32),
            refractory=of_core(rng.choice([0, 1, 2, 7, 255], shape)).astype(np.uint8),
            current=np.where(busy, table(-min(scale, 100), min(scale, 100)), 0).astype(np.int32),
            voltage=np.where(busy, table(-min(scale, rail), min(scale, rail)), 0).astype(np.int32),
            joined=joins(shape) if rng.random() < 0.5 else None,
        )
        in_use = rng.integers(0, chip.axons, n_cores, endpoint=True)
        axons = np.append(0, np.cumsum(in_use))
        length = rng.integers(0, 2 * chip.neurons, axons[-1]) * (rng.random(axons[-1]) < 0.8)
        lists = np.append(0, np.cumsum(length))
        greatest = int(rng.integers(0, chip.delay[1] - chip.delay[0], endpoint=True))
        synapses = SynapseTable(
            axons=axons.astype(np.int64),
            lists=lists.astype(np.int64),
            neuron=rng.integers(0, chip.neurons, lists[-1]).astype(np.int32),
            weight=rng.integers(-scale, scale, lists[-1], endpoint=True).astype(np.int32),
            delay=rng.integers(0, greatest, lists[-1], endpoint=True).astype(np.uint8),
        )
        fan_out = rng.integers(0, 4, n_cores * chip.neurons) * bool(axons[-1])
        start = np.append(0, np.cumsum(fan_out)).astype(np.int64)
        target = rng.integers(0, max(axons[-1], 1), start[-1])
        core = np.searchsorted(axons, target, side="right") - 1
        few = rng.random((2, n_cores, 1)) < 0.5
        neurons = replace(
            neurons,
            reset=option(np.where(few[0], table(-min(scale, rail), min(scale, rail)), 0).astype(np.int32)),
            floor=option(np.where(few[1], table(0, scale), 2**31 - 1).astype(np.int32)),
            subtract=option(table(0, 1, np.uint8)),
        )
        nothing = {"host": HostTable, "outputs": OutputTable}
        none = np.zeros(0, np.int32)
        place = rng.permutation(chip.n_cores)[:n_cores]
        return ListProgram(
            name="random", chip=chip, nodes=(), period=1, ticks_per_step=1,
            coordinates=np.stack([place % chip.columns, place // chip.columns], axis=1).astype(np.int32),
            neuron_node=np.full(shape, -1, np.int32), neuron_index=np.zeros(shape, np.int32),
            is_relay=np.zeros(shape, np.bool_), neurons=neurons, synapses=synapses,
            targets=TargetTable(start, core.astype(np.int32), (target - axons[core]).astype(np.int32)),
            host=nothing["host"](none, none, none, none, none.astype(np.int64), none.astype(np.int8)),
            outputs=nothing["outputs"](none, none, none, none),
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def fed_axons():
    """Axons that the host feeds in a tick, as rows (core, axon), some of them twice."""

    def make(rng, program, share):
        every = np.concatenate(
            [np.stack([np.full(n, c), np.arange(n)], axis=1) for c, n in enumerate(program.axon_counts)]
        )
        some = every[rng.random(len(every)) < share]
        return np.concatenate([some, some[: len(some) // 3]])

    return make
