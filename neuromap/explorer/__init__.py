"""The rollout explorer: which pattern, execution and chip to run, as a Pareto front (docs/explorer.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Candidate": "answer.rows",
    "Exploration": "answer.exploration",
    "ExploredRow": "answer.rows",
    "Limits": "answer.limits",
    "exploration_schema": "json_form",
    "sweep_explorations": "explore_each",
}

FORMS = {
    "Exploration": {
        "csv": "html.to_csv",
        "dict": "json_form.to_dict",
        "html": "html.to_html",
        "json": "json_form.to_json",
        "notebook": "draw_front.to_notebook",
        "svg": "draw_front.standalone_svg",
        "pandas": "html.to_pandas",
        "text": "text.render_text",
    },
}

if TYPE_CHECKING:
    from neuromap.explorer.answer.exploration import Exploration as Exploration
    from neuromap.explorer.answer.limits import Limits as Limits
    from neuromap.explorer.answer.rows import Candidate as Candidate
    from neuromap.explorer.answer.rows import ExploredRow as ExploredRow
    from neuromap.explorer.explore_each import sweep_explorations as sweep_explorations
    from neuromap.explorer.json_form import exploration_schema as exploration_schema

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
