"""Batches as safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.simulation.trace.batch import Batch
from neuromap.simulation.trace.labels import run_labels

__all__ = ["save_batch"]


def save_batch(batch: Batch, path: str | Path) -> None:
    """Write frames or counts of a batch; see :meth:`Batch.save`."""
    tensors: dict[str, NDArray[Any]] = {}
    for port in batch.nodes:
        kept = batch.counts(port.name) if batch.spikes_by_frame is None else batch.frames(port.name).astype(np.uint8)
        tensors[port.name] = np.ascontiguousarray(kept)
    strays = {port.name: batch.strays(port.name).tolist() for port in batch.nodes}
    labels = {**run_labels(batch), "strays": strays}
    metadata = {"format": "neuromap batch", "version": "1", "batch": json.dumps(labels)}
    write_whole(path, sealed_bytes("batch", tensors, metadata))
