"""How a value finds its forms: text, JSON, a page, a file. A value does not know them, so forms may know the value.

The forms of a room's values stand in the room's folder ``forms``; its ``FORMS`` says for every class what each form
is called and where the function is that makes it. The folder is the nearest above the module of the class.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.forms.card import Card

__all__ = ["Formed", "form", "forms_of"]

_OF_SUFFIX = MappingProxyType({".json": "json", ".csv": "csv", ".html": "html", ".svg": "svg", ".txt": "text"})


class Formed(Card):
    """A value with forms; what it offers as ``to_…`` is one line each that calls :func:`form`."""

    def save(self, path: str | Path) -> None:
        """Write the value whole or not at all, in the form of the suffix, such as .json or .html.

        Raises
        ------
        InputError
            If the suffix is that of no form of the value, or the file cannot be written.
        """
        known = forms_of(type(self))
        forms = {suffix: name for suffix, name in _OF_SUFFIX.items() if name in known}
        suffix = Path(path).suffix.lower()
        if suffix not in forms:
            raise InputError(
                f"{path}: suffix {suffix!r} is no form of {type(self).__name__}; choose one of {', '.join(forms)}"
            )
        write_whole(path, form(self, forms[suffix]))


@cache
def forms_of(cls: type) -> Mapping[str, str]:
    """Give the forms of a class.

    Parameters
    ----------
    cls : type
        Of a value of this package.

    Returns
    -------
    mapping of str to str
        For every form the function that makes it, as ``"module.function"`` from ``neuromap`` on; empty without any.
    """
    room = cls.__module__.rpartition(".")[0]
    while "." in room:  # the forms on the ground floor are of no value
        if find_spec(f"{room}.forms") is not None:
            declared = importlib.import_module(f"{room}.forms").FORMS.get(cls.__name__, {})
            return MappingProxyType({name: f"{room}.forms.{place}" for name, place in declared.items()})
        room = room.rpartition(".")[0]
    return MappingProxyType({})


def form(value: object, name: str, /, *words: Any, **options: Any) -> Any:
    """Make a form of a value; the code of the form is imported when it is first made.

    Parameters
    ----------
    value : object
        Of this package.
    name : str
        Of the form, such as ``"json"``.
    *words, **options
        For the function that makes it.

    Returns
    -------
    object
        What the function gives.
    """
    module, _, function = forms_of(type(value))[name].rpartition(".")
    return getattr(importlib.import_module(module), function)(value, *words, **options)
