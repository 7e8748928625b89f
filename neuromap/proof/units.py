"""Neurons, inputs and axons of a program as units with sums: what becomes a network, read off the chip."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.parts_of_ticks import in_parts, ticks_of_frames
from neuromap.errors import NotSupportedError
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.proof.lifted import LiftedInput


class Terms(NamedTuple):
    """Sums: ``reader`` adds ``weight`` into its ``current``, ``delay`` ticks after ``source`` is 1; units by number."""

    reader: Ints
    source: Ints
    delay: Ints
    current: Ints
    weight: Ints

    def of(self, some: NDArray[Any]) -> Terms:
        """Take some of them."""
        return Terms(*(column[some] for column in self))

    def added_up(self, either: int) -> Terms:
        """Add up what several axons bring of one source; units from ``either`` on ask only whether something comes."""
        terms = self.of(np.lexsort((self.current, self.delay, self.source, self.reader)))
        key = np.stack(terms[:4])
        head = np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0))[: len(terms.reader)]
        start = np.flatnonzero(head)
        weight = np.add.reduceat(terms.weight, start) if len(start) else terms.weight
        terms = terms.of(start)._replace(weight=np.where(terms.reader[start] >= either, 1, weight))
        return terms.of(terms.weight != 0)


class Units:
    """Units are neurons (core * N + neuron), then input lines, then axons with several feeders, each of which is an OR.

    ``gone`` are units without a meaning of their own: never 1, contracted, merged into another. Neurons with a label,
    those that are read out among them, are never contracted or left out, and merged only with others of it.
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

    def _sums(self) -> tuple[Terms, Bools]:
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
        return Terms(*np.concatenate(cores, axis=1)), np.concatenate([k for _, k in found])

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
        axons, units, delays = (np.concatenate(columns) for columns in zip(*feeds, strict=True))
        return axons, units, delays

    def _input(self, wanted: str, what: LiftedInput, size: int) -> int:
        """Give the neurons of another input their numbers."""
        name = wanted if wanted in self.ports and all(k.node != wanted for k in self.inputs) else self.named(wanted)
        self.inputs.append(replace(what, node=name))
        self.sizes.append(size)
        return self.n + sum(self.sizes[:-1])

    def _joined(self, synapses: Terms, feeds: tuple[Ints, Ints, Ints], silent: Bools) -> Terms:
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
