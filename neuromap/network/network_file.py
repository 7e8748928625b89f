"""Read a network from its TOML file. ``docs/network-file.md`` is the reference of the format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import did_you_mean, show
from neuromap.files.sealed import Seal, seal_of_file
from neuromap.files.toml_table import TomlTable, read_toml
from neuromap.network.build import (
    check_name,
    check_pooling,
    edge_ends,
    parse_edge,
    read_transform,
    spread_threshold,
    threshold_shapes,
)
from neuromap.network.edge import MAX_DELAY, Edge, EdgeKey, EdgeTerm
from neuromap.network.network import ENCODER, MOST_BRIDGED, RESERVED_PATTERNS, TABLES, Network, encoder_tensors
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import MAX_CURRENTS, MORE, CurrentNeuron, GradedNeuron, IntegerNeuron, LeakNeuron
from neuromap.network.transforms import OTHER, Conv, Dense
from neuromap.network.weights import (
    INT_HIGH,
    INT_LOW,
    StoredWeights,
    as_integers,
    as_shape,
    layout_hint,
    not_integers,
    show_shape,
)

_INTEGERS = {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"}
_LOADABLE_FLOATS = {"F16", "F32", "F64"}


def read_tensors(
    path: str | Path,
    wanted: Mapping[str, Sequence[tuple[int, ...]]],
    unused: Mapping[str, str] | None = None,
    floats: Mapping[str, int] | None = None,
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.float32]]]:
    """Read exactly the tensors that a network needs."""
    # Names and shapes are checked before anything is loaded. A file with a digest must match it; one without was
    # written by another program, or by an early version of this one.
    path, floats = Path(path), floats or {}
    try:
        if not path.is_file():
            found = "is a folder" if path.is_dir() else "is not a regular file" if path.exists() else "does not exist"
            raise NetworkError(f"{found}; expected a safetensors file")
        with safe_open(path, framework="numpy") as file:
            if seal_of_file(path, file.metadata() or {}) is Seal.DAMAGED:
                raise NetworkError("is damaged, it does not fit its digest; take a copy, or save the network again")
            _check_names(list(file.keys()), wanted, unused or {}, floats)
            integers = {name: _read_array(file, name, shapes) for name, shapes in wanted.items()}
            return integers, {name: _read_floats(file, name, axes) for name, axes in floats.items()}
    except NetworkError as error:
        raise NetworkError(f"weights file {path}: {error}") from None
    except SafetensorError as error:
        raise NetworkError(
            f"weights file {path}: is not a complete safetensors file ({' '.join(str(error).split())[:120]})"
        ) from None
    except OSError as error:
        raise NetworkError(f"weights file {path}: cannot be read ({error.strerror or error})") from None


def _check_names(
    found: Sequence[str],
    wanted: Mapping[str, Sequence[tuple[int, ...]]],
    unused: Mapping[str, str],
    floats: Mapping[str, int],
) -> None:
    for name in found:
        if name in wanted or name in floats:
            continue
        if name in unused:
            raise NetworkError(f"tensor {show(name)}: {unused[name]}")
        near = get_close_matches(name, [*wanted, *floats], n=1, cutoff=0.0)
        hint = f"; the closest that it uses is {near[0]!r}" if near else ""
        raise NetworkError(f"tensor {show(name)}: the network does not use it{hint}")
    for name in wanted:
        if name not in found:
            raise NetworkError(
                f"tensor {name!r}: missing; add it with shape {_alternatives(wanted[name])}, or give the "
                "numbers in the network file"
            )
    for name in floats:
        if name not in found:
            raise NetworkError(f'tensor {name!r}: missing; the input has code = "layer", train its layer or drop that')


def _read_array(file: Any, name: str, shapes: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    header = file.get_slice(name)
    shape, dtype = tuple(header.get_shape()), header.get_dtype()
    if shape not in shapes:
        hint = layout_hint(shape, shapes[0]) if len(shapes) == 1 else ""  # thresholds may have several shapes
        raise NetworkError(
            f"tensor {name!r}: found shape {show_shape(shape)}; allowed is {_alternatives(shapes)}{hint}"
        )
    if dtype in _LOADABLE_FLOATS or dtype == "BOOL":
        raise NetworkError(f"tensor {name!r}: {not_integers(file.get_tensor(name))}")
    if dtype not in _INTEGERS:
        raise NetworkError(f"tensor {name!r}: found dtype {dtype}; only integers of at most 64 bits are allowed")
    return as_integers(file.get_tensor(name), f"tensor {name!r}")


def _read_floats(file: Any, name: str, axes: int) -> NDArray[np.float32]:
    header = file.get_slice(name)
    shape, dtype = tuple(header.get_shape()), header.get_dtype()
    if dtype != "F32" or len(shape) != axes or 0 in shape:
        raise NetworkError(
            f"tensor {name!r}: found {dtype} of shape {show_shape(shape)}; allowed is F32 of {axes} axes"
        )
    tensor: NDArray[np.float32] = file.get_tensor(name)
    if not np.isfinite(tensor).all():
        raise NetworkError(f"tensor {name!r}: found NaN or infinity; only finite numbers are allowed")
    tensor.flags.writeable = False
    return tensor


def _alternatives(shapes: Sequence[tuple[int, ...]]) -> str:
    return " or ".join(show_shape(s) for s in dict.fromkeys(shapes))


# Version of the network file that is read.
FORMAT = 1
# Largest network file (16 MiB; 100,000 edges of structure take about 3).
MAX_FILE_BYTES = 2**24
_TOP_KEYS = ("format", "name", "outputs", "nodes", "edges", "weights", "rollouts", *TABLES)


def load_network(path: str | Path) -> Network:
    """Read a network file, and the weights file that it names.

    Everything is checked here; matrices are built when they are first asked for. A network with shapes but
    without weights or thresholds loads, as the theory needs neither;
    :func:`neuromap.network.build.require_weights` refuses it. A named pattern that is invalid loads too:
    the theory reports its cycle.

    Parameters
    ----------
    path : str or Path
        A TOML file, ``format = 1``.

    Returns
    -------
    Network
        Nodes and edges in file order; the order of edges is the order of patterns.

    Raises
    ------
    NetworkError
        In one line: file, key path, what was found, what is allowed.
    """
    path = path_given("load_network", path, NetworkError)
    try:
        return _read(read_toml(path, "network file", MAX_FILE_BYTES, NetworkError, long_table="edges"), path)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from None
    except MemoryError:
        raise NetworkError(f"{path}: its nodes take more memory than there is; make them smaller") from None


def _read(values: dict[str, Any], path: Path) -> Network:
    top = TomlTable(values, "", NetworkError)
    top.check_format(FORMAT, "network file")
    top.allow(_TOP_KEYS)
    name = top.text("name") if "name" in top else path.stem
    table = top.table("edges")
    texts = _edge_texts(table)
    nodes = _nodes(top.table("nodes"), table, texts)
    # Names first: errors in them are reported before anything large is built.
    outputs = _outputs(top, nodes)
    patterns, bridging = _patterns(top.table("rollouts"), texts)
    # Once without numbers: faults of the graph are reported before those of the weights file.
    tables = {key: top.table(key).values for key in TABLES if key in top}
    edges = {(u, v): _edge(table, text, nodes[u], nodes[v]) for (u, v), text in texts.items()}
    network = Network(name, nodes, edges, outputs, patterns, tables, bridging)
    stored = stored_values(top.table("nodes"))
    if "weights" in top:
        network = _with_weights(network, top.table("weights", ("file",)), path.parent, stored)
    elif stored:
        node, value = stored[0]
        raise NetworkError(
            f'nodes.{node}.neuron.{value}: is a tensor, but there is no weights file; add [weights] file = "..."'
        )
    check_pooling(network.nodes, network.edges.values())
    return network


def _edge_texts(table: TomlTable) -> dict[EdgeKey, str]:
    """Map every edge to its text in the file."""
    one: dict[str, str] = {}  # one object for all mentions of a node
    found: dict[EdgeKey, str] = {}
    for text in table.values:
        u, v = edge_ends(text) or parse_edge(text, table.key_path(text))
        key = one.setdefault(u, u), one.setdefault(v, v)
        if key in found:
            raise NetworkError(
                f"{table.key_path(text)}: is edge {Edge(*key).label} a second time, after "
                f"{table.key_path(found[key])}; no parallel edges are allowed"
            )
        found[key] = text
    return found


def _edge(table: TomlTable, text: str, source: Node, target: Node) -> Edge:
    if (source.shape is None or target.shape is None) and table.values[text] == {}:
        return Edge(source.name, target.name)
    part = table.table(text)
    numbers = _term_numbers(part)
    also = tuple(_term(term, source, target) for term in part.tables_in("also")) if "also" in part else ()
    return Edge(source.name, target.name, read_transform(part, source.shape, target.shape), *numbers, also)


def _term_numbers(part: TomlTable) -> tuple[int, int]:
    """Read delay and current of a term of an edge."""
    delay = part.integer("delay", 1, MAX_DELAY) if "delay" in part else 1
    return delay, part.integer("current", 0, MAX_CURRENTS - 1) if "current" in part else 0


def _term(part: TomlTable, source: Node, target: Node) -> EdgeTerm:
    numbers = _term_numbers(part)
    if "also" in part:
        raise part.wrong("also", "is none here; list all further terms in the also of the edge")
    transform = read_transform(part, source.shape, target.shape)
    if transform is None:
        raise part.wrong("transform", "is none, as the nodes have no shapes; give every node its shape")
    return EdgeTerm(transform, *numbers)


def _nodes(table: TomlTable, edge_table: TomlTable, edges: Mapping[EdgeKey, str]) -> dict[str, Node]:
    """Read the nodes; if there is no table of nodes, the edges name them."""
    if not table.values:
        return {n: Node(n) for n in dict.fromkeys(chain.from_iterable(edges))}
    for name, node in table.tables():
        check_name(name, node.path)
        _check_no_dots(name, node)
    for (u, v), text in edges.items():
        for n in (u, v):
            if n not in table:
                raise NetworkError(
                    f"{edge_table.key_path(text)}: node {n} does not exist; add [{table.key_path(n)}]"
                    + did_you_mean(n, table.values)
                )
    targets = {v for _, v in edges}
    nodes = {name: _node(name, part, has_incoming=name in targets) for name, part in table.tables()}
    without = [n for n, node in nodes.items() if node.shape is None]
    # An import may leave shapes open; then the tables of the edges there are empty, as nothing is known of them.
    said = any(edge_table.values[text] != {} for key, text in edges.items() if {*key} & {*without})
    if 0 < len(without) < len(nodes) and said:
        raise NetworkError(
            f"{table.key_path(without[0])}.shape: missing, while {len(nodes) - len(without)} of {len(nodes)} "
            "nodes have a shape; allowed is a shape for every node, or for none (theory only)"
        )
    return nodes


def _check_no_dots(name: str, table: TomlTable) -> None:
    for key, value in table.values.items():
        if isinstance(value, dict) and key != "neuron":
            raise NetworkError(
                f"{table.key_path(key)}: found a table; allowed are shape, threshold, neuron; quote a node name that "
                f'holds a dot: [nodes."{name}.{key}"]'
            )


def _node(name: str, table: TomlTable, *, has_incoming: bool) -> Node:
    table.allow(("shape", "threshold", "neuron"))
    threshold = neuron = None
    if "neuron" in table:
        if "shape" not in table or "threshold" in table:
            raise table.wrong("neuron", "is a table of a node with a shape and no threshold")
        neuron = read_neuron(table.table("neuron"))
    if "threshold" in table:
        if not has_incoming:
            raise table.wrong("threshold", "is none: an input node's spikes come from outside")
        threshold = table.integer("threshold", INT_LOW, INT_HIGH)
    if "shape" not in table:
        if threshold is not None:
            raise table.wrong("threshold", "is none without a shape; give every node its shape")
        return Node(name)
    table.integers("shape", "are three positive integers [rows, columns, features]")
    with prefixed(f"{table.path}.", NetworkError):
        shape = as_shape(table.values["shape"])
    if threshold is None:
        return Node(name, shape, neuron=neuron)
    return Node(name, shape, spread_threshold(as_integers(threshold, "threshold"), shape))


def _outputs(top: TomlTable, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    if "outputs" not in top:
        return ()
    outputs = top.texts("outputs")
    if not outputs:
        raise top.wrong("outputs", "is a list of one node or more; leave the key out for the default")
    for n in outputs:
        if n not in nodes:
            raise top.wrong("outputs", f"are names of nodes{did_you_mean(n, nodes)}")
    return tuple(outputs)


def _patterns(
    table: TomlTable, edges: Collection[EdgeKey]
) -> tuple[dict[str, tuple[EdgeKey, ...]], dict[str, dict[EdgeKey, int]]]:
    """Read the rollout patterns: streaming edges of each, and the frames of those that bridge some."""
    patterns: dict[str, tuple[EdgeKey, ...]] = {}
    bridging: dict[str, dict[EdgeKey, int]] = {}
    for name, rollout in table.tables():
        check_name(name, rollout.path)
        if name in RESERVED_PATTERNS:
            raise NetworkError(
                f"{rollout.path}: every network has the pattern {name} of its own; allowed is any other name"
            )
        rollout.allow(("streaming", "bridging"))
        streaming = list(_edges_of_pattern(rollout.texts("streaming"), rollout.key_path("streaming"), edges))
        frames = rollout.table("bridging")
        bridged = list(_edges_of_pattern(list(frames.values), frames.path, edges, also=streaming))
        patterns[name] = (*streaming, *bridged)
        numbers = [frames.integer(text, 2, MOST_BRIDGED) for text in frames.values]
        bridging[name] = dict(zip(bridged, numbers, strict=True))
    return patterns, bridging


def _edges_of_pattern(
    texts: Sequence[str], where: str, edges: Collection[EdgeKey], also: Sequence[EdgeKey] = ()
) -> Iterator[EdgeKey]:
    """Read names of edges; each must exist, and be named once, also counting ``also``."""
    named = set(also)
    for text in texts:
        key = parse_edge(text, where)
        label = Edge(*key).label
        if key not in edges:
            near = did_you_mean(label, (Edge(*key).label for key in edges))
            raise NetworkError(f"{where}: edge {label} does not exist" + (near or "; allowed are edges of the file"))
        if key in named:
            raise NetworkError(f"{where}: edge {label} is named twice; allowed is once")
        named.add(key)
        yield key


def _with_weights(network: Network, table: TomlTable, folder: Path, stored: Sequence[tuple[str, str]]) -> Network:
    """Fill in what the network file leaves to the weights file."""
    given = table.text("file")
    if any(node.shape is None for node in network.nodes.values()):
        raise table.wrong("file", "is none, as the nodes have no shapes; give every node its shape")
    wanted: dict[str, tuple[tuple[int, ...], ...]] = {}
    unused: dict[str, str] = {}
    for edge in network.edges.values():
        if edge.transform is None:
            raise table.wrong("file", f'is none, as edge {edge.label} is transform = "{OTHER}"; give it another')
        for tensor, term in edge.by_tensor.items():
            if not isinstance(term.transform, Conv | Dense):
                unused[tensor] = "a pool or identity has fixed weights; drop the tensor"
            elif term.transform.weights is not None:
                unused[tensor] = "the network file gives this edge seeded weights; drop one of the two"
            else:
                wanted[tensor] = (term.transform.weight_shape,)
    for node in network.nodes.values():
        tensor = f"{node.name}.threshold"
        if node.name in network.inputs:
            unused[tensor] = "an input node takes no threshold; drop the tensor"
        elif node.threshold is not None:
            unused[tensor] = "the network file gives this node a threshold; drop one of the two"
        elif node.neuron is not None:
            unused[tensor] = "the node's neuron has a threshold of its own; drop the tensor"
        elif node.shape is not None:
            wanted[tensor] = threshold_shapes(node.shape)
    wanted |= {f"{node}.neuron.{name}": _value_shapes(network.nodes[node]) for node, name in stored}
    floats = encoder_tensors(network.tables)
    tensors, encoders = read_tensors(folder / given, wanted, unused, floats)
    nodes = {name: _with_values(node, tensors) for name, node in network.nodes.items()}
    edges = {key: _with_tensors(edge, tensors) for key, edge in network.edges.items()}
    return replace(network, nodes=nodes, edges=edges, tables=_with_encoders(network.tables, encoders))


def _with_encoders(tables: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]]) -> Mapping[str, Any]:
    """Put the weights of encoding layers into the tables of their input nodes."""
    if not tensors:
        return tables
    inputs = {
        name: {**table, **{key: tensors[f"{name}.{key}"] for key in ENCODER if f"{name}.{key}" in tensors}}
        for name, table in tables["inputs"].items()
    }
    return {**tables, "inputs": inputs}


def _with_tensors(edge: Edge, tensors: Mapping[str, NDArray[np.int64]]) -> Edge:
    transform, *also = (_with_tensor(term.transform, tensors.get(name)) for name, term in edge.by_tensor.items())
    further = (replace(term, transform=stored) for term, stored in zip(edge.also, also, strict=True))
    return replace(edge, transform=transform, also=tuple(further))


def _with_tensor(transform: Any, tensor: NDArray[np.int64] | None) -> Any:
    return transform if tensor is None else replace(transform, weights=StoredWeights(tensor))


# The table of a node's neuron in a network file: numbers, or a word for those in the weights file.


# Classes of neurons, by the names that a neuron's table may give.
MODELS: Mapping[str, type[IntegerNeuron]] = ReadOnlyMapping(
    {kind.model: kind for kind in (CurrentNeuron, LeakNeuron, GradedNeuron)}
)
# Word for values in the weights file, one per neuron; for graded nodes, also one per feature.
TENSOR = "tensor"


def read_neuron(table: TomlTable) -> IntegerNeuron:
    """Read a neuron; values in the weights file get placeholders for now."""
    kind = MODELS[table.text("model", tuple(MODELS))]
    bounds = {**kind.settings, **kind.parameters}
    others = [field.name for field in fields(kind) if field.name not in bounds]  # more decays, or a scale
    table.allow(("model", *kind.parameters, *kind.settings, *others))
    for field in fields(kind):
        if field.default is MISSING and field.name not in table:
            raise table.wrong(field.name, "is an integer; a neuron needs it")
    values: dict[str, Any] = {}
    for name, (low, high) in bounds.items():
        if name in table:
            is_stored = name in kind.parameters and table.values[name] == TENSOR
            values[name] = max(0, low) if is_stored else table.integer(name, low, high)
    values |= {name: table.values[name] for name in others if name in table}
    more = values.get(MORE, [])
    if not isinstance(more, list) or not all(n == TENSOR or type(n) is int for n in more):
        raise table.wrong(MORE, f'is a list of integers, or of "{TENSOR}"')
    if MORE in values:
        values[MORE] = tuple(0 if n == TENSOR else n for n in more)
    with prefixed(f"{table.path}: ", NetworkError):
        return kind(**values)


def _value_shapes(node: Node) -> tuple[tuple[int, ...], ...]:
    each = ((node.size,),)
    return (*each, (node.shape[2],)) if node.graded is not None and node.shape is not None else each


def stored_values(table: TomlTable) -> tuple[tuple[str, str], ...]:
    """List node and name of all values in the weights file."""
    found = []
    for node, part in table.tables():
        neuron = part.values.get("neuron")
        if isinstance(neuron, Mapping):
            found += [(node, name) for name, value in neuron.items() if value == TENSOR]
            more = neuron.get(MORE, [])
            found += [(node, f"{MORE}.{k}") for k, value in enumerate(more, start=1) if value == TENSOR]
    return tuple(found)


def _with_values(node: Node, tensors: Mapping[str, NDArray[np.int64]]) -> Node:
    """Put values from the weights file into a node: its thresholds, or those of its neuron."""
    threshold = tensors.get(f"{node.name}.threshold")
    if node.shape is not None and threshold is not None:
        return replace(node, threshold=spread_threshold(threshold, node.shape))
    if node.neuron is None:
        return node
    names = (*node.neuron.parameters, *node.neuron.arrays)  # options that do nothing yet are no arrays of a neuron
    stored = {name: tensors[f"{node.name}.neuron.{name}"] for name in names if f"{node.name}.neuron.{name}" in tensors}
    with prefixed(f"node {node.name}: ", NetworkError):
        neuron = node.neuron.with_arrays(stored)
    return replace(node, neuron=neuron)
