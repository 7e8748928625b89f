"""neuromap: map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove latency.

Everything public is reached from here and imported on first use, so that ``import neuromap`` and
``neuromap --help`` stay quick.
"""

from __future__ import annotations

import neuromap.one_installation  # noqa: F401 - it must be the only one
from neuromap.lazy_names import lazy_names
from neuromap.version import __version__ as __version__

_HOMES = {
    "ChipSpec": "hardware.chip.chip_spec",
    "Conv": "network.transforms",
    "Dense": "network.transforms",
    "Identity": "network.transforms",
    "MappingOptions": "mapping.options.options",
    "Network": "network.network",
    "Pool": "network.transforms",
    "Program": "cores.crossbar.program",
    "Recording": "simulation.trace.recording",
    "Rollout": "rollout.schedule.rollout",
    "RolloutPattern": "rollout.pattern",
    "SeededWeights": "network.weights",
    "build_network": "network.build",
    "check_program": "hardware.checker",
    "explore": "explorer.explore",
    "from_nir": "exchange.nir.import_nir",
    "from_onnx": "exchange.layers.take_graph",
    "from_torch": "exchange.layers.take_graph",
    "latency_report": "report.latency",
    "lift": "proof.lift",
    "list_chips": "hardware.chip.chip_file",
    "list_schemas": "render.schemas",
    "load_chip": "hardware.chip.chip_file",
    "load_network": "network.network_file",
    "load_program": "hardware.program_file",
    "load_schema": "render.schemas",
    "load_trace": "simulation.trace.load_trace",
    "map_rollout": "mapping.map_rollout",
    "measure_activity": "simulation.cost.activity",
    "measure_steady_activity": "simulation.cost.steady_figures",
    "prove": "proof.prove",
    "random_frames": "simulation.stimulus",
    "reference": "simulation.reference_frames",
    "search": "searcher.race",
    "simulate": "simulation.run.simulate",
    "simulate_batch": "simulation.run.simulate_batch",
    "simulate_to_file": "simulation.run.simulate",
    "to_neo": "exchange.spike_traces",
    "to_nir": "exchange.nir.export_nir",
    "to_onnx": "exchange.layers.graded_onnx",
    "to_perfetto": "exchange.perfetto_trace",
    "to_sonata": "exchange.spike_traces",
    "verify": "verification.law",
}
_ROOMS = (
    "accuracy",
    "bench",
    "datasets",
    "encoding",
    "errors",
    "experiments",
    "explorer",
    "faults",
    "formats",
    "hardware",
    "mapping",
    "network",
    "quantise",
    "report",
    "rollout",
    "searcher",
    "simulation",
    "sweep",
    "training",
    "verification",
)

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from neuromap import accuracy as accuracy
    from neuromap import bench as bench
    from neuromap import datasets as datasets
    from neuromap import encoding as encoding
    from neuromap import errors as errors
    from neuromap import experiments as experiments
    from neuromap import explorer as explorer
    from neuromap import faults as faults
    from neuromap import formats as formats
    from neuromap import hardware as hardware
    from neuromap import mapping as mapping
    from neuromap import network as network
    from neuromap import quantise as quantise
    from neuromap import report as report
    from neuromap import rollout as rollout
    from neuromap import searcher as searcher
    from neuromap import simulation as simulation
    from neuromap import sweep as sweep
    from neuromap import training as training
    from neuromap import verification as verification
    from neuromap.cores.crossbar.program import Program as Program
    from neuromap.exchange.layers.graded_onnx import to_onnx as to_onnx
    from neuromap.exchange.layers.take_graph import from_onnx as from_onnx
    from neuromap.exchange.layers.take_graph import from_torch as from_torch
    from neuromap.exchange.nir.export_nir import to_nir as to_nir
    from neuromap.exchange.nir.import_nir import from_nir as from_nir
    from neuromap.exchange.perfetto_trace import to_perfetto as to_perfetto
    from neuromap.exchange.spike_traces import to_neo as to_neo
    from neuromap.exchange.spike_traces import to_sonata as to_sonata
    from neuromap.explorer.explore import explore as explore
    from neuromap.hardware.checker import check_program as check_program
    from neuromap.hardware.chip.chip_file import list_chips as list_chips
    from neuromap.hardware.chip.chip_file import load_chip as load_chip
    from neuromap.hardware.chip.chip_spec import ChipSpec as ChipSpec
    from neuromap.hardware.program_file import load_program as load_program
    from neuromap.mapping.map_rollout import map_rollout as map_rollout
    from neuromap.mapping.options.options import MappingOptions as MappingOptions
    from neuromap.network.build import build_network as build_network
    from neuromap.network.network import Network as Network
    from neuromap.network.network_file import load_network as load_network
    from neuromap.network.transforms import Conv as Conv
    from neuromap.network.transforms import Dense as Dense
    from neuromap.network.transforms import Identity as Identity
    from neuromap.network.transforms import Pool as Pool
    from neuromap.network.weights import SeededWeights as SeededWeights
    from neuromap.proof.lift import lift as lift
    from neuromap.proof.prove import prove as prove
    from neuromap.render.schemas import list_schemas as list_schemas
    from neuromap.render.schemas import load_schema as load_schema
    from neuromap.report.latency import latency_report as latency_report
    from neuromap.rollout.pattern import RolloutPattern as RolloutPattern
    from neuromap.rollout.schedule.rollout import Rollout as Rollout
    from neuromap.searcher.race import search as search
    from neuromap.simulation.cost.activity import measure_activity as measure_activity
    from neuromap.simulation.cost.steady_figures import measure_steady_activity as measure_steady_activity
    from neuromap.simulation.reference_frames import reference as reference
    from neuromap.simulation.run.simulate import simulate as simulate
    from neuromap.simulation.run.simulate import simulate_to_file as simulate_to_file
    from neuromap.simulation.run.simulate_batch import simulate_batch as simulate_batch
    from neuromap.simulation.stimulus import random_frames as random_frames
    from neuromap.simulation.trace.load_trace import load_trace as load_trace
    from neuromap.simulation.trace.recording import Recording as Recording
    from neuromap.verification.law import verify as verify

__all__ = sorted([*_HOMES, *_ROOMS, "__version__"])
__getattr__, __dir__ = lazy_names(__name__, _HOMES, _ROOMS)
