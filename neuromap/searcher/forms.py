"""Forms of a search result: text, JSON, CSV, a picture, a page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from neuromap.files.messages import counted
from neuromap.render.document import (
    AMOUNT,
    COUNT,
    FLAG,
    INTEGER,
    PART,
    POSITIVE,
    RATE,
    TEXT,
    const,
    document,
    each,
    enum,
    record,
    record_of,
)
from neuromap.render.numbers import joules
from neuromap.render.page import SHARED, page_script, render_page, saved_forms
from neuromap.render.plot import Panel, Plot, Point, draw_panels
from neuromap.render.quantities import with_unit
from neuromap.render.svg import standalone
from neuromap.render.table import Column, Table, csv_text
from neuromap.searcher.result import SearchedClass, SearchPoint, SearchResult

_CURVE = each(record(seconds=RATE, accuracy=PART))
DOCUMENT = document(
    "search",
    format=const("neuromap search 1"),
    network=TEXT,
    chip=TEXT,
    data=TEXT,
    deadline_seconds=RATE.or_null(at="deadline"),
    moments_seconds=each(RATE)(at="moments"),
    max_cores=POSITIVE.or_null,
    objectives=each(TEXT),
    seeds=each(COUNT),
    validation_images=COUNT(at="n_images"),
    behaviour_classes=COUNT.or_null(at="n_classes"),
    budget_epochs=COUNT(at="budget"),
    spent_epochs=COUNT(at="spent"),
    full_epochs=COUNT,
    margin=AMOUNT,
    is_exact=FLAG,
    folder=TEXT,
    points=each(
        record_of(
            SearchPoint,
            network=TEXT(at="network.name").added,
            values=each(INTEGER),
            energy_joules=AMOUNT.or_null,
            curve=_CURVE,
            on_chip=_CURVE,
            verified=FLAG.or_null,
            proven=FLAG.or_null,
            best_at=each(RATE),
        )
    ),
    classes=each(
        record_of(
            SearchedClass,
            network=TEXT.added,
            frame_period_steps=AMOUNT.or_null,
            status=enum("trained", "dropped", "excluded", "does not fit"),
            accuracy=each(PART.or_null),
        )
    ),
)
to_dict = DOCUMENT.of
"""Convert to plain values; times are from stimulus onset, energy is per frame."""


def to_csv(found: SearchResult) -> str:
    """Write the accuracy of every point at every moment, and on the chip by frame, as CSV text (RFC 4180, UTF-8)."""
    return csv_text(list(_lines(found)))


def _lines(found: SearchResult) -> Iterator[dict[str, Any]]:
    for number, point in enumerate(found.points, start=1):
        for images, curve in (("validation", point.curve), (f"{point.part}, on the chip", point.on_chip)):
            for at in curve:
                yield {
                    "point": number,
                    "network": point.network.name,
                    "pattern": point.pattern,
                    "execution": point.execution,
                    "behaviour_class": point.behaviour_class,
                    "cores": point.cores,
                    "images": images,
                    "seconds": at.seconds,
                    "accuracy": at.accuracy,
                }


# Text: the front, the outcome for every class, how good the front is.


def render_text(found: SearchResult, width: int = 100, *, every: bool = False) -> str:
    """Write the front as a table, with the outcome for every class and how good the front is."""
    tables: list[Table[Any]] = [point_table(found)]
    if every or any(one.status != "trained" for one in found.classes):
        tables.append(class_table(found))
    left = [] if every else list(dict.fromkeys(name for table in tables for name in table.left_out(width)))
    notes = [*worth(found), *([f"not shown: {', '.join(left)}; see --all, --html FILE or --json"] if left else [])]
    parts = [fill(headline(found), width)]
    for table in tables:
        parts += ["", table.text(width, brief=not every)]
    return "\n".join([*parts, "", *(fill(line, width) for line in notes)]) + "\n"


def headline(found: SearchResult) -> str:
    """Sentence on the most accurate point at the last moment."""
    best = found.best()
    at = with_unit(found.moments[-1], "s")
    accuracy = dict(best.curve)[found.moments[-1]]
    return (
        f"{best.network.name} on {found.chip}: after {at} {best.pattern}, {best.execution}, on "
        f"{counted(best.cores, 'core')} is right most often, {_percent(accuracy)} of {found.n_images} validation "
        f"images of {found.data}"
    )


def point_table(found: SearchResult) -> Table[tuple[int, SearchPoint]]:
    """Make the table of the front."""
    several = _several(found)
    columns: list[Column[tuple[int, SearchPoint]]] = [
        Column("#", lambda row: str(row[0])),
        Column("pattern", lambda row: row[1].pattern, left=True, wraps=True, least=12),
        Column("execution", lambda row: row[1].execution, left=True, rank=int(several)),
        Column("cores", lambda row: str(row[1].cores)),
        Column("first response", lambda row: with_unit(row[1].first_response_seconds, "s"), rank=int(several)),
        *(_accuracy_column(moment, 0 if moment == found.moments[-1] else 2) for moment in found.moments),
        Column(f"on chip, {found.points[0].part}\n[%]", lambda row: _percent(row[1].on_chip[-1].accuracy), rank=1),
        Column("best at", lambda row: ", ".join(with_unit(at, "s") for at in row[1].best_at), left=True, rank=2),
        Column("class", lambda row: str(row[1].behaviour_class), rank=4),
        Column("verified", lambda row: checks(row[1]), left=True, rank=1),
    ]
    if "energy" in found.objectives:
        columns.insert(5, Column("energy\n[per frame]", lambda row: joules(row[1].energy_joules)))
    if several:
        columns.insert(1, Column("network", lambda row: row[1].network.name, left=True, wraps=True, least=8))
    return Table(columns, list(enumerate(found.points, start=1)), "The front", (0, 1))


def _several(found: SearchResult) -> bool:
    return len({one.network for one in found.classes}) > 1


def _accuracy_column(moment: float, rank: int) -> Column[tuple[int, SearchPoint]]:
    def cell(row: tuple[int, SearchPoint]) -> str:
        found = dict(row[1].curve).get(moment)
        mark = "*" if moment in row[1].best_at else ""
        return "-" if found is None else f"{100 * found:.1f}{mark}"

    return Column(f"right by {with_unit(moment, 's')}\n[%]", cell, rank=rank)


def checks(point: SearchPoint) -> str:
    """State of a point: proven or verified, and whether it agrees with its model image by image."""
    law = "proven" if point.proven else "not compared" if point.verified is None else "yes" if point.verified else "NO"
    return f"{law}, {'as model' if point.agrees else 'NOT AS MODEL'}"


def class_table(found: SearchResult) -> Table[SearchedClass]:
    """Make the table of the classes."""
    last = with_unit(found.moments[-1], "s")
    columns: list[Column[SearchedClass]] = [
        Column("class", lambda one: str(one.number)),
        Column("pattern", lambda one: one.pattern, left=True, wraps=True, least=12),
        Column("patterns", lambda one: str(one.n_patterns), rank=2),
        Column("epochs", lambda one: str(one.epochs)),
        Column(f"right by {last}\n[%]", lambda one: _known(one.accuracy[-1])),
        Column("spread\n[%]", lambda one: _known(one.spread[-1]), rank=1 if len(found.seeds) > 1 else 3),
        Column("nearest class", _nearest, left=True, wraps=True, rank=3),
        Column("what became of it", _told, left=True, wraps=True, least=24),
    ]
    if any(one.frame_period_steps is not None for one in found.classes):
        columns.insert(2, Column("a frame every\n[steps]", _period, rank=1))
    if several := _several(found):
        columns.insert(0, Column("network", lambda one: one.network, left=True, wraps=True, least=8))
    return Table(columns, found.classes, "Behaviour classes", (0, 1) if several else (0,))


def _period(one: SearchedClass) -> str:
    return "-" if one.frame_period_steps is None else f"{one.frame_period_steps:g}"


def _told(one: SearchedClass) -> str:
    return f"{one.status}: {one.why}" if one.why else one.status


def _nearest(one: SearchedClass) -> str:
    return "-" if one.neighbour is None else f"{one.neighbour}, but for {', '.join(one.changed) or 'its period'}"


def worth(found: SearchResult) -> list[str]:
    """Sentences on how good the front is: what was trained, what was not and why, what the margin is."""
    n_open, n_excluded = found.open_classes, sum(one.status == "excluded" for one in found.classes)
    lines = [
        f"trained: {found.spent} epochs of {found.budget}{' for each seed' if len(found.seeds) > 1 else ''}; training "
        f"each of {counted(len(found.classes) - n_excluded, 'behaviour class', 'behaviour classes')} fully takes "
        f"{found.full_epochs * (len(found.classes) - n_excluded)}"
    ]
    if n_excluded:
        lines.append(f"excluded: {n_excluded} of the classes, by times that no training can mend")
    if n_open is None:
        lines.append("open: classes that were not drawn, of which nothing is known; they were not counted")
    elif n_open:
        lines.append(f"open: {n_open:,} of {found.n_classes:,} classes were not drawn, nothing is known of them")
    if any(one.status == "dropped" for one in found.classes):
        lines.append(
            f"dropped: beaten by more than {found.margin:g} standard errors of {found.n_images} images in all they "
            "could be chosen for, with the training that they had; more of it might change that"
        )
    mapped = "every rollout of the trained classes that may be on it was mapped" if found.is_exact else "not exact"
    errors = "differences below two standard errors of the images decide nothing"
    return [*lines, f"front: {mapped}; accuracies at which it is best are marked *; {errors}"]


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _known(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f}"


# The picture: accuracy over time, one line per point.


def to_drawing(found: SearchResult, *, narrow: bool = False) -> str:
    """Draw the accuracy of all points over the moments."""
    moments = [with_unit(moment, "s") for moment in found.moments]
    lines: dict[str, Sequence[Point]] = {}
    several = _several(found)
    for number, point in enumerate(found.points, start=1):
        known = dict(point.curve)
        of = f" of {point.network.name}" if several else ""
        name = f"{number}: {point.pattern}{of}, {point.execution}, {counted(point.cores, 'core')}"
        lines[name] = [
            Point(text, known.get(at), f"{name}, {text}: {_percent(known[at]) if at in known else 'no answer yet'}")
            for at, text in zip(found.moments, moments, strict=True)
        ]
    title = f"accuracy, part of {found.n_images} validation images"
    plot = Plot("time since stimulus onset", [Panel(title, lines, 1.0)], "point", (620.0, 240.0), beside=3.0)
    return draw_panels(plot, f"Accuracy over time of the points found for {found.network}", narrow=narrow)


def to_svg(found: SearchResult) -> str:
    """Draw the picture as SVG text, style included."""
    return standalone(to_drawing(found))


# The page.


def to_html(found: SearchResult, called: str = "", data: str = "", limit: int | None = None) -> str:
    """Write a search as one self-contained HTML page."""
    # called: the command that reproduces the search; data, limit: source and number of images, as --data and --limit
    return render_page(
        SHARED,
        "search.html.jinja",
        {"percent": _percent, "unit": lambda value: with_unit(value, "s"), "checks": checks},
        found=found,
        headline=headline(found),
        called=called or "neuromap search NET --data SOURCE",
        script=page_script("tables", "saves"),
        data=saved_forms("search", to_dict(found), to_csv(found), "the curves"),
        picture=to_drawing(found),
        narrow_picture=to_drawing(found, narrow=True),
        table=point_table(found),
        classes=class_table(found),
        edges=_edges(found),
        several=_several(found),
        commands=[(point, _commands(point, data, limit)) for point in found.points],
        worth=worth(found),
    )


def _edges(found: SearchResult) -> Table[tuple[str, Sequence[str]]]:
    """Make the table of R: a row per edge, a column per point."""
    streams = [
        {f"{u} -> {v}": value for (u, v), value in zip(point.network.edges, point.values, strict=True)}
        for point in found.points
    ]
    names = list(dict.fromkeys(name for each in streams for name in each))
    changed: Mapping[str, int] = {name: sum(name in point.changed for point in found.points[1:]) for name in names}
    rows = [
        (name, [_streams(point, each.get(name), name) for point, each in zip(found.points, streams, strict=True)])
        for name in names
    ]
    rows.sort(key=lambda row: -changed[row[0]])
    columns: list[Column[tuple[str, Sequence[str]]]] = [Column("edge", lambda row: row[0], left=True)]
    columns += [_edge_column(n) for n in range(len(found.points))]
    note = "marked *: another than in the point before, of a network's first point than in streaming"
    return Table(columns, rows, "What changed from point to point", notes=[note])


def _edge_column(n: int) -> Column[tuple[str, Sequence[str]]]:
    return Column(f"point {n + 1}", lambda row: row[1][n], left=True)


def _streams(point: SearchPoint, value: int | None, name: str) -> str:
    if value is None:
        return "no such edge"
    return f"{'streaming' if value else 'sequential'}{' *' if name in point.changed else ''}"


def _commands(point: SearchPoint, data: str, limit: int | None) -> list[str]:
    """Write the commands that map a point again and run it on the images."""
    words = shlex.split(point.map_command)
    run = ["neuromap", "accuracy", *words[2:], "--frames", str(len(point.on_chip)), "--part", point.part]
    shown = [*(["--data", data] if data else []), *([] if limit is None else ["--limit", str(limit)])]
    return [point.map_command, shlex.join([*run, *shown])]
