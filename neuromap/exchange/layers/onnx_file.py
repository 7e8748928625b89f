"""ONNX files as networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from neuromap.exchange.imported import Imported
from neuromap.exchange.layers.take_graph import take_graph
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import show_name
from neuromap.formats.onnx.file_graph import read_onnx
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.registry import require_package


def from_onnx(
    path: str | Path,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Take over a network from an ONNX file (``docs/layers.md``). Needs the extra ``onnx``.

    Parameters
    ----------
    path : str or Path
        The file; nothing in it is executed.
    chip : str, Path, ChipSpec or None
        By whose cores an estimate counts, where weights are not taken over.
    calibration : array_like of shape (n, ...), mapping of str to array_like, ImageSet, source, path, or None
        Inputs of a float network, by which it becomes one of 8-bit integers (``docs/graded.md``): for its only input,
        by the names of inputs, or a ``.npz`` file with arrays of these names, and perhaps ``labels``. Of a set of
        images (``"npz:FILE"`` and the other sources of :func:`neuromap.datasets.load_images`) the network file says
        how they become the network's input.
    labels : array_like of int, shape (n,), optional
        Classes of these inputs, for the accuracy before and after.
    percentile : float, optional
        How much of the values of a tensor its range holds; all of them by default.

    Returns
    -------
    Imported
        With weights where the network is quantised (graded nodes), in frame code (thresholds), or calibrated; else its
        structure with shapes and work.

    Raises
    ------
    InputError
        If the file is no ONNX model, truncated, too large or malformed, or the calibration set does not fit it.
    NotSupportedError
        If ``onnx`` is not installed, or nothing of the file can be taken over.
    """
    path = path_given("from_onnx", path)
    require_package("ONNX", "onnx", "onnx", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_onnx(path)
    with foreign_boundary(f"the ONNX model {show_name(str(path))}"):
        return take_graph(
            graph,
            format="onnx",
            source=str(path),
            chip=spec,
            calibration=calibration,
            labels=labels,
            percentile=percentile,
        )
