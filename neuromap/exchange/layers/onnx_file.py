"""ONNX files as networks."""

from __future__ import annotations

from pathlib import Path

from neuromap.exchange.imported import Imported
from neuromap.exchange.layers.take_graph import take_graph
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import show_name
from neuromap.formats.onnx.file_graph import read_onnx
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.registry import require_package


def from_onnx(path: str | Path, *, chip: str | Path | ChipSpec | None = None) -> Imported:
    """Take over a network from an ONNX file (``docs/layers.md``). Needs the extra ``onnx``.

    Parameters
    ----------
    path : str or Path
        The file; nothing in it is executed.
    chip : str, Path, ChipSpec or None
        By whose cores an estimate counts, where weights are not taken over.

    Returns
    -------
    Imported
        With weights and thresholds where the network is in frame code, else its structure with shapes and work.

    Raises
    ------
    InputError
        If the file is no ONNX model, truncated, too large or malformed.
    NotSupportedError
        If ``onnx`` is not installed, or nothing of the file can be taken over.
    """
    path = path_given("from_onnx", path)
    require_package("ONNX", "onnx", "onnx", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_onnx(path)
    with foreign_boundary(f"the ONNX model {show_name(str(path))}"):
        return take_graph(graph, format="onnx", source=str(path), chip=spec)
