"""Certificate checker: whether a program computes a network in ticks, for every input and all time.

It is meant to be read as a whole. It imports NumPy and readers of programs, no mapper, no simulator, no rollout; the
lemmas that it relies on are proven in ``docs/theorems/program-proofs.md``, under the numbers given here.

A *claim* states that a neuron on the chip spikes in the ticks of frames i >= 1 in which ``neuron`` of the network is 1,
and in no other tick; its frame i is in tick floor((begin + i p) / q) for a frame period of p / q ticks (Lemma 1).
By induction, claims are assumed up to one tick and shown for the next: all delays are one tick or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS
from neuromap.proof import codes
from neuromap.proof.partial_sums import PartialSums

# Greatest size of a decision over all sums: 128 MiB of answers.
_LARGEST = 1 << 27
# Most entries of a dense table of all sums of a core.
_DENSE = 1 << 22


@dataclass(frozen=True, eq=False)
class TickNetwork(ReadOnly):
    """The network to compute, in ticks: G neurons, T terms of their sums."""

    # names, kinds, first: of every node the name, "input", "hidden" or "output", and the number of its first neuron;
    # first ends with G
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    first: Ints
    # start, source, lag, current, weight: neuron g sums terms ``start[g]`` to ``start[g + 1] - 1``: it adds ``weight``
    # to its ``current`` if ``source`` was 1 ``lag`` frames before
    start: Ints
    source: NDArray[np.int32]
    lag: NDArray[np.int16]
    current: NDArray[np.int8]
    weight: NDArray[np.int32]
    threshold: Ints  # (G,): a neuron without state is 1 iff its sum reaches it
    state: Mapping[str, Ints]  # parameters of neurons with state, shape (G,) each; empty if neurons have none


@dataclass(frozen=True, eq=False)
class Certificate(TickNetwork):
    """A network in ticks, and claims about a program."""

    # neuron, begin: (C, N): claim of every neuron on the chip: a neuron of the network, tick of frame 0 in parts
    neuron: Ints
    begin: Ints
    part: Ints  # (C, N): which current of that neuron it holds
    relay: Bools  # (C, N): whether it relays that neuron's value; else it computes it
    holds: Bools  # (C, N): neurons claimed to hold a part of a sum instead
    power: Ints  # (C, N): k if its weights and threshold are the network's times 2^k
    silent: Bools  # (G,): neurons that are never 1
    program: str = ""  # digest of the program


@dataclass(frozen=True, eq=False)
class Sums(ReadOnly):
    """Sums of the neurons of a core in a frame, compared with the network's."""

    # (N,): least and greatest sum, and what the host adds in every frame
    low: Ints
    high: Ints
    clock: Ints
    asked: Ints  # (N,): sum from which on they spike, if that is not a threshold in one tick; else ABSENT
    found: NDArray[np.uint8]  # (N,): code of what is wrong with their inputs; 0 for nothing
    # neuron, source, lag, current, weight, wanted: terms that differ; weight on the chip and in the network
    neuron: Ints
    source: Ints
    lag: Ints
    current: Ints
    weight: Ints
    wanted: Ints


@dataclass(frozen=True, eq=False)
class Examined(ReadOnly):
    """Result of the checker."""

    found: NDArray[np.uint8]  # (C, N): for every neuron on the chip, one of the ``codes``
    faults: tuple[str, ...]  # what is wrong, one line each

    @property
    def holds(self) -> bool:
        """Whether everything that an output depends on is proven."""
        return not self.faults


class Checker:
    """Checks one program against one certificate."""

    def __init__(self, program: ChipProgram, certificate: Certificate) -> None:
        kind = program.chip.kind.proof
        assert kind is not None, "asked before"
        # Neurons that hold a part of a sum, or a further current of a neuron, spike as no neuron of the network does.
        nobody = certificate.holds | program.further_compartments
        certificate = replace(certificate, neuron=np.where(nobody, codes.NOBODY, certificate.neuron))
        self.program, self.certificate, self._kind = program, certificate, kind
        self._p, self._q = program.period.numerator, program.period.denominator
        self.first_axon = np.append(0, np.cumsum(program.axon_counts)).astype(np.int64)
        self._place = np.full(int(certificate.first[-1]), -1, np.int64)
        self._soma = program.soma.reshape(program.shape) - np.arange(program.n_cores)[:, None] * program.shape[1]
        self._feed()
        self._parts = PartialSums(program, certificate.holds, self.synapses, self.is_input)

    def _feed(self) -> None:
        """Find the signal of every axon: its neuron of the network, the tick of its frame 0, its first frame."""
        program, host, mine = self.program, self.program.host, self.certificate
        wires = program.wires
        fed = np.where(host.node == BIAS, codes.CLOCK, mine.first[host.node] + host.index)
        source, holds = mine.neuron[wires.core, wires.neuron], mine.holds[wires.core, wires.neuron]
        begin = np.where(holds, 0, mine.begin[wires.core, wires.neuron])
        number = np.where(holds, wires.core * program.shape[1] + wires.neuron, 1)
        row = np.concatenate(
            [self.first_axon[wires.target_core] + wires.target_axon, self.first_axon[host.core] + host.axon]
        )
        sent = (
            np.where(holds, codes.PART, np.where(source == codes.NOBODY, codes.CLASH, source)),
            begin + wires.delay * self._q,
            number,
        )
        given = (fed, host.exact_arrival(program.period), host.first_frame.astype(np.int64))
        signal = np.concatenate([np.stack(sent), np.stack(given)], axis=1)
        self.signal = np.full((3, self.first_axon[-1]), codes.NOBODY, np.int64)
        self.signal[:, row] = signal  # the last of several; if another differs, they clash
        self.signal[0, row[(self.signal[:, row] != signal).any(axis=0)]] = codes.CLASH

    def synapses(self, core: int) -> tuple[Ints, Ints, Ints, Ints]:
        """List the somata and neurons that the synapses of a core feed, the signal over each, and its axon."""
        axons = np.flatnonzero(self.signal[0, self.first_axon[core] : self.first_axon[core + 1]] != codes.NOBODY)
        synapses = self.program.synapses_of(np.full(len(axons), core), axons)
        some = np.flatnonzero(synapses.weight)
        axon, neuron = axons[synapses.row[some]], synapses.neuron[some]
        source, begin, first = self.signal[:, self.first_axon[core] + axon]
        arrival = begin + synapses.delay[some] * self._q
        return self._soma[core, neuron], neuron, np.stack([source, arrival, first, synapses.weight[some]]), axon

    def sums(self, core: int) -> Sums:
        """Compare the sums of a core's neurons with the network's (Lemma 2)."""
        mine, n = self.certificate, self.program.shape[1]
        soma, neuron, rows, _ = self.synapses(core)
        wide = self._parts.gather(core, mine.begin[core], soma, rows)
        soma, neuron, source, arrival, first, weight = (column[~wide.told] for column in (soma, neuron, *rows))
        lag, off = np.divmod(arrival - mine.begin[core, soma], self._p)
        low = np.bincount(soma, np.minimum(weight, 0), n).astype(np.int64) + wide.low
        high = np.bincount(soma, np.maximum(weight, 0), n).astype(np.int64) + wide.high
        found = np.zeros(n, np.uint8)
        is_clock, is_input = source == codes.CLOCK, self.is_input(source)
        # In order of severity, as the last code written is the one reported.
        found[soma[(is_clock & (first + lag != 1)) | (is_input & (first != np.maximum(0, 1 - lag)))]] = codes.FIRST
        found[soma[(off != 0) | (lag < 0)]] = codes.ALIGNED
        found[soma[source == codes.CLASH]] = codes.SHARED
        found[wide.found > 0] = wide.found[wide.found > 0]
        clock = np.bincount(soma[is_clock], weight[is_clock], n).astype(np.int64)
        good = (source >= 0) & (off == 0) & (lag >= 0)
        here = (soma[good], source[good], lag[good], mine.part[core, neuron[good]], weight[good])
        chip = [np.concatenate(pair) for pair in zip(here, wide.terms, strict=True)]
        chip = [column[~mine.silent[chip[1]]] for column in chip]
        return Sums(low, high, clock, wide.asked, found, *self._differences(core, chip, high - np.maximum(clock, 0)))

    def is_input(self, source: Ints) -> Bools:
        """Return which neurons of the network are inputs."""
        node = np.searchsorted(self.certificate.first, source, side="right") - 1
        kinds = np.array([kind == "input" for kind in self.certificate.kinds] + [False])
        return np.where(source >= 0, kinds[node], False)

    def _differences(self, core: int, chip: list[Ints], most: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        """List the terms whose weights on the chip and in the network differ."""
        wanted = self._wanted(core, np.flatnonzero(self._claimed(core)), most)
        neuron, source, lag, current, weight = (np.concatenate(pair) for pair in zip(chip, wanted, strict=True))
        split = len(chip[0])
        sources = np.unique(source)
        self._place[sources] = np.arange(len(sources))
        # one number for every pair of a neuron and a term: small, so that all can be added up in a table
        lags, currents = np.unique(lag), int(current.max(initial=0)) + 1
        column = (self._place[source] * len(lags) + np.searchsorted(lags, lag)) * currents + current
        key = neuron * (len(sources) * len(lags) * currents) + column
        size = self.program.shape[1] * len(sources) * len(lags) * currents
        if size <= _DENSE:
            shown, kept = key, np.arange(size)
        else:
            kept, shown = np.unique(key, return_inverse=True)
        there = np.bincount(shown[:split], weight[:split], len(kept)).astype(np.int64)
        here = np.bincount(shown[split:], weight[split:], len(kept)).astype(np.int64)
        differs = np.flatnonzero(there != here)
        rest, which = np.divmod(kept[differs], currents)
        rest, at = np.divmod(rest, max(1, len(lags)))
        neuron, place = np.divmod(rest, max(1, len(sources)))
        return neuron, sources[place], lags[at], which, there[differs], here[differs]

    def _claimed(self, core: int) -> Bools:
        claimed: Bools = self._soma[core] == np.arange(self.program.shape[1])
        claimed[self.certificate.neuron[core] == codes.NOBODY] = False
        return claimed

    def _wanted(self, core: int, claimed: Ints, most: Ints) -> tuple[Ints, ...]:
        """List the network's terms of claimed neurons; a relay has one, its own neuron, of any weight."""
        mine = self.certificate
        number = mine.neuron[core, claimed]
        length = np.where(mine.relay[core, claimed], 0, mine.start[number + 1] - mine.start[number])
        ends = np.cumsum(length)
        term = np.repeat(mine.start[number] - (ends - length), length) + np.arange(ends[-1] if len(ends) else 0)
        term_neuron = np.repeat(claimed, length)
        heard = ~mine.silent[mine.source[term]]
        term, term_neuron = term[heard], term_neuron[heard]
        relay = claimed[mine.relay[core, claimed] & ~mine.silent[number]]
        nothing = np.zeros(len(relay), np.int64)
        columns = [(term_neuron, relay), (mine.source[term], mine.neuron[core, relay]), (mine.lag[term], nothing)]
        columns += [(mine.current[term], nothing), (mine.weight[term], np.maximum(most[relay], 1))]
        wanted = [np.concatenate(pair).astype(np.int64) for pair in columns]
        wanted[-1] <<= np.where(mine.relay[core, wanted[0]], 0, mine.power[core, wanted[0]])
        return tuple(wanted)

    def core(self, core: int) -> NDArray[np.uint8]:
        """Check the claims of a core; return codes, shape (N,)."""
        mine, sums, kind = self.certificate, self.sums(core), self._kind
        number = mine.neuron[core]
        claimed = self._claimed(core)
        keeps = claimed & ~mine.relay[core] if mine.state else np.zeros(len(number), np.bool_)
        reaches, found = kind.forgetting(self.program, core, sums.low, sums.high)
        found[claimed & (reaches <= 0)] = codes.STRAY
        asked = sums.asked != codes.ABSENT
        reaches[asked], found[asked] = sums.asked[asked], 0
        # No threshold makes up for wrong inputs of a neuron.
        found = np.where(sums.found, sums.found, found)
        differs = np.zeros(len(number), np.bool_)
        differs[sums.neuron] = True
        low, high = sums.low - np.minimum(sums.clock, 0), sums.high - np.maximum(sums.clock, 0)
        reaches = reaches - sums.clock
        wanted = np.where(
            mine.relay[core], np.clip(reaches, 1, np.maximum(high, 1)), mine.threshold[number] << mine.power[core]
        )
        never, always = np.minimum(reaches, wanted) > high, np.maximum(reaches, wanted) <= low
        same = np.where(never | always, codes.CLIPPED, 0)
        same[reaches == wanted], same[differs] = codes.EQUAL, 0
        for n in np.flatnonzero(claimed & ~keeps & (found == 0) & (same == 0)).tolist():
            same[n] = self._decide(core, n, int(reaches[n]), int(wanted[n]), sums)
        found = np.where(found == 0, same, found).astype(np.uint8)
        if keeps.any():
            values = {name: array[number] for name, array in mine.state.items()}
            code = kind.remembering(self.program, core, values, mine.part[core], mine.power[core], sums.low, sums.high)
            code[differs | (sums.clock != 0) | asked] = codes.FORM
            found = np.where(keeps, np.where(sums.found, sums.found, np.where(code, code, codes.STATE)), found)
        # Neurons with state must begin with their frame 1; others may rest until then.
        one = mine.begin[core] + self._p
        found[(claimed & (one < 0)) | (keeps & ((one != 0) | (self._p != self._q)))] = codes.EARLY
        return np.where(claimed, found, self._parts.found(core)).astype(np.uint8)

    def _decide(self, core: int, n: int, reaches: int, wanted: int, sums: Sums) -> int:
        """Decide exactly whether two sums always pass their thresholds together (Lemmas 4 and 5)."""
        here = self.terms(core, n, sums)
        both, turned = [(a, b) for *_, a, b in here], [(b, a) for *_, a, b in here]
        differs = (sums.neuron == n).any()
        if (1 + differs * len(here)) * sum(max(abs(a), abs(b)) for a, b in both) > _LARGEST:
            return codes.FORM if differs else codes.THRESHOLD  # undecided
        if differs:
            found = disagreement(both, reaches, wanted), disagreement(turned, wanted, reaches)
            return codes.EXACT if all(choice is None for choice in found) else codes.FORM
        low, high = sorted((reaches, wanted))
        return codes.THRESHOLD if reachable([a for a, _ in both], low, high) else codes.GAP

    def terms(self, core: int, n: int, sums: Sums | None = None) -> list[tuple[int, int, int, int, int]]:
        """List the terms of a neuron's sum: source, lag, current, weight on the chip, and in the network."""
        sums = self.sums(core) if sums is None else sums
        mask = sums.neuron == n
        columns = (sums.source, sums.lag, sums.current, sums.weight, sums.wanted)
        other = list(zip(*(column[mask].tolist() for column in columns), strict=True))
        _, source, lag, current, weight = self._wanted(core, np.array([n]), sums.high - np.maximum(sums.clock, 0))
        told = {term[:3] for term in other}
        same = zip(source.tolist(), lag.tolist(), current.tolist(), weight.tolist(), strict=True)
        return other + [(s, b, c, w, w) for s, b, c, w in same if (s, b, c) not in told]

    def examine(self) -> Examined:
        """Check all claims, and whether they suffice: outputs are claimed, and everything they depend on is proven."""
        found = np.stack([self.core(core) for core in range(self.program.n_cores)])
        faults = [*self._silence(), *self._ports(), *self._outputs()]
        wrong = self.needed(found) & ((found > codes.PROVEN) | (found == codes.UNCLAIMED))
        faults += [f"core {c}, neuron {n}: {codes.REASONS[int(found[c, n])]}" for c, n in np.argwhere(wrong).tolist()]
        return Examined(found, tuple(faults))

    def needed(self, found: NDArray[np.uint8]) -> Bools:
        """Find the neurons on which an output depends, shape (C, N); only the outputs if all claims are proven."""
        program, outputs = self.program, self.program.outputs
        needed = np.zeros(program.shape, np.bool_)
        needed[outputs.core, outputs.neuron] = True
        if (found[self.certificate.neuron != codes.NOBODY] <= codes.PROVEN).all():
            return needed  # a proven neuron reads claimed ones only
        wires = program.wires
        axon = self.first_axon[wires.target_core] + wires.target_axon
        order = np.argsort(axon, kind="stable")
        axon, sender = axon[order], (wires.core[order], wires.neuron[order])
        todo = set(outputs.core.tolist())
        looked = np.zeros(program.shape, np.bool_)
        while todo:
            core = todo.pop()
            axons = np.arange(self.first_axon[core + 1] - self.first_axon[core])
            synapses = program.synapses_of(np.full(len(axons), core), axons)
            new = needed[core] & ~looked[core]
            looked[core] |= new
            read = np.unique(synapses.row[(synapses.weight != 0) & new[self._soma[core, synapses.neuron]]])
            first, last = (np.searchsorted(axon, self.first_axon[core] + read, side=side) for side in ("left", "right"))
            for k in np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)] or [first]).tolist():
                if not needed[sender[0][k], sender[1][k]]:
                    needed[sender[0][k], sender[1][k]] = True
                    todo.add(int(sender[0][k]))
        return needed

    def _silence(self) -> Iterator[str]:
        """Check that neurons claimed to be never 1 are not, assuming so of the others (Lemma 6)."""
        mine = self.certificate
        if not mine.silent.any():
            return
        if mine.state:
            yield "neurons with state are said to be never 1, which nothing shows"
        heard = np.where(mine.silent[mine.source], 0, np.maximum(mine.weight, 0)).astype(np.int64)
        most = np.diff(np.append(0, np.cumsum(heard))[mine.start])
        for number in np.flatnonzero(mine.silent & ((most >= mine.threshold) | self.is_input(np.arange(len(most))))):
            yield f"neuron {number} of the network: is said to be never 1, and may be"

    def _ports(self) -> Iterator[str]:
        program, mine, host = self.program, self.certificate, self.program.host
        expected = list(zip(mine.names, np.diff(mine.first).tolist(), mine.kinds, strict=True))
        if [(port.name, port.size, port.kind) for port in program.nodes] != expected:
            yield "the nodes of program and certificate differ"
        first = (host.exact_arrival(program.period) + host.first_frame.astype(np.int64) * self._p) // self._q
        for row in np.flatnonzero(first < 0).tolist():
            yield f"host row {row}: its first frame comes before tick 0"

    def _outputs(self) -> Iterator[str]:
        program, mine, outputs = self.program, self.certificate, self.program.outputs
        sample = np.array([int(port.sample_tick * self._q) for port in program.nodes])
        number = mine.first[outputs.node] + outputs.index
        claim, begin = mine.neuron[outputs.core, outputs.neuron], mine.begin[outputs.core, outputs.neuron]
        for row in np.flatnonzero((claim != number) | (begin != sample[outputs.node])).tolist():
            yield f"output row {row}: nothing says that the neuron it reads is the one it names, in that tick"
        for row in np.flatnonzero(np.bincount(number, minlength=int(mine.first[-1])) > 1).tolist():
            yield f"neuron {row} of the network: is read out twice"
        for node, kind in enumerate(mine.kinds):
            mute = np.setdiff1d(np.arange(*mine.first[node : node + 2]), number) if kind == "output" else number[:0]
            if len(mute) and not mine.silent[mute].all():
                yield f"node {mine.names[node]}: {len(mute)} neurons are not read out and may be 1"


def reachable(weights: list[int], low: int, high: int) -> bool:
    """Return whether a sum of some of the weights lies from ``low`` to ``high - 1`` (Lemma 4)."""
    base = sum(w for w in weights if w < 0)
    low, high = max(low, base), min(high, base + sum(map(abs, weights)) + 1)
    if low >= high:
        return False
    sums = 1  # bit k: whether base + k is a sum of some weights so far
    for weight in weights:
        sums |= sums << abs(weight)
    return bool(sums >> low - base & (1 << high - low) - 1)


def disagreement(weights: list[tuple[int, int]], first: int, second: int) -> Bools | None:
    """Find pairs whose left sum reaches ``first``, but whose right sum is below ``second`` (Lemma 5); None if none."""
    base, span = sum(w for _, w in weights if w < 0), sum(abs(w) for _, w in weights) + 1
    none = np.iinfo(np.int64).min // 2
    best = np.full(span, none)  # greatest left sum for every right sum, base + k
    best[-base if base < 0 else 0] = 0
    taken = np.zeros((len(weights), span), np.bool_)
    for k, (left, right) in enumerate(weights):
        moved = np.full(span, none)
        if right >= 0:
            moved[right:] = best[: span - right] + left
        else:
            moved[:right] = best[-right:] + left
        taken[k] = moved > best
        best = np.maximum(best, moved)
    allowed = best[: max(0, second - base)]
    if not len(allowed) or int(allowed.max()) < first:
        return None
    at, chosen = int(np.argmax(allowed)), np.zeros(len(weights), np.bool_)
    for k in range(len(weights) - 1, -1, -1):
        if taken[k, at]:
            chosen[k] = True
            at -= weights[k][1]
    return chosen
