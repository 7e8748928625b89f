"""Neurons of synapse-list cores, compartments for their further currents, and the table of their synapses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import entries_of_rows, grouped_by, rank_in_run
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.synapse_rows import SmallInts, in_rows, narrow, readers_of, signals_read
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.loops import compiled_for
from neuromap.mapping.legalise.legalise import computed_neurons
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Matrix, Population
from neuromap.mapping.options.infeasibility import Remedy, refuse
from neuromap.network.spiking_neuron import NO_FLOOR, NO_WRAP, CurrentNeuron, GradedNeuron

# Parameters that are scaled; the others count ticks or parts, or are floors.
_IN_VOLTS = ("threshold", "bias", "current", "voltage", "reset")


def scaled(population: Population, chip: ChipSpec, into: Iterable[Matrix]) -> tuple[CurrentNeuron, int]:
    """Scale a population's neuron to units of the chip; return it with the power k of the factor 2^k."""
    # into: the weights of all links that feed it, in the network's units
    neuron = population.neuron
    assert isinstance(neuron, CurrentNeuron), "others are refused before"
    narrower = {chip.lists.current_bits - neuron.current_bits, chip.potential_bits - neuron.voltage_bits}
    power = narrower.pop() if len(narrower) == 1 else -1
    if power < 0 or neuron.decay_bits != chip.lists.decay_bits or (power and not _commutes(neuron)):
        return neuron, 0  # which is refused for its widths
    step = 1 << chip.lists.threshold_shift
    if power:
        rail = (1 << neuron.voltage_bits - 1) - 1
        at_rail = bool((neuron.threshold >= rail).any())
        if (neuron.subtract or at_rail) and not _stays_inside(neuron, chip, power, into, below=False):
            raise _refuse_at_rail(population.name, chip, rail if at_rail else None)
        if (neuron.threshold << power & step - 1).any():
            raise _refuse_widths(population.name, neuron, chip, power)
        return _times(neuron, chip, power), power
    unit = int(np.gcd.reduce(neuron.threshold, initial=step))
    power = chip.lists.threshold_shift - (unit.bit_length() - 1)
    if power and not (_commutes(neuron) and _stays_inside(neuron, chip, power, into)):
        raise _refuse_threshold(population.name, neuron, chip, power)
    return (_times(neuron, chip, power), power) if power else (neuron, 0)


def _times(neuron: CurrentNeuron, chip: ChipSpec, power: int) -> CurrentNeuron:
    # values beyond 32 bits are refused afterwards, by what the chip holds
    most = 2**31 - 1
    values = {name: np.clip(getattr(neuron, name) << power, -most - 1, most) for name in _IN_VOLTS}
    # as with the rail below: whatever lies between two multiples of 2^power is the same to every comparison
    values["floor"] = np.minimum(((neuron.floor + 1) << power) - 1, NO_FLOOR)
    widths = {
        "accumulator_bits": min(neuron.accumulator_bits + power, NO_WRAP),
        "current_bits": chip.lists.current_bits,
        "voltage_bits": chip.potential_bits,
    }
    return replace(neuron, **values, **widths)


def _commutes(neuron: CurrentNeuron) -> bool:
    """Whether every decay keeps values or forgets them entirely, so that scaling commutes with it."""
    whole = 1 << neuron.decay_bits
    decays = (neuron.current_decay, neuron.voltage_decay, *neuron.more_current_decays)
    return all(bool(((decay == 0) | (decay == whole)).all()) for decay in decays)


def _stays_inside(
    neuron: CurrentNeuron, chip: ChipSpec, power: int, into: Iterable[Matrix], *, below: bool = True
) -> bool:
    """Whether, times 2^power, no current wraps and no voltage meets its rails for any input."""
    # below: whether the lower rail counts, too
    plus, minus = (np.zeros(len(neuron.threshold), np.int64) for _ in range(2))
    for matrix in into:
        plus += np.asarray(matrix.maximum(0).sum(axis=1), np.int64).ravel()
        minus += np.asarray((-matrix).maximum(0).sum(axis=1), np.int64).ravel()
    whole = 1 << neuron.decay_bits
    keeps = [decay == 0 for decay in (neuron.current_decay, *neuron.more_current_decays)]
    if any(bool((kept & ((plus > 0) | (minus > 0) | (neuron.current != 0))).any()) for kept in keeps):
        return False
    low = minus + np.maximum(-neuron.bias, 0) + np.maximum(-neuron.current, 0)
    high = plus + np.maximum(neuron.bias, 0) + np.maximum(neuron.current, 0)
    adds_up = neuron.voltage_decay != whole
    if below and bool((adds_up & (low > 0) & (neuron.floor == NO_FLOOR)).any()):
        return False  # drives that add up without bound
    if neuron.subtract and bool((adds_up & (high > neuron.threshold)).any()):
        return False  # spikes subtract less than comes in
    # what adds up goes down to the floor, tick by tick
    deepest = np.where(adds_up & (low > 0), neuron.floor, low + np.maximum(-neuron.voltage, 0))
    low = np.minimum(deepest, neuron.floor) if below else np.zeros_like(high)
    high = high + np.maximum(np.maximum(neuron.threshold, neuron.voltage), neuron.reset)
    bound: int = min(chip.lists.current_range[1], chip.potential_range[1])
    return int(np.maximum(low, high).max(initial=0)) << power <= bound


def _refuse_at_rail(name: str, chip: ChipSpec, rail: int | None) -> DoesNotFitError:
    what, advice = "from which spikes take the threshold off", "drives up to the threshold in a tick, or subtract = 0,"
    if rail is not None:
        what, advice = f"with a threshold of {rail}, its rail, which it never passes,", f"a threshold below {rail}"
    text = f"scaled to {chip.name}, a voltage {what} might meet its rail"
    return refuse("neuron", name, 1, 0, text, [Remedy("neuron", None, f"{advice} would do")])


def _refuse_widths(name: str, neuron: CurrentNeuron, chip: ChipSpec, power: int) -> DoesNotFitError:
    step = 1 << chip.lists.threshold_shift
    odd = int(neuron.threshold[(neuron.threshold << power) % step != 0][0])
    text = (
        f"threshold {odd}, times {1 << power} as its widths say, is not a multiple of {step}, as {chip.name} holds them"
    )
    near = odd // (step >> power) * (step >> power)
    return refuse("potential", name, (odd << power) % step, 0, text, [Remedy("neuron", near, f"{near} would do")])


def _refuse_threshold(name: str, neuron: CurrentNeuron, chip: ChipSpec, power: int) -> DoesNotFitError:
    step = 1 << chip.lists.threshold_shift
    odd = int(neuron.threshold[neuron.threshold % step != 0][0])
    text = f"threshold {odd} is not a multiple of {step}, as {chip.name} holds them"
    if not _commutes(neuron):
        near = odd // step * step
        text += f", and times {1 << power} its decays would round differently"
        return refuse("potential", name, odd % step, 0, text, [Remedy("neuron", near, f"{near} would do")])
    widths = f"current_bits = {chip.lists.current_bits - power}, voltage_bits = {chip.potential_bits - power}"
    text += f", and times {1 << power} its voltage might meet the chip's rails"
    return refuse("potential", name, odd % step, 0, text, [Remedy("neuron", None, f"{widths} would do")])


# Targets, signals, weights and delays.
Synapses = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]


class Room(NamedTuple):
    """Capacity of a core; compiled code takes it as an array."""

    # neurons, axons, output_axons: compartments, distinct signals read, and pairs of one of its neurons and a core that
    # reads it
    neurons: int
    axons: int
    output_axons: int
    memory: int  # bits of synapses
    # list_bits, synapse_bits: bits of a list, without its synapses, and of one of ``NeuronGroups.synapses``
    list_bits: int
    synapse_bits: int


@dataclass(frozen=True, eq=False)
class NeuronGroups(ReadOnly, Value):
    """Groups of a neuron and its compartments."""

    neuron: Ints  # (g,): number of the neuron of every group, ascending; only those that are computed
    start: Ints  # (g + 1,): where the signals of a group begin
    signal: SmallInts  # (s,): signals that it reads, each once
    # load, synapses: (g,): compartments, and synapses or, where compartments take the same memory, bits of both
    load: Ints
    synapses: Ints
    sender: Ints  # (signals,): group that sends a signal, -1 for the host's

    def __len__(self) -> int:
        return len(self.neuron)

    @property
    def n_signals(self) -> int:
        """Signals, read or not."""
        return len(self.sender)

    @cached_property
    def alike(self) -> Ints:
        """First of each run of consecutive groups that read the same signals, shape (g,)."""
        # Features of one position of a convolution do: any of them tells what all read.
        first = np.arange(len(self))
        compiled_for(_alike, len(self.signal))(self.start, self.signal, first)
        return adopted(first)

    def readers(self) -> tuple[Ints, SmallInts]:
        """Transpose: return where the readers of every signal begin, and the groups that read it, ascending."""
        reader = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))
        return grouped_by(self.signal, reader, self.n_signals)

    def read_by(self, some: Ints) -> SmallInts:
        """List the signals that some groups read, group by group."""
        return self.signal[entries_of_rows(self.start, some)]

    def deliveries(self, core: Ints) -> int:
        """Count the distinct pairs of a signal and a core that reads it."""
        # shapes: core (g,)
        return len(self.read_in(core)[0])

    def read_in(self, core: Ints) -> tuple[Ints, Ints]:
        """List the distinct pairs of a signal and a core that reads it, by signal."""
        # shapes: core (g,); signal, core (pairs,)
        return readers_of(self.start, self.signal, core, int(core.max(initial=0)) + 1, self.n_signals)


def _alike(start: Any, signal: Any, first: Any) -> int:
    """Fill ``first``; signals that differ mostly do so at once."""
    runs = min(1, len(first))
    for g in range(1, len(first)):
        here, there, degree = start[g], start[g - 1], start[g + 1] - start[g]
        same = here - there == degree
        k = 0
        while same and k < degree:
            same = signal[here + k] == signal[there + k]
            k += 1
        if same:
            first[g] = first[g - 1]
        else:
            runs += 1
    return runs


def neuron_groups(lists: ListNetwork, chip: ChipSpec | None = None, *, is_dense: bool = False) -> NeuronGroups:
    """Group the compartments of every computed neuron."""
    # chip: its compartments may take the same memory as synapses
    # is_dense: whether synapses are counted as in dense lists
    neuron = np.flatnonzero(lists.is_computed[: lists.n_somas])
    group_of = np.full(lists.n_somas, -1, np.int64)
    group_of[neuron] = np.arange(len(neuron))
    label = np.where(lists.is_computed, group_of[lists.soma], -1)
    compartment, degree = label[lists.is_computed], np.diff(lists.start)[lists.is_computed]
    start, signal = signals_read(lists.start, lists.signal, label, len(neuron), lists.n_signals)
    sender = np.full(lists.n_signals, -1, np.int64)
    sender[: lists.n_somas] = group_of
    load = np.bincount(compartment, minlength=len(neuron)).astype(np.int64)
    n_synapses = np.bincount(compartment, degree, len(neuron)).astype(np.int64)
    if chip is not None and (each := _neuron_memory(chip)):
        bits = chip.lists.dense_bits if is_dense else chip.lists.synapse_bits
        n_synapses = n_synapses * bits + load * each
    return NeuronGroups(neuron, start, signal, load, n_synapses, sender)


def room_of(chip: ChipSpec, runs: int = 1, *, is_dense: bool = False) -> Room:
    """Return the capacity of a core with synapse lists."""
    lists = chip.lists
    memory = lists.synapse_memory_bits - lists.other_memory(0)
    unit = 1 if _neuron_memory(chip) else lists.dense_bits if is_dense else lists.synapse_bits
    return Room(chip.neurons, chip.axons, lists.output_axons, memory, runs * lists.list_bits, unit)


def _neuron_memory(chip: ChipSpec) -> int:
    """Return the bits of synapse memory that a neuron takes."""
    return int(chip.lists.other_memory(1) - chip.lists.other_memory(0))


# A legalised network as one table of synapses: who sends what to whom, in units of the chip.


_SCALE = Remedy("neuron", None, "scale or round weights, thresholds and biases of the node alike")


@dataclass(frozen=True, eq=False)
class ListNeurons(ReadOnly, Value):
    """A population as the chip computes it."""

    neuron: CurrentNeuron | GradedNeuron  # values of all neurons
    # factor of weights: 2**s for frame neurons, 2**k for spiking ones
    scale: int
    # (n,): added by the host to the drive in every frame from 1 on, in units of the network's weights; 0 for spiking
    # neurons
    bias: Ints
    # (n,): further compartments, one for each synapse after the first, of graded neurons that take the greatest input;
    # None if synapses of a current share one
    apart: Ints | None = None

    @property
    def decays(self) -> tuple[Ints, ...]:
        """Decays of the neurons' current and of their further ones, each of shape (n,)."""
        if isinstance(self.neuron, CurrentNeuron):
            return (self.neuron.current_decay, *self.neuron.more_current_decays)
        return (np.zeros_like(self.bias),)


def as_list_neurons(population: Population, chip: ChipSpec, into: Iterable[Matrix] = ()) -> ListNeurons:
    """Return the parameters of a population on a chip with synapse-list cores."""
    # into: the weights of the links that feed it
    if isinstance(population.neuron, GradedNeuron):
        return _graded_neurons(population.neuron, len(population.neurons), into)
    if population.neuron is None:
        current = _frame_neurons(population, chip)
    else:
        neuron, power = scaled(population, chip, into)
        _require_widths(population.name, neuron, chip)
        current = (neuron, 1 << power, np.zeros(len(population.neurons), np.int64))
    _require_values(population.name, current[0], chip)
    return ListNeurons(*current)


def _frame_neurons(population: Population, chip: ChipSpec) -> tuple[CurrentNeuron, int, Ints]:
    lists, theta = chip.lists, np.maximum(population.threshold, 1)
    forget, shift = 1 << lists.decay_bits, lists.threshold_shift
    neuron = CurrentNeuron(
        threshold=np.minimum((theta - 1) << shift, 2**31 - 1),
        current_decay=np.array(forget),
        voltage_decay=np.array(forget),
        **lists.neuron_widths(chip.potential_bits),
    )
    return neuron.spread(len(theta)), 1 << shift, theta - population.threshold


def _graded_neurons(neuron: GradedNeuron, size: int, into: Iterable[Matrix]) -> ListNeurons:
    apart = None
    if neuron.maximum:
        n_synapses = sum((np.diff(matrix.indptr).astype(np.int64) for matrix in into), np.zeros(size, np.int64))
        apart = np.maximum(n_synapses - 1, 0)
    return ListNeurons(neuron.spread(size), 1, np.broadcast_to(neuron.bias, (size,)), apart)


def _require_widths(name: str, neuron: CurrentNeuron, chip: ChipSpec) -> None:
    lists = chip.lists
    is_wide = min(neuron.accumulator_bits, lists.sum_bits) >= lists.current_bits  # neither accumulator ever wraps
    for field, bound in lists.neuron_widths(chip.potential_bits).items():
        if (wanted := getattr(neuron, field)) != bound and not (is_wide and field == "accumulator_bits"):
            text = f"its neuron is defined with {field} = {wanted}, those of {chip.name} have {bound}"
            raise refuse("neuron", name, 1, 0, text, [Remedy("neuron", bound, f"{field} = {bound} would do")])
    _require_resets(name, neuron, chip)


def _require_resets(name: str, neuron: CurrentNeuron, chip: ChipSpec) -> None:
    """Refuse resets and floors that a chip's neurons do not have."""
    lists, floors = chip.lists, np.unique(neuron.floor)
    if neuron.subtract and not lists.soft_reset:
        text, near = f"a spike takes its threshold off, which no neuron of {chip.name} does", "subtract = 0"
    elif neuron.reset.any() and not lists.reset_values:
        text, near = f"a spike sets its voltage to {neuron.reset[neuron.reset != 0][0]}", "reset = 0"
        text += f", and those of {chip.name} to 0"
    elif lists.floors == "none" and (floors != NO_FLOOR).any():
        text, near = f"its voltages have a floor of {floors[0]}, those of {chip.name} none", "no floor"
    elif lists.floors == "shared" and (floors & (floors + 1)).any():
        wrong = int(floors[(floors & (floors + 1)) != 0][0])
        bound = (1 << wrong.bit_length()) - 1
        text, near = f"a floor of {wrong} is no 2^k - 1, as {chip.name} has them", f"{bound} or {bound >> 1}"
    else:
        return
    raise refuse("neuron", name, 1, 0, text, [Remedy("neuron", None, f"{near} would do")])


def _require_values(name: str, neuron: CurrentNeuron, chip: ChipSpec) -> None:
    lists = chip.lists
    step, most = 1 << lists.threshold_shift, (1 << chip.threshold_bits) - 1
    bounds = (
        ("a threshold", neuron.threshold >> lists.threshold_shift, most, f"in steps of {step}"),
        ("a refractory time", neuron.refractory, lists.greatest_refractory, "ticks"),
    )
    for what, values, bound, unit in bounds:
        if (greatest := int(values.max(initial=0))) > bound:
            text = f"it has {what} of {greatest} {unit}; a neuron of {chip.name} holds {bound}"
            raise refuse("potential", name, greatest, bound, text, [_SCALE])
    least, greatest = lists.bias_shifts
    zeros = np.bitwise_count((neuron.bias & -neuron.bias) - 1)  # of the bits below the last 1; 64 for a bias of 0
    mantissa = neuron.bias >> np.minimum(zeros, greatest)
    bits = np.frexp(np.abs(mantissa + (mantissa < 0)).astype(float))[1] + 1  # two's complement reaches one farther down
    bits += np.where((zeros < least) & (neuron.bias != 0), lists.bias_bits, 0)  # too fine a step: no mantissa does
    if (demand := int(bits.max(initial=0))) > lists.bias_bits:
        wrong = int(neuron.bias[np.argmax(bits)])
        power = f"times one power of 2, 2^{least} to 2^{greatest}"
        text = f"a bias of {wrong} takes {demand} bits {power}; a neuron of {chip.name} has {lists.bias_bits}"
        raise refuse("potential", name, demand, lists.bias_bits, text, [_SCALE])


@dataclass(frozen=True, eq=False)
class HostSignals(ReadOnly, Value):
    """Signals of the host: one row per signal that an axon can carry."""

    # node, neuron: (h,): input node and its neuron; ``BIAS`` and 0 for a spike in every frame, or a value
    node: Ints
    neuron: Ints
    arrival: Ints  # (h,): when frame 0 arrives, in parts of a tick (``arrays/times.py``)
    first_frame: Ints  # (h,): as in :class:`~neuromap.hardware.program.ports.HostTable`

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class ListNetwork(ReadOnly, Value):
    """Compartments that are computed and their synapses, ordered by compartment."""

    # Neurons are numbered over all populations, then the compartments of their further currents. Signals are numbered
    # too: neuron n sends signal n, those of the host follow after all compartments.

    network: Legalised  # the network it was made from
    neurons: tuple[ListNeurons, ...]  # one per population
    offset: Ints  # (populations + 1,): number of the first neuron of each population
    soma: Ints  # (n,): neuron that every compartment belongs to; a neuron's own number for itself
    decay: Ints  # (n,): decay of every compartment's current; 0 of graded ones
    is_computed: Bools  # (n,): compartments of neurons that an output depends on, or that are kept
    # (n + 1,): compartment k has synapses ``start[k]`` to ``start[k + 1] - 1``; none where it is not computed
    start: Ints
    # signal, weight, delay: (s,): signal that a synapse reads, what it adds to the current, and ticks from the axon to
    # the neuron; weights in 32 bits if they fit
    signal: SmallInts
    weight: NDArray[np.integer]
    delay: NDArray[np.uint8]
    host: HostSignals  # signals n, n + 1,

    @property
    def n_somas(self) -> int:
        """Number of neurons in all populations."""
        return int(self.offset[-1])

    @property
    def n_neurons(self) -> int:
        """Number of compartments in all populations."""
        return len(self.soma)

    @property
    def n_signals(self) -> int:
        """Number of signals of neurons and host."""
        return self.n_neurons + len(self.host)

    @property
    def target(self) -> Ints:
        """Compartment that every synapse feeds, shape (s,)."""
        return np.repeat(np.arange(self.n_neurons), np.diff(self.start))

    def values_of(self, name: str, without: int = 0) -> NDArray[Any]:
        """Return a parameter of all neurons, shape (n_somas,); ``without`` for neurons that lack it."""
        pairs = zip(self.neurons, np.diff(self.offset).tolist(), strict=True)
        return np.concatenate([np.broadcast_to(getattr(n.neuron, name, without), size) for n, size in pairs])

    def population_of(self, neuron: int) -> int:
        """Return the population of a neuron by its number."""
        return int(np.searchsorted(self.offset, self.soma[neuron], side="right")) - 1

    def node_of(self, neuron: int) -> str:
        """Return the name of a neuron's node; for a relay, the node whose spikes it carries."""
        return self.network.ports[self.network.populations[self.population_of(neuron)].node].name


def list_network(network: Legalised, chip: ChipSpec) -> ListNetwork:
    """Collect all synapses of a legalised network in one table."""
    fed: list[Link | HostLink] = [*network.links, *network.host_links]
    neurons = tuple(
        as_list_neurons(p, chip, (link.matrix for link in fed if link.target == number))
        for number, p in enumerate(network.populations)
    )
    offset = np.cumsum([0, *(len(p.neurons) for p in network.populations)])
    rows = _Compartments(neurons, offset)
    n = len(rows.soma)
    host = _HostNumbers(n, chip.delay[1] - chip.delay[0], min(DIGIT_BITS, chip.weight_bits - 1))
    parts = [
        _of_link(link, int(offset[link.source]), link.delay - chip.delay[0], neurons[link.target], rows)
        for link in network.links
    ]
    parts += [host.of_link(link, neurons[link.target], rows) for link in network.host_links]
    parts += [host.of_bias(network, i, neurons[i], offset) for i in range(len(neurons)) if neurons[i].bias.any()]
    target, signal, weight, delay = (np.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    target = rows.apart(target)
    start, order = in_rows(target, signal, delay, n)
    signal = signal[order]
    is_computed = computed_neurons(network, rows.soma, start, signal)[rows.soma]
    is_computed[int(offset[-1]) :] &= np.diff(start)[int(offset[-1]) :] > 0
    if not is_computed.all():
        kept = np.repeat(is_computed, np.diff(start))
        start = np.append(0, np.cumsum(np.where(is_computed, np.diff(start), 0)))
        signal, order = signal[kept], order[kept]
    columns = (signal, weight[order], delay[order])
    return ListNetwork(
        network, neurons, offset, rows.soma, rows.decay, is_computed, start, *columns, host.signals(network.period)
    )


def floors_of(lists: ListNetwork, chip: ChipSpec) -> Ints | None:
    """Return the floor that each neuron's core needs, if cores have one and neurons differ; relays take the least."""
    # shapes: returns (n_somas,)
    if chip.lists.floors != "shared":
        return None
    floor = lists.values_of("floor", NO_FLOOR).astype(np.int64)
    is_relay = np.repeat([p.neuron is None for p in lists.network.populations], np.diff(lists.offset))
    floor[is_relay] = floor.min(initial=NO_FLOOR)  # they stay above 0
    return floor if len(np.unique(floor)) > 1 else None


class _Compartments:
    """Numbers the compartments: neurons first, then population by population those of their further currents."""

    def __init__(self, neurons: tuple[ListNeurons, ...], offset: Ints) -> None:
        self._first: list[list[int]] = []
        soma, decay = [np.arange(int(offset[-1]))], [n.decays[0] for n in neurons]
        number = int(offset[-1])
        self._apart = np.full(number, -1, np.int64)  # first further compartment of neurons with one for each synapse
        for some, begin in zip(neurons, offset.tolist(), strict=False):
            self._first.append([begin])
            for more in some.decays[1:]:
                self._first[-1].append(number)
                soma.append(np.arange(begin, begin + len(more)))
                decay.append(more)
                number += len(more)
            if some.apart is not None:
                self._apart[begin : begin + len(some.apart)] = number + np.cumsum(some.apart) - some.apart
                soma.append(np.repeat(np.arange(begin, begin + len(some.apart)), some.apart))
                decay.append(np.zeros(int(some.apart.sum()), np.int64))
                number += int(some.apart.sum())
        self.soma, self.decay = np.concatenate(soma), np.concatenate(decay)

    def first(self, population: int, current: int) -> int:
        """Return the number of the compartment that holds a current of a population's neuron 0."""
        return self._first[population][current]

    def apart(self, target: Ints) -> Ints:
        """Give every synapse after the first its own compartment, for neurons that need it."""
        # shapes: target, returns (s,)
        mine = np.flatnonzero(self._apart[np.minimum(target, len(self._apart) - 1)] >= 0)
        mine = mine[target[mine] < len(self._apart)]
        if not len(mine):
            return target
        mine = mine[np.argsort(target[mine], kind="stable")]
        rank = rank_in_run(target[mine])
        found = target.copy()
        found[mine] = np.where(rank > 0, self._apart[target[mine]] + rank - 1, target[mine])
        return found


def _of_link(link: Link | HostLink, first: int, delay: int, neurons: ListNeurons, rows: _Compartments) -> Synapses:
    """Return the synapses of a link whose first source sends signal ``first``, each ``delay`` ticks after its axon."""
    matrix = link.matrix.tocoo()
    target = matrix.row + np.int32(rows.first(link.target, link.current))
    weight = narrow(matrix.data.astype(np.int64) * neurons.scale)
    return target, matrix.col + np.int32(first), weight, np.full(len(target), delay, np.uint8)


# Width of a digit of a bias: digits -127 to 127 are weights of 8 bits.
DIGIT_BITS = 7


def bias_digits(bias: Ints, bits: int = DIGIT_BITS) -> list[tuple[int, NDArray[np.integer]]]:
    """Split biases into digits times values that the host sends: 1, 2^7, 2^14, ...; skip digits that are all 0."""
    # bits: width of a digit without its sign; shapes: bias (n,); digits (n,), of magnitude below 2^bits
    found, rest, value = [], bias.astype(np.int64), 1
    while rest.any():
        digit = digit_of(rest, bits)
        if digit.any():
            found.append((value, digit))
        rest, value = (rest - digit) >> bits, value << bits
    return found


def digit_of(rest: NDArray[np.integer], bits: int) -> NDArray[np.integer]:
    """Return the last digit of every number, with its sign, so that no sum of digits exceeds that of the numbers."""
    digit: NDArray[np.integer] = np.sign(rest) * (np.abs(rest) & ((1 << bits) - 1))
    return digit


class _HostNumbers:
    """Numbers the signals of the host; those of an input neuron that differ only by synapses' delays share one."""

    def __init__(self, first: int, longest: int, digit_bits: int) -> None:
        self._next, self._longest, self._digit_bits = first, longest, digit_bits
        self._rows: list[tuple[Ints, Ints, Time, int]] = []
        # node, first frame, first neuron or value, arrival, number of that neuron's signal
        self._known: list[tuple[int, int, int, Time, int]] = []

    def of_link(self, link: HostLink, neurons: ListNeurons, rows: _Compartments) -> Synapses:
        arrival, first = self._place(link.node, link.matrix.shape[1], link.arrival, link.first_frame)
        return _of_link(link, first, int(link.arrival - arrival), neurons, rows)

    def of_bias(self, network: Legalised, population: int, neurons: ListNeurons, offset: Ints) -> Synapses:
        tick = network.populations[population].sample_tick
        parts: list[tuple[int, NDArray[np.integer]]] = [(0, neurons.bias)]
        if isinstance(neurons.neuron, GradedNeuron):
            parts = bias_digits(neurons.bias, self._digit_bits)
        found = []
        for value, bias in parts:
            arrival, first = self._place(BIAS, 1, tick, 1, value)
            target = np.flatnonzero(bias).astype(np.int32)
            signal, delay = np.full(len(target), first, np.int32), np.full(len(target), int(tick - arrival), np.uint8)
            weight = narrow(bias[target] * neurons.scale)
            found.append((target + np.int32(offset[population]), signal, weight, delay))
        target, signal, weight, delay = (np.concatenate(column) for column in zip(*found, strict=True))
        return target, signal, weight, delay

    def _place(self, node: int, size: int, arrival: Time, first_frame: int, number_of: int = 0) -> tuple[Time, int]:
        # number_of: number of the first neuron; of a bias the value that is sent
        for known, frame, of, earliest, number in self._known:
            later = arrival - earliest
            is_same = (known, frame, of) == (node, first_frame, number_of)
            if is_same and later.denominator == 1 and 0 <= later <= self._longest:
                return earliest, number
        number = self._next
        self._known.append((node, first_frame, number_of, arrival, number))
        self._rows.append((np.full(size, node), number_of + np.arange(size), arrival, first_frame))
        self._next += size
        return arrival, number

    def signals(self, period: Time) -> HostSignals:
        sizes = [len(row[0]) for row in self._rows]
        nothing = [np.zeros(0, np.int64)]
        return HostSignals(
            np.concatenate([*nothing, *(row[0] for row in self._rows)]).astype(np.int64),
            np.concatenate([*nothing, *(row[1] for row in self._rows)]).astype(np.int64),
            np.repeat(in_parts((row[2] for row in self._rows), period), sizes),
            np.repeat([row[3] for row in self._rows], sizes).astype(np.int64),
        )
