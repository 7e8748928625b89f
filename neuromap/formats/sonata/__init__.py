"""SONATA's spike files (Allen Institute, Blue Brain Project), written of plain values (``docs/traces.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"Population": "spike_file", "spike_bytes": "spike_file"}

if TYPE_CHECKING:
    from neuromap.formats.sonata.spike_file import Population as Population
    from neuromap.formats.sonata.spike_file import spike_bytes as spike_bytes

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
