"""The first ticks of a run, as a raster of spikes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import tick_of_frame
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort
from neuromap.report.figures.spike_raster import SpikeRaster
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.run_length import ticks_to_run
from neuromap.simulation.run.tick_run import run_ticks

__all__ = ["MOST_SPIKES", "MOST_TICKS", "NEURONS_SHOWN", "record_raster"]

Ints = NDArray[np.int64]
Frames = Mapping[str, NDArray[np.bool_]]

MOST_TICKS = 64
"""Ticks that a raster shows at most."""
MOST_SPIKES = 6000
"""Spikes that a raster keeps at most, by whole ticks; at least one tick is kept."""
NEURONS_SHOWN = 100
"""Neurons of a node that a raster shows at most, evenly chosen."""


def record_raster(program: ChipProgram, frames: Frames, choice: EngineChoice) -> SpikeRaster:
    """Run a program on input frames for a while."""
    # shapes: frames (n_frames, size)
    every = tuple(-(-port.size // NEURONS_SHOWN) for port in program.nodes)
    n_ticks = min(MOST_TICKS, ticks_to_run(program, len(next(iter(frames.values())))))
    fed = _sampled(program, frames, every, n_ticks)
    core_spikes = np.zeros(program.n_cores, np.int64)
    kept: list[Ints] = []
    n_spikes = n_done = 0
    for spikes in run_ticks(program, frames, n_ticks=n_ticks, choice=choice):
        here = _labelled(program, spikes.cores, spikes.neurons, every)
        rows = np.vstack([fed[fed[:, 0] == spikes.tick], np.insert(here, 0, spikes.tick, axis=1)])
        if n_done and n_spikes + len(rows) > MOST_SPIKES:
            break
        core_spikes += np.bincount(spikes.cores, minlength=program.n_cores)
        kept.append(rows)
        n_spikes, n_done = n_spikes + len(rows), n_done + 1
    tick, node, neuron = np.concatenate(kept).T if kept else np.zeros((3, 0), np.int64)
    return SpikeRaster(
        names=tuple(port.name for port in program.nodes),
        sizes=tuple(port.size for port in program.nodes),
        every=every,
        n_ticks=n_done,
        tick=tick,
        node=node,
        neuron=neuron,
        samples=tuple(_sample_ticks(program, port, n_done) for port in program.nodes),
        core_spikes=core_spikes,
    )


def _labelled(program: ChipProgram, cores: Ints, neurons: Ints, every: tuple[int, ...]) -> Ints:
    """Give node and index of those that stand for a neuron of a node and are to be kept, each once."""
    node, index = program.neuron_node[cores, neurons], program.neuron_index[cores, neurons]
    mine = (node >= 0) & ~program.is_relay[cores, neurons]
    found: Ints = np.unique(np.stack([node[mine], index[mine]], axis=1).astype(np.int64), axis=0)
    is_input = np.array([port.kind == "input" for port in program.nodes], np.bool_)
    shown: Ints = found[(found[:, 1] % np.array(every, np.int64)[found[:, 0]] == 0) & ~is_input[found[:, 0]]]
    return shown


def _sampled(program: ChipProgram, frames: Frames, every: tuple[int, ...], n_ticks: int) -> Ints:
    """Give tick, node and neuron of what input nodes sample, in order of ticks."""
    found = [np.zeros((0, 3), np.int64)]
    for k, port in enumerate(program.nodes):
        if port.kind != "input":
            continue
        frame, neuron = np.nonzero(frames[port.name][:, :: every[k]])
        ticks = np.array([tick_of_frame(port.sample_tick, program.period, f) for f in frame.tolist()], np.int64)
        rows = np.stack([ticks, np.full(len(ticks), k), neuron * every[k]], axis=1)
        found.append(rows[(ticks >= 0) & (ticks < n_ticks)])
    sampled: Ints = np.concatenate(found)
    return sampled[np.argsort(sampled[:, 0], kind="stable")]


def _sample_ticks(program: ChipProgram, port: NodePort, n_ticks: int) -> Ints:
    ticks, frame = [], 0 if port.kind == "input" else 1
    while (tick := tick_of_frame(port.sample_tick, program.period, frame)) < n_ticks:
        ticks.append(tick)
        frame += 1
    return np.array([tick for tick in ticks if tick >= 0], np.int64)
