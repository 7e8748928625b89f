"""Public names of a package, imported on first use: ``import neuromap`` and ``neuromap --help`` stay quick.

A package lists each name once, in the stub ``__init__.pyi`` beside its ``__init__.py``. Type checkers read the stub,
and so does the package itself, in lines of two forms::

    from .module import Name as Name
    from . import module as module
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to import than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from typing import Any


def lazy_names(package: ModuleSpec) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package, which read its stub on first use.

    Parameters
    ----------
    package : importlib.machinery.ModuleSpec
        ``__spec__`` of the package: name, file, and a loader that can read a stub in an archive, too.

    Returns
    -------
    tuple of callable
        Bind them to ``__getattr__``, which also provides ``__all__``, and ``__dir__`` in the package.
    """
    found: dict[str, str] = {}

    def homes() -> dict[str, str]:
        """Map every public name to the module it is imported from."""
        if not found:
            loader: Any = package.loader
            path = f"{str(package.origin).rpartition('.')[0]}.pyi"  # an installation may hold __init__.pyc alone
            found.update(_read_stub(loader.get_data(path).decode()))
        return found

    def getattr_(name: str) -> Any:
        if name == "__all__":
            return sorted(homes())
        home = homes().get(name)
        if home is None:
            raise AttributeError(f"module {package.name!r} has no attribute {name!r}")
        import importlib  # takes longer than the rest of import neuromap

        if home == ".":
            return importlib.import_module(f".{name}", package.name)
        return getattr(importlib.import_module(home, package.name), name)

    def dir_() -> list[str]:
        return sorted(name for name in homes() if not name.startswith("_"))

    return getattr_, dir_


def _read_stub(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        match line.split():
            case ["from", module, "import", name, "as", again] if name == again:
                found[name] = module
    return found
