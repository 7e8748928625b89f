"""From a program and faults to the program that a chip with these faults runs: engines stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.faults.effects.crossbar_strikes import crossbar_with_stuck, crossbar_without_ways, flip_bits
from neuromap.faults.effects.draw_faults import fails
from neuromap.faults.effects.fault_model import Faults
from neuromap.faults.effects.links_in_use import Links, cut_ways, links_in_use
from neuromap.faults.effects.list_strikes import flip_signs, list_with_stuck, list_without_ways
from neuromap.files.given import needs
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.neurons_in_use import further_compartments, neurons_in_use
from neuromap.simulation.engine.noise import core_numbers

__all__ = ["Count", "Struck", "strike", "with_stuck", "without_ways"]

Bools = NDArray[np.bool_]


class Count(NamedTuple):
    """How much failed."""

    struck: int  # what failed
    at_risk: int  # what could


class Struck(NamedTuple):
    """A program with faults."""

    program: ChipProgram  # the very same as before where nothing failed
    counts: Mapping[str, Count]  # by kind; of dropped spikes, which depend on the run, there is none


def strike(program: ChipProgram, faults: Faults) -> Struck:
    """Let faults strike a program.

    Parameters
    ----------
    program : ChipProgram
        Mapped for a whole chip, or written by hand.
    faults : Faults
        Dropped spikes are not the program's: runs lose them (:mod:`neuromap.faults.running.lossy_run`).

    Returns
    -------
    Struck
        The program that the chip runs now, and how much of what is at risk failed: cores of the program, links that
        its spikes would cross, neurons in use, synapses. On crossbars a synapse at risk is a crossing of an axon in use
        with a neuron in use, set or not.

    Raises
    ------
    InputError
        If they are no program and faults.
    """
    needs("strike", program, ChipProgram)
    needs("strike: faults", faults, Faults)
    now, counts = program, {}
    for kind, effect in _EFFECTS.items():
        if kind in faults.rates:
            struck, counts[kind] = effect(now, program, faults)
            now = struck if counts[kind].struck else now
    return Struck(now, ReadOnlyMapping(counts))


def without_ways(program: ChipProgram, cut: Bools) -> ChipProgram:
    """Take targets from neurons."""
    # shapes: cut (n,)
    return _OF_CORES[program.chip.core_model].without_ways(program, cut)


def with_stuck(program: ChipProgram, stuck: Bools, *, fires: bool) -> ChipProgram:
    """Let neurons never fire, or fire in every tick, whatever reaches them."""
    # shapes: stuck (C, N)
    return _OF_CORES[program.chip.core_model].with_stuck(program, stuck, fires)


def _flipped(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    found, struck, at_risk = _OF_CORES[now.chip.core_model].flipped(now, core_numbers(before), faults)
    return found, Count(struck, at_risk)


def _firing(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    stuck, count = _stuck(before, faults, "firing-neurons")
    return with_stuck(now, stuck, fires=True), count


def _silent(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    stuck, count = _stuck(before, faults, "silent-neurons")
    return with_stuck(now, stuck, fires=False), count


def _dead_cores(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    """Silence all neurons of dead cores: what still reaches them is of no effect."""
    dead = fails(faults, "dead-cores", core_numbers(before))
    stuck = np.broadcast_to(dead[:, None], before.shape)
    return with_stuck(now, stuck, fires=False), Count(int(dead.sum()), len(dead))


def _dead_links(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    links = links_in_use(before)
    dead = fails(faults, "dead-links", links.x, links.y, links.upwards)
    cut = cut_ways(before, Links(*(column[dead] for column in links)), before.wires)
    return without_ways(now, cut), Count(int(dead.sum()), len(dead))


def _stuck(program: ChipProgram, faults: Faults, kind: str) -> tuple[Bools, Count]:
    used = neurons_in_use(program) & ~further_compartments(program)
    core, neuron = np.nonzero(used)
    stuck = np.zeros_like(used)
    stuck[core, neuron] = fails(faults, kind, core_numbers(program)[core], neuron)
    return stuck, Count(int(stuck.sum()), len(core))


class _CoreEffects(NamedTuple):
    """What faults do to programs of one kind of core."""

    with_stuck: Callable[[Any, Bools, bool], ChipProgram]
    without_ways: Callable[[Any, Bools], ChipProgram]
    flipped: Callable[[Any, NDArray[np.int64], Faults], tuple[ChipProgram, int, int]]


_OF_CORES: Mapping[CoreKind, _CoreEffects] = ReadOnlyMapping(
    {
        "crossbar": _CoreEffects(crossbar_with_stuck, crossbar_without_ways, flip_bits),
        "synapse-list": _CoreEffects(list_with_stuck, list_without_ways, flip_signs),
    }
)

_EFFECTS: Mapping[str, Callable[[ChipProgram, ChipProgram, Faults], tuple[ChipProgram, Count]]] = ReadOnlyMapping(
    {
        "flipped-synapses": _flipped,
        "firing-neurons": _firing,
        "silent-neurons": _silent,
        "dead-links": _dead_links,
        "dead-cores": _dead_cores,
    }
)
"""In the order in which they are put together: what comes later outdoes what came before. A dead core is silent."""
