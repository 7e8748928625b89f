"""A program back into a network in ticks: sums of every neuron read off the chip, relays and copies taken out.

Nothing but the program is read. A frame of the network is a tick: frame i of a node is what its neurons fire in tick
i - 1, and frame t of an input is what arrives in tick t at the earliest. Labels decide what neurons are called and
which are kept apart, not what they compute: a wrong label gives another name, never another network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.arrays.parts_of_ticks import in_parts, ticks_of_frames
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.check.check_program import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.network.build import DRIVES
from neuromap.network.edge import MAX_DELAY, Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import SpikingNeuron
from neuromap.network.transforms import MatrixTransform, from_entries
from neuromap.proof.lifted import Lifted, LiftedInput

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def lift(program: ChipProgram, *, keep: bool = False) -> Lifted:
    """Turn a program into the network that it computes, tick for tick, for every input.

    Parameters
    ----------
    program : ChipProgram
        Mapped, written by hand or read from files of other tools; of any kind of core that says which neurons of
        networks its neurons are. Without rows of the host its inputs are all axons that no neuron feeds.
    keep : bool
        Lift all neurons in use, not only those on which an output depends.

    Returns
    -------
    Lifted
        The network, the meaning of its inputs and outputs, and what was contracted and merged.

    Raises
    ------
    InputError
        If it is no program.
    ProgramError
        If the program breaks a rule of its chip, or nothing is read out and ``keep`` is not set.
    NotSupportedError
        If a neuron draws at random or is none that networks have, the host feeds a clock, or an axon of several
        neurons is no neuron of its own without a change of ticks.
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


class _Terms(NamedTuple):
    """Sums: ``reader`` adds ``weight`` into its ``current``, ``delay`` ticks after ``source`` is 1; units by number."""

    reader: Ints
    source: Ints
    delay: Ints
    current: Ints
    weight: Ints

    def of(self, some: NDArray[Any]) -> _Terms:
        return _Terms(*(column[some] for column in self))

    def added_up(self, either: int) -> _Terms:
        """Add up what several axons bring of one source; units from ``either`` on ask only whether something comes."""
        terms = self.of(np.lexsort((self.current, self.delay, self.source, self.reader)))
        key = np.stack(terms[:4])
        head = np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))[: len(terms.reader)]
        start = np.flatnonzero(head)
        weight = np.add.reduceat(terms.weight, start) if len(start) else terms.weight
        terms = terms.of(start)._replace(weight=np.where(terms.reader[start] >= either, 1, weight))
        return terms.of(terms.weight != 0)


class _Lifter:
    """Units are neurons (core * N + neuron), then input lines, then axons with several feeders, each of which is an OR.

    ``gone`` are units without a meaning of their own: never 1, contracted, merged into another. Neurons with a label,
    those that are read out among them, are never contracted or left out, and merged only with others of it.
    """

    def __init__(self, program: ChipProgram, keep: bool) -> None:
        self.program, self.part, out = program, program.chip.kind.proof, program.outputs
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
        self.ports = [self._named(port.name) for port in program.nodes]
        self.sizes: list[int] = []  # of inputs
        terms, silent = self._sums()
        self.terms = self._joined(terms, self._feeds(silent), silent)

    def _named(self, wanted: str) -> str:
        """Find a name that network files allow and no node has."""
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

    def _sums(self) -> tuple[_Terms, Bools]:
        """Read all synapses: which axon each neuron adds up, with the neuron that it is; and those that are never 1."""
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
            low, high, clock = (
                np.bincount(of - core * n, what, n).astype(np.int64)
                for of, what in (
                    (reader[~always], np.minimum(weight, 0)[~always]),
                    (reader[~always], np.maximum(weight, 0)[~always]),
                    (neuron[always], weight[always]),
                )
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
        return _Terms(*np.concatenate(cores, axis=1)), np.concatenate([k for _, k in found])

    def _places(self) -> Ints:
        """Say which current of its neuron every compartment holds."""
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
        # Rows of a node differ by whole ticks, which are delays, but for the part and first frame, which inputs have.
        key = np.stack([host.node, start % q, host.first_frame])[:, rows].astype(np.int64)
        for node, part, first in np.unique(key, axis=1).T.tolist():
            mine = rows[(key == [[node], [part], [first]]).all(axis=0)]
            least = -((part + first * p) // q)
            begin = int(np.clip(sample[node] // q, least, (start[mine] // q).min()))
            unit = self._input(
                self.ports[node],
                LiftedInput("", program.nodes[node].name, -1, begin * q + part, first),
                program.nodes[node].size,
            )
            feeds.append(
                (self.axons[host.core[mine]] + host.axon[mine], unit + host.index[mine], start[mine] // q - begin + 1)
            )
        if not len(host):
            free = np.ones(self.axons[-1], np.bool_)
            free[feeds[0][0]] = False
            for core, size in enumerate(program.axon_counts.tolist()):
                axon = np.flatnonzero(free[self.axons[core] : self.axons[core + 1]])
                unit = self._input(f"axons{core}", LiftedInput("", "", core, 0, 0), size)
                feeds.append((self.axons[core] + axon, unit + axon, np.ones(len(axon), np.int64)))
        return tuple(np.concatenate(columns) for columns in zip(*feeds, strict=True))

    def _input(self, wanted: str, what: LiftedInput, size: int) -> int:
        """Give the neurons of another input their numbers."""
        name = wanted if wanted in self.ports and all(k.node != wanted for k in self.inputs) else self._named(wanted)
        self.inputs.append(replace(what, node=name))
        self.sizes.append(size)
        return self.n + sum(self.sizes[:-1])

    def _joined(self, synapses: _Terms, feeds: tuple[Ints, Ints, Ints], silent: Bools) -> _Terms:
        """Put the feeders of axons in the place of axons; those with several become units."""
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
        joins = _Terms(number[axon[into]], unit[into], delay[into], 0 * ones, ones)
        total = self.either + len(several)
        self.gone = np.zeros(total, np.bool_)
        self.gone[: self.n] = silent & (self.label < 0)
        rest = total - self.n
        self.label = np.append(self.label, np.full(rest, -1))
        self.forgets = np.append(self.forgets, np.arange(self.n, total) >= self.either)
        self.reaches = np.append(self.reaches, np.ones(rest, np.int64))
        self.rep = np.arange(total)
        return _Terms(*(np.concatenate(pair) for pair in zip(read, joins, strict=True))).added_up(self.either)

    # What can be taken out.

    def _cone(self, terms: _Terms) -> tuple[_Terms, Bools]:
        """Keep what the outputs depend on."""
        cone = np.zeros(len(self.gone), np.bool_)
        front = np.unique(self.rep[self.roots[~self.gone[self.rep[self.roots]]]])
        start = np.searchsorted(terms.reader, np.arange(len(cone) + 1))
        while len(front):
            cone[front] = True
            source = terms.source[ragged_ranges(start[front], start[front + 1] - start[front])]
            front = np.unique(source[~cone[source]])
        return terms.of(cone[terms.reader]), cone

    def _without_silent(self, terms: _Terms, cone: Bools) -> tuple[_Terms, int]:
        """Leave out units that are never 1: all that they may add up stays below what they spike from."""
        most = np.bincount(terms.reader, np.maximum(terms.weight, 0), len(cone))
        silent = cone & self.forgets & (most < self.reaches) & (self.label < 0)
        self.gone |= silent
        return terms.of(~silent[terms.source] & ~silent[terms.reader]), int(silent[: self.n].sum())

    def _without_relays(self, terms: _Terms) -> tuple[_Terms, int]:
        """Let readers of units that hand on one source read that source, later."""
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

    def _merged(self, terms: _Terms, cone: Bools) -> tuple[_Terms, int]:
        """Merge units that compute the same: the coarsest classes of equal neurons with equal sums over classes.

        Units of a class start alike, and what they add up in a tick is alike if all classes were in the ticks before.
        """
        unit = np.flatnonzero(cone)
        columns = [np.append(array, np.zeros(len(cone) - self.n, np.int64))[unit] for array in self.values.values()]
        kind = np.where(unit < self.n, 0, np.where(unit >= self.either, 1, unit + 2))
        _, found = np.unique(np.stack([kind, self.label[unit], *columns]), axis=1, return_inverse=True)
        of, n_classes = np.zeros(len(cone), np.int64), 0
        of[unit] = found.ravel()
        start = np.searchsorted
        while int(of[unit].max(initial=-1)) + 1 > n_classes:
            n_classes = int(of[unit].max()) + 1
            now = terms._replace(source=of[terms.source]).added_up(self.either)
            rows = np.ascontiguousarray(np.stack(now[1:], axis=1))
            ends = start(now.reader, np.append(unit, len(cone)))
            seen: dict[tuple[int, bytes], int] = {}
            each = zip(
                of[unit].tolist(),
                ends[:-1].tolist(),
                np.searchsorted(now.reader, unit, side="right").tolist(),
                strict=True,
            )
            of[unit] = [seen.setdefault((c, rows[a:b].tobytes()), len(seen)) for c, a, b in each]
        _, first = np.unique(of[unit], return_index=True)
        rep = np.arange(len(cone))
        rep[unit] = unit[first][of[unit]]
        other = rep != np.arange(len(cone))
        self.gone |= other
        self.rep = rep[self.rep]
        terms = terms.of(~other[terms.reader])
        return terms._replace(source=rep[terms.source]).added_up(self.either), int(other[: self.n].sum())

    def lifted(self) -> Lifted:
        """Take out what can be taken out, refuse what is no network, and build it."""
        terms, cone = self._cone(self.terms)
        counts = {"read": int(cone[: self.n].sum()), "contracted": 0, "merged": 0, "silent": 0}
        while True:
            terms, silent = self._without_silent(terms, cone)
            terms, contracted = self._without_relays(terms)
            terms, cone = self._cone(terms)
            terms, merged = self._merged(terms, cone)
            terms, cone = self._cone(terms)
            for name, number in (("silent", silent), ("contracted", contracted), ("merged", merged)):
                counts[name] += number
            if not (silent or contracted or merged):
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
        return self._build(
            terms, np.flatnonzero(cone), {**counts, "left": int((cone[: self.n]).sum()) + counts["joined"]}
        )

    def _require_neurons(self, unit: Ints) -> None:
        """Refuse neurons that networks do not have."""
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

    def _own_ticks(self, terms: _Terms) -> _Terms:
        """Let axons of several feeders be neurons: a tick of the way to them becomes one behind them, if they can."""
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

    # The network.

    def _build(self, terms: _Terms, unit: Ints, counts: Mapping[str, int]) -> Lifted:
        neuron = self.program.chip.kind.structure.NEURONS[0]
        settings = np.stack([self._value(name, unit) for name in neuron.settings], axis=1).tolist()
        current = np.zeros(len(self.gone), np.int64)
        np.maximum.at(current, terms.reader, terms.current)
        place: dict[int, tuple[str, int]] = {}
        held: dict[str, dict[int, int]] = {}  # units of computing nodes by index
        shared: dict[str, tuple[list[int], int]] = {}  # their settings, and neurons (0 where as many as there are)
        begin = np.append(0, np.cumsum(self.sizes)).astype(np.int64) + self.n
        groups: dict[tuple[str, int], list[str]] = {}
        for u, mine in zip(unit.tolist(), settings, strict=True):
            if self.n <= u < self.either:
                k = int(np.searchsorted(begin, u, side="right")) - 1
                place[u] = (self.inputs[k].node, u - int(begin[k]))
                continue
            wanted, index, size = self._wanted(u)
            names = groups.setdefault((wanted, size), [])
            fits = (n for n in names if shared[n][0] == mine and (index is None or index not in held[n]))
            if (name := next(fits, None)) is None:
                name = wanted if size and not names else self._named(wanted)
                names.append(name)
                shared[name], held[name] = (mine, size), {}
            place[u] = (name, len(held[name]) if index is None else index)
            held[name][place[u][1]] = u
        nodes = {
            k.node: Node(k.node, (1, 1, size))
            for k, size in zip(self.inputs, self.sizes, strict=True)
            if any(at[0] == k.node for at in place.values())
        }
        for name, of in held.items():
            size = shared[name][1] or len(of)
            at, who = np.array(list(of)), np.array(list(of.values()))
            arrays: dict[str, Ints] = {}
            for key in self.values:
                if key not in neuron.settings:
                    arrays[key] = np.full(size, self.idle[key])  # others are never 1
                    arrays[key][at] = self._value(key, who)
            nodes[name] = Node(
                name,
                (1, 1, size),
                neuron=self._neurons(
                    arrays, dict(zip(neuron.settings, shared[name][0], strict=True)), int(current[who].max())
                ),
            )
        edges = self._edges(terms, place, nodes)
        outputs = [place[int(u)] for u in self.rep[self.read]]
        network = Network(
            self.program.name, *_reached(nodes, edges), outputs=tuple(dict.fromkeys(name for name, _ in outputs))
        )
        closed = self.fed - self.axons[core := np.searchsorted(self.axons, self.fed, side="right") - 1]
        return Lifted(
            network,
            self.program.name,
            tuple(k for k in self.inputs if k.node in nodes),
            tuple(outputs),
            counts,
            np.stack([core, closed], axis=1),
            self.program.period,
        )

    def _wanted(self, unit: int) -> tuple[str, int | None, int]:
        """Say what a unit would be called: name of its node, its place there, and the size of the node, where known."""
        if unit >= self.either:
            return "either", None, 0
        if (label := int(self.label[unit])) >= 0:
            node = label >> 32
            return self.ports[node], label & 0xFFFFFFFF, self.program.nodes[node].size
        return f"core{unit // self.program.shape[1]}", None, 0

    def _value(self, name: str, unit: Ints) -> Ints:
        """Give a parameter of neurons, and of axons that became some."""
        values = np.full(len(unit), self.idle[name])
        values[unit < self.n] = self.values[name][unit[unit < self.n]]
        return values

    def _neurons(self, arrays: dict[str, Ints], settings: dict[str, int], current: int) -> SpikingNeuron:
        """Make the neurons of a node; arrays whose names end in a number are one parameter, of as many currents."""
        more: dict[str, list[Ints]] = {}
        for key in [key for key in arrays if "." in key]:
            base, _, k = key.rpartition(".")
            if int(k) <= current:
                more.setdefault(base, []).append(arrays[key])
            del arrays[key]
        return self.program.chip.kind.structure.NEURONS[0](**arrays, **settings, **more)

    def _edges(
        self, terms: _Terms, place: Mapping[int, tuple[str, int]], nodes: Mapping[str, Node]
    ) -> dict[tuple[str, str], Edge]:
        names = list(nodes)
        number = {name: k for k, name in enumerate(names)}
        where = np.zeros((len(self.gone), 2), np.int64)
        for u, (name, index) in place.items():
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
    """Give nodes that no input and no driven source reaches an edge without weights, as networks ask for one."""
    nodes, edges = dict(nodes), dict(edges)
    sources = {u for u, _ in edges}
    roots = nodes.keys() - {v for _, v in edges}
    reached = {name for name in roots & sources if nodes[name].neuron is None or _is_driven(nodes[name])}
    anchor = next((name for name in nodes if name in reached), None)
    while lost := [name for name in nodes if name not in reached]:
        new = {v for u, v in edges if u in reached} - reached
        if not new:
            if anchor is None:
                anchor = next(name for k in range(len(nodes) + 1) if (name := f"host{k or ''}") not in nodes)
                nodes = {anchor: Node(anchor, (1, 1, 1))} | nodes
                reached.add(anchor)
            empty = MatrixTransform(np.zeros((nodes[lost[0]].size, nodes[anchor].size), np.int64))
            edges[anchor, lost[0]] = Edge(anchor, lost[0], empty)
            new = {lost[0]}
        reached |= new
    return nodes, edges


def _is_driven(node: Node) -> bool:
    arrays = {} if node.neuron is None else node.neuron.arrays
    return any(bool(arrays[name].any()) for name in DRIVES & arrays.keys())
