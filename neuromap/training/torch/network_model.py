"""``NetworkModel``: a network file in frame code as a PyTorch model that gives the spikes of the reference."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from neuromap.errors import NotSupportedError
from neuromap.network.complete import require_weights
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.transforms.kinds import Conv, Dense
from neuromap.training.torch.rollout_model import RolloutModel

__all__ = ["NetworkModel"]

_GREATEST_SUM = 2**24
"""Where float32 ends to be exact."""


class NetworkModel(RolloutModel):
    """What a network file says, computed by PyTorch: the way back from :func:`to_network`."""

    # A second computation of what :func:`neuromap.reference` and the chip compute, by operators that nobody here wrote.
    # Nothing in it is trained.

    def __init__(self, network: Network) -> None:
        require_weights(network)
        super().__init__(network)
        self._stored = {
            key: torch.from_numpy(edge.transform.weights.tensor(edge.transform.weight_shape).astype(np.float32))
            for key, edge in network.edges.items()
            if isinstance(edge.transform, Conv | Dense) and edge.transform.weights is not None
        }
        self._thresholds = {name: _threshold(network, name) for name in self.settings}

    def weight(self, key: EdgeKey) -> Tensor | None:
        """Integer weights of an edge, as real numbers; ``None`` where they are fixed."""
        stored = self._stored.get(key)
        return None if stored is None else stored.to(self.device)

    def activate(self, name: str, sums: Tensor) -> Tensor:
        """Give the spikes of a node: 1 where a sum reaches its neuron's threshold."""
        return (sums >= self._thresholds[name].to(sums.device)).to(sums.dtype)


def _threshold(network: Network, name: str) -> Tensor:
    """Give the thresholds of a node in its shape; no sum goes as far as those that are cut off."""
    node = network.nodes[name]
    into = [abs(edge.matrix()).sum(axis=1).max() for edge in network.edges.values() if edge.target == name]
    if (most := int(sum(into))) >= _GREATEST_SUM:
        raise NotSupportedError(
            f"node {name}: sums may reach {most}, and PyTorch's float32 is exact below 2**24 = {_GREATEST_SUM}; "
            "neuromap.reference takes any"
        )
    cut = np.clip(np.asarray(node.threshold), -_GREATEST_SUM, _GREATEST_SUM)
    return torch.from_numpy(cut.astype(np.float32).reshape(node.shape))
