"""How a value finds its forms: text, JSON, a page, a file. A value does not know them, so forms may know the value.

``FORMS`` in the door of a room says for every class what each form is called and where the function is that makes it:
from the room on, or from ``neuromap`` on where a higher floor draws it. The nearest door above the class counts.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.forms.card import Card

__all__ = ["Formed", "form", "forms_of"]

_OF_SUFFIX = ReadOnlyMapping({".json": "json", ".csv": "csv", ".html": "html", ".svg": "svg", ".txt": "text"})
_NONE: Mapping[str, str] = ReadOnlyMapping({})
_WITHOUT_TERMINAL = 100
_LEAST_WIDTH = 40


class Formed(Card):
    """A value with forms; what it offers as ``to_…`` is one line each that calls :func:`form`."""

    _called: ClassVar[str] = "a value"
    """What people call it, with its article, for messages."""

    def save(self, path: str | Path) -> None:
        """Write the value whole or not at all, in the form of the suffix, such as .json or .html."""
        known = forms_of(type(self))
        forms = {suffix: name for suffix, name in _OF_SUFFIX.items() if name in known}
        suffix = Path(path).suffix.lower()
        if suffix not in forms:
            raise InputError(
                f"{path}: suffix {suffix!r} is no form of {self._called}; choose one of {', '.join(forms)}"
            )
        write_whole(path, form(self, forms[suffix]))

    def __str__(self) -> str:
        if "text" not in forms_of(type(self)):
            return repr(self)
        columns = shutil.get_terminal_size(fallback=(_WITHOUT_TERMINAL, 0)).columns
        return str(form(self, "text", max(columns, _LEAST_WIDTH))).rstrip("\n")

    def _repr_html_(self) -> str:
        return str(form(self, "notebook")) if "notebook" in forms_of(type(self)) else super()._repr_html_()


def forms_of(cls: type[Any]) -> Mapping[str, str]:
    """Give the forms of a class; a class without any has those of the class that it is derived from."""
    found = (_declared(base.__module__, base.__name__) for base in cls.__mro__)
    return next(filter(None, found), _NONE)


@cache
def _declared(module: str, name: str) -> Mapping[str, str]:
    """Give what the nearest door above a module declares for a class in it."""
    room = module.rpartition(".")[0]
    while room:
        declared: Mapping[str, str] = getattr(importlib.import_module(room), "FORMS", {}).get(name, _NONE)
        if declared:
            ours = f"{room}."
            return ReadOnlyMapping(
                {form: place if place.startswith("neuromap.") else ours + place for form, place in declared.items()}
            )
        room = room.rpartition(".")[0]
    return _NONE


def form(value: object, name: str, /, *words: Any, **options: Any) -> Any:
    """Make a form of a value; the code of the form is imported when it is first made."""
    module, _, function = forms_of(type(value))[name].rpartition(".")
    return getattr(importlib.import_module(module), function)(value, *words, **options)
