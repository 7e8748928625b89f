"""From a program and faults to the program that a chip with these faults runs: engines stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.faults.options import EVERY_KIND, Faults
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_spec import Defects
from neuromap.hardware.program.chip_program import ChipProgram, Wires
from neuromap.hardware.program.dead_routes import route_blocked
from neuromap.simulation.engine.noise import core_numbers, mix
from neuromap.simulation.noc.loads import EAST, NORTH, SOUTH, WEST, Mesh, link_loads, ways_of

# What faults do to a program of crossbars.


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
        Dropped spikes are not the program's: runs lose them (:mod:`neuromap.faults.output_frames`).

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
    return program.chip.kind.faults.without_ways(program, cut)


def with_stuck(program: ChipProgram, stuck: Bools, *, fires: bool) -> ChipProgram:
    """Let neurons never fire, or fire in every tick, whatever reaches them."""
    # shapes: stuck (C, N)
    return program.chip.kind.faults.with_stuck(program, stuck, fires)


def _flipped(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    found, struck, at_risk = now.chip.kind.faults.flipped(now, core_numbers(before), faults)
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
    used = program.neurons_in_use & ~program.further_compartments
    core, neuron = np.nonzero(used)
    stuck = np.zeros_like(used)
    stuck[core, neuron] = fails(faults, kind, core_numbers(program)[core], neuron)
    return stuck, Count(int(stuck.sum()), len(core))


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
# Draws of faults: a function of seed, kind and place, so that what fails at a rate fails at every higher one.
#
# The words are hashed one after the other with ``mix`` of :mod:`neuromap.simulation.engine.noise`; the upper 53 bits
# of the last hash, as a part of 2**53, are the draw. A fault is there where the draw is below the rate: never at 0,
# always at 1.
_GOLDEN = 0x9E3779B97F4A7C15


def draws(seed: int, kind: str, *words: NDArray[np.integer] | int) -> Floats:
    """Draw a number for every place."""
    state = mix(mix(np.array([(seed + _GOLDEN) % 2**64], np.uint64)) ^ np.uint64(EVERY_KIND[kind].number))
    for word in words:
        state = mix(state ^ np.asarray(word).astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def fails(faults: Faults, kind: str, *words: NDArray[np.integer] | int) -> Bools:
    """Tell which places fail; see :func:`draws`."""
    found: Bools = draws(faults.seed, kind, *words) < faults.rate(kind)
    return found


# Links between routers that a program's spikes cross, and the ways that dead ones cut.


class Links(NamedTuple):
    """Links between neighbouring routers, both directions as one; ndarrays of int64, shape (n,)."""

    # x, y: the router of the lesser coordinates, on the board
    x: Ints
    y: Ints
    upwards: Ints  # 0 where the link leads to x + 1, 1 where it leads to y + 1


def links_in_use(program: ChipProgram) -> Links:
    """Find the links that a spike of any neuron would cross, along x first, then along y."""
    pairs = np.unique(np.stack([program.wires.core, program.wires.target_core]), axis=1)
    loads = link_loads(Mesh.of(program.chip), ways_of(program, pairs[0], pairs[1]))
    along_x, along_y = loads[EAST].copy(), loads[NORTH].copy()
    along_x[:, :-1] += loads[WEST][:, 1:]
    along_y[:-1] += loads[SOUTH][1:]
    (y, x), (other_y, other_x) = np.nonzero(along_x), np.nonzero(along_y)
    upwards = np.repeat([0, 1], [len(x), len(other_x)])
    return Links(np.concatenate([x, other_x]), np.concatenate([y, other_y]), upwards)


def cut_ways(program: ChipProgram, links: Links, wires: Wires) -> Bools:
    """Tell which ways cross a link of these."""
    ends = zip(links.x.tolist(), links.y.tolist(), links.upwards.tolist(), strict=True)
    dead = Defects(links=tuple(((x, y), (x + 1 - up, y + up)) for x, y, up in ends))
    places = program.coordinates
    return route_blocked(replace(program.chip, defects=dead), places[wires.core], places[wires.target_core])
