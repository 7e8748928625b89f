"""What is to be seen of a run at a moment: numbers for pictures, plain values that travel to a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.accuracy.decision import votes_of
from neuromap.arrays.ragged import run_heads
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.core_contents import core_map
from neuromap.simulation.run.counted import spikes_by_core
from neuromap.simulation.run.live_run import OutputFrame
from neuromap.simulation.run.tick_run import TickSpikes
from neuromap.studio.player.played_run import PlayedRun

__all__ = ["CHIP_TICKS", "Look", "RasterRows", "board", "look_at", "raster_rows"]

CHIP_TICKS = 10
"""Last ticks over which spikes per core and node are averaged."""
_MOST_ROWS = 48
"""Rows of a node in the raster; larger nodes share rows."""
_MOST_BARS = 64
"""Neurons of an output that are shown one by one where no classes are known."""


@dataclass(frozen=True)
class RasterRows(Card):
    """Rows of a raster: nodes one above the other, each with a number of rows."""

    names: tuple[str, ...]  # nodes inside the chip, in the program's order
    positions: tuple[int, ...]  # their positions in the program's nodes
    sizes: tuple[int, ...]  # neurons
    rows: tuple[int, ...]  # rows of each

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
    """What is to be seen of a run."""

    now: int  # the tick that runs next
    cores: tuple[float, ...]  # spikes per tick of every core, the mean of the last ``CHIP_TICKS`` ticks
    # spikes per tick of every node of the raster, over the same ticks; copies of a neuron count once
    nodes: tuple[float, ...]
    last_nodes: tuple[int, ...]  # spikes of every node of the raster in the last tick
    # ticks that were not seen yet, and the rows of the raster that spike in them
    columns: tuple[tuple[int, tuple[int, ...]], ...]
    # frames of outputs that were not seen yet: node, frame, tick, votes, and the class that is named
    outputs: tuple[dict[str, Any], ...]
    strays: int  # output spikes of no frame since tick 0


def look_at(run: PlayedRun, rows: RasterRows, since: int, classes: int | None) -> Look:
    """Look at a run."""
    # run: it must not run meanwhile
    live, shown = run.live, list(rows.positions)
    last = live.history[-CHIP_TICKS:]
    ticks = max(1, len(last))
    return Look(
        now=live.now,
        cores=tuple(np.round(spikes_by_core(run.program, last) / ticks, 2).tolist()),
        nodes=tuple(np.round(run.labels.by_node(last)[shown] / ticks, 2).tolist()),
        last_nodes=tuple(run.labels.by_node(last[-1:])[shown].tolist()),
        columns=_columns(run, rows, tuple(sent for sent in live.history if sent.tick >= since)),
        outputs=tuple(_output(out, classes) for out in live.outputs if out.tick >= since),
        strays=live.n_strays,
    )


def _columns(run: PlayedRun, rows: RasterRows, ticks: Sequence[TickSpikes]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Give the rows of the raster that spike in each of some ticks; one that neurons share is given once."""
    spikes = run.labels.of(ticks)
    band_of = np.full(run.labels.n_nodes, -1)
    band_of[list(rows.positions)] = np.arange(len(rows.names))
    band = band_of[spikes.node]
    top, height, size = np.cumsum([0, *rows.rows[:-1]]), np.array(rows.rows), np.array(rows.sizes)
    row = top[band] + spikes.index * height[band] // size[band]
    is_first = run_heads(spikes.tick, row)
    tick, row = spikes.tick[is_first], row[is_first]
    bounds = [0, *np.searchsorted(tick, [sent.tick for sent in ticks], "right").tolist()]
    return tuple((sent.tick, tuple(row[slice(*bounds[k : k + 2])].tolist())) for k, sent in enumerate(ticks))


def _output(out: OutputFrame, classes: int | None) -> dict[str, Any]:
    """Give an output frame: votes by class where there are classes, else its neurons."""
    told = {"node": out.node, "frame": out.frame, "tick": out.tick}
    if not classes or len(out.spikes) % classes:
        return {**told, "votes": out.spikes[:_MOST_BARS].astype(np.int64).tolist(), "named": None}
    votes = votes_of(out.spikes, classes)
    return {**told, "votes": votes.tolist(), "named": int(votes.argmax()) if votes.any() else None}


def board(program: ChipProgram) -> dict[str, Any]:
    """Give what a map of the cores is drawn from: places, the node that each holds most of, and its name."""
    found = core_map(program)
    x, y = program.coordinates.T.tolist()
    return {
        "x": x, "y": y, "node": found.main.tolist(), "names": list(found.names), "neurons": found.neurons.tolist(),
        "columns": program.chip.columns, "rows": program.chip.rows,
    }  # fmt: skip
