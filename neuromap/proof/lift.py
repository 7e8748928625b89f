"""Lift a program to a network in ticks: read the sums of every neuron off the chip, remove relays and copies.

Only the program is read. A frame of the network is a tick: frame i of a node is what its neurons fire in tick i - 1,
and frame t of an input is what arrives in tick t at the earliest. Labels decide the names of neurons and which of them
are kept apart, not what they compute: a wrong label gives another name, never another network.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.build import DRIVES
from neuromap.network.edge import MAX_DELAY, Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import SpikingNeuron
from neuromap.network.transforms import MatrixTransform, from_entries
from neuromap.proof.lifted import Lifted, Terms, Units


class UnitNetwork:
    """Builds the network: nodes are those of the labels, or cores, whose unlabelled neurons are numbered in order."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.neuron: Any = units.program.chip.kind.structure.NEURONS[0]  # its arguments are named by the kind
        self.place: dict[int, tuple[str, int]] = {}  # node and index of every unit that is left
        self.held: dict[str, dict[int, int]] = {}  # units of computing nodes, by index
        # settings of their neurons, and the node's size; 0: as many as are held
        self.shared: dict[str, tuple[tuple[int, ...], int]] = {}

    def build(self, terms: Terms, unit: Ints, counts: Mapping[str, int]) -> Lifted:
        """Make the network of some units and all their terms."""
        units, program = self.units, self.units.program
        self._settle(unit)
        used = {name for name, _ in self.place.values()}
        inputs = [(one, size) for one, size in zip(units.inputs, units.sizes, strict=True) if one.node in used]
        nodes = {one.node: Node(one.node, (1, 1, size)) for one, size in inputs}
        current = np.zeros(len(units.gone), np.int64)
        np.maximum.at(current, terms.reader, terms.current)
        for name in self.held:
            size = self.shared[name][1] or len(self.held[name])
            nodes[name] = Node(name, (1, 1, size), neuron=self._neurons(name, size, current))
        outputs = tuple(self.place[u] for u in units.rep[units.read].tolist())
        nodes, edges = _reached(nodes, self._edges(terms, nodes))
        network = Network(program.name, nodes, edges, outputs=tuple(dict.fromkeys(name for name, _ in outputs)))
        core = np.searchsorted(units.axons, units.fed, side="right") - 1
        closed = np.stack([core, units.fed - units.axons[core]], axis=1)
        return Lifted(network, program.name, tuple(one for one, _ in inputs), outputs, counts, closed, program.period)

    def _settle(self, unit: Ints) -> None:
        """Give every unit its place; in a further node if the place is taken, or the node has other settings."""
        units = self.units
        begin = np.append(0, np.cumsum(units.sizes)).astype(np.int64) + units.n
        columns = [self._value(name, unit).tolist() for name in self.neuron.settings]
        names: dict[tuple[str, int], list[str]] = {}
        for u, mine in zip(unit.tolist(), zip(*columns, strict=True), strict=True):
            if units.n <= u < units.either:
                k = int(np.searchsorted(begin, u, side="right")) - 1
                self.place[u] = (units.inputs[k].node, u - int(begin[k]))
                continue
            wanted, index, size = self._wanted(u)
            known = names.setdefault((wanted, size), [])
            fits = (n for n in known if self.shared[n][0] == mine and (index is None or index not in self.held[n]))
            if (name := next(fits, None)) is None:
                name = wanted if size and not known else units.named(wanted)
                known.append(name)
                self.shared[name], self.held[name] = (mine, size), {}
            self.place[u] = (name, len(self.held[name]) if index is None else index)
            self.held[name][self.place[u][1]] = u

    def _wanted(self, unit: int) -> tuple[str, int | None, int]:
        """Return the node that a unit would belong to, its index there and the node's size, if known."""
        units = self.units
        if unit >= units.either:
            return "either", None, 0
        port = None if (label := int(units.label[unit])) < 0 else units.program.nodes[label >> 32]
        if port is not None and port.kind != "input":  # neurons labelled as an input do not belong to it
            return units.ports[label >> 32], label & 0xFFFFFFFF, port.size
        return f"core{unit // units.program.shape[1]}", None, 0

    def _value(self, name: str, unit: Ints) -> Ints:
        """Return a parameter of neurons, and of axons that became neurons."""
        values = np.full(len(unit), self.units.idle[name])
        values[unit < self.units.n] = self.units.values[name][unit[unit < self.units.n]]
        return values

    def _neurons(self, name: str, size: int, current: Ints) -> SpikingNeuron:
        """Make the neurons of a node; those absent from the program are never 1."""
        at, unit = (np.array(list(part), np.int64) for part in (self.held[name].keys(), self.held[name].values()))
        values: dict[str, Any] = dict(zip(self.neuron.settings, self.shared[name][0], strict=True))
        most = int(current[unit].max())
        for key in self.units.values.keys() - values.keys():
            array = np.full(size, self.units.idle[key])
            array[at] = self._value(key, unit)
            base, _, number = key.partition(".")  # parameters of further currents end in a number
            if not number:
                values[key] = array
            elif int(number) <= most:
                values.setdefault(base, {})[int(number)] = array
        given = {k: [v[n] for n in sorted(v)] if isinstance(v, dict) else v for k, v in values.items()}
        neuron: SpikingNeuron = self.neuron(**given)
        return neuron

    def _edges(self, terms: Terms, nodes: Mapping[str, Node]) -> dict[tuple[str, str], Edge]:
        names = list(nodes)
        number = {name: k for k, name in enumerate(names)}
        where = np.zeros((len(self.units.gone), 2), np.int64)
        for u, (name, index) in self.place.items():
            where[u] = number[name], index
        source, target = where[terms.source], where[terms.reader]
        key = np.stack([source[:, 0], target[:, 0], terms.delay, terms.current])
        found: dict[tuple[str, str], list[EdgeTerm]] = {}
        kinds, which = np.unique(key, axis=1, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.searchsorted(which.ravel()[order], np.arange(kinds.shape[1] + 1))
        for k, (u, v, delay, current) in enumerate(kinds.T.tolist()):
            mine = order[ends[k] : ends[k + 1]]
            shape = nodes[names[v]].size, nodes[names[u]].size
            matrix = from_entries(target[mine, 1], source[mine, 1], terms.weight[mine], shape)
            found.setdefault((names[u], names[v]), []).append(EdgeTerm(MatrixTransform(matrix), delay, current))
        return {
            (u, v): Edge(u, v, first.transform, first.delay, first.current, tuple(also))
            for (u, v), (first, *also) in found.items()
        }


def _reached(
    nodes: dict[str, Node], edges: dict[tuple[str, str], Edge]
) -> tuple[dict[str, Node], dict[tuple[str, str], Edge]]:
    """Add an edge without weights to nodes that no input or driven source reaches, as networks require one."""
    nodes, edges = dict(nodes), dict(edges)
    sources = {u for u, _ in edges}
    roots = nodes.keys() - {v for _, v in edges}
    reached = {name for name in roots & sources if nodes[name].neuron is None or _is_driven(nodes[name])}
    anchor = next((name for name in nodes if name in reached), None)
    while lost := [name for name in nodes if name not in reached]:
        new = {v for u, v in edges if u in reached} - reached
        if not new:
            if anchor is None:
                anchor = next(name for k in count() if (name := f"host{k or ''}") not in nodes)
                nodes = {anchor: Node(anchor, (1, 1, 1))} | nodes
                reached.add(anchor)
            empty = MatrixTransform(csr_array((nodes[lost[0]].size, nodes[anchor].size), dtype=np.int64))
            edges[anchor, lost[0]] = Edge(anchor, lost[0], empty)
            new = {lost[0]}
        reached |= new
    return nodes, edges


def _is_driven(node: Node) -> bool:
    arrays = {} if node.neuron is None else node.neuron.arrays
    return any(bool(arrays[name].any()) for name in DRIVES & arrays.keys())


def lift(program: ChipProgram, *, keep: bool = False) -> Lifted:
    """Lift a program to the network that it computes, tick for tick, for every input.

    Parameters
    ----------
    program : ChipProgram
        Mapped, written by hand or read from files of other tools; of any kind of core that defines its neurons as
        neurons of networks. Without rows of the host its inputs are all axons that no neuron feeds.
    keep : bool
        Lift all neurons in use, not only those on which an output depends.

    Returns
    -------
    Lifted
        The network, the meaning of its inputs and outputs, and what was contracted and merged.

    Raises
    ------
    InputError
        If it is not a program.
    ProgramError
        If the program breaks a rule of its chip, or nothing is read out and ``keep`` is not set.
    NotSupportedError
        If a neuron draws at random or is of a kind that networks lack, the host feeds a clock, or an axon of several
        neurons cannot become a neuron without a change of ticks.
    """
    needs("lift", program, ChipProgram)
    require_legal(program, mapped=False)
    if getattr(program.chip.kind.proof, "lifted", None) is None:
        raise NotSupportedError(
            f"lift: cores of {program.chip.name} are of kind {program.chip.kind.name}, which does not say what neurons "
            "of networks they hold; give a function lifted in its part proof"
        )
    if not len(program.outputs) and not keep:
        raise ProgramError(f"lift: program {program.name} reads no neuron out; lift all with keep=True (--keep)")
    return _Lifter(program, keep).lifted()


class _Lifter(Units):
    """Simplifies the units of a program."""

    def _cone(self, terms: Terms) -> tuple[Terms, Bools]:
        """Keep what the outputs depend on."""
        cone = np.zeros(len(self.gone), np.bool_)
        front = np.unique(self.rep[self.roots[~self.gone[self.rep[self.roots]]]])
        start = np.searchsorted(terms.reader, np.arange(len(cone) + 1))
        while len(front):
            cone[front] = True
            source = terms.source[ragged_ranges(start[front], start[front + 1] - start[front])]
            front = np.unique(source[~cone[source]])
        return terms.of(cone[terms.reader]), cone

    def _without_silent(self, terms: Terms, cone: Bools) -> tuple[Terms, int]:
        """Remove units that are never 1: their greatest sum stays below what they spike from."""
        most = np.bincount(terms.reader, np.maximum(terms.weight, 0), len(cone))
        silent = cone & self.forgets & (most < self.reaches) & (self.label < 0)
        self.gone |= silent
        return terms.of(~silent[terms.source] & ~silent[terms.reader]), int(silent[: self.n].sum())

    def _without_relays(self, terms: Terms) -> tuple[Terms, int]:
        """Remove units that hand on one source: their readers read that source, with more delay."""
        alone = np.bincount(terms.reader, minlength=len(self.gone))[terms.reader] == 1
        alone &= self.forgets[terms.reader] & (self.label[terms.reader] < 0) & (terms.current == 0)
        alone &= (self.reaches[terms.reader] >= 1) & (terms.weight >= self.reaches[terms.reader])
        relay = terms.reader[alone]
        then, late = np.arange(len(self.gone)), np.zeros(len(self.gone), np.int64)
        then[relay], late[relay] = terms.source[alone], terms.delay[alone]
        passes = np.zeros(len(self.gone), np.bool_)
        passes[relay] = True
        for _ in range(len(relay).bit_length()):
            late, then = np.minimum(late + late[then], 1 << 40), then[then]
        self.gone[relay] = True
        # Relays in a ring, which no other source reaches, are never 1.
        terms = terms.of(~passes[terms.reader] & ~passes[then[terms.source]])
        terms = terms._replace(source=then[terms.source], delay=terms.delay + late[terms.source])
        return terms.added_up(self.either), int((relay < self.n).sum())

    def _merged(self, terms: Terms, cone: Bools) -> tuple[Terms, int]:
        """Merge equivalent units: the coarsest classes of equal neurons with equal sums over classes.

        Units of a class start alike, and their sums in a tick are equal if all classes agreed in the ticks before.
        """
        unit = np.flatnonzero(cone)
        columns = [np.append(array, np.zeros(len(cone) - self.n, np.int64))[unit] for array in self.values.values()]
        kind = np.where(unit < self.n, 0, np.where(unit >= self.either, 1, unit + 2))
        _, found = np.unique(np.stack([kind, self.label[unit], *columns]), axis=1, return_inverse=True)
        of, n_classes = np.zeros(len(cone), np.int64), 0
        of[unit] = found.ravel()
        while int(of[unit].max(initial=-1)) + 1 > n_classes:
            n_classes = int(of[unit].max()) + 1
            now = terms._replace(source=of[terms.source]).added_up(self.either)
            rows = np.ascontiguousarray(np.stack(now[1:], axis=1))
            first, last = (np.searchsorted(now.reader, unit, side=side).tolist() for side in ("left", "right"))
            seen: dict[tuple[int, bytes], int] = {}
            each = zip(of[unit].tolist(), first, last, strict=True)
            of[unit] = [seen.setdefault((c, rows[a:b].tobytes()), len(seen)) for c, a, b in each]
        _, least = np.unique(of[unit], return_index=True)
        rep = np.arange(len(cone))
        rep[unit] = unit[least][of[unit]]
        other = rep != np.arange(len(cone))
        self.gone |= other
        self.rep = rep[self.rep]
        terms = terms.of(~other[terms.reader])
        return terms._replace(source=rep[terms.source]).added_up(self.either), int(other[: self.n].sum())

    def lifted(self) -> Lifted:
        """Simplify until nothing changes, refuse neurons that networks lack, and build the network."""
        terms, cone = self._cone(self.terms)
        counts = {"read": int(cone[: self.n].sum()), "contracted": 0, "merged": 0, "silent": 0}
        while True:
            before = int(self.gone.sum())
            terms, silent = self._without_silent(terms, cone)
            terms, contracted = self._without_relays(terms)
            terms, cone = self._cone(terms)
            terms, merged = self._merged(terms, cone)
            terms, cone = self._cone(terms)
            for name, number in (("silent", silent), ("contracted", contracted), ("merged", merged)):
                counts[name] += number
            if int(self.gone.sum()) == before:
                break
        counts["joined"] = int(cone[self.either :].sum())
        self._require_neurons(np.flatnonzero(cone[: self.n]))
        terms = self._own_ticks(terms)
        if terms.delay.max(initial=0) > MAX_DELAY:
            late = int(terms.delay.argmax())
            raise NotSupportedError(
                f"lift {self.program.name}: {self._neuron(terms.reader[late])}: reads a spike that relays hand on for "
                f"{terms.delay[late]} ticks; an edge takes {MAX_DELAY} at most, give fewer relays in a row"
            )
        if not cone.any():
            raise ProgramError(f"lift {self.program.name}: none of its neurons can spike; nothing is left to lift")
        return UnitNetwork(self).build(
            terms, np.flatnonzero(cone), {**counts, "left": int((cone[: self.n]).sum()) + counts["joined"]}
        )

    def _require_neurons(self, unit: Ints) -> None:
        """Refuse neurons that networks lack."""
        found = unit[self.wrong[unit] > 0]
        if not len(found):
            return
        number = np.bincount(self.wrong[found])
        told = [f"{self.part.NO_NEURON[k]} ({number[k]})" for k in np.flatnonzero(number).tolist()]
        first = self.part.NO_NEURON[self.wrong[found[0]]]
        raise NotSupportedError(
            f"lift {self.program.name}: {self._neuron(found[0])}: {first}, as no neuron of a network does; of "
            f"{counted(len(unit), 'neuron')} {len(found)} are none: {'; '.join(told)}; simulate the program itself"
        )

    def _own_ticks(self, terms: Terms) -> Terms:
        """Make axons of several feeders neurons: a tick of delay moves from before them to behind them, if it can."""
        delay = terms.delay.copy()
        for unit in np.unique(terms.reader[terms.reader >= self.either]).tolist():
            into, out = terms.reader == unit, terms.source == unit
            where = f"lift {self.program.name}: {self._axon(int(self.origin[unit - self.either]))}"
            if into.sum() > self.most:
                raise NotSupportedError(
                    f"{where}: {into.sum()} neurons feed it, and a sum wraps above {self.most}; feed it by fewer"
                )
            if (into & ~out).any() and delay[into & ~out].min() > 1:
                delay[into] -= 1
                delay[out] += 1
            elif delay[out].min() < 1:
                raise NotSupportedError(
                    f"{where}: {into.sum()} sources feed it, whose spikes of one tick count as one; as a neuron of its "
                    "own it takes a tick, and one of them is 1 tick away; give them delays of 2 and more"
                )
        return terms._replace(delay=delay)
