"""A program as a network in ticks: the value, what its inputs and outputs mean, and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.parts_of_ticks import in_parts, ticks_of_frames
from neuromap.arrays.times import Time
from neuromap.errors import NotSupportedError, StimulusError
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.network.network import Network
from neuromap.render.document import COUNT, EDGE, FILE, INTEGER, TEXT, by_name, const, document, each, record, record_of
from neuromap.render.value import Card, Documented

_NODES_SHOWN = 20


@dataclass(frozen=True)
class LiftedInput(Card):
    """An input node of a lifted network, and what its frames are."""

    node: str  # its name in the network
    port: str  # input node of the program whose frames it takes; empty if its neurons are the axons of a core
    core: int  # that core, else -1
    # frame i of the port, from ``first_frame`` on, is frame floor((begin + i p) / q) of the node, for a frame period of
    # p / q ticks; spikes on axons in tick t are frame t
    begin: int
    first_frame: int


@dataclass(frozen=True, eq=False)
class Lifted(ReadOnly, Documented):
    """A program as a network in ticks, and how it came to be.

    Attributes
    ----------
    network : Network
        Spiking: one frame is one tick. Frame i of its nodes is what the chip's neurons fire in tick i - 1.
    program : str
        Name of the program.
    inputs : tuple of LiftedInput
        What the frames of its input nodes are; :meth:`frames` and :meth:`events` make them.
    outputs : tuple of (str, int)
        Node and neuron of the network for every row of the program's output table.
    counts : mapping of str to int
        Neurons that were read, contracted (relays and splitters), merged (copies) and left out as never 1 (silent),
        axons that became neurons (joined), and the neurons that are left.
    closed : ndarray of int64, shape (n, 2)
        Core and axon of axons that neurons feed, where the host's events cannot be distinguished from theirs.
    period : int or Fraction
        Frame period of the program in ticks.
    """

    network: Network
    program: str
    inputs: tuple[LiftedInput, ...]
    outputs: tuple[tuple[str, int], ...]
    counts: Mapping[str, int]
    closed: Ints
    period: Time

    _called = "a lifted program"
    _forms = (__name__,)

    def _facts(self) -> dict[str, object]:
        return {"program": self.program, "nodes": len(self.network.nodes), **self.counts}

    def frames(self, frames: Mapping[str, ArrayLike], n_ticks: int) -> dict[str, Bools]:
        """Convert frames of the program's input nodes to input frames of the network.

        Parameters
        ----------
        frames : mapping of str to array_like, shape (n_frames, size)
            Of the program's input nodes, as :func:`neuromap.simulate` takes them.
        n_ticks : int
            Ticks of the program to compare, from tick 0.

        Returns
        -------
        dict of str to ndarray of bool, shape (n_ticks + 1, size)
            Row i + 1 of what :func:`neuromap.reference` makes of them is tick i.

        Raises
        ------
        StimulusError
            If the frames of an input are missing or have another size.
        """
        found = self._silence(n_ticks)
        for port in self.inputs:
            size = self.network.nodes[port.node].size
            rows = np.asarray(frames.get(port.port, ()), np.bool_)
            rows = rows.reshape(len(rows), -1)
            if rows.shape[1] != size:
                raise StimulusError(
                    f"frames of node {port.port or port.node}: found shape {list(rows.shape)}; needs [frames, {size}]"
                    + ("" if port.port else ": its neurons are axons of a core, give events()")
                )
            tick = ticks_of_frames(np.array(port.begin), self.period, np.arange(len(rows)))
            here = (tick >= 0) & (tick <= n_ticks) & (np.arange(len(rows)) >= port.first_frame)
            found[port.node][tick[here]] = rows[here]
        return found

    def events(self, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike, n_ticks: int) -> dict[str, Bools]:
        """Convert events, as ``run_events`` takes them, to input frames of the network; unread events are lost.

        Parameters
        ----------
        ticks, cores, axons : array_like of int, shape (n,)
            Events from the host.
        n_ticks : int
            Ticks to compare, from tick 0.

        Returns
        -------
        dict of str to ndarray of bool, shape (n_ticks + 1, size)
            As :meth:`frames`.

        Raises
        ------
        StimulusError
            If an event is on an axon that neurons feed: there it is no input of the network.
        """
        found = self._silence(n_ticks)
        tick, core, axon = (np.asarray(column, np.int64).reshape(-1) for column in (ticks, cores, axons))
        shut = {(c, a) for c, a in self.closed.tolist()}
        for c, a in zip(core.tolist(), axon.tolist(), strict=True):
            if (c, a) in shut:
                raise StimulusError(
                    f"events: one is on core {c}, axon {a}, which neurons feed; the network has no input there"
                )
        for port in self.inputs:
            here = (core == port.core) & (tick <= n_ticks)
            found[port.node][tick[here], axon[here]] = True
        return found

    def _silence(self, n_ticks: int) -> dict[str, Bools]:
        inputs = self.network.inputs
        if not inputs:  # sources alone
            return {next(iter(self.network.nodes)): np.zeros((n_ticks + 1, 0), np.bool_)}
        return {name: np.zeros((n_ticks + 1, self.network.nodes[name].size), np.bool_) for name in inputs}


DOCUMENT = document(
    "lift",
    format=const("neuromap lift 1"),
    program=TEXT,
    network=TEXT(at="network.name"),
    nodes=each(record(name=TEXT, size=COUNT, neuron=TEXT.or_null))(at=lambda found: _nodes(found)),
    edges=each(EDGE)(at="network.edges"),
    inputs=each(record_of(LiftedInput, core=INTEGER, begin=INTEGER)),
    outputs=each(TEXT)(at="network.outputs"),
    counts=by_name(COUNT),
    file=FILE.elsewhere,
)
# As plain values, without weights.
to_dict = DOCUMENT.of


def _nodes(found: Lifted) -> list[dict[str, object]]:
    nodes = found.network.nodes.values()
    return [{"name": n.name, "size": n.size, "neuron": None if n.neuron is None else n.neuron.model} for n in nodes]


def render_text(found: Lifted, width: int = 100) -> str:
    """List the nodes with what they read, and count what was contracted and merged."""
    network, counts = found.network, found.counts
    lines = [
        f"{found.program} as a network in ticks: {counted(len(network.nodes), 'node')}, "
        f"{counted(counts['left'], 'neuron')}"
    ]
    for name, node in list(network.nodes.items())[:_NODES_SHOWN]:
        reads = ", ".join(u for u, v in network.edges if v == name)
        role = "output" if name in network.outputs else "input" if node.neuron is None else "hidden"
        lines.append(f"  {name} ({role}, {counted(node.size, 'neuron')})" + (f" reads {reads}" if reads else ""))
    if len(network.nodes) > _NODES_SHOWN:
        lines.append(f"  and {len(network.nodes) - _NODES_SHOWN} more: --json lists all")
    lines += [
        "",
        f"neurons of the program that were read: {counts['read']:,}",
        *(f"{text}: {counts[name]:,}" for name, text in _TOLD.items()),
    ]
    return "\n".join(lines) + "\n"


_TOLD = {
    "contracted": "contracted, as they hand on one source",
    "merged": "merged, as they compute the same as another",
    "silent": "left out, as they never spike",
    "joined": "axons of several neurons that became a neuron",
}


class Terms(NamedTuple):
    """Sums: ``reader`` adds ``weight`` into its ``current``, ``delay`` ticks after ``source`` is 1; units by number."""

    reader: Ints
    source: Ints
    delay: Ints
    current: Ints
    weight: Ints

    def of(self, some: NDArray[Any]) -> Terms:
        """Select some of them."""
        return Terms(*(column[some] for column in self))

    def added_up(self, either: int) -> Terms:
        """Add up weights of a source over several axons; units from ``either`` on only ask whether anything arrives."""
        terms = self.of(np.lexsort((self.current, self.delay, self.source, self.reader)))
        key = np.stack(terms[:4])
        head = np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))[: len(terms.reader)]
        start = np.flatnonzero(head)
        weight = np.add.reduceat(terms.weight, start) if len(start) else terms.weight
        terms = terms.of(start)._replace(weight=np.where(terms.reader[start] >= either, 1, weight))
        return terms.of(terms.weight != 0)


class Units:
    """Units are neurons (core * N + neuron), then input lines, then axons with several feeders, each of which is an OR.

    ``gone`` are removed units: never 1, contracted, or merged into another. Neurons with a label, including those that
    are read out, are never contracted or left out, and merged only with others of the same label.
    """

    def __init__(self, program: ChipProgram, keep: bool) -> None:
        self.program, out = program, program.outputs
        self.part: Any = program.chip.kind.proof
        n_cores, n = program.shape
        self.n = n_cores * n
        label = program.neuron_node.astype(np.int64) << 32 | program.neuron_index
        self.label = np.where((program.neuron_node >= 0) & ~program.is_relay, label, -1).ravel()
        self.read = out.core.astype(np.int64) * n + out.neuron
        self.label[self.read] = out.node.astype(np.int64) << 32 | out.index
        self.roots = self.read
        if keep:
            some = (program.neurons_in_use & ~program.further_compartments).ravel()
            self.roots = np.union1d(self.read, np.flatnonzero(some))
        self.axons = np.append(0, np.cumsum(program.axon_counts)).astype(np.int64)
        self.inputs: list[LiftedInput] = []
        self.names: set[str] = set()
        self.ports = [self.named(port.name) for port in program.nodes]
        self.sizes: list[int] = []  # of inputs
        terms, silent = self._sums()
        self.terms = self._joined(terms, self._feeds(silent), silent)

    def named(self, wanted: str) -> str:
        """Make a name that network files allow and no node has."""
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", wanted)[:80] or "node"
        name, k = base, 1
        while name in self.names:
            k += 1
            name = f"{base}.{k}"
        self.names.add(name)
        return name

    def _axon(self, number: int) -> str:
        core = int(np.searchsorted(self.axons, number, side="right")) - 1
        return f"core {core}, axon {number - self.axons[core]}"

    def _neuron(self, unit: int) -> str:
        return "core {}, neuron {}".format(*divmod(int(unit), self.program.shape[1]))

    # What is added up, and what arrives.

    def _clocked(self) -> Bools:
        """Find the axons that the host feeds in every tick: what they bring is part of the leak or bias."""
        program, host = self.program, self.program.host
        bias = np.flatnonzero(host.node == BIAS)
        first = ticks_of_frames(
            host.exact_arrival(program.period)[bias], program.period, host.first_frame[bias].astype(np.int64)
        )
        axon = self.axons[host.core[bias]] + host.axon[bias]
        wrong = np.flatnonzero((first != 0) | (program.period != 1))
        if len(wrong):
            raise NotSupportedError(
                f"lift {program.name}: {self._axon(int(axon[wrong[0]]))}: the host feeds a clock, from tick "
                f"{first[wrong[0]]} on every {counted(program.period, 'tick')}, and {len(wrong) - 1} more; neurons of "
                "networks have none: map with a frame period of 1 tick, or thresholds of 1 and more, which take no bias"
            )
        clocked = np.zeros(self.axons[-1], np.bool_)
        clocked[axon] = True
        return clocked

    def _sums(self) -> tuple[Terms, Bools]:
        """Read all synapses and neurons: sums over axons as terms, and which neurons are never 1."""
        program, (n_cores, n) = self.program, self.program.shape
        self.clocked, wires, host = self._clocked(), program.wires, program.host
        heard = self.clocked.copy()
        heard[self.axons[wires.target_core] + wires.target_axon] = True
        heard[self.axons[host.core] + host.axon] = True
        heard |= not len(host)
        soma, place = program.soma, self._places()
        cores, found = [np.zeros((5, 0), np.int64)], []
        for core in range(n_cores):
            begin, end = self.axons[core : core + 2]
            axon = np.flatnonzero(heard[begin:end])
            synapses = program.synapses_of(np.full(len(axon), core), axon)
            some = np.flatnonzero(synapses.weight)
            neuron, weight = core * n + synapses.neuron[some], synapses.weight[some]
            axon = begin + axon[synapses.row[some]]
            reader, always = soma[neuron], self.clocked[axon]
            sums = [(reader[~always], side(weight[~always], 0)) for side in (np.minimum, np.maximum)]
            low, high, clock = (
                np.bincount(of - core * n, what, n).astype(np.int64)
                for of, what in (*sums, (neuron[always], weight[always]))
            )
            neurons = self.part.lifted(program, core, low, high, clock)
            found.append((neurons, neurons.forgets & (high < neurons.reaches)))
            live = ~always & (~found[-1][1][reader - core * n] | (self.label[reader] >= 0))
            cores.append(np.stack([reader, axon, synapses.delay[some], place[neuron], weight])[:, live])
        idle, self.most = self.part.either(program)
        names = dict.fromkeys(name for neurons, _ in found for name in neurons.values)
        self.idle = {name: idle[name.partition(".")[0]] for name in names}
        self.values = {
            name: np.concatenate([k.values.get(name, np.full(n, self.idle[name])) for k, _ in found]) for name in names
        }
        self.forgets, self.reaches, self.wrong = (
            np.concatenate([getattr(k, name) for k, _ in found]) for name in ("forgets", "reaches", "wrong")
        )
        return Terms(*np.concatenate(cores, axis=1)), np.concatenate([k for _, k in found])

    def _places(self) -> Ints:
        """Return which current of its neuron every compartment holds."""
        place, joined = np.zeros(self.n, np.int64), np.flatnonzero(self.program.further_compartments)
        order = joined[np.argsort(self.program.soma[joined], kind="stable")]
        soma = self.program.soma[order]
        place[order] = np.arange(len(order)) - np.searchsorted(soma, soma) + 1
        return place

    def _feeds(self, silent: Bools) -> tuple[Ints, Ints, Ints]:
        """List the feeders of axons: axon, unit, delay; those that are never 1 feed nothing."""
        program, wires, host = self.program, self.program.wires, self.program.host
        neuron = wires.core * program.shape[1] + wires.neuron
        feeds = [(self.axons[wires.target_core] + wires.target_axon, neuron, wires.delay)]
        feeds[0] = tuple(column[~silent[neuron] | (self.label[neuron] >= 0)] for column in feeds[0])
        rows = np.flatnonzero(host.node >= 0)
        start, p, q = host.exact_arrival(program.period), program.period.numerator, program.period.denominator
        sample = in_parts((port.sample_tick for port in program.nodes), program.period)
        # Rows of a node with the same part and first frame are one input; they differ by whole ticks, which are delays.
        key = np.stack([host.node, start % q, host.first_frame])[:, rows].astype(np.int64)
        for node, part, first in np.unique(key, axis=1).T.tolist():
            mine = rows[(key == [[node], [part], [first]]).all(axis=0)]
            least = -((part + first * p) // q)
            begin = int(np.clip(sample[node] // q, least, (start[mine] // q).min()))
            port = program.nodes[node]
            what = LiftedInput("", port.name, -1, begin * q + part, first)
            unit = self._input(self.ports[node], what, port.size) + host.index[mine]
            feeds.append((self.axons[host.core[mine]] + host.axon[mine], unit, start[mine] // q - begin + 1))
        if not len(host):
            free = np.ones(self.axons[-1], np.bool_)
            free[feeds[0][0]] = False
            for core, size in enumerate(program.axon_counts.tolist()):
                axon = np.flatnonzero(free[self.axons[core] : self.axons[core + 1]])
                unit = self._input(f"axons{core}", LiftedInput("", "", core, 0, 0), size)
                feeds.append((self.axons[core] + axon, unit + axon, np.ones(len(axon), np.int64)))
        axons, units, delays = (np.concatenate(columns) for columns in zip(*feeds, strict=True))
        return axons, units, delays

    def _input(self, wanted: str, what: LiftedInput, size: int) -> int:
        """Add an input; return the number of its first neuron."""
        name = wanted if wanted in self.ports and all(k.node != wanted for k in self.inputs) else self.named(wanted)
        self.inputs.append(replace(what, node=name))
        self.sizes.append(size)
        return self.n + sum(self.sizes[:-1])

    def _joined(self, synapses: Terms, feeds: tuple[Ints, Ints, Ints], silent: Bools) -> Terms:
        """Replace axons by their feeders; axons with several feeders become units."""
        axon, unit, delay = np.unique(np.stack(feeds), axis=1)
        keep = ~self.clocked[axon]
        axon, unit, delay = axon[keep], unit[keep], delay[keep]
        start, end = (np.searchsorted(axon, np.arange(self.axons[-1]), side=side) for side in ("left", "right"))
        several = np.flatnonzero(end - start > 1)
        self.fed = np.unique(axon[unit < self.n])
        self.either = self.n + sum(self.sizes)
        self.origin = several
        number = np.full(self.axons[-1], -1)
        number[several] = self.either + np.arange(len(several))
        one = end - start == 1
        number[one], late = unit[start[one]], np.zeros(self.axons[-1], np.int64)
        late[one] = delay[start[one]]
        into = np.flatnonzero(np.isin(axon, several))
        read = synapses.of(number[synapses.source] >= 0)
        read = read._replace(source=number[read.source], delay=read.delay + late[read.source])
        ones = np.ones(len(into), np.int64)
        joins = Terms(number[axon[into]], unit[into], delay[into], 0 * ones, ones)
        total = self.either + len(several)
        self.gone = np.zeros(total, np.bool_)
        self.gone[: self.n] = silent & (self.label < 0)
        rest = total - self.n
        self.label = np.append(self.label, np.full(rest, -1))
        self.forgets = np.append(self.forgets, np.arange(self.n, total) >= self.either)
        self.reaches = np.append(self.reaches, np.ones(rest, np.int64))
        self.rep = np.arange(total)
        return Terms(*(np.concatenate(pair) for pair in zip(read, joins, strict=True))).added_up(self.either)
