"""Which nodes are written in channels, rows and columns: those that convolutions and pools of NIR join."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuromap.formats.nir.nir_graph import NirNode
from neuromap.network.network import Network
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.node import Node
from neuromap.network.terms import MatrixSource
from neuromap.network.transforms.kinds import Conv, Identity, Pool
from neuromap.network.transforms.windows import output_length

__all__ = ["spatial_nodes", "unfed_currents", "window_primitive"]


def unfed_currents(network: Network, name: str) -> list[int]:
    """List the currents of a node's neurons, of several, that no edge feeds."""
    neuron = network.nodes[name].neuron
    if neuron is None or neuron.n_currents == 1:
        return []
    into = [edge for edge in network.edges.values() if edge.target == name]
    fed = {edge.current for edge in into} | {term.current for edge in into for term in edge.also}
    return sorted(set(range(neuron.n_currents)) - fed)


def spatial_nodes(network: Network) -> set[str]:
    """Choose the nodes that are written in three dimensions; all others are written in a row."""
    # NIR has no way back from a row, so all that arrives at such a node must come in three dimensions too; its constant
    # leak must be the bias of a convolution, one number per channel; and all its currents must be fed.
    into: dict[str, list[tuple[str, MatrixSource]]] = {}
    joined: set[str] = set()
    for (u, v), edge in network.edges.items():
        for transform in (edge.transform, *(term.transform for term in edge.also)):
            assert transform is not None
            into.setdefault(v, []).append((u, transform))
            if window_primitive(transform) is not None:
                joined |= {u, v}
    while True:
        lost = {
            v
            for v in joined
            if unfed_currents(network, v)
            or not _leaks_by_channel(network.nodes[v], [t for _, t in into.get(v, ())])
            or any(
                u not in joined or not (isinstance(t, Identity) or window_primitive(t) is not None)
                for u, t in into.get(v, ())
            )
        }
        if not lost:
            return joined
        joined -= lost


def _leaks_by_channel(node: Node, transforms: list[MatrixSource]) -> bool:
    """Whether a node has no constant leak, or one that the bias of a convolution onto it can say."""
    if not isinstance(node.neuron, LeakNeuron) or not node.neuron.leak.any() or node.shape is None:
        return True
    leaks = node.neuron.leak.reshape(-1, node.shape[2])
    return bool((leaks == leaks[0]).all()) and any(isinstance(t, Conv) and window_primitive(t) for t in transforms)


def window_primitive(transform: MatrixSource) -> NirNode | None:
    """Write a convolution or a pool as a primitive; ``None`` where NIR, or the package's own check, has no way to."""
    # Padding there is as wide before as behind, or ``"same"`` at stride 1; ``nir.NIRGraph.infer_types`` (1.0.8) takes
    # neither groups nor oblong kernels of convolutions.
    if isinstance(transform, Conv):
        if transform.groups != 1 or transform.kernel[0] != transform.kernel[1] or transform.weights is None:
            return None
        is_same = transform.padding == "same" and transform.stride == (1, 1)
        pads = None if is_same else _pads(transform)
        if pads is None and not is_same:
            return None
        weight = transform.weights.tensor(transform.weight_shape).transpose(3, 2, 0, 1).astype(np.float64)
        numbers: dict[str, Any] = {"weight": weight, "stride": transform.stride, "dilation": (1, 1), "groups": 1}
        numbers |= {"bias": np.zeros(len(weight)), "input_shape": transform.source_shape[:2]}
        numbers |= {} if pads is None else {"padding": pads}
        return NirNode("Conv2d", _arrays(numbers), {"padding": "same"} if is_same else {})
    if isinstance(transform, Pool) and (pads := _pads(transform)) is not None:
        stride = transform.stride or transform.kernel
        return NirNode("SumPool2d", _arrays({"kernel_size": transform.kernel, "stride": stride, "padding": pads}))
    return None


def _arrays(numbers: dict[str, Any]) -> dict[str, Any]:
    return {key: np.asarray(value, np.float64) for key, value in numbers.items()}


def _pads(transform: Conv | Pool) -> tuple[int, ...] | None:
    """Give the zeros on either side along rows and columns, if they are as many."""
    if transform.padding == "valid":
        return (0, 0)
    found = []
    stride = transform.stride or transform.kernel
    for n, k, s in zip(transform.source_shape[:2], transform.kernel, stride, strict=True):
        count = output_length(n, k, s, "same")
        before = max((count - 1) * s + k - n, 0) // 2
        if (n + 2 * before - k) // s + 1 != count:
            return None
        found.append(before)
    return tuple(found)
