"""NIR (neuromorphs/NIR): reads graphs of its files and objects as plain values, and writes them (``docs/nir.md``)."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.confined import confined
from neuromap.files.foreign import HEAD, check_regular, file_kind
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.files.whole_chunks import FILTERS, has_whole_chunks
from neuromap.files.whole_file import write_whole
from neuromap.registry import require_package
from neuromap.render.value import Card

# Most graphs within each other.
MAX_DEPTH = 16
# Most nodes of all graphs together.
MAX_NODES = 2**16
# Most edges of all graphs together.
MAX_EDGES = 2**18
# Most numbers of one parameter.
MAX_VALUES = 2**26
# Most characters of a name.
MAX_NAME = 300
_PADDINGS = ("same", "valid")
_GRAPH = "NIRGraph"


def graph_of(tree: Mapping[str, Any], version: str = "") -> NirGraph:
    """Make a graph from nested tables; nothing in them is executed.

    Parameters
    ----------
    tree : mapping
        ``type``, ``nodes``, ``edges`` and ``metadata`` as ``nir.NIRGraph.to_dict()`` gives them.
    version : str
        Version of NIR.

    Returns
    -------
    NirGraph

    Raises
    ------
    InputError
        If it is not a graph: a type or a parameter that NIR 1.0 does not have, a parameter that is missing or not
        finite, an edge from or to a missing node or listed twice, or more than ``MAX_NODES`` nodes, ``MAX_EDGES``
        edges, ``MAX_DEPTH`` graphs within each other.
    """
    if not isinstance(tree, Mapping) or not _is_graph(tree):
        found = tree.get("type") if isinstance(tree, Mapping) else tree
        raise InputError(f"node: type: found {show(found)}; a NIR file holds a NIRGraph, put the node into one")
    return _graph(tree, "", 1, Counter(), version)


def _is_graph(node: Mapping[str, Any]) -> bool:
    kind = node.get("type")  # an array in a file that is damaged
    return isinstance(kind, str) and kind == _GRAPH


def _graph(tree: Mapping[str, Any], path: str, depth: int, total: Counter[str], version: str = "") -> NirGraph:
    here = f"graph {show_name(path)}" if path else "graph"
    if depth > MAX_DEPTH:
        raise InputError(f"{here}: is nested {depth} deep; at most {MAX_DEPTH} graphs within each other are allowed")
    _require_known(tree, here, _GRAPH, ("nodes", "edges"))
    nodes = tree.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes:
        raise InputError(f"{here}: nodes: found {show(nodes)}; needs one node or more")
    total["nodes"] += len(nodes)
    if total["nodes"] > MAX_NODES:
        raise InputError(f"{here}: has more than {MAX_NODES} nodes; split it")
    found: dict[str, NirNode | NirGraph] = {}
    for name, node in nodes.items():
        if not isinstance(name, str) or not name or len(name) > MAX_NAME or not name.isprintable():
            raise InputError(f"{here}: node {show(name)}: needs a name of 1 to {MAX_NAME} printable characters")
        where = f"{path}.{name}" if path else name
        if not isinstance(node, Mapping):
            raise InputError(f"node {where}: found {show(node)}; needs type and parameters")
        found[name] = _graph(node, where, depth + 1, total) if _is_graph(node) else _node(node, where)
    edges = _edges(tree.get("edges"), here, found, total)
    return NirGraph(found, edges, _metadata(tree.get("metadata")), version)


def _edges(
    edges: Any, here: str, nodes: Mapping[str, NirNode | NirGraph], total: Counter[str]
) -> tuple[tuple[str, str], ...]:
    if isinstance(edges, str | Mapping) or not _is_listed(edges):
        raise InputError(f"{here}: edges: found {show(edges)}; needs pairs of names")
    total["edges"] += len(edges)
    if total["edges"] > MAX_EDGES:
        raise InputError(f"{here}: has more than {MAX_EDGES} edges; split it")
    pairs = []
    for edge in edges:
        ends = None if isinstance(edge, str) or not _is_listed(edge) or len(edge) != 2 else list(edge)
        if ends is None or not all(isinstance(end, str) for end in ends):
            raise InputError(f"{here}: edges: found {show(edge)}; needs pairs of names")
        for end in ends:
            head, _, port = end.partition(".")
            if end not in nodes and not (isinstance(held := nodes.get(head), NirGraph) and port in held.nodes):
                raise InputError(f"{here}: edge {show(tuple(ends))}: node {show(end)} does not exist")
        pairs.append((ends[0], ends[1]))
    if len(set(pairs)) < len(pairs):
        twice = next(pair for pair, count in Counter(pairs).items() if count > 1)
        raise InputError(f"{here}: edge {show(twice)}: is listed twice; NIR has it once, remove one")
    return tuple(pairs)


def _is_listed(value: Any) -> bool:
    """Whether a value has a length, unlike an array without dimensions."""
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def _require_known(node: Mapping[Any, Any], where: str, kind: str, keys: tuple[str, ...]) -> None:
    for key in node:
        if key not in (*keys, "type", "metadata"):
            near = did_you_mean(key, keys) if isinstance(key, str) else ""
            raise InputError(
                f"{where}: parameter {show(key)} is none of NIR's {kind}, which has {', '.join(keys)}; remove it, or "
                f"put it into the metadata{near}"
            )


def _node(node: Mapping[str, Any], name: str) -> NirNode:
    kind = node.get("type")
    if not isinstance(kind, str) or kind not in PRIMITIVES:
        near = did_you_mean(kind, PRIMITIVES) if isinstance(kind, str) else ""
        raise InputError(f"node {show_name(name)}: type: found {show(kind)}; NIR has {', '.join(PRIMITIVES)}{near}")
    rules = PRIMITIVES[kind]
    _require_known(node, f"node {show_name(name)} ({kind})", kind, (*rules.needs, *rules.may))
    numbers: dict[str, NDArray[np.float64]] = {}
    words: dict[str, str] = {}
    for key in (*rules.needs, *rules.may):
        value = node.get(key)
        where = f"node {show_name(name)} ({kind}): {key}"
        if value is None:
            if key in rules.needs:
                raise InputError(f"{where}: is missing; {kind} needs {', '.join(rules.needs)}")
            continue
        if key == "padding" and isinstance(value, str):
            if value not in _PADDINGS:
                raise InputError(f'{where}: found {show(value)}; allowed are numbers, "same" and "valid"')
            words[key] = value
            continue
        numbers[key] = _numbers(value, where, is_positive=key in _POSITIVE, is_whole=key in _WHOLE)
    return NirNode(kind, numbers, words, _metadata(node.get("metadata")))


def _array(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths, tensors of a device
        return np.asarray(None)


def _doubles(array: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(np.float64)


def _numbers(value: Any, where: str, *, is_positive: bool, is_whole: bool) -> NDArray[np.float64]:
    array = _array(value)
    if array.dtype.kind not in "iuf" or array.ndim > 8:
        raise InputError(f"{where}: found {show(value)}; needs numbers")
    if array.size > MAX_VALUES:
        raise InputError(f"{where}: holds {array.size} numbers; at most {MAX_VALUES} are allowed")
    numbers = _doubles(array)
    bad = ~(np.abs(numbers) <= GREATEST)
    need = f"finite numbers, up to {GREATEST:g}"
    if is_positive:
        bad, need = bad | ~(numbers >= LEAST), f"numbers above 0, {LEAST:g} to {GREATEST:g}"
    if is_whole:
        bad, need = bad | (numbers != np.rint(numbers)) | (np.abs(numbers) > 2**31), f"whole {need}"
    if bad.any():
        raise InputError(f"{where}: found {numbers[bad].flat[0]:g}; needs {need}")
    return numbers


def _metadata(table: Any) -> dict[str, MetaValue]:
    """Read texts and numbers; metadata of other forms are ignored, but for a step, which is told as a text."""
    found: dict[str, MetaValue] = {}
    for key, value in table.items() if isinstance(table, Mapping) else ():
        array = _array(None if isinstance(value, Mapping) else value)
        if isinstance(value, str):
            found[str(key)] = value
        elif array.dtype.kind in "biuf" and array.size <= MAX_VALUES:
            found[str(key)] = _doubles(array)
        elif key == "dt":
            found[key] = show(value)
    return found


# The primitives of NIR 1.0: what each has, and which numbers it allows.
# Bounds of numbers that must be above 0, and of all: those of float32, so that products of some stay in float64.
LEAST, GREATEST = 1e-40, 1e40


class Primitive(NamedTuple):
    """Parameters of a primitive."""

    needs: tuple[str, ...]  # required parameters
    may: tuple[str, ...] = ()  # optional parameters


# Parameters that must be above 0, and those that must be whole numbers, of whatever primitive.
_POSITIVE = frozenset(
    {"stride", "dilation", "groups", "input_shape", "kernel_size", "shape", "tau", "tau_syn", "tau_mem"}
)
_WHOLE = frozenset(
    {"stride", "padding", "dilation", "groups", "input_shape", "kernel_size", "shape"}
    | {"start_dim", "end_dim", "input_type"}
)
_CONV = Primitive(("weight", "stride", "padding", "dilation", "groups"), ("bias", "input_shape"))
_POOL = Primitive(("kernel_size", "stride", "padding"))
_SHAPE = Primitive(("shape",))
# All primitives but the graph, by the names of NIR 1.0.8 (https://nnir.readthedocs.io).
PRIMITIVES: Mapping[str, Primitive] = ReadOnlyMapping(
    {
        "Affine": Primitive(("weight", "bias")),
        "AvgPool2d": _POOL,
        "Conv1d": _CONV,
        "Conv2d": _CONV,
        "CubaLI": Primitive(("tau_syn", "tau_mem", "r", "v_leak"), ("w_in",)),
        "CubaLIF": Primitive(("tau_syn", "tau_mem", "r", "v_leak", "v_threshold"), ("v_reset", "w_in")),
        "Delay": Primitive(("delay",)),
        "Flatten": Primitive((), ("start_dim", "end_dim", "input_type")),
        "I": Primitive(("r",)),
        "IF": Primitive(("r", "v_threshold"), ("v_reset",)),
        "Input": _SHAPE,
        "LI": Primitive(("tau", "r", "v_leak")),
        "LIF": Primitive(("tau", "r", "v_leak", "v_threshold"), ("v_reset",)),
        "Linear": Primitive(("weight",)),
        "Output": _SHAPE,
        "Scale": Primitive(("scale",)),
        "SumPool2d": _POOL,
        "Threshold": Primitive(("threshold",)),
    }
)


# A NIR graph as plain values, whatever file or object it came from.


# Value of a metadata key: a text, or numbers of any shape.
MetaValue: TypeAlias = "str | NDArray[np.float64]"


@dataclass(frozen=True, eq=False)
class NirNode(Card):
    """One primitive of NIR.

    Attributes
    ----------
    kind : str
        Its type in NIR, such as ``"LIF"``.
    parameters : mapping of str to ndarray of float64
        Numbers by NIR's names, in NIR's shapes; in seconds and volts, or whatever the writer took for them.
    words : mapping of str to str
        Parameters that are words: ``padding``.
    metadata : mapping of str to str or ndarray of float64
        Further data of the writer.
    """

    kind: str
    parameters: Mapping[str, NDArray[np.float64]]
    words: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("parameters", "words", "metadata"):
            held = getattr(self, name)
            locked = {key: frozen(value) if isinstance(value, np.ndarray) else value for key, value in held.items()}
            object.__setattr__(self, name, ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"kind": self.kind} | {name: list(array.shape) for name, array in self.parameters.items()}


@dataclass(frozen=True, eq=False)
class NirGraph(Card):
    """Nodes and edges; values of several nodes that feed one add up.

    Attributes
    ----------
    nodes : mapping of str to NirNode or NirGraph
        In the order of the source; files sort them by name.
    edges : tuple of (str, str)
        Source and target.
    metadata : mapping of str to str or ndarray of float64
        Further data of the writer.
    version : str
        Version of NIR, if the source states it.
    """

    nodes: Mapping[str, NirNode | NirGraph]
    edges: tuple[tuple[str, str], ...]
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))
        object.__setattr__(self, "edges", tuple(self.edges))
        locked = {key: frozen(v) if isinstance(v, np.ndarray) else v for key, v in self.metadata.items()}
        object.__setattr__(self, "metadata", ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"nodes": len(self.nodes), "edges": len(self.edges), "version": self.version}


def nir_bytes(graph: NirGraph) -> bytes:
    """Return the content of a NIR file."""
    require_package("NIR", "nir", "nir")
    import nir

    buffer = io.BytesIO()
    nir.write(buffer, nir.NIRGraph.from_dict({**_tree(graph), "type_check": False}))
    return buffer.getvalue()


def write_nir(graph: NirGraph, path: str | Path) -> None:
    """Write a graph as ``nir.write`` does, whole or not at all.

    Parameters
    ----------
    graph : NirGraph
    path : str or Path
        Ends in ``.nir`` by convention.

    Raises
    ------
    NotSupportedError
        If ``nir`` is not installed.
    InputError
        If the file cannot be written.
    """
    write_whole(path, nir_bytes(graph))


def _tree(graph: NirGraph) -> dict[str, Any]:
    nodes = {name: _tree(node) if isinstance(node, NirGraph) else _of_node(node) for name, node in graph.nodes.items()}
    return {"type": "NIRGraph", "nodes": nodes, "edges": list(graph.edges), **_metadata_tree(graph.metadata)}


def _of_node(node: NirNode) -> dict[str, Any]:
    numbers = {name: _as_written(array, is_whole=name in _WHOLE) for name, array in node.parameters.items()}
    return {"type": node.kind, **numbers, **node.words, **_metadata_tree(node.metadata)}


def _as_written(array: NDArray[np.float64], *, is_whole: bool) -> Any:
    """Return whole numbers as integers, others as the narrowest floats that hold them all: frameworks take float32."""
    if is_whole:
        return int(array) if array.ndim == 0 else array.astype(np.int64)
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32)
    return narrow if np.array_equal(narrow.astype(np.float64), array) else np.array(array)


def _metadata_tree(metadata: Mapping[str, MetaValue]) -> dict[str, Any]:
    return {"metadata": dict(metadata)} if metadata else {}


# Most bytes of a file.
MAX_FILE = 2**30
# Most bytes of all its numbers, unpacked.
MAX_BYTES = 2**31
_MAX_TEXT = 2**24
# Most characters of a text, and of all texts: many references may lead to one.
_MOST_TEXT = 2**26
# Greatest compression ratio of gzip, the tightest of the filters.
_TIGHTEST = 1100
# Most bytes for the library, its caches and texts, besides the numbers.
_BESIDE = 2**28
# Seconds allowed for a small file, ten times what it takes, and bytes per second beyond: h5py is slow on small nodes.
_SECONDS, _BYTES_A_SECOND = 5.0, 10**6
# Key that marks the place of an array in a table; no group of a file holds an empty name.
_ARRAY = ""
_MAX_OBJECTS = 16 * MAX_NODES
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_nir(path: str | Path) -> NirGraph:
    """Read a NIR file.

    Parameters
    ----------
    path : str or Path
        As ``nir.write`` wrote it: HDF5, up to ``MAX_FILE`` bytes, its numbers up to ``MAX_BYTES`` unpacked.

    Returns
    -------
    NirGraph

    Raises
    ------
    InputError
        If it is not such a file: truncated, too large, with links, or with an invalid graph.
    NotSupportedError
        If h5py is missing.
    """
    path = Path(path)
    name = show_name(str(path))
    require_package(f"{name}: as HDF5", "h5py", "nir")  # before a process is started
    try:
        size = check_regular(path, "NIR file (HDF5)", InputError).st_size
        if size > MAX_FILE:
            raise InputError(f"is larger than {MAX_FILE // 2**20} MiB; expected a NIR file (HDF5)")
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        if not head.startswith(_SIGNATURE):
            raise InputError(f"is {file_kind(head) or 'not an HDF5 file'}; expected a NIR file (HDF5)")
        told, arrays = confined(
            f"{__name__}:file_content",
            {"path": str(path)},
            "NIR file (HDF5)",
            # chunked numbers are unpacked before they are in place
            memory=2 * min(MAX_BYTES, _TIGHTEST * size) + _BESIDE,
            work=_SECONDS + size / _BYTES_A_SECOND,
            seconds=12 * (_SECONDS + size / _BYTES_A_SECOND),
        )
        return graph_of(_put_back(told["node"], arrays), told["version"])
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from None


def _put_back(tree: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Insert arrays at the places that :class:`_Reader` marked."""
    if not isinstance(tree, dict):
        return tree
    place = tree.get(_ARRAY)
    return {name: _put_back(part, arrays) for name, part in tree.items()} if place is None else arrays[place]


def file_content(path: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read tables, texts and arrays of a file with h5py, in the process that :func:`read_nir` starts."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            reader = _Reader(h5py, Path(path).stat().st_size)
            return reader.content(file), reader.arrays
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, UnicodeError) as error:
        told = " ".join(str(error).split())[:160]
        raise InputError(f"is not a complete HDF5 file ({show_name(told)}); write it again") from None


class _Reader:
    """One file under inspection."""

    def __init__(self, h5py: Any, size: int) -> None:
        self._h5py, self._size = h5py, size
        self._seen: set[int] = set()
        self._bytes = self._characters = 0
        self.arrays: dict[str, NDArray[Any]] = {}

    def content(self, file: Any) -> dict[str, Any]:
        version = ""
        if "version" in file and self._kind(file, "version") == "hard":
            found = self._value(file["version"], "version")
            version = found[:40] if isinstance(found, str) and found.isprintable() else ""
        if "node" not in file or self._kind(file, "node") != "hard":
            raise InputError("has no group 'node'; expected a NIR file as nir.write makes it")
        tree = self._object(file["node"], "node", 0)
        if not isinstance(tree, dict) or _ARRAY in tree:
            raise InputError("node: is not a group; expected a NIR file as nir.write makes it")
        return {"node": tree, "version": version}

    def _kind(self, group: Any, name: str) -> str:
        link = group.get(name, getlink=True)
        if isinstance(link, self._h5py.HardLink):
            return "hard"
        return "an external" if isinstance(link, self._h5py.ExternalLink) else "a soft"

    def _object(self, item: Any, where: str, depth: int) -> Any:
        address = self._h5py.h5o.get_info(item.id).addr
        if address in self._seen:
            raise InputError(f"{where}: is reached by two names; a NIR file holds everything once")
        self._seen.add(address)
        if len(self._seen) > _MAX_OBJECTS:
            raise InputError(f"has more than {_MAX_OBJECTS} groups and datasets; split the graph")
        if isinstance(item, self._h5py.Dataset):
            return self._value(item, where)
        if not isinstance(item, self._h5py.Group):
            raise InputError(f"{where}: is neither a group nor a dataset; expected a NIR file")
        if depth > 2 * MAX_DEPTH + 2:
            raise InputError(f"{where[:100]}: is nested {depth} deep; at most {MAX_DEPTH} graphs are allowed")
        if len(item) > MAX_NODES:
            raise InputError(f"{where}: holds {len(item)} names; at most {MAX_NODES} are allowed")
        found = {}
        for name in item:
            if not isinstance(name, str) or not name or not name.isprintable() or len(name) > MAX_NAME:
                raise InputError(f"{where}: holds the name {show(name)}; needs up to {MAX_NAME} printable characters")
            below = f"{where}.{name}"
            if (kind := self._kind(item, name)) != "hard":
                raise InputError(f"{below}: is {kind} link; links are not followed, copy what it leads to")
            found[name] = self._object(item[name], below, depth + 1)
        return found

    def _value(self, data: Any, where: str) -> Any:
        """Read a dataset whose size, storage and filters are known to be harmless."""
        if not isinstance(data, self._h5py.Dataset):
            raise InputError(f"{where}: is not a dataset; expected a NIR file")
        if data.shape is None:
            return None
        plan = data.id.get_create_plist()
        if data.is_virtual or data.external:
            raise InputError(f"{where}: lies in another file; a NIR file holds all its numbers")
        filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
        if unknown := [number for number in filters if number not in FILTERS]:
            raise InputError(f"{where}: is packed with filter {unknown[0]}; allowed are {', '.join(FILTERS.values())}")
        count, chunk = math.prod(data.shape), math.prod(data.chunks or ())
        if data.dtype.kind in "OS":
            return self._texts(data, where, count)
        if data.dtype.kind not in "biuf" or data.dtype.itemsize > 16:
            raise InputError(f"{where}: holds {show(data.dtype)}; numbers and texts are allowed")
        if max(count, chunk) > MAX_VALUES:
            raise InputError(f"{where}: holds {max(count, chunk)} numbers; at most {MAX_VALUES} are allowed")
        self._require_stored(data, where, count)
        self._bytes += count * max(data.dtype.itemsize, 8)
        if self._bytes > MAX_BYTES:
            raise InputError(f"{where}: its numbers and those before take more than {MAX_BYTES // 2**20} MiB")
        place = str(len(self.arrays))
        self.arrays[place] = np.asarray(data[()])
        return {_ARRAY: place}

    def _require_stored(self, data: Any, where: str, count: int) -> None:
        """Refuse values that the file does not hold, before memory is allocated for them."""
        stored, wanted = data.id.get_storage_size(), count * data.dtype.itemsize
        offset = None if data.chunks else data.id.get_offset()
        is_beyond = offset is not None and offset + wanted > self._size
        if is_beyond or stored > self._size or wanted > stored * (_TIGHTEST if data.chunks else 1):
            raise InputError(f"{where}: states {wanted} bytes and stores {stored}; write the file again")
        if not has_whole_chunks(data):
            raise InputError(f"{where}: has chunks that are not whole; write the file again")

    def _texts(self, data: Any, where: str, count: int) -> Any:
        """Read a text, or pairs of names."""
        if data.dtype.kind != "S" and self._h5py.check_string_dtype(data.dtype) is None:
            raise InputError(f"{where}: holds objects; numbers and texts are allowed")
        if count > 2 * MAX_EDGES or data.dtype.itemsize * count > _MAX_TEXT:
            raise InputError(f"{where}: holds {count} texts; at most {2 * MAX_EDGES} short ones are allowed")
        self._require_stored(data, where, count)
        longest = _MAX_TEXT if data.shape == () else 2 * MAX_NAME
        texts = [_text(part, where, longest) for part in np.asarray(data[()], object).ravel().tolist()]
        self._characters += sum(map(len, texts))
        if self._characters > _MOST_TEXT:
            raise InputError(f"{where}: its texts and those before have more than {_MOST_TEXT} characters")
        return texts[0] if data.shape == () else np.array(texts, object).reshape(data.shape).tolist()


def _text(value: Any, where: str, longest: int) -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise InputError(f"{where}: holds a text that is not UTF-8") from None
    if len(text) > longest:
        raise InputError(f"{where}: holds a text of {len(text)} characters; at most {longest} are allowed")
    return text
