"""Write a network file, and the weights file beside it; ``docs/network-file.md`` is the reference of the format."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_all
from neuromap.network.build import check_name
from neuromap.network.edge import Edge, EdgeTerm, MatrixSource
from neuromap.network.network import ENCODER, Network, encoder_tensors
from neuromap.network.network_file import TENSOR
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import MORE, GradedNeuron, IntegerNeuron, one_value
from neuromap.network.transforms import OTHER, Conv, Dense, Identity, Pool
from neuromap.network.weights import MAX_ENTRIES, SeededWeights, show_count

_SHAPES = ("source_shape", "target_shape")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def save_network(network: Network, path: str | Path) -> None:
    """Write a network file, and beside it the weights that are not seeded; both whole or not at all."""
    # Explicit matrices are written as dense weights: the same numbers, read as another transform.
    path = path_given("Network.save", path, NetworkError)
    if path.suffix.lower() != ".toml":
        raise NetworkError(f"{path}: suffix {path.suffix!r} is none of a network file; choose .toml")
    _check_names(network)
    weights, tensors = path.with_suffix(".safetensors"), dict(_tensors(network))
    if tensors:
        _require_all(network, tensors)
    text = "\n".join(_lines(network, weights.name if tensors else None)) + "\n"
    files: list[tuple[Path, bytes | str]] = [(path, text)]
    write_all([(weights, sealed_bytes("weights", tensors, {})), *files] if tensors else files)


def _check_names(network: Network) -> None:
    for name in network.nodes:
        check_name(name, f"node {name}")
    for name in network.patterns:
        check_name(name, f"rollout {name}")


def _lines(network: Network, weights: str | None) -> Iterator[str]:
    yield from _keys({"format": 1, "name": network.name, "outputs": network.outputs})
    if weights is not None:
        yield from _table("[weights]", {"file": weights})
    for node in network.nodes.values():
        where = f"nodes.{_write_text(node.name)}"
        one = None if node.name in network.inputs else _one_threshold(node)
        yield from _table(f"[{where}]", {} if node.shape is None else {"shape": tuple(node.shape), "threshold": one})
        if node.shape is not None and node.neuron is not None:
            yield from _table(f"[{where}.neuron]", _neuron(node.neuron))
    for edge in network.edges.values():
        where = f"edges.{_write_text(edge.label)}"
        has_shapes = all(network.nodes[end].shape is not None for end in edge.key)
        yield from _table(f"[{where}]", _term(edge, has_shapes=has_shapes))
        for term in edge.also:
            yield from _table(f"[[{where}.also]]", _term(term))
    for name, keys in network.patterns.items():
        bridging = network.bridging.get(name, {})
        streaming = tuple(f"{u} -> {v}" for u, v in keys if (u, v) not in bridging)
        frames = {f"{u} -> {v}": r for (u, v), r in bridging.items()}
        yield from _table(f"[rollouts.{_write_text(name)}]", {"streaming": streaming, "bridging": frames or None})
    for name, table in network.tables.items():
        yield from _nested(name, table)


def _neuron(neuron: IntegerNeuron) -> dict[str, Any]:
    arrays = {name: one_value(array) for name, array in neuron.arrays.items()}
    words = {name: TENSOR if one is None else one for name, one in arrays.items()}
    return {
        "model": neuron.model,
        **{name: word for name, word in words.items() if name in neuron.parameters},
        MORE: tuple(word for name, word in words.items() if name not in neuron.parameters) or None,
        **neuron.stated,
        "scale": neuron.scale if isinstance(neuron, GradedNeuron) else None,
    }


def _term(term: Edge | EdgeTerm, *, has_shapes: bool = True) -> dict[str, Any]:
    """Return the table of a term: delay and current unless they are the defaults, and its transform."""
    found: dict[str, Any] = {"delay": None if term.delay == 1 else term.delay, "current": term.current or None}
    transform = term.transform
    if transform is None:
        return found | {"transform": OTHER if has_shapes else None}
    if not isinstance(transform, Conv | Dense | Identity | Pool):
        return found | {"transform": "dense"}
    given = {f.name: getattr(transform, f.name) for f in fields(transform) if f.name not in _SHAPES}
    if (weights := given.get("weights")) is not None:  # others go into the weights file
        given["weights"] = vars(weights) if isinstance(weights, SeededWeights) else None
    return found | {"transform": transform.kind} | given


def _tensors(network: Network) -> Iterator[tuple[str, NDArray[Any]]]:
    for edge in network.edges.values():
        for name, term in edge.by_tensor.items():
            if (tensor := _weights(edge.label, term.transform)) is not None:
                yield name, _small(tensor)
    for node in network.nodes.values():
        if node.threshold is not None and node.name not in network.inputs and _one_threshold(node) is None:
            yield f"{node.name}.threshold", _small(node.threshold)
        if node.neuron is not None:
            arrays = node.neuron.arrays
            many = {name: values for name, values in arrays.items() if one_value(values) is None}
            yield from ((f"{node.name}.neuron.{name}", _small(_written(node, values))) for name, values in many.items())
    for name, table in network.tables.get("inputs", {}).items():
        yield from ((f"{name}.{key}", table[key]) for key in ENCODER if key in table and hasattr(table[key], "dtype"))


def _written(node: Node, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Reduce the values of a graded node to one per feature, if that loses nothing."""
    if node.graded is None or node.shape is None:
        return values
    per_feature = values[: node.shape[2]]
    return per_feature if (values.reshape(-1, node.shape[2]) == per_feature).all() else values


def _weights(label: str, transform: MatrixSource | None) -> NDArray[np.int64] | None:
    if transform is None or isinstance(transform, Identity | Pool):
        return None
    if isinstance(transform, Conv | Dense):
        stored = transform.weights
        return None if stored is None or isinstance(stored, SeededWeights) else stored.tensor(transform.weight_shape)
    with prefixed(f"edge {label}: ", NetworkError):
        matrix = transform.matrix()
    if matrix.shape[0] * matrix.shape[1] > MAX_ENTRIES:
        raise NetworkError(
            f"edge {label}: its matrix is written as dense weights, of which {MAX_ENTRIES} are allowed; it has "
            f"{show_count(matrix.shape[0] * matrix.shape[1])}, give it as a conv or pool"
        )
    return matrix.toarray()


def _require_all(network: Network, tensors: Collection[str]) -> None:
    """Refuse missing numbers: a weights file must hold all those that the network file does not."""
    for edge in network.edges.values():
        if edge.transform is None or (isinstance(edge.transform, Conv | Dense) and edge.transform.weights is None):
            raise NetworkError(f"edge {edge.label}: has no weights, while others have; give all of them, or none")
    for node in network.nodes.values():
        if node.threshold is None and node.neuron is None and node.name not in network.inputs:
            raise NetworkError(f"node {node.name}: has no threshold, while there are weights; give it one")
    for tensor in encoder_tensors(network.tables).keys() - tensors:
        raise NetworkError(f"tensor {tensor}: missing, while there are weights; train the layer of this input")


def _one_threshold(node: Node) -> int | None:
    """Return the threshold that all neurons of a node share, or ``None``."""
    return None if node.threshold is None else one_value(node.threshold)


def _small(array: NDArray[np.int64]) -> NDArray[Any]:
    """Convert to the smallest integer type that holds all values."""
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    fits = [kind for kind in (np.int8, np.int16, np.int32) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max]
    return np.ascontiguousarray(array.astype(fits[0] if fits else np.int64))


to_file = save_network


# Plain values as TOML; Python's library only reads TOML.


def _write_text(text: str) -> str:
    """Write a text in quotes: TOML has the escapes of JSON, and requires one for the delete character too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _nested(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Write a table and its subtables, line by line; arrays are left out, as they go into the weights file."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    flat = {key: value for key, value in table.items() if key not in inner and not hasattr(value, "dtype")}
    yield from _table(f"[{name}]", flat)
    for key, value in inner.items():
        yield from _nested(f"{name}.{_toml_key(key)}", value)


def _table(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n{header}"
    yield from _keys(values)


def _keys(values: Mapping[str, Any]) -> Iterator[str]:
    """Write the keys of a table, but for those without a value."""
    return (f"{_toml_key(key)} = {_toml_value(value)}" for key, value in values.items() if value is not None)


def _toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _write_text(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(key)} = {_toml_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return repr(value)  # TOML writes numbers as Python does, inf and nan too
