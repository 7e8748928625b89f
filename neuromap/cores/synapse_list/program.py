r"""ListProgram: everything that is loaded onto a chip whose cores have a list of synapses for every axon.

A neuron sends its spikes to any number of axons; an axon adds a weight to any number of neurons of its core, each after
its own delay. Every neuron has a current u and a voltage v, integers, and computes in every tick t, where all
divisions round toward zero (Davies et al., IEEE Micro 2018; widths and order as in Lava's bit-accurate model):

1. a := sum of the weights that are due, wrapped into ``accumulator_bits`` of the chip, and
   u := u (2^b - d_u) / 2^b + a, wrapped into its width;
2. s := u + the currents that are joined to it + bias, wrapped into the width of u where the chip has ``sum_wraps``, and
   v := v (2^b - d_v) / 2^b + s, stopped at the rails -(2^(p-1) - 1) and 2^(p-1) - 1 of its width p, and at -floor;
   while the neuron rests after a spike, v does not change;
3. if v > threshold and the neuron does not rest: spike, v := reset, or v - threshold where ``subtract`` is 1, and the
   neuron rests for ``refractory`` ticks from the next one on.

Where ``joined`` names a neuron of the core, the current of this one is joined to that one's voltage, from step 1 to
step 2 of the same tick: it is a further compartment of that neuron, without a voltage or spikes of its own.

A spike of tick t reaches its axons in tick t + D, D the least delay of the chip; a synapse with delay d adds its weight
in tick t + D + d. What the host feeds into an axon in tick t is added in tick t + d.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges, run_heads
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram, Sent, Synapses, Tensors, Wires, rows_of, table_tensors
from neuromap.loops import compiled_for, read_only
from neuromap.render.value import Card


def one_run_holds(
    low: NDArray[np.integer], high: NDArray[np.integer], unit: NDArray[np.integer], chip: ChipSpec
) -> NDArray[np.bool_]:
    """Test which sets of weights are all mantissas times one power of two; ``unit`` divides all weights of a set."""
    lists, found = chip.lists, np.zeros(np.shape(low), np.bool_)
    step = np.where((low < 0) & (high > 0), lists.mixed_sign_step, 1).astype(np.int64)
    for shift in range(lists.weight_shifts[0], lists.weight_shifts[1] + 1):
        fits = (low >> shift >= chip.weight_range[0]) & (high >> shift <= chip.weight_range[1])
        found |= fits & (unit % (step << shift) == 0)
    return found


def powers_needed(
    weight: NDArray[np.integer], number: NDArray[np.integer], n_lists: int, chip: ChipSpec
) -> NDArray[np.int64]:
    """Count the powers of two that the weights of every list need, at least one; 0 if some are no mantissas."""
    # shapes: weight, number (s,): list of each weight; returns (n_lists,)
    least, greatest = chip.lists.weight_shifts
    first = np.full((n_lists, greatest - least + 1), -1, np.int8)
    powers = np.ones(n_lists, np.int64)
    compiled_for(_powers, len(weight))(*read_only(weight, number), least, greatest, *chip.weight_range, first, powers)
    return powers


def _powers(weight: Any, number: Any, least: int, greatest: int, low: int, high: int, first: Any, powers: Any) -> None:
    # A weight is a mantissa for the powers from ``begin`` to ``end``. ``first`` holds, for every list and end, the
    # latest beginning: where it comes after the last power taken, the end is the best next one.
    for s in range(len(weight)):
        one = weight[s]
        end, begin = least, least
        while end < greatest and (one >> end) & 1 == 0:
            end += 1
        while begin <= end and not low <= one >> begin <= high:
            begin += 1
        if begin > end or (least > 0 and one & ((1 << least) - 1)):
            powers[number[s]] = 0
        elif first[number[s], end - least] < begin:
            first[number[s], end - least] = begin
    for row in range(len(powers)):
        if powers[row] == 0:
            continue
        count, taken = 0, -1
        for end in range(least, greatest + 1):
            if first[row, end - least] > taken:
                count += 1
                taken = end
        powers[row] = max(count, 1)


@dataclass(frozen=True, eq=False)
class CurrentTable(ReadOnly, Card):
    """Parameters of all neurons with current and voltage; C cores of the program, N neurons per core."""

    # current_decay, voltage_decay: (C, N): d_u and d_v, in parts of 2**decay_bits: 0 keeps the value, 2**decay_bits
    # forgets it
    current_decay: NDArray[np.int32]
    voltage_decay: NDArray[np.int32]
    threshold: NDArray[np.int32]  # (C, N): above it (not at it) the neuron spikes
    bias: NDArray[np.int32]  # (C, N): added to the voltage in every tick
    refractory: NDArray[np.uint8]  # (C, N): ticks after a spike in which the voltage does not change
    # current, voltage: (C, N): u and v before the first tick
    current: NDArray[np.int32]
    voltage: NDArray[np.int32]
    # (C, N): the neuron of the core whose voltage takes this one's current, which is not joined itself; -1 for none.
    # None where no neuron is joined
    joined: NDArray[np.int32] | None = None
    # reset, floor, subtract: (C, N): v after a spike; -floor is the least v after a tick; 1 where a spike subtracts the
    # threshold. None if all neurons have the default: 0, the rail, 0
    reset: NDArray[np.int32] | None = None
    floor: NDArray[np.int32] | None = None
    subtract: NDArray[np.uint8] | None = None
    # (C, N): k if weights, threshold and bias are those of the network times 2**k. None if all are the network's
    scale: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class SynapseTable(ReadOnly, Card):
    """Lists of synapses: one for every axon in use (L in all), S synapses in all."""

    axons: NDArray[np.int64]  # (C + 1,): axons 0, 1, ... of core c are lists ``axons[c]`` to ``axons[c + 1] - 1``
    lists: NDArray[np.int64]  # (L + 1,): list l holds synapses ``lists[l]`` to ``lists[l + 1] - 1``
    neuron: NDArray[np.int32]  # (S,): neuron of the axon's core
    weight: NDArray[np.int32]  # (S,): what is added to the neuron's current
    delay: NDArray[np.uint8]  # (S,): ticks from the axon to the neuron

    @property
    def list_core(self) -> NDArray[np.int64]:
        """Core of every list, shape (L,)."""
        return np.repeat(np.arange(len(self.axons) - 1), np.diff(self.axons))

    @property
    def synapse_list(self) -> NDArray[np.int64]:
        """List of every synapse, shape (S,)."""
        return np.repeat(np.arange(len(self.lists) - 1), np.diff(self.lists))

    def by_core(self) -> Iterator[tuple[slice, slice]]:
        """Yield the lists and synapses of each core in turn, so that no array is as long as all synapses."""
        begin = self.lists[self.axons]
        for core in range(len(begin) - 1):
            yield slice(self.axons[core], self.axons[core + 1]), slice(begin[core], begin[core + 1])

    def runs(self, chip: ChipSpec) -> NDArray[np.int64]:
        """Count the runs of every list, shape (L,): one, or one for each sign if no power of two suits both."""
        some = np.flatnonzero(np.diff(self.lists))
        runs = np.ones(len(self.lists) - 1, np.int64)
        if chip.lists.cuts_weights:
            number = np.repeat(np.arange(len(runs), dtype=np.int32), np.diff(self.lists))
            return powers_needed(self.weight, number, len(runs), chip)
        if len(some):
            start, weight = self.lists[some], self.weight.astype(np.int64)
            low, high = np.minimum.reduceat(weight, start), np.maximum.reduceat(weight, start)
            unit = np.gcd.reduceat(weight, start)
            runs[some[(low < 0) & (high > 0) & ~one_run_holds(low, high, unit, chip)]] = 2
        return runs

    def bits(self, chip: ChipSpec, other: NDArray[np.int64] | int = 0) -> NDArray[np.int64]:
        """Count the bits that the lists of every core take, shape (C,), besides ``other`` bits in the same memory."""
        # A core whose lists fit as they are needs no search for equal ones.
        runs, synapses = self.runs(chip), np.diff(self.lists) * chip.lists.synapse_bits
        if chip.lists.dense_bits:
            dense = runs * self._spans() * chip.lists.dense_bits
            synapses = np.where(dense > 0, np.minimum(dense, synapses), synapses)
        each = runs * chip.lists.list_bits + synapses
        ends = np.append(0, np.cumsum(each))[self.axons]
        bits: NDArray[np.int64] = np.diff(ends)
        if chip.lists.shares_lists:
            for core in np.flatnonzero(bits + other > chip.lists.synapse_memory_bits).tolist():
                bits[core] = sum({self._shape(one): each[one] for one in range(*self.axons[core : core + 2])}.values())
        return bits

    def _spans(self) -> NDArray[np.int64]:
        """Count the neurons from the first to the last of every list with one delay, shape (L,); 0 for other lists."""
        spans, some = np.zeros(len(self.lists) - 1, np.int64), np.flatnonzero(np.diff(self.lists))
        if len(some):
            start = self.lists[some]
            ends = [ufunc.reduceat(self.neuron, start) for ufunc in (np.minimum, np.maximum)]
            delays = [ufunc.reduceat(self.delay, start) for ufunc in (np.minimum, np.maximum)]
            spans[some] = (ends[1] - ends[0] + 1) * (delays[0] == delays[1])
        return spans

    def _shape(self, number: int) -> bytes:
        """Return a key that is equal for lists that differ only by a common offset of their neurons."""
        mine = slice(*self.lists[number : number + 2])
        neuron = self.neuron[mine]
        return (neuron - neuron[:1]).tobytes() + self.weight[mine].tobytes() + self.delay[mine].tobytes()


@dataclass(frozen=True, eq=False)
class TargetTable(ReadOnly, Card):
    """Targets of spikes: T pairs of a neuron and an axon."""

    # (C * N + 1,): neuron n of core c has targets ``start[c * N + n]`` to ``start[c * N + n + 1] - 1``
    start: NDArray[np.int64]
    core: NDArray[np.int32]  # (T,): target as a row of ``coordinates``
    axon: NDArray[np.int32]  # (T,): axon of the target core


# Arrays of synapses and targets: P cores + 1, Q lists + 1, S synapses, R neurons of all cores + 1, T targets.
SYNAPSES = table_tensors("synapses", SynapseTable, "S", axons="P", lists="Q")
TARGETS = table_tensors("targets", TargetTable, "T", start="R")


@dataclass(frozen=True, eq=False, kw_only=True)
class SynapseProgram(ChipProgram):
    """Base of programs with synapse lists, whatever their neurons compute."""

    synapses: SynapseTable
    targets: TargetTable

    def extents(self) -> dict[str, int]:
        """Return the lengths of the axes specific to synapse lists."""
        return {
            "P": self.n_cores + 1,
            "Q": max(len(self.synapses.lists), 1),
            "S": len(self.synapses.neuron),
            "R": self.n_cores * self.chip.neurons + 1,
            "T": len(self.targets.core),
        }

    def _misfit(self, **bounds: tuple[int, int]) -> str:
        """Describe a figure, or delays, out of bounds; empty if none is."""
        chip = self.chip
        for name, (least, greatest) in bounds.items():
            if not least <= (width := getattr(chip if name == "potential_bits" else chip.lists, name)) <= greatest:
                return f"chip {chip.name}: {name}: found {width}; allowed is {least} to {greatest}"
        if not 1 <= chip.delay[0] <= chip.delay[1] <= 255:
            return f"chip {chip.name}: delay: found {list(chip.delay)}; allowed is 1 to 255 ticks"
        return ""

    @property
    def wires(self) -> Wires:
        """Connections from neurons to any number of axons."""
        targets = self.targets
        of = np.repeat(np.arange(len(targets.start) - 1), np.diff(targets.start))
        core, neuron = np.divmod(of, self.chip.neurons)
        delay = np.full(len(of), self.chip.delay[0], np.int64)
        return Wires(core, neuron, targets.core.astype(np.int64), targets.axon.astype(np.int64), delay)

    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Return the targets of spikes of the given neurons, any number each."""
        targets = self.targets
        number = cores.astype(np.int64) * self.chip.neurons + neurons
        each = targets.start[number + 1] - targets.start[number]
        row = ragged_ranges(targets.start[number], each)
        delay = np.full(len(row), self.chip.delay[0], np.int64)
        spike = np.repeat(np.arange(len(number)), each)
        return Sent(spike, targets.core[row].astype(np.int64), targets.axon[row].astype(np.int64), delay)

    def synapses_of(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Synapses:
        """List the synapses of the given axons."""
        table, lists = self.synapses, self.synapses.axons[cores] + axons
        each = table.lists[lists + 1] - table.lists[lists]
        synapse = ragged_ranges(table.lists[lists], each)
        columns = (table.neuron, table.weight, table.delay)
        return Synapses(np.repeat(np.arange(len(lists)), each), *(c[synapse].astype(np.int64) for c in columns))

    def of_cores(self, cores: NDArray[np.int64], local: NDArray[np.int64]) -> dict[str, Any]:
        """Return the fields of some cores, renumbered."""
        synapses, targets, n = self.synapses, self.targets, self.chip.neurons
        n_axons = self.axon_counts[cores]
        lists = ragged_ranges(synapses.axons[cores], n_axons)
        length = np.diff(synapses.lists)[lists]
        synapse = ragged_ranges(synapses.lists[lists], length)
        neuron = (cores[:, None] * n + np.arange(n)).ravel()
        fan_out = np.diff(targets.start)[neuron]
        target = ragged_ranges(targets.start[neuron], fan_out)
        here = local[targets.core[target]] >= 0
        kept = np.append(0, np.cumsum(here))[np.append(0, np.cumsum(fan_out))]
        return {
            "synapses": SynapseTable(
                np.append(0, np.cumsum(n_axons)),
                np.append(0, np.cumsum(length)),
                synapses.neuron[synapse],
                synapses.weight[synapse],
                synapses.delay[synapse],
            ),
            "targets": TargetTable(
                kept, local[targets.core[target[here]]].astype(np.int32), targets.axon[target[here]]
            ),
        }

    @property
    def n_synapses(self) -> int:
        """Number of synapses in all lists."""
        return len(self.synapses.neuron)

    @property
    def neurons_in_use(self) -> NDArray[np.bool_]:
        """Mask of neurons that carry a node's label, have a synapse or a bias, or send spikes, shape (C, N)."""
        table = self.synapses
        used: NDArray[np.bool_] = (self.neuron_node >= 0) | self.has_bias
        for core, (_, mine) in enumerate(table.by_core()):
            used[core, table.neuron[mine]] = True
        used |= np.diff(self.targets.start).reshape(used.shape) > 0
        return used

    def memory_figures(self) -> dict[str, Any]:
        """Count output axons (pairs of a neuron and a core that it feeds), memory and compartments."""
        lists, table, wires = self.chip.lists, self.synapses, self.wires
        sender = wires.core * self.shape[1] + wires.neuron
        pairs = np.sort(sender * max(1, self.n_cores) + wires.target_core)
        other = self.other_bits()
        bits = int((table.bits(self.chip, other) + other).sum())
        return {
            "output_axons": int(run_heads(pairs).sum()),
            "synapse_memory_utilisation": bits / max(1, self.n_cores * lists.synapse_memory_bits),
            "compartments": int(self.neurons_in_use.sum()),
        }

    def other_bits(self) -> NDArray[np.int64]:
        """Count the bits of every core's memory taken by anything but its lists, shape (C,)."""
        return np.zeros(self.n_cores, np.int64)

    @property
    def axon_counts(self) -> NDArray[np.int64]:
        """Number of axons in use of every core, shape (C,)."""
        return np.diff(self.synapses.axons)

    @property
    def greatest_delay(self) -> int:
        """Greatest delay from a spike to a neuron, in ticks."""
        return self.chip.delay[0] + int(self.synapses.delay.max(initial=0))


@dataclass(frozen=True, eq=False, kw_only=True)
class ListProgram(SynapseProgram):
    """A chip's memory image with labels, for synapse-list cores.

    Attributes
    ----------
    synapses : SynapseTable
        Synapse lists of the axons of every core.
    neurons : CurrentTable
        Parameters, shape (C, N).
    targets : TargetTable
        Targets of spikes.

    Notes
    -----
    Names, labels, clocks and tables of the host are those of
    :class:`~neuromap.hardware.program.chip_program.ChipProgram`.
    """

    neurons: CurrentTable

    TENSORS: ClassVar[Tensors] = {**SYNAPSES, **table_tensors("neurons", CurrentTable), **TARGETS}
    TABLES: ClassVar[Mapping[str, type]] = {"synapses": SynapseTable, "neurons": CurrentTable, "targets": TargetTable}

    def misfit(self) -> str:
        """Describe widths beyond 32-bit currents and voltages or exact products with decays; empty if none is."""
        return self._misfit(current_bits=(2, 32), accumulator_bits=(2, 32), potential_bits=(2, 32), decay_bits=(1, 16))

    def of_cores(self, cores: NDArray[np.int64], local: NDArray[np.int64]) -> dict[str, Any]:
        """Return the fields of some cores, renumbered."""
        return super().of_cores(cores, local) | {"neurons": rows_of(self.neurons, cores)}

    @property
    def has_bias(self) -> NDArray[np.bool_]:
        """Mask of neurons with a bias."""
        has_bias: NDArray[np.bool_] = self.neurons.bias != 0
        return has_bias

    @property
    def joined(self) -> NDArray[np.int32] | None:
        """The neuron whose voltage takes this one's current; -1 for none."""
        return self.neurons.joined

    @property
    def scales(self) -> dict[str, int]:
        """Powers k of the factors 2^k that scale nodes to the chip, by node."""
        if self.neurons.scale is None:
            return {}
        power = np.zeros(len(self.nodes) + 1, np.int64)  # the last entry is for neurons without a label
        np.maximum.at(power, self.neuron_node, self.neurons.scale)
        return {port.name: int(k) for port, k in zip(self.nodes, power, strict=False) if k}


PROGRAM = ListProgram


class InputUnderWay(ABC):
    """Pending synaptic input between two ticks, for engines of synapse lists."""

    program: Any
    tick: int

    @abstractmethod
    def _rings(self) -> tuple[Ints, NDArray[Any]]:
        """Return sums due, shape (slots, C, N), and values axons will carry, shape (D + 1, L): rings over ticks."""

    def _fitted(self, amounts: Ints) -> Ints:
        """Wrap sums to the width in which the chip adds them up."""
        return amounts

    @property
    def pending(self) -> Ints:
        """Neurons with pending input, as sorted rows (tick, core, neuron), shape (n, 3)."""
        # Sums that change nothing, as multiples of the range they wrap into, have no row.
        return self._rows(self.pending_amounts)

    @property
    def pending_amounts(self) -> Ints:
        """Pending input of neurons, from the next tick on, shape (D + d + 1, C, N)."""
        # Spikes that have not reached their axons yet are followed through. D is the chip's least delay and d the
        # greatest of a synapse.
        due, carried = self._from_now()
        amounts = np.zeros((len(carried) + len(due) - 1, *self.program.shape), np.int64)
        amounts[: len(due)] = due
        table = self.program.synapses
        for ahead, values in enumerate(carried):
            lists = np.flatnonzero(values)
            synapses, core = synapses_of(self.program, lists)
            products = table.weight[synapses] * np.repeat(values[lists], np.diff(table.lists)[lists])
            np.add.at(amounts, (ahead + table.delay[synapses].astype(np.int64), core, table.neuron[synapses]), products)
        return self._fitted(amounts)

    def _under_way(self) -> tuple[Ints, Ints, Ints, NDArray[Any]]:
        """List sums due, rows (tick, core, neuron) and amounts, and spikes, rows (tick, core, axon) and values."""
        due, carried = self._from_now()
        due, axons = self._fitted(due), self.program.synapses.axons
        ahead, number = np.nonzero(carried)
        core = np.searchsorted(axons, number, side="right") - 1
        spikes = np.stack([self.tick + ahead, core, number - axons[core]], axis=1).astype(np.int64)
        return self._rows(due), due[due != 0], spikes, carried[ahead, number]

    def _from_now(self) -> tuple[Ints, NDArray[Any]]:
        due, carried = self._rings()
        return np.roll(due, -self.tick, axis=0), np.roll(carried, -self.tick, axis=0)

    def _rows(self, amounts: Ints) -> Ints:
        ahead, core, neuron = np.nonzero(amounts)
        return np.stack([self.tick + ahead, core, neuron], axis=1).astype(np.int64)


def synapses_of(program: SynapseProgram, lists: Ints) -> tuple[Ints, Ints]:
    """List the synapses of lists, and the core of each."""
    # shapes: lists (n,); synapses, cores (m,)
    table = program.synapses
    length = np.diff(table.lists)[lists]
    core = np.searchsorted(table.axons, lists, side="right") - 1
    return ragged_ranges(table.lists[lists], length), np.repeat(core, length)


def wrapped(current: Ints, bits: int) -> Ints:
    """Wrap currents to a width, two's complement."""
    half = 1 << (bits - 1)
    return ((current + half) & (2 * half - 1)) - half
