"""The rollout explorer: which pattern, execution and chip to run, as a Pareto front (docs/explorer.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Candidate": "answer.rows",
    "Exploration": "answer.exploration",
    "ExploredRow": "answer.rows",
    "Limits": "answer.limits",
    "exploration_schema": "document",
    "sweep_explorations": "explore_each",
}

if TYPE_CHECKING:
    from neuromap.explorer.answer.exploration import Exploration as Exploration
    from neuromap.explorer.answer.limits import Limits as Limits
    from neuromap.explorer.answer.rows import Candidate as Candidate
    from neuromap.explorer.answer.rows import ExploredRow as ExploredRow
    from neuromap.explorer.document import exploration_schema as exploration_schema
    from neuromap.explorer.explore_each import sweep_explorations as sweep_explorations

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
