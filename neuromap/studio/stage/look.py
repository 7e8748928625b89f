"""What is to be seen of a run at a moment: numbers for pictures, plain values that travel to a browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.accuracy.decision import votes_of
from neuromap.arrays.ragged import run_heads
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.measuring.core_contents import core_map
from neuromap.simulation.live.counted import spikes_by_core
from neuromap.studio.stage.played_run import PlayedRun

__all__ = ["CHIP_TICKS", "Look", "RasterRows", "board", "look_at", "raster_rows"]

CHIP_TICKS = 10
"""Last ticks over which spikes per core and node are averaged."""
_MOST_ROWS = 48
"""Rows of a node in the raster; larger nodes share rows."""
_MOST_BARS = 64
"""Neurons of an output that are shown one by one where no classes are known."""


@dataclass(frozen=True)
class RasterRows(Card):
    """Rows of a raster: nodes one above the other, each with a number of rows.

    Attributes
    ----------
    names : tuple of str
        Nodes inside the chip, in the program's order.
    positions : tuple of int
        Their positions in the program's nodes.
    sizes : tuple of int
        Neurons.
    rows : tuple of int
        Rows of each.
    """

    names: tuple[str, ...]
    positions: tuple[int, ...]
    sizes: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Rows of all."""
        return sum(self.rows)


def raster_rows(program: ChipProgram) -> RasterRows:
    """Lay out the raster of a program."""
    inside = [(k, port) for k, port in enumerate(program.nodes) if port.kind != "input"]
    sizes = tuple(port.size for _, port in inside)
    return RasterRows(
        tuple(port.name for _, port in inside), tuple(k for k, _ in inside), sizes,
        tuple(min(size, _MOST_ROWS) for size in sizes),
    )  # fmt: skip


@dataclass(frozen=True)
class Look(Card):
    """What is to be seen of a run.

    Attributes
    ----------
    now : int
        The tick that runs next.
    cores : tuple of float
        Spikes per tick of every core, the mean of the last ``CHIP_TICKS`` ticks.
    nodes : tuple of float
        Spikes per tick of every node of the raster, over the same ticks; copies of a neuron count once.
    last_nodes : tuple of int
        Spikes of every node of the raster in the last tick.
    columns : tuple of (int, tuple of int)
        Ticks that were not seen yet, and the rows of the raster that spike in them.
    outputs : tuple of dict
        Frames of outputs that were not seen yet: node, frame, tick, votes, and the class that is named.
    strays : int
        Output spikes of no frame since tick 0.
    """

    now: int
    cores: tuple[float, ...]
    nodes: tuple[float, ...]
    last_nodes: tuple[int, ...]
    columns: tuple[tuple[int, tuple[int, ...]], ...]
    outputs: tuple[dict[str, Any], ...]
    strays: int


def look_at(run: PlayedRun, rows: RasterRows, since: int, classes: int | None) -> Look:
    """Look at a run.

    Parameters
    ----------
    run : PlayedRun
        It must not run meanwhile.
    rows : RasterRows
        Of its program.
    since : int
        The first tick that was not seen yet.
    classes : int or None
        Classes that outputs vote for, where that is known.

    Returns
    -------
    Look
    """
    live, n_nodes = run.live, len(rows.names)
    history = live.history
    last = history[-CHIP_TICKS:]
    per = max(1, len(last))
    cores = spikes_by_core(run.program, last) / per
    counts = run.labels.by_node(last)[list(rows.positions)] / per
    newest = run.labels.by_node(history[-1:])[list(rows.positions)]
    fresh = tuple(sent for sent in history if sent.tick >= since)
    named = run.labels.of(fresh)
    place = np.full(run.labels.n_nodes, -1)
    place[list(rows.positions)] = np.arange(n_nodes)
    at = place[named.node]
    first = np.concatenate([[0], np.cumsum(rows.rows)])[:-1]
    row = first[at] + named.index * np.array(rows.rows)[at] // np.array(rows.sizes)[at]
    single = run_heads(named.tick, row)
    ticks, row = named.tick[single], row[single]
    start = np.searchsorted(ticks, [sent.tick for sent in fresh] + [live.now])
    columns = tuple((sent.tick, tuple(row[start[k] : start[k + 1]].tolist())) for k, sent in enumerate(fresh))
    outputs = tuple(
        _shown(out.node, out.frame, out.tick, out.spikes, classes) for out in live.outputs if out.tick >= since
    )
    return Look(
        live.now, tuple(np.round(cores, 2).tolist()), tuple(np.round(counts, 2).tolist()), tuple(newest.tolist()),
        columns, outputs, live.n_strays,
    )  # fmt: skip


def _shown(node: str, frame: int, tick: int, spikes: Any, classes: int | None) -> dict[str, Any]:
    """Give an output frame: votes by class where there are classes, else its neurons."""
    known = classes is not None and classes > 0 and len(spikes) % classes == 0
    votes = votes_of(spikes, classes) if known and classes else spikes[:_MOST_BARS].astype(np.int64)
    named = int(votes.argmax()) if known and votes.any() else None
    return {"node": node, "frame": frame, "tick": tick, "votes": votes.tolist(), "named": named}


def board(program: ChipProgram) -> dict[str, Any]:
    """Give what a map of the cores is drawn from: places, the node that each holds most of, and its name.

    Returns
    -------
    dict
        ``x``, ``y``: places on the board; ``node``: position of the node in ``names``, -1 without one; ``neurons``.
    """
    found = core_map(program)
    x, y = program.coordinates.T.tolist()
    return {
        "x": x, "y": y, "node": found.main.tolist(), "names": list(found.names), "neurons": found.neurons.tolist(),
        "columns": program.chip.columns, "rows": program.chip.rows,
    }  # fmt: skip
