"""The file of a scene: JSON with a version, written and read; nothing in it is ever executed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import ChipError, InputError
from neuromap.faults.edit import DeadLink, Edit, SilentCore, ThresholdEdit, WeightEdit
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.studio.scene.document import Document, parse_json
from neuromap.studio.scene.network_files import (
    MOST_TOML_BYTES,
    MOST_WEIGHT_BYTES,
    network_bytes,
    network_from_bytes,
)
from neuromap.studio.scene.scene import MOST_CHANGES, MOST_EDITS, MOST_RUNS, Change, Scene, SceneRun
from neuromap.studio.scene.shown import MOST_PIXELS, Shown

__all__ = ["FORMAT", "MOST_BYTES", "SCENE_HEAD", "read_edit", "read_scene", "scene_bytes"]

FORMAT = "neuromap studio scene"
VERSION = 1
SCENE_HEAD = f'{{"format": "{FORMAT}", "version": {VERSION}, '.encode()
"""What every scene file that is written begins with."""
MOST_BYTES = 2**26
"""Of a scene file (64 MiB)."""
_MOST_STIMULUS = 2**27
_MOST_INPUTS = 64
_MOST_R = 2**20
_EDITS: Mapping[str, type[Any]] = {
    "threshold": ThresholdEdit, "weight": WeightEdit, "silent-core": SilentCore, "dead-link": DeadLink
}  # fmt: skip
_NODES = ("node", "source", "target")
"""Values of edits that are texts; the others are whole numbers, and ``upwards`` true or false."""
_NAMES = {kind: name for name, kind in _EDITS.items()}


def scene_bytes(scene: Scene) -> bytes:
    """Write a scene as the bytes of its file."""
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
        "stimulus": None if scene.stimulus is None else {n: _bits(rows) for n, rows in scene.stimulus.items()},
        "changes": [_change(change) for change in scene.changes],
    }
    return (json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_scene(data: bytes, what: str = "scene") -> Scene:
    """Read the bytes of a scene file."""
    top = Document(parse_json(data, what, MOST_BYTES), what)
    if top.of("format", str) != FORMAT or top.of("version", int) != VERSION:
        raise InputError(f"{what}: is no {FORMAT} of version {VERSION}; save it anew from this studio")
    top.allow(("format", "version", "network", "chip", "runs", "ticks", "checksums", "stimulus", "changes"))
    network = _network(top.inner("network"), what)
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


def _bits(rows: NDArray[np.bool_]) -> dict[str, Any]:
    return {"shape": list(rows.shape), "bits": _base64(np.packbits(rows, bitorder="little").tobytes())}


def _change(change: Change) -> dict[str, Any]:
    if change.edits is not None:
        edits = [{"kind": _NAMES[type(edit)], **asdict(edit)} for edit in change.edits]
        return {"tick": change.tick, "run": change.run, "edits": edits}
    shown = change.shown or Shown()
    pictures = {n: {"shape": list(p.shape), "pixels": _base64(p.tobytes())} for n, p in shown.pictures.items()}
    plain = {name: getattr(shown, name) for name in ("kind", "density", "noise", "seed", "label")}
    return {"tick": change.tick, "shown": {**plain, "pictures": pictures}}


def _network(document: Document, what: str) -> Network:
    document.allow(("toml", "weights"))
    weights = document.raw("weights", MOST_WEIGHT_BYTES) if "weights" in document else None
    return network_from_bytes(document.text("toml", MOST_TOML_BYTES).encode(), weights, f"{what}.network")


def _chip(top: Document) -> ChipSpec:
    try:
        return chip_from_document(top.of("chip", dict), f"{top.path}.chip")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ChipError(f"{top.path}.chip: is no chip ({str(error)[:80]}); save it anew from this studio") from None


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


def _stimulus(document: Document, network: Network) -> dict[str, NDArray[np.bool_]]:
    found = {}
    for name, node in document.items(_MOST_INPUTS):
        shape = _shape(node, 2, _MOST_STIMULUS)
        size, packed = int(np.prod(shape)), np.frombuffer(node.raw("bits", _MOST_STIMULUS // 8), np.uint8)
        if len(packed) != -(-size // 8) or name not in network.inputs or shape[1] != network.nodes[name].size:
            raise InputError(f"{node.path}: does not hold frames of an input node of network {network.name}")
        found[name] = np.unpackbits(packed, count=size, bitorder="little").astype(np.bool_).reshape(shape)
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
    """Read one edit, as it stands in a scene file."""
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
