"""Public names of a package, imported on first use: ``import neuromap`` and ``neuromap --help`` stay quick."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        Every public name with the module that defines it: from the package on, or from ``neuromap.`` on where it lies
        elsewhere.
    rooms : collection of str
        Modules of the package that are public themselves.

    Returns
    -------
    tuple of callable
        To be bound to ``__getattr__`` and ``__dir__`` in the package.
    """

    def getattr_(name: str) -> Any:
        if name in homes:
            home = homes[name]
            return getattr(importlib.import_module(home if home.startswith("neuromap.") else f"{package}.{home}"), name)
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def dir_() -> list[str]:
        return sorted([*homes, *rooms])

    return getattr_, dir_
