"""Networks: nodes, edges, transforms as integer sparse matrices, and the network file.

The names below are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Conv": "transforms",
    "Dense": "transforms",
    "Edge": "network",
    "Identity": "transforms",
    "MatrixTransform": "matrices",
    "Network": "network",
    "Node": "network",
    "Pool": "transforms",
    "SeededWeights": "weights",
    "build_network": "build",
    "load_network": "network_file",
    "require_weights": "complete",
}

__all__ = [
    "Conv",
    "Dense",
    "Edge",
    "Identity",
    "MatrixTransform",
    "Network",
    "Node",
    "Pool",
    "SeededWeights",
    "build_network",
    "load_network",
    "require_weights",
]

if TYPE_CHECKING:
    from neuromap.network.build import build_network
    from neuromap.network.complete import require_weights
    from neuromap.network.matrices import MatrixTransform
    from neuromap.network.network import Edge, Network, Node
    from neuromap.network.network_file import load_network
    from neuromap.network.transforms import Conv, Dense, Identity, Pool
    from neuromap.network.weights import SeededWeights


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
