"""Simulation: stimulus, engine, trace, and the reference that gives a network its meaning."""

from neuromap.simulation.batch import Batch, simulate_batch
from neuromap.simulation.neuron import Width, fire, integrate, leak
from neuromap.simulation.numpy_engine import NumpyEngine
from neuromap.simulation.recording import Potentials, Readout, Recording
from neuromap.simulation.reference import reference
from neuromap.simulation.run_events import run_events
from neuromap.simulation.simulate import simulate, simulate_to_file
from neuromap.simulation.stimulus import check_frames, input_sizes, load_frames, random_frames, save_frames
from neuromap.simulation.trace import Trace
from neuromap.simulation.trace_file import load_trace

__all__ = [
    "Batch",
    "NumpyEngine",
    "Potentials",
    "Readout",
    "Recording",
    "Trace",
    "Width",
    "check_frames",
    "fire",
    "input_sizes",
    "integrate",
    "leak",
    "load_frames",
    "load_trace",
    "random_frames",
    "reference",
    "run_events",
    "save_frames",
    "simulate",
    "simulate_batch",
    "simulate_to_file",
]
