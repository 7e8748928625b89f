"""Scene files: versioned JSON, whose content is never executed."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import ChipError, InputError, NetworkError, prefixed
from neuromap.faults.edited_program import DeadLink, Edit, SilentCore, ThresholdEdit, WeightEdit
from neuromap.files.messages import show
from neuromap.files.toml_table import parse_toml
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import MatrixSource
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.transforms import Conv, Dense
from neuromap.rollout.pattern import RolloutPattern
from neuromap.simulation.stimulus import value_ranges
from neuromap.studio.scene.scene import MOST_CHANGES, MOST_EDITS, MOST_PIXELS, MOST_RUNS, Change, Scene, SceneRun, Shown

FORMAT = "neuromap studio scene"
VERSION = 1
# Head of every written scene file.
SCENE_HEAD = f'{{"format": "{FORMAT}", "version": {VERSION}, '.encode()
# Size limit of a scene file (64 MiB).
MOST_BYTES = 2**26
_MOST_STIMULUS = 2**27
_MOST_INPUTS = 64
_MOST_R = 2**20
_EDITS: Mapping[str, type[Any]] = {
    "threshold": ThresholdEdit, "weight": WeightEdit, "silent-core": SilentCore, "dead-link": DeadLink
}  # fmt: skip
# Values of edits that are strings; the others are integers, and ``upwards`` is a boolean.
_NODES = ("node", "source", "target")
_NAMES = {kind: name for name, kind in _EDITS.items()}


def scene_bytes(scene: Scene) -> bytes:
    """Encode a scene as the bytes of its file."""
    text, weights = network_bytes(scene.network)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "network": {"toml": text.decode(), "weights": None if weights is None else _base64(weights)},
        "chip": chip_document(scene.chip),
        "runs": [
            {"pattern": run.pattern.name, "values": list(run.pattern.values), "execution": run.execution}
            for run in scene.runs
        ],
        "ticks": scene.ticks,
        "checksums": list(scene.checksums),
        "stimulus": None if scene.stimulus is None else {n: _frames(rows) for n, rows in scene.stimulus.items()},
        "changes": [_change(change) for change in scene.changes],
    }
    return (json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_scene(data: bytes, what: str = "scene") -> Scene:
    """Read a scene from the bytes of its file."""
    top = Document(parse_json(data, what, MOST_BYTES), what)
    if top.of("format", str) != FORMAT or top.of("version", int) != VERSION:
        raise InputError(f"{what}: is not a {FORMAT} of version {VERSION}; save it again from this studio")
    top.allow(("format", "version", "network", "chip", "runs", "ticks", "checksums", "stimulus", "changes"))
    inner = top.inner("network")
    inner.allow(("toml", "weights"))
    network = read_network(inner, f"{what}.network")
    return Scene(
        network=network,
        chip=_chip(top),
        runs=tuple(_run(network, run) for run in top.each("runs", MOST_RUNS)),
        changes=tuple(_read_change(change) for change in top.each("changes", MOST_CHANGES)),
        ticks=top.of("ticks", int),
        stimulus=_stimulus(top.inner("stimulus"), network) if "stimulus" in top else None,
        checksums=tuple(_checksums(top)),
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _frames(rows: NDArray[Any]) -> dict[str, Any]:
    if rows.dtype != np.bool_:
        return {"shape": list(rows.shape), "values": _base64(rows.astype("<i4").tobytes())}
    return {"shape": list(rows.shape), "bits": _base64(np.packbits(rows, bitorder="little").tobytes())}


def _change(change: Change) -> dict[str, Any]:
    if change.edits is not None:
        edits = [{"kind": _NAMES[type(edit)], **asdict(edit)} for edit in change.edits]
        return {"tick": change.tick, "run": change.run, "edits": edits}
    shown = change.shown or Shown()
    pictures = {n: {"shape": list(p.shape), "pixels": _base64(p.tobytes())} for n, p in shown.pictures.items()}
    plain = {name: getattr(shown, name) for name in ("kind", "density", "noise", "seed", "label")}
    return {"tick": change.tick, "shown": {**plain, "pictures": pictures}}


def read_network(document: Document, what: str) -> Network:
    """Read a network from the members ``toml`` and ``weights``."""
    weights = document.raw("weights", MOST_WEIGHT_BYTES) if "weights" in document else None
    return network_from_bytes(document.text("toml", MOST_TOML_BYTES).encode(), weights, what)


def _chip(top: Document) -> ChipSpec:
    try:
        return chip_from_document(top.of("chip", dict), f"{top.path}.chip")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ChipError(f"{top.path}.chip: is not a chip ({str(error)[:80]}); save it again from this studio") from None


def _run(network: Network, run: Document) -> SceneRun:
    run.allow(("pattern", "values", "execution"))
    values = run.of("values", list)
    if len(values) != len(network.edges) or any(type(r) is not int or not 0 <= r <= _MOST_R for r in values):
        raise InputError(f"{run.path}.values: must be 0, 1 or more for each of {len(network.edges)} edges")
    pattern = RolloutPattern.from_values(network, tuple(values), run.text("pattern", 4000))
    return SceneRun(pattern, run.text("execution", 40))


def _checksums(top: Document) -> list[int]:
    found: list[int] = top.of("checksums", list)
    if len(found) > MOST_RUNS or any(type(k) is not int or not 0 <= k < 2**32 for k in found):
        raise InputError(f"{top.path}.checksums: must be at most {MOST_RUNS} numbers of 32 bits")
    return found


def _shape(document: Document, axes: int, most: int) -> tuple[int, ...]:
    found = document.of("shape", list)
    if len(found) != axes or any(type(n) is not int or not 1 <= n <= most for n in found) or np.prod(found) > most:
        raise InputError(f"{document.path}.shape: must be {axes} numbers from 1 on, at most {most} values in all")
    return tuple(found)


def _stimulus(document: Document, network: Network) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    ranges = value_ranges(network) or {}
    for name, node in document.items(_MOST_INPUTS):
        shape = _shape(node, 2, _MOST_STIMULUS)
        low, high = ranges.get(name, (0, 1))
        if name in ranges:
            data = node.raw("values", 4 * _MOST_STIMULUS)
            rows = np.frombuffer(data[: len(data) // 4 * 4], "<i4").astype(np.int32)
            fits = len(data) == 4 * int(np.prod(shape)) and rows.min() >= low and rows.max() <= high
        else:
            size, packed = int(np.prod(shape)), np.frombuffer(node.raw("bits", _MOST_STIMULUS // 8), np.uint8)
            fits = len(packed) == -(-size // 8)
            rows = np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_)
        if not fits or name not in network.inputs or shape[1] != network.nodes[name].size:
            raise InputError(f"{node.path}: does not hold frames of an input node of network {network.name}")
        found[name] = rows.reshape(shape)
    if {len(rows) for rows in found.values()} - {0, 1} and set(found) == set(network.inputs):
        return found
    raise InputError(f"{document.path}: needs frames of {', '.join(network.inputs)}, 2 or more")


def _read_change(change: Document) -> Change:
    tick = change.of("tick", int)
    if "shown" in change:
        change.allow(("tick", "shown"))
        return Change(tick, shown=_shown(change.inner("shown")))
    change.allow(("tick", "run", "edits"))
    return Change(tick, run=change.of("run", int), edits=tuple(map(read_edit, change.each("edits", MOST_EDITS))))


def _shown(shown: Document) -> Shown:
    shown.allow(("kind", "density", "noise", "seed", "label", "pictures"))
    pictures = {}
    for name, picture in shown.inner("pictures").items(_MOST_INPUTS):
        shape, pixels = _shape(picture, 3, MOST_PIXELS), picture.raw("pixels", MOST_PIXELS)
        if len(pixels) != np.prod(shape):
            raise InputError(f"{picture.path}: has {len(pixels)} pixels for a shape of {np.prod(shape)}")
        pictures[name] = np.frombuffer(pixels, np.uint8).reshape(shape)
    kind: Any = shown.text("kind", 20)
    numbers = (float(shown.of("density", float)), float(shown.of("noise", float)), shown.of("seed", int))
    return Shown(kind, pictures, *numbers, shown.text("label", 200))


def read_edit(edit: Document) -> Edit:
    """Read one edit from a scene file."""
    kind = edit.text("kind", 20)
    if kind not in _EDITS:
        raise InputError(f"{edit.path}.kind: must be one of {', '.join(_EDITS)}")
    names = [field.name for field in fields(_EDITS[kind])]
    edit.allow(("kind", *names))
    found: Edit = _EDITS[kind](**{name: _edit_value(edit, name) for name in names})
    return found


def _edit_value(edit: Document, name: str) -> str | int | bool | None:
    if name in _NODES:
        return edit.text(name, 300)
    if name == "index" and name not in edit:  # every neuron of the node
        return None
    found: int | bool = edit.of(name, bool if name == "upwards" else int)
    return found


# Networks as the bytes of their two files, from an upload or a scene. Nothing else on the disk is read.
MOST_TOML_BYTES = 2**21
MOST_WEIGHT_BYTES = 2**25
MOST_NEURONS = 2**20
# Most weights between neurons, counting zeros: about 40 bytes each during mapping.
MOST_WEIGHTS = 2**25
_SAFE = "network.toml"
# Most bytes of a file name; file systems allow 255.
_LONGEST_NAME = 200


def network_from_bytes(text: bytes, weights: bytes | None, what: str = "network") -> Network:
    """Read a network from the bytes of its files."""
    for data, most, kind in ((text, MOST_TOML_BYTES, "network file"), (weights, MOST_WEIGHT_BYTES, "weights file")):
        if data is not None and len(data) > most:
            raise InputError(f"{what}: the {kind} has {len(data)} bytes; the studio takes at most {most}")
    with prefixed(f"{what}: ", NetworkError):
        named = parse_toml(text, NetworkError, long_table="edges").get("weights", {})
    file = named.get("file") if isinstance(named, dict) else None
    if file is not None and not _is_name(file):
        raise InputError(f"{what}: weights.file = {show(file)}: must be the name of a file beside it, without folders")
    if file is not None and weights is None:
        raise InputError(f"{what}: names the weights file {file:.60}; choose that file too")
    with TemporaryDirectory(prefix="neuromap-") as folder:
        Path(folder, _SAFE).write_bytes(text)
        if isinstance(file, str) and weights is not None:
            Path(folder, file).write_bytes(weights)
        try:
            return load_network(Path(folder, _SAFE))
        except InputError as error:
            raise type(error)(str(error).replace(f"{folder}/", "")) from None


def check_size(network: Network, what: str = "network") -> None:
    """Refuse a network so large, though perhaps written in a few lines, that mapping it would exhaust memory."""
    neurons = sum(math.prod(node.shape) for node in network.nodes.values() if node.shape is not None)
    weights = sum(
        _most_weights(transform)
        for edge in network.edges.values()
        for transform in (edge.transform, *(term.transform for term in edge.also))
    )
    for number, most, kind in ((neurons, MOST_NEURONS, "neurons"), (weights, MOST_WEIGHTS, "weights")):
        if number > most:
            raise InputError(f"{what}: has {number} {kind}; the studio takes at most {most}, so map it by command")


def _most_weights(transform: MatrixSource | None) -> int:
    """Count the weights between neurons, including zeros; other transforms have only about as many as neurons."""
    if isinstance(transform, Conv):
        return math.prod(transform.target_shape) * math.prod(transform.weight_shape[:3])
    return math.prod(transform.weight_shape) if isinstance(transform, Dense) else 0


def _is_name(file: object) -> bool:
    """Whether a value is a safe name for a file beside the network file."""
    if not isinstance(file, str) or file in ("", ".", "..", _SAFE) or not file.isprintable():
        return False
    return Path(file).name == file and len(file.encode()) <= _LONGEST_NAME


def network_bytes(network: Network) -> tuple[bytes, bytes | None]:
    """Encode a network as the bytes of its two files; None if there are no weights."""
    with TemporaryDirectory(prefix="neuromap-") as folder:
        path = Path(folder, _SAFE)
        network.save(path)
        weights = path.with_suffix(".safetensors")
        return path.read_bytes(), weights.read_bytes() if weights.exists() else None


# Reading plain values from untrusted JSON: types and bounds of all values are checked, and errors are one line.


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
# Most values of a document, counted by separators: each takes up to 100 bytes of memory, but 2 in a file.
_MOST_VALUES = 4_000_000
# Most characters of an integer, including its sign: enough for 64 bits.
_MOST_DIGITS = 20


def parse_json(data: bytes, what: str, largest: int) -> Any:
    """Parse JSON within bounds."""
    if len(data) > largest:
        raise InputError(f"{what}: has {len(data)} bytes; at most {largest} are read")
    if (n_values := sum(map(data.count, (b",", b"[", b"{")))) > _MOST_VALUES:
        raise InputError(f"{what}: has {n_values} values; at most {_MOST_VALUES} are read")
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_int=_short_number)
        if b"\\u" in data:  # only then can a string hold a lone surrogate, which files and messages cannot encode
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise InputError(f"{what}: a text in it holds half a character (\\ud800 to \\udfff); write it whole") from None
    except (ValueError, RecursionError) as error:
        text = str(error).splitlines()[0] if str(error) else "nested too deep"
        raise InputError(f"{what}: is not JSON ({text[:120]}); give a file that the studio saved") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _short_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


class Document:
    """A JSON object and its path."""

    def __init__(self, values: Any, path: str) -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"{path}: is {show(values)}; must be an object")
        self._values, self.path = values, path

    def allow(self, names: Sequence[str]) -> None:
        """Refuse names other than these."""
        for name in self._values:
            if name not in names:
                raise InputError(f"{self.path}: {show(name)} is not known; known are {', '.join(names)}")

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def of(self, name: str, kind: type[Any]) -> Any:
        """Return a value of a type."""
        value = self._values.get(name)
        fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{self.path}.{name}: is {show(value)}; must be {_KINDS[kind]}")
        return value

    def text(self, name: str, longest: int) -> str:
        """Return a string of at most ``longest`` characters."""
        text: str = self.of(name, str)
        if len(text) > longest:
            raise InputError(f"{self.path}.{name}: has {len(text)} characters; at most {longest}")
        return text

    def inner(self, name: str) -> Document:
        """Return an inner object."""
        return Document(self.of(name, dict), f"{self.path}.{name}")

    def each(self, name: str, most: int) -> list[Document]:
        """Return the objects of a list."""
        found = self.of(name, list)
        if len(found) > most:
            raise InputError(f"{self.path}.{name}: has {len(found)} entries; at most {most}")
        return [Document(value, f"{self.path}.{name}[{k}]") for k, value in enumerate(found)]

    def items(self, most: int) -> list[tuple[str, Document]]:
        """Return the inner objects by name."""
        if len(self._values) > most:
            raise InputError(f"{self.path}: has {len(self._values)} entries; at most {most}")
        return [(name, Document(value, f"{self.path}.{name}")) for name, value in self._values.items()]

    def raw(self, name: str, most: int) -> bytes:
        """Return bytes encoded in base 64."""
        text = self.text(name, most * 4 // 3 + 8)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{self.path}.{name}: is not base 64; give a file that the studio saved") from None
