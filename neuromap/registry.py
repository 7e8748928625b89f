"""Registries that other packages extend: kinds of cores, chips, placers, formats, back ends.

A package declares an entry point, such as ``dense = "neuromap_dense"`` in the group ``neuromap.core_kinds``. Its
modules are imported when the name is used; installed packages are scanned only for a name that is not ours, or to list
all names.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from neuromap.errors import NeuromapError, NotSupportedError
from neuromap.files.messages import did_you_mean, show, show_name

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Values by name: ours first, which cannot be overridden, then those of other packages.

    ``what`` is the noun in messages, ``group`` the entry-point group. Ours are values, or references like those of
    entry points: ``"module:name"``. ``made`` makes a value from name and reference; by default it imports the
    reference, which must be a ``kind``.
    """

    def __init__(
        self,
        what: str,
        group: str,
        ours: Mapping[str, Entry | str],
        error: type[NeuromapError],
        kind: type[Any] = object,
        made: Callable[[str, str], Entry] | None = None,
    ) -> None:
        self.what, self.ours = what, ours
        self._group, self._error, self._kind, self._made = group, error, kind, made
        self._values: dict[tuple[str, str], Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        """Return the value of a name, imported on first use."""
        found = self.reference(name)
        if not isinstance(found, str):
            return found
        if (name, found) not in self._values:
            self._values[name, found] = self._load(name, found)
        return self._values[name, found]

    def reference(self, name: str) -> Entry | str:
        """Return the reference of a name, or its value where there is no reference."""
        return self.ours[name] if name in self.ours else others(self._group)[name]

    def _load(self, name: str, reference: str) -> Entry:
        label = f"{self.what} {show_name(name)}"
        if self._made is not None:
            return self._made(name, reference)
        found: Entry = imported(label, reference, self._error)
        if not isinstance(found, self._kind):
            what = f"is not a {self._kind.__name__}; docs/plugins.md says what it needs"
            raise self._error(f"{label}: {reference} {what}")
        return found

    def find(self, name: str) -> Entry:
        """Return the value of a typed name, or refuse it."""
        if name not in self:
            raise self._error(f"{self.what} {unknown(name, self)}")
        return self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.ours or name in others(self._group))

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        yield from (name for name in others(self._group) if name not in self.ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True  # there are always ours; no need to scan for others


def others(group: str) -> dict[str, str]:
    """Map the names that installed packages add to a group to their references."""
    # Scanning installed packages takes longer than mapping a small network, which looks up its kind of core all the
    # time. Adding or removing a package changes the time of its folder: Python's package finder relies on that, too.
    return _installed(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=32)
def _installed(group: str, folders: tuple[tuple[str, int], ...]) -> dict[str, str]:
    from importlib.metadata import entry_points  # slow to import

    return dict(sorted((found.name, found.value) for found in entry_points(group=group)))


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


def imported(label: str, reference: str, error: type[NeuromapError]) -> Any:
    """Import ``"module"`` or ``"module:name"``; any failure becomes a one-line error."""
    module, _, names = reference.partition(":")
    try:
        found: Any = import_module(module)
    except Exception as met:  # third-party code, which may fail in any way
        raise error(f"{label}: {module} cannot be imported ({_line(met)}); install it again") from met
    for name in filter(None, names.split(".")):
        if not hasattr(found, name):
            raise error(f"{label}: {module} has no {name}; docs/plugins.md says what it needs")
        found = getattr(found, name)
    return found


def unknown(name: object, known: Iterable[str]) -> str:
    """Word the error about an unknown name."""
    shown = show_name(name) if isinstance(name, str) else show(name)
    return f"{shown}: is not known; known are {', '.join(known)}{did_you_mean(str(name), known)}"


def require_package(
    what: str, package: str, extra: str = "", called: str = "", instead: str = "", *, imports: bool = True
) -> None:
    """Refuse a feature whose package is not installed; an extra of ours may install it."""
    # A package that is slow to import is only looked up.
    try:
        if (import_module(package) if imports else importlib.util.find_spec(package)) is not None:
            return
    except ImportError:  # it, or what it needs
        pass
    command = f"'neuromap-rollouts[{extra}]'" if extra else package
    other = f", or {instead}" if instead else ""
    raise NotSupportedError(f"{what}: needs {called or package}, which is not installed; pip install {command}{other}")


def _line(met: Exception) -> str:
    return " ".join(str(met).split()) or type(met).__name__
