"""A value as people meet it: one line in an interpreter, a small table in a notebook, and its forms.

A value does not import its forms, so forms may know the value: its class names the modules that make them, ``_forms``.
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
from neuromap.files.whole_file import write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

# Characters that a value takes at most in an interpreter.
LONGEST = 200
_LONGEST_FACT = 72
_OF_SUFFIX = ReadOnlyMapping({".json": "json", ".csv": "csv", ".html": "html", ".svg": "svg", ".txt": "text"})
_WITHOUT_TERMINAL = 100
_LEAST_WIDTH = 40


class Card(Value):
    """A value that an interpreter shows as one line of a few facts, and a notebook as a table of them."""

    _forms: ClassVar[tuple[str, ...]] = ()
    """Modules that make forms of it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign] # else the dataclass puts all its fields there

    def _facts(self) -> Mapping[str, object]:
        """Give what tells this value from others of its class: name and value, with its unit, of each fact."""
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
    """A value with forms; classes below say which ones people ask for by a method."""

    _called: ClassVar[str] = "a value"
    """What people call it, with its article, for messages."""

    def save(self, path: str | Path) -> None:
        """Write the value whole or not at all, in the form of the suffix, such as .json or .html."""
        forms = {suffix: name for suffix, name in _OF_SUFFIX.items() if name in forms_of(type(self))}
        suffix = Path(path).suffix.lower()
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
        """Give it as plain values, those of its JSON document."""
        return dict(form(self, "dict"))

    def to_json(self) -> str:
        """Write its JSON document."""
        return str(form(self, "json"))


class Tabled(Formed):
    """A value with rows."""

    def to_csv(self) -> str:
        """Write its rows as CSV text (RFC 4180, UTF-8), one line each; columns name their units."""
        return str(form(self, "csv"))


class Framed(Tabled):
    """A value whose rows pandas takes, too."""

    def to_pandas(self, *, full: bool = False) -> DataFrame:
        """Table of pandas: one line per row, a dozen columns that people plot.

        Parameters
        ----------
        full : bool
            All columns, as in the CSV.

        Raises
        ------
        NotSupportedError
            If pandas is not installed (extra ``pandas``).
        """
        frame: DataFrame = form(self, "pandas", full=full)
        return frame


class Paged(Formed):
    """A value with a page."""

    def to_html(self) -> str:
        """Write one self-contained HTML page, which loads nothing."""
        return str(form(self, "html"))


class Drawn(Formed):
    """A value with a picture."""

    def to_svg(self) -> str:
        """Draw it as SVG text, style inside.

        Raises
        ------
        NotSupportedError
            If what draws it is not installed.
        """
        return str(form(self, "svg"))


class Printed(Formed):
    """A value that terminals show in full."""

    def to_text(self, width: int = 160) -> str:
        """Write it as it is printed in a terminal, without colours."""
        return str(form(self, "text", width))


def form(value: Card, name: str, /, *words: Any, **options: Any) -> Any:
    """Make a form of a value; the code of its forms is imported when the first is made."""
    return forms_of(type(value))[name](value, *words, **options)


def forms_of(cls: type[Any]) -> Mapping[str, Callable[..., Any]]:
    """Give the functions that make forms of a class, by the name of the form."""
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
    """Say what a value is and how large, by facts about it."""
    # gives one line of at most ``LONGEST`` characters
    return _cut(f"<{name}: {'; '.join(f'{key} {_cut(str(fact), _LONGEST_FACT)}' for key, fact in facts.items())}>")


def as_call(value: Any) -> str:
    """Say what a value is, as the call that makes one like it."""
    # gives one line of at most ``LONGEST`` characters
    return _cut(f"{type(value).__name__}({', '.join(f'{key}={part}' for key, part in field_facts(value).items())})")


def field_facts(value: Any) -> dict[str, str]:
    """Give the fields of a dataclass that are not as by default."""
    shown = [field for field in fields(value) if field.repr and not field.name.startswith("_")]
    return {field.name: brief(part) for field in shown if not _is_default(field, part := getattr(value, field.name))}


def brief(part: Any) -> str:
    """Say what a part of a value is: small ones in full, large ones by their size."""
    if _is_array(part):
        return f"{part.dtype}{list(part.shape)}"
    if isinstance(part, Collection) and not isinstance(part, str | bytes) and len(part) > 4:
        return f"<{len(part)} entries>"
    return _cut(repr(part), _LONGEST_FACT)


def _is_default(field: Field[Any], part: object) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return part is default or (not _is_array(part) and bool(part == default))


def _is_array(part: object) -> bool:
    return hasattr(part, "dtype") and hasattr(part, "shape")  # of NumPy or SciPy, which need not be imported to know


def _cut(text: str, longest: int = LONGEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
