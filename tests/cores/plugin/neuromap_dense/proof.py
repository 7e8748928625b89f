"""What a neuron of a dense core computes: sums of any size, compared in the tick in which they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuromap.proof.codes import PARAMETERS
from neuromap_dense.program import DenseProgram


def forgetting(program: DenseProgram, core: int, low: Any, high: Any) -> Any:
    """Give the sum from which each neuron spikes; all forget."""
    return program.threshold[core].astype(np.int64), np.zeros(len(low), np.uint8)


def remembering(program: DenseProgram, core: int, wanted: Any, part: Any, power: Any, low: Any, high: Any) -> Any:
    """None remembers."""
    return np.full(len(low), PARAMETERS, np.uint8)
