"""Which network under which rollout: patterns and weights searched together, with data, a chip and a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "SearchResult": "result",
    "SearchOptions": "options",
    "SearchPoint": "result",
    "SearchedClass": "result",
}

if TYPE_CHECKING:
    from neuromap.searcher.options import SearchOptions as SearchOptions
    from neuromap.searcher.result import SearchedClass as SearchedClass
    from neuromap.searcher.result import SearchPoint as SearchPoint
    from neuromap.searcher.result import SearchResult as SearchResult

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
