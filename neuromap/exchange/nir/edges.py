"""Edges of integer weights out of maps of NIR, in the transforms that made them where they can be told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from neuromap.errors import NetworkError
from neuromap.exchange.nir.order import in_our_order, our_shape
from neuromap.exchange.nir.signals import Term
from neuromap.formats.nir.nir_graph import NirNode
from neuromap.network.terms import MatrixSource
from neuromap.network.transforms.kinds import Conv, Identity, Pool
from neuromap.network.transforms.limits import INT_HIGH
from neuromap.network.transforms.matrices import MatrixTransform

__all__ = ["integer_transform", "is_integer"]

_BESIDE = ("Delay", "Flatten", "Joint", "LI")
"""Primitives on the way that change neither values nor their order, or of which the neuron tells."""


def is_integer(matrix: csr_array) -> bool:
    """Tell whether all weights are integers of 32 bits."""
    data = matrix.data
    return bool((data == np.rint(data)).all() and (np.abs(data) <= INT_HIGH).all())


def integer_transform(
    target: str,
    term: Term,
    target_shape: tuple[int, ...],
    source_shape: tuple[int, ...],
    nodes: Mapping[str, NirNode],
    *,
    r_of_filter: np.ndarray | None = None,
) -> MatrixSource:
    """Give the transform of a term."""
    # shapes: r_of_filter (n,)
    matrix = term.matrix
    if r_of_filter is not None:
        matrix = csr_array(matrix.multiply(1 / r_of_filter[:, None]))
        matrix.data = np.where(np.abs(matrix.data - np.rint(matrix.data)) < 1e-6, np.rint(matrix.data), matrix.data)
    if not is_integer(matrix):
        wrong = matrix.data[matrix.data != np.rint(matrix.data)]
        raise NetworkError(
            f"edge {term.source} -> {target}: found the weight {wrong[:1].sum():g}; a graph whose metadata say that it "
            "comes from neuromap has integers, remove the metadata to read it as any other"
        )
    ops = None if term.via is None else [nodes[name] for name in term.via if nodes[name].kind not in _BESIDE]
    shapes = our_shape(source_shape), our_shape(target_shape)
    is_plain = len(source_shape) == len(target_shape)
    if ops == [] and is_plain and shapes[0] == shapes[1]:
        return Identity(*shapes)
    if ops is not None and len(ops) == 1 and len(source_shape) == len(target_shape) == 3:
        found = _window(ops[0], *shapes)
        if found is not None:
            return found
    ours = in_our_order(matrix, target_shape, source_shape)
    ours.data = np.rint(ours.data)
    return MatrixTransform(csr_array(ours.astype(np.int64)))


def _window(node: NirNode, source: tuple[int, int, int], target: tuple[int, int, int]) -> MatrixSource | None:
    """Give a convolution or a pool in our words, if there are any."""
    get = {key: tuple(int(n) for n in np.broadcast_to(node.parameters[key].ravel(), 2)) for key in ("stride", "padding")
           if key in node.parameters}  # fmt: skip
    is_valid = node.words.get("padding") == "valid" or get.get("padding") == (0, 0)
    stride = (get["stride"][0], get["stride"][1])
    try:
        if node.kind == "Conv2d" and (node.parameters["dilation"] == 1).all():
            weight = node.parameters["weight"]
            if not is_integer(csr_array(weight.reshape(len(weight), -1))):
                return None
            kernel = (int(weight.shape[2]), int(weight.shape[3]))
            ours = weight.transpose(2, 3, 1, 0).astype(np.int64)
            groups = int(node.parameters["groups"].ravel()[0])
            found: Conv | Pool = Conv(
                source,
                target,
                kernel,
                stride,
                "valid" if is_valid else "same",
                groups,
                weights=ours,  # type: ignore[arg-type] # arrays become sources
            )
        elif node.kind == "SumPool2d":
            sizes = np.broadcast_to(node.parameters["kernel_size"].ravel(), 2)
            found = Pool(source, target, (int(sizes[0]), int(sizes[1])), stride, "valid" if is_valid else "same")
        else:
            return None
    except NetworkError:  # another padding than ours
        return None
    return found if is_valid or _is_ours(node, found) else None


def _is_ours(node: NirNode, found: Conv | Pool) -> bool:
    """Whether padding is what our ``same`` means for these shapes."""
    stride = found.stride or found.kernel
    for axis in (0, 1):
        n, m, k, s = found.source_shape[axis], found.target_shape[axis], found.kernel[axis], stride[axis]
        before = max((m - 1) * s + k - n, 0) // 2
        given = (
            (k - 1) // 2
            if "padding" in node.words
            else int(np.broadcast_to(node.parameters["padding"].ravel(), 2)[axis])
        )
        if before != given:
            return False
    return True
