"""An integer programme whose solutions are frames that bring a fault to an output.

Network and program are written out over a few frames side by side; neurons that forget are linear constraints. Neurons
on the chip that nothing wrong reaches are those of the network, so only the cone behind the faults is doubled.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.proof.checker import Checker, Examined
from neuromap.proof.codes import FORM, PROVEN, THRESHOLD, UNCLAIMED

Term: TypeAlias = tuple[Any, int, int]  # a neuron of the network, or core and neuron on the chip; lag; weight

_MOST_BITS = 1500
"""Neurons times frames that a programme may have."""
_NODES = 2000
"""Nodes of the search tree; no limit of time, so that the same faults give the same frames."""


@dataclass(frozen=True, eq=False)
class FewFrames:
    """Sums of the network and of what differs on the chip, and what to compare."""

    # what is 1 from which sum of which terms on: a neuron of the network, or core and neuron on the chip
    sums: dict[Any, tuple[list[Term], int]]
    inputs: frozenset[int]
    outputs: list[tuple[int, tuple[int, int]]]  # neuron of the network, and what is read out for it

    @classmethod
    def of(cls, program: ChipProgram, checker: Checker, examined: Examined) -> FewFrames | None:
        """Write out both; None where what is wrong is no matter of weights and thresholds, or of neurons with state."""
        mine, found, kind = checker.certificate, examined.found, program.chip.kind.proof
        needed = checker.needed(found)
        if mine.state or kind is None or not np.isin(found[needed & (found > PROVEN)], (FORM, THRESHOLD)).all():
            return None
        if (needed & (found == UNCLAIMED)).any() or (
            mine.neuron[program.outputs.core, program.outputs.neuron] < 0
        ).any():
            return None
        feeds = _feeds(program, checker)
        wrong = {(int(c), int(n)) for c, n in np.argwhere(needed & (found > PROVEN))}
        chip = _behind(program, wrong, needed)
        sums: dict[Any, tuple[list[Term], int]] = {}
        for core in {core for core, _ in chip}:
            added = checker.sums(core)
            reaches, _ = kind.forgetting(program, core, added.low, added.high)
            read = _terms(program, checker, core, feeds)
            for n in (n for c, n in chip if c == core):
                terms = [(who if who in chip else int(mine.neuron[who]) if isinstance(who, tuple) else who, lag, w)
                         for who, lag, w in read[n]]  # fmt: skip
                sums[core, n] = terms, int(reaches[n] - added.clock[n])
        inputs, todo = set(), {int(w) for terms, _ in sums.values() for w, *_ in terms if not isinstance(w, tuple)}
        outputs = [
            (int(mine.neuron[c, n]), (c, n))
            for c, n in zip(program.outputs.core.tolist(), program.outputs.neuron.tolist(), strict=True)
            if (c, n) in chip
        ]
        todo |= {number for number, _ in outputs}
        is_input = np.repeat(np.array([k == "input" for k in mine.kinds]), np.diff(mine.first))
        while todo:
            number = todo.pop()
            if is_input[number]:
                inputs.add(number)
            elif number not in sums:
                some = slice(*mine.start[number : number + 2].tolist())
                columns = (mine.source[some], mine.lag[some], mine.weight[some])
                terms = list(zip(*(column.tolist() for column in columns), strict=True))
                sums[number] = terms, int(mine.threshold[number])
                todo |= {source for source, *_ in terms}
        return cls(sums, frozenset(inputs), outputs) if outputs else None

    def solve(self, n_frames: int) -> tuple[list[tuple[int, int]] | None, bool]:
        """Give inputs and frames that are 1 so that an output differs in the last frame; and whether none can."""
        column: dict[tuple[Any, int], int] = {}
        for who in self.inputs:
            column |= {(who, i): len(column) + i for i in range(n_frames)}
        for who in self.sums:
            first = len(column)
            column |= {(who, i): first + i - 1 for i in range(1, n_frames)}
        if len(column) > _MOST_BITS:
            return None, False
        size = len(column) + len(self.outputs)
        rows: list[dict[int, float]] = []
        high: list[float] = []
        for who, (terms, reaches) in self.sums.items():
            for i in range(1, n_frames):
                sums: dict[int, float] = defaultdict(float)
                for source, lag, weight in terms:
                    if (source, i - lag) in column:
                        sums[column[source, i - lag]] += weight
                least = sum(w for w in sums.values() if w < 0)
                most = sum(w for w in sums.values() if w > 0)
                mine = column[who, i]
                # sum >= reaches where it is 1, sum <= reaches - 1 where it is 0
                rows += [_with({k: -w for k, w in sums.items()}, mine, max(0.0, reaches - least))]
                high += [-reaches + max(0.0, reaches - least)]
                rows += [_with(dict(sums), mine, -max(0.0, most - reaches + 1))]
                high += [reaches - 1.0]
        last = n_frames - 1
        for k, (number, place) in enumerate(self.outputs):
            net, chip, differs = column[number, last], column[place, last], len(column) + k
            rows += [{differs: 1.0, net: -1.0, chip: -1.0}, {differs: 1.0, net: 1.0, chip: 1.0}]
            high += [0.0, 2.0]
        rows += [{len(column) + k: -1.0 for k in range(len(self.outputs))}]
        high += [-1.0]  # one of them differs
        at = [(r, c, v) for r, row in enumerate(rows) for c, v in row.items()]
        matrix = sparse.csr_array(
            ([v for *_, v in at], ([r for r, *_ in at], [c for _, c, _ in at])), shape=(len(rows), size)
        )
        cost = np.zeros(size)
        cost[[column[who, i] for who in self.inputs for i in range(n_frames)]] = 1
        found = milp(
            cost,
            integrality=np.ones(size, np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, ub=np.array(high)),
            options={"node_limit": _NODES, "mip_rel_gap": 1.0},
        )
        if found.x is None:
            return None, found.status == 2
        return [(who, i) for who in self.inputs for i in range(n_frames) if found.x[column[who, i]] > 0.5], False


def _with(row: dict[int, float], column: int, value: float) -> dict[int, float]:
    row[column] = row.get(column, 0.0) + value
    return row


def _feeds(program: ChipProgram, checker: Checker) -> dict[tuple[int, int], tuple[Any, int]]:
    """Give what feeds every axon, and the part of a tick at which its frame 0 is there."""
    mine, host, q = checker.certificate, program.host, program.period.denominator
    wires = program.wires
    feeds: dict[tuple[int, int], tuple[Any, int]] = {}
    columns = (wires.core, wires.neuron, wires.target_core, wires.target_axon, wires.delay)
    for core, neuron, target, axon, delay in zip(*(column.tolist() for column in columns), strict=True):
        feeds[target, axon] = (core, neuron), int(mine.begin[core, neuron]) + delay * q
    arrival = host.exact_arrival(program.period).tolist()
    for row in np.flatnonzero(host.node != BIAS).tolist():
        number = int(mine.first[host.node[row]] + host.index[row])
        feeds[int(host.core[row]), int(host.axon[row])] = number, arrival[row]
    return feeds


def _terms(
    program: ChipProgram, checker: Checker, core: int, feeds: dict[tuple[int, int], tuple[Any, int]]
) -> dict[int, list[Term]]:
    """List what each neuron of a core adds up."""
    axons = np.array(sorted(axon for c, axon in feeds if c == core), np.int64)
    synapses = program.synapses_of(np.full(len(axons), core), axons)
    terms: dict[int, list[Term]] = defaultdict(list)
    columns = (axons[synapses.row], synapses.neuron, synapses.weight, synapses.delay)
    for axon, n, weight, delay in zip(*(column.tolist() for column in columns), strict=True):
        who, begin = feeds[core, axon]
        late = begin + delay * program.period.denominator - int(checker.certificate.begin[core, n])
        if weight:
            terms[n].append((who, late // program.period.numerator, weight))
    return terms


def _behind(program: ChipProgram, wrong: set[tuple[int, int]], needed: NDArray[np.bool_]) -> set[tuple[int, int]]:
    """Find the neurons that spikes of some reach, they among them, of those on which an output depends."""
    wires = program.wires
    to: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    columns = (wires.core, wires.neuron, wires.target_core, wires.target_axon)
    for core, neuron, target, axon in zip(*(column.tolist() for column in columns), strict=True):
        to[core, neuron].append((target, axon))
    found, todo = set(wrong), list(wrong)
    while todo:
        for target, axon in to[todo.pop()]:
            synapses = program.synapses_of(np.array([target]), np.array([axon]))
            for n in synapses.neuron[synapses.weight != 0].tolist():
                if needed[target, n] and (target, n) not in found:
                    found.add((target, n))
                    todo.append((target, n))
    return found
