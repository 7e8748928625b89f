"""A program back into a network in ticks: sums of every neuron read off the chip, relays and copies taken out.

Nothing but the program is read. A frame of the network is a tick: frame i of a node is what its neurons fire in tick
i - 1, and frame t of an input is what arrives in tick t at the earliest. Labels decide what neurons are called and
which are kept apart, not what they compute: a wrong label gives another name, never another network.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.edge import MAX_DELAY
from neuromap.proof.lifted import Lifted
from neuromap.proof.unit_network import UnitNetwork
from neuromap.proof.units import Terms, Units

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


class _Lifter(Units):
    """What can be taken out of the units of a program is."""

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
        """Leave out units that are never 1: all that they may add up stays below what they spike from."""
        most = np.bincount(terms.reader, np.maximum(terms.weight, 0), len(cone))
        silent = cone & self.forgets & (most < self.reaches) & (self.label < 0)
        self.gone |= silent
        return terms.of(~silent[terms.source] & ~silent[terms.reader]), int(silent[: self.n].sum())

    def _without_relays(self, terms: Terms) -> tuple[Terms, int]:
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

    def _merged(self, terms: Terms, cone: Bools) -> tuple[Terms, int]:
        """Merge units that compute the same: the coarsest classes of equal neurons with equal sums over classes.

        Units of a class start alike, and what they add up in a tick is alike if all classes were in the ticks before.
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
        """Take out what can be taken out, refuse what is no network, and build it."""
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

    def _own_ticks(self, terms: Terms) -> Terms:
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
