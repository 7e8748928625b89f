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

from neuromap.errors import NetworkError
from neuromap.files.argument_checks import path_given
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_all
from neuromap.network.build import check_name
from neuromap.network.edge import Edge, EdgeTerm, MatrixSource
from neuromap.network.network import ENCODER, Network, encoder_tensors
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import MORE, GradedNeuron, IntegerNeuron, one_value
from neuromap.network.transforms import OTHER, Conv, Dense, Identity, Pool
from neuromap.network.weights import MAX_ENTRIES, SeededWeights, show_count

# Word in the network file for values in the weights file.
TENSOR = "tensor"
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
    text = "\n".join([*_head(network, weights.name if tensors else None), *_body(network)]) + "\n"
    files: list[tuple[Path, bytes | str]] = [(path, text)]
    write_all([(weights, sealed_bytes("weights", tensors, {})), *files] if tensors else files)


def _check_names(network: Network) -> None:
    for name in network.nodes:
        check_name(name, f"node {name}")
    for name in network.patterns:
        check_name(name, f"rollout {name}")


def _head(network: Network, weights: str | None) -> Iterator[str]:
    yield "format = 1"
    yield f"name = {_write_text(network.name)}"
    yield f"outputs = {_texts(network.outputs)}"
    if weights is not None:
        yield f"\n[weights]\nfile = {_write_text(weights)}"


def _body(network: Network) -> Iterator[str]:
    for node in network.nodes.values():
        yield f"\n[nodes.{_write_text(node.name)}]"
        yield from _node(node, is_input=node.name in network.inputs)
    for edge in network.edges.values():
        yield f"\n[edges.{_write_text(edge.label)}]"
        yield from _edge(
            edge, has_shapes=all(network.nodes[end].shape is not None for end in (edge.source, edge.target))
        )
        for term in edge.also:
            yield f"\n[[edges.{_write_text(edge.label)}.also]]"
            yield from _numbers(term)
            yield from _transform(term.transform)
    for name, keys in network.patterns.items():
        yield f"\n[rollouts.{_write_text(name)}]"
        bridging = network.bridging.get(name, {})
        yield f"streaming = {_texts(f'{u} -> {v}' for u, v in keys if (u, v) not in bridging)}"
        if bridging:
            frames = (f"{_write_text(f'{u} -> {v}')} = {r}" for (u, v), r in bridging.items())
            yield f"bridging = {{ {', '.join(frames)} }}"
    for name, table in network.tables.items():
        yield from _write_table(name, table)


def _node(node: Node, *, is_input: bool) -> Iterator[str]:
    if node.shape is not None:
        yield f"shape = {list(node.shape)}"
        if not is_input and (one := _one_threshold(node)) is not None:
            yield f"threshold = {one}"
        if node.neuron is not None:
            yield f"\n[nodes.{_write_text(node.name)}.neuron]"
            yield from _neuron(node.neuron)


def _neuron(neuron: IntegerNeuron) -> Iterator[str]:
    yield f"model = {_write_text(neuron.model)}"
    arrays = {name: one_value(array) for name, array in neuron.arrays.items()}
    words = {name: _write_text(TENSOR) if one is None else str(one) for name, one in arrays.items()}
    yield from (f"{name} = {words[name]}" for name in neuron.parameters if name in words)
    if more := [word for name, word in words.items() if name not in neuron.parameters]:
        yield f"{MORE} = [{', '.join(more)}]"
    yield from (f"{name} = {value}" for name, value in neuron.stated.items())
    if isinstance(neuron, GradedNeuron) and neuron.scale is not None:
        yield f"scale = {neuron.scale!r}"


def _edge(edge: Edge, *, has_shapes: bool) -> Iterator[str]:
    yield from _numbers(edge)
    if edge.transform is not None:
        yield from _transform(edge.transform)
    elif has_shapes:
        yield f"transform = {_write_text(OTHER)}"


def _numbers(term: Edge | EdgeTerm) -> Iterator[str]:
    """Write delay and current unless they are the defaults."""
    if term.delay != 1:
        yield f"delay = {term.delay}"
    if term.current != 0:
        yield f"current = {term.current}"


def _transform(transform: MatrixSource) -> Iterator[str]:
    if not isinstance(transform, Conv | Dense | Identity | Pool):
        yield 'transform = "dense"'
        return
    yield f"transform = {_write_text(transform.kind)}"
    for field in fields(transform):
        if field.name not in _SHAPES and (value := _value(getattr(transform, field.name))) is not None:
            yield f"{field.name} = {value}"


def _value(value: Any) -> str | None:
    """Write a field of a transform; ``None`` for weights that go into the weights file."""
    if isinstance(value, SeededWeights):
        return f"{{ seed = {value.seed}, values = {list(value.values)} }}"
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, tuple):
        return str(list(value))
    return str(value) if isinstance(value, int) else None


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
    try:
        matrix = transform.matrix()
    except NetworkError as error:
        raise NetworkError(f"edge {label}: {error}") from None
    if matrix.shape[0] * matrix.shape[1] > MAX_ENTRIES:
        raise NetworkError(
            f"edge {label}: its matrix is written as dense weights, of which {MAX_ENTRIES} are allowed; it has "
            f"{show_count(matrix.shape[0] * matrix.shape[1])}, give it as a conv or pool"
        )
    dense: NDArray[np.int64] = matrix.toarray()
    return dense


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


def _texts(texts: Any) -> str:
    return "[" + ", ".join(map(_write_text, texts)) + "]"


to_file = save_network


# Plain values as TOML; Python's library only reads TOML.


def _write_text(text: str) -> str:
    """Write a text in quotes: TOML has the escapes of JSON, and requires one for the delete character too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_table(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Write a table and its subtables, line by line; arrays are left out, as they go into the weights file."""
    yield f"\n[{name}]"
    for key, value in table.items():
        if not isinstance(value, Mapping) and not hasattr(value, "dtype"):
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _write_table(f"{name}.{_toml_key(key)}", value)


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
