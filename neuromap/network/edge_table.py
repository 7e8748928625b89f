"""The table of one edge in a network file: its label and its transform."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, get_args

from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.files.toml_table import TomlTable
from neuromap.network.edge import EdgeKey
from neuromap.network.names import NAME, NAME_RULE
from neuromap.network.transforms.kinds import OTHER, Shape, Transform
from neuromap.network.transforms.limits import INT_HIGH, INT_LOW, MAX_NEURONS
from neuromap.network.transforms.weights import MAX_SEED, MAX_VALUES, SeededWeights
from neuromap.network.transforms.windows import PADDINGS

__all__ = ["edge_ends", "parse_edge", "read_transform"]

_EDGE = re.compile(rf"[ \t]*({NAME.pattern})[ \t]*->[ \t]*({NAME.pattern})[ \t]*")
_CLASSES: dict[str, type[Transform]] = {transform.kind: transform for transform in get_args(Transform)}
_TERM_KEYS = ("transform", "delay", "current", "also")
_KEYS = {
    kind: (
        *_TERM_KEYS,
        *(f.name for f in fields(transform) if f.name not in ("source_shape", "target_shape")),
    )
    for kind, transform in _CLASSES.items()
}
"""What the table of an edge may hold: the kind, and what it takes but shapes, which its nodes have."""

_ALL_KEYS = _KEYS["conv"]  # no other kind takes more


def edge_ends(text: str) -> EdgeKey | None:
    """Read ``"A -> B"``, with or without spaces around the arrow; ``None`` where it is something else."""
    found = _EDGE.fullmatch(text)
    return None if found is None else (found[1], found[2])


def parse_edge(text: str, path: str) -> EdgeKey:
    """Read ``"A -> B"`` as :func:`edge_ends` does."""
    ends = edge_ends(text)
    if ends is None:
        raise NetworkError(f'{path}: found {show(text)}; allowed is "A -> B", with {NAME_RULE}')
    return ends


def read_transform(table: TomlTable, source: Shape | None, target: Shape | None) -> Transform | None:
    """Read the transform of an edge."""
    # source, target: shapes of its nodes; ``None`` where the network has structure only
    # gives ``None`` for structure only, and for ``transform = "other"``
    table.allow(_ALL_KEYS)
    if source is None or target is None:
        for key in table.values:
            raise table.wrong(key, "is nothing here, as the nodes have no shapes; give every node its shape")
        return None
    if table.values.get("transform") == OTHER:
        table.allow(_TERM_KEYS[:1], because=f' with transform = "{OTHER}"')
        return None
    kind = table.text("transform", tuple(_KEYS))
    if "weights" in table and "weights" not in _KEYS[kind]:
        raise table.wrong("weights", f"are none, as transform {kind} has fixed weights of 1")
    table.allow(_KEYS[kind], because=f' with transform = "{kind}"')
    arguments: dict[str, Any] = {"source_shape": source, "target_shape": target}
    for key in ("kernel", "stride"):
        if key in table:
            arguments[key] = table.pair(key, 1, MAX_NEURONS, "[rows, columns]")
    if "padding" in table:
        arguments["padding"] = table.text("padding", PADDINGS)
    if "groups" in table:
        arguments["groups"] = table.integer("groups", 1, MAX_NEURONS)
    if "weights" in table:
        arguments["weights"] = _seeded(table.table("weights", ("seed", "values")))
    if "kernel" in _KEYS[kind] and "kernel" not in table:
        raise table.wrong("kernel", f"are two integers [rows, columns]; a {kind} needs them")
    try:
        return _CLASSES[kind](**arguments)
    except NetworkError as error:
        raise NetworkError(f"{table.path}: {error}") from None


def _seeded(table: TomlTable) -> SeededWeights:
    seed = table.integer("seed", 0, MAX_SEED)
    allowed = f"is a list of 1 to {MAX_VALUES} integers, each from {INT_LOW} to {INT_HIGH}"
    values = table.integers("values", allowed)
    if not 1 <= len(values) <= MAX_VALUES or not all(INT_LOW <= v <= INT_HIGH for v in values):
        raise table.wrong("values", allowed)
    return SeededWeights(seed, tuple(values))
