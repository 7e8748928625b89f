"""How values are shown: one line in an interpreter, a small table in a notebook, and further forms.

A value does not import its forms, so that these may import the value: its class lists their modules in ``_forms``.
There the form ``csv`` is the function ``to_csv``, and so on; only text is made by ``render_text``.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given
from neuromap.files.whole_file import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

# Most characters of a value in an interpreter.
LONGEST = 200
_LONGEST_FACT = 72
_OF_SUFFIX = ReadOnlyMapping({".json": "json", ".csv": "csv", ".html": "html", ".svg": "svg", ".txt": "text"})
_WITHOUT_TERMINAL = 100
_LEAST_WIDTH = 40


class Card(Value):
    """A value shown as one line of facts in an interpreter, and as a table of them in a notebook."""

    _forms: ClassVar[tuple[str, ...]] = ()
    """Modules that make its forms."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign] # else the dataclass puts all its fields there

    def _facts(self) -> Mapping[str, object]:
        """Return what distinguishes this value from others of its class: facts by name, with units."""
        return field_facts(self)

    def __repr__(self) -> str:
        has_facts = type(self)._facts is not Card._facts
        return one_line(type(self).__name__, self._facts()) if has_facts else as_call(self)

    def _repr_html_(self) -> str:
        if "notebook" in forms_of(type(self)):
            return str(form(self, "notebook"))
        from neuromap.render.table import fact_table

        return fact_table(type(self).__name__, self._facts().items())


class Formed(Card):
    """A value with forms; subclasses add methods for some of them."""

    _called: ClassVar[str] = "a value"
    """Its noun in messages, with the article."""

    def save(self, path: str | Path) -> None:
        """Write the value whole or not at all, in the form given by the suffix, such as .json or .html."""
        forms = {suffix: name for suffix, name in _OF_SUFFIX.items() if name in forms_of(type(self))}
        suffix = path_given("save", path).suffix.lower()
        if suffix not in forms:
            raise InputError(
                f"{path}: suffix {suffix!r} is not a form of {self._called}; choose one of {', '.join(forms)}"
            )
        write_whole(path, form(self, forms[suffix]))

    def __str__(self) -> str:
        if "text" not in forms_of(type(self)):
            return repr(self)
        columns = shutil.get_terminal_size(fallback=(_WITHOUT_TERMINAL, 0)).columns
        return str(form(self, "text", max(columns, _LEAST_WIDTH))).rstrip("\n")


class Documented(Formed):
    """A value with a JSON document, whose schema is published."""

    def to_dict(self) -> dict[str, Any]:
        """Return its JSON document as plain values."""
        return dict(form(self, "dict"))

    def to_json(self) -> str:
        """Return its JSON document as text."""
        return str(form(self, "json"))


class Tabled(Formed):
    """A value with rows."""

    def to_csv(self) -> str:
        """Return its rows as CSV text (RFC 4180, UTF-8), one line each; columns name their units."""
        return str(form(self, "csv"))


class Framed(Tabled):
    """A value whose rows are also available in pandas."""

    def to_pandas(self, *, full: bool = False) -> DataFrame:
        """Return a pandas DataFrame: one line per row, a dozen columns that people plot.

        Parameters
        ----------
        full : bool
            All columns, as in the CSV.

        Raises
        ------
        NotSupportedError
            If pandas is not installed (extra ``pandas``).
        """
        return form(self, "pandas", full=full)


class Paged(Formed):
    """A value with a page."""

    def to_html(self) -> str:
        """Return one self-contained HTML page, which loads nothing."""
        return str(form(self, "html"))


class Drawn(Formed):
    """A value with a picture."""

    def to_svg(self) -> str:
        """Return it as SVG text, style included.

        Raises
        ------
        NotSupportedError
            If the package that draws it is not installed.
        """
        return str(form(self, "svg"))


class Printed(Formed):
    """A value that terminals show in full."""

    def to_text(self, width: int = 160) -> str:
        """Return it as printed in a terminal, without colours."""
        return str(form(self, "text", width))


def form(value: Card, name: str, /, *words: Any, **options: Any) -> Any:
    """Make a form of a value; the modules of its forms are imported with the first one."""
    return forms_of(type(value))[name](value, *words, **options)


def forms_of(cls: type[Any]) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that make the forms of a class, by name of the form."""
    return _made_in(getattr(cls, "_forms", ()))


@cache
def _made_in(modules: tuple[str, ...]) -> Mapping[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module in modules:
        for name, made in vars(importlib.import_module(module)).items():
            if name.startswith("to_") or name == "render_text":
                found[name.removeprefix("to_").removeprefix("render_")] = made
    if "dict" in found:
        from neuromap.render.document import json_text

        found.setdefault("json", lambda *words, **options: json_text(found["dict"](*words, **options)))
    return ReadOnlyMapping(found)


# A value in one line, as an interpreter shows it.


def one_line(name: str, facts: Mapping[str, object]) -> str:
    """Describe a value by facts about it."""
    # returns one line of at most ``LONGEST`` characters
    return _cut(f"<{name}: {'; '.join(f'{key} {_cut(str(fact), _LONGEST_FACT)}' for key, fact in facts.items())}>")


def as_call(value: Any) -> str:
    """Describe a value as the call that makes one like it."""
    # returns one line of at most ``LONGEST`` characters
    return _cut(f"{type(value).__name__}({', '.join(f'{key}={part}' for key, part in field_facts(value).items())})")


def field_facts(value: Any) -> dict[str, str]:
    """Return the fields of a dataclass that differ from their defaults."""
    shown = [field for field in fields(value) if field.repr and not field.name.startswith("_")]
    return {field.name: brief(part) for field in shown if not _is_default(field, part := getattr(value, field.name))}


def brief(part: Any) -> str:
    """Describe a part of a value: in full if it is small, else by its size."""
    if _is_array(part):
        return f"{part.dtype}{list(part.shape)}"
    if isinstance(part, Collection) and not isinstance(part, str | bytes) and len(part) > 4:
        return f"<{len(part)} entries>"
    return _cut(repr(part), _LONGEST_FACT)


def _is_default(field: Field[Any], part: object) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return part is default or (not _is_array(part) and bool(part == default))


def _is_array(part: object) -> bool:
    return hasattr(part, "dtype") and hasattr(part, "shape")  # of NumPy or SciPy, recognised without importing them


def _cut(text: str, longest: int = LONGEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
