"""PyTorch modules, and files of exported ones, as networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.errors import NotSupportedError
from neuromap.exchange.imported import Imported
from neuromap.exchange.layers.take_graph import take_graph
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import show_name
from neuromap.formats.pytorch.exported_file import read_exported
from neuromap.formats.pytorch.module_graph import read_module
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.registry import require_package

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike


def from_torch(
    module: torch.nn.Module,
    example_input: Any,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Take over a network from a PyTorch module (``docs/layers.md``). Needs the extra ``training``.

    Parameters
    ----------
    module : torch.nn.Module
        As it computes in evaluation; ``torch.export`` makes a graph of it.
    example_input : torch.Tensor or tuple of torch.Tensor
        Inputs as its ``forward`` takes them, the batch first.
    chip : str, Path, ChipSpec or None
        By whose cores an estimate counts, where weights are not taken over.
    calibration, labels, percentile
        As :func:`~neuromap.exchange.layers.onnx_file.from_onnx` takes them.

    Returns
    -------
    Imported
        With weights where the network is quantised (graded nodes), in frame code (thresholds), or calibrated; else its
        structure with shapes and work.

    Raises
    ------
    InputError
        If it is no module, or the inputs or the calibration set are none for it.
    NotSupportedError
        If PyTorch is not installed, ``torch.export`` cannot make a graph of the module, or nothing of it can be taken
        over.
    """
    require_package("PyTorch", "torch", "training", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_module(module, example_input)
    name = type(module).__name__
    with foreign_boundary(f"a network of module {name}", NotSupportedError, remedy="export it to ONNX and import that"):
        return take_graph(
            graph,
            format="pytorch",
            source=name,
            chip=spec,
            calibration=calibration,
            labels=labels,
            percentile=percentile,
        )


def from_torch_file(
    path: str | Path,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Take over a network from a file of ``torch.export.save``, as :func:`from_torch` does from a module.

    Nothing in the file is executed or unpickled. A batch of any size is one frame; other sizes that the export left
    open are those of its example.
    """
    path = path_given("from_torch_file", path)
    require_package("PyTorch", "torch", "training", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_exported(path)
    with foreign_boundary(f"a network of file {show_name(str(path))}", NotSupportedError, remedy="export it to ONNX"):
        return take_graph(
            graph,
            format="pytorch",
            source=str(path),
            chip=spec,
            calibration=calibration,
            labels=labels,
            percentile=percentile,
        )
