"""An exploration as JSON, with its published schema (``exploration.schema.json``)."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from neuromap.explorer.answer.advice import Advice, streaming_edges
from neuromap.explorer.answer.exploration import Deadline, Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.forms.documents import json_text
from neuromap.forms.formed import form
from neuromap.forms.numbers import as_number, intervals, json_count
from neuromap.forms.schemas import load_schema
from neuromap.rollout.schedule.execution import time_axes
from neuromap.version import __version__

__all__ = ["FORMAT", "FORMAT_WITH_DEADLINE", "exploration_schema", "to_dict", "to_json"]

FORMAT = "neuromap-exploration-2"
"""What the member ``format`` says without a deadline."""

FORMAT_WITH_DEADLINE = "neuromap-exploration-3"
"""What it says with one: all members of the other, and those of accuracy."""


def exploration_schema() -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) that every exploration follows.

    Returns
    -------
    dict
        The schema.
    """
    return load_schema("exploration")


def to_dict(exploration: Exploration, limits: Limits | None = None, advice: Advice | None = None) -> dict[str, Any]:
    """Make the JSON-ready form of an exploration."""
    # gives plain values only; every key is explained in the schema. What is not defined is ``None``
    gap = exploration.gap
    limits = limits or Limits()
    return {
        "format": FORMAT if exploration.deadline is None else FORMAT_WITH_DEADLINE,
        "neuromap_version": __version__,
        "network": form(exploration.network, "head"),
        "given": {
            "pattern": exploration.given.name,
            "streaming_edges": [list(key) for key in streaming_edges(exploration, exploration.given.values)],
            "behaviour_class": exploration.given_class,
        },
        "chips": [form(chip, "head") for chip in exploration.chips],
        "stimulus": dict(exploration.stimulus) or None,
        "time_axis": time_axes(row.candidate.execution for row in exploration.rows),
        "energy_tolerance": exploration.energy_tolerance,
        **({} if exploration.deadline is None else {"deadline": _deadline(exploration.deadline)}),
        "objectives": [
            {"name": o.name, "title": o.title, "unit": o.unit, "better": "less" if o.sign > 0 else "more"}
            for o in exploration.objectives
        ],
        "limits": {o.name: getattr(limits, o.name) for o in exploration.objectives},
        "counts": {
            "valid_patterns": json_count(exploration.n_valid_patterns),
            "behaviour_classes": json_count(exploration.n_classes),
            "candidates": json_count(exploration.n_candidates),
            "rows": json_count(exploration.n_rows),
            "mapped": exploration.n_mapped,
        },
        "class_numbers_are_of_network": exploration.classes_are_of_network,
        "gap": {
            "is_exact": gap.is_exact,
            "open_rows": json_count(gap.open_rows),
            "cores_factor": gap.cores_factor if math.isfinite(gap.cores_factor) else None,
            "least_cores": gap.least_cores,
            "core_bound": gap.core_bound,
            "nothing_fits": gap.nothing_fits,
            "statement": gap.statement,
        },
        "best": None
        if advice is None
        else {
            "objective": advice.objective.name,
            "row": exploration.rows.index(advice.row),
            "rivals_not_mapped": json_count(advice.n_rivals),
            "map_command": advice.command,
        },
        "rows": [_row(exploration, row, limits) for row in exploration.rows],
    }


def _row(exploration: Exploration, row: ExploredRow, limits: Limits) -> dict[str, Any]:
    candidate = row.candidate
    return {
        "pattern": row.pattern,
        "streaming_edges": [list(key) for key in streaming_edges(exploration, candidate.values)],
        "execution": candidate.execution,
        "chip": candidate.chip,
        "splitters": candidate.splitters,
        "ticks_per_step": candidate.ticks_per_step,
        "wide": candidate.wide,
        "wide_ticks": candidate.wide_ticks,
        "patterns_in_row": json_count(row.n_patterns),
        "behaviour_class": row.behaviour_class,
        "needs_retraining": row.needs_retraining,
        "status": row.status,
        "message": row.message or None,
        "schedule": row.schedule,
        "tick_seconds": row.tick_seconds,
        "frame_period_ticks": as_number(row.frame_period_ticks),
        **intervals(row.frame_period_ticks),
        "sampling_frequency_hz": row.sampling_frequency_hz,
        "first_response_ticks": row.first_response_ticks,
        "first_response_seconds": row.first_response_seconds,
        "full_response_ticks": row.full_response_ticks,
        "full_response_seconds": row.full_response_seconds,
        "full_response_exact": row.full_response_exact,
        "times_are_bounds": row.times_are_bounds,
        "worst_case_reaction_ticks": row.worst_case_reaction_ticks,
        "worst_case_reaction_seconds": row.worst_case_reaction_seconds,
        **({} if exploration.deadline is None else _accuracy(row)),
        "cores": row.cores,
        "core_bound": row.core_bound,
        "energy_joules": row.energy_joules,
        "energy_half_width_joules": row.energy_half_width_joules,
        "energy_is_before_retraining": None if row.energy_joules is None else row.needs_retraining,
        "energy_bound_joules": row.energy_bound,
        "verified": row.verified,
        "cut_short": list(row.cut_short),
        "on_front": row.on_front,
        "on_class_front": row.on_class_front,
        "within_limits": limits.allows(row),
    }


def _accuracy(row: ExploredRow) -> dict[str, Any]:
    return {
        "accuracy_at_deadline": row.accuracy_at_deadline,
        "accuracy_bound": row.accuracy_bound,
        "frames_by_deadline": row.frames_by_deadline,
    }


def _deadline(deadline: Deadline) -> dict[str, Any]:
    return {
        "seconds": deadline.seconds,
        "data": deadline.data,
        "part": deadline.part,
        "images": deadline.n_images,
        "classes": deadline.classes,
        "seed": deadline.seed,
        "trained": [asdict(one) for one in deadline.trained],
        "untrained_classes": json_count(deadline.n_untrained),
        "untrained": [{"behaviour_class": number, "pattern": text} for number, text in deadline.untrained],
    }


def to_json(exploration: Exploration, limits: Limits | None = None, advice: Advice | None = None) -> str:
    """Write an exploration as JSON text; arguments as for :func:`to_dict`."""
    return json_text(to_dict(exploration, limits, advice))
