"""All that reads files and messages; a new reader gets a row in one of these modules, and that is all."""

import of_foreign_files  # noqa: F401 - each puts its readers into the table
import of_images  # noqa: F401
import of_own_files  # noqa: F401
import of_studio  # noqa: F401
import of_two_readers  # noqa: F401
import of_words  # noqa: F401
from one_reader import READERS

__all__ = ["PRELOADED", "READERS"]

PRELOADED = (
    "h5py",
    "numba",
    "onnx",
    "onnx.reference",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.PpmImagePlugin",
    "scipy.io",
    "neuromap.options",
    "neuromap.datasets",
    "neuromap.exchange.layers.take_graph",
    "neuromap.exchange.nir",
    "neuromap.exchange.to_ranc",
    "neuromap.explorer.search.measurements",
    "neuromap.faults.fault_study",
    "neuromap.formats.ranc",
    "neuromap.formats.truenorth",
    "neuromap.hardware.program_file",
    "neuromap.mapping.map_rollout",
    "neuromap.simulation.trace.load_trace",
    "neuromap.simulation.run.simulate",
    "neuromap.studio.run_server",
    "neuromap.studio.scene.commands",
    "neuromap.sweep.sweep_spec",
    "neuromap.sweep.run_store",
    "neuromap.sweep.run_store",
    "neuromap.simulation.trace.trace_file",
    "neuromap.experiments.experiment_file",
)
"""Modules that many readers use: imported once, before workers are forked off. Importing starts no thread."""
