"""Reader of SANA-FE's network files: groups of neurons, edges between them, and the core of every neuron.

The YAML is read as plain lists, tables and words: no tags, no anchors, no merging, nothing that could be executed or
expand. The meaning of a word is decided here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show, show_name

MAX_FILE_BYTES = 1 << 26
# Most neurons of a file.
MOST_NEURONS = 1 << 22
# Most entries of a dense edge, and most attributes of all neurons: one line may set one for a whole group.
MOST_WEIGHTS = MOST_VALUES = 1 << 26
# Attributes for logging, or for the unit of a core that counts the cost: spikes do not depend on them.
IGNORED = frozenset(
    {
        *("log_spikes", "log_potential", "log_u", "force_update", "force_update_every_timestep"),
        *("synapse_hw_name", "dendrite_hw_name", "soma_hw_name"),
    }
)
_CONV = ("input_width", "input_height", "input_channels", "kernel_width", "kernel_height", "kernel_count")
_STRIDES = ("stride_width", "stride_height")
_ANCHOR = re.compile(r"(?:^|[\s\[{,:])[&*][^\s,\]}]")
_NETWORK = re.compile(r"""^[ \t\r{?]*["']?network["']?\s*:""", re.MULTILINE)
_NESTED = re.compile(r"^ {200}|(?:[-?] +){32}", re.MULTILINE)
_MOST_DEEP = 32
Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Group:
    """Neurons of one name, with their attributes as in the file."""

    name: str
    size: int
    attributes: dict[str, list[Any]] = field(default_factory=dict)  # by name, one per neuron; None where it has none


@dataclass(frozen=True, eq=False)
class Connection(ReadOnly):
    """Synapses from one group to another."""

    source: str
    target: str
    kind: str  # dense, sparse, conv2d
    weight: NDArray[np.float64]
    pairs: Ints  # (s, 2): source and target of sparse synapses
    conv: Mapping[str, int]  # sizes of a convolution

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"edge {show_name(self.source)} -> {show_name(self.target)}"


@dataclass(frozen=True, eq=False)
class SanafeNetwork:
    """A network file."""

    name: str
    groups: tuple[Group, ...]
    edges: tuple[Connection, ...]
    cores: dict[str, Ints]  # (size, 2) by group: tile, and core of the tile; -1 where a neuron has none


def read_sanafe(path: Path) -> SanafeNetwork:
    """Read a network file."""
    origin = show_name(str(path))
    try:
        data = read_bytes(path, "network of SANA-FE (YAML)", MAX_FILE_BYTES, InputError)
        with foreign_boundary("a network of SANA-FE"):
            return _network(_plain(data))
    except (InputError, NotSupportedError) as error:
        raise type(error)(f"{origin}: {error}") from None


def _plain(data: bytes) -> Values:
    """Load words, lists and tables; refuse what could expand a small file or exhaust the parser's stack."""
    from yaml import BaseLoader, YAMLError

    try:
        from yaml import CBaseLoader
    except ImportError:  # PyYAML without libyaml
        CBaseLoader = BaseLoader

    class Loader(CBaseLoader):  # type: ignore[misc]
        """Loads words, lists and tables, no tags; refuses duplicate keys."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            found = super().construct_mapping(node, deep)
            if len(found) != len(node.value):
                counts = Counter(str(key.value) for key, _ in node.value)
                raise _twice(next(key for key, count in counts.items() if count > 1))
            return found

    try:
        text = data.decode()  # libyaml takes UTF-16 too, in which none of these signs would be seen
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8; write it so") from None
    other = (
        ""
        if _NETWORK.search(text)
        else "no key 'network', so it is not a network of SANA-FE; give the YAML file of one"
    )
    if _ANCHOR.search(text):
        raise InputError(f"has {other or 'YAML anchors or aliases; write out what they stand for'}")
    letters = np.frombuffer(data, np.uint8)
    deep = np.isin(letters, (91, 123)).astype(np.int64) - np.isin(letters, (93, 125))
    if _NESTED.search(text) or int(np.cumsum(deep).max(initial=0)) > _MOST_DEEP:
        raise InputError(f"is nested more than {_MOST_DEEP} deep; a network of SANA-FE is not")
    try:
        found = Loader(data).get_single_data()
    except YAMLError as error:
        why = f"is not YAML ({' '.join(str(error).split())[:100]})"
        raise InputError(f"{why}, and has {other}" if other else why) from None
    return _table(found, "file")


def _network(top: Values) -> SanafeNetwork:
    network = _known(_table(top.get("network"), "network"), ("name", "groups", "edges"), "network")
    by_name: dict[str, Group] = {}
    neurons = values = 0
    for k, one in enumerate(_list(network.get("groups"), "network.groups")):
        group = _group(one, k, MOST_VALUES - values)
        neurons, values = neurons + group.size, values + group.size * len(group.attributes)
        if by_name.setdefault(group.name, group) is not group:
            raise InputError(f"network.groups: two have the name {show(group.name)}; names must differ")
        if neurons > MOST_NEURONS:
            raise InputError(f"network.groups: hold more than {MOST_NEURONS} neurons, the most that are read")
    edges = []
    for entry in _list(network.get("edges"), "network.edges"):
        for label, said in _table(entry, "network.edges").items():
            edges.append(_edge(label, _merged(said, f"edge {show_name(label)}"), by_name))
    cores: dict[str, Ints] = {}
    mapped = 0
    for entry in _list(top.get("mappings", []), "mappings"):
        for label, said in _table(entry, "mappings").items():
            mapped += _map(label, _merged(said, f"mappings {show_name(label)}"), by_name, cores)
            if mapped > 2 * MOST_NEURONS:
                raise InputError(f"mappings {show_name(label)}: neurons have cores again and again; give each one once")
    name = network.get("name")
    return SanafeNetwork(name.strip() if isinstance(name, str) else "", (*by_name.values(),), tuple(edges), cores)


def _group(entry: Any, number: int, most: int) -> Group:
    table = _table(entry, f"network.groups[{number}]")
    name = table.get("name")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InputError(f"network.groups[{number}].name: found {show(name)}; needs a name of printable characters")
    where = f"group {show_name(name)}"
    _known(table, ("name", "attributes", "neurons"), where)
    given: list[tuple[int, int, Values]] = []
    for one in _list(table.get("neurons"), f"{where}: neurons"):
        for label, said in one.items() if isinstance(one, dict) else [(one, [])]:
            first, last = _range(label, where)
            given.append((first, last, _merged(said, f"{where}: neuron {show_name(label)}")))
    size = sum(last - first + 1 for first, last, _ in given)
    begins, ends = (sorted(part) for part in ([one[0] for one in given], [one[1] + 1 for one in given]))
    if size > MOST_NEURONS or begins[1:] != ends[:-1] or begins[:1] not in ([], [0]):
        raise InputError(f"{where}: neurons: found {size}, not numbered from 0 to {size - 1}; name each once")
    shared = _merged(table.get("attributes", []), f"{where}: attributes")
    if size * len({*shared, *(key for *_, said in given for key in said)}) > most:
        raise InputError(f"{where}: with it neurons have more than {MOST_VALUES} attributes, the most that are read")
    attributes: dict[str, list[Any]] = {key: [value] * size for key, value in shared.items()}
    for first, last, said in given:
        for key, value in said.items():
            attributes.setdefault(key, [None] * size)[first : last + 1] = [value] * (last - first + 1)
    return Group(name, size, attributes)


def _edge(label: str, said: dict[str, Any], groups: Mapping[str, Group]) -> Connection:
    where = f"edge {show_name(label)}"
    ends = label.split("->")
    if len(ends) != 2:
        raise InputError(f"{where}: is not an edge; SANA-FE writes SOURCE -> TARGET")
    (source, u), (target, v) = (_end(end, groups, where) for end in ends)
    if (u is None) != (v is None):
        raise InputError(f"{where}: names a neuron at one end only; name it at both, or at none")
    delay = said.pop("delay", said.pop("d", None))
    if delay is not None and np.any(np.asarray(_floats(delay, where), float) != 0):
        raise NotSupportedError(f"{where}: has delays in dendrites, which are not taken over; leave them out")
    if "w" in said and "weight" in said:
        raise _twice("weight")
    weight = said.pop("w", said.pop("weight", None))
    if weight is None:
        raise InputError(f"{where}: has no weight; give one for each synapse")
    kind = "sparse" if u is not None else str(said.pop("type", ""))
    weights = np.atleast_1d(np.asarray(_floats(weight, where), float))
    pairs, conv = np.zeros((0, 2), np.int64), {}
    sizes = groups[source].size, groups[target].size
    if kind == "conv2d":
        conv = {key: _whole(said.pop(key, None), f"{where}: {key}", 1) for key in _CONV}
        conv |= {key: _whole(said.pop(key, 1), f"{where}: {key}", 1) for key in _STRIDES}
        needs = math.prod(conv[key] for key in ("kernel_width", "kernel_height", "input_channels", "kernel_count"))
    elif kind == "dense":
        needs = math.prod(sizes)
    elif kind == "sparse":
        listed = [[u, v]] if u is not None else said.pop("source_target_pairs", None)
        if not isinstance(listed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in listed):
            raise InputError(f"{where}: source_target_pairs: found {show(listed)}; needs a list of pairs of neurons")
        pairs = np.array([[_whole(end, where, 0) for end in pair] for pair in listed], np.int64).reshape(-1, 2)
        if not (pairs < sizes).all():
            raise InputError(
                f"{where}: a pair names a neuron that its group has not; they have {sizes[0]} and {sizes[1]}"
            )
        needs = len(pairs)
    else:
        raise NotSupportedError(f"{where}: type {show(kind)} is not known; known are dense, sparse and conv2d")
    if weights.ndim > 1:
        raise InputError(f"{where}: weight: found lists in a list; needs a list of numbers")
    if needs > MOST_WEIGHTS or len(weights) < needs or (kind != "dense" and len(weights) != needs):
        raise InputError(f"{where}: has {len(weights)} weights; needs {needs}, at most {MOST_WEIGHTS}")
    if unknown := sorted(said.keys() - IGNORED):
        raise NotSupportedError(f"{where}: attribute {show(unknown[0])} is not taken over; leave it out")
    return Connection(source, target, kind, weights[:needs], pairs, conv)


def _end(text: str, groups: Mapping[str, Group], where: str) -> tuple[str, int | None]:
    name, dot, number = text.strip().partition(".")
    if name not in groups:
        raise InputError(f"{where}: group {show(name)} does not exist; groups are {', '.join(groups)[:200]}")
    if not dot:
        return name, None
    return name, _whole(number, where, 0, groups[name].size - 1)


def _map(label: str, said: Values, groups: Mapping[str, Group], cores: dict[str, Ints]) -> int:
    """Put neurons on a core; return their number."""
    where = f"mappings {show_name(label)}"
    name, dot, numbers = label.partition(".")
    if name not in groups:
        raise InputError(f"{where}: group {show(name)} does not exist; groups are {', '.join(groups)[:200]}")
    size = groups[name].size
    first, last = _range(numbers, where) if dot else (0, size - 1)
    tile, point, core = str(said.get("core", "")).partition(".")
    if last >= size or not point:
        raise InputError(f"{where}: found {show(said.get('core'))}; needs neurons of {size}, and core: TILE.CORE")
    _known(said, ("core", "soma", "synapse", "dendrite", *IGNORED), where)
    if name not in cores:
        cores[name] = np.full((size, 2), -1, np.int64)
    cores[name][first : last + 1] = (_whole(tile, where, 0), _whole(core, where, 0))
    return last + 1 - first


def _merged(said: Any, where: str) -> dict[str, Any]:
    """Merge attributes of a table, or of a list of tables; those of a unit join the others."""
    tables = said if isinstance(said, list) else [said]
    found: dict[str, Any] = {}
    for table in tables:
        for key, value in ({} if table == "" else _table(table, where)).items():
            is_unit = key in ("soma", "synapse", "dendrite") and not isinstance(value, str)
            more = _merged(value, where) if is_unit else {key: value}
            if both := found.keys() & more.keys():
                raise InputError(f"{where}: {_twice(min(both))}")
            found |= more
    return found


def _known(table: Values, keys: tuple[str, ...], where: str) -> Values:
    """Refuse other keys, whose meaning would be ignored."""
    if unknown := sorted(table.keys() - set(keys)):
        raise NotSupportedError(f"{where}: key {show(unknown[0])} is not taken over; leave it out")
    return table


def _twice(key: str) -> InputError:
    return InputError(f"{show(key)} is given twice; give it once")


def _range(text: str, where: str) -> tuple[int, int]:
    first, dots, last = str(text).partition("..")
    begin = _whole(first, where, 0)
    end = _whole(last, where, begin) if dots else begin
    return begin, end


def _whole(text: Any, where: str, least: int, most: int = MOST_NEURONS) -> int:
    word = str(text)
    if not re.fullmatch("[0-9]{1,9}", word) or not least <= int(word) <= most:
        raise InputError(f"{where}: found {show(text)}; needs a whole number from {least} to {most}")
    return int(word)


def _floats(value: Any, where: str) -> Any:
    """Convert words to numbers, in lists of the same form."""
    if isinstance(value, list):
        return [_floats(one, where) for one in value]
    return number(value, where)


def number(value: Any, where: str) -> float:
    """Convert a word to a finite number."""
    try:
        found = float(value)
        if "_" in value or not value.isascii():  # which Python takes for a number, and nobody else
            found = math.nan
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{where}: found {show(value)}; needs a number")
    return found


def _table(value: Any, where: str) -> Values:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{where}: found {show(value)}; needs a table")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if value == "":
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}: found {show(value)}; needs a list")
    return value
