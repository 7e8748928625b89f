"""Simulation: stimulus, engine, trace, and the reference that gives a network its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Activity": "cost.activity",
    "Batch": "trace.batch",
    "Checkpoints": "trace.checkpoint",
    "FrameWork": "cost.frame_work",
    "GivenFrames": "run.live_run",
    "HeldFrame": "run.live_run",
    "LiveRun": "run.live_run",
    "NumpyEngine": "engine.numpy_engine",
    "Potentials": "trace.recording",
    "RandomSource": "run.live_run",
    "Readout": "trace.recording",
    "Recording": "trace.recording",
    "SteadyActivity": "cost.steady_figures",
    "Trace": "trace.trace",
    "Width": "engine.neuron",
    "check_frames": "stimulus",
    "count_frame_work": "cost.frame_work",
    "fire": "engine.neuron",
    "input_sizes": "stimulus",
    "integrate": "engine.neuron",
    "leak": "engine.neuron",
    "load_frames": "stimulus",
    "load_trace": "trace.load_trace",
    "measure_activity": "cost.activity",
    "measure_steady_activity": "cost.steady_figures",
    "random_frames": "stimulus",
    "reference": "reference_frames",
    "run_events": "run.simulate",
    "save_frames": "stimulus",
    "simulate": "run.simulate",
    "simulate_batch": "run.simulate_batch",
    "simulate_to_file": "run.simulate",
}

if TYPE_CHECKING:
    from neuromap.simulation.cost.activity import Activity as Activity
    from neuromap.simulation.cost.activity import measure_activity as measure_activity
    from neuromap.simulation.cost.frame_work import FrameWork as FrameWork
    from neuromap.simulation.cost.frame_work import count_frame_work as count_frame_work
    from neuromap.simulation.cost.steady_figures import SteadyActivity as SteadyActivity
    from neuromap.simulation.cost.steady_figures import measure_steady_activity as measure_steady_activity
    from neuromap.simulation.engine.neuron import Width as Width
    from neuromap.simulation.engine.neuron import fire as fire
    from neuromap.simulation.engine.neuron import integrate as integrate
    from neuromap.simulation.engine.neuron import leak as leak
    from neuromap.simulation.engine.numpy_engine import NumpyEngine as NumpyEngine
    from neuromap.simulation.reference_frames import reference as reference
    from neuromap.simulation.run.live_run import GivenFrames as GivenFrames
    from neuromap.simulation.run.live_run import HeldFrame as HeldFrame
    from neuromap.simulation.run.live_run import LiveRun as LiveRun
    from neuromap.simulation.run.live_run import RandomSource as RandomSource
    from neuromap.simulation.run.simulate import run_events as run_events
    from neuromap.simulation.run.simulate import simulate as simulate
    from neuromap.simulation.run.simulate import simulate_to_file as simulate_to_file
    from neuromap.simulation.run.simulate_batch import simulate_batch as simulate_batch
    from neuromap.simulation.stimulus import check_frames as check_frames
    from neuromap.simulation.stimulus import input_sizes as input_sizes
    from neuromap.simulation.stimulus import load_frames as load_frames
    from neuromap.simulation.stimulus import random_frames as random_frames
    from neuromap.simulation.stimulus import save_frames as save_frames
    from neuromap.simulation.trace.batch import Batch as Batch
    from neuromap.simulation.trace.checkpoint import Checkpoints as Checkpoints
    from neuromap.simulation.trace.load_trace import load_trace as load_trace
    from neuromap.simulation.trace.recording import Potentials as Potentials
    from neuromap.simulation.trace.recording import Readout as Readout
    from neuromap.simulation.trace.recording import Recording as Recording
    from neuromap.simulation.trace.trace import Trace as Trace

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
