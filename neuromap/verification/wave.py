"""Responses measured on a program: the dependency wave (docs/report.md).

The wave walks what is loaded onto the chip (host table, synapses, weights, targets, delays) and its labels
and clocks (node labels, sample ticks, frame period). It knows nothing of networks, patterns and schedules, so
its result is an independent measurement to compare with the schedule's prediction.

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.files.argument_checks import needs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card

# What the dependency wave needs of a program, for all kinds of cores.

Ticks: TypeAlias = Ints
# Tick of neurons that the wave never reaches; below every tick that a program can have.
NEVER = -(2**62)


def ticks_since_sampling(program: ChipProgram, node: int, rows: Ints) -> Ticks:
    """Return the ticks from sampling an input frame until rows of the host table deliver it, equal for all frames."""
    (sampled,) = in_parts([program.nodes[node].sample_tick], program.period)
    ticks: Ticks = (program.host.exact_arrival(program.period)[rows] - sampled) // program.period.denominator
    return ticks


class Wiring(ABC):
    """View of a program for the wave; neuron n of core c has number ``c * N + n``."""

    # label: (C * N,): node of every neuron, -1 for none
    # relay: (C * N,): whether it is a relay, a splitter or a part of a sum
    # part: (C * N,): whether it is a part of a sum

    def __init__(self, program: ChipProgram) -> None:
        self.label = program.neuron_node.astype(np.int64).ravel()
        self.relay = program.is_relay.ravel()
        self.part = np.zeros_like(self.relay) if program.is_part is None else program.is_part.ravel()
        self._n_nodes = len(program.nodes)

    @abstractmethod
    def linked(self) -> Bools:
        """Return a mask of the pairs of nodes that a synapse links, source first, shape (nodes, nodes)."""

    @abstractmethod
    def earliest(self, node: int) -> Ticks:
        """Return the ticks from sampling an input until it first reaches each neuron, or ``NEVER``."""

    @abstractmethod
    def latest(self, node: int) -> Ticks | None:
        """Return the ticks from sampling an input until it last reaches each neuron, self-edges masked."""
        # ``NEVER`` if it does not; ``None`` if the wave runs in cycles through relays or unlabelled neurons.

    @property
    def self_edges_only(self) -> bool:
        """Whether all cycles between the program's nodes, as its labels and synapses show them, are self-edges."""
        linked = self.linked().copy()
        np.fill_diagonal(linked, False)
        left = np.ones(len(linked), bool)
        while (first := left & ~linked[left].any(axis=0)).any():
            left &= ~first
        return not left.any()

    def longest_path(self, sends: Bools) -> int:
        """Bound the neurons on a path: every node at most once, and all relays and unlabelled neurons that send."""
        return self._n_nodes + int(np.count_nonzero((self.relay | (self.label < 0)) & sends)) + 1


# Synapses of neurons that are processed at once, about.
_AT_ONCE = 1 << 20


class Hits(NamedTuple):
    """Reached synapses: their source, neuron, and ticks that it takes."""

    source: Ints
    neuron: Ints
    ticks: Ticks


class ProgramWiring(Wiring):
    """View of any program for the wave: from neuron to axon to neuron, each synapse with its delay."""

    def __init__(self, program: ChipProgram) -> None:
        super().__init__(program)
        self._program: Any = program
        self._sends = np.zeros(len(self.label), np.bool_)
        self._sends[program.wires.core * program.shape[1] + program.wires.neuron] = True
        self._soma = program.soma
        # equal where synapses lie within one node
        self._closed_from = np.where(self.part | (self.label < 0), -3, self.label)
        self._closed_onto = np.where(self.relay & ~self.part, -2, self.label)

    def linked(self) -> Bools:
        """Return a mask of the pairs of nodes that a synapse links, source first, shape (nodes, nodes)."""
        linked = np.zeros((self._n_nodes, self._n_nodes), np.bool_)
        for hits in self._from_neurons(np.flatnonzero(self._sends & (self.label >= 0) & ~self.part)):
            target = self.label[hits.neuron]
            linked[self.label[hits.source][target >= 0], target[target >= 0]] = True
        return linked

    def earliest(self, node: int) -> Ticks:
        """Return the ticks from sampling an input until it first reaches each neuron, or ``NEVER``."""
        reached = np.full(len(self.label), NEVER, np.int64)
        due: dict[int, list[Ints]] = {}
        for hits in self._from_host(node):
            self._put(due, reached, hits, 0, node)
        while due:
            # Ticks come in order, so the first visit of a neuron is its earliest.
            tick = min(due)
            now = np.unique(np.concatenate(due.pop(tick)))
            now = now[reached[now] == NEVER]
            reached[now] = tick
            for hits in self._from_neurons(now):
                self._put(due, reached, hits, tick, node)
        return reached

    def latest(self, node: int) -> Ticks | None:
        """Return the ticks from sampling an input until it last reaches each neuron, self-edges masked; see base."""
        reached = np.full(len(self.label), NEVER, np.int64)
        now = self._raise(reached, self._from_host(node), node)
        for _ in range(self.longest_path(self._sends)):
            if not len(now):
                return reached
            now = self._raise(reached, (self._open(reached, hits) for hits in self._from_neurons(now)), node)
        return None if len(now) else reached

    def _open(self, reached: Ticks, hits: Hits) -> Hits:
        """Mask hits within a node; what a part of a sum sends never leads back to it."""
        masked = self._closed_from[hits.source] == self._closed_onto[hits.neuron]
        return hits._replace(ticks=np.where(masked, NEVER, reached[hits.source] + hits.ticks))

    def _spikes_at(self, ticks: Ticks, neurons: Ints, node: int) -> Ticks:
        """Return the ticks at which reached neurons may spike, counted since ``node`` is sampled."""
        return ticks

    def _put(self, due: dict[int, list[Ints]], reached: Ticks, hits: Hits, tick: int, node: int) -> None:
        """Note when neurons that are not reached yet may spike, after hits of a tick."""
        first = np.full(len(self.label), -NEVER, np.int64)
        np.minimum.at(first, hits.neuron, hits.ticks)
        neuron = np.flatnonzero((first < -NEVER) & (reached == NEVER))
        ticks = self._spikes_at(tick + first[neuron], neuron, node)
        for then in np.unique(ticks).tolist():
            due.setdefault(then, []).append(neuron[ticks == then])

    def _raise(self, reached: Ticks, found: Iterable[Hits], node: int) -> Ints:
        """Raise ``reached`` to later ticks; return the neurons that changed."""
        last = np.full(len(self.label), NEVER, np.int64)
        for hits in found:
            np.maximum.at(last, hits.neuron, hits.ticks)
        neuron = np.flatnonzero(last > NEVER)
        ticks = self._spikes_at(last[neuron], neuron, node)
        rises = ticks > reached[neuron]
        reached[neuron[rises]] = ticks[rises]
        return neuron[rises]

    def _from_host(self, node: int) -> Iterator[Hits]:
        """Yield the synapses that an input reaches from the host, with the ticks since its sampling, in portions."""
        host, step = self._program.host, max(1, _AT_ONCE // self._program.shape[1])
        rows = np.flatnonzero(host.node == node)
        arrival = ticks_since_sampling(self._program, node, rows)
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            hits = self._of_axons(host.core[some], host.axon[some])
            yield hits._replace(ticks=arrival[first : first + step][hits.source] + hits.ticks)

    def _from_neurons(self, neurons: Ints) -> Iterator[Hits]:
        """Yield the synapses that spikes of some neurons reach, with the ticks from the spike, in portions."""
        step = max(1, _AT_ONCE // self._program.shape[1])
        for first in range(0, len(neurons), step):
            some = neurons[first : first + step]
            sent = self._program.sent_by(*np.divmod(some, self._program.shape[1]))
            hits = self._of_axons(sent.core, sent.axon)
            yield Hits(some[sent.spike[hits.source]], hits.neuron, sent.delay[hits.source] + hits.ticks)

    def _of_axons(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Hits:
        """List the synapses of nonzero weight of some axons, by their positions, with their delays."""
        found = self._program.synapses_of(cores, axons)
        live = found.weight != 0
        source = found.row[live]
        neuron = cores[source] * self._program.shape[1] + found.neuron[live]
        return Hits(source, self._soma[neuron], found.delay[live])


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
        If ``program`` is not a program.
    """
    needs("measure", program, ChipProgram)
    own = program.chip.kind.wave
    wiring = ProgramWiring(program) if own is None else own.wiring(program)
    outputs = {k: port.name for k, port in enumerate(program.nodes) if port.kind == "output"}
    inputs = [k for k, port in enumerate(program.nodes) if port.kind == "input"]
    number = program.outputs.core.astype(np.int64) * program.shape[1] + program.outputs.neuron
    read_out = {o: number[program.outputs.node == o] for o in outputs}
    first: dict[int, list[int]] = {o: [] for o in outputs}
    full: dict[int, list[int]] = {o: [] for o in outputs}
    ends = wiring.self_edges_only
    for node in inputs:
        earliest = wiring.earliest(node)
        latest = wiring.latest(node) if ends else None
        ends = ends and latest is not None
        # last dirty tick + period - onset, the dirty frame being one period before the onset
        for found, ticks in ((first, earliest), *(() if latest is None else ((full, latest),))):
            for o in outputs:
                reached = ticks[read_out[o]]
                found[o] += reached[reached > NEVER].tolist()
    return {
        name: MeasuredResponse(min(first[o], default=None), max(full[o], default=None) if ends else None)
        for o, name in outputs.items()
    }
