"""An exploration as one self-contained HTML page: the answer, the picture of the fronts, the rows.

Style, drawings, data and scripts are embedded; the page loads nothing, is readable without scripts, and suits paper,
light and dark screens. With the extra ``pages``, it shows all mapped rows in a chart with zoom and filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuromap.explorer import text
from neuromap.explorer.answer.advice import (
    Advice,
    deadline_line,
    front_words,
    has_given_weights,
    is_known,
    list_rows,
    map_command,
    streaming_edges,
    streaming_text,
    time_axes,
)
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits, value_of
from neuromap.explorer.answer.objectives import ENERGY
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.document import to_csv, to_dict
from neuromap.explorer.draw_front import constant_line, picture, times_from
from neuromap.render.numbers import mean_period_lines, short_count
from neuromap.render.page import Axis, Cell, Chart, chart_library, data_block, page_script, render_page, saved_forms
from neuromap.render.quantities import figure, with_unit
from neuromap.simulation.choose_frames import describe_frames


def to_html(
    exploration: Exploration,
    limits: Limits | None = None,
    advice: Advice | None = None,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
    *,
    every: bool = False,
) -> str:
    """Write an exploration as one HTML page."""
    limits = limits or Limits()
    listing = list_rows(exploration, limits, every=every)
    rows = [row for _, row in listing.all]
    units = text.column_units(rows)
    library = chart_library()
    chart = None if library is None else front_chart(exploration, limits)
    return render_page(
        "neuromap.explorer",
        "exploration.html.jinja",
        {
            "plain": figure,
            "time": units.time_cell,
            "frequency": units.frequency_cell,
            "count": short_count,
            "front": front_words,
            "energy": units.energy_cell,
            "accuracy": text.accuracy_cell,
            "edges": lambda row: streaming_text(streaming_edges(exploration, row.candidate.values)) or "none",
            "command": lambda row: map_command(exploration, row, network_file, chip_arguments),
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
        axes=time_axes(rows),
        means=[
            *mean_period_lines(row.frame_period_ticks for row in rows),
            *filter(None, [text.timed_line(exploration, rows), text.reaction_line(exploration, rows)]),
        ],
        units=units,
        deadline=None if exploration.deadline is None else with_unit(exploration.deadline.seconds, "s"),
        deadline_lines=[] if exploration.deadline is None else text.deadline_lines(exploration.deadline),
        most_often_right=deadline_line(exploration, limits),
        given_weights=text.GIVEN_WEIGHTS_NOTE if any(has_given_weights(row, ENERGY) for row in rows) else "",
        met_classes="" if exploration.classes_are_of_network else text.MET_CLASSES,
        has_energy=is_known(rows, ENERGY),
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
        "front": "no" if front_words(row) == "-" else front_words(row),
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
