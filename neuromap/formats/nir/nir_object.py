"""Write NIR files with the package ``nir``, whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.files.whole_file import write_whole
from neuromap.formats.nir.nir_graph import PRIMITIVES, MetaValue, NirGraph, NirNode
from neuromap.registry import require_package


def nir_object(graph: NirGraph) -> Any:
    """Make an object of the package ``nir``."""
    require_package("NIR", "nir", "nir")
    import nir

    return nir.NIRGraph.from_dict({**_tree(graph), "type_check": False})


def nir_bytes(graph: NirGraph) -> bytes:
    """Give the content of a NIR file."""
    found = nir_object(graph)
    import nir

    buffer = io.BytesIO()
    nir.write(buffer, found)
    return buffer.getvalue()


def write_nir(graph: NirGraph, path: str | Path) -> None:
    """Write a graph as ``nir.write`` does, whole or not at all.

    Parameters
    ----------
    graph : NirGraph
    path : str or Path
        Ends in ``.nir`` by custom.

    Raises
    ------
    NotSupportedError
        If ``nir`` is not installed.
    InputError
        If the file cannot be written.
    """
    write_whole(path, nir_bytes(graph))


def _tree(graph: NirGraph) -> dict[str, Any]:
    nodes = {name: _tree(node) if isinstance(node, NirGraph) else _node(node) for name, node in graph.nodes.items()}
    return {"type": "NIRGraph", "nodes": nodes, "edges": list(graph.edges), **_metadata(graph.metadata)}


def _node(node: NirNode) -> dict[str, Any]:
    whole = PRIMITIVES[node.kind].whole
    numbers = {name: _as_written(array, is_whole=name in whole) for name, array in node.parameters.items()}
    return {"type": node.kind, **numbers, **node.words, **_metadata(node.metadata)}


def _as_written(array: NDArray[np.float64], *, is_whole: bool) -> Any:
    """Give single whole numbers as such, others as the narrowest floats that hold them all: frameworks take float32."""
    if is_whole:
        return int(array) if array.ndim == 0 else array.astype(np.int64)
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32)
    return narrow if np.array_equal(narrow.astype(np.float64), array) else np.array(array)


def _metadata(metadata: Mapping[str, MetaValue]) -> dict[str, Any]:
    return {"metadata": dict(metadata)} if metadata else {}
