"""Base of frozen values: they can be pickled and copied, and stay read-only when they arrive."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self, cast

from neuromap.arrays.read_only_mapping import ReadOnlyMapping


class Value:
    """Base of frozen dataclasses that are sent to other processes and kept in caches of other libraries."""

    # Only the fields are pickled; cached results are computed again. Arrays are locked again on the other side, as
    # pickle loses that. A deep copy of an immutable value is the value itself.

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, part in state.items():
            object.__setattr__(self, name, _locked(part))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _locked(part: Any) -> Any:
    """Lock unshared arrays, including those in sparse arrays, tuples and read-only mappings."""
    import numpy as np  # only when a value arrives: the command line has values, and must start without NumPy

    from neuromap.arrays.frozen import adopted

    if isinstance(part, np.ndarray):
        return adopted(part)
    if type(part) is tuple and part:
        return tuple(_locked(inner) for inner in part)
    if isinstance(part, ReadOnlyMapping):
        return ReadOnlyMapping({key: _locked(inner) for key, inner in part.items()})
    if hasattr(part, "indptr") and hasattr(part, "indices"):  # a sparse array, recognised without importing SciPy
        part.data, part.indices, part.indptr = (_locked(inner) for inner in (part.data, part.indices, part.indptr))
    return part
