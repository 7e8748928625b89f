"""Rules that every program must keep on its chip, written by hand or mapped.

Every rule is a function from a well-formed program to findings. Indices that point nowhere are found by
:mod:`neuromap.hardware.check.index_rules`; here they are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuromap.hardware.check.violation import Finding, Place, dead_cores, dead_routes, find
from neuromap.hardware.program.chip_program import ChipProgram


def coordinates(program: ChipProgram) -> Iterator[Finding]:
    """``coordinate-on-grid`` and ``coordinate-unique``: every core lies on the board, no two on one place."""
    chip, xy = program.chip, program.coordinates
    outside = np.any((xy < 0) | (xy >= np.array([chip.columns, chip.rows])), axis=1)

    def found(c: int) -> tuple[int, ...]:
        return (int(xy[c, 0]), int(xy[c, 1]))

    grid = f"x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}"
    yield find("coordinate-on-grid", outside, lambda c: (Place(core=c), found(c), grid, "coordinate"))
    _, inverse, counts = np.unique(xy, axis=0, return_inverse=True, return_counts=True)
    yield find(
        "coordinate-unique",
        counts[inverse.reshape(-1)] > 1,
        lambda c: (Place(core=c), found(c), "a place of its own", "coordinate"),
    )


def reach(program: ChipProgram) -> Iterator[Finding]:
    """``target-reach``: no target lies farther away than the chip's spikes can name."""
    limit = program.chip.reach
    if limit is None:
        return
    wires = program.wires
    valid = (wires.target_core >= 0) & (wires.target_core < program.n_cores)
    xy = program.coordinates.astype(np.int64)
    if not len(xy):
        return
    distance = np.abs(xy[np.where(valid, wires.target_core, 0)] - xy[wires.core])
    yield find(
        "target-reach",
        valid & np.any(distance > np.array(limit), axis=1),
        lambda w: (
            Place(core=int(wires.core[w]), neuron=int(wires.neuron[w])),
            (int(distance[w, 0]), int(distance[w, 1])),
            f"at most {limit[0]} along x and {limit[1]} along y",
            "distance to the target",
        ),
    )


BOARD = (reach, dead_cores, dead_routes)
"""Of places and ways on the board, which all programs have."""
