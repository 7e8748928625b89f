"""The fronts as a picture: cores against every other objective that tells the rows apart."""

from __future__ import annotations

from importlib.resources import files

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.advice import has_given_weights
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import Listing, constant_objectives, is_known, list_rows
from neuromap.explorer.answer.objectives import CORES, OBJECTIVES
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.answer.row_figures import value_of
from neuromap.explorer.forms.front_legend import LegendNotes, draw_legend
from neuromap.explorer.forms.front_panel import HEIGHT, WIDTH, Panel
from neuromap.forms.numbers import seconds
from neuromap.forms.standalone_svg import standalone
from neuromap.forms.svg import drawing, element, label, number

__all__ = ["constant_line", "draw_front", "picture", "standalone_svg"]


def draw_front(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> str | None:
    """Draw the rows, one panel per objective that tells them apart, against cores."""
    # Rows of the given pattern's class are strong, others muted; rows in windowed execution are squares, pipelined ones
    # circles. Numbers are those of the table. A stair joins the best of a panel: strong for the given class, muted for
    # all classes.
    # gives one ``<svg>`` element, whose colours are classes of ``templates/front.css``; ``None`` where no row has cores
    return picture(exploration, list_rows(exploration, limits, every=every), limits)


def picture(exploration: Exploration, listing: Listing, limits: Limits | None = None) -> str | None:
    """Draw as :func:`draw_front` does, with the numbers of a listing that is there already."""
    numbers = {id(row): n for n, row in listing.all}
    rows = [(numbers.get(id(row)), row) for row in exploration.rows if row.status in ("mapped", "not mapped")]
    if not rows:
        return None
    shown = [row for _, row in rows]
    same = constant_objectives(shown)
    panels = [
        objective
        for objective in OBJECTIVES
        if objective != CORES and objective not in same and is_known(shown, objective)
    ] or [next(o for o in OBJECTIVES if o.name == "full_response_seconds")]
    columns, width = min(len(panels), 2), 2 * WIDTH  # legend and notes need the room of two panels
    drawn = []
    for objective in panels:
        known = [(n, row) for n, row in rows if value_of(row, objective).number is not None]
        drawn.append(Panel(objective, known, limits or Limits(), one_front=exploration.deadline is not None))
    beside = any(panel.has_neighbours for panel in drawn)
    energy = any(has_given_weights(row, panel.objective) for panel in drawn for _, row in panel.rows)
    notes = LegendNotes(beside=beside, given_weights=energy)
    parts, top = draw_legend(exploration, shown, limits or Limits(), width, notes)
    for k, panel in enumerate(drawn):
        x, y = (k % columns) * WIDTH, top + (k // columns) * HEIGHT
        place = f"translate({number(x)} {number(y)})"
        parts.append(element("g", *panel.parts(), transform=place, class_="panel"))
    height = top + HEIGHT * -(-len(panels) // columns)
    titles = ", ".join(o.title for o in panels)
    return drawing(width, height, parts, f"Rollouts of {exploration.network.name}: cores against {titles}")


def constant_line(exploration: Exploration) -> str:
    """Say which objectives are the same in all rows, and so are no panel; empty where none is."""
    rows = [row for row in exploration.rows if row.status in ("mapped", "not mapped")]
    same = [(o, value) for o, value in constant_objectives(rows).items() if o != CORES]
    if not same:
        return ""
    words = [f"{o.title} is {with_unit(value, o.base_unit)}" for o, value in same]
    return f"The same in all rows: {', '.join(words)}."


def standalone_svg(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> str:
    """Write the picture as a file of its own, with its style and a legend."""
    drawn = draw_front(exploration, limits, every=every)
    if drawn is None:
        raise DoesNotFitError("picture of the front: no row fits a chip, so there is nothing to draw")
    width, height = (float(drawn.split(f' {name}="')[1].split('"')[0]) for name in ("width", "height"))
    chips = ", ".join(f"{chip.name} (1 tick = {seconds(chip.tick_seconds)})" for chip in exploration.chips)
    notes = [f"Times as predicted from the schedule, each row on the time axis of its execution; {chips}."]
    notes += [line] if (line := constant_line(exploration)) else []
    style = files("neuromap.explorer.forms").joinpath("templates", "front.css").read_text(encoding="utf-8")
    parts = [
        element("style", f"\n{style}"),
        label(18, 26, f"{exploration.network.name}: rollouts and their fronts", "name", "start"),
        element("g", drawn[drawn.index(">") + 1 : -len("</svg>")], transform="translate(0 30)"),
        *(label(18, height + 46 + 20 * k, line, "small", "start") for k, line in enumerate(notes)),
    ]
    return standalone(drawing(width, height + 40 + 20 * len(notes), parts, f"Rollouts of {exploration.network.name}"))
