"""Links between routers that a program's spikes cross, and the ways that dead ones cut."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.defects import Defects
from neuromap.hardware.program.chip_program import ChipProgram, Wires
from neuromap.hardware.program.dead_routes import route_blocked
from neuromap.simulation.noc.loads import link_loads
from neuromap.simulation.noc.mesh import EAST, NORTH, SOUTH, WEST, Mesh, ways_of

__all__ = ["Links", "cut_ways", "links_in_use"]

Ints = NDArray[np.int64]


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


def cut_ways(program: ChipProgram, links: Links, wires: Wires) -> NDArray[np.bool_]:
    """Tell which ways cross a link of these."""
    ends = zip(links.x.tolist(), links.y.tolist(), links.upwards.tolist(), strict=True)
    dead = Defects(links=tuple(((x, y), (x + 1 - up, y + up)) for x, y, up in ends))
    places = program.coordinates
    return route_blocked(replace(program.chip, defects=dead), places[wires.core], places[wires.target_core])
