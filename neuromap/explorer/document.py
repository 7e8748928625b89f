"""An exploration as JSON, with its published schema; its rows as CSV and pandas DataFrame; all as one HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from neuromap.explorer import text
from neuromap.explorer.answer import advice as answers
from neuromap.explorer.answer.exploration import Exploration, TrainedClass
from neuromap.explorer.answer.limits import ENERGY, OBJECTIVES, ExploredRow, Limits, RowSeconds, value_of
from neuromap.explorer.draw_front import constant_line, picture, times_from
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
from neuromap.render.numbers import mean_period_lines, short_count
from neuromap.render.page import Axis, Cell, Chart, chart_library, data_block, page_script, render_page, saved_forms
from neuromap.render.quantities import with_unit
from neuromap.render.table import csv_text, data_frame
from neuromap.rollout.schedule.execution import time_axes
from neuromap.simulation.choose_frames import describe_frames
from neuromap.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame


class _Asked(NamedTuple):
    """An exploration, with limits and advice."""

    found: Exploration
    limits: Limits
    advice: answers.Advice | None

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
    streaming_edges=_EDGES(at=lambda one: answers.streaming_edges(one.of.found, one.candidate.values)),
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
        streaming_edges=_EDGES(at=lambda found: answers.streaming_edges(found, found.given.values)),
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


def to_dict(
    exploration: Exploration, limits: Limits | None = None, advice: answers.Advice | None = None
) -> dict[str, Any]:
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
            cells[key] = ", ".join(
                part if isinstance(part, str) else answers.streaming_text([tuple(part)]) for part in value
            )
        else:
            cells[key] = value
    return cells


# An exploration as one self-contained HTML page: the answer, the picture of the fronts, the rows.


def to_html(
    exploration: Exploration,
    limits: Limits | None = None,
    advice: answers.Advice | None = None,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
    *,
    every: bool = False,
) -> str:
    """Write an exploration as one HTML page."""
    limits = limits or Limits()
    listing = answers.list_rows(exploration, limits, every=every)
    rows = [row for _, row in listing.all]
    units = text.column_units(rows)
    library = chart_library()
    chart = None if library is None else front_chart(exploration, limits)
    return render_page(
        "neuromap.explorer",
        "exploration.html.jinja",
        {
            "time": units.time_cell,
            "frequency": units.frequency_cell,
            "count": short_count,
            "front": answers.front_words,
            "energy": units.energy_cell,
            "accuracy": text.accuracy_cell,
            "edges": lambda row: (
                answers.streaming_text(answers.streaming_edges(exploration, row.candidate.values)) or "none"
            ),
            "command": lambda row: answers.map_command(exploration, row, network_file, chip_arguments),
        },
        exploration=exploration,
        script=page_script("tables", "saves")
        if chart is None
        else page_script("charts", "tables", "saves", library=library or ""),
        chart=None if chart is None else data_block("chart.json", "the chart", chart.document()),
        data=saved_forms("exploration", to_dict(exploration, limits), to_csv(exploration, limits), "all rows"),
        limits=str(limits),
        advice=advice,
        listing=listing,
        groups=listing.groups(exploration),
        frames=describe_frames(exploration.stimulus) if exploration.stimulus else None,
        picture=picture(exploration, listing, limits),
        narrow_picture=picture(exploration, listing, limits, narrow=True),
        constant=constant_line(exploration),
        counts=text.count_line(exploration),
        refusals=text.refusals(exploration, listing),
        spread_lines=text.spread_lines(exploration),
        mapped=text.mapped_words(exploration),
        gap=text.gap_line(exploration),
        times=times_from(exploration),
        axes=answers.row_axes(rows),
        means=[
            *mean_period_lines(row.frame_period_ticks for row in rows),
            *filter(None, [text.timed_line(exploration, rows), text.reaction_line(exploration, rows)]),
        ],
        units=units,
        deadline=None if exploration.deadline is None else with_unit(exploration.deadline.seconds, "s"),
        deadline_lines=[] if exploration.deadline is None else text.deadline_lines(exploration.deadline),
        most_often_right=answers.deadline_line(exploration, limits),
        given_weights=text.GIVEN_WEIGHTS_NOTE if any(answers.has_given_weights(row, ENERGY) for row in rows) else "",
        met_classes="" if exploration.classes_are_of_network else text.MET_CLASSES,
        has_energy=answers.is_known(rows, ENERGY),
        energy_text=text.energy_line(exploration),
        several_chips=len(exploration.chips) > 1,
        several_choices=len({row.candidate.choices for row in rows}) > 1,
        bounds=any(not row.full_response_exact for row in rows),
    )


# All mapped rows of an exploration as a chart with zoom and filters.


def front_chart(exploration: Exploration, limits: Limits) -> Chart | None:
    """Make the chart of the mapped rows."""
    # returns ``None`` if fewer than two rows were mapped
    mapped = [row for row in exploration.rows if row.cores is not None]
    if len(mapped) < 2:
        return None
    scale, unit = (1e6, "µs") if any(row.is_timed for row in mapped) else (1e3, "ms")
    figures = (
        Axis("cores", "cores"),
        Axis("first", f"first response [{unit} from stimulus onset]"),
        Axis("full", f"full response [{unit} from stimulus onset]"),
        Axis("reaction", f"worst-case reaction [{unit}]"),
        Axis("frequency", "sampling frequency [Hz]"),
        Axis("energy", "energy [µJ per frame]"),
    )
    rows = [_point(row, limits, scale) for row in mapped]
    axes = [axis for axis in figures if any(row[axis.key] is not None for row in rows)]
    filters = {
        "front": "front",
        "execution": "execution",
        "class": "behaviour class",
        "chip": "chip",
        "limits": "limits",
    }
    told = [Axis("pattern", "pattern"), Axis("execution", "execution"), Axis("class", "behaviour class"), *axes]
    return Chart(rows, axes, filters, colour="front", shape="execution", told=told)


def _point(row: ExploredRow, limits: Limits, scale: float) -> dict[str, Cell]:
    energy = value_of(row, ENERGY).number
    return {
        "pattern": row.pattern,
        "execution": row.candidate.execution,
        "chip": row.candidate.chip,
        "class": str(row.behaviour_class),
        "front": "no" if answers.front_words(row) == "-" else answers.front_words(row),
        "limits": "within" if limits.allows(row) else "outside",
        "cores": row.cores,
        "first": _short(scale * row.first_response_seconds),
        "full": _short(scale * row.full_response_seconds),
        "reaction": _short(scale * row.worst_case_reaction_seconds),
        "frequency": _short(row.sampling_frequency_hz),
        "energy": None if energy is None else _short(1e6 * energy),
    }


def _short(value: float) -> float:
    return float(f"{value:.7g}")
