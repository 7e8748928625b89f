"""The published JSON Schemas: a file ``NAME.schema.json`` beside the form that writes such documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean, show

__all__ = ["list_schemas", "load_schema"]

_ENDING = ".schema.json"


def list_schemas() -> list[str]:
    """Names of the JSON Schemas of the documents that commands and ``to_json`` write.

    Returns
    -------
    list of str
        In alphabetical order, such as ``"report"``; ``docs/schemas.md`` says which document is whose.
    """
    return sorted(_found())


def load_schema(name: str) -> dict[str, Any]:
    """Load a JSON Schema.

    Parameters
    ----------
    name : str
        Of :func:`list_schemas`.

    Returns
    -------
    dict
        The schema (draft 2020-12), a copy of one's own. Its ``$id`` ends in the number of the document's format.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    found = _found()
    if not isinstance(name, str) or name not in found:
        hint = did_you_mean(name, found) if isinstance(name, str) else ""
        raise InputError(f"schema {show(name)}: is not known; known are {', '.join(sorted(found))}{hint}")
    schema: dict[str, Any] = json.loads(found[name].read_text(encoding="utf-8"))
    return schema


@cache
def _found() -> dict[str, Traversable]:
    return {file.name.removesuffix(_ENDING): file for file in _below(files("neuromap"))}


def _below(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _below(entry)
        elif entry.name.endswith(_ENDING):
            yield entry
