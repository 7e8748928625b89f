"""What frozen values share: they can be pickled and copied, and stay read-only where they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self, cast

__all__ = ["Value"]


class Value:
    """Base of frozen dataclasses that go to other processes and into caches of other libraries.

    Only the fields travel: what was computed from them and kept is computed again. Their arrays are read-only again
    on the other side, which pickle forgets. A deep copy of what nobody changes is itself.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, part in state.items():
            _lock(part)
            object.__setattr__(self, name, part)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _lock(part: Any) -> None:
    """Lock arrays, those of sparse ones, and those in tuples and mappings."""
    import numpy as np  # when a value arrives: the command line has values, and must start without NumPy

    if isinstance(part, np.ndarray):
        part.flags.writeable = False
    elif isinstance(part, tuple):
        for inner in part:
            _lock(inner)
    elif isinstance(part, Mapping):
        for inner in part.values():
            _lock(inner)
    elif hasattr(part, "indptr"):  # a sparse array, whose package is not needed to know it
        for inner in (part.data, part.indices, part.indptr):
            _lock(inner)
