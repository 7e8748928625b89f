"""The meaning of a network under a rollout pattern, computed without a chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.files.given import needs, refuse_swapped
from neuromap.network.complete import require_weights
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.spiking_reference import spiking_reference
from neuromap.simulation.stimulus.stimulus import check_frames

if TYPE_CHECKING:
    from scipy.sparse import csr_array


__all__ = ["reference"]


def reference(rollout: Rollout, frames: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.bool_]]:
    """Compute every node of a network frame by frame (Fischer, Koehler, Pfeil 2018; ``docs/simulation.md``).

    For i >= 1 and every node v that is not an input::

        x_v[i] = 1  iff  sum over edges e = (u, v) of W_e x_u[i - R(e)]  >=  theta_v

    and x_v[i] = 0 for i <= 0. Frames of inputs before frame 0, which edges that bridge frames read, are 0 too. Time
    plays no part: windowed and pipelined execution have the same reference. The nodes of a spiking network step from
    tick to tick instead (:mod:`neuromap.simulation.spiking_reference`).

    Parameters
    ----------
    rollout : Rollout
        The network, with weights and thresholds, and a valid pattern R.
    frames : mapping of str to array_like, shape (n_frames, size) or (n_frames, rows, columns, features)
        Frames of the input nodes, Boolean or 0 and 1; row 0 is frame 0.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_frames, size)
        Frames of all nodes, in the order of the network.

    Raises
    ------
    StimulusError
        If the frames do not match the input nodes.
    NetworkError
        If shapes, weights or thresholds are missing.
    PatternError
        If the pattern is invalid.
    """
    refuse_swapped("reference(rollout, frames)", rollout, Rollout, frames)
    needs("reference", rollout, Rollout)
    network, pattern = rollout.network, rollout.pattern
    require_weights(network)
    pattern.require_valid()
    inputs = check_frames(frames, network)
    if network.is_spiking:
        return spiking_reference(network, inputs)
    n_frames = len(next(iter(inputs.values())))

    # Within a frame a node comes after the sources of its sequential edges.
    sequential = nx.DiGraph([key for key in network.edges if pattern[key] == 0])
    sequential.add_nodes_from(network.nodes)
    order = [name for name in nx.topological_sort(sequential) if name not in inputs]
    incoming: dict[str, list[tuple[str, int, csr_array]]] = {name: [] for name in order}
    for (source, target), edge in network.edges.items():
        incoming[target].append((source, pattern[source, target], edge.matrix()))

    theta = {name: np.asarray(network.nodes[name].threshold, dtype=np.int64) for name in order}
    # int64 rows, so that the products with integer matrices stay exact without a conversion in each frame
    x = {name: np.zeros((n_frames, node.size), dtype=np.int64) for name, node in network.nodes.items()}
    for name, rows in inputs.items():
        x[name][:] = rows
    for i in range(1, n_frames):
        for name in order:
            drive = np.zeros(network.nodes[name].size, dtype=np.int64)
            for source, r, matrix in incoming[name]:
                if r <= i:  # frames before the first are silent
                    drive += matrix @ x[source][i - r]
            x[name][i] = drive >= theta[name]
    return {name: rows.astype(np.bool_) for name, rows in x.items()}
