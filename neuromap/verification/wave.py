"""Responses measured on a program: the dependency wave (docs/report.md).

The wave walks what is loaded onto the chip (host table, synapses, weights, targets, delays) and its labels
and clocks (node labels, sample ticks, frame period). It knows nothing of networks, patterns and schedules, so
what it finds is a measurement that the schedule's prediction can be held against.

*First response.* Frame i of one input is delivered; a neuron is reached at tick t if a synapse of nonzero weight is
due at t (on crossbars: its axon), and sends on. The earliest tick at which a neuron of the output is
reached, less the tick at which the input was sampled; the least over the inputs.

*Full response.* Everything that the input's last frame before the onset still reaches is *dirty*. Older frames
reach the same neurons earlier, by whole periods. Synapses within one node are masked, because a self-edge
never forgets. The output is clean one frame period after its last dirty tick; less the onset, the tick at which
the input's next frame was sampled; the greatest over the inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import ragged_ranges, run_heads
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.files.given import needs
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program import ListProgram, Program
from neuromap.render.value import Card

# What the dependency wave asks of a program, whatever its cores are like.

Ticks: TypeAlias = NDArray[np.int64]
NEVER = -(2**62)
"""Tick of what the wave never reaches; below every tick that a program can have."""


def ticks_since_sampling(program: ChipProgram, node: int, rows: NDArray[np.int64]) -> Ticks:
    """Ticks from the sampling of an input frame until rows of the host table deliver it, the same for every frame."""
    (sampled,) = in_parts([program.nodes[node].sample_tick], program.period)
    ticks: Ticks = (program.host.exact_arrival(program.period)[rows] - sampled) // program.period.denominator
    return ticks


class Wiring(ABC):
    """A program as the wave walks it; neuron n of core c has the number ``c * N + n``."""

    # label: (C * N,): node of every neuron, -1 without
    # relay: (C * N,): whether it is a relay, a splitter or a part of a sum
    # part: (C * N,): whether it is a part of a sum

    def __init__(self, program: ChipProgram) -> None:
        self.label = program.neuron_node.astype(np.int64).ravel()
        self.relay = program.is_relay.ravel()
        self.part = np.zeros_like(self.relay) if program.is_part is None else program.is_part.ravel()
        self._n_nodes = len(program.nodes)

    @abstractmethod
    def linked(self) -> NDArray[np.bool_]:
        """Which node has a synapse onto which: shape (nodes, nodes), source first."""

    @abstractmethod
    def earliest(self, node: int) -> Ticks:
        """Ticks from the sampling of an input until each neuron is first reached; ``NEVER`` where it is not."""

    @abstractmethod
    def latest(self, node: int) -> Ticks | None:
        """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked."""
        # ``NEVER`` where it does not; ``None`` where the wave runs in circles, through relays or neurons without a
        # label.

    @property
    def self_edges_only(self) -> bool:
        """Whether all cycles between the program's nodes, as its labels and synapses show them, are self-edges."""
        linked = self.linked().copy()
        np.fill_diagonal(linked, False)
        left = np.ones(len(linked), bool)
        while (first := left & ~linked[left].any(axis=0)).any():
            left &= ~first
        return not left.any()

    def longest_path(self, sends: NDArray[np.bool_]) -> int:
        """Bound the neurons on a path: every node at most once, and as many relays and unlabelled ones as send."""
        return self._n_nodes + int(np.count_nonzero((self.relay | (self.label < 0)) & sends)) + 1


# The dependency wave on programs of crossbars: from neuron to axon to the synapses of its row.
_PART = -3
"""Stands for the node label of axons that parts of sums feed: these never lead back to what feeds them."""
_ROWS = 4096
"""Crossbar rows that are unpacked at once (8 MiB of ticks at 256 neurons)."""


class CrossbarWiring(Wiring):
    """A program of crossbars as the wave walks it; axon a of core c has the number ``c * A + a``."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._program = program
        asked = program.neurons.saturate_negative.ravel() & (program.neurons.threshold.ravel() > 0)
        self._waits = asked & (self.label >= 0) & ~self.relay  # they gather, and may spike in the tick of their node
        self._n_axons = n_axons = program.axon_types.shape[1]
        core = program.target_core.astype(np.int64).ravel()
        # axon that every neuron feeds, -1 for none
        self._target = np.where(core >= 0, core * n_axons + program.target_axon.ravel(), -1)
        self._delay = program.delay.astype(np.int64).ravel()
        # node label of the neurons that feed an axon, -1 where there is none or they disagree
        self._feeder = np.full(program.axon_types.size, -1, dtype=np.int64)
        sends = np.flatnonzero(self._target >= 0)
        self._feeder[self._target[sends]] = self.label[sends]
        sums = self.part[sends]
        self._feeder[self._target[sends[sums]]] = _PART  # what a part sends never leads back to it
        mixed = self._target[sends][(self._feeder[self._target[sends]] != self.label[sends]) & ~sums]
        self._feeder[mixed] = -1

    def linked(self) -> NDArray[np.bool_]:
        """Which node has a synapse onto which: shape (nodes, nodes), source first."""
        label = self.label.reshape(self._program.shape)
        linked = np.zeros((self._n_nodes, self._n_nodes), dtype=np.bool_)
        for axons, live in self._synapses(np.flatnonzero(self._feeder >= 0)):
            row, neuron = np.nonzero(live)
            target = label[axons[row] // self._n_axons, neuron]
            source = self._feeder[axons[row]]
            linked[source[target >= 0], target[target >= 0]] = True
        return linked

    def earliest(self, node: int) -> Ticks:
        """Ticks from the sampling of an input until each neuron is first reached; ``NEVER`` where it is not."""
        reached = np.full(len(self.label), NEVER, dtype=np.int64)
        known = np.zeros(len(self._feeder), dtype=np.bool_)
        axons, arrival = self._starts(node)
        due: dict[int, list[NDArray[np.int64]]] = {}
        for tick in np.unique(arrival).tolist():
            due[tick] = [axons[arrival == tick]]
        while due:
            # Ticks come in order, so the first visit of an axon or a neuron is its earliest.
            tick = min(due)
            now = np.unique(np.concatenate(due.pop(tick)))
            now = now[~known[now]]
            known[now] = True
            for part, live in self._synapses(now):
                row, neuron = np.nonzero(live)
                hit = np.unique(part[row] // self._n_axons * self._program.shape[1] + neuron)
                hit = hit[reached[hit] == NEVER]
                reached[hit] = self._spikes_at(np.full(len(hit), tick), hit, node)
                hit = hit[self._target[hit] >= 0]
                arrival = reached[hit] + self._delay[hit]
                for then in np.unique(arrival).tolist():
                    due.setdefault(then, []).append(self._target[hit[arrival == then]])
        return reached

    def latest(self, node: int) -> Ticks | None:
        """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked; see the base."""
        reached = np.full(len(self.label), NEVER, dtype=np.int64)
        due = np.full(len(self._feeder), NEVER, dtype=np.int64)
        axons, arrival = self._starts(node)
        np.maximum.at(due, axons, arrival)
        now = np.unique(axons)
        for _ in range(self.longest_path(np.ones(len(self.label), np.bool_))):
            if not len(now):
                return reached
            later = np.full(self._program.shape, NEVER, dtype=np.int64)
            for part, live in self._synapses(now):
                ticks = np.where(live & ~self._masked(part), due[part][:, None], NEVER)
                core = part // self._n_axons
                heads = np.flatnonzero(run_heads(core))  # axons are sorted, so those of a core adjoin
                later[core[heads]] = np.maximum(later[core[heads]], np.maximum.reduceat(ticks, heads, axis=0))
            touched = np.flatnonzero(later.ravel() > NEVER)
            later.reshape(-1)[touched] = self._spikes_at(later.ravel()[touched], touched, node)
            moved = np.flatnonzero(later.ravel() > reached)
            reached[moved] = later.ravel()[moved]
            moved = moved[self._target[moved] >= 0]
            targets, ticks = self._target[moved], reached[moved] + self._delay[moved]
            rises = ticks > due[targets]
            np.maximum.at(due, targets[rises], ticks[rises])
            now = np.unique(targets[rises])
        return None if len(now) else reached

    def _spikes_at(self, ticks: Ticks, neurons: NDArray[np.int64], node: int) -> Ticks:
        """Ticks at which neurons may spike that something reaches: at once, or in the next tick of their node."""
        ports, period = self._program.nodes, self._program.period
        sampled = in_parts((port.sample_tick - ports[node].sample_tick for port in ports), period)
        parts = (sampled[self.label[neurons]] - ticks * period.denominator) % period.numerator
        wait = -(-parts // period.denominator)
        spikes: Ticks = ticks + np.where(self._waits[neurons], wait, 0)
        return spikes

    def _synapses(self, axons: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Synapses with nonzero weight of the given axons, in portions: axons (k,), neurons (k, N)."""
        program = self._program
        for start in range(0, len(axons), _ROWS):
            part = axons[start : start + _ROWS]
            core, axon = np.divmod(part, self._n_axons)
            bits = np.unpackbits(program.crossbar[core, axon], axis=-1, count=program.shape[1], bitorder="little")
            weights = program.neurons.weights[core, :, program.axon_types[core, axon]]
            yield part, bits.astype(np.bool_) & (weights != 0)

    def _masked(self, axons: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each synapse of an axon lies within one node, shape (k, N)."""
        shape = self._program.shape
        core = axons // self._n_axons
        feeder = np.where(self._feeder[axons] >= 0, self._feeder[axons], -2)  # -1 also labels neurons without a node
        same: NDArray[np.bool_] = self.label.reshape(shape)[core] == feeder[:, None]
        same &= ~(self.relay & ~self.part).reshape(shape)[core]
        return same

    def _starts(self, node: int) -> tuple[NDArray[np.int64], Ticks]:
        """Axons that the host feeds for one input, and ticks from the input's sampling to their arrival."""
        host = self._program.host
        rows = np.flatnonzero(host.node == node)
        axons = host.core[rows].astype(np.int64) * self._n_axons + host.axon[rows]
        return axons, ticks_since_sampling(self._program, node, rows)


# The dependency wave on programs of synapse lists: from neuron to axon to neuron, each synapse with its delay.
Ints = NDArray[np.int64]
_NEURONS = 4096
"""Neurons whose synapses are looked at together."""


class _Hits(NamedTuple):
    """Synapses that something reaches: by position of what reaches them, and the neuron and ticks that it takes."""

    source: Ints
    neuron: Ints
    ticks: Ticks


class ListWiring(Wiring):
    """A program of synapse lists as the wave walks it."""

    def __init__(self, program: ListProgram) -> None:
        super().__init__(program)
        self._program = program
        table = program.synapses
        self._live = table.weight != 0
        self._list_core = table.list_core
        self._list_of_target = table.axons[program.targets.core] + program.targets.axon
        self._sends = np.diff(program.targets.start) > 0
        self._soma = program.soma

    def linked(self) -> NDArray[np.bool_]:
        """Which node has a synapse onto which: shape (nodes, nodes), source first."""
        linked = np.zeros((self._n_nodes, self._n_nodes), np.bool_)
        senders = np.flatnonzero(self._sends & (self.label >= 0))
        for first in range(0, len(senders), _NEURONS):
            some = senders[first : first + _NEURONS]
            hits = self._from_neurons(some)
            target = self.label[hits.neuron]
            linked[self.label[some[hits.source]][target >= 0], target[target >= 0]] = True
        return linked

    def earliest(self, node: int) -> Ticks:
        """Ticks from the sampling of an input until each neuron is first reached; ``NEVER`` where it is not."""
        reached = np.full(len(self.label), NEVER, np.int64)
        due: dict[int, list[Ints]] = {}
        _put(due, self._from_host(node))
        while due:
            # Ticks come in order, so the first visit of a neuron is its earliest.
            tick = min(due)
            now = np.unique(np.concatenate(due.pop(tick)))
            now = now[reached[now] == NEVER]
            reached[now] = tick
            hits = self._from_neurons(now)
            fresh = reached[hits.neuron] == NEVER
            _put(due, _Hits(hits.source[fresh], hits.neuron[fresh], tick + hits.ticks[fresh]))
        return reached

    def latest(self, node: int) -> Ticks | None:
        """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked; see the base."""
        reached = np.full(len(self.label), NEVER, np.int64)
        now = _raise(reached, self._from_host(node))
        for _ in range(self.longest_path(self._sends)):
            if not len(now):
                return reached
            hits = self._from_neurons(now)
            source = now[hits.source]
            masked = (self.label[source] == self.label[hits.neuron]) & (self.label[source] >= 0)
            open_ways = ~masked | self.relay[hits.neuron]
            ticks = reached[source] + hits.ticks
            now = _raise(reached, _Hits(source[open_ways], hits.neuron[open_ways], ticks[open_ways]))
        return None if len(now) else reached

    def _from_host(self, node: int) -> _Hits:
        """List what the host reaches of an input, with the ticks since the input was sampled."""
        program = self._program
        rows = np.flatnonzero(program.host.node == node)
        hits = self._of_lists(program.synapses.axons[program.host.core[rows]] + program.host.axon[rows])
        arrival = ticks_since_sampling(program, node, rows)
        return _Hits(hits.source, hits.neuron, arrival[hits.source] + hits.ticks)

    def _from_neurons(self, neurons: Ints) -> _Hits:
        """List what spikes of some neurons reach, with the ticks from the spike."""
        start = self._program.targets.start
        each = start[neurons + 1] - start[neurons]
        hits = self._of_lists(self._list_of_target[ragged_ranges(start[neurons], each)])
        source = np.repeat(np.arange(len(neurons)), each)[hits.source]
        return _Hits(source, hits.neuron, self._program.chip.delay[0] + hits.ticks)

    def _of_lists(self, lists: Ints) -> _Hits:
        """List the synapses of nonzero weight of some lists, with their delays."""
        table = self._program.synapses
        each = table.lists[lists + 1] - table.lists[lists]
        synapse = ragged_ranges(table.lists[lists], each)
        live = self._live[synapse]
        synapse, source = synapse[live], np.repeat(np.arange(len(lists)), each)[live]
        neuron = self._list_core[lists[source]] * self._program.chip.neurons + table.neuron[synapse]
        return _Hits(source, self._soma[neuron], table.delay[synapse].astype(np.int64))


def _put(due: dict[int, list[Ints]], hits: _Hits) -> None:
    for tick in np.unique(hits.ticks).tolist():
        due.setdefault(tick, []).append(hits.neuron[hits.ticks == tick])


def _raise(reached: Ticks, hits: _Hits) -> Ints:
    """Put later ticks into place; say which neurons they concern."""
    before = reached.copy()
    np.maximum.at(reached, hits.neuron, hits.ticks)
    return np.flatnonzero(reached > before)


@dataclass(frozen=True)
class MeasuredResponse(Card):
    """Responses of one output, measured on the program.

    Attributes
    ----------
    first_response_ticks : int or None
        Ticks from an input's sampling to the first output that depends on it; ``None`` where no input reaches
        the output.
    full_response_ticks : int or None
        Ticks from the onset to the first output that depends on nothing before it; ``None`` where no input
        reaches the output, or where the program has cycles other than those within one node.
    """

    first_response_ticks: int | None
    full_response_ticks: int | None


def measure(program: ChipProgram) -> dict[str, MeasuredResponse]:
    """Measure first and full response of every output on the program itself.

    Parameters
    ----------
    program : ChipProgram
        Mapped or written by hand; it needs node labels and sample ticks.

    Returns
    -------
    dict of str to MeasuredResponse
        By output node, in ticks.

    Raises
    ------
    InputError
        If it is no program.
    """
    needs("measure", program, ChipProgram)
    wiring = _WIRINGS[program.chip.core_model](program)
    outputs = [k for k, port in enumerate(program.nodes) if port.kind == "output"]
    inputs = [k for k, port in enumerate(program.nodes) if port.kind == "input"]
    n_neurons = program.shape[1]
    read_out = {
        o: (program.outputs.core.astype(np.int64) * n_neurons + program.outputs.neuron)[program.outputs.node == o]
        for o in outputs
    }
    first: dict[int, list[int]] = {o: [] for o in outputs}
    full: dict[int, list[int]] = {o: [] for o in outputs}
    ends = wiring.self_edges_only
    for node in inputs:
        earliest = wiring.earliest(node)
        latest = wiring.latest(node) if ends else None
        ends = ends and latest is not None
        for o in outputs:
            reached = earliest[read_out[o]]
            first[o] += reached[reached > NEVER].tolist()
            if latest is not None:
                # last dirty tick + period - onset, the dirty frame being one period before the onset
                last = latest[read_out[o]]
                full[o] += last[last > NEVER].tolist()
    return {
        program.nodes[o].name: MeasuredResponse(
            min(first[o], default=None), max(full[o], default=None) if ends else None
        )
        for o in outputs
    }


_WIRINGS: Mapping[CoreKind, Callable[..., Wiring]] = ReadOnlyMapping(
    {"crossbar": CrossbarWiring, "synapse-list": ListWiring}
)
"""How the wave walks a program, by the kind of core."""
