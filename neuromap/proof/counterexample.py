"""Counterexamples: input frames for which a program's outputs differ from what its rollout defines.

They are confirmed by simulation, so nothing here needs to be trusted. The search tries, cheapest first, random
sequences of many densities side by side, sequences that make the sums of a faulty neuron disagree, all sequences if
there are few, and solutions of an integer programme. Counterexamples are made short and sparse.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools
from neuromap.arrays.frozen import ReadOnly
from neuromap.files.argument_checks import needs, refuse_swapped
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.proof.checker import Checker, Examined, disagreement
from neuromap.proof.codes import FORM, PROVEN, THRESHOLD, UNCLAIMED
from neuromap.proof.explanations import wrong_neurons
from neuromap.proof.prove import Proof
from neuromap.render.value import Card
from neuromap.rollout.cycles.sequential_values import solve_whole
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.reference_frames import reference, reference_batch
from neuromap.simulation.run.simulate import record_run
from neuromap.simulation.run.simulate_batch import BatchJob, Chips, run_parts
from neuromap.simulation.stimulus import fed_sizes
from neuromap.simulation.trace.recording import Recording

Term: TypeAlias = tuple[Any, int, int]  # a neuron of the network, or core and neuron on the chip; lag; weight

# Most neurons times frames of a programme.
_MOST_BITS = 1500


@dataclass(frozen=True, eq=False)
class FewFrames:
    """Sums of the network and of the chip's differing neurons, and the outputs to compare."""

    # by neuron of the network, or core and neuron on the chip: its terms, and the sum from which on it is 1
    sums: dict[Any, tuple[list[Term], int]]
    inputs: frozenset[int]
    outputs: list[tuple[int, tuple[int, int]]]  # neuron of the network, and core and neuron read out for it

    @classmethod
    def of(cls, program: ChipProgram, checker: Checker, examined: Examined) -> FewFrames | None:
        """Write out both; None if faults are not only of weights and thresholds, or neurons have state."""
        mine, found, kind = checker.certificate, examined.found, program.chip.kind.proof
        needed = checker.needed(found)
        if mine.state or kind is None or not np.isin(found[needed & (found > PROVEN)], (FORM, THRESHOLD)).all():
            return None
        read = mine.neuron[program.outputs.core, program.outputs.neuron]
        if (read < 0).any() or (needed & (found == UNCLAIMED)).any():
            return None
        feeds = _feeds(program, checker)
        wrong = {(int(c), int(n)) for c, n in np.argwhere(needed & (found > PROVEN))}
        chip = _behind(program, wrong, needed)
        sums: dict[Any, tuple[list[Term], int]] = {}
        for core in {core for core, _ in chip}:
            added = checker.sums(core)
            reaches, _ = kind.forgetting(program, core, added.low, added.high)
            heard = _terms(program, checker, core, feeds)
            for n in (n for c, n in chip if c == core):
                terms = [(who if who in chip else int(mine.neuron[who]) if isinstance(who, tuple) else who, lag, w)
                         for who, lag, w in heard[n]]  # fmt: skip
                sums[core, n] = terms, int(reaches[n] - added.clock[n])
        inputs, todo = set(), {int(w) for terms, _ in sums.values() for w, *_ in terms if not isinstance(w, tuple)}
        places = zip(program.outputs.core.tolist(), program.outputs.neuron.tolist(), strict=True)
        outputs = [(number, place) for number, place in zip(read.tolist(), places, strict=True) if place in chip]
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
        """Find inputs and frames to be 1 so that an output differs in the last frame; also return whether none can."""
        asked: list[tuple[Any, int]] = [(who, i) for who in self.inputs for i in range(n_frames)]
        asked += [(who, i) for who in self.sums for i in range(1, n_frames)]
        column = {one: k for k, one in enumerate(asked)}
        if len(column) > _MOST_BITS:
            return None, False
        size = len(column) + len(self.outputs)
        rows: list[tuple[dict[int, float], float, float]] = []  # upper bounds of sums
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
                lacks, beyond = max(0.0, reaches - least), max(0.0, most - reaches + 1)
                taken = defaultdict(float, {k: -w for k, w in sums.items()})
                taken[mine] += lacks
                sums[mine] -= beyond
                rows += [(taken, -math.inf, lacks - reaches), (sums, -math.inf, reaches - 1.0)]
        last = n_frames - 1
        for k, (number, place) in enumerate(self.outputs):
            net, chip, differs = column[number, last], column[place, last], len(column) + k
            rows.append(({differs: 1.0, net: -1.0, chip: -1.0}, -math.inf, 0.0))
            rows.append(({differs: 1.0, net: 1.0, chip: 1.0}, -math.inf, 2.0))
        rows.append((dict.fromkeys(range(len(column), size), -1.0), -math.inf, -1.0))  # one of them differs
        cost = [int(who in self.inputs) for who, _ in asked] + [0] * len(self.outputs)
        found = solve_whole(cost, rows, [(0, 1)] * size, mip_rel_gap=1.0, presolve=True)
        if found.x is None:
            return None, found.status == 2
        return [(who, i) for (who, i), k in column.items() if who in self.inputs and found.x[k] > 0.5], False


def _feeds(program: ChipProgram, checker: Checker) -> dict[tuple[int, int], tuple[Any, int]]:
    """Map every axon to what feeds it, and to the time of its frame 0 in parts of a tick."""
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
    """List the terms of each neuron of a core."""
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
    """Find the needed neurons that spikes of wrong ones reach, these included."""
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


# Most frames of a counterexample.
MOST_FRAMES = 64
# Most neurons times ticks times stimuli that are run side by side.
_AT_ONCE = 1 << 24
# Most input bits, of all frames together, for which all sequences are tried.
_FEW_BITS = 12
# Most faulty neurons that sequences are aimed at.
_AIMED = 8


@dataclass(frozen=True, eq=False)
class Counterexample(ReadOnly, Card):
    """Input frames, and the first spike in which the outputs of chip and network differ."""

    frames: Mapping[str, Bools]  # by input node, shape (n_frames, size); row 0 is frame 0
    node: str  # output node
    frame: int | None  # None where the chip's spike belongs to no frame
    index: int  # neuron within the node
    # core, neuron: where on the chip it is read out; None if it is not
    core: int | None
    neuron: int | None
    tick: int
    # chip, network: its value
    chip: bool
    network: bool

    @property
    def n_frames(self) -> int:
        """Number of frames, frame 0 included."""
        return len(next(iter(self.frames.values())))

    @property
    def message(self) -> str:
        """Description in one line."""
        ones = sum(int(rows.sum()) for rows in self.frames.values())
        where = "read out nowhere" if self.core is None else f"core {self.core}, neuron {self.neuron}"
        when = "outside all frames" if self.frame is None else f"frame {self.frame}"
        return (
            f"{counted(self.n_frames, 'frame')} with {counted(ones, 'spike')}: {self.node}[{self.index}] ({where}), "
            f"{when}, tick {self.tick}: chip {int(self.chip)}, network {int(self.network)}"
        )


@dataclass(frozen=True, eq=False)
class Search(Card):
    """Result of a search for a counterexample."""

    counterexample: Counterexample | None
    n_sequences: int  # sequences of frames that were simulated
    all_of: int  # number of frames for which all sequences were tried; 0 for none
    why: str  # if none was found, what that means; else empty


def find_counterexample(
    rollout: Rollout,
    program: ChipProgram,
    proof: Proof | None = None,
    *,
    n_sequences: int = 1024,
    seed: int = 0,
    shrink: bool = True,
) -> Search:
    """Search for input frames for which the outputs of a program differ from what a rollout defines.

    Parameters
    ----------
    rollout : Rollout
        Defines what should be computed.
    program : ChipProgram
        The program on the simulated chip.
    proof : Proof, optional
        Result of :func:`neuromap.prove`; its faults direct the search.
    n_sequences, seed : int
        Most random sequences, and their seed; the same seed gives the same result.
    shrink : bool
        Whether to make a counterexample short and sparse.

    Returns
    -------
    Search
        The counterexample, with as few frames and spikes as a greedy search leaves, or why there is none.

    Raises
    ------
    InputError
        If an argument is of another type, or the program's outputs cannot be simulated.
    """
    refuse_swapped("find_counterexample(rollout, program)", rollout, Rollout, program)
    needs("find_counterexample", rollout, Rollout)
    needs("find_counterexample", program, ChipProgram)
    trial = Trial(rollout, program)
    if not trial.width:
        found = trial.shown(np.zeros((MOST_FRAMES, 0), np.bool_))
        why = "" if found else f"the network has no inputs, and {MOST_FRAMES} frames show no difference"
        return Search(found, 1, MOST_FRAMES, why)
    all_of = 0
    aim = None if proof is None else _Aim(trial, proof)
    for stimuli, complete in _portions(trial, aim, np.random.default_rng(seed), n_sequences):
        hit = np.flatnonzero(trial.differs(stimuli))
        all_of = max(all_of, complete)
        if len(hit):
            bits = stimuli[hit[0]]
            found = trial.shown(shrunk(trial, bits) if shrink else bits)
            return Search(found, trial.n_sequences, all_of, "")
    reasons = [f"{counted(trial.n_sequences, 'sequence')} of frames show no difference"]
    if all_of:
        reasons.append(f"among them all of {counted(all_of, 'frame')}")
    if aim is not None and aim.unseen:
        reasons.append(f"nor does any of {counted(aim.unseen, 'frame')}, by integer programming")
    reasons.append("the fault may be unobservable")
    return Search(None, trial.n_sequences, all_of, "; ".join(reasons))


def _portions(
    trial: Trial, aim: _Aim | None, rng: np.random.Generator, n_sequences: int
) -> Iterator[tuple[Bools, int]]:
    """Make sequences, cheapest first; with their number of frames if they are all there are, else 0."""
    short, long = min(MOST_FRAMES, trial.depth + 8), MOST_FRAMES
    first = n_sequences // 2 if aim is None else min(n_sequences // 2, 32)
    yield draw(rng, first, short, trial.width), 0
    if aim is not None:
        for stimuli in aim.at_sums(rng, short):
            yield stimuli, 0
    n_frames = _FEW_BITS // trial.width
    if n_frames > 1:  # shorter ones are the beginnings of these
        yield every(n_frames, trial.width), n_frames
    if n_sequences > 1:
        yield draw(rng, n_sequences // 2, long, trial.width), 0
        if n_sequences // 2 > first:
            yield draw(rng, n_sequences // 2 - first, short, trial.width), 0
    if aim is not None:
        for solution in aim.by_programme():
            yield solution[None], 0


class Trial:
    """Runs sequences of frames on the chip and the reference; a sequence has shape (n_frames, inputs)."""

    def __init__(self, rollout: Rollout, program: ChipProgram) -> None:
        self.rollout, self.program = rollout, program
        self.sizes = fed_sizes(rollout.network)
        self.width = sum(self.sizes.values())
        self.n_sequences = 0
        self._job = BatchJob.of(program, Recording(), keep_frames=True)
        self._chips = Chips(program, EngineChoice(threads=1))  # loaded once, for all sequences
        reach = [max(t.delay for t in edge.terms) for edge in rollout.network.edges.values()]
        lags = reach if rollout.network.is_spiking else [rollout.pattern[key] for key in rollout.network.edges]
        self.depth = 2 + sum(sorted(lags)[-len(rollout.network.nodes) :])

    def frames(self, bits: Bools) -> dict[str, Bools]:
        """Split the bits by node; the last axis is that of the inputs."""
        ends = np.cumsum(list(self.sizes.values()))
        parts = np.split(bits, ends[:-1], axis=-1)
        return dict(zip(self.sizes, parts, strict=True))

    def differs(self, stimuli: Bools) -> Bools:
        """Return which sequences show a difference, or a spike that belongs to no frame."""
        found = np.zeros(len(stimuli), np.bool_)
        ticks = stimuli.shape[1] * float(self.program.period) + 1
        at_once = max(1, int(_AT_ONCE // (ticks * self.program.neuron_node.size)))
        for first in range(0, len(stimuli), at_once):
            some = stimuli[first : first + at_once]
            found[first : first + at_once] = self._differ(some)
            if found.any():  # the first will do
                break
        return found

    def _differ(self, stimuli: Bools) -> Bools:
        self.n_sequences += len(stimuli)
        frames = self.frames(stimuli)
        names = [port.name for port in self._job.neurons.nodes]
        wanted = reference_batch(self.rollout, frames, names)
        right = np.concatenate([wanted[name] for name in names], axis=2)
        found, first = np.zeros(len(stimuli), np.bool_), 0
        for part, *_ in run_parts(self._job, self._chips, [frames], 1):
            some = slice(first, first := first + len(part.counts))
            differs: Bools = np.not_equal(np.asarray(part.frames), right[some])
            found[some] = differs.any(axis=(1, 2)) | part.strays.any(axis=1)
        return found

    def shown(self, bits: Bools) -> Counterexample | None:
        """Simulate one sequence and return the first difference."""
        frames = self.frames(bits) if self.width else dict.fromkeys(self.sizes, bits)
        trace, wanted = record_run(self.program, frames, EngineChoice(threads=1)), reference(self.rollout, frames)
        seen: list[tuple[int, str, int | None, int, bool, bool]] = []
        for port in trace.nodes:
            chip, right = trace.frames(port.name), wanted[port.name]
            for frame, index in np.argwhere(chip != right)[:1].tolist():
                values = bool(chip[frame, index]), bool(right[frame, index])
                seen.append((port.tick(trace.period, frame), port.name, frame, index, *values))
            strays = trace.strays(port.name)[:1].tolist()
            seen += [(tick, port.name, None, index, True, False) for tick, index in strays]
        if not seen:
            return None
        tick, node, frame, index, is_one, should = min(seen, key=lambda one: one[0])
        outputs, names = self.program.outputs, [port.name for port in self.program.nodes]
        row = np.flatnonzero((outputs.node == names.index(node)) & (outputs.index == index))
        core, neuron = (int(table[row[0]]) if len(row) else None for table in (outputs.core, outputs.neuron))
        return Counterexample(frames, node, frame, index, core, neuron, tick, is_one, should)


def draw(rng: np.random.Generator, n: int, n_frames: int, width: int) -> Bools:
    """Draw sequences of four kinds: a density per frame, one for the whole sequence, held frames, single frames."""
    each, whole = rng.beta(0.4, 0.4, (n, n_frames, 1)), rng.beta(0.4, 0.4, (n, 1, 1))
    noise = rng.random((n, n_frames, width))
    kind = np.arange(n)[:, None, None] % 4
    held = np.repeat(noise[:, :1], n_frames, axis=1) < whole
    rare = (noise < whole) & (rng.random((n, n_frames, 1)) < 0.3)
    return np.select([kind == 0, kind == 1, kind == 2], [noise < each, noise < whole, held], rare)


def every(n_frames: int, width: int) -> Bools:
    """Make all sequences of ``n_frames`` frames."""
    bits = n_frames * width
    numbers = np.arange(1 << bits, dtype=np.int64)[:, None] >> np.arange(bits) & 1
    return numbers.reshape(-1, n_frames, width).astype(np.bool_)


def shrunk(trial: Trial, bits: Bools) -> Bools:
    """Remove frames and ones from a sequence as long as it shows a difference."""
    bits = _shortest(trial, bits)
    while True:
        fewer = [bits[1:]] if len(bits) > 2 else []
        inside = [np.delete(bits, k, axis=0) for k in range(1, len(bits))] if len(bits) > 2 else []
        kept = _first_that_differs(trial, np.stack(fewer + inside)) if fewer else None
        if kept is None:
            break
        bits = kept
    size = max(1, int(bits.sum()) // 2)
    while bits.any():
        ones = np.flatnonzero(bits)
        parts = [ones[k : k + size] for k in range(0, len(ones), size)]
        without = np.repeat(bits.reshape(1, -1), len(parts), axis=0)
        for row, part in zip(without, parts, strict=True):
            row[part] = False
        kept = _first_that_differs(trial, without.reshape(-1, *bits.shape))
        if kept is not None:
            bits = kept
        elif size == 1:
            break
        size = max(1, min(size, int(bits.sum())) // (1 if kept is not None else 2))
    return bits


def _shortest(trial: Trial, bits: Bools) -> Bools:
    """Cut a sequence after the first frame that shows a difference."""
    # A sequence shows what a longer one shows by then, but for strays after its end.
    shorter = range(2, len(bits))
    return bits[: 2 + bisect_left(shorter, True, key=lambda end: bool(trial.differs(bits[None, :end])[0]))]


def _first_that_differs(trial: Trial, stimuli: Bools) -> Bools | None:
    hit = np.flatnonzero(trial.differs(stimuli))
    return stimuli[hit[0]] if len(hit) else None


class _Aim:
    """Sequences that make a faulty neuron's sums disagree."""

    def __init__(self, trial: Trial, proof: Proof) -> None:
        self._trial, self._proof = trial, proof
        self._checker = Checker(trial.program, proof.certificate)
        self.unseen = 0  # frames of which no sequence shows the faults

    def at_sums(self, rng: np.random.Generator, n_frames: int) -> Iterator[Bools]:
        """Set the inputs of a faulty neuron so that its sums disagree; the others are drawn."""
        mine, program = self._proof.certificate, self._trial.program
        kind = program.chip.kind.proof
        column = self._columns()
        if mine.state or kind is None:
            return
        for core, n in wrong_neurons(self._checker, self._proof.examined)[:_AIMED]:
            if mine.neuron[core, n] < 0:
                continue
            sums = self._checker.sums(core)
            terms = self._checker.terms(core, n, sums)
            if not terms or any(column[source] < 0 for source, *_ in terms) or len(terms) > 2000:
                continue
            reaches = int(kind.forgetting(program, core, sums.low, sums.high)[0][n] - sums.clock[n])
            most = int(sums.high[n] - max(0, sums.clock[n]))
            number = mine.neuron[core, n]
            wanted = int(mine.threshold[number]) << int(mine.power[core, n])
            wanted = min(max(reaches, 1), most) if mine.relay[core, n] else wanted
            both = [(a, b) for *_, a, b in terms]
            for pairs, one, other in ((both, reaches, wanted), ([(b, a) for a, b in both], wanted, reaches)):
                if (sum(abs(b) for _, b in pairs) + 1) * len(pairs) > _AT_ONCE:
                    continue
                chosen = disagreement(pairs, one, other)
                if chosen is None:
                    continue
                stimuli = draw(rng, 32, n_frames, self._trial.width)
                last = max(lag for _, lag, *_ in terms)
                for frame in (last + 1, min(n_frames - 1, max(last + 1, n_frames // 2))):
                    for (source, lag, *_), is_one in zip(terms, chosen.tolist(), strict=True):
                        if 0 <= frame - lag < n_frames:
                            stimuli[:, frame - lag, column[source]] = is_one
                yield stimuli

    def by_programme(self) -> Iterator[Bools]:
        """Solve for sequences that bring a difference to an output."""
        model = FewFrames.of(self._trial.program, self._checker, self._proof.examined)
        if model is None:
            return
        column = self._columns()
        for n_frames in range(2, 7):
            found, none = model.solve(n_frames)
            if found is not None:
                bits = np.zeros((n_frames, self._trial.width), np.bool_)
                for source, frame in found:
                    bits[frame, column[source]] = True
                yield bits
            elif none:
                self.unseen = n_frames

    def _columns(self) -> NDArray[np.int64]:
        """Return the bit of every input neuron of the network; -1 for the others."""
        mine = self._proof.certificate
        column = np.full(int(mine.first[-1]), -1, np.int64)
        start = dict(zip(self._trial.sizes, np.cumsum([0, *self._trial.sizes.values()]).tolist(), strict=False))
        for name, kind, a, b in zip(mine.names, mine.kinds, mine.first[:-1], mine.first[1:], strict=True):
            if kind == "input":
                column[a:b] = start[name] + np.arange(b - a)
        return column
