"""An exploration as JSON, with its published schema; its rows as CSV, and as a pandas DataFrame."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from neuromap.explorer.answer.advice import Advice, streaming_edges, streaming_text
from neuromap.explorer.answer.exploration import Exploration, TrainedClass
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.objectives import OBJECTIVES
from neuromap.explorer.answer.rows import ExploredRow, RowSeconds
from neuromap.render.document import (
    ABSENT,
    AMOUNT,
    BIG_COUNT,
    CHIP,
    COUNT,
    FLAG,
    INTEGER,
    INTERVALS,
    NETWORK,
    NULL,
    NUMBER,
    PART,
    POSITIVE,
    RATE,
    STIMULUS,
    TEXT,
    TIME_AXIS,
    Shape,
    any_of,
    define,
    document,
    each,
    enum,
    record,
    record_of,
)
from neuromap.render.table import csv_text, data_frame
from neuromap.rollout.schedule.execution import time_axes
from neuromap.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame


class _Asked(NamedTuple):
    """An exploration, with limits and advice."""

    found: Exploration
    limits: Limits
    advice: Advice | None

    def rows(self) -> list[_Row]:
        return [_Row(self, row) for row in self.found.rows]


class _Row(NamedTuple):
    """A row of the exploration; attributes not found here are those of the row."""

    of: _Asked
    row: ExploredRow

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)

    def at_deadline(self, name: str) -> Any:
        """Attribute that rows have only with a deadline."""
        return ABSENT if self.of.found.deadline is None else getattr(self.row, name)


_BIG = BIG_COUNT(minimum=0)
_NAMES = enum(*(objective.name for objective in OBJECTIVES))
_EDGES = each(Shape({"type": "array", "prefixItems": [TEXT, TEXT], "items": False, "minItems": 2}, list))
_ROW = record(
    pattern=TEXT,
    streaming_edges=_EDGES(at=lambda one: streaming_edges(one.of.found, one.candidate.values)),
    execution=TEXT(at="candidate.execution", pattern="^(windowed|pipelined(:([1-9][0-9]*|best))?)$"),
    chip=TEXT(at="candidate.chip"),
    splitters=enum("slack", "anywhere", "never")(at="candidate.splitters"),
    ticks_per_step=POSITIVE.or_null(at="candidate.ticks_per_step"),
    wide=enum("refuse", "partial-sums")(at="candidate.wide"),
    wide_ticks=POSITIVE.or_null(at="candidate.wide_ticks"),
    phases=enum("cheapest", "fastest")(
        at=lambda one: ABSENT if one.candidate.phases == "least" else one.candidate.phases
    ).added,
    spread=POSITIVE(at=lambda one: one.candidate.spread or ABSENT).added,
    patterns_in_row=_BIG(at="n_patterns"),
    behaviour_class=COUNT,
    needs_retraining=FLAG,
    status=enum("mapped", "does not fit", "not mapped", "excluded"),
    message=TEXT.or_null(at=lambda one: one.message or None),
    schedule=enum("steps", "ticks"),
    tick_seconds=RATE.or_null(at=lambda one: None if one.row.is_timed else one.row.tick_seconds),
    least_tick_seconds=RATE(at=lambda one: one.row.tick_seconds if one.row.is_timed else ABSENT).added,
    frame_period_ticks=NUMBER(minimum=1),
    intervals=INTERVALS,
    sampling_frequency_hz=RATE,
    first_response_ticks=INTEGER,
    first_response_seconds=NUMBER,
    full_response_ticks=INTEGER,
    full_response_seconds=NUMBER,
    full_response_exact=FLAG,
    times_are_bounds=FLAG,
    seconds_are_bounds=FLAG(at=lambda one: one.row.seconds_are_bounds if one.row.is_timed else ABSENT).added,
    worst_case_reaction_ticks=INTEGER,
    worst_case_reaction_seconds=NUMBER,
    bound_seconds=record(dict.fromkeys(RowSeconds._fields, RATE))
    .or_null(at=lambda one: one.row.bound_seconds if one.row.is_timed else ABSENT)
    .added,
    accuracy_at_deadline=PART.or_null(at=lambda one: one.at_deadline("accuracy_at_deadline")).added,
    accuracy_bound=PART.or_null(at=lambda one: one.at_deadline("accuracy_bound")).added,
    frames_by_deadline=COUNT.or_null(at=lambda one: one.at_deadline("frames_by_deadline")).added,
    cores=POSITIVE.or_null,
    core_bound=COUNT,
    energy_joules=AMOUNT.or_null,
    energy_half_width_joules=AMOUNT.or_null,
    energy_is_before_retraining=FLAG.or_null(
        at=lambda one: None if one.energy_joules is None else one.needs_retraining
    ),
    energy_bound_joules=AMOUNT.or_null(at="energy_bound"),
    verified=FLAG.or_null,
    proven=FLAG.or_null.added,
    cut_short=each(TEXT),
    on_front=FLAG,
    on_class_front=FLAG,
    within_limits=FLAG(at=lambda one: one.of.limits.allows(one.row)),
)
_DEADLINE = record(
    seconds=RATE,
    data=TEXT,
    part=enum("train", "validation", "test"),
    images=POSITIVE(at="n_images"),
    classes=POSITIVE,
    seed=COUNT,
    trained=each(record_of(TrainedClass), minItems=1),
    untrained_classes=_BIG.or_null(at="n_untrained"),
    untrained=each(record(behaviour_class=COUNT(at=0), pattern=TEXT(at=1))),
)


_LIMITS = {objective.name: RATE.or_null for objective in OBJECTIVES} | {
    "cores": POSITIVE.or_null,
    "accuracy_at_deadline": RATE(maximum=1).or_null.added,
}


def _limits_of(asked: _Asked) -> dict[str, Any]:
    axes = {objective.name for objective in asked.found.objectives}
    return {o.name: getattr(asked.limits, o.name) if o.name in axes else ABSENT for o in OBJECTIVES}


_BEST = record(
    objective=_NAMES(at=lambda asked: asked.advice.objective.name),
    row=COUNT(at=lambda asked: asked.found.rows.index(asked.advice.row)),
    rivals_not_mapped=_BIG(at=lambda asked: asked.advice.n_rivals),
    map_command=TEXT(at=lambda asked: asked.advice.command),
)
_WITHOUT, _WITH = "neuromap-exploration-2", "neuromap-exploration-3"
_EXPLORATION = record(
    format=enum(_WITHOUT, _WITH)(at=lambda asked: _WITHOUT if asked.found.deadline is None else _WITH),
    neuromap_version=TEXT(at=lambda _: __version__),
    network=NETWORK(at="found.network"),
    given=record(
        pattern=TEXT(at="given.name"),
        streaming_edges=_EDGES(at=lambda found: streaming_edges(found, found.given.values)),
        behaviour_class=COUNT(at="given_class"),
    )(at="found"),
    chips=each(CHIP, minItems=1)(at="found.chips"),
    stimulus=STIMULUS.or_null(at=lambda asked: asked.found.stimulus or None),
    time_axis=TIME_AXIS(at=lambda asked: time_axes(row.candidate.execution for row in asked.found.rows)).by(dict),
    energy_tolerance=AMOUNT(at="found.energy_tolerance", exclusiveMaximum=1),
    deadline=_DEADLINE(at="found.deadline").optional,
    objectives=each(
        record(
            name=_NAMES,
            title=TEXT,
            unit=TEXT,
            better=enum("less", "more")(at=lambda objective: "less" if objective.sign > 0 else "more"),
        )
    )(at="found.objectives"),
    limits=record(_LIMITS)(at=_limits_of),
    counts=record(
        valid_patterns=_BIG.or_null(at="n_valid_patterns"),
        behaviour_classes=_BIG.or_null(at="n_classes"),
        candidates=_BIG(at="n_candidates"),
        rows=_BIG(at="n_rows"),
        mapped=COUNT(at="n_mapped"),
    )(at="found"),
    class_numbers_are_of_network=FLAG(at="found.classes_are_of_network"),
    gap=record(
        is_exact=FLAG,
        open_rows=_BIG,
        cores_factor=AMOUNT.or_null(at=lambda gap: gap.cores_factor if math.isfinite(gap.cores_factor) else None),
        least_cores=POSITIVE.or_null,
        core_bound=COUNT,
        nothing_fits=FLAG,
        statement=TEXT,
    )(at="found.gap"),
    best=any_of(NULL, _BEST)(at=lambda asked: None if asked.advice is None else asked),
    rows=each(define("row", _ROW))(at=_Asked.rows),
)
_NONE = {"not": {"required": ["accuracy_at_deadline"]}}
DOCUMENT = document(
    "exploration",
    _EXPLORATION.where(
        {"properties": {"format": {"const": _WITH}}},
        {
            "required": ["deadline"],
            "properties": {
                "limits": {"required": ["accuracy_at_deadline"]},
                "rows": {"items": {"required": ["accuracy_at_deadline", "accuracy_bound", "frames_by_deadline"]}},
            },
        },
        {"not": {"required": ["deadline"]}, "properties": {"limits": _NONE, "rows": {"items": _NONE}}},
    ),
)


def exploration_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of explorations.

    Returns
    -------
    dict
        The schema.
    """
    return DOCUMENT.schema()


def to_dict(exploration: Exploration, limits: Limits | None = None, advice: Advice | None = None) -> dict[str, Any]:
    """Convert an exploration to JSON-ready values."""
    # returns plain values only; every key is explained in the schema. Undefined values are ``None``
    return DOCUMENT.of(_Asked(exploration, limits or Limits(), advice))


# An exploration as CSV, or as a pandas DataFrame: one line per row.
_HEAD = ("network", "neuromap_version")


def to_csv(exploration: Exploration, limits: Limits | None = None) -> str:
    """Write an exploration as CSV text (RFC 4180, UTF-8)."""
    # Columns have the names and order of the JSON form, edges are written ``H1 -> O``, separated by commas, and
    # undefined values are empty.
    return csv_text(_lines(exploration, limits), columns=_HEAD)


_PLOTTED = (
    *("pattern", "execution", "chip", "needs_retraining", "first_response_seconds", "full_response_seconds"),
    *("worst_case_reaction_seconds", "sampling_frequency_hz", "accuracy_at_deadline", "cores", "energy_joules"),
    *("on_front", "verified"),
)


def to_pandas(exploration: Exploration, limits: Limits | None = None, full: bool = False) -> DataFrame:
    """Make a pandas DataFrame of an exploration, with the columns usually plotted or all of :func:`to_csv`."""
    return data_frame(_lines(exploration, limits), columns=_HEAD, only=() if full else _PLOTTED)


def _lines(exploration: Exploration, limits: Limits | None) -> list[dict[str, Any]]:
    document = to_dict(exploration, limits)
    head = dict(zip(_HEAD, (document["network"]["name"], document["neuromap_version"]), strict=True))
    return [head | _cells(row) for row in document["rows"]]


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            cells |= {f"{key}.{name}": part for name, part in value.items()}
        elif isinstance(value, list):
            cells[key] = ", ".join(part if isinstance(part, str) else streaming_text([tuple(part)]) for part in value)
        else:
            cells[key] = value
    return cells
