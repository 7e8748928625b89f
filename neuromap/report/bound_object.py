"""A lower bound on cores as JSON says it; commands print it without the rest of a report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.mapping.bounds.bound import CoreBound

__all__ = ["bound_object"]


def bound_object(bound: CoreBound | None) -> dict[str, Any] | None:
    """Make the JSON-ready form of a lower bound on cores."""
    # bound: ``None`` where nothing was mapped
    return None if bound is None else {**asdict(bound), "populations": [asdict(p) for p in bound.populations]}
