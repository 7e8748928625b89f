"""Van Rossum distance between spike trains, as Elephant computes it."""

from __future__ import annotations

import numpy as np

from neuromap.arrays.array_types import Bools, Floats
from neuromap.errors import InputError
from neuromap.quantise.quantisation import TrainDistance
from neuromap.registry import require_package

_AFAR = 100.0
"""Time constants from the last spike to one added to all trains: Elephant finds empty trains equal to any other."""


def train_distance(
    node: str,
    found: Bools,
    original: Bools,
    dt: float,
    *,
    by: str = "float",
    time_constant: float = 0.01,
    most: int = 100,
) -> TrainDistance:
    """Compare the spikes of a node with those of the float original.

    Parameters
    ----------
    node : str
        Name, for the result.
    found, original : ndarray of bool, shape (n_steps, size)
        Spikes.
    dt : float
        Seconds per step.
    by : str
        Who computed the original.
    time_constant : float
        In seconds; spikes further apart count as different.
    most : int
        Greatest number of neurons compared, evenly spaced over the node.

    Returns
    -------
    TrainDistance

    Raises
    ------
    InputError
        If the shapes differ.
    NotSupportedError
        If Elephant is not installed.
    """
    if found.shape != original.shape:
        raise InputError(f"distance of {node}: found shapes {found.shape} and {original.shape}; they must be equal")
    size = found.shape[1]
    neurons = np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))
    pairs = [(_times(found[:, k], dt), _times(original[:, k], dt)) for k in neurons]
    nothing = np.zeros(0)
    return TrainDistance(
        node=node,
        original=by,
        neurons=len(neurons),
        spikes=int(found[:, neurons].sum()),
        original_spikes=int(original[:, neurons].sum()),
        time_constant=time_constant,
        distance=float(np.mean([van_rossum(a, b, time_constant) for a, b in pairs])),
        of_silence=float(np.mean([van_rossum(nothing, b, time_constant) for _, b in pairs])),
    )


def _times(spikes: Bools, dt: float) -> Floats:
    return np.flatnonzero(spikes).astype(np.float64) * dt


def van_rossum(train: Floats, other: Floats, time_constant: float) -> float:
    """Compute the van Rossum distance between two spike trains (van Rossum, Neural Computation 2001)."""
    # train, other: sorted spike times in seconds
    require_package("spike-train distance", "elephant", "distances", "Elephant")
    from elephant.spike_train_dissimilarity import van_rossum_distance
    from neo import SpikeTrain
    from quantities import s

    if np.array_equal(train, other):
        return 0.0
    common = max(train.max(initial=0), other.max(initial=0)) + _AFAR * time_constant
    trains = [SpikeTrain(np.append(times, common), units=s, t_stop=common + time_constant) for times in (train, other)]
    return float(van_rossum_distance(trains, time_constant=time_constant * s)[0, 1])
