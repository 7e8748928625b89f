"""JSON documents: one description both writes a document from a value and yields its published schema.

A :class:`Shape` describes a JSON value (in keywords of JSON Schema), how it is made from a value of ours, and where in
the whole that is found. ``COUNT("Images.", at="n_images")`` is a count in the whole's attribute ``n_images``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.render.numbers import as_number, intervals, json_count

# Marks a member to leave out that may be ``None`` elsewhere.
ABSENT = object()
Source = str | int | Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """Description of a JSON value, and of how it is made from a value of ours."""

    rules: Mapping[str, Any]  # keywords of JSON Schema, with nested shapes
    write: Callable[[Any], Any] = lambda value: value
    source: Source | None = None  # in the whole: dotted attributes, an index, or a function; else the key
    required: bool = True  # whether every document has the member
    kept: bool = True  # whether it is written if it is None
    definition: Shape | None = None  # what ``$ref`` in the rules points at

    def __call__(self, text: str = "", at: Source | None = None, **rules: Any) -> Shape:
        """Add a description, a source and further rules; a rule that is ``None`` is dropped."""
        said = {"description": text} if text else {}
        return replace(self, rules={**self.rules, **rules, **said}, source=self.source if at is None else at)

    def where(self, rules: Any, then: Any, otherwise: Any) -> Shape:
        """Return the same with conditional rules: ``if``, ``then``, ``else``."""
        return replace(self, rules={**self.rules, "if": rules, "then": then, "else": otherwise})

    def by(self, write: Callable[[Any], Any]) -> Shape:
        """Return the same with another function that writes it."""
        return replace(self, write=write)

    @property
    def or_null(self) -> Shape:
        """The same for a value that may be ``None``."""
        types, write = self.rules.get("type"), self.write
        listed = [types] if isinstance(types, str) else types
        if listed is None:
            return any_of(self, NULL)
        rules = {**self.rules, "type": [*listed, "null"]}
        return replace(self, rules=rules, write=lambda value: None if value is None else write(value))

    @property
    def optional(self) -> Shape:
        """The same for a member that is left out if it is ``None``."""
        return replace(self, required=False, kept=False)

    @property
    def elsewhere(self) -> Shape:
        """The same for a member that is not written here, but added where the document is printed."""
        return replace(self, source=lambda _: None, required=False, kept=False)

    @property
    def added(self) -> Shape:
        """The same for a member that is always written, but that older documents of the format lack."""
        return replace(self, required=False)

    def found(self, whole: Any, key: str) -> Any:
        """Find the member ``key`` of the whole; ``None`` if anything on the way is ``None``."""
        if isinstance(self.source, int):
            return whole[self.source]
        if callable(self.source):
            return self.source(whole)
        for name in (self.source or key).split("."):
            if whole is None:
                return None
            whole = whole[name] if isinstance(whole, Mapping) else getattr(whole, name)
        return whole


def kind(*types: str, **rules: Any) -> Shape:
    """Describe a value of one of some JSON types, written as it is."""
    return Shape({"type": types[0] if len(types) == 1 else list(types), **rules})


NULL = kind("null")
ANY, TEXT, FLAG, OBJECT, INTEGER = Shape({}), kind("string"), kind("boolean"), kind("object"), kind("integer")
COUNT, POSITIVE, NUMBER = INTEGER(minimum=0), INTEGER(minimum=1), replace(kind("number"), write=as_number)
AMOUNT, RATE, PART = NUMBER(minimum=0), NUMBER(exclusiveMinimum=0), NUMBER(minimum=0, maximum=1)
# A decimal string from 2^53 on, because readers that use doubles would round it.
BIG_COUNT = replace(kind("integer", "string"), write=json_count)


def const(value: Any) -> Shape:
    """Describe a constant."""
    return Shape({"const": value}, source=lambda _: value)


def enum(*values: Any) -> Shape:
    """Describe one of several values."""
    return Shape({"enum": list(values)})


def any_of(*shapes: Shape) -> Shape:
    """Describe a value of one of several shapes; the last one that is not ``NULL`` writes it."""
    write = [shape.write for shape in shapes if shape is not NULL][-1]
    return Shape({"anyOf": list(shapes)}, lambda value: None if value is None else write(value))


def each(shape: Shape, **rules: Any) -> Shape:
    """Describe a list."""
    return Shape({"type": "array", "items": shape, **rules}, lambda values: [shape.write(value) for value in values])


def pair(shape: Shape) -> Shape:
    """Describe a list of two."""
    return each(shape, minItems=2, maxItems=2)


def by_name(shape: Shape, **rules: Any) -> Shape:
    """Describe an object whose members have any names."""

    def write(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: shape.write(value) for name, value in values.items()}

    return Shape({"type": "object", "additionalProperties": shape, **rules}, write)


_NONE: Mapping[str, Shape] = ReadOnlyMapping({})


def record(parts: Mapping[str, Shape] = _NONE, /, **more: Shape) -> Shape:
    """Describe an object by its members, those of ``parts`` first."""
    every = {**parts, **more}

    def write(whole: Any) -> dict[str, Any]:
        found = ((key, shape, shape.found(whole, key)) for key, shape in every.items())
        return {
            key: shape.write(value)
            for key, shape, value in found
            if value is not ABSENT and (shape.kept or value is not None)
        }

    needed = [key for key, shape in every.items() if shape.required]
    return Shape(
        {"type": "object", "properties": every, "required": needed or None, "additionalProperties": False}, write
    )


def define(name: str, shape: Shape) -> Shape:
    """Name a shape, so that the schema defines it only once."""
    return Shape({"$ref": f"#/$defs/{name}"}, shape.write, definition=shape)


_OF_TYPES: Mapping[str, Shape] = ReadOnlyMapping(
    {"int": COUNT, "float": NUMBER, "int | float": NUMBER, "Time": NUMBER, "str": TEXT, "bool": FLAG}
)


def members(
    cls: type, without: Collection[str] = (), types: Mapping[str, Shape] = _NONE, /, **told: Shape
) -> dict[str, Shape]:
    """Describe the fields of a dataclass by their types: counts, numbers, texts, truth values, tuples, ``None``.

    ``types`` are shapes of further types, ``told`` those of fields; members that are not fields come last.
    """
    every = {**_OF_TYPES, **types}
    names = [field for field in fields(cls) if field.name not in without]
    return {field.name: told.get(field.name) or _of_type(str(field.type), every) for field in names} | told


def record_of(cls: type, without: Collection[str] = (), types: Mapping[str, Shape] = _NONE, /, **told: Shape) -> Shape:
    """Describe an object with the fields of a dataclass, as :func:`members` does."""
    return record(members(cls, without, types, **told))


def _of_type(text: str, every: Mapping[str, Shape]) -> Shape:
    if text in every:
        return every[text]
    if text.endswith(" | None"):
        return _of_type(text.removesuffix(" | None"), every).or_null
    return each(_of_type(text.removeprefix("tuple[").removesuffix(", ...]"), every))


@dataclass(frozen=True)
class Document:
    """A JSON document with a published schema; ``meanings.toml`` explains its members."""

    name: str
    shape: Shape

    def of(self, value: Any) -> dict[str, Any]:
        """Write the document of a value."""
        found: dict[str, Any] = self.shape.write(value)
        return found

    def schema(self) -> dict[str, Any]:
        """Return the schema."""
        import tomllib
        from importlib.resources import files

        told = tomllib.loads(files(__package__).joinpath("meanings.toml").read_text(encoding="utf-8"))[self.name]
        named: dict[str, Any] = {}
        made = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:neuromap:{self.name}:{told['$number']}",
            "title": told["$title"],
            **_laid_out(self.shape, named),
        }
        _explain(made, "", told)
        for name, part in named.items():
            _explain(part, f"{name}#", told)
        return {**made, **({"$defs": named} if named else {})}


def document(name: str, parts: Shape | Mapping[str, Shape] = _NONE, /, **more: Shape) -> Document:
    """Describe a document by its members, or by its shape."""
    return Document(name, parts if isinstance(parts, Shape) else record(parts, **more))


def _laid_out(part: Any, named: dict[str, Any]) -> Any:
    """Convert nested shapes to keywords; named ones go to ``named``."""
    if isinstance(part, Shape):
        if part.definition is not None:
            name = part.rules["$ref"].rpartition("/")[2]
            if name not in named:
                named[name] = _laid_out(part.definition, named)
        part = part.rules
    if isinstance(part, Mapping):
        return {key: _laid_out(value, named) for key, value in part.items() if value is not None}
    return [_laid_out(value, named) for value in part] if isinstance(part, list) else part


_INNER = {"items": "[]", "additionalProperties": "{}", "anyOf": "|"}


def _explain(part: dict[str, Any], path: str, told: Mapping[str, Any], sign: str = "") -> None:
    """Add descriptions to a part of a schema and the parts within it; see ``meanings.toml`` for the paths."""
    if path + sign in told:
        part["description"] = told[path + sign]
    for name, inner in part.get("properties", {}).items():
        _explain(inner, f"{path}.{name}" if path and path[-1] != "#" else path + name, told)
    for key, inner_sign in _INNER.items():
        inner = part.get(key, ())
        for place, one in enumerate(inner if isinstance(inner, list) else [inner]):
            if isinstance(one, dict) and one != NULL.rules:
                _explain(one, path or f"{place}#", told, sign + inner_sign)


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document of plain values as JSON: indented, with a line feed at the end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


PATTERN = TEXT("Rollout pattern; empty for programs by hand.")
EXECUTION = TEXT("windowed, pipelined, pipelined:P or pipelined:best; empty for programs by hand.")
PERIOD = NUMBER("Frame period in ticks; a mean where intervals are unequal.")
FILE = TEXT.or_null("File that was written.")
# What a neuron sends: whether it spikes, or the value of a graded one.
SENT = kind("boolean", "integer")
# Written for graded networks only, so that documents of others stay unchanged.
GRADED = const(True).optional(at=lambda verification: verification.is_graded or None)
ANYTHING = kind("number", "string", "boolean", "null")
COLUMNS = each(record(key=TEXT, title=TEXT, unit=TEXT))
EDGE = pair(TEXT)

NETWORK = record(
    name=TEXT,
    nodes=INTEGER(minimum=2, at=lambda network: len(network.nodes)),
    edges=POSITIVE(at=lambda network: len(network.edges)),
    inputs=each(TEXT, minItems=1),
    outputs=each(TEXT, minItems=1),
)
CHIP = record(
    name=TEXT,
    cores=POSITIVE("Cores of the board, dead ones included.", at="n_cores"),
    usable_cores=COUNT("Those that are not dead.", at="n_usable_cores"),
    tick_seconds=RATE,
    ticks=enum("timed")(
        "Only where ticks last as long as their work: tick_seconds is then no time that one takes.",
        at=lambda chip: "timed" if chip.is_timed else None,
    ).optional,
)
TIME_AXIS = record({"windowed": TEXT, "pipelined": TEXT, "pipelined:best": TEXT.optional})(
    "What the time axis of each execution is."
)
STIMULUS = record(
    kind=enum("given", "random"),
    n_frames=INTEGER(minimum=2),
    seed=INTEGER.optional,
    density=NUMBER.or_null.optional,
    file=TEXT.optional,
    n_stimuli=POSITIVE(maximum=100),
).by(dict)
GAPS = record(frames=COUNT, ticks=COUNT, largest_gap_ticks=COUNT("Most ticks between two frames."))(
    "Unequal intervals: so many frames in so many ticks."
).optional
INTERVALS = record(
    frames=INTEGER("Frames in every `ticks` ticks.", minimum=2),
    ticks=INTEGER("Ticks after which the intervals repeat.", minimum=3),
    largest_gap_ticks=INTEGER("Most ticks between two frames of one node.", minimum=2),
)(
    "Only where frames come at unequal intervals: the mean frame period, exact.",
    at=lambda whole: intervals(whole.frame_period_ticks).get("intervals"),
).optional


def another(name: str, text: str) -> Shape:
    """Describe a member that is itself a document, identified by its ``format``."""
    return record(format=Shape({"const": name}))(text, additionalProperties=None)
